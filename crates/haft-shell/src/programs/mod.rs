//! What a program does with these words.
//!
//! A table of the programs that agents really use, with the options that are *proved* harmless: an option that is not in
//! it, and a program that is not in it, is not understood, which is an answer, too. No I/O, no session.

use haft_tool::{Access, Class};

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
    /// Other ways to write the same command: `git push` for `git -C sub push`. Rules that forbid or ask hold for them.
    pub spellings: Vec<Vec<Arg>>,
    /// What is not understood about it; `None` if all is.
    pub doubt: Option<String>,
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
}
