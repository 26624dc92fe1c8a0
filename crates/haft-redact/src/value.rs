//! Does this look like the value of a secret?
//!
//! Asked only of what a name, a header or an option calls one. The answer is no for what stands in its place
//! (`<token>`, `$TOKEN`, `********`, `changeme`), for paths, for code, and for plain words where tokens are meant.

use crate::{
    found::is_marked,
    names::Weight,
    words::{self, is_words},
};

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

/// Whether a string that is given to a function is more than a name or a message.
pub(crate) fn is_odd(value: &[u8], weight: Weight) -> bool {
    let looks = Looks::of(&value[..value.len().min(ENOUGH)]);
    if looks.letters() == 0 {
        return false;
    }
    let is_password = weight == Weight::Password
        && looks.digits > 0
        && looks.letters() > 0
        && looks.spaces == 0
        && value.len() >= 6
        && !is_words(value);
    is_password
        || weight != Weight::Perhaps && value.len() >= 10 && looks.digits > 2 && !is_words(value)
        || looks.is_random()
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
    const WHOLE: [&[u8]; 39] = [
        b"name",
        b"option",
        b"options",
        b"flag",
        b"argument",
        b"parameter",
        b"field",
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
        || matches!(value.first(), Some(b'<'))
        || matches!(value, [b'{' | b'[' | b'(', inside @ ..] if is_blank(inside))
        || is_format(value)
}

/// `client=%s`, `{name}-{index}`: something is put in there, and the rest is words.
fn is_format(value: &[u8]) -> bool {
    let place = |pair: &[u8]| matches!(pair, [b'%', b's' | b'd' | b'v' | b'r' | b'q' | b'x']);
    let is_formatted = value.windows(2).any(place) || matches!(value, [b'{', ..] | [.., b'{']);
    is_formatted && words::is_made_of_words(value)
}

/// What forms have between brackets: words, or nothing.
fn is_blank(inside: &[u8]) -> bool {
    let is_odd = |byte: &u8| matches!(byte, b'#' | b'^' | b'~');
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'.');
    inside.iter().all(is_name) || words::is_made_of_words(inside) && !inside.iter().any(is_odd)
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
            let (name, first) = (&rest[..length], rest.first());
            let is_named = first.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
            is_named
                && is_name_of_variable(name)
                && rest
                    .get(length)
                    .is_none_or(|byte| matches!(byte, b'/' | b':' | b'.' | b',' | b'@' | b'$' | b'\\'))
        }
        [b'%', rest @ .., b'%'] => rest.iter().all(|byte| is_name(&byte)),
        [b'%', b's' | b'd' | b'v' | b'r', ..] => value.len() <= 3,
        _ => false,
    }
}

/// `NAME`, `some_name`, `someName`, `s3_bucket`; not what begins with a dollar for another reason, as `$ecretP4ss`.
fn is_name_of_variable(name: &[u8]) -> bool {
    let is_odd = |pair: &[u8]| pair[0].is_ascii_digit() && pair[1].is_ascii_lowercase();
    let is_loud = !name.iter().any(u8::is_ascii_lowercase);
    is_loud || words::is_made_of_words(name) && !name.windows(2).any(is_odd)
}

/// `token123`, `sk-1234`: a word and the first numbers, as examples have it.
pub(crate) fn is_numbered_example(value: &[u8]) -> bool {
    let digits = value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (word, number) = value.split_at(value.len() - digits);
    digits >= 3 && b"1234567890".starts_with(number) && !word.is_empty() && value.len() < 16 && is_words(word)
}

/// A file, or an address.
fn is_path(value: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 7] = [b"./", b"../", b"~/", b"file:", b"http://", b"https://", b"\\\\"];
    const ENDINGS: [&[u8]; 14] = [
        b".pem", b".key", b".json", b".txt", b".md", b".pub", b".yaml", b".yml", b".toml", b".env", b".py",
        b".rs", b".js", b".ts",
    ];
    let is_drive = matches!(value, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    // `SOFTWARE\Vendor\Product`, a key of a registry.
    let parts = || value.split(|byte| *byte == b'\\');
    let is_registry = parts().count() > 2 && parts().all(|part| part.len() > 2 && words::is_words(part));
    let is_absolute = value.first() == Some(&b'/') && !Looks::of(value).is_random();
    is_drive
        || is_registry
        || is_absolute
        || BEGINNINGS.iter().any(|beginning| value.starts_with(beginning))
        || ENDINGS.iter().any(|ending| value.ends_with(ending))
}

/// A piece of a program: a call, a path of names, a type.
fn is_code(value: &[u8], written: Written) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(value, part).is_some();
    let called = value.iter().position(|byte| matches!(byte, b'(' | b'[')).map(|at| is_call(value, at));
    let is_template = has(b"{{") || has(b"${") || has(b"}}") || has(b"$(") || is_pattern(value);
    // Behind a name that ends in a quotation mark the text goes on as code: `"token=" + value + "&"`.
    match value.first() {
        Some(b',' | b')' | b';') if written.is_quoted => return true,
        Some(b'+' | b'.' | b'?' | b']') if written.is_quoted => return words::is_code(value),
        _ => {}
    }
    if is_template || called == Some(true) || written.is_quoted {
        return is_template || called == Some(true) && (!written.is_quoted || has(b")"));
    }
    let is_borrowed = matches!(value, [b'&' | b'*' | b'@', next, ..] if next.is_ascii_alphabetic());
    let is_joined = value.iter().any(|byte| byte.is_ascii_punctuation() && !matches!(byte, b'_' | b'-'));
    let is_expression = is_joined && words::is_code(value);
    has(b"::") && is_expression
        || has(b"->")
        || has(b"=>")
        || (is_expression || is_borrowed && is_words(&value[1..])) && !written.is_setting
        || has(b".") && is_words(value) && is_member(value)
}

/// A name before a bracket, and no name right behind the one that closes it.
fn is_call(value: &[u8], at: usize) -> bool {
    let is_name = |part: &[u8]| {
        let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        part[letters..].iter().all(u8::is_ascii_digit)
    };
    let goes_on = |pair: &[u8]| matches!(pair[0], b')' | b']') && pair[1].is_ascii_alphanumeric();
    let last = value[..at].rsplit(|byte| matches!(byte, b'.' | b':')).next().unwrap_or_default();
    let is_method = last.len() < at && last.len() >= 4 && is_words(last);
    is_identifier(&value[..at])
        && (is_method
            || words::is_made_of_words(&value[..at])
            || value[..at].split(|byte| !byte.is_ascii_alphanumeric()).all(is_name))
        && !value[at..].windows(2).any(goes_on)
}

/// A regular expression.
fn is_pattern(value: &[u8]) -> bool {
    const PARTS: [&[u8]; 8] = [b"a-z", b"A-Z", b"0-9", b"\\S", b"\\w", b"\\d", b"(?", b"[^"];
    let is_repeated = value.iter().any(|byte| matches!(byte, b'[' | b'{' | b'*' | b'+'));
    is_repeated && has_any(value, &PARTS)
}

/// `config.db.password`: names with dots between them.
fn is_member(value: &[u8]) -> bool {
    value.split(|byte| *byte == b'.').all(is_identifier)
}

fn is_identifier(part: &[u8]) -> bool {
    part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && part.iter().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b':' | b'?' | b'!')
        })
}

/// A word of a passphrase that is none of a sentence: `p@ss`, `kJEPVL`, `w0rd7`.
fn is_odd_word(word: &[u8]) -> bool {
    let inside = word.trim_ascii_end();
    let Some(inside) = inside.get(1..inside.len().saturating_sub(1)).filter(|_| inside.len() >= 4) else {
        return false;
    };
    let is_sign = |byte: &u8| matches!(byte, b'@' | b'#' | b'$' | b'!' | b'^' | b'*' | b'~' | b'+');
    let is_alphanumeric = word.iter().all(u8::is_ascii_alphanumeric);
    is_alphanumeric && !words::is_made_of_words(word) || inside.iter().any(is_sign) && !inside.contains(&b'.')
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
        if self.spaces > 0 {
            return self.is_passphrase(written);
        }
        let is_word = self.digits == 0 && self.symbols == 0;
        if is_word {
            return written.is_setting && length >= 6 || self.is_random() || self.is_hyphenated();
        }
        let is_end_of_sentence = self.digits == 0
            && self.letters() + 1 >= length
            && matches!(self.value.last(), Some(b'!' | b'?' | b';'))
            && words::is_made_of_words(self.value);
        let least = if written.is_setting || written.is_quoted { 4 } else { 6 };
        length >= least && !is_end_of_sentence
    }

    /// `correct-horse-battery`
    fn is_hyphenated(&self) -> bool {
        let hyphens = self.value.iter().filter(|byte| **byte == b'-').count();
        let is_part = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'-';
        let is_prose =
            |part: &[u8]| matches!(part, b"no" | b"not" | b"required" | b"password" | b"secret" | b"the");
        let has_prose = self.value.split(|byte| *byte == b'-').any(is_prose);
        !has_prose && hyphens > 1 && self.value.len() >= 16 && self.value.iter().all(is_part)
    }

    /// Several words that are no sentence: one is odd, or they are a setting's and nothing else.
    fn is_passphrase(&self, written: Written) -> bool {
        const PROSE: [&[u8]; 16] = [
            b"a",
            b"the",
            b"is",
            b"are",
            b"not",
            b"your",
            b"for",
            b"of",
            b"to",
            b"and",
            b"or",
            b"no",
            b"enter",
            b"please",
            b"password",
            b"must",
        ];
        let words = || self.value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let is_prose = |word: &[u8]| PROSE.iter().any(|one| word.eq_ignore_ascii_case(one));
        if !written.is_quoted || words().any(is_prose) {
            return false;
        }
        let is_plain = |word: &[u8]| word.iter().all(u8::is_ascii_lowercase);
        let is_setting = written.is_setting && (3..=8).contains(&words().count()) && words().all(is_plain);
        let is_mixed =
            |word: &[u8]| word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic);
        let has_length = self.value.len() / (self.spaces + 1) >= 4;
        is_setting || has_length && words().any(is_mixed) || words().any(is_odd_word)
    }

    fn may_be_token(&self, written: Written) -> bool {
        let length = self.value.len();
        if length < 8 || self.spaces > 0 || self.is_date_or_version() {
            return false;
        }
        if !written.is_setting && is_words(self.value) {
            return false;
        }
        if is_numbered_example(self.value) {
            return false;
        }
        let has_both = self.digits > 0 && self.letters() > 0;
        let is_numbered_word = self.digits < 4
            && self.turns <= 2 + self.value.iter().filter(|b| matches!(b, b'_' | b'-')).count() * 2;
        has_both && (!is_numbered_word || written.is_setting && self.symbols > 0)
            || self.digits >= 16
            || self.symbols > 0 && self.letters() > 0
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
            && !is_words(self.value)
    }

    fn is_date_or_version(&self) -> bool {
        let rest = self.value.strip_prefix(b"v").unwrap_or(self.value);
        let fits = |byte: &u8| {
            byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':' | b'T' | b'Z' | b'+' | b'/')
        };
        self.digits > 0 && self.digits < 20 && rest.len() > self.digits && rest.iter().all(fits)
    }
}
