//! Assignments before a command.

use super::{pieces::Pieces, reader::Parser, tree::*, verbatim::Ends, word::Context};

/// How a simple command goes on before its first word.
pub(super) enum Leading {
    Assignment(Assignment),
    Word(Word),
}

impl Parser<'_> {
    /// An assignment, or the first word if it is none.
    pub(super) fn leading(&mut self, context: Context) -> Leading {
        let start = self.pos;
        let name = self.identifier();
        if name.is_empty() || !matches!(self.peek(), Some(b'=' | b'+' | b'[')) {
            self.back(start);
            return Leading::Word(self.word(context));
        }
        // Whatever stands in the index belongs to it, blanks and `;` included, and even if no `=` follows.
        let index = (self.peek() == Some(b'[')).then(|| self.index(Ends::INDEX));
        let append = match () {
            () if self.eat("=") => false,
            () if self.eat("+=") => true,
            () => return Leading::Word(self.word_after_index(start, name, index, context)),
        };
        let value = self.assigned();
        Leading::Assignment(Assignment { name, index, append, value })
    }

    /// `[…]`, both brackets taken.
    pub(super) fn index(&mut self, ends: Ends) -> Word {
        let start = self.pos;
        self.eat("[");
        let word = self.nested(|parser| parser.verbatim(ends));
        self.eat("]");
        let text = &self.text[start..self.pos];
        if text.contains("<<") && text.contains('\n') {
            // Bash pairs quotes over all of it, those in the body included.
            self.fail(start, "a here-document in an index is not followed");
            self.blame(start);
        }
        word
    }

    /// A word that began like an assignment.
    fn word_after_index(
        &mut self,
        start: usize,
        name: String,
        index: Option<Word>,
        context: Context,
    ) -> Word {
        let Some(index) = index else {
            self.back(start);
            return self.word(context);
        };
        let mut pieces = Pieces::default();
        pieces.literal(&name);
        pieces.odd_index(index);
        self.word_from(start, pieces, context)
    }

    fn assigned(&mut self) -> AssignedValue {
        match self.eat("(") {
            true => AssignedValue::Array(self.whole_array()),
            false => AssignedValue::Scalar(self.word(Context::VALUE)),
        }
    }

    /// An array must end where its word does: in `a=(b)c d`, bash runs `d`.
    fn whole_array(&mut self) -> Vec<Word> {
        let words = self.elements();
        if !self.at_word_end() {
            self.expected("a blank after the array");
        }
        words
    }

    /// The words of an array, up to and with the `)`.
    pub(super) fn elements(&mut self) -> Vec<Word> {
        let start = self.pos;
        let mut words = Vec::new();
        self.lines();
        while !self.at_word_end() {
            words.push(self.element());
            self.lines();
        }
        if !self.eat(")") {
            self.expected("`)`");
        }
        // Bash writes a substitution down and reads it again, and loses backslashes of arrays on the way.
        if self.in_substitution && !self.has_failed() && self.text[start..self.pos].contains('\\') {
            self.fail(start, "a backslash in an array in a substitution is not followed; use quotes");
            self.blame(start);
        }
        words
    }

    fn element(&mut self) -> Word {
        let start = self.pos;
        let mut pieces = Pieces::default();
        if self.peek() == Some(b'[') {
            let index = self.index(Ends::INDEX);
            pieces.odd_index(index);
        }
        self.word_from(start, pieces, Context::ELEMENT)
    }

    /// The name that stands here; empty if none does.
    pub(super) fn identifier(&mut self) -> String {
        let mut name = String::new();
        while let Some(byte) = self.peek() {
            if !(byte.is_ascii_alphabetic() || byte == b'_' || (byte.is_ascii_digit() && !name.is_empty())) {
                break;
            }
            name.push(char::from(byte));
            self.bump();
        }
        name
    }
}
