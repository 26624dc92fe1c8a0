//! `find`: where it looks, and what it does with what it finds.
//!
//! Its expression is a language of its own. A word of it that is not listed is a doubt.

use haft_tool::{Access, Class};

use super::super::{Arg, Facts, Run, Touch, judge::Case, look_at, walk::literal_beginning};
use super::wrap::fill;

/// Words without a value.
const ALONE: &[&str] = &[
    "(",
    ")",
    "!",
    ",",
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-ls",
    "-true",
    "-false",
    "-empty",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-daystart",
    "-follow",
    "-noleaf",
    "-nouser",
    "-nogroup",
    "-readable",
    "-writable",
    "-executable",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-nowarn",
    "-warn",
    "-E",
    "-x",
    "-X",
    "-s",
    "-help",
    "--help",
    "-version",
    "--version",
];

/// Words with a value that is text.
const WITH_TEXT: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-lname",
    "-ilname",
    "-type",
    "-xtype",
    "-size",
    "-maxdepth",
    "-mindepth",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-perm",
    "-links",
    "-inum",
    "-used",
    "-fstype",
    "-context",
    "-printf",
    "-newermt",
    "-newerat",
    "-newerct",
    "-newerBt",
];

/// Words with a value that is a file whose times are looked at.
const WITH_FILE: &[&str] = &["-newer", "-anewer", "-cnewer", "-samefile", "-newermm", "-neweram", "-newercm"];

/// Words that do something with what is found.
const ACTIONS: &[&str] = &[
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-delete",
    "-fprint",
    "-fprint0",
    "-fls",
    "-fprintf",
    "-files0-from",
    "-L",
    "-follow",
];

/// Whether a file with this name could fit a pattern: by its beginning and its end, which is careful enough.
fn may_fit(pattern: &str, name: &str) -> bool {
    let end = pattern.rsplit(['*', '?', ']']).next().unwrap_or_default();
    name.starts_with(&literal_beginning(pattern)) && (end.contains('\\') || name.ends_with(end))
}

const LONGEST_PREFIX: usize = 64;

pub(super) fn judge(case: &Case<'_>) -> Facts {
    let mut search = Search { args: case.args, at: 0, roots: Vec::new(), facts: Facts::of(Class::ReadOnly) };
    search.options();
    search.places();
    search.expression();
    search.facts
}

struct Search<'a> {
    args: &'a [Arg],
    at: usize,
    roots: Vec<Arg>,
    facts: Facts,
}

impl<'a> Search<'a> {
    /// `-H`, `-L`, `-P` and the like stand first.
    fn options(&mut self) {
        while let Some(Arg::Known(word)) = self.args.get(self.at) {
            match word.as_str() {
                "-H" | "-L" | "-P" | "-O0" | "-O1" | "-O2" | "-O3" | "--" => self.at += 1,
                "-D" => self.at += 2,
                _ => return,
            }
        }
    }

    fn places(&mut self) {
        while let Some(arg) = self.args.get(self.at).filter(|arg| !begins_expression(arg)) {
            self.at += 1;
            self.roots.push(arg.clone());
            if may_begin_expression(arg) {
                self.facts.doubt("a word that is not known could be an action of `find`".to_owned());
            }
        }
        if self.roots.is_empty() {
            self.roots.push(Arg::Known(".".to_owned()));
        }
        for root in &self.roots {
            self.facts.touch(root, Access::Read);
        }
    }

    fn expression(&mut self) {
        while let Some(arg) = self.args.get(self.at) {
            self.at += 1;
            match arg {
                Arg::Known(word) => self.word(word),
                _ => self.facts.doubt("a word that is not known could be an action of `find`".to_owned()),
            }
        }
    }

    fn word(&mut self, word: &str) {
        match word {
            "-exec" | "-ok" => self.run(false),
            "-execdir" | "-okdir" => self.run(true),
            "-delete" => self.delete(),
            "-fprint" | "-fprint0" | "-fls" => self.print_to_file(),
            "-fprintf" => {
                self.print_to_file();
                self.value();
            }
            _ if ALONE.contains(&word) => {}
            _ if WITH_TEXT.contains(&word) => drop(self.value()),
            _ if WITH_FILE.contains(&word) => {
                if let Some(file) = self.value() {
                    self.facts.touch(&file, Access::Read);
                }
            }
            _ => self.facts.doubt(format!("`{word}` is not known as a harmless word of `find`")),
        }
    }

    fn value(&mut self) -> Option<Arg> {
        let value = self.args.get(self.at)?.clone();
        self.at += 1;
        let several = match &value {
            Arg::Glob(pattern) => ACTIONS.iter().any(|action| may_fit(pattern, action)),
            Arg::Unknown { splits, .. } => *splits,
            Arg::Known(_) => false,
        };
        if several {
            self.facts.doubt("a value that may be several words could hold an action of `find`".to_owned());
        }
        Some(value)
    }

    fn delete(&mut self) {
        // Once is enough, however often it is said.
        if self.facts.class == Class::Destructive {
            return;
        }
        self.facts.raise(Class::Destructive);
        for root in self.roots.clone() {
            self.facts.touches.push(Touch {
                path: root,
                access: Access::Write,
                aside: true,
                harmless: false,
            });
        }
    }

    fn print_to_file(&mut self) {
        self.facts.raise(Class::Write);
        if let Some(path) = self.value() {
            self.facts.touches.push(Touch { path, access: Access::Write, aside: true, harmless: false });
        }
    }

    /// `-exec program {} ;` up to `;`, or to `+` after `{}`.
    fn run(&mut self, beside: bool) {
        let mut argv = Vec::new();
        while let Some(arg) = self.args.get(self.at) {
            self.at += 1;
            let after_mark = matches!(argv.last(), Some(Arg::Known(last)) if last == "{}");
            match arg {
                Arg::Known(word) if word == ";" || (word == "+" && after_mark) => break,
                _ => argv.push(arg.clone()),
            }
        }
        if !beside && let Some(looks) = self.that_only_looks(&argv) {
            return self.facts.run(looks);
        }
        self.facts.raise(Class::Write);
        let found = if beside { "./".to_owned() } else { self.found_prefix() };
        argv.iter_mut().for_each(|word| put(word, &found));
        let directory = beside.then(|| Arg::Unknown { prefix: self.found_prefix(), splits: false });
        if !argv.is_empty() {
            self.facts.runs.push(Run::Command { argv, directory });
        }
    }

    /// The words of a program that only reads what is found, with a pattern for all below the root in the place of `{}`: it
    /// touches no more than `program root/**` would.
    fn that_only_looks(&self, argv: &[Arg]) -> Option<Vec<Arg>> {
        let root = match self.roots.as_slice() {
            [Arg::Known(root)] if root.len() <= LONGEST_PREFIX => root.trim_end_matches('/'),
            _ => return None,
        };
        let follows = |arg: &Arg| matches!(arg, Arg::Known(word) if word == "-L" || word == "-follow");
        // A search within a search is not looked into: there could be very many. git reads more than what it is given.
        let is_search =
            matches!(argv.first(), Some(Arg::Known(name)) if name.contains("find") || name.contains("git"));
        if is_search || root.contains(['*', '?', '[', ']', '\\']) || self.args.iter().any(follows) {
            return None;
        }
        let mut argv = argv.to_vec();
        for word in &mut argv {
            match word {
                Arg::Known(text) if text == "{}" => *word = self.found_below(root),
                _ => fill(word, "{}"),
            }
        }
        let facts = look_at(&argv);
        let looks = facts.class == Class::ReadOnly
            && facts.doubt.is_none()
            && facts.runs.iter().all(|run| matches!(run, Run::Script(Arg::Known(_))))
            && facts.touches.iter().all(|touch| touch.access == Access::Read);
        looks.then_some(argv)
    }

    /// What is found below a root. Files are no links; of links, those with the right name.
    fn found_below(&self, root: &str) -> Arg {
        let all = || Arg::Glob(format!("{root}/**"));
        let is =
            |arg: &Arg, words: &[&str]| matches!(arg, Arg::Known(word) if words.contains(&word.as_str()));
        if self.args.iter().any(|arg| is(arg, &["-o", "-or", ",", "!", "-not", "(", ")"])) {
            return all();
        }
        let values =
            |name| self.args.windows(2).filter(move |pair| is(&pair[0], &[name])).map(|pair| &pair[1]);
        if !root.is_empty() && values("-type").any(|kind| is(kind, &["f"])) {
            return Arg::Known(root.to_owned());
        }
        match values("-name").next() {
            Some(Arg::Known(name)) if !name.contains('/') => Arg::Glob(format!("{root}/**/{name}")),
            _ => all(),
        }
    }

    /// What the names that are found begin with; not all of it if that is long, because it is copied to many places.
    fn found_prefix(&self) -> String {
        let beginning = match self.roots.as_slice() {
            [Arg::Known(root)] => root.clone(),
            [Arg::Unknown { prefix, splits: false }] => prefix.clone(),
            [Arg::Glob(pattern)] => literal_beginning(pattern),
            _ => String::new(),
        };
        beginning.chars().take(LONGEST_PREFIX).collect()
    }
}

/// Puts what was found in place of `{}`.
fn put(word: &mut Arg, found: &str) {
    match word {
        Arg::Known(text) if text == "{}" => *word = Arg::Unknown { prefix: found.to_owned(), splits: false },
        _ => fill(word, "{}"),
    }
}

fn begins_expression(arg: &Arg) -> bool {
    let text = match arg {
        Arg::Known(text) | Arg::Unknown { prefix: text, .. } => text.as_str(),
        Arg::Glob(pattern) => pattern,
    };
    text.starts_with('-') || matches!(text, "(" | ")" | "!" | ",")
}

fn may_begin_expression(arg: &Arg) -> bool {
    match arg {
        Arg::Known(_) => false,
        Arg::Glob(pattern) => literal_beginning(pattern).is_empty(),
        Arg::Unknown { prefix, splits } => *splits || prefix.is_empty(),
    }
}
