//! What an answer holds, as a model can take it in: bytes and a type in, text or a picture out.

use std::{borrow::Cow, io};

use haft_engine::result::size;
use haft_tool::{Block, Fault};
use image::ImageFormat;

use super::{
    address::Address,
    fetch::unreachable,
    html,
    network::{Answer, Body},
};
use crate::{
    read::Picture,
    text::{Form, MARK},
};

/// How much of what comes with an error is read, and how much of it is shown.
const MOST_OF_ERROR: usize = 64 * 1024;
const SHOWN_OF_ERROR: usize = 4 * 1024;

/// An answer that was read, as far as it is wanted.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) address: Address,
    pub(super) status: u16,
    media: Media,
    bytes: Vec<u8>,
    /// Whether there was more.
    is_cut: bool,
    /// Whether the server wants it forgotten.
    pub(super) is_fleeting: bool,
}

/// What a model gets of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    pub(super) block: Block,
    /// In a few words: "text/html, 12 KB, as Markdown".
    pub(super) words: String,
    /// What else is to be known.
    pub(super) notes: Vec<String>,
}

/// `text/html; charset=utf-8`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Media {
    /// In lower case; empty if the server did not say.
    kind: String,
    charset: Option<String>,
}

/// What can be done with a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Html,
    Text,
    Picture(ImageFormat),
    /// The bytes have to tell.
    Unsaid,
    Other,
}

impl Page {
    /// Reads an answer up to so many bytes. Nothing is read of what could not be shown.
    pub(super) async fn read(address: Address, answer: Answer, most: usize) -> Result<Page, Fault> {
        let media = answer.header("content-type").map(Media::parse).unwrap_or_default();
        let status = answer.status;
        let is_fine = (200..300).contains(&status);
        if is_fine && media.sort() == Sort::Other {
            let length = answer.header("content-length").and_then(|length| length.parse().ok());
            return Err(unreadable(&address, &media, length));
        }
        let is_fleeting = answer.header("cache-control").is_some_and(|control| control.contains("no-store"));
        let most = if is_fine { most } else { most.min(MOST_OF_ERROR) };
        let read = read(answer.body, most).await;
        let (bytes, is_cut) = read.map_err(|err| unreachable(&address, err))?;
        Ok(Page { address, status, media, bytes, is_cut, is_fleeting })
    }

    pub(super) fn is_fine(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Makes of it what a model can take in. Takes a while for a large one.
    pub(super) fn show(self) -> Result<Shown, Fault> {
        let sort = self.sort();
        match sort {
            Sort::Picture(format) if self.is_fine() && !self.is_cut => self.picture(format),
            Sort::Picture(_) | Sort::Other if self.is_fine() => {
                Err(unreadable(&self.address, &self.media, Some(self.bytes.len() as u64)))
            }
            Sort::Picture(_) | Sort::Other => Ok(self.words("", "not shown")),
            Sort::Html => {
                let said = html::charset(&self.bytes);
                let (text, note) = self.decoded(said);
                let text = html::to_markdown(&text, Some(self.address.url()));
                Ok(self.words(&text, "as Markdown").with(note))
            }
            Sort::Text | Sort::Unsaid => {
                let (text, note) = self.decoded(None);
                Ok(self.words(&text, "").with(note))
            }
        }
    }

    fn sort(&self) -> Sort {
        match self.media.sort() {
            Sort::Unsaid => sniff(&self.bytes),
            // A server may call anything a picture; the bytes know which it is.
            Sort::Picture(said) => {
                image::guess_format(&self.bytes).map_or(Sort::Picture(said), Sort::Picture)
            }
            said => said,
        }
    }

    fn picture(self, format: ImageFormat) -> Result<Shown, Fault> {
        let length = self.bytes.len();
        let address = self.address;
        let picture = Picture::of(self.bytes, format);
        let picture = picture.map_err(|err| Fault::failed(format!("what is at {address} {err}")))?;
        let words = format!("{}, {}", picture.words(), size(length));
        Ok(Shown { words, block: picture.into_block(), notes: Vec::new() })
    }

    /// The text, and what is to be said about how it was read.
    fn decoded(&self, inside: Option<String>) -> (String, Option<String>) {
        let labels = [self.media.charset.as_deref(), inside.as_deref()];
        let said = labels.into_iter().flatten().find_map(Form::labelled);
        let found = Form::detect(&self.bytes).unwrap_or(Form::UTF_8);
        let has_mark = self.bytes.starts_with(b"\xef\xbb\xbf")
            || self.bytes.starts_with(b"\xff\xfe")
            || self.bytes.starts_with(b"\xfe\xff");
        // A mark is part of the text and knows best. UTF-8 that is none was said without looking.
        let form = said.filter(|said| !has_mark && (!said.is_utf8() || found.is_utf8())).unwrap_or(found);
        let is_wrong = |said: &Form| *said != form;
        let note = said.filter(is_wrong).map(|said| {
            format!("It says that it is {}, but that cannot be; it was read as {}.", said.name(), form.name())
        });
        let text: Cow<'_, str> = form.show(&self.bytes);
        (text.trim_start_matches(MARK).to_owned(), note)
    }

    fn words(&self, text: &str, how: &str) -> Shown {
        let text = if self.is_fine() { Cow::Borrowed(text) } else { Cow::Owned(beginning(text)) };
        let more = if self.is_cut { "the first " } else { "" };
        let parts = [self.media.kind.clone(), format!("{more}{}", size(self.bytes.len())), how.to_owned()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let cut = (self.is_cut && self.is_fine()).then(|| format!("{MORE} {}.", size(self.bytes.len())));
        let shown =
            Shown { block: Block::Text(text.into_owned()), words: parts.join(", "), notes: Vec::new() };
        shown.with(cut)
    }
}

const MORE: &str = "There is more of it, which was not read: a fetch ends after";

impl Shown {
    fn with(mut self, note: Option<String>) -> Shown {
        self.notes.extend(note);
        self
    }
}

/// What is worth seeing of the page that comes with an error.
fn beginning(text: &str) -> String {
    if text.len() <= SHOWN_OF_ERROR {
        return text.to_owned();
    }
    format!("{}\n[…]", &text[..text.floor_char_boundary(SHOWN_OF_ERROR)])
}

/// The bytes, and whether there were more than so many.
async fn read(mut body: Box<dyn Body>, most: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await? {
        let room = most - bytes.len();
        bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            return Ok((bytes, true));
        }
    }
    Ok((bytes, false))
}

impl Media {
    fn parse(header: &str) -> Media {
        let mut parts = header.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let is_plain = |byte: u8| byte.is_ascii_graphic();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
        });
        Media { kind: if kind.bytes().all(is_plain) { kind } else { String::new() }, charset }
    }

    fn sort(&self) -> Sort {
        let kind = self.kind.as_str();
        let (family, name) = kind.split_once('/').unwrap_or((kind, ""));
        match (family, name) {
            ("text", "html") | ("application", "xhtml+xml") => Sort::Html,
            ("text", _) => Sort::Text,
            _ if name.ends_with("+json") || name.ends_with("+xml") || name.ends_with("+yaml") => Sort::Text,
            ("application", name) if TEXTS.contains(&name) => Sort::Text,
            ("image", name) => ImageFormat::from_mime_type(kind)
                .filter(|format| SHOWN.contains(format))
                .map_or(if name == "*" { Sort::Unsaid } else { Sort::Other }, Sort::Picture),
            ("", _) | ("application" | "binary", "octet-stream") => Sort::Unsaid,
            _ => Sort::Other,
        }
    }

    fn words(&self) -> &str {
        if self.kind.is_empty() { "of an unknown type" } else { &self.kind }
    }
}

/// Types of `application` that are text all the same.
const TEXTS: [&str; 16] = [
    "json",
    "x-ndjson",
    "jsonlines",
    "json5",
    "xml",
    "xml-dtd",
    "yaml",
    "x-yaml",
    "toml",
    "javascript",
    "x-javascript",
    "ecmascript",
    "typescript",
    "x-sh",
    "sql",
    "graphql",
];

const SHOWN: [ImageFormat; 4] = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP];

/// What bytes are of which nobody said it.
fn sniff(bytes: &[u8]) -> Sort {
    if let Some(format) = image::guess_format(bytes).ok().filter(|format| SHOWN.contains(format)) {
        return Sort::Picture(format);
    }
    if Form::detect(bytes).is_none() {
        return Sort::Other;
    }
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).trim_start().to_ascii_lowercase();
    if head.starts_with("<!doctype html") || head.starts_with("<html") { Sort::Html } else { Sort::Text }
}

fn unreadable(address: &Address, media: &Media, length: Option<u64>) -> Fault {
    let length =
        length.map_or_else(|| "of a size that it does not say".to_owned(), |length| size(length as usize));
    Fault::failed(format!(
        "what is at {address} is {} ({length}), which cannot be shown as text or picture; if you need the file, download it with a \
         shell command",
        media.words()
    ))
}
