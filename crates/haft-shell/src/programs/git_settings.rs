//! Which settings a git command changes, as far as its words say.

use super::Arg;
use crate::git_config::{is_harmless, is_harmless_removal, is_harmless_url, normalize_key};

/// Returns whether the words after a subcommand (`config`, `remote add`) say that it changes only harmless settings of
/// the repository. Unknown words and options say nothing.
pub(super) fn are_harmless(subcommand: &[&str], args: &[Arg]) -> bool {
    let known = |arg: &'_ Arg| if let Arg::Known(word) = arg { Some(word.clone()) } else { None };
    let Some(words) = args.iter().map(known).collect::<Option<Vec<_>>>() else { return false };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match subcommand {
        ["config"] => is_harmless_config(&words),
        ["remote", "add" | "set-url"] => is_harmless_remote(&words),
        ["remote", "rename" | "remove" | "rm" | "set-branches"] => true,
        _ => false,
    }
}

/// `git config [set] KEY VALUE`, `git config unset KEY`, `git config --unset KEY`.
fn is_harmless_config(words: &[&str]) -> bool {
    const PLAIN: [&str; 8] =
        ["--local", "--worktree", "--add", "--replace-all", "--bool", "--int", "--type=bool", "--type=int"];
    let (options, operands): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    let removes = options.iter().any(|option| matches!(*option, "--unset" | "--unset-all"));
    if options.iter().any(|option| !PLAIN.contains(option) && !matches!(*option, "--unset" | "--unset-all")) {
        return false;
    }
    let is_key = |key: &str, value: Option<&str>| {
        normalize_key(key.as_bytes()).is_some_and(|key| match value {
            Some(value) => is_harmless(&key, Some(value.as_bytes())),
            None => is_harmless_removal(&key),
        })
    };
    match operands.as_slice() {
        [key] | ["unset", key] if removes || operands.len() == 2 => is_key(key, None),
        ["set", key, value] => !removes && is_key(key, Some(value)),
        ["list" | "get" | "set" | "unset" | "rename-section" | "remove-section" | "edit", ..] => false,
        [key, value] => !removes && is_key(key, Some(value)),
        _ => false,
    }
}

/// `git remote add [options] NAME URL`, `git remote set-url [options] NAME URL [OLD]`.
fn is_harmless_remote(words: &[&str]) -> bool {
    const PLAIN: [&str; 9] = [
        "-f",
        "--fetch",
        "--tags",
        "--no-tags",
        "--mirror",
        "--mirror=fetch",
        "--mirror=push",
        "--push",
        "--add",
    ];
    let mut words = words.iter();
    let mut operands = 0;
    while let Some(word) = words.next() {
        match *word {
            "-t" | "-m" => _ = words.next(),
            "--delete" => {}
            option if option.starts_with('-') => {
                if !PLAIN.contains(&option) {
                    return false;
                }
            }
            operand if !is_harmless_url(operand.as_bytes()) => return false,
            _ => operands += 1,
        }
    }
    operands >= 2
}

/// The directory of `git worktree add [options] DIRECTORY [COMMIT]`: the first word that is no option, and no value of one.
pub(super) fn worktree_directory(args: &[Arg]) -> Option<&Arg> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg {
            Arg::Known(word) if matches!(word.as_str(), "-b" | "-B" | "--reason" | "--expire") => {
                _ = args.next();
            }
            Arg::Known(word) if word.starts_with('-') => {}
            _ => return Some(arg),
        }
    }
    None
}
