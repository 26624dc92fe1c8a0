//! Runs that are dropped: whatever is dropped, cancelled, timed out, sent again or begun anew, a call that may change something
//! is made once. What is counted is what is in a file.

use std::{
    fs::{self, OpenOptions},
    future::Future,
    io::Write,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use haft_engine::{Call, Engine, Session, SessionOptions, policy::Mode, result::ToolResult};
use haft_store::{Book, Journal, MemoryBook};
use haft_testkit::Workspace;
use haft_tool::{Cx, Effects, FaultKind, Reply, SharedTool, tool};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::sqlite;

#[derive(Deserialize, JsonSchema)]
struct Pay {
    /// How often it waits before it pays.
    before: u32,
    /// And after.
    after: u32,
}

async fn wait(times: u32) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// Writes a line to a file of its own: that cannot be taken back.
fn pay(account: PathBuf, can_be_undone: bool) -> SharedTool {
    let limit = Duration::from_secs(1);
    let effects = move |_: &Pay| match can_be_undone {
        true => Effects::sends("bank.example"),
        false => Effects::sends("bank.example").irreversible(),
    };
    tool("Pay").effects(effects).spec(move |spec| spec.timeout(limit)).call(move |input: Pay, _: Cx| {
        let account = account.clone();
        async move {
            wait(input.before).await;
            let file = OpenOptions::new().create(true).append(true).open(account);
            file.and_then(|mut file| file.write_all(b"paid\n")).unwrap();
            match input.after {
                FOREVER => std::future::pending().await,
                after => wait(after).await,
            }
            Ok(Reply::text("paid"))
        }
    })
}

const FOREVER: u32 = 99;

fn paid(account: &Path) -> usize {
    fs::read_to_string(account).map_or(0, |text| text.lines().count())
}

/// What is done with a call.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The turn is dropped after it was polled so often.
    Drop(u32),
    /// The same with one that is fed while the model writes.
    DropLive(u32),
    /// The call is the second of a message, and the turn is dropped.
    DropAmongOthers(u32),
    /// The turn is interrupted after it was polled so often, and waited for.
    Interrupt(u32),
    /// The turn is waited for.
    Wait,
    /// Two turns at once are waited for.
    WaitTwice,
    /// Another session begins under the same id.
    NewSession,
    /// Another process goes on with it, where there is a journal.
    NewProcess,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u32..12).prop_map(Step::Drop),
        3 => (0_u32..12).prop_map(Step::DropLive),
        2 => (0_u32..12).prop_map(Step::DropAmongOthers),
        2 => (0_u32..12).prop_map(Step::Interrupt),
        1 => Just(Step::Wait),
        1 => Just(Step::WaitTwice),
        2 => Just(Step::NewSession),
        1 => Just(Step::NewProcess),
    ]
}

/// Polls a future so often, then drops it.
async fn poll_some<T>(future: impl Future<Output = T>, most: u32) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..most {
        if let Poll::Ready(ended) = futures::poll!(&mut future) {
            return Some(ended);
        }
        tokio::task::yield_now().await;
    }
    None
}

struct Stage {
    workspace: Workspace,
    account: PathBuf,
    books: Vec<Arc<dyn Book>>,
    can_be_undone: bool,
}

impl Stage {
    fn engine(&self, process: usize) -> Engine {
        let mut engine =
            haft_testkit::engine(&self.workspace).tool(pay(self.account.clone(), self.can_be_undone));
        if let Some(book) = self.books.get(process % self.books.len().max(1)) {
            engine = engine.journal(Journal::new(book.clone(), |_| {}));
        }
        engine.build().unwrap()
    }

    fn session(&self, engine: &Engine) -> Session {
        let (id, mode) = (Some("s".into()), Mode::Bypass);
        engine.session(SessionOptions { id, mode, ..SessionOptions::at(self.workspace.root()) }).unwrap()
    }

    /// Does the steps, then sends the call once more. Gives the results that were given.
    async fn run(&self, steps: &[Step], call: &Call) -> Vec<ToolResult> {
        let (mut engine, mut process) = (self.engine(0), 0);
        let mut session = self.session(&engine);
        let mut given = Vec::new();
        for step in steps.iter().copied().chain([Step::Wait]) {
            match step {
                Step::Drop(most) => given.extend(poll_some(session.call(call.clone()), most).await),
                Step::DropLive(most) => {
                    let mut turn = session.live_turn();
                    turn.push(call.clone()).unwrap();
                    turn.close();
                    given.extend(poll_some(turn.results(), most).await.into_iter().flatten());
                }
                Step::DropAmongOthers(most) => {
                    let other = Call::new("other", "Read", json!({ "file_path": "nothing" }));
                    let turn = session.turn(vec![other, call.clone()]);
                    given.extend(poll_some(turn, most).await.and_then(|mut results| results.pop()));
                }
                Step::Interrupt(most) => {
                    let interrupting = async {
                        wait(most).await;
                        session.interrupt();
                    };
                    given.push(futures::join!(session.call(call.clone()), interrupting).0);
                }
                Step::Wait => given.push(session.call(call.clone()).await),
                // The first of two may have its answer before the second begins.
                Step::WaitTwice if self.answers_anew() => {}
                Step::WaitTwice => {
                    let both = futures::join!(session.call(call.clone()), session.call(call.clone()));
                    given.extend([both.0, both.1]);
                }
                Step::NewSession => session = self.session(&engine),
                Step::NewProcess if self.books.is_empty() => {}
                Step::NewProcess => {
                    for book in &self.books {
                        book.flush().await.unwrap();
                    }
                    process += 1;
                    engine = self.engine(process);
                    session = self.session(&engine);
                }
            }
            if self.answers_anew() && given.iter().any(|result| !result.is_error()) {
                break;
            }
        }
        given
    }

    /// Without a journal, what was answered and can be taken back is made again if somebody asks for it again.
    fn answers_anew(&self) -> bool {
        self.can_be_undone && self.books.is_empty()
    }
}

/// No journal, one in memory and one on disk.
fn books(kind: usize, directory: &Path) -> Vec<Arc<dyn Book>> {
    let memory = MemoryBook::default();
    let other = memory.of_another_process();
    match kind {
        0 => Vec::new(),
        1 => vec![Arc::new(memory), Arc::new(other)],
        _ => vec![Arc::new(sqlite(directory)), Arc::new(sqlite(directory))],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_drops_retries_and_sessions_make_a_call_twice(
        kind in 0_usize..3,
        can_be_undone in any::<bool>(),
        steps in prop::collection::vec(step(), 0..6),
        before in 0_u32..4,
        after in 0_u32..4,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let stage = Stage {
            workspace: Workspace::new(""),
            account: directory.path().join("account"),
            books: books(kind, directory.path()),
            can_be_undone,
        };
        let call = Call::new("call_1", "Pay", json!({ "before": before, "after": after }));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let given = runtime.block_on(async {
            tokio::time::timeout(Duration::from_secs(20), stage.run(&steps, &call)).await
        });
        let given = given.expect("whoever sends it again gets a result");
        prop_assert!(paid(&stage.account) <= 1, "{} times: {given:?}", paid(&stage.account));
        let is_paid = given.iter().any(|result| !result.is_error());
        prop_assert!(!is_paid || paid(&stage.account) == 1, "nobody is told that it paid when it did not");
    }
}

#[tokio::test]
async fn a_call_that_was_dropped_is_told_as_that_and_not_made_again() {
    for kind in 0..3 {
        let directory = tempfile::tempdir().unwrap();
        let stage = Stage {
            workspace: Workspace::new(""),
            account: directory.path().join("account"),
            books: books(kind, directory.path()),
            can_be_undone: true,
        };
        let engine = stage.engine(0);
        let session = stage.session(&engine);
        let call = Call::new("call_1", "Pay", json!({ "before": 0, "after": FOREVER }));
        drop_once_paid(session.call(call.clone()), &stage.account, 1).await;
        for session in [session, stage.session(&engine)] {
            let again = session.call(call.clone()).await;
            assert_eq!(
                again.fault.as_ref().map(|fault| fault.kind),
                Some(FaultKind::Interrupted),
                "{again:?}"
            );
            assert!(again.text().contains("its effect is unknown"), "{}", again.text());
        }
        assert_eq!(paid(&stage.account), 1);
        let anew = session_of_its_own(&stage, &engine).call(Call { id: "call_2".into(), ..call }).await;
        assert_eq!(anew.fault.as_ref().map(|fault| fault.kind), Some(FaultKind::TimedOut));
        assert_eq!(paid(&stage.account), 2, "a new call in a session of its own is made");
    }
}

/// Drops a run as soon as so many lines are in the file.
async fn drop_once_paid<T>(run: impl Future<Output = T>, account: &Path, times: usize) {
    let payment = async {
        while paid(account) < times {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        () = payment => {}
        _ = run => panic!("it does not end by itself"),
    }
}

fn session_of_its_own(stage: &Stage, engine: &Engine) -> Session {
    engine
        .session(SessionOptions { mode: Mode::Bypass, ..SessionOptions::at(stage.workspace.root()) })
        .unwrap()
}

#[tokio::test]
async fn a_call_that_timed_out_is_answered_and_not_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let stage = Stage {
        workspace: Workspace::new(""),
        account: directory.path().join("account"),
        books: Vec::new(),
        can_be_undone: false,
    };
    let session = stage.session(&stage.engine(0));
    let call = Call::new("call_1", "Pay", json!({ "before": 0, "after": FOREVER }));
    for _ in 0..2 {
        let result = session.call(call.clone()).await;
        assert_eq!(result.fault.as_ref().map(|fault| fault.kind), Some(FaultKind::TimedOut), "{result:?}");
    }
    assert_eq!(paid(&stage.account), 1);
}

#[tokio::test]
async fn a_call_of_a_turn_that_was_dropped_later_keeps_its_result() {
    let directory = tempfile::tempdir().unwrap();
    let stage = Stage {
        workspace: Workspace::new(""),
        account: directory.path().join("account"),
        books: Vec::new(),
        can_be_undone: true,
    };
    let session = stage.session(&stage.engine(0));
    let short = Call::new("call_1", "Pay", json!({ "before": 0, "after": 0 }));
    let endless = Call::new("call_2", "Pay", json!({ "before": 0, "after": FOREVER }));
    let turn = session.turn(vec![short.clone(), endless]);
    drop_once_paid(turn, &stage.account, 2).await;
    let again = session.call(short).await;
    assert_eq!(again.text(), "paid");
    assert_eq!(again.meta.notes.get("recalled"), Some(&json!(true)));
    assert_eq!(paid(&stage.account), 2, "one each");
}
