//! Calls while the model writes, and answers that break off.

use std::time::Duration;

use haft_agent::End;
use haft_testkit::{Script, Turn};
use serde_json::{Value, json};

use crate::kit::Stage;

const PAUSE: Duration = Duration::from_millis(300);

fn place(told: &[String], words: &str) -> usize {
    told.iter().position(|line| line == words).unwrap_or_else(|| panic!("no `{words}` in {told:?}"))
}

#[tokio::test]
async fn what_only_reads_is_done_while_the_model_still_writes() {
    let first = Turn::new().call("Sleep", json!({ "ms": 1 })).pause(PAUSE).text("So.");
    let stage = Stage::new([first, Turn::new().text("Done.")]).await;
    stage.run(&mut stage.agent(), "Go").await;
    let told = stage.told();
    assert!(place(&told, "finished toolu_1") < place(&told, "text So."), "{told:?}");
}

#[tokio::test]
async fn what_changes_something_waits_for_the_end_of_the_message() {
    let first = Turn::new().call("Sleep", json!({ "ms": 1, "writes": "a.txt" })).pause(PAUSE).text("So.");
    let stage = Stage::new([first, Turn::new().text("Done.")]).await;
    stage.run(&mut stage.agent(), "Go").await;
    let told = stage.told();
    assert!(place(&told, "text So.") < place(&told, "started toolu_1"), "{told:?}");
}

#[tokio::test]
async fn a_stream_that_breaks_before_anything_ran_is_asked_for_again_word_for_word() {
    let stage = Stage::new([Turn::new().text("I was about").cut(), Turn::new().text("Here.")]).await;
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert_eq!((outcome.end, outcome.text.as_str()), (End::Answered, "Here."));
    let requests = stage.requests();
    assert_eq!(requests[0].text, requests[1].text);
}

#[tokio::test]
async fn what_ran_before_a_stream_broke_is_neither_lost_nor_done_again() {
    let first = Turn::new()
        .text("I look.")
        .call("Sleep", json!({ "ms": 1 }))
        .call("Sleep", json!({ "ms": 1, "writes": "a.txt" }))
        .pause(PAUSE)
        .error("overloaded_error", "too much");
    let stage = Stage::new([first, Turn::new().text("Done.")]).await;
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert_eq!(outcome.end, End::Answered);
    assert_eq!(stage.probe.notes(), ["+toolu_1", "-toolu_1"]);
    let messages = stage.requests()[1].body["messages"].clone();
    let results = &messages[2]["content"];
    assert_eq!(
        (&messages[1]["content"][1]["id"], &results[0]["tool_use_id"]),
        (&json!("toolu_1"), &json!("toolu_1"))
    );
    assert_eq!((&results[0]["is_error"], &results[1]["is_error"]), (&Value::Null, &json!(true)));
    assert!(results[1].to_string().contains("nothing was done"), "{results}");
}

#[tokio::test]
async fn ids_that_come_again_are_told_apart_and_given_back() {
    let mut turns = 0;
    let script = Script::new(move |_| {
        turns += 1;
        match turns {
            // The same call each time: it is a new one each time.
            1..=3 => Turn::new()
                .text(format!("{turns}"))
                .call("Sleep", json!({ "ms": 1 }))
                .call("Sized", json!({ "bytes": turns })),
            _ => Turn::new().text("Done."),
        }
    });
    let stage = Stage::new(script).await;
    assert_eq!(stage.run(&mut stage.agent(), "Go").await.end, End::Answered);
    assert_eq!(stage.probe.notes().len(), 6, "{:?}", stage.probe.notes());
    let calls: Vec<String> = stage.told().into_iter().filter(|line| line.starts_with("call ")).collect();
    assert_eq!(calls.iter().collect::<std::collections::BTreeSet<_>>().len(), 6, "{calls:?}");
    let last = stage.requests().pop().unwrap().body["messages"].clone();
    assert_eq!(last[6]["content"][0]["tool_use_id"], "toolu_1", "{last}");
    assert!(!last.to_string().contains('~'));
}

#[tokio::test]
async fn an_answer_that_broke_off_after_calls_goes_back_with_its_thoughts() {
    let first = Turn::new()
        .thinking("Where?")
        .call("Sleep", json!({ "ms": 1 }))
        .pause(PAUSE)
        .thinking("And then")
        .error("overloaded_error", "too much");
    let stage = Stage::new([first, Turn::new().text("Done.")]).await;
    assert_eq!(stage.run(&mut stage.agent(), "Go").await.end, End::Answered);
    let said = stage.requests()[1].body["messages"][1]["content"].clone();
    let kinds: Vec<&str> =
        said.as_array().unwrap().iter().filter_map(|block| block["type"].as_str()).collect();
    assert_eq!((kinds, &said[0]["signature"]), (vec!["thinking", "tool_use"], &json!("c2ln")));
}

#[tokio::test]
async fn reasoning_goes_back_with_the_call_that_came_of_it_and_not_without() {
    let first = Turn::new()
        .thinking("Where?")
        .call("Sleep", json!({ "ms": 1 }))
        .pause(PAUSE)
        .thinking("And then")
        .error("server_error", "too much");
    let stage = Stage::speaking(haft_model::Dialect::Responses, [first, Turn::new().text("Done.")]).await;
    assert_eq!(stage.run(&mut stage.agent(), "Go").await.end, End::Answered);
    let input = stage.requests()[1].body["input"].clone();
    let kinds: Vec<&str> =
        input.as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(kinds, ["message", "reasoning", "function_call", "function_call_output"], "{input}");
}
