//! How a person sees a call, without saying on what screen.
//!
//! A view is a small tree that terminals, text user interfaces and web pages draw in their own way. Tools describe,
//! front ends draw.

use serde::Serialize;

use crate::{Fault, Progress, Reply};

/// A UI-neutral drawing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Words.
    Text(String),
    /// Code or output, kept as it is.
    Code {
        /// For colours; empty if unknown.
        language: String,
        /// The code.
        text: String,
    },
    /// A change to a file, as a unified diff.
    Diff {
        /// Which file.
        path: String,
        /// The hunks.
        unified: String,
    },
    /// One thing under the other.
    List(Vec<View>),
    /// Names and values.
    Fields(Vec<(String, String)>),
    /// A picture.
    Image {
        /// `image/png` and the like.
        media_type: String,
        /// What it shows.
        caption: String,
        /// The file's bytes.
        #[serde(skip)]
        data: Vec<u8>,
    },
    /// Something that is going on.
    Progress {
        /// What.
        label: String,
        /// How far, in some unit.
        done: u64,
        /// Out of how much, if that is known.
        total: Option<u64>,
    },
}

/// The moments of a call at which a person may look at it.
#[derive(Debug, Clone, Copy)]
pub enum Moment<'a> {
    /// It waits for another call.
    Queued,
    /// It runs.
    Using,
    /// It has something to say while it runs.
    Progress(&'a Progress),
    /// It worked.
    Done(&'a Reply),
    /// It did not.
    Failed(&'a Fault),
    /// Somebody said no.
    Refused(&'a Fault),
}

impl View {
    /// Words.
    pub fn text(text: impl Into<String>) -> View {
        View::Text(text.into())
    }

    /// How many lines are not shown: `(+1 line)`, `(+3 lines)`.
    pub fn more_lines(count: usize) -> String {
        format!("(+{count} {})", if count == 1 { "line" } else { "lines" })
    }

    /// The general drawing, for tools that have none of their own.
    pub fn general(description: &str, moment: Moment<'_>) -> View {
        match moment {
            Moment::Queued => View::Text(format!("{description} (waiting)")),
            Moment::Using => View::text(description),
            Moment::Progress(progress) => progress.view(),
            Moment::Done(reply) => done(description, reply),
            Moment::Failed(fault) => View::Text(format!("{description}: {}", fault.message())),
            // Who and why; what may be done instead is said to the model.
            Moment::Refused(fault) => {
                let why = fault.message().lines().next().unwrap_or_default();
                View::Text(format!("{description} (refused): {why}"))
            }
        }
    }
}

fn done(description: &str, reply: &Reply) -> View {
    if let Some(view) = &reply.view {
        return view.clone();
    }
    let text = reply.blocks.iter().find_map(|block| block.as_text());
    if let Some(observation) = &reply.observation {
        // One that ends in a colon is about what follows.
        return match text.filter(|text| observation.ends_with(':') && !text.is_empty()) {
            Some(text) => View::List(vec![View::text(observation), plain_code(text)]),
            None => View::text(observation),
        };
    }
    let text = text.unwrap_or(description);
    let lines = text.lines().count();
    match text.lines().next() {
        Some(first) if lines > 1 => View::Text(format!("{first} {}", View::more_lines(lines - 1))),
        first => View::text(first.unwrap_or(description)),
    }
}

fn plain_code(text: &str) -> View {
    View::Code { language: String::new(), text: text.to_owned() }
}
