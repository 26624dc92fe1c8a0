//! Servers of the older era whose tools can only be called as tasks.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_engine::{Call, turn::Event};
use haft_mcp::client::{Connection, Desk, Era, News, Refused, RequestOptions, Server, Wish};
use haft_tool::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    bridges::{Out, server},
    tasks::Heard,
    upstream::{session, upstreams},
};

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A server of the older era that takes calls of its one tool as tasks only. `look` answers the n-th `tasks/get`, `fetch`
/// the n-th `tasks/result`.
pub(crate) fn works(
    heard: &Heard,
    look: impl Fn(usize, &Value, &Out) + Send + Sync + 'static,
    fetch: impl Fn(usize, &Value, &Out) + Send + Sync + 'static,
) -> Server {
    let heard = heard.clone();
    server(move |message, out| {
        heard.note(&message);
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" => out.refuse(&message, -32601, "what is that"),
            "initialize" => out.answer(&message, greeting()),
            "tools/list" => {
                let tool = json!({ "name": "build", "inputSchema": { "type": "object" }, "execution": { "taskSupport": "required" } });
                out.answer(&message, json!({ "tools": [tool] }));
            }
            "tools/call" if message["params"]["task"].is_object() => {
                out.answer(&message, json!({ "task": task("working", json!({})) }));
            }
            "tools/call" => out.refuse(&message, -32601, "build requires task augmentation"),
            "tasks/get" => look(heard.count("tasks/get"), &message, out),
            "tasks/result" => fetch(heard.count("tasks/result"), &message, out),
            "tasks/cancel" => out.answer(&message, task("cancelled", json!({}))),
            // Somebody waits for this one for ever.
            "resources/list" => {}
            _ if message.get("id").is_some() => out.refuse(&message, -32601, "what is that"),
            _ => {}
        }
        true
    })
}

fn greeting() -> Value {
    let tasks = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {}, "tasks": tasks }, "serverInfo": { "name": "s", "version": "1" } })
}

pub(crate) fn task(status: &str, more: Value) -> Value {
    let mut task = json!({
        "taskId": "t-1", "status": status, "ttl": null, "pollInterval": 200,
        "createdAt": "2025-12-01T00:00:00Z", "lastUpdatedAt": "2025-12-01T00:00:00Z",
    });
    for (key, value) in more.as_object().expect("an object") {
        task[key] = value.clone();
    }
    task
}

pub(crate) fn built(message: &Value, out: &Out) {
    let meta = json!({ RELATED: { "taskId": "t-1" } });
    out.answer(message, json!({ "content": [{ "type": "text", "text": "built" }], "_meta": meta }));
}

/// A desk that agrees to everything, and writes down what it hears.
#[derive(Default)]
struct Agrees(Mutex<Vec<String>>);

impl Agrees {
    fn write(&self, line: String) {
        self.0.lock().expect("no poison").push(line);
    }
    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no poison").clone()
    }
}

impl Desk for Agrees {
    fn capabilities(&self) -> Map<String, Value> {
        Map::from_iter([("elicitation".to_owned(), json!({}))])
    }
    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        self.write(format!("asked {}", wish.params["message"]));
        Box::pin(async { Ok(json!({ "action": "accept", "content": { "ok": true } })) })
    }
    fn hear(&self, news: News) {
        self.write(format!("heard {} {}", news.params["progress"], news.params["message"]));
    }
}

async fn connect(server: &Server) -> Connection {
    Connection::open(server, None, Arc::new(Agrees::default())).await.expect("a connection")
}

fn as_task(desk: &Arc<Agrees>) -> RequestOptions {
    RequestOptions { desk: Some(desk.clone()), wants_task: true, ..RequestOptions::default() }
}

async fn call(connection: &Connection, options: &RequestOptions) -> Result<Value, Refused> {
    let params = json!({ "name": "build", "arguments": {}, "_meta": { "progressToken": "mine" } });
    connection.request("tools/call", params.as_object().cloned().expect("an object"), options).await
}

async fn called(
    heard: &Heard,
    look: impl Fn(usize, &Value, &Out) + Send + Sync + 'static,
    fetch: impl Fn(usize, &Value, &Out) + Send + Sync + 'static,
) -> Result<Value, Refused> {
    let connection = connect(&works(heard, look, fetch)).await;
    assert_eq!(connection.about().era, Era::Legacy);
    call(&connection, &as_task(&Arc::default())).await
}

fn says(status: &'static str) -> impl Fn(usize, &Value, &Out) + Send + Sync {
    move |_, message, out| out.answer(message, task(status, json!({})))
}

async fn a_moment() {
    sleep(Duration::from_millis(50)).await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_wants_to_be_a_task_is_called_as_one_and_followed_to_its_result() {
    let (heard, began) = (Heard::default(), Instant::now());
    let look = |n: usize, message: &Value, out: &Out| {
        out.answer(message, task(if n < 3 { "working" } else { "completed" }, json!({})));
    };
    let result = called(&heard, look, |_, message, out| built(message, out)).await.expect("a result");
    assert_eq!(result["content"][0]["text"], "built");
    assert!(result["_meta"].get(RELATED).is_none(), "nobody else knows of the task: {result}");
    assert!(heard.all("tools/call")[0]["params"]["task"]["ttl"].as_u64().is_some_and(|ttl| ttl >= 60_000));
    assert_eq!((heard.count("tools/call"), heard.count("tasks/get"), heard.count("tasks/result")), (1, 3, 1));
    assert!(began.elapsed() < Duration::from_secs(2), "at its own pace: {:?}", began.elapsed());
    a_moment().await;
    assert_eq!(heard.count("tasks/cancel"), 0, "what is over is not cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_want_it_and_a_server_that_cannot_are_called_as_ever() {
    let heard = Heard::default();
    let connection = connect(&works(&heard, says("working"), |_, _, _| {})).await;
    let refused = call(&connection, &RequestOptions::default()).await.expect_err("as the server has it");
    assert_eq!(refused.code, -32601);
    let told = Heard::default();
    let noted = told.clone();
    let plain = server(move |message, out| {
        noted.note(&message);
        if !crate::bridges::greets_as_before(&message, out) {
            built(&message, out);
        }
        true
    });
    call(&connect(&plain).await, &as_task(&Arc::default())).await.expect("a result");
    assert_eq!(told.all("tools/call")[0]["params"].get("task"), None);
}

#[tokio::test(start_paused = true)]
async fn what_a_task_asks_comes_to_its_caller_while_somebody_else_waits_too() {
    let (heard, mine, other) = (Heard::default(), Arc::new(Agrees::default()), Arc::new(Agrees::default()));
    let answers = heard.clone();
    // It asks when its result is wanted, and gives that, to whoever waits for it, when it was answered.
    let look = move |_: usize, message: &Value, out: &Out| {
        let is_answered = answers.all_with_id("ask-1").len() == 1;
        out.answer(message, task(if is_answered { "completed" } else { "input_required" }, json!({})));
        if is_answered {
            built(&answers.all("tasks/result")[0], out);
        }
    };
    let fetch = |_: usize, _: &Value, out: &Out| {
        let meta = json!({ RELATED: { "taskId": "t-1" } });
        let params = json!({ "message": "which one?", "requestedSchema": {}, "_meta": meta });
        out.say(json!({ "jsonrpc": "2.0", "id": "ask-1", "method": "elicitation/create", "params": params }));
    };
    let connection = connect(&works(&heard, look, fetch)).await;
    let patient = RequestOptions { desk: Some(other.clone()), ..RequestOptions::default() };
    let options = as_task(&mine);
    let result = tokio::select! {
        beside = connection.request("resources/list", Map::new(), &patient) => panic!("answered: {beside:?}"),
        result = call(&connection, &options) => result.expect("a result"),
    };
    assert_eq!(result["content"][0]["text"], "built");
    assert_eq!((mine.lines(), other.lines()), (vec!["asked \"which one?\"".to_owned()], Vec::new()));
    assert_eq!(heard.all_with_id("ask-1")[0]["result"]["action"], "accept");
    assert_eq!(heard.count("tasks/result"), 1, "who waits for it already is not asked for it twice");
}

#[tokio::test(start_paused = true)]
async fn progress_that_comes_after_the_answer_and_what_a_task_says_reach_the_caller() {
    let (heard, desk) = (Heard::default(), Arc::new(Agrees::default()));
    let calls = heard.clone();
    let look = move |n: usize, message: &Value, out: &Out| {
        let token = calls.all("tools/call")[0]["params"]["_meta"]["progressToken"].clone();
        let params = json!({ "progressToken": token, "progress": 0.5, "message": "half" });
        out.say(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
        let said = json!({ "statusMessage": "compiling" });
        out.answer(message, task(if n < 3 { "working" } else { "completed" }, said));
    };
    let connection = connect(&works(&heard, look, |_, message, out| built(message, out))).await;
    call(&connection, &as_task(&desk)).await.expect("a result");
    let lines = desk.lines();
    assert_eq!(lines.iter().filter(|line| *line == "heard 0.5 \"half\"").count(), 3, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| *line == "heard 1 \"compiling\"").count(), 1, "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_task_is_what_its_result_says() {
    let heard = Heard::default();
    let told = called(&heard, says("failed"), |_, message, out| {
        out.answer(message, json!({ "isError": true, "content": [{ "type": "text", "text": "no disk" }] }));
    });
    assert_eq!(told.await.expect("a result")["isError"], true);
    let refused = called(&heard, says("failed"), |_, message, out| {
        out.refuse(message, -32050, "no disk");
    });
    assert_eq!(refused.await.expect_err("a refusal").code, -32050);
    a_moment().await;
    assert_eq!(heard.count("tasks/cancel"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_its_server_cancels_leaves_open_what_was_done() {
    let heard = Heard::default();
    let refused = called(&heard, says("cancelled"), |_, _, _| {}).await.expect_err("a refusal");
    assert_eq!(refused.code, Refused::UNFINISHED);
    assert_eq!(heard.count("tasks/result"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_cancels_its_task() {
    for status in ["working", "input_required"] {
        let heard = Heard::default();
        let connection = connect(&works(&heard, says(status), |_, _, _| {})).await;
        let dropped = timeout(Duration::from_secs(3), call(&connection, &as_task(&Arc::default()))).await;
        assert!(dropped.is_err());
        a_moment().await;
        let (cancelled, looks) = (heard.all("tasks/cancel"), heard.count("tasks/get"));
        assert_eq!(cancelled.len(), 1, "{status}");
        assert_eq!(cancelled[0]["params"]["taskId"], "t-1");
        sleep(Duration::from_secs(60)).await;
        assert_eq!(heard.count("tasks/get"), looks, "nobody asks any more");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_without_end_ends_with_the_time_of_its_call_and_one_that_is_silent_before() {
    let heard = Heard::default();
    let connection = connect(&works(&heard, says("working"), |_, _, _| {})).await;
    let options = RequestOptions { total: Some(Duration::from_secs(20)), ..as_task(&Arc::default()) };
    let refused = call(&connection, &options).await.expect_err("no result");
    assert_eq!(refused.code, Refused::TIMED_OUT);
    a_moment().await;
    assert_eq!(heard.count("tasks/cancel"), 1);
    let (silent, began) = (Heard::default(), Instant::now());
    let connection = connect(&works(&silent, |_, _, _| {}, |_, _, _| {})).await;
    let options = RequestOptions { idle: Some(Duration::from_secs(5)), ..as_task(&Arc::default()) };
    let refused = call(&connection, &options).await.expect_err("no result");
    assert_eq!((refused.code, silent.count("tasks/get")), (Refused::UNFINISHED, 2), "{refused}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_task_without_a_usable_id_is_told_at_once() {
    for id in [json!(null), json!(""), json!("x".repeat(5000))] {
        let odd = server(move |message, out| {
            match message["method"].as_str() {
                Some("server/discover") => out.refuse(&message, -32601, "what is that"),
                Some("initialize") => out.answer(&message, greeting()),
                _ => out.answer(&message, json!({ "task": { "taskId": id, "status": "working" } })),
            }
            true
        });
        let refused = call(&connect(&odd).await, &as_task(&Arc::default())).await.expect_err("a refusal");
        assert_eq!(refused.code, Refused::UNFINISHED, "{refused}");
    }
}

#[tokio::test]
async fn a_model_calls_such_a_tool_like_any_other_and_whoever_watches_sees_its_progress() {
    let look = |n: usize, message: &Value, out: &Out| {
        let said = json!({ "statusMessage": "compiling", "pollInterval": 100 });
        out.answer(message, task(if n < 2 { "working" } else { "completed" }, said));
    };
    let server = works(&Heard::default(), look, |_, message, out| built(message, out));
    let all = upstreams(vec![Server { name: "s".to_owned(), ..server }]);
    all.acquaint().await;
    let (session, mut labels) = (session(&all, |builder| builder), Vec::new());
    let watch = |event| {
        if let Event::Progress { progress, .. } = event {
            labels.push(progress.label);
        }
    };
    let result = session.watched_call(Call::new("call_1", "mcp__s__build", "{}".to_owned()), watch).await;
    assert!(!result.is_error() && result.text().contains("built"), "{result:?}");
    assert_eq!(labels, ["compiling"]);
}
