//! The inside of private keys whose first line is out of sight, or has something before it.
//!
//! `grep -rn`, `git blame`, `nl`, `tail`, `diff`, `cat -A` and strings of programs put something around each line of a key.
//! What they all leave is its shape: run after run of as many base64 characters each, and a shorter one at the end.
//! Certificates and public keys have that shape, too. They are told by their first line, where it is there.

use memchr::memmem;

use crate::{
    found::{PRIVATE_KEY, Span, is_marked},
    words,
};

/// A line of a key has so many characters: 64 in PEM, 70 in OpenSSH's own form, 76 in base64 of base64.
const LEAST: usize = 60;
const MOST: usize = 78;
/// A last line may be as short as this.
const LEAST_TAIL: usize = 4;
/// So many lines after a first line may be headers.
const MOST_HEADERS: u8 = 8;

/// What lines before a text say of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// The last runs in the line before, the latest first. Between two lines of a key another secret may stand.
    last: [Option<Run>; REMEMBERED],
    /// For so many lines what comes may be a certificate or a public key.
    public: u8,
    /// The line before says that lines of a private key follow.
    is_announced: bool,
}

/// So many runs of a line are compared with those that follow.
const REMEMBERED: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    length: usize,
    /// What stands before it in its line, without letters and digits.
    margin: u64,
    state: State,
    /// Where it stands in the text at hand, if the next line may hide it.
    alone: Option<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first of its length: what follows says what it is.
    Alone,
    Private,
    Public,
}

impl Body {
    /// Finds the lines of keys in whole lines from a place on, and remembers the last.
    pub(crate) fn find(&mut self, text: &[u8], from: usize, spans: &mut Vec<Span>) {
        let mut at = from;
        // What stood in an earlier text is no place in this one.
        self.last.iter_mut().flatten().for_each(|run| run.alone = None);
        while at < text.len() {
            let next = self.next_line(text, at);
            let between = &text[at..next.unwrap_or(text.len())];
            let skipped = memchr::memchr_iter(b'\n', between).take(usize::from(MOST_HEADERS)).count();
            if skipped > 0 {
                self.last = [None; REMEMBERED];
                self.is_announced = false;
                self.public = self.public.saturating_sub(skipped as u8);
            }
            let Some(next) = next else { return };
            let end = next + memchr::memchr(b'\n', &text[next..]).unwrap_or(text.len() - next);
            self.line(text, next, end, spans);
            at = end + 1;
        }
    }

    /// Whether the last of these whole lines cannot be judged before the next is there.
    pub(crate) fn is_open(mut self, lines: &[u8]) -> bool {
        let line = lines.strip_suffix(b"\n").unwrap_or(lines);
        let start = memchr::memrchr(b'\n', line).map_or(0, |at| at + 1);
        if line.len() - start < LEAST || runs(&line[start..]).next().is_none() {
            return false;
        }
        self.find(lines, 0, &mut Vec::new());
        self.last.iter().flatten().any(|last| last.alone.is_some())
    }

    /// Where the next line begins that must be looked at.
    fn next_line(&self, text: &[u8], at: usize) -> Option<usize> {
        if self.last[0].is_some() || self.is_announced {
            return Some(at);
        }
        let run = runs(&text[at..]).next().map(|run| at + run.0);
        let until = run.unwrap_or(text.len());
        let header = announcement(&text[at..until]).map(|place| at + place);
        let place = header.or(run)?;
        Some(memchr::memrchr(b'\n', &text[at..place]).map_or(at, |before| at + before + 1))
    }

    fn line(&mut self, text: &[u8], start: usize, end: usize, spans: &mut Vec<Span>) {
        let line = &text[start..end];
        let before = std::mem::replace(&mut self.last, [None; REMEMBERED]);
        let mut announced = std::mem::take(&mut self.is_announced);
        let mut public = self.public;
        self.public = public.saturating_sub(1);
        let hide = |run: (usize, usize)| Span {
            start: start + run.0,
            end: start + run.1,
            kind: PRIVATE_KEY,
            sure: true,
        };
        let (mut earlier, mut rest) = (before, 0);
        // What is announced in this very line says more than what was above.
        if let Some(first) = runs(line).next()
            && let Some(place) = announcement(&line[..first.0])
        {
            announced = is_private(line, place);
            public = if announced { 0 } else { MOST_HEADERS };
            (earlier, self.public) = ([None; REMEMBERED], public);
        }
        for run in runs(line) {
            let length = run.1 - run.0;
            rest = run.1;
            let same = [&mut self.last, &mut earlier]
                .into_iter()
                .flatten()
                .flatten()
                .find(|one| one.length == length);
            let state = match same {
                Some(one) if one.state != State::Alone => one.state,
                Some(one) => {
                    spans.extend(one.alone.take());
                    State::Private
                }
                _ if announced => State::Private,
                _ if public > 0 || is_public(&line[run.0..]) => State::Public,
                _ => State::Alone,
            };
            spans.extend((state == State::Private).then(|| hide(run)));
            let alone = (state == State::Alone).then(|| hide(run));
            self.last.rotate_right(1);
            self.last[0] = Some(Run { length, margin: margin(&line[..run.0]), state, alone });
        }
        // Lines that wait for the next come one by one: of two runs in a line, one could be known before the other.
        if self.last[1].is_some() {
            self.last.iter_mut().flatten().for_each(|run| run.alone = None);
        }
        if let Some(last) = self.last[0] {
            if last.state == State::Private && line[rest..].starts_with(b"\\n") {
                let length = line[rest + 2..].iter().take_while(|byte| is_base64(**byte)).count();
                spans.extend((length >= LEAST_TAIL).then(|| hide((rest + 2, rest + 2 + length))));
            }
            return;
        }
        let is_after_key = announced || before[0].is_some_and(|before| before.state == State::Private);
        if let Some(run) = tail(line, before[0], announced).filter(|_| is_after_key) {
            spans.push(hide(run));
            // Beside it stands the other side of a comparison.
            let others = words_of(&line[..run.0]).filter(|word| word.1 - word.0 >= 12);
            spans.extend(others.filter(|word| !words::is_words(&line[word.0..word.1])).map(hide));
        }
        if let Some(place) = announcement(line) {
            let is_private = is_private(line, place);
            // Behind what was taken out of this very line, nothing more of it comes.
            self.is_announced = is_private && !is_marked(&line[place..]);
            self.public = if is_private { 0 } else { MOST_HEADERS };
        }
    }
}

/// Runs of base64 that are as long as a line of a key and look random.
fn runs(text: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(window) = text.get(at..at + LEAST) {
            // Of a run that begins in these bytes the last one is a part: what stands before a break is skipped.
            if let Some(last) = window.iter().rposition(|byte| !is_base64(*byte)) {
                at += last + 1;
                continue;
            }
            let end = at + text[at..].iter().take_while(|byte| is_base64(**byte)).count();
            let start = behind_escape(text, at);
            let length = end - start;
            at = end;
            if (LEAST..=MOST).contains(&length) && is_mixed(&text[start..at]) {
                return Some((start, at));
            }
        }
        None
    })
}

/// Behind a line break that is written out: `\\n`.
fn behind_escape(text: &[u8], at: usize) -> usize {
    at + usize::from(at > 0 && text[at - 1] == b'\\' && matches!(text[at], b'n' | b'r'))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Of random characters of base64 every kind is there several times.
fn is_mixed(run: &[u8]) -> bool {
    let count = |is: fn(&u8) -> bool| run.iter().filter(|byte| is(byte)).count();
    count(u8::is_ascii_uppercase) >= 6 && count(u8::is_ascii_lowercase) >= 6 && count(u8::is_ascii_digit) >= 2
}

/// The shorter run at the end of a key: it stands where the others stood, and nothing but punctuation follows.
fn tail(line: &[u8], before: Option<Run>, is_announced: bool) -> Option<(usize, usize)> {
    let is_end = |byte: &u8| !is_base64(*byte);
    let is_behind = |byte: &&u8| is_end(byte) || **byte == b'+';
    let skipped = line.iter().rev().take(16).take_while(is_behind).count();
    // A line break that is written out: `abc=\n' +`.
    let end = line.len() - skipped;
    let end = if line[..end].ends_with(b"\\n") { end - 2 } else { end };
    let start = line[..end].iter().rposition(is_end).map_or(0, |at| at + 1);
    let run = &line[start..end];
    let stands_there = is_announced && (start == 0 || run.len() >= 40)
        || before.is_some_and(|before| before.margin == margin(&line[..start]));
    let is_key = run.ends_with(b"=") || run.len() >= 12 || run.iter().any(u8::is_ascii_digit);
    (run.len() >= LEAST_TAIL && stands_there && is_key).then_some((start, end))
}

/// Runs of base64, however short.
fn words_of(text: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = 0;
    text.split(|byte| !is_base64(*byte)).map(move |word| {
        let start = at;
        at += word.len() + 1;
        (start, start + word.len())
    })
}

/// What of a line's beginning is the same in every line of a listing: all but base64 and blanks.
fn margin(before: &[u8]) -> u64 {
    let is_kept = |byte: &&u8| !is_base64(**byte) && !byte.is_ascii_whitespace();
    let near = &before[before.len().saturating_sub(64)..];
    near.iter()
        .filter(is_kept)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Where a line says that lines of base64 follow: `-----BEGIN …`, or `Private-Lines: 8` of PuTTY.
fn announcement(text: &[u8]) -> Option<usize> {
    // The end of a first line says it as well: its beginning may have been taken out.
    const MARKS: [&[u8]; 5] = [b"-- BEGIN ", b"--BEGIN ", b"-Lines: ", b"CERTIFICATE--", b"PUBLIC KEY--"];
    let place = MARKS.iter().filter_map(|mark| memmem::find(text, mark)).min()?;
    // The end of a key says nothing of what begins in the line below it.
    let line = memchr::memrchr(b'\n', &text[..place]).map_or(0, |before| before + 1);
    let near = &text[line.max(place.saturating_sub(40))..text.len().min(place + 8)];
    if memmem::find(near, b"-END ").is_none() {
        return Some(place);
    }
    let rest = place + 8;
    text.get(rest..).and_then(announcement).map(|place| rest + place)
}

/// Whether it is a private key that is announced there.
fn is_private(line: &[u8], place: usize) -> bool {
    memmem::find(&line[place.saturating_sub(8)..], b"PRIVATE ").is_some()
        || line[..place].ends_with(b"Private")
}

/// How certificates, public keys, pictures, archives and documents begin in base64.
fn is_public(run: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 10] = [
        b"LS0tLS1CRUdJTiBDRVJU",
        b"LS0tLS1CRUdJTiBQVUJM",
        b"iVBORw0KGgo",
        b"/9j/",
        b"R0lGOD",
        b"UEsDB",
        b"JVBERi0",
        b"H4sI",
        b"PD94bWwg",
        b"AAAA",
    ];
    let is_at = |place: usize, bytes: &[u8]| run.get(place..place + bytes.len()) == Some(bytes);
    // Within a sequence another one, and then a version: a certificate, or a request for one.
    let is_certificate = is_at(0, b"MI") && is_at(6, b"CC") && (is_at(12, b"AwIB") || is_at(12, b"AQAw"));
    let is_public_key = is_at(0, b"MI") && is_at(5, b"jANBgkqhkiG9w0BAQEFA");
    is_certificate || is_public_key || BEGINNINGS.iter().any(|beginning| run.starts_with(beginning))
}
