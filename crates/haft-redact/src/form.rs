//! What follows the beginning of a token, in a notation of its own: `W{8,}\.eyJW{8,}`.
//!
//! A form is a row of pieces, each a set of characters and how many of them there may be. Pieces take all they can and
//! give nothing back, so that a text is read once; where the next piece would need what the last one took, the table of
//! kinds has two rows. Compared with regular expressions that is little, but it is enough for tokens, is made in no time,
//! and can be *remembered*: of a run of characters in which token after token could begin, the end is looked for once.

/// A set of ASCII characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Class(u128);

impl Class {
    const WORD: &'static [u8] = b"A-Za-z0-9_-";
    const ALPHANUMERIC: &'static [u8] = b"A-Za-z0-9";

    pub(crate) fn has(self, byte: u8) -> bool {
        byte < 128 && self.0 >> byte & 1 == 1
    }

    /// From what stands between brackets. A hyphen at the end is one.
    fn between_brackets(inside: &[u8]) -> Class {
        let mut class = Class(0);
        let mut rest = inside;
        while let [first, tail @ ..] = rest {
            let (last, tail) = match tail {
                [b'-', last, tail @ ..] => (*last, tail),
                _ => (*first, tail),
            };
            (*first..=last).for_each(|byte| class.0 |= 1 << (byte & 127));
            rest = tail;
        }
        class
    }
}

/// So many characters of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    class: Class,
    least: usize,
    /// `None`: as many as there are.
    most: Option<usize>,
}

/// What follows a beginning.
pub(crate) struct Form {
    pieces: Vec<Piece>,
    /// Where its pieces are remembered in [`Runs`].
    place: usize,
}

impl Form {
    /// Reads a form of the table. The first piece is remembered at `place`.
    pub(crate) fn read(written: &str, place: usize) -> Form {
        let (mut pieces, mut rest) = (Vec::new(), written.as_bytes());
        while !rest.is_empty() {
            let (class, tail) = read_class(rest);
            let (least, most, tail) = read_count(tail);
            pieces.push(Piece { class, least, most });
            rest = tail;
        }
        Form { pieces, place }
    }

    /// How many places it needs in [`Runs`].
    pub(crate) fn places(&self) -> usize {
        self.pieces.len()
    }

    /// What the first character behind the beginning may be.
    pub(crate) fn first(&self) -> Option<Class> {
        self.pieces.first().map(|piece| piece.class)
    }

    /// Where what begins here ends.
    pub(crate) fn end(&self, text: &[u8], start: usize, runs: &mut Runs) -> Option<usize> {
        let mut at = start;
        for (index, piece) in self.pieces.iter().enumerate() {
            let length = match piece.most {
                Some(most) => text[at..].iter().take(most).take_while(|byte| piece.class.has(**byte)).count(),
                None => runs.end(self.place + index, piece.class, text, at) - at,
            };
            if length < piece.least {
                return None;
            }
            at += length;
        }
        Some(at)
    }
}

fn read_class(written: &[u8]) -> (Class, &[u8]) {
    let named = |name: &[u8]| Class::between_brackets(name);
    match written {
        [b'W', b'{', ..] => (named(Class::WORD), &written[1..]),
        [b'A', b'{', ..] => (named(Class::ALPHANUMERIC), &written[1..]),
        [b'\\', one, rest @ ..] | [one, rest @ ..] if *one != b'[' => (Class(1 << (one & 127)), rest),
        _ => {
            let end = memchr::memchr(b']', written).unwrap_or(written.len());
            (named(&written[1.min(end)..end]), written.get(end + 1..).unwrap_or_default())
        }
    }
}

/// `{3}`, `{3,}`, `{3,5}`, or nothing: once.
fn read_count(written: &[u8]) -> (usize, Option<usize>, &[u8]) {
    let Some(end) = memchr::memchr(b'}', written).filter(|_| written.first() == Some(&b'{')) else {
        return (1, Some(1), written);
    };
    let inside = std::str::from_utf8(&written[1..end]).unwrap_or_default();
    let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
    (least.parse().unwrap_or(0), most.parse().ok(), &written[end + 1..])
}

/// Runs of characters whose ends are known. Places in a text come in order, so the last run of each piece is enough.
#[derive(Default)]
pub(crate) struct Runs(Vec<(usize, usize)>);

impl Runs {
    fn end(&mut self, place: usize, class: Class, text: &[u8], at: usize) -> usize {
        if self.0.len() <= place {
            self.0.resize(place + 1, (0, 0));
        }
        let (start, end) = self.0[place];
        if at < start || at >= end {
            let length = text[at..].iter().take_while(|byte| class.has(**byte)).count();
            self.0[place] = (at, at + length);
        }
        self.0[place].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(form: &str, text: &str, end: Option<usize>) {
        assert_eq!(
            Form::read(form, 0).end(text.as_bytes(), 0, &mut Runs::default()),
            end,
            "{form} in {text}"
        );
    }

    #[test]
    fn a_form_says_where_a_token_ends() {
        check("A{3}", "ab1-", Some(3));
        check("A{3}", "ab-", None);
        check("W{2,}", "ab-_. x", Some(4));
        check("[a-f0-9]{2,4}-[x-]{1}", "ab12--", Some(6));
        check("[0-9]\\.AgE={0,2}", "1.AgE===", Some(7));
        check("W{2,}\\.eyJ", "ab.eyJ", Some(6));
        check("W{2,}", "é", None);
    }

    #[test]
    fn the_end_of_a_run_is_the_same_whether_or_not_it_is_remembered() {
        let (form, mut runs) = (Form::read("W{2,}\\.W{2,}", 0), Runs::default());
        let text = b"abcdef.ghij klm.nop";
        for at in 0..text.len() {
            assert_eq!(form.end(text, at, &mut runs), form.end(text, at, &mut Runs::default()), "{at}");
        }
    }
}
