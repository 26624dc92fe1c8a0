//! A text as a model understands it: what cannot be seen is gone, letters are what they look like, all small, with single
//! spaces. `Ig\u{200b}nоre` is `ignore` here, whichever alphabet its letters come from.

use std::ops::Range;

use super::unseen::is_unseen;

/// The plain text, and where each of its bytes comes from.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) text: String,
    origins: Vec<u32>,
    end: usize,
}

impl Plain {
    pub(super) fn of(text: &str) -> Plain {
        let mut plain =
            Plain { text: String::with_capacity(text.len()), origins: Vec::new(), end: text.len() };
        for (at, c) in text.char_indices() {
            if c.is_whitespace() {
                if !plain.text.ends_with(' ') {
                    plain.push(' ', at);
                }
            } else if !is_unseen(c) {
                folded(c, |c| plain.push(c, at));
            }
        }
        plain
    }

    fn push(&mut self, c: char, from: usize) {
        self.text.push(c);
        self.origins.resize(self.text.len(), u32::try_from(from).unwrap_or(u32::MAX));
    }

    /// Where a part of the plain text is in the original.
    pub(super) fn origin(&self, part: Range<usize>) -> Range<usize> {
        let at = |index: usize| self.origins.get(index).map_or(self.end, |origin| *origin as usize);
        at(part.start)..at(part.end)
    }
}

/// A character as it looks, in small Latin letters where it looks like one.
fn folded(c: char, mut push: impl FnMut(char)) {
    match latin(c) {
        Some(latin) => push(latin),
        None => c.to_lowercase().for_each(push),
    }
}

/// The small Latin letter or digit that a letter of another alphabet (or a dressed-up one) looks like.
pub(super) fn latin(c: char) -> Option<char> {
    let letter = match c {
        'ａ'..='ｚ' => offset(c, 'ａ', 'a'),
        'Ａ'..='Ｚ' => offset(c, 'Ａ', 'a'),
        '０'..='９' => offset(c, '０', '0'),
        // Thirteen dressed-up alphabets, capitals and small letters in turn.
        '\u{1d400}'..='\u{1d6a3}' => char::from(b'a' + ((c as u32 - 0x1d400) % 26) as u8),
        '\u{1d7ce}'..='\u{1d7ff}' => char::from(b'0' + ((c as u32 - 0x1d7ce) % 10) as u8),
        'ⓐ'..='ⓩ' => offset(c, 'ⓐ', 'a'),
        'Ⓐ'..='Ⓩ' => offset(c, 'Ⓐ', 'a'),
        _ => look_alike(c)?,
    };
    Some(letter)
}

fn offset(c: char, from: char, to: char) -> char {
    char::from_u32(c as u32 - from as u32 + to as u32).unwrap_or(c)
}

/// Cyrillic, Greek and a few others, as far as they cannot be told from Latin on a screen.
pub(super) fn look_alike(c: char) -> Option<char> {
    Some(match c {
        'а' | 'А' | 'Α' => 'a',
        'В' | 'Β' | 'Ь' => 'b',
        'с' | 'С' | 'ϲ' | 'Ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'Ε' => 'e',
        'ɡ' => 'g',
        'һ' | 'Н' | 'Η' => 'h',
        'і' | 'І' | 'Ι' | 'ı' | 'ɩ' => 'i',
        'ј' | 'Ј' => 'j',
        'К' | 'Κ' => 'k',
        'ӏ' | 'Ӏ' => 'l',
        'М' | 'Μ' => 'm',
        'Ν' | 'ո' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' => 'o',
        'р' | 'Р' | 'Ρ' => 'p',
        'ԛ' => 'q',
        'ѕ' | 'Ѕ' => 's',
        'Т' | 'Τ' => 't',
        'ս' => 'u',
        'ѵ' | 'ν' => 'v',
        'ԝ' => 'w',
        'х' | 'Х' | 'Χ' => 'x',
        'у' | 'У' | 'Υ' => 'y',
        'Ζ' => 'z',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_what_they_look_like() {
        for (text, expected) in [
            ("Ignore  ALL\n\tof it", "ignore all of it"),
            ("Ig\u{200b}n\u{ad}ore", "ignore"),
            ("іgnоrе", "ignore"),
            ("ＩＧＮ𝐨𝓻𝖾", "ignore"),
            ("Größe", "größe"),
        ] {
            assert_eq!(Plain::of(text).text, expected);
        }
    }

    #[test]
    fn a_part_is_found_again() {
        let text = "x  \u{200b}ÄB\n c";
        let plain = Plain::of(text);
        assert_eq!(plain.text, "x äb c");
        let at = plain.text.find("äb").unwrap();
        assert_eq!(&text[plain.origin(at..at + 3)], "ÄB");
        assert_eq!(&text[plain.origin(0..plain.text.len())], text);
    }
}
