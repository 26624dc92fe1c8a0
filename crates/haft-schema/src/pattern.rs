//! The shortest text that a simple pattern matches, for examples.
//!
//! Understood are literals, escapes, classes, groups, alternatives and repetitions. For the rest (look-around, back
//! references, Unicode classes) there is no answer; a wrong one does no harm, as examples are validated.

/// A pattern may ask for any length; an example of this length helps nobody.
const MAX_CHARS: usize = 500;

/// Groups in groups.
const MAX_DEPTH: usize = 16;

/// A text that the pattern matches, as short as possible; an open end is repeated until `least` characters are there.
pub(crate) fn shortest_match(pattern: &str, least: usize) -> Option<String> {
    let mut reader = Reader { rest: pattern.chars().collect(), at: 0, depth: 0, repeatable: None };
    let mut text = reader.alternatives()?;
    if reader.at < reader.rest.len() {
        return None;
    }
    // Only a repetition at the very end can be prolonged by appending.
    while let (true, Some(more)) = (text.chars().count() < least.min(MAX_CHARS), reader.repeatable) {
        text.push(more);
    }
    (text.chars().count() <= MAX_CHARS).then_some(text)
}

struct Reader {
    rest: Vec<char>,
    at: usize,
    depth: usize,
    /// The character that the last piece read may repeat without end.
    repeatable: Option<char>,
}

impl Reader {
    /// `a|b`: the first is as good as any other.
    fn alternatives(&mut self) -> Option<String> {
        let first = self.sequence()?;
        while self.take('|') {
            let repeatable = self.repeatable;
            self.sequence()?;
            self.repeatable = repeatable;
        }
        Some(first)
    }

    fn sequence(&mut self) -> Option<String> {
        let mut text = String::new();
        while let Some(next) = self.peek() {
            match next {
                '|' | ')' => break,
                '^' | '$' => self.at += 1,
                _ => {
                    let piece = self.piece()?;
                    let (least, endless) = self.repetition()?;
                    self.repeatable = if endless { piece.chars().last() } else { None };
                    text.push_str(&piece.repeat(least));
                }
            }
            if text.len() > MAX_CHARS * 4 {
                return None;
            }
        }
        Some(text)
    }

    fn piece(&mut self) -> Option<String> {
        match self.next()? {
            '(' => self.group(),
            '[' => self.class().map(String::from),
            '\\' => self.escape().map(String::from),
            '.' => Some("a".to_owned()),
            '*' | '+' | '?' | '{' => None,
            literal => Some(literal.to_string()),
        }
    }

    fn group(&mut self) -> Option<String> {
        if self.take('?') && !self.take(':') {
            return None; // look-around, or a name
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let text = self.alternatives()?;
        self.depth -= 1;
        self.take(')').then_some(text)
    }

    /// The first character of a class; of a negated one, the first of a few that is not in it.
    fn class(&mut self) -> Option<char> {
        let negated = self.take('^');
        let mut ranges: Vec<(char, char)> = Vec::new();
        while !self.take(']') {
            let first = self.class_char()?;
            let is_range = self.peek() == Some('-') && self.rest.get(self.at + 1) != Some(&']');
            let last = if is_range {
                self.at += 1;
                self.class_char()?
            } else {
                first
            };
            ranges.push((first, last));
        }
        if !negated {
            return ranges.first().map(|(first, _)| *first);
        }
        "a0A_-. ".chars().find(|c| !ranges.iter().any(|(first, last)| (first..=last).contains(&c)))
    }

    fn class_char(&mut self) -> Option<char> {
        match self.next()? {
            '\\' => self.escape(),
            literal => Some(literal),
        }
    }

    /// One character that the escape stands for.
    fn escape(&mut self) -> Option<char> {
        match self.next()? {
            'd' => Some('0'),
            'w' | 'S' | 'D' => Some('a'),
            's' | 'W' => Some(' '),
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            other if other.is_alphanumeric() => None,
            literal => Some(literal),
        }
    }

    /// How often the piece before must stand at least, and whether it may without end.
    fn repetition(&mut self) -> Option<(usize, bool)> {
        let repetition = match self.peek() {
            Some('*') => (0, true),
            Some('+') => (1, true),
            Some('?') => (0, false),
            Some('{') => return self.counted(),
            _ => return Some((1, false)),
        };
        self.at += 1;
        self.take('?'); // lazy
        Some(repetition)
    }

    /// `{2}`, `{2,}`, `{2,5}`
    fn counted(&mut self) -> Option<(usize, bool)> {
        let close = self.rest[self.at..].iter().position(|c| *c == '}')?;
        let inside: String = self.rest[self.at + 1..self.at + close].iter().collect();
        self.at += close + 1;
        self.take('?');
        let (least, most) = inside.split_once(',').unwrap_or((&inside, &inside));
        let least: usize = least.parse().ok()?;
        (least <= MAX_CHARS).then_some((least, most.is_empty()))
    }

    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, expected: &str) {
        assert_eq!(shortest_match(pattern, 0).as_deref(), Some(expected));
    }

    #[test]
    fn simple_patterns_have_a_shortest_match() {
        check("^[a-z]+$", "a");
        check(r"^\d{4}-\d{2}$", "0000-00");
        check("^(get|post) /", "get /");
        check("^v[0-9]+(\\.[0-9]+){0,2}$", "v0");
        check("^[^a/]+$", "0");
        check(r"^#(?:[0-9a-f]{3}){1,2}$", "#000");
        check("", "");
    }

    #[test]
    fn an_open_end_is_prolonged() {
        assert_eq!(shortest_match("^x[a-z]*$", 4).as_deref(), Some("xaaa"));
        assert_eq!(shortest_match("^[a-z]{2,}$", 4).as_deref(), Some("aaaa"));
        assert_eq!(shortest_match("^ab$", 4).as_deref(), Some("ab"));
    }

    #[test]
    fn what_is_not_understood_has_none() {
        for pattern in ["(?=a)", r"(a)\1", r"\p{L}", "(", "[", "a{99999999}", "(a{400}){400}", ")", "\\", "*"]
        {
            assert_eq!(shortest_match(pattern, 0), None, "{pattern}");
        }
        assert_eq!(shortest_match(&"(".repeat(100_000), 0), None);
    }
}
