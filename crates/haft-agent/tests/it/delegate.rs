//! Sub-agents: real tools, a real session, and a model behind HTTP that follows a script.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use haft_agent::{
    Agent, AgentDefinition, AgentEvent, AgentOptions, Delegate, DelegateLimits, Model, Outcome, Patience,
};
use haft_engine::{
    Engine, Session, SessionOptions,
    policy::{Answer, Asker, Mode, Question},
    result::ToolResult,
    turn::{Event, Interrupt},
};
use haft_model::{Client, Dialect, Endpoint};
use haft_testkit::{ModelServer, Recorded, Script, Turn, Workspace, engine};
use haft_tool::{BoxFuture, FaultKind};
use serde_json::{Value, json};

/// A conversation whose model may delegate.
struct Stage {
    workspace: Workspace,
    server: ModelServer,
    session: Session,
    options: AgentOptions,
    events: Arc<Mutex<Vec<AgentEvent>>>,
}

struct Wanted {
    mode: Mode,
    limits: DelegateLimits,
    definitions: Vec<AgentDefinition>,
    person: Option<Person>,
}

impl Default for Wanted {
    fn default() -> Wanted {
        Wanted {
            mode: Mode::Default,
            limits: DelegateLimits::default(),
            definitions: Vec::new(),
            person: None,
        }
    }
}

#[derive(Clone, Default)]
struct Person(Arc<Mutex<Vec<String>>>);

impl Asker for Person {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.0.lock().unwrap().push(question.description.to_owned());
        Box::pin(async { Answer::Once })
    }
}

fn client(server: &ModelServer) -> Arc<dyn Model> {
    Arc::new(Client::new(Endpoint::new(Dialect::Anthropic).base(server.url())).unwrap())
}

impl Stage {
    async fn new(wanted: Wanted, script: impl Into<Script>) -> Stage {
        let workspace = Workspace::new("-- a.txt\nalpha\n-- b.txt\nbeta\n");
        let server = ModelServer::start(script).await;
        let quick = Duration::from_millis(1);
        let options = AgentOptions {
            patience: Patience { attempts: 2, first: quick, longest: quick, ..Patience::default() },
            ..AgentOptions::new(Dialect::Anthropic, "scripted")
        };
        let delegate = Delegate::new(client(&server), options.clone(), wanted.definitions, wanted.limits);
        let mut builder = engine(&workspace).tools(haft_tools::builtin()).kernel(delegate);
        if let Some(person) = wanted.person {
            builder = builder.asker(person);
        }
        let engine: Engine = builder.build().unwrap();
        let at = SessionOptions { mode: wanted.mode, ..SessionOptions::at(workspace.root()) };
        let session = engine.session(at).unwrap();
        Stage { workspace, server, session, options, events: Arc::default() }
    }

    async fn run(&self) -> Outcome {
        self.run_under(&Interrupt::default(), |_, _| ()).await
    }

    async fn run_under(
        &self,
        interrupt: &Interrupt,
        mut act: impl FnMut(&AgentEvent, &Interrupt) + Send,
    ) -> Outcome {
        let mut agent =
            Agent::builder(self.session.clone(), client(&self.server), self.options.clone()).build();
        let events = self.events.clone();
        let mut on = |event: AgentEvent| {
            act(&event, interrupt);
            events.lock().unwrap().push(event);
        };
        agent.run("PARENT", &mut on, interrupt).await
    }

    /// The results of the parent's calls, in the order in which they came.
    fn results(&self) -> Vec<ToolResult> {
        let events = self.events.lock().unwrap();
        let result = |event: &AgentEvent| match event {
            AgentEvent::Tool(Event::Finished(result)) => Some((**result).clone()),
            _ => None,
        };
        events.iter().filter_map(result).collect()
    }

    fn progress(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let label = |event: &AgentEvent| match event {
            AgentEvent::Tool(Event::Progress { progress, .. }) => Some(progress.label.clone()),
            _ => None,
        };
        events.iter().filter_map(label).collect()
    }

    fn requests_of(&self, prompt: &str) -> Vec<Recorded> {
        self.server.requests().into_iter().filter(|request| whose(request) == prompt).collect()
    }
}

/// What the first message of the person says: whose conversation a request is of.
fn whose(request: &Recorded) -> String {
    let first = &request.body["messages"][0]["content"];
    let text = first.as_str().or_else(|| first[0]["text"].as_str());
    text.unwrap_or_default().to_owned()
}

/// Each conversation by its own turns, which are found by what its first message says.
fn by_prompt(turns: Vec<(&'static str, Vec<Turn>)>) -> Script {
    let mut turns: Vec<(&str, std::vec::IntoIter<Turn>)> =
        turns.into_iter().map(|(prompt, turns)| (prompt, turns.into_iter())).collect();
    Script::new(move |request| {
        let prompt = whose(request);
        let its = turns.iter_mut().find(|(known, _)| *known == prompt);
        its.and_then(|(_, turns)| turns.next())
            .unwrap_or_else(|| Turn::refusal(400, format!("no turn for {prompt}")))
    })
}

fn delegate(prompt: &str) -> (&'static str, Value) {
    ("Delegate", json!({ "prompt": prompt, "description": "a piece" }))
}

fn turn(calls: &[(&'static str, Value)]) -> Turn {
    calls.iter().fold(Turn::new(), |turn, (name, input)| turn.call(*name, input.clone()))
}

fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({ "file_path": path }))
}

#[tokio::test]
async fn sub_agents_of_one_message_work_side_by_side() {
    let slow = |words: &str| Turn::new().pause(Duration::from_millis(400)).text(words);
    let stage = Stage::new(
        Wanted::default(),
        by_prompt(vec![
            ("PARENT", vec![turn(&[delegate("ONE"), delegate("TWO")]), Turn::new().text("Both.")]),
            ("ONE", vec![turn(&[read("a.txt")]), slow("It is alpha.")]),
            ("TWO", vec![turn(&[read("b.txt")]), slow("It is beta.")]),
        ]),
    )
    .await;
    let began = Instant::now();
    let outcome = stage.run().await;
    let took = began.elapsed();
    assert_eq!(outcome.text, "Both.");
    let mut texts: Vec<String> = stage.results().iter().map(ToolResult::text).collect();
    texts.sort();
    assert_eq!(texts, ["It is alpha.", "It is beta."]);
    // Each was asked for the second time before the other had answered.
    let asked = |prompt: &str| stage.requests_of(prompt)[1].at;
    let (one, two) = (asked("ONE"), asked("TWO"));
    let apart = if one > two { one - two } else { two - one };
    assert!(apart < Duration::from_millis(400), "{apart:?} apart");
    println!("two sub-agents of 400 ms each took {took:?}, and began their last turns {apart:?} apart");
    let result = &stage.results()[0];
    assert_eq!(
        ["agent", "turns", "calls"].map(|key| result.meta.notes[key].clone()),
        [json!("general"), json!(2), json!(1)]
    );
    assert!(stage.progress().iter().any(|line| line.contains("a.txt")), "{:?}", stage.progress());
    // The parent's conversation has the answers and nothing of the way to them.
    let last = stage.requests_of("PARENT").pop().unwrap();
    assert!(last.text.contains("It is alpha.") && !last.text.contains("\"alpha"), "{}", last.text);
}

#[tokio::test]
async fn more_than_may_be_at_work_wait_for_each_other() {
    let limits = DelegateLimits { parallel: 1, ..DelegateLimits::default() };
    let stage = Stage::new(
        Wanted { limits, ..Wanted::default() },
        by_prompt(vec![
            ("PARENT", vec![turn(&[delegate("ONE"), delegate("TWO")]), Turn::new().text("Both.")]),
            ("ONE", vec![Turn::new().pause(Duration::from_millis(150)).text("1")]),
            ("TWO", vec![Turn::new().pause(Duration::from_millis(150)).text("2")]),
        ]),
    )
    .await;
    stage.run().await;
    let asked = |prompt: &str| stage.requests_of(prompt)[0].at;
    let (one, two) = (asked("ONE"), asked("TWO"));
    let apart = if one > two { one - two } else { two - one };
    assert!(apart >= Duration::from_millis(150), "{apart:?}");
    assert!(stage.progress().contains(&"waits until another sub-agent has ended".to_owned()));
}

#[tokio::test]
async fn what_its_parent_may_not_a_sub_agent_may_not() {
    let write = ("Write", json!({ "file_path": "new.txt", "content": "x" }));
    let stage = Stage::new(
        Wanted::default(),
        by_prompt(vec![
            ("PARENT", vec![turn(&[delegate("WRITE"), write.clone()]), Turn::new().text("No.")]),
            ("WRITE", vec![turn(&[write]), Turn::new().text("I may not.")]),
        ]),
    )
    .await;
    stage.run().await;
    assert!(!stage.workspace.root().join("new.txt").exists());
    let told = stage.requests_of("WRITE").pop().unwrap().text;
    assert!(told.contains("\"is_error\":true") && told.contains("nobody"), "{told}");
}

#[tokio::test]
async fn the_person_is_asked_with_the_sub_agent_named() {
    let person = Person::default();
    let write = ("Write", json!({ "file_path": "new.txt", "content": "x" }));
    let stage = Stage::new(
        Wanted { person: Some(person.clone()), ..Wanted::default() },
        by_prompt(vec![
            ("PARENT", vec![turn(&[delegate("WRITE")]), Turn::new().text("Done.")]),
            ("WRITE", vec![turn(&[write]), Turn::new().text("Written.")]),
        ]),
    )
    .await;
    stage.run().await;
    assert_eq!(stage.workspace.text("new.txt"), "x");
    let asked = person.0.lock().unwrap().clone();
    assert!(asked.len() == 1 && asked[0].starts_with("sub-agent general: "), "{asked:?}");
}

#[tokio::test]
async fn whoever_explores_changes_nothing_whatever_its_parent_may() {
    let write = ("Write", json!({ "file_path": "new.txt", "content": "x" }));
    let explore = ("Delegate", json!({ "prompt": "LOOK", "agent": "explore" }));
    let stage = Stage::new(
        Wanted { mode: Mode::AcceptEdits, ..Wanted::default() },
        by_prompt(vec![
            ("PARENT", vec![turn(&[explore]), Turn::new().text("Done.")]),
            ("LOOK", vec![turn(&[write]), Turn::new().text("I only look.")]),
        ]),
    )
    .await;
    stage.run().await;
    assert!(!stage.workspace.root().join("new.txt").exists());
}

#[tokio::test]
async fn a_budget_that_is_used_up_is_told_with_what_was_done() {
    let short = ("Delegate", json!({ "prompt": "LOOK", "max_turns": 2 }));
    let stage = Stage::new(
        Wanted::default(),
        by_prompt(vec![
            ("PARENT", vec![turn(&[short]), Turn::new().text("Well.")]),
            ("LOOK", vec![turn(&[read("a.txt")]), turn(&[read("none.txt")]).text("Almost.")]),
        ]),
    )
    .await;
    assert_eq!(stage.run().await.text, "Well.");
    let result = stage.results().pop().unwrap();
    assert_eq!(result.fault.map(|fault| fault.kind), Some(FaultKind::Failed));
    let root = stage.workspace.root().to_string_lossy().into_owned();
    insta::assert_snapshot!(result.text().replace(&root, "/ws"), @"
    The sub-agent gave no answer: its model was asked 2 times, which is the most.
    What it did stays done. It made 2 calls, 1 of which did not work:
    - Read /ws/a.txt
    - Read /ws/none.txt (failed)
    Its last words: Almost.
    ");
}

#[tokio::test]
async fn a_sub_agent_that_takes_too_long_is_stopped_with_all_that_it_runs() {
    let short = ("Delegate", json!({ "prompt": "WAIT", "timeout_s": 1 }));
    let stage = Stage::new(
        Wanted { mode: Mode::Bypass, ..Wanted::default() },
        by_prompt(vec![
            ("PARENT", vec![turn(&[short]), Turn::new().text("Well.")]),
            ("WAIT", vec![turn(&[("Bash", json!({ "command": "touch begun; sleep 30; touch late" }))])]),
        ]),
    )
    .await;
    let began = Instant::now();
    stage.run().await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let result = stage.results().pop().unwrap();
    assert_eq!(result.fault.map(|fault| fault.kind), Some(FaultKind::TimedOut), "{}", result.text());
    assert!(result.text().contains("took longer than 1 s"), "{}", result.text());
}

#[tokio::test]
async fn an_interrupt_stops_the_sub_agents_and_says_what_was_done() {
    let stage = Stage::new(
        Wanted::default(),
        by_prompt(vec![
            ("PARENT", vec![turn(&[delegate("WAIT")])]),
            ("WAIT", vec![turn(&[read("a.txt")]), Turn::new().pause(Duration::from_secs(60)).text("late")]),
        ]),
    )
    .await;
    let began = Instant::now();
    let outcome = stage
        .run_under(&Interrupt::default(), |event, interrupt| {
            if let AgentEvent::Tool(Event::Progress { progress, .. }) = event
                && progress.label.starts_with("turn 2")
            {
                interrupt.trigger();
            }
        })
        .await;
    assert_eq!(outcome.end.name(), "interrupted");
    assert!(began.elapsed() < Duration::from_secs(10));
    let result = stage.results().pop().unwrap();
    assert_eq!(result.fault.map(|fault| fault.kind), Some(FaultKind::Cancelled));
    assert!(result.text().contains("it was stopped") && result.text().contains("a.txt"), "{}", result.text());
}

#[tokio::test]
async fn one_in_the_background_is_a_task() {
    let background = ("Delegate", json!({ "prompt": "LOOK", "background": true }));
    let output = ("TaskOutput", json!({ "task_id": "task-1", "timeout": 20000 }));
    let stage = Stage::new(
        Wanted::default(),
        by_prompt(vec![
            ("PARENT", vec![turn(&[background]), turn(&[output]), Turn::new().text("Done.")]),
            (
                "LOOK",
                vec![
                    turn(&[read("a.txt")]),
                    Turn::new().pause(Duration::from_millis(100)).text("It is alpha."),
                ],
            ),
        ]),
    )
    .await;
    stage.run().await;
    let results = stage.results();
    assert!(results[0].text().starts_with("task-1 works in the background"), "{}", results[0].text());
    let output = results[1].text();
    assert!(
        output.contains("a.txt")
            && output.contains("It is alpha.")
            && output.contains("it has ended: answered"),
        "{output}"
    );
    assert_eq!(stage.session.tasks()[0].description, "general: LOOK");
}

#[tokio::test]
async fn one_in_the_background_is_stopped_by_its_id_and_with_its_session() {
    let background = |prompt: &str| ("Delegate", json!({ "prompt": prompt, "background": true }));
    let stop = ("TaskStop", json!({ "task_id": "task-1" }));
    let long = || Turn::new().pause(Duration::from_secs(60)).text("late");
    let stage = Stage::new(
        Wanted::default(),
        by_prompt(vec![
            (
                "PARENT",
                vec![turn(&[background("ONE"), background("TWO")]), turn(&[stop]), Turn::new().text("Done.")],
            ),
            ("ONE", vec![long()]),
            ("TWO", vec![long()]),
        ]),
    )
    .await;
    stage.run().await;
    let running = || {
        stage.session.tasks().into_iter().filter(|task| task.state == haft_tool::TaskState::Running).count()
    };
    assert_eq!(running(), 1, "{:?}", stage.session.tasks());
    stage.session.end().await;
    assert_eq!(running(), 0, "{:?}", stage.session.tasks());
}

#[tokio::test]
async fn a_sub_agent_has_no_sub_agents_unless_that_is_allowed() {
    let script = || {
        by_prompt(vec![
            ("PARENT", vec![turn(&[delegate("ONE")]), Turn::new().text("Done.")]),
            ("ONE", vec![turn(&[delegate("TWO")]), Turn::new().text("one")]),
            ("TWO", vec![turn(&[delegate("THREE")]), Turn::new().text("two")]),
        ])
    };
    let deep =
        |depth| Wanted { limits: DelegateLimits { depth, ..DelegateLimits::default() }, ..Wanted::default() };
    for (depth, asked) in [(1, 0), (2, 2)] {
        let stage = Stage::new(deep(depth), script()).await;
        stage.run().await;
        assert_eq!(stage.requests_of("TWO").len(), asked, "at depth {depth}");
        let deepest = if depth == 1 { "ONE" } else { "TWO" };
        let request = stage.requests_of(deepest).pop().unwrap();
        let tools = request.body["tools"].as_array().unwrap();
        assert!(tools.iter().all(|tool| tool["name"] != "Delegate"), "at depth {depth}");
        assert!(request.text.contains("\"is_error\":true"), "{}", request.text);
    }
}

#[tokio::test]
async fn a_definition_gives_tools_model_and_instructions() {
    let text = "---\nname: reviewer\ndescription: Reviews.\ntools: Read, LS\nmodel: small-1\nmaxTurns: 3\n---\nBe thorough.";
    let definition = AgentDefinition::read(text, "reviewer").unwrap();
    let review = ("Delegate", json!({ "prompt": "REVIEW", "agent": "reviewer" }));
    let unknown = ("Delegate", json!({ "prompt": "REVIEW", "agent": "poet" }));
    let stage = Stage::new(
        Wanted { definitions: vec![definition], ..Wanted::default() },
        by_prompt(vec![
            ("PARENT", vec![turn(&[review, unknown]), Turn::new().text("Done.")]),
            ("REVIEW", vec![turn(&[read("a.txt")]), Turn::new().text("Good.")]),
        ]),
    )
    .await;
    stage.run().await;
    let request = stage.requests_of("REVIEW").remove(0);
    let names: Vec<&str> =
        request.body["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["List", "Read"]);
    assert_eq!(request.body["model"], "small-1");
    let system = request.body["system"].to_string();
    assert!(system.contains("You are a sub-agent") && system.contains("Be thorough."), "{system}");
    let unknown = stage.results().into_iter().find(|result| result.is_error()).unwrap().text();
    assert_eq!(unknown, "there is no agent `poet`; there are explore, general, reviewer");
    let parent = stage.requests_of("PARENT").remove(0).text;
    assert!(parent.contains("- reviewer: Reviews."), "{parent}");
}

#[tokio::test]
async fn a_call_can_leave_out_tools_but_not_add_any() {
    let few = ("Delegate", json!({ "prompt": "LOOK", "tools": ["readonly"] }));
    let wrong = ("Delegate", json!({ "prompt": "LOOK", "tools": ["Telescope"] }));
    let stage = Stage::new(
        Wanted::default(),
        by_prompt(vec![
            ("PARENT", vec![turn(&[few, wrong]), Turn::new().text("Done.")]),
            ("LOOK", vec![Turn::new().text("Seen.")]),
        ]),
    )
    .await;
    stage.run().await;
    let request = stage.requests_of("LOOK").remove(0);
    let names: Vec<&str> =
        request.body["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"Grep") && !names.contains(&"Bash") && !names.contains(&"Edit"), "{names:?}");
    let refused = stage.results().into_iter().find(|result| result.is_error()).unwrap().text();
    assert_eq!(refused, "`tools`: `Telescope` is neither a tool nor a toolset");
}
