//! What is said about a text.

use std::fmt;

use serde::Serialize;

use super::unseen::reveal;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Seen in honest servers too: worth a look.
    Note,
    /// Seldom honest: read the words before you permit the tool.
    Warn,
    /// No honest server says this.
    Alarm,
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Characters that a model reads and a person does not see.
    Unseen,
    /// Characters that turn the direction of what is seen.
    Direction,
    /// Text that is kept out of sight by markup, escapes or spaces.
    Hidden,
    /// An order to the model that has nothing to do with using the tool.
    Order,
    /// The model is told to keep something from the user.
    Secrecy,
    /// It names places where secrets are.
    Secrets,
    /// It wants data sent somewhere.
    Sends,
    /// It speaks of tools of other servers, or takes their name.
    Shadow,
    /// A name that looks like another one, or mixes alphabets.
    LookAlike,
    /// Something encoded that a person cannot read.
    Encoded,
    /// More text than anybody reads.
    TooLong,
}

impl Kind {
    /// What it is, in words.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Unseen => "characters that do not show",
            Kind::Direction => "characters that turn the direction of the text",
            Kind::Hidden => "text kept out of sight",
            Kind::Order => "an order to the model",
            Kind::Secrecy => "something to be kept from the user",
            Kind::Secrets => "a place where secrets are",
            Kind::Sends => "data to be sent elsewhere",
            Kind::Shadow => "tools of other servers",
            Kind::LookAlike => "a name that passes for another",
            Kind::Encoded => "something encoded",
            Kind::TooLong => "more text than anybody reads",
        }
    }
}

/// Something that a person should know before a tool is permitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The tool, as its server calls it; empty for the server's instructions.
    pub tool: String,
    /// Where: a JSON pointer into the definition, or `instructions`.
    pub place: String,
    /// What it is.
    pub kind: Kind,
    /// The words, with everything that does not show written out.
    pub words: String,
    /// How bad it is.
    pub severity: Severity,
}

/// How much of a text is quoted.
const QUOTED: usize = 160;

impl Remark {
    /// A remark whose words come from outside: they are made visible and cut.
    pub(super) fn new(place: String, kind: Kind, severity: Severity, words: &str) -> Remark {
        let shown: String = reveal(words).split_whitespace().collect::<Vec<_>>().join(" ");
        let words = match shown.char_indices().nth(QUOTED) {
            Some((at, _)) => format!("{}…", &shown[..at]),
            None => shown,
        };
        Remark { tool: String::new(), place, kind, words, severity }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warn => "warning",
            Severity::Alarm => "alarm",
        })
    }
}

/// On one line: `alarm: add /description: an order to the model: "…"`.
impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Remark { tool, place, kind, words, severity } = self;
        let tool = if tool.is_empty() { String::new() } else { format!("{} ", one_line(tool)) };
        write!(f, "{severity}: {tool}{}: {}: \"{words}\"", one_line(place), kind.words())
    }
}

/// A name from outside cannot make a line of its own.
fn one_line(text: &str) -> String {
    reveal(text).replace(['\n', '\t'], " ")
}
