//! Text in the encoding that a file has, and the way back.
//!
//! Models write UTF-8; files hold what they hold. What is decoded here is encoded again to the very same bytes, or it is
//! not decoded at all: an edit must not change what it did not touch. A byte order mark stays in the text as the
//! character U+FEFF, so that it goes back by itself.

use std::{borrow::Cow, fmt};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How the bytes of a text mean characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form(&'static Encoding);

/// A file's text, whole.
#[derive(Debug)]
pub(crate) struct Text {
    /// With its byte order mark, if it has one.
    pub(crate) content: String,
    pub(crate) form: Form,
}

/// The mark that says how the bytes are ordered.
pub(crate) const MARK: char = '\u{feff}';

/// Bytes that are no text, or not to be brought back as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotText {
    Binary,
    Broken(Form),
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotText::Binary => f.write_str("it is not text"),
            NotText::Broken(form) => {
                write!(f, "it looks like {}, but not all of its bytes are", form.name())
            }
        }
    }
}

/// A character that an encoding does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unwritable {
    pub(crate) character: char,
    /// Its line, from 1.
    pub(crate) line: usize,
    pub(crate) form: Form,
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unwritable { character, line, form } = self;
        write!(
            f,
            "the file is {}, which has no `{character}` (U+{:04X}, line {line} of the new text)",
            form.name(),
            u32::from(*character)
        )
    }
}

/// How much of a file tells its encoding.
pub(crate) const ENOUGH: usize = 64 * 1024;

impl Form {
    pub(crate) const UTF_8: Form = Form(UTF_8);

    /// What the beginning of a file says; none if it is no text. More than the beginning is not looked at.
    pub(crate) fn detect(head: &[u8]) -> Option<Form> {
        let head = &head[..head.len().min(ENOUGH)];
        if let Some((encoding, _)) = Encoding::for_bom(head) {
            // Four bytes that begin like UTF-16 are UTF-32, which nobody writes and nothing here reads.
            return (!head.starts_with(&[0xff, 0xfe, 0, 0])).then_some(Form(encoding));
        }
        if head.contains(&0) {
            return wide(head);
        }
        if is_utf8_so_far(head) {
            return (!has_controls(head)).then_some(Form::UTF_8);
        }
        (!has_controls(head)).then(|| narrow(head))
    }

    /// The form of this label, as web pages and servers write it: `utf8`, `latin1`, `Shift_JIS`.
    #[cfg(feature = "web")]
    pub(crate) fn labelled(label: &str) -> Option<Form> {
        Encoding::for_label(label.as_bytes()).map(Form)
    }

    /// The name that people know: `UTF-8`, `UTF-16LE`, `windows-1252`.
    pub(crate) fn name(self) -> &'static str {
        self.0.name()
    }

    pub(crate) fn is_utf8(self) -> bool {
        self.0 == UTF_8
    }

    /// The bytes of one line end: how far apart lines are is a matter of the encoding.
    pub(crate) fn line_end(self) -> &'static [u8] {
        if self.0 == UTF_16LE {
            b"\n\0"
        } else if self.0 == UTF_16BE {
            b"\0\n"
        } else {
            b"\n"
        }
    }

    /// The text of some bytes, with a replacement character for what is none.
    pub(crate) fn show(self, bytes: &[u8]) -> Cow<'_, str> {
        self.0.decode_without_bom_handling(bytes).0
    }

    /// The bytes of a text.
    pub(crate) fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, Unwritable> {
        if self.is_utf8() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        if self.0 == UTF_16LE {
            return Ok(Cow::Owned(text.encode_utf16().flat_map(u16::to_le_bytes).collect()));
        }
        if self.0 == UTF_16BE {
            return Ok(Cow::Owned(text.encode_utf16().flat_map(u16::to_be_bytes).collect()));
        }
        match self.0.encode(text) {
            (bytes, _, false) => Ok(bytes),
            _ => Err(self.unwritable(text)),
        }
    }

    /// The first character that cannot be written.
    fn unwritable(self, text: &str) -> Unwritable {
        let is_lost = |character: &char| self.0.encode(character.encode_utf8(&mut [0; 4])).2;
        let at = text.char_indices().find(|(_, character)| is_lost(character));
        let (at, character) = at.unwrap_or((0, char::REPLACEMENT_CHARACTER));
        Unwritable { character, line: text[..at].matches('\n').count() + 1, form: self }
    }
}

/// Decodes a file. UTF-8 is not copied.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<Text, NotText> {
    let bytes = match String::from_utf8(bytes) {
        Ok(content) if content.as_bytes()[..content.len().min(ENOUGH)].contains(&0) => content.into_bytes(),
        Ok(content) => return Ok(Text { content, form: Form::UTF_8 }),
        Err(err) => err.into_bytes(),
    };
    let form = match Form::detect(&bytes).ok_or(NotText::Binary)? {
        // The beginning is UTF-8 as well, as plain English is in every encoding: what is not tells more.
        utf8 if utf8.is_utf8() && !bytes.starts_with(b"\xef\xbb\xbf") => narrow(odd_part(&bytes)),
        form => form,
    };
    let content = form.show(&bytes).into_owned();
    match form.encode(&content) {
        Ok(again) if *again == *bytes => Ok(Text { content, form }),
        _ => Err(NotText::Broken(form)),
    }
}

/// The part of the bytes around the first that is not UTF-8.
fn odd_part(bytes: &[u8]) -> &[u8] {
    let at = std::str::from_utf8(bytes).map_or_else(|err| err.valid_up_to(), |_| 0);
    let start = at.saturating_sub(ENOUGH / 2);
    &bytes[start..bytes.len().min(start + ENOUGH)]
}

/// Zero bytes: UTF-16 if nearly all of them stand on one side.
fn wide(head: &[u8]) -> Option<Form> {
    let zeros = |side: usize| head.iter().skip(side).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let pairs = head.len() / 2;
    let (few, encoding) = if even < odd { (even, UTF_16LE) } else { (odd, UTF_16BE) };
    let many = even.max(odd);
    let is_wide = few * 20 <= many && many * 10 >= pairs * 4;
    let broken = || encoding.decode_without_bom_handling(&head[..head.len() & !1]).0.contains('\0');
    (is_wide && !broken()).then_some(Form(encoding))
}

/// One of the many older encodings, by what would be usual in each.
fn narrow(bytes: &[u8]) -> Form {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    Form(detector.guess(None, Utf8Detection::Deny))
}

/// Whether it is UTF-8, of whose last character a part may be missing.
fn is_utf8_so_far(head: &[u8]) -> bool {
    std::str::from_utf8(head).map_or_else(|err| err.error_len().is_none(), |_| true)
}

/// Control characters that no text has, more than a stray one.
fn has_controls(head: &[u8]) -> bool {
    let is_odd = |byte: &&u8| matches!(byte, 0..=6 | 14..=26 | 28..=31);
    head.iter().filter(is_odd).count() * 100 > head.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Result<(&str, &str), NotText>) {
        let decoded = decode(bytes.to_vec());
        let found = decoded.as_ref().map(|text| (text.form.name(), text.content.as_str()));
        assert_eq!(found.map_err(|err| *err), expected);
        if let Ok(text) = decoded {
            assert_eq!(*text.form.encode(&text.content).unwrap(), *bytes, "the way back");
        }
    }

    fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    }

    #[test]
    fn each_encoding_is_recognised_and_goes_back_to_the_same_bytes() {
        check(b"plain", Ok(("UTF-8", "plain")));
        check("na\u{ef}ve \u{1f980}".as_bytes(), Ok(("UTF-8", "na\u{ef}ve \u{1f980}")));
        check(b"\xef\xbb\xbfmarked", Ok(("UTF-8", "\u{feff}marked")));
        check(&utf16("\u{feff}wide\r\n", u16::to_le_bytes), Ok(("UTF-16LE", "\u{feff}wide\r\n")));
        check(&utf16("\u{feff}wide\r\n", u16::to_be_bytes), Ok(("UTF-16BE", "\u{feff}wide\r\n")));
        check(&utf16("no mark here", u16::to_le_bytes), Ok(("UTF-16LE", "no mark here")));
        check(
            b"caf\xe9 au lait, d\xe9j\xe0 vu",
            Ok(("windows-1252", "caf\u{e9} au lait, d\u{e9}j\u{e0} vu")),
        );
        check(b"", Ok(("UTF-8", "")));
    }

    #[test]
    fn japanese_and_russian_are_recognised() {
        let (sjis, ..) = encoding_rs::SHIFT_JIS
            .encode("\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{6587}\u{7ae0}\u{3067}\u{3059}\u{3002}");
        assert_eq!(decode(sjis.to_vec()).unwrap().form.name(), "Shift_JIS");
        let (koi8, ..) = encoding_rs::KOI8_U.encode(
            "\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}, \u{43a}\u{430}\u{43a} \u{434}\u{435}\u{43b}\u{430}",
        );
        assert_eq!(decode(koi8.to_vec()).unwrap().form.name(), "KOI8-U");
    }

    #[test]
    fn what_is_no_text_is_said_to_be_none() {
        check(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0", Err(NotText::Binary));
        check(b"\xff\xfe\0\0x\0\0\0", Err(NotText::Binary));
        check(&(0..=255).collect::<Vec<u8>>(), Err(NotText::Binary));
    }

    #[test]
    fn what_would_not_come_back_is_not_decoded() {
        let mut odd = utf16("\u{feff}half a pair", u16::to_le_bytes);
        odd.extend([0x3d, 0xd8]);
        assert!(matches!(decode(odd), Err(NotText::Broken(_))));
        assert!(matches!(decode(b"\xef\xbb\xbfmarked, and \xff broken".to_vec()), Err(NotText::Broken(_))));
    }

    #[test]
    fn a_late_odd_character_still_tells_the_encoding() {
        let mut bytes = b"plain English text\n".repeat(20_000);
        bytes.extend(b"and then caf\xe9 au lait\n");
        assert_eq!(decode(bytes).unwrap().form.name(), "windows-1252");
    }

    #[test]
    fn what_an_encoding_lacks_is_named_with_its_line() {
        let form = decode(b"caf\xe9 au lait, d\xe9j\xe0 vu".to_vec()).unwrap().form;
        assert_eq!(
            form.encode("one\ntwo \u{1f980}\n").unwrap_err().to_string(),
            "the file is windows-1252, which has no `\u{1f980}` (U+1F980, line 2 of the new text)"
        );
    }

    proptest! {
        #[test]
        fn whatever_is_decoded_goes_back_to_the_same_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(text) = decode(bytes.clone()) {
                prop_assert_eq!(text.form.encode(&text.content).unwrap().into_owned(), bytes);
            }
        }
    }
}
