//! One rule, parsed: from the text that a person writes to a type, once.
//!
//! Parsing knows no workspace and no home: what they stand for is filled in when the rules are compiled. No text makes
//! it panic; what is wrong is said with its column and with what would be right.

use std::{error::Error, fmt, str::FromStr};

use super::pattern::{command, host, path};

/// The name under which path rules speak of every read.
pub(super) const READ: &str = "Read";
/// The name under which path rules speak of every write.
pub(super) const EDIT: &str = "Edit";
/// The name under which command rules are written.
pub(super) const BASH: &str = "Bash";
/// The name under which host rules speak of every fetch.
pub(super) const WEB_FETCH: &str = "WebFetch";

/// Longer texts are mistakes.
const LONGEST: usize = 4096;

/// One rule. Whether it allows, asks or denies is said by the list that it stands in.
///
/// ```
/// use haft_engine::policy::Rule;
///
/// assert!("Read(src/**)".parse::<Rule>().is_ok());
/// let err = "Read(src/**".parse::<Rule>().unwrap_err();
/// assert_eq!(err.to_string(), "column 12: the bracket is not closed; a rule ends with `)`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule(pub(super) Subject);

/// What a rule speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// Whole tools: `Bash`, `mcp__github`, `*`.
    Tool(Name),
    /// Paths: `Read(src/**)`.
    Path(Whose, PathPattern),
    /// Hosts: `WebFetch(domain:docs.rs)`.
    Host(Whose, HostPattern),
    /// Commands: `Bash(git diff:*)`.
    Command(CommandPattern),
}

/// Which tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// The one of this name.
    Exact(String),
    /// All whose names begin so.
    Prefix(String),
}

/// In whose calls a pattern counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Whose {
    /// In every call, where it reads: `Read(…)`, `WebFetch(…)`.
    EveryRead,
    /// In every call, where it writes: `Edit(…)`.
    EveryWrite,
    /// In calls of this tool.
    Tool(String),
}

/// Which paths: a fixed directory, and perhaps a glob below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    /// Where it begins.
    pub(super) anchor: Anchor,
    /// Whether it is written with a slash in front.
    pub(super) from_slash: bool,
    /// How many directories above that.
    pub(super) up: usize,
    /// The names before the first wildcard, unescaped.
    pub(super) names: Vec<String>,
    /// The rest, from the name with the first wildcard on.
    pub(super) glob: Option<String>,
}

/// Where a path pattern begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// `//x`
    Root,
    /// `~/x`
    Home,
    /// `/x` and `x`
    Workspace,
}

/// Which hosts. Lower case, without a final dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostPattern {
    /// `domain:*`
    Any,
    /// `domain:docs.rs`
    Exact(String),
    /// `domain:*.example.com`, kept as `example.com`: at least one label in front.
    Below(String),
}

/// Which commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandPattern {
    /// The first words. Never empty.
    pub(super) words: Vec<String>,
    /// Whether more words may follow.
    pub(super) open: bool,
}

/// What is wrong with a rule's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where, in characters from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub instead: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}; {}", self.column, self.problem, self.instead)
    }
}

impl Error for SyntaxError {}

impl FromStr for Rule {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Rule, SyntaxError> {
        let body = Piece::whole(text).trimmed();
        if body.as_str().len() > LONGEST {
            return Err(body.wrong(LONGEST, "the rule is too long", format!("the limit is {LONGEST} bytes")));
        }
        match body.as_str().find('(') {
            None => name(body).map(Subject::Tool),
            Some(open) => with_pattern(body, open),
        }
        .map(Rule)
    }
}

/// A part of the text that knows where it stands, so that errors can say it.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    text: &'a str,
    from: usize,
    to: usize,
}

impl<'a> Piece<'a> {
    pub(super) fn whole(text: &'a str) -> Piece<'a> {
        Piece { text, from: 0, to: text.len() }
    }

    pub(super) fn as_str(&self) -> &'a str {
        &self.text[self.from..self.to]
    }

    pub(super) fn cut(&self, from: usize, to: usize) -> Piece<'a> {
        Piece { from: self.from + from, to: self.from + to, ..*self }
    }

    fn trimmed(self) -> Piece<'a> {
        let text = self.as_str();
        let from = text.len() - text.trim_start().len();
        self.cut(from, from + text.trim().len())
    }

    pub(super) fn wrong(
        &self,
        at: usize,
        problem: impl Into<String>,
        instead: impl Into<String>,
    ) -> SyntaxError {
        let column = self.text.char_indices().take_while(|(index, _)| *index < self.from + at).count() + 1;
        SyntaxError { column, problem: problem.into(), instead: instead.into() }
    }
}

fn with_pattern(body: Piece<'_>, open: usize) -> Result<Subject, SyntaxError> {
    let text = body.as_str();
    if !text.ends_with(')') {
        return Err(body.wrong(text.len(), "the bracket is not closed", "a rule ends with `)`"));
    }
    let tool = name(body.cut(0, open))?;
    let pattern = body.cut(open + 1, text.len() - 1);
    if pattern.as_str() == "*" {
        return Ok(Subject::Tool(tool));
    }
    if pattern.as_str().is_empty() {
        return Err(pattern.wrong(
            0,
            "the pattern is empty",
            format!("write `{}` for every call", &text[..open]),
        ));
    }
    let Name::Exact(tool) = tool else {
        return Err(pattern.wrong(
            0,
            "a name with `*` takes no pattern",
            format!("write `{}`", &text[..open]),
        ));
    };
    match tool.as_str() {
        READ => path(pattern).map(|path| Subject::Path(Whose::EveryRead, path)),
        EDIT => path(pattern).map(|path| Subject::Path(Whose::EveryWrite, path)),
        BASH => command(pattern).map(Subject::Command),
        WEB_FETCH => host(pattern).map(|host| Subject::Host(Whose::EveryRead, host)),
        _ => of_one_tool(tool, pattern),
    }
}

fn of_one_tool(tool: String, pattern: Piece<'_>) -> Result<Subject, SyntaxError> {
    let text = pattern.as_str();
    if tool.starts_with("mcp__") {
        let problem = "a tool of a server takes no pattern: what it says of itself does not count";
        return Err(pattern.wrong(0, problem, format!("write `{tool}`")));
    }
    if text.starts_with("domain:") {
        return Ok(Subject::Host(Whose::Tool(tool), host(pattern)?));
    }
    if text.ends_with(":*") {
        let instead = format!("write `Bash({text})`");
        return Err(pattern.wrong(text.len() - 2, "only Bash takes a pattern of words", instead));
    }
    Ok(Subject::Path(Whose::Tool(tool), path(pattern)?))
}

fn name(piece: Piece<'_>) -> Result<Name, SyntaxError> {
    let text = piece.as_str();
    if text.is_empty() {
        return Err(piece.wrong(0, "the name of a tool is missing", "write it first, as in `Read(src/**)`"));
    }
    let (stem, starred) = text.strip_suffix('*').map_or((text, false), |stem| (stem, true));
    if let Some((at, char)) = stem.char_indices().find(|(_, char)| !belongs_to_a_name(*char)) {
        let instead = match char {
            '*' => "a `*` may only stand at the end of it".to_owned(),
            ' ' | '\t' => format!("write the pattern in brackets, as in `{}(…)`", &stem[..at]),
            _ => "a name is made of letters, digits, `_`, `-` and `.`".to_owned(),
        };
        return Err(piece.wrong(at, format!("{char:?} does not belong to the name of a tool"), instead));
    }
    Ok(match stem.strip_prefix("mcp__") {
        _ if starred => Name::Prefix(stem.to_owned()),
        Some(server) if !server.is_empty() && !server.contains("__") => Name::Prefix(format!("{stem}__")),
        _ => Name::Exact(stem.to_owned()),
    })
}

pub(super) fn belongs_to_a_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::pattern::escaped, *};

    #[track_caller]
    fn wrong(text: &str, expected: &str) {
        assert_eq!(text.parse::<Rule>().expect_err("an error").to_string(), expected);
    }

    #[track_caller]
    fn path_of(text: &str) -> String {
        match text.parse::<Rule>().expect("a rule").0 {
            Subject::Path(_, PathPattern { anchor, up, names, glob, .. }) => {
                format!("{anchor:?} {}{} | {}", "../".repeat(up), names.join("/"), glob.unwrap_or_default())
            }
            other => panic!("not a path: {other:?}"),
        }
    }

    #[track_caller]
    fn words_of(text: &str) -> (String, bool) {
        match text.parse::<Rule>().expect("a rule").0 {
            Subject::Command(CommandPattern { words, open }) => (words.join("|"), open),
            other => panic!("not a command: {other:?}"),
        }
    }

    #[test]
    fn names_speak_of_tools_and_servers() {
        let tool = |text: &str| text.parse::<Rule>().expect("a rule").0;
        let exact = |name: &str| Subject::Tool(Name::Exact(name.to_owned()));
        let prefix = |name: &str| Subject::Tool(Name::Prefix(name.to_owned()));
        assert_eq!(tool(" Read "), exact("Read"));
        assert_eq!(tool("Bash(*)"), exact("Bash"));
        assert_eq!(tool("*"), prefix(""));
        assert_eq!(tool("mcp__github"), prefix("mcp__github__"));
        assert_eq!(tool("mcp__github__*"), prefix("mcp__github__"));
        assert_eq!(tool("mcp__github__create_*"), prefix("mcp__github__create_"));
        assert_eq!(tool("mcp__github__create_issue"), exact("mcp__github__create_issue"));
    }

    #[test]
    fn a_path_has_an_anchor_fixed_names_and_a_glob() {
        assert_eq!(path_of("Read(src/**)"), "Workspace src | **");
        assert_eq!(path_of("Read(/src/*.rs)"), "Workspace src | *.rs");
        assert_eq!(path_of("Edit(//abs/path/**)"), "Root abs/path | **");
        assert_eq!(path_of("Edit(~/x/y)"), "Home x/y | ");
        assert_eq!(path_of("Read(~/.aws/)"), "Home .aws | ");
        assert_eq!(path_of("Read(//)"), "Root  | ");
        assert_eq!(path_of("Read(./a//b/./c)"), "Workspace a/b/c | ");
        assert_eq!(path_of("Read(../other/**)"), "Workspace ../other | **");
        assert_eq!(path_of("Read(a/{b/c,d}/e)"), "Workspace a | {b/c,d}/e");
        assert_eq!(path_of(r"Edit(app/\[id\]/(group)/page.tsx)"), "Workspace app/[id]/(group)/page.tsx | ");
        assert_eq!(path_of("Write(src/**)"), "Workspace src | **");
    }

    #[test]
    fn a_command_is_words() {
        assert_eq!(words_of("Bash(git diff:*)"), ("git|diff".to_owned(), true));
        assert_eq!(words_of("Bash(npm  run test)"), ("npm|run|test".to_owned(), false));
        assert_eq!(
            words_of(r#"Bash(git commit -m "fix it" '*' a\ b)"#),
            ("git|commit|-m|fix it|*|a b".to_owned(), false)
        );
    }

    #[test]
    fn an_error_says_what_where_and_what_would_be_right() {
        wrong("", "column 1: the name of a tool is missing; write it first, as in `Read(src/**)`");
        wrong("Read(src", "column 9: the bracket is not closed; a rule ends with `)`");
        wrong("Read()", "column 6: the pattern is empty; write `Read` for every call");
        wrong(
            "Bash git",
            "column 5: ' ' does not belong to the name of a tool; write the pattern in brackets, as in `Bash(…)`",
        );
        wrong(
            "mcp__*__x",
            "column 6: '*' does not belong to the name of a tool; a `*` may only stand at the end of it",
        );
        wrong("Read(a/[b)", "column 8: `[` is not closed; write `[ab]`, or `\\[` for the character");
        wrong(
            "Read(a[!b]c)",
            "column 7: `[…]` may not stand for a slash, and `[!…]` would; \
             name the characters that may stand here, as in `[a-z0-9]`",
        );
        wrong("Read(a/../b)", "column 8: `..` after a name; write the path that it leads to");
        wrong(
            "Bash(git *)",
            "column 10: `*` stands for nothing here; write `:*` at the end for anything after these words, `'*'` for the character",
        );
        wrong(
            "Bash(:*)",
            "column 6: no program is named; write it as in `Bash(git diff:*)`, or `Bash` for all",
        );
        wrong(
            "WebFetch(docs.rs)",
            "column 10: a host begins with `domain:`; write it as in `WebFetch(domain:docs.rs)`",
        );
        wrong(
            "WebFetch(domain:docs.rs:443)",
            "column 24: ':' does not belong to a host; write the host alone, without scheme, port and path",
        );
        wrong("Grep(git:*)", "column 9: only Bash takes a pattern of words; write `Bash(git:*)`");
        wrong(
            "mcp__a__b(c)",
            "column 11: a tool of a server takes no pattern: what it says of itself does not count; write `mcp__a__b`",
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_parsing_panic(text in r"(Read|Edit|Bash|WebFetch|Grep|mcp__)?[()\[\]{}*?!~/\\.,:'a-zé\- ]{0,40}") {
            let _ = text.parse::<Rule>();
        }

        #[test]
        fn nor_does_any_other(text in any::<String>()) {
            let _ = text.parse::<Rule>();
        }

        #[test]
        fn an_escaped_path_is_just_that_path(name in r"[*?\[\]{}\\a-z!,]{1,8}") {
            let rule: Rule = format!("Read(./{})", escaped(&name)).parse().expect("a rule");
            let Subject::Path(_, path) = rule.0 else { panic!("not a path") };
            prop_assert_eq!((path.names, path.glob), (vec![name], None));
        }
    }
}
