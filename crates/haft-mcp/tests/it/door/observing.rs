//! Who hears of requests.

use std::sync::{Arc, Mutex};

use haft_mcp::{
    Passage,
    server::{About, Answer, OpenRequest, RequestFacts, RequestObserver},
};
use haft_testkit::{Probe, sleeping};
use haft_tool::{Effects, Reply, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::kit::{House, text};

/// Writes down what it hears, and names requests.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

impl Ear {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join(", ")
    }
}

impl RequestObserver for Ear {
    fn request(&self, request: &RequestFacts<'_>) -> Option<Box<dyn OpenRequest>> {
        let RequestFacts { method, id, is_http, trace, .. } = request;
        assert!(!is_http && !request.session.is_empty());
        assert_eq!(request.about.is_some(), *method == "tools/call");
        assert!(matches!(request.about, None | Some(About::Tool("Trace" | "Sleep"))));
        self.note(format!("{method} {id} of {}", trace.map_or("nobody", |trace| trace.parent)));
        (*method != "ping")
            .then(|| Box::new(Open { ear: self.clone(), is_open: true }) as Box<dyn OpenRequest>)
    }
}

struct Open {
    ear: Ear,
    is_open: bool,
}

impl OpenRequest for Open {
    fn traceparent(&self) -> Option<String> {
        Some("ours".to_owned())
    }

    fn answered(mut self: Box<Self>, answer: Answer) {
        self.is_open = false;
        self.ear.note(format!("{answer:?}"));
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.is_open {
            self.ear.note("taken back".to_owned());
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn every_request_is_heard_of_and_its_call_has_the_name_that_it_was_given() {
    let ear = Ear::default();
    let trace = tool("Trace").effects(|_: &Nothing| Effects::none()).call(|_: Nothing, _| async {
        let passage = Passage::current().expect("a call that came in at the door");
        Ok(Reply::text(passage.meta()["traceparent"].to_string()))
    });
    let open = House::new().building(|builder| builder.tool(trace)).observed(ear.clone()).open();
    for mut client in [open.legacy(json!({})).await, open.modern(json!({}))] {
        ear.take();
        let params = json!({ "name": "Trace", "arguments": {}, "_meta": { "traceparent": "theirs" } });
        let result = client.ask("tools/call", params).await.unwrap();
        assert_eq!(text(&result), "\"ours\"");
        assert!(ear.take().ends_with("of theirs, Given"));
        let wrong = json!({ "name": "Trace", "arguments": { "odd": 1 } });
        client.ask("tools/call", wrong).await.unwrap();
        assert!(ear.take().ends_with("Failed"));
        assert!(client.ask("no/such", json!({})).await.is_err());
        assert!(ear.take().ends_with("of nobody, Refused(-32601)"));
    }
}

#[tokio::test]
async fn a_request_that_is_taken_back_has_no_end_and_one_of_no_interest_no_beginning() {
    let ear = Ear::default();
    let probe = Probe::default();
    let open = House::new().building(|builder| builder.tool(sleeping(&probe))).observed(ear.clone()).open();
    let mut client = open.legacy(json!({})).await;
    ear.take();
    client.ask("ping", json!({})).await.unwrap();
    assert_eq!(ear.take(), "ping 2 of nobody");
    let id = client.send("tools/call", json!({ "name": "Sleep", "arguments": { "ms": 60_000 } })).await;
    while probe.notes().is_empty() {
        tokio::task::yield_now().await;
    }
    let taken_back =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    client.say(taken_back).await;
    client.ask("ping", json!({})).await.unwrap();
    assert_eq!(ear.take(), "tools/call 3 of nobody, taken back, ping 4 of nobody");
}
