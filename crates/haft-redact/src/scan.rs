//! Where could something be? One pass over a block with an automaton that knows every beginning and key word; at each
//! place the matcher of that kind looks closer.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::{
    assigned,
    found::{PRIVATE_KEY, Span},
    kinds::KINDS,
    known::Known,
    pem, terminal, token, web,
};

/// The line in which something could be, inside its block. Matchers look at nothing else.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    /// The whole block.
    pub(crate) text: &'a [u8],
    pub(crate) start: usize,
    /// Before the line break.
    pub(crate) end: usize,
}

/// Whether private keys are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    Look,
    Leave,
}

/// What a scan found.
pub(crate) struct Scanned {
    /// In the order in which they were seen. They may overlap.
    pub(crate) spans: Vec<Span>,
    /// A private key that goes on behind the text, and where it begins.
    pub(crate) open: Option<(usize, pem::Key)>,
}

/// Who looks closer.
#[derive(Clone, Copy)]
enum Look {
    Token(usize),
    Name,
    Address,
    Authorization,
    Bearer,
    Cookie,
    Signature,
    Option,
    Sql,
    Passfile,
    Key,
    Known(usize),
}

/// Key words, in the three ways they are usually written.
const WORDS: [(&str, Look); 14] = [
    ("pass", Look::Name),
    ("pwd", Look::Name),
    ("psw", Look::Name),
    ("secret", Look::Name),
    ("token", Look::Name),
    ("key", Look::Name),
    ("auth", Look::Name),
    ("cred", Look::Name),
    ("jwt", Look::Name),
    ("authorization", Look::Authorization),
    ("bearer ", Look::Bearer),
    ("cookie", Look::Cookie),
    ("signature=", Look::Signature),
    ("identified by ", Look::Sql),
];

/// What is always written the same way.
const FIXED: [(&str, Look); 15] = [
    ("://", Look::Address),
    (":\\/\\/", Look::Address),
    ("sig=", Look::Signature),
    ("-Signature=", Look::Signature),
    (" -p", Look::Option),
    (" -u", Look::Option),
    (" -a ", Look::Option),
    (" -w ", Look::Option),
    (" -P", Look::Option),
    (" -U ", Look::Option),
    (" -k ", Look::Option),
    ("pass:", Look::Option),
    (":5432:", Look::Passfile),
    ("-----BEGIN ", Look::Key),
    ("---- BEGIN ", Look::Key),
];

/// The automaton, and who looks at what it finds.
pub(crate) struct Machine {
    automaton: AhoCorasick,
    looks: Vec<(Look, &'static str)>,
}

/// More than this, and the quick form of the automaton would take too much memory.
const MANY: usize = 1_500;

impl Machine {
    pub(crate) fn new(known: &[Known]) -> Machine {
        let (mut patterns, mut looks) = (Vec::new(), Vec::new());
        let mut add = |pattern: Vec<u8>, look, begin| {
            patterns.push(pattern);
            looks.push((look, begin));
        };
        for (index, kind) in KINDS.iter().enumerate() {
            kind.begins.iter().for_each(|begin| add(begin.as_bytes().to_vec(), Look::Token(index), *begin));
        }
        for (word, look) in WORDS {
            [word.to_owned(), word.to_uppercase(), capitalised(word)]
                .into_iter()
                .for_each(|word| add(word.into_bytes(), look, ""));
        }
        FIXED.iter().for_each(|(pattern, look)| add(pattern.as_bytes().to_vec(), *look, ""));
        known
            .iter()
            .enumerate()
            .for_each(|(index, one)| add(one.beginning().to_vec(), Look::Known(index), ""));
        Machine { automaton: automaton(&patterns), looks }
    }

    /// What tells nobody's values, made when first needed.
    pub(crate) fn shared() -> &'static Machine {
        static SHARED: OnceLock<Machine> = OnceLock::new();
        SHARED.get_or_init(|| Machine::new(&[]))
    }

    /// The secrets of a block.
    pub(crate) fn scan(&self, text: &[u8], known: &[Known], keys: Keys) -> Scanned {
        let mut scan = Scan {
            line: Line { text, start: 0, end: 0 },
            spans: Vec::new(),
            covered: 0,
            keys,
            key_end: 0,
            open: None,
        };
        scan.begin_line(0);
        for hit in self.automaton.find_overlapping_iter(text) {
            let (look, begin) = self.looks[hit.pattern().as_usize()];
            if hit.start() >= scan.key_end {
                scan.look(look, begin, hit.start(), hit.end(), known);
            }
        }
        dots_seven_apart(text, |dot| scan.look_between_dots(dot));
        Scanned { spans: scan.spans, open: scan.open }
    }
}

fn automaton(patterns: &[Vec<u8>]) -> AhoCorasick {
    let kind = (patterns.len() < MANY).then_some(AhoCorasickKind::DFA);
    let mut builder = AhoCorasick::builder();
    builder.kind(kind).match_kind(MatchKind::Standard).prefilter(false);
    builder.build(patterns).expect("at most a few thousand short patterns")
}

fn capitalised(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// A scan on its way.
struct Scan<'a> {
    line: Line<'a>,
    spans: Vec<Span>,
    /// Up to here everything that was found reaches.
    covered: usize,
    keys: Keys,
    /// Where the last private key ends.
    key_end: usize,
    open: Option<(usize, pem::Key)>,
}

impl Scan<'_> {
    fn begin_line(&mut self, start: usize) {
        let rest = &self.line.text[start..];
        self.line.start = start;
        self.line.end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    /// Goes on to the line that holds a place. Places come in order, but for a beginning that lies before its end.
    fn go_to(&mut self, place: usize) {
        if place > self.line.end {
            let between = &self.line.text[self.line.end..place];
            self.begin_line(self.line.end + memchr::memrchr(b'\n', between).map_or(0, |at| at + 1));
        }
    }

    fn look(&mut self, look: Look, begin: &'static str, start: usize, end: usize, known: &[Known]) {
        self.go_to(start);
        let line = self.line;
        match look {
            Look::Token(kind) => self.take(token::find(&line, kind, begin, start)),
            Look::Known(index) => self.take(known[index].find(line.text, start)),
            Look::Name => self.take(assigned::find(&line, start, end, self.covered)),
            Look::Address => self.take(web::address(&line, end)),
            Look::Authorization => self.take(web::authorization(&line, end)),
            Look::Bearer => self.take(web::bearer(&line, start, end)),
            Look::Signature => self.take(web::signature(&line, end)),
            Look::Cookie => web::cookies(&line, end, |span| self.take(Some(span))),
            Look::Option => self.take(terminal::option(&line, start, end)),
            Look::Sql => self.take(terminal::sql(&line, end)),
            Look::Passfile => self.take(terminal::passfile(&line, end)),
            Look::Key => self.take_key(start),
        }
    }

    /// What lies inside something that was found adds nothing, unless it knows better what it is.
    fn take(&mut self, span: Option<Span>) {
        let Some(span) = span else { return };
        if span.start < self.covered && !span.sure {
            return;
        }
        self.covered = self.covered.max(span.end);
        self.spans.push(span);
    }

    fn take_key(&mut self, start: usize) {
        if self.keys == Keys::Leave {
            return;
        }
        let Some(read) = pem::find(self.line.text, start) else { return };
        // What was found before it stays what it is, whether or not the key's end is there yet.
        let start = start.max(self.covered);
        self.key_end = read.end;
        self.open = read.open.map(|key| (start, key));
        if read.has_body {
            self.take(Some(Span { start, end: read.end, kind: PRIVATE_KEY, sure: true }));
        }
    }

    fn look_between_dots(&mut self, dot: usize) {
        let text = self.line.text;
        // No longer than such a token is; a line break inside is none of its bytes.
        let line = Line { text, start: dot.saturating_sub(32), end: text.len().min(dot + 64) };
        if dot >= self.key_end {
            self.take(token::between_dots(&line, dot));
        }
    }
}

/// Every dot that has another one seven bytes on. Looked for by itself, many bytes at a time: as a pattern of the
/// automaton it would have to be every dot.
fn dots_seven_apart(text: &[u8], mut found: impl FnMut(usize)) {
    let Some(later) = text.get(7..) else { return };
    const STEP: usize = 64;
    for (index, (here, there)) in text.chunks(STEP).zip(later.chunks(STEP)).enumerate() {
        let pairs = here.iter().zip(there);
        let any = pairs.clone().fold(false, |any, (a, b)| any | ((*a == b'.') & (*b == b'.')));
        if any {
            let places = pairs.enumerate().filter(|(_, (a, b))| **a == b'.' && **b == b'.');
            places.for_each(|(at, _)| found(index * STEP + at));
        }
    }
}
