//! A word while it is being made: pieces that touch are joined, braces wait until the word is whole.

use super::{odd::is_odd, tree::*};

#[derive(Default)]
pub(super) struct Pieces {
    list: Vec<Piece>,
    /// How many braces are open.
    open: usize,
    prefix: Prefix,
}

pub(super) enum Piece {
    Part(Part),
    /// An unquoted `{`, `}` or `,`, and where it stands.
    Mark(u8, usize),
}

/// How far the word looks like `name=…`.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    #[default]
    Nothing,
    Name,
    Plus,
    /// Nothing stands behind the `=`.
    Equals,
    Value,
    No,
}

impl Prefix {
    fn after(self, byte: u8) -> Prefix {
        match (self, byte) {
            (Prefix::Nothing, b'a'..=b'z' | b'A'..=b'Z' | b'_') => Prefix::Name,
            (Prefix::Name, b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'0'..=b'9') => Prefix::Name,
            (Prefix::Name, b'+') => Prefix::Plus,
            (Prefix::Name | Prefix::Plus, b'=') => Prefix::Equals,
            (Prefix::Equals | Prefix::Value, _) => Prefix::Value,
            _ => Prefix::No,
        }
    }
}

impl Pieces {
    /// Unquoted text. What cannot be seen in it is kept apart, as if it were quoted.
    pub(super) fn text(&mut self, text: &str) {
        if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return self.literal(text);
        }
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let odd = is_odd(first);
            let length = rest.find(|next| is_odd(next) != odd).unwrap_or(rest.len());
            let (run, after) = rest.split_at(length);
            match odd {
                true => self.quoted(run),
                false => self.literal(run),
            }
            rest = after;
        }
    }

    pub(super) fn literal(&mut self, text: &str) {
        self.prefix = text.bytes().fold(self.prefix, Prefix::after);
        match self.list.last_mut() {
            Some(Piece::Part(Part::Literal(last))) => last.push_str(text),
            _ => self.list.push(Piece::Part(Part::Literal(text.to_owned()))),
        }
    }

    pub(super) fn quoted(&mut self, text: &str) {
        self.part(Part::Quoted(text.to_owned()));
    }

    pub(super) fn part(&mut self, part: Part) {
        self.prefix = self.prefix.after(b'\0');
        match self.list.last_mut() {
            Some(Piece::Part(last)) => {
                if let Some(part) = join(last, part) {
                    self.list.push(Piece::Part(part));
                }
            }
            _ => self.list.push(Piece::Part(part)),
        }
    }

    pub(super) fn mark(&mut self, byte: u8, at: usize) {
        if self.open == 0 && byte == b',' {
            return self.literal(",");
        }
        match byte {
            b'{' => self.open += 1,
            b'}' => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.prefix = self.prefix.after(b'\0');
        self.list.push(Piece::Mark(byte, at));
    }

    /// `[…]` where an index stands in a word.
    pub(super) fn odd_index(&mut self, index: Word) {
        self.part(Part::Odd("an index", "[".to_owned()));
        index.parts.into_iter().for_each(|part| self.part(part));
        self.part(Part::Odd("an index", "]".to_owned()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn is_in_brace(&self) -> bool {
        self.open > 0
    }

    /// Whether the word has the form of an assignment so far.
    pub(super) fn is_assignment(&self) -> bool {
        matches!(self.prefix, Prefix::Equals | Prefix::Value)
    }

    pub(super) fn ends_with_equals(&self) -> bool {
        self.prefix == Prefix::Equals
    }

    /// Whether `~` would stand at the beginning of a value, or of one in a list of values.
    pub(super) fn ends_value(&self) -> bool {
        let after_colon =
            matches!(self.list.last(), Some(Piece::Part(Part::Literal(text))) if text.ends_with(':'));
        after_colon || self.ends_with_equals()
    }

    pub(super) fn ends_with_mark(&self) -> bool {
        matches!(self.list.last(), Some(Piece::Mark(..)))
    }

    /// The parts, if no brace is in them; otherwise the pieces, to be paired.
    pub(super) fn into_parts(self) -> Result<Vec<Part>, Vec<Piece>> {
        if self.list.iter().any(|piece| matches!(piece, Piece::Mark(..))) {
            return Err(self.list);
        }
        let part = |piece| match piece {
            Piece::Part(part) => Some(part),
            Piece::Mark(..) => None,
        };
        // Most words are one part, and there are many words: none keeps more room than it needs.
        let mut parts = Vec::with_capacity(self.list.len());
        parts.extend(self.list.into_iter().filter_map(part));
        Ok(parts)
    }
}

/// Adds a part to a list, joined with the last one where they touch.
pub(super) fn push_joined(parts: &mut Vec<Part>, part: Part) {
    let left = match parts.last_mut() {
        Some(last) => join(last, part),
        None => Some(part),
    };
    parts.extend(left);
}

/// Joins text with text, and quoted with quoted. Gives the part back if it stays one of its own.
fn join(last: &mut Part, part: Part) -> Option<Part> {
    match (&mut *last, part) {
        (Part::Literal(text), Part::Literal(more)) | (Part::Quoted(text), Part::Quoted(more)) => {
            text.push_str(&more)
        }
        (Part::Quoted(text), Part::Double(parts)) => {
            let mut joined = vec![Part::Quoted(std::mem::take(text))];
            parts.into_iter().for_each(|part| push_joined(&mut joined, part));
            *last = Part::Double(joined);
        }
        (Part::Double(parts), Part::Double(more)) => {
            more.into_iter().for_each(|part| push_joined(parts, part))
        }
        (Part::Double(parts), text @ Part::Quoted(_)) => push_joined(parts, text),
        (_, part) => return Some(part),
    }
    None
}
