//! Frames for a terminal that keeps its own memory: rows that are over are written once and scroll away like any output; only
//! the rows below them are drawn anew, and of these only those that changed.
//!
//! The height of that part changes all the time, and nothing is asked of the terminal: an answer would come among the keys,
//! late, or over a slow line never. So this knows where it left the cursor, and goes from there. Pure: rows in, bytes out.

use std::fmt::Write;

use super::{layout::Live, text::Row};

/// What is on the terminal, as far as we drew it.
#[derive(Debug, Default)]
pub(super) struct Inline {
    shown: Vec<Row>,
    /// The row and the column of the cursor, from the first of the rows that are shown.
    cursor: (usize, usize),
    /// How wide it was.
    columns: usize,
    has_colours: bool,
}

/// A terminal shows all that is between these at once, if it knows them.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Everything from the cursor on. Never sent where the cursor may be in the first cell of the screen: tmux takes that for
/// clearing the screen, and keeps in its memory what was there.
const ERASE_BELOW: &str = "\x1b[J";
/// This row and all below it, with the cursor where it was.
const ERASE_FROM_HERE: &str = "\x1b7\x1b[2K\x1b[B\x1b[J\x1b8";
const ERASE_REST: &str = "\x1b[K";
/// What is too long for its row is cut, or goes on in the next.
const CUT: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

impl Inline {
    pub(super) fn new(columns: usize, has_colours: bool) -> Inline {
        Inline { columns, has_colours, ..Inline::default() }
    }

    /// What brings the terminal to this: rows that are over, above those that are not. Empty if it is there already.
    pub(super) fn frame(&mut self, over: &[Row], live: Live) -> String {
        let Live { rows, cursor } = live;
        let place = cursor.unwrap_or((rows.len().saturating_sub(1), 0));
        if over.is_empty() && rows == self.shown && place == self.cursor {
            return String::new();
        }
        let mut frame = BEGIN.to_owned();
        self.go_to_top(&mut frame);
        if over.is_empty() {
            self.redraw(&mut frame, &rows, place.0);
        } else {
            for row in over {
                self.write_row(&mut frame, row);
                frame.push_str(ERASE_REST);
                frame.push_str("\r\n");
            }
            self.draw(&mut frame, &rows, place.0);
            frame.push_str(ERASE_BELOW);
        }
        frame.push_str(WRAP);
        go(&mut frame, rows.len().saturating_sub(1), place);
        if cursor.is_some() {
            frame.push_str(SHOW_CURSOR);
        }
        frame.push_str(END);
        (self.shown, self.cursor) = (rows, place);
        frame
    }

    /// The terminal has another size now. Most wrap what is too long for it, so the rows that we drew take more of them.
    pub(super) fn resized(&mut self, columns: usize) -> String {
        let columns = columns.max(1);
        let taken = |row: &Row| row.width().div_ceil(columns).max(1);
        let above: usize = self.shown.iter().take(self.cursor.0).map(taken).sum();
        let up = above + self.cursor.1 / columns;
        (self.columns, self.cursor) = (columns, (0, 0));
        self.shown.clear();
        let mut frame = String::from("\r");
        move_up(&mut frame, up);
        frame.push_str(ERASE_FROM_HERE);
        frame
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Takes away what is drawn, so that somebody else can write there.
    pub(super) fn clear(&mut self) -> String {
        let mut frame = String::new();
        self.go_to_top(&mut frame);
        frame.push_str(ERASE_FROM_HERE);
        frame.push_str(SHOW_CURSOR);
        self.shown.clear();
        self.cursor = (0, 0);
        frame
    }

    fn go_to_top(&self, frame: &mut String) {
        frame.push('\r');
        move_up(frame, self.cursor.0);
    }

    fn draw(&self, frame: &mut String, rows: &[Row], cursor: usize) {
        for (index, row) in rows.iter().enumerate() {
            begin_row(frame, index, cursor);
            self.write_row(frame, row);
            frame.push_str(ERASE_REST);
        }
    }

    /// From the first row on, only what differs.
    fn redraw(&self, frame: &mut String, rows: &[Row], cursor: usize) {
        let is_shorter = rows.len() < self.shown.len();
        for (index, row) in rows.iter().enumerate() {
            begin_row(frame, index, cursor);
            let is_last_of_fewer = is_shorter && index + 1 == rows.len();
            if is_last_of_fewer || self.shown.get(index) != Some(row) {
                self.write_row(frame, row);
                frame.push_str(if is_last_of_fewer { ERASE_BELOW } else { ERASE_REST });
            }
        }
        if rows.is_empty() {
            frame.push_str(ERASE_FROM_HERE);
        }
    }

    fn write_row(&self, frame: &mut String, row: &Row) {
        for span in &row.spans {
            let mut style = anstyle::Style::from(row.style.patch(span.style));
            if !self.has_colours {
                style = anstyle::Style::new().effects(style.get_effects());
            }
            // Texts are cleaned when they become rows. This is the last place where one could reach the terminal.
            let text = span.content.replace(char::is_control, "\u{fffd}");
            let _ = write!(frame, "{style}{text}{style:#}");
        }
    }
}

/// Goes to the beginning of a row that is drawn. A terminal may be narrower already than it has said: rows below the cursor
/// that wrapped would leave it lower than we think, and the next frame would begin too low.
fn begin_row(frame: &mut String, index: usize, cursor: usize) {
    if index > 0 {
        frame.push_str("\r\n");
    }
    if index == cursor + 1 {
        frame.push_str(CUT);
    }
}

/// From the beginning of anything in the last row to a place.
fn go(frame: &mut String, last: usize, place: (usize, usize)) {
    frame.push('\r');
    move_up(frame, last.saturating_sub(place.0));
    if place.1 > 0 {
        let _ = write!(frame, "\x1b[{}C", place.1);
    }
}

fn move_up(frame: &mut String, rows: usize) {
    if rows > 0 {
        let _ = write!(frame, "\x1b[{rows}A");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{text::row, theme::PLAIN},
        *,
    };

    fn rows(texts: &[&str]) -> Vec<Row> {
        texts.iter().map(|text| row(text, PLAIN)).collect()
    }

    fn live(texts: &[&str]) -> Live {
        Live { rows: rows(texts), cursor: Some((texts.len() - 1, 1)) }
    }

    fn terminal(rows: u16, columns: u16) -> vt100::Parser {
        let size = |figure| std::num::NonZero::new(figure).unwrap();
        vt100::Parser::new(size(rows), size(columns), 100)
    }

    struct Tried {
        inline: Inline,
        terminal: vt100::Parser,
    }

    impl Tried {
        fn new() -> Tried {
            Tried { inline: Inline::new(20, true), terminal: terminal(8, 20) }
        }

        fn frame(&mut self, over: &[&str], texts: &[&str]) -> String {
            let frame = self.inline.frame(&rows(over), live(texts));
            self.terminal.process(frame.as_bytes());
            frame
        }

        fn screen(&self) -> String {
            let contents = self.terminal.screen().contents();
            contents.lines().map(str::trim_end).collect::<Vec<_>>().join("|")
        }
    }

    #[test]
    fn what_is_over_stays_above_what_goes_on() {
        let mut tried = Tried::new();
        tried.frame(&[], &["works", "> "]);
        assert_eq!(tried.screen(), "works|>");
        tried.frame(&["one", "two"], &["works", "more", "> x"]);
        assert_eq!(tried.screen(), "one|two|works|more|> x");
        tried.frame(&[], &["> x"]);
        assert_eq!(tried.screen(), "one|two|> x");
        assert_eq!(tried.terminal.screen().cursor_position(), (2, 1));
    }

    #[test]
    fn only_rows_that_changed_are_sent() {
        let mut tried = Tried::new();
        tried.frame(&[], &["the first row", "second", "> "]);
        let frame = tried.frame(&[], &["the first row", "other", "> "]);
        assert!(frame.contains("other") && !frame.contains("first"), "{frame:?}");
        assert_eq!(tried.frame(&[], &["the first row", "other", "> "]), "");
    }

    #[test]
    fn a_narrower_terminal_is_drawn_anew_and_loses_nothing_above() {
        let mut tried = Tried::new();
        tried.frame(&["done"], &["a row of 18 cells.", "> "]);
        // As terminals do that wrap: the row takes two now.
        let mut terminal = terminal(8, 10);
        terminal.process(b"done\r\na row of 1\r\n8 cells.\r\n> \x1b[D");
        tried.terminal = terminal;
        let frame = tried.inline.resized(10);
        tried.terminal.process(frame.as_bytes());
        tried.frame(&[], &["a row…", "> "]);
        assert_eq!(tried.screen(), "done|a row…|>");
    }

    #[test]
    fn a_lower_terminal_is_drawn_anew_where_rows_went_out_of_reach() {
        let mut tried = Tried::new();
        tried.frame(&[], &["a", "b", "c", "d", "e", "f", "> "]);
        // As terminals do: what does not fit goes up, into their memory.
        let mut terminal = terminal(5, 20);
        terminal.process(b"c\r\nd\r\ne\r\nf\r\n> \x1b[D");
        tried.terminal = terminal;
        let frame = tried.inline.resized(20);
        tried.terminal.process(frame.as_bytes());
        tried.frame(&[], &["a", "b", "> "]);
        assert_eq!(tried.screen(), "a|b|>");
    }

    #[test]
    fn nothing_is_erased_in_a_way_that_tmux_would_keep() {
        let mut tried = Tried::new();
        let full: Vec<&str> = vec!["row"; 7];
        let frames = [
            tried.frame(&[], &full),
            tried.frame(&["one", ""], &full),
            tried.frame(&[""], &["> "]),
            tried.inline.resized(10),
            tried.inline.clear(),
            tried.inline.frame(&[], Live::default()),
        ];
        for frame in frames {
            for before in frame.split(ERASE_BELOW).take(frame.matches(ERASE_BELOW).count()) {
                let is_at_the_top = before.ends_with('\r') || before.ends_with('A');
                assert!(!is_at_the_top, "{frame:?}");
            }
        }
    }

    #[test]
    fn rows_below_the_cursor_cannot_wrap_in_a_terminal_that_is_narrower_than_it_said() {
        let mut inline = Inline::new(20, false);
        let shown = Live { rows: rows(&["above", "> ", "status", "more"]), cursor: Some((1, 2)) };
        let frame = inline.frame(&[], shown);
        let (before, below) = frame.split_once(CUT).expect("rows that are cut");
        assert!(before.contains("above") && before.contains("> "), "{frame:?}");
        let (cut, after) = below.split_once(WRAP).expect("an end of it");
        assert!(cut.contains("status") && cut.contains("more") && !after.contains("status"), "{frame:?}");
    }

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        let evil = Row::from(ratatui::text::Span::raw("a\u{1b}[2Jb\u{9b}c\r\n"));
        let frame = Inline::new(20, false).frame(&[evil], Live::default());
        assert!(frame.contains("a\u{fffd}[2Jb\u{fffd}c\u{fffd}\u{fffd}"), "{frame:?}");
    }

    #[test]
    fn without_colours_there_are_none() {
        let coloured = row("x", super::super::theme::BAD);
        let frame =
            |colours| Inline::new(20, colours).frame(std::slice::from_ref(&coloured), Live::default());
        assert!(frame(true).contains("\x1b[31mx") && !frame(false).contains("\x1b[31m"));
    }

    proptest! {
        /// However frames follow each other, the screen ends with the last of them, under what is over.
        #[test]
        fn any_order_of_frames_ends_as_the_last_one(
            frames in prop::collection::vec((prop::collection::vec("[a-z]{0,12}", 0..3), prop::collection::vec("[a-z]{1,12}", 1..5)), 1..12),
        ) {
            let mut tried = Tried::new();
            let mut all: Vec<String> = Vec::new();
            for (over, live) in &frames {
                let over: Vec<&str> = over.iter().map(String::as_str).collect();
                let live: Vec<&str> = live.iter().map(String::as_str).collect();
                tried.frame(&over, &live);
                all.extend(over.iter().map(|text| (*text).to_owned()));
                let mut expected = all.clone();
                expected.extend(live.iter().map(|text| (*text).to_owned()));
                let mut contents: Vec<String> =
                    tried.terminal.screen().rows(0, 20).map(|row| row.trim_end().to_owned()).collect();
                // Where it became shorter, rows below it are free.
                while contents.last().is_some_and(String::is_empty) {
                    contents.pop();
                }
                prop_assert!(expected.ends_with(&contents), "{contents:?} {expected:?}");
                prop_assert!(contents.len() >= live.len());
            }
        }
    }
}
