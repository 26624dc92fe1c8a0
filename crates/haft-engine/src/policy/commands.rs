//! Command rules: compared word by word.

use std::collections::HashMap;

use super::{
    decide::Verdict,
    rule::CommandPattern,
    rules::{Hits, RuleId},
};

/// The rules by the program that they name.
#[derive(Debug, Default)]
pub(super) struct CommandRules {
    programs: HashMap<String, Vec<CommandRule>>,
}

#[derive(Debug)]
struct CommandRule {
    arguments: Vec<String>,
    open: bool,
    verdict: Verdict,
    rule: RuleId,
}

impl CommandRules {
    pub(super) fn add(&mut self, pattern: CommandPattern, verdict: Verdict, rule: RuleId) {
        let mut words = pattern.words.into_iter();
        let program = words.next().unwrap_or_default();
        let rule = CommandRule { arguments: words.collect(), open: pattern.open, verdict, rule };
        self.programs.entry(program).or_default().push(rule);
    }

    /// A program that is named by a path is not the one that a rule without a path allows: anybody may have put it
    /// there. It may well be the one that a rule forbids.
    pub(super) fn find(&self, argv: &[String]) -> Hits {
        let mut hits = Hits::default();
        let Some((program, arguments)) = argv.split_first() else { return hits };
        let matching =
            |name: &str| self.programs.get(name).into_iter().flatten().filter(|rule| rule.covers(arguments));
        for found in matching(program) {
            hits.add(found.verdict, found.rule);
        }
        if let Some((_, base)) = program.rsplit_once('/') {
            for found in matching(base).filter(|rule| rule.verdict != Verdict::Allow) {
                hits.add(found.verdict, found.rule);
            }
        }
        hits
    }
}

impl CommandRule {
    fn covers(&self, arguments: &[String]) -> bool {
        if self.open { arguments.starts_with(&self.arguments) } else { arguments == self.arguments }
    }
}
