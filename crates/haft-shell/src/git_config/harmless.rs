//! The keys and values that are harmless. What is not listed is powerful.
//!
//! People check `harmless.txt`; its head says what each word means.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
    sync::LazyLock,
};

use super::{
    read::{Entry, split_key},
    url::is_harmless_url,
};

/// Which values of a key are harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Values {
    Any,
    /// `true`, `off`, a number, or one of these words.
    Switch(Vec<&'static str>),
    /// `true`, `off`: where git takes anything else for a program.
    Boolean,
    /// `false` or nothing.
    False,
    /// A name or a path that is no option.
    Name,
    /// An address, or the name of a remote: that is a local path, too.
    Url,
}

/// Variables of a section with the same values.
#[derive(Debug)]
struct Row {
    variables: Vec<&'static str>,
    values: Values,
}

/// The rows of a section; whether they belong to a subsection is part of the key.
type Table = HashMap<(String, bool), Vec<Row>>;

static TABLE: LazyLock<Table> = LazyLock::new(|| read_table(include_str!("harmless.txt")).0);

/// The rows, and the lines that cannot be read. A test sees to it that there are none.
fn read_table(text: &'static str) -> (Table, Vec<&'static str>) {
    let (mut table, mut faults, mut section, mut variables) = (Table::new(), Vec::new(), None, Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let (names, values) = line.split_once(" = ").unwrap_or((line, ""));
        let names = match names.split_once(':') {
            Some((name, names)) => {
                section = Some(name.strip_suffix(".*").map_or((name, false), |name| (name, true)));
                names
            }
            None => names,
        };
        variables.extend(names.split_whitespace().filter(|word| *word != "\\"));
        match (section, read_values(values)) {
            (Some((name, named)), Some(values)) => {
                let row = Row { variables: std::mem::take(&mut variables), values };
                table.entry((name.to_owned(), named)).or_default().push(row);
                section = None;
            }
            (Some(_), None) if line.ends_with('\\') => {}
            _ => faults.push(line),
        }
    }
    (table, faults)
}

fn read_values(text: &'static str) -> Option<Values> {
    let mut words = text.split_whitespace();
    let kind = words.next()?;
    let values = match kind {
        "any" => Values::Any,
        "switch" => return Some(Values::Switch(words.collect())),
        "boolean" => Values::Boolean,
        "false" => Values::False,
        "name" => Values::Name,
        "url" | "remote" => Values::Url,
        _ => return None,
    };
    words.next().is_none().then_some(values)
}

const TRUE_WORDS: &[&str] = &["true", "yes", "on"];
const FALSE_WORDS: &[&str] = &["false", "no", "off", ""];

/// Returns whether this value of a key is harmless by itself. `None` is a key without `=`.
///
/// An address is judged without the rewriting of `url.*.insteadOf`; [`compare`](super::compare) knows of that.
#[must_use]
pub fn is_harmless(key: &[u8], value: Option<&[u8]>) -> bool {
    find(key).is_some_and(|row| row.values.contain(value))
}

/// Returns whether a key can be removed without harm.
#[must_use]
pub fn is_harmless_removal(key: &[u8]) -> bool {
    find(key).is_some_and(|row| row.values != Values::False)
}

fn find(key: &[u8]) -> Option<&'static Row> {
    let (section, subsection, variable) = split_key(key);
    let section = str::from_utf8(section).ok()?.to_owned();
    let rows = TABLE.get(&(section, subsection.is_some()))?;
    let names = |row: &&Row| row.variables.iter().any(|name| *name == "*" || name.as_bytes() == variable);
    rows.iter().find(names)
}

impl Values {
    fn contain(&self, value: Option<&[u8]>) -> bool {
        let Some(value) = value else {
            return matches!(self, Values::Any | Values::Switch(_) | Values::Boolean);
        };
        match self {
            Values::Any => true,
            Values::Switch(words) => is_switch(value) || is_one_of(value, words),
            Values::Boolean => is_one_of(value, TRUE_WORDS) || is_one_of(value, FALSE_WORDS),
            Values::False => matches!(value, b"false" | b""),
            Values::Name => !value.starts_with(b"-") && !value.iter().any(u8::is_ascii_control),
            Values::Url => is_harmless_url(value),
        }
    }
}

fn is_one_of(value: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// `yes`, `OFF`, `20`, `-1`, `2g`.
fn is_switch(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let digits = digits
        .strip_suffix(b"k")
        .or(digits.strip_suffix(b"m"))
        .or(digits.strip_suffix(b"g"))
        .unwrap_or(digits);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number || is_one_of(value, TRUE_WORDS) || is_one_of(value, FALSE_WORDS)
}

/// What besides a value decides whether a change is harmless.
pub(super) struct Surroundings<'a> {
    /// The directory of the repository in which the file lies.
    pub(super) directory: Option<&'a Path>,
    /// Whether `url.*.insteadOf` turns addresses into ones that run programs.
    pub(super) rewrites: bool,
}

impl Surroundings<'_> {
    /// Whether a key may get these values, or lose all.
    pub(super) fn is_harmless_change(&self, key: &[u8], after: &[Option<Vec<u8>>]) -> bool {
        if key == b"core.worktree" {
            return self.directory.is_some_and(|directory| {
                after.iter().all(|value| value.as_ref().is_some_and(|value| is_own_tree(directory, value)))
                    && !after.is_empty()
            });
        }
        let Some(row) = find(key) else { return false };
        let is_rewritten = self.rewrites && row.values == Values::Url;
        if after.is_empty() {
            return is_harmless_removal(key);
        }
        after.iter().all(|value| row.values.contain(value.as_deref())) && !is_rewritten
    }
}

/// Whether a file turns addresses into ones that run a program.
pub(super) fn has_powerful_rewrite(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| {
        let rewrites = matches!(entry.variable(), b"insteadof" | b"pushinsteadof");
        rewrites && entry.section() == b"url" && !entry.subsection().is_some_and(is_harmless_url)
    })
}

/// Whether the repository of a submodule, `ROOT/.git/modules/NAME`, has its tree below `ROOT` and outside of `ROOT/.git`.
fn is_own_tree(directory: &Path, value: &[u8]) -> bool {
    let Ok(value) = str::from_utf8(value) else { return false };
    let outer = directory.ancestors().find(|above| above.ends_with(".git/modules"));
    let Some(git) = outer.and_then(Path::parent) else { return false };
    let Some(tree) = normalize(&directory.join(value)) else { return false };
    git.parent().is_some_and(|root| tree != root && tree.starts_with(root)) && !tree.starts_with(git)
}

/// The path without `.` and `..`, by its words alone. Where links lead, the sandbox says.
fn normalize(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => normal.pop().then_some(())?,
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    Some(normal)
}

/// Why a key is not harmless, as the end of a sentence.
pub(super) fn reason(key: &[u8]) -> &'static str {
    let (section, _, variable) = split_key(key);
    match (section, variable) {
        (b"include" | b"includeif", _) => "which makes git read settings from another file",
        (b"core", b"hookspath") => "which says where git finds hooks",
        (b"core", b"attributesfile") => "which says where git finds attributes",
        (b"core", b"worktree") => "which makes git work in another directory",
        (b"url", _) => "which rewrites addresses of servers",
        (b"remote" | b"branch" | b"submodule", b"url" | b"pushurl" | b"remote" | b"pushremote") => {
            "an address by which git runs a program"
        }
        (b"credential" | b"http", _) => "which decides over credentials or connections",
        (b"protocol", _) => "which permits protocols that run programs",
        (b"alias" | b"filter" | b"gpg", _)
        | (b"core", b"fsmonitor" | b"sshcommand" | b"pager" | b"editor" | b"askpass" | b"gitproxy")
        | (b"remote", b"uploadpack" | b"receivepack" | b"vcs")
        | (
            _,
            b"command" | b"cmd" | b"textconv" | b"driver" | b"external" | b"program" | b"update" | b"editor",
        ) => "which names a program that git runs",
        _ => "which is not known to be harmless",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_read() {
        let (table, faults) = read_table(include_str!("harmless.txt"));
        assert_eq!(faults, Vec::<&str>::new());
        assert!(table.values().flatten().all(|row| !row.variables.is_empty()));
        assert!(table.values().map(Vec::len).sum::<usize>() > 70);
    }
}
