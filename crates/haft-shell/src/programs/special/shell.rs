//! Shells, and the commands that hand text to one.

use haft_tool::{Access, Class};

use super::super::{Arg, Facts, Run, judge::Case};

/// How a shell was called.
#[derive(Default)]
struct Invocation<'a> {
    /// `-c`: the first operand is the script.
    command: bool,
    /// `-s`: the script comes in.
    input: bool,
    /// It reads start-up files, or takes options that change how it reads.
    doubt: Option<String>,
    operands: &'a [Arg],
}

/// `sh -c '…'`, `bash file`, `sh` at the end of a pipe.
pub(super) fn shell(case: &Case<'_>) -> Facts {
    let call = invocation(case.args);
    let script = if call.command || !call.input { call.operands.first() } else { None };
    let mut facts = Facts::of(Class::Write);
    match script {
        // What it runs counts on its own.
        Some(text) if call.command => {
            facts.class = Class::ReadOnly;
            facts.runs.push(Run::Script(text.clone()));
        }
        None if call.command => facts.class = Class::ReadOnly,
        Some(file) if is_input(file) => facts.runs.push(Run::Input),
        Some(file) => {
            facts.touch(file, Access::Read);
            facts.runs.push(Run::File(file.clone()));
        }
        None => facts.runs.push(Run::Input),
    }
    if let Some(doubt) = call.doubt {
        facts.doubt(doubt);
    }
    facts
}

/// A shell with another grammar: what can be read of it is read, for rules that forbid.
pub(super) fn foreign(case: &Case<'_>) -> Facts {
    let mut facts = shell(case);
    facts.doubt(format!("`{}` reads commands in its own way", case.name));
    facts
}

fn invocation(args: &[Arg]) -> Invocation<'_> {
    let mut call = Invocation::default();
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let Arg::Known(word) = arg else {
            call.unless_operand(arg);
            break;
        };
        at += 1;
        match word.as_str() {
            "-" | "--" => break,
            "--norc" | "--noprofile" | "--posix" | "--verbose" | "--noediting" => {}
            long if long.starts_with("--") => call.odd(long),
            short if short.len() > 1 && short.starts_with(['-', '+']) => {
                at += call.letters(short, args.get(at));
            }
            _ => {
                at -= 1;
                break;
            }
        }
    }
    call.operands = args.get(at..).unwrap_or_default();
    call
}

impl Invocation<'_> {
    /// The letters of one word; how many more words belong to it.
    fn letters(&mut self, word: &str, next: Option<&Arg>) -> usize {
        let mut more = 0;
        for letter in word.chars().skip(1) {
            match letter {
                'c' if word.starts_with('-') => self.command = true,
                's' if word.starts_with('-') => self.input = true,
                'e' | 'u' | 'x' | 'v' | 'f' | 'h' | 'b' | 'n' | 'C' | 'E' | 'T' | 'm' => {}
                'o' => {
                    more = 1;
                    let calm = matches!(next, Some(Arg::Known(name)) if matches!(name.as_str(), "pipefail" | "errexit" | "nounset" | "xtrace" | "verbose" | "noglob" | "noclobber"));
                    if !calm {
                        self.odd(word);
                    }
                }
                _ => self.odd(word),
            }
        }
        more
    }

    fn odd(&mut self, option: &str) {
        self.doubt.get_or_insert_with(|| {
            format!("`{option}` makes the shell read other files, or read differently")
        });
    }

    /// An unknown word is an operand only if it cannot begin with a dash or a plus.
    fn unless_operand(&mut self, arg: &Arg) {
        let begins = match arg {
            Arg::Unknown { prefix, splits: false } => prefix.chars().next(),
            Arg::Glob(pattern) => pattern.chars().next().filter(|first| !"*?[\\".contains(*first)),
            _ => None,
        };
        if begins.is_none_or(|first| first == '-' || first == '+') {
            self.doubt = Some("a word that is not known could be an option of the shell".to_owned());
        }
    }
}

/// `eval a b`: its words are one script.
pub(super) fn eval(case: &Case<'_>) -> Facts {
    let mut facts = Facts::of(Class::ReadOnly);
    let words = match case.args {
        [Arg::Known(dashes), rest @ ..] if dashes == "--" => rest,
        words => words,
    };
    if !words.is_empty() {
        facts.runs.push(Run::Script(joined(words)));
    }
    facts
}

/// Words with blanks between them, as far as they are known.
pub(super) fn joined(words: &[Arg]) -> Arg {
    let mut text = String::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        match word {
            Arg::Known(word) => text.push_str(word),
            Arg::Unknown { prefix, .. } => {
                text.push_str(prefix);
                return Arg::Unknown { prefix: text, splits: false };
            }
            Arg::Glob(_) => return Arg::Unknown { prefix: text, splits: false },
        }
    }
    Arg::Known(text)
}

/// `trap 'script' SIGNAL`
pub(super) fn trap(case: &Case<'_>) -> Facts {
    let mut facts = Facts::of(Class::ReadOnly);
    let words = match case.args {
        [Arg::Known(dashes), rest @ ..] if dashes == "--" => rest,
        words => words,
    };
    match words {
        [] => {}
        [Arg::Known(option), ..] if option == "-l" || option == "-p" => {}
        // `trap EXIT` and `trap - EXIT` take the script away.
        [Arg::Known(_)] => {}
        [Arg::Known(script), ..] if script == "-" || script.is_empty() => {}
        [script, ..] => facts.runs.push(Run::Script(script.clone())),
    }
    facts
}

/// `. file` runs it in this shell.
pub(super) fn source(case: &Case<'_>) -> Facts {
    let mut facts = Facts::of(Class::Write);
    let file = match case.args {
        [Arg::Known(dashes), file, ..] if dashes == "--" => Some(file),
        [Arg::Known(option), ..] if option.starts_with('-') => {
            facts.doubt(format!("`{option}` of `{}` is not known", case.name));
            case.args.last()
        }
        [file, ..] => Some(file),
        [] => None,
    };
    match file {
        Some(file) if is_input(file) => facts.runs.push(Run::Input),
        Some(file) => {
            facts.touch(file, Access::Read);
            facts.runs.push(Run::File(file.clone()));
        }
        None => {}
    }
    facts
}

/// Names of what comes in.
fn is_input(file: &Arg) -> bool {
    const NAMES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    matches!(file, Arg::Known(name) if NAMES.contains(&name.as_str()))
}
