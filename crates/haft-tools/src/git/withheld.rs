//! What rules keep from being shown.
//!
//! The sandbox masks a file that may not be read, but the history has its content, too, and does not know of rules. So
//! where a rule speaks against a place in the repository, that place is left out of what git goes through, and what
//! could bring its content out by another name (an object's hash, a tree, a stash) is not taken. A closed list: a
//! subcommand of which nothing is said here is not taken either.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use haft_shell::programs::Arg;
use haft_tool::{Fault, Grant, Refusal, by_text, overlap, shown};

use super::{
    ask::Git,
    patterns::exclusions,
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

/// What rules keep from being read in this repository.
struct Withheld<'a> {
    /// Places that are there.
    places: Vec<&'a PathBuf>,
    /// Patterns, also for what is not there any more.
    patterns: Vec<&'a (PathBuf, String)>,
}

/// What git must leave out of what it goes through.
#[derive(Default)]
pub(super) struct LeftOut {
    /// The words that tell it so.
    pub(super) words: Vec<OsString>,
    /// The same for people and models.
    pub(super) names: Vec<String>,
}

pub(super) async fn left_out(
    args: &[String],
    git: &Git<'_>,
    repository: &Repository,
) -> Result<LeftOut, Fault> {
    let ground = repository.top.as_deref().unwrap_or(git.workspace());
    let withheld = Withheld::on(ground, git.grant());
    let manner = manner(args);
    if withheld.is_empty() || manner == Manner::Names {
        return Ok(LeftOut::default());
    }
    if let Manner::Closed(instead) = manner {
        return Err(withheld.not_taken(instead));
    }
    let Some(top) = &repository.top else {
        return Err(withheld.not_taken("set `cwd` to where the repository's files are"));
    };
    withheld.paths_in_history(args, git.cwd(), top)?;
    withheld.objects(args, git, manner).await?;
    match manner {
        Manner::Trees if names_all_paths(args) => Ok(LeftOut::default()),
        Manner::Trees if !takes_more_paths(args) => Err(withheld.not_taken("give the last option its value")),
        Manner::Trees => withheld.leave_out(top),
        _ => Ok(LeftOut::default()),
    }
}

/// What begins a word that makes git leave a place out.
const EXCLUDE: &str = ":(top,exclude,literal)";

/// More words are not given to git for this.
const MOST_WORDS: usize = 4_000;

impl<'a> Withheld<'a> {
    fn on(ground: &Path, grant: &'a Grant) -> Withheld<'a> {
        let places = grant.deny_read.iter().filter(|place| overlap(place, ground)).collect();
        let patterns =
            grant.deny_patterns.iter().filter(|(directory, _)| overlap(directory, ground)).collect();
        Withheld { places, patterns }
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty() && self.patterns.is_empty()
    }

    fn leave_out(&self, top: &Path) -> Result<LeftOut, Fault> {
        let mut left_out = LeftOut::default();
        for place in &self.places {
            let below_top = place.strip_prefix(top).unwrap_or(place);
            left_out.names.push(shown(below_top).to_string());
            let mut word = OsString::from(EXCLUDE);
            word.push(below_top);
            left_out.words.push(word);
        }
        for (directory, pattern) in self.patterns.iter().copied() {
            let words = exclusions(directory, pattern, top);
            left_out.words.extend(words.ok_or_else(|| self.not_taken("name files by COMMIT:PATH"))?);
            if !pattern.ends_with("/**") {
                left_out.names.push(pattern.clone());
            }
        }
        if left_out.words.len() > MOST_WORDS {
            return Err(self.not_taken("name files by COMMIT:PATH"));
        }
        Ok(left_out)
    }

    /// `HEAD:path` begins at the top of the repository, where policy has looked for it in the directory.
    fn paths_in_history(&self, args: &[String], cwd: &Path, top: &Path) -> Result<(), Fault> {
        for word in operands(args).filter(|word| has_path(word)) {
            for (at, _) in word.match_indices(':') {
                let path = &word[at + 1..];
                let meant = [top, cwd].map(|directory| by_text(&below(directory, path)));
                let hit = self.places.iter().find(|place| meant.iter().any(|path| overlap(path, place)));
                if let Some(place) = hit {
                    return Err(refused(word, place));
                }
                let is_judged = cwd == top || path.starts_with("./") || path.starts_with("../");
                if !is_judged && !self.patterns.is_empty() {
                    return Err(self.not_taken("set `cwd` to the top of the repository, or write `:./PATH`"));
                }
            }
        }
        Ok(())
    }

    /// An object that is no commit has no path, so nobody can say which file it is; and paths in a tree that is not the
    /// top's are not those that are left out.
    async fn objects(&self, args: &[String], git: &Git<'_>, manner: Manner) -> Result<(), Fault> {
        let told_apart = args.iter().any(|word| word == "--");
        let is_file = |word: &str| !told_apart && below(git.cwd(), word).symlink_metadata().is_ok();
        // Git takes no word for a revision that also is a file, unless it is told.
        let words: Vec<&str> = operands(args).filter(|word| !is_file(word)).flat_map(revisions).collect();
        if words.len() > MOST_OBJECTS {
            let instead = format!("name at most {MOST_OBJECTS} revisions, and paths after `--`");
            return Err(self.not_taken(&instead));
        }
        let goes_through_trees = manner == Manner::Trees && args[0] != "show";
        for name in words {
            let kind = git.ask(&["cat-file", "-t", &format!("{name}{}", peel(name))]).await?.said;
            let is_nameless = kind.starts_with(b"blob") && !has_path(name);
            if is_nameless || (goes_through_trees && kind.starts_with(b"tree")) {
                return Err(self
                    .not_taken(&format!("name `{name}` as COMMIT, with paths after `--`, or COMMIT:FILE")));
            }
        }
        Ok(())
    }

    fn not_taken(&self, instead: &str) -> Fault {
        let places = self.places.iter().map(|place| shown(place).to_string());
        let first = places.chain(self.patterns.iter().map(|(_, pattern)| pattern.clone())).next();
        let more = if self.places.len() + self.patterns.len() > 1 { " and more" } else { "" };
        let message = format!(
            "a rule keeps {}{more} from being read, and in this form git could show it\n{instead}",
            first.unwrap_or_default(),
        );
        Fault::denied(Refusal::Rule, message)
    }
}

/// So many words are looked up.
const MOST_OBJECTS: usize = 32;

/// The names in `A..B`, `^A`, `A^!`.
fn revisions(word: &str) -> Vec<&str> {
    if has_path(word) {
        return vec![word];
    }
    let names = word.split("..").map(|name| name.trim_matches(['.', '^', '!', '@']).trim_end_matches("^-"));
    names.filter(|name| !name.is_empty()).collect()
}

/// What a tag stands for; a path stands for itself.
fn peel(name: &str) -> &'static str {
    if has_path(name) { "" } else { "^{}" }
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

/// `HEAD:path`. Words that begin with a colon and a sign are commits, or say themselves what to leave out.
fn has_path(word: &str) -> bool {
    word.contains(':') && ![":(", ":/", ":!", ":^"].iter().any(|start| word.starts_with(start))
}

/// `show HEAD:path` goes through nothing.
fn names_all_paths(args: &[String]) -> bool {
    args[0] == "show" && operands(args).next().is_some() && operands(args).all(has_path)
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
    let message = format!("`{word}` is or holds {}, which a rule keeps from being read", shown(place));
    Fault::denied(Refusal::Rule, message)
}
