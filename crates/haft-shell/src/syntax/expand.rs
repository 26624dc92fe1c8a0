//! What begins with `$` or a backquote, and `<(…)`.

use super::{pieces::Pieces, quote::Around, reader::Parser, tree::*, verbatim::Ends};

/// The parameters of one character that is no letter.
const SPECIAL: &[u8] = b"@*#?-$!0123456789";

/// Operators of `${…}` that take what follows them; the longer ones first. `:` alone counts characters.
const OPERATORS: [&str; 21] = [
    ":-", ":=", ":?", ":+", ":", "-", "=", "?", "+", "##", "#", "%%", "%", "//", "/#", "/%", "/", "^^", "^",
    ",,", ",",
];

impl Parser<'_> {
    /// A whole text, to its end.
    pub(super) fn whole(&mut self) -> Script {
        let mut script = self.nested(Self::script);
        if self.peek().is_some() {
            let next = self.keyword().map(str::to_owned);
            let next = next.or_else(|| self.text[self.pos..].chars().next().map(|next| next.to_string()));
            self.fail(
                self.pos,
                format!("`{}` does not belong here", next.unwrap_or_default().escape_debug()),
            );
        }
        self.finish_here(&mut script);
        script
    }

    /// `$…` in a word that is not in quotes.
    pub(super) fn dollar_in_word(&mut self, pieces: &mut Pieces) {
        match self.peek_second() {
            Some(b'\'') => {
                self.bump();
                self.peek();
                self.ansi_quoted(pieces);
            }
            Some(b'"') => {
                self.bump();
                self.peek();
                self.translated(pieces);
            }
            // Kept apart, so that it cannot be taken for the beginning of what follows.
            Some(b'`') => {
                self.bump();
                pieces.quoted("$");
            }
            _ => match self.dollar(Around::Nothing) {
                Some(part) => pieces.part(part),
                None => pieces.literal("$"),
            },
        }
    }

    /// The expansion that stands here. If it is only a `$`, that is taken, and there is none.
    pub(super) fn dollar(&mut self, around: Around) -> Option<Part> {
        let start = self.pos;
        self.bump();
        match self.peek() {
            Some(b'{') => Some(self.parameter(start, around)),
            Some(b'(') if self.sees("((") => Some(self.arithmetic_expansion(start)),
            Some(b'(') => {
                self.bump();
                Some(Part::Command(self.substitution(start)))
            }
            Some(b'[') => {
                self.bump();
                Some(Part::Arithmetic(Box::new(self.arithmetic_in_square_brackets(start))))
            }
            Some(byte) if SPECIAL.contains(&byte) => {
                self.bump();
                Some(Part::Variable(char::from(byte).to_string()))
            }
            _ => Some(self.identifier()).filter(|name| !name.is_empty()).map(Part::Variable),
        }
    }

    /// `$[…]`, the old form.
    fn arithmetic_in_square_brackets(&mut self, start: usize) -> Word {
        let word = self.nested(|parser| parser.verbatim(Ends::INDEX));
        self.eat("]");
        if !has_balanced_brackets(&word) {
            self.fail(start, "the brackets in `$[` do not pair up");
        }
        word
    }

    /// Bash finds the end of `$((` by counting brackets, and only then sees whether it was arithmetic. If not, what
    /// ends it may not be what ends a substitution, so that is not followed.
    fn arithmetic_expansion(&mut self, start: usize) -> Part {
        self.eat("((");
        match self.arithmetic(Ends::ARITHMETIC) {
            Some(word) => Part::Arithmetic(Box::new(word)),
            None => {
                let what = "`$((` is not closed by `))`; for a subshell in a substitution write `$( (`";
                self.fail(start, what);
                self.blame(start);
                Part::Odd("brackets that may be arithmetic", "$((".to_owned())
            }
        }
    }

    /// From behind `((` to behind `))`. `None`, with no error, if a single `)` is where `))` should be.
    pub(super) fn arithmetic(&mut self, ends: Ends) -> Option<Word> {
        let outer = self.doubt.take();
        let word = self.nested(|parser| parser.verbatim(ends));
        let doubt = std::mem::replace(&mut self.doubt, outer);
        self.eat(")");
        if self.raw() != Some(b')') || self.has_failed() {
            return None;
        }
        self.bump();
        if let Some((at, what)) = doubt {
            self.fail(at, what);
        }
        Some(word)
    }

    /// The commands of `$(…)`, from behind the bracket to behind the other one.
    fn substitution(&mut self, start: usize) -> Script {
        let outer = std::mem::take(&mut self.here);
        let was_in = std::mem::replace(&mut self.in_substitution, true);
        self.no_time_first();
        let mut script = self.nested(Self::script);
        if !self.eat(")") {
            self.expected("`)`");
        }
        self.finish_here(&mut script);
        self.here = outer;
        self.in_substitution = was_in;
        if self.here.is_waiting() && self.text[start..self.pos].contains('\n') {
            self.fail(start, "a substitution of several lines cannot stand beside a here-document");
        }
        script
    }

    /// Bash takes `time` for a program when it looks for the end of a substitution, and for a reserved word when it runs it.
    fn no_time_first(&mut self) {
        self.blanks();
        if self.keyword() == Some("time") {
            self.fail(self.pos, "`time` at the beginning of a substitution is read in two ways");
        }
    }

    /// Whether `<(` or `>(` stands here.
    pub(super) fn at_process(&mut self) -> bool {
        matches!(self.peek(), Some(b'<' | b'>')) && self.peek_second() == Some(b'(')
    }

    /// `<(…)`, `>(…)`
    pub(super) fn process(&mut self) -> Part {
        let start = self.pos;
        let flow = if self.peek() == Some(b'<') { Flow::From } else { Flow::To };
        self.bump();
        self.eat("(");
        if self.peek() == Some(b'(') {
            self.fail(start, "for a subshell in a process substitution write `<( (`");
        }
        Part::Process(flow, self.substitution(start))
    }

    /// `` `…` ``: its text, some backslashes taken off, is a text of its own.
    pub(super) fn backquoted(&mut self, around: Around) -> Part {
        let start = self.pos;
        self.bump();
        let from = self.pos;
        let Some(text) = self.backquoted_text(around) else {
            self.fail(start, "a backquote is not closed");
            return Part::Odd("a backquote without end", String::new());
        };
        let source = from..self.pos.saturating_sub(1).max(from);
        let script = self.nested(|parser| parser.within(&text, source, |inner| inner.whole()));
        Part::Command(script)
    }

    fn backquoted_text(&mut self, around: Around) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.peek()? {
                b'`' => {
                    self.bump();
                    return Some(text);
                }
                b'\\' => self.backslash_in_backquotes(around, &mut text),
                _ => {
                    let rest = &self.text[self.pos..];
                    let length = rest.find(['`', '\\']).unwrap_or(rest.len());
                    text.push_str(&rest[..length]);
                    self.pos += length;
                }
            }
        }
    }

    fn backslash_in_backquotes(&mut self, around: Around, text: &mut String) {
        let start = self.pos;
        self.bump();
        match (self.raw(), around) {
            (Some(b'$' | b'`' | b'\\'), _) => {}
            (Some(b'"'), Around::Double) => {}
            (Some(b'"'), Around::Unclear) => return self.fail(start, "`\\\"` is not followed here"),
            _ => text.push('\\'),
        }
        text.extend(self.take_char());
    }

    /// `${…}`, from its brace on.
    fn parameter(&mut self, start: usize, around: Around) -> Part {
        self.eat("{");
        let Some(name) = self.parameter_name() else {
            self.fail(start, "`${` needs the name of a variable");
            return Part::Odd("a strange `${`", String::new());
        };
        let mut operator = String::new();
        let mut words = Vec::new();
        if self.peek() == Some(b'[') {
            operator.push('[');
            words.push(self.index(Ends::INDEX_IN_BRACES));
        }
        self.operation(&mut operator, &mut words, around);
        if !self.eat("}") {
            self.fail(start, "`${` is not closed, or not understood");
            self.blame(start);
        }
        let is_plain = operator.is_empty() && (name.len() == 1 || !name.starts_with(['!', '#']));
        match is_plain {
            true => Part::Variable(name),
            false => Part::Parameter { name, operator, words },
        }
    }

    /// The name, with the `!` or `#` that may stand before it.
    fn parameter_name(&mut self) -> Option<String> {
        for mark in ["!", "#"] {
            let is_mark = self.ahead(|parser| {
                parser.eat(mark) && parser.bare_name().is_some() && parser.name_may_end(mark)
            });
            if is_mark {
                self.eat(mark);
                return Some(format!("{mark}{}", self.bare_name()?));
            }
        }
        self.bare_name()
    }

    /// Whether a name with a mark can end here: `${#?}` is a length, `${#?x}` asks whether `$#` is set.
    fn name_may_end(&mut self, mark: &str) -> bool {
        match mark {
            "#" => matches!(self.peek(), Some(b'}' | b'[')),
            _ => true,
        }
    }

    fn bare_name(&mut self) -> Option<String> {
        match self.peek()? {
            b'0'..=b'9' => Some(self.digits()),
            byte if SPECIAL.contains(&byte) => {
                self.bump();
                Some(char::from(byte).to_string())
            }
            _ => Some(self.identifier()).filter(|name| !name.is_empty()),
        }
    }

    fn digits(&mut self) -> String {
        let mut digits = String::new();
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            digits.push(char::from(digit));
            self.bump();
        }
        digits
    }

    /// What is done with the value, up to the closing brace.
    fn operation(&mut self, operator: &mut String, words: &mut Vec<Word>, around: Around) {
        if self.eat("@") {
            operator.push('@');
            operator.extend(self.take_letter());
        } else if self.sees("*}") {
            self.eat("*");
            operator.push('*');
        } else if let Some(found) = OPERATORS.into_iter().find(|wanted| self.eat(wanted)) {
            operator.push_str(found);
            let ends = match (found, around) {
                (":", _) => Ends::COUNTS,
                (_, Around::Nothing) => Ends::OPERAND,
                _ => Ends::QUOTED_OPERAND,
            };
            words.push(self.nested(|parser| parser.verbatim(ends)));
        }
    }

    fn take_letter(&mut self) -> Option<char> {
        let letter = self.peek().filter(u8::is_ascii_alphabetic)?;
        self.bump();
        Some(char::from(letter))
    }
}

fn has_balanced_brackets(word: &Word) -> bool {
    let text = word.parts.iter().map(|part| if let Part::Literal(text) = part { text.as_str() } else { "" });
    are_balanced(b'(', b')', text.flat_map(str::bytes))
}

/// Whether every bracket in a text is closed after it was opened.
pub(super) fn are_balanced(open: u8, close: u8, mut text: impl Iterator<Item = u8>) -> bool {
    let mut level = 0_i64;
    let never_below = text.all(|byte| {
        level += i64::from(byte == open) - i64::from(byte == close);
        level >= 0
    });
    never_below && level == 0
}
