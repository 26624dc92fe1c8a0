//! Conversations that become too long.

use haft_agent::End;
use haft_model::Usage;
use haft_testkit::{Script, Turn};
use serde_json::json;

use crate::kit::Stage;

/// A model that looks at something large so many times, and writes a summary when it is asked to.
fn reader(times: u64, bytes: u64) -> Script {
    let mut seen = 0;
    Script::new(move |request| {
        // It counts nothing, so that what is sent is estimated.
        let usage = Usage::default();
        if request.text.contains("goes on from a summary") {
            return Turn::new().text("SUMMARY: it was large.").usage(usage);
        }
        seen += 1;
        match seen <= times {
            true => Turn::new().call("Sized", json!({ "bytes": bytes + seen })).usage(usage),
            false => Turn::new().text("Done.").usage(usage),
        }
    })
}

#[tokio::test]
async fn the_oldest_results_become_handles_first() {
    let mut stage = Stage::new(reader(8, 4_000)).await;
    stage.options.window = 8_000;
    let mut agent = stage.agent();
    assert_eq!(stage.run(&mut agent, "Look").await.end, End::Answered);
    assert!(stage.told().contains(&"compacted".to_owned()));
    let requests = stage.requests();
    let last = &requests.last().unwrap().text;
    let (_, rest) = last.split_once("was put away to make room. It is in ").expect("a handle");
    let path = rest.split(": read it again").next().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap().len(), 4_001);
    assert!(!requests.iter().any(|request| request.text.contains("goes on from a summary")));
    assert!(requests.iter().all(|request| request.text.len() < 8_000 * 4));
}

#[tokio::test]
async fn where_handles_are_not_enough_the_model_writes_a_summary() {
    let mut stage = Stage::new(reader(80, 500)).await;
    stage.options.window = 7_000;
    let mut agent = stage.agent();
    assert_eq!(stage.run(&mut agent, "Look eighty times").await.end, End::Answered);
    let requests = stage.requests();
    let summary = requests
        .iter()
        .position(|request| request.text.contains("goes on from a summary"))
        .expect("a summary");
    let after = &requests[summary + 1].text;
    for words in ["SUMMARY: it was large.", "Look eighty times", "tool_result"] {
        assert!(after.contains(words), "{words} is not in {after}");
    }
    assert!(requests.iter().all(|request| request.text.len() < 7_000 * 4));
}

#[tokio::test]
async fn an_api_that_finds_the_conversation_too_long_is_asked_once_more_with_less() {
    let mut seen = 0;
    let stage = Stage::new(Script::new(move |request| {
        if request.text.contains("goes on from a summary") {
            return Turn::new().text("SUMMARY");
        }
        seen += 1;
        match seen {
            1..=4 => Turn::new().call("Sized", json!({ "bytes": 20_000 + seen })).usage(Usage::default()),
            5 => Turn::refusal(400, "prompt is too long: 210000 tokens > 200000 maximum"),
            _ => Turn::new().text("Done."),
        }
    }))
    .await;
    let mut agent = stage.agent();
    assert_eq!(stage.run(&mut agent, "Look").await.end, End::Answered);
    assert_eq!(stage.told().iter().filter(|line| *line == "compacted").count(), 1);
    let stage =
        Stage::new(Script::always(Turn::refusal(400, "prompt is too long: 3 tokens > 2 maximum"))).await;
    assert!(matches!(stage.run(&mut stage.agent(), "Look").await.end, End::Failed(_)));
}

#[tokio::test]
async fn a_person_can_have_it_made_shorter() {
    let stage = Stage::new(reader(3, 2_000)).await;
    let mut agent = stage.agent();
    stage.run(&mut agent, "Look").await;
    let interrupt = haft_engine::turn::Interrupt::default();
    let compacted = agent.compact("the colour", &mut |_| {}, &interrupt).await.unwrap();
    assert!(compacted.after < compacted.before);
    assert!(stage.requests().pop().unwrap().text.contains("Above all, keep: the colour"));
    assert_eq!(agent.history().messages().len(), 1);
    assert_eq!(stage.run(&mut agent, "And?").await.end, End::Answered);
}

#[tokio::test]
async fn a_picture_takes_what_a_picture_takes_and_is_seen() {
    let script = [
        Turn::new().call("Picture", json!({ "bytes": 1_300_000 })).usage(Usage::default()),
        Turn::new().text("A cat."),
    ];
    let mut stage = Stage::new(script).await;
    stage.options.window = 100_000;
    let mut agent = stage.agent();
    assert_eq!(stage.run(&mut agent, "What is in it?").await.text, "A cat.");
    assert!(!stage.told().contains(&"compacted".to_owned()));
    assert!(stage.requests()[1].text.len() > 1_300_000);
    assert!(agent.context().used < 20_000, "{:?}", agent.context());
}

#[tokio::test]
async fn one_large_result_in_a_small_window_is_shown_in_part_and_nothing_else_is_lost() {
    let mut stage = Stage::new(reader(1, 60_000)).await;
    stage.options.window = 16_000;
    let mut agent = stage.agent();
    assert_eq!(stage.run(&mut agent, "Count the legs").await.end, End::Answered);
    let requests = stage.requests();
    assert_eq!(requests.len(), 2, "no summary is needed");
    let last = &requests[1].text;
    for words in ["Count the legs", "0123456789abcdef", "left out", "was put away to make room. It is in "] {
        assert!(last.contains(words), "{words} is not in {last}");
    }
    assert!(last.len() < 16_000 * 4);
}

#[tokio::test]
async fn whoever_writes_the_summary_knows_what_the_person_asked() {
    let mut stage = Stage::new(reader(80, 500)).await;
    stage.options.window = 7_000;
    let mut agent = stage.agent();
    assert_eq!(stage.run(&mut agent, "Count the legs").await.end, End::Answered);
    for request in stage.requests().iter().filter(|request| request.text.contains("goes on from a summary")) {
        assert!(request.text.contains("Count the legs"), "{}", request.text);
    }
}

#[tokio::test]
async fn what_was_answered_is_not_asked_again_after_a_summary() {
    let stage = Stage::speaking(haft_model::Dialect::OpenAi, reader(3, 2_000)).await;
    let mut agent = stage.agent();
    stage.run(&mut agent, "Count the legs").await;
    let interrupt = haft_engine::turn::Interrupt::default();
    agent.compact("", &mut |_| {}, &interrupt).await.unwrap();
    assert_eq!(stage.run(&mut agent, "And the arms?").await.end, End::Answered);
    let request = stage.requests().pop().unwrap();
    assert!(!request.text.contains("Count the legs"), "{}", request.text);
    let roles: Vec<_> = request.body["messages"].as_array().unwrap().iter().map(|one| &one["role"]).collect();
    assert_eq!(roles, ["system", "user"]);
    for words in ["SUMMARY", "And the arms?"] {
        assert!(request.text.contains(words), "{words} is not in {}", request.text);
    }
}
