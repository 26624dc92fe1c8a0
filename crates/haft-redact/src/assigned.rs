//! A name and its value: `password = value`, `"token": "value"`, `--token value`, `<password>value</password>`.

use crate::{
    found::{PASSWORD, SECRET, Span, is_marked},
    names::{self, Weight},
    scan::Line,
    value::{self, Written},
};

/// A name is at most this long, before and behind the key word in it.
const LONGEST_NAME: usize = 64;
/// So much before a name says what it is the name of.
const LONGEST_MARGIN: usize = 256;
/// A type is at most this long.
const LONGEST_TYPE: usize = 48;
/// So much of a value is enough to judge it.
const ENOUGH: usize = 128;

/// Where the value of a name is, as far as can be told from what stands behind the key word in it.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    name_end: usize,
    at: usize,
    joint: Joint,
}

/// Where a value could be, behind a key word. Nearly always nowhere.
pub(crate) fn value_at(text: &[u8], end: usize) -> Option<Place> {
    let name_end = end + name_length(text[end..].iter().take(LONGEST_NAME));
    let (at, joint) = joint(text, name_end)?;
    Some(Place { name_end, at, joint })
}

/// The value of the name in which a key word stands. Nothing before `covered` is looked at again.
pub(crate) fn find(line: &Line<'_>, start: usize, place: Place, covered: usize) -> Option<Span> {
    let Place { name_end, at, joint } = place;
    let before = name_length(line.text[line.start..start].iter().rev().take(LONGEST_NAME));
    let name = Name { line, start: start - before, end: name_end };
    if at < covered || at >= line.end || !name.allows(joint) {
        return None;
    }
    let weight = name.weight()?;
    let is_secret = |value: &[u8], is_quoted| {
        let written = Written { is_quoted, is_setting: name.is_setting(joint) };
        value::is_secret(value, weight, written)
            && match joint {
                Joint::Space => is_typed(value, name.is_option()),
                Joint::Argument => name.is_defined() || value::is_random(value),
                _ => true,
            }
    };
    let text = &line.text[..line.end];
    let found = match joint {
        Joint::Tag => judged(text, at, tagged, is_secret),
        Joint::Encoded => judged(text, at, encoded, is_secret),
        _ => judged(text, at, quoted_or_bare, is_secret),
    }?;
    let kind = if weight == Weight::Password { PASSWORD } else { SECRET };
    Some(Span { start: found.start, end: found.end, kind, sure: false })
}

/// A value that is judged by its beginning, and only then read to its end: what is refused again and again must not be
/// read to its end each time.
pub(crate) fn judged(
    text: &[u8],
    at: usize,
    read: fn(&[u8], usize) -> Option<Delimited>,
    is_secret: impl Fn(&[u8], bool) -> bool,
) -> Option<Delimited> {
    let seen = &text[..text.len().min(at + ENOUGH)];
    let found = read(seen, at)?;
    if is_secret(&seen[found.start..found.end], found.is_quoted) { read(text, at) } else { None }
}

/// What stands between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// `=`, `:`, `=>`, with blanks or without.
    Sign { is_tight: bool },
    /// `--name value`, `password value`.
    Space,
    /// `<name>value<`.
    Tag,
    /// `| name | value |`.
    Cell,
    /// `name%3Dvalue`, `name%22%3A%22value`.
    Encoded,
    /// `define("name", "value")`.
    Argument,
}

/// Where the value begins.
fn joint(text: &[u8], name_end: usize) -> Option<(usize, Joint)> {
    let at = coloured(text, closed(text, coloured(text, name_end)));
    let spaces = blanks(text, at);
    let sign = at + spaces;
    match text.get(sign..)? {
        [b'%', ..] => encoded_joint(text, name_end).map(|at| (at, Joint::Encoded)),
        [b'|', b' ', ..] => Some((sign + 1 + blanks(text, sign + 1), Joint::Cell)),
        [b'>', ..] if at == name_end => Some((sign + 1, Joint::Tag)),
        [b'=' | b':', b'=', b'=', ..] | [b'=', b'=' | b'~', ..] | [b':', b':', ..] => None,
        [b'=', b'>', ..] | [b':', b'=', ..] => {
            Some((sign + 2 + blanks(text, sign + 2), Joint::Sign { is_tight: false }))
        }
        [b'=' | b':', ..] => {
            let after = blanks(text, sign + 1);
            match declared(text, sign, sign + 1 + after) {
                Some(at) => Some((at, Joint::Sign { is_tight: false })),
                None => {
                    let is_tight = spaces + after == 0;
                    Some((unwrapped(text, sign + 1 + after), Joint::Sign { is_tight }))
                }
            }
        }
        _ if at > name_end => match attribute(text, at) {
            Some(at) => Some((at, Joint::Sign { is_tight: false })),
            None => argument(text, at).map(|at| (at, Joint::Argument)),
        },
        [_, ..] if spaces > 0 => Some((sign, Joint::Space)),
        _ => None,
    }
}

/// Behind the quotation mark and the bracket that close a name: `["name"]`, `\"name\"`.
fn closed(text: &[u8], mut at: usize) -> usize {
    at += escapes(text, at);
    at += usize::from(matches!(text.get(at), Some(b'"' | b'\'' | b'`')));
    at += usize::from(matches!(text.get(at), Some(b']' | b')')));
    at
}

/// How many backslashes stand before a quotation mark: as many as its text was quoted again.
fn escapes(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let count = rest.iter().take(8).take_while(|byte| **byte == b'\\').count();
    if matches!(rest.get(count), Some(b'"' | b'\'')) { count } else { 0 }
}

/// Behind the colours that a terminal is told: `\x1b[1;32m`.
fn coloured(text: &[u8], mut at: usize) -> usize {
    for _ in 0..4 {
        let Some([0x1b, b'[', rest @ ..]) = text.get(at..) else { return at };
        let code = rest.iter().take(16).take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
        match rest.get(code) {
            Some(b'm') => at += 2 + code + 1,
            _ => return at,
        }
    }
    at
}

/// Inside `Some(…)`, as Rust prints it.
fn unwrapped(text: &[u8], at: usize) -> usize {
    let is_wrapped = text.get(at..).is_some_and(|rest| rest.starts_with(b"Some(\""));
    at + if is_wrapped { 5 } else { 0 }
}

/// Behind the type of what is declared: `api_key: &'static str = "…"`.
fn declared(text: &[u8], sign: usize, at: usize) -> Option<usize> {
    let is_type = |byte: &&u8| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'_' | b'&' | b'<' | b'>' | b'[' | b']' | b'|' | b'?' | b'.' | b':' | b'\'' | b' '
            )
    };
    let rest = text.get(at..).filter(|rest| text[sign] == b':' && !matches!(rest, [b'"' | b'\'', ..]))?;
    let length = rest.iter().take(LONGEST_TYPE).take_while(is_type).count();
    if is_marked(&rest[..length]) {
        return None;
    }
    let value = match rest.get(length..)? {
        [b'=', tail @ ..] if length > 0 => at + length + 1 + usize::from(tail.first() == Some(&b' ')),
        _ => return None,
    };
    matches!(text.get(value), Some(b'"' | b'\'' | b'`')).then_some(value)
}

/// The second argument, where the name was the first and both are quoted.
fn argument(text: &[u8], at: usize) -> Option<usize> {
    let [b',', ..] = text.get(at..)? else { return None };
    let value = at + 1 + blanks(text, at + 1);
    matches!(text.get(value), Some(b'"' | b'\'')).then_some(value)
}

/// Behind the sign of a name and a value that were encoded for an address.
fn encoded_joint(text: &[u8], name_end: usize) -> Option<usize> {
    let skip = |at: usize, codes: [&[u8]; 2]| {
        let here = text.get(at..at + 3).unwrap_or_default();
        at + if codes.iter().any(|code| here.eq_ignore_ascii_case(code)) { 3 } else { 0 }
    };
    let sign = skip(name_end, [b"%22", b"%27"]);
    let at = skip(sign, [b"%3A", b"%3D"]);
    (at > sign).then(|| skip(skip(at, [b"%20", b"%20"]), [b"%22", b"%27"]))
}

/// Up to what would end a value if it were not encoded.
fn encoded(text: &[u8], at: usize) -> Option<Delimited> {
    const ENDS: [&[u8]; 6] = [b"%22", b"%27", b"%26", b"%2C", b"%7D", b"%3B"];
    let rest = &text[at..text.len().min(at + bare_length(text.get(at..)?))];
    let is_end = |three: &[u8]| ENDS.iter().any(|end| three.eq_ignore_ascii_case(end));
    let length = rest.windows(3).position(is_end).unwrap_or(rest.len());
    (length > 0).then_some(Delimited { start: at, end: at + length, is_quoted: true })
}

/// `name="Password" value="…"`, `{"name": "PASSWORD", "value": "…"}`.
fn attribute(text: &[u8], at: usize) -> Option<usize> {
    let skipped = text[at..]
        .iter()
        .take(8)
        .take_while(|byte| matches!(byte, b' ' | b',' | b'"' | b'\'' | b'\\'))
        .count();
    let rest = text[at + skipped..].get(..5)?;
    let behind = closed(text, at + skipped + 5);
    let behind = behind + blanks(text, behind);
    let is_value = rest.eq_ignore_ascii_case(b"value") && matches!(text.get(behind), Some(b'=' | b':'));
    is_value.then(|| behind + 1 + blanks(text, behind + 1))
}

/// Blanks, and colours among them.
fn blanks(text: &[u8], at: usize) -> usize {
    let plain = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        at + rest.iter().take(32).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    };
    let once = |at: usize| coloured(text, plain(at));
    plain(once(once(at))) - at
}

fn name_length<'a>(bytes: impl Iterator<Item = &'a u8>) -> usize {
    bytes.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')).count()
}

/// The name, where it stands.
struct Name<'a> {
    line: &'a Line<'a>,
    start: usize,
    end: usize,
}

impl Name<'_> {
    fn bytes(&self) -> &[u8] {
        &self.line.text[self.start..self.end]
    }

    fn is_option(&self) -> bool {
        self.bytes().starts_with(b"-")
    }

    /// In a list of fields (`Server=s;Pwd=p`) the short word is a password, too.
    fn weight(&self) -> Option<Weight> {
        let is_field = self.line.text[self.line.start..self.start].ends_with(b";");
        match self.bytes() {
            name if is_field && name.eq_ignore_ascii_case(b"pwd") => Some(Weight::Password),
            name => names::weigh(std::str::from_utf8(name).ok()?),
        }
    }

    /// Without a sign between them, a name and a word are mostly prose.
    fn allows(&self, joint: Joint) -> bool {
        let before = &self.line.text[self.line.start..self.start];
        match joint {
            // `AWS::KMS::Key: …`, `Security::Authorization::Name`: the word is a part of a path.
            Joint::Sign { .. } => !is_in_arn(before) && !(before.ends_with(b"::") && joint != Joint::Sign { is_tight: true }),
            Joint::Encoded => true,
            Joint::Argument => matches!(before, [.., b'(', b'"' | b'\'']),
            Joint::Tag => before.ends_with(b"<"),
            Joint::Cell => before.trim_ascii_end().ends_with(b"|"),
            Joint::Space => {
                self.is_option() || is_netrc(self.bytes(), before) || is_set(self.bytes(), before)
            }
        }
    }

    /// `NAME=value` and `--option=value`, not `name = value`.
    fn is_setting(&self, joint: Joint) -> bool {
        let is_loud = !self.bytes().iter().any(u8::is_ascii_lowercase);
        let is_dotted = self.bytes().contains(&b'.') || self.is_option();
        match joint {
            Joint::Sign { is_tight } => is_tight && (is_loud || is_dotted),
            Joint::Space => true,
            Joint::Tag | Joint::Cell | Joint::Encoded | Joint::Argument => false,
        }
    }

    /// As PHP does: `define('NAME', 'value')`.
    fn is_defined(&self) -> bool {
        let before = &self.line.text[self.line.start..self.start];
        before
            .strip_suffix(b"\"")
            .or(before.strip_suffix(b"'"))
            .is_some_and(|call| call.ends_with(b"define("))
    }
}

/// In `arn:aws:…:secret:name` the word says what kind of thing is named.
fn is_in_arn(before: &[u8]) -> bool {
    let near = &before[before.len().saturating_sub(LONGEST_MARGIN)..];
    before.ends_with(b":") && memchr::memmem::find(near, b"arn:").is_some()
}

/// `machine m login l password p`, on one line or on three; `ALTER USER u PASSWORD 'p'`.
fn is_netrc(name: &[u8], before: &[u8]) -> bool {
    let near = &before[before.len().saturating_sub(LONGEST_MARGIN)..];
    let is_first = near.len() == before.len() && near.trim_ascii().is_empty();
    let words = near.to_ascii_lowercase();
    let follows = |word: &[u8]| memchr::memmem::find(&words, word).is_some();
    name.eq_ignore_ascii_case(b"password")
        && (is_first || follows(b"login ") || follows(b"user ") || follows(b"role "))
}

/// `setx NAME value`, `ENV NAME value`, `npm config set name value`, `requirepass value`.
fn is_set(name: &[u8], before: &[u8]) -> bool {
    const COMMANDS: [&[u8]; 4] = [b"config set ", b"configure set ", b"git config ", b"setx "];
    let near = &before[before.len().saturating_sub(LONGEST_MARGIN)..];
    let is_alone = near.trim_ascii().is_empty();
    COMMANDS.iter().any(|command| memchr::memmem::find(near, command).is_some())
        || near.trim_ascii() == b"ENV"
        || is_alone && matches!(name, b"requirepass" | b"masterauth")
}

/// What is typed behind a name without a sign: behind an option anything, else what is no word.
fn is_typed(value: &[u8], is_option: bool) -> bool {
    let has_digit = value.iter().any(u8::is_ascii_digit);
    match is_option {
        true => value.first() != Some(&b'-') && value.len() >= 4,
        false => value.len() >= 6 && has_digit,
    }
}

/// A value, without its quotation marks.
pub(crate) struct Delimited {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) is_quoted: bool,
}

/// What stands before the tag that closes it. Of one that is too long to wait for that, everything.
fn tagged(text: &[u8], at: usize) -> Option<Delimited> {
    let length = memchr::memmem::find(&text[at..], b"</")
        .or_else(|| (text.len() - at >= ENOUGH).then_some(text.len() - at))?;
    (length > 0).then_some(Delimited { start: at, end: at + length, is_quoted: true })
}

/// The value at a place: up to the quotation mark that closes it, or to where a word ends.
pub(crate) fn quoted_or_bare(text: &[u8], at: usize) -> Option<Delimited> {
    let escape = escapes(text, at);
    let quote = text.get(at + escape).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let found = match quote {
        Some(quote) => {
            let start = at + escape + 1;
            Delimited {
                start,
                end: start + quoted_length(&text[start..], quote, escape > 0),
                is_quoted: true,
            }
        }
        None => Delimited { start: at, end: at + bare_length(text.get(at..)?), is_quoted: false },
    };
    (found.end > found.start).then_some(found)
}

/// The value of a field whose name stands in the line before: `- name: DB_PASSWORD`, then `value: …`.
pub(crate) fn named_before(line: &Line<'_>, start: usize, end: usize) -> Option<Span> {
    let before = &line.text[line.start..start];
    if before.len() > LONGEST_MARGIN
        || !before.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'-'))
    {
        return None;
    }
    let weight = names::weigh(std::str::from_utf8(name_in(line_before(line)?)?).ok()?)?;
    let (at, joint) = joint(&line.text[..line.end], end)?;
    let is_secret =
        |value: &[u8], is_quoted| value::is_secret(value, weight, Written { is_quoted, is_setting: true });
    let found = match joint {
        Joint::Sign { .. } => judged(&line.text[..line.end], at, quoted_or_bare, is_secret)?,
        _ => return None,
    };
    let kind = if weight == Weight::Password { PASSWORD } else { SECRET };
    Some(Span { start: found.start, end: found.end, kind, sure: false })
}

/// The line before, unless it is long.
fn line_before<'a>(line: &Line<'a>) -> Option<&'a [u8]> {
    let end = line.start.checked_sub(1)?;
    let near = &line.text[end.saturating_sub(LONGEST_MARGIN)..end];
    match memchr::memrchr(b'\n', near) {
        Some(at) => Some(&near[at + 1..]),
        None => (near.len() == end).then_some(near),
    }
}

/// Whether the line after this one could be told by it what its value is.
pub(crate) fn names_next(line: &[u8]) -> bool {
    line.len() < LONGEST_MARGIN && name_in(line).is_some()
}

/// The name in `- name: NAME`, `"Name": "NAME",`.
fn name_in(line: &[u8]) -> Option<&[u8]> {
    let is_margin = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'-' | b'{' | b'"' | b'\'');
    let word = line.iter().take_while(is_margin).count();
    let end = word + name_length(line[word..].iter().take(LONGEST_NAME));
    let is_name = [&b"name"[..], b"key"].iter().any(|name| line[word..end].eq_ignore_ascii_case(name));
    let (at, joint) = if is_name { joint(line, end)? } else { return None };
    let found = quoted_or_bare(line, at).filter(|_| matches!(joint, Joint::Sign { .. }))?;
    Some(&line[found.start..found.end])
}

fn quoted_length(rest: &[u8], quote: u8, is_escaped: bool) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' if is_escaped && escapes(rest, at) > 0 => return at,
            b'\\' => at += 2,
            byte if *byte == quote => match reopened(&rest[at..], quote) {
                Some(length) if at > 0 => at += length,
                _ => return at,
            },
            _ => at += 1,
        }
    }
    rest.len()
}

/// A quotation mark within quotation marks, as shells and SQL write it: `'it'\''s'`, `'it''s'`.
fn reopened(rest: &[u8], quote: u8) -> Option<usize> {
    match rest {
        [b'\'', b'\\', b'\'', b'\'', ..] => Some(4),
        [b'\'', b'\'', next, ..] if quote == b'\'' && next.is_ascii_alphanumeric() => Some(2),
        _ => None,
    }
}

fn bare_length(rest: &[u8]) -> usize {
    let is_end = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | 0x1b)
            || *byte == b'\\'
    };
    let starts_odd = matches!(rest.first(), Some(b'<'));
    let mut length = rest.iter().position(is_end).unwrap_or(rest.len());
    if starts_odd {
        length = rest.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(rest.len());
    }
    let length = before_next_field(&rest[..length]);
    let kept = rest[..length]
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b',' | b';' | b')' | b']' | b'}' | b'.' | b':'))
        .count();
    length - kept
}

/// `a&b=c`, `a;b=c`, `a,b:c`: the value is `a`.
fn before_next_field(word: &[u8]) -> usize {
    let is_joint =
        |at: &usize| matches!(word[*at], b'&' | b';' | b',') && starts_with_field(&word[*at + 1..]);
    (0..word.len()).find(is_joint).unwrap_or(word.len())
}

fn starts_with_field(rest: &[u8]) -> bool {
    let length = name_length(rest.iter().take(LONGEST_NAME));
    length > 0 && matches!(rest.get(length), Some(b'=' | b':'))
}
