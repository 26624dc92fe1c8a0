//! Text that is there but kept out of sight: by markup that is not drawn, by escapes of terminals, by spaces that push it away.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    Kind, Severity,
    places::{Role, Text},
    remark::Remark,
};

/// What is not drawn where text is drawn as Markdown or HTML.
static MARKUP: LazyLock<Vec<(Severity, Regex)>> = LazyLock::new(|| {
    use Severity::{Alarm, Warn};
    [
        (Warn, r"(?s)<!--.{1,400}?-->"),
        (Warn, r"(?m)^\[(//|comment|_)\]: *<?#>?.*$"),
        (Alarm, r"(?i)style *= *.{0,80}(display: *none|visibility: *hidden|font-size: *0|opacity: *0\b)"),
        (Warn, r"(?i)<(script|iframe|object|embed) [^>]{0,200}(src|data|href) *="),
    ]
    .into_iter()
    .map(|(severity, pattern)| (severity, Regex::new(pattern).expect("a pattern of ours")))
    .collect()
});

/// Spaces on one line that push what follows out of any window.
const WIDE: usize = 120;
/// Empty lines that push what follows off any screen.
const TALL: usize = 25;

pub(super) fn look(text: &Text<'_>, remarks: &mut Vec<Remark>) {
    escapes(text, remarks);
    if text.role == Role::Prose {
        for (severity, pattern) in MARKUP.iter() {
            if let Some(found) = pattern.find(text.text) {
                remarks.push(text.remark(Kind::Hidden, *severity, found.as_str()));
            }
        }
    }
    if let Some((count, after)) = gap(text.text) {
        let words = format!("{count} spaces or line ends before: {after}");
        remarks.push(text.remark(Kind::Hidden, Severity::Warn, words));
    }
}

/// Characters that steer a terminal.
fn escapes(text: &Text<'_>, remarks: &mut Vec<Remark>) {
    let is_escape = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    let Some(at) = text.text.find(is_escape) else { return };
    let is_steering = text.text.contains(['\u{1b}', '\u{9b}', '\u{8}']);
    let severity = if is_steering { Severity::Alarm } else { Severity::Warn };
    let words: String = text.text[at..].chars().take(60).collect();
    remarks.push(text.remark(Kind::Hidden, severity, words));
}

/// The first gap that is wide or tall and has something after it: how large, and what is behind.
fn gap(text: &str) -> Option<(usize, &str)> {
    let (mut begin, mut lines) = (0, 0);
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            lines += usize::from(c == '\n');
            continue;
        }
        let wide = if lines == 0 { at - begin } else { 0 };
        if lines >= TALL || wide >= WIDE {
            return Some((at - begin, &text[at..]));
        }
        (begin, lines) = (at + c.len_utf8(), 0);
    }
    None
}
