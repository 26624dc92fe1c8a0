//! Why a hunk cannot be applied, in words that tell the model how to go on.

use std::fmt;

use super::parse::Hunk;
use crate::edit::{Region, nearest_region};

/// A hunk that cannot be applied.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// Where the hunk starts in the patch.
    pub(crate) line: usize,
    pub(crate) reason: Reason,
}

#[derive(Debug)]
pub(crate) enum Reason {
    /// Its lines do not follow each other anywhere.
    NotThere { nearest: Option<Region> },
    /// What it would make of them is there already, at this line.
    Done { line: usize },
    /// They do, but not below the lines that the header names.
    NotBelow { headings: Vec<String>, lines: Vec<usize> },
    /// They do, but not at the end of the file.
    NotAtEnd { lines: Vec<usize> },
    /// It fits at these lines, and at more than are listed.
    Ambiguous { lines: Vec<usize>, more: usize },
    /// It only adds, and does not say where.
    Nowhere,
    /// It changes lines that the hunk at that line of the patch has too.
    Overlaps { other: usize },
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the hunk at line {} of the patch ", self.line)?;
        match &self.reason {
            Reason::NotThere { nearest: None } => f.write_str(
                "does not fit: its lines are not in the file, nor anything like them; read the file again",
            ),
            Reason::NotThere { nearest: Some(region) } => write!(f, "does not fit; {region}"),
            Reason::Done { line } => {
                write!(f, "does not fit; what it would make is there already, at line {line}: leave it out")
            }
            Reason::NotBelow { headings, lines } => write!(
                f,
                "fits at {}, but not below `{}`; correct the `@@` line",
                Listed(lines, 0),
                headings.join("` and `")
            ),
            Reason::NotAtEnd { lines } => {
                write!(f, "fits at {}, but the file does not end there", Listed(lines, 0))
            }
            Reason::Ambiguous { lines, more } => write!(
                f,
                "fits in {} places ({}); give it more lines around the change",
                lines.len() + more,
                Listed(lines, *more)
            ),
            Reason::Nowhere => f.write_str("only adds lines; give it a line that is there, to say where"),
            Reason::Overlaps { other } => {
                write!(f, "changes lines that the one at line {other} has too; make one of both")
            }
        }
    }
}

/// Some numbers of lines, and how many more there are.
struct Listed<'a>(&'a [usize], usize);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Listed(lines, more) = self;
        let listed: Vec<_> = lines.iter().map(usize::to_string).collect();
        write!(f, "{} {}", if lines.len() + more == 1 { "line" } else { "lines" }, listed.join(", "))?;
        if *more > 0 { write!(f, " and {more} more") } else { Ok(()) }
    }
}

impl Reason {
    /// With what is there instead, if the lines of the hunk are not.
    pub(super) fn with_nearest(self, text: &str, hunk: &Hunk<'_>) -> Reason {
        match self {
            Reason::NotThere { .. } => {
                let old: Vec<_> = hunk.before().map(|line| line.text).collect();
                Reason::NotThere { nearest: nearest_region(text, &old.join("\n")) }
            }
            other => other,
        }
    }
}
