//! What is kept, and going on with it.

use std::{
    io,
    sync::{Arc, Mutex},
};

use haft_agent::{End, Line, Past, Transcript};
use haft_engine::{
    Engine, SessionOptions,
    policy::{Origin, Rules},
};
use haft_model::{Assistant, Message, Part, Said};
use haft_testkit::{Probe, Turn, sleeping};
use haft_tool::{BoxFuture, CallId};
use serde_json::json;

use crate::kit::Stage;

/// Notes each line among what tools do.
struct Noting {
    probe: Probe,
    hidden: Arc<Mutex<Vec<String>>>,
    text: Arc<Mutex<String>>,
}

impl Transcript for Noting {
    fn keep<'a>(&'a self, line: Line<'a>) -> BoxFuture<'a, io::Result<()>> {
        let words = match line {
            Line::Said { message: Message::User(_), .. } => "user",
            Line::Said { message: Message::Assistant(_), .. } => "assistant",
            Line::Said { message: Message::Results(_), .. } => "results",
            Line::Rewritten(_) => "rewritten",
        };
        if let Line::Said { message, hidden, .. } = line {
            self.hidden.lock().unwrap().extend(hidden.iter().map(ToString::to_string));
            self.text.lock().unwrap().push_str(&format!("{message:?}"));
        }
        self.probe.note(words);
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn a_message_is_kept_before_its_calls_change_anything() {
    let first = Turn::new().call("Sleep", json!({ "ms": 1, "writes": "a.txt" }));
    let stage = Stage::new([first, Turn::new().text("Done.")]).await;
    let noting = Noting { probe: stage.probe.clone(), hidden: Arc::default(), text: Arc::default() };
    let mut agent = stage.builder().transcript(noting).build();
    assert_eq!(stage.run(&mut agent, "Go").await.end, End::Answered);
    assert_eq!(stage.probe.notes(), ["user", "assistant", "+toolu_1", "-toolu_1", "results", "assistant"]);
}

#[tokio::test]
async fn no_secret_is_kept_and_a_call_that_had_one_is_not_made_again() {
    let key = format!("sk-ant-api03-{}", "aB3dE5fG7hJ9".repeat(8));
    let first =
        Turn::new().text(format!("The key is {key}.")).call("Sleep", json!({ "ms": 1, "writes": key }));
    let mut stage = Stage::new([first, Turn::new().text("Done.")]).await;
    let redactor = Arc::new(haft_redact::Redactor::builder().build());
    let engine = Engine::builder().tools([sleeping(&stage.probe)]).redactor(redactor);
    let engine = engine.rules(Rules::allowing(["Sleep", "Edit"], Origin::Flag)).build().unwrap();
    stage.session = engine.session(SessionOptions::at(stage.workspace.root())).unwrap();
    let (hidden, text) = (Arc::default(), Arc::default());
    let noting = Noting { probe: Probe::default(), hidden: Arc::clone(&hidden), text: Arc::clone(&text) };
    let mut agent = stage.builder().transcript(noting).build();
    stage.run(&mut agent, &format!("Use {key}")).await;
    assert!(!text.lock().unwrap().contains(&key), "{}", text.lock().unwrap());
    assert_eq!(*hidden.lock().unwrap(), ["toolu_1"]);

    let said = Assistant {
        parts: vec![Part::new(Said::Call(haft_engine::Call::new("a", "Sleep", json!({ "ms": 1 }))))],
    };
    let open = vec![CallId::from("a")];
    let messages = vec![Message::user("Go"), Message::Assistant(said)];
    let past = Past { messages, hidden: open.clone(), calls: open.clone(), open };
    let again = Stage::new(["Done."]).await;
    let outcome = again.run(&mut again.agent_after(past), "").await;
    assert_eq!((outcome.end, again.probe.notes().len()), (End::Answered, 0));
    assert!(again.requests()[0].text.contains("It is not known what came of this call"));
}

#[tokio::test]
async fn calls_without_results_get_them_before_the_model_is_asked() {
    let call = |id: &str| Part::new(Said::Call(haft_engine::Call::new(id, "Sleep", json!({ "ms": 1 }))));
    let said = Assistant { parts: vec![call("a"), call("b")] };
    let open = vec![CallId::from("a~3"), CallId::from("b")];
    let messages = vec![Message::user("Go"), Message::Assistant(said)];
    let past = Past { messages, calls: open.clone(), open, hidden: Vec::new() };
    let stage = Stage::new(["Done."]).await;
    let mut agent = stage.agent_after(past);
    assert_eq!(stage.run(&mut agent, "").await.text, "Done.");
    let mut began: Vec<String> =
        stage.probe.notes().into_iter().filter(|note| note.starts_with('+')).collect();
    began.sort();
    assert_eq!(began, ["+a~3", "+b"]);
    let results = stage.requests()[0].body["messages"][2]["content"].clone();
    assert_eq!((&results[0]["tool_use_id"], &results[1]["tool_use_id"]), (&json!("a"), &json!("b")));
    assert_eq!(stage.run(&mut agent, "").await.text, "Done.", "what was answered is answered");
    assert_eq!(stage.requests().len(), 1);
}
