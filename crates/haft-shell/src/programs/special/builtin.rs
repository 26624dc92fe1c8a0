//! Commands of the shell itself.
//!
//! Their danger is that they run code that looks like a name (`test -v 'a[$(x)]'`), or change what later commands mean.

use haft_tool::Class;

use super::super::{
    Arg, Facts,
    judge::{Case, plain, weigh},
    variables::{is_plain_variable, is_power_variable},
    walk::walk,
};

/// `test …` and `[ … ]`: harmless but for `-v` and `-R`, which evaluate the index of an array.
pub(super) fn test(case: &Case<'_>) -> Facts {
    let mut facts = Facts::of(Class::ReadOnly);
    if case.args.iter().any(|arg| matches!(arg, Arg::Unknown { splits: true, .. })) {
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

/// `export`, `declare` and the like.
pub(super) fn declare(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    let exported = case.name == "export" || walk.has("-x");
    for operand in &walk.operands {
        assign(&mut facts, operand, exported);
    }
    facts
}

fn assign(facts: &mut Facts, operand: &Arg, exported: bool) {
    let text = match operand {
        Arg::Known(text) => text.as_str(),
        Arg::Unknown { prefix, splits: false } if prefix.contains('=') => prefix.as_str(),
        _ => return facts.doubt("which variable is set is not known".to_owned()),
    };
    if text.starts_with('+') {
        return;
    }
    let name = text.split_once('=').map_or(text, |(name, _)| name.trim_end_matches('+'));
    judge_name(facts, name);
    if exported && !is_plain_variable(name) {
        facts.raise(Class::Write);
    }
}

fn judge_name(facts: &mut Facts, name: &str) {
    if !is_name(name) {
        facts.doubt(format!("`{name}` is not a plain name of a variable"));
    } else if is_power_variable(name) {
        facts.doubt(format!("`{name}` changes what programs do"));
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
    for operand in names.iter().copied().chain(walk.values_of(&["-a"])) {
        match operand {
            Arg::Known(name) => judge_name(&mut facts, name),
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
