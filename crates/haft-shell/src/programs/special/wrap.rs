//! Programs that run another one.

use haft_tool::Class;

use super::super::{
    Arg, Facts, Run,
    judge::{Case, plain, weigh},
    table::Meaning,
    variables::{is_plain_variable, is_power_variable},
    walk::{Walk, walk},
};
use super::shell::joined;

/// `command -v name` looks; `command name …` runs it.
pub(super) fn command(case: &Case<'_>) -> Facts {
    let mut facts = plain(case);
    if walk(case.entry, case.name, case.args).means(Meaning::Read) {
        facts.runs.clear();
        facts.transparent = false;
    }
    facts
}

/// `env NAME=value program …`
pub(super) fn env(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    let rest = after_assignments(&mut facts, &walk);
    if !rest.is_empty() {
        facts.run(rest);
    }
    for script in walk.values_of(&["-S", "--split-string"]) {
        facts.runs.push(Run::Script(script.clone()));
    }
    for directory in walk.values_of(&["-C", "--chdir"]) {
        facts.runs.iter_mut().for_each(|run| set_directory(run, directory));
    }
    // Without a program it prints the variables; with one and an option it changes where or with what that runs.
    if walk.means(Meaning::Opaque) && !facts.runs.is_empty() {
        facts.raise(Class::Write);
    }
    facts
}

fn set_directory(run: &mut Run, place: &Arg) {
    if let Run::Command { directory, .. } = run {
        *directory = Some(place.clone());
    }
}

/// Judges the assignments that come first, and gives what comes after them.
fn after_assignments(facts: &mut Facts, walk: &Walk<'_>) -> Vec<Arg> {
    let mut rest = walk.operands.iter();
    while let Some(operand) = rest.clone().next() {
        let text = match operand {
            Arg::Known(text) => text,
            Arg::Unknown { prefix, splits: false } => prefix,
            _ => break,
        };
        let Some((name, _)) = text.split_once('=') else { break };
        assigned(facts, name);
        rest.next();
    }
    rest.map(|word| (*word).clone()).collect()
}

fn assigned(facts: &mut Facts, name: &str) {
    if is_power_variable(name) {
        facts.doubt(format!("`{name}` changes what programs do"));
    } else if !is_plain_variable(name) {
        facts.raise(Class::Write);
        facts.transparent = false;
    }
}

/// `sudo -u bob NAME=value program …`
pub(super) fn sudo(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    facts.runs.clear();
    let rest = after_assignments(&mut facts, &walk);
    let asks_for_shell = walk.has("-s") || walk.has("-i") || walk.has("--shell") || walk.has("--login");
    if !rest.is_empty() {
        facts.run(rest);
    } else if asks_for_shell {
        facts.runs.push(Run::Input);
    }
    facts
}

/// `xargs program …`: arguments come in that nobody knows yet.
pub(super) fn xargs(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    facts.runs.clear();
    if walk.operands.is_empty() {
        // It is `echo` then.
        if facts.doubt.is_none() {
            facts.class = Class::ReadOnly;
        }
        return facts;
    }
    let mut argv: Vec<Arg> = walk.operands.iter().map(|word| (*word).clone()).collect();
    match mark(&walk) {
        Some(mark) => argv.iter_mut().for_each(|word| fill(word, &mark)),
        None => argv.push(Arg::Unknown { prefix: String::new(), splits: true }),
    }
    facts.run(argv);
    facts
}

/// What stands for the input: `-I{}`, `-i`, `--replace`.
fn mark(walk: &Walk<'_>) -> Option<String> {
    let used = walk
        .used
        .iter()
        .rfind(|used| matches!(used.option.name.as_str(), "-I" | "-i" | "-J" | "--replace"))?;
    match used.values.first() {
        Some(Arg::Known(mark)) if !mark.is_empty() => Some(mark.clone()),
        Some(Arg::Known(_)) | None => Some("{}".to_owned()),
        // Any word may hold it.
        Some(_) => Some(String::new()),
    }
}

/// A word with the mark in it is known up to there.
pub(super) fn fill(word: &mut Arg, mark: &str) {
    let text = match &*word {
        Arg::Known(text) | Arg::Glob(text) | Arg::Unknown { prefix: text, .. } => text,
    };
    if let Some((before, _)) = text.split_once(mark) {
        *word = Arg::Unknown { prefix: before.to_owned(), splits: false };
    }
}

/// `parallel program … ::: a b`: what it builds is text for a shell.
pub(super) fn parallel(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    facts.runs.clear();
    let ends = |word: &&&Arg| matches!(word, Arg::Known(text) if text.starts_with(":::"));
    let mut argv: Vec<Arg> =
        walk.operands.iter().take_while(|word| !ends(word)).map(|word| (*word).clone()).collect();
    argv.iter_mut().for_each(|word| fill(word, "{"));
    if let [only] = argv.as_slice() {
        facts.runs.push(Run::Script(only.clone()));
    }
    argv.push(Arg::Unknown { prefix: String::new(), splits: true });
    facts.run(argv);
    facts.doubt("`parallel` builds commands from what comes in".to_owned());
    facts
}

/// `watch program …`: its words are one script, unless `-x` is given.
pub(super) fn watch(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    let words: Vec<Arg> = walk.operands.iter().map(|word| (*word).clone()).collect();
    let as_words = walk.has("-x") || walk.has("--exec");
    if !as_words && !words.is_empty() {
        facts.runs.push(Run::Script(joined(&words)));
    }
    facts
}

/// `ssh host program …`: a shell elsewhere reads it.
pub(super) fn ssh(case: &Case<'_>) -> Facts {
    let mut facts = plain(case);
    let words = facts.runs.iter().find_map(|run| match run {
        Run::Command { argv, .. } => Some(argv.clone()),
        _ => None,
    });
    if let Some(words) = words {
        facts.runs.push(Run::Script(joined(&words)));
        facts.doubt("it runs on another machine".to_owned());
    }
    facts
}

/// How many words are tried as the beginning of what a program runs.
const TRIED: usize = 24;

/// Programs that run others after options that are not listed here: any word could be where that begins, so rules that
/// forbid are tried on each. A rule for the program itself covers what it runs.
pub(super) fn loose(case: &Case<'_>) -> Facts {
    let mut facts = Facts::of(case.entry.class);
    let begins = |arg: &Arg| !matches!(arg, Arg::Known(text) if text.starts_with('-'));
    let places: Vec<usize> = (0..case.args.len()).filter(|at| begins(&case.args[*at])).collect();
    facts.spellings = places.iter().take(TRIED).map(|at| case.args[*at..].to_vec()).collect();
    if places.len() > TRIED {
        facts.doubt(format!("where the command begins that `{}` runs is not known", case.name));
    }
    facts
}
