//! Why a decision is what it is: cheap to make, put into words on demand.

use std::{borrow::Cow, fmt, path::Path, sync::Arc};

use haft_tool::{Access, Class, Effects, Fault, PathEffect, Refusal, protected::does_not_show};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{
    decide::{Cause, Decision, Finding, Part, Request, Verdict},
    mode::Mode,
    permit::Refused,
    rules::{FIRM, Hits, Listed, Policy, Ranks, RuleId, Table, bit},
    said::Said,
    suggest,
    written::{Layer, Origin},
};

/// What decided, what would have decided otherwise, and what was looked at before.
///
/// It owns what it speaks of, so that it can go to a journal. As JSON it has `verdict`, `class`, `reason`, and where they
/// apply `rule` (`text`, `origin`, `layer`, `reason`), `part`, `otherwise`, then `layers`, `steps` and, if hooks
/// spoke, `hooks`.
#[derive(Debug, Clone)]
pub struct Trace {
    table: Arc<Table>,
    verdict: Verdict,
    class: Class,
    mode: Mode,
    roles: &'static [&'static str],
    /// What is not known of the call.
    doubts: Box<str>,
    decided: Told,
    otherwise: Option<Told>,
    cascade: Cascade,
    addresses: Addresses,
    /// Boxed, because it is rare.
    heard: Option<Box<Heard>>,
}

/// What hooks said, and which of them decided.
#[derive(Debug, Clone, Default)]
struct Heard {
    said: Vec<Said>,
    decided: Option<Said>,
}

/// A finding with the part that it speaks of, in words.
#[derive(Debug, Clone)]
struct Told {
    finding: Finding,
    part: Option<Box<str>>,
}

/// One stage and what it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The stage.
    pub stage: &'static str,
    /// What it said.
    pub outcome: String,
}

impl Decision {
    pub(super) fn new(
        policy: &Policy,
        request: &Request<'_>,
        decided: Finding,
        otherwise: Option<Finding>,
        Known { cascade, addresses }: Known,
    ) -> Decision {
        let refused = decided.verdict == Verdict::Ask && request.mode == Mode::DontAsk;
        let verdict = if refused { Verdict::Deny } else { decided.verdict };
        let tell = |finding: Finding| Told { finding, part: finding.speaks_of(request.effects) };
        let trace = Trace {
            table: Arc::clone(&policy.table),
            verdict,
            class: request.class(),
            mode: request.mode,
            roles: request.spec.allowed_roles(),
            doubts: shown(request.effects.doubts().join(", ")).into_boxed_str(),
            decided: tell(decided),
            otherwise: otherwise.map(tell),
            cascade,
            addresses,
            heard: None,
        };
        let refusal = (verdict == Verdict::Deny).then_some(match decided.cause {
            Cause::Role => Refusal::Role,
            Cause::RelativePath | Cause::PrivateAddress(_) => Refusal::Boundary,
            Cause::Protected(_) => Refusal::Protected,
            Cause::Rule(_) if !refused => Refusal::Rule,
            _ => Refusal::Mode,
        });
        Decision { verdict, refusal, trace, approved: false }
    }

    /// The same, with what hooks said of it. `decided` is the word that counts, if one does, and what it makes of it.
    pub(super) fn heard(
        mut self,
        said: &[Said],
        decided: Option<(&Said, Verdict, Option<Refusal>)>,
    ) -> Decision {
        let heard = self.trace.heard.get_or_insert_default();
        heard.said = said.to_vec();
        if let Some((by, verdict, refusal)) = decided {
            heard.decided = Some(by.clone());
            (self.verdict, self.refusal, self.trace.verdict) = (verdict, refusal, verdict);
        }
        self
    }

    /// The same for a command that failed in the sandbox and would run again: whatever allows it, a person is asked.
    ///
    /// # Errors
    /// The mode refuses what would be asked.
    pub(crate) fn for_rerun(mut self, request: &Request<'_>) -> Result<Decision, Box<Refused>> {
        let is_refused = request.mode == Mode::DontAsk;
        let verdict = if is_refused { Verdict::Deny } else { Verdict::Ask };
        self.trace.decided =
            Told { finding: Finding { verdict, cause: Cause::Rerun, part: Part::Whole }, part: None };
        (self.verdict, self.trace.verdict, self.approved) = (verdict, verdict, false);
        self.refusal = is_refused.then_some(Refusal::Mode);
        if is_refused {
            let fault = self.fault(request);
            return Err(Box::new(Refused { decision: self, fault }));
        }
        Ok(self)
    }

    /// Whether a hook may answer the question with yes: nothing covers the call, and all of it is understood.
    pub fn is_uncovered(&self) -> bool {
        let is_unknown = self.trace.decided.finding.cause == Cause::Unknown;
        self.trace.is_uncovered() && (!is_unknown || self.trace.doubts.is_empty())
    }

    /// One line: the verdict and what decided it.
    pub fn reason(&self) -> String {
        self.trace.reason()
    }

    /// What the model is told when the call does not run: the kind of refusal, and what it may do instead. For a call
    /// that would have to be asked, this is the fault for the case that nobody is there.
    pub fn fault(&self, request: &Request<'_>) -> Fault {
        let because = self.trace.because();
        let why = self.trace.rule_reason().map_or_else(String::new, said_beside);
        let (refusal, first, second) = match (self.refusal, self.trace.decided.finding.cause) {
            (Some(Refusal::Hook), _) => (Refusal::Hook, format!("Refused: {because}."), HOOK),
            (Some(Refusal::Role), _) => {
                (Refusal::Role, format!("Not permitted to this caller: {because}."), ELSEWHERE)
            }
            (Some(refusal), Cause::PrivateAddress(_)) => (refusal, format!("Refused: {because}."), ELSEWHERE),
            (Some(Refusal::Boundary), _) => (Refusal::Boundary, format!("Refused: {because}."), ABSOLUTE),
            (Some(refusal), Cause::PlanMode) if request.mode != Mode::Plan => (
                refusal,
                format!("Refused: this agent only looks, and this changes something: {}.", request.effects),
                ONLY_LOOKS,
            ),
            (Some(refusal), Cause::PlanMode) => (
                refusal,
                format!(
                    "Refused by plan mode, which permits only what changes nothing: {}.",
                    request.effects
                ),
                PLAN,
            ),
            (Some(Refusal::Rule), _) => {
                (Refusal::Rule, format!("Denied by a rule: {because}.{why}"), ELSEWHERE)
            }
            (Some(refusal), _) => (
                refusal,
                format!(
                    "Refused because dont-ask mode asks nobody, and this would be asked: {because}.{why}"
                ),
                "",
            ),
            (None, _) if self.trace.is_decided_by_a_hook() => {
                (Refusal::NobodyThere, format!("Nobody is there to be asked, but {because}."), HOOK)
            }
            (None, _) => (
                Refusal::NobodyThere,
                format!("Nobody is there to be asked, and this must be asked: {because}.{why}"),
                "",
            ),
        };
        let second = if second.is_empty() { self.way_out(request) } else { second.to_owned() };
        Fault::denied(refusal, format!("{first}\n{second}"))
    }

    /// Which rule would allow it, where one would.
    fn way_out(&self, request: &Request<'_>) -> String {
        let liftable = matches!(
            self.trace.decided.finding.cause,
            Cause::ReadOutside
                | Cause::Write
                | Cause::Host
                | Cause::Command
                | Cause::External
                | Cause::PrivateAddress(_)
        );
        match suggest::narrowest_rules(request).filter(|_| liftable) {
            Some(rules) => {
                let flag = |rule: &String| format!("--allow '{}'", rule.replace('\'', r"'\''"));
                let flags: Vec<String> = rules.iter().map(flag).collect();
                format!("Go on without it, or tell the user that `{}` would permit it.", flags.join(" "))
            }
            None => "Go on without it, or tell the user what you need and why.".to_owned(),
        }
    }
}

/// Of a reason, as much as stands on a line: whoever wrote the rule may have written an essay.
const LONGEST_REASON: usize = 500;

fn said_beside(reason: &str) -> String {
    let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.floor_char_boundary(LONGEST_REASON);
    let cut = if end < line.len() { "…" } else { "" };
    format!(" The rule says: {}{cut}", shown(line[..end].to_owned()))
}

const ELSEWHERE: &str =
    "Do not try to reach the same in another way: go on without it, or tell the user what you need and why.";
const ABSOLUTE: &str = "Write the path from the root; if it was, this is a mistake in haft or in the tool.";
const HOOK: &str =
    "Do what it says, or go on without this call; do not try to reach the same in another way.";
const ONLY_LOOKS: &str = "Read and search; say in your answer what would have to be changed.";
const PLAN: &str = "Read, search and plan; the change can be made once plan mode has ended.";

impl Trace {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The class of the call.
    pub fn class(&self) -> Class {
        self.class
    }

    /// The text of the rule that decided and where it was written, if a rule did.
    pub fn rule(&self) -> Option<(&str, &Origin)> {
        let rule = &self.listed()?.rule;
        Some((&rule.text, &rule.origin))
    }

    /// The layer that decided, if a rule did.
    pub fn layer(&self) -> Option<&Layer> {
        Some(&self.listed()?.rule.layer)
    }

    /// What whoever wrote the rule that decided says about it.
    pub fn rule_reason(&self) -> Option<&str> {
        self.listed()?.rule.reason.as_deref()
    }

    /// Whether it is asked only because nothing covers the call: a rule that does would let it run, a classifier may say
    /// so. Not where a rule or a hook asks, where something is protected, or where what is not known may be what a rule is about.
    pub fn is_uncovered(&self) -> bool {
        let cause = self.decided.finding.cause;
        let uncovered = matches!(
            cause,
            Cause::ReadOutside
                | Cause::Write
                | Cause::Host
                | Cause::Command
                | Cause::External
                | Cause::Unknown
        );
        let uncovered = uncovered || cause == Cause::Irreversible;
        self.verdict == Verdict::Ask && uncovered && !self.is_decided_by_a_hook()
    }

    /// Whether a person is asked because a command contacts a private network: a rule that names the host would let it run.
    pub(super) fn asks_about_an_address(&self) -> bool {
        let is_address = matches!(self.decided.finding.cause, Cause::PrivateAddress(_));
        self.verdict == Verdict::Ask && is_address && !self.is_decided_by_a_hook()
    }

    fn listed(&self) -> Option<&Listed> {
        Some(self.table.listed(self.decided.finding.rule()?))
    }

    /// What each layer says of the call, in the order in which they are asked. The first that says anything decides.
    pub fn layers(&self) -> Vec<Step> {
        let denied = self.table.count(Verdict::Deny);
        let lists = match (self.decided.finding.stage(), denied) {
            (0, _) => "deny".to_owned(),
            (_, 0) => "empty".to_owned(),
            _ => NO_ANSWER.to_owned(),
        };
        let mut layers = vec![Step { stage: "deny lists", outcome: lists }];
        if self.cascade.asking & bit(FIRM) != 0 {
            layers.push(Step { stage: "managed", outcome: "ask".to_owned() });
        }
        layers.extend((1..).zip(Layer::NAMES).map(|(rank, stage)| {
            let outcome = self.cascade.answer(rank, self.table.layer_is_empty(rank)).to_owned();
            Step { stage, outcome }
        }));
        layers
    }

    /// Passes every text that is the call's own, or a hook's, through `change`: to take secrets out of what is told of it.
    /// Those of rules have none: see [`Table::listed`].
    pub(crate) fn rewrite(&mut self, change: &mut dyn FnMut(&mut String)) {
        let parts = [Some(&mut self.decided), self.otherwise.as_mut()].into_iter().flatten();
        let parts = parts.filter_map(|told| told.part.as_mut());
        parts.chain([&mut self.doubts]).for_each(|text| {
            let mut changed = String::from(std::mem::take(text));
            change(&mut changed);
            *text = changed.into_boxed_str();
        });
        for heard in self.heard.iter_mut() {
            heard.said.iter_mut().chain(&mut heard.decided).for_each(|said| said.rewrite(change));
        }
    }

    /// The part of the call that decided: "writes /w/a.txt".
    pub fn part(&self) -> Option<&str> {
        self.decided.part.as_deref()
    }

    /// What hooks said of the call, before it and while somebody was asked.
    pub fn hooks(&self) -> &[Said] {
        self.heard.as_ref().map_or(&[], |heard| &heard.said)
    }

    fn is_decided_by_a_hook(&self) -> bool {
        self.heard.as_ref().is_some_and(|heard| heard.decided.is_some())
    }

    /// One line: the verdict and what decided it.
    pub fn reason(&self) -> String {
        format!("{}: {}", self.verdict, self.because())
    }

    /// What would have decided otherwise.
    pub fn otherwise(&self) -> Option<String> {
        let told = self.otherwise.as_ref()?;
        Some(format!("{}: {}", told.finding.verdict, self.words(told)))
    }

    /// The stages up to the one that decided.
    pub fn steps(&self) -> Vec<Step> {
        let last = self.decided.finding.stage();
        let mut steps: Vec<Step> =
            (0..last).map(|stage| Step { stage: STAGES[stage], outcome: self.passed(stage) }).collect();
        steps.push(Step { stage: STAGES[last], outcome: self.words(&self.decided) });
        let hooks = self.hooks().iter().filter(|said| said.verdict.is_some());
        steps.extend(hooks.map(|said| Step { stage: "hooks", outcome: said.words() }));
        let asked = if self.is_decided_by_a_hook() { self.verdict } else { self.decided.finding.verdict };
        if self.verdict != asked {
            steps.push(Step { stage: "dont-ask mode", outcome: "what would be asked is denied".to_owned() });
        }
        steps
    }

    /// Lines for people.
    pub fn explain(&self) -> String {
        let mut lines = vec![self.reason(), format!("  class      {}", self.class)];
        if let Some(Listed { rule, .. }) = self.listed() {
            lines.push(format!("  rule       {}  ({}, layer {})", rule.text, rule.origin, rule.layer));
            lines.extend(rule.reason.as_ref().map(|reason| format!("  because    {reason}")));
        }
        lines.extend(self.part().map(|part| format!("  part       {part}")));
        lines.extend(self.otherwise().map(|otherwise| format!("  otherwise  {otherwise}")));
        let layers: Vec<String> =
            self.layers().iter().map(|Step { stage, outcome }| format!("{stage}: {outcome}")).collect();
        lines.push(format!("  layers     {}", layers.join(", ")));
        for step in self.steps() {
            lines.push(format!("  {:<16} {}", step.stage, step.outcome));
        }
        lines.join("\n")
    }

    fn because(&self) -> String {
        match self.heard.as_ref().and_then(|heard| heard.decided.as_ref()) {
            Some(said) => said.words(),
            None => self.words(&self.decided),
        }
    }

    fn words(&self, told: &Told) -> String {
        let part = told.part.as_deref().unwrap_or("the call");
        match told.finding.cause {
            Cause::Rule(rule) => match &told.part {
                Some(part) => format!("{} covers it: {part}", self.table.listed(rule)),
                None => format!("{} covers the tool", self.table.listed(rule)),
            },
            Cause::Role => {
                format!("it is for the roles {}, of which the caller has none", self.roles.join(", "))
            }
            Cause::RelativePath => format!("{part}, which is not absolute"),
            Cause::PrivateAddress(what) => {
                let person = if told.finding.verdict == Verdict::Ask { ", or a person" } else { "" };
                format!("{part}, {what}; only a rule that names this very host permits that{person}")
            }
            Cause::PlanMode => "plan mode permits only what changes nothing".to_owned(),
            Cause::Protected(why) => format!("{part}, {why}; only a rule that names it permits that"),
            Cause::Bypass => "bypass mode allows what no rule denies or asks".to_owned(),
            Cause::AcceptEdits => "accept-edits mode allows edits inside the workspace".to_owned(),
            Cause::Harmless => "it changes nothing and stays inside the workspace".to_owned(),
            Cause::ReadOutside => format!("{part}, outside the workspace, and no rule allows it"),
            Cause::Write | Cause::Host | Cause::Command => format!("{part}, and no rule allows it"),
            Cause::Irreversible => "it cannot be taken back, and no rule speaks of that".to_owned(),
            Cause::Rerun => "it failed in the sandbox, and only a person lets it run again".to_owned(),
            Cause::External => "it is a server's tool, and no rule allows it".to_owned(),
            Cause::Unknown => match &*self.doubts {
                "" => "what it does is not known beforehand, and no rule allows the tool".to_owned(),
                doubts => format!("it is not understood ({doubts}), and no rule allows the tool"),
            },
            Cause::Below(rule) if matches!(told.finding.part, Part::Mention(_)) => {
                format!("{part}, which may be what {} speaks of", self.table.listed(rule))
            }
            Cause::Below(rule) => {
                format!(
                    "{part} with everything below it, and {} speaks of some of that",
                    self.table.listed(rule)
                )
            }
            Cause::Doubt(rule) => {
                let doubts =
                    if self.doubts.is_empty() { String::new() } else { format!(" ({})", self.doubts) };
                format!(
                    "it is not understood{doubts}, so it may be what {} is about",
                    self.table.listed(rule)
                )
            }
        }
    }

    /// What is said of a stage that did not answer.
    fn passed(&self, stage: usize) -> String {
        let rules = |verdict| match self.table.count(verdict) {
            0 => "there are none".to_owned(),
            1 => "the only one does not cover it".to_owned(),
            count => format!("none of {count} covers it"),
        };
        match stage {
            0 => rules(Verdict::Deny),
            1 => "the caller may call it".to_owned(),
            2 => "all paths are absolute".to_owned(),
            3 => match self.addresses {
                Addresses::Public => "no address of a private network is named",
                Addresses::Named => "a rule names each address of a private network",
                Addresses::Private => "a command names an address of a private network",
            }
            .to_owned(),
            5 if self.cascade.asking != 0 => "an earlier layer allows what one asks about".to_owned(),
            5 => rules(Verdict::Ask),
            6 => "no rule speaks of what is below a path".to_owned(),
            7 => "nothing that is protected is written".to_owned(),
            9 => rules(Verdict::Allow),
            _ => format!("the mode is {}", self.mode),
        }
    }
}

/// What is known of a call whatever decides about it.
pub(super) struct Known {
    pub(super) cascade: Cascade,
    pub(super) addresses: Addresses,
}

/// Which hosts a call names.
#[derive(Debug, Clone, Copy)]
pub(super) enum Addresses {
    /// None of a private network.
    Public,
    /// Some, and rules name them.
    Named,
    /// Some that no rule names.
    Private,
}

/// What the layers say of a call: a bit for each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cascade {
    asking: Ranks,
    /// Those that allow the whole tool.
    wide: Ranks,
    /// Those that allow some part,
    allowing_some: Ranks,
    /// and those that do not allow every one.
    missing_some: Ranks,
}

const NO_ANSWER: &str = "no answer";

impl Cascade {
    pub(super) fn whole(&mut self, hits: &Hits) {
        self.asking |= hits.asking;
        self.wide |= hits.allowing;
    }

    /// A part, and the rule that allows it: its own, or that of the command which is there for it.
    pub(super) fn part(&mut self, hits: &Hits, allow: Option<RuleId>) {
        let allowing = allow.map_or(0, |allow| hits.allowing | bit(allow.rank()));
        self.asking |= hits.asking;
        self.allowing_some |= allowing;
        self.missing_some |= !allowing;
    }

    fn answer(&self, rank: u8, is_empty: bool) -> &'static str {
        let has = |ranks: Ranks| ranks & bit(rank) != 0;
        match () {
            () if is_empty => "empty",
            () if has(self.asking) => "ask",
            () if has(self.wide) => "allow",
            () if has(self.allowing_some) && has(self.missing_some) => "allow a part",
            () if has(self.allowing_some) => "allow",
            () => NO_ANSWER,
        }
    }
}

/// The stages by their place in the order.
const STAGES: [&str; 11] = [
    "deny rules",
    "roles",
    "paths",
    "addresses",
    "plan mode",
    "ask rules",
    "below",
    "protected names",
    "bypass mode",
    "allow rules",
    "defaults",
];

impl Finding {
    fn stage(&self) -> usize {
        match (self.cause, self.verdict) {
            (Cause::Rule(_), Verdict::Deny) => 0,
            (Cause::Role, _) => 1,
            (Cause::RelativePath, _) => 2,
            (Cause::PrivateAddress(_), _) => 3,
            (Cause::PlanMode, _) => 4,
            (Cause::Rule(_), Verdict::Ask) => 5,
            (Cause::Below(_), _) => 6,
            (Cause::Protected(_), _) => 7,
            (Cause::Bypass, _) => 8,
            (Cause::Rule(_), Verdict::Allow) => 9,
            _ => 10,
        }
    }

    pub(super) fn rule(&self) -> Option<RuleId> {
        match self.cause {
            Cause::Rule(rule) | Cause::Doubt(rule) | Cause::Below(rule) => Some(rule),
            _ => None,
        }
    }

    /// The part in words, for the causes that speak of one.
    fn speaks_of(&self, effects: &Effects) -> Option<Box<str>> {
        if matches!(self.cause, Cause::Harmless | Cause::AcceptEdits) {
            return None;
        }
        let text = match self.part {
            Part::Whole => return None,
            Part::Path(index) => path_in_words(&effects.paths()[index]),
            Part::Host(index) => {
                let effect = &effects.hosts()[index];
                let verb = if effect.access == Access::Read { "fetches from " } else { "sends to " };
                [verb, &effect.host].concat()
            }
            Part::Command(index) => format!("runs {}", effects.commands()[index].argv.join(" ")),
            Part::Mention(index) => {
                let mention = &effects.mentions()[index];
                place_in_words("names ", &mention.path, mention.target.as_deref())
            }
        };
        Some(shown(text).into_boxed_str())
    }
}

fn path_in_words(effect: &PathEffect) -> String {
    let verb = if effect.access == Access::Read { "reads " } else { "writes " };
    place_in_words(verb, &effect.path, effect.target.as_deref())
}

fn place_in_words(verb: &str, named: &Path, target: Option<&Path>) -> String {
    let path = name_in_words(named);
    match target {
        Some(target) if target.as_os_str() != named.as_os_str() => {
            [verb, &path, " (really ", &name_in_words(target), ")"].concat()
        }
        _ => [verb, &path].concat(),
    }
}

fn name_in_words(path: &Path) -> Cow<'_, str> {
    path.to_str().map_or_else(|| haft_tool::shown(path).to_string().into(), Cow::Borrowed)
}

/// Text that cannot show something else than it is: what moves the cursor or turns the direction is written out.
fn shown(text: String) -> String {
    let hides = |char: char| char.is_control() || does_not_show(char);
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.contains(hides) {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    for char in text.chars() {
        if hides(char) { plain.extend(char.escape_default()) } else { plain.push(char) }
    }
    plain
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Listed { verdict, rule, .. } = self;
        write!(f, "{verdict} rule `{}` ({}", rule.text, rule.origin)?;
        if rule.layer != Layer::Global {
            write!(f, ", layer {}", rule.layer)?;
        }
        f.write_str(")")
    }
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Rule<'a> {
            text: &'a str,
            origin: String,
            layer: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<&'a str>,
        }
        let rule = self.listed().map(|Listed { rule, .. }| Rule {
            text: &rule.text,
            origin: rule.origin.to_string(),
            layer: rule.layer.to_string(),
            reason: rule.reason.as_deref(),
        });
        let mut fields = serializer.serialize_struct("Trace", 9)?;
        fields.serialize_field("verdict", &self.verdict)?;
        fields.serialize_field("class", &self.class)?;
        fields.serialize_field("reason", &self.reason())?;
        fields.serialize_field("rule", &rule)?;
        fields.serialize_field("part", &self.part())?;
        fields.serialize_field("otherwise", &self.otherwise())?;
        fields.serialize_field("layers", &self.layers())?;
        fields.serialize_field("steps", &self.steps())?;
        match self.hooks() {
            [] => fields.skip_field("hooks")?,
            said => fields.serialize_field("hooks", said)?,
        }
        fields.end()
    }
}
