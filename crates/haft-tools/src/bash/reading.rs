//! What a command without approval may read.

use std::{fs, os::unix::fs::symlink, thread};

use haft_engine::{
    Call, Sandbox, Session, SessionOptions,
    policy::{Origin, Rules},
};
use haft_testkit::{Workspace, engine};
use haft_tool::FaultKind;
use serde_json::{Value, json};

/// Whether the kernel here can confine reading; without that there is nothing to test.
fn lacks_support() -> bool {
    let support = haft_shell::sandbox::Support::here();
    let lacks = support.namespaces.is_err() || support.landlock.is_none();
    if lacks {
        println!("skipped: {support}");
    }
    lacks
}

/// A session in a repository from a stranger, and a file of the user outside of it.
struct TestSession {
    workspace: Workspace,
    outside: tempfile::TempDir,
    session: Session,
    runtime: tokio::runtime::Runtime,
}

impl TestSession {
    fn new(rules: &[&str]) -> TestSession {
        TestSession::with(rules, Sandbox::default())
    }

    fn with(rules: &[&str], sandbox: Sandbox) -> TestSession {
        let workspace = Workspace::new("-- a.txt\ninside\n-- plain/b.txt\nbelow\n");
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("key"), "OUTSIDE\n").unwrap();
        symlink(outside.path().join("key"), workspace.root().join("notes.md")).unwrap();
        symlink(outside.path(), workspace.root().join("dir")).unwrap();
        let engine = engine(&workspace).tools(crate::builtin());
        let engine = engine.rules(Rules::allowing(rules.iter().copied(), Origin::Session)).build().unwrap();
        let options = SessionOptions { sandbox: Some(sandbox), ..SessionOptions::at(workspace.root()) };
        let session = engine.session(options).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        TestSession { workspace, outside, session, runtime }
    }

    /// The text that the model reads, and how it failed.
    fn call(&self, tool: &str, input: Value) -> (String, Option<FaultKind>) {
        let result = self.runtime.block_on(self.session.call(Call::new("1", tool, input)));
        (result.text(), result.fault.map(|fault| fault.kind))
    }

    fn run(&self, command: &str) -> String {
        self.call("Bash", json!({ "command": self.placed(command) })).0
    }

    fn placed(&self, command: &str) -> String {
        command.replace("OUT", &self.outside.path().canonicalize().unwrap().display().to_string())
    }
}

const ASKED: &str = "Nobody is there to be asked";

#[test]
fn what_a_link_of_the_repository_leads_to_is_asked_about() {
    let desk = TestSession::new(&[]);
    for command in [
        "cat notes.md",
        "cat *.md",
        "cat *",
        "cat d*/key",
        "head n*",
        "base64 ./*.md",
        "wc [a-z]*",
        "ls -R d*",
        "for f in *.md; do cat \"$f\"; done",
        "grep -R OUTSIDE .",
        "grep --dereference-recursive OUTSIDE",
        "rg -L OUTSIDE",
        "find -L . -type f",
        "find . -name '*.md' -exec cat {} +",
        "ls -LR",
        "du -L .",
        "diff -r . plain",
        "echo d*/*",
        "cat < n*.md",
    ] {
        assert!(desk.run(command).starts_with(ASKED), "{command}: {}", desk.run(command));
    }
    for command in
        ["cat *.txt", "cat */b.txt", "ls", "grep -r below .", "find . -name '*.txt' -exec cat {} +", "echo *"]
    {
        let told = desk.run(command);
        assert!(
            !told.contains(ASKED) && !told.contains("OUTSIDE") && !told.contains("refused"),
            "{command}: {told}"
        );
    }
}

#[test]
fn a_link_that_changes_between_the_question_and_the_command_shows_nothing_outside() {
    if lacks_support() {
        return;
    }
    let desk = TestSession::new(&[]);
    let (root, key) = (desk.workspace.root().to_owned(), desk.outside.path().join("key"));
    let flip = move |target: &std::path::Path| {
        symlink(target, root.join("new")).unwrap();
        fs::rename(root.join("new"), root.join("l.txt")).unwrap();
    };
    flip("a.txt".as_ref());
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_over = stop.clone();
    let flipping = thread::spawn(move || {
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            flip(&key);
            flip("a.txt".as_ref());
        }
    });
    let told: Vec<String> = (0..40).map(|_| desk.run("cat l.txt")).collect();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    flipping.join().unwrap();
    assert!(told.iter().any(|told| told.contains("inside")), "{told:?}");
    assert!(!told.iter().any(|told| told.contains("OUTSIDE")), "{told:?}");
}

#[test]
fn a_file_that_names_files_shows_nothing_outside_and_the_result_says_how_to_ask() {
    if lacks_support() || !std::path::Path::new("/usr/bin/man").exists() {
        return;
    }
    let desk = TestSession::new(&[]);
    fs::write(desk.workspace.root().join("x.1"), desk.placed(".so OUT/key\n")).unwrap();
    let told = desk.run("man ./x.1");
    assert!(!told.contains("OUTSIDE"), "{told}");
    fs::write(desk.workspace.root().join("list"), desk.placed("OUT/key\n")).unwrap();
    let told = desk.run("while read -r name; do :; done < list; sha256sum a.txt");
    assert!(!told.contains("OUTSIDE"), "{told}");
}

#[test]
fn programs_start_that_only_tell_of_themselves() {
    if lacks_support() {
        return;
    }
    let desk = TestSession::new(&[]);
    for command in ["python3 --version", "node --version", "git --version", "id", "sort a.txt", "date"] {
        let told = desk.run(command);
        assert!(!told.contains("ermission denied") && !told.contains("refused"), "{command}: {told}");
    }
    assert_eq!(desk.run("cat a.txt <<< x && cat <<< y"), "inside\ny");
}

#[test]
fn a_command_that_a_rule_covers_is_not_confined_for_reading() {
    let desk = TestSession::new(&["Bash"]);
    assert_eq!(desk.run("cat notes.md OUT/key"), "OUTSIDE\nOUTSIDE");
    let desk = TestSession::new(&["Bash(cat:*)"]);
    assert_eq!(desk.run("cat notes.md"), "OUTSIDE");
    // What the model says that it reads is asked about like what a command names.
    let told = TestSession::new(&[]).call("Bash", json!({ "command": "cat a.txt", "read": ["/root/x"] })).0;
    assert!(told.starts_with(ASKED) && told.contains("reads /root/x"), "{told}");
}

#[test]
fn a_session_that_is_kept_to_its_workspace_reads_nothing_else_whatever_rules_allow() {
    if lacks_support() {
        return;
    }
    let kept = Sandbox { workspace_only: true, ..Sandbox::default() };
    let desk = TestSession::with(&["Bash", "Read", "Grep", "Write"], kept);
    for command in
        ["cat OUT/key", "cat notes.md", "cat a.txt; perl -pe 1 OUT/key", "ls OUT", "cp OUT/key k; cat k"]
    {
        let told = desk.run(command);
        assert!(!told.contains("OUTSIDE"), "{command}: {told}");
    }
    assert_eq!(desk.run("cat a.txt; echo new > b.txt; cat b.txt"), "inside\nnew");
    let key = desk.placed("OUT/key");
    for (tool, input) in [
        ("Read", json!({ "file_path": key })),
        ("Grep", json!({ "pattern": "OUT", "path": desk.placed("OUT") })),
        ("Write", json!({ "file_path": desk.placed("OUT/new"), "content": "x" })),
    ] {
        let (told, fault) = desk.call(tool, input);
        assert!(!told.contains("OUTSIDE") && fault == Some(FaultKind::Denied), "{tool}: {told} {fault:?}");
    }
    assert!(!desk.outside.path().join("new").exists());
    let unconfined = Sandbox { enabled: false, workspace_only: true, ..Sandbox::default() };
    let told = TestSession::with(&["Bash"], unconfined).run("cat a.txt");
    assert!(told.starts_with("nothing was run: this session is kept to its workspace"), "{told}");
}
