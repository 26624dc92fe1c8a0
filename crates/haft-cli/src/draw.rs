//! Text for people: views, tables, colours.
//!
//! Colours only where a terminal shows them and `NO_COLOR` is not set. What comes from outside is made [`plain`] before
//! it reaches a terminal: a file must not be able to move the cursor.

use std::{
    env,
    fmt::Write,
    io::{self, IsTerminal},
    path::Path,
};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use haft_tool::View;

/// Whether to use colours.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    pub(crate) const STRONG: Style = Style::new().bold();
    pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
    pub(crate) const BAD: Style = AnsiColor::Red.on_default();
    pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default();
    pub(crate) const WAIT: Style = AnsiColor::Yellow.on_default();

    pub(crate) fn stdout() -> Paint {
        let stdout = io::stdout();
        Paint { is_on: stdout.is_terminal() && AutoStream::choice(&stdout) != ColorChoice::Never }
    }

    /// The text in a style, or as it is.
    pub(crate) fn style(self, style: Style, text: &str) -> String {
        if self.is_on && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// A text in which paths of the workspace begin there.
pub(crate) fn within(text: &str, workspace: &Path) -> String {
    let workspace = workspace.display().to_string();
    if workspace.len() < 2 {
        return text.to_owned();
    }
    text.replace(&format!("{workspace}/"), "").replace(&format!(" {workspace} "), " . ")
}

/// A text whose control characters are written out, except line ends and tabs.
pub(crate) fn plain(text: String) -> String {
    written_out(text, |c| (c.is_control() && c != '\n' && c != '\t') || is_direction(c))
}

/// The same on one line: for places where a second line would pass for ours.
pub(crate) fn plain_line(text: String) -> String {
    written_out(text, |c| c.is_control() || is_direction(c))
}

/// A text that a person is to permit: whatever in it is not seen is written out, also joiners and selectors of letters.
pub(crate) fn exact(text: String) -> String {
    written_out(text, |c| is_unseen(c) && c != '\n' && c != '\t')
}

/// The same on one line.
pub(crate) fn exact_line(text: String) -> String {
    written_out(text, is_unseen)
}

fn written_out(text: String, hides: impl Fn(char) -> bool + Copy) -> String {
    if !text.contains(hides) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hides(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// What is not seen, or changes what is seen around it: controls, directions, joiners, fillers, selectors, tags.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' | '\u{e000}'..='\u{f8ff}')
}

/// What turns the direction of the text around it.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How many columns there are: those of the terminal, or what `COLUMNS` says; `None` where lines may be of any length.
pub(crate) fn columns() -> Option<usize> {
    let from_terminal = || {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    };
    let set =
        env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    set.or_else(from_terminal)
}

/// A text of at most so many characters; one that was cut ends in `…`.
pub(crate) fn fit(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some(_) if width == 0 => String::new(),
        Some(_) => text.chars().take(width - 1).chain(['…']).collect(),
    }
}

/// Lines of cells under a heading. Columns are as wide as their widest cell; the last is cut where the terminal ends.
pub(crate) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]], paint: Paint) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heading[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let before_last: usize = widths.iter().take(N - 1).map(|width| width + 2).sum();
    let room = columns().map_or(usize::MAX, |columns| columns.saturating_sub(before_last).max(16));
    let line = |cells: Vec<&str>| {
        let mut line = String::new();
        for (at, cell) in cells.into_iter().enumerate() {
            if at + 1 == N {
                line.push_str(&fit(cell, room));
            } else {
                // Writing to a String cannot fail.
                let _ = write!(line, "{cell:<width$}  ", width = widths[at]);
            }
        }
        line.trim_end().to_owned()
    };
    let mut text = paint.style(Paint::STRONG, &line(heading.to_vec()));
    text.push('\n');
    for row in rows {
        text.push_str(&plain(line(row.iter().map(String::as_str).collect())));
        text.push('\n');
    }
    text
}

/// A view as lines of text.
pub(crate) fn view(view: &View) -> String {
    match view {
        View::Text(text) => text.clone(),
        View::Code { text, .. } => indented(text),
        View::Diff { path, unified } => format!("{path}\n{unified}"),
        View::List(items) => items.iter().map(self::view).collect::<Vec<_>>().join("\n"),
        View::Fields(fields) => {
            let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
            let lines = fields.iter().map(|(name, value)| format!("{name:<width$}  {value}"));
            lines.collect::<Vec<_>>().join("\n")
        }
        View::Image { media_type, caption, data } => {
            format!("[{media_type}, {} bytes] {caption}", data.len())
        }
        View::Progress { label, done, total: Some(total) } => format!("{label} {done}/{total}"),
        View::Progress { label, done: 0, total: None } => label.clone(),
        View::Progress { label, done, total: None } => format!("{label} {done}"),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_written_out() {
        assert_eq!(plain("a\u{1b}[2Jb\n\tc".to_owned()), "a\\u{1b}[2Jb\n\tc");
        assert_eq!(plain_line("a\nb".to_owned()), "a\\u{a}b");
        assert_eq!(plain("x\u{202e}y".to_owned()), "x\\u{202e}y");
        assert_eq!(exact("rm a\u{200b}\n\tb\u{fe0f}".to_owned()), "rm a\\u{200b}\n\tb\\u{fe0f}");
        assert_eq!(exact_line("rm a\u{2060}\n".to_owned()), "rm a\\u{2060}\\u{a}");
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!((fit("äöü", 3), fit("äöü", 2), fit("ä", 0)), ("äöü".into(), "ä…".into(), String::new()));
    }

    #[test]
    fn views_become_lines() {
        let fields = View::Fields(vec![("a".into(), "1".into()), ("long".into(), "2".into())]);
        assert_eq!(view(&fields), "a     1\nlong  2");
        let steps = View::Progress { label: "scan".into(), done: 2, total: Some(5) };
        assert_eq!(view(&View::List(vec![View::text("x"), steps])), "x\nscan 2/5");
    }
}
