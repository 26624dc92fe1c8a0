//! Bytes → messages, one a line.
//!
//! Servers print other things too: banners of package runners, log lines, messages spread over many lines by a pretty
//! printer. A line that is no message is skipped; an object that stays open at the end of a line goes on with the next, until
//! it is closed; whatever looks like an answer and cannot be read is reported with its number, so that whoever waits for it
//! waits no longer.

use serde_json::{Deserializer, Value};

use super::RequestId;

/// What came out of the bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// A message.
    Message(Value),
    /// Something like an answer, that cannot be read.
    Broken { id: Option<RequestId>, why: String },
}

/// Cuts bytes into messages. Holds at most twice the largest message.
pub(crate) struct Lines {
    /// The line so far.
    line: Vec<u8>,
    /// Earlier lines of an object that is still open.
    open: Vec<u8>,
    balance: Balance,
    /// Of a line that is too long: its end so far.
    overflow: Option<Vec<u8>>,
    most: usize,
}

/// So much of the end of a line that is too long is looked at for its number.
const TAIL: usize = 4 * 1024;

impl Lines {
    /// For messages of at most so many bytes.
    pub(crate) fn new(most: usize) -> Lines {
        Lines { line: Vec::new(), open: Vec::new(), balance: Balance::default(), overflow: None, most }
    }

    /// Takes bytes, and gives what they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Piece>) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.extend(&bytes[..end]);
            self.end_of_line(out);
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    /// No more bytes come: the last line may lack its end.
    pub(crate) fn finish(&mut self, out: &mut Vec<Piece>) {
        self.end_of_line(out);
    }

    /// Of a line that is too long its beginning and its end are kept, the same however it comes.
    fn extend(&mut self, bytes: &[u8]) {
        if self.overflow.is_none() && self.line.len() + bytes.len() > self.most {
            let mut tail = Vec::new();
            keep_end(&mut tail, &self.line);
            self.overflow = Some(tail);
            self.line.truncate(TAIL);
            self.line.shrink_to_fit();
        }
        let fits = match &mut self.overflow {
            Some(tail) => {
                keep_end(tail, bytes);
                TAIL.saturating_sub(self.line.len()).min(bytes.len())
            }
            None => bytes.len(),
        };
        self.line.extend_from_slice(&bytes[..fits]);
    }

    fn end_of_line(&mut self, out: &mut Vec<Piece>) {
        let line = std::mem::take(&mut self.line);
        match self.overflow.take() {
            Some(tail) => out.extend(self.too_long(&line, &tail)),
            None => self.take(&line, out),
        }
        // The room of a usual line is used again, that of a large one is given back.
        if line.capacity() <= USUAL && self.line.capacity() == 0 {
            self.line = line;
            self.line.clear();
        }
    }

    fn too_long(&mut self, head: &[u8], tail: &[u8]) -> Option<Piece> {
        self.forget();
        if head.trim_ascii_start().first() != Some(&b'{') {
            return None;
        }
        let why =
            format!("the answer is longer than {} bytes, the most that is read from this server", self.most);
        match request_id(head) {
            Told::Id(id) => Some(Piece::Broken { id: Some(id), why }),
            Told::Spoken => None,
            Told::Nothing => Some(Piece::Broken { id: last_id(tail), why }),
        }
    }

    fn take(&mut self, line: &[u8], out: &mut Vec<Piece>) {
        let text = trimmed(line);
        if text.is_empty() {
            return;
        }
        if !self.open.is_empty() && !is_message(line) {
            return self.go_on(text, out);
        }
        self.forget();
        if !matches!(text[0], b'{' | b'[') {
            return;
        }
        if let Err(broken) = read(text, out) {
            self.begin(text, broken, out);
        }
    }

    /// An object that does not end with its line may go on.
    fn begin(&mut self, text: &[u8], broken: Piece, out: &mut Vec<Piece>) {
        match self.balance.after(text) {
            Some(0) | None => {
                self.forget();
                out.extend(of_an_answer(text, broken));
            }
            Some(_) => self.open.extend_from_slice(text),
        }
    }

    fn go_on(&mut self, text: &[u8], out: &mut Vec<Piece>) {
        let fits = self.open.len() + text.len() < self.most;
        let open = self.balance.after(text).filter(|_| fits);
        self.open.push(b'\n');
        self.open.extend_from_slice(&text[..text.len().min(self.most)]);
        if open.is_some_and(|open| open > 0) {
            return;
        }
        let whole = std::mem::take(&mut self.open);
        self.forget();
        match (open, read(&whole, out)) {
            (_, Ok(())) => {}
            (Some(_), Err(broken)) => out.extend(of_an_answer(&whole, broken)),
            // It was never an object: what was taken for its next line may be a message.
            (None, Err(broken)) => {
                out.extend(of_an_answer(&whole, broken));
                if matches!(text[0], b'{' | b'[') {
                    let _ = read(text, out);
                }
            }
        }
    }

    fn forget(&mut self) {
        self.open = Vec::new();
        self.balance = Balance::default();
    }
}

/// What one text holds that comes by itself: an event, or a frame. Nothing, if it concerns nobody.
pub(crate) fn of_text(text: &[u8]) -> Vec<Piece> {
    let (text, mut out) = (trimmed(text), Vec::new());
    if let Err(broken) = read(text, &mut out) {
        out.extend(of_an_answer(text, broken));
    }
    out
}

/// Lines up to here keep their room.
const USUAL: usize = 64 * 1024;

/// Reads one message, or several on one line.
fn read(text: &[u8], out: &mut Vec<Piece>) -> Result<(), Piece> {
    let lossy;
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(_) => {
            lossy = String::from_utf8_lossy(text);
            &*lossy
        }
    };
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    match values.next() {
        Some(Ok(first)) => out.push(Piece::Message(first)),
        Some(Err(err)) => {
            return Err(Piece::Broken { id: None, why: format!("the answer is not JSON: {err}") });
        }
        None => return Ok(()),
    }
    // What follows on the same line is another message, or nothing.
    out.extend(values.map_while(Result::ok).map(Piece::Message));
    Ok(())
}

/// Of what cannot be read, only what looks like an answer concerns anybody.
fn of_an_answer(text: &[u8], broken: Piece) -> Option<Piece> {
    let Piece::Broken { why, .. } = broken else { return None };
    let id = match request_id(text) {
        Told::Id(id) => id,
        Told::Spoken => return None,
        Told::Nothing => last_id(text)?,
    };
    Some(Piece::Broken { id: Some(id), why })
}

/// Whether a line is a whole message by itself, and not a part of one that was spread over lines: those are indented.
fn is_message(line: &[u8]) -> bool {
    let is_indented = line.first().is_some_and(u8::is_ascii_whitespace);
    !is_indented
        && serde_json::from_slice::<Value>(trimmed(line))
            .is_ok_and(|value| value.get("jsonrpc").is_some() || value.get("result").is_some())
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii()
}

fn keep_end(tail: &mut Vec<u8>, bytes: &[u8]) {
    tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
    let too_much = tail.len().saturating_sub(TAIL);
    tail.drain(..too_much);
}

/// How many brackets are open, over lines.
#[derive(Debug, Default, Clone)]
struct Balance {
    open: usize,
}

impl Balance {
    /// After one more line. `None`: this is no JSON, because a text does not end or more is closed than was open.
    fn after(&mut self, line: &[u8]) -> Option<usize> {
        let mut scan = Scan::default();
        for byte in line {
            match scan.step(*byte) {
                Some(b'{' | b'[') => self.open += 1,
                Some(b'}' | b']') => self.open = self.open.checked_sub(1)?,
                _ => {}
            }
        }
        (!scan.in_text).then_some(self.open)
    }
}

/// Which bytes of JSON stand outside of texts.
#[derive(Debug, Default)]
struct Scan {
    in_text: bool,
    escaped: bool,
}

impl Scan {
    fn step(&mut self, byte: u8) -> Option<u8> {
        if self.escaped {
            self.escaped = false;
            return None;
        }
        match byte {
            b'"' => {
                self.in_text = !self.in_text;
                None
            }
            b'\\' if self.in_text => {
                self.escaped = true;
                None
            }
            _ if self.in_text => None,
            _ => Some(byte),
        }
    }
}

/// What the beginning of a message tells about it.
enum Told {
    Id(RequestId),
    /// It has a method: it is no answer.
    Spoken,
    Nothing,
}

/// Looks for the id among the outermost keys, as far as the text goes.
fn request_id(head: &[u8]) -> Told {
    let (mut scan, mut depth, mut key_from) = (Scan::default(), 0usize, None);
    for (at, byte) in head.iter().enumerate() {
        let was_in_text = scan.in_text;
        let outside = scan.step(*byte);
        match outside {
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') => depth = depth.saturating_sub(1),
            Some(b':') if depth == 1 => match key_from.and_then(|from| head.get(from..at)) {
                Some(key) if key.trim_ascii() == br#""id""# => return id_at(&head[at + 1..]),
                Some(key) if key.trim_ascii() == br#""method""# => return Told::Spoken,
                _ => {}
            },
            _ => {}
        }
        if !was_in_text && scan.in_text {
            key_from = Some(at);
        }
    }
    Told::Nothing
}

fn id_at(text: &[u8]) -> Told {
    let digits: Vec<u8> = text
        .iter()
        .skip_while(|byte| byte.is_ascii_whitespace() || **byte == b'"')
        .take_while(|byte| byte.is_ascii_digit())
        .copied()
        .collect();
    match String::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()) {
        Some(id) => Told::Id(id),
        None => Told::Nothing,
    }
}

/// An id that comes last: `…,"id":7}`.
fn last_id(tail: &[u8]) -> Option<RequestId> {
    let tail = tail.trim_ascii_end().strip_suffix(b"}")?;
    let at = tail.windows(4).rposition(|window| window == br#""id""#)?;
    let rest = tail[at + 4..].trim_ascii().strip_prefix(b":")?.trim_ascii();
    let rest = rest.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(rest);
    std::str::from_utf8(rest).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MOST: usize = 200;

    /// What comes of the bytes, whether they come at once or one by one.
    #[track_caller]
    fn check(bytes: &str, expected: &[Piece]) {
        assert_eq!(pieces(bytes.as_bytes(), bytes.len().max(1)), expected, "at once");
        assert_eq!(pieces(bytes.as_bytes(), 1), expected, "one by one");
    }

    fn pieces(bytes: &[u8], step: usize) -> Vec<Piece> {
        let (mut lines, mut out) = (Lines::new(MOST), Vec::new());
        bytes.chunks(step).for_each(|chunk| lines.push(chunk, &mut out));
        lines.finish(&mut out);
        out
    }

    fn message(value: Value) -> Piece {
        Piece::Message(value)
    }

    fn broken(id: Option<u64>, why: &str) -> Piece {
        Piece::Broken { id, why: why.to_owned() }
    }

    const TOO_LONG: &str = "the answer is longer than 200 bytes, the most that is read from this server";

    #[test]
    fn a_line_is_a_message_however_it_ends() {
        let one = json!({ "id": 1 });
        check("{\"id\":1}\n", &[message(one.clone())]);
        check("{\"id\":1}\r\n", &[message(one.clone())]);
        check("{\"id\":1}", &[message(one.clone())]);
        check("\u{feff}{\"id\":1}\n", &[message(one.clone())]);
        check("{\"id\":1}{\"id\":1} \n", &[message(one.clone()), message(one)]);
    }

    #[test]
    fn what_is_no_message_is_skipped() {
        check("Listening...\n\n  \n{\"id\":1}\n", &[message(json!({ "id": 1 }))]);
        check("{oops}\n[info] up\n{\"id\":1}\n", &[message(json!({ "id": 1 }))]);
        check("> npx server\n\x1b[32mok\x1b[0m\n", &[]);
    }

    #[test]
    fn a_message_on_many_lines_is_put_together() {
        check(
            "{\n \"id\": 1,\n \"a\": [\n  {\n   \"b\": \"}\"\n  }\n ]\n}\n",
            &[message(json!({ "id": 1, "a": [{ "b": "}" }] }))],
        );
        check(
            "{\"id\": 1,\n{\"jsonrpc\":\"2.0\",\"id\":2}\n",
            &[message(json!({ "jsonrpc": "2.0", "id": 2 }))],
        );
        check(
            "{ starting\nup\n{\"jsonrpc\":\"2.0\",\"id\":2}\n",
            &[message(json!({ "jsonrpc": "2.0", "id": 2 }))],
        );
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_reported_with_its_number() {
        check(
            "{\"id\":5,\"result\":{x}}\n",
            &[broken(Some(5), "the answer is not JSON: key must be a string at line 1 column 19")],
        );
        check(
            "{\"result\":NaN,\"id\":\"5\"}\n",
            &[broken(Some(5), "the answer is not JSON: expected value at line 1 column 11")],
        );
        check("{\"method\":NaN,\"id\":5}\n", &[]);
    }

    #[test]
    fn a_line_that_is_too_long_costs_only_its_own_answer() {
        let long = "x".repeat(300);
        check(
            &format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"{long}\"}}\n{{\"id\":4}}\n"),
            &[broken(Some(3), TOO_LONG), message(json!({ "id": 4 }))],
        );
        check(&format!("{{\"result\":\"{long}\",\"id\":3}}\n"), &[broken(Some(3), TOO_LONG)]);
        check(&format!("{{\"result\":{{\"id\":9,\"t\":\"{long}\"}}}}\n"), &[broken(None, TOO_LONG)]);
        check(&format!("{{\"method\":\"m\",\"id\":3,\"params\":\"{long}\"}}\n{long}\n"), &[]);
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let (mut lines, mut out) = (Lines::new(MOST), Vec::new());
        for _ in 0..10_000 {
            lines.push(b"{\"a\":[1,2,3,\"", &mut out);
            lines.push(b"{\n[", &mut out);
        }
        assert!(lines.line.len() + lines.open.len() <= 2 * MOST + TAIL);
    }
}
