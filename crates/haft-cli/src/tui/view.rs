//! A tool's own drawing, on this screen.

use haft_tool::View;
use ratatui::text::Span;

use super::{
    ansi, diff,
    highlight::{Language, Reader},
    text::{Break, Row, clean, fit_row, row, span, width, wrap},
    theme::{BAD, GOOD, NOTE, PLAIN, QUIET, STRONG},
};

/// All rows of a view.
pub(super) fn rows(view: &View, columns: usize) -> Vec<Row> {
    match view {
        View::Text(text) => words(text, columns),
        View::Code { language, text } => code(language, text, columns),
        View::Diff { path, unified } => {
            let mut rows = wrap(&diff_head(path, unified), columns, 2, Break::Anywhere);
            rows.extend(diff::rows(path, unified, columns));
            rows
        }
        View::List(items) => items.iter().flat_map(|item| self::rows(item, columns)).collect(),
        View::Fields(fields) => self::fields(fields, columns),
        View::Image { media_type, caption, data } => {
            words(&format!("picture ({media_type}, {} bytes) {caption}", data.len()), columns)
        }
        View::Progress { label, done, total } => {
            vec![fit_row(progress(label, *done, *total, columns), columns)]
        }
    }
}

fn words(text: &str, columns: usize) -> Vec<Row> {
    text.lines().flat_map(|line| wrap(&row(line, PLAIN), columns, 2, Break::Words)).collect()
}

fn code(language: &str, text: &str, columns: usize) -> Vec<Row> {
    let lines = match language {
        "ansi" => ansi::lines(text),
        language => {
            let mut reader = Reader::new(Language::of(language));
            text.lines().map(|line| Row::from(reader.line(line, PLAIN))).collect()
        }
    };
    lines.iter().flat_map(|line| wrap(line, columns, 0, Break::Anywhere)).collect()
}

fn diff_head(path: &str, unified: &str) -> Row {
    let (added, removed) = diff::counts(unified);
    Row::from(vec![
        span(path, STRONG),
        Span::raw("  "),
        Span::styled(format!("+{added}"), GOOD),
        Span::raw(" "),
        Span::styled(format!("-{removed}"), BAD),
    ])
}

fn fields(fields: &[(String, String)], columns: usize) -> Vec<Row> {
    let names: Vec<String> = fields.iter().map(|(name, _)| clean(name)).collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0).min(columns / 3);
    let field = |(name, (_, value)): (&String, &(String, String))| {
        let gap = " ".repeat(widest.saturating_sub(width(name)) + 2);
        let line = Row::from(vec![Span::styled(format!("{name}{gap}"), QUIET), span(value, PLAIN)]);
        wrap(&line, columns, widest + 2, Break::Words)
    };
    names.iter().zip(fields).flat_map(field).collect()
}

const BAR: usize = 16;

fn progress(label: &str, done: u64, total: Option<u64>, columns: usize) -> Row {
    let label = super::text::fit(&clean(label), columns.saturating_sub(BAR + 24).max(12));
    match total {
        Some(total) if total > 0 => {
            let done = done.min(total);
            let full = (u128::from(done) * BAR as u128 / u128::from(total)) as usize;
            let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full));
            let figures = format!(" {done}/{total} ");
            Row::from(vec![Span::styled(bar, NOTE), Span::styled(figures, QUIET), Span::raw(label)])
        }
        // A figure of nothing that is known says nothing.
        _ => Row::from(Span::raw(label)),
    }
}

/// What stays of rows that are too many: their beginning and their end.
pub(super) struct Shortened {
    pub(super) rows: Vec<Row>,
    /// How many are left out.
    pub(super) hidden: usize,
}

/// At most so many rows, a quarter of them from the end.
pub(super) fn shorten(mut rows: Vec<Row>, most: usize) -> Shortened {
    // Leaving out one row to say that a row is left out helps nobody.
    if rows.len() <= most + 1 {
        return Shortened { rows, hidden: 0 };
    }
    let (tail, hidden) = (most / 4, rows.len() - most);
    let end = rows.split_off(rows.len() - tail);
    rows.truncate(most - tail);
    rows.push(row(&format!("… {hidden} more lines"), QUIET));
    rows.extend(end);
    Shortened { rows, hidden }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::{super::text::text_of, *};

    fn drawn(view: &View, columns: usize) -> String {
        rows(view, columns)
            .iter()
            .map(|row| text_of(row).trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn every_kind_of_view_is_drawn() {
        let view = View::List(vec![
            View::text("$ cargo test"),
            View::Code {
                language: "ansi".into(),
                text: "\u{1b}[32mok\u{1b}[0m 12 passed\n  1 ignored".into(),
            },
            View::Code { language: "json".into(), text: "{ \"a\": [1, 2] }".into() },
            View::Diff { path: "a.txt".into(), unified: "@@ -1 +1 @@\n-one\n+two\n".into() },
            View::Fields(vec![("name".into(), "haft".into()), ("long name".into(), "x".into())]),
            View::Image { media_type: "image/png".into(), caption: "a plot".into(), data: vec![0; 7] },
            View::Progress { label: "fetching".into(), done: 3, total: Some(4) },
            View::Progress { label: "scanning".into(), done: 30, total: None },
            View::Progress { label: "waiting".into(), done: 0, total: None },
        ]);
        assert_snapshot!(drawn(&view, 44));
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let rows = |count: usize| (0..count).map(|n| row(&n.to_string(), PLAIN)).collect::<Vec<_>>();
        let short = shorten(rows(20), 8);
        let texts: Vec<String> = short.rows.iter().map(text_of).collect();
        assert_eq!((texts.join(" "), short.hidden), ("0 1 2 3 4 5 … 12 more lines 18 19".to_owned(), 12));
        assert_eq!(shorten(rows(9), 8).hidden, 0);
    }
}
