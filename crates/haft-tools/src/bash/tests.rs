//! What model and person see of commands, in real shells.

use std::{
    fs,
    time::{Duration, Instant},
};

use haft_engine::{
    Call, Session,
    policy::{Origin, Rules},
    result::ToolResult,
    turn::Event,
};
use haft_testkit::{Workspace, engine, session};
use haft_tool::{FaultKind, View};
use serde_json::{Value, json};

use super::*;
use crate::shown::count;

/// A session that may run commands.
struct Shell {
    workspace: Workspace,
    session: Session,
    runtime: tokio::runtime::Runtime,
}

impl Shell {
    fn new() -> Shell {
        Shell::with(BashOptions::default())
    }

    fn with(bash: BashOptions) -> Shell {
        Shell::build(bash, true)
    }

    /// Whatever there is to confine commands: not here.
    fn unconfined() -> Shell {
        Shell::build(BashOptions::default(), false)
    }

    fn build(bash: BashOptions, confined: bool) -> Shell {
        let workspace = Workspace::new("-- src/a.rs\nfn main() {}\n");
        let rules = Rules::allowing(["Bash"], Origin::Session);
        let tools = crate::builtin_with(crate::Options { bash, ..crate::Options::default() });
        let engine = engine(&workspace).tools(tools).rules(rules);
        let engine = engine.settings(|settings| settings.sandbox.enabled = confined).build().unwrap();
        let session = session(&engine, &workspace);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Shell { workspace, session, runtime }
    }

    fn result(&self, tool: &str, input: Value) -> ToolResult {
        self.runtime.block_on(self.session.call(Call::new("1", tool, input)))
    }

    /// What the model reads, with the place of the workspace as `/w`.
    fn call(&self, tool: &str, input: Value) -> String {
        self.short(&self.result(tool, input).text())
    }

    fn run(&self, command: &str) -> String {
        self.call("Bash", json!({ "command": command }))
    }

    fn short(&self, text: &str) -> String {
        text.replace(&self.workspace.root().display().to_string(), "/w")
    }
}

#[test]
fn the_model_reads_the_output_and_what_is_worth_a_word() {
    let cases = [
        ("echo hello", "hello"),
        ("printf 'no line end'", "no line end"),
        ("true", "[no output]"),
        ("echo out; echo err >&2; exit 2", "out\nerr\n[exit code 2]"),
        ("false", "[exit code 1]"),
        ("kill -SEGV $$", "[ended by SIGSEGV]"),
        ("exit 137", "[exit code 137 (a process was ended by SIGKILL)]"),
        ("printf '\\033[31mred\\033[0m\\n10%%\\r100%%\\n'", "red\n100%"),
        ("printf 'a\\377b'", "a\u{fffd}b"),
        ("printf 'a\\0b'", "[3 bytes of output that is no text, not shown; write it to a file to use it]"),
        ("read answer || echo nobody answers", "nobody answers"),
    ];
    let shell = Shell::new();
    cases.into_iter().for_each(|(command, expected)| assert_eq!(shell.run(command), expected, "{command}"));
    let missing = shell.run("no-such-program-anywhere");
    assert!(missing.ends_with("not found\n[exit code 127 (the command was not found)]"), "{missing}");
}

#[test]
fn an_exit_code_is_an_error_with_all_its_output() {
    let result = Shell::new().result("Bash", json!({ "command": "echo why; exit 3" }));
    assert_eq!(result.fault.map(|fault| fault.kind), Some(FaultKind::Failed));
    assert_eq!((result.text().as_str(), &result.meta.notes["exit_code"]), ("why\n[exit code 3]", &json!(3)));
}

#[test]
fn the_directory_stays_for_the_next_command() {
    let shell = Shell::new();
    assert_eq!(shell.run("cd src && false"), "[exit code 1]\n[the directory is now /w/src]");
    assert_eq!(shell.run("ls"), "a.rs");
    assert_eq!(shell.call("Stat", json!({ "path": "a.rs" })), "file, 13 bytes");
    assert_eq!(
        shell.run("cd /usr && pwd"),
        "/usr\n[the directory is still /w/src: /usr is outside the workspace, and holds for one command only]"
    );
    assert_eq!(shell.run("pwd"), "/w/src");
}

#[test]
fn a_single_program_that_only_looks_takes_the_place_of_the_shell() {
    if let Err(why) = haft_shell::sandbox::Support::here().namespaces {
        println!("skipped: {why}");
        return;
    }
    // Process 1 is the sandbox's own, and process 2 what it starts.
    let first = "cat /proc/2/comm";
    let shell = Shell::new();
    assert_eq!(shell.run(first), "cat");
    assert_eq!(
        shell.run(&format!("touch new; {first}")),
        "bash",
        "a line that may have moved says where it is"
    );
    assert_eq!(shell.run(&format!("cd src; {first}")), "bash\n[the directory is now /w/src]");
}

#[test]
fn in_a_directory_that_is_gone_nothing_runs() {
    let shell = Shell::new();
    shell.run("mkdir gone && cd gone");
    fs::remove_dir(shell.workspace.root().join("gone")).unwrap();
    assert_eq!(
        shell.run("rm -rf *"),
        "nothing was run: the directory /w/gone does not exist any more. The next command begins in /w"
    );
    assert_eq!(shell.run("ls src"), "a.rs");
}

#[test]
fn a_command_that_takes_too_long_is_stopped_and_keeps_what_it_said() {
    let shell = Shell::new();
    let began = Instant::now();
    let result = shell.result("Bash", json!({ "command": "echo begun; sleep 1000", "timeout": 300 }));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(result.fault.as_ref().map(|fault| fault.kind), Some(FaultKind::TimedOut));
    assert_eq!(
        result.text(),
        "begun\n[stopped: it took longer than 300 ms; what it did until then stays done. Set `timeout` (at most \
         600000) or `background` for longer work]"
    );
}

#[test]
fn an_interrupt_keeps_the_output_so_far() {
    let shell = Shell::new();
    let result = shell.runtime.block_on(async {
        let mut turn = shell.session.live_turn();
        let command = "echo first; sleep 1000; echo never";
        turn.push(Call::new("1", "Bash", json!({ "command": command }))).unwrap();
        turn.close();
        while let Some(event) = turn.next().await {
            if let Event::Progress { progress, .. } = event {
                assert_eq!(progress.label, "first");
                turn.interrupt();
                break;
            }
        }
        turn.results().await.remove(0)
    });
    assert_eq!(result.fault.as_ref().map(|fault| fault.kind), Some(FaultKind::Cancelled));
    assert_eq!(
        result.text(),
        "first\n[stopped on request before it ended; what it did until then stays done]"
    );
}

#[test]
fn long_output_is_cut_in_the_middle_and_kept_as_a_whole() {
    let shell = Shell::new();
    let text = shell.run("seq 1 100000");
    assert!(
        text.len() < 40_000 && text.starts_with("1\n2\n3\n") && text.ends_with("\n99999\n100000"),
        "{text}"
    );
    let marker = text.lines().find(|line| line.starts_with("[…")).unwrap();
    assert!(marker.contains(" hidden; the whole is in /w/.results/"), "{marker}");
    let kept = marker.split("the whole is in ").nth(1).unwrap().trim_end_matches(" …]");
    let whole =
        fs::read_to_string(kept.replace("/w/", &format!("{}/", shell.workspace.root().display()))).unwrap();
    assert_eq!(whole.lines().count(), 100_000);
    let shown: usize = text.lines().filter(|line| !line.starts_with("[…")).count();
    assert!(
        marker.contains(&format!("{} hidden", count(100_000 - shown as u64, "line"))),
        "{marker}, {shown} shown"
    );
}

#[test]
fn what_is_left_running_is_ended_and_told() {
    assert_eq!(
        Shell::unconfined().run("sleep 1000 & echo started"),
        "started\n[1 process that it left running was ended; set `background` for what is to go on]"
    );
}

#[test]
fn a_background_server_is_waited_for_by_a_pattern() {
    let shell = Shell::new();
    let server = "echo starting; sleep 0.3; echo listening on 8080; while sleep 0.05; do :; done";
    let begun = shell.call("Bash", json!({ "command": server, "background": true }));
    let told = "[it goes on in the background as task-1; look at it with TaskOutput, end it with TaskStop]";
    assert_eq!(begun, told);
    let look = |input: Value| shell.call("TaskOutput", input);
    let waited = look(json!({ "task_id": "task-1", "pattern": "listening on \\d+" }));
    assert!(waited.ends_with("listening on 8080\n[the pattern matches; it still runs]"), "{waited}");
    assert_eq!(look(json!({ "task_id": "task-1" })), "[nothing new; it still runs]");
    let vain = json!({ "task_id": "task-1", "pattern": "never", "timeout": 50 });
    assert_eq!(look(vain), "[nothing new; the pattern did not match in time; it still runs]");
    assert_eq!(shell.call("TaskStop", json!({ "task_id": "task-1" })), "[task-1 has ended]");
    assert_eq!(look(json!({ "task_id": "task-1" })), "[nothing new; it has ended: stopped]");
    assert_eq!(shell.call("TaskStop", json!({ "task_id": "task-1" })), "task-1 had ended already: stopped");
}

#[test]
fn whoever_watches_is_told_of_a_task() {
    let shell = Shell::new();
    let told = shell.runtime.block_on(async {
        let mut turn = shell.session.live_turn();
        let input = json!({ "command": "sleep 1000", "background": true });
        turn.push(Call::new("1", "Bash", input)).unwrap();
        turn.close();
        let mut told = None;
        while let Some(event) = turn.next().await {
            if let Event::TaskStarted { id, description } = event {
                told = Some((id, description));
            }
        }
        told
    });
    assert_eq!(told, Some(("task-1".to_owned(), "sleep 1000".to_owned())));
}

#[test]
fn a_task_that_ends_says_how() {
    let shell = Shell::new();
    shell.call("Bash", json!({ "command": "sleep 0.1; echo done; exit 4", "background": true }));
    let waited = shell.call("TaskOutput", json!({ "task_id": "task-1", "timeout": 10_000 }));
    assert_eq!(waited, "done\n[it has ended: exit code 4]");
}

#[test]
fn a_task_that_is_not_there_is_told_with_those_that_are() {
    let shell = Shell::new();
    let look = |id: &str| shell.call("TaskOutput", json!({ "task_id": id }));
    assert_eq!(look("x"), "there is no task \"x\"; there are none");
    shell.call("Bash", json!({ "command": "sleep 1000", "background": true }));
    assert_eq!(look("x"), "there is no task \"x\"; there are task-1");
    let wrong = shell.call("TaskOutput", json!({ "task_id": "task-1", "pattern": "(" }));
    assert_eq!(wrong, "`pattern` is not valid: unclosed group (it is in Rust's regex syntax)");
}

#[test]
fn a_long_command_goes_on_by_itself_where_that_is_set() {
    let options =
        BashOptions { background_after: Some(Duration::from_millis(200)), ..BashOptions::default() };
    let shell = Shell::with(options);
    let told = "[it goes on in the background as task-1; look at it with TaskOutput, end it with TaskStop]";
    assert_eq!(shell.run("echo so far; sleep 1000"), format!("so far\n{told}"));
    assert_eq!(shell.call("TaskOutput", json!({ "task_id": "task-1" })), "[nothing new; it still runs]");
    assert_eq!(shell.run("echo quick"), "quick");
}

#[test]
fn a_server_in_the_background_is_reached_by_later_commands_and_by_nobody_else() {
    if let Err(why) = haft_shell::sandbox::Support::here().namespaces {
        println!("skipped: {why}");
        return;
    }
    let shell = Shell::new();
    if shell.run("command -v python3") == "[exit code 1]" {
        println!("skipped: there is no python3");
        return;
    }
    let ask =
        "exec 3<>/dev/tcp/127.0.0.1/8123 && printf 'GET /src/a.rs HTTP/1.0\\r\\n\\r\\n' >&3 && tail -n 1 <&3";
    let nobody = |text: String| assert!(text.contains("Connection refused"), "{text}");
    nobody(shell.run(ask));
    let server = "python3 -u -m http.server 8123 --bind 127.0.0.1";
    shell.call("Bash", json!({ "command": server, "background": true }));
    shell.call("TaskOutput", json!({ "task_id": "task-1", "pattern": "Serving", "timeout": 20_000 }));
    assert_eq!(shell.run(ask), "fn main() {}");
    // One more in the background is in the same network, and keeps it when the first has ended.
    shell.call("Bash", json!({ "command": server.replace("8123", "8124"), "background": true }));
    shell.call("TaskOutput", json!({ "task_id": "task-2", "pattern": "Serving", "timeout": 20_000 }));
    shell.call("TaskStop", json!({ "task_id": "task-1" }));
    assert_eq!(shell.run(&ask.replace("8123", "8124")), "fn main() {}");
    nobody(shell.run(ask));
    // A command with hosts is not in that network, so that no other gets out through it: it is passed on.
    let network = "readlink /proc/self/ns/net";
    let asked = format!("{}; {network}", ask.replace("8123", "8124"));
    let others = shell.call("Bash", json!({ "command": asked, "hosts": ["docs.rs"] }));
    let (page, own) = others.split_once('\n').unwrap();
    assert_eq!(page, "fn main() {}");
    assert_ne!(own, shell.run(network));
    nobody(Shell::new().run(&ask.replace("8123", "8124")));
}

#[test]
fn tasks_end_with_their_session() {
    let shell = Shell::new();
    let command = "trap '' HUP; bash -c 'bash -c \"sleep 97531.1 & wait\" & wait'";
    shell.call("Bash", json!({ "command": command, "background": true }));
    assert_eq!(shell.session.tasks().len(), 1);
    let runs = || {
        let lines =
            fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
        lines.flatten().any(|line| line == b"sleep\x0097531.1\0")
    };
    let began = Instant::now();
    while !runs() {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(10));
    }
    shell.runtime.block_on(shell.session.end());
    assert!(!runs());
}

#[test]
fn who_writes_too_much_is_stopped() {
    let options = BashOptions { most_output: 100_000, ..BashOptions::default() };
    let text = Shell::with(options).run("yes");
    assert!(
        text.ends_with("[stopped: it wrote more than 97.7 KB; make it write less, or into a file]"),
        "{text}"
    );
}

#[test]
fn input_that_makes_no_sense_is_refused() {
    let shell = Shell::new();
    assert_eq!(shell.run("  "), "`command` is empty; say what is to run");
    assert!(shell.run("a\0b").contains("NUL character"));
    assert!(shell.run(&"x".repeat(200_000)).contains("write it to a file and run that"));
    let hosts = shell.call("Bash", json!({ "command": "true", "hosts": ["https://docs.rs/x"] }));
    assert_eq!(
        hosts,
        "`hosts`: \"https://docs.rs/x\" is not a host; give its name, like `docs.rs`, or with a port, like `localhost:5432`"
    );
}

#[test]
fn what_a_call_needs_beyond_the_workspace_is_among_its_effects() {
    let input = json!({ "command": "make install", "hosts": ["docs.rs"], "write": ["../out"] });
    let shell = Shell::new();
    let explained = shell.runtime.block_on(shell.session.explain(Call::new("1", "Bash", input))).unwrap();
    let told = shell.short(&explained.effects.to_string());
    assert!(
        told.contains("/w/../out") && told.contains("docs.rs") && told.contains("make install"),
        "{told}"
    );
}

#[test]
fn the_person_sees_the_whole_command_without_tricks() {
    let describe = |input: Value| Bash::default().describe(&serde_json::from_value(input).unwrap());
    assert_eq!(describe(json!({ "command": "ls\n  -la" })), "Run ls ⏎ -la");
    let tricky = json!({ "command": "echo \u{202e}\u{1b}[2K hidden", "description": "List files" });
    assert_eq!(describe(tricky), r"Run echo $'\u202e\x1b'[2K hidden (List files)");
    let chatty = json!({ "command": "rm -r out", "description": "clean up ".repeat(50) });
    let chatty = describe(chatty);
    assert!(chatty.starts_with("Run rm -r out (clean up") && chatty.ends_with("…)"), "{chatty}");
    assert!(chatty.chars().count() < 110, "{chatty}");
}

#[test]
fn the_person_sees_the_colours() {
    let shell = Shell::new();
    let view = shell.runtime.block_on(async {
        let turn = shell.session.live_turn();
        let command = "printf '\\033[32mok\\033[0m\\n'; exit 1";
        turn.push(Call::new("1", "Bash", json!({ "command": command }))).unwrap();
        turn.results().await.remove(0).view.expect("somebody watches")
    });
    let expected = View::List(vec![
        View::text("$ printf '\\033[32mok\\033[0m\\n'; exit 1"),
        View::Code { language: "ansi".to_owned(), text: "\u{1b}[32mok\u{1b}[0m\n".to_owned() },
        View::text("exit code 1"),
    ]);
    assert_eq!(*view, expected);
}

#[test]
fn a_terminal_can_be_asked_for() {
    let shell = Shell::new();
    let tty = "[ -t 1 ] && echo $TERM || echo $TERM, no terminal";
    assert_eq!(shell.run(tty), "dumb, no terminal");
    assert_eq!(shell.call("Bash", json!({ "command": tty, "pty": true })), "xterm-256color");
}

#[test]
fn where_a_sandbox_is_required_and_missing_nothing_runs() {
    let workspace = Workspace::new("-- a\nx\n");
    let rules = Rules::allowing(["Bash"], Origin::Session);
    let engine = engine(&workspace).tool(Bash::default()).rules(rules);
    let engine = engine.settings(|settings| settings.sandbox.required = true).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let call = Call::new("1", "Bash", json!({ "command": "touch made" }));
    let result = runtime.block_on(session(&engine, &workspace).call(call));
    // Once there is a sandbox, it may run; without one it must not.
    assert!(result.is_error() != workspace.root().join("made").exists());
}

#[test]
fn nohup_on_a_terminal_is_known_to_keep_a_file() {
    let base = PathBase { cwd: "/w".into(), home: None, workspace: None };
    let effects = |input: Value| Bash::default().effects_here(&serde_json::from_value(input).unwrap(), &base);
    assert!(effects(json!({ "command": "nohup echo hi" })).is_read_only());
    for command in ["nohup echo hi", "ls; timeout 5 nohup ls", "/usr/bin/nohup ls"] {
        assert!(!effects(json!({ "command": command, "pty": true })).is_read_only(), "{command}");
    }
}
