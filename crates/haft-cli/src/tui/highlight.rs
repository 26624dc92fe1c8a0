//! Colours for code: words of the language, texts, numbers, comments. No grammar: a line is read once, from left to right.
//!
//! A library of grammars would be several times as large as the rest of the terminal UI, and take longer to load than haft
//! takes to start. What people look for in a diff is seen with this.

use ratatui::{style::Style, text::Span};

use super::{
    text::span,
    theme::{BAD, COMMENT, GOOD, KEYWORD, LITERAL, NOTE, STRONG},
};

/// What is known of a language.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Language {
    words: &'static str,
    line_comment: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static str,
    /// Whether the first character of a line says it all.
    is_diff: bool,
}

const NONE: Language =
    Language { words: "", line_comment: &[], block_comment: None, quotes: "", is_diff: false };
const SLASHES: Language =
    Language { words: "", line_comment: &["//"], block_comment: Some(("/*", "*/")), quotes: "\"'`", ..NONE };
const HASH: Language = Language { words: "", line_comment: &["#"], quotes: "\"'", ..NONE };

impl Language {
    /// By its name after a fence, or by the name of a file.
    pub(super) fn of(name: &str) -> Language {
        let word = name.rsplit(['.', '/']).next().unwrap_or_default().to_ascii_lowercase();
        match word.as_str() {
            "rs" | "rust" => Language { words: RUST, quotes: "\"", ..SLASHES },
            "py" | "python" | "pyi" => Language { words: PYTHON, ..HASH },
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "javascript" | "typescript" => {
                Language { words: SCRIPT, ..SLASHES }
            }
            "go" => Language { words: GO, ..SLASHES },
            "c" | "h" | "cc" | "cpp" | "hpp" | "c++" | "java" | "kt" | "cs" | "swift" | "scala" | "php" => {
                Language { words: BRACES, quotes: "\"'", ..SLASHES }
            }
            "sh" | "bash" | "zsh" | "shell" | "console" | "makefile" | "dockerfile" => {
                Language { words: SHELL, ..HASH }
            }
            "rb" | "ruby" => Language { words: RUBY, ..HASH },
            "toml" | "yaml" | "yml" | "ini" | "conf" | "cfg" => Language { words: "true false null", ..HASH },
            "json" | "jsonc" => Language { words: "true false null", quotes: "\"", ..SLASHES },
            "css" | "scss" => SLASHES,
            "sql" => Language { words: SQL, line_comment: &["--"], ..SLASHES },
            "html" | "xml" | "svg" => {
                Language { block_comment: Some(("<!--", "-->")), quotes: "\"'", ..NONE }
            }
            "lua" | "hs" => Language { words: LUA, line_comment: &["--"], quotes: "\"'", ..NONE },
            "diff" | "patch" => Language { is_diff: true, ..NONE },
            _ => NONE,
        }
    }

    fn has_word(&self, word: &str) -> bool {
        self.words.split(' ').any(|one| one == word)
    }
}

/// The colour of a line of a change, which may be one of several in a text.
fn changed(line: &str) -> Option<Style> {
    match line.chars().next()? {
        _ if line.starts_with("+++ ") || line.starts_with("--- ") => Some(STRONG),
        '+' => Some(GOOD),
        '-' => Some(BAD),
        '@' => Some(NOTE),
        _ => None,
    }
}

/// Reads lines of one text in their order.
#[derive(Debug)]
pub(super) struct Reader {
    language: Language,
    in_comment: bool,
}

impl Reader {
    pub(super) fn new(language: Language) -> Reader {
        Reader { language, in_comment: false }
    }

    pub(super) fn language(&self) -> Language {
        self.language
    }

    /// A line in pieces; what has no colour of its own gets this one.
    pub(super) fn line(&mut self, line: &str, usual: Style) -> Vec<Span<'static>> {
        if self.language.is_diff {
            return vec![span(line, changed(line).unwrap_or(usual))];
        }
        if self.language == NONE {
            return vec![span(line, usual)];
        }
        let (mut spans, mut rest, mut plain) = (Vec::new(), line, String::new());
        while !rest.is_empty() {
            let (len, style) = self.piece(rest);
            match style {
                None => plain.push_str(&rest[..len]),
                Some(style) => {
                    if !plain.is_empty() {
                        spans.push(span(&std::mem::take(&mut plain), usual));
                    }
                    spans.push(span(&rest[..len], style));
                }
            }
            rest = &rest[len..];
        }
        if !plain.is_empty() || spans.is_empty() {
            spans.push(span(&plain, usual));
        }
        spans
    }

    /// How long the piece at the beginning is, and its colour.
    fn piece(&mut self, text: &str) -> (usize, Option<Style>) {
        let language = self.language;
        if let Some((open, close)) = language.block_comment
            && (self.in_comment || text.starts_with(open))
        {
            let from = if self.in_comment { 0 } else { open.len() };
            let end = text[from..].find(close).map(|at| from + at + close.len());
            self.in_comment = end.is_none();
            return (end.unwrap_or(text.len()), Some(COMMENT));
        }
        if language.line_comment.iter().any(|mark| text.starts_with(mark)) {
            return (text.len(), Some(COMMENT));
        }
        let first = text.chars().next().unwrap_or(' ');
        if language.quotes.contains(first) {
            return (quoted(text, first), Some(LITERAL));
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if is_word(first) {
            let len = text.find(|c| !is_word(c)).unwrap_or(text.len());
            let style = match &text[..len] {
                word if language.has_word(word) => Some(KEYWORD),
                _ if first.is_ascii_digit() => Some(LITERAL),
                _ => None,
            };
            return (len, style);
        }
        (first.len_utf8(), None)
    }
}

/// How long a text in quotes is. One that does not end on its line is none: an apostrophe.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    if quote == '\'' { 1 } else { text.len() }
}

const RUST: &str = "as async await box break const continue crate dyn else enum extern false fn for if impl in let loop \
match mod move mut pub ref return self Self static struct super trait true type unsafe use where while";
const PYTHON: &str = "and as assert async await break class continue def del elif else except False finally for from \
global if import in is lambda None nonlocal not or pass raise return True try while with yield match case self";
const SCRIPT: &str = "as async await break case catch class const continue default delete do else enum export extends \
false finally for from function if implements import in instanceof interface let new null of private public readonly \
return static super switch this throw true try type typeof undefined var void while yield";
const GO: &str = "break case chan const continue default defer else fallthrough false for func go goto if import \
interface map nil package range return select struct switch true type var";
const BRACES: &str = "abstract auto bool boolean break byte case catch char class const continue default delete do \
double else enum explicit extends extern false final finally float for friend fun func goto if implements import inline \
int interface let long namespace new null nullptr operator override package private protected public return short \
signed sizeof static struct super switch template this throw throws true try typedef union unsigned using val var \
virtual void volatile when while";
const SHELL: &str = "case do done elif else esac exit export fi for function if in local return set then until while \
FROM RUN COPY ENV CMD ENTRYPOINT WORKDIR";
const RUBY: &str = "alias and begin break case class def do else elsif end ensure false for if in module next nil not or \
redo rescue retry return self super then true undef unless until when while yield";
const SQL: &str = "SELECT FROM WHERE INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX DROP ALTER JOIN LEFT RIGHT \
INNER ON AND OR NOT NULL ORDER BY GROUP HAVING LIMIT AS PRIMARY KEY select from where insert into values update set \
delete create table index drop alter join left right inner on and or not null order by group having limit as primary key";
const LUA: &str = "and break do else elseif end false for function if in local nil not or repeat return then true until \
while case class data deriving import instance let module of type where";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces with a colour in brackets: `k`eyword, `l`iteral, `c`omment.
    fn read(language: &str, lines: &str) -> String {
        let mut reader = Reader::new(Language::of(language));
        let mark = |span: Span<'static>| match span.style {
            KEYWORD => format!("k[{}]", span.content),
            LITERAL => format!("l[{}]", span.content),
            COMMENT => format!("c[{}]", span.content),
            _ => span.content.into_owned(),
        };
        let line = |line: &str| reader.line(line, Style::new()).into_iter().map(mark).collect::<String>();
        lines.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_of_a_change_have_its_colours() {
        let mut reader = Reader::new(Language::of("diff"));
        let lines = ["--- a.rs", "@@ -1 +1 @@", "-let x;", "+let y;", " fn"];
        let styles = lines.map(|line| reader.line(line, Style::new())[0].style);
        assert_eq!(styles, [STRONG, NOTE, BAD, GOOD, Style::new()]);
    }

    #[test]
    fn words_texts_numbers_and_comments_are_seen() {
        assert_eq!(
            read("src/a.rs", "let x = \"a\\\"b\" + 12; // y"),
            "k[let] x = l[\"a\\\"b\"] + l[12]; c[// y]"
        );
        assert_eq!(read("rust", "a /* b\nlet */ fn"), "a c[/* b]\nc[let */] k[fn]");
        assert_eq!(read("py", "# it's\nx = 'a'"), "c[# it's]\nx = l['a']");
        assert_eq!(read("js", "it's"), "itl[']s");
        assert_eq!(read("unknown", "let x = 1"), "let x = 1");
    }

    proptest! {
        #[test]
        fn no_character_is_lost_or_added(name in "(rs|py|js|sql|html|txt)", line in "[a-z \"'/*#<>!-]{0,40}") {
            let text: String =
                Reader::new(Language::of(&name)).line(&line, Style::new()).iter().map(|span| span.content.as_ref()).collect();
            prop_assert_eq!(text, line);
        }
    }
}
