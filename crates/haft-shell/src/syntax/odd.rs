//! Characters that are not what they look like.
//!
//! Bash takes a no-break space, a line separator or a mark of writing direction for part of a word, like any letter. People take
//! them for blanks, or do not see them at all.

/// The characters of a text that cannot be seen, or that change how the others are seen, with their places.
pub fn odd_characters(text: &str) -> Vec<(usize, char)> {
    if text.bytes().all(|byte| byte == b'\n' || byte == b'\t' || (b' '..0x7f).contains(&byte)) {
        return Vec::new();
    }
    text.char_indices().filter(|(_, letter)| is_odd(*letter)).collect()
}

pub(super) fn is_odd(letter: char) -> bool {
    match letter {
        ' '..='~' | '\n' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' => true,
        '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => letter.is_control() || letter.is_whitespace(),
    }
}
