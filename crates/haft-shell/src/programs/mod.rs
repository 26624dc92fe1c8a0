//! What a program does with these words.
//!
//! A table of the programs that agents really use, with the options that are *proved* harmless: an option that is not in
//! it, and a program that is not in it, is not understood, which is an answer, too. No I/O, no session.
//!
//! To check what is said of a program, read `table.txt`; what it cannot say is in `special/`, a file per family.

mod table; //      what is known of each program
mod subcommand; // which entry of it this is
mod walk; //       its words → options and operands
mod judge; //      those → facts
mod special; //    programs whose words are a language of their own
mod host; //       which host a word names
mod database; //   what a statement for a database does
mod expression; // whether a filter of jq or yq only computes
mod places; //     where it writes although no word says so
mod git_settings; // which settings of git it changes
mod variables; //  which variables change what programs do

use haft_tool::{Access, Class};

#[cfg(test)]
mod tests;

pub use places::KnownPlace;
pub(crate) use special::is_built_in;
pub use variables::{
    assignment_doubt, ignores_environment, is_number, is_plain_variable, is_power_variable,
    is_shell_variable, prefix_doubt,
};

/// An argument as far as it is known before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    /// Exactly this.
    Known(String),
    /// The names that fit this pattern, or the pattern itself if there are none. Literal text in it is as it is: a
    /// backslash is in front of each character that would be special.
    Glob(String),
    /// Something that begins like this. If it splits, it may also be several arguments or none.
    Unknown {
        /// What is known of its beginning.
        prefix: String,
        /// Whether it was unquoted.
        splits: bool,
    },
}

/// What one command does, as far as it can be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What the program itself amounts to with these options; what it runs counts on its own.
    pub class: Class,
    /// Whether it only passes on what it runs (`timeout 5 …`, `env …`): nobody needs a rule for it.
    pub transparent: bool,
    /// The paths that it touches.
    pub touches: Vec<Touch>,
    /// The hosts that it contacts.
    pub hosts: Vec<(Arg, Access)>,
    /// What it runs.
    pub runs: Vec<Run>,
    /// Whether each of its words is told apart: what is not said to be a path is none.
    pub told_apart: bool,
    /// Other ways to write the same command: `git push` for `git -C sub push`. Rules that forbid or ask hold for them.
    pub spellings: Vec<Vec<Arg>>,
    /// Whether it puts a variable into the environment of the programs that run later.
    pub exports: bool,
    /// Where it writes because it knows the place (`git config`).
    pub writes: Vec<KnownPlace>,
    /// Where it goes before it does anything, if it is told to (`git -C`).
    pub directory: Option<Arg>,
    /// What is not understood about it; `None` if all is.
    pub doubt: Option<String>,
    /// What must not be there for all this to hold.
    pub unless: Option<Unless>,
    /// Whether it goes through all below what it changes: with a home or a workspace that is a loss.
    pub deep: bool,
    /// Whether the machine, or all that runs on it, may stop.
    pub halts: bool,
}

/// Files by which a directory decides what runs: where one of them is, nothing is known of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unless {
    /// One with such a name lies where the program runs, or in a directory above: it chooses the program, or how it starts.
    Above(&'static [&'static str]),
    /// One whose name begins so, up to its first dot, lies where the program runs: it is loaded instead of the program's own.
    Beside(&'static [&'static str]),
}

/// A path that is touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// As the argument names it, relative to where the command runs.
    pub path: Arg,
    /// Read or written.
    pub access: Access,
    /// Whether this is not what the program is for: a reader's option that writes (`sort -o`, `git diff --output`). A
    /// rule that allows the program does not cover it.
    pub aside: bool,
    /// Whether what is written is known to run and redirect nothing, whatever file it stands in: `git config pull.rebase`.
    pub harmless: bool,
}

/// Something that a program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// A command, as words. Arguments that are added while it runs (`xargs`) are unknown ones that split.
    Command {
        /// Its words.
        argv: Vec<Arg>,
        /// Where, if not where the outer one runs (`env -C`, `find -execdir`).
        directory: Option<Arg>,
    },
    /// Text for a shell: `sh -c '…'`, `eval …`, `trap '…' EXIT`.
    Script(Arg),
    /// A file for a shell: `bash run.sh`, `. ./env`.
    File(Arg),
    /// What comes in for a shell: `bash -s`, `sh` at the end of a pipe.
    Input,
    /// Text that may be evaluated although it is no script, in a call that is doubtful for that: only rules that forbid
    /// or ask hear of the commands in it.
    Mention(String),
}

/// What the command with these words does.
///
/// A program that the table does not have is [`Class::Write`] without anything else: a rule for it may allow it, nothing
/// else does. So is one that is named by a path, because its name says nothing about what is there.
///
/// ```
/// use haft_shell::programs::{Arg, look_at};
///
/// let argv = ["sort", "-uo", "out.txt", "in.txt"].map(|word| Arg::Known(word.to_owned()));
/// let facts = look_at(&argv);
/// assert_eq!(facts.class.to_string(), "write");
/// assert!(facts.touches.iter().any(|touch| touch.aside), "`sort` is not for writing files");
/// ```
#[must_use]
pub fn look_at(argv: &[Arg]) -> Facts {
    let Some(Arg::Known(name)) = argv.first() else {
        let mut facts = Facts::of(Class::Write);
        facts.doubt("which program runs is not known".to_owned());
        return facts;
    };
    let (mut facts, base) = match name.rsplit_once('/') {
        Some((directory, base)) => (by_path(directory, base, argv), base),
        None => (subcommand::by_name(name, argv).unwrap_or_else(|| Facts::of(Class::Write)), name.as_str()),
    };
    if facts.class != Class::ReadOnly {
        facts.writes = places::known_places(base, &argv[1..]);
    }
    facts
}

/// What a text amounts to that comes in for a program with this name: statements, if it is a database's client.
#[must_use]
pub fn class_of_input(name: &str, text: &str) -> Option<Class> {
    let takes_statements = table::entry(name)?.takes(table::Kind::Sql);
    takes_statements.then(|| database::judge(&Arg::Known(text.to_owned())).class)
}

/// Where the system keeps its programs: what is there is looked at by its name, but only a rule may allow it.
const SYSTEM: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];

fn by_path(directory: &str, base: &str, argv: &[Arg]) -> Facts {
    let mut spelling = argv.to_vec();
    spelling[0] = Arg::Known(base.to_owned());
    let known = if SYSTEM.contains(&directory) { subcommand::by_name(base, &spelling) } else { None };
    let mut facts = known.unwrap_or_else(|| Facts::of(Class::Write));
    facts.raise(Class::Write);
    facts.transparent = false;
    // What loads programs is told which in its words.
    if base == "ld.so" || base.starts_with("ld-linux") || base.starts_with("ld-musl") {
        facts.spellings.extend((1..argv.len().min(MOST_LOADED)).map(|at| argv[at..].to_vec()));
    }
    facts.spellings.push(spelling);
    facts
}

/// Among so many words of a loader the program is looked for.
const MOST_LOADED: usize = 24;

impl Facts {
    /// The program is not the one that its name says: only a rule for it may allow it.
    pub(crate) fn distrust(&mut self) {
        self.raise(Class::Write);
        self.transparent = false;
    }

    pub(crate) fn of(class: Class) -> Self {
        Facts {
            class,
            transparent: false,
            touches: Vec::new(),
            hosts: Vec::new(),
            runs: Vec::new(),
            told_apart: class == Class::ReadOnly,
            spellings: Vec::new(),
            exports: false,
            writes: Vec::new(),
            directory: None,
            doubt: None,
            unless: None,
            deep: false,
            halts: false,
        }
    }

    pub(crate) fn raise(&mut self, class: Class) {
        self.class = self.class.max(class);
    }

    /// The first doubt is told; one is enough. What is doubtful is never harmless, nor only passed on.
    fn doubt(&mut self, why: String) {
        self.raise(Class::Write);
        self.transparent = false;
        self.doubt.get_or_insert(why);
    }

    fn touch(&mut self, path: &Arg, access: Access) {
        self.touches.push(Touch { path: path.clone(), access, aside: false, harmless: false });
    }

    fn run(&mut self, argv: Vec<Arg>) {
        self.runs.push(Run::Command { argv, directory: None });
    }

    /// All of it happens in this directory: paths are relative to it.
    fn move_to(&mut self, directory: &Arg) {
        // A long name before very many paths would grow without bound.
        let crowded = matches!(directory, Arg::Known(name) if name.len() * self.touches.len() > CROWD);
        let unknown = Arg::Unknown { prefix: String::new(), splits: false };
        let directory = if crowded { &unknown } else { directory };
        for touch in &mut self.touches {
            touch.path = below(directory, &touch.path);
        }
        for run in &mut self.runs {
            if let Run::Command { directory: place, .. } = run {
                *place =
                    Some(place.as_ref().map_or_else(|| directory.clone(), |place| below(directory, place)));
            }
        }
    }
}

/// How many bytes the names of directories may add to paths.
const CROWD: usize = 1 << 20;

/// No path that is longer can be opened.
const LONGEST_PATH: usize = 4096;

/// A path as it is named from outside of the directory.
pub(crate) fn below(directory: &Arg, path: &Arg) -> Arg {
    match (directory, path) {
        (_, Arg::Known(text) | Arg::Glob(text) | Arg::Unknown { prefix: text, .. })
            if text.starts_with('/') =>
        {
            path.clone()
        }
        (Arg::Known(directory), _) if directory.len() > LONGEST_PATH => {
            Arg::Unknown { prefix: String::new(), splits: false }
        }
        (Arg::Known(directory), Arg::Known(path)) => Arg::Known(format!("{directory}/{path}")),
        (Arg::Known(directory), Arg::Unknown { prefix, splits }) if !prefix.is_empty() => {
            Arg::Unknown { prefix: format!("{directory}/{prefix}"), splits: *splits }
        }
        _ => Arg::Unknown { prefix: String::new(), splits: false },
    }
}
