//! `ExitPlanMode`: shows the plan to the person, and goes on if they approve it.

use std::{fmt::Write as _, path::Path, sync::Arc};

use haft_engine::{
    policy::{Choice, ChoiceOption, Choosing, Chosen, Mode},
    session::{PLAN, Plan, Session, Step},
    turn::{Kernel, KernelCx},
};
use haft_tool::{
    AbsolutePath, BoxFuture, Change, Cx, Effects, Fault, FaultKind, IntoTool, Load, Reply, SharedTool, Spec,
    Tool, View, shown, unshown,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::kernel::{not_here, typed};

/// Shows the user your plan. If they approve it, planning ends and you can carry it out.
///
/// Use it when planning has begun and the plan is complete. They may approve it, want more planning, or reject it; the
/// answer says what they said. Only a person can approve: where nobody is there, planning goes on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExitPlanModeInput {
    /// The plan, as Markdown.
    plan: String,
    /// Its steps, with what would prove that each was done: VerifyPlan looks for that.
    #[serde(default)]
    #[schemars(length(max = 100))]
    steps: Vec<PlannedStep>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlannedStep {
    /// What is to be done.
    step: String,
    /// Files or directories that it writes.
    #[serde(default)]
    writes: Vec<AbsolutePath>,
    /// Commands that it runs: `cargo test`.
    #[serde(default)]
    runs: Vec<String>,
}

impl PlannedStep {
    fn length(&self) -> usize {
        let writes = self.writes.iter().map(|path| path.as_os_str().len());
        self.step.len() + writes.chain(self.runs.iter().map(String::len)).sum::<usize>()
    }
}

/// The tool.
pub(crate) struct ExitPlanMode;

/// No person reads more than this before they say yes.
const LONGEST: usize = 50_000;

const APPROVE: &str = "Approve";
const KEEP_PLANNING: &str = "Keep planning";
const REJECT: &str = "Reject";

impl Tool for ExitPlanMode {
    type Input = ExitPlanModeInput;
    const SPEC: Spec = Spec::new("ExitPlanMode")
        .toolset("planning")
        .aliases(&["exit_plan_mode", "plan_exit"])
        .search_hint("plan mode finish planning approve the plan show to the user")
        .load(Load::Deferred)
        .needs_person();

    fn validate(&self, input: &ExitPlanModeInput) -> Result<(), Fault> {
        if input.plan.trim().is_empty() {
            return Err(Fault::rejected("`plan` is empty; write down what you are going to do"));
        }
        let steps = input.steps.iter().map(PlannedStep::length).sum::<usize>();
        if input.plan.len() + steps > LONGEST {
            return Err(Fault::rejected(format!(
                "the plan has {} bytes with its steps, and {LONGEST} is the most; say what matters for the decision",
                input.plan.len() + steps
            )));
        }
        let nameless = input.steps.iter().position(|step| step.step.trim().is_empty());
        nameless.map_or(Ok(()), |at| Err(Fault::rejected(format!("`steps[{at}].step` is empty"))))
    }

    fn effects(&self, _: &ExitPlanModeInput) -> Effects {
        Effects::changes("mode").and_state(PLAN, haft_tool::Access::Write)
    }

    fn describe(&self, _: &ExitPlanModeInput) -> String {
        "Show the plan".to_owned()
    }

    async fn call(&self, _: ExitPlanModeInput, _: &Cx) -> Result<Reply, Fault> {
        Err(not_here("ExitPlanMode"))
    }
}

impl Kernel for ExitPlanMode {
    fn tool(&self) -> SharedTool {
        ExitPlanMode.into_tool()
    }

    fn run<'a>(&'a self, input: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(async move {
            let input: ExitPlanModeInput = typed(&input)?;
            if kx.session().mode() != Mode::Plan {
                return Err(Fault::rejected(
                    "no plan is being made, so there is none to approve: do what you were asked, or begin with EnterPlanMode",
                ));
            }
            let plan = Plan::from(input);
            let shown = written(&plan, &kx.cx.session().workspace);
            let said = kx.choose(Some(&shown), &[question()]).await?;
            let answer = Answer::of(said);
            Ok(answer.reply(kx.session(), plan, shown))
        })
    }
}

impl From<ExitPlanModeInput> for Plan {
    fn from(input: ExitPlanModeInput) -> Plan {
        let step = |step: PlannedStep| Step {
            text: step.step,
            writes: step.writes.iter().map(|path| shown(path).to_string()).collect(),
            runs: step.runs,
        };
        let steps = input.steps.into_iter().map(step).collect();
        Plan { is_open: true, is_approved: false, text: input.plan, steps }
    }
}

/// All that is approved: the plan's text, and the steps that it names with what would prove each.
fn written(plan: &Plan, workspace: &Path) -> String {
    let mut text = plan.text.trim_end().to_owned();
    if !plan.steps.is_empty() {
        text.push_str("\n\nSteps:");
    }
    for (at, step) in plan.steps.iter().enumerate() {
        let _ = write!(text, "\n{}. {}", at + 1, step.text.trim());
        let places = step.writes.iter().map(|path| {
            let path = unshown(path);
            format!("writes {}", shown(path.strip_prefix(workspace).unwrap_or(&path)))
        });
        let runs = step.runs.iter().map(|line| format!("runs `{}`", line.trim()));
        let proofs: Vec<String> = places.chain(runs).collect();
        if !proofs.is_empty() {
            let _ = write!(text, "\n   {}", proofs.join("; "));
        }
    }
    text
}

fn question() -> Choice {
    let option = |label: &str, description: &str| ChoiceOption {
        label: label.to_owned(),
        description: description.to_owned(),
    };
    Choice {
        header: "Plan".to_owned(),
        question: "Is this to be done?".to_owned(),
        options: vec![
            option(APPROVE, "planning ends, and the model may begin; what is asked about is asked as usual"),
            option(KEEP_PLANNING, "nothing is changed yet; say what is missing"),
            option(REJECT, "nothing is done"),
        ],
        several: false,
        own_words: true,
    }
}

/// What the person makes of a plan. Only a clear yes is one.
enum Answer {
    Approved(Option<String>),
    KeepPlanning(Option<String>),
    Rejected(Option<String>),
    NobodyThere,
}

impl Answer {
    fn of(choosing: Choosing) -> Answer {
        let Chosen { labels, words } = match choosing {
            Choosing::NobodyThere => return Answer::NobodyThere,
            Choosing::Declined => return Answer::KeepPlanning(None),
            Choosing::Chosen(chosen) => chosen.into_iter().next().unwrap_or_default(),
        };
        match labels.first().map(String::as_str) {
            Some(APPROVE) => Answer::Approved(words),
            Some(REJECT) => Answer::Rejected(words),
            _ => Answer::KeepPlanning(words),
        }
    }

    fn reply(self, session: &Session, plan: Plan, shown: String) -> Reply {
        let keep = |plan: Plan| Change::State(PLAN.to_owned(), plan.to_value());
        let drawn = |verdict: &str| View::List(vec![View::text(verdict), View::text(shown)]);
        match self {
            Answer::Approved(words) => {
                let view = drawn("The plan is approved");
                let text = approved(session.own_mode(), words);
                let plan = Plan { is_open: false, is_approved: true, ..plan };
                Reply::text(text).drawn(view).change(keep(plan))
            }
            Answer::KeepPlanning(words) => {
                let view = drawn("Planning goes on");
                let words = words.map_or_else(String::new, |words| format!(" They said: {words}"));
                let text = format!(
                    "The user wants more planning; nothing may be changed yet.{words}\nChange the plan and show it again."
                );
                Reply::text(text).drawn(view).change(keep(plan)).failing(FaultKind::Denied)
            }
            Answer::Rejected(words) => {
                let view = drawn("The plan is rejected");
                let words = words.map_or_else(String::new, |words| format!(" They said: {words}"));
                let text = format!(
                    "The user rejected the plan; nothing may be changed.{words}\nDo not carry it out: end your turn, or plan something else."
                );
                Reply::text(text).drawn(view).change(keep(plan)).failing(FaultKind::Denied)
            }
            Answer::NobodyThere => {
                let view = drawn("Nobody is there to approve the plan");
                let text = "Nobody is there to approve the plan, so it is not approved and nothing may be changed.\n\
                    End your turn with the plan as your answer.";
                Reply::text(text).drawn(view).change(keep(plan)).failing(FaultKind::Denied)
            }
        }
    }
}

fn approved(mode: Mode, words: Option<String>) -> String {
    let words = words.map_or_else(String::new, |words| format!(" They said: {words}"));
    match mode {
        // Whoever began the session so decides about that, and it need not be who was asked.
        Mode::Plan => format!(
            "The user approved the plan.{words} But this session was begun in mode plan, which no plan ends: tell the \
             user to change the mode, and end your turn."
        ),
        mode => format!(
            "The user approved the plan.{words} Planning has ended (mode {mode}); carry it out. VerifyPlan tells later which \
             steps were done."
        ),
    }
}
