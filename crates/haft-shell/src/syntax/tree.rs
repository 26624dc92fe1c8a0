//! What a command line is made of.
//!
//! The tree holds every command that bash would run, however deep it is nested, and every word with its quoting taken
//! apart. What the grammar has but haft does not follow is [`Odd`](Part::Odd): it is there, with what could be read of it.

use std::ops::Range;

/// A sequence of commands: a whole text, or what stands between brackets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// In their order.
    pub items: Vec<Item>,
}

/// One and-or list: `a && b || c`, perhaps in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The first pipeline, always run.
    pub first: Pipeline,
    /// The others.
    pub rest: Vec<(Connector, Pipeline)>,
    /// Whether it ends with `&`.
    pub background: bool,
}

/// What stands between two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connector {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands joined by pipes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// Whether it begins with `!`.
    pub negated: bool,
    /// Whether it begins with `time`.
    pub timed: bool,
    /// Never empty.
    pub commands: Vec<Command>,
}

/// One command, and where it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What it is.
    pub kind: CommandKind,
    /// The redirections, in their order. Those of `|&` are here, too (`2>&1`).
    pub redirects: Vec<Redirect>,
    /// The bytes of it.
    pub span: Range<usize>,
}

/// What a command is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// Assignments and words. Both may be empty if there are redirections.
    Simple {
        /// Before the first word.
        assignments: Vec<Assignment>,
        /// The program and its arguments, before expansion.
        words: Vec<Word>,
    },
    /// `{ …; }`
    Group(Script),
    /// `( … )`
    Subshell(Script),
    /// `if …; then …; elif …; then …; else …; fi`
    If {
        /// Conditions, each with what it leads to.
        arms: Vec<(Script, Script)>,
        /// Otherwise.
        otherwise: Option<Script>,
    },
    /// `while …; do …; done`, and `until`
    While {
        /// Whether it is `until`.
        until: bool,
        /// The condition.
        condition: Script,
        /// The body.
        body: Script,
    },
    /// `for name in words; do …; done`, and `select`
    For {
        /// Whether it is `select`.
        select: bool,
        /// The variable.
        name: String,
        /// The words; `None` is `"$@"`.
        words: Option<Vec<Word>>,
        /// The body.
        body: Script,
    },
    /// `for ((a; b; c)); do …; done`
    ArithmeticFor {
        /// What stands in the brackets, its expansions taken apart.
        expression: Word,
        /// The body.
        body: Script,
    },
    /// `case word in pattern) …;; esac`
    Case {
        /// What is compared.
        word: Word,
        /// Patterns, what they lead to, and what comes after that.
        arms: Vec<(Vec<Word>, Script, ArmEnd)>,
    },
    /// `(( … ))`
    Arithmetic(Word),
    /// `[[ … ]]`: its words and operators, in their order.
    Test(Vec<Word>),
    /// `name() …`, `function name …`
    Function {
        /// The name.
        name: Word,
        /// The body.
        body: Box<Command>,
    },
    /// Part of the grammar that is not followed (`coproc`, …): what it is, and what was read of it.
    Odd(&'static str, Script),
}

/// What happens after an arm of `case`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArmEnd {
    /// `;;`, or nothing in the last one: the `case` is over.
    Leave,
    /// `;&`: the next arm runs as well.
    FallThrough,
    /// `;;&`: the patterns after it are tried, too.
    TestOn,
}

/// `name=value`, `name+=value`, `name=(…)`, `name[…]=value`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// What stands in `[…]` after it.
    pub index: Option<Word>,
    /// Whether it is `+=`.
    pub append: bool,
    /// The value.
    pub value: AssignedValue,
}

/// What is assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssignedValue {
    /// A word; perhaps an empty one.
    Scalar(Word),
    /// The words of an array, indexes included.
    Array(Vec<Word>),
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The descriptor, if it is written: `2>`, `{fd}>`.
    pub descriptor: Option<Descriptor>,
    /// How it is written: `>`, `>>`, `&>`, `<<` … What it means is in `kind`; this is for who shows it.
    pub operator: &'static str,
    /// What is done.
    pub kind: RedirectKind,
}

/// Which descriptor is redirected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Descriptor {
    /// `2>`
    Number(u32),
    /// `{name}>`
    Variable(String),
}

/// What a redirection does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedirectKind {
    /// `< word`
    Read(Word),
    /// `> word`, `>> word`, `>| word`, `&> word`, `&>> word`, and `>& word` where the word is no descriptor
    Write(Word),
    /// `<> word`
    ReadWrite(Word),
    /// `<& word` and `>& word` where the word is a descriptor, `-`, or not known: a copy or a closing
    Duplicate(Word),
    /// `<< WORD`: the body; its expansions are parts unless the delimiter is quoted
    HereDocument(Word),
    /// `<<< word`
    HereString(Word),
}

/// A word before expansion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// In their order. An empty word (`''`) has a part that is empty text.
    pub parts: Vec<Part>,
    /// The bytes of it.
    pub span: Range<usize>,
}

/// Which way the data of a process substitution goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// `<(…)`: what it prints is read.
    From,
    /// `>(…)`: what is written is its input.
    To,
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Unquoted text without any meaning but itself.
    Literal(String),
    /// Text that was quoted: `'…'`, `$'…'` (its escapes done), `\x`, and `"…"` without expansions. Pieces that touch are
    /// one, so that it does not matter how something was quoted. A character that cannot be seen
    /// ([`odd_characters`](super::odd_characters)) is here even if it was not quoted: it means itself in any case.
    Quoted(String),
    /// `"…"` with expansions: they are not split and not globbed. The text between them, and quoted text
    /// that touches it, is [`Quoted`](Part::Quoted).
    Double(Vec<Part>),
    /// `$"…"`: the same, but a translation of it that is found in a file stands in its place, if
    /// there is one, and that is expanded.
    Translated(Vec<Part>),
    /// `~`, `~name`, `~+` at the beginning of a word (or after `=` or `:` of an assignment). The text after `~`.
    Tilde(String),
    /// An unquoted `*`, `?` or `[…]`; the text of it. Within `[[ ]]` also what joins and groups patterns: `@(`, `|`, `)`.
    Glob(String),
    /// `{a,b}`: the alternatives, each a piece of a word.
    Brace(Vec<Word>),
    /// `{1..9}`: its text.
    Range(String),
    /// `$name`, `${name}`, `$1`, `$?`, …: nothing but its value.
    Variable(String),
    /// `${name…}` with an operator: what it is, and the words in it.
    Parameter {
        /// The variable, `!` and `#` in front included.
        name: String,
        /// The operator as it is written: `:-`, `:=`, `#`, `%%`, `/`, `@P` … With an index, it begins with `[`: `[`, `[:-`.
        operator: String,
        /// The index if there is one, then what follows the operator. Their text is as it was written, quotes and
        /// backslashes included; what runs in them is parts.
        words: Vec<Word>,
    },
    /// `$(…)` and backquotes.
    Command(Script),
    /// `$((…))` and `$[…]`: text as it was written, its expansions taken apart.
    Arithmetic(Box<Word>),
    /// `<(…)`, `>(…)`
    Process(Flow, Script),
    /// Part of the grammar that is not followed (extended globs, …): what it is, and its text.
    Odd(&'static str, String),
}
