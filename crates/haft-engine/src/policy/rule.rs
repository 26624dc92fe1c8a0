//! One rule, parsed: from the text that a person writes to a type, once.
//!
//! Parsing knows no workspace and no home: what they stand for is filled in when the rules are compiled. No text makes
//! it panic; what is wrong is said with its column and with what would be right.

use std::{error::Error, fmt, str::FromStr};

use globset::{ErrorKind, Glob, GlobBuilder};

use super::hosts;

/// The name under which path rules speak of every read.
pub(super) const READ: &str = "Read";
/// The name under which path rules speak of every write.
pub(super) const EDIT: &str = "Edit";
/// The name under which command rules are written.
pub(super) const BASH: &str = "Bash";
/// The name under which host rules speak of every fetch.
pub(super) const WEB_FETCH: &str = "WebFetch";

/// Longer texts are mistakes, and deep nesting in them would cost stack.
const LONGEST: usize = 4096;
const DEEPEST: usize = 16;

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
        let body = Piece { text, from: 0, to: text.len() }.trimmed();
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
struct Piece<'a> {
    text: &'a str,
    from: usize,
    to: usize,
}

impl<'a> Piece<'a> {
    fn as_str(&self) -> &'a str {
        &self.text[self.from..self.to]
    }

    fn cut(&self, from: usize, to: usize) -> Piece<'a> {
        Piece { from: self.from + from, to: self.from + to, ..*self }
    }

    fn trimmed(self) -> Piece<'a> {
        let text = self.as_str();
        let from = text.len() - text.trim_start().len();
        self.cut(from, from + text.trim().len())
    }

    fn wrong(&self, at: usize, problem: impl Into<String>, instead: impl Into<String>) -> SyntaxError {
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

fn belongs_to_a_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.')
}

fn path(piece: Piece<'_>) -> Result<PathPattern, SyntaxError> {
    let (anchor, rest) = anchored(piece)?;
    let rest = rest.cut(0, rest.as_str().trim_end_matches('/').len());
    check_glob(rest)?;
    let text = rest.as_str();
    // The fixed part ends at the last slash before the first wildcard; a slash inside `{…}` comes after one.
    let split = match first_wildcard(text) {
        None => text.len(),
        Some(wildcard) => text[..wildcard].rfind('/').map_or(0, |slash| slash + 1),
    };
    let (up, names) = fixed_names(rest.cut(0, split))?;
    let glob = glob_parts(rest.cut(split, text.len()))?;
    Ok(PathPattern { anchor, up, names, glob })
}

fn anchored(piece: Piece<'_>) -> Result<(Anchor, Piece<'_>), SyntaxError> {
    let text = piece.as_str();
    let from = |start: usize| piece.cut(start, text.len());
    if text.starts_with("//") {
        return Ok((Anchor::Root, from(2)));
    }
    if text == "~" || text.starts_with("~/") {
        return Ok((Anchor::Home, from(1)));
    }
    if text.starts_with('~') {
        let instead = "write `//home/…` for another user's home, `./~…` for a name that begins so";
        return Err(piece.wrong(0, "`~` stands for one home only, as in `~/notes`", instead));
    }
    Ok((Anchor::Workspace, piece))
}

fn fixed_names(piece: Piece<'_>) -> Result<(usize, Vec<String>), SyntaxError> {
    let (mut up, mut names, mut at) = (0, Vec::new(), 0);
    for part in piece.as_str().split('/') {
        match part {
            "" | "." => {}
            ".." if names.is_empty() => up += 1,
            ".." => return Err(piece.wrong(at, "`..` after a name", "write the path that it leads to")),
            name => names.push(unescaped(name)),
        }
        at += part.len() + 1;
    }
    Ok((up, names))
}

fn glob_parts(piece: Piece<'_>) -> Result<Option<String>, SyntaxError> {
    let (mut parts, mut at) = (Vec::new(), 0);
    for part in piece.as_str().split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(piece.wrong(at, "`..` after a wildcard", "write the path that it leads to")),
            part => parts.push(part),
        }
        at += part.len() + 1;
    }
    Ok((!parts.is_empty()).then(|| parts.join("/")))
}

fn first_wildcard(text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()),
            '*' | '?' | '[' | '{' => return Some(at),
            _ => {}
        }
    }
    None
}

/// A pattern that is one name without wildcards, unescaped.
pub(super) fn plain_name(pattern: &str) -> Option<String> {
    let plain = first_wildcard(pattern).is_none() && !pattern.contains(['/', '}']);
    plain.then(|| unescaped(pattern))
}

fn unescaped(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(char) = chars.next() {
        plain.extend(if char == '\\' { chars.next() } else { Some(char) });
    }
    plain
}

/// A path as a pattern that means just that path.
pub(super) fn escaped(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    for char in path.chars() {
        if matches!(char, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern
}

/// Compiles a glob as path rules mean it: `*` stays within a name, names are case-sensitive.
pub(super) fn glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build()
}

fn check_glob(piece: Piece<'_>) -> Result<(), SyntaxError> {
    let text = piece.as_str();
    if let Some((at, _)) = text.match_indices('{').nth(DEEPEST) {
        return Err(piece.wrong(
            at,
            "too many `{`",
            format!("use at most {DEEPEST}, or write several rules"),
        ));
    }
    if let Some(at) = class_with_slash(text) {
        let problem = "`[…]` may not stand for a slash, and `[!…]` would";
        return Err(piece.wrong(at, problem, "name the characters that may stand here, as in `[a-z0-9]`"));
    }
    let Err(err) = glob(text) else { return Ok(()) };
    Err(match err.kind() {
        ErrorKind::UnclosedClass => piece.wrong(
            text.rfind('[').unwrap_or(0),
            "`[` is not closed",
            "write `[ab]`, or `\\[` for the character",
        ),
        ErrorKind::UnclosedAlternates => piece.wrong(
            text.rfind('{').unwrap_or(0),
            "`{` is not closed",
            "write `{a,b}`, or `\\{` for the character",
        ),
        ErrorKind::UnopenedAlternates => piece.wrong(
            text.find('}').unwrap_or(0),
            "`}` was never opened",
            "write `{a,b}`, or `\\}` for the character",
        ),
        ErrorKind::DanglingEscape => piece.wrong(
            text.len().saturating_sub(1),
            "`\\` escapes nothing",
            "write `\\\\` for the character",
        ),
        kind => piece.wrong(
            0,
            format!("the pattern is not valid: {kind}"),
            "write a path, or a glob such as `src/**`",
        ),
    })
}

/// The first character class that would match a slash, which only `**` may.
fn class_with_slash(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = first_wildcard(&text[from..]).map(|at| from + at) {
        let Some(class) = text[at..].strip_prefix('[') else {
            from = at + 1;
            continue;
        };
        let end = class.char_indices().skip(1).find(|(_, char)| *char == ']')?.0;
        let chars: Vec<char> = class[..end].chars().collect();
        let spans_slash = |range: &[char]| range[1] == '-' && range[0] <= '/' && '/' <= range[2];
        if matches!(chars[0], '!' | '^') || chars.contains(&'/') || chars.windows(3).any(spans_slash) {
            return Some(at);
        }
        from = at + 1 + end + 1;
    }
    None
}

fn host(piece: Piece<'_>) -> Result<HostPattern, SyntaxError> {
    let Some(text) = piece.as_str().strip_prefix("domain:") else {
        return Err(piece.wrong(
            0,
            "a host begins with `domain:`",
            "write it as in `WebFetch(domain:docs.rs)`",
        ));
    };
    let piece = piece.cut("domain:".len(), piece.as_str().len());
    if text == "*" {
        return Ok(HostPattern::Any);
    }
    let (name, below) = text.strip_prefix("*.").map_or((text, false), |name| (name, true));
    check_host(piece.cut(if below { 2 } else { 0 }, text.len()))?;
    let name = hosts::normal(name).into_owned();
    if below && name.rsplit('.').next().is_some_and(|label| label.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err(piece.wrong(0, "an address has no labels in front", "write the whole address"));
    }
    Ok(if below { HostPattern::Below(name) } else { HostPattern::Exact(name) })
}

fn check_host(piece: Piece<'_>) -> Result<(), SyntaxError> {
    let name = piece.as_str();
    if hosts::ipv6(name).is_some() {
        return Ok(());
    }
    if let Some((at, char)) = name.char_indices().find(|(_, char)| !belongs_to_a_name(*char)) {
        let instead = match char {
            ':' | '/' => "write the host alone, without scheme, port and path",
            '*' => "a `*.` may only stand in front, for one or more labels",
            _ if !char.is_ascii() => "write the name as it is looked up, as in `xn--bcher-kva.example`",
            _ => "a host is made of letters, digits, `-`, `_` and dots",
        };
        return Err(piece.wrong(at, format!("{char:?} does not belong to a host"), instead));
    }
    if name.strip_suffix('.').unwrap_or(name).split('.').any(str::is_empty) {
        return Err(piece.wrong(0, "a label of the host is empty", "write it as in `domain:docs.rs`"));
    }
    Ok(())
}

fn command(piece: Piece<'_>) -> Result<CommandPattern, SyntaxError> {
    let text = piece.as_str();
    let (words, open) = text.strip_suffix(":*").map_or((text, false), |words| (words, true));
    let words = split_words(piece.cut(0, words.len()))?;
    if words.first().is_none_or(String::is_empty) {
        return Err(piece.wrong(
            0,
            "no program is named",
            "write it as in `Bash(git diff:*)`, or `Bash` for all",
        ));
    }
    Ok(CommandPattern { words, open })
}

/// Words as a shell splits them, with quotes and backslashes, and without anything that a shell expands.
fn split_words(piece: Piece<'_>) -> Result<Vec<String>, SyntaxError> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = piece.as_str().char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            ' ' | '\t' => words.extend(word.take()),
            '*' => {
                let instead = "write `:*` at the end for anything after these words, `'*'` for the character";
                return Err(piece.wrong(at, "`*` stands for nothing here", instead));
            }
            '\'' | '"' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some((_, end)) if end == char => break,
                        Some((_, inner)) => quoted.push(inner),
                        None => {
                            return Err(piece.wrong(
                                at,
                                "the quote is not closed",
                                "close it, or put `\\` in front",
                            ));
                        }
                    }
                }
            }
            '\\' => {
                let Some((_, next)) = chars.next() else {
                    return Err(piece.wrong(at, "`\\` escapes nothing", "write `\\\\` for the character"));
                };
                word.get_or_insert_default().push(next);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn wrong(text: &str, expected: &str) {
        assert_eq!(text.parse::<Rule>().expect_err("an error").to_string(), expected);
    }

    #[track_caller]
    fn path_of(text: &str) -> String {
        match text.parse::<Rule>().expect("a rule").0 {
            Subject::Path(_, PathPattern { anchor, up, names, glob }) => {
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
