//! `Glob`: the files whose paths fit a pattern.

use std::{
    cmp::Reverse,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use haft_tool::{
    AbsolutePath, Cx, Effects, Fault, Flow, Found, Kind, Reply, Spec, Tool, Visitor, Walk, Walked,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    shelf::{Shelf, Thing, in_order},
    shown::{self, count},
};

/// Finds files by their paths: `**/*.rs`, `src/**/*.{ts,tsx}`, `*.md`. The newest come first.
///
/// Use it when you know a file's name or kind. `*` stands for anything within one name, `**` for any number of
/// directories; a pattern without a slash fits at any depth, one with a slash begins at `path`. To find files by what is in
/// them, use Grep; to see what is in a directory, use List.
/// Hidden files and those that .gitignore names are passed over. No match is an answer, not an error.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GlobInput {
    /// The pattern.
    pattern: String,
    /// The directory to look in.
    #[serde(default = "AbsolutePath::here")]
    path: AbsolutePath,
    /// Show so many; 250 if it is left out, 0 for all.
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

const USUAL_LIMIT: u64 = 250;

pub(crate) struct Glob;

impl Tool for Glob {
    type Input = GlobInput;
    const SPEC: Spec = Spec::new("Glob")
        .toolset("readonly")
        .aliases(&["glob", "fs_glob", "find_files", "file_search", "glob_file_search"])
        .search_hint("find files by name path pattern extension");

    fn validate(&self, input: &GlobInput) -> Result<(), Fault> {
        Pattern::new(input).map(drop)
    }

    fn effects(&self, input: &GlobInput) -> Effects {
        // A pattern that is none is refused before anybody asks.
        Effects::reads(Pattern::new(input).map_or_else(|_| input.path.to_path_buf(), |pattern| pattern.root))
    }

    fn describe(&self, input: &GlobInput) -> String {
        format!("Find {} in {}", shown::bytes(input.pattern.as_bytes()), shown::path(&input.path))
    }

    async fn call(&self, input: GlobInput, cx: &Cx) -> Result<Reply, Fault> {
        let cx_inside = cx.clone();
        cx.blocking(move || find(&input, &cx_inside)).await
    }
}

fn find(input: &GlobInput, cx: &Cx) -> Result<Reply, Fault> {
    let pattern = Arc::new(Pattern::new(input)?);
    let walk = Walk {
        hidden: input.hidden || pattern.names_hidden(),
        ignored: input.no_ignore,
        depth: pattern.depth(),
        in_order: false,
    };
    let one = || Finder { pattern: pattern.clone(), shelf: Shelf::new(input.reach()), total: 0 };
    let mut crew: Vec<Finder> = (0..Walk::crew()).map(|_| one()).collect();
    let mut visitors: Vec<&mut dyn Visitor> =
        crew.iter_mut().map(|finder| finder as &mut dyn Visitor).collect();
    let walked = cx.files().walk(&pattern.root, &walk, &mut visitors)?;
    Ok(reply(crew, input, &shown::prefix(&pattern.root, &cx.session().cwd), walked))
}

/// A pattern, and where it begins.
struct Pattern {
    root: PathBuf,
    set: GlobSet,
    /// The pattern below the root.
    text: String,
    /// The directories that it names before its first wildcard: nothing beside them need be looked at.
    way: PathBuf,
}

impl Pattern {
    fn new(input: &GlobInput) -> Result<Pattern, Fault> {
        let given = input.pattern.as_str();
        if given.starts_with("~/") || Path::new(given).components().any(|part| part == Component::ParentDir) {
            return Err(Fault::rejected(format!(
                "the pattern `{given}` begins elsewhere; give the directory in `path`, and the rest as `pattern`"
            )));
        }
        let (root, text) =
            if given.starts_with('/') { split_absolute(given) } else { (input.path.to_path_buf(), given) };
        let text = text.trim_start_matches("./").trim_matches('/');
        if text.is_empty() {
            return Err(Fault::rejected("the pattern names no file; write it as in `**/*.rs`"));
        }
        let anywhere = !text.contains('/') && !given.starts_with('/');
        let text = if anywhere { format!("**/{text}") } else { text.to_owned() };
        let wrong = |err: globset::Error| {
            Fault::rejected(format!(
                "the pattern `{given}` is not valid: {}; write it as in `**/*.rs` or `src/**/*.{{ts,tsx}}`",
                err.kind()
            ))
        };
        let glob = GlobBuilder::new(&text).literal_separator(true).build().map_err(wrong)?;
        // A set of one knows quick ways for simple patterns, a glob alone does not.
        let set = GlobSetBuilder::new().add(glob).build().map_err(wrong)?;
        let way = fixed(&text).collect();
        Ok(Pattern { root, set, text, way })
    }

    fn names_hidden(&self) -> bool {
        self.text.split('/').any(|part| part.starts_with('.'))
    }

    /// How deep it can reach, if it has no `**`.
    fn depth(&self) -> Option<usize> {
        (!self.text.contains("**")).then(|| self.text.split('/').count())
    }

    fn fits(&self, path: &Path) -> bool {
        self.set.is_match_candidate(&Candidate::new(path))
    }

    /// Whether something in a directory may fit.
    fn leads_into(&self, directory: &Path) -> bool {
        self.way.starts_with(directory) || directory.starts_with(&self.way)
    }
}

/// The directories before the first name with a wildcard. The last name is the file's.
fn fixed(text: &str) -> impl Iterator<Item = &str> {
    let directories = text.rsplit_once('/').map_or("", |(directories, _)| directories);
    directories
        .split('/')
        .take_while(|part| !part.is_empty() && !part.contains(['*', '?', '[', '{', '}', '\\', ',']))
}

/// An absolute pattern: the directory that it begins in, and the rest.
fn split_absolute(pattern: &str) -> (PathBuf, &str) {
    let root: PathBuf = ["/"].into_iter().chain(fixed(&pattern[1..])).collect();
    let rest = pattern.get(root.as_os_str().len()..).unwrap_or_default();
    (root, rest)
}

/// A thread that looks for files.
struct Finder {
    pattern: Arc<Pattern>,
    shelf: Shelf<File>,
    total: u64,
}

/// A file that fits. Newest first; those of one moment by their paths.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct File {
    modified_ns: Reverse<i64>,
    path: Box<[u8]>,
}

impl Thing for File {}

impl Visitor for Finder {
    fn visit(&mut self, found: &dyn Found) -> Flow {
        match found.kind() {
            Kind::Directory if self.pattern.leads_into(found.path()) => Flow::On,
            Kind::Directory => Flow::Past,
            Kind::File | Kind::Link if self.pattern.fits(found.path()) => {
                self.keep(found);
                Flow::On
            }
            _ => Flow::On,
        }
    }
}

impl Finder {
    fn keep(&mut self, found: &dyn Found) {
        // What is gone by now was not found.
        let Ok(stamp) = found.stamp() else { return };
        self.total += 1;
        let (modified_ns, path) = (Reverse(stamp.modified_ns), found.path().as_os_str().as_bytes());
        if self.shelf.takes(|last| (modified_ns, path) < (last.modified_ns, &last.path)) {
            self.shelf.put(File { modified_ns, path: path.into() });
        }
    }
}

impl GlobInput {
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

fn reply(crew: Vec<Finder>, input: &GlobInput, prefix: &str, walked: Walked) -> Reply {
    let total: u64 = crew.iter().map(|finder| finder.total).sum();
    let files = in_order(crew.into_iter().map(|finder| finder.shelf));
    let skipped = usize::try_from(input.offset).unwrap_or(usize::MAX);
    let limit = usize::try_from(input.limit()).unwrap_or(usize::MAX);
    let mut text = String::with_capacity(
        files.iter().skip(skipped).take(limit).map(|file| file.path.len() + prefix.len() + 1).sum(),
    );
    let mut shown = 0;
    for file in files.iter().skip(skipped).take(limit) {
        text.push_str(prefix);
        text.push_str(&shown::bytes(&file.path));
        text.push('\n');
        shown += 1;
    }
    if walked.unreadable > 0 {
        text.push_str(&format!("({} could not be read)\n", count(walked.unreadable, "directory")));
    }
    Reply::text(text).observed(observation(total, input.offset, shown)).note("files", total)
}

fn observation(total: u64, offset: u64, shown: u64) -> String {
    let files = count(total, "file");
    let end = offset.saturating_add(shown);
    match (total, shown) {
        (0, _) => "No file fits. Hidden and ignored files are passed over.".to_owned(),
        (_, 0) => format!("{files}; there is nothing at offset {offset}."),
        _ if end < total => {
            format!("{files}, newest first; showing {}–{end}, go on with offset {end}:", offset + 1)
        }
        _ if offset > 0 => format!("{files}, newest first; showing {}–{end}:", offset + 1),
        (1, _) => "1 file:".to_owned(),
        _ => format!("{files}, newest first:"),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        time::{Duration, SystemTime},
    };

    use haft_testkit::{Workspace, run};
    use serde_json::{Value, json};

    use super::Glob;

    /// Files that were changed in this order, the last one last.
    fn tree() -> Workspace {
        let workspace = Workspace::new("");
        let paths =
            ["a.rs", "src/main.rs", "src/deep/b.rs", "src/x.ts", "src/y.tsx", ".hidden/c.rs", "target/d.rs"];
        for (at, path) in paths.iter().enumerate() {
            workspace.write(path, b"");
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 + at as u64);
            File::options()
                .write(true)
                .open(workspace.root().join(path))
                .unwrap()
                .set_modified(time)
                .unwrap();
        }
        workspace.write(".ignore", b"target\n");
        workspace
    }

    fn glob(input: Value) -> String {
        let workspace = tree();
        let text = run(Glob, &workspace, input).map_or_else(|fault| fault.text, |reply| reply.text);
        text.replace(&workspace.root().display().to_string(), "/w")
    }

    #[track_caller]
    fn check(pattern: &str, expected: &str) {
        let text = glob(json!({ "pattern": pattern }));
        let found: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }

    #[test]
    fn a_pattern_without_a_slash_fits_at_any_depth() {
        check("*.rs", "src/deep/b.rs src/main.rs a.rs");
        check("**/*.rs", "src/deep/b.rs src/main.rs a.rs");
        check("main.rs", "src/main.rs");
    }

    #[test]
    fn a_pattern_with_a_slash_begins_at_the_root() {
        check("src/*.rs", "src/main.rs");
        check("./src/**/*.rs", "src/deep/b.rs src/main.rs");
        check("deep/*.rs", "");
        check("**/deep/*.rs", "src/deep/b.rs");
        check("{src,other}/*.{ts,tsx}", "src/y.tsx src/x.ts");
    }

    #[test]
    fn hidden_and_ignored_files_are_found_when_they_are_asked_for() {
        check(".hidden/*.rs", ".hidden/c.rs");
        let hidden = glob(json!({ "pattern": "*.rs", "hidden": true, "head_limit": 1 }));
        insta::assert_snapshot!(hidden, @"
        4 files, newest first; showing 1–1, go on with offset 1:

        .hidden/c.rs
        ");
        let ignored = glob(json!({ "pattern": "**/d.rs", "no_ignore": true }));
        insta::assert_snapshot!(ignored, @"
        1 file:

        target/d.rs
        ");
    }

    #[test]
    fn an_absolute_pattern_and_a_path_lead_to_the_same_files() {
        let workspace = tree();
        let pattern = format!("{}/src/**/*.ts", workspace.root().display());
        assert!(run(Glob, &workspace, json!({ "pattern": pattern })).unwrap().text.ends_with("\nsrc/x.ts\n"));
        assert!(glob(json!({ "pattern": "*.ts", "path": "src" })).ends_with("\nsrc/x.ts\n"));
    }

    #[test]
    fn the_total_is_true_on_every_page() {
        insta::assert_snapshot!(glob(json!({ "pattern": "*.rs", "head_limit": 2 })), @"
        3 files, newest first; showing 1–2, go on with offset 2:

        src/deep/b.rs
        src/main.rs
        ");
        insta::assert_snapshot!(glob(json!({ "pattern": "*.rs", "head_limit": 2, "offset": 2 })), @"
        3 files, newest first; showing 3–3:

        a.rs
        ");
        insta::assert_snapshot!(glob(json!({ "pattern": "*.rs", "offset": 9 })), @"3 files; there is nothing at offset 9.");
        insta::assert_snapshot!(glob(json!({ "pattern": "*.py" })), @"No file fits. Hidden and ignored files are passed over.");
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_what_would_be_right() {
        insta::assert_snapshot!(glob(json!({ "pattern": "src/*.{ts" })), @"the pattern `src/*.{ts` is not valid: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?); write it as in `**/*.rs` or `src/**/*.{ts,tsx}`");
        insta::assert_snapshot!(glob(json!({ "pattern": "../*.rs" })), @"the pattern `../*.rs` begins elsewhere; give the directory in `path`, and the rest as `pattern`");
        insta::assert_snapshot!(glob(json!({ "pattern": "" })), @"the pattern names no file; write it as in `**/*.rs`");
        insta::assert_snapshot!(glob(json!({ "pattern": "*.rs", "path": "nowhere" })), @"cannot look through /w/nowhere: it does not exist");
    }

    #[test]
    fn a_person_sees_the_figure() {
        let reply = run(Glob, &tree(), json!({ "pattern": "*.rs" })).unwrap();
        insta::assert_debug_snapshot!(reply.result.view, @"None");
    }
}
