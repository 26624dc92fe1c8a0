//! May this call run?
//!
//! [`Policy::compile`] turns rule texts into matchers once; [`Policy::decide`] answers for one call with
//! *allow*, *ask* or *deny* and a [`Trace`] that says why; [`settle`] gives out the [`Permit`] without which nothing runs,
//! or leaves the question open; [`hear`] is what hooks make of that, and [`ask`] asks a [`Classifier`] in mode `auto`, and then
//! the person. Deciding is pure: no I/O, no clock, no environment.
//! What a path really is after links stands in [`PathEffect::target`](haft_tool::PathEffect::target) already.
//!
//! ```
//! use std::path::Path;
//!
//! use haft_engine::policy::{Bases, Mode, Origin, Policy, Request, Rules, Verdict};
//! use haft_tool::{Caller, Effects, Spec};
//!
//! let bases = Bases { workspace: "/w/app".into(), home: None };
//! let rules = Rules::allowing(["Edit(src/**)"], Origin::Session);
//! let policy = Policy::compile(rules, &bases).expect("rules without mistakes");
//!
//! let decision = policy.decide(&Request {
//!     tool: "Write",
//!     aliases: &[],
//!     spec: &Spec::new("Write"),
//!     effects: &Effects::writes("/w/app/src/main.rs"),
//!     mode: Mode::Default,
//!     read_only: false,
//!     workspace: Path::new("/w/app"),
//!     code_places: &[],
//!     caller: &Caller::default(),
//!     external: false,
//! });
//! assert_eq!(decision.verdict, Verdict::Allow);
//! println!("{}", decision.trace.explain());
//! ```
//!
//! # Rules
//! | rule | covers |
//! |---|---|
//! | `MyTool`, `MyTool(*)` | every call of that tool |
//! | `mcp__github`, `mcp__github__*` | every tool of that server; a final `*` works in any name, `*` alone is every tool |
//! | `Read`, `Edit` | besides the tool of that name: every path that any call reads, or writes |
//! | `WebFetch`, denied or asked | besides the tool of that name: every host that any call contacts |
//! | `Read(src/**)`, `Edit(src/**)` | these paths, in any call: shell commands and redirections included |
//! | `Write(src/**)` | these paths, in calls of that tool only |
//! | `Bash(git diff:*)`, `Bash(npm run test)` | these words and anything after them; exactly these words |
//! | `WebFetch(domain:docs.rs)` | fetching from that host, in any call; `domain:*.example.com` is one or more labels in front |
//!
//! Paths: `//x` is from the root of the file system, `~/x` from the home, `/x` and `x` from the root of the workspace.
//! A pattern is anchored: `Read(.env)` is that one file, `Read(**/.env)` is a file of that name anywhere below. `*` and
//! `?` stay within a name, `**` crosses directories, `[ab]` and `{a,b}` choose, `\` takes the next character as it is.
//! A path without a wildcard in its last name also covers what is below it; a deny or an ask always does.
//!
//! Deny and ask rules hold if they match *any* part of a call, a path by its spelling or by its target, a program by its
//! base name. An allow needs *every* part covered, by some rule or by the defaults, a path by its target, a program as it
//! is written. A rule for a command covers the paths and hosts that the command exists to touch (`rm` what it is told to
//! remove), not what its options do besides; a command some of whose words are not known is covered by none.
//! What is not known is never covered by a path, a host or a command: only a rule for the whole tool does it.
//!
//! # Layers
//! Rules stand in [layers](Layer): model, sandbox, agent, group, global. A deny holds wherever it stands. For each part of a
//! call, the first layer that asks or allows has the word; within a layer, asking comes first. What an administrator asks
//! ([`Written::firm`]), no layer permits. A question about the whole tool is answered by earlier layers only if they allow
//! every part of the call.
//!
//! # Order
//! Refusals come first, then questions, then permissions, so that one more deny or ask rule can never permit anything.
//!
//! | # | stage | answer |
//! |---|---|---|
//! | 1 | a deny rule matches | deny |
//! | 2 | the tool wants a role that the caller lacks | deny |
//! | 3 | a path is not absolute: an earlier stage is broken | deny |
//! | 4 | the tool itself would contact an address of a private network, and no allow rule names that very host | deny |
//! | 5 | mode `plan` and the call is not read-only | deny |
//! | 6 | an ask rule matches, and no earlier layer allows what it asks about | ask |
//! | 7 | it touches everything below a path, unguarded as a shell command does, and a deny or ask rule speaks of some of that | ask |
//! | 8 | it writes a file that is code, or would lose a system, a home or a repository ([`protected`]), and no allow rule names that very path | ask |
//! | 9 | mode `bypass` | allow |
//! | 10 | an allow rule covers the whole call, or rules and defaults cover every part of it | allow |
//! | 11 | everything else | ask; in mode `dont-ask`: deny |
//!
//! The defaults of stage 10 cover a read inside the workspace, a command that is known to be read-only, the session's own state,
//! and in mode `accept-edits` a reversible write inside the workspace. They never cover a tool of a server
//! ([`Request::external`]): what it says of itself can get it refused, not permitted.
//!
//! Not here: where rules come from and whether they are trusted, and how hooks are asked. That stands before and after
//! these stages.

mod mode; //       how much is asked
mod written; //    rules as people write them
mod rule; //       one rule, parsed
mod pattern; //    what stands in its brackets
mod examples; //   what a rule must and must not cover
mod rules; //      all rules, compiled
mod decide; //     the order above
mod trace; //      why
mod said; //       what hooks say
mod permit; //     the proof
mod facts; //      what others are told of a call
mod asking; //     the person who is asked
mod answers; //    the answers that a question offers
pub mod choosing; // about something else than a call
mod inviting; //   and to visit an address
mod on_behalf; //   whose question it is
mod grants; //     what was granted for the session
mod classifier; // who may say yes in the person's place
mod by_effects; //  by what a call does
mod suggest; //    the narrowest rules that would allow a call
mod launchers; //  (and programs for which there are none)
mod lint; //       rules that do not do what they look like
pub mod protected; // files that are code
mod names; //      matchers: names of tools,
mod paths; //      paths,
mod hosts; //      hosts,
mod addresses; //  (private ones among them)
mod commands; //   and commands,
mod short; //      kept in quick maps
#[cfg(test)]
mod tests;

pub use answers::{AnswerKind, Execution, OUTSIDE_MEANING, OfferedAnswer, QuestionStage};
pub use asking::{Answer, Asker, Asking, Given, Inquiry, Nobody, Question, RuleKeeper, ask};
pub use by_effects::ByEffects;
pub use choosing::{Choice, ChoiceOption, Choices, Choosing, Chosen};
pub(crate) use classifier::may_judge;
pub use classifier::{Classifier, Judgement, Matter, Record};
pub use decide::{Decision, Request, Restricted, Verdict, Withheld};
pub use facts::CallFacts;
pub use grants::Grants;
pub use inviting::Invitation;
pub use lint::{Remark, RemarkKind, lint, unknown_tools};
pub use mode::{Mode, UnknownMode};
pub(crate) use on_behalf::asking;
pub use on_behalf::{OnBehalf, asker_of_call};
pub use permit::{Permit, Refused, Settled, Warrant, hear, settle};
pub use rule::{Rule, SyntaxError};
pub(crate) use rules::without_secrets;
pub use rules::{Bases, Flaw, Policy, RuleError};
pub use said::{Said, changed_input, strictest};
pub use suggest::narrowest_rules;
pub use trace::{Step, Trace};
pub use written::{Circumstances, Layer, Origin, Rules, Written, path_rule};
