//! Questions on the screen: what is seen of them, and which keys answer.

use crossterm::event::{KeyCode, KeyModifiers};
use haft_engine::{
    policy::{self, Answer, AnswerKind, ChoiceOption, Choosing, Chosen, Given, Inquiry, OfferedAnswer},
    turn::Stage,
};
use haft_tool::View;
use insta::assert_snapshot;
use serde_json::json;
use tokio::sync::oneshot;

use super::{
    dialog::{Asked, Choice, Dialog, Inquired, SubAgent, Undecided},
    screen::{Running, Todo, TodoState},
    tests::{Desk, offering},
    text::text_of,
    transcript::Happened,
};
use crate::form::{self, Field};

#[test]
fn a_question_shows_the_change_and_the_keys() {
    let mut desk = Desk::new(70);
    desk.screen.running = Some(Running::since(0));
    desk.drawn("c", Stage::Queued, View::text("Edit src/main.rs"));
    let _answer = desk.ask(true);
    desk.now = 1_000;
    assert_snapshot!(desk.seen(20));
}

#[test]
fn a_command_shows_that_it_could_run_outside_the_sandbox() {
    for height in [24, 12] {
        let mut desk = Desk::new(76);
        let (reply, mut answer) = oneshot::channel();
        let offer = |answer, meaning: &str| OfferedAnswer { answer, meaning: meaning.to_owned() };
        let asked = Asked {
            id: 1,
            call: Some("c".into()),
            agent: None,
            head:
                "Bash: Run docker compose up\n  does    runs docker compose up\n  why     no rule allows it\n"
                    .to_owned(),
            preview: View::text("docker compose up"),
            choice: Choice::Permission(vec![
                offer(AnswerKind::Once, "this call, in the sandbox"),
                offer(AnswerKind::Session, "this and the same calls in this session, in the sandbox"),
                offer(AnswerKind::Unsandboxed, &format!("this call, {}", policy::OUTSIDE_MEANING)),
                offer(AnswerKind::No, "refuse this call"),
            ]),
            reply,
        };
        desk.screen.ask(Dialog::question(asked), desk.now);
        desk.now = 1_000;
        assert_snapshot!(
            format!("a_command_shows_the_way_out_of_the_sandbox_in_{height}_rows"),
            desk.seen(height)
        );
        desk.types("a");
        assert!(answer.try_recv().is_err(), "what is not offered answers nothing");
        desk.now = 3_000;
        desk.types("u");
        assert_eq!(answer.try_recv(), Ok(Answer::Unsandboxed));
    }
}

#[test]
fn a_call_that_is_asked_about_says_so_in_whatever_order_the_news_come() {
    let title = |desk: &mut Desk| {
        let seen = desk.seen(20);
        seen.lines().find(|line| line.contains("src/main.rs")).unwrap_or_default().trim_end().to_owned()
    };
    let mut desk = Desk::new(70);
    let _answer = desk.ask(true);
    desk.drawn("c", Stage::Queued, View::text("Edit src/main.rs"));
    assert_eq!(title(&mut desk), "? Edit src/main.rs  asks you");
    desk.drawn("c", Stage::Queued, View::text("Edit src/main.rs"));
    assert_eq!(title(&mut desk), "? Edit src/main.rs  asks you");
    desk.now = 30_000;
    desk.types("y");
    assert_eq!(title(&mut desk), "○ Edit src/main.rs  waits");
    desk.drawn("c", Stage::Using, View::text("Edit src/main.rs"));
    assert_eq!(title(&mut desk), "⠋ Edit src/main.rs");
}

#[test]
fn a_call_that_asks_while_it_runs_is_not_timed_meanwhile() {
    let mut desk = Desk::new(70);
    let (reply, _chosen) = oneshot::channel();
    let question = policy::Choice {
        header: "Colour".into(),
        question: "Which?".into(),
        options: Vec::new(),
        several: false,
        own_words: true,
    };
    let undecided = Undecided { id: 3, call: Some("c".into()), questions: vec![question], reply };
    desk.screen.ask(Dialog::decision(undecided), 0);
    desk.drawn("c", Stage::Using, View::text("Ask: Which?"));
    desk.now = 20_000;
    assert!(desk.seen(20).contains("? Ask: Which?  asks you"), "{}", desk.seen(20));
    desk.types("x");
    desk.key(KeyCode::Enter);
    desk.now = 23_000;
    assert!(desk.seen(20).contains("Ask: Which?  3s"), "{}", desk.seen(20));
}

/// A question of a sub-agent.
fn ask_for(desk: &mut Desk, id: u64, session: &str) -> oneshot::Receiver<Answer> {
    let (reply, answer) = oneshot::channel();
    let asked = Asked {
        id,
        call: Some(format!("inner-{id}").as_str().into()),
        agent: Some(SubAgent { session: session.into(), kind: "general".into() }),
        head: "Bash: sub-agent general: Run make\n  does    unknown\n".into(),
        preview: View::text("make"),
        choice: offering(false),
        reply,
    };
    desk.screen.ask_about(asked, desk.now);
    answer
}

#[test]
fn a_question_of_a_sub_agent_says_for_which_work_it_is() {
    let mut desk = Desk::new(70);
    desk.drawn("1", Stage::Using, View::text("Delegate to general: build the docs"));
    desk.drawn("2", Stage::Using, View::text("Delegate to explore: look around"));
    let _answers = (ask_for(&mut desk, 1, "s-a"), ask_for(&mut desk, 2, "s-a"));
    let seen = desk.seen(30);
    assert!(seen.contains("  for     Delegate to general: build the docs"), "{seen}");
    assert!(seen.contains("? Delegate to general: build the docs  asks you"), "{seen}");
    desk.now = 1_000;
    desk.types("y");
    assert!(desk.seen(30).contains("build the docs  asks you"), "it asks something else, too");
    desk.now = 2_000;
    desk.types("y");
    assert!(!desk.seen(30).contains("asks you"), "{}", desk.seen(30));
    desk.drawn("3", Stage::Using, View::text("Delegate to general: build the site"));
    for (id, session, number) in [(3, "s-b", "#1"), (4, "s-c", "#2"), (5, "s-b", "#1")] {
        let _answer = ask_for(&mut desk, id, session);
        assert!(desk.seen(30).contains(&format!("  for     sub-agent {number}")), "{}", desk.seen(30));
        desk.screen.withdraw(id, desk.now);
    }
}

#[test]
fn esc_is_a_no_to_a_question_that_is_about_no_call() {
    for (code, modifiers) in [(KeyCode::Esc, KeyModifiers::NONE), (KeyCode::Char('c'), KeyModifiers::CONTROL)]
    {
        let mut desk = Desk::new(60);
        let (reply, mut answer) = oneshot::channel();
        let asked = Asked {
            id: 1,
            call: None,
            agent: None,
            head: "Take this back?".into(),
            preview: View::text("x"),
            choice: Choice::YesOrNo,
            reply,
        };
        desk.screen.ask(Dialog::question(asked), 0);
        assert_eq!(desk.press(code, modifiers), None);
        assert_eq!(answer.try_recv(), Ok(Answer::No(None)));
        assert!(desk.screen.dialogs.is_empty());
    }
}

#[test]
fn a_question_on_a_small_terminal_keeps_its_keys() {
    let mut desk = Desk::new(40);
    let _answer = desk.ask(false);
    assert_snapshot!(desk.seen(12));
}

/// Asks about a command, with what a model says of it and what is known of it.
fn ask_about(desk: &mut Desk, command: &str, head: &str) -> oneshot::Receiver<Answer> {
    let (reply, answer) = oneshot::channel();
    let asked = Asked {
        id: 1,
        call: Some("c".into()),
        agent: None,
        head: head.to_owned(),
        preview: View::Code { language: "bash".into(), text: command.to_owned() },
        choice: offering(true),
        reply,
    };
    desk.screen.ask(Dialog::question(asked), desk.now);
    answer
}

#[test]
fn the_command_is_seen_on_the_smallest_screen_and_all_of_it_can_be() {
    let head = format!(
        "Bash: Run rm -r build ({})\n  does    removes /w/build\n  why     no rule allows it\n",
        "tidy ".repeat(16)
    );
    for (columns, height) in [(40, 10), (30, 9), (40, 14), (24, 12), (80, 12)] {
        let mut desk = Desk::new(columns);
        desk.screen.running = Some(Running::since(0));
        desk.drawn("c", Stage::Queued, View::text("Run rm -r build"));
        let _answer = ask_about(&mut desk, "rm -r build\nmake\nmake install\nmake clean\nmake test", &head);
        desk.now = 1_000;
        let seen = desk.seen(height);
        assert!(seen.contains("│ rm -r build") && seen.contains("│ make"), "{columns}×{height}: {seen}");
        assert!(
            seen.contains("[y]") && seen.contains("[r]") && seen.contains("[v]"),
            "{columns}×{height}: {seen}"
        );
        desk.key(KeyCode::Char('v'));
        desk.seen(height);
        let over = desk.over.iter().map(text_of).collect::<Vec<_>>().join("\n");
        assert!(over.contains("make test") && over.contains("why     no rule"), "{over}");
    }
}

#[test]
fn a_long_command_or_what_a_model_says_of_it_leaves_room_for_why_it_is_asked() {
    let command = "find . -name '*.log' -delete ; ".repeat(40);
    let head = format!(
        "Bash: Run {command}\n  does    deletes *.log\n  why     no rule allows it\n  always  allows it\n"
    );
    let mut desk = Desk::new(80);
    desk.drawn("c", Stage::Queued, View::text(format!("Run {command}")));
    let _answer = ask_about(&mut desk, &command, &head);
    desk.now = 1_000;
    let seen = desk.seen(20);
    for words in ["deletes *.log", "no rule allows it", "allows it", "│ find", "[v] view all"] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    let head = seen.lines().skip_while(|line| !line.starts_with("Bash: "));
    assert_eq!(head.take_while(|line| !line.starts_with("  does")).count(), 2, "{seen}");
    let open = desk.screen.transcript.open_rows(80, 0);
    assert!(text_of(&open[0]).ends_with("…  asks you"), "{open:?}");
    desk.types("n");
    desk.drawn(
        "c",
        Stage::Refused,
        View::text(format!("Run {command} (refused): The user refused this call.")),
    );
    let seen = desk.seen(24);
    assert!(desk.over.len() <= 4, "{seen}");
    assert!(seen.contains("refused") && seen.contains("The user refused this call."), "{seen}");
    desk.press(KeyCode::Char('o'), KeyModifiers::CONTROL);
    desk.seen(24);
    assert!(desk.over.len() > 15, "all of it can be seen");
}

#[test]
fn what_can_be_chosen_is_seen_on_a_small_terminal_before_anything_else() {
    let option = |label: &str| ChoiceOption { label: label.into(), description: "a colour".into() };
    let question = policy::Choice {
        header: "Colour".into(),
        question: "Which?".into(),
        options: ["red", "blue", "green"].map(option).into(),
        several: false,
        own_words: true,
    };
    let (reply, _chosen) = oneshot::channel();
    let undecided = Undecided { id: 3, call: None, questions: vec![question], reply };
    let mut desk = Desk::new(40);
    desk.screen.todos = vec![Todo { text: "look".into(), state: TodoState::Begun }];
    let dialog = Dialog::decision(undecided);
    assert!(dialog.height(40) > 5 && dialog.words().is_some_and(|words| words.contains("green: a colour")));
    desk.screen.ask(dialog, 0);
    let seen = desk.seen(10);
    for label in ["red", "blue", "green"] {
        assert!(seen.contains(label), "{seen}");
    }
    let tiny = desk.seen(8);
    assert!(tiny.contains("more, above"), "{tiny}");
}

#[test]
fn what_is_to_be_read_before_an_answer_is_above_all_that_goes_on_and_whole() {
    let mut desk = Desk::new(40);
    desk.happened(Happened::Text("I plan.".into()));
    desk.drawn("1", Stage::Using, View::text("Show the plan"));
    let plan: String = (1..=60).map(|step| format!("{step}. Do thing {step}\n")).collect();
    desk.happened(Happened::Recited(plan));
    assert!(desk.seen(12).contains("Show the plan"), "{}", desk.seen(12));
    let over: Vec<String> = desk.over.iter().map(text_of).collect();
    assert_eq!(over.iter().filter(|row| row.contains("Do thing")).count(), 60, "{over:?}");
    assert!(over[0].contains("I plan."), "{over:?}");
}

#[test]
fn all_of_a_long_change_can_be_seen_before_the_answer() {
    let mut desk = Desk::new(40);
    desk.drawn("c", Stage::Queued, View::text("Write a.txt"));
    let (reply, _answer) = oneshot::channel();
    let lines: String = (1..=60).map(|line| format!("+thing {line}\n")).collect();
    let asked = Asked {
        id: 1,
        call: Some("c".into()),
        agent: None,
        head: "Write: Write a.txt\n".to_owned(),
        preview: View::Diff { path: "a.txt".into(), unified: format!("@@ -0,0 +1,60 @@\n{lines}") },
        choice: offering(false),
        reply,
    };
    desk.screen.ask(Dialog::question(asked), 0);
    desk.now = 1_000;
    desk.key(KeyCode::Char('v'));
    assert!(desk.seen(20).contains("[y] yes, once"), "{}", desk.seen(20));
    assert_eq!(desk.over.iter().filter(|row| text_of(row).contains("thing")).count(), 60);
}

#[test]
fn a_key_is_an_answer_only_after_the_question_could_be_read() {
    let mut desk = Desk::new(60);
    desk.types("I am wr");
    let mut answer = desk.ask(true);
    desk.now = 100;
    desk.types("y");
    desk.now = 600;
    assert!(answer.try_recv().is_err(), "what was being typed is no answer");
    assert_eq!(desk.screen.editor.text(), "I am wry");
    desk.screen.paste("y", desk.now);
    assert!(answer.try_recv().is_err(), "what is pasted is no answer");
    assert_eq!(desk.screen.editor.text(), "I am wryy");
    desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    desk.now = 700;
    desk.types("y");
    assert!(answer.try_recv().is_err(), "a key that follows another is no answer");
    desk.key(KeyCode::Backspace);
    desk.now = 1_200;
    desk.types("y");
    assert_eq!(answer.try_recv(), Ok(Answer::Once));
    assert!(desk.screen.editor.is_empty());
}

#[test]
fn a_pause_in_a_sentence_does_not_make_an_answer_of_its_next_letter() {
    let mut desk = Desk::new(70);
    desk.screen.running = Some(Running::since(0));
    let mut answer = desk.ask(true);
    desk.now = 1_000;
    desk.types("wait, wh");
    assert!(
        desk.seen(20).contains("you are typing a message: Tab goes to the question"),
        "{}",
        desk.seen(20)
    );
    desk.now = 2_500;
    desk.types("y are you asking? nasty");
    assert!(answer.try_recv().is_err());
    desk.now = 9_000;
    assert_eq!(desk.key(KeyCode::Enter), None);
    assert_eq!(desk.screen.queue, ["wait, why are you asking? nasty"], "Enter is the message's, too");
    desk.now = 10_000;
    desk.types("y");
    assert_eq!(answer.try_recv(), Ok(Answer::Once));
}

#[test]
fn tab_turns_from_what_is_typed_to_the_question_and_back() {
    let mut desk = Desk::new(70);
    desk.types("so");
    let mut answer = desk.ask(true);
    desk.now = 100;
    desk.key(KeyCode::Tab);
    desk.types("y");
    assert!(answer.try_recv().is_err(), "the question could not be read yet");
    desk.now = 1_000;
    desk.key(KeyCode::Tab);
    desk.types("x");
    desk.types("y");
    assert!(answer.try_recv().is_err(), "a letter that answers nothing goes on with the message");
    assert_eq!(desk.screen.editor.text(), "soyxy");
    desk.key(KeyCode::Tab);
    assert_eq!(desk.key(KeyCode::Enter), None);
    assert!(desk.screen.queue.is_empty() && answer.try_recv().is_err());
    desk.types("n");
    assert_eq!(answer.try_recv(), Ok(Answer::No(None)));
    assert_eq!(desk.screen.editor.text(), "soyxy", "what was typed is still there");
    let mut next = desk.ask(true);
    desk.now = 5_000;
    desk.types("y");
    assert!(next.try_recv().is_err(), "another question is turned to anew");
}

#[test]
fn every_answer_has_its_key() {
    for (always, keys, expected) in [
        (true, "y", Answer::Once),
        (true, "s", Answer::Session),
        (true, "a", Answer::Always),
        (false, "an", Answer::No(None)),
        (true, "n", Answer::No(None)),
        (true, "rnot there\n", Answer::No(Some("not there".into()))),
        (true, "r\n", Answer::No(None)),
    ] {
        let mut desk = Desk::new(60);
        let mut answer = desk.ask(always);
        for c in keys.chars() {
            desk.now += 1_000;
            desk.key(if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) });
        }
        assert_eq!(answer.try_recv(), Ok(expected), "{keys}");
        assert!(desk.screen.dialogs.is_empty());
    }
}

#[test]
fn a_no_with_a_reason_can_be_thought_over() {
    let mut desk = Desk::new(60);
    let mut answer = desk.ask(true);
    desk.now = 1_000;
    desk.types("r");
    desk.types("no");
    assert!(desk.seen(16).contains("No, because (Enter sends it, Esc goes back): no"));
    assert_eq!(desk.key(KeyCode::Esc), None);
    assert!(answer.try_recv().is_err());
    assert!(desk.seen(16).contains("[y] yes, once"));
}

#[test]
fn a_reason_is_edited_where_its_cursor_stands() {
    let mut desk = Desk::new(60);
    let mut answer = desk.ask(true);
    desk.now = 1_000;
    desk.types("rnt this");
    (0..6).for_each(|_| drop(desk.key(KeyCode::Left)));
    assert!(desk.seen(16).contains("n▏t this"), "{}", desk.seen(16));
    desk.types("o");
    assert_eq!(desk.press(KeyCode::Char('d'), KeyModifiers::CONTROL), None, "there is something to delete");
    desk.types("t");
    desk.key(KeyCode::Enter);
    assert_eq!(answer.try_recv(), Ok(Answer::No(Some("not this".into()))));
}

#[test]
fn a_question_that_is_withdrawn_is_gone_and_the_next_is_shown() {
    let mut desk = Desk::new(60);
    let answer = desk.ask(true);
    drop(answer);
    desk.screen.withdraw(1, desk.now);
    assert!(desk.screen.dialogs.is_empty());
    desk.screen.withdraw(1, desk.now);
}

#[test]
fn a_form_is_filled_in_field_by_field() {
    let schema = json!({
        "properties": { "name": { "type": "string", "description": "Your name" }, "count": { "type": "integer" } },
        "required": ["name", "count"],
    });
    let inquiry = Inquiry { session: None, who: "weather", message: "Who are you?", schema: &schema };
    let fields = Field::all(&schema);
    let (reply, mut given) = oneshot::channel();
    let inquired = Inquired { id: 7, head: form::head(&inquiry, fields.len()), fields, reply };
    let mut desk = Desk::new(60);
    desk.types("I was wri");
    desk.screen.ask(Dialog::form(inquired), 0);
    desk.now = 100;
    desk.types("ting");
    desk.key(KeyCode::Enter);
    assert_eq!(desk.screen.entered, ["I was writing"], "what was being typed goes where it was going");
    desk.now = 1_000;
    desk.types("Ada");
    assert_snapshot!(desk.seen(14));
    desk.now = 2_000;
    desk.key(KeyCode::Enter);
    desk.types("x");
    desk.now = 3_000;
    desk.key(KeyCode::Enter);
    assert!(desk.seen(14).contains("it is a whole number"));
    desk.types("3");
    desk.now = 4_000;
    desk.key(KeyCode::Enter);
    let Ok(Given::Answers(answers)) = given.try_recv() else { panic!("no answers") };
    assert_eq!(json!(answers), json!({ "name": "Ada", "count": 3 }));
}

#[test]
fn the_model_can_have_something_decided() {
    let option = |label: &str| ChoiceOption { label: label.into(), description: "like it is".into() };
    let question = policy::Choice {
        header: "Colour".into(),
        question: "Which colour?".into(),
        options: vec![option("red"), option("blue")],
        several: false,
        own_words: true,
    };
    let (reply, mut chosen) = oneshot::channel();
    let mut desk = Desk::new(60);
    desk.screen.ask(Dialog::decision(Undecided { id: 3, call: None, questions: vec![question], reply }), 0);
    desk.now = 1_000;
    desk.types("3");
    desk.now = 2_000;
    desk.key(KeyCode::Enter);
    assert_snapshot!(desk.seen(14));
    desk.types("2");
    // However quickly it is typed, once it has been read.
    desk.now += 1;
    desk.key(KeyCode::Enter);
    let expected = Chosen { labels: vec!["blue".into()], words: None };
    assert_eq!(chosen.try_recv(), Ok(Choosing::Chosen(vec![expected])));
}
