//! `Grep`: the lines of files that match a pattern.
//!
//! The door walks, each thread searches the files that it is shown, and a shelf keeps what the page will show. Of a file that
//! only has to match, nothing is read past the first match.
//!
//! The first few files are searched in the order in which they are shown. If they fill the page and there is more, the search is
//! over, and its figures say that they are the least there is. Otherwise all is looked at, by several threads in no order, and the
//! figures are true. How far the first look goes is counted in files and bytes: the same tree always gets the same answer.

mod pattern; //  what is looked for, or what is wrong with it
mod filter; //   in which files
mod search; //   a thread that searches
mod finds; //    what it found in one file
mod page; //     what of all this is shown, and how

use std::sync::Arc;

use haft_tool::{AbsolutePath, Cx, Effects, Fault, Moment, Reply, Spec, Tool, View, Visitor, Walk};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::shown;
use filter::Filter;
use page::Page;
use search::{Pace, Search};

/// Searches the contents of files for a regular expression, and shows which files match, which lines, or how often.
///
/// Use it to find where something is defined or used, instead of a shell's grep. The pattern is in Rust's regex syntax (no
/// look-around, no backreferences); put a backslash before `{`, `(` or `.` to find these. To find files by their names, use
/// Glob; to read what you found, use Read.
/// Hidden files, binary files and those that .gitignore names are passed over. Where only the first part is shown, go on with
/// `offset`. No match is an answer, not an error.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrepInput {
    /// The regular expression.
    pattern: String,
    /// The file or directory to search.
    #[serde(default = "AbsolutePath::here")]
    path: AbsolutePath,
    /// Only files whose names fit: `*.{ts,tsx}`, `src/**/*.py`, `!*.min.js`; several with blanks between.
    glob: Option<String>,
    /// Only files of this type: rust, py, js, ts, go, java, c, cpp, md, json and others.
    #[serde(rename = "type")]
    file_type: Option<String>,
    /// `files_with_matches` (the default) for paths, `content` for lines, `count` for how many in each file.
    #[serde(default)]
    output_mode: Mode,
    /// Ignore case.
    #[serde(rename = "-i", default)]
    ignore_case: bool,
    /// With line numbers. Only for `content`.
    #[serde(rename = "-n", default = "yes")]
    numbers: bool,
    /// Lines after each match. Only for `content`.
    #[serde(rename = "-A")]
    #[schemars(range(max = 100))]
    after: Option<usize>,
    /// Lines before each match. Only for `content`.
    #[serde(rename = "-B")]
    #[schemars(range(max = 100))]
    before: Option<usize>,
    /// Lines before and after each match. Only for `content`.
    #[serde(rename = "-C")]
    #[schemars(range(max = 100))]
    around: Option<usize>,
    /// The pattern may match across lines, and `.` matches a line end.
    #[serde(default)]
    multiline: bool,
    /// Show so many files, or matches for `content`; 250 if it is left out, 0 for all.
    head_limit: Option<u64>,
    /// Pass over so many first.
    #[serde(default)]
    offset: u64,
    /// Also names that begin with a dot.
    #[serde(default)]
    hidden: bool,
    /// Also what .gitignore and the like leave out.
    #[serde(default)]
    no_ignore: bool,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

fn yes() -> bool {
    true
}

const USUAL_LIMIT: u64 = 250;

pub(crate) struct Grep;

impl Tool for Grep {
    type Input = GrepInput;
    const SPEC: Spec = Spec::new("Grep")
        .toolset("readonly")
        .aliases(&[
            "grep",
            "rg",
            "ripgrep",
            "search_files",
            "fs_grep",
            "fs_search",
            "search_content",
            "grep_search",
        ])
        .search_hint("search find text regex pattern content files lines");

    fn validate(&self, input: &GrepInput) -> Result<(), Fault> {
        pattern::compile(input).and(Filter::new(input, &input.path)).map(drop)
    }

    fn effects(&self, input: &GrepInput) -> Effects {
        Effects::reads(&input.path)
    }

    fn describe(&self, input: &GrepInput) -> String {
        let what = shown::bytes(input.pattern.as_bytes());
        format!("Search {} for {what}", shown::path(&input.path))
    }

    fn view(&self, input: &GrepInput, moment: Moment<'_>) -> Option<View> {
        match moment {
            Moment::Progress(progress) => {
                Some(View::text(format!("{} ({} files so far)", self.describe(input), progress.done)))
            }
            _ => None,
        }
    }

    async fn call(&self, input: GrepInput, cx: &Cx) -> Result<Reply, Fault> {
        let cx_inside = cx.clone();
        cx.blocking(move || search(&input, &cx_inside)).await
    }
}

fn search(input: &GrepInput, cx: &Cx) -> Result<Reply, Fault> {
    let matcher = pattern::compile(input)?;
    let filter = Arc::new(Filter::new(input, &input.path)?);
    let pace = Arc::new(Pace::new(cx.clone()));
    let hidden = input.hidden || filter.names_hidden();
    let walk = Walk { hidden, ignored: input.no_ignore, depth: None, in_order: true };
    let one = || Search::new(input, matcher.clone(), filter.clone(), pace.clone());
    let prefix = shown::prefix(&input.path, &cx.session().cwd);
    let mut first = one().looking();
    let walked = cx.files().walk(&input.path, &walk, &mut [&mut first])?;
    if first.has_seen_all() || first.is_full() {
        return Ok(Page::of(vec![first], input).reply(input, &prefix, walked));
    }
    let walk = Walk { in_order: false, ..walk };
    let mut crew: Vec<Search> = (0..Walk::crew()).map(|_| one()).collect();
    let mut visitors: Vec<&mut dyn Visitor> =
        crew.iter_mut().map(|search| search as &mut dyn Visitor).collect();
    let walked = cx.files().walk(&input.path, &walk, &mut visitors)?;
    let page = Page::of(crew, input);
    Ok(page.reply(input, &prefix, walked))
}

impl GrepInput {
    fn before(&self) -> usize {
        self.before.or(self.around).unwrap_or(0).min(100)
    }

    fn after(&self) -> usize {
        self.after.or(self.around).unwrap_or(0).min(100)
    }

    /// How many are shown.
    fn limit(&self) -> u64 {
        match self.head_limit.unwrap_or(USUAL_LIMIT) {
            0 => u64::MAX,
            limit => limit,
        }
    }

    /// How many must be known to show a page: those before it, too.
    fn reach(&self) -> u64 {
        self.limit().saturating_add(self.offset)
    }
}

#[cfg(test)]
mod tests;
