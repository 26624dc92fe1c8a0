//! The terminal UI, as a person uses it: in a real terminal, with a model that follows a script.

use std::{fs, thread, time::Duration};

use haft_testkit::{Script, Turn};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    kit::Place,
    run::Model,
    servers,
    tmux::{self, Tmux},
};

fn place() -> Place {
    Place::new(
        "-- project/.git/HEAD\nref: refs/heads/main\n-- project/main.rs\nfn main() {\n    println!(\"hi\");\n}\n",
    )
}

struct Room {
    place: Place,
    tmux: Tmux,
    model: Model,
}

impl Room {
    fn new(script: impl Into<Script>) -> Room {
        Room::with(script, (80, 30), &[], &[])
    }

    fn with(script: impl Into<Script>, size: (u16, u16), env: &[(&str, &str)], more: &[&str]) -> Room {
        Room::at(place(), script, size, env, more)
    }

    fn at(
        place: Place,
        script: impl Into<Script>,
        size: (u16, u16),
        env: &[(&str, &str)],
        more: &[&str],
    ) -> Room {
        let model = Model::new(script);
        let url = model.url();
        let mut arguments = vec!["--base-url", &url, "--dialect", "anthropic", "--model", "scripted"];
        arguments.extend(more);
        let tmux = Tmux::start(&place, size, env, &arguments);
        if env.iter().all(|(name, _)| *name != "TERM") {
            tmux.sees("/help");
        }
        Room { place, tmux, model }
    }
}

/// Long enough for a question to have been read.
fn reads() {
    thread::sleep(Duration::from_millis(900));
}

fn edit() -> Turn {
    let input = json!({ "file_path": "main.rs", "old_string": "hi", "new_string": "hello" });
    Turn::new()
        .text("I will **change** it.")
        .call("Read", json!({ "file_path": "main.rs" }))
        .call("Edit", input)
}

#[test]
fn a_conversation_with_a_question_from_beginning_to_end() {
    if !tmux::is_there() {
        return;
    }
    let room = Room::new([edit(), Turn::new().text("It says `hello` now."), Turn::new().text("Bye.")]);
    let tmux = &room.tmux;
    tmux.sees("mode default · scripted");
    tmux.says("Make it say hello");
    let asked = tmux.sees("[y] ");
    for words in [
        "❯ Make it say hello",
        "I will change it.",
        "● Read main.rs",
        "? Edit main.rs",
        "2 -     println!(\"hi\");",
        "2 +     println!(\"hello\");",
        "[a] always",
    ] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    reads();
    tmux.types("y");
    let answered = tmux.sees("It says hello now.");
    assert!(answered.contains("● Edit main.rs") && !answered.contains("[y]"), "{answered}");
    assert!(room.place.files.text("project/main.rs").contains("hello"));
    tmux.says("Thanks");
    tmux.sees("Bye.");
    tmux.says("/quit");
    let left = tmux.sees("left with 0");
    assert!(left.contains("Bye."), "what was said stays: {left}");
    tmux.sees("icanon");
    let left = tmux.screen();
    assert!(left.contains(" echo") || left.contains("\necho"), "the terminal is as it was: {left}");
    assert!(!left.contains("-icanon") && !left.contains("-echo"), "the terminal is as it was: {left}");
    // What was typed is there the next time.
    assert!(room.place.files.text("state/haft/typed.jsonl").contains("\"Make it say hello\""));
}

#[test]
fn a_command_leaves_the_sandbox_by_one_key() {
    if !tmux::is_there() {
        return;
    }
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let parent = outside.path().canonicalize().unwrap().display().to_string();
    let (one, other) = parent.split_at(parent.len() / 2);
    let command = format!("python3 -c \"open('{one}' + '{other}/made', 'w').write('x')\"");
    let turn = Turn::new().call("Bash", json!({ "command": command }));
    let room = Room::at(place(), [turn, Turn::new().text("It is made.")], (100, 30), &[], &[]);
    room.tmux.says("Make it");
    let asked =
        room.tmux.sees("[u] this call, outside the sandbox: it can change and reach everything that you can");
    assert!(asked.contains("[y] this call, in the sandbox"), "{asked}");
    reads();
    room.tmux.types("u");
    room.tmux.sees("It is made.");
    assert_eq!(fs::read_to_string(outside.path().join("made")).unwrap(), "x");
}

#[test]
fn a_no_with_a_reason_is_told_to_the_model() {
    if !tmux::is_there() {
        return;
    }
    let script = Script::new(|request| match request.text.contains("not this file") {
        false => edit(),
        true => Turn::new().text("I leave it alone."),
    });
    let room = Room::new(script);
    room.tmux.says("Change it");
    room.tmux.sees("[r] no, because");
    reads();
    room.tmux.types("r");
    room.tmux.sees("No, because");
    room.tmux.says("not this file");
    let screen = room.tmux.sees("I leave it alone.");
    assert!(screen.contains("⊘ Edit main.rs"), "{screen}");
    assert!(room.place.files.text("project/main.rs").contains("hi"));
}

#[test]
fn esc_stops_the_turn_and_the_conversation_goes_on() {
    if !tmux::is_there() {
        return;
    }
    let long = Turn::new().text("I begin to speak").pause(Duration::from_secs(300)).text(" and never end");
    let room = Room::new([long, Turn::new().text("Here I am again.")]);
    room.tmux.says("Talk");
    room.tmux.sees("I begin to speak");
    room.tmux.presses("Escape");
    room.tmux.sees("stopped; what was done is done");
    room.tmux.says("Go on");
    room.tmux.sees("Here I am again.");
    room.tmux.presses("C-d");
    room.tmux.sees("left with 0");
}

#[test]
fn a_terminal_of_another_size_is_drawn_anew() {
    if !tmux::is_there() {
        return;
    }
    let words = "some words that are wrapped where the terminal ends ".repeat(6);
    let room = Room::new([Turn::new().text(words), Turn::new().text("Second.")]);
    let tmux = &room.tmux;
    tmux.says("First");
    tmux.sees("% of context left");
    for (columns, rows) in [(40, 20), (120, 40), (24, 10), (80, 24)] {
        tmux.resizes(columns, rows);
        thread::sleep(Duration::from_millis(300));
        tmux.types("x");
        let screen = tmux.sees("❯ x");
        let prompts = screen.lines().filter(|line| line.starts_with("❯ x")).count();
        assert_eq!(prompts, 1, "{columns}×{rows}: {screen}");
        assert_eq!(screen.matches("mode default").count(), 1, "{columns}×{rows}: {screen}");
        tmux.presses("C-c");
        tmux.sees_no_more("❯ x");
    }
    tmux.says("Again");
    tmux.sees("Second.");
    let memory = tmux.memory();
    assert!(memory.contains("❯ First") && memory.contains("some words that are wrapped"), "{memory}");
}

#[test]
fn what_is_pasted_is_one_message_and_answers_nothing() {
    if !tmux::is_there() {
        return;
    }
    let script = Script::new(|request| match request.text.contains("first\\nsecond\\ny") {
        true => Turn::new().text("Three lines came."),
        false => Turn::new().text("Something else came."),
    });
    let room = Room::new(script);
    room.tmux.sees("mode default");
    room.tmux.pastes("first\nsecond\ny");
    room.tmux.sees("second");
    room.tmux.presses("Enter");
    room.tmux.sees("Three lines came.");
}

#[test]
fn nothing_that_a_model_or_a_program_writes_moves_the_cursor() {
    if !tmux::is_there() {
        return;
    }
    let turn = Turn::new()
        .text("evil \u{1b}[2J\u{1b}]0;title\u{7} words")
        .call("Bash", json!({ "command": "printf '\\033[2J\\033[5;5HPWNED\\n'" }));
    let room =
        Room::with([turn, Turn::new().text("That was all.")], (80, 30), &[], &["--mode", "accept-edits"]);
    room.tmux.says("Be evil");
    let screen = room.tmux.sees("That was all.");
    assert!(screen.contains("❯ Be evil") && screen.contains("evil \\u{1b}[2J"), "{screen}");
    assert!(screen.contains("⎿ PWNED"), "{screen}");
}

#[test]
fn a_signal_to_go_leaves_the_terminal_as_it_was() {
    if !tmux::is_there() {
        return;
    }
    let long = Turn::new().text("I begin").pause(Duration::from_secs(300));
    let room = Room::new([long]);
    room.tmux.says("Talk");
    room.tmux.sees("I begin");
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", room.tmux.shell())).unwrap();
    let haft: i32 = children.split_whitespace().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(haft).unwrap(), Signal::TERM).unwrap();
    room.tmux.sees("left with 130");
    room.tmux.sees("icanon");
    let screen = room.tmux.screen();
    assert!(!screen.contains("-icanon") && !screen.contains("-echo"), "{screen}");
}

#[test]
fn what_the_session_knows_is_kept_while_it_goes_on() {
    if !tmux::is_there() {
        return;
    }
    let todos = json!({ "todos": [{ "content": "Count the legs", "status": "pending" }] });
    let script = [Turn::new().call("TodoWrite", todos), Turn::new().text("It is noted.")];
    let room = Room::with(script, (80, 30), &[], &["--session", "s"]);
    room.tmux.says("Note it");
    room.tmux.sees("It is noted.");
    let began = std::time::Instant::now();
    let kept = || fs::read_to_string(room.place.path("state/haft/sessions/s.json")).unwrap_or_default();
    while !kept().contains("Count the legs") {
        assert!(began.elapsed() < Duration::from_secs(30), "it is not kept: {}", kept());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn without_colours_there_are_none() {
    if !tmux::is_there() {
        return;
    }
    let turn = || [Turn::new().text("# Heading\n\n```rust\nlet x = 1;\n```\n")];
    for (env, has_colours) in [(&[][..], true), (&[("NO_COLOR", "1")][..], false)] {
        let room = Room::with(turn(), (80, 24), env, &[]);
        room.tmux.says("Show");
        room.tmux.sees("let x = 1;");
        room.tmux.sees("% of context left");
        let coloured = room.tmux.coloured();
        // 39 is the colour that the terminal has anyway.
        let is_coloured = (30..38).any(|code| coloured.contains(&format!("\u{1b}[{code}m")));
        assert_eq!(is_coloured, has_colours, "{coloured:?}");
    }
}

#[test]
fn a_terminal_that_knows_only_lines_gets_lines() {
    if !tmux::is_there() {
        return;
    }
    let room = Room::with([edit(), Turn::new().text("Done.")], (80, 40), &[("TERM", "dumb")], &[]);
    room.tmux.sees(">");
    room.tmux.says("Change it");
    let asked = room.tmux.sees("or `n` and a reason:");
    assert!(asked.contains("I will **change** it.") && asked.contains("* Read "), "{asked}");
    room.tmux.says("y");
    room.tmux.sees("Done.");
    assert!(room.place.files.text("project/main.rs").contains("hello"));
    room.tmux.says("/quit");
    room.tmux.sees("left with 0");
}

#[test]
fn commands_say_what_there_is() {
    if !tmux::is_there() {
        return;
    }
    let room = Room::new([edit(), Turn::new().text("It is changed.")]);
    let tmux = &room.tmux;
    tmux.says("/help");
    tmux.sees("/compact");
    tmux.says("/tools");
    let tools = tmux.sees("more are deferred");
    assert!(tools.contains("\nEdit  ") && !tools.contains("u{1b}"), "{tools}");
    tmux.says("/mode plan");
    tmux.sees("mode plan: only reading");
    tmux.says("/mode bypass");
    tmux.sees("is chosen when haft starts");
    tmux.says("/mode accept-edits");
    tmux.sees("mode accept-edits: edits");
    tmux.says("/explain Edit {\"file_path\":\"main.rs\",\"old_string\":\"hi\",\"new_string\":\"x\"}");
    tmux.sees("Edit: Edit");
    tmux.says("Change it");
    tmux.sees("It is changed.");
    assert!(room.place.files.text("project/main.rs").contains("hello"));
    tmux.says("/undo");
    tmux.sees("Take this back?");
    tmux.presses("Escape");
    tmux.sees("nothing was taken back");
    tmux.says("/undo");
    tmux.sees("Take this back?");
    reads();
    tmux.types("y");
    tmux.sees("taken back: 1 file");
    assert!(room.place.files.text("project/main.rs").contains("hi"));
    tmux.says("/export said.md");
    tmux.sees("said.md");
    tmux.says("/nonsense");
    tmux.sees("there is no /nonsense");
    assert!(room.place.files.text("project/said.md").contains("## You\n\nChange it"));
}

#[test]
fn a_change_that_is_gone_already_does_not_stand_before_those_before_it() {
    if !tmux::is_there() {
        return;
    }
    let write = |name: &str| Turn::new().call("Write", json!({ "file_path": name, "content": "words\n" }));
    let script =
        [write("one.txt"), Turn::new().text("First."), write("two.txt"), Turn::new().text("Second.")];
    let room = Room::with(script, (80, 30), &[], &["--mode", "accept-edits"]);
    room.tmux.says("Write");
    room.tmux.sees("First.");
    room.tmux.says("Write more");
    room.tmux.sees("Second.");
    fs::remove_file(room.place.path("project/two.txt")).unwrap();
    room.tmux.says("/undo");
    let asked = room.tmux.sees("Take this back?");
    assert!(asked.contains("one.txt"), "{asked}");
    reads();
    room.tmux.types("y");
    room.tmux.sees("taken back: 1 file");
    assert!(!room.place.path("project/one.txt").exists());
}

#[test]
fn a_question_leaves_one_copy_however_high_the_terminal_is_made() {
    if !tmux::is_there() {
        return;
    }
    let words = "some words\n\n".repeat(12);
    let room = Room::with([Turn::new().text(words), edit()], (80, 36), &[], &[]);
    let tmux = &room.tmux;
    tmux.says("Talk");
    tmux.sees("% of context left");
    tmux.says("Change it");
    tmux.sees("[y] ");
    for rows in [24, 34, 22, 30, 23, 40] {
        tmux.resizes(80, rows);
        thread::sleep(Duration::from_millis(400));
        let (screen, memory) = (tmux.screen(), tmux.memory());
        for once in ["[y] ", "mode default", "Edit: Edit", "? Edit main.rs"] {
            assert_eq!(memory.matches(once).count(), 1, "{rows} rows, {once}: {memory}");
            assert!(screen.contains(once), "{rows} rows, {once}: {screen}");
        }
    }
    // Lower than the question was: what is left of it is drawn anew, and nothing of the old one stays among it.
    for rows in [13, 11] {
        tmux.resizes(80, rows);
        let screen =
            tmux.waits_until("the small question", |screen| screen.contains("more lines: v shows all"));
        for once in ["[y]", "mode default", "Edit: Edit", "│ "] {
            let expected = if once == "│ " { 3..=6 } else { 1..=1 };
            assert!(expected.contains(&screen.matches(once).count()), "{rows} rows, {once}: {screen}");
        }
    }
    reads();
    tmux.types("n");
    tmux.sees("⊘ Edit main.rs");
}

#[test]
fn what_was_found_is_seen_and_all_of_it_on_request() {
    if !tmux::is_there() {
        return;
    }
    let place = place();
    (1..=40).for_each(|number| place.files.write(&format!("project/found/{number}.txt"), b"x"));
    let script = [
        Turn::new().call("Glob", json!({ "pattern": "found/*.txt" })).call("List", json!({})),
        Turn::new().text("That is all."),
    ];
    let room = Room::at(place, script, (80, 40), &[], &[]);
    room.tmux.says("Look");
    let screen = room.tmux.sees("That is all.");
    assert!(
        screen.contains("40 files") && screen.contains("found/") && screen.contains("main.rs ("),
        "{screen}"
    );
    assert!(screen.contains("more lines"), "{screen}");
    room.tmux.presses("C-o");
    room.tmux.waits_until("all of them", |screen| screen.matches("found/").count() > 25);
}

#[test]
fn the_end_of_what_goes_on_in_the_background_is_told_when_it_comes_and_once() {
    if !tmux::is_there() {
        return;
    }
    let run = json!({ "command": "sleep 2; exit 3", "background": true });
    let script =
        [Turn::new().call("Bash", run), Turn::new().text("It goes on."), Turn::new().text("I know.")];
    let room = Room::with(script, (100, 30), &[], &["--mode", "accept-edits"]);
    room.tmux.says("Go");
    room.tmux.sees("It goes on.");
    room.tmux.sees("has ended");
    let screen = room.tmux.sees("exit code 3");
    assert!(!screen.contains("⟳"), "{screen}");
    room.tmux.says("And?");
    let screen = room.tmux.sees("I know.");
    assert_eq!(screen.matches("has ended").count(), 1, "{screen}");
    assert!(room.model.requests().last().unwrap().text.contains("has ended"), "the model is told, too");
}

#[test]
fn a_run_on_a_terminal_shows_what_goes_on_and_the_answer_as_it_comes() {
    if !tmux::is_there() {
        return;
    }
    let (place, wait) = (place(), Duration::from_secs(2));
    let bash = json!({ "command": "sleep 2" });
    let model = Model::new([
        Turn::new().pause(wait).text("I will sleep.").call("Bash", bash),
        Turn::new().text("It has \u{1b}[2Jbegun").pause(wait).text(" and ended."),
    ]);
    let url = model.url();
    let line = ["run", "--base-url", &url, "--dialect", "anthropic", "--mode", "accept-edits", "Sleep"];
    let tmux = Tmux::start(&place, (80, 24), &[], &line);
    tmux.sees("s: the model is asked");
    tmux.sees("s: Run sleep 2");
    let begun = tmux.sees("It has \\u{1b}[2Jbegun");
    assert!(!begun.contains("and ended") && !begun.contains("s: Run"), "{begun}");
    let ended = tmux.sees("left with 0");
    let lines: Vec<&str> = ended.lines().take(4).collect();
    let expected = ["I will sleep.", "✓ Run sleep 2", "It has \\u{1b}[2Jbegun and ended.", "left with 0"];
    assert_eq!(lines, expected, "{ended}");
}

#[test]
fn a_question_of_a_run_is_not_written_over() {
    if !tmux::is_there() {
        return;
    }
    let (place, model) = (place(), Model::new([edit(), Turn::new().text("It is so.")]));
    let url = model.url();
    let tmux = Tmux::start(
        &place,
        (80, 40),
        &[],
        &["run", "--base-url", &url, "--dialect", "anthropic", "Change it"],
    );
    tmux.sees("or `n` and a reason:");
    thread::sleep(Duration::from_millis(800));
    let screen = tmux.screen();
    assert!(
        screen.lines().last().unwrap().ends_with("or `n` and a reason:") && !screen.contains("… "),
        "{screen}"
    );
    tmux.says("y");
    let screen = tmux.sees("left with 0");
    assert!(screen.contains("It is so.") && !screen.contains("… "), "{screen}");
}

#[test]
fn a_model_that_nobody_answers_for_is_named_by_its_address() {
    if !tmux::is_there() {
        return;
    }
    let place = place();
    let line =
        ["--base-url", "http://me:secret@127.0.0.1:9/v1?key=abc", "--dialect", "openai", "--model", "m"];
    let tmux = Tmux::start(&place, (100, 24), &[], &line);
    tmux.sees("/help");
    tmux.says("Hello");
    let screen = tmux.sees("http://127.0.0.1:9/v1: ");
    assert!(!screen.contains("secret") && !screen.contains("abc"), "{screen}");
    tmux.sees("asks again in");
}

#[test]
fn the_demo_takes_its_time_on_a_terminal_until_enter_is_pressed() {
    if !tmux::is_there() {
        return;
    }
    let tmux = Tmux::start(&place(), (100, 40), &[], &["demo"]);
    tmux.sees("Enter goes on without pauses");
    tmux.sees("── 1.");
    thread::sleep(Duration::from_secs(3));
    assert!(!tmux.memory().contains("Next, in a directory of yours"), "{}", tmux.memory());
    tmux.presses("Enter");
    tmux.sees("left with 0");
    let fast = Tmux::start(&place(), (100, 40), &[], &["demo", "--fast"]);
    fast.sees("left with 0");
    assert!(!fast.memory().contains("without pauses"), "{}", fast.memory());
}

#[test]
fn prompts_of_servers_are_commands() {
    if !tmux::is_there() {
        return;
    }
    let place = servers::place(servers::LIST);
    let room = Room::at(place, [Turn::new().text("Monday is planned.")], (80, 30), &[], &[]);
    let tmux = &room.tmux;
    tmux.types("/mcp__n");
    tmux.sees("/mcp__notes__plan   day=… Plans the day.");
    tmux.presses("Tab");
    tmux.says("monday");
    tmux.sees("Monday is planned.");
    let asked = room.model.requests()[0].body.to_string();
    assert!(asked.contains("Plan my monday.") && !asked.contains("mcp__notes__plan"), "{asked}");
    tmux.says("/mcp__notes__plan");
    tmux.sees("wants to know `day`");
    tmux.says("/mcp__notes__nothing");
    tmux.sees("there is no /mcp__notes__nothing");
    assert_eq!(room.model.requests().len(), 1);
}

#[test]
fn another_model_is_asked_by_sub_agents_too_and_what_all_cost_is_shown() {
    if !tmux::is_there() {
        return;
    }
    let place = place();
    place.files.write("config/haft/haft.toml", b"model.price.output = 10000\n");
    let mut asked = 0;
    let script = Script::new(move |_| {
        asked += 1;
        match asked {
            1 => Turn::new().text("Hello."),
            2 => Turn::new().call("Delegate", json!({ "prompt": "Look.", "agent": "explore" })),
            3 => Turn::new().text("Seen."),
            _ => Turn::new().text("All done."),
        }
    });
    let room = Room::at(place, script, (100, 30), &[], &[]);
    let tmux = &room.tmux;
    tmux.says("Hi");
    tmux.sees("$0.20");
    tmux.says("/model other");
    tmux.sees("other answers from now on");
    tmux.says("Go");
    tmux.sees("All done.");
    tmux.sees("$0.80");
    let models: Vec<String> =
        room.model.requests().iter().map(|request| request.body["model"].to_string()).collect();
    assert_eq!(models, ["\"scripted\"", "\"other\"", "\"other\"", "\"other\""]);
}

#[test]
fn a_conversation_can_be_gone_on_with() {
    if !tmux::is_there() {
        return;
    }
    let script = Script::new(|request| {
        match request.text.contains("My name is Ada") && request.text.contains("What is it") {
            true => Turn::new().text("It is Ada."),
            false => Turn::new().text("Hello."),
        }
    });
    let (place, model) = (place(), Model::new(script));
    let url = model.url();
    let base = ["--base-url", &url, "--dialect", "anthropic", "--model", "scripted"];
    let first = Tmux::start(&place, (80, 24), &[], &[&base[..], &["--session", "talk"]].concat());
    first.sees("/help");
    first.says("My name is Ada");
    first.sees("Hello.");
    first.presses("C-d");
    first.sees("haft --resume talk");
    let second = Tmux::start(&place, (80, 24), &[], &[&base[..], &["--resume", "talk"]].concat());
    second.sees("My name is Ada");
    second.says("What is it?");
    second.sees("It is Ada.");
}

#[test]
fn one_conversation_is_left_for_another_and_gone_back_to() {
    if !tmux::is_there() {
        return;
    }
    let script = Script::new(|request| match request.text.contains("My name is Ada") {
        true if request.text.contains("What is it") => Turn::new().text("It is Ada."),
        true => Turn::new().text("Hello."),
        false => Turn::new().text("I know nobody."),
    });
    let (place, model) = (place(), Model::new(script));
    let url = model.url();
    let base = ["--base-url", &url, "--dialect", "anthropic", "--model", "scripted"];
    let tmux = Tmux::start(&place, (100, 40), &[], &[&base[..], &["--session", "talk"]].concat());
    tmux.sees("/help");
    tmux.says("My name is Ada");
    tmux.sees("Hello.");
    tmux.says("/clear");
    tmux.sees("haft --resume talk");
    tmux.waits_until("a new one", |screen| {
        screen.matches("haft 0.").count() == 2 && screen.contains("/help")
    });
    tmux.says("Who am I?");
    tmux.sees("I know nobody.");
    tmux.says("/resume");
    tmux.sees("/resume 1");
    let screen = tmux.screen();
    assert!(
        screen.lines().any(|line| line.starts_with("/resume 1") && line.ends_with("My name is Ada")),
        "{screen}"
    );
    tmux.says("/resume 7");
    tmux.sees("there is no such conversation here");
    tmux.says("/resume 1");
    tmux.sees("going on with 2 messages");
    tmux.says("What is it?");
    tmux.sees("It is Ada.");
    tmux.presses("C-d");
    tmux.sees("left with 0");
    let listed = place.haft(&["sessions"]).expect(0, "");
    assert!(listed.out.contains("“My name is Ada”") && listed.out.contains("“Who am I?”"), "{listed:?}");
    let again = Tmux::start(&place, (100, 40), &[], &[&base[..], &["--resume"]].concat());
    again.sees("It is Ada.");
}

#[test]
fn without_a_terminal_it_says_what_to_do_instead() {
    let ran = place().haft(&[]).expect(2, "haft run");
    assert!(ran.out.is_empty(), "{ran:?}");
}

#[test]
fn without_a_model_it_says_how_to_name_one() {
    if !tmux::is_there() {
        return;
    }
    let place = place();
    let tmux = Tmux::start(&place, (100, 24), &[], &[]);
    tmux.sees("no model is configured");
    tmux.sees("left with 2");
}
