//! Interrupts, limits, circles.

use haft_agent::End;
use haft_model::Dialect;
use haft_testkit::{Script, Turn};
use serde_json::json;

use crate::kit::Stage;

#[tokio::test]
async fn an_interrupt_keeps_what_was_done_and_the_conversation_goes_on() {
    let first = Turn::new()
        .text("I wait.")
        .call("Sized", json!({ "bytes": 3 }))
        .call("Sleep", json!({ "ms": 60_000 }));
    let stage = Stage::new([first, Turn::new().text("Fine.")]).await;
    let mut agent = stage.agent();
    let outcome = stage
        .run_with(&mut agent, "Wait", |words, interrupt| {
            if words == "started toolu_2" {
                interrupt.trigger();
            }
        })
        .await;
    assert_eq!((&outcome.end, outcome.text.as_str()), (&End::Interrupted, "I wait."));
    assert_eq!(stage.run(&mut agent, "Never mind").await.text, "Fine.");
    let messages = stage.requests()[1].body["messages"].clone();
    let results = messages[2]["content"].to_string();
    assert!(results.contains("...") && results.contains("is_error"), "{results}");
    assert!(messages.to_string().contains("The person stopped the turn"), "{messages}");
}

#[tokio::test]
async fn an_interrupt_while_the_model_writes_keeps_its_words() {
    let first = Turn::new().text("A long story").pause(std::time::Duration::from_secs(60)).text("ends.");
    let stage = Stage::new([first, Turn::new().text("Fine.")]).await;
    let mut agent = stage.agent();
    let stop = |words: &str, interrupt: &haft_engine::turn::Interrupt| {
        if words.starts_with("text") {
            interrupt.trigger();
        }
    };
    let outcome = stage.run_with(&mut agent, "Tell", stop).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (End::Interrupted, "A long story"));
    assert_eq!(stage.run(&mut agent, "Enough").await.end, End::Answered);
    assert!(stage.requests()[1].text.contains("A long story"));
}

#[tokio::test]
async fn an_interrupt_before_the_first_word_leaves_the_question_alone() {
    let first = Turn::new().pause(std::time::Duration::from_secs(60)).text("late");
    let stage = Stage::new([first, Turn::new().text("Fine.")]).await;
    let mut agent = stage.agent();
    let stop = |words: &str, interrupt: &haft_engine::turn::Interrupt| {
        if words == "asking 1" {
            interrupt.trigger();
        }
    };
    assert_eq!(stage.run_with(&mut agent, "Tell", stop).await.end, End::Interrupted);
    assert_eq!(agent.history().messages().len(), 1);
}

fn endless() -> Script {
    let mut bytes = 0;
    Script::new(move |_| {
        bytes += 1;
        Turn::new().text(format!("Step {bytes}.")).call("Sized", json!({ "bytes": bytes }))
    })
}

#[tokio::test]
async fn a_run_ends_after_so_many_turns_or_tokens() {
    let mut stage = Stage::new(endless()).await;
    stage.options.max_turns = Some(3);
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert_eq!((outcome.end, outcome.turns, outcome.text.as_str()), (End::TurnLimit, 3, "Step 3."));
    let mut stage = Stage::new(endless()).await;
    stage.options.max_tokens = Some(50);
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert_eq!((outcome.end, outcome.usage.output), (End::TokenLimit, 60));
}

#[tokio::test]
async fn an_answer_gets_no_more_tokens_than_the_run_has_left() {
    for (dialect, field) in [
        (Dialect::Anthropic, "/max_tokens"),
        (Dialect::OpenAi, "/max_tokens"),
        (Dialect::Responses, "/max_output_tokens"),
        (Dialect::Gemini, "/generationConfig/maxOutputTokens"),
    ] {
        let mut stage = Stage::speaking(dialect, endless()).await;
        stage.options.max_tokens = Some(50);
        stage.options.answer_tokens = Some(40);
        stage.run(&mut stage.agent(), "Go").await;
        let asked: Vec<u64> = stage
            .requests()
            .iter()
            .map(|request| request.body.pointer(field).unwrap().as_u64().unwrap())
            .collect();
        // Less than 16 no API would take.
        assert_eq!(asked, [40, 30, 16], "{dialect}");
    }
}

#[tokio::test]
async fn an_answer_gets_no_more_tokens_than_the_window_has_room_for() {
    // 8,000 of 10,000 tokens would be made shorter.
    let counted = haft_model::Usage { input: 6_000, output: 20, ..Default::default() };
    let first = Turn::new().call("Sized", json!({ "bytes": 4 })).usage(counted);
    let mut stage = Stage::new([first, Turn::new().text("Done.")]).await;
    stage.options.window = 10_000;
    stage.run(&mut stage.agent(), &"long ".repeat(4_000)).await;
    let asked: Vec<u64> =
        stage.requests().iter().map(|request| request.body["max_tokens"].as_u64().unwrap()).collect();
    assert_eq!(asked[0], 32_000, "nobody has counted yet");
    assert!((3_000..4_000).contains(&asked[1]), "{asked:?}");
}

#[tokio::test]
async fn that_the_person_stopped_it_is_known_to_whoever_goes_on() {
    let first = || Turn::new().text("A long story").pause(std::time::Duration::from_secs(60)).text("ends.");
    for words in ["Enough", ""] {
        let stage = Stage::new([first(), Turn::new().text("Fine.")]).await;
        let mut agent = stage.agent();
        let stop = |words: &str, interrupt: &haft_engine::turn::Interrupt| {
            if words.starts_with("text") {
                interrupt.trigger();
            }
        };
        stage.run_with(&mut agent, "Tell", stop).await;
        // Another process has what was said, and nothing else.
        let past = haft_agent::Past { messages: agent.history().messages().to_vec(), ..Default::default() };
        let outcome = stage.run(&mut stage.agent_after(past), words).await;
        assert_eq!((outcome.end, outcome.text.as_str()), (End::Answered, "Fine."));
        let messages = stage.requests()[1].body["messages"].clone();
        assert_eq!(messages.as_array().map(Vec::len), Some(3), "{messages}");
        let told = messages[2]["content"].to_string();
        assert!(told.contains("The person stopped the turn"), "{told}");
        assert!(told.contains(if words.is_empty() { "go on with it" } else { words }), "{told}");
    }
}

#[tokio::test]
async fn a_model_in_a_circle_is_told_and_then_stopped() {
    let stage = Stage::new(Script::always(Turn::new().call("Sized", json!({ "bytes": 7 })))).await;
    let mut agent = stage.agent();
    let outcome = stage.run(&mut agent, "Go").await;
    assert_eq!((outcome.end, outcome.turns), (End::Stuck("Sized".to_owned()), 4));
    let told: Vec<bool> =
        stage.requests().iter().map(|request| request.text.contains("three times")).collect();
    assert_eq!(told, [false, false, false, true]);
    assert!(matches!(agent.history().messages().last(), Some(haft_model::Message::Results(_))));
}

#[tokio::test]
async fn what_a_person_asks_for_again_is_no_circle() {
    let mut asked = 0;
    let script = Script::new(move |_| {
        asked += 1;
        match asked % 2 {
            1 => Turn::new().call("Sized", json!({ "bytes": 7 })),
            _ => Turn::new().text("Seven."),
        }
    });
    let stage = Stage::new(script).await;
    let mut agent = stage.agent();
    for _ in 0..6 {
        let outcome = stage.run(&mut agent, "Look").await;
        assert_eq!((outcome.end, outcome.turns), (End::Answered, 2));
    }
    assert!(!stage.requests().iter().any(|request| request.text.contains("three times")));
}

#[tokio::test]
async fn looking_at_what_still_runs_does_not_end_the_run() {
    let mut asked = 0;
    let stage = Stage::with_tools(Script::new(move |_| {
        asked += 1;
        match asked {
            1 => Turn::new().call("Bash", json!({ "command": "sleep 30", "background": true })),
            2..=8 => Turn::new().call("TaskOutput", json!({ "task_id": "task-1" })),
            _ => Turn::new().text("It takes long."),
        }
    }))
    .await;
    let outcome = stage.run(&mut stage.agent(), "Wait").await;
    assert_eq!((outcome.end, outcome.text.as_str()), (End::Answered, "It takes long."));
    assert!(stage.requests().pop().unwrap().text.contains("To wait for it, set `timeout`"));
    stage.session.end().await;
}

#[tokio::test]
async fn what_was_typed_is_kept_when_old_calls_are_stopped() {
    let call = haft_engine::Call::new("a", "Sleep", json!({ "ms": 60_000 }));
    let said = haft_model::Assistant { parts: vec![haft_model::Part::new(haft_model::Said::Call(call))] };
    let messages = vec![haft_model::Message::user("Go"), haft_model::Message::Assistant(said)];
    let open = vec![haft_tool::CallId::from("a")];
    let past = haft_agent::Past { messages, calls: open.clone(), open, hidden: Vec::new() };
    let stage = Stage::new(["Fine."]).await;
    let mut agent = stage.agent_after(past);
    let stop = |words: &str, interrupt: &haft_engine::turn::Interrupt| {
        if words.starts_with("started") {
            interrupt.trigger();
        }
    };
    assert_eq!(stage.run_with(&mut agent, "Never mind the legs", stop).await.end, End::Interrupted);
    assert_eq!(stage.run(&mut agent, "And now?").await.text, "Fine.");
    assert!(stage.requests()[0].text.contains("Never mind the legs"));
}
