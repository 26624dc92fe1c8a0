//! What the end of a command line tells of a command in it.
//!
//! A line has one exit code, and most of it may have been skipped: `false && cargo test; true` ends well. So a command counts
//! as run only where that follows from how the line ended, by bash's own rules: it is the whole line, or a part of an
//! `&&` chain that the line ends with. What does not follow is not guessed.

use haft_shell::syntax::{Command, CommandKind, Connector, Item, Part, Pipeline, Script, Word, parse};

/// What a line that has ended tells of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It ran and ended well.
    Well,
    /// It ran, and did not.
    Badly,
    /// It is part of the line, and nothing more follows.
    Unclear,
    /// It is no part of the line.
    Absent,
}

/// How a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    Badly,
    /// It goes on, or nobody knows.
    Unknown,
}

/// What this line tells of a command that begins so.
pub(super) fn told(line: &str, ended: Ended, wanted: &str) -> Told {
    if line.trim() == wanted.trim() {
        return whole(ended);
    }
    let (Some(read), Some(wanted)) = (Line::read(line), chain(wanted)) else {
        return if line.contains(wanted.trim()) { Told::Unclear } else { Told::Absent };
    };
    let is_among = |commands: &[Argv], words: &Argv| commands.iter().any(|argv| begins(argv, words));
    let is_last = || wanted.len() == 1 && read.last().is_some_and(|argv| begins(&argv, &wanted[0]));
    match ended {
        Ended::Well if wanted.iter().all(|words| is_among(&read.sure(), words)) => Told::Well,
        Ended::Badly if is_last() => Told::Badly,
        _ if wanted.iter().any(|words| is_among(&read.all(), words)) => Told::Unclear,
        _ => Told::Absent,
    }
}

/// Whether nothing of this line was skipped if it ended well: what it was going to write, it wrote.
pub(super) fn is_one_way(line: &str) -> bool {
    Line::read(line)
        .is_some_and(|read| read.is_straight && read.script.items.len() == 1 && read.has_no_branch())
}

fn whole(ended: Ended) -> Told {
    match ended {
        Ended::Well => Told::Well,
        Ended::Badly => Told::Badly,
        Ended::Unknown => Told::Unclear,
    }
}

/// The words of a command: as they are if they are plain, as they are written otherwise.
type Argv = Vec<String>;

/// The commands of what a plan says is run: one, or several joined by `&&`.
fn chain(text: &str) -> Option<Vec<Argv>> {
    let read = Line::read(text)?;
    let sure = read.sure();
    (!sure.is_empty() && sure.len() == read.all().len()).then_some(sure)
}

/// Programs that run another and end as it does.
const WRAPPERS: [&str; 5] = ["env", "nice", "nohup", "stdbuf", "timeout"];

fn begins(argv: &Argv, words: &Argv) -> bool {
    if argv.starts_with(words) {
        return true;
    }
    let is_wrapped = argv.first().is_some_and(|name| WRAPPERS.contains(&name.as_str()));
    is_wrapped && wrapped(&argv[1..]).starts_with(words)
}

/// What a wrapper runs: its own words are options, times and variables.
fn wrapped(argv: &[String]) -> &[String] {
    let is_own = |word: &String| {
        word.starts_with('-') || word.contains('=') || word.starts_with(|char: char| char.is_ascii_digit())
    };
    &argv[argv.iter().take_while(|word| is_own(word)).count()..]
}

/// A line that bash can read.
struct Line<'t> {
    text: &'t str,
    script: Script,
    /// Whether nothing in it makes bash go elsewhere than the tree says, or call something else by a name.
    is_straight: bool,
    /// Whether a pipe ends well only if all of it does.
    is_strict: bool,
}

impl Line<'_> {
    fn read(text: &str) -> Option<Line<'_>> {
        let parsed = parse(text);
        if parsed.error.is_some() {
            return None;
        }
        let mut line = Line { text, script: parsed.script, is_straight: true, is_strict: false };
        line.is_straight = line.commands().iter().all(|command| line.goes_on(command));
        line.is_strict = line
            .all()
            .first()
            .is_some_and(|argv| argv[0] == "set" && argv.ends_with(&["pipefail".to_owned()]));
        Some(line)
    }

    /// Every simple command in it, wherever.
    fn all(&self) -> Vec<Argv> {
        self.commands().into_iter().filter_map(|command| self.argv(command)).collect()
    }

    /// Every command in it. What is substituted runs in a shell of its own, and is none.
    fn commands(&self) -> Vec<&Command> {
        let mut found = Vec::new();
        gather(&self.script, &mut found);
        found
    }

    /// The commands that ran and ended well if the line did.
    fn sure(&self) -> Vec<Argv> {
        let mut found = Vec::new();
        if self.is_straight || self.is_single() {
            self.sure_of(&self.script, &mut found);
        }
        found
    }

    fn sure_of(&self, script: &Script, found: &mut Vec<Argv>) {
        let Some(item) = script.items.last().filter(|item| !item.background) else { return };
        for pipeline in sure_parts(item).filter(|pipeline| !pipeline.negated) {
            let stages = pipeline.commands.iter().rev().take(if self.is_strict { usize::MAX } else { 1 });
            for command in stages {
                match &command.kind {
                    CommandKind::Group(script) | CommandKind::Subshell(script) => self.sure_of(script, found),
                    _ => found.extend(self.argv(command)),
                }
            }
        }
    }

    /// The command that ends as the line does, well or badly.
    fn last(&self) -> Option<Argv> {
        let item = self.script.items.last().filter(|item| !item.background && item.rest.is_empty())?;
        let is_plain = !item.first.negated && item.first.commands.len() == 1;
        if !is_plain || !(self.is_straight || self.is_single()) {
            return None;
        }
        self.argv(&item.first.commands[0])
    }

    fn is_single(&self) -> bool {
        matches!(&*self.script.items, [item] if item.rest.is_empty() && item.first.commands.len() == 1)
    }

    fn has_no_branch(&self) -> bool {
        let is_simple = |command: &Command| matches!(command.kind, CommandKind::Simple { .. });
        let is_plain = |pipeline: &Pipeline| !pipeline.negated && pipeline.commands.iter().all(is_simple);
        self.script.items.iter().all(|item| {
            let joins =
                item.rest.iter().all(|(connector, part)| *connector == Connector::And && is_plain(part));
            !item.background && is_plain(&item.first) && joins
        })
    }

    /// The words of a simple command that has some.
    fn argv(&self, command: &Command) -> Option<Argv> {
        let CommandKind::Simple { words, .. } = &command.kind else { return None };
        (!words.is_empty()).then(|| words.iter().map(|word| self.word(word)).collect())
    }

    fn word(&self, word: &Word) -> String {
        let plain = |part: &Part| match part {
            Part::Literal(text) | Part::Quoted(text) => Some(text.clone()),
            _ => None,
        };
        let whole: Option<String> = word.parts.iter().map(plain).collect();
        whole.unwrap_or_else(|| self.text.get(word.span.clone()).unwrap_or_default().to_owned())
    }

    /// Whether bash simply goes on after it, and knows the names that it knew before.
    fn goes_on(&self, command: &Command) -> bool {
        let CommandKind::Simple { words, .. } = &command.kind else {
            return !matches!(command.kind, CommandKind::Function { .. } | CommandKind::Odd(..));
        };
        let Some(name) = words.first() else { return true };
        let is_plain = name.parts.iter().all(|part| matches!(part, Part::Literal(_) | Part::Quoted(_)));
        let name = self.word(name);
        let is_kept = name != "set" || words[1..].iter().all(|word| is_strictness(&self.word(word)));
        is_plain && is_kept && !ELSEWHERE.contains(&name.as_str())
    }
}

/// What ends a shell, leads it elsewhere, or gives names another meaning.
const ELSEWHERE: [&str; 18] = [
    ".", "alias", "break", "builtin", "command", "continue", "enable", "eval", "exec", "exit", "hash",
    "kill", "logout", "return", "shopt", "source", "trap", "unalias",
];

/// `set -euo pipefail`: it makes more of a line fail, and nothing end well that did not.
fn is_strictness(word: &str) -> bool {
    word == "pipefail"
        || word.strip_prefix('-').is_some_and(|flags| flags.chars().all(|flag| "euxo".contains(flag)))
}

/// The parts of a list that ran and ended well if the list did: those that `&&` joins to its end. What stands on either side of
/// the last `||` may have been skipped, or have failed.
fn sure_parts(item: &Item) -> impl Iterator<Item = &Pipeline> {
    let behind = item.rest.iter().rposition(|(connector, _)| *connector == Connector::Or);
    let first = behind.is_none().then_some(&item.first);
    first
        .into_iter()
        .chain(item.rest.iter().skip(behind.map_or(0, |at| at + 1)).map(|(_, pipeline)| pipeline))
}

fn gather<'s>(script: &'s Script, found: &mut Vec<&'s Command>) {
    for item in &script.items {
        let parts = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, part)| part));
        parts.flat_map(|part| &part.commands).for_each(|command| gather_from(command, found));
    }
}

fn gather_from<'s>(command: &'s Command, found: &mut Vec<&'s Command>) {
    found.push(command);
    match &command.kind {
        CommandKind::Simple { .. } | CommandKind::Arithmetic(_) | CommandKind::Test(_) => {}
        CommandKind::Group(script) | CommandKind::Subshell(script) | CommandKind::Odd(_, script) => {
            gather(script, found);
        }
        CommandKind::If { arms, otherwise } => {
            let scripts = arms.iter().flat_map(|(condition, body)| [condition, body]).chain(otherwise);
            scripts.for_each(|script| gather(script, found));
        }
        CommandKind::While { condition, body, .. } => {
            gather(condition, found);
            gather(body, found);
        }
        CommandKind::For { body, .. } | CommandKind::ArithmeticFor { body, .. } => gather(body, found),
        CommandKind::Case { arms, .. } => arms.iter().for_each(|(_, body, _)| gather(body, found)),
        CommandKind::Function { body, .. } => gather_from(body, found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, wanted: &str, well: Told, badly: Told) {
        assert_eq!(
            (told(line, Ended::Well, wanted), told(line, Ended::Badly, wanted)),
            (well, badly),
            "{line}"
        );
    }

    #[test]
    fn a_command_ran_where_that_follows_from_the_end_of_the_line() {
        use Told::{Absent, Badly, Unclear, Well};
        for (line, wanted, well, badly) in [
            ("cargo test", "cargo test", Well, Badly),
            ("cargo test -q --all", "cargo test", Well, Badly),
            ("X=1 cargo test 2>&1", "cargo test", Well, Badly),
            ("cd a && cargo test", "cargo test", Well, Unclear),
            ("cd a; cargo test", "cargo test", Well, Badly),
            ("cargo test; echo done", "cargo test", Unclear, Unclear),
            ("(cd a && cargo test)", "cargo test", Well, Unclear),
            ("timeout -k 5 60 cargo test", "cargo test", Well, Badly),
            ("false && cargo test; true", "cargo test", Unclear, Unclear),
            ("cargo test || true", "cargo test", Unclear, Unclear),
            ("a || cargo test", "cargo test", Unclear, Unclear),
            ("a || b && cargo test", "cargo test", Well, Unclear),
            ("cargo test | tail", "cargo test", Unclear, Unclear),
            ("set -o pipefail; cargo test | tail", "cargo test", Well, Unclear),
            ("echo x | cargo test", "cargo test", Well, Unclear),
            ("! cargo test", "cargo test", Unclear, Unclear),
            ("cargo test &", "cargo test", Unclear, Unclear),
            ("if false; then cargo test; fi", "cargo test", Unclear, Unclear),
            ("while false; do cargo test; done", "cargo test", Unclear, Unclear),
            ("set -n; cargo test", "cargo test", Unclear, Unclear),
            ("exit 0; cargo test", "cargo test", Unclear, Unclear),
            ("trap 'exit 0' EXIT; cargo test", "cargo test", Unclear, Unclear),
            ("cargo() { true; }; cargo test", "cargo test", Unclear, Unclear),
            ("$X; cargo test", "cargo test", Unclear, Unclear),
            ("echo cargo test", "cargo test", Absent, Absent),
            ("cargo fmt && cargo test", "cargo fmt && cargo test", Well, Badly),
            ("cd a && cargo fmt && cargo test", "cargo fmt && cargo test", Well, Unclear),
            ("cargo fmt && cargo build", "cargo fmt && cargo test", Unclear, Unclear),
            ("grep -q 'a b' x", "grep -q \"a b\"", Well, Badly),
        ] {
            check(line, wanted, well, badly);
        }
    }

    #[test]
    fn a_line_without_branches_wrote_what_it_was_going_to() {
        assert!(["touch a", "make 2>&1 | tee log", "cd a && touch b"].into_iter().all(is_one_way));
        assert!(
            !["false && touch a; true", "if x; then touch a; fi", "x || touch a", "(", "exit && touch a"]
                .into_iter()
                .any(is_one_way)
        );
    }
}
