//! The text of a patch becomes a patch as data, whichever of the two forms it is written in.
//!
//! Around a patch there may be words and fences, as models write them. Inside, every line has a meaning or is refused
//! with its number: what is skipped would be a change that nobody made.

use std::{collections::HashMap, fmt, path::PathBuf};

use haft_tool::shown;

use super::{envelope, unified};

/// What is to be done, file by file, each file once.
#[derive(Debug)]
pub(crate) struct Patch<'a> {
    pub(crate) files: Vec<FilePatch<'a>>,
    /// It wants to change modes, which stay as they are.
    pub(crate) has_modes: bool,
}

#[derive(Debug)]
pub(crate) struct FilePatch<'a> {
    /// Where it starts in the patch, from 1.
    pub(crate) line: usize,
    pub(crate) path: PathBuf,
    pub(crate) intent: Intent<'a>,
}

#[derive(Debug)]
pub(crate) enum Intent<'a> {
    /// A new file with this content.
    Add(String),
    /// The file goes. These hunks, if there are any, say all that is in it.
    Remove(Vec<Hunk<'a>>),
    Update {
        /// Its new name.
        to: Option<PathBuf>,
        hunks: Vec<Hunk<'a>>,
    },
}

/// Some lines of a file that follow each other, and what becomes of them.
#[derive(Debug, Default)]
pub(crate) struct Hunk<'a> {
    /// Where it starts in the patch, from 1.
    pub(crate) line: usize,
    /// The line of the file that it says it starts at, from 1. Only a hint.
    pub(crate) at: Option<usize>,
    /// Lines that stand somewhere above it, the outermost first.
    pub(crate) headings: Vec<&'a str>,
    pub(crate) lines: Vec<HunkLine<'a>>,
    /// It reaches to the end of the file.
    pub(crate) ends_file: bool,
    /// So many lines up to the last one that is more than an empty line of the patch.
    solid: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HunkLine<'a> {
    pub(crate) sign: Sign,
    pub(crate) text: &'a str,
    /// It is the last line of its file and has no line end.
    pub(crate) is_unended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Kept,
    Removed,
    Added,
}

impl<'a> Hunk<'a> {
    pub(super) fn starting_at(line: usize) -> Hunk<'a> {
        Hunk { line, ..Hunk::default() }
    }

    /// The lines that the file must have.
    pub(crate) fn before(&self) -> impl Iterator<Item = &HunkLine<'a>> {
        self.lines.iter().filter(|line| line.sign != Sign::Added)
    }

    /// The lines that the file gets.
    pub(crate) fn after(&self) -> impl Iterator<Item = &HunkLine<'a>> {
        self.lines.iter().filter(|line| line.sign != Sign::Removed)
    }

    /// Adds a line of the patch.
    pub(super) fn push(&mut self, line: &'a str, number: usize) -> Result<(), ParseError> {
        if line.starts_with('\\') {
            self.unend();
        } else if let Some(parsed) = HunkLine::parse(line) {
            self.lines.push(parsed);
        } else {
            let shown: String = line.chars().take(40).collect();
            let problem = format!("a line of a hunk begins with a blank, `-` or `+`; this one is `{shown}`");
            return ParseError::at(number, problem);
        }
        if !line.is_empty() {
            self.solid = self.lines.len();
        }
        Ok(())
    }

    /// `\ No newline at end of file`: the last line so far has no line end.
    fn unend(&mut self) {
        if let Some(last) = self.lines.last_mut() {
            last.is_unended = true;
            self.ends_file = true;
        }
    }

    /// Takes off empty lines at the end: they may belong to the layout of the patch, and less is asked of the file.
    pub(super) fn without_blank_end(&mut self) {
        self.lines.truncate(self.solid);
    }
}

impl<'a> HunkLine<'a> {
    /// A line by its first character; none if it is no line of a hunk. Editors and models strip the blank of an empty
    /// line that is kept.
    pub(super) fn parse(line: &'a str) -> Option<HunkLine<'a>> {
        let (sign, text) = match line.as_bytes().first() {
            None => (Sign::Kept, line),
            Some(b' ') => (Sign::Kept, &line[1..]),
            Some(b'-') => (Sign::Removed, &line[1..]),
            Some(b'+') => (Sign::Added, &line[1..]),
            Some(b'\r') if line == "\r" => (Sign::Kept, line),
            Some(_) => return None,
        };
        // A byte order mark is kept with the file, not with its first line.
        let text = text.strip_prefix(crate::text::MARK).unwrap_or(text);
        Some(HunkLine { sign, text, is_unended: false })
    }
}

/// What is wrong with a patch, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParseError {
    /// From 1.
    pub(crate) line: usize,
    pub(crate) problem: String,
}

impl ParseError {
    pub(super) fn at<T>(line: usize, problem: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError { line, problem: problem.into() })
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the patch: {}", self.line, self.problem)
    }
}

/// Reads a patch in either form.
pub(crate) fn parse(text: &str) -> Result<Patch<'_>, ParseError> {
    let mut lines = Lines::new(text);
    let Some(start) = (0..lines.all.len()).find(|at| starts_patch(&lines.all[*at..])) else {
        return ParseError::at(
            1,
            "no patch begins here; it begins with `*** Begin Patch`, with `diff --git`, or with `---` and `+++` lines",
        );
    };
    lines.at = start;
    lines.close_fence();
    let patch = match lines.peek().map(str::trim_end) {
        Some(envelope::BEGIN) => envelope::parse(&mut lines)?,
        _ => unified::parse(&mut lines)?,
    };
    each_file_once(patch)
}

fn starts_patch(ahead: &[&str]) -> bool {
    ahead.first().is_some_and(|line| line.trim_end() == envelope::BEGIN) || unified::starts_file(ahead)
}

/// More than a model writes.
const MOST_FILES: usize = 1000;

/// Joins the changes of one file; refuses what contradicts itself.
fn each_file_once(patch: Patch<'_>) -> Result<Patch<'_>, ParseError> {
    if let Some(file) = patch.files.get(MOST_FILES) {
        return ParseError::at(file.line, format!("more than {MOST_FILES} files; send several patches"));
    }
    let mut files: Vec<FilePatch> = Vec::new();
    let mut known: HashMap<PathBuf, usize> = HashMap::new();
    for file in patch.files {
        let earlier = file.paths().find_map(|path| known.get(path).copied());
        match earlier {
            Some(earlier) => files[earlier].join(file)?,
            None => {
                known.extend(file.paths().map(|path| (path.clone(), files.len())));
                files.push(file);
            }
        }
    }
    Ok(Patch { files, ..patch })
}

impl<'a> FilePatch<'a> {
    /// The names that it changes.
    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let to = match &self.intent {
            Intent::Update { to, .. } => to.as_ref(),
            _ => None,
        };
        std::iter::once(&self.path).chain(to)
    }

    /// Takes in another part about the same file.
    fn join(&mut self, other: FilePatch<'a>) -> Result<(), ParseError> {
        match (&mut self.intent, other.intent) {
            (Intent::Update { to: None, hunks }, Intent::Update { to: None, hunks: more }) => {
                hunks.extend(more);
                Ok(())
            }
            _ => ParseError::at(
                other.line,
                format!(
                    "{} is also changed at line {}, in another way; say once what becomes of it",
                    shown(&other.path),
                    self.line
                ),
            ),
        }
    }
}

/// The lines of a patch, read from top to bottom.
pub(super) struct Lines<'a> {
    all: Vec<&'a str>,
    at: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        let mut all: Vec<_> = text.split('\n').collect();
        // What ends with a line end has no line behind it.
        if all.last() == Some(&"") {
            all.pop();
        }
        // A patch that was written with these line ends throughout says nothing about those of the files.
        if all.iter().all(|line| line.ends_with('\r')) {
            all.iter_mut().for_each(|line| *line = &line[..line.len() - 1]);
        }
        Lines { all, at: 0 }
    }

    /// Inside a fence, the patch ends where the fence does.
    fn close_fence(&mut self) {
        let fence = self.all[..self.at].iter().rev().find(|line| !line.trim().is_empty());
        let Some(fence) = fence.filter(|line| line.starts_with("```")) else { return };
        let ticks = &fence[..fence.len() - fence.trim_start_matches('`').len()];
        if let Some(end) = self.all[self.at..].iter().position(|line| line.trim_end() == ticks) {
            self.all.truncate(self.at + end);
        }
    }

    /// The number of the next line, from 1.
    pub(super) fn number(&self) -> usize {
        self.at + 1
    }

    pub(super) fn peek(&self) -> Option<&'a str> {
        self.all.get(self.at).copied()
    }

    pub(super) fn ahead(&self) -> &[&'a str] {
        &self.all[self.at..]
    }

    pub(super) fn skip(&mut self) {
        self.at = self.all.len().min(self.at + 1);
    }

    pub(super) fn skip_blank(&mut self) {
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.skip();
        }
    }

    /// The rest of the next line behind `prefix`, which is taken.
    pub(super) fn take(&mut self, prefix: &str) -> Option<&'a str> {
        let rest = self.peek()?.strip_prefix(prefix)?;
        self.skip();
        Some(rest)
    }

    pub(super) fn place(&self) -> usize {
        self.at
    }

    pub(super) fn back_to(&mut self, place: usize) {
        self.at = place;
    }
}
