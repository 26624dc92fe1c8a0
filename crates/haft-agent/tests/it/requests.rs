//! What the API is sent, turn after turn.

use haft_agent::End;
use haft_model::Dialect;
use haft_testkit::{Script, Turn};
use haft_tool::{Effects, Fault, Reply, SharedTool, tool};
use haft_tools::ToolSearch;
use serde_json::{Value, json};

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

/// A tool that is searched for, with a description of so many bytes.
fn searched_for(name: &'static str, bytes: usize) -> SharedTool {
    tool(name)
        .prompt(format!("Counts sheep. Use it in tests only. {}", "b".repeat(bytes)))
        .effects(|_: &Value| Effects::none())
        .call(|_: Value, _| async { Ok::<_, Fault>(Reply::text("3")) })
}

/// A model that finds a tool and calls it, in a session with these.
async fn finding(tools: Vec<SharedTool>, refers: bool) -> Stage {
    let script = [
        Turn::new().call("ToolSearch", json!({ "query": "select:Sheep" })),
        Turn::new().call("Sheep", json!({})),
        Turn::new().text("Three."),
    ];
    let mut stage = Stage::with(Dialect::Anthropic, script, |engine| {
        engine.kernel(ToolSearch).tools(tools).settings(|figures| figures.thresholds.count = 0)
    })
    .await;
    stage.options.tool_references = refers;
    stage
}

/// The tools of each request, without marks for the cache.
async fn tools_of_each(stage: &Stage) -> Vec<String> {
    assert_eq!(stage.run(&mut stage.agent(), "How many?").await.text, "Three.");
    let unmarked = |text: &str| text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    stage.requests().iter().map(|request| unmarked(tools(&request.text))).collect()
}

#[tokio::test]
async fn a_tool_that_was_found_is_appended_or_referred_to_and_nothing_before_it_changes() {
    let both = || vec![searched_for("Sheep", 0), searched_for("Wolves", 0)];
    let appending = finding(both(), false).await;
    let each = tools_of_each(&appending).await;
    assert!(each[1].starts_with(&each[0]) && each[1].len() > each[0].len() && each[1] == each[2], "{each:?}");
    assert!(each[1].contains("Sheep") && !each[1].contains("\"name\":\"Wolves\""));

    let referring = finding(both(), true).await;
    let each = tools_of_each(&referring).await;
    assert!(each.iter().all(|tools| *tools == each[0]), "{each:?}");
    assert_eq!(each[0].matches("\"defer_loading\":true").count(), 5, "{}", each[0]);
    let found = &referring.requests()[1].body["messages"][2]["content"][0]["content"];
    assert_eq!(*found, json!([{ "type": "tool_reference", "tool_name": "Sheep" }]));
}

#[tokio::test]
async fn tools_that_are_too_many_to_send_are_appended_when_they_are_found() {
    let stage = finding(vec![searched_for("Sheep", 0), searched_for("Wolves", 600_000)], true).await;
    let each = tools_of_each(&stage).await;
    assert!(each[1].starts_with(&each[0]) && each[1].len() > each[0].len(), "{each:?}");
    assert!(each[0].len() < 100_000 && !stage.requests()[1].text.contains("tool_reference"));
}

#[tokio::test]
async fn what_was_found_is_shown_where_no_result_says_so_any_more() {
    let stage = finding(vec![searched_for("Sheep", 0), searched_for("Wolves", 0)], true).await;
    tools_of_each(&stage).await;
    // A new conversation in the session: the tool is loaded, and its reference was in the other one.
    let stage = Stage { server: haft_testkit::ModelServer::start(["Hi."]).await, ..stage };
    stage.run(&mut stage.agent(), "Hello").await;
    let body = &stage.requests()[0].body;
    let is_kept = |name: &str| {
        let tool = body["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        tool.get("defer_loading").is_some()
    };
    assert!(!is_kept("Sheep") && is_kept("Wolves"));
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
async fn the_session_is_named_only_where_the_caller_says_that_the_field_is_known() {
    for dialect in [Dialect::OpenAi, Dialect::Responses] {
        let mut stage = Stage::speaking(dialect, ["Hi.", "Hi."]).await;
        stage.run(&mut stage.agent(), "Hello").await;
        stage.options.cache_key = true;
        stage.run(&mut stage.agent(), "Hello").await;
        let keys: Vec<Value> =
            stage.requests().iter().map(|request| request.body["prompt_cache_key"].clone()).collect();
        assert_eq!(keys, [json!(null), json!(stage.session.id().to_string())], "{dialect}");
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
