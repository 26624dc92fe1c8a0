//! Runs that are dropped: by a time limit, a client that has gone, a `select!`. What was done is not done again, and what was
//! not shown is shown.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use haft_agent::{Agent, AgentEvent, End, Past};
use haft_engine::{
    Engine, SessionOptions,
    policy::{Origin, Rules},
    turn::Interrupt,
};
use haft_model::Message;
use haft_testkit::Turn;
use haft_tool::{Effects, Fault, Reply, SharedTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::Stage;

#[derive(Deserialize, JsonSchema)]
struct Pay {
    /// How long it takes after it has paid.
    ms: u64,
}

fn pay(account: PathBuf) -> SharedTool {
    let effects = |_: &Pay| Effects::sends("bank.example").irreversible();
    tool("Pay").effects(effects).call(move |input: Pay, _| {
        let account = account.clone();
        async move {
            let file = OpenOptions::new().create(true).append(true).open(account);
            file.and_then(|mut file| file.write_all(b"paid\n")).unwrap();
            tokio::time::sleep(Duration::from_millis(input.ms)).await;
            Ok::<_, Fault>(Reply::text("paid"))
        }
    })
}

fn paid(account: &Path) -> usize {
    fs::read_to_string(account).map_or(0, |text| text.lines().count())
}

async fn stage_with(tools: Vec<SharedTool>, turns: impl IntoIterator<Item = Turn>) -> Stage {
    let turns: Vec<Turn> = turns.into_iter().collect();
    let mut stage = Stage::new(turns).await;
    let engine = haft_testkit::engine(&stage.workspace).tools(tools);
    let engine: Engine = engine.rules(Rules::allowing(["Pay", "Sleep"], Origin::Flag)).build().unwrap();
    stage.session = engine.session(SessionOptions::at(stage.workspace.root())).unwrap();
    stage
}

/// Drops a run when this is so.
async fn drop_when(agent: &mut Agent, task: &str, is_so: impl Fn() -> bool) {
    let (interrupt, mut on) = (Interrupt::default(), |_: AgentEvent| {});
    let so = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        () = so => {}
        outcome = agent.run(task, &mut on, &interrupt) => panic!("{:?}", outcome.end),
    }
}

#[tokio::test]
async fn a_payment_is_made_once_however_often_its_run_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let account = directory.path().join("account");
    let first = Turn::new().call("Pay", json!({ "ms": 60_000 }));
    let stage = stage_with(vec![pay(account.clone())], [first, Turn::new().text("Fine.")]).await;
    let mut agent = stage.agent();
    drop_when(&mut agent, "Pay", || paid(&account) == 1).await;
    // Another agent of the session, another session of the engine, and the same agent: each goes on with the conversation.
    let messages: Vec<Message> = agent.history().messages().to_vec();
    let past = || Past { messages: messages.clone(), ..Past::default() };
    let outcome = stage.run(&mut agent, "And?").await;
    assert_eq!((outcome.end, paid(&account)), (End::Answered, 1));
    assert!(stage.requests()[1].text.contains("its effect is unknown"), "{}", stage.requests()[1].text);
    for is_same_session in [true, false] {
        let mut next = stage_with(vec![pay(account.clone())], [Turn::new().text("Fine.")]).await;
        if is_same_session {
            next.session = stage.session.clone();
        }
        let outcome = next.run(&mut next.agent_after(past()), "And?").await;
        assert_eq!((outcome.end, paid(&account)), (End::Answered, 1));
        assert!(next.requests()[0].text.contains("its effect is unknown"), "{}", next.requests()[0].text);
    }
}

/// The id of the second call is another one for the engine, because the model counts its calls anew.
#[tokio::test]
async fn what_a_dropped_run_has_done_is_told_by_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let account = directory.path().join("account");
    let slow = tool("Sleep").effects(|_: &Pay| Effects::none()).call(|input: Pay, _| async move {
        tokio::time::sleep(Duration::from_millis(input.ms)).await;
        Ok::<_, Fault>(Reply::text("slept"))
    });
    let first = Turn::new().call("Pay", json!({ "ms": 0 })).call("Sleep", json!({ "ms": 500 }));
    let stage = stage_with(vec![pay(account.clone()), slow], [first, Turn::new().text("Fine.")]).await;
    let mut agent = stage.agent();
    drop_when(&mut agent, "Pay", || paid(&account) == 1).await;
    let outcome = stage.run(&mut agent, "And?").await;
    assert_eq!((outcome.end, paid(&account)), (End::Answered, 1));
    let told = stage.requests()[1].body["messages"][2]["content"].to_string();
    assert!(told.contains("paid") || told.contains("its effect is unknown"), "{told}");
    assert!(told.contains("slept"), "{told}");
}

#[tokio::test]
async fn what_a_dropped_run_has_read_is_shown_by_the_next() {
    let first = Turn::new()
        .call("Read", json!({ "file_path": "poem.txt" }))
        .call("Bash", json!({ "command": "touch started; sleep 60" }));
    let mut stage = Stage::new([first, Turn::new().text("Fine.")]).await;
    stage.workspace.write("poem.txt", b"roses are red\n");
    let engine = haft_testkit::engine(&stage.workspace).tools(haft_tools::builtin());
    let engine = engine.rules(Rules::allowing(["Bash"], Origin::Flag)).build().unwrap();
    stage.session = engine.session(SessionOptions::at(stage.workspace.root())).unwrap();
    let mut agent = stage.agent();
    let started = stage.workspace.root().join("started");
    drop_when(&mut agent, "Go", || started.exists()).await;
    stage.run(&mut agent, "And?").await;
    let told = stage.requests()[1].body["messages"][2]["content"].to_string();
    assert!(told.contains("roses are red") && !told.contains("unchanged"), "{told}");
}
