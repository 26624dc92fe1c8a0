//! A page as tags and texts, in one pass.
//!
//! Own, and no tree: browsers' rules for repairing pages make trees that are far larger than the page, deep beyond any
//! stack, or take time by the square of its length. Here each byte is looked at a few times, whatever it says.

use std::borrow::Cow;

use super::entities::decoded;

/// A piece of a page.
#[derive(Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// Text, references not replaced yet.
    Text(&'a str),
    /// Text in which nothing is a tag or a reference: a script, a style, a title.
    Raw(&'a str),
    /// `<name …>`
    Start(Tag<'a>),
    /// `</name>`
    End(Cow<'a, str>),
}

/// The beginning of an element.
#[derive(Debug, PartialEq)]
pub(super) struct Tag<'a> {
    /// In lower case.
    pub(super) name: Cow<'a, str>,
    /// What stands after the name.
    attributes: &'a str,
}

/// The tokens of a page.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// The element whose text is raw, if one just began.
    raw: Option<Cow<'a, str>>,
}

/// Elements in which nothing is a tag but their own end.
const RAW: [&str; 8] = ["script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp"];

impl<'a> Tokens<'a> {
    pub(super) fn of(page: &'a str) -> Tokens<'a> {
        Tokens { rest: page, raw: None }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// Up to and with the first of this; everything if there is none.
    fn take_through(&mut self, end: &str) -> &'a str {
        let length = self.rest.find(end).map_or(self.rest.len(), |at| at + end.len());
        self.take(length)
    }

    /// What is in an element whose text is raw. Without its end it is all that follows, as it is for browsers.
    fn raw_text(&mut self, name: &str) -> &'a str {
        let is_end = |at: &usize| {
            let after = &self.rest.as_bytes()[at + 2..];
            after.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
        };
        let ends = self.rest.match_indices("</").map(|(at, _)| at);
        let length = ends.into_iter().find(is_end).unwrap_or(self.rest.len());
        self.take(length)
    }

    /// What begins with `<`, if it is anything but text.
    fn markup(&mut self) -> Option<Option<Token<'a>>> {
        let next = self.rest.as_bytes().get(1).copied().unwrap_or_default();
        let after = self.rest.as_bytes().get(2).copied().unwrap_or_default();
        match (next, after) {
            (b'a'..=b'z' | b'A'..=b'Z', _) => Some(self.start()),
            (b'/', b'a'..=b'z' | b'A'..=b'Z') => {
                let tag = self.take_through(">");
                Some(Some(Token::End(lower(name(&tag[2..])))))
            }
            (b'!', _) if self.rest.starts_with("<!--") => {
                // `<!-->` is a whole comment, so that its end is looked for in what looks like its beginning.
                self.take(2);
                self.take_through("-->");
                Some(None)
            }
            (b'!' | b'?' | b'/', _) => {
                self.take_through(">");
                Some(None)
            }
            _ => None,
        }
    }

    fn start(&mut self) -> Option<Token<'a>> {
        self.take(1);
        let name = lower(name(self.rest));
        self.take(name.len());
        let length = attributes_length(self.rest);
        let attributes = self.take(length);
        if self.rest.is_empty() {
            // A tag that never ends is none.
            return None;
        }
        self.take(1);
        self.raw = RAW.contains(&&*name).then(|| name.clone());
        Some(Token::Start(Tag { name, attributes }))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if let Some(name) = self.raw.take() {
            return Some(Token::Raw(self.raw_text(&name)));
        }
        while !self.rest.is_empty() {
            if !self.rest.starts_with('<') {
                let length = self.rest.find('<').unwrap_or(self.rest.len());
                return Some(Token::Text(self.take(length)));
            }
            match self.markup() {
                Some(Some(token)) => return Some(token),
                Some(None) => {}
                None => return Some(Token::Text(self.take(1))),
            }
        }
        None
    }
}

fn name(text: &str) -> &str {
    let is_end = |character: char| character.is_ascii_whitespace() || character == '/' || character == '>';
    &text[..text.find(is_end).unwrap_or(text.len())]
}

fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(name.to_ascii_lowercase());
    }
    Cow::Borrowed(name)
}

/// Up to the `>` that ends a tag: one in quotes does not.
fn attributes_length(text: &str) -> usize {
    let mut quote = None;
    let mut before = b' ';
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            // Elsewhere a quote is a stray character.
            (None, b'"' | b'\'') if before == b'=' => quote = Some(byte),
            (Some(open), _) if byte == open => quote = None,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    text.len()
}

impl<'a> Tag<'a> {
    /// The value of an attribute; empty if it has none.
    pub(super) fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|next: char| next.is_ascii_whitespace() || next == '/');
            if rest.is_empty() {
                return None;
            }
            let (found, value, after) = attribute(rest);
            if found.eq_ignore_ascii_case(name) {
                return Some(decoded(value));
            }
            rest = after;
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }
}

/// The name and the value of the first attribute, and what follows.
fn attribute(text: &str) -> (&str, &str, &str) {
    let is_end = |character: char| character.is_ascii_whitespace() || matches!(character, '=' | '/');
    // The first character belongs to the name whatever it is, so that there always is one.
    let first = text.chars().next().map_or(0, char::len_utf8);
    let length = text[first..].find(is_end).map_or(text.len(), |at| first + at);
    let (name, after) = text.split_at(length);
    let Some(value) = after.trim_ascii_start().strip_prefix('=').map(str::trim_ascii_start) else {
        return (name, "", after);
    };
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let value = &value[1..];
            let (value, after) = value.split_at(value.find(quote).unwrap_or(value.len()));
            (name, value, after.get(1..).unwrap_or_default())
        }
        _ => {
            let length = value.find(|next: char| next.is_ascii_whitespace()).unwrap_or(value.len());
            let (value, after) = value.split_at(length);
            (name, value, after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(page: &str, expected: &str) {
        let shown = Tokens::of(page).map(|token| match token {
            Token::Text(text) => format!("{text:?}"),
            Token::Raw(text) => format!("raw {text:?}"),
            Token::Start(tag) => format!("<{}>", tag.name),
            Token::End(name) => format!("</{name}>"),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{page}");
    }

    #[test]
    fn tags_and_texts_are_told_apart() {
        check("a<B class='>'>c</B >d", r#""a" <b> "c" </b> "d""#);
        check("1 < 2 <3 <", r#""1 " "<" " 2 " "<" "3 " "<""#);
        check("a<!-- <b> -->b<!doctype html>c<?x?>d</>e", r#""a" "b" "c" "d" "e""#);
        check("a<!-->b<!--never ends <b>", r#""a" "b""#);
        check("<br/>a<p", r#"<br> "a""#);
    }

    #[test]
    fn a_script_ends_with_its_own_end_only() {
        check("<script>if (a</b>c) {}</SCRIPT>x", r#"<script> raw "if (a</b>c) {}" </script> "x""#);
        check("<style>never ends <p>", r#"<style> raw "never ends <p>""#);
    }

    #[test]
    fn attributes_are_found_however_they_are_quoted() {
        let page = "<a HREF = \"x?a=1&amp;b=2\" title='it > that' hidden data-x=y/z =odd>";
        let Some(Token::Start(tag)) = Tokens::of(page).next() else { panic!("no tag") };
        for (name, expected) in
            [("href", "x?a=1&b=2"), ("title", "it > that"), ("hidden", ""), ("data-x", "y/z")]
        {
            assert_eq!(tag.attribute(name).as_deref(), Some(expected), "{name}");
        }
        assert!(!tag.has("class"));
    }
}
