//! `haft run`: a model that follows a script does tasks with real tools.

use std::{
    fs,
    process::Child,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use haft_testkit::{ModelServer, Recorded, Script, Turn};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::kit::{Place, Ran};

/// A scripted model on a thread of its own.
pub(crate) struct Model {
    server: Arc<ModelServer>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Model {
    pub(crate) fn new(script: impl Into<Script>) -> Model {
        let script = script.into();
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tell.send(Arc::new(ModelServer::start(script).await)).unwrap();
                let _ = stopped.await;
            });
        });
        Model { server: told.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }

    /// Runs haft with this model.
    pub(crate) fn run(&self, place: &Place, arguments: &[&str]) -> Ran {
        place.haft(&self.line(arguments).iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn line(&self, arguments: &[&str]) -> Vec<String> {
        let options = ["run", "--dialect", "anthropic", "--base-url", &self.server.url()].map(str::to_owned);
        options.into_iter().chain(arguments.iter().map(|word| (*word).to_owned())).collect()
    }

    pub(crate) fn spawn(&self, place: &Place, arguments: &[&str]) -> Child {
        place.command(&self.line(arguments).iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn place() -> Place {
    Place::new("-- project/a.txt\none\n-- project/b.txt\ntwo\n-- project/.git/HEAD\nx\n")
}

fn read(path: &str) -> Value {
    json!({ "file_path": path })
}

#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} did not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_answer_is_on_stdout_and_what_goes_on_on_stderr() {
    let model = Model::new([
        Turn::new().text("I look.").call("Read", read("a.txt")).call("Read", read("missing.txt")),
        Turn::new().text("It says one."),
    ]);
    let ran = model.run(&place(), &["What is in a.txt?"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It says one.\n"), "{ran:?}");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines[0], "I look.");
    assert!(lines[1].starts_with("✓ ") && lines[1].contains("a.txt"), "{ran:?}");
    assert!(lines[2].starts_with("✗ ") && lines[2].contains("missing.txt"), "{ran:?}");
    let requests = model.requests();
    assert!(requests[1].text.contains("one") && requests[1].connection == requests[0].connection);
}

#[test]
fn quiet_is_quiet_and_a_task_may_come_by_stdin() {
    let model = Model::new([Turn::new().call("Read", read("a.txt")), Turn::new().text("Done.")]);
    let place = place();
    let line = model.line(&["-", "-q"]);
    let ran =
        place.haft_with(&line.iter().map(String::as_str).collect::<Vec<_>>(), "Read a.txt\n").expect(0, "");
    assert_eq!(ran.out, "Done.\n");
    assert!(model.requests()[0].text.contains("Read a.txt"));
}

#[test]
fn programs_get_json() {
    let model = Model::new([Turn::new().text("Hi.")]);
    let said = model.run(&place(), &["Hello", "--output", "json"]).expect(0, "").json();
    assert_eq!((&said["end"], &said["text"], &said["turns"]), (&json!("answered"), &json!("Hi."), &json!(1)));
    assert_eq!((&said["usage"]["output"], &said["error"]), (&json!(20), &Value::Null));
    let model = Model::new([Turn::new().call("Read", read("a.txt")), Turn::new().text("Done.")]);
    let lines = model.run(&place(), &["Hello", "--output", "stream-json", "-q"]).expect(0, "").lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["asking", "call", "queued", "started", "finished", "usage", "asking", "text", "usage", "result"]
    );
    assert_eq!(lines[1]["input"], read("a.txt"), "an object, as in `started`");
}

#[test]
fn without_a_model_there_are_three_ways_to_name_one() {
    let place = place();
    let ran = place.haft(&["run", "Hello"]).expect(2, "no model is configured");
    for words in ["ANTHROPIC_API_KEY", "haft.toml", "--base-url"] {
        assert!(ran.err.contains(words), "{ran:?}");
    }
    place.haft(&["run", "--base-url", "http://127.0.0.1:1"]).expect(2, "there is no task");
    place.haft(&["run", "", "--base-url", "http://127.0.0.1:1"]).expect(2, "the task is empty");
    place.haft(&["run", "x", "--base-url", "ftp://a"]).expect(2, "the base URL cannot be used");
    place
        .haft(&["run", "--resume", "nobody", "--base-url", "http://127.0.0.1:1"])
        .expect(2, "nothing was said");
    place.haft(&["run", "--resume", "a", "--session", "b"]).expect(2, "leave --session out");
    place.haft(&["run", "--resume", "../x"]).expect(2, "an id has 1 to 100 letters");
}

#[test]
fn a_workspace_does_not_choose_the_model() {
    let place = place();
    place.files.write("project/haft.toml", b"[model]\nbase_url = \"http://127.0.0.1:9\"\n");
    place.haft(&["run", "x", "--trust", "-v"]).expect(2, "`model.base_url` does not count here");
}

#[test]
fn a_run_that_reaches_its_limit_can_go_on() {
    let place = place();
    let mut turn = 0;
    let model = Model::new(Script::new(move |_| {
        turn += 1;
        match turn {
            1 => Turn::new().call("Read", read("a.txt")),
            _ => Turn::new().text(format!("Answer {turn}.")),
        }
    }));
    let ran = model.run(&place, &["Begin", "--max-turns", "1", "--session", "mine"]).expect(1, "--max-turns");
    assert!(ran.err.contains("haft run --resume mine"), "{ran:?}");
    model.run(&place, &["Anew", "--session", "mine"]).expect(2, "has a conversation already");
    assert_eq!(model.run(&place, &["--resume", "mine", "-q"]).expect(0, "").out, "Answer 2.\n");
    assert_eq!(model.run(&place, &["--resume", "mine", "And now?", "-q"]).expect(0, "").out, "Answer 3.\n");
    // What was answered is not asked again.
    assert_eq!(model.run(&place, &["--resume", "mine", "-q"]).expect(0, "").out, "Answer 3.\n");
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let last = requests[2].body["messages"].to_string();
    for words in ["Begin", "one", "Answer 2.", "And now?"] {
        assert!(last.contains(words), "{last}");
    }
}

#[test]
fn a_refusal_is_told_to_the_model_and_the_model_goes_on() {
    let model = Model::new([
        Turn::new().call("Bash", json!({ "command": "touch made" })),
        Turn::new().text("I may not."),
    ]);
    let place = place();
    let ran = model.run(&place, &["Make it"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "I may not.\n"), "{ran:?}");
    assert!(!place.path("project/made").exists());
    assert!(model.requests()[1].text.contains("\"is_error\":true"));
}

#[test]
fn a_model_that_does_not_answer_is_exit_1() {
    let model = Model::new(Script::always(Turn::refusal(401, "wrong key")));
    let ran = model.run(&place(), &["Hello"]).expect(1, "the model does not answer: wrong key (HTTP 401)");
    assert!(ran.err.contains("no key was sent") && ran.err.contains("key_env"), "{ran:?}");
    let model = Model::new(Script::always(Turn::refusal(404, "no such model")));
    model.run(&place(), &["Hello"]).expect(1, "is the model's name right (--model");
}

#[test]
fn a_server_gets_the_fields_and_headers_of_the_settings_and_none_that_only_openai_knows() {
    let model = Model::new(Script::always("Hi.".into()));
    let place = Place::new(
        "-- config/haft/haft.toml
         [model]
         headers = { x-title = 'from ${HOME}' }
         extra = { top_k = 20, stream_options = '' }
         ",
    );
    for dialect in ["openai", "responses"] {
        let ran = place.haft(&["run", "--dialect", dialect, "--base-url", &model.url(), "Hello"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "Hi.\n"), "{ran:?}");
        let request = model.requests().pop().unwrap();
        assert_eq!(request.body["top_k"], 20);
        assert!(!request.text.contains("stream_options"), "{dialect}: {}", request.text);
        assert!(!request.text.contains("prompt_cache_key"), "{dialect}: {}", request.text);
        assert!(request.header("x-title").unwrap().starts_with("from /"), "{dialect}");
    }
}

#[test]
fn a_model_that_says_nothing_for_too_long_is_asked_again() {
    let late = Turn::new().text("I th").pause(Duration::from_secs(60)).text("ink.");
    let model = Model::new([late, Turn::new().text("Here.")]);
    let place = Place::new("-- config/haft/haft.toml\n[model]\ntimeout_s = 1\n");
    let ran = model.run(&place, &["Hello"]).expect(0, "the server said nothing for 1 seconds; attempt 2");
    assert_eq!(ran.out, "Here.\n");
}

#[test]
fn a_call_that_failed_says_why_and_where_in_the_workspace() {
    let calls = Turn::new()
        .call("Read", read("none.txt"))
        .call("Bash", json!({ "command": "cat a.txt none.txt 2>/dev/null" }));
    let model = Model::new([calls, Turn::new().text("Oh.")]);
    let ran = model.run(&place(), &["Look"]);
    assert!(ran.err.contains("✗ Read none.txt: cannot read "), "{ran:?}");
    assert!(ran.err.contains("none.txt 2> /dev/null: [exit code 1]\n"), "{ran:?}");
}

#[test]
fn ctrl_c_stops_the_turn_and_keeps_what_was_done() {
    let place = place();
    let model = Model::new([
        Turn::new().call("Bash", json!({ "command": "touch began; sleep 86422.5" })),
        Turn::new().text("I see."),
    ]);
    let child = model.spawn(&place, &["Wait", "--session", "stop", "--allow", "Bash"]);
    wait_until("the command", || place.path("project/began").exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{ran:?}");
    assert_eq!(model.run(&place, &["--resume", "stop", "And?", "-q"]).expect(0, "").out, "I see.\n");
    let messages = model.requests()[1].body["messages"].to_string();
    assert!(messages.contains("is_error") && messages.contains("And?"), "{messages}");
}

#[test]
fn who_ends_haft_has_the_turn_stopped_and_what_a_command_had_hidden_is_seen_again() {
    for signal in [Signal::TERM, Signal::HUP, Signal::KILL] {
        let place = place();
        let before = fs::read_dir(place.path("project")).unwrap().count();
        let model =
            Model::new([Turn::new().call("Bash", json!({ "command": "touch began; sleep 86424.5" }))]);
        let child = model.spawn(&place, &["Wait", "--allow", "Bash", "--output", "json"]);
        wait_until("the command", || place.path("project/began").exists());
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ran = Ran::of(&child.wait_with_output().unwrap());
        if signal != Signal::KILL {
            assert_eq!(ran.code, 130, "{ran:?}");
            assert!(ran.out.contains(r#""end":"interrupted""#), "{ran:?}");
        }
        // What stood in the place of files that must not be made is gone, also where nobody was left to take it away.
        let left = || fs::read_dir(place.path("project")).unwrap().count();
        wait_until("tidying", || left() == before + 1);
    }
}

#[test]
fn a_conversation_belongs_to_one_process_at_a_time() {
    let place = place();
    let model = Model::new([
        Turn::new().call("Bash", json!({ "command": "touch began; sleep 86425.5" })),
        Turn::new().text("Fine."),
    ]);
    let child = model.spawn(&place, &["Wait", "--session", "one", "--allow", "Bash"]);
    wait_until("the command", || place.path("project/began").exists());
    let who = format!("the session one is in use by process {}", child.id());
    model.run(&place, &["--resume", "one", "And?"]).expect(2, &who);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait_with_output().unwrap();
    assert_eq!(model.run(&place, &["--resume", "one", "And?", "-q"]).expect(0, "").out, "Fine.\n");
}

#[test]
fn what_is_not_finished_when_the_model_is_done_is_said() {
    let server = json!({ "command": "sleep 86426.5", "background": true, "description": "a server" });
    let model = Model::new([Turn::new().call("Bash", server), Turn::new().text("It runs.")]);
    let ran =
        model.run(&place(), &["Serve", "--allow", "Bash", "--json"]).expect(0, "still ran, and is stopped");
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(said["unfinished"][0].as_str().unwrap().starts_with("task-1 ("), "{said}");
}

#[test]
fn a_run_that_was_killed_goes_on_and_does_nothing_twice() {
    let place = place();
    let mut asked = 0;
    let model = Model::new(Script::new(move |_| {
        asked += 1;
        let append = |command: &str| json!({ "command": format!("{command}; echo x >> log") });
        match asked {
            // Ids come again: each is another call all the same.
            1 => Turn::new().call("Bash", append("true")),
            2 => Turn::new()
                .call("Bash", append("true"))
                .call("Bash", json!({ "command": "echo y >> log; touch began; sleep 86423.5" })),
            _ => Turn::new().text("I see."),
        }
    }));
    let mut child = model.spawn(&place, &["Work", "--session", "kill", "--allow", "Bash"]);
    wait_until("the command", || place.path("project/began").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = model.run(&place, &["--resume", "kill", "--allow", "Bash"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "I see.\n"), "{ran:?}");
    assert_eq!(fs::read_to_string(place.path("project/log")).unwrap(), "x\nx\ny\n");
    let messages = model.requests()[2].body["messages"].clone();
    let results = messages[4]["content"].to_string();
    assert!(results.contains("its effect is unknown"), "{results}");
}

#[test]
fn a_run_that_was_killed_while_the_model_wrote_goes_on_from_there() {
    let place = place();
    let mut asked = 0;
    let model = Model::new(Script::new(move |_| {
        asked += 1;
        match asked {
            1 => Turn::new().call("Bash", json!({ "command": "echo x >> log" })),
            2 => Turn::new().text("I am").pause(Duration::from_secs(60)).text("late."),
            _ => Turn::new().text("I see."),
        }
    }));
    let mut child = model.spawn(&place, &["Work", "--session", "kill", "--allow", "Bash"]);
    wait_until("the second request", || model.requests().len() == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        model.run(&place, &["--resume", "kill", "--allow", "Bash", "-q"]).expect(0, "").out,
        "I see.\n"
    );
    assert_eq!(fs::read_to_string(place.path("project/log")).unwrap(), "x\n");
    let requests = model.requests();
    assert_eq!(requests[1].body["messages"], requests[2].body["messages"]);
}

#[test]
fn loading_a_tool_appends_it_to_what_the_model_sees() {
    let place = place();
    place.files.write("config/haft/haft.toml", b"[tools]\ndefer_above = 0\n");
    let model = Model::new([
        Turn::new().call("ToolSearch", json!({ "query": "apply a patch to files" })),
        Turn::new().call("Read", read("a.txt")),
        Turn::new().text("Done."),
    ]);
    model.run(&place, &["Go"]).expect(0, "✓");
    let tools: Vec<String> = model.requests().iter().map(tools).collect();
    assert!(tools[1].len() > tools[0].len() && tools[1].starts_with(&tools[0]), "{tools:?}");
    assert_eq!(tools[1], tools[2]);
}

/// The items of the `tools` field as they were sent, but for marks of the cache.
fn tools(request: &Recorded) -> String {
    let (_, rest) = request.text.split_once("\"tools\":[").unwrap();
    let (tools, _) = rest.split_once("],\"system\":").unwrap();
    tools.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
}

#[test]
fn with_references_the_tools_stay_the_same_bytes_and_what_was_found_is_referred_to() {
    let place = place();
    place.files.write("config/haft/haft.toml", b"[model]\ntool_references = true\n");
    let model = Model::new([
        Turn::new().call("ToolSearch", json!({ "query": "apply a patch to files" })),
        Turn::new().call("Read", read("a.txt")),
        Turn::new().text("Done."),
    ]);
    model.run(&place, &["Go"]).expect(0, "✓");
    let requests = model.requests();
    assert!(requests.iter().all(|request| tools(request) == tools(&requests[0])));
    let found = requests[1].body["messages"][2]["content"][0]["content"].as_array().unwrap();
    assert!(
        found.iter().any(|block| *block == json!({ "type": "tool_reference", "tool_name": "ApplyPatch" }))
    );
    for block in found {
        let is_it = |tool: &&Value| tool["name"] == block["tool_name"];
        let tool = requests[1].body["tools"].as_array().unwrap().iter().find(is_it).unwrap();
        assert_eq!(tool["defer_loading"], true, "{tool}");
    }
}

#[test]
fn a_run_may_write_so_many_tokens_in_all_its_answers() {
    let place = place();
    let model = || Model::new([Turn::new().call("Read", read("a.txt")), Turn::new().text("Done.")]);
    // The scripted model writes 20 in each answer.
    let ran = model().run(&place, &["Go", "--run-tokens", "20", "--output", "json"]);
    assert_eq!((ran.code, &ran.json()["end"]), (1, &json!("token_limit")), "{ran:?}");
    assert!(ran.err.contains("--run-tokens"), "{ran:?}");
    model().run(&place, &["Go", "--run-tokens", "21", "-q"]).expect(0, "");
    place.files.write("config/haft/haft.toml", b"[model]\nrun_tokens = 20\n");
    model().run(&place, &["Go"]).expect(1, "--run-tokens");
}

#[test]
fn with_prices_a_run_says_what_it_cost() {
    let place = place();
    let json = |place: &Place| {
        let model = Model::new([Turn::new().text("Hi.")]);
        model.run(place, &["Hello", "--output", "json"]).expect(0, "").json()
    };
    assert_eq!(json(&place).get("cost"), None);
    place.files.write("config/haft/haft.toml", b"[model.price]\ninput = 0\noutput = 15\n");
    assert_eq!(json(&place)["cost"], json!(20.0 * 15.0 / 1e6));
}

#[test]
fn notes_of_the_project_are_told_as_notes_unless_a_rule_keeps_them() {
    let place = place();
    place.files.write("project/AGENTS.md", b"Run make check.\n");
    let model = Model::new(Script::always(Turn::new().text("Yes.")));
    model.run(&place, &["Go", "-q"]).expect(0, "");
    model.run(&place, &["Go", "-q", "--deny", "Read(AGENTS.md)"]).expect(0, "");
    let systems: Vec<String> =
        model.requests().iter().map(|request| request.body["system"].to_string()).collect();
    assert!(systems[0].contains("<notes file=\\\"AGENTS.md\\\">") && systems[0].contains("Run make check."));
    assert!(!systems[1].contains("make check"), "{}", systems[1]);
}

#[test]
fn the_first_request_is_small() {
    let model = Model::new(["Hi."]);
    model.run(&place(), &["Hello", "-q"]).expect(0, "");
    let body = &model.requests()[0].body;
    let bytes = body["tools"].to_string().len() + body["system"].to_string().len();
    assert!(bytes / 4 <= 2_700, "about {} tokens", bytes / 4);
}
