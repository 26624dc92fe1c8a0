//! Some lines of a text of any size, in constant memory.
//!
//! Lines before the page are counted, not read: a block at a time, from the nearest mark. What is asked for is decoded
//! line by line, so that nothing before it must be.

use std::{
    fmt::Write,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
};

use super::marks::Marks;
use crate::text::{Form, MARK};

/// Longer lines are cut.
const MOST_COLUMNS: usize = 2000;
/// No encoding needs more bytes for so many characters.
const MOST_LINE: usize = MOST_COLUMNS * 4;
/// A page ends when it holds more than this, however many lines were asked for.
const MOST_TEXT: usize = 2 * 1024 * 1024;
/// What a line means does not depend on what is farther away.
const AROUND: u64 = 512 * 1024;
/// No more than this is looked at to understand a page.
const MOST_AROUND: u64 = 4 * 1024 * 1024;
/// Large enough to read fast, small enough to stay in a processor's cache. Even, so that no wide character is split.
const BLOCK: usize = 256 * 1024;

/// Some lines of a file.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The number of its first line, from 1.
    pub(super) first: u64,
    /// Each line with a line feed at its end, whatever it had.
    pub(super) text: String,
    pub(super) lines: u64,
    /// How many lines the file has, where the page reaches its end.
    pub(super) total: Option<u64>,
    /// Where it stands in the file.
    bytes: Range<u64>,
    /// Whether some line of it is longer than what is shown.
    is_cut: bool,
    has_mark: bool,
    /// Lines that end with CRLF, and with LF alone.
    ends: [u64; 2],
}

impl Page {
    /// At most `limit` lines from line `first` on. Stops early when it is cancelled.
    pub(super) fn read(
        source: impl Read + Seek,
        form: Form,
        (first, limit): (u64, u64),
        marks: &mut Marks,
        is_cancelled: &dyn Fn() -> bool,
    ) -> io::Result<Page> {
        let mut lines = Lines::at(source, form, marks.before(first))?;
        let mut page = Page { first, ..Page::default() };
        while lines.line < first {
            if is_cancelled() || !lines.skip(first, marks)? {
                page.total = Some(lines.passed());
                return Ok(page);
            }
        }
        page.bytes.start = lines.offset();
        let mut line = Vec::new();
        while page.lines < limit && page.text.len() < MOST_TEXT && !is_cancelled() {
            marks.add(lines.line, lines.offset());
            match lines.next(&mut line)? {
                Some(end) => page.add(&form.show(&line), end),
                None => break,
            }
        }
        page.bytes.end = lines.offset();
        page.total = lines.is_at_end()?.then_some(page.first - 1 + page.lines);
        Ok(page)
    }

    fn add(&mut self, line: &str, end: End) {
        let (line, has_mark) = match line.strip_prefix(MARK) {
            Some(rest) if self.first + self.lines == 1 => (rest, true),
            _ => (line, false),
        };
        self.has_mark |= has_mark;
        self.lines += 1;
        let text = line.strip_suffix('\r').unwrap_or(line);
        let shown = text.char_indices().nth(MOST_COLUMNS).map_or(text.len(), |(end, _)| end);
        let hidden = end.hidden + text.len() - shown;
        if end.is_there && end.hidden == 0 {
            self.ends[usize::from(text.len() == line.len())] += 1;
        }
        self.text.push_str(&text[..shown]);
        if hidden > 0 {
            self.is_cut = true;
            // Writing to a String cannot fail.
            let _ = write!(self.text, " [… {hidden} {CUT}");
        }
        self.text.push('\n');
    }

    /// Whether it is all that the file holds.
    pub(super) fn is_all(&self) -> bool {
        self.first == 1 && self.total.is_some() && !self.is_cut
    }

    /// Where in the file it stands, with so much around it that what is in it can be understood: of a small file all.
    pub(super) fn around(&self) -> Range<u64> {
        let start = self.bytes.start.saturating_sub(AROUND);
        // So that no wide character is split.
        let start = start - start % 4;
        start..(self.bytes.end + AROUND).min(start + MOST_AROUND)
    }

    /// What the lines alone do not show: encoding and line ends.
    pub(super) fn notes(&self, form: Form) -> String {
        let mut notes = Vec::new();
        match (form.is_utf8(), self.has_mark) {
            (true, false) => {}
            (_, true) => notes.push(format!("{} with a byte order mark", form.name())),
            (false, false) => notes.push(form.name().to_owned()),
        }
        match self.ends {
            [0, _] => {}
            [_, 0] => notes.push("lines end with CRLF".to_owned()),
            [crlf, lf] => notes.push(format!("{crlf} of these lines end with CRLF, {lf} with LF")),
        }
        if self.text.contains(char::REPLACEMENT_CHARACTER) {
            notes.push(format!("what is not {} is shown as \u{fffd}", form.name()));
        }
        if notes.is_empty() { String::new() } else { format!("({})\n", notes.join("; ")) }
    }
}

/// How a line ends of which only the beginning is shown.
pub(crate) const CUT: &str = "bytes of this line hidden]";

/// Lines with their numbers, as a model sees them.
pub(super) fn numbered(text: &str, first: u64) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    for (number, line) in (first..).zip(text.split_terminator('\n')) {
        let _ = writeln!(out, "{number:>6}\t{line}");
    }
    out
}

/// How a line ended.
#[derive(Debug, Clone, Copy)]
struct End {
    /// Bytes of it that were passed over.
    hidden: usize,
    /// The last line of a file may have none.
    is_there: bool,
}

/// A file, line by line.
struct Lines<R> {
    source: R,
    form: Form,
    block: Vec<u8>,
    /// Where in the file the block begins.
    start: u64,
    /// How much of the block is done.
    at: usize,
    /// The number of the line that is next.
    line: u64,
    /// Whether something of that line was passed already.
    is_inside: bool,
}

impl<R: Read + Seek> Lines<R> {
    fn at(mut source: R, form: Form, (line, start): (u64, u64)) -> io::Result<Lines<R>> {
        source.seek(SeekFrom::Start(start))?;
        Ok(Lines { source, form, block: Vec::with_capacity(BLOCK), start, at: 0, line, is_inside: false })
    }

    /// Passes over lines, at most up to a line and at most a block. False at the end of the file.
    fn skip(&mut self, first: u64, marks: &mut Marks) -> io::Result<bool> {
        if self.is_at_end()? {
            return Ok(false);
        }
        let rest = &self.block[self.at..];
        let ends = count(self.form, rest);
        if self.line + ends >= first {
            let wanted = usize::try_from(first - self.line - 1).unwrap_or(usize::MAX);
            let end = line_ends(self.form, rest).nth(wanted).unwrap_or(rest.len());
            self.pass(end, first - self.line);
            return Ok(true);
        }
        if marks.wants(self.offset() + rest.len() as u64)
            && let Some(last) = last_line_end(self.form, rest)
        {
            marks.add(self.line + ends, self.offset() + last as u64);
        }
        self.is_inside = last_line_end(self.form, rest) != Some(rest.len());
        self.line += ends;
        self.at = self.block.len();
        Ok(true)
    }

    /// The next line without its end, or as much of it as anybody will see. None at the end of the file.
    fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Option<End>> {
        line.clear();
        let mut hidden = 0;
        let mut is_any = false;
        while !self.is_at_end()? {
            is_any = true;
            let rest = &self.block[self.at..];
            let end = line_ends(self.form, rest).next();
            let passed = end.unwrap_or(rest.len());
            let part = &rest[..end.map_or(passed, |end| end - self.form.line_end().len())];
            let room = MOST_LINE.saturating_sub(line.len()).min(part.len());
            line.extend_from_slice(&part[..room]);
            hidden += part.len() - room;
            self.pass(passed, u64::from(end.is_some()));
            if end.is_some() {
                return Ok(Some(End { hidden, is_there: true }));
            }
        }
        Ok(is_any.then_some(End { hidden, is_there: false }))
    }

    fn pass(&mut self, bytes: usize, lines: u64) {
        self.at += bytes;
        self.line += lines;
        self.is_inside = lines == 0;
    }

    /// How many lines there were, at the end of the file.
    fn passed(&self) -> u64 {
        self.line - u64::from(!self.is_inside)
    }

    fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    fn is_at_end(&mut self) -> io::Result<bool> {
        if self.at == self.block.len() {
            self.start += self.block.len() as u64;
            self.at = 0;
            self.block.clear();
            // Until the block is full: half a wide character would be none.
            self.source.by_ref().take(BLOCK as u64).read_to_end(&mut self.block)?;
        }
        Ok(self.block.is_empty())
    }
}

/// Where in a block lines end: the bytes after each.
fn line_ends(form: Form, block: &[u8]) -> impl DoubleEndedIterator<Item = usize> + '_ {
    let end = form.line_end();
    let feed = end.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    memchr::memchr_iter(b'\n', block).filter_map(move |at| {
        let start = at.checked_sub(feed)?;
        let is_end = start % end.len() == 0 && block.get(start..start + end.len()) == Some(end);
        is_end.then_some(start + end.len())
    })
}

fn last_line_end(form: Form, block: &[u8]) -> Option<usize> {
    line_ends(form, block).next_back()
}

fn count(form: Form, block: &[u8]) -> u64 {
    let ends = match form.line_end() {
        // Counted without being found, which is many times faster.
        [end] => memchr::memchr_iter(*end, block).count(),
        _ => line_ends(form, block).count(),
    };
    ends as u64
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8], range: (u64, u64), marks: &mut Marks) -> Page {
        let form = Form::detect(bytes).expect("a text");
        Page::read(Cursor::new(bytes), form, range, marks, &|| false).unwrap()
    }

    fn no_marks() -> Marks {
        Marks::new(Vec::new())
    }

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn a_page_knows_whether_the_file_ends_with_it() {
        for (text, range, shown, total) in [
            ("a\nb\nc\n", (1, 9), "a\nb\nc\n", Some(3)),
            ("a\nb\nc", (3, 9), "c\n", Some(3)),
            ("a\nb\nc", (2, 1), "b\n", None),
            ("a\nb\n", (2, 1), "b\n", Some(2)),
            ("a\nb\n", (3, 1), "", Some(2)),
            ("a\nb", (7, 1), "", Some(2)),
            ("", (1, 1), "", Some(0)),
        ] {
            let page = read(text.as_bytes(), range, &mut no_marks());
            assert_eq!((page.text.as_str(), page.total), (shown, total), "{text:?} {range:?}");
        }
    }

    #[test]
    fn encodings_and_line_ends_are_told() {
        let notes = |bytes: &[u8]| {
            let page = read(bytes, (1, 10), &mut no_marks());
            format!("{}{}", page.notes(Form::detect(bytes).unwrap()), numbered(&page.text, 1))
        };
        insta::assert_snapshot!(notes(b"plain\n"), @"     1\tplain");
        insta::assert_snapshot!(notes(b"dos\r\nlines\r\n"), @r"
        (lines end with CRLF)
             1	dos
             2	lines
        ");
        insta::assert_snapshot!(notes(b"one\r\ntwo\nthree\n"), @r"
        (1 of these lines end with CRLF, 2 with LF)
             1	one
             2	two
             3	three
        ");
        insta::assert_snapshot!(notes(&utf16("\u{feff}wide\r\nlines\r\n")), @r"
        (UTF-16LE with a byte order mark; lines end with CRLF)
             1	wide
             2	lines
        ");
        insta::assert_snapshot!(notes(b"caf\xe9 au lait, d\xe9j\xe0 vu\n"), @r"
        (windows-1252)
             1	café au lait, déjà vu
        ");
    }

    #[test]
    fn a_far_page_is_found_from_the_marks() {
        let text: String = (1..=200_000).map(|n| format!("line {n}\n")).collect();
        let mut marks = no_marks();
        assert_eq!(read(text.as_bytes(), (150_000, 1), &mut marks).text, "line 150000\n");
        let known = marks.clone();
        assert!(known.before(150_000).0 > 100_000, "{known:?}");
        assert_eq!(read(text.as_bytes(), (149_999, 2), &mut marks).text, "line 149999\nline 150000\n");
        assert_eq!(marks, known, "what is known is not marked again");
        assert_eq!(read(text.as_bytes(), (200_000, 5), &mut marks).text, "line 200000\n");
    }

    #[test]
    fn wide_text_is_paged_by_its_own_line_ends() {
        // U+0A0A and U+010A hold a byte that looks like a line feed.
        let text: String = (1..=60_000).map(|n| format!("\u{a0a}\u{10a}\u{a01} {n}\n")).collect();
        let mut marks = no_marks();
        let bytes = utf16(&format!("\u{feff}{text}"));
        for line in [60_000, 1, 59_999, 30_000] {
            let page = read(&bytes, (line, 1), &mut marks);
            assert_eq!(page.text, format!("\u{a0a}\u{10a}\u{a01} {line}\n"));
        }
    }

    proptest! {
        #[test]
        fn pages_are_what_lines_says(
            text in "([a-c\u{e9}]{0,5}\n){0,40}[a-c]{0,3}",
            first in 1..45u64,
            limit in 1..10u64,
        ) {
            let page = read(text.as_bytes(), (first, limit), &mut no_marks());
            let expected: String = text
                .lines()
                .skip(first as usize - 1)
                .take(limit as usize)
                .map(|line| format!("{line}\n"))
                .collect();
            prop_assert_eq!(page.text, expected);
        }
    }
}
