//! Where the parser is in the text, and what became of it.
//!
//! A backslash before the end of a line joins two lines nearly everywhere, even within an operator, so looking at the next
//! byte skips such pairs; [`raw`](Parser::raw) does not, for the places where they are plain text. After an error the
//! parser stands at the end of the text: everything that is being read ends there of its own accord, and what was
//! read so far stays in the tree.

use std::ops::Range;

use super::{SyntaxError, here::HereDocuments};

/// How deep constructs may be nested. People stay below ten; bash itself has no limit but its stack.
const DEEPEST: usize = 100;

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) pos: usize,
    /// How deep the place is nested.
    pub(super) depth: usize,
    /// How many bytes may still be read a second time: see `arithmetic_or_subshell`.
    pub(super) rereads: usize,
    /// Whether a `)` further on ends what is being read: bash looks for it even in here-documents.
    pub(super) in_substitution: bool,
    pub(super) here: HereDocuments,
    /// What would be wrong if what is being tried as arithmetic is some.
    pub(super) doubt: Option<(usize, &'static str)>,
    /// What the last look for the end of `[…]` found, and up to where it holds.
    pub(super) bracket: (usize, super::word::Bracket),
    place: Place,
    error: Option<SyntaxError>,
}

/// How positions in this text become positions in the text that the person wrote.
#[derive(Clone)]
enum Place {
    /// It is a piece of it that begins here.
    From(usize),
    /// It was made from what stands here.
    Within(Range<usize>),
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Parser<'t> {
        Parser {
            text,
            pos: 0,
            depth: 0,
            rereads: 4 * text.len() + 10_000,
            in_substitution: false,
            here: HereDocuments::default(),
            doubt: None,
            bracket: (0, super::word::Bracket::None),
            place: Place::From(0),
            error: None,
        }
    }

    /// Reads another text, which is or was made from the bytes `source` of this one, as part of it.
    pub(super) fn within<T>(
        &mut self,
        text: &str,
        source: Range<usize>,
        read: impl FnOnce(&mut Parser<'_>) -> T,
    ) -> T {
        let mut inner = Parser::new(text);
        inner.depth = self.depth;
        inner.rereads = self.rereads;
        inner.place = match &self.place {
            Place::From(offset) if self.text.get(source.clone()) == Some(text) => {
                Place::From(offset + source.start)
            }
            Place::From(_) => Place::Within(self.span(source.start, source.end)),
            Place::Within(range) => Place::Within(range.clone()),
        };
        let result = read(&mut inner);
        self.rereads = inner.rereads;
        if let Some(error) = inner.error {
            self.stop_with(error);
        }
        result
    }

    /// The next byte, lines joined.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while self.raw() == Some(b'\\') && self.raw_at(1) == Some(b'\n') {
            self.pos += 2;
        }
        self.raw()
    }

    /// The byte after the next one.
    pub(super) fn peek_second(&mut self) -> Option<u8> {
        self.peek()?;
        self.ahead(|parser| {
            parser.pos += 1;
            parser.peek()
        })
    }

    /// The next byte as it stands.
    pub(super) fn raw(&self) -> Option<u8> {
        self.raw_at(0)
    }

    pub(super) fn raw_at(&self, offset: usize) -> Option<u8> {
        self.text.as_bytes().get(self.pos + offset).copied()
    }

    /// Takes the byte that was just looked at.
    pub(super) fn bump(&mut self) {
        self.pos = (self.pos + 1).min(self.text.len());
    }

    /// Takes the character, of however many bytes, that stands here.
    pub(super) fn take_char(&mut self) -> Option<char> {
        let next = self.text[self.pos..].chars().next()?;
        self.pos += next.len_utf8();
        Some(next)
    }

    /// Takes this text if it comes next.
    pub(super) fn eat(&mut self, wanted: &str) -> bool {
        let start = self.pos;
        for byte in wanted.bytes() {
            if self.peek() != Some(byte) {
                self.pos = start;
                return false;
            }
            self.bump();
        }
        true
    }

    /// Whether this text comes next.
    pub(super) fn sees(&mut self, wanted: &str) -> bool {
        self.ahead(|parser| parser.eat(wanted))
    }

    /// Looks ahead and comes back.
    pub(super) fn ahead<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        let start = self.pos;
        let seen = look(self);
        self.back(start);
        seen
    }

    /// Goes back, unless the reading has ended.
    pub(super) fn back(&mut self, start: usize) {
        if self.error.is_none() {
            self.pos = start;
        }
    }

    /// Skips blanks and a comment. To be called only where a token may begin: elsewhere a `#` is text.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.bump(),
                Some(b'#') => return self.skip_to_line_end(),
                _ => return,
            }
        }
    }

    /// A comment ends with its line, whatever stands at the end of it.
    fn skip_to_line_end(&mut self) {
        let rest = &self.text[self.pos..];
        self.pos += rest.find('\n').unwrap_or(rest.len());
    }

    /// Skips blanks, comments and ends of lines.
    pub(super) fn lines(&mut self) {
        self.blanks();
        while self.newline() {
            self.blanks();
        }
    }

    /// Takes the end of a line, and the here-documents that begin after it.
    pub(super) fn newline(&mut self) -> bool {
        let is_there = self.peek() == Some(b'\n');
        if is_there {
            self.bump();
            self.here_bodies();
        }
        is_there
    }

    /// Reads something that is one level deeper.
    pub(super) fn nested<T: Default>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth == DEEPEST {
            self.fail(self.pos, format!("nested deeper than {DEEPEST} levels; write it in several commands"));
            return T::default();
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Ends the reading. Only the first error counts: what comes after it follows from it.
    pub(super) fn fail(&mut self, at: usize, what: impl Into<String>) {
        let at = match &self.place {
            Place::From(offset) => offset + at,
            Place::Within(range) => range.start,
        };
        self.stop_with(SyntaxError { at, what: what.into() });
    }

    /// Moves the error back to where something began that is not kept in the tree.
    pub(super) fn blame(&mut self, start: usize) {
        let start = self.span(start, start).start;
        if let Some(error) = &mut self.error {
            error.at = error.at.min(start);
        }
    }

    fn stop_with(&mut self, error: SyntaxError) {
        self.error.get_or_insert(error);
        self.pos = self.text.len();
    }

    /// Ends the reading because something else should stand here.
    pub(super) fn expected(&mut self, what: &str) {
        self.peek();
        let found = match self.text[self.pos..].chars().next() {
            None => "the end".to_owned(),
            Some('\n') => "the end of the line".to_owned(),
            Some(other) => format!("`{}`", other.escape_debug()),
        };
        self.fail(self.pos, format!("{what} is missing before {found}"));
    }

    pub(super) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    pub(super) fn into_error(self) -> Option<SyntaxError> {
        self.error
    }

    /// These bytes, in the text that the person wrote.
    pub(super) fn span(&self, start: usize, end: usize) -> Range<usize> {
        match &self.place {
            Place::From(offset) => offset + start..offset + end,
            Place::Within(range) => range.clone(),
        }
    }

    /// The bytes since `start`.
    pub(super) fn since(&self, start: usize) -> Range<usize> {
        self.span(start.min(self.pos), self.pos)
    }
}

/// Whether a word ends before this byte. `<` and `>` begin a word if a bracket follows: that is for the caller to see.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}
