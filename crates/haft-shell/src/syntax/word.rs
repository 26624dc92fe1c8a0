//! Words: from where one begins to where it ends.

use super::{
    expand::are_balanced,
    pieces::Pieces,
    quote::Around,
    reader::{Parser, ends_word},
    tree::*,
};

/// What is special in a word depends on where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Context {
    /// Whether `{a,b}` is expanded.
    braces: bool,
    /// Where else than at its beginning `~` is expanded.
    tildes: Tildes,
    /// Whether `name=(…)` is an array.
    arrays: bool,
    /// What it is compared with in `[[ ]]`.
    pattern: Pattern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tildes {
    First,
    /// After `name=`, and every `:` after that.
    InAssignment,
    /// After every `:`.
    AfterColon,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    No,
    Glob,
    Regex,
}

impl Context {
    /// No braces: patterns and words of `case`, here-strings, words in `[[ ]]`, names.
    pub(super) const PLAIN: Context =
        Context { braces: false, tildes: Tildes::First, arrays: false, pattern: Pattern::No };
    /// Words of commands and of `for`. If one looks like an assignment, `~` is expanded as in one.
    pub(super) const ARGUMENT: Context =
        Context { braces: true, tildes: Tildes::InAssignment, ..Context::PLAIN };
    /// Arguments of `declare` and its like.
    pub(super) const DECLARATION: Context = Context { arrays: true, ..Context::ARGUMENT };
    /// Words of an array.
    pub(super) const ELEMENT: Context = Context { braces: true, ..Context::PLAIN };
    /// Targets of redirections.
    pub(super) const TARGET: Context = Context::ELEMENT;
    /// What is assigned.
    pub(super) const VALUE: Context = Context { tildes: Tildes::AfterColon, ..Context::PLAIN };

    /// Whether a word may begin with `(` here.
    pub(super) fn takes_brackets(self) -> bool {
        self.pattern == Pattern::Regex
    }

    /// The right side of an operator in `[[ ]]`.
    pub(super) fn of_operator(operator: &str) -> Context {
        let pattern = match operator {
            "=" | "==" | "!=" => Pattern::Glob,
            "=~" => Pattern::Regex,
            _ => Pattern::No,
        };
        Context { pattern, ..Context::PLAIN }
    }
}

/// What a look for the end of `[…]` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    /// It ends before this byte.
    Closed(usize),
    /// There is a quote or an expansion in it.
    Unclear,
    /// It has no end: the bracket means itself.
    None,
}

impl Parser<'_> {
    /// The word that stands here; an empty one if none does.
    pub(super) fn word(&mut self, context: Context) -> Word {
        self.peek();
        match self.plain_text(context) {
            Some(word) => word,
            None => self.word_from(self.pos, Pieces::default(), context),
        }
    }

    /// The word that stands here if nothing in it is special: most are so, and need not be put together from pieces.
    fn plain_text(&mut self, context: Context) -> Option<Word> {
        if context.pattern != Pattern::No {
            return None;
        }
        let start = self.pos;
        let rest = &self.text.as_bytes()[start..];
        let length = rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len());
        let is_whole =
            rest.get(length).is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|'));
        if length == 0 || !is_whole || !rest[..length].iter().all(u8::is_ascii_graphic) {
            return None;
        }
        self.pos += length;
        let text = self.text[start..self.pos].to_owned();
        Some(Word { parts: vec![Part::Literal(text)], span: self.since(start) })
    }

    /// The word that must stand here.
    pub(super) fn some_word(&mut self, context: Context) -> Word {
        if self.at_word_end() {
            self.expected("a word");
        }
        self.word(context)
    }

    /// The rest of a word that began at `start`.
    pub(super) fn word_from(&mut self, start: usize, mut pieces: Pieces, context: Context) -> Word {
        while let Some(byte) = self.peek() {
            if !self.piece(byte, &mut pieces, context) {
                break;
            }
        }
        let parts = self.finish(pieces);
        Word { parts, span: self.since(start) }
    }

    /// Takes the next piece of a word; `false` if the word ends here.
    fn piece(&mut self, byte: u8, pieces: &mut Pieces, context: Context) -> bool {
        if self.quoted_piece(byte, pieces) {
            return true;
        }
        match byte {
            b'<' | b'>' if self.at_process() => pieces.part(self.process()),
            b'(' if context.arrays && pieces.ends_with_equals() => self.array_among_arguments(pieces),
            b'(' | b'|' if context.pattern == Pattern::Regex => self.pattern_operator(byte, pieces),
            _ if ends_word(byte) => return false,
            b'*' | b'?' | b'+' | b'@' | b'!' if context.pattern == Pattern::Glob && self.opens_group() => {
                self.group_of_patterns(pieces)
            }
            b'*' | b'?' => self.glob(byte, pieces),
            b'[' => self.bracket_expression(pieces, context),
            b'{' | b'}' | b',' if context.braces => self.mark(byte, pieces),
            b'~' => self.tilde(pieces, context),
            _ => self.plain_run(pieces),
        }
        true
    }

    /// Takes a quoted piece or an expansion: these are the same in every context.
    fn quoted_piece(&mut self, byte: u8, pieces: &mut Pieces) -> bool {
        match byte {
            b'\\' => self.escaped(pieces),
            b'\'' => self.single_quoted(pieces),
            b'"' => self.double_quoted(pieces),
            b'`' => {
                let part = self.backquoted(Around::Nothing);
                pieces.part(part);
            }
            b'$' => self.dollar_in_word(pieces),
            _ => return false,
        }
        true
    }

    /// Text without any meaning but itself. The first byte is taken whatever it is.
    fn plain_run(&mut self, pieces: &mut Pieces) {
        let start = self.pos;
        let rest = &self.text.as_bytes()[start + 1..];
        self.pos = start + 1 + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len());
        pieces.text(&self.text[start..self.pos]);
    }

    fn glob(&mut self, byte: u8, pieces: &mut Pieces) {
        self.bump();
        pieces.part(Part::Glob(char::from(byte).to_string()));
    }

    fn mark(&mut self, byte: u8, pieces: &mut Pieces) {
        pieces.mark(byte, self.pos);
        self.bump();
    }

    /// `declare list=(a b)`: that it is one is said, what is in it is kept, more is not followed.
    fn array_among_arguments(&mut self, pieces: &mut Pieces) {
        self.bump();
        pieces.part(Part::Odd("an array among arguments", "(".to_owned()));
        let words = self.nested(|parser| parser.elements());
        for word in words {
            word.parts.into_iter().for_each(|part| pieces.part(part));
            pieces.part(Part::Odd("an array among arguments", " ".to_owned()));
        }
        pieces.part(Part::Odd("an array among arguments", ")".to_owned()));
    }

    // --- patterns in [[ ]] ---

    fn opens_group(&mut self) -> bool {
        self.peek_second() == Some(b'(')
    }

    /// `@(a|b)`
    fn group_of_patterns(&mut self, pieces: &mut Pieces) {
        let start = self.pos;
        self.bump();
        self.eat("(");
        let text = format!("{}(", &self.text[start..start + 1]);
        self.group_from(text, pieces);
    }

    /// `|`, or a group, of a regular expression.
    fn pattern_operator(&mut self, byte: u8, pieces: &mut Pieces) {
        self.bump();
        match byte {
            b'(' => self.group_from("(".to_owned(), pieces),
            _ => pieces.part(Part::Glob("|".to_owned())),
        }
    }

    /// Within the brackets everything but quotes and expansions belongs to the pattern.
    fn group_from(&mut self, opening: String, pieces: &mut Pieces) {
        pieces.part(Part::Glob(opening));
        let start = self.pos - 1;
        self.nested(|parser| parser.group_to_end(pieces));
        // Bash looks for the end by counting, whatever the brackets belong to.
        if !self.has_failed() && !are_balanced(b'(', b')', self.text[start..self.pos].bytes()) {
            self.fail(start, "the brackets in the pattern do not pair up");
        }
    }

    fn group_to_end(&mut self, pieces: &mut Pieces) {
        let start = self.pos;
        while let Some(byte) = self.peek() {
            match byte {
                b')' => {
                    self.bump();
                    return pieces.part(Part::Glob(")".to_owned()));
                }
                b'(' => {
                    self.bump();
                    self.group_from("(".to_owned(), pieces);
                }
                b'<' | b'>' if self.at_process() => {
                    return self.fail(self.pos, "`<(` in a pattern is not followed");
                }
                _ if self.quoted_piece(byte, pieces) => {}
                _ => match self.take_char() {
                    Some(other) => pieces.part(Part::Glob(other.to_string())),
                    None => break,
                },
            }
        }
        self.fail(start, "a bracket in the pattern is not closed");
    }

    // --- [abc] ---

    fn bracket_expression(&mut self, pieces: &mut Pieces, context: Context) {
        match self.bracket_end(pieces.is_in_brace(), context) {
            Bracket::Closed(end) => {
                // A backslash in it stands before something that means itself in a pattern.
                pieces.part(Part::Glob(self.text[self.pos..end].replace('\\', "")));
                self.pos = end;
            }
            Bracket::Unclear => {
                self.bump();
                pieces.part(Part::Odd("a `[…]` with quotes or expansions in it", "[".to_owned()));
            }
            Bracket::None => {
                self.bump();
                pieces.literal("[");
            }
        }
    }

    /// Where the bracket that stands here ends. A look that finds none is remembered, since it holds for all brackets
    /// that it went over.
    fn bracket_end(&mut self, in_brace: bool, context: Context) -> Bracket {
        if self.pos < self.bracket.0 {
            return self.bracket.1;
        }
        let bytes = self.text.as_bytes();
        let mut at = self.pos + 1;
        at += usize::from(matches!(bytes.get(at), Some(b'!' | b'^')));
        at += usize::from(bytes.get(at) == Some(&b']'));
        let mut has_escape = false;
        let found = loop {
            match bytes.get(at) {
                Some(b']') => return Bracket::Closed(at + 1),
                Some(b'[') => at = class_end(bytes, at).unwrap_or(at + 1),
                Some(b'\\') if escapes_plainly(bytes.get(at + 1).copied(), context) => {
                    has_escape = true;
                    at += 2;
                }
                Some(b'\\' | b'\'' | b'"' | b'$' | b'`') => break Bracket::Unclear,
                Some(b'{' | b'}') if context.braces => break Bracket::Unclear,
                Some(b',') if in_brace => break Bracket::Unclear,
                Some(byte) if !ends_word(*byte) => at += 1,
                // An escape is shown as a quote, and would be read as one.
                _ if has_escape => break Bracket::Unclear,
                _ => break Bracket::None,
            }
        };
        self.bracket = (at, found);
        found
    }

    // --- ~ ---

    fn tilde(&mut self, pieces: &mut Pieces, context: Context) {
        let in_assignment = match context.tildes {
            Tildes::First => false,
            Tildes::InAssignment => pieces.is_assignment(),
            Tildes::AfterColon => true,
        };
        let begins = pieces.is_empty() || (in_assignment && pieces.ends_value());
        if pieces.ends_with_mark() {
            self.bump();
            return pieces.part(Part::Odd("`~` beside braces", "~".to_owned()));
        }
        let name = begins.then(|| self.ahead(|parser| parser.tilde_name(in_assignment))).flatten();
        self.bump();
        match name {
            None => pieces.literal("~"),
            Some(TildeName::Odd) => pieces.part(Part::Odd("`~` before braces or `=`", "~".to_owned())),
            Some(TildeName::Plain(name)) => {
                self.eat(&name);
                pieces.part(Part::Tilde(name));
            }
        }
    }

    /// What stands between `~` and `/`, if all of it is plain.
    fn tilde_name(&mut self, in_assignment: bool) -> Option<TildeName> {
        self.bump();
        let mut name = String::new();
        loop {
            match self.peek() {
                None | Some(b'/') => return Some(TildeName::Plain(name)),
                Some(b':') if in_assignment => return Some(TildeName::Plain(name)),
                // `~=~` is the home with `=~` behind it.
                Some(b'{' | b'}' | b',' | b'=' | b'~') => return Some(TildeName::Odd),
                Some(_) if self.at_word_end() => return Some(TildeName::Plain(name)),
                Some(b'+' | b'@' | b'!') => {}
                Some(byte) if is_special(byte) || !byte.is_ascii_graphic() => return None,
                Some(_) => {}
            }
            if let Some(byte) = self.raw() {
                name.push(char::from(byte));
            }
            self.bump();
        }
    }
}

enum TildeName {
    Plain(String),
    /// What follows decides what it is.
    Odd,
}

/// Whether a byte may mean something in some word.
fn is_special(byte: u8) -> bool {
    ends_word(byte)
        || matches!(
            byte,
            b'\\'
                | b'\''
                | b'"'
                | b'$'
                | b'`'
                | b'*'
                | b'?'
                | b'['
                | b'{'
                | b'}'
                | b','
                | b'~'
                | b'+'
                | b'@'
                | b'!'
        )
}

/// Whether a backslash in `[…]` keeps its character from ending the word, and does nothing else.
fn escapes_plainly(next: Option<u8>, context: Context) -> bool {
    context.pattern == Pattern::No && next.is_some_and(|next| ESCAPED_IN_BRACKETS.contains(&char::from(next)))
}

/// What must be escaped in `[…]`, and means itself there.
pub(super) const ESCAPED_IN_BRACKETS: [char; 7] = ['<', '>', ';', '&', '|', '(', ')'];

/// The end of `[:alpha:]`, which may stand within `[…]`.
fn class_end(bytes: &[u8], at: usize) -> Option<usize> {
    let kind = *bytes.get(at + 1).filter(|kind| matches!(kind, b':' | b'.' | b'='))?;
    let name = bytes[at + 2..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let end = at + 2 + name;
    (bytes.get(end) == Some(&kind) && bytes.get(end + 1) == Some(&b']')).then_some(end + 2)
}
