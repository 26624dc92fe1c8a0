//! Where an object of JSON ends, told while its text comes in pieces.
//!
//! Only brackets and strings are followed: whether it is right in between is the reader's to say.

/// How far a text is followed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ending {
    depth: usize,
    in_text: bool,
    after_backslash: bool,
    has_members: bool,
    has_begun: bool,
    is_over: bool,
    is_other: bool,
}

impl Ending {
    /// Takes a piece. Says how much of it belongs to the object, if it ends there.
    ///
    /// An empty object does not end: some servers begin with `{}` and send the arguments after it. What is no object
    /// never ends either; the API has to say so.
    pub(crate) fn push(&mut self, piece: &str) -> Option<usize> {
        for (index, byte) in piece.bytes().enumerate() {
            if self.is_over || self.is_other {
                return None;
            }
            self.step(byte);
            if self.is_over {
                return Some(index + 1);
            }
        }
        None
    }

    fn step(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.after_backslash => self.after_backslash = false,
                b'\\' => self.after_backslash = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'{' if !self.has_begun => (self.has_begun, self.depth) = (true, 1),
            _ if !self.has_begun => self.is_other = true,
            b'}' | b']' => self.close(),
            _ => {
                self.has_members = true;
                match byte {
                    b'{' | b'[' => self.depth += 1,
                    b'"' => self.in_text = true,
                    _ => {}
                }
            }
        }
    }

    fn close(&mut self) {
        self.depth -= 1;
        match (self.depth, self.has_members) {
            (0, true) => self.is_over = true,
            (0, false) => self.is_other = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<usize>) {
        assert_eq!(Ending::default().push(text), expected, "{text}");
        let mut ending = Ending::default();
        let mut pieces = text.char_indices().map(|(at, c)| (at, c.len_utf8(), c.to_string()));
        let found = pieces.find_map(|(at, _, piece)| ending.push(&piece).map(|end| at + end));
        assert_eq!(found, expected, "{text} in pieces");
    }

    #[test]
    fn an_object_ends_with_its_last_bracket() {
        check(r#"{"a":1}"#, Some(7));
        check(r#" {"a":{"b":[{}]}} tail"#, Some(17));
        check(r#"{"a":"}\"}\\"}"#, Some(14));
        check(r#"{"é":"ü}"}}"#, Some(12));
    }

    #[test]
    fn what_may_go_on_has_no_end() {
        for text in [
            "",
            "{",
            r#"{"a":1"#,
            r#"{"a":"}"#,
            r#"{"a":"\"}"#,
            "{}",
            " { } ",
            r#"{}{"a":1}"#,
            "[1]",
            "12",
            "null",
            "}",
        ] {
            check(text, None);
        }
    }
}
