//! Subcommands of git that lose work in some of their forms, and two words that all of them take.

use haft_tool::{Access, Class};

use super::super::{
    Arg, Facts,
    judge::{Case, weigh},
    table::Entry,
    walk::{Walk, walk},
};

/// Whether git shows a page of its manual instead, by a program that the repository's settings name.
pub(in super::super) fn asks_for_help(words: &[Arg]) -> bool {
    let is_help = |word: &Arg| matches!(word, Arg::Known(word) if word.starts_with("--h") && "--help".starts_with(word));
    words.iter().take_while(|word| !matches!(word, Arg::Known(word) if word == "--")).any(is_help)
}

/// `git log --help` runs `git help log`.
pub(in super::super) fn help(subcommand: &Arg) -> Facts {
    let mut facts = Facts::of(Class::ReadOnly);
    let words = ["git", "help"].map(|word| Arg::Known(word.to_owned()));
    facts.run(words.into_iter().chain([subcommand.clone()]).collect());
    facts
}

/// The word by which git starts itself again in a submodule. No setting that it was given holds there.
pub(in super::super) fn enters_submodules(words: &[Arg]) -> Option<&str> {
    let enters = |word: &&Arg| match word {
        Arg::Known(word) => {
            matches!(
                word.as_str(),
                "--submodule=diff" | "--ignore-submodules=none" | "--ignore-submodules=untracked"
            )
        }
        Arg::Unknown { prefix: word, .. } | Arg::Glob(word) => {
            word.starts_with("--submodule") || word.starts_with("--ignore-submodules")
        }
    };
    let found = match words {
        [Arg::Known(submodule), summary, ..]
            if submodule == "submodule" && *summary == Arg::Known("summary".to_owned()) =>
        {
            Some(summary)
        }
        _ => words.iter().find(enters),
    };
    found.map(|word| match word {
        Arg::Known(word) | Arg::Unknown { prefix: word, .. } | Arg::Glob(word) => word.as_str(),
    })
}

/// `git log -h` prints the options.
pub(in super::super) fn asks_for_usage(entry: &Entry, words: &[Arg]) -> bool {
    entry.class == Class::ReadOnly && matches!(words, [Arg::Known(only)] if only == "-h")
}

/// `git checkout main` moves to a branch; `git checkout -- file` throws changes away.
pub(super) fn checkout(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    let paths = paths(case.name, &walk);
    if !paths.is_empty() {
        facts.raise(Class::Destructive);
    }
    for path in paths {
        facts.touch(path, Access::Write);
    }
    facts
}

/// The operands that are files: what comes after `--`, after a revision, or is no name of a branch.
fn paths<'a>(name: &str, walk: &Walk<'a>) -> Vec<&'a Arg> {
    let creates = ["-b", "-B", "-c", "-C", "--orphan", "--create", "--force-create"]
        .iter()
        .any(|option| walk.has(option));
    if name != "git checkout" || creates {
        return Vec::new();
    }
    if let Some(before) = walk.before_dashes {
        return walk.operands[before..].to_vec();
    }
    match walk.operands.as_slice() {
        [only] if is_path(only) => vec![only],
        [_] | [] => Vec::new(),
        [first, rest @ ..] if is_path(first) => [&[*first], rest].concat(),
        [_, rest @ ..] => rest.to_vec(),
    }
}

/// No branch can have such a name.
fn is_path(arg: &Arg) -> bool {
    match arg {
        Arg::Known(text) => {
            text == "."
                || text.starts_with("./")
                || text.starts_with("../")
                || text.starts_with([':', '/', '*'])
        }
        Arg::Glob(_) => true,
        Arg::Unknown { .. } => false,
    }
}

/// `git restore file` throws changes away; with `--staged` alone they stay in the file.
pub(super) fn restore(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    let staged = walk.has("-S") || walk.has("--staged");
    if staged && !walk.has("-W") && !walk.has("--worktree") {
        facts.class = Class::Write;
    }
    facts
}
