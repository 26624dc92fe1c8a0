//! What has changed, for a person: a unified diff in which nothing can hide.

use std::time::Duration;

use similar::TextDiff;

use crate::draw::is_unseen;

/// A diff that takes longer is made coarser, never longer.
const LONGEST: Duration = Duration::from_millis(500);

/// The changes from one text to another; empty if there are none.
pub(crate) fn unified(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let diff = TextDiff::configure().timeout(LONGEST).diff_lines(old, new);
    let head = |side: &str, text: &str| {
        if text.is_empty() { "/dev/null".to_owned() } else { format!("{side}/{name}") }
    };
    let text = diff.unified_diff().context_radius(3).header(&head("a", old), &head("b", new)).to_string();
    revealed(&text)
}

/// A text in which everything that does not show is written out, but for line ends and tabs.
pub(crate) fn revealed(text: &str) -> String {
    shown(text, |c| c == '\n' || c == '\t')
}

/// The same on one line.
pub(crate) fn revealed_line(text: &str) -> String {
    shown(text, |_| false)
}

fn shown(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) && !is_kept(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_says_what_was_and_what_is() {
        assert_eq!(unified("f", "a\nb\n", "a\nc\n"), "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(unified("f", "", "x\n"), "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(unified("f", "x", "x"), "");
    }

    #[test]
    fn what_does_not_show_is_shown() {
        assert!(unified("f", "a\n", "a\u{200b}\n").contains("+a\\u{200b}\n"));
        assert_eq!(revealed("x\u{e0041}\ty\u{1b}[2J\n"), "x\\u{e0041}\ty\\u{1b}[2J\n");
        assert_eq!(revealed_line("a\nb"), "a\\u{a}b");
        assert_eq!(revealed("grün 中文 🙂"), "grün 中文 🙂");
    }
}
