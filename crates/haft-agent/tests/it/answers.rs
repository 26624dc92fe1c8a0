//! What a run comes to.

use haft_agent::End;
use haft_model::{Dialect, ErrorKind, Stop};
use haft_testkit::{Script, Turn};
use serde_json::json;

use crate::kit::Stage;

#[tokio::test]
async fn a_model_is_asked_until_it_answers_in_every_dialect() {
    for dialect in Dialect::ALL {
        let turns = [
            Turn::new()
                .text("I look.")
                .call("Sleep", json!({ "ms": 1 }))
                .call("Sized", json!({ "bytes": 5 })),
            Turn::new().text("It is five bytes."),
        ];
        let stage = Stage::speaking(dialect, turns).await;
        let mut agent = stage.agent();
        let outcome = stage.run(&mut agent, "How large is it?").await;
        assert_eq!((&outcome.end, outcome.text.as_str()), (&End::Answered, "It is five bytes."), "{dialect}");
        assert_eq!((outcome.turns, outcome.usage.output), (2, 40), "{dialect}");
        let requests = stage.requests();
        assert!(requests[1].text.contains("....."), "{dialect}: {}", requests[1].text);
        assert_eq!(requests[0].connection, requests[1].connection, "{dialect}: one connection is kept");
        assert_eq!((agent.usage().output, agent.context().used > 0), (40, true));
    }
}

#[tokio::test]
async fn the_next_run_goes_on_with_the_conversation() {
    let stage = Stage::new(["One.", "Two."]).await;
    let mut agent = stage.agent();
    stage.run(&mut agent, "First?").await;
    agent.mention("It is late.");
    assert_eq!(stage.run(&mut agent, "Second?").await.text, "Two.");
    let messages = stage.requests()[1].body["messages"].to_string();
    for words in ["First?", "One.", "It is late.", "Second?"] {
        assert!(messages.contains(words), "{words} is not in {messages}");
    }
}

#[tokio::test]
async fn an_overloaded_model_is_asked_again_and_one_that_refuses_is_not() {
    let busy = || Turn::refusal(529, "busy").header("retry-after", "0");
    let stage =
        Stage::new([busy(), busy(), Turn::new().text("Here."), Turn::refusal(401, "who are you?")]).await;
    let mut agent = stage.agent();
    assert_eq!(stage.run(&mut agent, "Hello").await.text, "Here.");
    assert_eq!(
        stage.told(),
        ["asking 1", "again 2: busy", "asking 1", "again 3: busy", "asking 1", "text Here.", "usage"]
    );
    let End::Failed(error) = stage.run(&mut agent, "And now?").await.end else { panic!("it did not fail") };
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Unauthorized, "who are you?"));
    assert_eq!(stage.requests().len(), 4);
}

#[tokio::test]
async fn patience_ends() {
    let stage = Stage::new(haft_testkit::Script::always(Turn::refusal(500, "broken"))).await;
    let End::Failed(error) = stage.run(&mut stage.agent(), "Hello").await.end else {
        panic!("it did not fail")
    };
    assert_eq!((error.kind, stage.requests().len()), (ErrorKind::Server, 3));
    let stage = Stage::new([Turn::refusal(429, "later").header("retry-after", "86400")]).await;
    assert!(matches!(stage.run(&mut stage.agent(), "Hello").await.end, End::Failed(_)));
}

#[tokio::test]
async fn an_answer_that_was_cut_off_goes_on_and_a_refusal_is_the_end() {
    let stage =
        Stage::new([Turn::new().text("One, two").stop(Stop::MaxTokens), Turn::new().text("three.")]).await;
    assert_eq!(stage.run(&mut stage.agent(), "Count").await.text, "three.");
    assert!(stage.requests()[1].text.contains("Go on where it stopped"));
    let stage = Stage::new([Turn::new().text("No.").stop(Stop::Refused)]).await;
    assert_eq!(stage.run(&mut stage.agent(), "Do harm").await.end, End::Refused);
}

#[tokio::test]
async fn a_run_can_be_a_task_of_its_own() {
    let stage =
        Stage::new([Turn::new().call("Sized", json!({ "bytes": 2 })), Turn::new().text("Done.")]).await;
    let mut agent = stage.agent();
    let run = tokio::spawn(async move {
        let interrupt = haft_engine::turn::Interrupt::default();
        agent.run("Go", &mut |_| {}, &interrupt).await
    });
    assert_eq!(run.await.unwrap().text, "Done.");
}

#[tokio::test]
async fn a_model_that_pauses_for_ever_is_not_asked_for_ever() {
    let stage = Stage::new(haft_testkit::Script::always(Turn::new().text("…").stop(Stop::Paused))).await;
    assert_eq!(stage.run(&mut stage.agent(), "Go").await.end, End::TokenLimit);
    assert_eq!(stage.requests().len(), 21);
}

#[tokio::test]
async fn agents_in_one_process_know_nothing_of_each_other() {
    let turns = || [Turn::new().call("Sleep", json!({ "ms": 20 })), Turn::new().text("Done.")];
    let (one, other) = (Stage::new(turns()).await, Stage::new(turns()).await);
    let (mut first, mut second) = (one.agent(), other.agent());
    let run = |stage: &Stage| stage.told();
    let (a, b) = tokio::join!(one.run(&mut first, "A"), other.run(&mut second, "B"));
    assert_eq!((a.end, b.end), (End::Answered, End::Answered));
    assert_eq!(run(&one), run(&other));
    assert!(!other.requests()[1].text.contains("\"A\""));
}

#[tokio::test]
async fn a_model_that_stops_without_a_word_is_asked_again_but_not_for_ever() {
    let stop = Stop::Other("MALFORMED_FUNCTION_CALL".to_owned());
    let stage = Stage::speaking(Dialect::Gemini, [Turn::new().stop(stop), Turn::new().text("Here.")]).await;
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert_eq!((outcome.end, outcome.text.as_str()), (End::Answered, "Here."));
    let told = stage.told();
    let again = "again 2: the model stopped without a word (MALFORMED_FUNCTION_CALL)";
    assert!(told.iter().any(|line| line == again), "{told:?}");
    let requests = stage.requests();
    assert_eq!(requests[0].text, requests[1].text);

    let stage = Stage::new(Script::always(Turn::new())).await;
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert!(matches!(outcome.end, End::Failed(error) if error.kind == ErrorKind::Unreadable));
    assert_eq!(outcome.turns, 3);
}

#[tokio::test]
async fn who_has_said_something_may_end_without_a_word() {
    let first = Turn::new().text("I look.").call("Sized", json!({ "bytes": 5 }));
    let stage = Stage::new([first, Turn::new()]).await;
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert_eq!((outcome.end, outcome.text.as_str(), outcome.turns), (End::Answered, "I look.", 2));

    let silent = Turn::new().call("Sized", json!({ "bytes": 5 }));
    let stage = Stage::new([silent, Turn::new(), Turn::new(), Turn::new()]).await;
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert_eq!((outcome.end, outcome.text.as_str(), outcome.turns), (End::Answered, "", 4));
}
