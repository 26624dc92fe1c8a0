//! Requests, answers, and everything in between, with servers in this process.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use haft_mcp::client::{Connection, Desk, Era, News, NobodysDesk, Refused, RequestOptions, Server, Wish};
use haft_tool::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

use crate::bridges::{Out, greets_as_before, greets_as_today, server};

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("an object, not {other}"),
    }
}

async fn connect(server: &Server) -> Connection {
    Connection::open(server, None, Arc::new(NobodysDesk)).await.expect("a connection")
}

async fn call(connection: &Connection, name: &str, options: &RequestOptions) -> Result<Value, Refused> {
    connection.request("tools/call", object(json!({ "name": name, "arguments": {} })), options).await
}

/// A server that knows the first words and no others.
fn only_greets(message: Value, out: &Out) -> bool {
    greets_as_before(&message, out);
    true
}

/// A desk that says yes, and writes down what it hears.
#[derive(Default)]
struct Diary(Mutex<Vec<String>>);

impl Diary {
    fn write(&self, line: String) {
        self.0.lock().expect("no poison").push(line);
    }
    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no poison").clone()
    }
}

impl Desk for Diary {
    fn capabilities(&self) -> Map<String, Value> {
        object(json!({ "elicitation": {} }))
    }
    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        self.write(format!("{} {}", wish.method, Value::Object(wish.params)));
        Box::pin(async { Ok(json!({ "action": "accept", "content": { "ok": true } })) })
    }
    fn hear(&self, news: News) {
        self.write(format!("{} {}", news.method, Value::Object(news.params)));
    }
}

fn with_desk(desk: &Arc<Diary>) -> RequestOptions {
    RequestOptions { desk: Some(desk.clone()), ..RequestOptions::default() }
}

#[tokio::test]
async fn a_server_of_before_is_met_by_a_handshake() {
    let server = server(|message, out| {
        if !greets_as_before(&message, out) {
            out.answer(&message, json!({ "content": [], "sent": message["params"] }));
        }
        true
    });
    let connection = connect(&server).await;
    assert_eq!((connection.about().era, &*connection.about().version), (Era::Legacy, "2025-11-25"));
    assert_eq!(connection.about().info["name"], "s");
    let sent = call(&connection, "t", &RequestOptions::default()).await.expect("an answer");
    assert_eq!(sent["sent"]["name"], "t");
    assert_eq!(sent["sent"]["_meta"].as_object().expect("meta").len(), 1, "only the token: {sent}");
}

#[tokio::test]
async fn a_server_of_today_is_told_all_with_each_request() {
    let server = server(|message, out| {
        if !greets_as_today(&message, out) {
            out.answer(&message, json!({ "content": [], "meta": message["params"]["_meta"] }));
        }
        true
    });
    let connection = connect(&server).await;
    assert_eq!((connection.about().era, &*connection.about().version), (Era::Modern, "2026-07-28"));
    assert_eq!(
        (&connection.about().info["name"], connection.about().instructions.as_deref()),
        (&json!("m"), Some("be kind"))
    );
    let answer = call(&connection, "t", &with_desk(&Arc::default())).await.expect("an answer");
    let meta = &answer["meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "haft");
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({ "elicitation": {} }),
        "the request's desk"
    );
}

#[tokio::test]
async fn an_era_that_is_known_from_before_may_have_changed() {
    let before = server(only_greets);
    let met =
        Connection::open(&before, Some(Era::Modern), Arc::new(NobodysDesk)).await.expect("a connection");
    assert_eq!(met.about().era, Era::Legacy);
    let today = server(|message, out| {
        if !greets_as_today(&message, out) {
            out.refuse(&message, -32601, "gone since 2026");
        }
        true
    });
    let met = Connection::open(&today, Some(Era::Legacy), Arc::new(NobodysDesk)).await.expect("a connection");
    assert_eq!(met.about().era, Era::Modern);
}

#[tokio::test]
async fn a_server_that_refuses_a_revision_and_lists_it_is_asked_again() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let server = server(move |message, out| {
        if message["method"] == "server/discover"
            && asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0
        {
            let error = json!({ "code": -32022, "message": "no", "data": { "supported": ["2026-07-28"] } });
            out.say(json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
            return true;
        }
        greets_as_today(&message, out);
        true
    });
    assert_eq!(connect(&server).await.about().era, Era::Modern);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ignores_what_it_does_not_know_is_asked_the_older_way() {
    let server =
        server(|message, out| message["method"] == "server/discover" || greets_as_before(&message, out));
    assert_eq!(connect(&server).await.about().era, Era::Legacy);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_to_the_first_question_is_not_taken_for_another() {
    let server = server(|message, out| {
        if message["method"] == "server/discover" {
            out.raw("starting\n");
            let (out, message) = (out.clone(), message.clone());
            tokio::spawn(async move {
                sleep(Duration::from_secs(6)).await;
                out.refuse(&message, -32601, "late");
            });
            return true;
        }
        if message["method"] == "initialize" {
            let (out, message) = (out.clone(), message.clone());
            tokio::spawn(async move {
                sleep(Duration::from_secs(2)).await;
                greets_as_before(&message, &out);
            });
            return true;
        }
        greets_as_before(&message, out);
        true
    });
    assert_eq!(connect(&server).await.about().era, Era::Legacy);
}

#[tokio::test]
async fn a_server_that_ends_at_the_first_unknown_word_is_started_again() {
    let server = server(|message, out| message["method"] != "server/discover" && only_greets(message, out));
    assert_eq!(connect(&server).await.about().era, Era::Legacy);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_up_in_time() {
    let mut silent = server(|_, _| true);
    silent.limits.start = Duration::from_secs(30);
    let began = tokio::time::Instant::now();
    let failed = Connection::open(&silent, None, Arc::new(NobodysDesk)).await.err().expect("no connection");
    assert!(began.elapsed() <= Duration::from_secs(31), "{:?}", began.elapsed());
    assert!(failed.message.contains("no connection to scripted: no answer to "), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_request_and_progress_prolongs_it() {
    let server = server(|message, out| {
        if greets_as_before(&message, out) || message["params"]["name"] != "slow" {
            return true;
        }
        let (out, token) = (out.clone(), message["params"]["_meta"]["progressToken"].clone());
        tokio::spawn(async move {
            for step in 1..=5 {
                sleep(Duration::from_secs(8)).await;
                out.say(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": token, "progress": step } }));
            }
            out.answer(&message, json!({ "content": [] }));
        });
        true
    });
    let connection = connect(&server).await;
    let hasty = RequestOptions { idle: Some(Duration::from_secs(10)), ..RequestOptions::default() };
    let refused = call(&connection, "silent", &hasty).await.expect_err("no answer");
    assert_eq!(
        (refused.code, &*refused.message),
        (Refused::TIMED_OUT, "no answer to tools/call within 10 s")
    );
    call(&connection, "slow", &hasty).await.expect("an answer after 40 s");
    let capped = RequestOptions { total: Some(Duration::from_secs(20)), ..hasty };
    assert_eq!(call(&connection, "slow", &capped).await.expect_err("too long").code, Refused::TIMED_OUT);
}

#[tokio::test]
async fn progress_bears_the_token_that_the_caller_gave() {
    let server = server(|message, out| {
        if !greets_as_before(&message, out) {
            let token = &message["params"]["_meta"]["progressToken"];
            out.say(json!({ "method": "notifications/progress", "params": { "progressToken": token, "progress": 1 } }));
            out.answer(&message, json!({ "content": [] }));
        }
        true
    });
    let (connection, diary) = (connect(&server).await, Arc::new(Diary::default()));
    let params = json!({ "name": "t", "_meta": { "progressToken": "theirs" } });
    connection.request("tools/call", object(params), &with_desk(&diary)).await.expect("an answer");
    assert_eq!(diary.lines(), [r#"notifications/progress {"progressToken":"theirs","progress":1}"#]);
}

#[tokio::test]
async fn a_dropped_request_is_cancelled_at_the_server() {
    let (tx, rx) = std::sync::mpsc::channel();
    let tx = Mutex::new(tx);
    let server = server(move |message, out| {
        if !greets_as_before(&message, out) {
            tx.lock().expect("no poison").send(message).expect("a listener");
        }
        true
    });
    let connection = connect(&server).await;
    let dropped =
        timeout(Duration::from_millis(50), call(&connection, "t", &RequestOptions::default())).await;
    assert!(dropped.is_err());
    sleep(Duration::from_millis(50)).await;
    let (request, cancelled) =
        (rx.recv().expect("the request"), rx.recv_timeout(Duration::from_secs(5)).expect("its end"));
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

/// A server that asks the user before it answers, the older way.
fn asks_first(message: &Value, out: &Out, waiting: &Mutex<Option<Value>>) {
    if message["method"] == "tools/call" {
        *waiting.lock().expect("no poison") = Some(message.clone());
        out.say(json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": { "message": "sure?" } }));
    } else if message["id"] == "q" {
        let call = waiting.lock().expect("no poison").take().expect("a call");
        let said = if message["error"].is_null() {
            message["result"].to_string()
        } else {
            message["error"]["message"].to_string()
        };
        out.answer(&call, json!({ "content": [{ "type": "text", "text": said }] }));
    }
}

#[tokio::test]
async fn a_question_in_between_goes_to_the_desk_of_the_request() {
    let waiting = Mutex::default();
    let server = server(move |message, out| {
        if !greets_as_before(&message, out) {
            asks_first(&message, out, &waiting);
        }
        true
    });
    let (connection, diary) = (connect(&server).await, Arc::new(Diary::default()));
    let answer = call(&connection, "t", &with_desk(&diary)).await.expect("an answer");
    assert_eq!(answer["content"][0]["text"], r#"{"action":"accept","content":{"ok":true}}"#);
    assert_eq!(diary.lines(), [r#"elicitation/create {"message":"sure?"}"#]);
    let refused = call(&connection, "t", &RequestOptions::default()).await.expect("an answer");
    assert_eq!(
        refused["content"][0]["text"],
        r#""elicitation/create is not supported here: elicitation was not declared""#
    );
}

fn asks_by_its_answer(message: &Value, out: &Out) {
    let params = &message["params"];
    let text = match (&params["inputResponses"], &params["requestState"]) {
        (Value::Null, _) => {
            let wish = json!({ "method": "elicitation/create", "params": { "message": "sure?" } });
            return out.answer(message, json!({ "resultType": "input_required", "inputRequests": { "a": wish }, "requestState": "sealed" }));
        }
        (responses, state) => format!("{responses} {state}"),
    };
    out.answer(message, json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] }));
}

#[tokio::test]
async fn an_answer_that_is_a_question_is_answered_and_asked_again() {
    let server = server(|message, out| {
        if !greets_as_today(&message, out) {
            asks_by_its_answer(&message, out);
        }
        true
    });
    let (connection, diary) = (connect(&server).await, Arc::new(Diary::default()));
    let answer = call(&connection, "t", &with_desk(&diary)).await.expect("an answer");
    assert_eq!(answer["content"][0]["text"], r#"{"a":{"action":"accept","content":{"ok":true}}} "sealed""#);
    let once = RequestOptions { once: true, ..with_desk(&diary) };
    let question = call(&connection, "t", &once).await.expect("a question");
    assert_eq!(question["requestState"], "sealed");
    assert_eq!(diary.lines().len(), 1, "nobody was asked the second time");
}

/// Thinks so long that the server may be gone by then.
struct SlowDesk;

impl Desk for SlowDesk {
    fn capabilities(&self) -> Map<String, Value> {
        Map::from_iter([("elicitation".to_owned(), json!({}))])
    }
    fn answer(&self, _: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Ok(json!({ "action": "accept", "content": {} }))
        })
    }
    fn hear(&self, _: News) {}
}

#[tokio::test]
async fn a_request_about_which_the_server_has_asked_was_sent_even_if_the_server_is_gone_then() {
    let server = server(|message, out| {
        let is_greeting = greets_as_today(&message, out);
        if !is_greeting {
            asks_by_its_answer(&message, out);
        }
        is_greeting
    });
    let connection = connect(&server).await;
    let options = RequestOptions { desk: Some(Arc::new(SlowDesk)), ..RequestOptions::default() };
    let refused = call(&connection, "t", &options).await.expect_err("the server is gone");
    assert_eq!((refused.code, refused.is_unsent()), (Refused::GONE, false), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_only_asks_is_not_answered_for_ever() {
    let server = server(|message, out| {
        if !greets_as_today(&message, out) {
            out.answer(&message, json!({ "resultType": "input_required", "requestState": "again" }));
        }
        true
    });
    let refused =
        call(&connect(&server).await, "t", &RequestOptions::default()).await.expect_err("no result");
    assert_eq!(refused.message, "tools/call was answered with 16 questions and no result");
}

#[tokio::test]
async fn a_subscription_is_heard_until_it_is_dropped() {
    let (tx, rx) = std::sync::mpsc::channel();
    let tx = Mutex::new(tx);
    let server = server(move |message, out| {
        if greets_as_today(&message, out) {
            return true;
        }
        if message["method"] == "subscriptions/listen" {
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": message["id"] });
            out.say(json!({ "method": "notifications/tools/list_changed", "params": { "_meta": meta } }));
        }
        tx.lock().expect("no poison").send(message).expect("a listener");
        true
    });
    let (connection, diary) = (connect(&server).await, Arc::new(Diary::default()));
    let listening = connection.listen(object(json!({ "toolsListChanged": true })), Some(diary.clone()));
    sleep(Duration::from_millis(100)).await;
    assert!(diary.lines()[0].starts_with("notifications/tools/list_changed"), "{:?}", diary.lines());
    assert_eq!(
        rx.recv().expect("the request")["params"]["notifications"],
        json!({ "toolsListChanged": true })
    );
    drop(listening);
    sleep(Duration::from_millis(100)).await;
    assert_eq!(
        rx.recv_timeout(Duration::from_secs(5)).expect("its end")["method"],
        "notifications/cancelled"
    );
}

#[tokio::test]
async fn the_end_of_a_server_ends_all_that_waits_at_once() {
    let server = server(|message, out| greets_as_before(&message, out) || message["params"]["name"] != "die");
    let connection = connect(&server).await;
    let began = Instant::now();
    let options = RequestOptions::default();
    let (first, second) =
        tokio::join!(call(&connection, "wait", &options), call(&connection, "die", &options));
    for refused in [first, second] {
        let refused = refused.expect_err("no answer");
        assert_eq!((refused.code, &*refused.message), (Refused::GONE, "the server closed the connection"));
    }
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(connection.is_closed());
    assert_eq!(connection.closed().await, "the server closed the connection");
    assert_eq!(call(&connection, "late", &options).await.expect_err("gone").code, Refused::GONE);
}

#[tokio::test]
async fn a_connection_that_is_closed_says_so() {
    let connection = connect(&server(only_greets)).await;
    connection.close().await;
    let refused = call(&connection, "t", &RequestOptions::default()).await.expect_err("closed");
    assert_eq!((refused.code, &*refused.message), (Refused::GONE, "the connection was closed"));
}

#[tokio::test]
async fn a_server_that_asks_without_end_costs_nothing_and_is_still_served() {
    let server = server(|message, out| {
        if !greets_as_before(&message, out) && message["method"] == "tools/call" {
            for id in 0..5000 {
                out.say(json!({ "jsonrpc": "2.0", "id": format!("q{id}"), "method": "roots/list" }));
            }
            out.answer(&message, json!({ "content": [] }));
        }
        true
    });
    call(&connect(&server).await, "t", &RequestOptions::default()).await.expect("an answer");
}

#[tokio::test]
async fn a_subscription_ends_with_its_connection() {
    let server = server(|message, out| {
        greets_as_today(&message, out);
        true
    });
    let connection = connect(&server).await;
    let mut listening = connection.listen(Map::new(), None);
    tokio::task::yield_now().await;
    drop(connection);
    let ended = timeout(Duration::from_secs(5), listening.ended()).await.expect("an end");
    assert_eq!(ended.code, Refused::GONE);
}
