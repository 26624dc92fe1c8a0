//! Markdown as rows: what models write, made readable on a terminal of any width.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::{
    style::{Modifier, Style},
    text::Span,
};

use super::{
    highlight::{Language, Reader},
    text::{Break, Row, fit_row, prefixed, row, span, wrap},
    theme::{CODE, LINK, NOTE, PLAIN, QUIET, STRONG},
};

/// A whole text, or a part of one that begins and ends between blocks.
pub(super) fn rows(text: &str, columns: usize) -> Vec<Row> {
    let mut writer = Writer::new(columns);
    Parser::new_ext(text, options()).for_each(|event| writer.event(event));
    writer.rows
}

pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A line of a code block.
pub(super) fn code_line(line: &str, reader: &mut Reader, columns: usize) -> Vec<Row> {
    let line = Row::from(reader.line(line, PLAIN));
    let rows = wrap(&line, columns.saturating_sub(INDENT.len()), 0, Break::Anywhere);
    prefixed(rows, &Span::raw(INDENT), &Span::raw(INDENT))
}

const INDENT: &str = "  ";

struct Writer {
    columns: usize,
    rows: Vec<Row>,
    /// The line that is being written.
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// What stands before lines: quotes, and items of lists.
    margins: Vec<Margin>,
    lists: Vec<Option<u64>>,
    code: Option<(Language, String)>,
    link: Option<(String, String)>,
    table: Option<Table>,
    /// Whether the next block stands close to the one before.
    is_tight: bool,
}

struct Margin {
    /// Before the next row, once.
    first: Option<Span<'static>>,
    rest: Span<'static>,
}

#[derive(Default)]
struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Row>>,
}

impl Writer {
    fn new(columns: usize) -> Writer {
        Writer {
            columns,
            rows: Vec::new(),
            spans: Vec::new(),
            styles: vec![PLAIN],
            margins: Vec::new(),
            lists: Vec::new(),
            code: None,
            link: None,
            table: None,
            is_tight: true,
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.spans.push(span(&text, self.style().patch(CODE))),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
            Event::Html(text) | Event::InlineHtml(text) => self.html(&text),
            Event::FootnoteReference(name) => self.text(&name),
            Event::SoftBreak => self.spans.push(Span::styled(" ", self.style())),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                self.push(vec![row("────────", QUIET)]);
            }
            Event::TaskListMarker(done) => {
                self.spans.push(Span::styled(if done { "☑ " } else { "☐ " }, self.style()));
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { .. } => {
                self.gap();
                self.styles.push(STRONG.patch(NOTE));
            }
            Tag::BlockQuote(_) => {
                self.gap();
                let bar = Span::styled("▌ ", QUIET);
                self.margins.push(Margin { first: None, rest: bar });
                self.is_tight = true;
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                let name = match &kind {
                    CodeBlockKind::Fenced(name) => name.split_whitespace().next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((Language::of(name), String::new()));
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                self.item();
            }
            Tag::Emphasis => self.styles.push(self.style().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(self.style().add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.styles.push(self.style().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), String::new()));
                self.styles.push(self.style().patch(LINK));
            }
            Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), String::new()));
                self.spans.push(span("picture: ", QUIET));
                self.styles.push(self.style());
            }
            Tag::Table(alignments) => {
                self.gap();
                self.table = Some(Table { alignments, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::HtmlBlock => self.gap(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.margins.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.is_tight = !self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.margins.pop();
                self.is_tight = true;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let cell = Row::from(std::mem::take(&mut self.spans));
                if let Some(last) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    last.push(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
            return;
        }
        if let Some((_, words)) = &mut self.link {
            words.push_str(text);
        }
        self.spans.push(span(text, self.style()));
    }

    fn html(&mut self, text: &str) {
        for (index, line) in text.trim_end_matches('\n').split('\n').enumerate() {
            if index > 0 {
                self.flush();
            }
            self.spans.push(span(line, self.style().patch(QUIET)));
        }
    }

    fn item(&mut self) {
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number += 1;
                marker
            }
            _ => "• ".to_owned(),
        };
        let rest = Span::raw(" ".repeat(super::text::width(&marker)));
        self.margins.push(Margin { first: Some(span(&marker, QUIET)), rest });
        self.is_tight = true;
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some((address, words)) = self.link.take() else { return };
        // Where a link leads is part of what is read: its words may say anything.
        if words != address {
            self.spans.push(span(&format!(" ({address})"), QUIET));
        }
    }

    fn end_code(&mut self) {
        let Some((language, text)) = self.code.take() else { return };
        let mut reader = Reader::new(language);
        let columns = self.room();
        let rows = text.lines().flat_map(|line| code_line(line, &mut reader, columns)).collect();
        self.push(rows);
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let rows = table.rows(self.room());
        self.push(rows);
    }

    /// How wide the next rows may be.
    fn room(&self) -> usize {
        let margins: usize = self.margins.iter().map(|margin| margin.rest.width()).sum();
        self.columns.saturating_sub(margins).max(8)
    }

    /// An empty row before a block, unless it is the first or belongs to what is above it.
    fn gap(&mut self) {
        self.flush();
        if !std::mem::take(&mut self.is_tight) {
            self.push(vec![Row::default()]);
        }
    }

    fn flush(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let line = Row::from(std::mem::take(&mut self.spans));
        let rows = wrap(&line, self.room(), 0, Break::Words);
        self.push(rows);
        self.is_tight = false;
    }

    fn push(&mut self, rows: Vec<Row>) {
        self.is_tight = false;
        for mut row in rows {
            let margins: Vec<Span<'static>> = self.margins.iter_mut().map(Margin::take).collect();
            row.spans.splice(0..0, margins);
            self.rows.push(fit_row(row, self.columns));
        }
    }
}

impl Margin {
    fn take(&mut self) -> Span<'static> {
        self.first.take().unwrap_or_else(|| self.rest.clone())
    }
}

impl Table {
    /// Columns beside each other, in which long cells are wrapped, while there is room to read them; otherwise the cells of each
    /// row, under each other.
    fn rows(&self, room: usize) -> Vec<Row> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(Row::width).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..count).map(width).collect();
        let Some(widths) = narrowed(widths, room.saturating_sub(3 * count.saturating_sub(1))) else {
            return self.stacked(room);
        };
        let mut all = self.rows.iter().map(|row| self.lines(row, &widths));
        let mut rows = all.next().unwrap_or_default();
        rows.iter_mut().for_each(|row| row.style = STRONG);
        let line: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        rows.push(row(&line.join("─┼─"), QUIET));
        rows.extend(all.flatten());
        rows
    }

    /// A row of the table, on as many lines as its longest cell takes.
    fn lines(&self, cells: &[Row], widths: &[usize]) -> Vec<Row> {
        let wrapped = |(cell, width): (&Row, &usize)| wrap(cell, *width, 0, Break::Words);
        let cells: Vec<Vec<Row>> = cells.iter().zip(widths).map(wrapped).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let line = |at: usize| -> Vec<Row> {
            cells.iter().map(|cell| cell.get(at).cloned().unwrap_or_default()).collect()
        };
        (0..height).map(|at| self.aligned(&line(at), widths)).collect()
    }

    fn aligned(&self, cells: &[Row], widths: &[usize]) -> Row {
        let mut spans = Vec::new();
        for (index, width) in widths.iter().enumerate() {
            if index > 0 {
                spans.push(Span::styled(" │ ", QUIET));
            }
            let cell = cells.get(index).cloned().unwrap_or_default();
            let gap = width.saturating_sub(cell.width());
            let before = match self.alignments.get(index) {
                Some(Alignment::Right) => gap,
                Some(Alignment::Center) => gap / 2,
                _ => 0,
            };
            spans.push(Span::raw(" ".repeat(before)));
            spans.extend(cell.spans);
            spans.push(Span::raw(" ".repeat(gap - before)));
        }
        Row::from(spans)
    }

    fn stacked(&self, room: usize) -> Vec<Row> {
        let Some((head, body)) = self.rows.split_first() else { return Vec::new() };
        let mut rows = Vec::new();
        for (index, cells) in body.iter().enumerate() {
            if index > 0 {
                rows.push(Row::default());
            }
            for (column, cell) in cells.iter().enumerate() {
                let mut line = head.get(column).cloned().unwrap_or_default();
                line.spans.iter_mut().for_each(|span| span.style = span.style.patch(STRONG));
                line.spans.push(Span::raw(": "));
                line.spans.extend(cell.spans.iter().cloned());
                rows.extend(wrap(&line, room, 2, Break::Words));
            }
        }
        rows
    }
}

/// In a narrower column nobody reads.
const LEAST_COLUMN: usize = 14;

/// Columns that take so much in all: the widest give way. `None` if one would become too narrow.
fn narrowed(widths: Vec<usize>, room: usize) -> Option<Vec<usize>> {
    let taken = |most: usize| widths.iter().map(|width| *width.min(&most)).sum::<usize>();
    let most = widths.iter().copied().max().unwrap_or(0);
    if taken(most) <= room {
        return Some(widths);
    }
    let most = (LEAST_COLUMN..most.min(room)).rev().find(|most| taken(*most) <= room)?;
    Some(widths.iter().map(|width| *width.min(&most)).collect())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::{super::text::text_of, *};

    fn drawn(text: &str, columns: usize) -> String {
        rows(text, columns)
            .iter()
            .map(|row| text_of(row).trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn blocks_of_all_kinds_are_drawn() {
        let text = "# Title\n\nWords with **strong**, *soft* and `code`, and a [link](https://example.org/x).\n\n\
                    - one\n- two that is long enough to go on in a second row\n  1. inner\n  2. other\n\n- [x] done\n\n\
                    > a quote\n> of two lines\n\n```rust\nfn main() {\n    let x = 1;\n}\n```\n\n---\n\n\
                    | name | size |\n|---|---:|\n| a | 1 |\n| long name | 1000 |\n";
        assert_snapshot!(drawn(text, 46));
    }

    #[test]
    fn a_table_that_is_too_wide_is_stacked() {
        let text = "| name | what it is for |\n|---|---|\n| Read | looks at a file, whole or in parts |\n| Write | writes one |\n";
        assert_snapshot!(drawn(text, 20));
    }

    #[test]
    fn a_table_that_is_a_little_too_wide_has_its_long_cells_wrapped() {
        let text = "| name | what it is for | n |\n|---|---|--:|\n| Read | looks at a file, whole or in parts | 1 |\n| Write | writes one | 20 |\n";
        assert_snapshot!(drawn(text, 36));
    }

    #[test]
    fn where_a_link_leads_is_shown() {
        assert_eq!(
            drawn("[https://a.example](https://b.example)", 80),
            "https://a.example (https://b.example)"
        );
        assert_eq!(drawn("<https://a.example>", 80), "https://a.example");
    }

    proptest! {
        #[test]
        fn anything_is_drawn_within_its_columns(text in "[-a-z#*`_>|\\[\\]()!1. \n日\u{1b}<&:~=]{0,120}", columns in 20usize..80) {
            for row in rows(&text, columns) {
                prop_assert!(row.width() <= columns, "{row:?}");
                prop_assert!(!text_of(&row).contains(char::is_control));
            }
        }
    }
}
