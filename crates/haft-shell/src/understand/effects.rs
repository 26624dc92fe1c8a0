//! From acts to effects.

use std::{
    collections::HashSet,
    path::{Component, Path, PathBuf},
};

use haft_tool::{
    Access, Below, Certainty, Class, CommandEffect, Effects, HostEffect, MACHINE, PathBase, PathEffect,
    Spelling, Spread, by_text,
};

use super::{
    Act,
    links::follows_links,
    mentions::{Finder, through_process},
    places::Places,
    words::PIPE,
};
use crate::programs::{Arg, Facts, Run, Touch};

pub(super) fn of(acts: &[Act], grounds: &Grounds) -> Effects {
    let home = grounds.home.as_deref();
    let mut sum = Sum { effects: Effects::none(), home, files: HashSet::new() };
    let mut halts = false;
    for act in acts {
        match act {
            Act::Run { argv, facts, places } => {
                let class = if grounds.are_lost(facts, places) { Class::Destructive } else { facts.class };
                sum.run(argv, facts, class, places);
                halts |= facts.halts;
            }
            Act::Touch { path, access, places } => {
                let spread = if *access == Access::Write { Spread::Some } else { Spread::Guarded };
                let from = sum.effects.paths().len();
                let manner = Manner {
                    access: *access,
                    spread,
                    by: None,
                    loses: false,
                    harmless: false,
                    follows_links: false,
                };
                sum.touch(path, places, manner);
                if *access == Access::Write {
                    let written = sum.effects.paths()[from..].iter().map(|effect| effect.path.clone());
                    sum.files.extend(written);
                }
            }
            Act::Text { text, places } => sum.mention(text, places),
            Act::List { pattern, places } => sum.names(pattern, places, None),
            Act::Suspect(argv) => sum.mean(argv.clone()),
            Act::Move => sum.effects = std::mem::take(&mut sum.effects).and_state("cwd", Access::Write),
            Act::Bomb => {
                halts = true;
                sum.effects.push_doubt("processes that start more and more of themselves");
            }
            Act::Doubt(why) => sum.effects.push_doubt(why.clone()),
        }
    }
    if halts { sum.effects.and_state(MACHINE, Access::Write) } else { sum.effects }
}

/// Places with all that a person has in them.
#[derive(Debug)]
pub(super) struct Grounds {
    cwd: PathBuf,
    home: Option<PathBuf>,
}

impl Grounds {
    pub(super) fn of(base: &PathBase) -> Grounds {
        Grounds { cwd: base.cwd.clone(), home: base.home.clone() }
    }

    /// Whether a program goes through all of such a place. Owners and modes cannot be had back from anywhere.
    fn are_lost(&self, facts: &Facts, places: &Places) -> bool {
        let written = |touch: &&Touch| touch.access == Access::Write;
        facts.deep
            && facts.touches.iter().filter(written).any(|touch| self.is_all_of_one(&touch.path, places))
    }

    fn is_all_of_one(&self, path: &Arg, places: &Places) -> bool {
        let known = |path: &str| {
            let paths = places.resolve(path);
            paths.is_none_or(|paths| paths.iter().any(|path| self.holds(&by_text(path))))
        };
        match path {
            Arg::Known(path) => known(path),
            // `*` is nearly all, and so is `./*`.
            Arg::Glob(pattern) => {
                split(pattern).is_none_or(|(directory, rest)| is_wide(rest) && known(&directory))
            }
            Arg::Unknown { .. } => true,
        }
    }

    /// The directory itself or one above it, a home, or what the system is made of.
    fn holds(&self, path: &Path) -> bool {
        const SYSTEM: [&str; 3] = ["/usr", "/home", "/Users"];
        let is_part = |parent: &Path| SYSTEM.iter().any(|directory| parent == Path::new(directory));
        let is_top = path.components().count() <= 2 || path.parent().is_some_and(is_part);
        is_top
            || self.cwd.starts_with(path)
            || self.home.as_deref().is_some_and(|home| home.starts_with(path))
    }
}

/// Whether some name of a pattern fits nearly every file.
fn is_wide(names: &str) -> bool {
    names.split('/').any(|name| name.starts_with('.') || name.bytes().all(|byte| b"*?".contains(&byte)))
}

struct Sum<'a> {
    effects: Effects,
    /// The home that words may speak of.
    home: Option<&'a Path>,
    /// What the line itself wrote by a redirection: files, below which nothing is.
    files: HashSet<PathBuf>,
}

/// How a path is touched.
#[derive(Clone, Copy)]
struct Manner {
    access: Access,
    spread: Spread,
    by: Option<usize>,
    loses: bool,
    /// Whether what is written runs and redirects nothing.
    harmless: bool,
    /// Whether links below are followed.
    follows_links: bool,
}

impl Sum<'_> {
    fn run(&mut self, argv: &[Arg], facts: &Facts, class: Class, places: &Places) {
        let certainty = if argv.iter().all(is_certain) { Certainty::Exact } else { Certainty::Partial };
        let command = CommandEffect { argv: words(argv), class, certainty };
        let by = self.effects.push_command(command);
        for spelling in &facts.spellings {
            self.mean(words(spelling));
        }
        let follows_links = follows_links(argv);
        for touch in &facts.touches {
            self.touch(&touch.path, places, Manner { follows_links, ..manner(argv, class, touch, by) });
        }
        if facts.touches.is_empty() {
            if follows_links {
                let here = Arg::Known(".".to_owned());
                self.touch(
                    &here,
                    places,
                    Manner {
                        access: Access::Read,
                        spread: Spread::Guarded,
                        by: Some(by),
                        loses: false,
                        harmless: false,
                        follows_links,
                    },
                );
            }
            for arg in argv {
                if let Arg::Glob(pattern) = arg {
                    self.names(pattern, places, Some(by));
                }
            }
        }
        if !facts.told_apart {
            unread(argv, facts).for_each(|arg| match arg {
                Arg::Known(text) | Arg::Unknown { prefix: text, .. } => self.mention(text, places),
                Arg::Glob(pattern) => self.mention_names(pattern, places),
            });
        }
        for (host, access) in &facts.hosts {
            match host {
                Arg::Known(host) => {
                    self.effects.push_host(HostEffect { host: host.clone(), access: *access, by: Some(by) })
                }
                _ => self.effects.push_doubt("a host that is known only when it runs"),
            }
        }
        if let Some(doubt) = &facts.doubt {
            self.effects.push_doubt(doubt.clone());
        }
    }

    fn mention(&mut self, text: &str, places: &Places) {
        let found = |path, spelling| self.effects.push_mention(path, spelling);
        Finder { places, home: self.home, found }.look_through(text);
    }

    fn mention_names(&mut self, pattern: &str, places: &Places) {
        let led = through_process(pattern);
        let patterns = [Some(pattern), led.as_deref()].into_iter().flatten();
        let paths = patterns.filter_map(|pattern| places.resolve(pattern)).flatten();
        paths.for_each(|path| self.effects.push_mention(path, Spelling::Pattern));
    }

    fn mean(&mut self, argv: Vec<String>) {
        self.effects.push_command(CommandEffect { argv, class: Class::Write, certainty: Certainty::Meaning });
    }

    fn touch(&mut self, path: &Arg, places: &Places, manner: Manner) {
        match path {
            Arg::Known(path) if is_no_file(path, manner.access) => {}
            Arg::Known(path) if is_a_connection(path) => {
                self.effects.push_doubt("a connection that the shell opens")
            }
            Arg::Known(path) => self.known(path, places, manner, None),
            Arg::Glob(pattern) => self.glob(pattern, places, manner),
            Arg::Unknown { .. } => {
                self.effects.push_doubt("a path that is known only when it runs");
                // It may be empty: what is removed below it is then everything.
                if manner.loses {
                    self.place(PathBuf::from("/"), Manner { spread: Spread::All, by: None, ..manner }, None);
                }
            }
        }
    }

    fn known(&mut self, path: &str, places: &Places, manner: Manner, pattern: Option<&str>) {
        // What is written to a device is not in any file that could be brought back.
        if manner.access == Access::Write && path.starts_with("/dev/") && !path.starts_with("/dev/shm/") {
            self.effects = std::mem::take(&mut self.effects).irreversible();
        }
        match places.resolve(path) {
            Some(paths) => paths.into_iter().for_each(|path| self.resolved(path, manner, pattern)),
            None => self.effects.push_doubt("a path in a directory that is known only when it runs"),
        }
    }

    fn resolved(&mut self, path: PathBuf, manner: Manner, pattern: Option<&str>) {
        match process_of(&path) {
            Some(Process::Own) => {
                self.effects.push_doubt("a place that depends on the process that opens it")
            }
            Some(Process::Other) => {
                self.effects.push_doubt("a place that another process has open");
                self.place(path, manner, pattern);
            }
            None => self.place(path, manner, pattern),
        }
    }

    /// A pattern is the directory in front of it, and some names or all below.
    fn glob(&mut self, pattern: &str, places: &Places, manner: Manner) {
        let Some((directory, rest)) = split(pattern) else {
            return self.effects.push_doubt("a pattern that goes up again");
        };
        // A pattern of nothing but wildcards fits all; one with a dot in front fits what is hidden.
        let spread = if is_wide(rest) || manner.spread == Spread::All && manner.access == Access::Read {
            Spread::All
        } else {
            Spread::Some
        };
        self.known(&directory, places, Manner { spread, ..manner }, Some(rest));
    }

    /// A word that the shell fills in from the names in other directories, for a program to which they are text: they are
    /// told all the same.
    fn names(&mut self, pattern: &str, places: &Places, by: Option<usize>) {
        let manner = Manner {
            access: Access::Read,
            spread: Spread::Guarded,
            by,
            loses: false,
            harmless: false,
            follows_links: false,
        };
        let Some((directory, rest)) = split(pattern) else {
            return self.effects.push_doubt("a pattern that goes up again");
        };
        // The names in the last directories are told, and nothing behind them.
        let directories = rest.rsplit_once('/').map(|(directories, _)| directories);
        if directory != "." || directories.is_some() {
            self.known(&directory, places, manner, directories);
        }
    }

    fn place(&mut self, path: PathBuf, manner: Manner, pattern: Option<&str>) {
        let Manner { access, spread, by, harmless, follows_links, .. } = manner;
        let is_file = access == Access::Read && self.files.contains(&path);
        let spread = if is_file { Spread::Guarded } else { spread };
        let below = Below { pattern: pattern.map(str::to_owned), follows_links };
        self.effects.push_path(PathEffect { path, access, target: None, spread, by, harmless, below });
    }
}

/// The words of a program that is not followed, but for those that it runs, which are judged as a command of their own.
fn unread<'a>(argv: &'a [Arg], facts: &'a Facts) -> impl Iterator<Item = &'a Arg> {
    let is_run = |arg: &Arg| {
        facts.runs.iter().any(|run| match (run, arg) {
            (Run::Command { argv, .. }, arg) => argv.contains(arg),
            (Run::Script(Arg::Known(script)), Arg::Known(word)) => script.contains(word.as_str()),
            _ => false,
        })
    };
    // The program itself is a file only if it is named by a path.
    let is_name = |at: usize, arg: &Arg| at == 0 && matches!(arg, Arg::Known(word) if !word.contains('/'));
    let words = argv.iter().enumerate().filter(move |(at, arg)| !is_name(*at, arg) && !is_run(arg));
    words.map(|(_, arg)| arg)
}

fn manner(argv: &[Arg], class: Class, touch: &Touch, by: usize) -> Manner {
    let loses = touch.access == Access::Write && class == Class::Destructive;
    let spread = match touch.access {
        Access::Write if loses => Spread::All,
        Access::Write => Spread::Some,
        Access::Read if looks_only(argv) => Spread::Guarded,
        Access::Read => Spread::All,
    };
    let by = (!touch.aside).then_some(by);
    Manner { access: touch.access, spread, by, loses, harmless: touch.harmless, follows_links: false }
}

/// Programs that tell of a directory no more than the names in it.
fn looks_only(argv: &[Arg]) -> bool {
    let name = match argv.first() {
        Some(Arg::Known(program)) => program.rsplit('/').next().unwrap_or(program),
        _ => return false,
    };
    let is_deep = |arg: &Arg| matches!(arg, Arg::Known(word) if word.starts_with('-') && word.contains('R') || word == "--recursive");
    match name {
        "stat" | "file" | "test" | "[" | "readlink" | "realpath" | "cd" => true,
        // They open a file, or change what is said of a directory.
        "tee" => true,
        "ls" | "chmod" | "chown" | "chgrp" => {
            !argv.iter().any(|arg| is_deep(arg) || matches!(arg, Arg::Unknown { .. }))
        }
        _ => false,
    }
}

/// Where nothing is kept and nothing is told. What is open already is opened anew by these names, for reading or writing as
/// it is wanted: so each is only free for what it is for.
pub(super) fn is_no_file(path: &str, access: Access) -> bool {
    match path {
        "/dev/null" | PIPE => true,
        "/dev/zero" | "/dev/full" | "/dev/random" | "/dev/urandom" => access == Access::Read,
        "/dev/tty" => access == Access::Write,
        _ => match stream(path) {
            Some(0) => access == Access::Read,
            Some(1 | 2) => access == Access::Write,
            _ => false,
        },
    }
}

/// The descriptor that a name stands for.
fn stream(path: &str) -> Option<u32> {
    match path {
        "/dev/stdin" => Some(0),
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        _ => ["/dev/fd/", "/proc/self/fd/"]
            .iter()
            .find_map(|directory| path.strip_prefix(directory)?.parse().ok()),
    }
}

/// Whose view of the world a path goes through.
enum Process {
    /// That of the process which opens it.
    Own,
    Other,
}

/// Whether a path goes through what a process has open: where that leads is known only to it.
fn process_of(path: &Path) -> Option<Process> {
    let mut names: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(names.pop()),
            Component::Normal(name) => names.push(name.to_str().unwrap_or_default()),
            _ => {}
        }
        match names.as_slice() {
            ["dev", "fd" | "stdin" | "stdout" | "stderr"] | ["proc", "self" | "thread-self"] => {
                return Some(Process::Own);
            }
            ["proc", number, "cwd" | "exe" | "fd" | "map_files" | "ns" | "root" | "task"]
                if number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                return Some(Process::Other);
            }
            _ => {}
        }
    }
    None
}

fn is_a_connection(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

/// The names of a pattern before the first wildcard, unescaped, and the rest. `None` if the rest goes up.
fn split(pattern: &str) -> Option<(String, &str)> {
    let mut end = 0;
    let mut escaped = false;
    for (at, byte) in pattern.bytes().enumerate() {
        match byte {
            b'\\' if !escaped => {
                escaped = true;
                continue;
            }
            b'/' => end = at + 1,
            b'*' | b'?' | b'[' if !escaped => break,
            _ => {}
        }
        escaped = false;
    }
    let (directory, rest) = pattern.split_at(end);
    let directory = if directory.is_empty() { ".".to_owned() } else { unescaped(directory) };
    (!rest.split('/').any(|name| name == "..")).then_some((directory, rest))
}

fn unescaped(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        plain.extend(if char == '\\' { chars.next() } else { Some(char) });
    }
    plain
}

/// A word that cannot turn out to be an option.
fn is_certain(arg: &Arg) -> bool {
    match arg {
        Arg::Known(_) => true,
        Arg::Glob(pattern) => !pattern.starts_with(['*', '?', '[', '-']),
        Arg::Unknown { .. } => false,
    }
}

fn words(argv: &[Arg]) -> Vec<String> {
    let word = |arg: &Arg| match arg {
        Arg::Known(word) => word.clone(),
        Arg::Glob(pattern) => unescaped(pattern),
        Arg::Unknown { prefix, .. } => format!("{prefix}…"),
    };
    argv.iter().map(word).collect()
}
