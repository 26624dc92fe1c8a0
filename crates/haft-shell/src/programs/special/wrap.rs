//! Programs that run another one.

use haft_tool::Class;

use super::super::{
    Arg, Facts, Run,
    judge::{Case, plain, weigh},
    look_at,
    table::{Meaning, entry},
    variables::{assignment_doubt, is_plain_variable},
    walk::{Walk, walk},
};
use super::shell::joined;
use crate::syntax::salvage;

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
        let (text, is_whole) = match operand {
            Arg::Known(text) => (text, true),
            Arg::Unknown { prefix, splits: false } => (prefix, false),
            _ => break,
        };
        let Some((name, value)) = text.split_once('=') else { break };
        let value = Arg::Known(value.to_owned());
        assigned(facts, name, Some(&value).filter(|_| is_whole));
        rest.next();
    }
    rest.map(|word| (*word).clone()).collect()
}

fn assigned(facts: &mut Facts, name: &str, value: Option<&Arg>) {
    if let Some(doubt) = assignment_doubt(name, value) {
        facts.doubt(doubt);
        if let Some(Arg::Known(text)) = value {
            facts.runs.push(Run::Mention(text.clone()));
        }
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
    } else {
        argv.push(Arg::Unknown { prefix: String::new(), splits: true });
        facts.run(argv);
    }
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
        facts.runs = vec![Run::Script(joined(&words))];
    }
    facts
}

/// `ssh host program …`: a shell elsewhere reads it.
pub(super) fn ssh(case: &Case<'_>) -> Facts {
    let mut facts = plain(case);
    if let Some(Run::Command { argv, .. }) = facts.runs.pop() {
        facts.runs.push(Run::Script(joined(&argv)));
        facts.doubt("it runs on another machine".to_owned());
    }
    facts
}

/// `flock file program …`, or `flock file -c 'script'`
pub(super) fn flock(case: &Case<'_>) -> Facts {
    let mut facts = plain(case);
    for run in &mut facts.runs {
        let script = match run {
            Run::Command { argv, .. } => match argv.as_slice() {
                [Arg::Known(option), script, ..] if option == "-c" || option == "--command" => script.clone(),
                _ => continue,
            },
            _ => continue,
        };
        *run = Run::Script(script);
    }
    facts
}

/// `su -c 'script' bob` and `runuser -u bob program …`; without either, a shell reads what comes in.
pub(super) fn switch_user(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    let named = walk.has("-u") || walk.has("--user");
    if case.name == "runuser" && named && !walk.operands.is_empty() {
        // Options of the program would be taken for options of `runuser` by the table.
        let start = walk.first_operand.unwrap_or_default();
        facts.doubt = None;
        facts.run(case.args[start..].to_vec());
    } else if facts.runs.is_empty() {
        facts.runs.push(Run::Input);
    }
    facts
}

/// How many words are tried as the beginning of what a program runs.
const TRIED: usize = 24;

/// Where a command may begin: at each word that is no option.
fn beginnings(case: &Case<'_>, facts: &mut Facts) -> Vec<Vec<Arg>> {
    let begins = |arg: &Arg| !matches!(arg, Arg::Known(text) if text.starts_with('-'));
    let places: Vec<usize> = (0..case.args.len()).filter(|at| begins(&case.args[*at])).collect();
    if places.len() > TRIED {
        facts.doubt(format!("where the command begins that `{}` runs is not known", case.name));
    }
    places.iter().take(TRIED).map(|at| case.args[*at..].to_vec()).collect()
}

/// Programs that only run another, after options that are not listed: it begins with the first word that is a program
/// of the table, as far as can be seen. Rules that forbid are tried on each word.
pub(super) fn wraps(case: &Case<'_>) -> Facts {
    let mut facts = loose(case);
    let is_program = |argv: &&Vec<Arg>| matches!(&argv[0], Arg::Known(name) if entry(base(name)).is_some());
    let argv = facts.spellings.iter().find(is_program).or(facts.spellings.first()).cloned();
    facts.runs.extend(argv.map(|argv| Run::Command { argv, directory: None }));
    facts
}

/// Whether these words, taken for a command, lose something. Of programs that run others there could be very many.
fn loses(argv: &[Arg]) -> bool {
    let [Arg::Known(name), ..] = argv else { return false };
    let is_plain = entry(base(name)).is_some_and(|entry| entry.special.is_none());
    is_plain && look_at(argv).class == Class::Destructive
}

fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Programs that also run others. A rule for such a program covers what it runs; rules that forbid are tried on each
/// word where that may begin.
pub(super) fn loose(case: &Case<'_>) -> Facts {
    let mut facts = plain(case);
    facts.spellings = beginnings(case, &mut facts);
    if facts.spellings.iter().any(|argv| loses(argv)) {
        facts.raise(Class::Destructive);
    }
    // A word with blanks in it may be a script: `tmux new 'make; curl x'`.
    for arg in case.args.iter().take(TRIED) {
        if let Arg::Known(text) = arg
            && text.contains([' ', '\t', '\n'])
        {
            let commands = salvage(text).into_iter().take(TRIED);
            facts.spellings.extend(commands.map(|words| words.into_iter().map(Arg::Known).collect()));
        }
    }
    // What is to run later comes in now.
    if matches!(case.name, "at" | "batch") {
        facts.runs.push(Run::Input);
    }
    facts
}
