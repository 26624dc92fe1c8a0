//! From acts to effects.

use std::path::{Component, Path, PathBuf};

use haft_tool::{Access, Certainty, Class, CommandEffect, Effects, HostEffect, PathEffect, Spread};

use super::{Act, places::Places, words::PIPE};
use crate::programs::{Arg, Facts, Touch};

pub(super) fn of(acts: &[Act]) -> Effects {
    let mut sum = Sum(Effects::none());
    for act in acts {
        match act {
            Act::Run { argv, facts, places } => sum.run(argv, facts, places),
            Act::Touch { path, access, places } => {
                let spread = if *access == Access::Write { Spread::Some } else { Spread::Guarded };
                sum.touch(path, places, Manner { access: *access, spread, by: None, loses: false });
            }
            Act::Suspect(argv) => sum.mean(argv.clone()),
            Act::Move => sum.0 = std::mem::take(&mut sum.0).and_state("cwd", Access::Write),
            Act::Doubt(why) => sum.0.push_doubt(why.clone()),
        }
    }
    sum.0
}

struct Sum(Effects);

/// How a path is touched.
#[derive(Clone, Copy)]
struct Manner {
    access: Access,
    spread: Spread,
    by: Option<usize>,
    loses: bool,
}

impl Sum {
    fn run(&mut self, argv: &[Arg], facts: &Facts, places: &Places) {
        let certainty = if argv.iter().all(is_certain) { Certainty::Exact } else { Certainty::Partial };
        let command = CommandEffect { argv: words(argv), class: facts.class, certainty };
        let by = self.0.push_command(command);
        for spelling in &facts.spellings {
            self.mean(words(spelling));
        }
        for touch in &facts.touches {
            self.touch(&touch.path, places, manner(argv, facts, touch, by));
        }
        if facts.touches.is_empty() {
            argv.iter().for_each(|arg| self.names(arg, places, by));
        }
        for (host, access) in &facts.hosts {
            match host {
                Arg::Known(host) => {
                    self.0.push_host(HostEffect { host: host.clone(), access: *access, by: Some(by) })
                }
                _ => self.0.push_doubt("a host that is known only when it runs"),
            }
        }
        if let Some(doubt) = &facts.doubt {
            self.0.push_doubt(doubt.clone());
        }
    }

    fn mean(&mut self, argv: Vec<String>) {
        self.0.push_command(CommandEffect { argv, class: Class::Write, certainty: Certainty::Meaning });
    }

    fn touch(&mut self, path: &Arg, places: &Places, manner: Manner) {
        match path {
            Arg::Known(path) if is_no_file(path, manner.access) => {}
            Arg::Known(path) if is_a_connection(path) => {
                self.0.push_doubt("a connection that the shell opens")
            }
            Arg::Known(path) => self.known(path, places, manner),
            Arg::Glob(pattern) => self.glob(pattern, places, manner),
            Arg::Unknown { .. } => {
                self.0.push_doubt("a path that is known only when it runs");
                // It may be empty: what is removed below it is then everything.
                if manner.loses {
                    self.place(PathBuf::from("/"), Manner { spread: Spread::All, by: None, ..manner });
                }
            }
        }
    }

    fn known(&mut self, path: &str, places: &Places, manner: Manner) {
        // What is written to a device is not in any file that could be brought back.
        if manner.access == Access::Write && path.starts_with("/dev/") && !path.starts_with("/dev/shm/") {
            self.0 = std::mem::take(&mut self.0).irreversible();
        }
        match places.resolve(path) {
            Some(paths) => paths.into_iter().for_each(|path| self.resolved(path, manner)),
            None => self.0.push_doubt("a path in a directory that is known only when it runs"),
        }
    }

    fn resolved(&mut self, path: PathBuf, manner: Manner) {
        match process_of(&path) {
            Some(Process::Own) => self.0.push_doubt("a place that depends on the process that opens it"),
            Some(Process::Other) => {
                self.0.push_doubt("a place that another process has open");
                self.place(path, manner);
            }
            None => self.place(path, manner),
        }
    }

    /// A pattern is the directory in front of it, and some names or all below.
    fn glob(&mut self, pattern: &str, places: &Places, manner: Manner) {
        let Some((directory, rest)) = split(pattern) else {
            return self.0.push_doubt("a pattern that goes up again");
        };
        // A pattern of nothing but wildcards fits all; one with a dot in front fits what is hidden.
        let is_wide = rest
            .split('/')
            .any(|name| name.starts_with('.') || name.bytes().all(|byte| b"*?".contains(&byte)));
        let spread = if is_wide || manner.spread == Spread::All && manner.access == Access::Read {
            Spread::All
        } else {
            Spread::Some
        };
        self.known(&directory, places, Manner { spread, ..manner });
    }

    /// A word that the shell fills in from the names in another directory, for a program to which they are text: they are
    /// told all the same.
    fn names(&mut self, arg: &Arg, places: &Places, by: usize) {
        let Arg::Glob(pattern) = arg else { return };
        let manner = Manner { access: Access::Read, spread: Spread::Guarded, by: Some(by), loses: false };
        match listed(pattern) {
            Some(directory) if directory == "." => {}
            Some(directory) => self.known(&directory, places, manner),
            None => self.0.push_doubt("a pattern that goes up again"),
        }
    }

    fn place(&mut self, path: PathBuf, Manner { access, spread, by, .. }: Manner) {
        self.0.push_path(PathEffect { path, access, target: None, spread, by });
    }
}

fn manner(argv: &[Arg], facts: &Facts, touch: &Touch, by: usize) -> Manner {
    let loses = touch.access == Access::Write && facts.class == Class::Destructive;
    let spread = match touch.access {
        Access::Write if loses => Spread::All,
        Access::Write => Spread::Some,
        Access::Read if looks_only(argv) => Spread::Guarded,
        Access::Read => Spread::All,
    };
    Manner { access: touch.access, spread, by: (!touch.aside).then_some(by), loses }
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
        "ls" => !argv.iter().any(|arg| is_deep(arg) || matches!(arg, Arg::Unknown { .. })),
        _ => false,
    }
}

/// Where nothing is kept and nothing is told. What is open already is opened anew by these names, for reading or writing as
/// it is wanted: so each is only free for what it is for.
fn is_no_file(path: &str, access: Access) -> bool {
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

/// The directory whose names fit a pattern, or some directory above it. `None` if the pattern goes up.
pub(super) fn listed(pattern: &str) -> Option<String> {
    split(pattern).map(|(directory, _)| directory)
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
