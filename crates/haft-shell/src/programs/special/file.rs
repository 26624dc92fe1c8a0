//! `tar`, `dd` and `kill`, which have ways of their own to take options.

use haft_tool::{Access, Class};

use super::super::{
    Arg, Facts,
    judge::{Case, weigh},
    table::Value,
    walk::{Walk, walk},
};

/// `tar tf a.tar`: what it does is one of its letters.
pub(super) fn tar(case: &Case<'_>) -> Facts {
    let args = with_dashes(case);
    let case = Case { args: &args, ..*case };
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(&case, &walk);
    let modes: Vec<Mode> = walk.used.iter().filter_map(|used| mode(&used.option.name)).collect();
    match modes.as_slice() {
        [Mode::List] if facts.touches.iter().any(|touch| touch.aside) => {}
        [Mode::List] if facts.class == Class::Write && facts.doubt.is_none() => facts.class = Class::ReadOnly,
        [Mode::List] => {}
        [Mode::Extract] => extract(&mut facts, &walk),
        [Mode::Create] => create(&mut facts, &walk),
        _ => facts.doubt("what `tar` is to do is not known".to_owned()),
    }
    archive(&mut facts, &walk, modes.first() == Some(&Mode::Create));
    facts
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    List,
    Extract,
    Create,
}

fn mode(option: &str) -> Option<Mode> {
    Some(match option {
        "-t" | "--list" | "-d" | "--diff" | "--compare" => Mode::List,
        "-x" | "--extract" | "--get" => Mode::Extract,
        "-c" | "--create" | "-r" | "--append" | "-u" | "--update" | "-A" | "--catenate" | "--concatenate"
        | "--delete" => Mode::Create,
        _ => return None,
    })
}

/// The first word may do without its dash; then the values of its letters follow it in their order.
fn with_dashes(case: &Case<'_>) -> Vec<Arg> {
    let Some((Arg::Known(letters), rest)) = case.args.split_first() else { return case.args.to_vec() };
    if letters.starts_with('-') || letters.is_empty() {
        return case.args.to_vec();
    }
    let mut rest = rest.iter().cloned();
    let mut args = Vec::new();
    for letter in letters.chars() {
        let name = format!("-{letter}");
        let option = case.entry.options.iter().find(|option| option.name == name);
        args.push(Arg::Known(name));
        if option.is_some_and(|option| matches!(option.value, Value::Needed(_))) {
            args.extend(rest.next());
        }
    }
    args.extend(rest);
    args
}

fn directory<'a>(walk: &'a Walk<'_>) -> Option<&'a Arg> {
    walk.values_of(&["-C", "--directory"]).last()
}

fn extract(facts: &mut Facts, walk: &Walk<'_>) {
    if walk.has("-O") || walk.has("--to-stdout") {
        return;
    }
    let here = Arg::Known(".".to_owned());
    facts.touch(directory(walk).unwrap_or(&here), Access::Write);
}

fn create(facts: &mut Facts, walk: &Walk<'_>) {
    let mut packed = Facts::of(Class::ReadOnly);
    for operand in &walk.operands {
        packed.touch(operand, Access::Read);
    }
    if let Some(directory) = directory(walk) {
        packed.move_to(directory);
    }
    facts.touches.append(&mut packed.touches);
}

fn archive(facts: &mut Facts, walk: &Walk<'_>, written: bool) {
    for file in walk.values_of(&["-f", "--file"]) {
        match file {
            Arg::Known(name) if name == "-" => {}
            // `host:file` is fetched by a remote shell.
            Arg::Known(name) if name.contains(':') => {
                facts.doubt("the archive is on another machine".to_owned())
            }
            _ => facts.touch(file, if written { Access::Write } else { Access::Read }),
        }
    }
}

/// `dd if=a of=b`
pub(super) fn dd(case: &Case<'_>) -> Facts {
    let mut facts = Facts::of(Class::Write);
    for arg in case.args {
        let (text, whole) = match arg {
            Arg::Known(text) => (text, true),
            Arg::Unknown { prefix, splits: false } => (prefix, false),
            _ => {
                facts.doubt("an operand of `dd` is not known".to_owned());
                continue;
            }
        };
        operand(&mut facts, text, whole);
    }
    facts
}

fn operand(facts: &mut Facts, text: &str, whole: bool) {
    let value = |value: &str| match whole {
        true => Arg::Known(value.to_owned()),
        false => Arg::Unknown { prefix: value.to_owned(), splits: false },
    };
    match text.split_once('=') {
        Some(("if", path)) => facts.touch(&value(path), Access::Read),
        Some(("of", path)) => {
            // A device keeps nothing of what it was.
            if path.starts_with("/dev/") && path != "/dev/null" {
                facts.raise(Class::Destructive);
            }
            facts.touch(&value(path), Access::Write);
        }
        Some((
            "bs" | "ibs" | "obs" | "cbs" | "count" | "skip" | "seek" | "conv" | "iflag" | "oflag" | "status",
            _,
        )) => {}
        None if whole && matches!(text, "--help" | "--version") => {}
        _ => facts.doubt("an operand of `dd` is not known".to_owned()),
    }
}

/// `kill -9 1`: signal 0 and `-l` only ask.
pub(super) fn kill(case: &Case<'_>) -> Facts {
    let asks = match case.args {
        [Arg::Known(option), ..] if matches!(option.as_str(), "-l" | "-L" | "-0" | "--list" | "--table") => {
            true
        }
        [Arg::Known(option), Arg::Known(signal), ..] => {
            matches!(option.as_str(), "-s" | "-n") && signal == "0"
        }
        _ => false,
    };
    let mut facts = Facts::of(if asks { Class::ReadOnly } else { Class::Destructive });
    // The first process is the machine's own, and -1 after the signal is every one.
    let all = |(at, arg): (usize, &Arg)| matches!(arg, Arg::Known(id) if id == "1" || (id == "-1" && at > 0));
    facts.halts = !asks && case.args.iter().enumerate().any(all);
    facts
}
