//! What is on the screen, and that nothing breaks it.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_engine::{
    policy::{Answer, AnswerKind, OfferedAnswer},
    turn::{Drawn, Stage},
};
use haft_tool::View;
use insta::assert_snapshot;
use proptest::prelude::*;
use ratatui::{backend::TestBackend, terminal::Terminal, text::Text};
use tokio::sync::oneshot;

use super::{
    dialog::{Asked, Choice, Dialog},
    history::History,
    layout,
    screen::{Running, Screen, Status, Todo, TodoState, Wish},
    slash::Slash,
    text::Row,
    transcript::{Happened, Tone},
};

/// The answers to a question about a call that starts no process.
pub(super) fn offering(always: bool) -> Choice {
    let once = OfferedAnswer { answer: AnswerKind::Once, meaning: "this call".to_owned() };
    let session = "this and the same calls in this session".to_owned();
    let session = OfferedAnswer { answer: AnswerKind::Session, meaning: session };
    let meaning = "always: a rule is written to your settings".to_owned();
    let always = always.then_some(OfferedAnswer { answer: AnswerKind::Always, meaning });
    let no = OfferedAnswer { answer: AnswerKind::No, meaning: "refuse this call".to_owned() };
    Choice::Permission([Some(once), Some(session), always, Some(no)].into_iter().flatten().collect())
}

/// A screen of its own, for so many columns.
pub(super) struct Desk {
    pub(super) screen: Screen,
    pub(super) over: Vec<Row>,
    pub(super) columns: u16,
    pub(super) now: u64,
}

impl Desk {
    pub(super) fn new(columns: u16) -> Desk {
        let mut screen = Screen::new(History::default(), usize::from(columns));
        screen.status = Status { mode: "default".into(), model: "some-model".into(), ..Status::default() };
        Desk { screen, over: Vec::new(), columns, now: 0 }
    }

    pub(super) fn happened(&mut self, what: Happened) {
        self.screen.happened(what, self.now);
    }

    pub(super) fn drawn(&mut self, call: &str, stage: Stage, view: View) {
        self.happened(Happened::Drawn(Drawn { call: call.into(), tool: "Tool".into(), stage, view }));
    }

    pub(super) fn key(&mut self, code: KeyCode) -> Option<Wish> {
        self.press(code, KeyModifiers::NONE)
    }

    pub(super) fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Option<Wish> {
        self.screen.key(KeyEvent::new(code, modifiers), self.now)
    }

    pub(super) fn types(&mut self, text: &str) {
        for c in text.chars() {
            assert_eq!(self.key(KeyCode::Char(c)), None);
        }
    }

    pub(super) fn ask(&mut self, always: bool) -> oneshot::Receiver<Answer> {
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
            choice: offering(always),
            reply,
        };
        self.screen.ask(Dialog::question(asked), self.now);
        answer
    }

    /// The screen as a person sees it, with what is over above.
    pub(super) fn seen(&mut self, height: u16) -> String {
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
