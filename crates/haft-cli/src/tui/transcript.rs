//! What was said and done, in its order: what is over goes to the terminal's own memory, what goes on is drawn anew.
//!
//! It is a reducer: something happened, and the transcript is another one. It knows no terminal, no clock and no agent, so any
//! order of events can be tried, and none may break it.

use std::{collections::VecDeque, time::Duration};

use haft_engine::turn::{Drawn, Stage};
use haft_tool::{CallId, View};
use ratatui::text::Span;

use super::{
    stream::Stream,
    text::{Break, Row, clean, fit, fit_row, prefixed, row, span, width, wrap},
    theme::{
        BAD, BELOW, BESIDE, COMMENT, DONE, FAILED, GOOD, NOTE, PLAIN, PROMPT, QUIET, REFUSED, STRONG, WAIT,
        WAITING, spinner,
    },
    view,
};

/// Rows of a result that stay on the screen; all are shown on request.
const MOST_ROWS: usize = 12;
/// The same of thoughts.
const MOST_THOUGHTS: usize = 4;
/// Of what is shown whole, so much.
const MOST_WHOLE: usize = 5_000;

/// Something that happened.
#[derive(Debug, Clone)]
pub(super) enum Happened {
    /// The person said something.
    Said(String),
    /// The model is asked.
    Asking,
    /// It says more.
    Text(String),
    /// It thinks more.
    Thinking(String),
    /// It begins to write a call.
    CallOpened(CallId, String),
    /// It has written so many more bytes of it.
    CallGrew(CallId, usize),
    /// It is complete.
    CallWritten(CallId),
    /// Its answer broke off: what it said is void.
    BrokeOff,
    /// A call is at another moment.
    Drawn(Drawn),
    /// Somebody is asked about a call, or not any more.
    Asked(CallId, bool),
    /// Something to know.
    Noted(Tone, String),
    /// Something that the person wants to see, whole and now.
    Printed(View),
    /// The same in Markdown.
    Recited(String),
    /// The turn is over, whatever was left open.
    Over,
}

/// How a note sounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Warning,
    Error,
}

#[derive(Debug)]
enum Item {
    Said(String),
    Text(Stream),
    Thinking { words: String, is_done: bool },
    Call(Box<CallItem>),
    Note(Tone, String),
    Printed(View),
}

#[derive(Debug)]
struct CallItem {
    id: CallId,
    /// One line for a person; the tool's name until there is one.
    title: String,
    step: Step,
    /// When it began to be what it is, in milliseconds.
    since: u64,
}

#[derive(Debug)]
enum Step {
    /// The model writes it.
    Written(usize),
    /// It has written it, and nobody has looked at it yet.
    Complete,
    Waits,
    /// Somebody is asked: whether it may run, or, while it runs, what it wants to know.
    Asked {
        runs: bool,
    },
    Runs(Option<View>),
    Ended(Stage, View),
    /// Its turn ended before it did.
    LeftOut,
}

/// The last result of which not all was shown.
#[derive(Debug)]
struct Whole {
    title: String,
    view: View,
}

/// What was said and done, and is not yet out of our hands.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    items: VecDeque<Item>,
    whole: Option<Whole>,
    /// The calls that somebody is asked about. A question may come before the news that there is such a call, and ends by
    /// being answered, whatever is heard of the call meanwhile.
    asked: Vec<CallId>,
    /// What was given out last.
    last: Option<Kind>,
    /// Whether the first item has given out rows already.
    is_continued: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Words,
    Call,
    Note,
}

impl Transcript {
    /// Takes in what happened, at a moment in milliseconds.
    pub(super) fn happened(&mut self, what: Happened, now: u64) {
        match what {
            Happened::Text(piece) => self.text(&piece),
            Happened::Thinking(piece) => self.thinking(&piece),
            Happened::Said(words) => self.add(Item::Said(words)),
            Happened::Noted(tone, words) => self.add(Item::Note(tone, words)),
            Happened::Printed(view) => self.show(Item::Printed(view)),
            Happened::Recited(words) => {
                let mut stream = Stream::default();
                stream.push(&words);
                stream.finish();
                self.show(Item::Text(stream));
            }
            Happened::Asking => self.finish_words(),
            Happened::CallOpened(id, name) => {
                self.finish_words();
                self.items.push_back(Item::Call(Box::new(CallItem {
                    id,
                    title: name,
                    step: Step::Written(0),
                    since: now,
                })));
            }
            Happened::CallGrew(id, bytes) => {
                if let Some(CallItem { step: Step::Written(size), .. }) = self.open_call(&id) {
                    *size = size.saturating_add(bytes);
                }
            }
            Happened::CallWritten(id) => {
                if let Some(call @ CallItem { step: Step::Written(_), .. }) = self.open_call(&id) {
                    call.step = Step::Complete;
                }
            }
            Happened::BrokeOff => self.break_off(),
            Happened::Drawn(drawn) => self.drawn(drawn, now),
            Happened::Asked(id, is_asked) => self.asked(id, is_asked, now),
            Happened::Over => self.over(),
        }
    }

    fn add(&mut self, item: Item) {
        self.finish_words();
        self.items.push_back(item);
    }

    /// Above all that goes on: what stands behind something is given out when that is over, and until then drawn in what room
    /// there is, which is none for a long change that somebody is asked about.
    fn show(&mut self, item: Item) {
        self.finish_words();
        let place = self.items.iter().position(|item| !item.is_over()).unwrap_or(self.items.len());
        self.items.insert(place, item);
    }

    fn text(&mut self, piece: &str) {
        if let Some(Item::Text(stream)) = self.items.back_mut()
            && !stream.is_done()
        {
            return stream.push(piece);
        }
        self.finish_words();
        let mut stream = Stream::default();
        stream.push(piece);
        self.items.push_back(Item::Text(stream));
    }

    fn thinking(&mut self, piece: &str) {
        if let Some(Item::Thinking { words, is_done: false }) = self.items.back_mut() {
            return words.push_str(piece);
        }
        self.finish_words();
        self.items.push_back(Item::Thinking { words: piece.to_owned(), is_done: false });
    }

    fn finish_words(&mut self) {
        for item in &mut self.items {
            match item {
                Item::Text(stream) => stream.finish(),
                Item::Thinking { is_done, .. } => *is_done = true,
                _ => {}
            }
        }
    }

    /// Calls that nobody has looked at were never made.
    fn break_off(&mut self) {
        self.finish_words();
        self.items.retain(
            |item| !matches!(item, Item::Call(call) if matches!(call.step, Step::Written(_) | Step::Complete)),
        );
    }

    /// The call with this id that is not over. Ids may come again in another turn.
    fn open_call(&mut self, id: &CallId) -> Option<&mut CallItem> {
        self.items.iter_mut().rev().find_map(|item| match item {
            Item::Call(call) if call.id == *id && !call.is_over() => Some(&mut **call),
            _ => None,
        })
    }

    /// The call that goes on and is called like this, if there is only one.
    pub(super) fn only_call(&self, beginning: &str) -> Option<(CallId, String)> {
        let mut calls = self.items.iter().filter_map(|item| match item {
            Item::Call(call) if !call.is_over() && call.title.starts_with(beginning) => Some(call),
            _ => None,
        });
        let only = calls.next().filter(|_| calls.next().is_none())?;
        Some((only.id.clone(), only.title.clone()))
    }

    fn asked(&mut self, id: CallId, is_asked: bool, now: u64) {
        if let Some(call) = self.open_call(&id) {
            call.asked(is_asked, now);
        }
        self.asked.retain(|asked| *asked != id);
        if is_asked {
            self.asked.push(id);
        }
    }

    fn drawn(&mut self, drawn: Drawn, now: u64) {
        let Drawn { call: id, tool, stage, view } = drawn;
        let is_asked = self.asked.contains(&id);
        if self.open_call(&id).is_none() {
            self.finish_words();
            let call = CallItem { id: id.clone(), title: tool, step: Step::Waits, since: now };
            self.items.push_back(Item::Call(Box::new(call)));
        }
        let Some(call) = self.open_call(&id) else { return };
        match (stage, view) {
            (Stage::Queued | Stage::Using, view) => {
                if let View::Text(title) = view {
                    call.title = title;
                }
                (call.step, call.since) =
                    (if stage == Stage::Using { Step::Runs(None) } else { Step::Waits }, now);
            }
            (Stage::Progress, view) => call.step = Step::Runs(Some(view)),
            (stage, view) => call.step = Step::Ended(stage, view),
        }
        if is_asked {
            call.asked(true, now);
        }
    }

    fn over(&mut self) {
        self.break_off();
        for item in &mut self.items {
            if let Item::Call(call) = item
                && !call.is_over()
            {
                call.step = Step::LeftOut;
            }
        }
    }

    /// Shows again, and whole, what was shortened last.
    pub(super) fn show_whole(&mut self) -> bool {
        let Some(Whole { title, view }) = self.whole.take() else { return false };
        self.show(Item::Printed(View::List(vec![View::Text(title), view])));
        true
    }

    /// Takes out the rows that will not change any more.
    pub(super) fn settled(&mut self, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        while let Some(mut item) = self.items.pop_front() {
            let is_over = item.is_over();
            let (more, whole) = item.settled(columns);
            self.whole = whole.or(self.whole.take());
            if !more.is_empty() {
                if !self.is_continued && stands_apart(self.last, item.kind()) {
                    rows.push(Row::default());
                }
                (self.last, self.is_continued) = (Some(item.kind()), true);
                rows.extend(more);
            }
            if !is_over {
                self.items.push_front(item);
                break;
            }
            self.is_continued = false;
        }
        rows
    }

    /// The rows of what goes on, at a moment.
    pub(super) fn open_rows(&self, columns: usize, now: u64) -> Vec<Row> {
        let (mut rows, mut last, mut is_continued) = (Vec::new(), self.last, self.is_continued);
        for item in &self.items {
            let more = item.open_rows(columns, now);
            if more.is_empty() {
                continue;
            }
            if !is_continued && stands_apart(last, item.kind()) {
                rows.push(Row::default());
            }
            (last, is_continued) = (Some(item.kind()), false);
            rows.extend(more);
        }
        rows
    }
}

/// Calls stand close to calls, and notes to notes.
fn stands_apart(last: Option<Kind>, next: Kind) -> bool {
    last.is_some_and(|last| last != next || next == Kind::Words)
}

impl Item {
    fn kind(&self) -> Kind {
        match self {
            Item::Call(_) => Kind::Call,
            Item::Note(..) => Kind::Note,
            _ => Kind::Words,
        }
    }

    fn is_over(&self) -> bool {
        match self {
            Item::Text(stream) => stream.is_done(),
            Item::Thinking { is_done, .. } => *is_done,
            Item::Call(call) => call.is_over(),
            Item::Said(_) | Item::Note(..) | Item::Printed(_) => true,
        }
    }

    /// The rows that will not change any more, and what they leave out.
    fn settled(&mut self, columns: usize) -> (Vec<Row>, Option<Whole>) {
        match self {
            Item::Text(stream) => (stream.settled(columns), None),
            item if !item.is_over() => (Vec::new(), None),
            Item::Thinking { words, .. } => thoughts(words, columns),
            Item::Call(call) => call.settled(columns),
            item => (item.open_rows(columns, 0), None),
        }
    }

    fn open_rows(&self, columns: usize, now: u64) -> Vec<Row> {
        match self {
            Item::Said(words) => said(words, columns),
            Item::Text(stream) => stream.open_rows(columns),
            Item::Thinking { words, .. } => {
                let mut rows = thinking(words, columns);
                rows.drain(..rows.len().saturating_sub(MOST_THOUGHTS));
                rows
            }
            Item::Call(call) => call.open_rows(columns, now),
            Item::Note(tone, words) => note(*tone, words, columns),
            Item::Printed(view) => {
                let mut rows = view::rows(view, columns);
                if rows.len() > MOST_WHOLE {
                    rows.truncate(MOST_WHOLE);
                    rows.push(row("… and more than can be shown here", QUIET));
                }
                rows
            }
        }
    }
}

/// What the person said, as they wrote it.
fn said(words: &str, columns: usize) -> Vec<Row> {
    let room = columns.saturating_sub(2);
    let rows = words.lines().flat_map(|line| wrap(&row(line, STRONG), room, 0, Break::Words)).collect();
    prefixed(rows, &Span::styled(PROMPT, NOTE), &Span::raw("  "))
}

fn thinking(words: &str, columns: usize) -> Vec<Row> {
    let room = columns.saturating_sub(2);
    let lines = words.lines().filter(|line| !line.trim().is_empty());
    let rows = lines.flat_map(|line| wrap(&row(line, COMMENT), room, 0, Break::Words)).collect();
    prefixed(rows, &Span::styled("∴ ", QUIET), &Span::raw("  "))
}

fn thoughts(words: &str, columns: usize) -> (Vec<Row>, Option<Whole>) {
    let short = view::shorten(thinking(words, columns), MOST_THOUGHTS);
    let whole =
        (short.hidden > 0).then(|| Whole { title: "What it thought:".to_owned(), view: View::text(words) });
    (short.rows, whole)
}

fn note(tone: Tone, words: &str, columns: usize) -> Vec<Row> {
    let (sign, style) = match tone {
        Tone::Plain => ("· ", QUIET),
        Tone::Warning => ("! ", WAIT),
        Tone::Error => ("✗ ", BAD),
    };
    let room = columns.saturating_sub(2);
    let rows = words.lines().flat_map(|line| wrap(&row(line, style), room, 0, Break::Words)).collect();
    prefixed(rows, &Span::styled(sign, style), &Span::raw("  "))
}

impl CallItem {
    /// What is waited for is not what it does: a call that goes on afterwards is timed anew.
    fn asked(&mut self, is_asked: bool, now: u64) {
        self.step = match (&self.step, is_asked) {
            (Step::Waits | Step::Written(_) | Step::Complete, true) => Step::Asked { runs: false },
            (Step::Runs(_), true) => Step::Asked { runs: true },
            (Step::Asked { runs: true }, false) => Step::Runs(None),
            (Step::Asked { runs: false }, false) => Step::Waits,
            _ => return,
        };
        self.since = now;
    }

    fn is_over(&self) -> bool {
        matches!(self.step, Step::Ended(..) | Step::LeftOut)
    }

    fn settled(&self, columns: usize) -> (Vec<Row>, Option<Whole>) {
        // Two rows, as words are wrapped: a command of a page is not a title.
        let (head, is_cut) = self.head(0, 2 * columns - columns / 5);
        let mut rows = wrap(&head, columns, 2, Break::Words);
        let Step::Ended(stage, view) = &self.step else { return (rows, None) };
        let body = without_title(view, &self.title);
        let most = if matches!(stage, Stage::Failed(_)) { 2 * MOST_ROWS } else { MOST_ROWS };
        let all = body.map(|body| view::rows(&body, columns.saturating_sub(4))).unwrap_or_default();
        let short = view::shorten(all, most);
        let is_short = short.hidden > 0 || is_cut;
        let whole = is_short.then(|| Whole { title: self.title.clone(), view: view.clone() });
        let mut body = short.rows;
        if is_short {
            body.push(row(&fit("(Ctrl-O shows all)", columns.saturating_sub(4)), QUIET));
        }
        rows.extend(prefixed(body, &Span::styled(BELOW, QUIET), &Span::raw(BESIDE)));
        (rows, whole)
    }

    fn open_rows(&self, columns: usize, now: u64) -> Vec<Row> {
        let mut rows = vec![fit_row(self.head(now, columns).0, columns)];
        if let Step::Runs(Some(view)) = &self.step {
            let mut progress = view::rows(view, columns.saturating_sub(4));
            progress.drain(..progress.len().saturating_sub(3));
            let progress = progress.into_iter().map(|row| fit_row(row, columns.saturating_sub(4))).collect();
            rows.extend(prefixed(progress, &Span::styled(BELOW, QUIET), &Span::raw(BESIDE)));
        }
        rows
    }

    /// Its sign, what it is, and how it stands, in so many columns; whether what it is had to be cut.
    fn head(&self, now: u64, columns: usize) -> (Row, bool) {
        let (sign, style, word) = match &self.step {
            Step::Written(0) => (spinner(now), QUIET, String::new()),
            Step::Written(bytes) => (spinner(now), QUIET, format!("{} written", size(*bytes))),
            Step::Waits | Step::Complete => (WAITING, QUIET, "waits".to_owned()),
            Step::Asked { .. } => ("?", WAIT, "asks you".to_owned()),
            Step::Runs(_) => (spinner(now), NOTE, elapsed(now.saturating_sub(self.since))),
            Step::Ended(Stage::Done(took), _) => (DONE, GOOD, lasted(*took)),
            Step::Ended(Stage::Refused, _) => (REFUSED, WAIT, "refused".to_owned()),
            Step::Ended(Stage::Failed(took), _) => (FAILED, BAD, lasted(*took)),
            Step::Ended(..) => (DONE, GOOD, String::new()),
            Step::LeftOut => (FAILED, QUIET, "not finished".to_owned()),
        };
        let word = if word.is_empty() { word } else { format!("  {word}") };
        let (whole, room) = (clean(&self.title), columns.saturating_sub(2 + width(&word)));
        let title = fit(&whole, room);
        let is_cut = title != whole;
        let spans = [Span::styled(format!("{sign} "), style), span(&title, PLAIN), Span::styled(word, QUIET)];
        (Row::from_iter(spans.into_iter().filter(|span| !span.content.is_empty())), is_cut)
    }
}

/// A view without what its call is called: that stands above it.
fn without_title(view: &View, title: &str) -> Option<View> {
    match view {
        View::Text(text) => {
            let rest = text.strip_prefix(title).unwrap_or(text);
            let rest = rest.strip_prefix(" (refused)").unwrap_or(rest);
            let rest = rest.strip_prefix(": ").unwrap_or(rest).trim();
            // A command is what its call is called.
            let is_new = !rest.is_empty() && !rest.starts_with("$ ") && !title.ends_with(rest);
            is_new.then(|| View::text(rest))
        }
        View::List(items) => {
            let mut items: Vec<View> = items.clone();
            if let Some(first) = items.first() {
                match without_title(first, title) {
                    Some(first) => items[0] = first,
                    None => drop(items.remove(0)),
                }
            }
            (!items.is_empty()).then_some(View::List(items))
        }
        view => Some(view.clone()),
    }
}

/// How long it has been running, from two seconds on.
fn elapsed(ms: u64) -> String {
    if ms < 2_000 { String::new() } else { seconds(Duration::from_millis(ms)) }
}

/// How long it ran, if that is worth a word.
fn lasted(took: Duration) -> String {
    if took < Duration::from_secs(1) { String::new() } else { seconds(took) }
}

/// `3s`, `2m 05s`
pub(super) fn seconds(took: Duration) -> String {
    match took.as_secs() {
        seconds @ ..60 => format!("{seconds}s"),
        seconds => format!("{}m {:02}s", seconds / 60, seconds % 60),
    }
}

/// `340 bytes`, `12 KB`
fn size(bytes: usize) -> String {
    match bytes {
        ..2_000 => format!("{bytes} bytes"),
        _ => format!("{} KB", bytes / 1_000),
    }
}
