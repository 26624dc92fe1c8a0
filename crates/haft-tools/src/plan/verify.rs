//! `VerifyPlan`: which steps of the plan were done, as far as calls can tell.
//!
//! A step is proven by what calls of the session did: files that they wrote, commands that they ran and how these ended.
//! Nothing else counts, least of all what somebody says, or what was done before the plan was approved. What cannot be proven is *not seen*, which is not the same as not
//! done, and the answer says so.

use std::{fmt, path::Path, sync::Arc};

use haft_engine::{
    session::{Deed, Plan},
    turn::{Kernel, KernelCx},
};
use haft_tool::{
    Access, BoxFuture, Cx, Effects, Fault, IntoTool, Load, Reply, SharedTool, Spec, Tool, shown,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    line::{Ended, Told, is_one_way, told},
    steps::{Proof, Wanted, proofs},
};
use crate::kernel::not_here;

/// Compares the plan with what was done: which steps are proven by calls of this session, and which are not.
///
/// Use it before you tell the user that a plan was carried out. A step is proven by the files that were written and the
/// commands that ran and ended well; the answer names the calls. Not seen means that no call shows it, not that it was not
/// done: say so, or do it. It fails if there is no plan.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyPlanInput {}

/// The tool.
pub(crate) struct VerifyPlan;

impl Tool for VerifyPlan {
    type Input = VerifyPlanInput;
    const SPEC: Spec = Spec::new("VerifyPlan")
        .toolset("planning")
        .aliases(&["verify_plan", "VerifyPlanExecution"])
        .search_hint("check the plan was carried out steps done verify progress")
        .load(Load::Deferred);

    /// It must see what calls before it did.
    fn effects(&self, _: &VerifyPlanInput) -> Effects {
        Effects::none().and_state(haft_tool::OTHER_CALLS, Access::Write)
    }

    fn describe(&self, _: &VerifyPlanInput) -> String {
        "Compare the plan with what was done".to_owned()
    }

    async fn call(&self, _: VerifyPlanInput, _: &Cx) -> Result<Reply, Fault> {
        Err(not_here("VerifyPlan"))
    }
}

impl Kernel for VerifyPlan {
    fn tool(&self) -> SharedTool {
        VerifyPlan.into_tool()
    }

    fn run<'a>(&'a self, _: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(async move {
            let plan = kx.session().plan().filter(|plan| !plan.text.is_empty());
            let plan = plan.ok_or_else(|| {
                Fault::failed(
                    "there is no plan in this session; one is made with EnterPlanMode and ExitPlanMode",
                )
            })?;
            let deeds = kx.session().deeds().await;
            Ok(report(&plan, since_planning(&deeds), &kx.cx.session().workspace))
        })
    }
}

/// What was done since the plan was approved, or begun if it is not approved: what was there before carries out nothing.
fn since_planning(deeds: &[Deed]) -> &[Deed] {
    let begin = deeds.iter().rposition(|deed| deed.is_good && Deed::is_planning(&deed.tool));
    &deeds[begin.map_or(0, |at| at + 1)..]
}

/// How a step stands.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    Done,
    Partly,
    Failed,
    NotSeen,
    /// Nothing in it says what would prove it.
    NoProof,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Standing::Done => "done",
            Standing::Partly => "partly",
            Standing::Failed => "failed",
            Standing::NotSeen | Standing::NoProof => "not seen",
        })
    }
}

/// What was found for one thing that a step wants.
enum Found<'d> {
    Good(&'d Deed),
    Bad(&'d Deed),
    /// It was part of what this call was to do, and nobody can tell whether it was done.
    Unclear(&'d Deed),
    Nothing,
}

/// The latest word counts: what failed and was done again is done. Calls that tell nothing count only if no other does.
fn found(deeds: &[Deed], tells: impl Fn(&Deed) -> Told) -> Found<'_> {
    let mut unclear = Found::Nothing;
    for deed in deeds.iter().rev() {
        match (tells(deed), &unclear) {
            (Told::Well, _) => return Found::Good(deed),
            (Told::Badly, _) => return Found::Bad(deed),
            (Told::Unclear, Found::Nothing) => unclear = Found::Unclear(deed),
            _ => {}
        }
    }
    unclear
}

fn wrote<'d>(deeds: &'d [Deed], wanted: &Wanted) -> Found<'d> {
    let tells = |deed: &Deed| match (deed.writes.iter().any(|written| wanted.covers(written)), ended(deed)) {
        (false, _) => Told::Absent,
        (true, Ended::Badly) => Told::Badly,
        (true, Ended::Well) if deed.line.as_deref().is_none_or(is_one_way) => Told::Well,
        (true, _) => Told::Unclear,
    };
    // A later failure takes nothing back that an earlier call wrote.
    match found(deeds, |deed| if deed.is_good { tells(deed) } else { Told::Absent }) {
        Found::Nothing => found(deeds, tells),
        good => good,
    }
}

fn ran<'d>(deeds: &'d [Deed], wanted: &str) -> Found<'d> {
    found(deeds, |deed| match &deed.line {
        Some(line) => told(line, ended(deed), wanted),
        // What no line was given for is what the tool says that it runs.
        None => {
            let mut told = deed.commands.iter().map(|argv| told(&argv.join(" "), ended(deed), wanted));
            told.find(|told| *told != Told::Absent).unwrap_or(Told::Absent)
        }
    })
}

/// A line that has no exit code, or is only watched, was left running.
fn ended(deed: &Deed) -> Ended {
    let is_left_running = deed.line.is_some() && (deed.exit_code.is_none() || deed.tool == "Monitor");
    match (deed.is_good, is_left_running) {
        (false, _) => Ended::Badly,
        (true, true) => Ended::Unknown,
        (true, _) => Ended::Well,
    }
}

struct Judged {
    standing: Standing,
    lines: Vec<String>,
}

fn judge(proof: &Proof, deeds: &[Deed], workspace: &Path) -> Judged {
    if !proof.is_possible() {
        return Judged {
            standing: Standing::NoProof,
            lines: vec!["nothing in it says what would prove it".to_owned()],
        };
    }
    let short = |path: &Path| shown(path.strip_prefix(workspace).unwrap_or(path)).to_string();
    let writes =
        proof.writes.iter().map(|wanted| (wrote(deeds, wanted), format!("write {}", short(wanted.path()))));
    let runs = proof.runs.iter().map(|wanted| (ran(deeds, wanted), format!("run `{wanted}`")));
    let all: Vec<(Found<'_>, String)> = writes.chain(runs).collect();
    let good = all.iter().filter(|(found, _)| matches!(found, Found::Good(_))).count();
    let bad = all.iter().any(|(found, _)| matches!(found, Found::Bad(_)));
    let standing = match (good, bad) {
        (good, _) if good == all.len() => Standing::Done,
        (_, true) => Standing::Failed,
        (0, false) => Standing::NotSeen,
        _ => Standing::Partly,
    };
    Judged { standing, lines: all.iter().map(|(found, what)| line(found, what)).collect() }
}

fn line(found: &Found<'_>, what: &str) -> String {
    match found {
        Found::Nothing => format!("{what}: no call shows it"),
        Found::Good(deed) => format!("{what}: {}", by(deed)),
        Found::Bad(deed) => {
            let code = deed.exit_code.map_or_else(String::new, |code| format!(", exit code {code}"));
            format!("{what}: tried by {} and did not work{code}", by(deed))
        }
        Found::Unclear(deed) if ended(deed) == Ended::Unknown => {
            format!("{what}: cannot be told; {} left it running", by(deed))
        }
        Found::Unclear(deed) => {
            let line =
                deed.line.as_deref().map_or_else(String::new, |line| format!(" `{}`", shortened(line)));
            format!("{what}: cannot be told; it was part of{line} by {}", by(deed))
        }
    }
}

fn by(deed: &Deed) -> String {
    format!("{} ({})", deed.tool, deed.call)
}

/// A line that is shown among others.
fn shortened(line: &str) -> String {
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

fn report(plan: &Plan, deeds: &[Deed], workspace: &Path) -> Reply {
    let proofs = proofs(plan);
    if proofs.is_empty() {
        return Reply::text(
            "The plan has no steps that could be looked for: it names none, and its text has no list.",
        );
    }
    let judged: Vec<Judged> = proofs.iter().map(|proof| judge(proof, deeds, workspace)).collect();
    let mut lines = Vec::new();
    for (at, (proof, judged)) in proofs.iter().zip(&judged).enumerate() {
        lines.push(format!("{}. [{}] {}", at + 1, judged.standing, proof.text));
        lines.extend(judged.lines.iter().map(|line| format!("   {line}")));
    }
    if deeds.iter().any(|deed| deed.is_unknown) {
        lines.push(
            "Some commands may have changed more than is known of them: what they did is not seen here."
                .to_owned(),
        );
    }
    let count = |wanted: &[Standing]| judged.iter().filter(|one| wanted.contains(&one.standing)).count();
    let (done, failed) = (count(&[Standing::Done]), count(&[Standing::Failed]));
    let rest = judged.len() - done - failed;
    let data = |(proof, judged): (&Proof, &Judged)| json!({ "step": proof.text, "standing": judged.standing.to_string(), "evidence": judged.lines });
    let steps: Vec<Value> = proofs.iter().zip(&judged).map(data).collect();
    let approved = if plan.is_approved { "" } else { "; the plan was not approved" };
    Reply { data: Some(json!({ "steps": steps })), ..Reply::text(lines.join("\n")) }.observed(format!(
        "{} steps: {done} done, {failed} failed, {rest} not seen or only partly{approved}",
        judged.len()
    ))
}
