//! The unified diff: what `diff -u` and `git diff` write, and what models write in its likeness.
//!
//! The lines of a hunk are counted in its header. Models count badly, so wrong counts are forgiven where the lines
//! themselves leave no doubt where the hunk ends. Line numbers are hints: see `apply`.

use std::path::{Path, PathBuf};

use haft_tool::shown;

use super::{
    names::{self, Names},
    parse::{FilePatch, Hunk, HunkLine, Intent, Lines, ParseError, Patch, Sign},
};

pub(super) fn parse<'a>(lines: &mut Lines<'a>) -> Result<Patch<'a>, ParseError> {
    let mut patch = Patch { files: Vec::new(), has_modes: false };
    loop {
        skip_layout(lines);
        if lines.peek().is_none() {
            return Ok(patch);
        }
        let section = Section::parse(lines)?;
        patch.has_modes |= section.has_mode;
        patch.files.push(section.into_file()?);
    }
}

/// Whether a file's changes begin here.
pub(super) fn starts_file(ahead: &[&str]) -> bool {
    match ahead {
        [git, ..] if git.starts_with("diff --git ") => true,
        [old, new, ..] => old.starts_with("--- ") && new.starts_with("+++ "),
        _ => false,
    }
}

/// What stands between files and says nothing.
fn skip_layout(lines: &mut Lines<'_>) {
    while let Some(line) = lines.peek() {
        let is_layout = line.trim().is_empty()
            || line.starts_with("Index: ")
            || line.starts_with("====")
            || (line.starts_with("diff ") && !line.starts_with("diff --git "));
        if is_signature(lines.ahead()) {
            lines.skip();
        } else if !is_layout {
            return;
        }
        lines.skip();
    }
}

/// The two lines at the end of a patch that was sent by mail: `-- ` and a version.
fn is_signature(ahead: &[&str]) -> bool {
    let [dashes, version, rest @ ..] = ahead else { return false };
    let is_version = version.starts_with(|first: char| first.is_ascii_digit())
        && version.trim_end().chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'));
    dashes.trim_end() == "--" && is_version && rest.iter().all(|line| line.trim().is_empty())
}

/// All that is said of one file.
#[derive(Default)]
struct Section<'a> {
    line: usize,
    /// As `diff --git` has them.
    git: Option<Names>,
    /// As `---` and `+++` have them; none is `/dev/null`.
    old: Option<Option<PathBuf>>,
    new: Option<Option<PathBuf>>,
    from: Option<PathBuf>,
    to: Option<PathBuf>,
    is_new: bool,
    is_removed: bool,
    has_mode: bool,
    hunks: Vec<Hunk<'a>>,
}

impl<'a> Section<'a> {
    fn parse(lines: &mut Lines<'a>) -> Result<Section<'a>, ParseError> {
        let mut section = Section { line: lines.number(), ..Section::default() };
        if let Some(names) = lines.take("diff --git ") {
            section.git = Some(names::of_git_line(names));
            section.extended_headers(lines)?;
        }
        if starts_file(lines.ahead()) && lines.peek().is_some_and(|line| line.starts_with("--- ")) {
            section.old = lines.take("--- ").map(|name| names::parse(name, section.line)).transpose()?;
            let at = lines.number();
            section.new = lines.take("+++ ").map(|name| names::parse(name, at)).transpose()?;
        } else if section.git.is_none() {
            return ParseError::at(
                section.line,
                "this is no part of a unified diff: a file (`---`, `+++`), a hunk (`@@`) or the end is expected",
            );
        }
        while lines.peek().is_some_and(|line| line.starts_with("@@")) {
            section.hunks.push(hunk(lines)?);
            lines.skip_blank();
        }
        Ok(section)
    }

    fn extended_headers(&mut self, lines: &mut Lines<'a>) -> Result<(), ParseError> {
        while let Some(line) = lines.peek() {
            let name =
                |prefix: &str| line.strip_prefix(prefix).map(|name| names::parse(name, lines.number()));
            if let Some(from) = name("rename from ") {
                self.from = from?;
            } else if let Some(to) = name("rename to ") {
                self.to = to?;
            } else if line.starts_with("new file mode ") {
                self.is_new = true;
            } else if line.starts_with("deleted file mode ") {
                self.is_removed = true;
            } else if line.starts_with("old mode ") || line.starts_with("new mode ") {
                self.has_mode = true;
            } else if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
                return ParseError::at(lines.number(), "binary files cannot be patched");
            } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
                return ParseError::at(lines.number(), "files cannot be copied by a patch; add the new file");
            } else if !["index ", "similarity index ", "dissimilarity index "]
                .iter()
                .any(|known| line.starts_with(known))
            {
                break;
            }
            lines.skip();
        }
        Ok(())
    }

    fn into_file(self) -> Result<FilePatch<'a>, ParseError> {
        let line = self.line;
        let (path, intent) = match self.names()? {
            Names { old: None, new: Some(path) } => (path, Intent::Add(content(&self.hunks)?)),
            Names { old: Some(path), new: None } => (path, Intent::Remove(only_removing(self.hunks)?)),
            Names { old: Some(old), new: Some(new) } => {
                let to = self.new_name(&old, new)?;
                (old, Intent::Update { to, hunks: self.hunks })
            }
            Names { old: None, new: None } => {
                return ParseError::at(line, "which file? Both names are `/dev/null` or missing");
            }
        };
        Ok(FilePatch { line, path, intent })
    }

    /// The other name of a file that is renamed, which must be said.
    fn new_name(&self, old: &Path, new: PathBuf) -> Result<Option<PathBuf>, ParseError> {
        let is_rename = self.from.is_some() && self.to.is_some();
        match new == old {
            true if self.hunks.is_empty() => {
                ParseError::at(self.line, format!("nothing is changed in {}", shown(old)))
            }
            true => Ok(None),
            false if is_rename => Ok(Some(new)),
            false => ParseError::at(
                self.line,
                format!(
                    "is it {} or {}? To rename a file, say `rename from` and `rename to`",
                    shown(old),
                    shown(&new)
                ),
            ),
        }
    }

    /// The name before and after; none if there is no such file.
    fn names(&self) -> Result<Names, ParseError> {
        if self.is_new && self.is_removed {
            return ParseError::at(self.line, "the file is said to be new and to be deleted");
        }
        let mut names = match (&self.old, &self.new) {
            (Some(old), Some(new)) => Names { old: old.clone(), new: new.clone() }.without_prefixes(),
            _ => self.git.clone().unwrap_or_default(),
        };
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            names = Names { old: Some(from.clone()), new: Some(to.clone()) };
        }
        if self.is_new {
            names.old = None;
        }
        if self.is_removed {
            names.new = None;
        }
        Ok(names)
    }
}

/// The content of a file that is made by hunks.
fn content(hunks: &[Hunk<'_>]) -> Result<String, ParseError> {
    let mut content = String::new();
    for hunk in hunks {
        if hunk.before().next().is_some() {
            return ParseError::at(hunk.line, "a new file has only lines that begin with `+`");
        }
        for line in &hunk.lines {
            content.push_str(line.text);
            content.push_str(if line.is_unended { "" } else { "\n" });
        }
    }
    Ok(content)
}

fn only_removing(hunks: Vec<Hunk<'_>>) -> Result<Vec<Hunk<'_>>, ParseError> {
    match hunks.iter().find(|hunk| hunk.lines.iter().any(|line| line.sign != Sign::Removed)) {
        Some(hunk) => ParseError::at(hunk.line, "of a file that is deleted, every line begins with `-`"),
        None => Ok(hunks),
    }
}

/// The line that begins a hunk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Header<'a> {
    pub(super) at: Option<usize>,
    counts: Option<(usize, usize)>,
    pub(super) heading: Option<&'a str>,
}

impl<'a> Header<'a> {
    /// `@@ -1,3 +1,4 @@ anything`, or `@@ a line above @@`, whose second half may be missing.
    pub(super) fn parse(line: &'a str, number: usize) -> Result<Header<'a>, ParseError> {
        if line.starts_with("@@@") {
            return ParseError::at(number, "a diff of a merge cannot be applied; send a plain one");
        }
        let rest = line.trim_start_matches('@').trim();
        if let Some((at, counts)) = numbers(rest) {
            // What git writes behind the numbers is a guess of its own, and cut.
            return Ok(Header { at: Some(at).filter(|at| *at > 0), counts: Some(counts), heading: None });
        }
        let heading = rest.strip_suffix("@@").unwrap_or(rest).trim();
        let says_something = !heading.is_empty() && heading != "..." && heading != "…";
        Ok(Header { heading: says_something.then_some(heading), ..Header::default() })
    }
}

/// `-1,3 +1,4`: where the hunk starts in the old file, and how many lines it has in both.
fn numbers(text: &str) -> Option<(usize, (usize, usize))> {
    let mut words = text.split_whitespace();
    let (at, old) = range(words.next()?.strip_prefix('-')?)?;
    let (_, new) = range(words.next()?.strip_prefix('+')?)?;
    Some((at, (old, new)))
}

/// A start and a count, which is 1 if it is not said.
fn range(text: &str) -> Option<(usize, usize)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

fn hunk<'a>(lines: &mut Lines<'a>) -> Result<Hunk<'a>, ParseError> {
    let line = lines.number();
    let header = Header::parse(lines.peek().unwrap_or_default(), line)?;
    lines.skip();
    let empty = || {
        let mut hunk = Hunk::starting_at(line);
        hunk.at = header.at;
        hunk.headings.extend(header.heading);
        hunk
    };
    let start = lines.place();
    if let Some(counts) = header.counts {
        if let Some(hunk) = counted(lines, empty(), counts) {
            return Ok(hunk);
        }
        lines.back_to(start);
    }
    let hunk = uncounted(lines, empty())?;
    match hunk.lines.is_empty() {
        true => ParseError::at(line, "the hunk has no lines"),
        false => Ok(hunk),
    }
}

/// As many lines as the header says; none if it cannot be right.
fn counted<'a>(lines: &mut Lines<'a>, mut hunk: Hunk<'a>, (old, new): (usize, usize)) -> Option<Hunk<'a>> {
    let (mut old_left, mut new_left) = (old, new);
    while old_left > 0 || new_left > 0 {
        let line = lines.peek()?;
        hunk.push(line, 0).ok()?;
        lines.skip();
        let Some(parsed) = HunkLine::parse(line) else { continue };
        let in_old = usize::from(parsed.sign != Sign::Added);
        let in_new = usize::from(parsed.sign != Sign::Removed);
        (old_left, new_left) = (old_left.checked_sub(in_old)?, new_left.checked_sub(in_new)?);
    }
    if let Some(marker) = lines.peek().filter(|line| line.starts_with('\\')) {
        hunk.push(marker, 0).ok()?;
        lines.skip();
    }
    let place = lines.place();
    lines.skip_blank();
    let goes_on = !ends_hunk(lines.ahead()) && lines.peek().and_then(HunkLine::parse).is_some();
    lines.back_to(place);
    (!goes_on && !hunk.lines.is_empty()).then_some(hunk)
}

/// As many lines as there are up to something that cannot be one.
fn uncounted<'a>(lines: &mut Lines<'a>, mut hunk: Hunk<'a>) -> Result<Hunk<'a>, ParseError> {
    while let Some(line) = lines.peek().filter(|_| !ends_hunk(lines.ahead())) {
        hunk.push(line, lines.number())?;
        lines.skip();
    }
    hunk.without_blank_end();
    Ok(hunk)
}

/// Whether a hunk cannot go on here. `--- a` and `+++ b` may be its lines, but no header of a hunk follows these then.
fn ends_hunk(ahead: &[&str]) -> bool {
    let is_next_file = match ahead {
        [old, new, hunk, ..] => old.starts_with("--- ") && new.starts_with("+++ ") && hunk.starts_with("@@"),
        _ => false,
    };
    let Some(line) = ahead.first() else { return true };
    let begins = ["@@", "diff ", "Index: ", "===="];
    is_next_file || begins.iter().any(|begin| line.starts_with(begin)) || is_signature(ahead)
}
