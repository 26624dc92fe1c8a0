//! When sessions begin and end, as hooks hear of it.

use std::sync::{Arc, Mutex};

use haft_engine::{
    policy::Said,
    turn::{Hook, Now, Occasion},
};
use haft_mcp::server::HttpOptions;
use haft_tool::BoxFuture;
use serde_json::{Value, json};

use super::{
    http::{badge, modern, serve},
    kit::{House, Open},
};

/// Writes down what it hears, and has something to say at the beginning.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

impl Hook for Ear {
    fn occasion<'a>(&'a self, _: Now<'a>, occasion: Occasion<'a>) -> BoxFuture<'a, Vec<Said>> {
        self.0.lock().unwrap().push(occasion.name().to_owned());
        let context = matches!(occasion, Occasion::SessionStart { .. }).then(|| "mind the gap".to_owned());
        Box::pin(async move { vec![Said { context, ..Said::default() }] })
    }
}

impl Ear {
    fn heard(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn house(&self) -> House {
        let ear = self.clone();
        House::new().building(|builder| builder.hook(ear))
    }
}

fn texts(result: &Value) -> Vec<&str> {
    result["content"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect()
}

#[tokio::test]
async fn hooks_hear_once_that_a_session_begins_and_what_they_say_goes_with_the_first_result() {
    let ear = Ear::default();
    let open: Open = ear.house().open();
    for client in &mut [open.legacy(json!({})).await, open.modern(json!({}))] {
        let before = ear.heard().len();
        client.names("tools/list", "tools").await;
        assert_eq!(ear.heard().len(), before, "a list is no call");
        let first = client.call("Sized", json!({ "bytes": 3 })).await.unwrap();
        assert_eq!(texts(&first), ["...", "mind the gap"]);
        let second = client.call("Sized", json!({ "bytes": 3 })).await.unwrap();
        assert_eq!(texts(&second), ["..."]);
        assert_eq!(ear.heard()[before..], ["SessionStart"]);
    }
}

#[tokio::test]
async fn a_session_ends_when_its_client_goes_and_if_it_stays_with_the_door() {
    let ear = Ear::default();
    let open = ear.house().open();
    let (mut leaves, mut stays, idle) =
        (open.modern(json!({})), open.modern(json!({})), open.modern(json!({})));
    for client in [&mut leaves, &mut stays] {
        client.call("Sized", json!({ "bytes": 1 })).await.unwrap();
    }
    drop(leaves);
    while ear.heard().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ear.heard(), ["SessionStart", "SessionStart", "SessionEnd"]);
    open.door.close().await;
    assert_eq!(ear.heard()[3..], ["SessionEnd"], "one that made no call never began");
    open.door.close().await;
    assert_eq!(ear.heard().len(), 4);
    drop((stays, idle));
}

#[tokio::test]
async fn by_http_the_session_of_a_token_ends_with_the_door() {
    let ear = Ear::default();
    let options = HttpOptions { badges: Some(vec![badge("one")]), ..HttpOptions::default() };
    let served = serve(ear.house(), options).await;
    let headers = [
        ("authorization", "Bearer one"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "Sized"),
    ];
    let calls = (0..5).map(|_| {
        let call = json!({ "name": "Sized", "arguments": { "bytes": 1 } });
        served.post(&headers, modern("tools/call", call))
    });
    futures::future::join_all(calls).await;
    assert_eq!(ear.heard(), ["SessionStart"], "five calls at once are one session");
    served.open.door.close().await;
    assert_eq!(ear.heard(), ["SessionStart", "SessionEnd"]);
}
