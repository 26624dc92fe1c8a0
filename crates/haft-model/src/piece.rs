//! A result as the pieces that an API can take, the rest in words.
//!
//! APIs differ in what they show to a model. What one does not take is never dropped in silence: a line says what it
//! was and how large, so that the model can ask for it in another form.

use std::borrow::Cow;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use haft_engine::result::ToolResult;
use haft_tool::Block;

/// APIs refuse an empty result, and a model takes one for a fault.
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// The same for a message without words.
const NOTHING: &str = "(nothing)";

/// A piece of a result.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    /// What the model reads; never blank.
    Words(Cow<'a, str>),
    /// What it sees or hears.
    Media(Media<'a>),
}

/// Bytes that an API shows to the model in its own way.
#[derive(Debug, PartialEq)]
pub(crate) struct Media<'a> {
    pub(crate) kind: Kind,
    /// In lower case and without parameters.
    pub(crate) media_type: String,
    /// Empty if it has none.
    pub(crate) name: &'a str,
    data: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Image,
    Audio,
    Document,
}

/// The pieces of a result, at least one. `takes` says which media the API has a place for.
pub(crate) fn pieces<'a>(result: &'a ToolResult, takes: impl Fn(&Media<'_>) -> bool) -> Vec<Piece<'a>> {
    or_else_say(NO_OUTPUT, said(&result.blocks, &takes))
}

/// The pieces of what a person said, at least one.
pub(crate) fn pieces_of(blocks: &[Block], takes: impl Fn(&Media<'_>) -> bool) -> Vec<Piece<'_>> {
    or_else_say(NOTHING, said(blocks, &takes))
}

/// Blocks for whoever can only read: what is not text is named.
pub(crate) fn told(blocks: &[Block]) -> Vec<Block> {
    let pieces = said(blocks, &|_| false).into_iter();
    let words = pieces.filter_map(|piece| match piece {
        Piece::Words(words) => Some(Block::Text(words.into_owned())),
        Piece::Media(_) => None,
    });
    words.collect()
}

fn said<'a>(blocks: &'a [Block], takes: &impl Fn(&Media<'_>) -> bool) -> Vec<Piece<'a>> {
    blocks.iter().filter_map(|block| piece(block, takes)).collect()
}

fn or_else_say<'a>(words: &'static str, mut pieces: Vec<Piece<'a>>) -> Vec<Piece<'a>> {
    if pieces.is_empty() {
        pieces.push(Piece::Words(words.into()));
    }
    pieces
}

fn piece<'a>(block: &'a Block, takes: &impl Fn(&Media<'_>) -> bool) -> Option<Piece<'a>> {
    let media = match block {
        Block::Text(text) if is_blank(text) => return None,
        Block::Text(text) => return Some(Piece::Words(text.into())),
        Block::Link { uri, name, media_type } => return Some(link(uri, name, media_type.as_deref())),
        Block::Image { media_type, data } => Media::new(Kind::Image, media_type, "", data),
        Block::Audio { media_type, data } => Media::new(Kind::Audio, media_type, "", data),
        Block::Document { media_type, name, data } => Media::new(Kind::Document, media_type, name, data),
    };
    if let Some(text) = media.text() {
        return Some(Piece::Words(text.into()));
    }
    if !media.data.is_empty() && takes(&media) {
        return Some(Piece::Media(media));
    }
    Some(Piece::Words(format!("[not shown: {}]", media.describe()).into()))
}

/// A link is told, not followed: the API would fetch what a tool's output says.
fn link<'a>(uri: &str, name: &str, media_type: Option<&str>) -> Piece<'a> {
    let facts = [name, uri, media_type.unwrap_or_default()];
    let facts: Vec<&str> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    Piece::Words(format!("[link: {}]", facts.join(", ")).into())
}

impl<'a> Media<'a> {
    fn new(kind: Kind, media_type: &str, name: &'a str, data: &'a [u8]) -> Media<'a> {
        Media { kind, media_type: essence(media_type), name, data }
    }

    /// The text of a document that is nothing but text.
    fn text(&self) -> Option<String> {
        let is_text = self.media_type.starts_with("text/") || self.media_type == "application/json";
        if self.kind != Kind::Document || !is_text {
            return None;
        }
        let text = str::from_utf8(self.data).ok().filter(|text| !is_blank(text))?;
        Some(if self.name.is_empty() { text.to_owned() } else { format!("{}:\n{text}", self.name) })
    }

    /// Whether it is an image of a type that the large APIs have in common.
    pub(crate) fn is_common_image(&self) -> bool {
        self.kind == Kind::Image
            && matches!(self.media_type.as_str(), "image/png" | "image/jpeg" | "image/gif" | "image/webp")
    }

    pub(crate) fn is_pdf(&self) -> bool {
        self.kind == Kind::Document && self.media_type == "application/pdf"
    }

    pub(crate) fn base64(&self) -> String {
        BASE64_STANDARD.encode(self.data)
    }

    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64())
    }

    /// A file name, for APIs that want one.
    pub(crate) fn file_name(&self) -> &'a str {
        if self.name.is_empty() { "document.pdf" } else { self.name }
    }

    /// What stands in the result's text in place of something that is shown elsewhere.
    pub(crate) fn attached(&self) -> String {
        format!("[attached: {}]", self.describe())
    }

    /// What introduces it where it is shown outside of its result.
    pub(crate) fn label(&self, result: &ToolResult) -> String {
        format!("From the result of {} ({}): {}", result.tool, result.call, self.describe())
    }

    fn describe(&self) -> String {
        let kind = match self.kind {
            Kind::Image => "image",
            Kind::Audio => "audio",
            Kind::Document => "document",
        };
        let name = if self.name.is_empty() { String::new() } else { format!(" {}", self.name) };
        format!("{kind}{name}, {}, {} bytes", self.media_type, self.data.len())
    }
}

fn essence(media_type: &str) -> String {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "image/jpg" => "image/jpeg".to_owned(),
        "" => "application/octet-stream".to_owned(),
        _ => essence,
    }
}

/// For APIs without a flag for errors: says it in the words.
pub(crate) fn say_error(pieces: &mut Vec<Piece<'_>>) {
    match pieces.first_mut() {
        Some(Piece::Words(words)) if words.starts_with("Error:") => {}
        Some(Piece::Words(words)) => *words = format!("Error: {words}").into(),
        _ => pieces.insert(0, Piece::Words("Error: the call did not work".into())),
    }
}

/// The words that join the conversation after the results.
pub(crate) fn messages(results: &[ToolResult]) -> impl Iterator<Item = &str> {
    results.iter().flat_map(|result| &result.messages).map(String::as_str).filter(|text| !is_blank(text))
}

/// Blank text counts as none: APIs refuse it.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
