//! The parser, and what is understood by it, against a real bash on texts that nobody would write.
//!
//! Whatever bash runs or makes must have been foreseen: in the tree, or in a doubt about it.

use haft_shell::{programs::Arg, syntax::*, understand, understand::Act};
use haft_tool::{Access, PathBase};

use crate::{
    kit::*,
    soup::{Verdict, has_sandbox, judge, soup},
};

#[test]
fn what_bash_makes_of_any_tokens_was_foreseen() {
    if !has_bash() || !has_sandbox() {
        return;
    }
    let (mut findings, mut counts) = (Vec::new(), Counts::default());
    let mut dice = Dice::new(seed());
    for _ in 0..cases(5) {
        let texts: Vec<String> = (0..200).map(|_| soup(&mut dice)).collect();
        for (text, verdict) in texts.iter().zip(judge(&texts)) {
            counts.add(text, &verdict);
            findings.extend(surprise(text, &verdict).map(|what| format!("{text:?}: {what}")));
        }
    }
    println!("{counts:?}");
    assert!(findings.is_empty(), "{} surprises:\n{}", findings.len(), findings.join("\n"));
}

/// `HAFT_SEED` gives other texts.
fn seed() -> u64 {
    std::env::var("HAFT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

/// How much of the soup was worth the cooking.
#[derive(Debug, Default)]
struct Counts {
    texts: usize,
    taken_by_bash: usize,
    taken_by_both: usize,
    certain: usize,
    commands: usize,
    files: usize,
}

impl Counts {
    fn add(&mut self, text: &str, verdict: &Verdict) {
        self.texts += 1;
        self.taken_by_bash += usize::from(verdict.complaint.is_empty());
        self.taken_by_both += usize::from(verdict.complaint.is_empty() && parse(text).error.is_none());
        self.certain += usize::from(!Foreseen::of(text).in_doubt);
        self.commands += verdict.ran.len();
        self.files += verdict.made.len();
    }
}

/// What bash did that nobody could have known from our reading, if anything.
fn surprise(text: &str, verdict: &Verdict) -> Option<String> {
    let parsed = parse(text);
    let seen = outline(&parsed.script);
    if parsed.error.is_none() && !verdict.complaint.is_empty() && !seen.contains("(odd ") {
        return Some(format!("bash complains: {}", verdict.complaint));
    }
    if let Some(name) = hidden(&parsed, &seen, verdict) {
        return Some(format!("{name:?} ran, we see {seen}"));
    }
    if let Some(name) = lost(text, &parsed, verdict) {
        return Some(format!("{name:?} ran behind an error ({:?}), we see {seen}", parsed.error));
    }
    let foreseen = Foreseen::of(text);
    if foreseen.in_doubt {
        return None;
    }
    let run = verdict.ran.iter().find(|argv| !foreseen.runs(argv)).map(|argv| format!("{argv:?} ran"));
    let made =
        verdict.made.iter().find(|name| !foreseen.writes(name)).map(|name| format!("{name:?} was made"));
    run.or(made).map(|what| format!("{what}, we see {seen}"))
}

/// The name of a command that ran, but is not in a tree that says that it is whole.
fn hidden<'a>(parsed: &Parsed, seen: &str, verdict: &'a Verdict) -> Option<&'a String> {
    let names = command_names(&parsed.script);
    if parsed.error.is_some() || seen.contains("(odd ") || names.iter().any(|name| name.contains('?')) {
        return None;
    }
    verdict.ran.iter().map(|argv| &argv[0]).find(|name| !names.contains(name))
}

/// The name of a command that ran, but is neither in the tree nor among the words behind the error.
fn lost<'a>(text: &str, parsed: &Parsed, verdict: &'a Verdict) -> Option<&'a String> {
    let error = parsed.error.as_ref()?;
    let mut names = command_names(&parsed.script);
    if names.iter().any(|name| name.contains('?')) {
        return None;
    }
    names.extend(salvage(&text[error.at..]).into_iter().flatten());
    let is_known = |name: &str| names.iter().any(|known| known.contains(name));
    let plain = |name: &str| name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    verdict.ran.iter().map(|argv| &argv[0]).find(|name| plain(name) && !is_known(name))
}

/// What we say that a text does.
struct Foreseen {
    acts: haft_shell::Understood,
    in_doubt: bool,
}

impl Foreseen {
    fn of(text: &str) -> Foreseen {
        let acts = understand(
            text,
            &PathBase { cwd: "/w".into(), home: Some("/nowhere/home".into()), workspace: None },
        );
        let in_doubt = acts.acts().iter().any(|act| matches!(act, Act::Doubt(_)));
        Foreseen { acts, in_doubt }
    }

    fn runs(&self, argv: &[String]) -> bool {
        self.acts.acts().iter().any(|act| matches!(act, Act::Run { argv: args, .. } if fits(args, argv)))
    }

    fn writes(&self, name: &str) -> bool {
        self.acts.acts().iter().any(|act| {
            matches!(act, Act::Touch { path, access: Access::Write, .. } if fits(std::slice::from_ref(path), &[name.to_owned()]))
        })
    }
}

/// Whether these arguments can have become those words.
fn fits(args: &[Arg], words: &[String]) -> bool {
    match (args, words) {
        ([], []) => true,
        // Which descriptor a pipe gets is not foreseen.
        ([Arg::Known(arg), args @ ..], [word, words @ ..]) => {
            arg.replace("/dev/fd/pipe", "/dev/fd/63") == *word && fits(args, words)
        }
        ([Arg::Unknown { splits: false, prefix }, args @ ..], [word, words @ ..]) => {
            word.starts_with(prefix.as_str()) && fits(args, words)
        }
        // A pattern is one word or more; what splits may be none as well.
        ([Arg::Glob(_), args @ ..], [_, words @ ..]) => {
            (0..=words.len()).any(|skip| fits(args, &words[skip..]))
        }
        ([Arg::Unknown { splits: true, .. }, args @ ..], words) => {
            (0..=words.len()).any(|skip| fits(args, &words[skip..]))
        }
        _ => false,
    }
}
