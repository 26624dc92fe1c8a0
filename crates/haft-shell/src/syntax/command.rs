//! One command: which kind it is, and the simple kind.

use super::{assign::Leading, list::is_reserved, reader::Parser, tree::*, word::Context};

/// Builtins whose arguments may be assignments of arrays: `declare list=(a b)`.
const DECLARING: [&str; 8] = ["declare", "typeset", "local", "export", "readonly", "alias", "eval", "let"];

impl Parser<'_> {
    pub(super) fn command(&mut self) -> Command {
        self.blanks();
        let start = self.pos;
        let mut redirects = Vec::new();
        let kind = match self.compound() {
            Some(kind) => {
                self.redirects(&mut redirects);
                // Only right after its own end is a reserved word seen as one: `{ a; } >x fi` is an error.
                if !redirects.is_empty() && self.keyword().is_some() {
                    self.expected("`;`");
                }
                kind
            }
            None => self.simple(&mut redirects),
        };
        Command { kind, redirects, span: self.since(start) }
    }

    fn simple(&mut self, redirects: &mut Vec<Redirect>) -> CommandKind {
        let mut assignments = Vec::new();
        self.redirects(redirects);
        let first = self.first_word(&mut assignments, redirects);
        let Some(first) = first else {
            if assignments.is_empty() && redirects.is_empty() {
                self.expected("a command");
            }
            return CommandKind::Simple { assignments, words: Vec::new() };
        };
        if assignments.is_empty() && redirects.is_empty() && self.at_brackets() {
            return self.function_of(first);
        }
        CommandKind::Simple { assignments, words: self.words_after(first, redirects) }
    }

    /// The program's name, and what stands before it.
    fn first_word(
        &mut self,
        assignments: &mut Vec<Assignment>,
        redirects: &mut Vec<Redirect>,
    ) -> Option<Word> {
        let mut is_late = false;
        while !self.at_word_end() {
            if is_late && self.at_bracketed_assignment() {
                self.fail(self.pos, "`[` or `(` in an assignment behind a redirection is read in two ways");
            }
            match self.leading(Context::ARGUMENT) {
                Leading::Assignment(assignment) => assignments.push(assignment),
                Leading::Word(word) => return Some(word),
            }
            let before = redirects.len();
            self.redirects(redirects);
            is_late |= redirects.len() > before;
        }
        None
    }

    /// In `a=1 >b c[d e]=f g` bash runs `c[d`: behind an assignment and a redirection it knows no brackets.
    fn at_bracketed_assignment(&mut self) -> bool {
        self.ahead(|parser| {
            let has_name = !parser.identifier().is_empty();
            has_name && ["[", "=(", "+=("].into_iter().any(|bracket| parser.eat(bracket))
        })
    }

    fn words_after(&mut self, first: Word, redirects: &mut Vec<Redirect>) -> Vec<Word> {
        let context = match DECLARING.into_iter().any(|name| first.is_literally(name)) {
            true => Context::DECLARATION,
            false => Context::ARGUMENT,
        };
        let mut words = vec![first];
        self.redirects(redirects);
        while !self.at_word_end() {
            words.push(self.word(context));
            self.redirects(redirects);
        }
        words
    }

    fn at_brackets(&mut self) -> bool {
        self.blanks();
        self.peek() == Some(b'(')
    }

    /// `name () body`, from the brackets on.
    fn function_of(&mut self, name: Word) -> CommandKind {
        self.eat("(");
        self.blanks();
        if !self.eat(")") {
            self.expected("`)` (only a function's name can stand before `(`)");
        }
        self.function_body(name)
    }

    /// `function name [()] body`, from the name on.
    pub(super) fn function_with_keyword(&mut self) -> CommandKind {
        self.blanks();
        let name = self.some_word(Context::PLAIN);
        self.blanks();
        if self.ahead(|parser| parser.empty_brackets()) {
            self.empty_brackets();
        }
        self.function_body(name)
    }

    fn empty_brackets(&mut self) -> bool {
        self.eat("(") && {
            self.blanks();
            self.eat(")")
        }
    }

    /// The body of a function is a compound command.
    fn function_body(&mut self, name: Word) -> CommandKind {
        if !name.parts.iter().all(|part| matches!(part, Part::Literal(_) | Part::Quoted(_))) {
            self.fail(self.pos, "the name of a function must be plain text");
        }
        self.lines();
        let start = self.pos;
        let body = self.nested(|parser| parser.compound());
        let is_compound = body.as_ref().is_some_and(CommandKind::can_be_a_body);
        if !is_compound {
            self.expected("`{`");
        }
        let mut redirects = Vec::new();
        self.redirects(&mut redirects);
        let kind = body.unwrap_or(CommandKind::Group(Script::default()));
        let body = Box::new(Command { kind, redirects, span: self.since(start) });
        CommandKind::Function { name, body }
    }
}

impl CommandKind {
    fn can_be_a_body(&self) -> bool {
        !matches!(self, CommandKind::Simple { .. } | CommandKind::Function { .. } | CommandKind::Odd(..))
    }
}

impl Word {
    /// Whether it is exactly this, unquoted.
    pub(super) fn is_literally(&self, text: &str) -> bool {
        matches!(self.parts.as_slice(), [Part::Literal(literal)] if literal == text)
    }

    /// Whether it would be a reserved word in command position.
    pub(super) fn is_reserved(&self) -> bool {
        matches!(self.parts.as_slice(), [Part::Literal(literal)] if is_reserved(literal))
    }
}
