//! Redirections.

use super::{reader::Parser, tree::*, word::Context};

/// The longer ones first.
const OPERATORS: [&str; 12] = ["<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">", "&>>", "&>"];

impl Parser<'_> {
    /// All redirections that stand here.
    pub(super) fn redirects(&mut self, redirects: &mut Vec<Redirect>) {
        self.blanks();
        while let Some(redirect) = self.redirect() {
            redirects.push(redirect);
            self.blanks();
        }
    }

    fn redirect(&mut self) -> Option<Redirect> {
        if !matches!(self.peek()?, b'<' | b'>' | b'&' | b'{' | b'0'..=b'9') {
            return None;
        }
        let start = self.pos;
        let descriptor = self.descriptor();
        let Some(operator) = self.redirect_operator(descriptor.is_some()) else {
            self.back(start);
            return None;
        };
        let kind = self.redirect_kind(operator, start);
        Some(Redirect { descriptor, operator, kind })
    }

    fn redirect_operator(&mut self, has_descriptor: bool) -> Option<&'static str> {
        if self.at_process() || (has_descriptor && self.peek() == Some(b'&')) {
            return None;
        }
        OPERATORS.into_iter().find(|operator| self.eat(operator))
    }

    /// `2` or `{name}`, if it touches an operator.
    fn descriptor(&mut self) -> Option<Descriptor> {
        let start = self.pos;
        let descriptor = match self.peek() {
            Some(b'{') => self.named_descriptor(),
            _ => self.numbered_descriptor(),
        };
        let touches = matches!(self.peek(), Some(b'<' | b'>')) && !self.at_process();
        if descriptor.is_none() || !touches {
            self.back(start);
            return None;
        }
        descriptor
    }

    fn numbered_descriptor(&mut self) -> Option<Descriptor> {
        let mut digits = String::new();
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            digits.push(char::from(digit));
            self.bump();
        }
        // A larger one is a word for bash.
        let number = digits.parse::<i32>().ok()?;
        u32::try_from(number).ok().map(Descriptor::Number)
    }

    fn named_descriptor(&mut self) -> Option<Descriptor> {
        let start = self.pos;
        self.bump();
        let name = self.identifier();
        if name.is_empty() {
            return None;
        }
        if self.peek() == Some(b'[') && self.index_touches_operator() {
            self.fail(start, "a descriptor in an element of an array is not followed");
        }
        self.eat("}").then_some(Descriptor::Variable(name))
    }

    /// Whether `{name[…]}>` stands here, from the `[` on.
    fn index_touches_operator(&mut self) -> bool {
        self.ahead(|parser| {
            while !parser.at_word_end() && parser.peek() != Some(b'}') {
                parser.bump();
            }
            parser.eat("}") && matches!(parser.peek(), Some(b'<' | b'>'))
        })
    }

    fn redirect_kind(&mut self, operator: &'static str, start: usize) -> RedirectKind {
        self.blanks();
        self.no_descriptor_as_target(operator);
        self.no_assignment_as_target(operator);
        match operator {
            "<<" | "<<-" => RedirectKind::HereDocument(self.here_document(operator == "<<-", start)),
            "<<<" => RedirectKind::HereString(self.some_word(Context::PLAIN)),
            "<" => RedirectKind::Read(self.some_word(Context::TARGET)),
            "<>" => RedirectKind::ReadWrite(self.some_word(Context::TARGET)),
            "<&" => RedirectKind::Duplicate(self.copied_descriptor()),
            ">&" => {
                let word = self.copied_descriptor();
                match word.may_be_a_descriptor() {
                    true => RedirectKind::Duplicate(word),
                    false => RedirectKind::Write(word),
                }
            }
            _ => RedirectKind::Write(self.some_word(Context::TARGET)),
        }
    }

    /// Whether `2>` or `{name}>` stands here, which is never a word.
    pub(super) fn touches_descriptor(&mut self) -> bool {
        self.ahead(|parser| parser.descriptor()).is_some()
    }

    /// In `>2>x` bash sees two redirections, the first of which has no target.
    fn no_descriptor_as_target(&mut self, operator: &str) {
        let found = self.ahead(|parser| parser.descriptor());
        let copies = matches!(operator, "<&" | ">&");
        match found {
            None => {}
            Some(Descriptor::Number(_)) if copies => {}
            Some(_) => self.expected("a word"),
        }
    }

    /// Behind another redirection and `&>>`, bash takes `a=b` for an assignment.
    fn no_assignment_as_target(&mut self, operator: &str) {
        let is_assignment = |parser: &mut Self| {
            let has_name = !parser.identifier().is_empty();
            has_name && ["=", "+=", "["].into_iter().any(|mark| parser.eat(mark))
        };
        if operator == "&>>" && self.ahead(is_assignment) {
            self.fail(self.pos, "what follows `&>>` looks like an assignment; quote it");
        }
    }

    /// After `>&` a `-` is a word of its own, whatever touches it.
    fn copied_descriptor(&mut self) -> Word {
        let start = self.pos;
        if !self.eat("-") {
            let word = self.some_word(Context::TARGET);
            if !word.is_same_when_expanded_twice() {
                self.fail(start, "bash expands what follows `>&` or `<&` twice; write `&>`, or a descriptor");
            }
            return word;
        }
        Word { parts: vec![Part::Literal("-".to_owned())], span: self.since(start) }
    }
}

impl Word {
    /// Whether quotes in it hold nothing that would mean something without them: `>&'$(a)'` runs `a`.
    fn is_same_when_expanded_twice(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+./,:@%".contains(&byte);
        let quoted = self.parts.iter().map(|part| if let Part::Quoted(text) = part { text } else { "" });
        quoted.flat_map(str::bytes).all(is_plain)
    }

    /// A number, one with `-`, `-`, or something that is only known when it runs.
    fn may_be_a_descriptor(&self) -> bool {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(piece) | Part::Quoted(piece) => text.push_str(piece),
                Part::Glob(_) | Part::Tilde(_) => return false,
                _ => return true,
            }
        }
        let digits = text.strip_suffix('-').unwrap_or(&text);
        digits.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty()
    }
}
