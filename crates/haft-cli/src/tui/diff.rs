//! A change to a file: numbers of lines, signs, and the colours of the language.

use ratatui::{style::Style, text::Span};

use super::{
    highlight::{Language, Reader},
    text::{Break, Row, prefixed, row, span, wrap},
    theme::{BAD, GOOD, NOTE, PLAIN, QUIET},
};

/// The rows of a unified diff.
pub(super) fn rows(path: &str, unified: &str, columns: usize) -> Vec<Row> {
    let mut hunks = Hunks::new(path, columns);
    unified.lines().flat_map(|line| hunks.line(line)).collect()
}

/// How many lines were added and removed.
pub(super) fn counts(unified: &str) -> (usize, usize) {
    let count = |sign: char, head: &str| {
        unified.lines().filter(|line| line.starts_with(sign) && !line.starts_with(head)).count()
    };
    (count('+', "+++ "), count('-', "--- "))
}

struct Hunks {
    columns: usize,
    /// Both sides are read on their own: what is removed may leave a comment open that is none any more.
    old: Reader,
    new: Reader,
    old_line: usize,
    new_line: usize,
    /// Whether no hunk has begun.
    is_first: bool,
}

impl Hunks {
    fn new(path: &str, columns: usize) -> Hunks {
        let language = Language::of(path);
        Hunks {
            columns,
            old: Reader::new(language),
            new: Reader::new(language),
            old_line: 0,
            new_line: 0,
            is_first: true,
        }
    }

    fn line(&mut self, line: &str) -> Vec<Row> {
        if let Some(numbers) = line.strip_prefix("@@ ") {
            return self.hunk(numbers);
        }
        if self.is_first {
            // Before the first hunk are names, which are shown above; anything else is said as it is.
            let is_name = line.starts_with("--- ") || line.starts_with("+++ ");
            return if is_name { Vec::new() } else { wrap(&row(line, QUIET), self.columns, 2, Break::Words) };
        }
        let (sign, text) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
        match sign {
            "+" => {
                self.new_line += 1;
                let spans = self.new.line(text, GOOD);
                self.drawn(self.new_line, "+", GOOD, spans)
            }
            "-" => {
                self.old_line += 1;
                let spans = self.old.line(text, BAD);
                self.drawn(self.old_line, "-", BAD, spans)
            }
            "\\" => vec![row(&format!("      {line}"), QUIET)],
            _ => {
                self.old_line += 1;
                self.new_line += 1;
                self.old.line(text, PLAIN);
                let spans = self.new.line(text, PLAIN);
                self.drawn(self.new_line, " ", PLAIN, spans)
            }
        }
    }

    /// `-12,3 +12,4 @@ fn main() {`
    fn hunk(&mut self, numbers: &str) -> Vec<Row> {
        let start = |sign: char| {
            let word = numbers.split(' ').find_map(|word| word.strip_prefix(sign))?;
            word.split(',').next()?.parse::<usize>().ok()
        };
        // The lines of a hunk are counted from its first.
        self.old_line = start('-').unwrap_or(1).max(1) - 1;
        self.new_line = start('+').unwrap_or(1).max(1) - 1;
        let is_first = std::mem::take(&mut self.is_first);
        if is_first { Vec::new() } else { vec![row("    ⋮", NOTE)] }
    }

    fn drawn(&self, number: usize, sign: &'static str, style: Style, spans: Vec<Span<'static>>) -> Vec<Row> {
        let number = span(&format!("{number:>4} "), QUIET);
        let rows = wrap(&Row::from(spans), self.columns.saturating_sub(7), 0, Break::Anywhere);
        let sign = Span::styled(format!("{sign} "), style);
        let rows = prefixed(rows, &sign, &sign);
        prefixed(rows, &number, &Span::raw("     "))
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::{super::text::text_of, *};

    fn drawn(path: &str, unified: &str, columns: usize) -> String {
        rows(path, unified, columns).iter().map(text_of).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_have_their_numbers_and_hunks_stand_apart() {
        let unified = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,3 +1,4 @@\n use std::fs;\n-fn main() {\n+/// Runs.\n+fn main() -> Result<(), Box<dyn Error>> {\n\n@@ -90,2 +91,2 @@ fn x\n-    old();\n+    new();\n\\ No newline at end of file\n";
        assert_snapshot!(drawn("src/main.rs", unified, 40));
        assert_eq!(counts(unified), (3, 2));
    }

    #[test]
    fn what_is_no_diff_is_shown_as_it_is() {
        assert_eq!(drawn("x", "(no preview: it is binary)", 60), "(no preview: it is binary)");
    }
}
