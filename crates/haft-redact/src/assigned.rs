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
pub(crate) const LONGEST_MARGIN: usize = 256;
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

/// Whether the name in which a key word stands may be above a column: what follows it ends a cell.
pub(crate) fn is_head(text: &[u8], end: usize) -> bool {
    let at = end + name_length(text[end..].iter().take(LONGEST_NAME));
    let at = at + usize::from(matches!(text.get(at), Some(b'"' | b'\'' | b'`')));
    let blanks = text[at..].iter().take(32).take_while(|byte| **byte == b' ').count();
    matches!(text.get(at + blanks), None | Some(b',' | b'\t' | b';' | b'|' | b'\n' | b'\r' | b')'))
}

/// The value of the name in which a key word stands. Nothing before `covered` is looked at again.
pub(crate) fn find(line: &Line<'_>, start: usize, place: Place, covered: usize) -> Option<Span> {
    let Place { name_end, at, joint } = place;
    let before = name_length(line.text[line.start..start].iter().rev().take(LONGEST_NAME));
    // Not in the middle of a character.
    let name = &line.text[start - before..start];
    let before = before - name.iter().take_while(|byte| matches!(byte, 0x80..=0xbf)).count();
    let name = Name { line, start: start - before, end: name_end };
    let joint = match joint {
        // A column of a listing: at least two blanks, and nothing before the name.
        Joint::Space if name.is_first() && (at - name_end > 1 || line.text[name_end] == b'\t') => {
            Joint::Column
        }
        joint => joint,
    };
    if at < covered || !name.allows(joint) {
        return None;
    }
    let weight = name.weight(joint)?;
    let is_secret = |value: &[u8], is_quoted| {
        let written = Written { is_quoted, is_setting: name.is_setting(joint) };
        value::is_secret(value, weight, written)
            && match joint {
                Joint::Space => is_typed(value, name.is_option()),
                Joint::Argument => name.is_defined() || value::is_random(value),
                Joint::Call => value::is_odd(value, weight),
                Joint::Column => value::is_odd(value, weight) || is_netrc(name.bytes(), b""),
                _ => true,
            }
    };
    if let Some(below) = below(line, at, joint) {
        // `if token:` is followed by code; only in settings a plain word is a password.
        let is_secret = |value: &[u8], is_quoted| {
            value::is_secret(value, weight, Written { is_quoted, is_setting: false })
                && (joint != Joint::Call || value::is_odd(value, weight))
        };
        let found = judged(&line.text[..below.1], below.0, quoted_or_bare, is_secret)?;
        let rest = line.text[found.end..below.1].iter();
        let is_whole = rest.clone().all(|byte| byte.is_ascii_punctuation() || byte.is_ascii_whitespace());
        return is_whole.then(|| span(&found, weight));
    }
    if at >= line.end {
        return None;
    }
    let text = &line.text[..line.end];
    let found = match joint {
        Joint::Tag => judged(text, at, tagged, is_secret),
        Joint::Encoded => judged(text, at, encoded, is_secret),
        Joint::Prompt => judged(text, at, quoted_or_bare, is_secret)
            .filter(|found| text[found.end..].trim_ascii().is_empty()),
        _ => judged(text, at, quoted_or_bare, is_secret),
    }?;
    Some(span(&found, weight))
}

fn span(found: &Delimited, weight: Weight) -> Span {
    let kind = if weight == Weight::Password { PASSWORD } else { SECRET };
    Span { start: found.start, end: found.end, kind, sure: false }
}

/// Where the next line begins and ends, if the value stands there: behind `name: >-`, `name = \`, `name = (`, `<name>`.
fn below(line: &Line<'_>, at: usize, joint: Joint) -> Option<(usize, usize)> {
    let can_be = matches!(joint, Joint::Sign { .. } | Joint::Tag | Joint::Call);
    let length = line.end - line.start;
    let rest = line.text.get(at..line.end).unwrap_or_default().trim_ascii();
    if !can_be
        || length >= LONGEST_MARGIN
        || !opens_next(&line.text[line.start..line.end])
        || !is_opening(rest)
    {
        return None;
    }
    let start = line.end + 1;
    let next = line.text.get(start..)?;
    let end = start + memchr::memchr(b'\n', next).unwrap_or(next.len());
    let margin = next.iter().take(64).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    (margin > 0 || joint == Joint::Tag).then_some((start + margin, end))
}

/// What stands between a name and the end of its line, if the value is below.
fn is_opening(rest: &[u8]) -> bool {
    matches!(rest, b"" | b">" | b"|" | b">-" | b"|-" | b">+" | b"|+" | b"(" | b"\\")
}

/// Whether the next line goes on with a command.
pub(crate) fn is_continued(line: &[u8]) -> bool {
    line.len() < LONGEST_MARGIN && line.ends_with(b"\\")
}

/// Whether a line may be of that kind. Cheap, and never no where [`below`] says yes.
fn opens_next(line: &[u8]) -> bool {
    matches!(line.trim_ascii_end().last(), Some(b':' | b'=' | b'>' | b'|' | b'-' | b'+' | b'(' | b'\\'))
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
    /// `name("value")`, `name = f("value")`.
    Call,
    /// `name     value`, in columns.
    Column,
    /// `Name for something: value`, `Name [None]: value`.
    Prompt,
}

/// Where the value begins.
fn joint(text: &[u8], name_end: usize) -> Option<(usize, Joint)> {
    let at = sized(text, coloured(text, closed(text, coloured(text, name_end))));
    let spaces = blanks(text, at);
    let sign = at + spaces;
    let rest = text.get(sign..)?;
    let is_loose = Joint::Sign { is_tight: false };
    match rest {
        [b'%', ..] => return encoded_joint(text, name_end).map(|at| (at, Joint::Encoded)),
        [b'|', b' ', ..] => return Some((sign + 1 + blanks(text, sign + 1), Joint::Cell)),
        [b'>', ..] if at == name_end => return Some((sign + 1, Joint::Tag)),
        _ if spaces > 0 && at == name_end && is_tag(text, name_end) => {
            return attributes_end(rest).map(|length| (sign + length, Joint::Tag));
        }
        [b'(', ..] if spaces == 0 => return called(text, name_end, sign).map(|at| (at, Joint::Call)),
        [b'=' | b':', b'=', b'=', ..] | [b'=', b'=' | b'~', ..] => return None,
        _ => {}
    }
    if let Some(length) = long_sign(rest) {
        let value = sign + length + blanks(text, sign + length);
        return Some(literal(text, value).unwrap_or((value, is_loose)));
    }
    match rest {
        [b':', b':', ..] => None,
        [b'=' | b':', ..] => {
            let after = blanks(text, sign + 1);
            let value = sign + 1 + after;
            let is_tight = spaces + after == 0;
            let declared = declared(text, sign, value).map(|at| (at, is_loose));
            declared.or_else(|| literal(text, value)).or(Some((value, Joint::Sign { is_tight })))
        }
        _ if at > name_end && spaces == 0 => match attribute(text, at) {
            Some(at) => Some((at, is_loose)),
            None => argument(text, at).map(|at| (at, Joint::Argument)),
        },
        [_, ..] if spaces > 0 => {
            let typed = typed(text, sign).and_then(|at| literal(text, at).or(Some((at, is_loose))));
            typed
                .or_else(|| prompted(text, sign).map(|at| (at, Joint::Prompt)))
                .or_else(|| if at > name_end { attribute(text, at).map(|at| (at, is_loose)) } else { None })
                .or(if at > name_end { argument(text, at).map(|at| (at, Joint::Argument)) } else { None })
                .or((at == name_end).then_some((sign, Joint::Space)))
        }
        _ if at > name_end => match attribute(text, at) {
            Some(at) => Some((at, is_loose)),
            None => argument(text, at).map(|at| (at, Joint::Argument)),
        },
        _ => None,
    }
}

/// Whether the name that ends here is that of a tag.
fn is_tag(text: &[u8], name_end: usize) -> bool {
    let before = name_length(text[..name_end].iter().rev().take(LONGEST_NAME));
    text[..name_end - before].ends_with(b"<")
}

/// Behind the attributes of a tag: `type="string">`.
fn attributes_end(rest: &[u8]) -> Option<usize> {
    let near = &rest[..rest.len().min(LONGEST_MARGIN)];
    let end = near.iter().position(|byte| matches!(byte, b'>' | b'<' | b'\n'))?;
    (near[end] == b'>' && end > 0 && near[end - 1] != b'/').then_some(end + 1)
}

/// How long a sign is that is more than `=` or `:`.
fn long_sign(rest: &[u8]) -> Option<usize> {
    const SIGNS: [&[u8]; 14] = [
        b":::=",
        b"::=",
        b"||=",
        b"??=",
        b"&&=",
        b"=>",
        b":=",
        b"?=",
        b"+=",
        b".=",
        b"<-",
        b"&colon;",
        "\u{ff1a}".as_bytes(),
        "\u{ff1d}".as_bytes(),
    ];
    SIGNS.iter().find(|sign| rest.starts_with(sign)).map(|sign| sign.len())
}

/// Behind `[25]`, how large a variable is.
fn sized(text: &[u8], at: usize) -> usize {
    let Some([b'[', rest @ ..]) = text.get(at..) else { return at };
    let digits = rest.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    if rest.get(digits) == Some(&b']') { at + digits + 2 } else { at }
}

/// The string in `name("value")`, unless a function of that name looks something up.
fn called(text: &[u8], name_end: usize, at: usize) -> Option<usize> {
    let value = at + 1;
    let before = name_length(text[..name_end].iter().rev().take(LONGEST_NAME));
    let name = std::str::from_utf8(&text[name_end - before..name_end]).ok()?;
    (matches!(text.get(value), None | Some(b'"' | b'\'' | b'`' | b'\n' | b'\r')) && !names::is_lookup(name))
        .then_some(value)
}

/// A string that has something before it: `@"…"`, `b'…'`, `[]byte("…")`, `Secret::new("…")`, `&anchor …`, `!!str …`.
fn literal(text: &[u8], at: usize) -> Option<(usize, Joint)> {
    const LONGEST_CALL: usize = 48;
    let is_quote = |at: usize| matches!(text.get(at), Some(b'"' | b'\'' | b'`'));
    let rest = text.get(at..)?;
    match rest {
        [b'&' | b'!', next, ..] if next.is_ascii_alphabetic() || *next == b'!' => {
            let length =
                1 + name_length(rest[1..].iter().take(LONGEST_NAME).skip_while(|byte| **byte == b'!'));
            let length = length + usize::from(*next == b'!');
            let value = at + length + blanks(text, at + length);
            // A tag that is no type refers to something: `!Ref name`, `!vault |`.
            let is_plain = rest[0] == b'&' || matches!(&rest[1..length], b"!str" | b"str" | b"!binary");
            return (is_plain && value > at + length).then_some((value, Joint::Sign { is_tight: false }));
        }
        _ => {}
    }
    let is_prefix = |byte: &&u8| byte.is_ascii_alphabetic() || matches!(byte, b'@' | b'$' | b'#');
    let prefix = rest.iter().take(4).take_while(is_prefix).count();
    if (1..=3).contains(&prefix) && is_quote(at + prefix) {
        // In `f"{name}"` and `$"{name}"` something is put in.
        let is_filled = rest[..prefix].iter().any(|byte| matches!(byte, b'f' | b'F' | b'$'));
        let seen = &rest[..rest.len().min(ENOUGH)];
        let line = &seen[..memchr::memchr(b'\n', seen).unwrap_or(seen.len())];
        if is_filled && line.contains(&b'{') {
            return None;
        }
        return Some((at + prefix, Joint::Sign { is_tight: false }));
    }
    let is_part = |byte: &&u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'.' | b':' | b'[' | b']' | b'<' | b'>' | b' ' | b'&' | b'*')
    };
    let length = rest.iter().take(LONGEST_CALL).take_while(is_part).count();
    let name = std::str::from_utf8(rest.get(..length)?).ok()?;
    if rest.get(length) != Some(&b'(') || name.trim().is_empty() || names::is_lookup(name) {
        return None;
    }
    let value = at + length + 1;
    let value = value
        + usize::from(matches!(text.get(value), Some(b'b' | b'r' | b'u' | b'@')) && is_quote(value + 1));
    let joint = if name == "Some" { Joint::Sign { is_tight: false } } else { Joint::Call };
    is_quote(value).then_some((value, joint))
}

/// Behind the sign of what is declared with its type behind its name: `apiToken string = "…"`.
fn typed(text: &[u8], at: usize) -> Option<usize> {
    let is_part =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'*' | b'[' | b']');
    let rest = text.get(at..)?;
    let length = rest.iter().take(LONGEST_TYPE).take_while(is_part).count();
    let sign = at + length + blanks(text, at + length);
    let is_sign = length > 0 && sign > at + length && text.get(sign) == Some(&b'=');
    let value = sign + 1 + blanks(text, sign + 1);
    (is_sign && matches!(text.get(value), Some(b'"' | b'\'' | b'`'))).then_some(value)
}

/// Behind the colon of `… for user me: `, `… [None]: `, `… (again): `.
fn prompted(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..text.len().min(at + LONGEST_MARGIN))?;
    if !matches!(rest, [b'[' | b'(', ..]) && !rest.starts_with(b"for ") {
        return None;
    }
    let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
    let colon = memchr::memmem::rfind(line, b": ")?;
    Some(at + colon + 2)
}

/// Behind the quotation mark and the bracket that close a name: `["name"]`, `\"name\"`.
fn closed(text: &[u8], mut at: usize) -> usize {
    at += escapes(text, at);
    at += match text.get(at) {
        Some(b'"' | b'\'' | b'`') => 1,
        Some(b'&') => entity(&text[at..]).unwrap_or_default(),
        _ => 0,
    };
    at += usize::from(matches!(text.get(at), Some(b']' | b')')));
    at
}

/// How long a quotation mark is as HTML writes it.
fn entity(rest: &[u8]) -> Option<usize> {
    const MARKS: [&[u8]; 6] = [b"&quot;", b"&#34;", b"&#39;", b"&apos;", b"&#x22;", b"&#x27;"];
    MARKS.iter().find(|mark| rest.starts_with(mark)).map(|mark| mark.len())
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
        // What was encoded again has `%25` for each percent sign.
        let again = text.get(at..).unwrap_or_default();
        let again =
            again.get(1..).unwrap_or_default().chunks(2).take(3).take_while(|two| two == b"25").count() * 2;
        let here = text.get(at + again..at + again + 3).unwrap_or_default();
        let here = [b"%", here.get(1..).unwrap_or_default()].concat();
        let is_code = text.get(at) == Some(&b'%') && codes.iter().any(|code| here.eq_ignore_ascii_case(code));
        at + if is_code { again + 3 } else { 0 }
    };
    let sign = skip(name_end, [b"%22", b"%27"]);
    let at = skip(sign, [b"%3A", b"%3D"]);
    (at > sign).then(|| skip(skip(at, [b"%20", b"%20"]), [b"%22", b"%27"]))
}

/// Up to what would end a value if it were not encoded.
fn encoded(text: &[u8], at: usize) -> Option<Delimited> {
    const ENDS: [&[u8]; 7] = [b"%22", b"%27", b"%26", b"%2C", b"%7D", b"%3B", b"%25"];
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
    // Latin letters with accents are two bytes each.
    let is_part =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | 0xc3 | 0xa1..=0xbf);
    bytes.take_while(is_part).count()
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

    fn is_first(&self) -> bool {
        self.line.text[self.line.start..self.start].trim_ascii().is_empty()
    }

    fn is_option(&self) -> bool {
        self.bytes().starts_with(b"-")
    }

    /// In a list of fields (`Server=s;Pwd=p`) the short word is a password, too.
    fn weight(&self, joint: Joint) -> Option<Weight> {
        let before = &self.line.text[self.line.start..self.start];
        let name = self.bytes();
        if before.ends_with(b";") && name.eq_ignore_ascii_case(b"pwd") {
            return Some(Weight::Password);
        }
        let weight = names::weigh(std::str::from_utf8(name).ok()?);
        let is_asked = || joint == Joint::Prompt || self.line.text[self.end..].starts_with(b":");
        let has_words = before.ends_with(b" ") && is_asked();
        if !has_words || matches!(weight, Some(Weight::Password | Weight::Secret)) {
            return weight;
        }
        // `Secret Access Key: …`, as programs ask.
        let is_part = |byte: &&u8| byte.is_ascii_alphabetic() || **byte == b' ';
        let length = before.iter().rev().take(LONGEST_NAME / 2).take_while(is_part).count();
        let phrase = &self.line.text[self.start - length..self.end];
        let phrase = names::weigh(std::str::from_utf8(phrase).ok()?);
        phrase.filter(|weight| *weight != Weight::Perhaps).or(weight)
    }

    /// Without a sign between them, a name and a word are mostly prose.
    fn allows(&self, joint: Joint) -> bool {
        let before = &self.line.text[self.line.start..self.start];
        match joint {
            // `AWS::KMS::Key: …`, `Security::Authorization::Name`: the word is a part of a path.
            Joint::Sign { .. } => {
                !(is_in_arn(before) || before.ends_with(b"::") && joint != Joint::Sign { is_tight: true })
            }
            Joint::Encoded => true,
            Joint::Argument => matches!(before, [.., b'(', b'"' | b'\'']),
            Joint::Call | Joint::Prompt | Joint::Column => true,
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
            Joint::Tag
            | Joint::Cell
            | Joint::Encoded
            | Joint::Argument
            | Joint::Call
            | Joint::Prompt
            | Joint::Column => false,
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
    const COMMANDS: [&[u8]; 7] =
        [b"set -x ", b"set -gx ", b"set -Ux ", b"config set ", b"configure set ", b"git config ", b"setx "];
    let near = &before[before.len().saturating_sub(LONGEST_MARGIN)..];
    let is_alone = near.trim_ascii().is_empty();
    COMMANDS.iter().any(|command| memchr::memmem::find(near, command).is_some())
        || near.trim_ascii() == b"ENV"
        || is_alone && matches!(name, b"requirepass" | b"masterauth" | b"bindpw" | b"rootpw")
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
    if let Some(length) = text.get(at..).and_then(entity) {
        let start = at + length;
        let rest = text.get(start..)?;
        let end = memchr::memchr_iter(b'&', rest).find(|place| entity(&rest[*place..]).is_some());
        let end = start + end.unwrap_or(rest.len());
        return (end > start).then_some(Delimited { start, end, is_quoted: true });
    }
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
    let weight = names::weigh(std::str::from_utf8(name_above(line)?).ok()?)?;
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

/// So many lines above a value may stand its name.
pub(crate) const ABOVE: usize = 4;

/// The name that one of the lines above tells: `- name: NAME`, `variable "name" {`.
fn name_above<'a>(line: &Line<'a>) -> Option<&'a [u8]> {
    let mut end = line.start;
    for _ in 0..ABOVE {
        end = end.checked_sub(1)?;
        let near = &line.text[end.saturating_sub(LONGEST_MARGIN)..end];
        let above = match memchr::memrchr(b'\n', near) {
            Some(at) => &near[at + 1..],
            None if near.len() == end => near,
            None => return None,
        };
        if let Some(name) = name_in(above) {
            return Some(name);
        }
        let has_key = || {
            let marks: [&[u8]; 4] = [b"-- BEGIN ", b"--BEGIN ", b"KEY--", b"BLOCK--"];
            marks.iter().any(|mark| memchr::memmem::find(above, mark).is_some())
                || memchr::memmem::find(above, b"[redacted: private key]").is_some()
        };
        if matches!(above.trim_ascii().first(), None | Some(b'}' | b']' | b')')) || has_key() {
            return None;
        }
        end -= above.len();
    }
    None
}

/// Whether a line below this one could be told by it what its value is. The last line may have its value in the next.
pub(crate) fn names_next(line: &[u8], is_last: bool) -> bool {
    line.len() < LONGEST_MARGIN && (name_in(line).is_some() || is_last && opens_next(line))
}

/// The name in `- name: NAME`, `"Name": "NAME",`.
fn name_in(line: &[u8]) -> Option<&[u8]> {
    let is_margin = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'-' | b'{' | b'"' | b'\'');
    let word = line.iter().take_while(is_margin).count();
    let end = word + name_length(line[word..].iter().take(LONGEST_NAME));
    if &line[word..end] == b"variable" {
        let quoted = line.get(end..)?.strip_prefix(b" \"")?;
        return Some(&quoted[..memchr::memchr(b'"', quoted)?]);
    }
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
        .take_while(|byte| matches!(byte, b',' | b';' | b')' | b']' | b'}' | b'.'))
        .count();
    match &rest[..length] {
        // `def f(password=None):`
        [.., b')' | b']' | b'}', b':'] => bare_length(&rest[..length - 1]),
        _ => length - kept,
    }
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
