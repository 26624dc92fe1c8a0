//! Where the passage stands that the model wants to replace, and what the text is afterwards.
//!
//! First as it is written. Then, one after the other, with a kind of difference forgiven that cannot change what is
//! meant. The first way that finds the passage decides: one place is edited, several are refused. A passage that is
//! only nearly there is refused too, with what is there instead.

use std::{fmt, ops::Range};

use haft_tool::{Hidden, without_hidden};

use super::{
    merge::Merge,
    nearest::{self, Region, longest_words},
    request::Request,
    view::{Rules, View, find_from, lines},
};

/// Replaces `old` by `new` in `text`: at its only place, or with `all` at every place.
///
/// A passage that begins or ends within something hidden does not occur: whether it does would tell what is hidden, a
/// character at a time. What comes nearest is told as the model is shown it.
pub(crate) fn edit(
    text: &str,
    hidden: &[Hidden],
    old: &str,
    new: &str,
    all: bool,
) -> Result<Edited, Refused> {
    sensible(old, new)?;
    let edited = match exact(text, hidden, old, new, all)? {
        Some(edited) => Some(edited),
        None => loose(text, hidden, old, new, all)?,
    };
    match edited {
        Some(edited) if edited.text == text => Err(Refused::Identical),
        Some(edited) => Ok(edited),
        None => Err(Refused::NotThere { nearest: nearest::find(&without_hidden(text, hidden), old) }),
    }
}

/// Whether a place begins or ends within something hidden.
fn cuts(hidden: &[Hidden], place: &Range<usize>) -> bool {
    let within = |at: usize| hidden.iter().any(|Hidden { range, .. }| range.start < at && at < range.end);
    within(place.start) || within(place.end)
}

/// Refuses what could not be an edit of any text.
pub(crate) fn sensible(old: &str, new: &str) -> Result<(), Refused> {
    if old.is_empty() {
        return Err(Refused::Empty);
    }
    if old == new { Err(Refused::Identical) } else { Ok(()) }
}

/// A text after an edit.
#[derive(Debug)]
pub(crate) struct Edited {
    pub(crate) text: String,
    /// The line in the new text at which each replacement starts, from 1.
    pub(crate) places: Vec<usize>,
    /// What was forgiven, for the model to know.
    pub(crate) loosened: Option<Loosening>,
}

/// A difference between the old text and the file that was forgiven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loosening {
    LineEndings,
    TrailingBlanks,
    LineNumbers,
    Indentation,
    Typography,
    Escapes,
    EdgeBlankLines,
}

impl fmt::Display for Loosening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Loosening::LineEndings => "the line endings were adapted to the file's",
            Loosening::TrailingBlanks => {
                "blanks at the ends of lines differ from the file's; the file's were kept"
            }
            Loosening::LineNumbers => "line numbers are not part of the file and were left out",
            Loosening::Indentation => "the indentation was adapted to the file's",
            Loosening::Typography => {
                "quotes, dashes, spaces or accents are written otherwise in the file; the file's were kept"
            }
            Loosening::Escapes => {
                "quotes, backslashes or newlines were escaped once too often; one layer was taken off"
            }
            Loosening::EdgeBlankLines => {
                "blank lines around the passage are not in the file and were left out"
            }
        })
    }
}

/// Why nothing was edited. Displayed, it tells the model how to go on.
#[derive(Debug)]
pub(crate) enum Refused {
    /// There is no old text.
    Empty,
    /// The text would stay as it is.
    Identical,
    /// The old text does not occur; this is what comes nearest.
    NotThere { nearest: Option<Region> },
    /// The old text occurs at these lines, and at more places than are listed.
    Ambiguous { lines: Vec<usize>, more: usize },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Empty => f.write_str("the old text is empty; to create or overwrite a file, use Write"),
            Refused::Identical => f.write_str("nothing would change: the new text is the same as the old"),
            Refused::NotThere { nearest: None } => f.write_str(
                "the old text does not occur in the file, nor does anything like it; read the file again",
            ),
            Refused::NotThere { nearest: Some(region) } => {
                write!(f, "the old text does not occur in the file; {region}")
            }
            Refused::Ambiguous { lines, more } => {
                let listed: Vec<_> = lines.iter().map(usize::to_string).collect();
                let rest = if *more > 0 { format!(" and {more} more") } else { String::new() };
                write!(
                    f,
                    "the old text occurs {} times (lines {}{rest}); include a neighbouring line, or replace all",
                    lines.len() + more,
                    listed.join(", ")
                )
            }
        }
    }
}

const MOST_LISTED: usize = 20;

impl Refused {
    fn ambiguous(text: &str, places: impl Iterator<Item = usize>) -> Refused {
        let (mut lines, mut more, mut counter) = (Vec::new(), 0, LineCounter::new(text));
        for place in places {
            if lines.len() < MOST_LISTED {
                lines.push(counter.line_at(place));
            } else {
                more += 1;
            }
        }
        Refused::Ambiguous { lines, more }
    }
}

/// The numbers of lines, asked for from top to bottom.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    fn new(text: &'a str) -> LineCounter<'a> {
        LineCounter { text, at: 0, line: 1 }
    }

    fn line_at(&mut self, at: usize) -> usize {
        self.line += count_newlines(&self.text[self.at..at]);
        self.at = at;
        self.line
    }
}

fn count_newlines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// The passage as it is written.
fn exact(text: &str, hidden: &[Hidden], old: &str, new: &str, all: bool) -> Result<Option<Edited>, Refused> {
    let is_whole = |place: &Range<usize>| !cuts(hidden, place);
    let mut found = Occurrences { text, old, from: 0 }.filter(is_whole);
    let Some(first) = found.next() else { return Ok(None) };
    let all_places = || text.match_indices(old).map(|(at, _)| at..at + old.len()).filter(is_whole);
    if !all && let Some(second) = found.next() {
        // Places that overlap are two as well, but are not counted on from there.
        return Err(match all_places().nth(1) {
            Some(_) => Refused::ambiguous(text, all_places().map(|place| place.start)),
            None => Refused::ambiguous(text, [first.start, second.start].into_iter()),
        });
    }
    let places: Vec<_> = if all { all_places().collect() } else { vec![first] };
    // Half a line end is no line end: the looser way takes both characters as one.
    if places.iter().any(|place| splits_line_end(text, place.start) || splits_line_end(text, place.end)) {
        return Ok(None);
    }
    let adapts = new.contains('\n') && !has_bare_newline(old);
    let mut ends = LineEnds::new(text);
    let replacements = places.into_iter().map(|place| {
        let end = if adapts { ends.near(place.start) } else { "\n" };
        let replacement = if end == "\n" { new.to_owned() } else { with_line_ends(new, end) };
        (place, replacement)
    });
    Ok(Some(splice(text, replacements, None)))
}

/// Every place of a passage, those that overlap too.
struct Occurrences<'a> {
    text: &'a str,
    old: &'a str,
    from: usize,
}

impl Iterator for Occurrences<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let found = find_from(self.text, self.old, self.from)?;
        self.from = found.start + self.text[found.start..].chars().next().map_or(1, char::len_utf8);
        Some(found)
    }
}

fn splits_line_end(text: &str, at: usize) -> bool {
    text[..at].ends_with('\r') && text[at..].starts_with('\n')
}

fn has_bare_newline(text: &str) -> bool {
    lines(text).any(|line| line.end == "\n")
}

fn with_line_ends(text: &str, end: &str) -> String {
    lines(text).flat_map(|line| [line.text, if line.end.is_empty() { "" } else { end }]).collect()
}

/// The kind of line end that is used around a place, asked for from top to bottom.
struct LineEnds<'a> {
    text: &'a str,
    /// Up to here the answer is known.
    known: Option<(usize, &'a str)>,
}

impl<'a> LineEnds<'a> {
    fn new(text: &'a str) -> LineEnds<'a> {
        LineEnds { text, known: None }
    }

    fn near(&mut self, at: usize) -> &'a str {
        if let Some((until, end)) = self.known
            && at <= until
        {
            return end;
        }
        let is_end = |character: char| matches!(character, '\n' | '\r');
        let (until, end) = match self.text[at..].find(is_end) {
            Some(next) => (at + next, line_end_at(self.text, at + next)),
            None => {
                let last = self.text.rfind(is_end).map_or("\n", |last| {
                    let is_pair = last > 0 && splits_line_end(self.text, last);
                    line_end_at(self.text, last - usize::from(is_pair))
                });
                (self.text.len(), last)
            }
        };
        self.known = Some((until, end));
        end
    }
}

fn line_end_at(text: &str, at: usize) -> &str {
    let len = if text[at..].starts_with("\r\n") { 2 } else { 1 };
    &text[at..at + len]
}

/// The text with each range replaced; they come in order and do not overlap.
fn splice(
    text: &str,
    replacements: impl Iterator<Item = (Range<usize>, String)>,
    loosened: Option<Loosening>,
) -> Edited {
    let mut edited = Edited { text: String::with_capacity(text.len()), places: Vec::new(), loosened };
    let (mut at, mut line) = (0, 1);
    for (place, replacement) in replacements {
        let between = &text[at..place.start];
        line += count_newlines(between);
        edited.places.push(line);
        line += count_newlines(&replacement);
        edited.text.push_str(between);
        edited.text.push_str(&replacement);
        at = place.end;
    }
    edited.text.push_str(&text[at..]);
    edited
}

/// A way to look for the passage.
struct Attempt {
    loosening: Loosening,
    request: Request,
    rules: Rules,
}

/// The passage but for one kind of difference, the most harmless first.
fn loose(text: &str, hidden: &[Hidden], old: &str, new: &str, all: bool) -> Result<Option<Edited>, Refused> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mark = text.len() - body.len();
    let mut view: Option<View> = None;
    for attempt in attempts(body, &Request::new(old, new)) {
        if !attempt.may_succeed(body) {
            continue;
        }
        let view = match view.take() {
            Some(same) if same.rules == attempt.rules => view.insert(same),
            _ => view.insert(View::new(body, attempt.rules)),
        };
        let Some(mut places) = attempt.places(body, view, all) else { return Ok(None) };
        places.retain(|place| !cuts(hidden, &(place.start + mark..place.end + mark)));
        match places.len() {
            0 => {}
            1 => return Ok(attempt.replace(text, body, &places)),
            _ if all => return Ok(attempt.replace(text, body, &places)),
            _ => return Err(Refused::ambiguous(body, places.iter().map(|place| place.start))),
        }
    }
    Ok(None)
}

/// All ways, in order. Those that rewrite the request forgive trailing blanks too: these cannot be seen.
fn attempts(text: &str, request: &Request) -> Vec<Attempt> {
    let as_is = Rules::default();
    let trailing = Rules { trailing: true, ..as_is };
    let indentation = Rules { leading: true, ..trailing };
    let typography = Rules { typography: true, ..trailing };
    let mut attempts = Vec::new();
    let mut attempt = |loosening, request: &Request, rules| {
        attempts.push(Attempt { loosening, request: request.clone(), rules });
    };

    if text.contains('\r') || request.old.contains(['\r', '\u{feff}']) {
        attempt(Loosening::LineEndings, &request.without_mark(), as_is);
    }
    let request = &request.without_mark();
    let numberless = request.without_numbers();
    attempt(Loosening::TrailingBlanks, request, trailing);
    if let Some(numberless) = &numberless {
        attempt(Loosening::LineNumbers, numberless, trailing);
    }
    attempt(Loosening::Indentation, request, indentation);
    if let Some(numberless) = &numberless {
        attempt(Loosening::LineNumbers, numberless, indentation);
    }
    attempt(Loosening::Typography, request, typography);
    attempt(Loosening::Typography, request, Rules { leading: true, ..typography });
    for escapeless in request.without_escapes() {
        attempt(Loosening::Escapes, &escapeless, trailing);
        attempt(Loosening::Escapes, &escapeless, indentation);
    }
    if let Some(edgeless) = request.without_edges() {
        attempt(Loosening::EdgeBlankLines, &edgeless, trailing);
        attempt(Loosening::EdgeBlankLines, &edgeless, indentation);
    }
    attempts
}

/// More places than this that look right at first and are not: the text is too regular to be sure of anything.
const MOST_FALSE_STARTS: usize = 10_000;
/// More places than this need not be told apart.
const MOST_PLACES: usize = 1_000;

/// So many words are looked for before the passage is.
const MOST_WORDS: usize = 8;

impl Attempt {
    /// Whether the words of the passage occur at all: much faster than a view of a large file.
    fn may_succeed(&self, text: &str) -> bool {
        let words = longest_words(&self.request.old);
        words.into_iter().take(MOST_WORDS).all(|word| {
            // The last letter may carry an accent of its own, which the file writes as one character.
            let certain = if self.rules.typography { &word[..word.len() - 1] } else { word };
            text.contains(certain)
        })
    }

    /// Where the passage stands in the file; none if that cannot be said.
    fn places(&self, text: &str, view: &View, all: bool) -> Option<Vec<Range<usize>>> {
        let passage = self.rules.apply(&self.request.old);
        if passage.trim().is_empty() {
            return Some(Vec::new());
        }
        let (before, behind) = self.surroundings();
        let needle = [before, &passage, behind].concat();
        let (mut places, mut false_starts, mut from) = (Vec::new(), 0, 0);
        while let Some(found) = find_from(&view.text, &needle, from) {
            let inner = found.start + before.len()..found.end - behind.len();
            let place = self.place(text, view, &inner);
            let is_right = place.as_ref().is_some_and(|place| self.accepts(text, place, &passage));
            from = found.start + view.text[found.start..].chars().next().map_or(1, char::len_utf8);
            if is_right {
                places.extend(place);
                if all {
                    from = inner.end.max(from);
                } else if places.len() > MOST_PLACES {
                    break;
                }
            } else {
                false_starts += 1;
                if false_starts > MOST_FALSE_STARTS {
                    return None;
                }
            }
        }
        Some(places)
    }

    /// What must stand around the passage in the view, which has a line end before every line and behind it.
    fn surroundings(&self) -> (&'static str, &'static str) {
        let old = &self.request.old;
        let first = lines(old).next().map_or("", |line| line.text);
        let last = lines(old).last().map_or("", |line| line.text);
        // Indentation is compared only of whole indentations, trailing blanks only at the ends of lines.
        let from_start =
            self.request.from_start || (self.rules.leading && !self.rules.trim(first).is_empty());
        let trimmed = Rules { leading: false, ..self.rules }.trim(last).len() < last.len();
        let to_end = self.request.to_end || trimmed;
        (if from_start { "\n" } else { "" }, if to_end { "\n" } else { "" })
    }

    /// The passage in the file, with its indentation and its trailing blanks.
    fn place(&self, text: &str, view: &View, inner: &Range<usize>) -> Option<Range<usize>> {
        let line_start = |at: usize| text[..at].trim_end_matches([' ', '\t']).len();
        let starts_line = view.text[..inner.start].ends_with('\n');
        let mut start = view.position(inner.start);
        if self.rules.leading && starts_line {
            start = line_start(start);
        }
        let mut end = view.position(inner.end);
        if view.text[..inner.end].ends_with('\n') {
            end = line_start(end);
        }
        let is_whole = start < end && text.is_char_boundary(start) && text.is_char_boundary(end);
        is_whole.then_some(start..end)
    }

    /// Checks the place by itself: a view can match in the middle of a character, or with an uneven indentation.
    fn accepts(&self, text: &str, place: &Range<usize>, passage: &str) -> bool {
        let Some(found) = text.get(place.clone()) else { return false };
        let at_line = || count_newlines(&text[..place.start]) + 1;
        self.rules.apply(found) == *passage
            && self.request.at_line.is_none_or(|line| line == at_line())
            && self.merge(text, place, "\n").is_some()
    }

    fn merge<'a>(&'a self, text: &'a str, place: &Range<usize>, end: &'a str) -> Option<Merge<'a>> {
        let request = &self.request;
        Merge::new(&text[place.clone()], &request.old, &request.new, self.rules, end, text)
    }

    fn replace(&self, text: &str, body: &str, places: &[Range<usize>]) -> Option<Edited> {
        let mark = text.len() - body.len();
        let mut ends = LineEnds::new(body);
        let mut replacements = Vec::new();
        for place in places {
            let merged = self.merge(body, place, ends.near(place.start))?.text()?;
            replacements.push((place.start + mark..place.end + mark, merged));
        }
        Some(splice(text, replacements.into_iter(), Some(self.loosening)))
    }
}
