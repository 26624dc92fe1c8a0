//! Those who hear of every turn.

use std::sync::{Arc, Mutex};

use haft_engine::{
    result::ToolResult,
    turn::{Event, Observer, TurnObserver},
};
use haft_testkit::{Probe, Workspace, sized, sleeping};
use haft_tool::{CallId, Effects, Reply, SessionFacts, SharedTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{begin, call};

/// Writes down what it hears.
#[derive(Clone, Default)]
struct Ear {
    heard: Arc<Mutex<Vec<String>>>,
    /// Whether it wants to hear of turns.
    is_deaf: bool,
}

impl Ear {
    fn note(&self, what: String) {
        self.heard.lock().unwrap().push(what);
    }

    fn take(&self) -> String {
        std::mem::take(&mut *self.heard.lock().unwrap()).join(", ")
    }
}

impl Observer for Ear {
    fn turn(&self, _: &SessionFacts) -> Option<Box<dyn TurnObserver>> {
        self.note("turn".to_owned());
        (!self.is_deaf).then(|| Box::new(self.clone()) as Box<dyn TurnObserver>)
    }
}

impl TurnObserver for Ear {
    fn event(&self, event: &Event) {
        self.note(match event {
            Event::Queued { call, .. } => format!("queued {call}"),
            Event::Started { call, .. } => format!("started {call}"),
            Event::Refused { call, .. } => format!("refused {call}"),
            Event::Finished(result) => {
                assert!(result.view.is_none(), "nobody looks");
                format!("finished {}", result.call)
            }
            other => format!("{other:?}"),
        });
    }

    fn ended(&self, results: &[ToolResult]) {
        let cut = results.iter().filter(|result| result.meta.truncated.is_some()).count();
        self.note(format!("ended with {} results, {cut} of them cut", results.len()));
    }

    fn traceparent(&self, call: &CallId) -> Option<String> {
        Some(format!("trace-of-{call}"))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// `Whoami`: reports progress, and says by which name it is known in traces.
fn whoami() -> SharedTool {
    tool("Whoami").effects(|_: &Nothing| Effects::none()).call(|_: Nothing, cx| async move {
        cx.progress(haft_tool::Progress::line("thinking"));
        Ok(Reply::text(cx.traceparent().unwrap_or_else(|| "nobody".to_owned())))
    })
}

#[tokio::test]
async fn an_observer_hears_the_walk_of_every_call_and_no_progress() {
    let (workspace, ear) = (Workspace::new(""), Ear::default());
    let session = begin(haft_testkit::engine(&workspace).tool(whoami()).observer(ear.clone()), &workspace);
    let result = session.call(call("a", "Whoami", json!({}))).await;
    assert_eq!(result.text(), "trace-of-a");
    let walk = "turn, queued a, started a, finished a, ended with 1 results, 0 of them cut";
    assert_eq!(ear.take(), walk);
    session.turn(vec![call("b", "Whoamy", json!({}))]).await;
    assert_eq!(ear.take(), "turn, finished b, ended with 1 results, 0 of them cut");
}

#[tokio::test]
async fn what_a_turn_cuts_after_a_call_has_finished_is_heard_at_its_end() {
    let (workspace, ear) = (Workspace::new(""), Ear::default());
    let engine = haft_testkit::engine(&workspace).tool(sized()).observer(ear.clone());
    let session = begin(engine.settings(|figures| figures.budget.per_turn = 10_000), &workspace);
    session.turn(vec![call("a", "Sized", json!({ "bytes": 20_000 }))]).await;
    assert!(ear.take().ends_with("finished a, ended with 1 results, 1 of them cut"));
}

#[tokio::test]
async fn an_observer_that_wants_nothing_hears_nothing_and_a_second_one_hears_all() {
    let (workspace, ear) = (Workspace::new(""), Ear::default());
    let deaf = Ear { is_deaf: true, ..Ear::default() };
    let engine = haft_testkit::engine(&workspace).tool(whoami());
    let session = begin(engine.observer(deaf.clone()).observer(ear.clone()), &workspace);
    session.call(call("a", "Whoami", json!({}))).await;
    assert_eq!(deaf.take(), "turn");
    assert!(ear.take().ends_with("ended with 1 results, 0 of them cut"));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_given_up_has_no_end_and_lets_go_of_its_observer() {
    let (workspace, ear) = (Workspace::new(""), Ear::default());
    let engine = haft_testkit::engine(&workspace).tool(sleeping(&Probe::default())).observer(ear.clone());
    let session = begin(engine, &workspace);
    let turn = session.turn(vec![call("a", "Sleep", json!({ "ms": 60_000 }))]);
    assert!(tokio::time::timeout(std::time::Duration::from_secs(1), turn).await.is_err());
    assert_eq!(ear.take(), "turn, queued a, started a");
    // The engine has one, and this is the other.
    assert_eq!(Arc::strong_count(&ear.heard), 2);
}

#[tokio::test]
async fn whoever_watches_a_turn_sees_it_beside_the_observers() {
    let (workspace, ear) = (Workspace::new(""), Quiet::default());
    let engine = haft_testkit::engine(&workspace).tool(whoami()).observer(ear.clone());
    let session = begin(engine, &workspace);
    let mut seen = 0;
    let result = session.watched_call(call("a", "Whoami", json!({})), |_| seen += 1).await;
    assert_eq!((result.text().as_str(), seen), ("nobody", 4), "queued, started, progress, finished");
    assert_eq!(*ear.0.lock().unwrap(), 3, "the same without the progress");
}

/// Counts events, and traces nothing.
#[derive(Clone, Default)]
struct Quiet(Arc<Mutex<usize>>);

impl Observer for Quiet {
    fn turn(&self, _: &SessionFacts) -> Option<Box<dyn TurnObserver>> {
        Some(Box::new(self.clone()))
    }
}

impl TurnObserver for Quiet {
    fn event(&self, _: &Event) {
        *self.0.lock().unwrap() += 1;
    }

    fn ended(&self, _: &[ToolResult]) {}
}
