//! Variables that are known to be numbers, and what may be calculated with them.
//!
//! A calculation takes a name for its value and that value for a calculation again, in which the index of an array may run
//! commands. With names that surely hold numbers nothing of that can happen: `i=0; while …; do i=$((i + 1)); done`.

use super::values::Values;
use crate::{
    programs,
    syntax::{Command, CommandKind, Descriptor, Part, Redirect, RedirectKind, Script, Word},
};

/// What stands in a calculation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    Number,
    Sign(&'a str),
    /// Something that may turn out to be anything.
    Open,
}

/// A calculation, looked through.
pub(super) struct Calculation<'a> {
    /// The names that it sets.
    pub(super) sets: Vec<&'a str>,
    /// Those of them that hold a number once it is done, whatever they held before.
    pub(super) settles: Vec<&'a str>,
    /// Whether all that it reads are numbers.
    pub(super) is_safe: bool,
}

/// Signs that are longer than a character; those that begin with another one come first.
const SIGNS: [&str; 22] = [
    "<<=", ">>=", "**", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=",
    "%=", "&=", "|=", "^=", "10#",
];

/// Variables of the shell that are numbers unless a line sets them, which is a doubt of its own.
const OF_THE_SHELL: [&str; 6] = ["EUID", "LINENO", "PPID", "RANDOM", "SECONDS", "UID"];

impl<'a> Calculation<'a> {
    /// Looks through the parts of one; of `for ((…))`, the part before the first `;` is done first and once.
    pub(super) fn of(parts: &'a [Part], values: &Values) -> Calculation<'a> {
        let mut tokens = Tokens::default();
        tokens.parts(parts, values);
        let tokens = tokens.finish();
        let mut found = Calculation { sets: Vec::new(), settles: Vec::new(), is_safe: true };
        let (mut depth, mut sections, mut pending) = (0_usize, 0_usize, None);
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| tokens[at]);
            match *token {
                Token::Name(name) => {
                    let after = tokens.get(at + 1).copied();
                    let is_set = [before, after].into_iter().flatten().any(is_step)
                        || after.is_some_and(is_assignment);
                    if is_set {
                        found.sets.push(name);
                    }
                    if after == Some(Token::Sign("=")) {
                        let begins = matches!(before, None | Some(Token::Sign("," | ";")));
                        pending = pending.or((begins && depth == 0 && sections == 0).then_some(name));
                    } else {
                        // The later parts are done again after each round, which may have set it to something else.
                        let holds = sections == 0 || values.is_numeric(name);
                        found.is_safe &= (found.settles.contains(&name) && holds)
                            || values.counts(name)
                            || OF_THE_SHELL.contains(&name);
                    }
                }
                Token::Sign(sign) => {
                    depth += usize::from(sign == "(");
                    depth = depth.saturating_sub(usize::from(sign == ")"));
                    if depth == 0 && matches!(sign, "," | ";") {
                        found.settles.extend(pending.take());
                        sections += usize::from(sign == ";");
                    }
                }
                Token::Number => {}
                Token::Open => found.is_safe = false,
            }
        }
        found.settles.extend(pending);
        found
    }
}

fn is_step(token: Token<'_>) -> bool {
    matches!(token, Token::Sign("++" | "--"))
}

fn is_assignment(token: Token<'_>) -> bool {
    matches!(token, Token::Sign(sign) if sign.ends_with('=') && !matches!(sign, "==" | "!=" | "<=" | ">="))
}

/// The tokens of a calculation, while they are read.
#[derive(Default)]
struct Tokens<'a> {
    list: Vec<Token<'a>>,
    /// Whether the last token was a name or an expansion and nothing stands behind it: what comes next may lengthen it.
    touches: bool,
    has_quotes: bool,
}

impl<'a> Tokens<'a> {
    fn parts(&mut self, parts: &'a [Part], values: &Values) {
        for part in parts {
            match part {
                Part::Literal(text) | Part::Quoted(text) | Part::Glob(text) => self.text(text),
                Part::Double(parts) => self.parts(parts, values),
                part => {
                    let token = if expands_to_number(part, values) { Token::Number } else { Token::Open };
                    let lengthens = self.touches && matches!(self.list.last(), Some(Token::Name(_)));
                    self.list.push(if lengthens { Token::Open } else { token });
                    self.touches = true;
                }
            }
        }
    }

    fn text(&mut self, text: &'a str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
            let mut length = first.len_utf8();
            if is_of_name(first) && !rest.starts_with("10#") {
                length = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
                let word = &rest[..length];
                self.list.push(match word {
                    _ if self.touches && !word.bytes().all(|byte| byte.is_ascii_digit()) => Token::Open,
                    _ if self.touches && matches!(self.list.last(), Some(Token::Name(_))) => Token::Open,
                    _ if word.bytes().all(|byte| byte.is_ascii_digit()) => Token::Number,
                    _ if first.is_ascii_digit() || !word.is_ascii() => Token::Open,
                    _ => Token::Name(word),
                });
                self.touches = true;
            } else {
                length = SIGNS.iter().find(|sign| rest.starts_with(**sign)).map_or(length, |sign| sign.len());
                match first {
                    '[' | '$' | '`' | '#' => self.list.push(Token::Open),
                    '"' | '\'' | '\\' => self.has_quotes = true,
                    _ if first.is_whitespace() => {}
                    _ => self.list.push(Token::Sign(&rest[..length])),
                }
                self.touches = false;
            }
            rest = &rest[length..];
        }
    }

    /// Quotes join what they stand between, so there may be other names than it seems.
    fn finish(mut self) -> Vec<Token<'a>> {
        if self.has_quotes && self.list.iter().any(|token| matches!(token, Token::Name(_))) {
            self.list.push(Token::Open);
        }
        self.list
    }
}

/// Whether a word, as it is assigned, is a number.
pub(super) fn is_number(word: &Word, values: &Values) -> bool {
    match &word.parts[..] {
        [Part::Literal(text) | Part::Quoted(text)] => programs::is_number(text),
        [Part::Double(parts)] => matches!(&parts[..], [part] if expands_to_number(part, values)),
        [part] => expands_to_number(part, values),
        _ => false,
    }
}

/// Whether all that a word of `for` becomes are numbers.
pub(super) fn are_numbers(word: &Word, values: &Values) -> bool {
    match &word.parts[..] {
        [Part::Range(text)] => text.bytes().all(|byte| byte.is_ascii_digit() || b"{.}-".contains(&byte)),
        _ => is_number(word, values),
    }
}

/// Whether nothing but a number can come of an expansion, or several where a command prints them.
fn expands_to_number(part: &Part, values: &Values) -> bool {
    match part {
        Part::Command(script) => prints_numbers(script),
        part => expands_to_one_number(part, values),
    }
}

/// Whether nothing but a number can come of an expansion. What a calculation in it may do is judged where it stands.
pub(super) fn expands_to_one_number(part: &Part, values: &Values) -> bool {
    match part {
        Part::Arithmetic(_) => true,
        Part::Variable(name) => {
            matches!(name.as_str(), "#" | "?" | "$")
                || OF_THE_SHELL.contains(&name.as_str())
                || values.counts(name)
        }
        Part::Parameter { name, operator, .. } => {
            name.len() > 1 && name.starts_with('#') && matches!(operator.as_str(), "" | "[")
        }
        _ => false,
    }
}

/// Whether a script prints numbers and nothing else, even if it fails: `seq 3`, `… | wc -l`, `date +%s`.
fn prints_numbers(script: &Script) -> bool {
    let [item] = &script.items[..] else { return false };
    let Some(Command { kind: CommandKind::Simple { assignments, words }, redirects, .. }) =
        item.first.commands.last()
    else {
        return false;
    };
    let literal = |word: &'_ Word| match &word.parts[..] {
        [Part::Literal(text) | Part::Quoted(text)] => Some(text.clone()),
        _ => None,
    };
    let Some(words) = words.iter().map(literal).collect::<Option<Vec<String>>>() else { return false };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let prints = match words.as_slice() {
        ["wc", "-l" | "-c" | "-m" | "-w" | "-L" | "--lines" | "--bytes" | "--chars" | "--words"] => true,
        ["seq", numbers @ ..] => numbers.iter().all(|text| programs::is_number(text)),
        ["date", format] => format.strip_prefix('+').is_some_and(|format| {
            format.len() > 1
                && format
                    .split('%')
                    .skip(1)
                    .all(|letter| matches!(letter, "s" | "Y" | "m" | "d" | "H" | "M" | "S" | "N" | "j" | "u"))
                && format.starts_with('%')
        }),
        // Of one file it is the number alone.
        ["grep", "-c", rest @ ..] => {
            (1..=2).contains(&rest.len()) && rest.iter().all(|word| !word.starts_with('-'))
        }
        ["stat", "-c", "%s" | "%Y" | "%h", file] => !file.starts_with('-'),
        ["nproc"] | ["id", "-u" | "-g"] => true,
        _ => false,
    };
    prints
        && !item.background
        && item.rest.is_empty()
        && assignments.is_empty()
        && redirects.iter().all(is_input)
}

/// What comes in, or errors that go elsewhere: neither is printed.
fn is_input(redirect: &Redirect) -> bool {
    match &redirect.kind {
        RedirectKind::Read(_) | RedirectKind::HereDocument(_) | RedirectKind::HereString(_) => {
            redirect.descriptor.is_none()
        }
        RedirectKind::Write(_) => {
            redirect.operator == ">" && redirect.descriptor == Some(Descriptor::Number(2))
        }
        _ => false,
    }
}
