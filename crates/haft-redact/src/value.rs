//! Does this look like the value of a secret?
//!
//! Asked only of what a name, a header or an option calls one. The answer is no for what stands in its place
//! (`<token>`, `$TOKEN`, `********`, `changeme`), for paths, for code, and for plain words where tokens are meant.

use crate::{found::is_marked, names::Weight};

/// How a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// In quotation marks.
    pub(crate) is_quoted: bool,
    /// As settings are: `NAME=value`, `--option=value`. Code is rarely written so.
    pub(crate) is_setting: bool,
}

/// More of a value need not be seen to judge it.
const ENOUGH: usize = 128;

/// Whether a value is worth hiding.
pub(crate) fn is_secret(value: &[u8], weight: Weight, written: Written) -> bool {
    let value = &value[..value.len().min(ENOUGH)];
    let looks = Looks::of(value);
    let may_be = match weight {
        Weight::Password => looks.may_be_password(written),
        Weight::Secret => looks.may_be_token(written),
        Weight::Perhaps => looks.is_random(),
    };
    may_be && !is_placeholder(value) && !is_reference(value) && !is_path(value) && !is_code(value, written)
}

/// Whether a value of the environment can be told from ordinary words wherever it stands.
pub(crate) fn is_distinctive(value: &str) -> bool {
    let bytes = value.as_bytes();
    let looks = Looks::of(bytes);
    let is_plain = looks.digits == 0 && looks.symbols == 0 && (bytes.len() < 16 || looks.capitals == 0);
    let is_number = looks.letters() == 0 && bytes.len() < 16;
    bytes.len() >= 8
        && !is_plain
        && !is_number
        && !is_path(bytes)
        && !is_placeholder(bytes)
        && !value.contains("://")
        && !looks.is_date_or_version()
}

/// Whether a value looks random: long, and of several kinds of characters that change often.
pub(crate) fn is_random(value: &[u8]) -> bool {
    Looks::of(&value[..value.len().min(ENOUGH)]).is_random()
}

/// What is written where a secret would be.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    const PARTS: [&[u8]; 18] = [
        b"...",
        b"***",
        b"xxx",
        b"your",
        b"changeme",
        b"change-me",
        b"change_me",
        b"placeholder",
        b"example",
        b"redacted",
        b"hidden",
        b"masked",
        b"dummy",
        b"insert",
        b"replace",
        b"todo",
        b"\xe2\x80\xa6",
        b"\xe2\x80\xa2",
    ];
    const WHOLE: [&[u8]; 32] = [
        b"null",
        b"none",
        b"nil",
        b"true",
        b"false",
        b"undefined",
        b"string",
        b"str",
        b"required",
        b"optional",
        b"empty",
        b"unset",
        b"missing",
        b"password",
        b"passwd",
        b"pass",
        b"pwd",
        b"secret",
        b"token",
        b"key",
        b"test",
        b"foo",
        b"bar",
        b"foobar",
        b"value",
        b"default",
        b"invalid",
        b"expired",
        b"bytes",
        b"text",
        b"basic",
        b"bearer",
    ];
    let lower = value.to_ascii_lowercase();
    is_marked(value)
        || is_filler(value)
        || is_example(value)
        || WHOLE.iter().any(|word| lower == *word)
        || has_any(&lower, &PARTS)
        || value.starts_with(b"-----")
        || matches!(value.first(), Some(b'<' | b'{' | b'[' | b'('))
}

fn has_any(text: &[u8], parts: &[&[u8]]) -> bool {
    let mut begins = [false; 256];
    parts.iter().for_each(|part| begins[usize::from(part[0])] = true);
    let mut places = (0..text.len()).filter(|at| begins[usize::from(text[*at])]);
    places.any(|at| parts.iter().any(|part| text[at..].starts_with(part)))
}

/// One character again and again.
pub(crate) fn is_filler(value: &[u8]) -> bool {
    let (mut longest, mut run, mut last) = (0, 0, None);
    for byte in value {
        run = if last == Some(byte) { run + 1 } else { 1 };
        last = Some(byte);
        longest = if matches!(byte, b'=' | b'/') { longest } else { run.max(longest) };
    }
    let is_one = value.len() > 1 && run == value.len();
    let repeats = longest >= 6;
    is_one || repeats
}

/// How an example of somebody's documentation ends.
pub(crate) fn is_example(value: &[u8]) -> bool {
    value.ends_with(b"EXAMPLE") || value.ends_with(b"EXAMPLEKEY")
}

/// A variable, or where a secret is kept.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 22] = [
        b"${",
        b"$(",
        b"$env:",
        b"#{",
        b"%(",
        b"%{",
        b"@{",
        b"!Ref",
        b"!Sub",
        b"!secret",
        b"!vault",
        b"!env",
        b"!Get",
        b"process.env",
        b"import.meta.env",
        b"os.environ",
        b"env:",
        b"env.",
        b"vault:",
        b"op://",
        b"arn:",
        b"projects/",
    ];
    is_variable(value) || BEGINNINGS.iter().any(|beginning| value.starts_with(beginning))
}

/// `$NAME`, `%NAME%`, with nothing secret behind it.
fn is_variable(value: &[u8]) -> bool {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    match value {
        [b'$', rest @ ..] => {
            let length = rest.iter().take_while(is_name).count();
            let is_named = rest.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
            is_named
                && rest
                    .get(length)
                    .is_none_or(|byte| matches!(byte, b'/' | b':' | b'.' | b',' | b'@' | b'$' | b'\\'))
        }
        [b'%', rest @ .., b'%'] => rest.iter().all(|byte| is_name(&byte)),
        [b'%', b's' | b'd' | b'v' | b'r', ..] => value.len() <= 3,
        _ => false,
    }
}

/// A file, or an address.
fn is_path(value: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 7] = [b"./", b"../", b"~/", b"file:", b"http://", b"https://", b"\\\\"];
    const ENDINGS: [&[u8]; 14] = [
        b".pem", b".key", b".json", b".txt", b".md", b".pub", b".yaml", b".yml", b".toml", b".env", b".py",
        b".rs", b".js", b".ts",
    ];
    let is_drive = matches!(value, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let is_absolute = value.first() == Some(&b'/') && !Looks::of(value).is_random();
    is_drive
        || is_absolute
        || BEGINNINGS.iter().any(|beginning| value.starts_with(beginning))
        || ENDINGS.iter().any(|ending| value.ends_with(ending))
}

/// A piece of a program: a call, a path of names, a type.
fn is_code(value: &[u8], written: Written) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(value, part).is_some();
    let called = value.iter().position(|byte| *byte == b'(').map(|at| is_identifier(&value[..at]));
    let is_template = has(b"{{") || has(b"${") || has(b"}}") || has(b"$(");
    if is_template || called == Some(true) || written.is_quoted {
        return is_template || called == Some(true) && (!written.is_quoted || has(b")"));
    }
    let is_borrowed = matches!(value, [b'&' | b'*' | b'@', next, ..] if next.is_ascii_alphabetic());
    let is_expression = called.is_some() || is_borrowed || has(b"[");
    has(b"::")
        || has(b"->")
        || has(b"=>")
        || is_expression && !written.is_setting
        || has(b".") && is_member(value)
}

/// `config.db.password`: names with dots between them.
fn is_member(value: &[u8]) -> bool {
    let parts = value.split(|byte| *byte == b'.');
    parts.clone().all(is_identifier)
        && !parts.clone().any(|part| Looks::of(part).is_random())
        && !Looks::of(value).is_random()
        && parts
            .clone()
            .all(|part| part.iter().filter(|byte| byte.is_ascii_digit()).count() * 4 <= part.len())
}

fn is_identifier(part: &[u8]) -> bool {
    part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && part.iter().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b':' | b'?' | b'!')
        })
}

/// What a value is made of.
struct Looks<'a> {
    value: &'a [u8],
    digits: usize,
    capitals: usize,
    small: usize,
    spaces: usize,
    /// Other than what joins words.
    symbols: usize,
    /// How often digits, capitals and small letters take turns.
    turns: usize,
}

impl Looks<'_> {
    fn of(value: &[u8]) -> Looks<'_> {
        let mut looks = Looks { value, digits: 0, capitals: 0, small: 0, spaces: 0, symbols: 0, turns: 0 };
        let mut last = 0;
        for byte in value {
            let class = match byte {
                b'0'..=b'9' => 1,
                b'A'..=b'Z' => 2,
                b'a'..=b'z' => 3,
                b' ' | b'\t' => 4,
                b'_' | b'-' | b'.' | b':' | b'/' | b',' => 5,
                _ => 6,
            };
            match class {
                1 => looks.digits += 1,
                2 => looks.capitals += 1,
                3 => looks.small += 1,
                4 => looks.spaces += 1,
                6 => looks.symbols += 1,
                _ => {}
            }
            looks.turns += usize::from(class != last);
            last = class;
        }
        looks
    }

    fn letters(&self) -> usize {
        self.capitals + self.small
    }

    fn may_be_password(&self, written: Written) -> bool {
        let length = self.value.len();
        if self.spaces > 0 && (self.digits == 0 || self.value.len() / (self.spaces + 1) < 4) {
            return false;
        }
        let is_word = self.digits == 0 && self.symbols == 0;
        if is_word {
            return written.is_setting && length >= 6 || self.is_random();
        }
        let is_end_of_sentence = self.digits == 0
            && self.letters() + 1 >= length
            && matches!(self.value.last(), Some(b'!' | b'?' | b';'));
        let least = if written.is_setting || written.is_quoted { 4 } else { 6 };
        length >= least && !is_end_of_sentence
    }

    fn may_be_token(&self, written: Written) -> bool {
        let length = self.value.len();
        if length < 8 || self.spaces > 0 || self.is_date_or_version() {
            return false;
        }
        let has_both = self.digits > 0 && self.letters() > 0;
        let is_numbered_word = self.digits < 4
            && self.turns <= 2 + self.value.iter().filter(|b| matches!(b, b'_' | b'-')).count() * 2;
        has_both && (!is_numbered_word || written.is_setting && self.symbols > 0)
            || self.digits >= 16
            || self.symbols > 0 && self.letters() > 0 && (written.is_quoted || written.is_setting)
            || self.is_random()
    }

    fn is_random(&self) -> bool {
        let length = self.value.len();
        let has_letters_and_digits = self.letters() > 0 && self.digits > 1;
        let is_wild = self.capitals > 2 && self.small > 2 && self.turns * 4 > length;
        length >= 12
            && self.spaces == 0
            && self.symbols * 3 < length
            && (has_letters_and_digits
                && length >= 16
                && self.turns * 8 > length
                && !self.is_date_or_version()
                || is_wild)
    }

    fn is_date_or_version(&self) -> bool {
        let rest = self.value.strip_prefix(b"v").unwrap_or(self.value);
        let fits = |byte: &u8| {
            byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':' | b'T' | b'Z' | b'+' | b'/')
        };
        self.digits > 0 && self.digits < 20 && rest.len() > self.digits && rest.iter().all(fits)
    }
}
