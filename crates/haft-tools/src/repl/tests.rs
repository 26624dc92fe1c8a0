//! What model and person see of code, in real interpreters.

use std::{
    fs,
    time::{Duration, Instant},
};

use haft_engine::{
    Call, Session,
    policy::{Origin, Rules, Written},
    result::ToolResult,
    turn::Event,
};
use haft_testkit::{Workspace, engine, session};
use haft_tool::{FaultKind, View};
use serde_json::{Value, json};

use super::*;

/// A session that may run code.
struct Bench {
    workspace: Workspace,
    session: Session,
    runtime: tokio::runtime::Runtime,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(ReplOptions::default(), &[])
    }

    fn with(repl: ReplOptions, deny: &[&str]) -> Bench {
        Bench::build(repl, deny, true)
    }

    fn build(repl: ReplOptions, deny: &[&str], confined: bool) -> Bench {
        let workspace =
            Workspace::new("-- src/a.rs\nfn main() {}\n-- secret/key\nTOP-SECRET\n-- helper.py\nvalue = 7\n");
        let own = |rules: &[&str]| Written::all(rules.iter().copied(), Origin::Session);
        let rules = Rules { allow: own(&["Repl", "Bash"]), deny: own(deny), ..Rules::default() };
        let tools = crate::builtin_with(crate::Options { repl, ..crate::Options::default() });
        let engine = engine(&workspace).tools(tools).rules(rules);
        let engine = engine.settings(|settings| settings.sandbox.enabled = confined).build().unwrap();
        let session = session(&engine, &workspace);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Bench { workspace, session, runtime }
    }

    fn result(&self, input: Value) -> ToolResult {
        self.runtime.block_on(self.session.call(Call::new("1", "Repl", input)))
    }

    /// What the model reads, with the place of the workspace as `/w`.
    fn call(&self, input: Value) -> String {
        self.short(&self.result(input).text())
    }

    fn run(&self, language: &str, code: &str) -> String {
        self.call(json!({ "language": language, "code": code }))
    }

    fn short(&self, text: &str) -> String {
        text.replace(&self.workspace.root().display().to_string(), "/w")
    }
}

/// Whether a language is there; says so if it is not, because its test shows nothing then.
fn has(language: Language) -> bool {
    let is_there = language.program(None).is_some();
    if !is_there {
        println!("skipped: there is no {language} here");
    }
    is_there
}

/// Runs snippets one after the other, and checks what each of them says.
#[track_caller]
fn check(language: Language, snippets: &[(&str, &str)]) {
    if !has(language) {
        return;
    }
    let bench = Bench::new();
    for (code, expected) in snippets {
        assert_eq!(bench.run(language.name(), code), *expected, "{code}");
    }
}

#[test]
fn python_keeps_what_was_defined_and_tells_the_last_value() {
    check(
        Language::Python,
        &[
            ("x = 20\nimport math", "[no output]"),
            ("print('a')\nx + 1", "a\n21"),
            ("def double(n): return 2 * n", "[no output]"),
            ("double(x); 'text'", "'text'"),
            ("None", "[no output]"),
            ("math.floor(2.5), _", "(2, 'text')"),
            ("import helper; helper.value", "7"),
            ("import os; os.chdir('src')", "[no output]"),
            ("os.listdir('.')", "['a.rs']"),
            ("if __name__ == '__main__': print('main')", "main"),
        ],
    );
}

#[test]
fn node_keeps_what_was_defined_and_tells_the_last_value() {
    check(
        Language::Node,
        &[
            ("const x = 20; let y", "[no output]"),
            ("console.log('a'); x + 1", "a\n21"),
            ("const x = 21; x", "21"),
            ("const z = await Promise.resolve([x]); z", "[ 21 ]"),
            ("await new Promise(done => setTimeout(() => done('later'), 20))", "'later'"),
            ("({ a: [1, { b: null }], c: 1n })", "{ a: [ 1, { b: null } ], c: 1n }"),
            ("require('fs').readdirSync('src')", "[ 'a.rs' ]"),
            ("process.chdir('src')", "[no output]"),
            ("process.cwd().endsWith('src')", "true"),
        ],
    );
}

#[test]
fn bash_keeps_what_was_defined_and_tells_an_exit_code() {
    check(
        Language::Bash,
        &[
            ("x=5; greet() { echo \"hello $1\"; }", "[no output]"),
            ("greet $x; cd src", "hello 5"),
            ("ls; false", "a.rs\n[exit code 1]"),
            ("declare y=7; shopt -s nullglob", "[no output]"),
            ("echo $y *.none", "7"),
            ("set -x; echo traced", "+++ echo traced\ntraced"),
            ("set +x", "+++ set +x"),
            (
                "nope-nope",
                "/dev/fd/222: line 1: nope-nope: command not found\n[exit code 127 (the command was not found)]",
            ),
        ],
    );
}

#[test]
fn both_streams_come_in_order() {
    let python = "import sys\nfor n in range(3): print(n, end=' '); print('err', n, file=sys.stderr)";
    check(Language::Python, &[(python, "0 err 0\n1 err 1\n2 err 2")]);
    let node = "for (let n = 0; n < 3; n++) { process.stdout.write(`${n} `); console.error('err', n) }";
    check(Language::Node, &[(node, "0 err 0\n1 err 1\n2 err 2")]);
}

#[test]
fn an_error_is_a_failure_with_the_lines_of_its_snippet_alone() {
    if has(Language::Python) {
        let bench = Bench::new();
        bench.run("python", "def share(n):\n    return 1 / n");
        let result = bench.result(json!({ "language": "python", "code": "print('before')\n\nshare(0)" }));
        assert_eq!(result.fault.as_ref().map(|fault| fault.kind), Some(FaultKind::Failed));
        let text = result.text();
        let expected = "before\nTraceback (most recent call last):\n  File \"<snippet 2>\", line 3, in <module>\n    \
                        share(0)\n  File \"<snippet 1>\", line 2, in share\n    return 1 / n\n";
        assert!(
            text.starts_with(expected) && text.ends_with("ZeroDivisionError: division by zero"),
            "{text}"
        );
        let wrong = bench.run("python", "x = 1\ny = = 2");
        assert!(
            wrong.contains("File \"<snippet 3>\", line 2") && wrong.ends_with("SyntaxError: invalid syntax"),
            "{wrong}"
        );
    }
    if has(Language::Node) {
        let bench = Bench::new();
        let thrown = bench.run("node", "function f() { throw new RangeError('no') }\n\nf()");
        assert_eq!(thrown, "Uncaught RangeError: no\n    at f (snippet-1:1:22)\n    at snippet-1:3:1");
        let coded = bench.run("node", "require('fs').readFileSync('none')");
        assert!(
            coded.contains("ENOENT") && coded.contains("code: 'ENOENT'") && !coded.contains("[eval]"),
            "{coded}"
        );
        assert_eq!(
            bench.run("node", "1\nlet = ;"),
            "snippet-3:2\nlet = ;\n      ^\n\nUncaught SyntaxError: Unexpected token ';'"
        );
        assert_eq!(bench.run("node", "await Promise.reject(5)"), "Uncaught 5");
    }
}

/// What a snippet says that is interrupted after a moment, and what one after it says.
#[track_caller]
fn interrupted(language: Language, before: &str, endless: &str, after: &str) -> (String, String) {
    let bench = Bench::new();
    bench.run(language.name(), before);
    let input = json!({ "language": language.name(), "code": endless, "timeout": 1000 });
    let result = bench.result(input);
    assert_eq!(result.fault.as_ref().map(|fault| fault.kind), Some(FaultKind::TimedOut), "{endless}");
    (result.text(), bench.run(language.name(), after))
}

const KEPT: &str = "[interrupted: it took longer than 1000 ms (`timeout` can be at most 600000); what was defined before is \
                    still there]";

#[test]
fn what_takes_too_long_is_interrupted_and_the_state_survives() {
    let cases = [
        (Language::Python, "x = 1", "while True: pass", "x"),
        (Language::Python, "x = 1", "import time; time.sleep(1000)", "x"),
        (Language::Node, "let x = 1", "while (true) {}", "x"),
        (Language::Node, "let x = 1", "await new Promise(() => {})", "x"),
        (Language::Bash, "x=1", "while :; do :; done; echo never", "echo $x"),
        (Language::Bash, "x=1", "sleep 1000; echo never", "echo $x"),
    ];
    for (language, before, endless, after) in cases {
        if !has(language) {
            continue;
        }
        let (told, after) = interrupted(language, before, endless, after);
        assert!(told.ends_with(KEPT) && !told.contains("never"), "{endless}: {told}");
        assert_eq!(after, "1", "{endless}");
    }
}

#[test]
fn what_does_not_react_is_killed_and_said_to_be_gone() {
    if !has(Language::Python) {
        return;
    }
    let (told, after) = interrupted(Language::Python, "x = 1", "sum(range(10 ** 12))", "'x' in globals()");
    assert!(
        told.contains(
            "python is gone with all that was defined in it (stopped), the next call starts it anew"
        ),
        "{told}"
    );
    assert!(
        after.starts_with("False\n[python was started anew, and what was defined before is gone"),
        "{after}"
    );
}

#[test]
fn a_function_of_bash_that_is_interrupted_takes_bash_with_it() {
    let endless = "loop() { while :; do :; done; }; loop; echo never";
    let (told, after) = interrupted(Language::Bash, "x=1", endless, "echo ${x-none}");
    assert!(told.contains("bash is gone") && !told.contains("never"), "{told}");
    assert!(after.starts_with("none\n[bash was started anew"), "{after}");
}

#[test]
fn a_cancelled_call_keeps_the_state_if_it_can_and_says_so() {
    if !has(Language::Python) {
        return;
    }
    let bench = Bench::new();
    bench.run("python", "x = 1");
    let (result, took) = bench.runtime.block_on(async {
        let mut turn = bench.session.live_turn();
        let code = "import time\nprint('first')\ntime.sleep(1000)";
        turn.push(Call::new("1", "Repl", json!({ "language": "python", "code": code }))).unwrap();
        turn.close();
        while let Some(event) = turn.next().await {
            if let Event::Progress { progress, .. } = event {
                assert_eq!(progress.label, "first");
                turn.interrupt();
                break;
            }
        }
        let began = Instant::now();
        (turn.results().await.remove(0), began.elapsed())
    });
    assert_eq!(result.fault.as_ref().map(|fault| fault.kind), Some(FaultKind::Cancelled));
    let text = result.text();
    let is_kept = text.ends_with("[interrupted: on request; what was defined before is still there]");
    // A call that is cancelled has only a moment, and on a busy machine that may not be enough.
    assert!(is_kept || took >= interpreter::LAST_WORDS, "after {took:?}: {text}");
    assert_eq!(bench.run("python", "'x' in globals()").starts_with("True"), is_kept, "{text}");
}

#[test]
fn an_interpreter_that_ends_by_itself_is_told_and_started_anew() {
    let cases = [
        (Language::Python, "print('bye'); exit(3)", "exit code 3"),
        (Language::Python, "import os; print('bye'); os.kill(os.getpid(), 11)", "ended by SIGSEGV"),
        (Language::Node, "console.log('bye'); process.exit(3)", "exit code 3"),
        (Language::Bash, "echo bye; exit 3", "exit code 3"),
        (Language::Bash, "echo bye; set -e; (exit 3)", "exit code 3"),
    ];
    for (language, code, how) in cases {
        if !has(language) {
            continue;
        }
        let bench = Bench::new();
        let gone = format!(
            "bye\n[{language} has ended ({how}), and what was defined in it is gone; the next call starts it anew]"
        );
        assert_eq!(bench.run(language.name(), code), gone, "{code}");
        let anew = format!(
            "[{language} was started anew, and what was defined before is gone; the last one: {how}]"
        );
        let told = bench.run(language.name(), if language == Language::Bash { ":" } else { "0" });
        assert!(told.ends_with(&anew), "{code}: {told}");
        assert!(!bench.run(language.name(), "1").contains("anew"));
    }
}

#[test]
fn a_reset_starts_afresh() {
    let bench = Bench::new();
    let reset = json!({ "language": "bash", "reset": true });
    assert_eq!(bench.call(reset.clone()), "[no bash was running; the next call starts one]");
    bench.run("bash", "x=1; cd src");
    assert_eq!(
        bench.call(reset),
        "[bash was ended, with all that was defined in it; the next call starts it afresh]"
    );
    assert_eq!(bench.run("bash", "echo ${x-none}; ls src; x=2"), "none\na.rs");
    let both = json!({ "language": "sh", "code": "echo ${x-none}", "reset": true });
    assert_eq!(bench.call(both), "none");
}

#[test]
fn languages_stand_side_by_side() {
    if !has(Language::Python) || !has(Language::Node) {
        return;
    }
    let bench = Bench::new();
    let all = [("python", "x = 'p'"), ("node", "var x = 'n'"), ("bash", "x=b")];
    all.iter().for_each(|(language, code)| assert_eq!(bench.run(language, code), "[no output]"));
    assert_eq!(
        (bench.run("python3", "x"), bench.run("js", "x"), bench.run("sh", "echo $x")),
        ("'p'".into(), "'n'".into(), "b".into())
    );
}

#[test]
fn sessions_have_their_own() {
    let (one, two) = (Bench::new(), Bench::new());
    one.run("bash", "x=1");
    assert_eq!(two.run("bash", "echo ${x-none}"), "none");
}

#[test]
fn whoever_reads_gets_an_end_of_file() {
    check(Language::Bash, &[("read line || echo nobody; cat", "nobody")]);
    if has(Language::Python) {
        let text = Bench::new().run("python", "input('name? ')");
        assert!(text.starts_with("name? ") && text.ends_with("EOFError: EOF when reading a line"), "{text}");
    }
}

#[test]
fn much_output_is_cut_and_kept_and_the_state_stays() {
    if !has(Language::Python) {
        return;
    }
    let bench = Bench::new();
    let text = bench.run("python", "x = 1\nfor n in range(500): print('y' * 99999)");
    assert!(text.len() < 40_000, "{}", text.len());
    let marker = text.lines().find(|line| line.starts_with("[…")).unwrap();
    let kept = marker.split("the whole is in ").nth(1).unwrap().trim_end_matches(" …]");
    let whole = fs::metadata(kept.replace("/w/", &format!("{}/", bench.workspace.root().display()))).unwrap();
    assert_eq!(whole.len(), 50_000_000);
    assert_eq!(bench.run("python", "x"), "1");
}

#[test]
fn who_writes_too_much_is_stopped() {
    let bench = Bench::with(ReplOptions { most_output: 100_000, ..ReplOptions::default() }, &[]);
    bench.run("bash", "x=1");
    let text = bench.run("bash", "while :; do echo yyyyyyyyyyyyyyyyyyyy; done");
    assert!(text.contains("[bash has ended (stopped: it wrote too much)"), "{text}");
    // Only what one snippet writes counts.
    (0..4).for_each(|_| assert!(!bench.run("bash", "printf '%060000d' 1").contains("ended (")));
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    check(
        Language::Bash,
        &[
            ("printf 'a\\377b'", "a\u{fffd}b"),
            (
                "printf 'a\\0b'",
                "[3 bytes of output that is no text, not shown; write it to a file to use it]",
            ),
            ("echo on", "on"),
        ],
    );
    check(
        Language::Python,
        &[("import sys; _ = sys.stdout.buffer.write(b'a\\xffb')", "a\u{fffd}b"), ("'\\ud800'", "'\\ud800'")],
    );
}

#[test]
fn nothing_that_a_snippet_says_is_taken_for_its_end() {
    let bash = "printf '0\\0000\\0' >&224; printf 'x\\0000\\0'; sleep 0.2; echo really";
    let bench = Bench::new();
    let text = bench.run("bash", bash);
    assert!(text.contains("no text"), "{text}");
    assert_eq!(bench.run("bash", "{ echo 0 >&224; } 2>/dev/null || echo closed"), "closed");
    // What it starts has neither descriptor.
    assert_eq!(bench.run("bash", "ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3 ");
    if has(Language::Python) {
        let forged = "import os, time\nfor w in (b'', b'0', b'guess'): os.write(224, w + b'\\x000\\x00')\ntime.sleep(0.2); print('really')";
        assert_eq!(bench.run("python", forged), "really");
        let looked = "import sys\nf, found = sys._getframe(), []\nwhile f := f.f_back: found += [k for k, v in f.f_locals.items() if 'word' in k]\nfound";
        assert_eq!(bench.run("python", looked), "[]");
        assert_eq!(bench.run("python", "import subprocess; subprocess.run('ls /proc/self/fd | tr \"\\n\" \" \"', shell=True, close_fds=False).returncode"), "0 1 2 3 0");
    }
    if has(Language::Node) {
        let text = bench.run(
            "node",
            "require('child_process').execSync('ls /proc/self/fd | tr \"\\n\" \" \"').toString()",
        );
        assert_eq!(text, "'0 1 2 3 '");
    }
}

#[test]
fn an_answer_that_comes_late_is_not_taken_for_that_of_the_next() {
    if !has(Language::Node) {
        return;
    }
    let bench = Bench::new();
    let slow = json!({ "language": "node", "code": "await new Promise(r => setTimeout(r, 1500)); 'late'", "timeout": 300 });
    assert!(bench.call(slow).contains("interrupted"));
    assert_eq!(bench.run("node", "await new Promise(r => setTimeout(r, 2000)); 'own'"), "'own'");
}

#[test]
fn what_it_prints_between_calls_comes_with_the_next() {
    let bench = Bench::new();
    bench.run("bash", "{ sleep 0.2; echo from behind; } &");
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(bench.run("bash", "echo now"), "from behind\nnow");
}

#[test]
fn a_fork_that_comes_back_answers_nobody() {
    check(
        Language::Python,
        &[
            ("import os\npid = os.fork()\nif pid: _ = os.waitpid(pid, 0)", "[no output]"),
            ("1", "1"),
            ("2", "2"),
        ],
    );
}

#[test]
fn a_denied_file_cannot_be_read_in_it() {
    let bench = Bench::with(ReplOptions::default(), &["Read(secret/**)"]);
    let cases = [
        (Language::Python, "print(open('secret/key').read())"),
        (Language::Node, "require('fs').readFileSync('secret/key', 'utf8')"),
        (Language::Bash, "f=secret; cat $f/key"),
    ];
    for (language, code) in cases {
        if has(language) {
            let result = bench.result(json!({ "language": language.name(), "code": code }));
            assert!(result.is_error() && !result.text().contains("TOP-SECRET"), "{code}: {}", result.text());
        }
    }
}

#[test]
fn what_is_outside_the_workspace_cannot_be_written() {
    let bench = Bench::new();
    let outside = bench.workspace.root().parent().unwrap().join("repl-was-here");
    bench.run("bash", &format!("n={}; echo x > $n", outside.display()));
    assert!(!outside.exists());
    assert_eq!(bench.run("bash", "echo x > inside; cat inside"), "x");
}

#[test]
fn nothing_is_left_when_the_session_ends() {
    let runs = |word: &str| {
        let lines =
            fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
        lines.flatten().any(|line| line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes()))
    };
    let until = |what: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !what() && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        what()
    };
    let bench = Bench::new();
    bench.run("bash", "sleep 97533.1 & (setsid sleep 97533.2 &)");
    assert!(until(&|| runs("97533.1") && runs("97533.2")));
    bench.runtime.block_on(bench.session.end());
    assert!(!runs("97533.1") && !runs("97533.2"));
    let dropped = Bench::new();
    dropped.run("bash", "sleep 97533.3 &");
    assert!(until(&|| runs("97533.3")));
    drop(dropped);
    assert!(until(&|| !runs("97533.3")));
}

#[test]
fn an_interpreter_that_nobody_uses_ends() {
    let bench = Bench::with(ReplOptions { idle: Duration::from_millis(300), ..ReplOptions::default() }, &[]);
    bench.run("bash", "x=1");
    std::thread::sleep(Duration::from_millis(1500));
    let told = "none\n[bash was started anew, and what was defined before is gone; the last one: ended because nobody used it]";
    assert_eq!(bench.run("bash", "echo ${x-none}"), told);
}

#[test]
fn a_call_that_may_do_less_does_not_run_in_an_older_sandbox() {
    let bench = Bench::with(ReplOptions::default(), &["Read(**/*.pem)"]);
    assert_eq!(bench.run("bash", "x=1; echo begun"), "begun");
    fs::write(bench.workspace.root().join("new.pem"), "PEM").unwrap();
    let refused = bench.result(json!({ "language": "bash", "code": "echo $x" }));
    assert_eq!(refused.fault.as_ref().map(|fault| fault.kind), Some(FaultKind::Denied));
    assert!(
        refused.text().contains("was started with more than this call is permitted"),
        "{}",
        refused.text()
    );
    let afresh = json!({ "language": "bash", "code": "f=$(echo new); cat $f.pem", "reset": true });
    assert!(!bench.call(afresh).contains("PEM"));
    // Less to hide is no reason to start anew.
    fs::remove_file(bench.workspace.root().join("new.pem")).unwrap();
    assert_eq!(bench.run("bash", "echo $f"), "new");
}

#[test]
fn what_one_snippet_was_permitted_besides_is_not_granted_to_all() {
    let bench = Bench::new();
    let place = format!("/tmp/haft-repl-{}", std::process::id());
    // In the sandbox that is a directory of its own, which stays with the process.
    assert_eq!(bench.run("bash", &format!("echo hi > {place}; cat {place}")), "hi");
    assert_eq!(bench.run("bash", &format!("x={place}; cat $x")), "hi");
    assert!(!std::path::Path::new(&place).exists());
}

#[test]
fn without_a_sandbox_an_interrupt_reaches_what_a_snippet_waits_for() {
    let cases = [
        (Language::Bash, "x=1", "sleep 97534.1; echo never", "echo $x"),
        (Language::Python, "x = 1", "import subprocess; subprocess.run(['sleep', '97534.2'])", "x"),
        (Language::Node, "let x = 1", "while (true) {}", "x"),
    ];
    for (language, before, endless, after) in cases {
        if !has(language) {
            continue;
        }
        let bench = Bench::build(ReplOptions::default(), &[], false);
        bench.run(language.name(), before);
        let told = bench.call(json!({ "language": language.name(), "code": endless, "timeout": 1000 }));
        assert!(told.ends_with(KEPT), "{endless}: {told}");
        assert_eq!(bench.run(language.name(), after), "1");
    }
}

#[test]
fn input_that_makes_no_sense_is_refused() {
    let bench = Bench::new();
    assert_eq!(bench.run("bash", " \n"), "`code` is empty; say what is to run, or set `reset`");
    assert!(bench.run("bash", "a\0b").contains("NUL character"));
    assert!(bench.run("bash", &"x".repeat(LONGEST_CODE + 1)).contains("write it to a file and load that"));
    assert!(bench.run("ruby", "1").contains("language"));
}

#[test]
fn long_code_runs_whole() {
    let long = format!("x={}; echo ${{#x}}", "y".repeat(300_000));
    check(Language::Bash, &[(&long, "300000")]);
    let long = format!("len('{}')", "é".repeat(200_000));
    check(Language::Python, &[(&long, "200000")]);
}

/// What somebody who has to allow it is told.
#[track_caller]
fn effects(language: &str, code: &str) -> String {
    let bench = Bench::new();
    let call = Call::new("1", "Repl", json!({ "language": language, "code": code }));
    let explained = bench.runtime.block_on(bench.session.explain(call)).unwrap();
    bench.short(&explained.effects.to_string())
}

#[test]
fn the_effects_say_what_is_known_and_that_it_is_not_all() {
    let python = effects("python", "open('x', 'w')");
    assert!(
        python.contains("python3 -") && python.contains("what the code does is not followed"),
        "{python}"
    );
    let bash = effects("bash", "rm -rf build; cat src/a.rs");
    assert!(
        bash.contains("rm -rf build") && bash.contains("/w/src/a.rs") && bash.contains("earlier snippets"),
        "{bash}"
    );
}

#[test]
fn rules_for_commands_hold_for_snippets() {
    let bench = Bench::with(ReplOptions::default(), &["Bash(rm:*)", "Bash(python3:*)", "Read(src/**)"]);
    for (language, code) in [("bash", "rm helper.py"), ("bash", "cat src/a.rs"), ("python", "1")] {
        let result = bench.result(json!({ "language": language, "code": code }));
        assert_eq!(result.fault.map(|fault| fault.kind), Some(FaultKind::Denied), "{code}");
    }
    assert!(bench.workspace.root().join("helper.py").exists());
}

#[test]
fn the_person_sees_code_output_and_end() {
    let bench = Bench::new();
    let view = bench.runtime.block_on(async {
        let turn = bench.session.live_turn();
        let code = "printf '\\033[32mok\\033[0m\\n'; false";
        turn.push(Call::new("1", "Repl", json!({ "language": "bash", "code": code }))).unwrap();
        turn.results().await.remove(0).view.expect("somebody watches")
    });
    let expected = View::List(vec![
        View::Code { language: "bash".to_owned(), text: "printf '\\033[32mok\\033[0m\\n'; false".to_owned() },
        View::Code { language: "ansi".to_owned(), text: "\u{1b}[32mok\u{1b}[0m\n".to_owned() },
        View::text("exit code 1"),
    ]);
    assert_eq!(*view, expected);
    let describe =
        |input: Value| Repl::new(ReplOptions::default()).describe(&serde_json::from_value(input).unwrap());
    assert_eq!(
        describe(json!({ "language": "python", "code": "x = 1\nx \u{202e}" })),
        "Run in python: x = 1 ⏎ x \\u{202e}"
    );
    assert_eq!(describe(json!({ "language": "node", "reset": true })), "Start node afresh");
}
