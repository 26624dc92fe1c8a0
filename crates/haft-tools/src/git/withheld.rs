//! What rules keep from being shown.
//!
//! The sandbox masks a file that may not be read, but the history has its content, too, and does not know of rules. So
//! where a rule speaks against a place in the repository, that place is left out of what git goes through, and what
//! could bring its content out by another name (an object's hash, a tree, a stash) is not taken. A closed list: a
//! subcommand of which nothing is said here is not taken either.
//!
//! A rule with a pattern is known here by the files that it covers now: a file that is only in the history is not.

use std::{
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

use haft_shell::programs::Arg;
use haft_tool::{Fault, Refusal, overlap, shown};

use super::{
    ask::Git,
    repository::Repository,
    words::{below, facts, subcommand_length},
};

/// How a subcommand comes by the content of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// It has names and messages only, or files that it is told by name.
    Names,
    /// It goes through trees, and can be told what to leave out.
    Trees,
    /// It shows objects.
    Objects,
    /// It cannot be told.
    Closed(&'static str),
}

/// The places that git must leave out of what it goes through.
pub(super) async fn left_out(
    args: &[String],
    git: &Git<'_>,
    repository: &Repository,
) -> Result<Vec<PathBuf>, Fault> {
    let denied = denied(git, repository);
    if denied.is_empty() {
        return Ok(Vec::new());
    }
    let manner = match (manner(args), &repository.top) {
        (Manner::Names, _) => return Ok(Vec::new()),
        (Manner::Closed(instead), _) => return Err(not_taken(&denied, instead)),
        (_, None) => return Err(not_taken(&denied, "set `cwd` to where the repository's files are")),
        (manner, Some(top)) => {
            paths_in_history(args, git.cwd(), top, &denied)?;
            manner
        }
    };
    objects(args, git, &denied, manner).await?;
    match manner {
        Manner::Trees if names_all_paths(args) => Ok(Vec::new()),
        Manner::Trees if !takes_more_paths(args) => Err(not_taken(&denied, "give the last option its value")),
        Manner::Trees => Ok(denied),
        _ => Ok(Vec::new()),
    }
}

/// The words that make git leave a place out.
pub(super) fn exclusion(place: &Path, top: &Path) -> OsString {
    let mut word = OsString::from(EXCLUDE);
    word.push(place.strip_prefix(top).unwrap_or(place));
    word
}

const EXCLUDE: &str = ":(top,exclude,literal)";

fn denied(git: &Git<'_>, repository: &Repository) -> Vec<PathBuf> {
    let ground = repository.top.as_deref().unwrap_or(git.workspace());
    git.denied().iter().filter(|place| overlap(place, ground)).cloned().collect()
}

fn manner(args: &[String]) -> Manner {
    let at = subcommand_length(args);
    let has = |words: &[&str]| {
        args[at..].iter().any(|arg| words.iter().any(|word| arg == word || is_valued(arg, word)))
    };
    match args[..at].join(" ").as_str() {
        _ if has(&["--no-index"]) => Manner::Closed("compare the files with Read"),
        "status" if args[at..].iter().any(|arg| is_verbose(arg)) => {
            Manner::Closed("leave `-v` out, or use `diff`")
        }
        "config" if has(&["--blob"]) => Manner::Closed("leave `--blob` out"),
        "branch" | "tag" | "for-each-ref" if args.iter().any(|arg| arg.contains("raw")) => {
            Manner::Closed("leave `raw` out of the format")
        }
        "stash list" if args.len() > at => Manner::Closed("use `stash list` without options"),
        "log" | "show" | "whatchanged" | "reflog" | "reflog show" | "diff" | "diff-tree" | "diff-index"
        | "diff-files" | "grep" => trees(&args[0], has),
        "cat-file" if args.iter().any(|arg| arg == "--batch" || is_valued(arg, "--batch")) => {
            Manner::Closed("name one object, or use `--batch-check`")
        }
        "cat-file" if has(&["--batch-command"]) => Manner::Closed("name one object"),
        "cat-file" => Manner::Objects,
        "stash show" => Manner::Closed("use `diff stash@{0}^ stash@{0}`"),
        "range-diff" => Manner::Closed("use `log -p` of each range"),
        "--version" | "status" | "branch" | "tag" | "ls-files" | "ls-tree" | "rev-parse" | "rev-list"
        | "shortlog" | "describe" | "merge-base" | "name-rev" | "reflog exists" | "remote" | "worktree"
        | "for-each-ref" | "show-ref" | "show-branch" | "cherry" | "count-objects" | "check-ignore"
        | "check-attr" | "check-mailmap" | "check-ref-format" | "var" | "version" | "verify-pack"
        | "notes" | "bisect" | "symbolic-ref" | "hash-object" | "stripspace" | "get-tar-commit-id"
        | "fsck" | "submodule" | "config" | "stash list" | "blame" | "annotate" => Manner::Names,
        _ => Manner::Closed("use `log`, `diff`, `show` or `grep`"),
    }
}

/// Options with which git does not keep to the paths that it is given, or shows what nobody named.
fn trees(subcommand: &str, has: impl Fn(&[&str]) -> bool) -> Manner {
    const ALL: [&str; 8] =
        ["--all", "--tags", "--branches", "--remotes", "--glob", "--reflog", "--alternate-refs", "--exclude"];
    if has(&["--full-diff"]) {
        return Manner::Closed("leave `--full-diff` out");
    }
    if has(&["--submodule", "--recurse-submodules"]) {
        return Manner::Closed("set `cwd` to the submodule");
    }
    if subcommand == "show" && has(&ALL) {
        return Manner::Closed("name what to show, or use `log -p`");
    }
    Manner::Trees
}

/// `--name=value`
fn is_valued(arg: &str, option: &str) -> bool {
    arg.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
}

/// `-v`, `-sv`, `--verbose`
fn is_verbose(arg: &str) -> bool {
    arg == "--verbose" || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains('v'))
}

/// The words before `--` that are no options.
fn operands(args: &[String]) -> impl Iterator<Item = &str> {
    let words = args[subcommand_length(args)..].iter().map(String::as_str);
    words.take_while(|word| *word != "--").filter(|word| !word.starts_with('-'))
}

/// `HEAD:path` begins at the top of the repository, where policy has looked for it in the directory.
fn paths_in_history(args: &[String], cwd: &Path, top: &Path, denied: &[PathBuf]) -> Result<(), Fault> {
    for word in operands(args).filter(|word| has_path(word)) {
        for (at, _) in word.match_indices(':') {
            let path = &word[at + 1..];
            let meant = [top, cwd].map(|directory| by_text(&below(directory, path)));
            let hit = denied.iter().find(|place| meant.iter().any(|path| overlap(path, place)));
            if let Some(place) = hit {
                return Err(refused(word, place));
            }
        }
    }
    Ok(())
}

/// `HEAD:path`. Words that begin with a colon and a sign are commits, or say themselves what to leave out.
fn has_path(word: &str) -> bool {
    word.contains(':') && ![":(", ":/", ":!", ":^"].iter().any(|start| word.starts_with(start))
}

/// `show HEAD:path` goes through nothing.
fn names_all_paths(args: &[String]) -> bool {
    args[0] == "show" && operands(args).next().is_some() && operands(args).all(has_path)
}

/// Names in the history know no links.
fn by_text(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(tidy.pop()),
            part => tidy.push(part),
        }
    }
    tidy
}

/// So many words are looked up.
const MOST_OBJECTS: usize = 32;

/// An object that is no commit has no path, so nobody can say which file it is.
async fn objects(args: &[String], git: &Git<'_>, denied: &[PathBuf], manner: Manner) -> Result<(), Fault> {
    let told_apart = args.iter().any(|word| word == "--");
    let is_file = |word: &str| !told_apart && below(git.cwd(), word).symlink_metadata().is_ok();
    let names: Vec<&str> = operands(args)
        // Git takes no word for a revision that also is a file, unless it is told.
        .filter(|word| !word.contains(':') && !is_file(word))
        .flat_map(|word| word.split(".."))
        .map(|name| name.trim_matches(['.', '^', '!', '@']).trim_end_matches("^-"))
        .filter(|name| !name.is_empty())
        .collect();
    if names.len() > MOST_OBJECTS {
        return Err(not_taken(
            denied,
            &format!("name at most {MOST_OBJECTS} revisions, and paths after `--`"),
        ));
    }
    for name in names {
        let kind = git.ask(&["cat-file", "-t", &format!("{name}^{{}}")]).await?;
        let shows =
            kind.said.starts_with(b"blob") || (kind.said.starts_with(b"tree") && manner == Manner::Trees);
        if shows {
            return Err(not_taken(denied, &format!("name `{name}` as COMMIT or COMMIT:PATH")));
        }
    }
    Ok(())
}

/// Whether one more word would be a path, and not what an option was waiting for.
fn takes_more_paths(args: &[String]) -> bool {
    let mark = format!("{EXCLUDE}mark");
    let facts = facts(&[args, std::slice::from_ref(&mark)].concat());
    facts.touches.iter().any(
        |touch| matches!(&touch.path, Arg::Known(path) if mark.ends_with(path.as_str()) && path.len() > 4),
    )
}

fn refused(word: &str, place: &Path) -> Fault {
    let message =
        format!("`{word}` is or holds {}, which a rule keeps from being read; ask the user", shown(place));
    Fault::denied(Refusal::Rule, message)
}

fn not_taken(denied: &[PathBuf], instead: &str) -> Fault {
    let first = denied.first().map(|place| shown(place).to_string()).unwrap_or_default();
    let message = format!(
        "a rule keeps {first}{} from being read, and in this form git could show it; {instead}",
        if denied.len() > 1 { " and more" } else { "" },
    );
    Fault::denied(Refusal::Rule, message)
}
