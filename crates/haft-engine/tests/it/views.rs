//! What a person sees of calls, moment after moment.

use haft_engine::turn::{Stage, Views};
use haft_testkit::Workspace;
use haft_tool::{Cx, Effects, Fault, Moment, Progress, Reply, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{allowing, begin, call};

/// Draws itself at every moment, and does what it is told.
struct Painter;

/// Does as it is told.
#[derive(Deserialize, JsonSchema)]
struct PainterInput {
    how: String,
}

impl Tool for Painter {
    type Input = PainterInput;
    const SPEC: Spec = Spec::new("Painter");

    fn effects(&self, input: &PainterInput) -> Effects {
        if input.how == "forbidden" { Effects::writes("/etc/passwd") } else { Effects::none() }
    }

    fn describe(&self, input: &PainterInput) -> String {
        format!("Paint {}", input.how)
    }

    fn view(&self, input: &PainterInput, moment: Moment<'_>) -> Option<View> {
        assert_ne!(input.how, "broken", "a drawing that breaks");
        let word = match moment {
            Moment::Using => "begins".to_owned(),
            Moment::Progress(progress) => format!("goes on: {}", progress.label),
            Moment::Done(_) => "is done".to_owned(),
            Moment::Failed(fault) => format!("failed: {}", fault.message()),
            _ => return None,
        };
        Some(View::Text(format!("{} {word}", input.how)))
    }

    async fn call(&self, input: PainterInput, cx: &Cx) -> Result<Reply, Fault> {
        cx.progress(Progress::line("half"));
        if input.how == "badly" { Err(Fault::failed("no paint")) } else { Ok(Reply::text("painted")) }
    }
}

/// All moments of one call, a line each.
async fn moments(tool: &str, input: Value) -> Vec<String> {
    let workspace = Workspace::new("");
    let session = begin(allowing(&workspace, &[]).tool(Painter), &workspace);
    let mut views = Views::new(&session);
    let mut turn = session.live_turn();
    turn.push(call("c", tool, input)).unwrap();
    turn.close();
    let mut lines = Vec::new();
    while let Some(event) = turn.next().await {
        if let Some(drawn) = views.draw(&event) {
            let stage = match drawn.stage {
                Stage::Done(_) => "done".to_owned(),
                Stage::Failed(_) => "failed".to_owned(),
                stage => format!("{stage:?}").to_lowercase(),
            };
            let (View::Text(text) | View::Progress { label: text, .. }) = drawn.view else {
                panic!("{:?}", drawn.view)
            };
            lines.push(format!("{stage}: {text}"));
        }
    }
    lines
}

#[track_caller]
fn check(tool: &str, input: Value, expected: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(moments(tool, input)), expected);
}

#[test]
fn a_tool_draws_every_moment_of_its_call() {
    check(
        "Painter",
        json!({ "how": "well" }),
        &["queued: Paint well", "using: well begins", "progress: well goes on: half", "done: well is done"],
    );
    check(
        "Painter",
        json!({ "how": "badly" }),
        &[
            "queued: Paint badly",
            "using: badly begins",
            "progress: badly goes on: half",
            "failed: badly failed: no paint",
        ],
    );
}

#[test]
fn a_call_that_may_not_run_is_seen_to_be_refused() {
    check(
        "Painter",
        json!({ "how": "forbidden" }),
        &[
            "queued: Paint forbidden",
            "refused: Paint forbidden (refused): Nobody is there to be asked, and this must be asked: writes /etc/passwd, a file that the whole system relies on; only a rule that names it permits that.",
        ],
    );
}

#[test]
fn a_drawing_that_breaks_is_replaced_by_the_general_one() {
    check(
        "Painter",
        json!({ "how": "broken" }),
        &["queued: Paint broken", "using: Painter", "progress: half", "done: painted"],
    );
}
