//! `EnterPlanMode`: from here on, only looking.

use haft_engine::session::{PLAN, Plan};
use haft_tool::{Change, Cx, Effects, Fault, Load, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Begins planning: nothing can be changed until the user has approved a plan.
///
/// Use it before work that is large, risky or unclear, to look around and agree with the user first. Files can be read and
/// searched, harmless commands run; all else is refused. End it with ExitPlanMode. Not for small changes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnterPlanModeInput {}

/// The tool.
pub(crate) struct EnterPlanMode;

impl Tool for EnterPlanMode {
    type Input = EnterPlanModeInput;
    const SPEC: Spec = Spec::new("EnterPlanMode")
        .toolset("planning")
        .aliases(&["enter_plan_mode", "plan_enter"])
        .search_hint("plan mode planning read-only think before changing agree with the user")
        .load(Load::Deferred)
        .idempotent();

    fn effects(&self, _: &EnterPlanModeInput) -> Effects {
        Effects::changes("mode").and_state(PLAN, haft_tool::Access::Write)
    }

    fn describe(&self, _: &EnterPlanModeInput) -> String {
        "Begin planning".to_owned()
    }

    async fn call(&self, _: EnterPlanModeInput, _: &Cx) -> Result<Reply, Fault> {
        let open = Plan { is_open: true, ..Plan::default() };
        Ok(Reply::text(
            "Planning has begun: calls that change something are refused. Look at what you need to know, then show the \
             user your plan with ExitPlanMode.",
        )
        .change(Change::State(PLAN.to_owned(), open.to_value()))
        .change(Change::Load(vec!["ExitPlanMode".to_owned()])))
    }
}
