//! `[[ … ]]`, which has a grammar of its own.

use super::{reader::Parser, tree::*, word::Context};

/// Operators between two words; `<` and `>` are tokens of their own.
const BINARY: [&str; 13] =
    ["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// The letters of operators before one word.
const UNARY: &str = "abcdefghknoprstuvwxzGLNORS";

impl Parser<'_> {
    pub(super) fn test(&mut self) -> CommandKind {
        let mut words = Vec::new();
        self.any_of(&mut words);
        self.lines();
        match self.keyword() {
            Some("]]") => self.take_keyword(),
            _ => self.expected("`]]`"),
        }
        CommandKind::Test(words)
    }

    /// `a && b || c`, in one row: nobody needs to know what binds tighter.
    fn any_of(&mut self, words: &mut Vec<Word>) {
        loop {
            self.term(words);
            self.lines();
            let Some(operator) = ["&&", "||"].into_iter().find(|operator| self.eat(operator)) else { return };
            self.push_operator(words, operator);
        }
    }

    fn term(&mut self, words: &mut Vec<Word>) {
        self.lines();
        while self.keyword() == Some("!") {
            self.take_keyword();
            self.push_operator(words, "!");
            self.lines();
        }
        if !self.eat("(") {
            return self.comparison(words);
        }
        self.push_operator(words, "(");
        self.nested(|parser| parser.any_of(words));
        if !self.eat(")") {
            self.expected("`)`");
        }
        self.push_operator(words, ")");
    }

    /// `-f word`, `word == word`, or just a word.
    fn comparison(&mut self, words: &mut Vec<Word>) {
        let left = self.operand(Context::PLAIN);
        let is_unary = left.is_unary_operator();
        words.push(left);
        self.blanks();
        if is_unary {
            words.push(self.operand(Context::PLAIN));
        } else if let Some(operator) = self.binary_operator() {
            self.push_operator(words, operator);
            self.blanks();
            words.push(self.operand(Context::of_operator(operator)));
        } else if self.peek() == Some(b'\n') {
            self.expected("an operator");
        }
    }

    fn operand(&mut self, context: Context) -> Word {
        if self.keyword() == Some("]]") {
            self.fail(self.pos, "a word is missing before `]]`");
        }
        if self.touches_descriptor() {
            self.fail(self.pos, "a number before `<` or `>` needs a blank after it");
        }
        match context.takes_brackets() && self.peek() == Some(b'(') {
            true => self.word(context),
            false => self.some_word(context),
        }
    }

    fn binary_operator(&mut self) -> Option<&'static str> {
        if !self.at_word_end() {
            let found = BINARY
                .into_iter()
                .find(|operator| self.ahead(|parser| parser.eat(operator) && parser.at_word_end()))?;
            self.eat(found);
            return Some(found);
        }
        ["<", ">"].into_iter().find(|operator| self.eat(operator))
    }

    fn push_operator(&mut self, words: &mut Vec<Word>, operator: &str) {
        let span = self.since(self.pos.saturating_sub(operator.len()));
        words.push(Word { parts: vec![Part::Literal(operator.to_owned())], span });
    }
}

impl Word {
    fn is_unary_operator(&self) -> bool {
        let [Part::Literal(text)] = self.parts.as_slice() else { return false };
        matches!(text.as_bytes(), [b'-', letter] if UNARY.contains(char::from(*letter)))
    }
}
