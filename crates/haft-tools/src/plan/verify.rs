//! `VerifyPlan`: which steps of the plan were done, as far as calls can tell.
//!
//! A step is proven by what calls of the session did: files that they wrote, commands that they ran and how these ended.
//! Nothing else counts, least of all what somebody says. What cannot be proven is *not seen*, which is not the same as not
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

use super::steps::{Proof, Wanted, proofs};
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
            Ok(report(&plan, &deeds, &kx.cx.session().workspace))
        })
    }
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
    Nothing,
}

/// The latest word counts: what failed and was done again is done.
fn found<'d>(deeds: &'d [Deed], shows: impl Fn(&Deed) -> bool) -> Found<'d> {
    match deeds.iter().rev().find(|deed| shows(deed)) {
        Some(deed) if deed.is_good => Found::Good(deed),
        Some(deed) => Found::Bad(deed),
        None => Found::Nothing,
    }
}

fn wrote<'d>(deeds: &'d [Deed], wanted: &Wanted) -> Found<'d> {
    let shows = |deed: &Deed| deed.writes.iter().any(|written| wanted.covers(written));
    // A later failure takes nothing back that an earlier call wrote.
    match found(deeds, |deed| deed.is_good && shows(deed)) {
        Found::Nothing => found(deeds, shows),
        good => good,
    }
}

fn ran<'d>(deeds: &'d [Deed], words: &[String]) -> Found<'d> {
    found(deeds, |deed| deed.commands.iter().any(|argv| argv.starts_with(words)))
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
    let runs = proof.runs.iter().map(|words| (ran(deeds, words), format!("run `{}`", words.join(" "))));
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
    }
}

fn by(deed: &Deed) -> String {
    let others = match deed.commands.len() {
        0 | 1 => "",
        _ => ", among other commands: only how the whole ended is known",
    };
    format!("{} ({}){others}", deed.tool, deed.call)
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
