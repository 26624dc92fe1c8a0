//! The head and the tail of a text that is too large.
//!
//! Cuts fall between lines where a line end is near, and between characters always. The parts are borrowed: looking at
//! a text of 200 MB copies nothing of it.

/// A text without its middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preview<'a> {
    /// The beginning.
    pub head: &'a str,
    /// The end; empty if the head is all there is room for.
    pub tail: &'a str,
    /// How many bytes are between them.
    pub hidden_bytes: usize,
    /// How many line ends are between them.
    pub hidden_lines: usize,
}

/// Shows at most `room` bytes of a text: two thirds from its beginning, the rest from its end.
pub fn preview(text: &str, room: usize) -> Preview<'_> {
    if text.len() <= room {
        return Preview { head: text, tail: "", hidden_bytes: 0, hidden_lines: 0 };
    }
    let tail_room = room / 3;
    let head = &text[..head_end(text, room - tail_room)];
    let tail = &text[tail_start(text, tail_room).max(head.len())..];
    let hidden = &text[head.len()..text.len() - tail.len()];
    let hidden_lines = hidden.bytes().filter(|byte| *byte == b'\n').count();
    Preview { head, tail, hidden_bytes: hidden.len(), hidden_lines }
}

/// The last line end within the room, if it does not waste more than half of it; otherwise the last character.
fn head_end(text: &str, room: usize) -> usize {
    let end = text.floor_char_boundary(room);
    match text[..end].rfind('\n') {
        Some(line) if line + 1 > end / 2 => line + 1,
        _ => end,
    }
}

/// The first line start within the room at the end, by the same measure.
fn tail_start(text: &str, room: usize) -> usize {
    let start = text.ceil_char_boundary(text.len() - room);
    match text[start..].find('\n') {
        Some(line) if line + 1 < room / 2 => start + line + 1,
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, room: usize, head: &str, tail: &str) {
        let shown = preview(text, room);
        assert_eq!((shown.head, shown.tail), (head, tail));
    }

    #[test]
    fn a_text_that_fits_is_whole() {
        check("abc", 3, "abc", "");
        check("", 0, "", "");
    }

    #[test]
    fn cuts_fall_between_lines() {
        check("one\ntwo\nthree\nfour\nfive\n", 15, "one\ntwo\n", "five\n");
    }

    #[test]
    fn a_single_long_line_is_cut_between_characters() {
        check("ééééééééé", 9, "ééé", "é");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_room_is_kept(text in "(\\PC|\n){0,200}", room in 0..250usize) {
            let shown = preview(&text, room);
            prop_assert!(shown.head.len() + shown.tail.len() <= room.max(text.len().min(room)));
            prop_assert_eq!(shown.head.len() + shown.tail.len() + shown.hidden_bytes, text.len());
            prop_assert!(text.starts_with(shown.head) && text.ends_with(shown.tail));
            if shown.hidden_bytes == 0 {
                prop_assert_eq!(shown.head, &text);
            }
        }
    }
}
