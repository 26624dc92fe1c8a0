//! The line that is typed: text, cursor, and what keys do to them.
//!
//! It can have many lines. What is pasted comes in whole and never acts like keys. The text is what will be sent; how it looks
//! is asked separately, so a tab stays a tab.

use unicode_segmentation::UnicodeSegmentation;

use super::text::width;

/// More than a person pastes.
const MOST_BYTES: usize = 1 << 20;

/// A text that is being written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Editor {
    text: String,
    /// In bytes, between two characters as a person sees them.
    cursor: usize,
    /// What was deleted last, of more than a character.
    deleted: String,
}

/// The text as rows, and where the cursor stands in them.
#[derive(Debug, PartialEq)]
pub(super) struct Laid {
    pub(super) rows: Vec<String>,
    pub(super) row: usize,
    pub(super) column: usize,
}

impl Editor {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What stands before the cursor, and what behind it.
    pub(super) fn parts(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// Puts a text in the place of what is there.
    pub(super) fn set(&mut self, text: &str) {
        self.take();
        self.insert(text);
    }

    pub(super) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Inserts a text at the cursor. Line ends become ours; other control characters are nothing that a person typed.
    pub(super) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
        let mut room = MOST_BYTES.saturating_sub(self.text.len()).min(text.len());
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        text.truncate(room);
        self.text.insert_str(self.cursor, &text);
        // A mark that was typed after its letter belongs to it: the cursor stands behind both.
        let end = self.cursor + text.len();
        self.cursor = self.boundary_from(end);
    }

    fn boundaries(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.text.grapheme_indices(true).map(|(at, _)| at).chain([self.text.len()])
    }

    /// The first place from here on where the cursor can stand.
    fn boundary_from(&self, place: usize) -> usize {
        self.boundaries().find(|at| *at >= place).unwrap_or(self.text.len())
    }

    fn before(&self) -> usize {
        self.boundaries().rev().find(|at| *at < self.cursor).unwrap_or(0)
    }

    fn after(&self) -> usize {
        self.boundaries().find(|at| *at > self.cursor).unwrap_or(self.text.len())
    }

    pub(super) fn left(&mut self) {
        self.cursor = self.before();
    }

    pub(super) fn right(&mut self) {
        self.cursor = self.after();
    }

    pub(super) fn backspace(&mut self) {
        self.remove(self.before(), self.cursor);
    }

    pub(super) fn delete(&mut self) {
        self.remove(self.cursor, self.after());
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.drain(from..to);
        // What stood apart may have become one character.
        self.cursor = self.boundary_from(from);
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    pub(super) fn home(&mut self) {
        self.cursor = self.line_start();
    }

    pub(super) fn end(&mut self) {
        self.cursor = self.line_end();
    }

    /// To the beginning of the word before.
    pub(super) fn word_left(&mut self) {
        self.cursor = self.word_before();
    }

    /// To the end of the word after.
    pub(super) fn word_right(&mut self) {
        let rest = &self.text[self.cursor..];
        let begin = rest.find(char::is_alphanumeric).unwrap_or(rest.len());
        let len = rest[begin..].find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len() - begin);
        let end = self.cursor + begin + len;
        self.cursor = self.boundary_from(end);
    }

    fn word_before(&self) -> usize {
        let rest = self.text[..self.cursor].trim_end_matches(|c: char| !c.is_alphanumeric());
        let begin = rest.trim_end_matches(char::is_alphanumeric).len();
        self.boundaries().rev().find(|at| *at <= begin).unwrap_or(0)
    }

    pub(super) fn delete_word(&mut self) {
        self.cut(self.word_before(), self.cursor);
    }

    /// The word after the cursor, and what is before it.
    pub(super) fn delete_word_after(&mut self) {
        let from = self.cursor;
        self.word_right();
        self.cut(from, self.cursor);
    }

    /// All before the cursor up to a blank: of a path, not only its last name.
    pub(super) fn delete_to_blank(&mut self) {
        let before = self.text[..self.cursor].trim_end();
        let begin = before
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let from = self.boundaries().rev().find(|at| *at <= begin).unwrap_or(0);
        self.cut(from, self.cursor);
    }

    /// Brings back what was deleted last.
    pub(super) fn yank(&mut self) {
        let deleted = self.deleted.clone();
        self.insert(&deleted);
    }

    fn cut(&mut self, from: usize, to: usize) {
        if from < to {
            self.text[from..to].clone_into(&mut self.deleted);
            self.remove(from, to);
        }
    }

    pub(super) fn delete_to_start(&mut self) {
        self.cut(self.line_start(), self.cursor);
    }

    pub(super) fn delete_to_end(&mut self) {
        let end = self.line_end();
        // At the end of a line, the line end itself.
        self.cut(self.cursor, if end == self.cursor { self.after() } else { end });
    }

    /// One row up, in rows of so many columns; `false` if this is the first.
    pub(super) fn up(&mut self, columns: usize) -> bool {
        let laid = self.laid(columns);
        laid.row > 0 && self.go(columns, laid.row - 1, laid.column)
    }

    /// One row down; `false` if this is the last.
    pub(super) fn down(&mut self, columns: usize) -> bool {
        let laid = self.laid(columns);
        laid.row + 1 < laid.rows.len() && self.go(columns, laid.row + 1, laid.column)
    }

    fn go(&mut self, columns: usize, row: usize, column: usize) -> bool {
        let mut found = self.cursor;
        walk(&self.text, columns, |at, here, there, _| {
            if here == row && there <= column {
                found = at;
            }
        });
        self.cursor = found;
        true
    }

    /// How it looks in so many columns.
    pub(super) fn laid(&self, columns: usize) -> Laid {
        let mut laid = Laid { rows: vec![String::new()], row: 0, column: 0 };
        walk(&self.text, columns, |at, row, column, symbol| {
            if laid.rows.len() <= row {
                laid.rows.resize(row + 1, String::new());
            }
            laid.rows[row].push_str(symbol);
            if at == self.cursor {
                (laid.row, laid.column) = (row, column);
            }
        });
        laid
    }
}

/// Tells of each character where it stands, and last of the end.
fn walk<'a>(text: &'a str, columns: usize, mut tell: impl FnMut(usize, usize, usize, &'a str)) {
    let (columns, mut row, mut column) = (columns.max(2), 0, 0);
    for (at, symbol) in text.grapheme_indices(true) {
        if symbol == "\n" {
            tell(at, row, column, "");
            (row, column) = (row + 1, 0);
            continue;
        }
        let shown = if symbol == "\t" { "    " } else { symbol };
        let size = width(shown);
        if column + size > columns {
            (row, column) = (row + 1, 0);
        }
        tell(at, row, column, shown);
        column += size;
    }
    // The cursor stands behind the last character, which may be the edge.
    if column >= columns {
        (row, column) = (row + 1, 0);
    }
    tell(text.len(), row, column, "");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An editor from a text in which `|` is the cursor.
    fn at(text: &str) -> Editor {
        let (before, after) = text.split_once('|').unwrap();
        let mut editor = Editor::default();
        editor.insert(&format!("{before}{after}"));
        editor.cursor = before.len();
        editor
    }

    fn shown(editor: &Editor) -> String {
        let mut text = editor.text.clone();
        text.insert(editor.cursor, '|');
        text
    }

    #[track_caller]
    fn check(before: &str, key: fn(&mut Editor), after: &str) {
        let mut editor = at(before);
        key(&mut editor);
        assert_eq!(shown(&editor), after, "{before}");
    }

    #[test]
    fn keys_move_and_remove_what_a_person_sees_as_one() {
        check("ab|c", Editor::backspace, "a|c");
        check("ae\u{301}|c", Editor::backspace, "a|c");
        check("👨‍👩‍👧|", Editor::left, "|👨‍👩‍👧");
        check("|日本", Editor::right, "日|本");
        check("a|bc", Editor::delete, "a|c");
        check("one two|", Editor::delete_word, "one |");
        check("one two  |", Editor::word_left, "one |two  ");
        check("|one two", Editor::word_right, "one| two");
        check("a\nb|c", Editor::home, "a\n|bc");
        check("a|b\nc", Editor::end, "ab|\nc");
        check("ab|c\nd", Editor::delete_to_end, "ab|\nd");
        check("ab|\nd", Editor::delete_to_end, "ab|d");
        check("a\nbc|d", Editor::delete_to_start, "a\n|d");
        check("|", Editor::backspace, "|");
        check("cat src/tui/mod.rs |", Editor::delete_to_blank, "cat |");
        check("src/mod.rs|", Editor::delete_to_blank, "|");
        check("a\u{3000}bc|", Editor::delete_to_blank, "a\u{3000}|");
        check("cat src/mod.rs|", Editor::delete_word, "cat src/mod.|");
        check("cat| src/mod.rs", Editor::delete_word_after, "cat|/mod.rs");
    }

    #[test]
    fn what_was_deleted_comes_back() {
        let mut editor = at("one two| three");
        editor.delete_to_blank();
        editor.end();
        editor.yank();
        assert_eq!(shown(&editor), "one  threetwo|");
        editor.take();
        editor.yank();
        assert_eq!(shown(&editor), "two|");
    }

    #[test]
    fn up_and_down_follow_the_rows_that_are_seen() {
        let mut editor = at("abcd\nx|y");
        assert!(editor.up(10));
        assert_eq!(shown(&editor), "a|bcd\nxy");
        assert!(!editor.up(10));
        let mut editor = at("abcdef|gh");
        assert!(editor.up(4) && !editor.up(4));
        assert_eq!(shown(&editor), "ab|cdefgh");
        assert!(editor.down(4));
        assert_eq!(shown(&editor), "abcdef|gh");
    }

    #[test]
    fn what_is_pasted_is_text_and_nothing_else() {
        let mut editor = at("a|b");
        editor.insert("x\r\ny\u{1b}[2J\tz\u{3}");
        assert_eq!(shown(&editor), "ax\ny[2J\tz|b");
        editor.insert(&"y".repeat(2 * MOST_BYTES));
        assert_eq!(editor.text.len(), MOST_BYTES);
    }

    #[test]
    fn rows_are_as_wide_as_they_are_shown() {
        let editor = at("日本語|");
        assert_eq!(editor.laid(4), Laid { rows: vec!["日本".into(), "語".into()], row: 1, column: 2 });
        assert_eq!(at("abcd|").laid(4), Laid { rows: vec!["abcd".into(), String::new()], row: 1, column: 0 });
    }

    fn any_key() -> impl Strategy<Value = u8> {
        0u8..20
    }

    proptest! {
        #[test]
        fn no_order_of_keys_breaks_it(keys in prop::collection::vec((any_key(), "\\PC{0,3}"), 0..60), columns in 2usize..30) {
            let mut editor = Editor::default();
            for (key, text) in keys {
                match key {
                    0 => editor.left(),
                    1 => editor.right(),
                    2 => editor.backspace(),
                    3 => editor.delete(),
                    4 => editor.home(),
                    5 => editor.end(),
                    6 => editor.word_left(),
                    7 => editor.word_right(),
                    8 => editor.delete_word(),
                    9 => editor.delete_to_start(),
                    10 => editor.delete_to_end(),
                    11 => drop(editor.up(columns)),
                    12 => drop(editor.down(columns)),
                    13 => editor.insert("\n"),
                    14 => editor.delete_to_blank(),
                    15 => editor.delete_word_after(),
                    16 => editor.yank(),
                    _ => editor.insert(&text),
                }
                prop_assert!(editor.boundaries().any(|at| at == editor.cursor));
                let laid = editor.laid(columns);
                prop_assert!(laid.row < laid.rows.len() && laid.column <= columns);
                prop_assert!(laid.rows.iter().all(|row| width(row) <= columns + 1));
            }
        }
    }
}
