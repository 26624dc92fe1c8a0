//! Text to tree, as bash would read it.
//!
//! An own parser, because checker and shell must never disagree towards "harmless": a parser that is lenient, or that keeps
//! words as text, hides commands. This one follows bash's own order of looking at things, keeps whatever would
//! run in the tree however deep it is nested, and gives up with an [error](SyntaxError) where bash itself is
//! unclear or would decide at run time. An error is an answer, too: what was read before it is in the tree (bash runs
//! the lines before a bad one), and [`salvage`] finds plain words in the rest, so that a rule that forbids still holds.
//!
//! Every text is read in time linear to its length, and at most a hundred levels deep. Not here: what words are worth, and what
//! commands do.

mod tree; //        what there is
mod reader; //      where the parser is
mod list; //        lists and pipelines
mod command; //     one command
mod compound; //    brackets, conditions, loops
mod condition; //   [[ … ]]
mod redirect; //    redirections
mod here; //        here-documents
mod assign; //      assignments
mod word; //        words
mod pieces; //      … while they are made
mod brace; //       … with alternatives in braces
mod quote; //       quoted text
mod expand; //      $… and `…`
mod verbatim; //    text that is kept as it is written: arithmetic, operands of ${…}
mod odd; //         characters that cannot be seen
mod salvage; //     words in what could not be read
mod render; //      tree → text
mod outline; //     tree → brackets

pub use odd::odd_characters;
pub use outline::outline;
pub use render::render;
pub use salvage::salvage;
pub use tree::*;

use reader::Parser;

/// What a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// Everything up to the error, or all there is.
    pub script: Script,
    /// Why it could not be read to its end.
    pub error: Option<SyntaxError>,
}

/// Why and where a text is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The byte from which on the text is not in the tree, or not wholly.
    pub at: usize,
    /// What is wrong.
    pub what: String,
}

/// Reads a text as `bash -c` would.
///
/// ```
/// use haft_shell::syntax::{outline, parse};
///
/// let parsed = parse("git diff | head -20");
/// assert_eq!(parsed.error, None);
/// assert_eq!(outline(&parsed.script), "(pipe (git diff) (head -20))");
/// ```
pub fn parse(text: &str) -> Parsed {
    // Bash drops these, so the words around one are not what they seem.
    let nul = text.find('\0');
    let mut parser = Parser::new(&text[..nul.unwrap_or(text.len())]);
    let script = parser.whole();
    if let Some(at) = nul {
        parser.fail(at, "a NUL byte cannot be part of a command");
    }
    Parsed { script, error: parser.into_error() }
}
