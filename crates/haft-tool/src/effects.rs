//! What a call is going to do, known before it runs.
//!
//! One value answers every reader: policy asks which paths, hosts and commands to judge, the scheduler asks what it
//! conflicts with, undo asks what to keep, the screen asks what to say. Read-only, destructive and concurrency-safe are
//! questions asked of it, so they cannot disagree with what is declared.

use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::shown::shown;

/// What a call reads, writes, contacts and runs, and how reversible that is.
///
/// What is not known makes the whole [`unknown`](Effects::unknown); the parts that are known still stand, so that a
/// deny rule on one of them holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Effects {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<PathEffect>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<HostEffect>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandEffect>,
    /// What words may name in commands that are not followed. No effects: only what denies is held against them.
    #[serde(skip)]
    mentions: Vec<Mention>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    state: Vec<StateEffect>,
    /// Names of tools of servers whose rules hold for this call as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counts_as: Vec<String>,
    irreversible: bool,
    unknown: bool,
    /// What is not known, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<Cow<'static, str>>,
}

/// Reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Looks, and changes nothing.
    Read,
    /// Creates, changes or removes.
    Write,
}

/// A file or a directory with everything below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathEffect {
    /// As the input named it, absolute.
    pub path: PathBuf,
    /// Read or written.
    pub access: Access,
    /// What it really is after links, filled in by the engine. Rules are judged on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<PathBuf>,
    /// How much of what is below it.
    #[serde(skip_serializing_if = "Spread::is_guarded")]
    pub spread: Spread,
    /// The command, by its place among [`commands`](Effects::commands), that exists to do this: who allows `rm` by a rule
    /// allows it to remove what it is told to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<usize>,
    /// Whether what is written is known to run and redirect nothing (`git config pull.rebase true`). Rules for the place hold; that
    /// its name is [protected](crate::protected) does not count, and nothing is granted for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub harmless: bool,
    /// What below it is opened with links followed, for the engine to look up where those lead.
    #[serde(skip)]
    pub below: Below,
}

/// What below a path is opened with links followed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Below {
    /// The names that fit a pattern of the shell, relative to the path. `**` is everything that is there.
    pub pattern: Option<String>,
    /// Whether every link is followed that is below the path, or below what fits the pattern.
    pub follows_links: bool,
}

impl Below {
    /// Whether it is nothing: the path is opened, and links below it are not followed.
    pub fn is_nothing(&self) -> bool {
        self.pattern.is_none() && !self.follows_links
    }
}

/// How much of what lies below a path is touched with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// The path itself, and of what is below as much as the door shows, which leaves out what rules withhold. All that
    /// goes through [`Files`](crate::Files).
    #[default]
    Guarded,
    /// Perhaps some of what is below, but not the path with everything. Nothing is left out.
    Some,
    /// Everything. Nothing is left out.
    All,
}

impl Spread {
    fn is_guarded(&self) -> bool {
        *self == Spread::Guarded
    }
}

impl PathEffect {
    /// The real place if it is known, the named one otherwise.
    pub fn place(&self) -> &Path {
        self.target.as_deref().unwrap_or(&self.path)
    }
}

/// A path that a word may name, in a command that is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The path, absolute.
    pub path: PathBuf,
    /// How it is written.
    pub spelling: Spelling,
    /// What it really is after links, filled in by the engine. `None` where it could not be looked up.
    pub target: Option<PathBuf>,
    /// Whether the engine found something there.
    pub exists: bool,
}

/// How a word is written that may name a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// Of letters alone, like any word, so that it may well be no path.
    PlainWord,
    /// Like a path.
    Path,
    /// As a pattern, for which the shell puts the names that fit.
    Pattern,
}

/// What an engine found at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The place after links.
    pub target: PathBuf,
    /// Whether a file is there, so that nothing can lie below.
    pub is_file: bool,
    /// Whether anything is there.
    pub exists: bool,
}

/// A host that is contacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostEffect {
    /// The host's name or address, as a URL parser gave it.
    pub host: String,
    /// `Read` fetches, `Write` sends or changes something there.
    pub access: Access,
    /// As in [`PathEffect::by`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<usize>,
}

/// A program that is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandEffect {
    /// The words of the command.
    pub argv: Vec<String>,
    /// What running it amounts to.
    pub class: Class,
    /// How far the words can be relied on.
    #[serde(skip_serializing_if = "Certainty::is_exact")]
    pub certainty: Certainty,
}

/// How far the words of a command can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It is these very words that run.
    #[default]
    Exact,
    /// Some of them are known only when it runs: no rule for these words can allow it.
    Partial,
    /// They say what another command of the list means, or what may run besides: they can forbid, never permit.
    Meaning,
}

impl Certainty {
    fn is_exact(&self) -> bool {
        *self == Certainty::Exact
    }
}

/// A piece of the session that is read or changed: `cwd`, `todos`, `tools`, …
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StateEffect {
    /// Which piece.
    pub key: Cow<'static, str>,
    /// Read or changed.
    pub access: Access,
}

/// The three classes that people ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Changes nothing.
    ReadOnly,
    /// Changes something that can be changed back.
    Write,
    /// Loses something.
    Destructive,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::ReadOnly => "read_only",
            Class::Write => "write",
            Class::Destructive => "destructive",
        })
    }
}

/// Whether a call leaves something behind, and whether that can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reversal {
    /// It leaves nothing behind.
    None,
    /// It can be undone.
    Reversible,
    /// It cannot, or nobody knows.
    Irreversible,
}

/// The piece of the session that a call changes which makes other calls: each of those is judged by itself, and nothing else
/// runs meanwhile.
pub const OTHER_CALLS: &str = "calls";

/// What a call changes that may stop the machine, or leave no room on it for anything else: it is asked unless a rule for the
/// very command allows it.
pub const MACHINE: &str = "machine";

/// The pieces of the session on which the meaning of later calls stands.
const GROUND: [&str; 4] = ["cwd", "workspace", "mode", OTHER_CALLS];

/// So many mentions are compared with a new one.
const MOST_COMPARED: usize = 32;

/// How many reasons are kept. Nobody reads more, and each is compared with all before it.
const MOST_DOUBTS: usize = 100;

/// Says what a call does.
impl Effects {
    /// Nothing outside the call: pure computation.
    pub fn none() -> Effects {
        Effects::default()
    }

    /// Anything at all. Runs alone, is never allowed unasked.
    pub fn unknown() -> Effects {
        Effects { unknown: true, ..Effects::default() }
    }

    /// Reads a file, or a directory and what is below it.
    pub fn reads(path: impl AsRef<Path>) -> Effects {
        Effects::none().and_reads(path)
    }

    /// Creates, changes or removes a file, or something below a directory.
    pub fn writes(path: impl AsRef<Path>) -> Effects {
        Effects::none().and_writes(path)
    }

    /// Fetches from a host.
    pub fn fetches(host: impl Into<String>) -> Effects {
        Effects::none().and_host(host, Access::Read)
    }

    /// Sends to a host.
    pub fn sends(host: impl Into<String>) -> Effects {
        Effects::none().and_host(host, Access::Write)
    }

    /// Changes a piece of the session.
    pub fn changes(key: impl Into<Cow<'static, str>>) -> Effects {
        Effects::none().and_state(key, Access::Write)
    }

    /// … and reads this path.
    pub fn and_reads(self, path: impl AsRef<Path>) -> Effects {
        self.and_path(path.as_ref(), Access::Read)
    }

    /// … and writes this path.
    pub fn and_writes(self, path: impl AsRef<Path>) -> Effects {
        self.and_path(path.as_ref(), Access::Write)
    }

    fn and_path(mut self, path: &Path, access: Access) -> Effects {
        self.push_path(PathEffect {
            path: path.to_owned(),
            access,
            target: None,
            spread: Spread::Guarded,
            by: None,
            harmless: false,
            below: Below::default(),
        });
        self
    }

    /// … and contacts this host.
    pub fn and_host(mut self, host: impl Into<String>, access: Access) -> Effects {
        self.push_host(HostEffect { host: host.into(), access, by: None });
        self
    }

    /// … and runs this command.
    pub fn and_command(mut self, argv: Vec<String>, class: Class) -> Effects {
        self.push_command(CommandEffect { argv, class, certainty: Certainty::Exact });
        self
    }

    /// Adds a path with all that is known of it.
    pub fn push_path(&mut self, path: PathEffect) {
        self.paths.push(path);
    }

    /// Adds a path that a word may name. One that was named before is not kept twice.
    pub fn push_mention(&mut self, path: PathBuf, spelling: Spelling) {
        // Texts name the same few things over and over; what is far back is seldom named again.
        if !self.mentions.iter().rev().take(MOST_COMPARED).any(|mention| mention.path == path) {
            self.mentions.push(Mention { path, spelling, target: None, exists: false });
        }
    }

    /// Adds a host with all that is known of it.
    pub fn push_host(&mut self, host: HostEffect) {
        self.hosts.push(host);
    }

    /// Adds a command with all that is known of it. Gives its place, for [`PathEffect::by`].
    pub fn push_command(&mut self, command: CommandEffect) -> usize {
        self.commands.push(command);
        self.commands.len() - 1
    }

    /// Notes that more may happen, and why that is not known.
    pub fn push_doubt(&mut self, why: impl Into<Cow<'static, str>>) {
        self.unknown = true;
        let why = why.into();
        if self.doubts.len() < MOST_DOUBTS && !self.doubts.contains(&why) {
            self.doubts.push(why);
        }
    }

    /// … and reads or changes this piece of the session.
    pub fn and_state(mut self, key: impl Into<Cow<'static, str>>, access: Access) -> Effects {
        self.state.push(StateEffect { key: key.into(), access });
        self
    }

    /// … and does all that this says.
    pub fn and(mut self, mut other: Effects) -> Effects {
        let before = self.commands.len();
        let owners = other.paths.iter_mut().map(|path| &mut path.by);
        owners.chain(other.hosts.iter_mut().map(|host| &mut host.by)).flatten().for_each(|by| *by += before);
        self.paths.append(&mut other.paths);
        self.hosts.append(&mut other.hosts);
        self.commands.append(&mut other.commands);
        self.mentions.append(&mut other.mentions);
        self.state.append(&mut other.state);
        self.counts_as.append(&mut other.counts_as);
        self.irreversible |= other.irreversible;
        self.unknown |= other.unknown;
        other.doubts.into_iter().for_each(|why| self.push_doubt(why));
        self
    }

    /// … and is judged like a call of this tool of a server: a rule for the one is a rule for the other. For tools of ours
    /// that speak to a server whose name stands in the input.
    pub fn counting_as(mut self, tool: impl Into<String>) -> Effects {
        self.counts_as.push(tool.into());
        self
    }

    /// … and perhaps more than that.
    pub fn and_unknown(mut self) -> Effects {
        self.unknown = true;
        self
    }

    /// … and it cannot be taken back.
    pub fn irreversible(mut self) -> Effects {
        self.irreversible = true;
        self
    }
}

/// What readers ask.
impl Effects {
    /// The paths, in the order they were declared.
    pub fn paths(&self) -> &[PathEffect] {
        &self.paths
    }

    /// Passes every text in it through `change`, for those who tell others what a call does: to take secrets out. Not for those
    /// who judge it. A command whose words need a change only when they stand together becomes one word.
    pub fn rewrite(&mut self, change: &mut dyn FnMut(&mut String)) {
        for path in &mut self.paths {
            rewrite_path(&mut path.path, change);
            path.target.iter_mut().for_each(|target| rewrite_path(target, change));
        }
        for mention in &mut self.mentions {
            rewrite_path(&mut mention.path, change);
            mention.target.iter_mut().for_each(|target| rewrite_path(target, change));
        }
        self.hosts.iter_mut().for_each(|host| change(&mut host.host));
        self.commands.iter_mut().for_each(|command| rewrite_words(&mut command.argv, change));
        let keys = self.state.iter_mut().map(|state| &mut state.key);
        keys.chain(&mut self.doubts).for_each(|text| rewrite_cow(text, change));
    }

    /// For engines: notes what the paths really are, in their order.
    pub fn locate(&mut self, targets: impl IntoIterator<Item = PathBuf>) {
        for (effect, target) in self.paths.iter_mut().zip(targets) {
            effect.target = Some(target);
        }
    }

    /// For engines: notes what was found at the paths, in their order. A file that is read is read without what lies below.
    pub fn note_found(&mut self, found: impl IntoIterator<Item = Located>) {
        for (effect, located) in self.paths.iter_mut().zip(found) {
            effect.target = Some(located.target);
            if located.is_file && effect.access == Access::Read {
                effect.spread = Spread::Guarded;
            }
        }
    }

    /// The paths that words may name.
    pub fn mentions(&self) -> &[Mention] {
        &self.mentions
    }

    /// For engines: notes what was found at the mentions, in their order.
    pub fn note_mentioned(&mut self, found: impl IntoIterator<Item = Option<Located>>) {
        for (mention, located) in self.mentions.iter_mut().zip(found) {
            if let Some(located) = located {
                mention.exists = located.exists;
                mention.target = Some(located.target);
            }
        }
    }

    /// The hosts.
    pub fn hosts(&self) -> &[HostEffect] {
        &self.hosts
    }

    /// The commands.
    pub fn commands(&self) -> &[CommandEffect] {
        &self.commands
    }

    /// The pieces of the session.
    pub fn state(&self) -> &[StateEffect] {
        &self.state
    }

    /// The tools of servers that it counts as.
    pub fn counts_as(&self) -> &[String] {
        &self.counts_as
    }

    /// Whether nothing at all is declared.
    pub fn is_none(&self) -> bool {
        *self == Effects::default()
    }

    /// Whether more may happen than is declared.
    pub fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// Why that is, as far as it was said.
    pub fn doubts(&self) -> &[Cow<'static, str>] {
        &self.doubts
    }

    /// Whether the world is the same afterwards. The session may change: that is not the world.
    pub fn is_read_only(&self) -> bool {
        !self.unknown
            && !self.irreversible
            && self.paths.iter().all(|path| path.access == Access::Read)
            && self.hosts.iter().all(|host| host.access == Access::Read)
            && self.runs().all(|command| command.class == Class::ReadOnly)
    }

    /// Whether all that it changes are files that it opens through [`Files`](crate::Files), so that somebody sees every change
    /// before it is made.
    pub fn are_through_files(&self) -> bool {
        let is_guarded = |path: &PathEffect| path.access == Access::Read || path.spread == Spread::Guarded;
        !self.unknown
            && self.paths.iter().all(is_guarded)
            && self.hosts.iter().all(|host| host.access == Access::Read)
            && self.commands.is_empty()
            && self.counts_as.is_empty()
    }

    /// The commands that run, without what they mean besides.
    fn runs(&self) -> impl Iterator<Item = &CommandEffect> {
        self.commands.iter().filter(|command| command.certainty != Certainty::Meaning)
    }

    /// Whether something is lost for good.
    pub fn is_destructive(&self) -> bool {
        self.irreversible || self.runs().any(|command| command.class == Class::Destructive)
    }

    /// Whether two such calls may run side by side.
    pub fn is_concurrency_safe(&self) -> bool {
        !self.conflicts_with(self)
    }

    /// The class that rules, screens and corpora speak of.
    pub fn class(&self) -> Class {
        if self.is_destructive() {
            Class::Destructive
        } else if self.is_read_only() {
            Class::ReadOnly
        } else {
            Class::Write
        }
    }

    /// Whether it leaves something behind that can, or cannot, be undone.
    pub fn reversal(&self) -> Reversal {
        if self.is_read_only() {
            Reversal::None
        } else if self.unknown || self.is_destructive() || !self.hosts.is_empty() || !self.commands.is_empty()
        {
            Reversal::Irreversible
        } else {
            Reversal::Reversible
        }
    }

    /// Whether the two must not overlap in time and must keep their order.
    pub fn conflicts_with(&self, other: &Effects) -> bool {
        self.runs_alone() || other.runs_alone() || self.shares_with(other)
    }

    /// Whether everything else waits: the unknown, a command that changes something (who knows what else), and a change
    /// of what all later calls stand on: the directory, the workspace, the mode, or [other calls](OTHER_CALLS).
    pub fn runs_alone(&self) -> bool {
        let is_ground =
            |state: &StateEffect| state.access == Access::Write && GROUND.contains(&state.key.as_ref());
        self.unknown
            || self.runs().any(|command| command.class != Class::ReadOnly)
            || self.state.iter().any(is_ground)
    }

    fn shares_with(&self, other: &Effects) -> bool {
        let paths = self.paths.iter().any(|mine| {
            other
                .paths
                .iter()
                .any(|its| either_writes(mine.access, its.access) && overlap(mine.place(), its.place()))
        });
        let hosts = self.hosts.iter().any(|mine| {
            other.hosts.iter().any(|its| either_writes(mine.access, its.access) && mine.host == its.host)
        });
        let state = self.state.iter().any(|mine| {
            other.state.iter().any(|its| either_writes(mine.access, its.access) && mine.key == its.key)
        });
        paths || hosts || state
    }
}

fn either_writes(one: Access, other: Access) -> bool {
    one == Access::Write || other == Access::Write
}

fn rewrite_path(path: &mut PathBuf, change: &mut dyn FnMut(&mut String)) {
    // What is no text holds nothing that could be read as one.
    if let Some(before) = path.to_str() {
        let mut text = before.to_owned();
        change(&mut text);
        if text != before {
            *path = text.into();
        }
    }
}

fn rewrite_words(words: &mut Vec<String>, change: &mut dyn FnMut(&mut String)) {
    words.iter_mut().for_each(&mut *change);
    let before = words.join(" ");
    let mut line = before.clone();
    change(&mut line);
    if line != before {
        *words = vec![line];
    }
}

fn rewrite_cow(text: &mut Cow<'static, str>, change: &mut dyn FnMut(&mut String)) {
    let mut changed = text.clone().into_owned();
    change(&mut changed);
    if changed != *text {
        *text = changed.into();
    }
}

/// Whether one path is the other or lies below it. By component: `/app` does not overlap `/app-evil`.
pub fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// One line for a person: "writes /w/a.txt, contacts docs.rs".
impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        for effect in &self.paths {
            let verb = if effect.access == Access::Read { "reads" } else { "writes" };
            parts.push(format!("{verb} {}", shown(&effect.path)));
        }
        for effect in &self.hosts {
            let verb = if effect.access == Access::Read { "fetches from" } else { "sends to" };
            parts.push(format!("{verb} {}", effect.host));
        }
        for effect in self.runs() {
            parts.push(format!("runs {}", effect.argv.join(" ")));
        }
        for effect in &self.state {
            let verb = if effect.access == Access::Read { "reads" } else { "changes" };
            parts.push(format!("{verb} the session's {}", effect.key));
        }
        if self.unknown {
            let what = if parts.is_empty() { "does what is not known" } else { "and more that is not known" };
            let why = self.doubts.join(", ");
            parts.push(if why.is_empty() { what.to_owned() } else { format!("{what} ({why})") });
        }
        if parts.is_empty() {
            parts.push("touches nothing".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn conflict(one: &Effects, other: &Effects, expected: bool) {
        assert_eq!(one.conflicts_with(other), expected, "{one} | {other}");
        assert_eq!(other.conflicts_with(one), expected, "{other} | {one}");
    }

    #[test]
    fn a_write_conflicts_with_what_lies_above_and_below_it() {
        conflict(&Effects::reads("/w/a"), &Effects::reads("/w/a"), false);
        conflict(&Effects::reads("/w/a"), &Effects::writes("/w/a"), true);
        conflict(&Effects::reads("/w"), &Effects::writes("/w/a"), true);
        conflict(&Effects::writes("/w"), &Effects::reads("/w/a/b"), true);
        conflict(&Effects::writes("/w/a"), &Effects::writes("/w/b"), false);
        conflict(&Effects::writes("/w/app"), &Effects::writes("/w/app-evil"), false);
    }

    #[test]
    fn the_unknown_and_a_change_of_directory_run_alone() {
        conflict(&Effects::unknown(), &Effects::none(), true);
        for ground in GROUND {
            conflict(&Effects::changes(ground), &Effects::none(), true);
            conflict(&Effects::none().and_state(ground, Access::Read), &Effects::none(), false);
        }
        conflict(&Effects::changes("todos"), &Effects::reads("/w"), false);
        conflict(&Effects::changes("todos"), &Effects::changes("todos"), true);
    }

    #[test]
    fn two_names_of_one_file_conflict_once_their_target_is_known() {
        let mut one = Effects::writes("/w/link");
        one.locate(["/w/real".into()]);
        conflict(&one, &Effects::writes("/w/real"), true);
    }

    #[test]
    fn only_files_are_changed_through_files() {
        let command = || vec!["make".to_owned()];
        for (effects, expected) in [
            (Effects::writes("/w/a").and_reads("/w").and_state("todos", Access::Write), true),
            (Effects::writes("/w/a").and_command(command(), Class::ReadOnly), false),
            (Effects::writes("/w/a").and_host("a.org", Access::Write), false),
            (Effects::unknown().and_writes("/w/a"), false),
        ] {
            assert_eq!(effects.are_through_files(), expected, "{effects:?}");
        }
        let mut wide = Effects::none();
        let path = PathEffect {
            path: "/w".into(),
            access: Access::Write,
            target: None,
            spread: Spread::Some,
            by: None,
            harmless: false,
            below: Below::default(),
        };
        wide.push_path(path);
        assert!(!wide.are_through_files());
    }

    #[test]
    fn the_classes_follow_from_what_is_declared() {
        assert_eq!(Effects::none().class(), Class::ReadOnly);
        assert_eq!(Effects::reads("/a").class(), Class::ReadOnly);
        assert_eq!(Effects::writes("/a").class(), Class::Write);
        assert_eq!(Effects::unknown().class(), Class::Write);
        assert_eq!(Effects::writes("/a").irreversible().class(), Class::Destructive);
        assert!(Effects::reads("/a").is_concurrency_safe());
        assert!(!Effects::writes("/a").is_concurrency_safe());
        assert_eq!(Effects::writes("/a").reversal(), Reversal::Reversible);
        assert_eq!(Effects::sends("a.org").reversal(), Reversal::Irreversible);
    }

    #[test]
    fn a_person_reads_one_line() {
        let effects = Effects::writes("/w/a.txt").and_host("docs.rs", Access::Read).and_unknown();
        assert_eq!(effects.to_string(), "writes /w/a.txt, fetches from docs.rs, and more that is not known");
        assert_eq!(Effects::none().to_string(), "touches nothing");
    }
}
