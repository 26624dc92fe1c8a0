//! Where could something be? One pass over a block finds every beginning and key word (`grams`); at each place the
//! matcher of that kind looks closer.
//!
//! Whatever the text is, the work grows with its length and no faster: a matcher looks at a bounded number of bytes before
//! it says no, and what it says yes to is not looked through again. Where token after token could begin in one run of
//! characters, the run's end is remembered.

use std::sync::OnceLock;

use crate::{
    assigned,
    form::Runs,
    found::{PRIVATE_KEY, Span},
    grams::{GRAM, Grams},
    kinds::{self, KINDS},
    known::Known,
    login, pem,
    terminal::{self, Programs},
    token, veiled, web,
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
    /// Where names of secrets stand that may be above a column of a table.
    pub(crate) heads: Vec<usize>,
}

/// Who looks closer.
#[derive(Clone, Copy)]
enum Look {
    Token(usize),
    Name,
    /// A call that is told a user and a password.
    Login,
    /// A program that reads a password from what is typed.
    Typed,
    /// The value of a name in the line before.
    Value,
    Address,
    /// One that was encoded for another address.
    Encoded,
    Authorization,
    Bearer,
    Cookie,
    Signature,
    Program(usize),
    Option,
    /// How a token may begin in base64.
    Base64,
    /// A private number of a JSON web key.
    WebKey,
    /// User and password for a database of Oracle.
    Thin,
    Sql,
    Passfile,
    Key,
    /// What stands in the place of one.
    Taken,
    Known(usize),
}

/// Key words, in large or small letters.
const WORDS: [(&str, Look); 30] = [
    ("pass", Look::Name),
    ("pwd", Look::Name),
    ("psw", Look::Name),
    ("pw", Look::Name),
    ("psk", Look::Name),
    ("secret", Look::Name),
    ("token", Look::Name),
    ("key", Look::Name),
    ("auth", Look::Name),
    ("cred", Look::Name),
    ("jwt", Look::Name),
    ("contrase", Look::Name),
    ("kennwort", Look::Name),
    ("wachtwoord", Look::Name),
    ("senha", Look::Name),
    ("salasana", Look::Name),
    ("pin_code", Look::Name),
    ("pin-code", Look::Name),
    ("pincode", Look::Name),
    ("login", Look::Login),
    ("getconnection", Look::Login),
    ("mysqli", Look::Login),
    ("authorization", Look::Authorization),
    ("bearer ", Look::Bearer),
    ("cookie", Look::Cookie),
    ("value", Look::Value),
    ("default", Look::Value),
    ("masterauth", Look::Name),
    ("signature=", Look::Signature),
    ("identified by ", Look::Sql),
];

/// What is always written the same way.
const FIXED: [(&str, Look); 49] = [
    ("\u{430}\u{440}\u{43e}\u{43b}\u{44c}", Look::Name),
    ("\u{30d1}\u{30b9}\u{30ef}\u{30fc}\u{30c9}", Look::Name),
    ("\u{5bc6}\u{7801}", Look::Name),
    ("\u{5bc6}\u{78bc}", Look::Name),
    ("\u{be44}\u{bc00}\u{bc88}\u{d638}", Look::Name),
    ("has\u{142}o", Look::Name),
    ("l\u{f6}senord", Look::Name),
    ("--password-stdin", Look::Typed),
    ("--with-token", Look::Typed),
    ("--passphrase-fd 0", Look::Typed),
    ("passwd --stdin", Look::Typed),
    ("chpasswd", Look::Typed),
    ("sudo -S", Look::Typed),
    (":thin:", Look::Thin),
    ("\"d\":", Look::WebKey),
    ("\"p\":", Look::WebKey),
    ("\"q\":", Look::WebKey),
    ("\"k\":", Look::WebKey),
    ("\"dp\":", Look::WebKey),
    ("\"dq\":", Look::WebKey),
    ("\"qi\":", Look::WebKey),
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
    (" -b ", Look::Option),
    (" -bB ", Look::Option),
    (" -cb ", Look::Option),
    (" -cbB ", Look::Option),
    (" -nb ", Look::Option),
    (" --user", Look::Option),
    (" --proxy-user", Look::Option),
    ("PASSWORD(", Look::Sql),
    ("pass:", Look::Option),
    (":5432:", Look::Passfile),
    (":5433:", Look::Passfile),
    (":*:", Look::Passfile),
    ("%3A%2F%2F", Look::Encoded),
    ("%3a%2f%2f", Look::Encoded),
    ("-----BEGIN ", Look::Key),
    ("---- BEGIN ", Look::Key),
    ("[redacted: private key]", Look::Taken),
];

/// What is looked for, and who looks closer.
struct Pattern {
    bytes: Vec<u8>,
    is_word: bool,
    look: Look,
    begin: &'static str,
}

impl Pattern {
    fn is_at(&self, text: &[u8], at: usize) -> bool {
        let here = text.get(at..at + self.bytes.len());
        here.is_some_and(|here| {
            if self.is_word { here.eq_ignore_ascii_case(&self.bytes) } else { here == self.bytes }
        })
    }

    /// All it may begin with. What is shorter goes on with anything, or with what a token of its kind goes on with.
    fn grams(&self) -> Vec<[u8; GRAM]> {
        let next = match self.look {
            Look::Token(kind) => kinds::forms()[kind].first(),
            _ => None,
        };
        let follows = (b'\t'..=0xff).filter(move |byte| next.is_none_or(|class| class.has(*byte)));
        let mut all = vec![[0; GRAM]];
        for index in 0..GRAM {
            match self.bytes.get(index) {
                Some(byte) => all.iter_mut().for_each(|gram| gram[index] = *byte),
                None => all = all.iter().flat_map(|gram| with_each(*gram, index, follows.clone())).collect(),
            }
        }
        all
    }
}

fn with_each(
    gram: [u8; GRAM],
    index: usize,
    bytes: impl Iterator<Item = u8>,
) -> impl Iterator<Item = [u8; GRAM]> {
    bytes.map(move |byte| {
        let mut gram = gram;
        gram[index] = byte;
        gram
    })
}

/// Everything that is looked for.
pub(crate) struct Machine {
    patterns: Vec<Pattern>,
    grams: Grams,
}

impl Machine {
    pub(crate) fn new(known: &[Known]) -> Machine {
        let mut patterns = Vec::new();
        let mut add = |bytes: &[u8], is_word, look, begin| {
            patterns.push(Pattern { bytes: bytes.to_vec(), is_word, look, begin });
        };
        for (index, kind) in KINDS.iter().enumerate() {
            kind.begins.iter().for_each(|begin| add(begin.as_bytes(), false, Look::Token(index), *begin));
        }
        veiled::in_base64().iter().for_each(|begin| add(begin, false, Look::Base64, ""));
        let encoded = veiled::percent_encoded().iter();
        encoded.for_each(|(index, begin)| add(begin.as_bytes(), false, Look::Token(*index), begin));
        WORDS.iter().for_each(|(word, look)| add(word.as_bytes(), true, *look, ""));
        FIXED.iter().for_each(|(fixed, look)| add(fixed.as_bytes(), false, *look, ""));
        for (row, option) in terminal::OPTIONS.iter().enumerate() {
            add(format!("{} ", option.0).as_bytes(), false, Look::Program(row), "");
        }
        let known = known.iter().enumerate();
        known.for_each(|(index, one)| add(one.bytes(), false, Look::Known(index), ""));
        let numbered = patterns.iter().zip(0..);
        let grams = numbered
            .flat_map(|(pattern, number)| pattern.grams().into_iter().map(move |gram| (gram, number)));
        Machine { grams: Grams::new(grams), patterns }
    }

    /// What tells nobody's values, made when first needed.
    pub(crate) fn shared() -> &'static Machine {
        static SHARED: OnceLock<Machine> = OnceLock::new();
        SHARED.get_or_init(|| Machine::new(&[]))
    }

    /// The secrets of a block.
    pub(crate) fn scan(&self, text: &[u8], known: &[Known], keys: Keys) -> Scanned {
        self.scan_from(text, 0, known, keys)
    }

    /// The same from a place on, before which nothing is looked for.
    pub(crate) fn scan_from(&self, text: &[u8], from: usize, known: &[Known], keys: Keys) -> Scanned {
        let mut scan = Scan::new(text, keys);
        scan.key_end = from;
        self.grams.each(text, |start, number| {
            let pattern = &self.patterns[number as usize];
            if start >= scan.key_end && pattern.is_at(text, start) {
                match pattern.look {
                    Look::Base64 => scan.decode(start, self),
                    _ => scan.look(pattern, start, known),
                }
            }
        });
        dots_seven_apart(text, |dot| scan.look_between_dots(dot));
        Scanned { spans: scan.spans, open: scan.open, heads: scan.heads }
    }
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
    heads: Vec<usize>,
    runs: Runs,
    programs: Programs,
    /// The next `@`, from where it was last looked for.
    at_sign: usize,
    /// Where the last header with cookies ends.
    cookies_end: usize,
    /// Where the last run of base64 ends that was decoded.
    decoded_end: usize,
}

impl<'a> Scan<'a> {
    fn new(text: &'a [u8], keys: Keys) -> Scan<'a> {
        let mut scan = Scan {
            line: Line { text, start: 0, end: 0 },
            spans: Vec::new(),
            covered: 0,
            keys,
            key_end: 0,
            open: None,
            heads: Vec::new(),
            runs: Runs::default(),
            programs: Programs::default(),
            at_sign: 0,
            cookies_end: 0,
            decoded_end: 0,
        };
        scan.begin_line(0);
        scan
    }

    fn begin_line(&mut self, start: usize) {
        let rest = &self.line.text[start..];
        self.line.start = start;
        self.line.end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    /// The line that holds a place. Places come in order.
    fn line_at(&mut self, place: usize) -> Line<'a> {
        if place > self.line.end {
            let between = &self.line.text[self.line.end..place];
            self.begin_line(self.line.end + memchr::memrchr(b'\n', between).map_or(0, |at| at + 1));
        }
        // Behind a private key a line begins: whether its end came with its beginning must not matter.
        Line { start: self.line.start.max(self.key_end.min(place)), ..self.line }
    }

    /// Looks closer. What can be told without knowing the line comes first: it is nearly always the end of it.
    fn look(&mut self, pattern: &Pattern, start: usize, known: &[Known]) {
        let (text, end) = (self.line.text, start + pattern.bytes.len());
        match pattern.look {
            Look::Token(kind) => self.take_token(kind, pattern.begin, start),
            Look::Known(index) => self.take(known[index].at(start)),
            Look::Name => {
                if assigned::is_head(text, end) {
                    self.heads.push(start);
                }
                if login::is_call(text, end) {
                    let line = self.line_at(start);
                    self.take(login::password(&line, end));
                }
                let Some(value) = assigned::value_at(text, end) else { return };
                let (line, covered) = (self.line_at(start), self.covered);
                self.take(assigned::find(&line, start, value, covered));
            }
            Look::Address if self.has_at_sign(end) => {
                let line = self.line_at(start);
                self.take(web::address(&line, end));
            }
            Look::Address => {}
            Look::Login if !login::is_call(text, end) => {}
            Look::Value if matches!(text.get(end), Some(b':' | b'"' | b'\'' | b'=' | b' ')) => {
                let line = self.line_at(start);
                let named = assigned::named_before(&line, start, end);
                self.take(named.or_else(|| web::input(&line, start, end)));
            }
            Look::Value => {}
            Look::Program(row) => self.programs.note(&text[self.key_end..], row, start - self.key_end, start),
            Look::Cookie => self.take_cookies(start, end),
            Look::Key => self.take_key(start),
            // As behind the key itself, so that what comes out reads as what went in.
            Look::Taken => self.key_end = end,
            look if start >= self.covered => {
                let line = self.line_at(start);
                self.take(self.in_line(look, &line, start, end));
            }
            _ => {}
        }
    }

    fn in_line(&self, look: Look, line: &Line<'_>, start: usize, end: usize) -> Option<Span> {
        match look {
            Look::Authorization => web::authorization(line, end),
            Look::Bearer => web::bearer(line, start, end),
            Look::Login => login::password(line, end),
            Look::Typed => login::typed(line, start, end),
            Look::Signature => web::signature(line, end),
            Look::Thin => web::thin(line, end),
            Look::WebKey => web::key_number(line, end),
            Look::Encoded => web::encoded_address(line, end),
            Look::Option => terminal::option(line, start, end, &self.programs),
            Look::Sql if !token::begins_a_word(line.text, start) => None,
            Look::Sql => terminal::sql(line, end),
            Look::Passfile => terminal::passfile(line, start, end),
            _ => None,
        }
    }

    /// Whether an `@` comes soon enough to end a user and a password. It is looked for once.
    fn has_at_sign(&mut self, from: usize) -> bool {
        let text = self.line.text;
        if self.at_sign < from {
            self.at_sign = from + memchr::memchr(b'@', &text[from..]).unwrap_or(text.len() - from);
        }
        self.at_sign < text.len().min(from + web::LONGEST_USER)
    }

    fn take_token(&mut self, kind: usize, begin: &str, start: usize) {
        let found = token::find(self.line.text, kind, begin, start, &mut self.runs);
        let is_new =
            |found: &token::Token| self.spans.last().is_none_or(|last| !last.sure || last.end < found.end);
        if let Some(found) = found.filter(is_new) {
            self.take(found.span(self.line.text));
        }
    }

    fn decode(&mut self, start: usize, machine: &Machine) {
        if start < self.decoded_end {
            return;
        }
        let (end, found) = veiled::decoded(self.line.text, start, machine);
        self.decoded_end = end;
        self.take(found);
    }

    fn take_cookies(&mut self, start: usize, end: usize) {
        if start < self.cookies_end {
            return;
        }
        let line = self.line_at(start);
        self.cookies_end = web::cookies(&line, end, |span| self.take(Some(span)));
    }

    /// What lies inside something that was found adds nothing, unless it knows better what it is.
    fn take(&mut self, span: Option<Span>) {
        let Some(span) = span else { return };
        if span.start < self.covered && !span.sure {
            return;
        }
        self.covered = self.covered.max(span.end);
        match self.spans.last_mut() {
            // One of a kind over another is common where a value repeats itself; a list of them all would be long.
            Some(last) if last.goes_on_in(&span) => last.end = last.end.max(span.end),
            _ => self.spans.push(span),
        }
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
        if read.has_body && start < read.end {
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
