//! Where links below a path lead.
//!
//! `cat *.md` opens what fits the pattern, and `grep -R` everything below a directory; a link among that leads elsewhere. So
//! what a command would open is looked up as it is now, and each place outside of where it looks is one more path to judge.
//! That is for the question that is asked: what is there later, a sandbox keeps from leading out.

use std::{
    collections::BTreeSet,
    fs,
    io::Read,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

use haft_tool::{Below, PathEffect};

use super::locate::locate;

/// So many names are looked at for one call.
const NAMES_LIMIT: usize = 20_000;

/// So many places are told. One is enough for a question; others may be denied.
const PLACES_LIMIT: usize = 256;

/// What is reached through links.
#[derive(Debug, Default)]
pub(super) struct Linked {
    /// The places, each as the link is named, with where it leads.
    pub(super) paths: Vec<PathEffect>,
    /// Whether there is more than was looked at.
    pub(super) is_cut: bool,
}

/// Whether a link leads to a program, as those in `.venv/bin` do: to read one tells nothing of a person.
fn is_program(real: &Path) -> bool {
    const ELF: &[u8] = b"\x7fELF";
    let is_executable = |found: fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
    let mut beginning = [0; ELF.len()];
    fs::metadata(real).is_ok_and(is_executable)
        && fs::File::open(real).and_then(|mut file| file.read_exact(&mut beginning)).is_ok()
        && beginning == ELF
}

/// Looks for links.
pub(super) struct Links<'a> {
    workspace: &'a Path,
    names: usize,
    seen: BTreeSet<PathBuf>,
    found: Linked,
}

/// Something below a path: as it is named, and what it is.
#[derive(Debug, Clone)]
struct Entry {
    named: PathBuf,
    real: PathBuf,
    is_link: bool,
}

impl Entry {
    fn new(named: PathBuf, real: PathBuf) -> Entry {
        Entry { named, real, is_link: false }
    }
}

impl<'a> Links<'a> {
    pub(super) fn new(workspace: &'a Path) -> Links<'a> {
        Links { workspace, names: 0, seen: BTreeSet::new(), found: Linked::default() }
    }

    pub(super) fn found(self) -> Linked {
        self.found
    }

    /// Looks up what an effect opens below its path, which is really `target`.
    pub(super) fn look_below(&mut self, effect: &PathEffect, target: &Path) {
        let Below { pattern, follows_links } = &effect.below;
        let root = Entry::new(effect.path.clone(), target.to_owned());
        let Some(pattern) = pattern else {
            return self.walk(effect, target, root, None, true);
        };
        if let Some(name) = deep_name(pattern) {
            self.walk(effect, target, root.clone(), Some(name), false);
        }
        for place in self.fitting(root, &components(pattern)) {
            self.note(effect, target, &place);
            if *follows_links {
                self.walk(effect, target, place, None, true);
            }
        }
    }

    /// A place that is not below where the command looks is one more.
    fn note(&mut self, effect: &PathEffect, root: &Path, place: &Entry) {
        if place.real.starts_with(root) || !self.seen.insert(place.real.clone()) || is_program(&place.real) {
            return;
        }
        if self.found.paths.len() == PLACES_LIMIT {
            self.found.is_cut = true;
            return;
        }
        self.found.paths.push(PathEffect {
            path: place.named.clone(),
            target: Some(place.real.clone()),
            below: Below::default(),
            ..effect.clone()
        });
    }

    /// What fits a pattern, component by component.
    fn fitting(&mut self, root: Entry, components: &[&str]) -> Vec<Entry> {
        let looked_in = root.real.clone();
        let mut places = vec![root];
        for component in components {
            let mut next = Vec::new();
            for place in places {
                let name = literal(component);
                // What a link names outside that is not there may be there when the command runs.
                if !place.real.starts_with(&looked_in) && !place.real.exists() {
                    next.push(match name {
                        Some(name) => Entry::new(place.named.join(&name), place.real.join(name)),
                        None => place,
                    });
                    continue;
                }
                if let Some(name) = name {
                    next.extend(entry(&place, Path::new(&name)));
                    continue;
                }
                let entries = self.entries(&place).into_iter();
                next.extend(entries.filter(|entry| has_name(entry, |name| fits(component.as_bytes(), name))));
            }
            places = next;
        }
        places
    }

    /// Everything below a place, or what has a name that fits; through links, if it is to, as far as they stay in the workspace.
    fn walk(
        &mut self,
        effect: &PathEffect,
        root: &Path,
        place: Entry,
        name: Option<&str>,
        through_links: bool,
    ) {
        let is_meant = |entry: &Entry| {
            name.is_none_or(|name| has_name(entry, |own| fits_anywhere(name.as_bytes(), own)))
        };
        let mut waiting = vec![place];
        let mut walked = BTreeSet::new();
        while let Some(place) = waiting.pop() {
            if !place.real.starts_with(self.workspace) && !place.real.starts_with(root)
                || !walked.insert(place.real.clone())
            {
                continue;
            }
            for entry in self.entries(&place) {
                if entry.is_link && is_meant(&entry) {
                    self.note(effect, root, &entry);
                }
                if !entry.is_link || through_links {
                    waiting.push(entry);
                }
            }
            if self.found.is_cut {
                return;
            }
        }
    }

    /// The entries of a directory; none of anything else.
    fn entries(&mut self, directory: &Entry) -> Vec<Entry> {
        let Ok(entries) = fs::read_dir(&directory.real) else { return Vec::new() };
        let mut places = Vec::new();
        for entry in entries.flatten() {
            if self.names == NAMES_LIMIT {
                self.found.is_cut = true;
                break;
            }
            self.names += 1;
            let (named, path) =
                (directory.named.join(entry.file_name()), directory.real.join(entry.file_name()));
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let real = if is_link { locate(&path).ok() } else { Some(path) };
            places.extend(real.map(|real| Entry { named, real, is_link }));
        }
        places.sort_by(|a, b| a.named.cmp(&b.named));
        places
    }
}

/// An entry by its name, if it is there.
fn entry(directory: &Entry, name: &Path) -> Option<Entry> {
    let path = directory.real.join(name);
    fs::symlink_metadata(&path).ok()?;
    Some(Entry::new(directory.named.join(name), locate(&path).ok()?))
}

fn has_name(place: &Entry, fits: impl Fn(&[u8]) -> bool) -> bool {
    place.named.file_name().is_some_and(|name| fits(name.as_bytes()))
}

fn components(pattern: &str) -> Vec<&str> {
    pattern.split('/').filter(|name| !name.is_empty() && *name != ".").collect()
}

/// Which names a pattern with `**` fits at any depth. The shell takes that for `*`, unless it is told otherwise; a search
/// means it so.
fn deep_name(pattern: &str) -> Option<&str> {
    let names = components(pattern);
    let is_deep = names.iter().any(|name| name.contains("**"));
    is_deep.then(|| names.last().copied().unwrap_or("**"))
}

/// The name that a component is, if it is no pattern.
fn literal(component: &str) -> Option<String> {
    let mut name = String::with_capacity(component.len());
    let mut chars = component.chars();
    while let Some(char) = chars.next() {
        match char {
            '*' | '?' | '[' => return None,
            '\\' => name.extend(chars.next()),
            char => name.push(char),
        }
    }
    Some(name)
}

/// One thing that a pattern asks for.
enum Token {
    Byte(u8),
    /// One character, of up to four bytes. Which of a class it is does not matter here: too much is better than too little.
    One,
    Any,
}

/// Whether a name fits a component. A leading dot must be named.
fn fits(component: &[u8], name: &[u8]) -> bool {
    let names_the_dot = matches!(tokens(component).first(), Some(Token::Byte(b'.')));
    (names_the_dot || name.first() != Some(&b'.')) && fits_anywhere(component, name)
}

/// The same, and a leading dot is like any other.
fn fits_anywhere(component: &[u8], name: &[u8]) -> bool {
    // Which positions in the name may have been come to.
    let mut at = vec![false; name.len() + 1];
    at[0] = true;
    for token in tokens(component) {
        let mut next = vec![false; name.len() + 1];
        match token {
            Token::Any => {
                let first = at.iter().position(|is| *is).unwrap_or(at.len());
                next[first..].fill(true);
            }
            Token::Byte(byte) => {
                (0..name.len())
                    .filter(|from| at[*from] && name[*from] == byte)
                    .for_each(|from| next[from + 1] = true);
            }
            Token::One => {
                for from in (0..name.len()).filter(|from| at[*from]) {
                    next[from + 1..name.len().min(from + 4) + 1].fill(true);
                }
            }
        }
        at = next;
    }
    at[name.len()]
}

fn tokens(component: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(byte) = component.get(at) {
        at += 1;
        tokens.push(match byte {
            b'*' => Token::Any,
            b'?' => Token::One,
            b'[' => match class_length(&component[at..]) {
                Some(length) => {
                    at += length;
                    Token::One
                }
                None => Token::Byte(b'['),
            },
            b'\\' if at < component.len() => {
                at += 1;
                Token::Byte(component[at - 1])
            }
            byte => Token::Byte(*byte),
        });
    }
    tokens
}

/// How long the rest of a class is, with its bracket. One that is not closed is text. The first thing in it may be `]`, and
/// `[:alpha:]` in it has brackets of its own.
fn class_length(rest: &[u8]) -> Option<usize> {
    let mut at = usize::from(matches!(rest.first(), Some(b'!' | b'^')));
    at += usize::from(rest.get(at) == Some(&b']'));
    loop {
        match (rest.get(at)?, rest.get(at + 1)) {
            (b']', _) => return Some(at + 1),
            (b'[', Some(kind @ (b':' | b'.' | b'='))) => {
                let end = rest[at + 2..].windows(2).position(|pair| pair == [*kind, b']']);
                at += end.map_or(1, |end| end + 4);
            }
            (b'\\', Some(_)) => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use haft_tool::Access;

    use super::*;

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        for file in ["ws/a.txt", "ws/sub/b.md", "ws/other/c.md", "out/key", "out/deep/key"] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        symlink(root.join("out/key"), root.join("ws/notes.md")).unwrap();
        symlink(root.join("out"), root.join("ws/dir")).unwrap();
        symlink("../other", root.join("ws/sub/inside")).unwrap();
        symlink("../../out/none", root.join("ws/other/dangling")).unwrap();
        symlink("loop", root.join("ws/loop")).unwrap();
        symlink(root.join("out/key"), root.join("ws/.hidden")).unwrap();
        (directory, root)
    }

    /// What is reached besides, below `ws`, as it is named and as it is.
    #[track_caller]
    fn check(path: &str, pattern: Option<&str>, follows_links: bool, expected: &[&str]) {
        let (_directory, root) = tree();
        let workspace = root.join("ws");
        let effect = PathEffect {
            path: workspace.join(path),
            access: Access::Read,
            target: None,
            spread: haft_tool::Spread::All,
            by: None,
            harmless: false,
            below: Below { pattern: pattern.map(str::to_owned), follows_links },
        };
        let mut links = Links::new(&workspace);
        links.look_below(&effect, &locate(&workspace.join(path)).unwrap());
        let found = links.found();
        assert!(!found.is_cut);
        let short = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
        let mut told: Vec<String> = found
            .paths
            .iter()
            .map(|path| format!("{} -> {}", short(&path.path), short(path.place())))
            .collect();
        told.sort();
        assert_eq!(told, expected, "{path} {pattern:?}");
    }

    #[test]
    fn a_link_to_a_program_leads_nowhere() {
        let (_directory, root) = tree();
        let workspace = root.join("ws");
        symlink("/bin/true", workspace.join("sub/true")).unwrap();
        fs::write(root.join("out/script"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(root.join("out/script"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink(root.join("out/script"), workspace.join("sub/script")).unwrap();
        let effect = PathEffect {
            path: workspace.join("sub"),
            access: Access::Read,
            target: None,
            spread: haft_tool::Spread::All,
            by: None,
            harmless: false,
            below: Below { pattern: None, follows_links: true },
        };
        let mut links = Links::new(&workspace);
        links.look_below(&effect, &workspace.join("sub"));
        let outside = |path: &PathEffect| !path.place().starts_with(&workspace);
        let found: Vec<PathBuf> =
            links.found().paths.into_iter().filter(outside).map(|path| path.place().to_owned()).collect();
        assert!(found.contains(&root.join("out/script")), "{found:?}");
        assert!(found.iter().all(|place| place.starts_with(&root)), "{found:?}");
    }

    #[test]
    fn what_fits_a_pattern_is_followed_to_where_it_leads() {
        check("", Some("*.md"), false, &["ws/notes.md -> out/key"]);
        check("", Some("n?tes.[lm]d"), false, &["ws/notes.md -> out/key"]);
        check("", Some("d*/key"), false, &["ws/dir/key -> out/key"]);
        check("", Some("*"), false, &["ws/dir -> out", "ws/notes.md -> out/key"]);
        check(
            "",
            Some("*/*"),
            false,
            &["ws/dir/deep -> out/deep", "ws/dir/key -> out/key", "ws/other/dangling -> out/none"],
        );
        check("", Some(".h*"), false, &["ws/.hidden -> out/key"]);
        check("", Some("o*/dangling/key"), false, &["ws/other/dangling/key -> out/none/key"]);
        check("", Some("o*/d*/*"), false, &["ws/other/dangling -> out/none"]);
        check("", Some("a*"), false, &[]);
        check("", Some("*.rs"), false, &[]);
        check("sub", Some("*"), false, &["ws/sub/inside -> ws/other"]);
    }

    #[test]
    fn who_follows_links_reaches_what_all_of_them_name() {
        let all = ["ws/.hidden -> out/key", "ws/dir -> out", "ws/sub/inside/dangling -> out/none"];
        check("", None, true, &all);
        check("sub", None, true, &["ws/sub/inside -> ws/other", "ws/sub/inside/dangling -> out/none"]);
    }

    #[test]
    fn a_search_finds_links_at_any_depth_and_does_not_go_through_them() {
        let all = ["ws/.hidden -> out/key", "ws/dir -> out", "ws/other/dangling -> out/none"];
        check("", Some("**"), false, &all);
        check("", Some("**/*.md"), false, &["ws/notes.md -> out/key"]);
        check("", Some("**/d*g"), false, &["ws/other/dangling -> out/none"]);
        check("", Some("**/*.txt"), false, &[]);
        check("", Some("**/k*"), false, &["ws/dir/key -> out/key"]);
    }

    #[test]
    fn a_pattern_fits_what_the_shell_would_find() {
        for (pattern, name, expected) in [
            ("*.md", "a.md", true),
            ("*.md", ".a.md", false),
            (".*", ".a", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("?", "é", true),
            ("[]x]b", "]b", true),
            ("[x", "[x", true),
            ("[[:lower:]]*.md", "a.md", true),
            ("[![:digit:].]b", "ab", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXbY", false),
            ("", "", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_tree_that_is_too_large_is_said_to_be_cut() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let mut links = Links { names: NAMES_LIMIT - 1, ..Links::new(&root) };
        fs::write(root.join("a"), "").unwrap();
        fs::write(root.join("b"), "").unwrap();
        links.entries(&Entry::new(root.clone(), root.clone()));
        assert!(links.found().is_cut);
    }
}
