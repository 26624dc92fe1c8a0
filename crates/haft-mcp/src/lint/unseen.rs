//! Characters that do not show.
//!
//! A model reads them: letters as tags (U+E0041 is an `A` that no font draws), bytes as runs of variation selectors, words
//! torn apart by zero-width spaces. Honest texts have some too: emoji are joined and coloured by them, and several scripts
//! cannot be written without joiners. So what counts is where they stand.

use super::{Kind, Severity, places::Text, remark::Remark};

/// A text with everything that does not show written out (`\u{200b}`), but for line ends and tabs.
pub fn reveal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let is_space = matches!(c, '\n' | '\t');
        if !is_space && (c.is_control() || is_unseen(c) || is_private(c)) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether a character takes no room, or turns what is around it.
pub(super) fn is_unseen(c: char) -> bool {
    is_tag(c) || is_turn(c) || is_mark(c) || is_filler(c) || is_joiner(c) || is_selector(c)
}

/// Letters that no font draws.
fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// What turns the direction of all that follows.
fn is_turn(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What gives a direction to its neighbours: usual in Arabic and Hebrew.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// Spaces without width, and letters without shape.
fn is_filler(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}' | '\u{200b}'
        | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e00ff}'
        | '\u{e01f0}'..='\u{e0fff}')
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// What every font draws differently, or not at all.
fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
}

/// What was seen of a text's unseen characters.
#[derive(Default)]
struct Tally {
    /// What the tags say, in letters.
    tagged: String,
    turns: usize,
    /// Marks of direction in a text that has no letters of such a script.
    marks: usize,
    fillers: usize,
    /// Fillers or joiners between two Latin letters: a word torn apart.
    torn: usize,
    /// The longest run of selectors.
    selectors: usize,
    has_right_to_left: bool,
}

pub(super) fn look(text: &Text<'_>, remarks: &mut Vec<Remark>) {
    if text.text.is_ascii() {
        return;
    }
    let tally = Tally::of(text.text);
    let mut say = |kind, severity, words: String| remarks.push(text.remark(kind, severity, words));
    if !tally.tagged.is_empty() {
        let words = format!("letters that no font draws: {} in {}", tally.tagged, text.text);
        say(Kind::Unseen, Severity::Alarm, words);
    }
    if tally.selectors > 1 {
        say(Kind::Unseen, Severity::Alarm, format!("{} variation selectors in a row", tally.selectors));
    }
    if tally.turns > 0 {
        say(Kind::Direction, Severity::Alarm, around(text.text, is_turn));
    }
    if tally.marks > 0 && !tally.has_right_to_left {
        say(Kind::Direction, Severity::Note, around(text.text, is_mark));
    }
    if let Some(severity) = tally.severity_of_fillers() {
        say(Kind::Unseen, severity, around(text.text, |c| is_filler(c) || is_joiner(c)));
    }
}

impl Tally {
    fn of(text: &str) -> Tally {
        let (mut tally, mut run) = (Tally::default(), 0);
        let (mut before, mut flag) = (None, false);
        let mut letters = text.chars().peekable();
        while let Some(c) = letters.next() {
            // A flag of a part of a country is a black flag and a few tags.
            flag = c == '\u{1f3f4}' || (flag && is_tag(c));
            run = if is_selector(c) { run + 1 } else { 0 };
            tally.selectors = tally.selectors.max(run);
            tally.count(c, flag);
            let is_between = |c: Option<&char>| c.is_some_and(char::is_ascii_alphanumeric);
            if (is_filler(c) || is_joiner(c)) && is_between(before.as_ref()) && is_between(letters.peek()) {
                tally.torn += 1;
            }
            before = Some(c);
        }
        tally
    }

    fn count(&mut self, c: char, flag: bool) {
        self.turns += usize::from(is_turn(c));
        self.marks += usize::from(is_mark(c));
        self.fillers += usize::from(is_filler(c));
        self.has_right_to_left |= matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
            && !is_mark(c);
        if is_tag(c) && !flag {
            self.tagged.push(char::from_u32(c as u32 & 0x7f).filter(|c| !c.is_control()).unwrap_or('.'));
        }
    }

    /// One or two are what copying from a web page leaves behind.
    fn severity_of_fillers(&self) -> Option<Severity> {
        match (self.torn, self.fillers) {
            (0, 0) => None,
            (0, 1..=2) => Some(Severity::Note),
            (0, _) | (1, _) => Some(Severity::Warn),
            _ => Some(Severity::Alarm),
        }
    }
}

/// How much is shown before and after.
const AROUND: usize = 24;

/// The first such character with what is around it.
fn around(text: &str, is_it: impl Fn(char) -> bool) -> String {
    let at = text.chars().position(is_it).unwrap_or(0);
    text.chars().skip(at.saturating_sub(AROUND)).take(2 * AROUND).collect()
}
