//! What the API is sent, turn after turn.

use haft_agent::End;
use haft_model::Dialect;
use haft_testkit::{Script, Turn};
use serde_json::json;

use crate::kit::Stage;

/// The text between `"tools":[` and the bracket that closes it.
fn tools(text: &str) -> &str {
    let start = text.find("\"tools\":[").unwrap();
    let mut depth = 0;
    let end = text[start..].char_indices().find(|(_, c)| {
        depth += match c {
            '[' => 1,
            ']' => -1,
            _ => 0,
        };
        *c == ']' && depth == 0
    });
    &text[start..start + end.unwrap().0]
}

#[tokio::test]
async fn the_tools_and_the_beginning_of_a_request_are_the_same_bytes_in_every_turn() {
    for dialect in Dialect::ALL {
        let mut turn = 0;
        let script = Script::new(move |_| {
            turn += 1;
            if turn < 6 {
                Turn::new().call("Sized", json!({ "bytes": turn }))
            } else {
                Turn::new().text("Done.")
            }
        });
        let stage = Stage::speaking(dialect, script).await;
        assert_eq!(stage.run(&mut stage.agent(), "Go").await.end, End::Answered);
        let requests = stage.requests();
        for pair in requests.windows(2) {
            assert_eq!(tools(&pair[0].text), tools(&pair[1].text), "{dialect}");
            let same = pair[0].text.bytes().zip(pair[1].text.bytes()).take_while(|(a, b)| a == b).count();
            // Cache marks of Anthropic move with the end of the conversation; what is before them does not.
            let end = if dialect == Dialect::Anthropic { 0.6 } else { 0.8 };
            assert!(
                same as f64 > end * pair[0].text.len() as f64,
                "{dialect}: {same} of {}",
                pair[0].text.len()
            );
        }
    }
}

#[tokio::test]
async fn the_model_is_told_where_it_is_and_what_the_caller_adds() {
    let mut stage = Stage::new(["Hi."]).await;
    stage.options.system.push("Answer in verse.".to_owned());
    stage.run(&mut stage.agent(), "Hello").await;
    let system = stage.requests()[0].body["system"].to_string();
    let workspace = stage.workspace.root().display().to_string();
    for words in ["You are haft", "Answer in verse.", &workspace] {
        assert!(system.contains(words), "{words} is not in {system}");
    }
}

#[tokio::test]
async fn a_conversation_goes_on_with_another_api() {
    let stage = Stage::new([
        Turn::new().call("Sized", json!({ "bytes": 3 })),
        Turn::new().text("Three."),
        Turn::new().text("Still three."),
    ])
    .await;
    let mut agent = stage.agent();
    stage.run(&mut agent, "How many?").await;
    let endpoint = haft_model::Endpoint::new(Dialect::OpenAi).base(stage.server.url());
    let other = std::sync::Arc::new(haft_model::Client::new(endpoint).unwrap());
    agent.set_model(other, Dialect::OpenAi, "other");
    assert_eq!(stage.run(&mut agent, "Sure?").await.text, "Still three.");
    let request = stage.requests().pop().unwrap();
    assert_eq!((request.dialect, &request.body["model"]), (Some(Dialect::OpenAi), &json!("other")));
    assert!(request.text.contains("\"tool_call_id\":\"toolu_1\"") && request.text.contains("\"tools\":["));
}
