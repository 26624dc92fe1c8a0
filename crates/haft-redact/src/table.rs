//! Tables, in which the name of a secret stands once and its values below: CSV, what psql and mysql print, SQL.

use crate::{
    found::{PASSWORD, SECRET, Span},
    names::{self, Weight},
    value::{self, Written},
};

/// A row of names is no longer than this, and has no more names.
const LONGEST_HEAD: usize = 1024;
const MOST_COLUMNS: usize = 64;
/// A name in it may have several words.
const LONGEST_NAME: usize = 48;

/// The table in which the lines before a text end, if they do.
#[derive(Debug, Default)]
pub(crate) struct Tables(Option<Table>);

#[derive(Debug)]
struct Table {
    rows: Rows,
    /// What each column holds.
    columns: Vec<Option<Weight>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Cells with this between them.
    Lines(u8),
    /// `(1, 'x'), (2, 'y')`
    Tuples,
}

impl Tables {
    /// Finds secrets in the rows of whole lines from a place on. `heads` are places of names that may be above a column.
    pub(crate) fn find(&mut self, text: &[u8], from: usize, heads: &[usize], spans: &mut Vec<Span>) {
        let mut at = from;
        let mut heads = heads.iter().copied().filter(|head| *head >= from).peekable();
        while at < text.len() {
            let end = |at: usize| at + memchr::memchr(b'\n', &text[at..]).unwrap_or(text.len() - at);
            if let Some(table) = &self.0 {
                if table.row(text, at, end(at), spans) {
                    at = end(at) + 1;
                    continue;
                }
                self.0 = None;
            }
            while heads.next_if(|head| *head < at).is_some() {}
            let Some(head) = heads.next() else { return };
            at = memchr::memrchr(b'\n', &text[at..head]).map_or(at, |before| at + before + 1);
            let end = end(at);
            self.0 = Table::of(&text[at..end]);
            if let Some(table) = self.0.as_ref().filter(|table| table.rows == Rows::Tuples) {
                let values = table_values(&text[at..end]).map_or(end, |place| at + place);
                table.tuples(text, values, end, spans);
            }
            at = end + 1;
        }
    }

    /// Behind a long line there is no table.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

impl Table {
    /// The table of which a line is the row of names.
    fn of(line: &[u8]) -> Option<Table> {
        let near = &line[..line.len().min(LONGEST_HEAD)];
        if let Some(table) = Table::of_statement(near) {
            return Some(table);
        }
        let line = if near.len() == line.len() { line.trim_ascii() } else { return None };
        let is_joint = |byte: &&u8| matches!(byte, b',' | b'\t' | b';' | b'|');
        let joint = *line.iter().find(is_joint)?;
        // A list in a program has a name and a comma in each line, and nothing behind it.
        let is_list =
            joint != b'|' && line.split(|byte| *byte == joint).any(|cell| cell.trim_ascii().is_empty());
        let columns = columns(line.split(|byte| *byte == joint))?;
        (columns.len() > 1 && !is_list).then_some(Table { rows: Rows::Lines(joint), columns })
    }

    /// `INSERT INTO users (name, password) …`, `COPY users (name, password) FROM stdin;`
    fn of_statement(line: &[u8]) -> Option<Table> {
        let words = line.trim_ascii_start();
        let begins =
            |word: &[u8]| words.get(..word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word));
        let rows = match () {
            () if begins(b"COPY ") => Rows::Lines(b'\t'),
            () if begins(b"INSERT ") || begins(b"REPLACE ") => Rows::Tuples,
            () => return None,
        };
        let open = memchr::memchr(b'(', line)?;
        let close = open + memchr::memchr(b')', &line[open..])?;
        Some(Table { rows, columns: columns(line[open + 1..close].split(|byte| *byte == b','))? })
    }

    /// Whether a line is a row of the table, or lies between two.
    fn row(&self, text: &[u8], start: usize, end: usize, spans: &mut Vec<Span>) -> bool {
        let line = text[start..end].trim_ascii();
        let Rows::Lines(joint) = self.rows else {
            let begins = line.first() == Some(&b'(')
                || line.get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"values"));
            return begins && self.tuples(text, start, end, spans);
        };
        if !line.is_empty() && line.iter().all(|byte| matches!(byte, b'-' | b'+' | b'|' | b':' | b' ' | b'='))
        {
            return true;
        }
        let start = end - text[start..end].trim_ascii_start().len();
        let cells = || Cells { text: &text[..start + line.len()], at: Some(start), joint };
        if cells().take(self.columns.len() + 1).count() != self.columns.len() {
            return false;
        }
        cells().zip(&self.columns).for_each(|((start, end), weight)| judge(text, start, end, *weight, spans));
        true
    }

    /// The values in brackets. Says that there may be more.
    fn tuples(&self, text: &[u8], start: usize, end: usize, spans: &mut Vec<Span>) -> bool {
        let (mut depth, mut column, mut cell, mut at) = (0_usize, 0, start, start);
        while at < end {
            match text[at] {
                quote @ (b'\'' | b'"') => {
                    let rest = &text[at + 1..end];
                    let is_end = |place: &usize| *place == 0 || rest[*place - 1] != b'\\';
                    at += 1 + memchr::memchr_iter(quote, rest).find(is_end).unwrap_or(rest.len());
                }
                b'(' => {
                    depth += 1;
                    if depth == 1 {
                        (column, cell) = (0, at + 1);
                    }
                }
                byte @ (b',' | b')') if depth == 1 => {
                    let weight = self.columns.get(column).copied().flatten();
                    judge(text, cell, at, weight, spans);
                    (column, cell) = (column + 1, at + 1);
                    depth -= usize::from(byte == b')');
                }
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        true
    }
}

/// Behind the row of names in the line of an INSERT.
fn table_values(line: &[u8]) -> Option<usize> {
    memchr::memchr(b')', line).map(|close| close + 1)
}

/// What each name says of its column, if all are names and one is that of a secret.
fn columns<'a>(cells: impl Iterator<Item = &'a [u8]>) -> Option<Vec<Option<Weight>>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ');
    let mut columns = Vec::new();
    for cell in cells {
        let cell = unquoted(cell);
        if cell.len() > LONGEST_NAME || columns.len() == MOST_COLUMNS || !cell.iter().all(is_part) {
            return None;
        }
        let weight = std::str::from_utf8(cell).ok().and_then(names::weigh);
        columns.push(weight.filter(|weight| *weight != Weight::Perhaps));
    }
    columns.iter().any(Option::is_some).then_some(columns)
}

fn unquoted(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    let is_quote = |byte: &u8| matches!(byte, b'"' | b'\'' | b'`');
    match cell {
        [first, inside @ .., last] if is_quote(first) && first == last => inside,
        _ => cell,
    }
}

fn judge(text: &[u8], start: usize, end: usize, weight: Option<Weight>, spans: &mut Vec<Span>) {
    let Some(weight) = weight else { return };
    let whole = &text[start..end];
    let blanks = whole.len() - whole.trim_ascii_start().len();
    let cell = unquoted(whole);
    let start = start + blanks + usize::from(cell.len() + 2 == whole.trim_ascii().len());
    let written = Written { is_quoted: true, is_setting: true };
    if value::is_secret(cell, weight, written) {
        let kind = if weight == Weight::Password { PASSWORD } else { SECRET };
        spans.push(Span { start, end: start + cell.len(), kind, sure: false });
    }
}

/// The cells of a row, from where to where. What stands in quotation marks is one cell.
struct Cells<'a> {
    text: &'a [u8],
    at: Option<usize>,
    joint: u8,
}

impl Iterator for Cells<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.at?;
        let rest = &self.text[start..];
        let quoted = match rest.first() {
            Some(b'"') => memchr::memchr(b'"', &rest[1..]).map_or(0, |length| length + 1),
            _ => 0,
        };
        let length = memchr::memchr(self.joint, &rest[quoted..]).map(|length| quoted + length);
        self.at = length.map(|length| start + length + 1);
        Some((start, start + length.unwrap_or(rest.len())))
    }
}
