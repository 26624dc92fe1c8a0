//! Text that is kept as it is written: arithmetic, indexes, operands of `${…}`.
//!
//! What such text is worth is never known before it runs, so only what *runs in it* is taken apart. Bash reads quotes in
//! it twice, once to find its end and once to expand it, and not always in the same way: `"${x:-'$(id)'}"` and
//! `$(( '$(id)' ))` run `id`. Where the two ways could differ, we give up.

use super::{expand::are_balanced, pieces::push_joined, quote::Around, reader::Parser, tree::*};

/// Where such a text ends, and what quotes are worth in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    open: Option<u8>,
    close: u8,
    /// Whether quotes quote as everywhere.
    plain_quotes: bool,
    /// Whether it may turn out to be something else, so that doubts come later.
    trial: bool,
    /// What bash would take for the end of something around it.
    never: Option<u8>,
}

impl Ends {
    /// `((…` up to its bracket.
    pub(super) const ARITHMETIC: Ends =
        Ends { open: Some(b'('), close: b')', plain_quotes: false, trial: false, never: None };
    /// The same where it may also be a subshell in a subshell.
    pub(super) const TRIAL: Ends = Ends { trial: true, ..Ends::ARITHMETIC };
    /// `[…`
    pub(super) const INDEX: Ends =
        Ends { open: Some(b'['), close: b']', plain_quotes: false, trial: false, never: None };
    /// `${x[…`: bash looks for the `}` first.
    pub(super) const INDEX_IN_BRACES: Ends = Ends { never: Some(b'}'), ..Ends::INDEX };
    /// `${x:-…`
    pub(super) const OPERAND: Ends =
        Ends { open: None, close: b'}', plain_quotes: true, trial: false, never: None };
    /// The same within double quotes or a here-document.
    pub(super) const QUOTED_OPERAND: Ends = Ends { plain_quotes: false, ..Ends::OPERAND };
    /// `${x:…`, which is arithmetic.
    pub(super) const COUNTS: Ends = Ends::QUOTED_OPERAND;

    fn around(self) -> Around {
        if self.plain_quotes || self.trial { Around::Nothing } else { Around::Unclear }
    }
}

impl Parser<'_> {
    /// The text up to its end, which is not taken.
    pub(super) fn verbatim(&mut self, ends: Ends) -> Word {
        let start = self.pos;
        let mut parts = Vec::new();
        let mut level = 0_usize;
        while let Some(byte) = self.peek() {
            if byte == ends.close {
                if level == 0 {
                    self.count_brackets(start, ends);
                    return Word { parts, span: self.since(start) };
                }
                level -= 1;
            }
            if Some(byte) == ends.never {
                self.fail(
                    self.pos,
                    format!("`{}` is missing before `{}`", char::from(ends.close), char::from(byte)),
                );
                break;
            }
            level += usize::from(Some(byte) == ends.open);
            self.verbatim_piece(byte, ends, &mut parts);
        }
        self.fail(start, format!("`{}` is missing", char::from(ends.close)));
        Word { parts, span: self.since(start) }
    }

    /// Bash counts all brackets to find the end, whether they are in quotes, in `${…}` or of a `case`.
    fn count_brackets(&mut self, start: usize, ends: Ends) {
        let text = &self.text[start..self.pos];
        if ends.open.is_some_and(|open| !are_balanced(open, ends.close, text.bytes())) {
            self.fail(start, format!("bash may see another `{}` as the end", char::from(ends.close)));
        }
    }

    fn verbatim_piece(&mut self, byte: u8, ends: Ends, parts: &mut Vec<Part>) {
        match byte {
            b'\\' => self.verbatim_escape(parts),
            b'\'' => self.verbatim_single(ends, parts),
            b'"' => self.verbatim_double(ends, parts),
            b'`' => parts.push(self.backquoted(ends.around())),
            b'$' => self.verbatim_dollar(ends, parts),
            b'<' | b'>' if self.at_process() => self.verbatim_process(ends, parts),
            _ => self.verbatim_run(parts),
        }
    }

    /// Gives up, or remembers to.
    fn doubt(&mut self, ends: Ends, at: usize, what: &'static str) {
        match ends.trial {
            true => _ = self.doubt.get_or_insert((at, what)),
            false => self.fail(at, what),
        }
    }

    fn verbatim_run(&mut self, parts: &mut Vec<Part>) {
        let start = self.pos;
        let rest = &self.text.as_bytes()[start + 1..];
        let ends = |byte: &u8| b"\\'\"`$<>()[]}".contains(byte);
        self.pos = start + 1 + rest.iter().position(ends).unwrap_or(rest.len());
        push_joined(parts, Part::Literal(self.text[start..self.pos].to_owned()));
    }

    fn verbatim_escape(&mut self, parts: &mut Vec<Part>) {
        let start = self.pos;
        self.bump();
        self.take_char();
        push_joined(parts, Part::Literal(self.text[start..self.pos].to_owned()));
    }

    fn verbatim_single(&mut self, ends: Ends, parts: &mut Vec<Part>) {
        let start = self.pos;
        let Some(text) = self.single() else { return };
        if !ends.plain_quotes && text.contains(['$', '`', '\\', '"', '(', ')', '[', ']', '{', '}']) {
            return self.doubt(ends, start, "bash reads this quote in two ways; write it without");
        }
        let text = format!("'{text}'");
        push_joined(parts, Part::Literal(text));
    }

    /// `"…"`, its text as it is written, too.
    fn verbatim_double(&mut self, ends: Ends, parts: &mut Vec<Part>) {
        let start = self.pos;
        self.bump();
        push_joined(parts, Part::Literal("\"".to_owned()));
        self.nested(|parser| parser.verbatim_to_quote(ends, parts));
        if !self.eat("\"") {
            self.fail(start, "a double quote is not closed");
        }
        push_joined(parts, Part::Literal("\"".to_owned()));
    }

    fn verbatim_to_quote(&mut self, ends: Ends, parts: &mut Vec<Part>) {
        let around = if ends.plain_quotes || ends.trial { Around::Double } else { Around::Unclear };
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => return,
                b'\\' => self.verbatim_escape(parts),
                b'`' => parts.push(self.backquoted(around)),
                b'$' => {
                    self.doubt_dollar(ends);
                    match self.dollar(around) {
                        Some(part) => parts.push(part),
                        None => push_joined(parts, Part::Literal("$".to_owned())),
                    }
                }
                _ => self.verbatim_run(parts),
            }
        }
    }

    /// A `$` of its own before a backquote: what follows is shown as `$(…)`, and `$$(…)` would be something else.
    fn doubt_dollar(&mut self, ends: Ends) {
        if self.peek_second() == Some(b'`') {
            self.doubt(ends, self.pos, "`$` before a backquote is not followed here");
        }
    }

    fn verbatim_dollar(&mut self, ends: Ends, parts: &mut Vec<Part>) {
        let start = self.pos;
        match self.peek_second() {
            Some(b'\'') if ends.plain_quotes || ends.trial => {
                if ends.trial {
                    self.doubt(ends, start, "`$'` is not followed in arithmetic");
                }
                self.bump();
                self.peek();
                if let Some(text) = self.ansi() {
                    let text = format!("$'{text}'");
                    push_joined(parts, Part::Literal(text));
                }
            }
            Some(b'\'' | b'"' | b'`') if !ends.trial => {
                self.fail(start, "`$` before a quote is not followed here")
            }
            _ => {
                self.doubt_dollar(ends);
                match self.dollar(ends.around()) {
                    Some(part) => parts.push(part),
                    None => push_joined(parts, Part::Literal("$".to_owned())),
                }
            }
        }
    }

    fn verbatim_process(&mut self, ends: Ends, parts: &mut Vec<Part>) {
        let start = self.pos;
        if ends.plain_quotes || ends.trial {
            parts.push(self.process());
        }
        if !ends.plain_quotes {
            self.doubt(ends, start, "write a blank between `<` or `>` and `(`");
        }
    }
}
