//! Servers that answer a call with a task.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_engine::{Call, result::ToolResult, turn::Event};
use haft_mcp::client::{Connection, Desk, News, NobodysDesk, Refused, RequestOptions, Server, Wish};
use haft_tool::{BoxFuture, FaultKind};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    bridges::{Out, server},
    upstream::{session, upstreams},
};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// What a server of the test was asked, but for its first words.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Value>>>);

impl Heard {
    pub(crate) fn note(&self, message: &Value) {
        self.0.lock().expect("no poison").push(message.clone());
    }

    pub(crate) fn all(&self, method: &str) -> Vec<Value> {
        let heard = self.0.lock().expect("no poison");
        heard.iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// The messages with this id: answers to what the server asked.
    pub(crate) fn all_with_id(&self, id: &str) -> Vec<Value> {
        let heard = self.0.lock().expect("no poison");
        heard.iter().filter(|message| message["id"] == id).cloned().collect()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.all(method).len()
    }
}

/// A modern server that makes a task of every call. `look` answers the n-th `tasks/get`.
pub(crate) fn works(
    heard: &Heard,
    look: impl Fn(usize, &Value, &Out, &Heard) + Send + Sync + 'static,
) -> Server {
    let heard = heard.clone();
    server(move |message, out| {
        heard.note(&message);
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" => out.answer(&message, greeting()),
            "tools/list" => {
                let tools = json!([{ "name": "build", "inputSchema": { "type": "object" } }]);
                out.answer(&message, json!({ "resultType": "complete", "tools": tools }));
            }
            "tools/call" => out.answer(&message, task("working", json!({ "resultType": "task" }))),
            "tasks/get" => look(heard.count("tasks/get"), &message, out, &heard),
            "tasks/update" | "tasks/cancel" => out.answer(&message, json!({ "resultType": "complete" })),
            _ if message.get("id").is_some() => out.refuse(&message, -32601, "what is that"),
            _ => {}
        }
        true
    })
}

fn greeting() -> Value {
    let meta = json!({ "io.modelcontextprotocol/serverInfo": { "name": "m", "version": "2" } });
    let capabilities = json!({ "tools": {}, "extensions": { EXTENSION: {} } });
    json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "_meta": meta })
}

pub(crate) fn task(status: &str, more: Value) -> Value {
    let mut task = json!({
        "resultType": "complete", "taskId": "t-1", "status": status, "ttlMs": null, "pollIntervalMs": 200,
        "createdAt": "2026-08-01T00:00:00Z", "lastUpdatedAt": "2026-08-01T00:00:00Z",
    });
    for (key, value) in more.as_object().expect("an object") {
        task[key] = value.clone();
    }
    task
}

pub(crate) fn completed() -> Value {
    task("completed", json!({ "result": { "content": [{ "type": "text", "text": "built" }] } }))
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

async fn connect(server: &Server) -> Connection {
    Connection::open(server, None, Arc::new(NobodysDesk)).await.expect("a connection")
}

async fn call(connection: &Connection, options: &RequestOptions) -> Result<Value, Refused> {
    let params = json!({ "name": "build", "arguments": {}, "_meta": { "traceparent": "00-a" } });
    connection.request("tools/call", params.as_object().cloned().expect("an object"), options).await
}

/// Calls once, with nobody at the desk.
async fn called(
    heard: &Heard,
    look: impl Fn(usize, &Value, &Out, &Heard) + Send + Sync + 'static,
) -> Result<Value, Refused> {
    call(&connect(&works(heard, look)).await, &RequestOptions::default()).await
}

/// What a server hears after nobody waits any more comes a moment later.
async fn a_moment() {
    sleep(Duration::from_millis(50)).await;
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

fn with(desk: &Arc<Agrees>) -> RequestOptions {
    RequestOptions { desk: Some(desk.clone()), ..RequestOptions::default() }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_to_its_result() {
    let (heard, began) = (Heard::default(), Instant::now());
    let result = called(&heard, |n, message, out, _| match n {
        1 | 2 => out.answer(message, task("working", json!({}))),
        _ => out.answer(message, completed()),
    })
    .await;
    assert_eq!(text(&result.expect("a result")), "built");
    assert_eq!(heard.count("tasks/get"), 3);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(600) && took < Duration::from_secs(2), "its own pace: {took:?}");
    a_moment().await;
    assert_eq!(heard.count("tasks/cancel"), 0, "what is over is not cancelled");
}

#[tokio::test(start_paused = true)]
async fn only_calls_and_what_concerns_their_tasks_declare_the_extension() {
    let heard = Heard::default();
    let connection = connect(&works(&heard, |_, message, out, _| out.answer(message, completed()))).await;
    connection.list("tools/list", "tools").await.expect("a list");
    call(&connection, &with(&Arc::default())).await.expect("a result");
    let declared = |method: &str| {
        let meta = heard.all(method)[0]["params"]["_meta"].clone();
        meta["io.modelcontextprotocol/clientCapabilities"].clone()
    };
    let with_tasks = json!({ "elicitation": {}, "extensions": { EXTENSION: {} } });
    assert_eq!(declared("tools/list"), json!({}));
    assert_eq!((declared("tools/call"), declared("tasks/get")), (with_tasks.clone(), with_tasks));
    let look = &heard.all("tasks/get")[0]["params"];
    assert_eq!((&look["taskId"], &look["_meta"]["traceparent"]), (&json!("t-1"), &json!("00-a")));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_know_tasks_is_not_told_of_them() {
    let heard = Heard::default();
    let told = heard.clone();
    let plain = server(move |message, out| {
        told.note(&message);
        if !crate::bridges::greets_as_today(&message, out) {
            out.answer(&message, json!({ "content": [] }));
        }
        true
    });
    call(&connect(&plain).await, &RequestOptions::default()).await.expect("a result");
    let meta = &heard.all("tools/call")[0]["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn who_follows_tasks_itself_gets_the_task() {
    let heard = Heard::default();
    let connection = connect(&works(&heard, |_, message, out, _| out.answer(message, completed()))).await;
    let options = RequestOptions { keeps_tasks: true, ..RequestOptions::default() };
    let answer = call(&connection, &options).await.expect("a task");
    assert_eq!((&answer["resultType"], &answer["taskId"]), (&json!("task"), &json!("t-1")));
    a_moment().await;
    assert_eq!((heard.count("tasks/get"), heard.count("tasks/cancel")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_failed_task_is_the_servers_refusal() {
    let heard = Heard::default();
    let error = json!({ "code": -32050, "message": "no disk", "data": { "free": 0 } });
    let failed = task("failed", json!({ "error": error }));
    let refused = called(&heard, move |_, message, out, _| out.answer(message, failed.clone())).await;
    let refused = refused.expect_err("a refusal");
    assert_eq!((refused.code, &*refused.message), (-32050, "no disk"));
    assert_eq!(refused.data, Some(json!({ "free": 0 })));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_its_server_cancels_leaves_open_what_was_done() {
    let heard = Heard::default();
    let ended = task("cancelled", json!({ "statusMessage": "shutting down" }));
    let refused = called(&heard, move |_, message, out, _| out.answer(message, ended.clone())).await;
    let refused = refused.expect_err("a refusal");
    assert_eq!(refused.code, Refused::UNFINISHED);
    assert!(refused.message.contains("shutting down") && refused.message.contains("is not known"));
}

#[tokio::test(start_paused = true)]
async fn what_a_task_asks_is_asked_once_and_told_to_it() {
    let (heard, desk) = (Heard::default(), Arc::new(Agrees::default()));
    let server = works(&heard, |n, message, out, heard| {
        let ask = |words: &str| json!({ "method": "elicitation/create", "params": { "message": words } });
        // It shows the first question for a while after the answer has come, as servers may.
        let requests = match n {
            1 | 2 => json!({ "a": ask("sure?") }),
            3 => json!({ "a": ask("sure?"), "b": ask("really?") }),
            _ => return out.answer(message, completed()),
        };
        assert!(n == 1 || heard.count("tasks/update") > 0, "told before it is asked again");
        out.answer(message, task("input_required", json!({ "inputRequests": requests })));
    });
    let result = call(&connect(&server).await, &with(&desk)).await.expect("a result");
    assert_eq!(text(&result), "built");
    assert_eq!(desk.lines(), ["asked \"sure?\"", "asked \"really?\""]);
    let told = heard.all("tasks/update");
    let yes = json!({ "action": "accept", "content": { "ok": true } });
    assert_eq!(told.len(), 2);
    assert_eq!(told[0]["params"]["taskId"], "t-1");
    assert_eq!(told[0]["params"]["inputResponses"], json!({ "a": yes }));
    assert_eq!(told[1]["params"]["inputResponses"], json!({ "b": yes }));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_asks_what_nobody_answers_is_cancelled() {
    let heard = Heard::default();
    let requests = json!({ "a": { "method": "sampling/createMessage", "params": {} } });
    let asks = task("input_required", json!({ "inputRequests": requests }));
    let refused = called(&heard, move |_, message, out, _| out.answer(message, asks.clone())).await;
    assert!(refused.expect_err("a refusal").message.contains("was not declared"));
    a_moment().await;
    assert_eq!((heard.count("tasks/update"), heard.count("tasks/cancel")), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_never_has_enough_answers_is_given_up() {
    let heard = Heard::default();
    let server = works(&heard, |n, message, out, _| {
        let ask = json!({ "method": "elicitation/create", "params": { "message": "more?" } });
        let requests = Map::from_iter([(format!("q{n}"), ask)]);
        out.answer(message, task("input_required", json!({ "inputRequests": requests })));
    });
    let refused = call(&connect(&server).await, &with(&Arc::default())).await.expect_err("a refusal");
    assert_eq!(refused.code, Refused::UNREADABLE, "{refused}");
    a_moment().await;
    assert_eq!((heard.count("tasks/update"), heard.count("tasks/cancel")), (64, 1));
}

#[tokio::test(start_paused = true)]
async fn what_a_task_says_of_itself_is_progress_when_it_is_new() {
    let (heard, desk) = (Heard::default(), Arc::new(Agrees::default()));
    let server = works(&heard, |n, message, out, _| match n {
        1 | 2 => out.answer(message, task("working", json!({ "statusMessage": "compiling" }))),
        3 => out.answer(message, task("working", json!({ "statusMessage": "x".repeat(100_000) }))),
        _ => out.answer(message, completed()),
    });
    call(&connect(&server).await, &with(&desk)).await.expect("a result");
    let lines = desk.lines();
    assert_eq!(lines[0], "heard 1 \"compiling\"");
    assert!(lines.len() == 2 && lines[1].starts_with("heard 2") && lines[1].len() < 400, "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_cancels_its_task() {
    let heard = Heard::default();
    let working = |_: usize, message: &Value, out: &Out, _: &Heard| {
        out.answer(message, task("working", json!({})));
    };
    let connection = connect(&works(&heard, working)).await;
    let dropped = timeout(Duration::from_secs(3), call(&connection, &RequestOptions::default())).await;
    assert!(dropped.is_err());
    a_moment().await;
    let (cancelled, looks) = (heard.all("tasks/cancel"), heard.count("tasks/get"));
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0]["params"]["taskId"], "t-1");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(heard.count("tasks/get"), looks, "nobody asks any more");
}

#[tokio::test(start_paused = true)]
async fn a_task_without_end_ends_with_the_time_of_its_call() {
    let heard = Heard::default();
    let server = works(&heard, |_, message, out, _| {
        out.answer(message, task("working", json!({ "statusMessage": "soon", "pollIntervalMs": 0 })));
    });
    let options = RequestOptions { total: Some(Duration::from_secs(20)), ..RequestOptions::default() };
    let refused = call(&connect(&server).await, &options).await.expect_err("no result");
    assert_eq!(refused.code, Refused::TIMED_OUT);
    assert!(refused.message.contains("20 s") && refused.message.contains("soon"), "{refused}");
    a_moment().await;
    assert_eq!(heard.count("tasks/cancel"), 1);
    assert!(heard.count("tasks/get") <= 200, "however often it wants to be asked");
}

#[tokio::test(start_paused = true)]
async fn a_status_that_nobody_knows_is_looked_at_twice_and_then_told() {
    let heard = Heard::default();
    let refused = called(&heard, |_, message, out, _| out.answer(message, task("finito", json!({})))).await;
    let refused = refused.expect_err("a refusal");
    assert_eq!((refused.code, heard.count("tasks/get")), (Refused::UNFINISHED, 2));
    assert!(refused.message.contains("finito") && refused.message.contains("is not known"), "{refused}");
    a_moment().await;
    assert_eq!(heard.count("tasks/cancel"), 1, "nobody follows it any more");
}

#[tokio::test(start_paused = true)]
async fn one_look_may_fail_and_two_in_a_row_may_not() {
    let heard = Heard::default();
    let result = called(&heard, |n, message, out, _| match n {
        1 | 3 => out.refuse(message, -32000, "busy"),
        2 => out.answer(message, task("working", json!({}))),
        _ => out.answer(message, completed()),
    });
    assert_eq!(text(&result.await.expect("a result")), "built");
    let heard = Heard::default();
    let refused = called(&heard, |_, message, out, _| out.refuse(message, -32602, "no such task")).await;
    let refused = refused.expect_err("a refusal");
    assert_eq!((refused.code, heard.count("tasks/get")), (Refused::UNFINISHED, 2));
    assert!(refused.message.contains("no such task") && refused.message.contains("is not known"));
}

#[tokio::test(start_paused = true)]
async fn a_task_without_a_usable_id_is_told_at_once() {
    for id in [json!(null), json!(7), json!(""), json!("x".repeat(5000))] {
        let odd = server(move |message, out| {
            match message["method"].as_str() {
                Some("server/discover") => out.answer(&message, greeting()),
                _ => out.answer(&message, json!({ "resultType": "task", "taskId": id, "status": "working" })),
            }
            true
        });
        let refused = call(&connect(&odd).await, &RequestOptions::default()).await.expect_err("a refusal");
        assert_eq!(refused.code, Refused::UNFINISHED, "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_does_not_look_as_if_the_call_had_never_left() {
    let heard = Heard::default();
    let working = |_: usize, message: &Value, out: &Out, _: &Heard| {
        out.answer(message, task("working", json!({})));
    };
    let server = works(&heard, working);
    let connection = connect(&server).await;
    let closing = async {
        // Between two looks: the next one never leaves.
        sleep(Duration::from_millis(1100)).await;
        connection.close().await;
    };
    let options = RequestOptions::default();
    let (result, ()) = tokio::join!(call(&connection, &options), closing);
    let refused = result.expect_err("a refusal");
    assert_eq!((refused.code, refused.is_unsent()), (Refused::GONE, false), "{refused}");
}

/// A model's call of the tool of a server, and the labels of its progress.
async fn called_by_a_model(server: Server) -> (ToolResult, Vec<String>) {
    let all = upstreams(vec![Server { name: "s".to_owned(), ..server }]);
    all.acquaint().await;
    let (session, mut labels) = (session(&all, |builder| builder), Vec::new());
    let call = Call::new("call_1", "mcp__s__build", "{}".to_owned());
    let watch = |event| {
        if let Event::Progress { progress, .. } = event {
            labels.push(progress.label);
        }
    };
    (session.watched_call(call, watch).await, labels)
}

#[tokio::test]
async fn a_model_gets_the_result_of_a_task_and_whoever_watches_its_progress() {
    let (result, labels) = called_by_a_model(works(&Heard::default(), |n, message, out, _| match n {
        1 => out.answer(message, task("working", json!({ "statusMessage": "compiling" }))),
        _ => out.answer(message, completed()),
    }))
    .await;
    assert!(!result.is_error(), "{result:?}");
    assert_eq!(labels, ["compiling"]);
}

#[tokio::test]
async fn a_model_is_told_that_nobody_knows_what_a_lost_task_did() {
    let heard = Heard::default();
    let lost = works(&heard, |_, message, out, _| out.refuse(message, -32602, "no such task"));
    let (result, _) = called_by_a_model(lost).await;
    let fault = result.fault.expect("a fault");
    assert_eq!(fault.kind, FaultKind::Interrupted);
    assert_eq!(heard.count("tools/call"), 1, "it is not made again");
}
