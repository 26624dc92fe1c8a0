//! Commands of the shell itself.
//!
//! Their danger is that they run code that looks like a name (`test -v 'a[$(x)]'`), or change what later commands mean.

use haft_tool::Class;

use super::super::{
    Arg, Facts, Run,
    judge::{Case, plain, weigh},
    variables::{assignment_doubt, is_plain_variable},
    walk::walk,
};

/// `test …` and `[ … ]`: harmless but for `-v` and `-R`, which evaluate the index of an array.
pub(super) fn test(case: &Case<'_>) -> Facts {
    let mut facts = Facts::of(Class::ReadOnly);
    if case.args.iter().any(may_become_an_operator) {
        facts.doubt("an unquoted word could become part of the test".to_owned());
    }
    let asks = |arg: &Arg| match arg {
        Arg::Known(text) => text == "-v" || text == "-R",
        Arg::Unknown { prefix, .. } => "-v".starts_with(prefix.as_str()) || "-R".starts_with(prefix.as_str()),
        Arg::Glob(_) => true,
    };
    let evaluates = |arg: &Arg| !matches!(arg, Arg::Known(text) if !text.contains('['));
    if case.args.windows(2).any(|pair| asks(&pair[0]) && evaluates(&pair[1])) {
        facts.doubt("`-v` can run what stands in the index of an array".to_owned());
    }
    facts
}

/// Whether an unquoted word could turn into operators: a variable that is split, or a pattern that names of files may fit
/// which look like one.
fn may_become_an_operator(arg: &Arg) -> bool {
    match arg {
        Arg::Known(_) => false,
        Arg::Glob(pattern) => pattern.starts_with(['*', '?', '[', '-']),
        Arg::Unknown { splits, .. } => *splits,
    }
}

/// `export`, `declare` and the like.
pub(super) fn declare(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    let exports = case.name == "export" || walk.has("-x");
    // For these, a text in brackets is a list, and what is in it is expanded once more.
    let takes_lists =
        matches!(case.name, "declare" | "typeset" | "local") || walk.has("-a") || walk.has("-A");
    for operand in &walk.operands {
        assign(&mut facts, operand, takes_lists, exports);
    }
    facts
}

fn assign(facts: &mut Facts, operand: &Arg, takes_lists: bool, exports: bool) {
    let (text, is_whole) = match operand {
        Arg::Known(text) => (text.as_str(), true),
        Arg::Unknown { prefix, splits: false } if prefix.contains('=') => (prefix.as_str(), false),
        _ => return facts.doubt("which variable is set is not known".to_owned()),
    };
    if text.starts_with('+') {
        return;
    }
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim_end_matches('+'), Some(value)),
        None => (text, None),
    };
    let word = value.map(|value| match is_whole {
        true => Arg::Known(value.to_owned()),
        false => Arg::Unknown { prefix: value.to_owned(), splits: false },
    });
    set_variable(facts, name, word.as_ref());
    if let Some(value) = value.filter(|_| takes_lists)
        && (value.starts_with('(') || value.is_empty() && !is_whole)
    {
        facts.doubt(format!("`{name}` may get a list, and what is in that is expanded once more"));
        facts.runs.push(Run::Mention(value.to_owned()));
    }
    facts.exports |= exports && !is_plain_variable(name);
}

/// A variable gets this value, if it is known.
fn set_variable(facts: &mut Facts, name: &str, value: Option<&Arg>) {
    if !is_name(name) {
        return facts.doubt(format!("`{name}` is not a plain name of a variable"));
    }
    let Some(doubt) = assignment_doubt(name, value) else { return };
    facts.doubt(doubt);
    if let Some(Arg::Known(text) | Arg::Unknown { prefix: text, .. }) = value {
        facts.runs.push(Run::Mention(text.clone()));
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `read`, `mapfile`, `unset`: operands are names.
pub(super) fn variables(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    let names = match case.name {
        // The list of letters, the name, and what is taken apart.
        "getopts" => walk.operands.get(1..2).unwrap_or_default(),
        _ => &walk.operands,
    };
    let nothing = Arg::Known(String::new());
    let value = (case.name == "unset").then_some(&nothing);
    for operand in names.iter().copied().chain(walk.values_of(&["-a"])) {
        match operand {
            Arg::Known(name) => set_variable(&mut facts, name, value),
            _ => facts.doubt("which variable is set is not known".to_owned()),
        }
    }
    facts
}

/// Options of the shell that only make it stop earlier or say more.
const CALM_OPTIONS: &[&str] = &[
    "errexit",
    "nounset",
    "pipefail",
    "xtrace",
    "verbose",
    "noglob",
    "noclobber",
    "errtrace",
    "functrace",
    "noexec",
    "monitor",
    "notify",
    "hashall",
    "ignoreeof",
    "nolog",
    "physical",
];

/// `set -euo pipefail`, `set -- a b`
pub(super) fn set(case: &Case<'_>) -> Facts {
    let mut facts = Facts::of(Class::ReadOnly);
    let mut words = case.args.iter();
    while let Some(word) = words.next() {
        let Arg::Known(text) = word else {
            facts.doubt("an option of the shell that is not known is set".to_owned());
            break;
        };
        let Some(letters) = text.strip_prefix(['-', '+']).filter(|letters| *letters != "-") else { break };
        if letters.chars().any(|letter| !"euxvfhbnCETmo".contains(letter)) {
            facts.doubt(format!("`set {text}` changes how the shell reads commands"));
        }
        if letters.contains('o') {
            named_option(&mut facts, words.next());
        }
    }
    facts
}

fn named_option(facts: &mut Facts, name: Option<&Arg>) {
    match name {
        None => {}
        Some(Arg::Known(name)) if CALM_OPTIONS.contains(&name.as_str()) => {}
        Some(_) => facts.doubt("`set -o` changes how the shell reads commands".to_owned()),
    }
}

/// `alias`: a name that means another command makes the rest of the line a riddle.
pub(super) fn alias(case: &Case<'_>) -> Facts {
    let mut facts = plain(case);
    if case.args.iter().any(|arg| !matches!(arg, Arg::Known(text) if !text.contains('='))) {
        facts.doubt("a name is given to another command".to_owned());
    }
    facts
}

/// `let`: arithmetic evaluates indexes of arrays.
pub(super) fn arithmetic(_case: &Case<'_>) -> Facts {
    let mut facts = Facts::of(Class::Write);
    facts.doubt("arithmetic can run what stands in the index of an array".to_owned());
    facts
}
