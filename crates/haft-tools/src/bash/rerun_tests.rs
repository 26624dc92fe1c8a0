//! A command that the sandbox broke, in the real sandbox, with a person who answers.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use haft_engine::{
    Call, Sandbox, Session, SessionOptions,
    policy::{Answer, Asker, Origin, Question, Rules},
};
use haft_testkit::{Workspace, engine};
use haft_tool::BoxFuture;
use serde_json::{Value, json};

/// Answers questions about reruns one after the other, and keeps all that it was asked.
#[derive(Clone)]
struct Person {
    answers: Arc<Mutex<Vec<Answer>>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Asker for Person {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.asked.lock().unwrap().push(serde_json::to_value(question).unwrap());
        let answer = self.answers.lock().unwrap().pop().unwrap_or(Answer::No(None));
        Box::pin(async { answer })
    }
}

/// A session that may run python3 unasked, and a directory outside of its workspace.
struct TestSession {
    _workspace: Workspace,
    outside: tempfile::TempDir,
    session: Session,
    person: Option<Person>,
}

impl TestSession {
    fn new(answers: Option<Vec<Answer>>, sandbox: Sandbox) -> TestSession {
        let workspace = Workspace::new("-- a.txt\ninside\n");
        // Not below /tmp, where a command has entries of its own.
        let beside = std::env::current_exe().unwrap();
        let outside = tempfile::tempdir_in(beside.parent().unwrap()).unwrap();
        let rules = Rules::allowing(["Bash(python3:*)", "Bash(echo:*)"], Origin::Session);
        let mut builder = engine(&workspace).tools(crate::builtin()).rules(rules);
        let person =
            answers.map(|answers| Person { answers: Arc::new(Mutex::new(answers)), asked: Arc::default() });
        if let Some(person) = &person {
            builder = builder.asker(person.clone());
        }
        let options = SessionOptions { sandbox: Some(sandbox), ..SessionOptions::at(workspace.root()) };
        let session = builder.build().unwrap().session(options).unwrap();
        TestSession { _workspace: workspace, outside, session, person }
    }

    fn made(&self) -> PathBuf {
        self.outside.path().canonicalize().unwrap().join("made")
    }

    /// Writes a file that nothing in the words of the command names, and says how often it ran.
    async fn write(&self) -> String {
        let (parent, name) = (self.outside.path().canonicalize().unwrap(), "made");
        let parent = parent.display().to_string();
        let (one, other) = parent.split_at(parent.len() / 2);
        let script = format!("print('ran'); open('{one}' + '{other}/{name}', 'w').write('x')");
        self.run(&format!("python3 -c \"{script}\"")).await
    }

    async fn run(&self, command: &str) -> String {
        let result = self.session.call(Call::new("1", "Bash", json!({ "command": command }))).await;
        [vec![result.text()], result.messages].concat().join("\n")
    }

    fn asked(&self) -> Vec<Value> {
        self.person.as_ref().map(|person| person.asked.lock().unwrap().clone()).unwrap_or_default()
    }

    /// The text of an answer with the directory outside by name.
    fn told(&self, text: &str) -> String {
        text.replace(&self.outside.path().canonicalize().unwrap().display().to_string(), "OUT")
    }
}

/// Whether the kernel here has the full sandbox; without that there is nothing to test.
fn lacks_support() -> bool {
    let support = haft_shell::sandbox::Support::here();
    let lacks = support.namespaces.is_err();
    if lacks {
        println!("skipped: {support}");
    }
    lacks
}

#[tokio::test]
async fn a_yes_runs_it_again_with_the_refused_place_and_tells_of_both_runs() {
    if lacks_support() {
        return;
    }
    let test = TestSession::new(Some(vec![Answer::Once]), Sandbox::default());
    let text = test.write().await;
    assert_eq!(fs::read_to_string(test.made()).unwrap_or_default(), "x", "{text}");
    assert_eq!(text.matches("ran").count(), 2, "{text}");
    assert!(text.starts_with("[first run, in the sandbox]\n"), "{text}");
    assert!(text.ends_with("[second run, from the beginning, with that allowed]\nran"), "{text}");
    let asked = test.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["stage"], "rerun");
    let description = test.told(asked[0]["description"].as_str().unwrap());
    assert_eq!(
        description,
        "The command failed, and the sandbox refused to change OUT/made. Run it again, from its beginning, with that allowed?"
    );
    let offered: Vec<&Value> =
        asked[0]["answers"].as_array().unwrap().iter().map(|it| &it["answer"]).collect();
    assert_eq!(offered, ["once", "unsandboxed", "no"]);
}

#[tokio::test]
async fn a_person_lets_the_second_run_leave_the_sandbox() {
    if lacks_support() {
        return;
    }
    let test = TestSession::new(Some(vec![Answer::Unsandboxed]), Sandbox::default());
    let text = test.write().await;
    assert!(test.made().exists(), "{text}");
    assert!(text.contains("[second run, from the beginning, outside the sandbox]"), "{text}");
    assert!(text.contains("This call ran outside the sandbox: the user allowed it."), "{text}");
}

#[tokio::test]
async fn a_no_leaves_the_command_as_it_ended() {
    if lacks_support() {
        return;
    }
    let test = TestSession::new(Some(vec![Answer::No(Some("not there".to_owned()))]), Sandbox::default());
    let text = test.write().await;
    assert!(!test.made().exists() && text.matches("ran").count() >= 1, "{text}");
    let said = "it was not run again: The user does not want the command to run again and said: not there";
    assert!(text.contains(said), "{text}");
    assert!(!text.contains("second run"), "{text}");
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_result_says_how_to_ask() {
    if lacks_support() {
        return;
    }
    let test = TestSession::new(None, Sandbox::default());
    let text = test.write().await;
    let told = test.told(&text);
    assert!(told.contains("`write: [\"OUT/made\"]` of this tool asks for it"), "{told}");
}

#[tokio::test]
async fn a_command_that_fails_by_itself_asks_nothing() {
    let test = TestSession::new(Some(vec![Answer::Once]), Sandbox::default());
    let text = test.run("python3 -c \"raise SystemExit(3)\"").await;
    assert!(text.contains("exit code 3") && test.asked().is_empty(), "{text}");
}

#[tokio::test]
async fn a_denied_place_is_not_asked_about_after_it_was_refused() {
    if lacks_support() {
        return;
    }
    let workspace = Workspace::new("-- .env\nSECRET\n");
    let rules = Rules::allowing(["Bash(python3:*)"], Origin::Session)
        .and(Rules::denying(["Read(**/.env)"], Origin::Session));
    let person = Person { answers: Arc::default(), asked: Arc::default() };
    let builder = engine(&workspace).tools(crate::builtin()).rules(rules).asker(person.clone());
    let session = builder.build().unwrap().session(SessionOptions::at(workspace.root())).unwrap();
    let command = "python3 -c \"print(open('.e' + 'nv').read())\"";
    let result = session.call(Call::new("1", "Bash", json!({ "command": command }))).await;
    assert!(result.is_error() && !result.text().contains("SECRET"), "{}", result.text());
    assert!(person.asked.lock().unwrap().is_empty(), "{:?}", person.asked);
}
