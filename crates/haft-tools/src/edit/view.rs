//! A text with the differences taken out that an attempt forgives, and the way back to the bytes of the file.

use std::ops::Range;

use super::typography;

/// What is taken out, besides the kind of line endings.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Rules {
    /// Blanks at the ends of lines.
    pub(super) trailing: bool,
    /// Blanks at the beginnings of lines.
    pub(super) leading: bool,
    /// Typographic characters, see [`typography::fold`].
    pub(super) typography: bool,
}

impl Rules {
    /// A line without its end, as it is compared.
    pub(super) fn trim<'a>(&self, line: &'a str) -> &'a str {
        let line = match (self.trailing, self.typography) {
            (true, true) => line.trim_end_matches(typography::is_blank),
            (true, false) => line.trim_end_matches([' ', '\t']),
            (false, _) => line,
        };
        if self.leading { line.trim_start_matches([' ', '\t']) } else { line }
    }

    /// Some lines, as they are compared.
    pub(super) fn apply(&self, text: &str) -> String {
        let view = View::new(text, *self);
        view.text[1..view.text.len() - 1].to_owned()
    }
}

/// A line and its end, which is empty for the last one. A text has a line more than it has line ends.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) end: &'a str,
}

pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = text.find(['\n', '\r']) else {
            rest = None;
            return Some(Line { text, end: "" });
        };
        let len = if text[at..].starts_with("\r\n") { 2 } else { 1 };
        rest = Some(&text[at + len..]);
        Some(Line { text: &text[..at], end: &text[at..at + len] })
    })
}

/// The view of a whole file, between two line ends, so that every line of it has one on both sides.
pub(super) struct View {
    pub(super) text: String,
    pub(super) rules: Rules,
    marks: Vec<Mark>,
}

/// From here on, up to the next mark, the view and the file run in step.
#[derive(Clone, Copy)]
struct Mark {
    view: usize,
    file: usize,
}

impl View {
    pub(super) fn new(file: &str, rules: Rules) -> View {
        let mut view = View {
            text: String::with_capacity(file.len() + 2),
            rules,
            marks: vec![Mark { view: 1, file: 0 }],
        };
        view.text.push('\n');
        let mut at = 0;
        for line in lines(file) {
            let kept = rules.trim(line.text);
            // What is blank altogether counts as trailing.
            let leading = if kept.is_empty() { 0 } else { kept.as_ptr().addr() - line.text.as_ptr().addr() };
            view.mark(at + leading);
            view.push(kept, at + leading);
            at += line.text.len();
            view.mark(at);
            view.text.push('\n');
            at += line.end.len();
            view.mark(at);
        }
        view
    }

    fn push(&mut self, kept: &str, at: usize) {
        if !self.rules.typography || kept.is_ascii() {
            self.text.push_str(kept);
            return;
        }
        for (offset, character) in kept.char_indices() {
            self.mark(at + offset);
            typography::fold(character, &mut self.text);
        }
        self.mark(at + kept.len());
    }

    /// Notes that the view goes on at `file`, unless that goes without saying.
    fn mark(&mut self, file: usize) {
        let view = self.text.len();
        let in_step = self.marks.last().is_some_and(|mark| mark.file + (view - mark.view) == file);
        if !in_step {
            self.marks.push(Mark { view, file });
        }
    }

    /// Where a position stands in the file: behind what was taken out there.
    pub(super) fn position(&self, view: usize) -> usize {
        let marks = self.marks.partition_point(|mark| mark.view <= view);
        marks.checked_sub(1).map_or(0, |last| self.marks[last].file + (view - self.marks[last].view))
    }
}

/// Where `needle` stands in `text`, overlapping places too, from `from` on.
pub(super) fn find_from(text: &str, needle: &str, from: usize) -> Option<Range<usize>> {
    let at = from + memchr::memmem::find(text.get(from..)?.as_bytes(), needle.as_bytes())?;
    Some(at..at + needle.len())
}
