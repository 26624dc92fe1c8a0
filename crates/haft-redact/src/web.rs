//! Secrets of the web: a password in an address, what `Authorization` and `Cookie` carry, signatures in queries.

use crate::{
    assigned::{judged, quoted_or_bare},
    found::{AUTHORIZATION, COOKIE, PASSWORD, PRIVATE_KEY, SECRET, SIGNATURE, Span},
    names,
    scan::Line,
    token, value, words,
};

/// A user and a password are at most this long.
pub(crate) const LONGEST_USER: usize = 1024;

/// So much of a value is enough to judge it. Only what is a secret is read to its end.
const ENOUGH: usize = 128;

/// `scheme://user:PASSWORD@host`, from behind the slashes; a user that is a token, too.
pub(crate) fn address(line: &Line<'_>, end: usize) -> Option<Span> {
    let rest = &line.text[end..line.end.min(end + LONGEST_USER)];
    let is_end = |byte: &u8| {
        byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'`' | b'\\' | b'?' | b'#')
    };
    let first = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    let user = match memchr::memrchr(b'@', first) {
        Some(at) => &first[..at],
        None => with_odd_password(rest)?,
    };
    let (start, kind) = match memchr::memchr(b':', user) {
        // The token is the user, and this says so.
        Some(colon) if user[colon..] == *b":x-oauth-basic" => {
            return (colon >= 8).then_some(Span { start: end, end: end + colon, kind: SECRET, sure: false });
        }
        Some(colon) => (colon + 1, PASSWORD),
        None => (0, SECRET),
    };
    let secret = &user[start..];
    let is_secret = match kind {
        PASSWORD => {
            secret.len() >= 3
                && !value::is_placeholder(secret)
                && !value::is_reference(secret)
                && !is_named(secret)
        }
        _ => secret.len() >= 20 && value::is_random(secret) && !value::is_placeholder(secret),
    };
    is_secret.then_some(Span { start: end + start, end: end + user.len(), kind, sure: false })
}

/// The same in an address that was encoded for another one: `%3A%2F%2Fuser%3APASSWORD%40host`.
pub(crate) fn encoded_address(line: &Line<'_>, end: usize) -> Option<Span> {
    let rest = &line.text[end..line.end.min(end + ENOUGH)];
    let is_word = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'<' | b'&');
    let word = &rest[..rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len())];
    let find = |from: usize, codes: [&[u8]; 2]| {
        let is_code = |three: &[u8]| codes.iter().any(|code| three.eq_ignore_ascii_case(code));
        word[from..].windows(3).position(is_code).map(|at| from + at)
    };
    let start = find(0, [b"%3A", b"%2F"]).filter(|at| word[*at + 1] == b'3')? + 3;
    let at = find(start, [b"%40", b"%2F"]).filter(|at| word[*at + 1] == b'4')?;
    let secret = &word[start..at];
    let is_secret = secret.len() >= 3 && !value::is_placeholder(secret) && !is_named(secret);
    is_secret.then_some(Span { start: end + start, end: end + at, kind: PASSWORD, sure: false })
}

/// A password with a slash or a question mark in it that nobody encoded: `user:pa/ss@host`, no blank before the `@`.
fn with_odd_password(rest: &[u8]) -> Option<&[u8]> {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let colon = rest.iter().take_while(is_name).count();
    let digits = rest.get(colon + 1..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let has_port =
        digits > 0 && matches!(rest.get(colon + 1 + digits), Some(b'/' | b'?' | b'#' | b'@') | None);
    if rest.get(colon) != Some(&b':') || has_port {
        return None;
    }
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'<' | b'`');
    let word = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    let user = &word[..memchr::memrchr(b'@', word)?];
    let secret = user.get(colon + 1..)?;
    (value::is_random(secret) || secret.len() >= 8 && !words::is_made_of_words(secret)).then_some(user)
}

/// `:pw@`, `:PASS@`: what documentation writes.
fn is_named(secret: &[u8]) -> bool {
    const NAMES: [&[u8]; 7] =
        [b"pw", b"passwort", b"user", b"port", b"db_password", b"db_pass", b"mypassword"];
    NAMES.iter().any(|name| secret.eq_ignore_ascii_case(name)) || matches!(secret, [b'%', b's' | b'v'])
}

/// What `Authorization` carries, from behind the word.
pub(crate) fn authorization(line: &Line<'_>, end: usize) -> Option<Span> {
    let text = &line.text[..line.end];
    let at = behind_sign(text, end)?;
    let value = at + usize::from(matches!(text.get(at), Some(b'\\')));
    let value = value + usize::from(matches!(text.get(value), Some(b'"' | b'\'' | b'`')));
    let scheme = text[value..]
        .iter()
        .take(32)
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-')
        .count();
    let blanks = text[value + scheme..].iter().take_while(|byte| **byte == b' ').count();
    match scheme > 0 && blanks > 0 {
        true => credentials(text, &text[value..value + scheme], value + scheme + blanks),
        false => bare_credentials(text, value),
    }
}

fn credentials(text: &[u8], scheme: &[u8], start: usize) -> Option<Span> {
    let has_fields = scheme.eq_ignore_ascii_case(b"digest")
        || scheme.len() > 4 && scheme[..4].eq_ignore_ascii_case(b"aws4");
    let is_end = |byte: &u8| {
        matches!(byte, b'"' | b'\'' | b'`' | b'\r' | b'\\')
            || !has_fields && matches!(byte, b' ' | b',' | b'\t' | b')' | b'&' | 0x1b)
    };
    let is_end = |byte: &u8| is_end(byte) && !(has_fields && *byte == b'"');
    let length = |most: usize| {
        let rest = &text[start..text.len().min(start.saturating_add(most))];
        rest.iter().position(is_end).unwrap_or(rest.len())
    };
    let secret = &text[start..start + length(ENOUGH)];
    // `realm="x"`, `Credential=…`: fields have names.
    let named = |word: &[u8]| word.ends_with(b"=") && words::is_words(&word[..word.len() - 1]);
    let is_secret = secret.len() >= 6 && !words::is_words(secret) && !named(secret) && !is_stand_in(secret);
    is_secret.then(|| Span { start, end: start + length(usize::MAX), kind: AUTHORIZATION, sure: false })
}

fn bare_credentials(text: &[u8], start: usize) -> Option<Span> {
    let is_secret = |secret: &[u8], _| value::is_random(secret) && !is_stand_in(secret);
    let found = judged(text, start, quoted_or_bare, is_secret)?;
    Some(Span { start: found.start, end: found.end, kind: AUTHORIZATION, sure: false })
}

fn is_stand_in(secret: &[u8]) -> bool {
    value::is_placeholder(secret)
        || value::is_numbered_example(secret)
        || value::is_reference(secret)
        || secret.contains(&b'{')
        || secret.contains(&b'(')
}

/// `Bearer …` on its own.
pub(crate) fn bearer(line: &Line<'_>, start: usize, end: usize) -> Option<Span> {
    let rest = &line.text[end..line.end];
    let is_part = |byte: &&u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'=')
    };
    let length = rest.iter().take_while(is_part).count();
    let secret = &rest[..length];
    let is_secret = token::begins_a_word(line.text, start)
        && length >= 16
        && value::is_random(secret)
        && !value::is_placeholder(secret);
    is_secret.then_some(Span { start: end, end: end + length, kind: AUTHORIZATION, sure: false })
}

/// The values of `Cookie: a=b; c=d` and `Set-Cookie: a=b; Path=/` that are more than a setting. Says how far they go.
pub(crate) fn cookies(line: &Line<'_>, end: usize, mut found: impl FnMut(Span)) -> usize {
    let text = &line.text[..line.end];
    let Some(mut at) = behind_sign(text, end) else { return end };
    at += usize::from(matches!(text.get(at), Some(b'"' | b'\'' | b'`')));
    loop {
        let rest = &text[at..];
        let name = rest.iter().take(128).take_while(|byte| is_cookie(**byte) && **byte != b'=').count();
        if name == 0 || rest.get(name) != Some(&b'=') {
            return at;
        }
        let start = at + name + 1;
        let length = text[start..].iter().take_while(|byte| is_cookie(**byte)).count();
        if is_cookie_secret(&rest[..name], &text[start..start + length]) {
            found(Span { start, end: start + length, kind: COOKIE, sure: false });
        }
        at = start + length;
        let gap = text[at..].iter().take(3).take_while(|byte| matches!(byte, b';' | b' ')).count();
        if gap == 0 {
            return at;
        }
        at += gap;
    }
}

fn is_cookie(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f && !matches!(byte, b';' | b'"' | b'\'' | b'`' | b'\\')
}

fn is_cookie_secret(name: &[u8], secret: &[u8]) -> bool {
    let secret = &secret[..secret.len().min(ENOUGH)];
    const SETTINGS: [&[u8]; 4] = [b"expires", b"domain", b"path", b"max-age"];
    if SETTINGS.iter().any(|setting| name.eq_ignore_ascii_case(setting)) || is_stand_in(secret) {
        return false;
    }
    let lower = String::from_utf8_lossy(name).to_ascii_lowercase();
    let is_named = ["sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "secret", "remember"]
        .iter()
        .any(|part| lower.contains(part))
        || names::weigh(&lower).is_some();
    is_named && secret.len() >= 6 || secret.len() >= 16 && value::is_random(secret)
}

/// What `sig=` and `Signature=` sign with.
pub(crate) fn signature(line: &Line<'_>, end: usize) -> Option<Span> {
    let is_part = |byte: &&u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'%' | b'_' | b'-' | b'+' | b'/' | b'=' | b'.')
    };
    let length = |most| line.text[end..line.end].iter().take(most).take_while(is_part).count();
    let seen = &line.text[end..end + length(ENOUGH)];
    let is_secret = seen.len() >= 27 && value::is_random(seen) && !value::is_placeholder(seen);
    is_secret.then(|| Span { start: end, end: end + length(usize::MAX), kind: SIGNATURE, sure: false })
}

/// The value of `<input type="password" value="…">`, in whatever order its attributes stand.
pub(crate) fn input(line: &Line<'_>, start: usize, end: usize) -> Option<Span> {
    let text = &line.text[..line.end];
    let before = &text[line.start.max(start.saturating_sub(ENOUGH * 2))..start];
    let tag = memchr::memrchr(b'<', before).map(|at| &before[at..])?;
    if text.get(end) != Some(&b'=') || !tag.get(..6)?.eq_ignore_ascii_case(b"<input") || tag.contains(&b'>') {
        return None;
    }
    let is_value =
        |word: &[u8], _| word.len() >= 3 && !value::is_placeholder(word) && !value::is_reference(word);
    let found = judged(text, end + 1, quoted_or_bare, is_value)?;
    let behind = &text[found.end..text.len().min(found.end + ENOUGH)];
    let behind = &behind[..memchr::memchr(b'>', behind).unwrap_or(behind.len())];
    let says = |attributes: &[u8]| {
        let lower = attributes.to_ascii_lowercase();
        [&b"type=\"password"[..], b"type='password", b"type=password"]
            .iter()
            .any(|form| memchr::memmem::find(&lower, form).is_some())
    };
    (says(tag) || says(behind)).then_some(Span {
        start: found.start,
        end: found.end,
        kind: PASSWORD,
        sure: false,
    })
}

/// `jdbc:oracle:thin:user/PASSWORD@host`
pub(crate) fn thin(line: &Line<'_>, end: usize) -> Option<Span> {
    let rest = &line.text[end..line.end.min(end + LONGEST_USER)];
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'<');
    let word = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    let (slash, at) = (memchr::memchr(b'/', word)?, memchr::memrchr(b'@', word)?);
    let secret = word.get(slash + 1..at)?;
    let is_secret = secret.len() >= 3 && !value::is_placeholder(secret) && !value::is_reference(secret);
    is_secret.then_some(Span { start: end + slash + 1, end: end + at, kind: PASSWORD, sure: false })
}

/// What a JSON web key has behind `"d":` and the like: a long number in base64.
pub(crate) fn key_number(line: &Line<'_>, end: usize) -> Option<Span> {
    let text = &line.text[..line.end];
    let blanks = text[end..].iter().take(8).take_while(|byte| **byte == b' ').count();
    let [b'"', rest @ ..] = text.get(end + blanks..)? else { return None };
    let start = end + blanks + 1;
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let length = rest.iter().take_while(is_part).count();
    let is_number = length >= 40 && rest.get(length) == Some(&b'"') && value::is_random(&rest[..length]);
    is_number.then_some(Span { start, end: start + length, kind: PRIVATE_KEY, sure: true })
}

/// Behind the sign that follows a header's name, quoted or not.
fn behind_sign(text: &[u8], end: usize) -> Option<usize> {
    let skip = |at: usize, bytes: &[u8]| {
        at + text[at..].iter().take(8).take_while(|byte| bytes.contains(byte)).count()
    };
    let at = skip(end, b"\\\"'] ");
    let at = match text.get(at..)? {
        [b'=', b'>', ..] => at + 2,
        [b':' | b'=' | b',', ..] => at + 1,
        _ => return None,
    };
    Some(skip(at, b" \t"))
}
