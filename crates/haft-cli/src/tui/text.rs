//! Text as cells of a terminal: cleaned, measured, wrapped.
//!
//! Everything that is drawn goes through here, whoever wrote it: a row has no character that a terminal would obey, and is no
//! wider than it was asked to be, wide characters and combining marks included.

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::draw::plain_line;

/// One row of the screen.
pub(super) type Row = Line<'static>;

const TAB: &str = "    ";

/// A line without what moves a cursor or turns the direction of what follows.
pub(super) fn clean(line: &str) -> String {
    plain_line(line.replace('\t', TAB))
}

/// A piece of a line in a style, cleaned.
pub(super) fn span(text: &str, style: Style) -> Span<'static> {
    Span::styled(clean(text), style)
}

/// A line in a style, cleaned.
pub(super) fn row(text: &str, style: Style) -> Row {
    Row::from(span(text, style))
}

/// How many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// A text of at most so many columns; one that was cut ends in `…`.
pub(super) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for symbol in text.graphemes(true) {
        used += symbol.width();
        if used > columns {
            break;
        }
        shown.push_str(symbol);
    }
    if columns > 0 {
        shown.push('…');
    }
    shown
}

/// The same for a row with styles.
pub(super) fn fit_row(row: Row, columns: usize) -> Row {
    if row.width() <= columns {
        return row;
    }
    let mut cut = wrap(&row, columns.saturating_sub(1).max(1), 0, Break::Anywhere).swap_remove(0);
    cut.spans.push(Span::styled("…", super::theme::QUIET));
    cut
}

/// Where a line may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Break {
    /// Between words, where there are some.
    Words,
    /// Between any two characters: code and output keep their spaces.
    Anywhere,
}

/// What takes its cells together.
struct Cell<'a> {
    symbol: &'a str,
    style: Style,
    width: usize,
}

impl Cell<'_> {
    fn is_space(&self) -> bool {
        self.symbol == " "
    }
}

/// A line as rows of so many columns. All but the first begin with so many spaces.
pub(super) fn wrap(line: &Row, columns: usize, hang: usize, at: Break) -> Vec<Row> {
    let columns = columns.max(1);
    if line.width() <= columns {
        return vec![line.clone()];
    }
    let hang = if hang + 8 > columns { 0 } else { hang };
    let cells = cells(line);
    let (mut rows, mut start, mut used, mut space, mut index) = (Vec::new(), 0, 0, None, 0);
    while index < cells.len() {
        let room = columns - if rows.is_empty() { 0 } else { hang };
        if used + cells[index].width > room && index > start {
            let cut = space.filter(|cut| *cut > start && at == Break::Words).unwrap_or(index);
            rows.push(joined(&cells[start..cut], if rows.is_empty() { 0 } else { hang }));
            start = cut;
            while at == Break::Words && start < cells.len() && cells[start].is_space() {
                start += 1;
            }
            // What moved down is measured again: the rows below may be narrower.
            (index, used, space) = (start, 0, None);
            continue;
        }
        if cells[index].is_space() {
            space = Some(index);
        }
        used += cells[index].width;
        index += 1;
    }
    if start < cells.len() {
        rows.push(joined(&cells[start..], if rows.is_empty() { 0 } else { hang }));
    }
    rows
}

fn cells(line: &Row) -> Vec<Cell<'_>> {
    line.spans
        .iter()
        .flat_map(|span| {
            let style = line.style.patch(span.style);
            span.content.graphemes(true).map(move |symbol| Cell { symbol, style, width: symbol.width() })
        })
        .collect()
}

/// Cells as a row: neighbours of one style are one span.
fn joined(cells: &[Cell<'_>], hang: usize) -> Row {
    let mut spans: Vec<Span<'static>> = Vec::new();
    if hang > 0 {
        spans.push(Span::raw(" ".repeat(hang)));
    }
    for cell in cells {
        match spans.last_mut() {
            Some(last) if last.style == cell.style => last.content.to_mut().push_str(cell.symbol),
            _ => spans.push(Span::styled(cell.symbol.to_owned(), cell.style)),
        }
    }
    Row::from(spans)
}

/// Puts one thing before the first row, and another before the others.
pub(super) fn prefixed(rows: Vec<Row>, first: &Span<'static>, rest: &Span<'static>) -> Vec<Row> {
    let with = |(index, mut row): (usize, Row)| {
        row.spans.insert(0, if index == 0 { first.clone() } else { rest.clone() });
        row
    };
    rows.into_iter().enumerate().map(with).collect()
}

/// The text of a row, without styles.
#[cfg(test)]
pub(super) fn text_of(row: &Row) -> String {
    row.spans.iter().map(|span| span.content.as_ref()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, hang: usize, expected: &[&str]) {
        let rows = wrap(&row(text, Style::new()), columns, hang, Break::Words);
        assert_eq!(rows.iter().map(text_of).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn lines_break_between_words_and_only_then_within() {
        check("one two three", 20, 0, &["one two three"]);
        check("one two three", 8, 0, &["one two", "three"]);
        check("onetwothree four", 8, 0, &["onetwoth", "ree four"]);
        check("- a list that is long", 14, 2, &["- a list that", "  is long"]);
        check("ab cdefghijklmno", 16, 7, &["ab cdefghijklmno"]);
        check("abc cdefghijklmno", 16, 7, &["abc", "       cdefghijk", "       lmno"]);
        check("", 8, 0, &[""]);
    }

    #[test]
    fn wide_characters_and_marks_are_measured_as_they_are_shown() {
        check("日本語日本語", 8, 0, &["日本語日", "本語"]);
        check("e\u{301}e\u{301}e\u{301}", 2, 0, &["e\u{301}e\u{301}", "e\u{301}"]);
        assert_eq!((fit("日本語", 5), fit("日本語", 6)), ("日本…".to_owned(), "日本語".to_owned()));
    }

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        assert_eq!(clean("a\u{1b}[2J\tb\u{9b}1m"), "a\\u{1b}[2J    b\\u{9b}1m");
    }

    proptest! {
        #[test]
        fn no_row_is_wider_than_asked_and_none_is_lost(text in "\\PC{0,80}", columns in 20usize..60, hang in 0usize..10) {
            let line = row(&text, Style::new());
            let rows = wrap(&line, columns, hang, Break::Anywhere);
            prop_assert!(rows.iter().all(|row| row.width() <= columns));
            let kept: String = rows.iter().map(text_of).collect();
            let without_spaces = |text: &str| text.replace(' ', "");
            prop_assert_eq!(without_spaces(&kept), without_spaces(&text_of(&line)));
        }
    }
}
