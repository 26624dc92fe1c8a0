//! What is on the screen, and that nothing breaks it.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_engine::{
    policy::{self, Answer, ChoiceOption, Choosing, Chosen, Given, Inquiry},
    turn::{Drawn, Stage},
};
use haft_tool::View;
use insta::assert_snapshot;
use proptest::prelude::*;
use ratatui::{backend::TestBackend, terminal::Terminal, text::Text};
use serde_json::json;
use tokio::sync::oneshot;

use super::{
    dialog::{Asked, Choice, Dialog, Inquired, SubAgent, Undecided},
    history::History,
    layout,
    screen::{Running, Screen, Status, Todo, TodoState, Wish},
    slash::Slash,
    text::{Row, text_of},
    transcript::{Happened, Tone},
};
use crate::form::{self, Field};

/// A screen of its own, for so many columns.
struct Desk {
    screen: Screen,
    over: Vec<Row>,
    columns: u16,
    now: u64,
}

impl Desk {
    fn new(columns: u16) -> Desk {
        let mut screen = Screen::new(History::default(), usize::from(columns));
        screen.status = Status { mode: "default".into(), model: "some-model".into(), ..Status::default() };
        Desk { screen, over: Vec::new(), columns, now: 0 }
    }

    fn happened(&mut self, what: Happened) {
        self.screen.happened(what, self.now);
    }

    fn drawn(&mut self, call: &str, stage: Stage, view: View) {
        self.happened(Happened::Drawn(Drawn { call: call.into(), tool: "Tool".into(), stage, view }));
    }

    fn key(&mut self, code: KeyCode) -> Option<Wish> {
        self.press(code, KeyModifiers::NONE)
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Option<Wish> {
        self.screen.key(KeyEvent::new(code, modifiers), self.now)
    }

    fn types(&mut self, text: &str) {
        for c in text.chars() {
            assert_eq!(self.key(KeyCode::Char(c)), None);
        }
    }

    fn ask(&mut self, always: bool) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        let head =
            "Edit: Edit /w/src/main.rs\n  does    writes /w/src/main.rs\n  why     no rule allows it\n";
        let unified = "@@ -1,3 +1,3 @@\n fn main() {\n-    old();\n+    new(\"x\");\n }\n";
        let asked = Asked {
            id: 1,
            call: Some("c".into()),
            agent: None,
            head: head.to_owned(),
            preview: View::Diff { path: "src/main.rs".into(), unified: unified.into() },
            choice: Choice::Permission { always },
            reply,
        };
        self.screen.ask(Dialog::question(asked), self.now);
        answer
    }

    /// The screen as a person sees it, with what is over above.
    fn seen(&mut self, height: u16) -> String {
        self.over.extend(self.screen.transcript.settled(usize::from(self.columns)));
        let live = layout::live(&self.screen, usize::from(self.columns), usize::from(height) - 1, self.now);
        let mut rows = self.over.clone();
        rows.extend(live.rows);
        let rows = rows.split_off(rows.len().saturating_sub(usize::from(height)));
        let mut terminal = Terminal::new(TestBackend::new(self.columns, height)).unwrap();
        terminal.draw(|frame| frame.render_widget(Text::from(rows), frame.area())).unwrap();
        let lines = terminal.backend().to_string();
        lines.lines().map(|line| line.trim_matches('"').trim_end()).collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn a_conversation_with_calls_in_every_state() {
    let mut desk = Desk::new(60);
    desk.screen.running = Some(Running::since(0));
    desk.happened(Happened::Said("Make the test pass,\nplease".into()));
    desk.happened(Happened::Asking);
    desk.happened(Happened::Thinking("Where is the test?".into()));
    desk.happened(Happened::Text("I will **look** first.\n".into()));
    desk.drawn("1", Stage::Queued, View::text("Read src/main.rs"));
    desk.drawn("1", Stage::Using, View::text("Read src/main.rs"));
    desk.drawn("1", Stage::Done(Duration::from_millis(3)), View::text("34 lines"));
    desk.drawn("2", Stage::Queued, View::text("Run cargo test"));
    desk.drawn("2", Stage::Using, View::text("Run cargo test"));
    let output: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let view =
        View::List(vec![View::text("$ cargo test"), View::Code { language: "ansi".into(), text: output }]);
    desk.drawn("2", Stage::Failed(Duration::from_secs(75)), view);
    desk.drawn("3", Stage::Queued, View::text("Run rm -rf /"));
    desk.drawn("3", Stage::Refused, View::text("Run rm -rf / (refused): The user refused this call."));
    desk.drawn("4", Stage::Using, View::text("Search . for fn"));
    desk.drawn("4", Stage::Progress, View::Progress { label: "files".into(), done: 3, total: Some(10) });
    desk.drawn("5", Stage::Queued, View::text("Edit src/main.rs"));
    desk.happened(Happened::CallOpened("6".into(), "Write".into()));
    desk.happened(Happened::CallGrew("6".into(), 12_345));
    desk.now = 5_000;
    assert_snapshot!(desk.seen(50));
}

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
        choice: Choice::Permission { always: false },
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
        choice: Choice::Permission { always: true },
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
        choice: Choice::Permission { always: false },
        reply,
    };
    desk.screen.ask(Dialog::question(asked), 0);
    desk.now = 1_000;
    desk.key(KeyCode::Char('v'));
    assert!(desk.seen(20).contains("[y] yes, once"), "{}", desk.seen(20));
    assert_eq!(desk.over.iter().filter(|row| text_of(row).contains("thing")).count(), 60);
}

#[test]
fn a_call_that_is_written_waits_and_is_gone_with_an_answer_that_broke_off() {
    let mut desk = Desk::new(40);
    desk.happened(Happened::CallOpened("1".into(), "Edit".into()));
    desk.happened(Happened::CallGrew("1".into(), 40));
    assert!(desk.seen(8).contains("Edit  40 bytes written"), "{}", desk.seen(8));
    desk.happened(Happened::CallWritten("1".into()));
    assert!(desk.seen(8).contains("Edit  waits"), "{}", desk.seen(8));
    desk.happened(Happened::BrokeOff);
    assert!(!desk.seen(8).contains("Edit"), "{}", desk.seen(8));
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
    let inquiry = Inquiry { who: "weather", message: "Who are you?", schema: &schema };
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

#[test]
fn what_is_to_be_done_and_what_goes_on_is_listed() {
    let mut desk = Desk::new(60);
    let todo = |text: &str, state| Todo { text: text.into(), state };
    desk.screen.todos = vec![
        todo("Look around", TodoState::Done),
        todo("Change it", TodoState::Begun),
        todo("Test it", TodoState::Open),
    ];
    desk.screen.tasks = vec![("task-1".into(), "npm run dev".into())];
    desk.screen.running = Some(Running { stops: 1, ..Running::since(0) });
    desk.screen.queue.push_back("and then\nthis".into());
    desk.screen.status.context = Some((50_000, 200_000));
    desk.screen.status.used = (1_234_567, 8_900);
    desk.screen.status.cost = Some(1.5);
    assert_snapshot!(desk.seen(14));
}

#[test]
fn the_last_row_leaves_out_whole_words() {
    for (columns, expected) in [
        (70, "mode default · some-model · 75% of context left · 1.2k↑ 345↓ · /help"),
        (58, "mode default · some-model · 75% left · 1.2k↑ 345↓ · /help"),
        (50, "mode default · some-model · 75% left · 1.2k↑ 345↓"),
        (40, "mode default · some-model · 75% left"),
        (10, "mode defa…"),
    ] {
        let mut desk = Desk::new(columns);
        desk.screen.status.context = Some((50_000, 200_000));
        desk.screen.status.used = (1_234, 345);
        let seen = desk.seen(6);
        assert_eq!(seen.trim_end().lines().last(), Some(expected));
    }
}

#[test]
fn commands_are_completed_and_their_mistakes_told() {
    let mut desk = Desk::new(60);
    desk.types("/mo");
    assert_snapshot!(desk.seen(8));
    desk.key(KeyCode::Tab);
    assert_eq!(desk.screen.editor.text(), "/mode");
    desk.types(" pl");
    desk.key(KeyCode::Tab);
    assert_eq!(desk.screen.editor.text(), "/mode plan");
    assert_eq!(desk.key(KeyCode::Enter), Some(Wish::Do(Slash::Mode(Some(haft_engine::policy::Mode::Plan)))));
    desk.types("/nonsense");
    assert_eq!(desk.key(KeyCode::Enter), None);
    assert!(desk.seen(8).contains("there is no /nonsense"));
    assert_eq!(desk.screen.editor.text(), "/nonsense");
}

#[test]
fn many_lines_are_typed_and_sent_as_one_message() {
    let mut desk = Desk::new(60);
    desk.types("one\\");
    desk.key(KeyCode::Enter);
    desk.types("two");
    desk.press(KeyCode::Enter, KeyModifiers::ALT);
    desk.screen.paste("three\r\n\u{1b}[31mfour", desk.now);
    assert_eq!(desk.key(KeyCode::Enter), Some(Wish::Send("one\ntwo\nthree\n[31mfour".into())));
    desk.key(KeyCode::Up);
    assert_eq!(desk.screen.editor.text(), "one\ntwo\nthree\n[31mfour");
}

#[test]
fn what_is_said_while_a_turn_runs_waits_for_its_end() {
    let mut desk = Desk::new(60);
    desk.screen.running = Some(Running::since(0));
    desk.types("next");
    assert_eq!(desk.key(KeyCode::Enter), None);
    assert_eq!(desk.screen.queue, ["next"]);
    assert_eq!(desk.key(KeyCode::Esc), Some(Wish::Stop));
    assert_eq!((desk.screen.queue.len(), desk.screen.editor.text()), (0, "next"), "it can be thought over");
}

#[test]
fn a_pause_before_the_model_is_asked_again_is_counted_down() {
    let mut desk = Desk::new(60);
    desk.screen.running = Some(Running::since(0));
    desk.screen.pauses_until(9_500);
    desk.now = 2_000;
    assert!(desk.seen(8).contains("asks again in 8s  Esc stops"), "{}", desk.seen(8));
    desk.happened(Happened::Asking);
    assert!(desk.seen(8).contains("works 2s"), "{}", desk.seen(8));
}

#[test]
fn what_was_typed_before_is_gone_back_to_from_the_end_after_the_line_was_cleared() {
    let mut desk = Desk::new(60);
    for line in ["one", "two"] {
        desk.types(line);
        desk.key(KeyCode::Enter);
    }
    desk.types("draft");
    desk.key(KeyCode::Up);
    desk.key(KeyCode::Up);
    assert_eq!(desk.screen.editor.text(), "one");
    desk.press(KeyCode::Char('u'), KeyModifiers::CONTROL);
    desk.key(KeyCode::Up);
    assert_eq!(desk.screen.editor.text(), "two");
    desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    desk.key(KeyCode::Down);
    assert_eq!(desk.screen.editor.text(), "draft", "what was being typed is not lost");
    desk.key(KeyCode::Up);
    desk.types("!");
    desk.key(KeyCode::Up);
    desk.key(KeyCode::Down);
    assert_eq!(desk.screen.editor.text(), "two!", "nor is what was changed");
    desk.types("/help");
    desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    desk.types("/help");
    desk.key(KeyCode::Enter);
    assert_eq!(desk.screen.entered, ["one", "two", "/help"], "commands are kept, too");
}

#[test]
fn ctrl_r_looks_back_for_what_was_typed() {
    let mut desk = Desk::new(60);
    for line in ["fix the test", "fix the docs", "go on"] {
        desk.types(line);
        desk.key(KeyCode::Enter);
    }
    let ctrl_r = |desk: &mut Desk| drop(desk.press(KeyCode::Char('r'), KeyModifiers::CONTROL));
    desk.types("draft");
    ctrl_r(&mut desk);
    desk.types("fix");
    assert!(
        desk.seen(8).contains("❯ fix the docs") && desk.seen(8).contains("search back: fix"),
        "{}",
        desk.seen(8)
    );
    ctrl_r(&mut desk);
    assert_eq!(desk.screen.editor.text(), "fix the test");
    ctrl_r(&mut desk);
    assert_eq!(desk.screen.editor.text(), "fix the test", "there is none before it");
    desk.key(KeyCode::Esc);
    assert_eq!(desk.screen.editor.text(), "draft");
    ctrl_r(&mut desk);
    desk.types("docs");
    let mut answer = desk.ask(true);
    desk.now = 5_000;
    desk.types("y");
    assert!(answer.try_recv().is_err(), "what is looked for is no answer");
    desk.key(KeyCode::Backspace);
    assert_eq!(desk.key(KeyCode::Enter), None);
    assert_eq!(desk.screen.editor.text(), "fix the docs", "it can be changed before it is sent");
    assert!(!desk.seen(20).contains("search back"), "{}", desk.seen(20));
}

#[test]
fn all_that_waits_comes_back_when_the_turn_is_stopped() {
    let mut desk = Desk::new(60);
    desk.screen.running = Some(Running::since(0));
    for message in ["first", "second"] {
        desk.types(message);
        desk.key(KeyCode::Enter);
    }
    desk.types("half a th");
    desk.key(KeyCode::Esc);
    assert_eq!(desk.screen.editor.text(), "first\nsecond\nhalf a th");
    desk.key(KeyCode::Esc);
    assert_eq!(desk.screen.editor.text(), "first\nsecond\nhalf a th", "once");
}

#[test]
fn of_a_long_message_the_rows_around_the_cursor_are_seen() {
    let mut desk = Desk::new(60);
    let message: Vec<String> = (1..=30).map(|line| format!("line {line}.")).collect();
    desk.screen.paste(&message.join("\n"), 0);
    let seen = desk.seen(40);
    assert!(seen.contains("⋮ 22 more") && seen.contains("line 30."), "{seen}");
    (0..15).for_each(|_| drop(desk.key(KeyCode::Up)));
    let seen = desk.seen(40);
    for words in ["⋮ 11 more", "line 12.", "line 18.", "⋮ 12 more"] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    (0..14).for_each(|_| drop(desk.key(KeyCode::Up)));
    let seen = desk.seen(40);
    assert!(seen.contains("❯ line 1.") && seen.contains("line 8.") && seen.contains("⋮ 22 more"), "{seen}");
    // Whatever is typed, a question leaves room for itself and for the row of the cursor.
    let _answer = desk.ask(true);
    let seen = desk.seen(16);
    assert!(seen.contains("line 1.") && seen.contains("src/main.rs  +1 -1"), "{seen}");
}

#[test]
fn ctrl_c_stops_then_clears_then_leaves() {
    let mut desk = Desk::new(60);
    let ctrl_c = |desk: &mut Desk| desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    desk.screen.running = Some(Running::since(0));
    assert_eq!(ctrl_c(&mut desk), Some(Wish::Stop));
    desk.screen.running = None;
    desk.types("words");
    assert_eq!(ctrl_c(&mut desk), None);
    assert!(desk.screen.editor.is_empty());
    assert_eq!(ctrl_c(&mut desk), None);
    assert!(desk.seen(6).contains("Ctrl-C again, or Ctrl-D, leaves"));
    assert_eq!(ctrl_c(&mut desk), Some(Wish::Leave));
    assert_eq!(desk.press(KeyCode::Char('d'), KeyModifiers::CONTROL), Some(Wish::Leave));
}

#[test]
fn a_result_that_was_shortened_is_shown_whole_on_request() {
    let mut desk = Desk::new(60);
    let text: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    desk.drawn("1", Stage::Done(Duration::ZERO), View::Code { language: String::new(), text });
    assert!(!desk.seen(60).contains("line 20\n"));
    desk.press(KeyCode::Char('o'), KeyModifiers::CONTROL);
    assert!(desk.seen(80).contains("line 20\n"));
    desk.press(KeyCode::Char('o'), KeyModifiers::CONTROL);
    assert!(desk.seen(80).contains("nothing was shortened"));
}

#[test]
fn what_breaks_off_leaves_no_call_behind() {
    let mut desk = Desk::new(60);
    desk.happened(Happened::Text("I am about".into()));
    desk.happened(Happened::CallOpened("1".into(), "Write".into()));
    desk.happened(Happened::BrokeOff);
    desk.happened(Happened::Noted(Tone::Warning, "asked again".into()));
    let seen = desk.seen(10);
    assert!(
        seen.contains("I am about") && seen.contains("! asked again") && !seen.contains("Write"),
        "{seen}"
    );
}

fn id() -> impl Strategy<Value = haft_tool::CallId> {
    "[abc]".prop_map(|text| haft_tool::CallId::from(text.as_str()))
}

fn words() -> impl Strategy<Value = String> {
    "[-a-c#*`>|1. \n日\u{301}\u{1b}\t\u{202e}👨]{0,30}"
}

fn any_view() -> impl Strategy<Value = View> {
    prop_oneof![
        words().prop_map(View::Text),
        words().prop_map(|text| View::Code { language: "ansi".into(), text }),
        (words(), words())
            .prop_map(|(path, unified)| View::Diff { path, unified: format!("@@ -1 +1 @@\n{unified}") }),
        (words(), words()).prop_map(|(name, value)| View::Fields(vec![(name, value)])),
        (words(), 0u64..9, prop::option::of(0u64..9)).prop_map(|(label, done, total)| View::Progress {
            label,
            done,
            total
        }),
        Just(View::List(Vec::new())),
    ]
}

fn any_stage() -> impl Strategy<Value = Stage> {
    prop_oneof![
        Just(Stage::Queued),
        Just(Stage::Using),
        Just(Stage::Progress),
        Just(Stage::Done(Duration::from_secs(2))),
        Just(Stage::Failed(Duration::ZERO)),
        Just(Stage::Refused),
    ]
}

/// Anything that can come to a screen.
#[derive(Debug, Clone)]
enum Comes {
    Happened(Happened),
    Key(KeyCode, bool),
    Paste(String),
    Asked,
    Withdrawn,
    Later(u64),
}

fn any_of_them() -> impl Strategy<Value = Comes> {
    let happened = prop_oneof![
        words().prop_map(Happened::Said),
        Just(Happened::Asking),
        words().prop_map(Happened::Text),
        words().prop_map(Happened::Thinking),
        (id(), words()).prop_map(|(id, name)| Happened::CallOpened(id, name)),
        (id(), 0usize..usize::MAX).prop_map(|(id, bytes)| Happened::CallGrew(id, bytes)),
        Just(Happened::BrokeOff),
        (id(), any_stage(), any_view()).prop_map(|(call, stage, view)| {
            Happened::Drawn(Drawn { call, tool: "Tool".into(), stage, view })
        }),
        (id(), any::<bool>()).prop_map(|(id, is_asked)| Happened::Asked(id, is_asked)),
        words().prop_map(|text| Happened::Noted(Tone::Error, text)),
        any_view().prop_map(Happened::Printed),
        words().prop_map(Happened::Recited),
        id().prop_map(Happened::CallWritten),
        Just(Happened::Over),
    ];
    let code = prop_oneof![
        prop::char::range('a', 'z').prop_map(KeyCode::Char),
        Just(KeyCode::Char('/')),
        Just(KeyCode::Enter),
        Just(KeyCode::Tab),
        Just(KeyCode::Backspace),
        Just(KeyCode::Up),
        Just(KeyCode::Down),
        Just(KeyCode::Left),
        Just(KeyCode::Esc),
        Just(KeyCode::Char('r')),
        Just(KeyCode::Char('y')),
    ];
    prop_oneof![
        4 => happened.prop_map(Comes::Happened),
        2 => (code, any::<bool>()).prop_map(|(code, control)| Comes::Key(code, control)),
        1 => words().prop_map(Comes::Paste),
        1 => Just(Comes::Asked),
        1 => Just(Comes::Withdrawn),
        1 => (0u64..2_000).prop_map(Comes::Later),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever comes in whatever order, the screen holds it: no row is too wide, there are not too many of them, nothing in
    /// them is a command to a terminal, and the cursor stands on one.
    #[test]
    fn whatever_comes_is_drawn_within_the_screen(
        all in prop::collection::vec(any_of_them(), 0..40),
        columns in 20u16..100,
        height in 5usize..40,
    ) {
        let mut desk = Desk::new(columns);
        desk.screen.running = Some(Running::since(0));
        let mut answers = Vec::new();
        for comes in all {
            match comes {
                Comes::Happened(what) => desk.happened(what),
                Comes::Key(code, control) => {
                    let modifiers = if control { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
                    let _ = desk.press(code, modifiers);
                }
                Comes::Paste(text) => desk.screen.paste(&text, desk.now),
                Comes::Asked => answers.push(desk.ask(true)),
                Comes::Withdrawn => desk.screen.withdraw(1, desk.now),
                Comes::Later(ms) => desk.now += ms,
            }
            let live = layout::live(&desk.screen, usize::from(columns), height, desk.now);
            prop_assert!(live.rows.len() <= height, "{} rows of {height}", live.rows.len());
            let over = desk.screen.transcript.settled(usize::from(columns));
            for row in over.iter().chain(&live.rows) {
                prop_assert!(row.width() <= usize::from(columns), "{} columns: {row:?}", row.width());
                prop_assert!(!row.spans.iter().any(|span| span.content.contains(char::is_control)), "{row:?}");
            }
            if let Some((row, column)) = live.cursor {
                prop_assert!(row < live.rows.len() && column <= usize::from(columns));
            }
        }
    }
}
