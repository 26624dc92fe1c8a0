//! What elements do to the text.
//!
//! The elements that are open are a list; each knows what to undo at its end. Words gather in a line, which is written when
//! a block begins or ends, behind the marks of the quotes and items that it stands in.

use std::borrow::Cow;

use url::Url;

use super::{
    elements::{Sort, is_hidden},
    entities::decoded,
    inline::{Inline, code, longest_run},
    table::Table,
    tokens::{Tag, Token, Tokens},
};

/// Elements within elements; those further in have no effect, their words still count.
const MOST_DEEP: usize = 200;
/// Quotes and items within each other that are shown as such: each costs every line a few bytes.
const MOST_NESTED: usize = 10;
/// Longer links are for programs.
const LONGEST_LINK: usize = 2000;

/// The page as Markdown.
pub(super) fn write(page: &str, base: Option<&Url>) -> String {
    let mut writer = Writer { base: base.cloned(), most: page.len() * 3 + 4096, ..Writer::default() };
    for token in Tokens::of(page) {
        if writer.out.len() > writer.most {
            break;
        }
        writer.take(token);
    }
    writer.finish()
}

#[derive(Default)]
struct Writer<'a> {
    out: String,
    /// How long it may get.
    most: usize,
    line: Inline,
    open: Vec<Open<'a>>,
    /// How many open elements hide what is in them.
    hidden: usize,
    /// Code within a line, while it is read.
    code: Option<String>,
    /// Preformatted text, while it is read.
    preformatted: Option<String>,
    language: Option<String>,
    /// What the line is a heading of.
    heading: usize,
    /// The number of the next item, for each open list.
    lists: Vec<Option<u64>>,
    containers: Vec<Container>,
    tables: Vec<Table>,
    title: Option<String>,
    base: Option<Url>,
    /// How much was spent on links.
    spent: usize,
    /// Whether what was written last stood in an item.
    was_item: bool,
}

/// An element that has begun.
struct Open<'a> {
    name: Cow<'a, str>,
    sort: Sort,
    does: Does,
}

/// What is to be undone.
enum Does {
    Nothing,
    Hides,
    Marks { open: String, close: String },
    Code,
    Preformatted,
    Contains,
    Lists,
    Heads,
    Blocks,
    Tables,
    Cells { width: usize },
    Titles,
}

/// What puts something before each line.
enum Container {
    Quote,
    Item { marker: String, is_fresh: bool },
}

impl<'a> Writer<'a> {
    fn take(&mut self, token: Token<'a>) {
        match token {
            Token::Text(text) if self.hidden == 0 => self.say(&decoded(text)),
            Token::Raw(text) if self.hidden == 0 => self.raw(text),
            Token::Text(_) | Token::Raw(_) => {}
            Token::Start(tag) => self.start(tag),
            Token::End(name) => self.end(&name),
        }
    }

    fn say(&mut self, text: &str) {
        let text = visible(text);
        if let Some(preformatted) = &mut self.preformatted {
            preformatted.push_str(&text);
        } else if let Some(code) = &mut self.code {
            code.push_str(&text);
        } else {
            self.line.say(&text);
        }
    }

    fn raw(&mut self, text: &str) {
        match self.open.last().map(|open| &open.does) {
            Some(Does::Titles) if self.title.is_none() => {
                let words: Vec<String> = decoded(text).split_whitespace().map(str::to_owned).collect();
                self.title = Some(words.join(" ")).filter(|title| !title.is_empty());
            }
            Some(Does::Preformatted) => self.say(text),
            _ => {}
        }
    }
}

/// Beginnings.
impl<'a> Writer<'a> {
    fn start(&mut self, tag: Tag<'a>) {
        let sort = Sort::of(&tag.name);
        self.end_implied(sort);
        if sort.is_void() {
            if self.hidden == 0 {
                self.put(sort, &tag);
            }
            return;
        }
        if self.open.len() >= MOST_DEEP {
            return;
        }
        let does = if sort == Sort::Unseen || is_hidden(&tag) {
            self.hidden += 1;
            Does::Hides
        } else if self.hidden > 0 {
            Does::Nothing
        } else {
            self.begin(sort, &tag)
        };
        self.open.push(Open { name: tag.name, sort, does });
    }

    /// Elements without an end.
    fn put(&mut self, sort: Sort, tag: &Tag<'_>) {
        match sort {
            Sort::Break => match (&mut self.preformatted, self.tables.last()) {
                (Some(preformatted), _) => preformatted.push('\n'),
                (None, Some(table)) if table.in_cell => self.line.end_word(),
                _ => self.line.end_line(),
            },
            Sort::Rule => {
                self.end_block();
                self.write("---");
            }
            Sort::Picture => self.picture(tag),
            Sort::Base => {
                let href = tag.attribute("href").unwrap_or_default();
                self.base = self.base.take().map(|base| base.join(&href).unwrap_or(base));
            }
            _ => {}
        }
    }

    fn picture(&mut self, tag: &Tag<'_>) {
        let words = tag.attribute("alt").unwrap_or_default();
        let words = visible(&words).replace(['[', ']', '\n'], " ").trim().to_owned();
        // One without words is decoration.
        if words.is_empty() || self.preformatted.is_some() || self.code.is_some() {
            return;
        }
        let link = tag.attribute("src").and_then(|source| self.link(&source));
        self.line.word(&match link {
            Some(link) => format!("![{words}]({link})"),
            None => format!("![{words}]"),
        });
    }

    fn begin(&mut self, sort: Sort, tag: &Tag<'_>) -> Does {
        match sort {
            Sort::Marked(mark) => self.mark(mark.to_owned(), mark.to_owned()),
            Sort::Link => match tag.attribute("href").and_then(|target| self.link(&target)) {
                Some(link) => self.mark("[".to_owned(), format!("]({link})")),
                None => Does::Nothing,
            },
            Sort::Code => self.begin_code(tag),
            Sort::Heading(level) => {
                self.end_block();
                self.heading = level;
                Does::Heads
            }
            Sort::Quote => self.contain(Container::Quote),
            Sort::Item => {
                let marker = self.marker();
                self.contain(Container::Item { marker, is_fresh: true })
            }
            Sort::Meaning => self.contain(Container::Item { marker: ": ".to_owned(), is_fresh: true }),
            Sort::List { ordered } => {
                self.end_block();
                let first = tag.attribute("start").and_then(|start| start.trim().parse().ok()).unwrap_or(1);
                self.lists.push(ordered.then_some(first));
                Does::Lists
            }
            Sort::Preformatted => self.begin_preformatted(tag),
            Sort::Table => self.begin_table(),
            Sort::Row => self.begin_row(),
            Sort::Cell { heading } => self.begin_cell(heading, tag),
            Sort::Title => Does::Titles,
            Sort::Block | Sort::Paragraph | Sort::Terms | Sort::Term | Sort::RowGroup => {
                self.end_block();
                Does::Blocks
            }
            _ => Does::Nothing,
        }
    }

    /// A mark within itself, or in code, means nothing.
    fn mark(&mut self, open: String, close: String) -> Does {
        let is_open = |one: &Open<'_>| matches!(&one.does, Does::Marks { open: other, .. } if *other == open);
        if self.code.is_some() || self.preformatted.is_some() || self.open.iter().any(is_open) {
            return Does::Nothing;
        }
        self.line.open(open.clone());
        Does::Marks { open, close }
    }

    fn begin_code(&mut self, tag: &Tag<'_>) -> Does {
        if self.preformatted.is_some() {
            self.language = self.language.take().or_else(|| language(tag));
            return Does::Nothing;
        }
        if self.code.is_some() {
            return Does::Nothing;
        }
        self.code = Some(String::new());
        Does::Code
    }

    fn begin_preformatted(&mut self, tag: &Tag<'_>) -> Does {
        if self.preformatted.is_some() {
            return Does::Nothing;
        }
        self.end_block();
        self.language = language(tag);
        self.preformatted = Some(String::new());
        Does::Preformatted
    }

    fn contain(&mut self, container: Container) -> Does {
        self.end_block();
        if self.containers.len() >= MOST_NESTED || self.is_in_cell() {
            return Does::Blocks;
        }
        self.containers.push(container);
        Does::Contains
    }

    fn marker(&mut self) -> String {
        match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => "- ".to_owned(),
        }
    }

    /// A table in a cell says that the outer one only arranges things.
    fn begin_table(&mut self) -> Does {
        let before = if self.is_in_cell() { self.take_line() } else { String::new() };
        let rows = self.tables.last_mut().map(Table::give_up).unwrap_or_default();
        rows.iter().for_each(|row| self.write(row));
        self.write(&before);
        self.end_block();
        self.tables.push(Table::default());
        Does::Tables
    }

    fn begin_row(&mut self) -> Does {
        self.end_block();
        if let Some(table) = self.tables.last_mut().filter(|table| !table.is_layout) {
            table.begin_row();
        }
        Does::Blocks
    }

    fn begin_cell(&mut self, heading: bool, tag: &Tag<'_>) -> Does {
        if self.tables.last().is_none_or(|table| table.is_layout) {
            self.line.end_word();
            return Does::Nothing;
        }
        // What stood between the cells stands before the table.
        self.end_block();
        if let Some(table) = self.tables.last_mut() {
            table.begin_cell(heading);
        }
        let width = tag.attribute("colspan").and_then(|width| width.trim().parse().ok());
        Does::Cells { width: width.unwrap_or(1) }
    }
}

/// Ends.
impl<'a> Writer<'a> {
    /// Elements that end because another begins.
    fn end_implied(&mut self, beginning: Sort) {
        let mut at = self.open.len();
        while at > 0 {
            at -= 1;
            let sort = self.open[at].sort;
            if beginning.ends(sort) {
                self.close_from(at);
            } else if sort.is_wall(beginning) {
                return;
            }
        }
    }

    /// The end of an element, and of all that began in it. One that has not begun is none; what is in a cell or a block
    /// does not end what is around it.
    fn end(&mut self, name: &str) {
        let sort = Sort::of(name);
        let is_of_table = matches!(sort, Sort::Table | Sort::Row | Sort::RowGroup | Sort::Cell { .. });
        let is_wall = |open: Sort| match sort {
            _ if sort.is_inline() => !open.is_inline(),
            _ => !is_of_table && matches!(open, Sort::Cell { .. } | Sort::Table),
        };
        for at in (0..self.open.len()).rev() {
            if self.open[at].name == name {
                return self.close_from(at);
            }
            if is_wall(self.open[at].sort) {
                return;
            }
        }
    }

    fn close_from(&mut self, at: usize) {
        while self.open.len() > at {
            let Some(open) = self.open.pop() else { return };
            self.undo(open.does);
        }
    }

    fn undo(&mut self, does: Does) {
        match does {
            Does::Nothing | Does::Titles => {}
            Does::Hides => self.hidden -= 1,
            Does::Marks { close, .. } => self.line.close(&close),
            Does::Code => self.end_code(),
            Does::Preformatted => self.end_preformatted(),
            Does::Blocks => self.end_block(),
            Does::Contains => {
                self.end_block();
                self.containers.pop();
            }
            Does::Lists => {
                self.end_block();
                self.lists.pop();
            }
            Does::Heads => {
                self.end_block();
                self.heading = 0;
            }
            Does::Cells { width } => self.end_cell(width),
            Does::Tables => self.end_table(),
        }
    }

    fn end_code(&mut self) {
        let text = self.code.take().unwrap_or_default();
        if !text.trim().is_empty() {
            self.line.word(&code(&text));
        }
    }

    fn end_preformatted(&mut self) {
        let text = self.preformatted.take().unwrap_or_default();
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        let language = self.language.take().unwrap_or_default();
        if text.is_empty() {
            return;
        }
        if self.is_in_cell() {
            return self.line.word(&code(text));
        }
        let fence = "`".repeat(longest_run(text).max(2) + 1);
        self.write(&format!("{fence}{language}\n{text}\n{fence}"));
    }

    fn end_cell(&mut self, width: usize) {
        if !self.is_in_cell() {
            return self.end_block();
        }
        let text = self.take_line();
        if let Some(table) = self.tables.last_mut() {
            table.end_cell(text, width);
        }
    }

    fn end_table(&mut self) {
        self.end_block();
        let Some(table) = self.tables.pop() else { return };
        if !table.is_layout {
            self.write(&table.lines().join("\n"));
        }
    }

    fn finish(mut self) -> String {
        self.close_from(0);
        self.end_block();
        if self.out.len() > self.most {
            self.out.push_str("\n\n[… the rest is left out: the page is mostly marks …]");
        }
        match self.title {
            Some(title) if !self.out.starts_with(&format!("# {title}\n")) => {
                format!("Title: {title}\n\n{}", self.out)
            }
            _ => self.out,
        }
    }
}

/// Writing.
impl Writer<'_> {
    fn is_in_cell(&self) -> bool {
        self.tables.last().is_some_and(|table| table.in_cell)
    }

    /// Writes the line. In a cell there are no lines, only words; in preformatted text there are no others.
    fn end_block(&mut self) {
        if let Some(text) = &mut self.preformatted {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
        } else if self.is_in_cell() {
            self.line.end_word();
        } else {
            let text = self.take_line();
            self.write_paragraph(&text);
        }
    }

    /// The line so far. Its open marks end in it, and begin anew in the next.
    fn take_line(&mut self) -> String {
        let marks: Vec<(&String, &String)> = self
            .open
            .iter()
            .filter_map(|one| match &one.does {
                Does::Marks { open, close } => Some((open, close)),
                _ => None,
            })
            .collect();
        let written = marks.len().saturating_sub(self.line.waiting());
        let ends: String = marks[..written].iter().rev().map(|(_, close)| close.as_str()).collect();
        let again = marks.iter().map(|(open, _)| (*open).clone()).collect();
        let is_empty = self.line.is_empty();
        let text = self.line.take(again);
        if is_empty { text } else { text + &ends }
    }

    fn write_paragraph(&mut self, text: &str) {
        if self.heading > 0 && !text.trim().is_empty() {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            return self.write(&format!("{} {words}", "#".repeat(self.heading)));
        }
        self.write(text);
    }

    /// Writes lines that belong together, apart from what is before them.
    fn write(&mut self, lines: &str) {
        if lines.trim().is_empty() || self.out.len() > self.most {
            return;
        }
        let is_fresh = |container: &Container| matches!(container, Container::Item { is_fresh: true, .. });
        let begins_item = self.containers.iter().any(is_fresh);
        if !self.out.is_empty() {
            self.out.push_str(if begins_item && self.was_item { "\n" } else { "\n\n" });
        }
        for (index, line) in lines.lines().enumerate() {
            if index > 0 {
                self.out.push('\n');
            }
            self.indent(line.is_empty());
            self.out.push_str(line.trim_end());
        }
        self.was_item = self.containers.iter().any(|container| matches!(container, Container::Item { .. }));
    }

    fn indent(&mut self, is_blank: bool) {
        let before = self.out.len();
        for container in &mut self.containers {
            match container {
                Container::Quote => self.out.push_str("> "),
                Container::Item { marker, is_fresh: true } => self.out.push_str(marker),
                Container::Item { marker, .. } => self.out.extend(std::iter::repeat_n(' ', marker.len())),
            }
            if let Container::Item { is_fresh, .. } = container {
                *is_fresh = false;
            }
        }
        if is_blank {
            let end = self.out[before..].trim_end().len();
            self.out.truncate(before + end);
        }
    }

    /// Where a link leads, in full. None within the page, to a program, or where links have become most of the text.
    fn link(&mut self, target: &str) -> Option<String> {
        let target = target.trim();
        if target.is_empty()
            || target.starts_with('#')
            || target.len() > LONGEST_LINK
            || self.spent > self.most
        {
            return None;
        }
        let url = match &self.base {
            Some(base) => base.join(target).ok()?,
            None => Url::parse(target).ok()?,
        };
        let is_fit =
            matches!(url.scheme(), "http" | "https" | "mailto") && url.as_str().len() <= LONGEST_LINK;
        self.spent += url.as_str().len();
        is_fit.then(|| url.as_str().replace('(', "%28").replace(')', "%29"))
    }
}

/// The language of code, by the classes that highlighters use.
fn language(tag: &Tag<'_>) -> Option<String> {
    let classes = tag.attribute("class")?;
    let mut names = classes.split_ascii_whitespace().filter_map(|class| {
        ["language-", "lang-", "highlight-source-"].iter().find_map(|front| class.strip_prefix(front))
    });
    let is_name = |name: &&str| {
        !name.is_empty()
            && name.len() <= 30
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-#_".contains(&byte))
    };
    names.find(is_name).map(str::to_owned)
}

/// Without the characters that a person cannot see but a model reads: directions, and the tags by which whole messages
/// are hidden in plain text.
fn visible(text: &str) -> Cow<'_, str> {
    let is_unseen = |character: char| matches!(u32::from(character), 0xad | 0x200b | 0x202a..=0x202e | 0x2060 | 0x2066..=0x2069 | 0xfeff | 0xe0000..=0xe0fff);
    if text.is_ascii() || !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(is_unseen, ""))
}
