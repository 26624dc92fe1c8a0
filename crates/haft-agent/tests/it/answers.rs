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
        Stage::new([Turn::new().text("One, two, ").stop(Stop::MaxTokens), Turn::new().text("three.")]).await;
    assert_eq!(stage.run(&mut stage.agent(), "Count").await.text, "One, two, three.");
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
    let stop = Stop::Broken("MALFORMED_FUNCTION_CALL".to_owned());
    let stage = Stage::speaking(Dialect::Gemini, [Turn::new().stop(stop), Turn::new().text("Here.")]).await;
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert_eq!((outcome.end, outcome.text.as_str()), (End::Answered, "Here."));
    let told = stage.told();
    let again = "again 2: the model's answer is not whole (MALFORMED_FUNCTION_CALL)";
    assert!(told.iter().any(|line| line == again), "{told:?}");
    let requests = stage.requests();
    assert_eq!(requests[0].text, requests[1].text);

    let stage = Stage::new(Script::always(Turn::new())).await;
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert!(matches!(outcome.end, End::Failed(error) if error.kind == ErrorKind::Unreadable));
    assert_eq!(outcome.turns, 3);
    let again: Vec<String> = stage.told().into_iter().filter(|line| line.starts_with("again")).collect();
    assert_eq!(
        again,
        ["again 2: the model stopped without a word", "again 3: the model stopped without a word"]
    );
}

#[tokio::test]
async fn words_before_a_call_that_could_not_be_read_are_no_answer() {
    let broken = || Turn::new().text("I write it.").stop(Stop::Broken("MALFORMED_FUNCTION_CALL".to_owned()));
    let stage = Stage::speaking(Dialect::Gemini, [broken(), Turn::new().text("Done.")]).await;
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert_eq!((outcome.end, outcome.text.as_str()), (End::Answered, "Done."));
    let asked = stage.requests()[1].body["contents"].clone();
    assert_eq!(asked[1]["parts"][0]["text"], "I write it.");
    assert!(asked[2].to_string().contains("MALFORMED_FUNCTION_CALL"), "{asked}");

    let stage = Stage::speaking(Dialect::Responses, Script::always(broken())).await;
    let outcome = stage.run(&mut stage.agent(), "Go").await;
    assert!(matches!(outcome.end, End::Failed(error) if error.kind == ErrorKind::Unreadable));
    assert_eq!(outcome.turns, 3);
    // What a compatible server has its own word for is an end.
    let odd = Turn::new().text("Fine.").stop(Stop::Other("COMPLETE".to_owned()));
    let stage = Stage::speaking(Dialect::OpenAi, [odd]).await;
    assert_eq!(stage.run(&mut stage.agent(), "Go").await.end, End::Answered);
}

#[tokio::test]
async fn an_answer_that_goes_on_is_told_whole() {
    for stop in [Stop::MaxTokens, Stop::Paused] {
        let stage = Stage::new([
            Turn::new().text("I look.").call("Sized", json!({ "bytes": 5 })),
            Turn::new().text("One, two, ").stop(stop),
            Turn::new().text("three."),
        ])
        .await;
        let outcome = stage.run(&mut stage.agent(), "Count").await;
        assert_eq!((outcome.end, outcome.text.as_str()), (End::Answered, "One, two, three."));
    }
}

#[tokio::test]
async fn a_model_that_takes_no_pictures_is_told_in_words_what_there_was() {
    for refusal in [
        Turn::refusal(400, "messages[2]: unknown variant `image_url`, expected `text`"),
        Turn::refusal(500, "image input is not supported - hint: you may need to provide the mmproj"),
    ] {
        let turns = [
            Turn::new().call("Picture", json!({ "bytes": 9 })),
            refusal,
            Turn::new().call("Picture", json!({ "bytes": 8 })),
            Turn::new().text("I cannot see it."),
        ];
        let stage = Stage::speaking(Dialect::OpenAi, turns).await;
        let outcome = stage.run(&mut stage.agent(), "Look").await;
        assert_eq!((outcome.end, outcome.text.as_str()), (End::Answered, "I cannot see it."));
        let shown: Vec<bool> =
            stage.requests().iter().map(|request| request.text.contains("image_url")).collect();
        assert_eq!(shown, [false, true, false, false]);
        let last = stage.requests().pop().unwrap().text;
        assert_eq!(last.matches("[not shown: image, image/png").count(), 2, "{last}");
        assert!(stage.told().iter().any(|line| line.starts_with("notice the model does not take pictures")));
    }
    // One that refuses without a picture is not asked again.
    let stage = Stage::new([Turn::refusal(400, "image input is not supported")]).await;
    assert!(matches!(stage.run(&mut stage.agent(), "Look").await.end, End::Failed(_)));
}

#[tokio::test]
async fn a_model_that_is_known_to_take_no_pictures_is_never_shown_one() {
    let turns = [Turn::new().call("Picture", json!({ "bytes": 9 })), Turn::new().text("So what.")];
    let mut stage = Stage::new(turns).await;
    stage.options.images = false;
    assert_eq!(stage.run(&mut stage.agent(), "Look").await.end, End::Answered);
    let text = stage.requests().pop().unwrap().text;
    assert!(text.contains("[not shown: image, image/png, 9 bytes]") && !text.contains("base64"), "{text}");
}

#[tokio::test]
async fn thoughts_that_the_api_does_not_know_are_left_out_once() {
    let stage = Stage::new([
        Turn::new().thinking("Hm.").call("Sized", json!({ "bytes": 5 })),
        Turn::refusal(400, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        Turn::new().text("Five."),
    ])
    .await;
    let outcome = stage.run(&mut stage.agent(), "How many?").await;
    assert_eq!((outcome.end, outcome.text.as_str()), (End::Answered, "Five."));
    let sent: Vec<bool> =
        stage.requests().iter().map(|request| request.text.contains("\"thinking\"")).collect();
    assert_eq!(sent, [false, true, false]);

    let refusal = || Turn::refusal(400, "Invalid `signature` in `thinking` block");
    let stage = Stage::new(Script::always(refusal())).await;
    assert!(matches!(stage.run(&mut stage.agent(), "Go").await.end, End::Failed(_)));
    assert_eq!(stage.requests().len(), 2);
}

#[tokio::test]
async fn a_server_that_wants_to_be_left_alone_for_long_says_for_how_long() {
    let stage = Stage::new([Turn::refusal(429, "slow down").header("retry-after", "3600")]).await;
    let End::Failed(error) = stage.run(&mut stage.agent(), "Go").await.end else { panic!("it did not fail") };
    assert_eq!(error.to_string(), "slow down; the server asks to be left alone for 1 h (HTTP 429)");
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
