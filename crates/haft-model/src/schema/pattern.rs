//! Which regular expressions every API can read.
//!
//! APIs check the patterns of a schema with the engine of their own language and refuse the request if one does not
//! compile. So only what all engines agree upon goes out as a pattern; the rest is told in words.

use std::{iter::Peekable, str::Chars};

/// Whether all engines read the pattern, and read it alike.
pub(super) fn is_portable(pattern: &str) -> bool {
    Reader { rest: pattern.chars().peekable(), open: 0 }.pattern().is_some()
}

/// Reads a pattern from left to right; `None` where engines part ways.
struct Reader<'p> {
    rest: Peekable<Chars<'p>>,
    /// Groups that are not closed yet.
    open: usize,
}

impl Reader<'_> {
    fn pattern(&mut self) -> Option<()> {
        // Whether there is something before that can be repeated.
        let mut repeats = false;
        while let Some(next) = self.rest.next() {
            repeats = match next {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                ')' => {
                    self.open = self.open.checked_sub(1)?;
                    true
                }
                '|' | '^' | '$' => false,
                '*' | '+' | '?' | '{' => {
                    repeats.then_some(())?;
                    self.repetition(next)?;
                    false
                }
                '}' | ']' => return None,
                _ => true,
            };
        }
        (self.open == 0).then_some(())
    }

    /// Whether what is escaped can be repeated.
    fn escape(&mut self) -> Option<bool> {
        match self.rest.next()? {
            'b' | 'B' => Some(false),
            'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'n' | 'r' | 't' | 'f' | 'v' => Some(true),
            other => other.is_ascii_punctuation().then_some(true),
        }
    }

    fn group(&mut self) -> Option<bool> {
        self.open += 1;
        if self.rest.next_if_eq(&'?').is_some() {
            matches!(self.rest.next()?, ':' | '=' | '!').then_some(())?;
        }
        Some(false)
    }

    fn repetition(&mut self, kind: char) -> Option<()> {
        if kind == '{' {
            let least = self.number()?;
            if self.rest.next_if_eq(&',').is_some() && self.rest.peek() != Some(&'}') {
                (self.number()? >= least).then_some(())?;
            }
            self.rest.next_if_eq(&'}')?;
        }
        self.rest.next_if_eq(&'?');
        Some(())
    }

    fn number(&mut self) -> Option<u16> {
        let mut digits = String::new();
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        digits.parse().ok()
    }

    fn class(&mut self) -> Option<bool> {
        self.rest.next_if_eq(&'^');
        // An empty class to some, a class with a bracket to others.
        (self.rest.peek() != Some(&']')).then_some(())?;
        loop {
            let first = match self.rest.next()? {
                ']' => return Some(true),
                first => self.member(first)?,
            };
            if self.rest.next_if_eq(&'-').is_none() {
                continue;
            }
            if self.rest.next_if_eq(&']').is_some() {
                return Some(true);
            }
            let last = self.rest.next()?;
            (first? <= self.member(last)??).then_some(())?;
        }
    }

    /// One member of a class: the character, or nothing for a whole set like `\w`.
    fn member(&mut self, next: char) -> Option<Option<char>> {
        match next {
            '[' | '&' | '~' | '|' => None,
            '\\' => match self.rest.next()? {
                'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'n' | 'r' | 't' | 'f' | 'v' => Some(None),
                other => other.is_ascii_punctuation().then_some(Some(other)),
            },
            other => Some(Some(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_engines_read_is_portable() {
        for pattern in [
            "",
            "^[a-z]+$",
            r"^\d{4}-\d{2}-\d{2}$",
            r"^(?!\.)(?:[\w.+-]+)@[A-Za-z0-9-]{1,}\.[a-z]{2,63}?$",
            "a|b|(c|d)*",
            "^[^/]*$",
            "é+",
        ] {
            assert!(is_portable(pattern), "{pattern}");
        }
    }

    #[test]
    fn what_some_engine_refuses_or_reads_otherwise_is_not() {
        for pattern in [
            r"\p{L}+",
            "(?<year>a)",
            "(?<=a)b",
            "(?i)a",
            "(a",
            "a)",
            "[a",
            "*a",
            "a**",
            "a++",
            "a{2,1}",
            "a{x}",
            "[z-a]",
            r"[\w-.]",
            "[]a]",
            r"\u{1F600}",
            r"\1",
            "[[:alpha:]]",
            "a{99999999}",
            "\\",
            "^*",
            "[a&&b]",
        ] {
            assert!(!is_portable(pattern), "{pattern}");
        }
    }
}
