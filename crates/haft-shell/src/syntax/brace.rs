//! `{a,b}` and `{1..3}`.
//!
//! Bash expands braces before anything else, by the text of the word. `{` and `}` pair up by their depth; a pair is one if
//! a `,` or `..` stands in it at its own level. Where bash would go on to look for a later `}`, the word gets an
//! [`Odd`](Part::Odd) part: what it would find there is not worth following.

use super::{
    pieces::{Piece, Pieces, push_joined},
    reader::Parser,
    tree::*,
};

/// More than anybody has written; what is not a pair is put back together once per level.
const DEEPEST: usize = 50;

const UNPAIRED: Part = Part::Odd("braces that do not pair up", String::new());

/// An open brace.
struct Open {
    at: usize,
    /// Whole ones.
    alternatives: Vec<Word>,
    /// The one that is being read, and where it began.
    parts: Vec<Part>,
    from: usize,
}

impl Parser<'_> {
    /// The parts of a word, its braces paired.
    pub(super) fn finish(&mut self, pieces: Pieces) -> Vec<Part> {
        match pieces.into_parts() {
            Ok(parts) => parts,
            Err(pieces) => self.pair(pieces),
        }
    }

    fn pair(&mut self, pieces: Vec<Piece>) -> Vec<Part> {
        let mut whole = Vec::new();
        let mut stack: Vec<Open> = Vec::new();
        let mut plain_pair = false;
        for piece in pieces {
            match piece {
                Piece::Part(part) => push_joined(top(&mut stack, &mut whole), part),
                Piece::Mark(b'{', at) => self.open(&mut stack, at),
                Piece::Mark(b',', at) => self.next_alternative(&mut stack, at),
                Piece::Mark(_, at) => match stack.pop() {
                    Some(open) => {
                        let parts = top(&mut stack, &mut whole);
                        plain_pair |= self.close(open, at, parts);
                    }
                    None => {
                        push_joined(&mut whole, Part::Literal("}".to_owned()));
                        whole.extend(plain_pair.then_some(UNPAIRED));
                    }
                },
            }
        }
        stack.into_iter().for_each(|open| open.put_back(&mut whole));
        whole
    }

    fn open(&mut self, stack: &mut Vec<Open>, at: usize) {
        if stack.len() == DEEPEST {
            self.fail(at, format!("more than {DEEPEST} braces in one another"));
        }
        stack.push(Open { at, alternatives: Vec::new(), parts: Vec::new(), from: at + 1 });
    }

    fn next_alternative(&mut self, stack: &mut [Open], at: usize) {
        if let Some(open) = stack.last_mut() {
            let parts = std::mem::take(&mut open.parts);
            open.alternatives.push(Word { parts, span: self.span(open.from, at) });
            open.from = at + 1;
        }
    }

    /// Ends a pair. Whether it turned out to be plain text.
    fn close(&mut self, mut open: Open, at: usize, parts: &mut Vec<Part>) -> bool {
        if !open.alternatives.is_empty() {
            open.alternatives.push(Word { parts: open.parts, span: self.span(open.from, at) });
            parts.push(Part::Brace(open.alternatives));
            return false;
        }
        if let [Part::Literal(text)] = open.parts.as_slice()
            && is_range(text)
        {
            parts.push(Part::Range(format!("{{{text}}}")));
            return false;
        }
        let has_dots = open.has_dots();
        // With `..` and a comma deeper in it, bash drops these braces and keeps what is in them.
        let odd = has_dots && self.text[open.at..at].contains(',');
        open.put_back(parts);
        push_joined(parts, Part::Literal("}".to_owned()));
        parts.extend(odd.then_some(UNPAIRED));
        !has_dots
    }
}

fn top<'a>(stack: &'a mut [Open], whole: &'a mut Vec<Part>) -> &'a mut Vec<Part> {
    match stack.last_mut() {
        Some(open) => &mut open.parts,
        None => whole,
    }
}

impl Open {
    fn has_dots(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains("..")))
    }

    /// Writes a brace that is none, and what came after it, as text.
    fn put_back(self, parts: &mut Vec<Part>) {
        let mut before = "{";
        for word in self.alternatives {
            push_joined(parts, Part::Literal(before.to_owned()));
            word.parts.into_iter().for_each(|part| push_joined(parts, part));
            before = ",";
        }
        push_joined(parts, Part::Literal(before.to_owned()));
        self.parts.into_iter().for_each(|part| push_joined(parts, part));
    }
}

/// Whether `{text}` counts from one to another: `1..9`, `a..f`, `9..1..-2`.
fn is_range(text: &str) -> bool {
    let pieces: Vec<&str> = text.splitn(4, "..").collect();
    let is_number = |text: &str| text.parse::<i64>().is_ok();
    let is_letter = |text: &str| matches!(text.as_bytes(), [byte] if byte.is_ascii_alphabetic());
    match pieces.as_slice() {
        [from, to] => (is_number(from) && is_number(to)) || (is_letter(from) && is_letter(to)),
        [from, to, step] => is_number(step) && is_range(&format!("{from}..{to}")),
        _ => false,
    }
}
