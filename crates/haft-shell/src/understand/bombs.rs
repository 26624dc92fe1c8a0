//! Commands that start more and more of themselves: `:(){ :|:& };:`.
//!
//! A function, or the script itself, is one if it comes back to itself twice in one pipeline, or by a step that nobody
//! waits for. So is a loop without an end that puts each round into the background. No rule for a program speaks
//! of that, and a machine that is full of processes can do nothing else.

use std::collections::BTreeMap;

use crate::syntax::{Command, CommandKind, Part, Pipeline, Script, Word};

/// Functions beyond so many are not compared with each other.
const MOST_FUNCTIONS: usize = 64;

/// The name of the script itself.
const ITSELF: &str = "$0";

/// Whether there is one in a script.
pub(super) fn is_in(script: &Script) -> bool {
    let mut search = Search { within: vec![ITSELF.to_owned()], ..Search::default() };
    search.script(script, CallKind::InTurn);
    search.endless || search.calls.len() <= MOST_FUNCTIONS && search.comes_back()
}

#[derive(Default)]
struct Search {
    /// The functions around what is looked at, innermost last.
    within: Vec<String>,
    /// What each calls, and how.
    calls: BTreeMap<String, Vec<(String, CallKind)>>,
    /// There is a loop that never waits for what it starts.
    endless: bool,
}

/// How a command stands to the one that starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CallKind {
    /// One after the other.
    InTurn,
    /// In a pipeline with others.
    Piped,
    /// In the background.
    Left,
}

impl Search {
    fn script(&mut self, script: &Script, kind: CallKind) {
        for item in &script.items {
            let kind = if item.background { CallKind::Left } else { kind };
            self.pipeline(&item.first, kind);
            item.rest.iter().for_each(|(_, pipeline)| self.pipeline(pipeline, kind));
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, kind: CallKind) {
        let kind = if pipeline.commands.len() > 1 { kind.max(CallKind::Piped) } else { kind };
        pipeline.commands.iter().for_each(|command| self.command(command, kind));
    }

    fn command(&mut self, command: &Command, kind: CallKind) {
        match &command.kind {
            CommandKind::Simple { words, .. } => {
                if let Some(name) = words.first().and_then(name) {
                    let within = self.within.last().cloned().unwrap_or_default();
                    self.calls.entry(within).or_default().push((name, kind));
                }
                self.endless |= is_code_that_forks(words);
                words.iter().for_each(|word| self.parts(&word.parts));
            }
            CommandKind::Group(script) | CommandKind::Subshell(script) | CommandKind::Odd(_, script) => {
                self.script(script, kind);
            }
            CommandKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.script(condition, kind);
                    self.script(body, kind);
                }
                otherwise.iter().for_each(|script| self.script(script, kind));
            }
            CommandKind::While { until, condition, body } => {
                self.endless |= always(condition, *until) && only_starts(body);
                self.script(condition, kind);
                self.script(body, kind);
            }
            CommandKind::ArithmeticFor { expression, body } => {
                self.endless |= has_no_end(expression) && only_starts(body);
                self.script(body, kind);
            }
            CommandKind::For { body, .. } => self.script(body, kind),
            CommandKind::Case { arms, .. } => arms.iter().for_each(|(_, body, _)| self.script(body, kind)),
            CommandKind::Function { name: word, body } => {
                self.within.push(name(word).unwrap_or_default());
                self.command(body, CallKind::InTurn);
                self.within.pop();
            }
            CommandKind::Arithmetic(_) | CommandKind::Test(_) => {}
        }
    }

    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Double(parts) => self.parts(parts),
                Part::Command(script) | Part::Process(_, script) => self.script(script, CallKind::InTurn),
                _ => {}
            }
        }
    }

    fn comes_back(&self) -> bool {
        self.calls.keys().any(|name| self.multiplies(name))
    }

    /// Whether a function leads to itself, and there are more of it each time.
    fn multiplies(&self, name: &str) -> bool {
        let back = self.steps(name).filter(|(next, _)| self.leads_to(next, name));
        let kinds: Vec<CallKind> = back.map(|(_, kind)| *kind).collect();
        let piped = kinds.iter().filter(|kind| **kind == CallKind::Piped).count();
        piped > 1 || kinds.contains(&CallKind::Left)
    }

    fn steps(&self, name: &str) -> impl Iterator<Item = &(String, CallKind)> {
        self.calls.get(name).into_iter().flatten().filter(|(next, _)| self.calls.contains_key(next))
    }

    fn leads_to(&self, from: &str, to: &str) -> bool {
        let (mut seen, mut ahead) = (vec![from], vec![from]);
        while let Some(name) = ahead.pop() {
            if name == to {
                return true;
            }
            for (next, _) in self.steps(name) {
                if !seen.contains(&next.as_str()) {
                    seen.push(next);
                    ahead.push(next);
                }
            }
        }
        false
    }
}

/// `perl -e 'fork while fork'`: code of an interpreter that forks in a loop.
fn is_code_that_forks(words: &[Word]) -> bool {
    const INTERPRETERS: [&str; 6] = ["perl", "python", "ruby", "php", "lua", "node"];
    const LOOPS: [&str; 5] = ["while", "loop", "for", "until", "redo"];
    let mut texts = words.iter().filter_map(name);
    let is_interpreter =
        texts.next().is_some_and(|program| INTERPRETERS.iter().any(|name| program.starts_with(name)));
    is_interpreter
        && texts.any(|text| {
            let mut names = text.split(|letter: char| !letter.is_alphanumeric());
            names.clone().any(|name| name == "fork") && names.any(|name| LOOPS.contains(&name))
        })
}

/// The name of what runs, if it stands there.
fn name(word: &Word) -> Option<String> {
    let is_itself =
        |part: &Part| matches!(part, Part::Variable(name) if name == "0" || name == "BASH_SOURCE");
    let mut text = String::new();
    for part in &word.parts {
        match part {
            Part::Literal(piece) | Part::Quoted(piece) => text.push_str(piece),
            Part::Double(parts) if parts.iter().any(is_itself) => return Some(ITSELF.to_owned()),
            part if is_itself(part) => return Some(ITSELF.to_owned()),
            _ => return None,
        }
    }
    Some(text)
}

/// `while true`, `while :`, `until false`
fn always(condition: &Script, until: bool) -> bool {
    let [item] = condition.items.as_slice() else { return false };
    let [command] = item.first.commands.as_slice() else { return false };
    match &command.kind {
        CommandKind::Simple { words, .. } => {
            let words: Option<Vec<String>> = words.iter().map(name).collect();
            let words = words.unwrap_or_default();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match words.as_slice() {
                ["true" | ":"] | ["[", "1", "]"] | ["test", "1"] => !until,
                ["false"] => until,
                _ => false,
            }
        }
        CommandKind::Arithmetic(word) => !until && name(word).is_some_and(|text| text.trim() == "1"),
        _ => false,
    }
}

/// `for ((;;))`
fn has_no_end(expression: &Word) -> bool {
    name(expression)
        .is_some_and(|text| text.split(';').nth(1).is_some_and(|middle| matches!(middle.trim(), "" | "1")))
}

/// Whether something is left running in each round, and nothing there waits or leaves.
fn only_starts(body: &Script) -> bool {
    const WAITS: [&str; 7] = ["sleep", "wait", "read", "break", "exit", "return", "usleep"];
    let starts = body.items.iter().any(|item| item.background);
    let in_turn = body.items.iter().filter(|item| !item.background);
    let waits = |command: &Command| match &command.kind {
        CommandKind::Simple { words, .. } => {
            words.first().and_then(name).is_some_and(|name| WAITS.contains(&name.as_str()))
        }
        CommandKind::Arithmetic(_) | CommandKind::Test(_) => false,
        // What waits may be in there.
        _ => true,
    };
    let pipelines =
        in_turn.flat_map(|item| std::iter::once(&item.first).chain(item.rest.iter().map(|(_, next)| next)));
    starts && !pipelines.flat_map(|pipeline| &pipeline.commands).any(waits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax;

    #[test]
    fn what_starts_more_of_itself_is_seen() {
        for line in [
            ":(){ :|:& };:",
            "bomb() { bomb | bomb & }; bomb",
            "function f { f & f & }\nf",
            "a(){ b & }; b(){ a | a; }; a",
            "f(){ if true; then (f &) ; fi; f; }; f",
            "f(){ echo $(f | f); }; f",
            "$0 & $0 &",
            "./$0|./$0&",
            "while true; do sh -c x & done",
            "while :; do (sleep 100) & done",
            "until false; do yes & done",
            "for ((;;)); do yes > /dev/null & done",
            "perl -e 'fork while fork'",
            "python3 -c 'import os\nwhile True: os.fork()'",
            "ruby -e 'loop { fork }'",
        ] {
            assert!(is_in(&syntax::parse(line).script), "{line}");
        }
    }

    #[test]
    fn ordinary_functions_and_loops_are_not() {
        for line in [
            "f(){ echo a | cat & }; f",
            "f(){ f; f; }; f",
            "list(){ ls \"$1\" | while read -r d; do list \"$1/$d\"; done; }; list .",
            "walk(){ for x in *; do walk \"$x\"; done; }; walk",
            "retry(){ \"$@\" || retry \"$@\"; }; retry make",
            "while true; do date; sleep 1; done",
            "while true; do curl -s x & sleep 1; done",
            "while true; do job & wait; done",
            "for f in *; do gzip \"$f\" & done; wait",
            "for ((i=0;i<9;i++)); do job & done",
            "a(){ b; }; b(){ echo; }; a | a &",
            "perl -e 'print while <>'",
            "python3 fork.py for x",
            "while read -r x; do job \"$x\" & done",
        ] {
            assert!(!is_in(&syntax::parse(line).script), "{line}");
        }
    }
}
