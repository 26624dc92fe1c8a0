//! Markdown while it is being written.
//!
//! What can no longer change is given out once, to stay where it is; only the block that is being written is drawn again and
//! again. A block ends where the next one begins; code is given out line by line, since it can be long, and so are the items of
//! a long list and the rows of a long paragraph: what is drawn anew stays small, so that a terminal that becomes narrower has
//! little to wrap and to push away.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::{
    highlight::{Language, Reader},
    markdown::{self, code_line},
    text::Row,
};

/// A block that is longer than this is given out in pieces: it is not read again and again for ever.
const LONGEST_BLOCK: usize = 16 * 1024;

/// A block of more rows than this is given out in parts, if it has any,
const LONG: usize = 8;
/// and of a paragraph so many rows stay open.
const LAST: usize = 3;
/// So many rows are tried as its last: a text of nothing but numbers has none that will do.
const MOST_TRIED: usize = 4;

/// What may make more than words of the words around it.
const MARKUP: &str = "*_`[]<>&\\~|#!\n";

/// A text that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// What was not given out yet.
    open: String,
    fence: Option<Fence>,
    /// Whether something was given out: the next block stands apart from it.
    has_begun: bool,
    /// Whether the open text goes on with a block of which a part was given out.
    continues: bool,
    is_done: bool,
}

/// A code block whose lines are given out one by one.
#[derive(Debug)]
struct Fence {
    mark: char,
    len: usize,
    reader: Reader,
}

impl Stream {
    pub(super) fn push(&mut self, piece: &str) {
        self.open.push_str(piece);
    }

    pub(super) fn finish(&mut self) {
        self.is_done = true;
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Takes out the rows that will not change any more.
    pub(super) fn settled(&mut self, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        loop {
            if self.fence.is_some() {
                rows.extend(self.code(columns));
                if self.fence.is_some() {
                    break;
                }
            }
            let end = self.stable();
            if end > 0 {
                let text: String = self.open.drain(..end).collect();
                rows.extend(self.block(&text, columns));
            }
            if !self.begin_fence(&mut rows) {
                break;
            }
        }
        rows.extend(self.part(columns));
        rows
    }

    /// The part of a long block that will not change any more.
    fn part(&mut self, columns: usize) -> Vec<Row> {
        if self.is_done || self.fence.is_some() || self.open.len() <= LONG {
            return Vec::new();
        }
        let rows = markdown::rows(&self.open, columns);
        if rows.len() <= LONG {
            return Vec::new();
        }
        let end = self.items_over().or_else(|| self.rows_over(&rows));
        let Some(end) = end else { return Vec::new() };
        let text: String = self.open.drain(..end).collect();
        let rows = self.block(&text, columns);
        self.continues = true;
        rows
    }

    /// Where the last item of a list begins: those before it are complete.
    fn items_over(&self) -> Option<usize> {
        let whole = self.open.rfind('\n').map_or(0, |at| at + 1);
        let (mut depth, mut first, mut items) = (0, None, Vec::new());
        for (event, range) in Parser::new_ext(&self.open[..whole], markdown::options()).into_offset_iter() {
            match (&event, depth) {
                (Event::Start(Tag::List(number)), 0) if items.is_empty() => first = *number,
                (_, 0) if !matches!(event, Event::End(_)) => return None,
                (Event::Start(Tag::Item), 1) => items.push(range.start),
                _ => {}
            }
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
        }
        let [_, .., last] = items[..] else { return None };
        let line = self.open[..last].rfind('\n').map_or(0, |at| at + 1);
        let item = self.open[line..].trim_start_matches(' ');
        // What follows is read by itself: as an item again, and with the number that it has now.
        let is_item = self.open.len() - line - item.len() < 4 && last >= self.open.len() - item.len();
        let has_its_number = first.is_none_or(|first| {
            let digits = item.len() - item.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            item[..digits].parse() == Ok(first + items.len() as u64 - 1)
        });
        (is_item && has_its_number).then_some(line)
    }

    /// Where the last rows of a paragraph begin, if those before them are nothing but words.
    fn rows_over(&self, rows: &[Row]) -> Option<usize> {
        let is_word = |c: &char| !c.is_whitespace();
        let plain = self.open.find(|c: char| MARKUP.contains(c)).unwrap_or(self.open.len());
        if !self.open.starts_with(char::is_alphabetic) {
            return None;
        }
        let most = self.open[..plain].chars().filter(is_word).count();
        let over: String = rows[..rows.len().saturating_sub(LAST)]
            .iter()
            .flat_map(|row| row.spans.iter().map(|span| &*span.content).chain(["\n"]))
            .collect();
        // So many characters are in the rows up to the end of each.
        let mut count = 0;
        let ends = over.split_terminator('\n').map(|row| {
            count += row.chars().filter(is_word).count();
            count
        });
        let ends: Vec<usize> = ends.take_while(|count| *count < most).collect();
        ends.into_iter().rev().take(MOST_TRIED).find_map(|count| {
            let at = self.open.char_indices().filter(|(_, c)| is_word(c)).nth(count)?.0;
            let is_same =
                over.chars().filter(is_word).take(count).eq(self.open[..at].chars().filter(is_word));
            // What follows is read by itself, too: it must be no more than words where it begins.
            (is_same && self.open[at..].starts_with(char::is_alphabetic)).then_some(at)
        })
    }

    /// The rows of what may still change.
    pub(super) fn open_rows(&self, columns: usize) -> Vec<Row> {
        match &self.fence {
            Some(fence) => code_line(&self.open, &mut Reader::new(fence.reader.language()), columns),
            None if self.open.trim().is_empty() => Vec::new(),
            None => self.apart(markdown::rows(&self.open, columns)),
        }
    }

    fn block(&mut self, text: &str, columns: usize) -> Vec<Row> {
        let rows = markdown::rows(text, columns);
        if rows.is_empty() {
            return rows;
        }
        let rows = self.apart(rows);
        (self.has_begun, self.continues) = (true, false);
        rows
    }

    fn apart(&self, mut rows: Vec<Row>) -> Vec<Row> {
        if self.has_begun && !self.continues {
            rows.insert(0, Row::default());
        }
        rows
    }

    /// How much of the open text consists of blocks that are complete.
    fn stable(&self) -> usize {
        if self.is_done {
            return self.open.len();
        }
        // A line that is being written can still become anything.
        let whole = self.open.rfind('\n').map_or(0, |at| at + 1);
        let last = self.blocks(whole).last().map_or(0, |block| block.start);
        if last == 0 && whole > LONGEST_BLOCK { whole } else { last }
    }

    fn blocks(&self, end: usize) -> Vec<Block> {
        let mut depth = 0;
        let mut blocks = Vec::new();
        for (event, range) in Parser::new_ext(&self.open[..end], markdown::options()).into_offset_iter() {
            if depth == 0 {
                let code = match &event {
                    Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(name))) => Some(Language::of(name)),
                    _ => None,
                };
                blocks.push(Block { start: range.start, code });
            }
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
        }
        blocks
    }

    /// If the open text begins with a fence, its lines are given out from now on.
    fn begin_fence(&mut self, rows: &mut Vec<Row>) -> bool {
        let whole = self.open.rfind('\n').map_or(0, |at| at + 1);
        let Some(language) = self.blocks(whole).first().and_then(|block| block.code) else { return false };
        let start = self.open.len() - self.open.trim_start_matches(['\n', ' ']).len();
        let Some(line) = self.open[start..].lines().next() else { return false };
        let Some(mark) = line.chars().next().filter(|mark| matches!(mark, '`' | '~')) else { return false };
        let len = line.chars().take_while(|c| *c == mark).count();
        self.open.drain(..start + line.len() + 1);
        self.fence = Some(Fence { mark, len, reader: Reader::new(language) });
        if self.has_begun {
            rows.push(Row::default());
        }
        self.has_begun = true;
        true
    }

    /// The lines of the fence that are complete.
    fn code(&mut self, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        while let Some(mut fence) = self.fence.take() {
            let end = match self.open.find('\n') {
                Some(end) => end + 1,
                None if self.is_done && !self.open.is_empty() => self.open.len(),
                None => {
                    self.fence = Some(fence).filter(|_| !self.is_done);
                    break;
                }
            };
            let line: String = self.open.drain(..end).collect();
            let line = line.trim_end_matches(['\n', '\r']);
            if fence.is_closed_by(line) {
                break;
            }
            rows.extend(code_line(line, &mut fence.reader, columns));
            self.fence = Some(fence);
        }
        rows
    }
}

struct Block {
    start: usize,
    /// The language of a fenced code block.
    code: Option<Language>,
}

impl Fence {
    fn is_closed_by(&self, line: &str) -> bool {
        if line.starts_with("    ") {
            return false;
        }
        let line = line.trim();
        line.chars().count() >= self.len && line.chars().all(|c| c == self.mark)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::text::text_of, *};

    /// What is given out after each piece, and what is still open then.
    fn follow(pieces: &[&str]) -> Vec<(String, String)> {
        let mut stream = Stream::default();
        let text = |rows: Vec<Row>| {
            rows.iter().map(|row| text_of(row).trim_end().to_owned()).collect::<Vec<_>>().join("|")
        };
        let mut step = |piece: &&str| {
            stream.push(piece);
            (text(stream.settled(40)), text(stream.open_rows(40)))
        };
        let mut seen: Vec<_> = pieces.iter().map(&mut step).collect();
        stream.finish();
        seen.push((text(stream.settled(40)), text(stream.open_rows(40))));
        seen
    }

    #[track_caller]
    fn check(pieces: &[&str], expected: &[(&str, &str)]) {
        let seen = follow(pieces);
        let seen: Vec<(&str, &str)> =
            seen.iter().map(|(done, open)| (done.as_str(), open.as_str())).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_block_is_given_out_when_the_next_begins() {
        check(
            &["one **tw", "o**\n\nthr", "ee\n\nfour\n"],
            &[("", "one **tw"), ("", "one two||thr"), ("one two||three", "|four"), ("|four", "")],
        );
    }

    #[test]
    fn code_is_given_out_line_by_line() {
        check(
            &["a\n\n```rs\nlet a", " = 1;\nlet b", ";\n```\nafter"],
            &[("a|", "  let a"), ("  let a = 1;", "  let b"), ("  let b;", "|after"), ("|after", "")],
        );
        check(&["```\nleft open"], &[("", "  left open"), ("  left open", "")]);
    }

    #[test]
    fn an_endless_block_does_not_stay_open() {
        let mut stream = Stream::default();
        (0..2000).for_each(|_| stream.push("words and words\n"));
        assert!(!stream.settled(40).is_empty());
        assert!(stream.open_rows(40).is_empty());
    }

    /// The rows of a text that comes in pieces of so many characters, and the most that were open at any time.
    fn rows_of(text: &str, piece: usize, columns: usize) -> (Vec<String>, usize) {
        let (mut stream, mut rows, mut most) = (Stream::default(), Vec::new(), 0);
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(piece.max(1)) {
            stream.push(&piece.iter().collect::<String>());
            rows.extend(stream.settled(columns));
            most = most.max(stream.open_rows(columns).len());
        }
        stream.finish();
        rows.extend(stream.settled(columns));
        (rows.iter().map(|row| text_of(row).trim_end().to_owned()).collect(), most)
    }

    #[test]
    fn long_lists_and_paragraphs_are_given_out_while_they_are_written() {
        let list: String = (1..=40).map(|n| format!("{n}. Item **{n}** of it\n")).collect();
        let paragraph = "word after word, ".repeat(60);
        for text in [&list, &paragraph] {
            let (rows, most) = rows_of(text, 7, 40);
            assert_eq!(rows, rows_of(text, text.len(), 40).0);
            assert!(most <= LONG + 2, "{most} rows were open");
        }
    }

    #[test]
    fn a_list_whose_numbers_are_all_the_same_is_counted_all_the_same() {
        let list = "1. one\n".repeat(30);
        assert_eq!(rows_of(&list, 5, 40).0.last().map(String::as_str), Some("30. one"));
    }

    proptest! {
        /// What is given out early is what would be given out late.
        #[test]
        fn parts_of_a_block_are_what_the_whole_would_be(
            kind in 0usize..3,
            items in prop::collection::vec(("[a-z]{1,9}( [a-z*`,.]{1,9}){0,9}", any::<(bool, bool)>()), 1..24),
            head in "(|Words\n\n|# Head\n\n|```\ncode\n```\n)",
            piece in 1usize..30,
        ) {
            let line = |(at, (words, (is_deep, is_apart))): (usize, &(String, (bool, bool)))| match kind {
                0 => format!("- {words}\n{}", if *is_deep { "  - and below\n" } else { "" }),
                1 => format!("{}. {words}\n{}", at + 3, if *is_apart { "\n" } else { "" }),
                _ => format!("{words} {}", if *is_deep { "- **strong** " } else { "2. " }),
            };
            let text: String = items.iter().enumerate().map(line).collect();
            let text = format!("{head}{text}\n\nAfter.");
            prop_assert_eq!(rows_of(&text, piece, 40).0, rows_of(&text, text.len(), 40).0);
        }

        #[test]
        fn however_it_is_cut_the_same_words_come(text in "[-a-c#*`>|1. \n]{0,100}", cut in 0usize..100) {
            let cut = cut.min(text.len());
            let words = |pieces: &[&str]| {
                let (mut stream, mut rows) = (Stream::default(), Vec::new());
                for piece in pieces {
                    stream.push(piece);
                    rows.extend(stream.settled(40));
                    stream.open_rows(40);
                }
                stream.finish();
                rows.extend(stream.settled(40));
                assert!(stream.open_rows(40).is_empty());
                rows.iter().map(text_of).collect::<String>().replace(' ', "")
            };
            prop_assert_eq!(words(&[&text[..cut], &text[cut..]]), words(&[&text]));
        }
    }
}
