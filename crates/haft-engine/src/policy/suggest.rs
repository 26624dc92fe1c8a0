//! The narrowest rules that would allow a call.
//!
//! Each names one thing: a path, a host, a command with all of its words. Never the beginning of a command: what comes after
//! `git`, `npm run` or `env` is the whole difference. Where a rule could not say what would run, there is none.

use std::path::Path;

use haft_tool::{
    Access, Certainty, Class, CommandEffect, Effects, HostEffect, PathEffect, Spread, host_in_one_form,
    protected::does_not_show,
};

use super::{
    addresses,
    decide::{Request, Verdict},
    launchers::says_what_runs,
    paths::{Seen, bytes},
    pattern::escaped,
    rule::{BASH, EDIT, READ, Rule, WEB_FETCH},
    rules::{Bases, Policy},
    written::{Origin, Rules, Written},
};

/// A person who is asked about more than this looks at none of it.
const MOST_RULES: usize = 8;

/// The narrowest rules that together would allow this call in this workspace, for a person to add. `None` where there are no
/// narrow ones: effects that are not known, programs that run whatever they are told. A server's tool can only be allowed
/// by its name.
pub fn narrowest_rules(request: &Request<'_>) -> Option<Vec<String>> {
    suggest(request, Some(request.workspace))
}

impl Policy {
    /// The same for all sessions to come, wherever they work: paths from the root, only what is not allowed already, and
    /// only if the call, asked because nothing covers it, would then run unasked.
    pub fn lasting_rules(&self, request: &Request<'_>) -> Option<Vec<String>> {
        let trace = self.decide(request).trace;
        if !trace.is_uncovered() && !trace.asks_about_an_address() {
            return None;
        }
        let mut rules = suggest(request, None).filter(|rules| self.would_allow(rules, request))?;
        for index in (0..rules.len()).rev() {
            let mut fewer = rules.clone();
            fewer.remove(index);
            if self.would_allow(&fewer, request) {
                rules = fewer;
            }
        }
        Some(rules)
    }

    /// Whether the call would run unasked if these rules were there, too.
    fn would_allow(&self, rules: &[String], request: &Request<'_>) -> bool {
        let bases = Bases { workspace: request.workspace.to_owned(), home: self.home.clone() };
        let all = self.rules().and(Rules::allowing(rules, Origin::Session));
        Policy::compile(all, &bases).is_ok_and(|with| with.decide(request).verdict == Verdict::Allow)
    }

    fn rules(&self) -> Rules {
        let list = |verdict: Verdict| -> Vec<Written> {
            let listed = self.table.rules.iter().filter(|listed| listed.verdict == verdict);
            listed.map(|listed| listed.rule.clone()).collect()
        };
        Rules { allow: list(Verdict::Allow), ask: list(Verdict::Ask), deny: list(Verdict::Deny) }
    }
}

/// Paths below `base` are written from there, others from the root.
fn suggest(request: &Request<'_>, base: Option<&Path>) -> Option<Vec<String>> {
    if request.external {
        // What speaks to one server is not allowed for all.
        let counted = request.effects.counts_as();
        return Some(if counted.is_empty() { vec![request.tool.to_owned()] } else { counted.to_vec() });
    }
    if request.effects.is_unknown() {
        return None;
    }
    let mut rules = Suggested { request, base, rules: Vec::new() };
    rules.commands()?;
    rules.paths(Access::Write)?;
    rules.paths(Access::Read)?;
    rules.hosts()?;
    let rules = rules.rules;
    let usable =
        (1..=MOST_RULES).contains(&rules.len()) && rules.iter().all(|rule| rule.parse::<Rule>().is_ok());
    usable.then_some(rules)
}

/// Rules in the making. A part for which there is no narrow one ends it.
struct Suggested<'a> {
    request: &'a Request<'a>,
    base: Option<&'a Path>,
    rules: Vec<String>,
}

impl Suggested<'_> {
    fn effects(&self) -> &Effects {
        self.request.effects
    }

    fn add(&mut self, rule: String) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    fn commands(&mut self) -> Option<()> {
        let effects = self.request.effects;
        for (index, command) in effects.commands().iter().enumerate() {
            let is_free = command.class == Class::ReadOnly && !command.argv.is_empty();
            if command.certainty != Certainty::Meaning && (!is_free || self.reaches_out(index)) {
                self.add(exactly(command)?);
            }
        }
        Some(())
    }

    /// Whether the command exists to touch what the defaults do not cover.
    fn reaches_out(&self, command: usize) -> bool {
        let contacts = self.effects().hosts().iter().any(|host| host.by == Some(command));
        let mut paths = self.effects().paths().iter().filter(|path| path.by == Some(command));
        contacts || paths.any(|path| path.access == Access::Write || !self.is_inside(path))
    }

    fn is_inside(&self, effect: &PathEffect) -> bool {
        Seen::of(effect).is_inside(bytes(self.request.workspace))
    }

    fn paths(&mut self, access: Access) -> Option<()> {
        let effects = self.request.effects;
        for effect in effects.paths().iter().filter(|effect| effect.access == access) {
            match effect.by.and_then(|by| effects.commands().get(by)) {
                Some(command) => self.is_named_by(command, effect).then_some(())?,
                None => self.path(effect)?,
            }
        }
        Some(())
    }

    /// Words that mean another place in another directory must not reach out of the workspace.
    fn is_named_by(&self, command: &CommandEffect, effect: &PathEffect) -> bool {
        let named = |path: &str| command.argv.iter().any(|word| word.contains(path));
        self.is_inside(effect) || effect.path.to_str().is_some_and(named)
    }

    fn path(&mut self, effect: &PathEffect) -> Option<()> {
        let edited = format!("{EDIT}({})", as_pattern(effect.place(), self.base)?);
        match effect.access {
            // A rule for a directory covers all below it, also what is there only tomorrow.
            Access::Write if effect.spread == Spread::All => return None,
            Access::Write if self.request.workspace.starts_with(effect.place()) => return None,
            Access::Write => self.add(edited),
            Access::Read if self.is_inside(effect) || self.rules.contains(&edited) => {}
            Access::Read => self.add(format!("{READ}({})", as_pattern(effect.place(), self.base)?)),
        }
        Some(())
    }

    fn hosts(&mut self) -> Option<()> {
        let effects = self.request.effects;
        // Where a command contacts a private network, the rule for it does not name the host.
        let near = effects.hosts().iter().filter(|effect| effect.by.is_some());
        let near = near.map(|effect| effect.host.as_str()).filter(|host| addresses::why(host).is_some());
        near.for_each(|host| self.add(format!("{WEB_FETCH}(domain:{})", host_in_one_form(host))));
        for HostEffect { host, access, .. } in effects.hosts().iter().filter(|effect| effect.by.is_none()) {
            let tool = match access {
                Access::Read => WEB_FETCH,
                // Under these names a pattern speaks of something else than of what the tool sends.
                Access::Write if [READ, EDIT, WEB_FETCH, BASH].contains(&self.request.tool) => return None,
                Access::Write => self.request.tool,
            };
            self.add(format!("{tool}(domain:{})", host_in_one_form(host)));
        }
        Some(())
    }
}

/// The rule for a command with all of its words.
fn exactly(command: &CommandEffect) -> Option<String> {
    let words = &command.argv;
    let is_plain = |word: &String| !word.chars().any(|char| char.is_control() || does_not_show(char));
    if command.certainty != Certainty::Exact || !words.iter().all(is_plain) || !says_what_runs(words) {
        return None;
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    Some(format!("{BASH}({})", words.join(" ")))
}

/// A word as a rule has it: with quotes where a rule would read it otherwise.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./=@%+,:-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A path as a pattern that means just that path: from the base if it lies there, from the root otherwise.
fn as_pattern(path: &Path, base: Option<&Path>) -> Option<String> {
    let text =
        path.to_str().filter(|text| !text.chars().any(|char| char.is_control() || does_not_show(char)))?;
    match base.and_then(|base| path.strip_prefix(base).ok()).and_then(Path::to_str) {
        Some("") => None,
        Some(below) if below.starts_with('~') => Some(format!("./{}", escaped(below))),
        Some(below) => Some(escaped(below)),
        None => Some(format!("/{}", escaped(text))),
    }
}
