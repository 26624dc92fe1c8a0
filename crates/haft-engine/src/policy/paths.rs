//! Path rules, arranged by directory.
//!
//! A rule stands at the directory that its fixed names lead to, so a path meets only the rules of the directories above
//! it, however many there are elsewhere. Paths are compared as bytes, name by name: nothing in them can act as a
//! pattern, and a name that is not UTF-8 is a name.

use std::{
    borrow::Cow,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use globset::{Candidate, Glob, GlobSet};
use haft_tool::{Access, PathEffect};

use super::{
    decide::{Restricted, Verdict},
    pattern,
    rule::PathPattern,
    rules::{Hits, RuleId},
    short::ShortMap,
};

/// The path rules for one access.
#[derive(Debug)]
pub(super) struct PathRules {
    access: Access,
    root: Directory,
    /// Whether there is a rule that asks or denies.
    restricts: bool,
    /// Whether there is a rule that denies.
    denies: bool,
}

#[derive(Debug, Default)]
struct Directory {
    children: ShortMap<Box<[u8]>, Directory>,
    /// Rules for this path and all below it.
    here: Hits,
    /// Rules for what is below it.
    below: Hits,
    /// Rules for a name anywhere below it, and all below that: `**/.env`.
    anywhere: ShortMap<Box<[u8]>, Hits>,
    globs: Globs,
}

/// Globs relative to a directory.
#[derive(Debug, Default)]
struct Globs {
    waiting: Vec<Glob>,
    set: GlobSet,
    rules: Vec<(Verdict, RuleId)>,
    /// As they are written, for who cannot use the set.
    texts: Vec<String>,
}

impl PathRules {
    pub(super) fn new(access: Access) -> PathRules {
        PathRules { access, root: Directory::default(), restricts: false, denies: false }
    }

    /// Adds a rule whose pattern begins at `base`. The globs count after [`finish`](PathRules::finish).
    pub(super) fn add(
        &mut self,
        base: &Path,
        path: &PathPattern,
        verdict: Verdict,
        rule: RuleId,
    ) -> Result<(), globset::Error> {
        let careful = verdict != Verdict::Allow;
        self.restricts |= careful;
        self.denies |= verdict == Verdict::Deny;
        let directory = self.root.at(base, path);
        match path.glob.as_deref() {
            None => directory.here.add(verdict, rule),
            // What covers everything in a directory covers looking at the directory, but not removing it.
            Some("**") if careful || self.access == Access::Read => directory.here.add(verdict, rule),
            Some("**") => directory.below.add(verdict, rule),
            Some(glob) if let Some(name) = name_anywhere(glob, careful) => {
                directory.anywhere.entry(name.into_bytes().into()).or_default().add(verdict, rule);
            }
            Some(glob) => {
                for glob in spread(glob, careful) {
                    directory.globs.waiting.push(pattern::glob(&in_one_automaton(glob))?);
                    directory.globs.rules.push((verdict, rule));
                }
            }
        }
        Ok(())
    }

    /// Adds a rule for every path there is.
    pub(super) fn add_everywhere(&mut self, verdict: Verdict, rule: RuleId) {
        self.restricts |= verdict != Verdict::Allow;
        self.denies |= verdict == Verdict::Deny;
        self.root.below.add(verdict, rule);
        if verdict != Verdict::Allow || self.access == Access::Read {
            self.root.here.add(verdict, rule);
        }
    }

    /// Compiles the globs. An error names the rule that is to blame, or one of them.
    pub(super) fn finish(&mut self) -> Result<(), (RuleId, globset::Error)> {
        self.root.finish()
    }

    /// Whether any path may be covered by a rule that asks or denies.
    pub(super) fn restricts(&self) -> bool {
        self.restricts
    }

    /// Whether any path may be covered by a rule that denies.
    pub(super) fn denies(&self) -> bool {
        self.denies
    }

    /// Adds the places where rules ask or deny.
    pub(super) fn restricted(&self, places: &mut Restricted) {
        if self.restricts {
            self.root.restricted(&mut PathBuf::from("/"), places);
        }
    }

    /// The rules that cover a path, which must be tidy.
    pub(super) fn find(&self, path: &[u8]) -> Hits {
        let (mut directory, mut rest) = (&self.root, strip_slash(path));
        let mut hits = directory.here;
        while !rest.is_empty() {
            hits.merge(Some(directory.below));
            directory.find_anywhere(rest, &mut hits);
            directory.globs.find(rest, &mut hits);
            let (name, below) = split_name(rest);
            let Some(child) = directory.children.get(name) else { break };
            (directory, rest) = (child, below);
            hits.merge(Some(directory.here));
        }
        hits
    }

    /// A rule that asks or denies, and may cover something below a path, which must be tidy. Rather too often than not.
    pub(super) fn speaks_below(&self, path: &[u8]) -> Option<RuleId> {
        let (mut directory, mut rest) = (&self.root, strip_slash(path));
        let mut found = directory.speaks_anywhere();
        while !rest.is_empty() {
            let (name, below) = split_name(rest);
            let Some(child) = directory.children.get(name) else { return found };
            (directory, rest) = (child, below);
            found = found.or_else(|| directory.speaks_anywhere());
        }
        found.or_else(|| directory.speaks())
    }

    /// A rule that denies a name which this path with wildcards fits, as far as the rule is written with plain names.
    pub(super) fn fits(&self, pattern: &[u8]) -> Option<RuleId> {
        let names: Vec<&[u8]> = names(pattern).collect();
        if self.denies { self.root.fits(&names) } else { None }
    }

    /// The allow rule that names this very path without a wildcard.
    pub(super) fn naming(&self, path: &[u8]) -> Option<RuleId> {
        let (mut directory, mut rest) = (&self.root, strip_slash(path));
        while !rest.is_empty() {
            let (name, below) = split_name(rest);
            (directory, rest) = (directory.children.get(name)?, below);
        }
        directory.here.allow
    }
}

impl Directory {
    fn at(&mut self, base: &Path, pattern: &PathPattern) -> &mut Directory {
        let base = base.ancestors().nth(pattern.up).unwrap_or(Path::new("/"));
        let base = tidy(bytes(base));
        let names = pattern.names.iter().map(String::as_bytes);
        let mut directory = self;
        for name in base.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).chain(names) {
            directory = directory.children.entry(name.into()).or_default();
        }
        directory
    }

    fn fits(&self, wanted: &[&[u8]]) -> Option<RuleId> {
        let Some((first, rest)) = wanted.split_first() else { return self.here.deny };
        let anywhere = self.anywhere.iter().filter(|(name, _)| wanted.iter().any(|glob| may_be(glob, name)));
        // `*/key` goes into every directory.
        let is_any = !rest.is_empty() && first.iter().all(|byte| *byte == b'*');
        let below =
            self.children.iter().filter(|(name, _)| may_be(first, name) || is_any && !name.starts_with(b"."));
        let below = below.filter_map(|(_, child)| child.here.deny.or_else(|| child.fits(rest)));
        anywhere.filter_map(|(_, hits)| hits.deny).chain(below).min()
    }

    /// A rule that asks or denies about names that may stand anywhere below.
    fn speaks_anywhere(&self) -> Option<RuleId> {
        let names = self.anywhere.values().filter_map(Hits::against);
        let globs = self.globs.rules.iter().filter(|(verdict, _)| *verdict != Verdict::Allow);
        names.chain(globs.map(|(_, rule)| *rule)).min()
    }

    /// A rule that asks or denies, here or anywhere below.
    fn speaks(&self) -> Option<RuleId> {
        let here = [self.here.against(), self.below.against(), self.speaks_anywhere()];
        let below = self.children.values().filter_map(Directory::speaks);
        here.into_iter().flatten().chain(below).min()
    }

    fn restricted(&self, here: &mut PathBuf, places: &mut Restricted) {
        let is_strict = |hits: &Hits| hits.deny.is_some() || hits.ask.is_some();
        if self.here.deny.is_some() {
            places.denied.push(here.clone());
        } else if self.here.ask.is_some() {
            places.asked.push(here.clone());
        }
        let has_patterns = is_strict(&self.below)
            || self.anywhere.values().any(is_strict)
            || self.globs.rules.iter().any(|(verdict, _)| *verdict != Verdict::Allow);
        if has_patterns {
            places.patterned.push(here.clone());
            places.patterns.extend(self.patterns().map(|pattern| (here.clone(), pattern)));
        }
        for (name, child) in self.children.iter() {
            here.push(OsStr::from_bytes(name));
            child.restricted(here, places);
            here.pop();
        }
    }

    /// The patterns that ask or deny.
    fn patterns(&self) -> impl Iterator<Item = String> {
        let is_strict = |hits: &Hits| hits.deny.is_some() || hits.ask.is_some();
        let below = is_strict(&self.below).then(|| "**".to_owned());
        let names = self.anywhere.iter().filter(move |(_, hits)| is_strict(hits)).flat_map(|(name, _)| {
            let name = globset::escape(&String::from_utf8_lossy(name));
            [format!("**/{name}"), format!("**/{name}/**")]
        });
        let globs = self.globs.rules.iter().zip(&self.globs.texts);
        let globs =
            globs.filter(|((verdict, _), _)| *verdict != Verdict::Allow).map(|(_, text)| text.clone());
        below.into_iter().chain(names).chain(globs)
    }

    fn find_anywhere(&self, rest: &[u8], hits: &mut Hits) {
        if !self.anywhere.is_empty() {
            names(rest).for_each(|name| hits.merge(self.anywhere.get(name).copied()));
        }
    }

    fn finish(&mut self) -> Result<(), (RuleId, globset::Error)> {
        self.globs.finish()?;
        self.children.values_mut().try_for_each(Directory::finish)
    }
}

impl Globs {
    fn finish(&mut self) -> Result<(), (RuleId, globset::Error)> {
        let Some((_, last)) = self.rules.last() else { return Ok(()) };
        self.set = GlobSet::new(&self.waiting).map_err(|err| (self.culprit().unwrap_or(*last), err))?;
        self.texts = self.waiting.drain(..).map(|glob| glob.glob().to_owned()).collect();
        Ok(())
    }

    fn culprit(&self) -> Option<RuleId> {
        let index = self.waiting.iter().position(|glob| GlobSet::new([glob]).is_err())?;
        Some(self.rules[index].1)
    }

    fn find(&self, rest: &[u8], hits: &mut Hits) {
        if self.set.is_empty() {
            return;
        }
        let mut matching = Vec::new(); // Allocates only where something matches.
        self.set.matches_candidate_into(&Candidate::from_bytes(rest), &mut matching);
        for (verdict, rule) in matching.into_iter().map(|index| self.rules[index]) {
            hits.add(verdict, rule);
        }
    }
}

/// Whether the shell may put this name for a part of a pattern. One of wildcards alone says nothing of a name.
fn may_be(glob: &[u8], name: &[u8]) -> bool {
    if glob == name {
        return true;
    }
    let is_hidden = name.starts_with(b".") && !glob.starts_with(b".");
    if is_hidden || !glob.iter().any(|byte| b"*?[".contains(byte)) || glob.iter().all(|byte| *byte == b'*') {
        return false;
    }
    let glob = std::str::from_utf8(glob).ok().and_then(|glob| Glob::new(glob).ok());
    glob.is_none_or(|glob| glob.compile_matcher().is_match(Path::new(OsStr::from_bytes(name))))
}

/// The name in `**/name`, which also covers what is below, and in `**/name/**` where that covers the name itself.
fn name_anywhere(glob: &str, careful: bool) -> Option<String> {
    let rest = glob.strip_prefix("**/")?;
    let name = if careful { rest.strip_suffix("/**").unwrap_or(rest) } else { rest };
    pattern::plain_name(name)
}

/// The globs that together mean a pattern: itself, and what is below where that is meant.
fn spread(glob: &str, careful: bool) -> Vec<String> {
    let last = glob.rsplit('/').next().unwrap_or(glob);
    let mut globs = vec![glob.to_owned()];
    if let Some(directory) = glob.strip_suffix("/**") {
        globs.extend(careful.then(|| directory.to_owned()));
    } else if careful || !last.contains(['*', '?', '[', '{', '}']) {
        globs.push(format!("{glob}/**"));
    }
    globs
}

/// The same glob so that globset matches it together with all others. It tries globs with a fixed extension one after
/// the other, which is slow for hundreds of them; a class at the end hides the extension. `*.rs` alone is quick as it is.
fn in_one_automaton(glob: String) -> String {
    let only_extension =
        glob.trim_start_matches("**/").strip_prefix("*.").is_some_and(|rest| !rest.contains(['*', '/']));
    match glob.char_indices().next_back() {
        Some((at, last))
            if last.is_ascii_alphanumeric() && !only_extension && !glob[..at].ends_with('\\') =>
        {
            format!("{}[{last}]", &glob[..at])
        }
        _ => glob,
    }
}

/// A path of a call as rules see it.
pub(super) struct Seen<'a> {
    /// As the call spells it, made tidy.
    pub(super) spelling: Cow<'a, [u8]>,
    /// What it really is. `None`: not known, and the spelling goes up somewhere, so it says nothing either.
    pub(super) target: Option<Cow<'a, [u8]>>,
}

impl<'a> Seen<'a> {
    pub(super) fn of(effect: &'a PathEffect) -> Seen<'a> {
        Seen::at(&effect.path, effect.target.as_deref())
    }

    /// A path and what it really is, if that is known.
    pub(super) fn at(path: &'a Path, target: Option<&'a Path>) -> Seen<'a> {
        let named = bytes(path);
        let spelling = tidy(named);
        let target = match target.map(bytes) {
            Some(target) if target != named => Some(tidy(target)),
            None if goes_up(named) => None,
            _ => Some(spelling.clone()),
        };
        Seen { spelling, target }
    }

    /// Whether it lies in this directory, or is it.
    pub(super) fn is_inside(&self, directory: &[u8]) -> bool {
        self.target.as_deref().is_some_and(|target| lies_in(target, directory))
    }

    /// Both ways to see it, if they differ.
    pub(super) fn ways(&self) -> impl Iterator<Item = &[u8]> {
        let target = self.target.as_deref().filter(|target| **target != *self.spelling);
        std::iter::once(&*self.spelling).chain(target)
    }

    pub(super) fn find(&self, rules: &PathRules) -> Hits {
        let mut hits = match &self.target {
            Some(target) => rules.find(target),
            None => Hits::default(),
        };
        if self.target.as_deref() != Some(&*self.spelling) {
            hits.merge(Some(Hits { allow: None, ..rules.find(&self.spelling) }));
        }
        hits
    }
}

/// By name, never by text: `/app-evil` does not lie in `/app`.
pub(super) fn lies_in(path: &[u8], directory: &[u8]) -> bool {
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

pub(super) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// The names of a tidy path.
pub(super) fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

fn goes_up(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name == b"..")
}

/// The path without `.`, `..`, doubled and final slashes, by its text alone.
fn tidy(path: &[u8]) -> Cow<'_, [u8]> {
    if is_tidy(path) {
        return Cow::Borrowed(path);
    }
    let mut kept: Vec<&[u8]> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(kept.pop()),
            name => kept.push(name),
        }
    }
    let mut tidied = Vec::with_capacity(path.len());
    for name in kept {
        tidied.push(b'/');
        tidied.extend_from_slice(name);
    }
    Cow::Owned(if tidied.is_empty() { b"/".to_vec() } else { tidied })
}

fn is_tidy(path: &[u8]) -> bool {
    let odd = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    if path.len() > 1 && path.ends_with(b"/") {
        return false;
    }
    !path.windows(2).any(odd)
        || !path.split(|byte| *byte == b'/').skip(1).any(|name| matches!(name, b"" | b"." | b".."))
}

fn strip_slash(path: &[u8]) -> &[u8] {
    path.strip_prefix(b"/").unwrap_or(path)
}

fn split_name(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().position(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (path, b""),
    }
}
