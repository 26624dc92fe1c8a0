use std::path::{Path, PathBuf};

use haft_engine::{
    Call, Session, SessionOptions,
    policy::{Answer, Asker, Choices, Choosing, Chosen, Mode, Origin, Question, Rules, Written},
    result::ToolResult,
};
use haft_testkit::Workspace;
use haft_tool::{BoxFuture, FaultKind, Refusal};
use serde_json::{Value, json};

use crate::git::tests::shell;

/// Says this to every choice.
struct Person(&'static str);

impl Asker for Person {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::No(None) })
    }
    fn choose<'a>(&'a self, _: Choices<'a>) -> BoxFuture<'a, Choosing> {
        let chosen = Chosen { labels: vec![self.0.to_owned()], words: None };
        Box::pin(async move { Choosing::Chosen(vec![chosen]) })
    }
}

struct Desk {
    place: Workspace,
    session: Session,
}

const BEGIN: &str = "git init -q -b main . && git config user.name Ann && git config user.email ann@x && \
    git add . && git commit -qm first";

impl Desk {
    fn new(commands: &str, person: Option<Person>) -> Desk {
        let place = Workspace::new("-- w/a.txt\none\n-- w/src/b.txt\ntwo\n-- w/.env\nKEY=1\n");
        shell(&place.root().join("w"), BEGIN);
        shell(&place.root().join("w"), commands);
        let rules = Rules {
            allow: Written::all(["EnterWorktree", "ExitWorktree", "Edit(**)"], Origin::Session),
            deny: Written::all(["Read(.env)"], Origin::Session),
            ..Rules::default()
        };
        let engine = haft_testkit::engine(&place)
            .kernels(crate::kernels_with(Some(place.root().join("state/worktrees"))))
            .tools(crate::builtin())
            .rules(rules);
        let engine = match person {
            Some(person) => engine.asker(person),
            None => engine,
        };
        let session = engine.build().unwrap().session(SessionOptions::at(place.root().join("w"))).unwrap();
        Desk { place, session }
    }

    fn own(&self) -> PathBuf {
        self.place.root().join("w")
    }

    async fn call(&self, tool: &str, input: Value) -> ToolResult {
        self.session.call(Call::new("1", tool, input)).await
    }

    /// Moves in, or says why not: there is no sandbox everywhere.
    async fn enter(&self) -> Option<PathBuf> {
        let result = self.call("EnterWorktree", json!({ "name": "try" })).await;
        if result.fault.is_some_and(|fault| fault.refusal == Some(Refusal::Sandbox)) {
            println!("skipped: {}", result.text());
            return None;
        }
        assert!(!result.is_error(), "{}", result.text());
        Some(self.session.workspace().to_path_buf())
    }

    async fn write(&self, path: &str, content: &str) -> ToolResult {
        // What is there must have been read.
        self.call("Read", json!({ "file_path": path })).await;
        self.call("Write", json!({ "file_path": path, "content": content })).await
    }

    fn git(&self, words: &str) -> String {
        shell(&self.own(), &format!("git {words}")).trim().to_owned()
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn what_is_changed_is_changed_in_the_worktree_only() {
    let desk = Desk::new("true", None);
    let Some(there) = desk.enter().await else { return };
    assert!(there.starts_with(desk.place.root().join("state/worktrees")), "{there:?}");
    assert_eq!(text(&there.join("src/b.txt")), "two\n");
    assert!(!desk.write("a.txt", "changed\n").await.is_error());
    assert_eq!(
        (text(&there.join("a.txt")), text(&desk.own().join("a.txt"))),
        ("changed\n".to_owned(), "one\n".to_owned())
    );
    // The user's own tree is closed, whatever rule or mode allows.
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::Bypass] {
        desk.session.set_mode(mode);
        let own = desk.own().join("a.txt").display().to_string();
        let result = desk.write(&own, "x").await;
        assert_eq!(
            result.fault.map(|fault| fault.kind),
            Some(FaultKind::Denied),
            "{mode}: {}",
            result.text()
        );
        assert!(result.text().contains("works in a worktree of it"), "{}", result.text());
        let command = format!("echo x > {own}");
        assert!(desk.call("Bash", json!({ "command": command })).await.is_error(), "{mode}");
        // What no rule lets be read is kept from being read in both.
        for root in [&there, &desk.own()] {
            let secret = root.join(".env").display().to_string();
            assert!(desk.call("Read", json!({ "file_path": secret })).await.is_error(), "{mode}: {secret}");
        }
    }
    assert_eq!(text(&desk.own().join("a.txt")), "one\n");
    let twice = desk.call("EnterWorktree", json!({})).await;
    assert!(twice.text().contains("in a worktree already"), "{}", twice.text());
}

#[tokio::test]
async fn commands_write_there_and_nowhere_else() {
    let desk = Desk::new("true", None);
    let Some(there) = desk.enter().await else { return };
    desk.session.set_mode(Mode::Bypass);
    let own = desk.own().join("c.txt").display().to_string();
    let line = format!("touch c.txt; python3 -c 'open(\"{own}\", \"w\")' || cp a.txt $(echo {own})");
    desk.call("Bash", json!({ "command": line })).await;
    assert!(there.join("c.txt").exists() && !desk.own().join("c.txt").exists());
}

#[tokio::test]
async fn a_merge_goes_forward_where_it_can() {
    let desk = Desk::new("true", None);
    let Some(there) = desk.enter().await else { return };
    desk.write("a.txt", "changed\n").await;
    desk.write("new.txt", "new\n").await;
    let result = desk.call("ExitWorktree", json!({ "action": "merge", "message": "Change a" })).await;
    assert!(result.text().starts_with("Merged forward: main is at "), "{}", result.text());
    assert_eq!(
        (text(&desk.own().join("a.txt")), text(&desk.own().join("new.txt"))),
        ("changed\n".to_owned(), "new\n".to_owned())
    );
    assert_eq!(desk.git("log --format=%s -1"), "Change a");
    assert_eq!(desk.git("status --porcelain"), "");
    assert_eq!((desk.git("branch --list 'haft/*'"), there.exists()), (String::new(), false));
    assert_eq!(*desk.session.workspace(), *desk.own());
    assert!(!desk.write("a.txt", "here again\n").await.is_error());
    assert_eq!(text(&desk.own().join("a.txt")), "here again\n");
}

#[tokio::test]
async fn what_both_changed_elsewhere_is_merged_by_a_commit_and_a_conflict_changes_nothing() {
    let desk = Desk::new("true", None);
    let Some(_) = desk.enter().await else { return };
    desk.write("a.txt", "changed\n").await;
    shell(&desk.own(), "echo more >> src/b.txt && git commit -qam second && echo mine > mine.txt");
    let result = desk.call("ExitWorktree", json!({ "action": "merge" })).await;
    assert!(result.text().starts_with("Merged by a merge commit"), "{}", result.text());
    assert_eq!(
        (text(&desk.own().join("a.txt")), text(&desk.own().join("src/b.txt"))),
        ("changed\n".to_owned(), "two\nmore\n".to_owned())
    );
    assert_eq!(text(&desk.own().join("mine.txt")), "mine\n");

    let desk = Desk::new("true", None);
    let Some(there) = desk.enter().await else { return };
    desk.write("a.txt", "changed\n").await;
    shell(&desk.own(), "echo other > a.txt && git commit -qam second");
    let before = desk.git("rev-parse HEAD");
    let result = desk.call("ExitWorktree", json!({ "action": "merge" })).await;
    assert!(result.is_error() && result.text().contains("in conflict: a.txt"), "{}", result.text());
    assert_eq!((desk.git("rev-parse HEAD"), desk.git("status --porcelain")), (before, String::new()));
    assert_eq!(*desk.session.workspace(), *there, "still there");
}

#[tokio::test]
async fn a_conflict_is_resolved_in_the_worktree_and_merged() {
    let desk = Desk::new("echo x > gone.txt && git add . && git commit -qm more", None);
    let Some(there) = desk.enter().await else { return };
    desk.write("a.txt", "ours\n").await;
    desk.write("gone.txt", "kept\n").await;
    shell(
        &desk.own(),
        "echo theirs > a.txt && git rm -q gone.txt && echo new > n.txt && git add . && git commit -qm second",
    );
    let (before, merge) = (desk.git("rev-parse HEAD"), json!({ "action": "merge", "message": "Both" }));
    let result = desk.call("ExitWorktree", merge.clone()).await;
    assert!(result.is_error() && result.text().contains("in conflict: a.txt, gone.txt"), "{}", result.text());
    assert!(
        result.text().contains("Without markers") && result.text().contains("side: gone.txt;"),
        "{}",
        result.text()
    );
    assert_eq!(text(&there.join("n.txt")), "new\n", "the user's branch is there");
    assert!(text(&there.join("a.txt")).contains("<<<<<<< "), "{}", text(&there.join("a.txt")));
    let again = desk.call("ExitWorktree", merge.clone()).await;
    assert!(
        again.is_error() && again.text().contains("markers (<<<<<<<, =======, >>>>>>>) are left in a.txt"),
        "{}",
        again.text()
    );
    assert_eq!((desk.git("rev-parse HEAD"), desk.git("status --porcelain")), (before, String::new()));
    desk.write("a.txt", "theirs\nours\n").await;
    let result = desk.call("ExitWorktree", merge).await;
    assert!(result.text().starts_with("Merged forward"), "{}", result.text());
    assert_eq!(
        (text(&desk.own().join("a.txt")), text(&desk.own().join("gone.txt"))),
        ("theirs\nours\n".to_owned(), "kept\n".to_owned())
    );
    assert_eq!((desk.git("log --format=%s -1 --merges"), there.exists()), ("Both".to_owned(), false));
}

#[tokio::test]
async fn ignored_files_are_lost_only_if_a_person_says_so() {
    let ignoring = "printf 'dist/\\n*.log\\n' > .gitignore && git add . && git commit -qm ignore";
    let work = async |desk: &Desk| {
        let there = desk.enter().await?;
        desk.write("dist/r.html", "r\n").await;
        desk.write("x.log", "x\n").await;
        Some(there)
    };
    let desk = Desk::new(ignoring, None);
    let Some(there) = work(&desk).await else { return };
    let result = desk.call("ExitWorktree", json!({ "action": "discard" })).await;
    assert!(
        result.is_error() && result.text().contains("files that git ignores (dist/, x.log)"),
        "{}",
        result.text()
    );
    assert_eq!(text(&there.join("dist/r.html")), "r\n");
    desk.write("a.txt", "changed\n").await;
    let result = desk.call("ExitWorktree", json!({ "action": "merge" })).await;
    assert!(
        result.text().starts_with("Merged forward") && result.text().contains("stays at"),
        "{}",
        result.text()
    );
    assert_eq!(text(&desk.own().join("a.txt")), "changed\n");
    assert_eq!(text(&there.join("dist/r.html")), "r\n", "nobody said that it may be lost");

    let desk = Desk::new(ignoring, Some(Person("Discard")));
    let Some(there) = work(&desk).await else { return };
    let result = desk.call("ExitWorktree", json!({ "action": "merge" })).await;
    assert!(result.text().contains("The worktree is gone") && !there.exists(), "{}", result.text());
}

#[tokio::test]
async fn a_worktree_that_was_kept_is_entered_again() {
    let desk = Desk::new("true", None);
    let Some(there) = desk.enter().await else { return };
    desk.write("new.txt", "new\n").await;
    desk.call("ExitWorktree", json!({ "action": "keep" })).await;
    let result = desk.call("EnterWorktree", json!({ "name": "try" })).await;
    assert!(result.text().starts_with("Again in the worktree that was kept"), "{}", result.text());
    assert_eq!((&*desk.session.workspace(), text(&there.join("new.txt"))), (&*there, "new\n".to_owned()));
    desk.call("ExitWorktree", json!({ "action": "keep" })).await;
    // Of a tree that somebody removed, the branch is left.
    std::fs::remove_dir_all(&there).unwrap();
    let result = desk.call("EnterWorktree", json!({ "name": "try" })).await;
    assert!(result.text().starts_with("In a worktree of a branch that was kept"), "{}", result.text());
    desk.write("new.txt", "again\n").await;
    let result = desk.call("ExitWorktree", json!({ "action": "merge" })).await;
    assert!(result.text().starts_with("Merged forward"), "{}", result.text());
    assert_eq!(text(&desk.own().join("new.txt")), "again\n");
}

#[tokio::test]
async fn changes_of_the_user_that_are_in_the_way_stay() {
    let desk = Desk::new("true", None);
    let Some(_) = desk.enter().await else { return };
    desk.write("a.txt", "changed\n").await;
    std::fs::write(desk.own().join("a.txt"), "the user's\n").unwrap();
    let result = desk.call("ExitWorktree", json!({ "action": "merge" })).await;
    assert!(result.is_error() && result.text().contains("changes in the way"), "{}", result.text());
    assert_eq!(text(&desk.own().join("a.txt")), "the user's\n");
}

#[tokio::test]
async fn what_is_run_later_by_others_is_merged_by_a_person() {
    let desk = Desk::new("true", None);
    let Some(there) = desk.enter().await else { return };
    std::fs::create_dir_all(there.join(".vscode")).unwrap();
    std::fs::write(there.join(".vscode/tasks.json"), "{}").unwrap();
    let result = desk.call("ExitWorktree", json!({ "action": "merge" })).await;
    assert!(result.text().contains("would change .vscode/tasks.json"), "{}", result.text());
    assert!(!desk.own().join(".vscode").exists());
}

#[tokio::test]
async fn what_would_be_lost_is_asked_about_before_it_is_discarded() {
    for (person, is_gone) in [(None, false), (Some(Person("Keep")), false), (Some(Person("Discard")), true)] {
        let desk = Desk::new("true", person);
        let Some(there) = desk.enter().await else { return };
        desk.write("a.txt", "changed\n").await;
        let result = desk.call("ExitWorktree", json!({ "action": "discard" })).await;
        assert_eq!((!result.is_error(), !there.exists()), (is_gone, is_gone), "{}", result.text());
        assert_eq!(text(&desk.own().join("a.txt")), "one\n");
        assert_eq!(desk.git("branch --list 'haft/*'").is_empty(), is_gone);
    }
    let desk = Desk::new("true", None);
    let Some(there) = desk.enter().await else { return };
    let result = desk.call("ExitWorktree", json!({ "action": "discard" })).await;
    assert!(!result.is_error() && !there.exists(), "nothing is lost: {}", result.text());
}

#[tokio::test]
async fn it_can_be_kept_and_the_session_goes_on_in_it_in_the_next_process() {
    let desk = Desk::new("true", None);
    let Some(there) = desk.enter().await else { return };
    let options = SessionOptions { memory: desk.session.memory(), ..SessionOptions::at(desk.own()) };
    let again = desk.session.engine().session(options.clone()).unwrap();
    assert_eq!((*again.workspace() == *there, again.facts().cwd == there), (true, true));
    let result = desk.call("ExitWorktree", json!({ "action": "keep" })).await;
    assert!(result.text().starts_with("The worktree stays at "), "{}", result.text());
    assert_eq!((there.exists(), desk.git("branch --list 'haft/*'").contains("haft/try")), (true, true));
    assert_eq!(*desk.session.workspace(), *desk.own());
    std::fs::remove_dir_all(&there).unwrap();
    let after = desk.session.engine().session(options).unwrap();
    assert_eq!((&*after.workspace(), after.worktree()), (&*desk.own(), None), "what is gone is forgotten");
}

#[tokio::test]
async fn nothing_of_the_repository_is_run() {
    let evil = "printf '#!/bin/sh\\ntouch %s/ran\\n' $PWD > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout && \
        cp .git/hooks/post-checkout .git/hooks/pre-commit && cp .git/hooks/post-checkout .git/hooks/post-merge && \
        git config filter.x.smudge \"touch $PWD/ran; cat\" && git config filter.x.clean \"touch $PWD/ran; cat\" && \
        git config core.fsmonitor \"touch $PWD/ran\" && echo '*.txt filter=x' > .git/info/attributes";
    let desk = Desk::new(evil, None);
    let Some(_) = desk.enter().await else { return };
    desk.write("a.txt", "changed\n").await;
    let result = desk.call("ExitWorktree", json!({ "action": "merge" })).await;
    assert!(!result.is_error(), "{}", result.text());
    assert!(!desk.own().join("ran").exists());
}

#[tokio::test]
async fn without_a_repository_a_commit_or_a_worktree_that_is_said() {
    let place = Workspace::new("-- w/a.txt\none\n");
    let rules = Rules::allowing(["EnterWorktree", "ExitWorktree"], Origin::Session);
    let engine = haft_testkit::engine(&place)
        .kernels(crate::kernels_with(Some(place.root().join("state"))))
        .rules(rules);
    let session = engine.build().unwrap().session(SessionOptions::at(place.root().join("w"))).unwrap();
    let call = async |tool: &str, input: Value| session.call(Call::new("1", tool, input)).await.text();
    let told = call("EnterWorktree", json!({})).await;
    assert!(told.contains("in no git repository") || told.contains("sandbox"), "{told}");
    assert!(
        call("ExitWorktree", json!({ "action": "keep" })).await.starts_with("the session is in no worktree")
    );
    assert!(call("EnterWorktree", json!({ "name": "../x" })).await.contains("lower-case letters"));
    shell(&place.root().join("w"), "git init -q .");
    let told = call("EnterWorktree", json!({})).await;
    assert!(told.contains("no commit yet") || told.contains("sandbox"), "{told}");
}
