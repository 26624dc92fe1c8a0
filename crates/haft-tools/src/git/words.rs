//! Which words are taken, what they touch, and what is added to them.
//!
//! The table of programs knows git's options; this only says that what is not entirely harmless in its eyes is not for
//! this tool. No I/O.

use std::path::{Component, Path, PathBuf};

use haft_shell::{
    programs::{Arg, Facts, look_at},
    run::LONGEST_COMMAND,
};
use haft_tool::{Class, Effects, Fault};

use super::report::command;

/// More words are not searched for the one that is wrong.
const MOST_SEARCHED: usize = 200;

/// Refuses what changes something, runs something, or is not understood.
pub(super) fn check(args: &[String]) -> Result<(), Fault> {
    let length: usize = args.iter().map(|word| word.len() + 1).sum();
    match args.first().map(String::as_str) {
        None => {
            return Err(Fault::rejected("`args` is empty; give the words after `git`, such as [\"status\"]"));
        }
        Some("git") => return Err(Fault::rejected("`args` begins after `git`: leave that word out")),
        Some("--version") if args.len() == 1 => return Ok(()),
        Some(first) if first.contains(char::is_whitespace) => return Err(one_word_each(first)),
        Some(option) if option.starts_with('-') => return Err(before_subcommand(option)),
        _ if length > LONGEST_COMMAND => return Err(too_long(length)),
        _ if args.iter().any(|word| word.contains('\0')) => {
            return Err(Fault::rejected(
                "`args` holds a NUL character, which no command line can; leave it out",
            ));
        }
        _ => {}
    }
    let facts = facts(args);
    if !is_harmless(&facts) {
        return Err(not_taken(args, &facts));
    }
    // Settings keep git out of submodules in a shell; here it is the words, and this has none for it.
    let is_dirty = |word: &&String| word.starts_with("--dirty") || word.starts_with("--broken");
    match args.iter().find(is_dirty).filter(|_| args[0] == "describe") {
        None => Ok(()),
        Some(word) => Err(Fault::rejected(format!(
            "the word `{word}` is not taken: it looks into submodules. Leave it out, and set `cwd` to a submodule to look there"
        ))),
    }
}

/// What the table says of these words.
pub(super) fn facts(args: &[String]) -> Facts {
    let words = std::iter::once("git").chain(args.iter().map(String::as_str));
    look_at(&words.map(|word| Arg::Known(word.to_owned())).collect::<Vec<_>>())
}

fn is_harmless(facts: &Facts) -> bool {
    facts.class == Class::ReadOnly
        && facts.doubt.is_none()
        && facts.runs.is_empty()
        && facts.hosts.is_empty()
        && !facts.touches.iter().any(|touch| touch.aside)
}

fn not_taken(args: &[String], facts: &Facts) -> Fault {
    let why = match &facts.doubt {
        Some(doubt) => doubt.clone(),
        None => format!("`{}` is more than reading", command(args)),
    };
    let word = culprit(args);
    Fault::rejected(format!("the word `{word}` is not taken: {why}. Git only looks; use Bash for the rest"))
}

/// The word after the longest beginning that would have been taken.
fn culprit(args: &[String]) -> &str {
    let taken = match args.len() {
        0..MOST_SEARCHED => (1..args.len()).rev().find(|end| is_harmless(&facts(&args[..*end]))),
        _ => None,
    };
    args.get(taken.unwrap_or(0)).map_or("", String::as_str)
}

fn one_word_each(first: &str) -> Fault {
    let words: Vec<&str> = first.split_whitespace().collect();
    Fault::rejected(format!("`args` takes each word by itself: {words:?} instead of {:?}", [first]))
}

fn before_subcommand(option: &str) -> Fault {
    let instead = match option {
        "-C" => "say `cwd` instead",
        "--no-pager" | "-P" => "there is no pager",
        _ => "Git only looks; use Bash for the rest",
    };
    Fault::rejected(format!("the word `{option}` is not taken: `args` begins with a subcommand; {instead}"))
}

fn too_long(length: usize) -> Fault {
    Fault::rejected(format!(
        "`args` has {length} bytes and at most {LONGEST_COMMAND} are taken; name fewer paths"
    ))
}

/// The directory, and what the words name. What the history holds of a path counts as the path.
pub(super) fn effects(args: &[String], cwd: &Path) -> Effects {
    let facts = facts(args);
    let argv = std::iter::once("git".to_owned()).chain(args.iter().cloned()).collect();
    let start = Effects::reads(cwd).and_command(argv, facts.class);
    named(args, &facts).fold(start, |effects, path| effects.and_reads(below(cwd, path)))
}

/// The paths that the words name, as far as the words can tell.
fn named<'a>(args: &'a [String], facts: &'a Facts) -> impl Iterator<Item = &'a str> {
    let touched = facts.touches.iter().filter_map(|touch| match &touch.path {
        Arg::Known(path) => Some(path.as_str()),
        _ => None,
    });
    // `:/words` finds a commit by its message, or begins at the top of the repository: it never is `/words`.
    let is_search = |path: &str| args.iter().any(|word| word.strip_prefix(':') == Some(path));
    touched
        .map(move |path| if is_search(path) { path.trim_start_matches('/') } else { path })
        .map(without_magic)
}

/// `:(top)path`, of which the table leaves `(top)path`.
fn without_magic(path: &str) -> &str {
    match path.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, path)) => path,
        None => path.trim_start_matches(['!', '^']),
    }
}

/// A relative path without its `.`: `..` stays, links decide what it means.
pub(super) fn below(directory: &Path, path: &str) -> PathBuf {
    let mut joined = directory.to_owned();
    joined.extend(Path::new(path).components().filter(|part| *part != Component::CurDir));
    joined
}

/// The words that git is given: nothing that the repository names is to draw a difference, and of a submodule no more
/// is looked at than which commit it is at.
pub(super) fn run(args: &[String]) -> Vec<String> {
    let at = subcommand_length(args);
    let added: &[&str] = match args[..at].join(" ").as_str() {
        "log" | "show" | "whatchanged" | "reflog" | "reflog show" | "diff-tree" | "stash show"
        | "stash list" | "range-diff" => &["--no-ext-diff", "--no-textconv"],
        "diff" | "diff-index" | "diff-files" => {
            &["--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"]
        }
        "status" => &["--ignore-submodules=dirty"],
        "blame" | "annotate" | "grep" => &["--no-textconv"],
        _ => &[],
    };
    let mut words = vec!["--no-pager".to_owned()];
    words.extend_from_slice(&args[..at]);
    words.extend(added.iter().map(|word| (*word).to_owned()));
    words.extend_from_slice(&args[at..]);
    words
}

/// Whether the subcommand is one word or two.
pub(super) fn subcommand_length(args: &[String]) -> usize {
    let second = |words: &[&str]| args.get(1).is_some_and(|word| words.contains(&word.as_str()));
    match args.first().map(String::as_str) {
        Some("reflog") if second(&["show", "exists"]) => 2,
        Some("stash") if second(&["list", "show"]) => 2,
        first => usize::from(first.is_some()),
    }
}
