//! What was found in a file, before it is known whether it fits into one reply.

use std::path::{Path, PathBuf};

use haft_tool::{Block, Cx, Fault, Reply, View, shown};

use super::{
    lines::numbered,
    parts::{self, BUDGET, Part, Unit, tokens},
};

/// Before the little that is shown of a file in parts.
pub(crate) const IN_PARTS: &str = "This is how the first begins:";

/// What a model is shown of a file.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// What is to be known before it is read.
    pub(super) head: String,
    pub(super) body: Body,
    /// How to read on.
    pub(super) tail: String,
    /// In the order in which the text speaks of them.
    pub(super) pictures: Vec<Block>,
    /// The same in a few words, for a person.
    pub(super) said: String,
}

/// The text, and what it is made of.
#[derive(Debug, Default)]
pub(super) enum Body {
    #[default]
    Nothing,
    /// Lines from this number on.
    Lines(u64, String),
    /// Pages or cells, each with its number.
    Units(&'static str, Vec<(u64, String)>),
}

impl Body {
    fn shown(&self) -> String {
        match self {
            Body::Nothing => String::new(),
            Body::Lines(first, text) => numbered(text, *first),
            Body::Units(_, units) => units.iter().map(|(_, text)| text.as_str()).collect(),
        }
    }

    fn parts(&self) -> Vec<Part> {
        match self {
            Body::Nothing => Vec::new(),
            Body::Lines(first, text) => {
                let units = (*first..).zip(text.split_inclusive('\n'));
                parts::split(units.map(|(number, text)| Unit { number, text }))
            }
            Body::Units(_, units) => {
                parts::split(units.iter().map(|(number, text)| Unit { number: *number, text }))
            }
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Body::Nothing | Body::Lines(..) => "line",
            Body::Units(word, _) => word,
        }
    }
}

impl Content {
    /// The reply: the text itself, or where its parts are.
    pub(super) async fn reply(self, path: &Path, cx: &Cx) -> Result<Reply, Fault> {
        let shown = self.body.shown();
        let total = tokens(&shown);
        let text = if total <= BUDGET { shown } else { self.in_parts(path, total, cx).await? };
        let text = format!("{}{text}{}", self.head, self.tail);
        let reply = if text.is_empty() { Reply::default() } else { Reply::text(text) };
        let view = self.view();
        Ok(self.pictures.into_iter().fold(reply, Reply::with_block).drawn(view))
    }

    /// A file that is a picture is looked at; of everything else it is enough to know what was read.
    fn view(&self) -> View {
        match (&self.body, self.pictures.as_slice()) {
            (Body::Nothing, [Block::Image { media_type, data }]) => {
                View::Image { media_type: media_type.clone(), caption: self.said.clone(), data: data.clone() }
            }
            _ => View::text(&self.said),
        }
    }

    async fn in_parts(&self, path: &Path, total: usize, cx: &Cx) -> Result<String, Fault> {
        let parts = self.body.parts();
        let mut kept: Vec<Option<PathBuf>> = Vec::with_capacity(parts.len());
        for part in &parts {
            // Where nothing can be kept, the numbers alone still say how to read on.
            kept.push(cx.keep(part.text.clone()).await.ok());
        }
        let table = parts::contents(parts.iter().zip(&kept), self.body.word(), total);
        let advice = match self.body {
            Body::Lines(..) => {
                "Read the parts that you need, or fewer lines of the file itself with offset and limit."
            }
            _ => "Read the parts that you need.",
        };
        let preview = match (&self.body, parts.first()) {
            (_, None) => String::new(),
            (Body::Lines(first, _), Some(part)) => numbered(parts::preview(part), *first),
            (_, Some(part)) => parts::preview(part).to_owned(),
        };
        Ok(format!("{}: {table}{advice} {IN_PARTS}\n{preview}", shown(path)))
    }
}
