//! The decision about one call: one look at its parts, then the stages in their order.
//!
//! The order is the table at the head of the [module](super). A stage that answers is a [`Finding`]; the first decides, the
//! second is what would have decided otherwise.

use std::{
    fmt, iter,
    path::{Path, PathBuf},
};

use haft_tool::{
    Access, Caller, Certainty, Class, CommandEffect, Effects, HostEffect, MACHINE, Mention, PathEffect,
    Refusal, Spec, Spelling, Spread, StateEffect,
};
use serde::{Deserialize, Serialize};

use super::{
    addresses,
    mode::Mode,
    paths::{PathRules, Seen, bytes},
    protected,
    rule::BASH,
    rules::{Hits, Patterns, Policy, Rank, RuleId, UNHEARD},
    trace::{Addresses, Cascade, Known, Trace},
};

/// One call, as far as it matters for whether it may run.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The tool's name in the pool.
    pub tool: &'a str,
    /// Its other names. A rule for one of them is a rule for the tool.
    pub aliases: &'a [&'a str],
    /// What is fixed about it.
    pub spec: &'a Spec,
    /// What the call is going to do, its paths with their targets.
    pub effects: &'a Effects,
    /// The mode of the session.
    pub mode: Mode,
    /// Whether the session may change nothing, whatever its mode: as in plan mode.
    pub read_only: bool,
    /// The root of the workspace, free of links.
    pub workspace: &'a Path,
    /// Places that settings name as code (`core.hooksPath`): they are protected like the names that are.
    pub code_places: &'a [PathBuf],
    /// Who is behind the session.
    pub caller: &'a Caller,
    /// Whether the tool is a server's: what it says of itself does not permit anything.
    pub external: bool,
}

/// The three answers. Later ones are stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person must say so.
    Ask,
    /// It may not.
    Deny,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        })
    }
}

/// The answer about a call, and why.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// Who says no, if it is a denial.
    pub refusal: Option<Refusal>,
    /// Why.
    pub trace: Trace,
    /// Whether a rule or a mode says yes to what the call runs, and not the defaults alone.
    pub(super) approved: bool,
}

/// What a stage answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    pub(super) cause: Cause,
    pub(super) part: Part,
}

/// Why a stage answers so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cause {
    /// A rule matches.
    Rule(RuleId),
    /// The caller has none of the roles.
    Role,
    /// A path is not absolute.
    RelativePath,
    /// An address of a private network, and what kind: refused where the tool itself would contact it, asked where its
    /// processes would.
    PrivateAddress(&'static str),
    /// Plan mode, and not read-only.
    PlanMode,
    /// A protected place, and what it is.
    Protected(&'static str),
    /// Bypass mode.
    Bypass,
    /// Accept-edits mode, and all writes are inside the workspace.
    AcceptEdits,
    /// Nothing but reads inside the workspace, if anything.
    Harmless,
    /// No rule covers a read outside the workspace,
    ReadOutside,
    /// a write,
    Write,
    /// a host,
    Host,
    /// a command,
    Command,
    /// something that cannot be taken back,
    Irreversible,
    /// a server's tool,
    External,
    /// or what is not known.
    Unknown,
    /// A command that failed in the sandbox would run again.
    Rerun,
    /// A rule allows the tool, but what is not known may fall under this one.
    Doubt(RuleId),
    /// Everything below a path is touched, and this rule speaks against some of that.
    Below(RuleId),
}

/// The part of a call that a finding speaks of: an index into the effects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Part {
    Whole,
    Path(usize),
    Host(usize),
    Command(usize),
    Mention(usize),
}

impl Policy {
    /// Decides about a call. Pure, and without allocation for calls that the defaults allow.
    pub fn decide(&self, request: &Request<'_>) -> Decision {
        let survey = Survey::of(self, request);
        let stages = [
            survey.deny.map(|(rule, part)| Finding::deny(Cause::Rule(rule), part)),
            role_gate(request),
            survey.relative.map(|part| Finding::deny(Cause::RelativePath, part)),
            survey.private.map(|(what, part)| Finding::deny(Cause::PrivateAddress(what), part)),
            plan_mode(request),
            survey.ask.map(|(rule, part)| Finding::ask(Cause::Rule(rule), part)),
            survey.below.map(|(rule, part)| Finding::ask(Cause::Below(rule), part)),
            survey.protected.map(|(why, part)| Finding::ask(Cause::Protected(why), part)),
            survey.near.map(|(what, part)| Finding::ask(Cause::PrivateAddress(what), part)),
            bypass_mode(request),
            survey.whole_tool(),
            Some(self.coverage(request, &survey)),
        ];
        let mut findings = stages.into_iter().flatten();
        let decided = findings.next().expect("the last stage always answers");
        // What would have decided otherwise is something else, not the same rule seen from another side.
        let otherwise = findings.find(|finding| finding.rule().is_none() || finding.rule() != decided.rule());
        let approved = decided.cause == Cause::Bypass
            || (decided.verdict == Verdict::Allow
                && (survey.whole_tool().is_some() || survey.commands_approved));
        Decision { approved, ..Decision::new(self, request, decided, otherwise, survey.known()) }
    }

    /// The first rule of a policy that covers every command of a call, as allow rules cover it: wrappers, substitutions and
    /// redirections included. Commands that start nothing and only pass on words (`cd`, `echo`) need no rule.
    ///
    /// For a policy that holds nothing but rules for one purpose. What its defaults let through counts for nothing.
    pub(crate) fn covering_rule(&self, request: &Request<'_>) -> Option<String> {
        let request = Request { mode: Mode::Default, read_only: false, ..*request };
        if request.external || self.decide(&request).verdict != Verdict::Allow {
            return None;
        }
        let mut wide = Hits::default();
        request.names().for_each(|name| wide.merge(Some(self.names.find(name))));
        if let Some(rule) = wide.allow {
            return Some(self.named_rule(rule));
        }
        let commands = request.effects.commands().iter();
        let mut first = None;
        for command in commands.filter(|command| command.certainty != Certainty::Meaning) {
            match self.find_command(command).allow {
                Some(rule) => first = first.or(Some(rule)),
                None if starts_nothing(command) => {}
                None => return None,
            }
        }
        first.map(|rule| self.named_rule(rule))
    }

    /// A rule with its place, without the list that it was compiled in.
    fn named_rule(&self, rule: RuleId) -> String {
        let written = &self.table.listed(rule).rule;
        format!("rule {} ({})", written.text, written.origin)
    }

    /// Why the model should not even see a tool: no call of it could run. `None` if some could.
    pub fn hides(&self, tool: &str, spec: &Spec, mode: Mode, caller: &Caller) -> Option<String> {
        if !may_call(spec, caller) {
            return Some(format!("it is for the roles {}", spec.allowed_roles().join(", ")));
        }
        let names = iter::once(tool).chain(spec.other_names().iter().copied());
        let mut wide = Hits::default();
        names.for_each(|name| wide.merge(Some(self.names.find(name))));
        if let Some(rule) = wide.deny {
            return Some(format!("denied by {}", self.table.listed(rule)));
        }
        if let (Mode::DontAsk, Some(rule)) = (mode, wide.ask) {
            return Some(format!(
                "nobody is asked in dont-ask mode, as {} would have it",
                self.table.listed(rule)
            ));
        }
        // A command line may do nothing but look: its effects tell, call by call.
        let is_shell = tool == BASH || spec.other_names().contains(&BASH);
        if mode == Mode::Plan && !is_shell && !PLAN_TOOLSETS.contains(&spec.membership()) {
            return Some(format!("plan mode offers the toolsets {} and Bash only", PLAN_TOOLSETS.join(", ")));
        }
        None
    }

    /// What a call that may read `root`, a path free of links, must leave out of what it finds below. `None` if no rule
    /// speaks against reading anything: nearly always, and then a walk need not ask about every file.
    pub fn withheld<'a>(&'a self, names: impl Iterator<Item = &'a str>, root: &Path) -> Option<Withheld<'a>> {
        let scoped = names.filter_map(|name| self.scoped.get(name));
        let patterns = iter::once(&self.shared).chain(scoped).map(|patterns| patterns.paths(Access::Read));
        let rules: Vec<&PathRules> = patterns.filter(|rules| rules.restricts()).collect();
        let mut withheld = Withheld { rules, asked: None };
        withheld.asked = withheld.find(root).ask;
        (!withheld.rules.is_empty()).then_some(withheld)
    }

    /// Whether a rule that counts in calls of these names denies reading anything.
    pub(crate) fn denies_reading<'a>(&'a self, names: impl Iterator<Item = &'a str>) -> bool {
        let scoped = names.filter_map(|name| self.scoped.get(name));
        iter::once(&self.shared).chain(scoped).any(|patterns| patterns.paths(Access::Read).denies())
    }

    /// Where rules speak against reading, as far as they count in calls of these names: for whoever must keep a process
    /// away from there.
    pub fn restricted<'a>(&'a self, names: impl Iterator<Item = &'a str>) -> Restricted {
        let scoped = names.filter_map(|name| self.scoped.get(name));
        let mut restricted = Restricted::default();
        for patterns in iter::once(&self.shared).chain(scoped) {
            patterns.paths(Access::Read).restricted(&mut restricted);
        }
        restricted
    }

    /// Whether a rule that counts in calls of these names allows this very host, written out: the only way to an address of
    /// a private network.
    pub fn names_host<'a>(&'a self, names: impl Iterator<Item = &'a str>, host: &str) -> bool {
        let scoped = names.filter_map(|name| self.scoped.get(name));
        iter::once(&self.shared).chain(scoped).any(|patterns| patterns.hosts.naming(host).is_some())
    }

    /// The rule that a command which is not understood may fall under, although this one allows the tool. What only
    /// later layers ask is answered.
    fn doubt(&self, request: &Request<'_>, allow: RuleId) -> Option<RuleId> {
        let ask = self.restriction.ask.filter(|ask| ask.rank() <= allow.rank());
        self.restriction.deny.or(ask).filter(|_| request.effects.is_unknown() && request.is_named(BASH))
    }

    /// The last stage: everything is covered, or the first part that is not gets asked.
    fn coverage(&self, request: &Request<'_>, survey: &Survey) -> Finding {
        if let Some(rule) = survey.doubt.filter(|_| request.effects.is_unknown()) {
            return Finding::ask(Cause::Doubt(rule), Part::Whole);
        }
        if request.external {
            return Finding::ask(Cause::External, Part::Whole);
        }
        if request.effects.is_unknown() {
            return Finding::ask(Cause::Unknown, Part::Whole);
        }
        if let Some((cause, part)) = survey.uncovered {
            return Finding::ask(cause, part);
        }
        if request.effects.is_destructive() && !survey.spoken_of {
            return Finding::ask(Cause::Irreversible, Part::Whole);
        }
        let (cause, part) = survey.covered.unwrap_or((Cause::Harmless, Part::Whole));
        Finding::allow(cause, part)
    }

    /// The patterns that count in this call.
    fn patterns<'a>(&'a self, request: &'a Request<'_>) -> impl Iterator<Item = &'a Patterns> {
        let scoped = request.names().filter_map(|name| self.scoped.get(name));
        iter::once(&self.shared).chain(scoped)
    }

    fn find_path(&self, request: &Request<'_>, access: Access, seen: &Seen<'_>) -> Hits {
        let mut hits = Hits::default();
        self.patterns(request).for_each(|patterns| hits.merge(Some(seen.find(patterns.paths(access)))));
        hits
    }

    fn find_host(&self, request: &Request<'_>, effect: &HostEffect) -> Hits {
        let mut hits = self.shared.hosts.find(&effect.host);
        // `WebFetch(domain:…)` lets calls fetch, not send.
        hits.allow = hits.allow.filter(|_| effect.access == Access::Read);
        self.patterns(request)
            .skip(1)
            .for_each(|patterns| hits.merge(Some(patterns.hosts.find(&effect.host))));
        hits
    }

    /// Words that are not certain may be forbidden; they cannot be permitted.
    fn find_command(&self, effect: &CommandEffect) -> Hits {
        let mut hits = self.shared.commands.find(&effect.argv);
        hits.allow = hits.allow.filter(|_| effect.certainty == Certainty::Exact);
        hits
    }

    /// The rule that allows the command which exists to touch this.
    fn allows_command(&self, request: &Request<'_>, by: Option<usize>) -> Option<RuleId> {
        self.find_command(request.effects.commands().get(by?)?).allow
    }

    /// A rule that speaks against something below this path.
    fn speaks_below(&self, request: &Request<'_>, access: Access, seen: &Seen<'_>) -> Option<RuleId> {
        let rules =
            self.patterns(request).map(|patterns| patterns.paths(access)).filter(|rules| rules.restricts());
        rules.filter_map(|rules| seen.ways().find_map(|way| rules.speaks_below(way))).min()
    }

    /// A rule that denies reading a name that a pattern fits.
    fn fits(&self, request: &Request<'_>, mention: &Mention) -> Option<RuleId> {
        let mut patterns = self.patterns(request);
        patterns.find_map(|patterns| patterns.paths(Access::Read).fits(bytes(&mention.path)))
    }

    fn is_named_by_a_rule(&self, request: &Request<'_>, seen: &Seen<'_>) -> bool {
        let named = |target: &[u8]| {
            self.patterns(request).any(|patterns| patterns.paths(Access::Write).naming(target).is_some())
        };
        seen.target.as_deref().is_some_and(named)
    }
}

/// Where rules speak against reading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restricted {
    /// What is denied, with all below.
    pub denied: Vec<PathBuf>,
    /// What is asked about, with all below.
    pub asked: Vec<PathBuf>,
    /// Directories below which patterns say what is.
    pub patterned: Vec<PathBuf>,
    /// Those patterns, each with its directory.
    pub patterns: Vec<(PathBuf, String)>,
}

/// The rules that speak against reading, as far as they count in one call.
#[derive(Debug)]
pub struct Withheld<'a> {
    rules: Vec<&'a PathRules>,
    /// The rule by which somebody was asked about the root, and said yes.
    asked: Option<RuleId>,
}

impl Withheld<'_> {
    /// Whether a path below the root, free of links, is left out. What is below it then is, too.
    pub fn covers(&self, path: &Path) -> bool {
        self.why(path).is_some()
    }

    /// Why it is left out: denied, or asked about. `None` if it is not.
    pub fn why(&self, path: &Path) -> Option<Verdict> {
        let hits = self.find(path);
        if hits.deny.is_some() {
            return Some(Verdict::Deny);
        }
        let asks = hits.asks_more || (hits.ask.is_some() && hits.ask != self.asked);
        asks.then_some(Verdict::Ask)
    }

    fn find(&self, path: &Path) -> Hits {
        let mut hits = Hits::default();
        self.rules.iter().for_each(|rules| hits.merge(Some(rules.find(bytes(path)))));
        hits
    }
}

/// Toolsets some of whose calls change nothing outside the session. Which do, their effects tell: a command that is not
/// understood to be read-only is refused in plan mode like any other change.
const PLAN_TOOLSETS: [&str; 4] = ["readonly", "planning", "web", "shell"];

/// The toolset of the tools that start processes.
const SHELL_TOOLSET: &str = "shell";

/// Builtins of the shell that start no program.
const BUILTINS_WITHOUT_PROGRAM: [&str; 8] = ["cd", "echo", "printf", "pwd", "true", "false", "test", "["];

fn starts_nothing(command: &CommandEffect) -> bool {
    let is_builtin =
        command.argv.first().is_some_and(|name| BUILTINS_WITHOUT_PROGRAM.contains(&name.as_str()));
    is_builtin && command.class == Class::ReadOnly && command.certainty == Certainty::Exact
}

fn role_gate(request: &Request<'_>) -> Option<Finding> {
    (!may_call(request.spec, request.caller)).then_some(Finding::deny(Cause::Role, Part::Whole))
}

fn may_call(spec: &Spec, caller: &Caller) -> bool {
    let wanted = spec.allowed_roles();
    wanted.is_empty() || caller.roles.iter().any(|role| wanted.contains(&role.as_str()))
}

fn plan_mode(request: &Request<'_>) -> Option<Finding> {
    let permitted = request.effects.is_read_only() && !request.external;
    let is_planning = request.mode == Mode::Plan || request.read_only;
    (is_planning && !permitted).then_some(Finding::deny(Cause::PlanMode, Part::Whole))
}

fn bypass_mode(request: &Request<'_>) -> Option<Finding> {
    (request.mode == Mode::Bypass).then_some(Finding::allow(Cause::Bypass, Part::Whole))
}

impl Finding {
    fn allow(cause: Cause, part: Part) -> Finding {
        Finding { verdict: Verdict::Allow, cause, part }
    }

    fn ask(cause: Cause, part: Part) -> Finding {
        Finding { verdict: Verdict::Ask, cause, part }
    }

    fn deny(cause: Cause, part: Part) -> Finding {
        Finding { verdict: Verdict::Deny, cause, part }
    }
}

impl<'a> Request<'a> {
    fn names(&self) -> impl Iterator<Item = &'a str> {
        let counted = self.effects.counts_as().iter().map(String::as_str);
        iter::once(self.tool).chain(self.aliases.iter().copied()).chain(counted)
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }

    pub(super) fn class(&self) -> Class {
        self.effects.class()
    }
}

/// What one look at a call's parts finds.
#[derive(Default)]
struct Survey {
    /// The rules for the whole tool.
    wide: Hits,
    /// What speaks against letting a rule for the whole tool cover what is not known.
    doubt: Option<RuleId>,
    /// When the rule that allows the whole tool is heard.
    wide_rank: Rank,
    deny: Option<(RuleId, Part)>,
    ask: Option<(RuleId, Part)>,
    /// A rule that speaks against something below a path of which everything is touched.
    below: Option<(RuleId, Part)>,
    relative: Option<Part>,
    /// A private address that the tool itself would contact,
    private: Option<(&'static str, Part)>,
    /// and one that its processes would.
    near: Option<(&'static str, Part)>,
    /// Whether a rule names one.
    near_is_named: bool,
    protected: Option<(&'static str, Part)>,
    /// The first part that nothing covers.
    uncovered: Option<(Cause, Part)>,
    /// What covers the rest: a rule rather than a mode, a mode rather than the defaults.
    covered: Option<(Cause, Part)>,
    /// When the last of the rules is heard that allow the parts.
    covered_rank: Option<Rank>,
    /// Whether an allow rule speaks of something that the call changes.
    spoken_of: bool,
    /// Whether a rule allows a command, or what it exists to touch, that the defaults would not.
    commands_approved: bool,
    /// What each layer says.
    cascade: Cascade,
}

impl Survey {
    fn of(policy: &Policy, request: &Request<'_>) -> Survey {
        let mut survey = Survey::default();
        request.names().for_each(|name| survey.wide.merge(Some(policy.names.find(name))));
        survey.doubt = survey.wide.allow.and_then(|allow| policy.doubt(request, allow));
        survey.wide_rank = rank(survey.wide.allow.filter(|_| survey.doubt.is_none()));
        survey.cascade.whole(&survey.wide);
        survey.deny = survey.wide.deny.map(|rule| (rule, Part::Whole));
        for (index, effect) in request.effects.paths().iter().enumerate() {
            survey.look_at_path(policy, request, effect, Part::Path(index));
        }
        for (index, effect) in request.effects.hosts().iter().enumerate() {
            survey.look_at_host(policy, request, effect, Part::Host(index));
        }
        for (index, effect) in request.effects.commands().iter().enumerate() {
            survey.look_at_command(policy, effect, Part::Command(index));
        }
        survey.look_at_machine(request);
        if survey.deny.is_none() && policy.denies_reading(request.names()) {
            survey.look_at_mentions(policy, request);
        }
        survey.ask = survey.asks_whole(request).map(|rule| (rule, Part::Whole)).or(survey.ask);
        survey
    }

    /// No broad rule means that the machine may stop: only rules for every part of the call do.
    fn look_at_machine(&mut self, request: &Request<'_>) {
        let is_machine = |state: &StateEffect| state.key == MACHINE && state.access == Access::Write;
        let is_covered = self.uncovered.is_none() && !request.effects.is_unknown();
        if !is_covered && self.protected.is_none() && request.effects.state().iter().any(is_machine) {
            self.protected = Some(("which may stop the machine, or all that runs on it", Part::Whole));
        }
    }

    /// A rule for the whole tool covers what is not known, too. But a command line that is not understood may be just
    /// what another rule forbids.
    fn whole_tool(&self) -> Option<Finding> {
        let rule = self.wide.allow.filter(|_| self.doubt.is_none())?;
        Some(Finding::allow(Cause::Rule(rule), Part::Whole))
    }

    /// The rule that asks about the whole tool, unless earlier layers allow every part of the call.
    fn asks_whole(&self, request: &Request<'_>) -> Option<RuleId> {
        let is_covered = !request.external && !request.effects.is_unknown();
        let covered = self.covered_rank.filter(|_| is_covered).unwrap_or(UNHEARD).min(self.wide_rank);
        self.wide.ask.filter(|ask| ask.rank() <= covered)
    }

    fn look_at_host(&mut self, policy: &Policy, request: &Request<'_>, effect: &HostEffect, part: Part) {
        let hits = policy.find_host(request, effect);
        if let Some(what) = addresses::why(&effect.host) {
            // What processes are to reach is asked, as what their commands name is; a tool that sends by itself is refused.
            let is_for_processes = request.spec.membership() == SHELL_TOOLSET && !request.external;
            let is_asked = effect.by.is_some() || is_for_processes;
            let slot = if is_asked { &mut self.near } else { &mut self.private };
            match policy.names_host(request.names(), &effect.host) {
                true => self.near_is_named = true,
                false => drop(slot.get_or_insert((what, part))),
            }
        }
        self.spoken_of |= hits.allow.is_some() && effect.access == Access::Write;
        let allow = hits.allow.or_else(|| policy.allows_command(request, effect.by));
        self.note(hits, allow, part);
        self.cover(allow.map(Cause::Rule).ok_or(Cause::Host), part);
    }

    fn look_at_path(&mut self, policy: &Policy, request: &Request<'_>, effect: &PathEffect, part: Part) {
        if !effect.path.is_absolute() || effect.target.as_ref().is_some_and(|target| !target.is_absolute()) {
            self.relative.get_or_insert(part);
        }
        let seen = Seen::of(effect);
        let hits = policy.find_path(request, effect.access, &seen);
        if effect.spread != Spread::Guarded {
            self.below =
                self.below.or(policy.speaks_below(request, effect.access, &seen).map(|rule| (rule, part)));
        }
        if effect.access == Access::Write && !effect.harmless && self.protected.is_none() {
            let mut whys = seen.ways().filter_map(|way| {
                protected::why_bytes(way, effect.spread, request.workspace, policy.home.as_deref())
                    .or_else(|| protected::why_by_settings(way, effect.spread, request.code_places))
            });
            self.protected =
                whys.next().filter(|_| !policy.is_named_by_a_rule(request, &seen)).map(|why| (why, part));
        }
        self.spoken_of |= hits.allow.is_some() && effect.access == Access::Write;
        let inside = seen.is_inside(bytes(request.workspace));
        let by_command = policy.allows_command(request, effect.by).filter(|_| hits.allow.is_none());
        let allow = hits.allow.or(by_command);
        self.commands_approved |= by_command.is_some() && !inside;
        self.note(hits, allow, part);
        let covered = match (allow, effect.access) {
            (Some(rule), _) => Ok(Cause::Rule(rule)),
            (None, Access::Read) if inside => Ok(Cause::Harmless),
            (None, Access::Read) => policy.find_edit_of(request, effect, &seen).ok_or(Cause::ReadOutside),
            (None, Access::Write) if inside && edits_are_free(request) => Ok(Cause::AcceptEdits),
            (None, Access::Write) => Err(Cause::Write),
        };
        self.cover(covered, part);
    }

    fn look_at_command(&mut self, policy: &Policy, effect: &CommandEffect, part: Part) {
        let hits = policy.find_command(effect);
        self.note(hits, hits.allow, part);
        if effect.certainty == Certainty::Meaning {
            return;
        }
        self.spoken_of |= hits.allow.is_some();
        let covered = match hits.allow {
            Some(rule) => {
                self.commands_approved |= effect.class != Class::ReadOnly;
                Ok(Cause::Rule(rule))
            }
            None if effect.class == Class::ReadOnly && !effect.argv.is_empty() => Ok(Cause::Harmless),
            None => Err(Cause::Command),
        };
        self.cover(covered, part);
    }

    /// What words may name is held against rules that deny, and no others: it may be text. A name that looks like any word
    /// counts only if it is there: `secrets` is what `kubectl get` is told, and may be a directory. A rule that covers the workspace with all that could be named says nothing of one word.
    fn look_at_mentions(&mut self, policy: &Policy, request: &Request<'_>) {
        let find = |seen: &Seen<'_>| policy.find_path(request, Access::Read, seen).deny;
        let whole = find(&Seen::at(request.workspace, None));
        for (index, mention) in request.effects.mentions().iter().enumerate() {
            if mention.spelling == Spelling::PlainWord && !mention.exists {
                continue;
            }
            if mention.spelling == Spelling::Pattern && self.below.is_none() {
                self.below = policy.fits(request, mention).map(|rule| (rule, Part::Mention(index)));
            }
            let denied = find(&Seen::at(&mention.path, mention.target.as_deref()));
            if let Some(rule) = denied.filter(|_| denied != whole) {
                self.deny = Some((rule, Part::Mention(index)));
                return;
            }
        }
    }

    /// What is told of it, whatever decides.
    fn known(&self) -> Known {
        let addresses = match (self.private.or(self.near), self.near_is_named) {
            (Some(_), _) => Addresses::Private,
            (None, true) => Addresses::Named,
            (None, false) => Addresses::Public,
        };
        Known { cascade: self.cascade, addresses }
    }

    /// Of what asks and what allows, the one that is heard earlier counts; the ask if they are heard together.
    fn note(&mut self, hits: Hits, allow: Option<RuleId>, part: Part) {
        let allowed = rank(allow).min(self.wide_rank);
        let ask = hits.ask.filter(|ask| ask.rank() <= allowed);
        self.deny = self.deny.or(hits.deny.map(|rule| (rule, part)));
        self.ask = self.ask.or(ask.map(|rule| (rule, part)));
        self.covered_rank = Some(self.covered_rank.map_or(allowed, |before| before.max(allowed)));
        self.cascade.part(&hits, allow);
    }

    fn cover(&mut self, covered: Result<Cause, Cause>, part: Part) {
        let weight = |cause: &Cause| match cause {
            Cause::Rule(_) => 2,
            Cause::AcceptEdits => 1,
            _ => 0,
        };
        match covered {
            Err(cause) => drop(self.uncovered.get_or_insert((cause, part))),
            Ok(cause) if self.covered.is_none_or(|(had, _)| weight(&cause) > weight(&had)) => {
                self.covered = Some((cause, part));
            }
            Ok(_) => {}
        }
    }
}

fn rank(rule: Option<RuleId>) -> Rank {
    rule.map_or(UNHEARD, RuleId::rank)
}

fn edits_are_free(request: &Request<'_>) -> bool {
    request.mode == Mode::AcceptEdits && !request.effects.is_destructive()
}

impl Policy {
    /// Who may edit a file may look at it while doing so: the edit rule that covers the same path in the same call.
    fn find_edit_of(&self, request: &Request<'_>, read: &PathEffect, seen: &Seen<'_>) -> Option<Cause> {
        let is_edited = |other: &PathEffect| other.access == Access::Write && other.place() == read.place();
        request.effects.paths().iter().find(|other| is_edited(other))?;
        self.find_path(request, Access::Write, seen).allow.map(Cause::Rule)
    }
}
