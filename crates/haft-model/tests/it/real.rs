//! HTTP, with a real model: two small ones on this machine, behind three of the APIs.
//!
//! Set `HAFT_TEST_MODEL` to the base URL of a server that speaks Messages, Chat Completions and Responses. Without it the
//! test says so and passes.

use std::{env, time::Duration};

use haft_engine::pool::Offer;
use haft_model::{Client, Dialect, Endpoint, History, Message, RequestOptions, Stop};
use haft_tool::Schema;
use serde_json::json;

use crate::table;

#[tokio::test]
async fn a_real_model_calls_a_tool_and_goes_on_with_its_result() {
    let Ok(base) = env::var("HAFT_TEST_MODEL") else {
        println!("skipped: HAFT_TEST_MODEL is not set");
        return;
    };
    for dialect in [Dialect::Anthropic, Dialect::OpenAi, Dialect::Responses] {
        for whole in [false, true] {
            let (calls, text) = converse(&base, dialect, whole).await;
            println!("{dialect}, whole {whole}: {calls:?}, then {text:?}");
            assert!(calls[0].contains("Read") && calls[0].contains("src/main.rs"), "{dialect}: {calls:?}");
            assert!(!text.trim().is_empty(), "{dialect}: the model says something in the end");
        }
    }
}

async fn converse(base: &str, dialect: Dialect, whole: bool) -> (Vec<String>, String) {
    let schema = Schema::from_value(json!({ "type": "object", "properties": {
        "path": { "type": "string", "description": "The file." } }, "required": ["path"] }));
    let endpoint = Endpoint::new(dialect).base(base).idle_timeout(Duration::from_secs(240));
    let client = Client::new(endpoint).expect("a good address");
    let mut history = History::new(dialect);
    history.set_tools([Offer {
        name: "Read",
        title: "Read",
        prompt: "Reads a file.",
        schema: &schema,
        output: None,
        deferred: false,
    }]);
    history.push(Message::user("Read the file src/main.rs"));
    let options =
        RequestOptions { max_tokens: Some(64), temperature: Some(0.0), whole, ..RequestOptions::new("any") };
    let first = client.ask(&history.request(&options)).await.expect("an answer");
    assert_eq!(first.stop, Stop::Calls, "{dialect}: {:?}", first.message);
    let calls: Vec<_> = first.message.calls().cloned().collect();
    history.push(first.message);
    let results = calls.iter().map(|call| {
        let (_, result) = table::results().swap_remove(0);
        haft_engine::result::ToolResult { call: call.id.clone(), tool: call.name.clone(), ..result }
    });
    history.push(Message::Results(results.collect()));
    let last = client.ask(&history.request(&options)).await.expect("an answer");
    (calls.iter().map(|call| format!("{} {:?}", call.name, call.input)).collect(), last.message.text())
}
