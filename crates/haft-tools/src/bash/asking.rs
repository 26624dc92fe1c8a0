//! Commands that are about to create what programs run later, and a person who is asked meanwhile.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_engine::{
    Call, Session,
    policy::{Answer, Asker, Origin, Question, Rules},
};
use haft_testkit::{Workspace, engine, session};
use haft_tool::BoxFuture;
use serde_json::{Value, json};

/// A person who thinks for a while and says the same to every question.
#[derive(Clone)]
struct Person {
    says: Answer,
    thinks: Duration,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Asker for Person {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        let question = serde_json::to_value(question).unwrap();
        self.asked.lock().unwrap().push(question["description"].as_str().unwrap_or_default().to_owned());
        Box::pin(async move {
            tokio::time::sleep(self.thinks).await;
            self.says.clone()
        })
    }
}

struct Scene {
    workspace: Workspace,
    session: Session,
    person: Person,
    runtime: tokio::runtime::Runtime,
}

impl Scene {
    /// `None` where the kernel does not report system calls.
    fn new(says: Answer, rules: &[&str]) -> Option<Scene> {
        let support = haft_shell::sandbox::Support::here();
        if support.namespaces.is_err() || !support.notifications {
            println!("skipped: {support}");
            return None;
        }
        let workspace = Workspace::new(SCRIPT);
        let person = Person { says, thinks: Duration::from_millis(700), asked: Arc::default() };
        let rules = Rules::allowing(rules.iter().copied(), Origin::Session);
        let tools = crate::builtin_with(crate::Options::default());
        let engine = engine(&workspace).tools(tools).rules(rules).asker(person.clone()).build().unwrap();
        let session = session(&engine, &workspace);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Some(Scene { workspace, session, person, runtime })
    }

    fn call(&self, tool: &str, input: Value) -> String {
        let result = self.runtime.block_on(self.session.call(Call::new("1", tool, input)));
        result.text().replace(&self.workspace.root().display().to_string(), "/w")
    }

    fn asked(&self) -> Vec<String> {
        self.person.asked.lock().unwrap().clone()
    }
}

/// What it creates is not on its command line.
const SCRIPT: &str = "\
-- create.py
import os
os.mkdir('.vscode')
open('.vscode/tasks.json', 'w').write('1')
print(open('.vscode/tasks.json').read())
";

const CREATES: &str = "python3 create.py";

#[test]
fn a_yes_lets_a_waiting_command_go_on_beyond_its_time_limit() {
    let Some(scene) = Scene::new(Answer::Once, &["Bash"]) else { return };
    let said = scene.call("Bash", json!({ "command": CREATES, "timeout": 500 }));
    assert_eq!(said, "1", "{:?}", scene.asked());
    let asked = scene.asked();
    assert!(
        asked.len() == 1
            && asked[0].ends_with("python3 create.py` wants to create .vscode, which editors run"),
        "{asked:?}"
    );
}

#[test]
fn a_no_is_told_with_a_way_to_allow_it() {
    let Some(scene) = Scene::new(Answer::No(None), &["Bash"]) else { return };
    let said = scene.call("Bash", json!({ "command": CREATES }));
    assert!(
        said.contains("the sandbox refused to change /w/.vscode, which editors run; to allow it"),
        "{said}"
    );
    assert_eq!(scene.asked().len(), 1, "nor is it asked whether it runs again: {:?}", scene.asked());
}

#[test]
fn a_task_in_the_background_is_refused_without_a_question() {
    let Some(scene) = Scene::new(Answer::Once, &["Bash"]) else { return };
    let input = json!({ "command": "sleep 0.3; python3 create.py; echo over", "background": true });
    let started = scene.call("Bash", input);
    let task = started.split(" as ").nth(1).and_then(|rest| rest.split(';').next());
    let task = task.unwrap_or_else(|| panic!("{started}"));
    let said = scene.call("TaskOutput", json!({ "task_id": task, "pattern": "over", "timeout": 5000 }));
    assert!(scene.asked().is_empty() && !scene.workspace.root().join(".vscode").exists(), "{started} {said}");
}

#[test]
fn a_snippet_asks_by_its_own_call() {
    let Some(scene) = Scene::new(Answer::Once, &["Repl", "Bash"]) else { return };
    let run = |code: &str| scene.call("Repl", json!({ "language": "bash", "code": code }));
    run("echo ready");
    let before = scene.asked().len();
    assert_eq!(run("python3 create.py").trim(), "1", "{:?}", scene.asked());
    let asked = scene.asked().split_off(before);
    assert!(asked.iter().any(|question| question.contains("wants to create .vscode")), "{asked:?}");
}
