//! What goes over HTTP and WebSockets, with servers in this process.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::{SinkExt, StreamExt};
use haft_mcp::client::{
    ConnectError, Connection, Desk, Era, News, NobodysDesk, Refused, RequestOptions, Server, Transport, Wish,
};
use haft_tool::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use crate::web::{Asked, Told, Web, events, json as json_answer, result, serve, status};

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("an object, not {other}"),
    }
}

fn at(url: String) -> Server {
    let headers = BTreeMap::from([("x-key".to_owned(), "secret".to_owned())]);
    let mut server = Server::new("web", Transport::Http { url, headers });
    server.limits.start = Duration::from_secs(10);
    server
}

async fn connect(web: &Web) -> Connection {
    Connection::open(&at(web.url("/mcp")), None, Arc::new(NobodysDesk)).await.expect("a connection")
}

async fn refusal(server: &Server) -> ConnectError {
    Connection::open(server, None, Arc::new(NobodysDesk)).await.err().expect("no connection")
}

async fn call(connection: &Connection, arguments: Value) -> Result<Value, Refused> {
    let params = object(json!({ "name": "t", "arguments": arguments }));
    connection.request("tools/call", params, &RequestOptions::default()).await
}

/// The first words of a server of before, in this session; `None` if it was asked something else.
fn as_before(asked: &Asked, session: &str) -> Option<Told> {
    match (&*asked.verb, asked.method()) {
        ("POST", "server/discover") => Some(status(400, "Bad Request: no session")),
        ("POST", "initialize") => {
            let mut told = result(
                asked,
                json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": { "name": "w", "version": "1" } }),
            );
            told.headers_mut().insert("mcp-session-id", session.parse().expect("a header"));
            Some(told)
        }
        ("POST", "notifications/initialized" | "notifications/cancelled") => Some(status(202, "")),
        ("DELETE", _) => Some(status(200, "")),
        _ => None,
    }
}

fn as_today(asked: &Asked) -> Option<Told> {
    let said = json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {} });
    (asked.method() == "server/discover").then(|| result(asked, said))
}

fn event(id: &str, message: Value) -> String {
    format!("id: {id}\nretry: 10\ndata: {message}\n\n")
}

#[tokio::test]
async fn a_server_without_a_stream_for_news_will_do() {
    let web = serve(|asked| {
        as_before(asked, "s").unwrap_or_else(|| match &*asked.verb {
            "POST" => result(asked, json!({ "content": [] })),
            _ => status(405, "no"),
        })
    })
    .await;
    let connection = connect(&web).await;
    assert_eq!((connection.about().era, &*connection.about().version), (Era::Legacy, "2025-06-18"));
    call(&connection, json!({})).await.expect("an answer");
    let last = web.asked().into_iter().rfind(|asked| asked.method() == "tools/call").expect("the call");
    assert_eq!(
        (last.header("mcp-session-id"), last.header("mcp-protocol-version"), last.header("x-key")),
        ("s", "2025-06-18", "secret")
    );
    assert_eq!(last.header("mcp-method"), "", "older servers know no such header");
    connection.close().await;
    assert_eq!(web.asked().iter().filter(|asked| asked.verb == "DELETE").count(), 1);
}

#[tokio::test]
async fn a_session_that_was_forgotten_is_begun_again_and_nothing_is_done_twice() {
    for (code, words) in [(404, "gone"), (400, "Bad Request: No valid session ID provided")] {
        let (sessions, done) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let count = done.clone();
        let web = serve(move |asked| {
            if asked.method() == "initialize" {
                sessions.fetch_add(1, Ordering::SeqCst);
            }
            let session = format!("s{}", sessions.load(Ordering::SeqCst));
            as_before(asked, &session).unwrap_or_else(|| {
                match (&*asked.verb, asked.header("mcp-session-id")) {
                    ("GET", _) => status(405, ""),
                    (_, "s1") => status(code, words),
                    _ => {
                        count.fetch_add(1, Ordering::SeqCst);
                        result(asked, json!({ "content": [] }))
                    }
                }
            })
        })
        .await;
        let connection = connect(&web).await;
        let (one, two) = tokio::join!(call(&connection, json!({})), call(&connection, json!({})));
        one.expect("an answer");
        two.expect("an answer");
        assert_eq!(web.count("POST", "initialize"), 2, "{code}: once at first, once for both");
        assert_eq!(done.load(Ordering::SeqCst), 2, "{code}");
    }
}

#[tokio::test]
async fn what_a_session_had_is_asked_for_again_in_the_next_one() {
    let sessions = AtomicUsize::new(0);
    let web = serve(move |asked| {
        if asked.method() == "initialize" {
            sessions.fetch_add(1, Ordering::SeqCst);
        }
        let session = format!("s{}", sessions.load(Ordering::SeqCst));
        as_before(asked, &session).unwrap_or_else(|| match asked.method() {
            "" => status(405, ""),
            "tools/call" if asked.header("mcp-session-id") == "s1" => status(404, "gone"),
            _ => result(asked, json!({ "content": [] })),
        })
    })
    .await;
    let diary = Arc::new(Diary::default());
    let connection = Connection::open(&at(web.url("/mcp")), None, diary.clone()).await.expect("a connection");
    for (method, uri) in [("subscribe", "a://1"), ("subscribe", "a://2"), ("unsubscribe", "a://2")] {
        let params = object(json!({ "uri": uri }));
        let (method, options) = (format!("resources/{method}"), RequestOptions::default());
        connection.request(&method, params, &options).await.expect("an answer");
    }
    call(&connection, json!({})).await.expect("an answer");
    let again = web.asked().into_iter().filter(|asked| asked.header("mcp-session-id") == "s2");
    let again: Vec<Value> =
        again.filter(|asked| asked.method() == "resources/subscribe").map(|asked| asked.message).collect();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0]["params"]["uri"], "a://1");
    assert_eq!(*diary.0.lock().expect("no poison"), ["notifications/tools/list_changed"]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_not_waited_for() {
    let broken = |id: &Value| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[}}");
    let web = serve(move |asked| {
        let answer = || format!("data: {}\n\n", broken(&asked.message["id"]));
        as_today(asked).unwrap_or_else(|| events(&[answer()], true, Arc::default()))
    })
    .await;
    let connection = connect(&web).await;
    let call = timeout(Duration::from_secs(10), call(&connection, json!({})));
    let refused = call.await.expect("an end").expect_err("nothing to read");
    assert_eq!(refused.code, Refused::UNREADABLE, "{refused}");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_resumed_from_its_last_event() {
    let calls: Mutex<Value> = Mutex::default();
    let web = serve(move |asked| {
        if let Some(told) = as_before(asked, "s") {
            return told;
        }
        let mut id = calls.lock().expect("no poison");
        match (&*asked.verb, asked.header("last-event-id")) {
            ("POST", _) => {
                *id = asked.message["id"].clone();
                events(&["id: e1\nretry: 10\ndata:\n\n".to_owned()], false, Arc::default())
            }
            ("GET", "e1") => {
                let answer = json!({ "jsonrpc": "2.0", "id": *id, "result": { "content": "resumed" } });
                events(&[event("e2", answer)], false, Arc::default())
            }
            _ => status(405, ""),
        }
    })
    .await;
    let answer = call(&connect(&web).await, json!({})).await.expect("an answer");
    assert_eq!(answer["content"][0]["text"], "resumed");
}

#[tokio::test]
async fn a_stream_that_ends_without_an_answer_is_not_waited_for() {
    let web = serve(|asked| {
        as_before(asked, "s").unwrap_or_else(|| match &*asked.verb {
            "POST" => {
                events(&["data: {\"method\":\"notifications/x\"}\n\n".to_owned()], false, Arc::default())
            }
            _ => status(405, ""),
        })
    })
    .await;
    let connection = connect(&web).await;
    let began = Instant::now();
    let refused = call(&connection, json!({})).await.expect_err("no answer");
    assert_eq!((refused.code, &*refused.message), (Refused::GONE, "the stream ended before the answer came"));
    assert!(began.elapsed() < Duration::from_secs(5));
}

/// Writes down what it hears.
#[derive(Default)]
struct Diary(Mutex<Vec<String>>);

impl Desk for Diary {
    fn capabilities(&self) -> Map<String, Value> {
        object(json!({ "elicitation": {} }))
    }
    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        self.0.lock().expect("no poison").push(wish.method);
        Box::pin(async { Ok(json!({ "action": "cancel" })) })
    }
    fn hear(&self, news: News) {
        self.0.lock().expect("no poison").push(news.method);
    }
}

#[tokio::test]
async fn what_a_server_says_by_itself_is_heard() {
    let web = serve(|asked| {
        as_before(asked, "s").unwrap_or_else(|| {
            let news = event("1", json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
            events(&[news], true, Arc::default())
        })
    })
    .await;
    let diary = Arc::new(Diary::default());
    let _connection = Connection::open(&at(web.url("/")), None, diary.clone()).await.expect("a connection");
    for _ in 0..100 {
        if !diary.0.lock().expect("no poison").is_empty() {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(*diary.0.lock().expect("no poison"), ["notifications/tools/list_changed"]);
}

#[tokio::test]
async fn a_question_on_the_stream_of_a_request_goes_to_that_requests_desk() {
    let web = serve(|asked| {
        as_before(asked, "s").unwrap_or_else(|| match (&*asked.verb, asked.method()) {
            ("POST", "tools/call") => {
                let question =
                    json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {} });
                let answer =
                    json!({ "jsonrpc": "2.0", "id": asked.message["id"], "result": { "content": [] } });
                let question = if asked.message["params"]["name"] == "asks" {
                    event("1", question)
                } else {
                    String::new()
                };
                let pause = asked.message["params"]["name"] == "waits";
                let texts = if pause { vec![question] } else { vec![question, event("2", answer)] };
                events(&texts, pause, Arc::default())
            }
            ("POST", _) => status(202, ""),
            _ => status(405, ""),
        })
    })
    .await;
    let connection = connect(&web).await;
    let (mine, others) = (Arc::new(Diary::default()), Arc::new(Diary::default()));
    let with = |desk: &Arc<Diary>| RequestOptions { desk: Some(desk.clone()), ..RequestOptions::default() };
    let other = tokio::spawn({
        let (connection, options) = (connection.clone(), with(&others));
        async move { connection.request("tools/call", object(json!({ "name": "waits" })), &options).await }
    });
    connection
        .request("tools/call", object(json!({ "name": "asks" })), &with(&mine))
        .await
        .expect("an answer");
    sleep(Duration::from_millis(50)).await;
    assert_eq!(*mine.0.lock().expect("no poison"), ["elicitation/create"]);
    assert!(others.0.lock().expect("no poison").is_empty());
    other.abort();
}

#[tokio::test]
async fn a_dropped_request_closes_its_stream_and_tells_older_servers() {
    for is_modern in [true, false] {
        let held = Arc::new(());
        let kept = held.clone();
        let web = serve(move |asked| {
            let first_words = if is_modern { as_today(asked) } else { as_before(asked, "s") };
            first_words.unwrap_or_else(|| match &*asked.verb {
                "POST" => events(&[": working\n\n".to_owned()], true, kept.clone()),
                _ => status(405, ""),
            })
        })
        .await;
        let connection = connect(&web).await;
        let dropped = timeout(Duration::from_millis(200), call(&connection, json!({}))).await;
        assert!(dropped.is_err());
        for _ in 0..200 {
            if Arc::strong_count(&held) == 2 {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(Arc::strong_count(&held), 2, "modern: {is_modern}: the stream is still open");
        sleep(Duration::from_millis(100)).await;
        assert_eq!(web.count("POST", "notifications/cancelled"), usize::from(!is_modern));
    }
}

const MARKED: &str = "x-mcp-header";

#[tokio::test]
async fn a_modern_server_reads_in_the_headers_what_its_tools_mark() {
    let web = serve(|asked| {
        as_today(asked).unwrap_or_else(|| match asked.method() {
            "tools/list" => {
                let schema = |mark: &str| json!({ "type": "object", "properties": { "region": { "type": "string", MARKED: mark } } });
                result(asked, json!({ "tools": [{ "name": "t", "inputSchema": schema("Region") }, { "name": "bad", "inputSchema": schema("no good") }] }))
            }
            // Whoever has not seen the list cannot know it.
            "tools/call" if asked.header("mcp-param-region") != "eu" => {
                let mut told = json_answer(json!({ "jsonrpc": "2.0", "id": asked.message["id"], "error": { "code": -32020, "message": "headers" } }));
                *told.status_mut() = axum::http::StatusCode::BAD_REQUEST;
                told
            }
            _ => result(asked, json!({ "content": [] })),
        })
    })
    .await;
    let connection = connect(&web).await;
    assert_eq!(connection.about().era, Era::Modern);
    call(&connection, json!({ "region": "eu" })).await.expect("an answer after a look at the list");
    let last = web.asked().into_iter().next_back().expect("the call");
    let said = ["mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"]
        .map(|name| last.header(name).to_owned());
    assert_eq!(said, ["tools/call", "t", "2026-07-28", ""]);
    let listing = connection.list("tools/list", "tools").await.expect("tools");
    assert_eq!(listing.entries.len(), 1);
    assert!(listing.remarks[0].starts_with("`bad` is left out: "), "{:?}", listing.remarks);
}

#[tokio::test]
async fn what_is_sent_to_one_server_is_never_sent_to_another() {
    let elsewhere = serve(|_| status(200, "{}")).await;
    let target = elsewhere.url("/steal");
    let web = serve(move |_| {
        let mut told = status(307, "");
        told.headers_mut().insert("location", target.parse().expect("a header"));
        told
    })
    .await;
    let failed = refusal(&at(web.url("/mcp"))).await;
    assert!(failed.message.contains("HTTP 307"), "{failed}");
    assert!(elsewhere.asked().is_empty(), "{:?}", elsewhere.asked());
}

#[tokio::test]
async fn a_redirect_within_the_same_server_is_followed() {
    let web = serve(|asked| {
        if asked.path == "/mcp" {
            let mut told = status(308, "");
            told.headers_mut().insert("location", "/mcp/".parse().expect("a header"));
            return told;
        }
        as_today(asked).unwrap_or_else(|| result(asked, json!({ "content": [] })))
    })
    .await;
    call(&connect(&web).await, json!({})).await.expect("an answer");
}

#[tokio::test]
async fn failures_are_told_in_words() {
    let cases: [(u16, &str, &str); 3] = [
        (
            500,
            "<h1>oops</h1>",
            "no connection to web: the server answered with HTTP 500 Internal Server Error: <h1>oops</h1>",
        ),
        (
            200,
            "<html>",
            "no connection to web: the answer is not JSON: expected value at line 1 column 1 (content type ``)",
        ),
        (403, "go away", "no connection to web: the server answered with HTTP 403 Forbidden: go away"),
    ];
    for (code, words, expected) in cases {
        let web = serve(move |_| status(code, words)).await;
        assert_eq!(refusal(&at(web.url("/"))).await.message, expected);
    }
    let nobody = at("http://127.0.0.1:9/mcp".to_owned());
    assert!(refusal(&nobody).await.message.contains("onnect"), "{}", refusal(&nobody).await);
    let wrong = at("ftp://x/".to_owned());
    assert_eq!(
        refusal(&wrong).await.message,
        "no connection to web: `ftp://x/` must begin with http:// or https://"
    );
}

#[tokio::test]
async fn a_server_that_wants_a_token_says_so() {
    let web = serve(|_| {
        let mut told = status(401, "");
        let challenge = "Bearer resource_metadata=\"http://x/meta\"";
        told.headers_mut().insert("www-authenticate", challenge.parse().expect("a header"));
        told
    })
    .await;
    let failed = refusal(&at(web.url("/mcp"))).await;
    assert_eq!(failed.wants_authorization.as_deref(), Some("Bearer resource_metadata=\"http://x/meta\""));
}

#[tokio::test]
async fn an_answer_that_is_too_large_costs_only_itself() {
    let web = serve(|asked| {
        let long = "x".repeat(5000);
        as_today(asked).unwrap_or_else(|| match asked.message["params"]["arguments"]["how"].as_str() {
            Some("json") => result(asked, json!({ "content": long })),
            Some("events") => events(
                &[event("1", json!({ "id": asked.message["id"], "result": long }))],
                true,
                Arc::default(),
            ),
            _ => result(asked, json!({ "content": [] })),
        })
    })
    .await;
    let mut server = at(web.url("/"));
    server.limits.message = 2000;
    let connection = Connection::open(&server, None, Arc::new(NobodysDesk)).await.expect("a connection");
    for how in ["json", "events"] {
        let refused = call(&connection, json!({ "how": how })).await.expect_err("too large");
        assert_eq!(refused.code, Refused::UNREADABLE);
        assert!(refused.message.contains("longer than 2000 bytes"), "{refused}");
    }
    call(&connection, json!({})).await.expect("an answer");
}

#[tokio::test]
async fn the_transport_of_before_does_not_lead_elsewhere() {
    for (endpoint, is_home) in
        [("http://127.0.0.1:9/steal", false), ("//evil.example/", false), ("/message?s=1", true)]
    {
        let web = serve(move |asked| match &*asked.verb {
            "GET" => events(&[format!("event: endpoint\ndata: {endpoint}\n\n")], true, Arc::default()),
            _ => status(500, "seen"),
        })
        .await;
        let mut server = at(web.url("/sse"));
        server.transport = Transport::Sse { url: web.url("/sse"), headers: BTreeMap::new() };
        let failed = refusal(&server).await.message;
        assert_eq!(failed.contains("seen"), is_home, "{endpoint}: {failed}");
        assert_eq!(failed.contains("wants messages to go elsewhere"), !is_home, "{endpoint}: {failed}");
    }
}

#[tokio::test]
async fn a_websocket_carries_a_message_a_frame() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its number");
    let served = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a client");
        let mut socket = tokio_tungstenite::accept_async(stream).await.expect("a handshake");
        while let Some(Ok(message)) = socket.next().await {
            let Ok(text) = message.to_text() else { break };
            let Ok(asked) = serde_json::from_str::<Value>(text) else { break };
            let result = match asked["method"].as_str() {
                Some("server/discover") => json!({ "supportedVersions": ["2026-07-28"] }),
                Some("tools/call") if asked["params"]["arguments"]["break"] == true => {
                    let broken = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":}}", asked["id"]);
                    socket.send(Message::text(broken)).await.expect("sent");
                    continue;
                }
                Some("tools/call") => json!({ "content": "framed" }),
                _ => continue,
            };
            let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
            socket.send(Message::text(answer.to_string())).await.expect("sent");
        }
    });
    let transport = Transport::WebSocket { url: format!("ws://{address}/"), headers: BTreeMap::new() };
    let connection = Connection::open(&Server::new("ws", transport), None, Arc::new(NobodysDesk))
        .await
        .expect("a connection");
    assert_eq!(call(&connection, json!({})).await.expect("an answer")["content"][0]["text"], "framed");
    let broken = timeout(Duration::from_secs(10), call(&connection, json!({ "break": true }))).await;
    assert_eq!(broken.expect("an end").expect_err("nothing to read").code, Refused::UNREADABLE);
    served.abort();
    let why = timeout(Duration::from_secs(5), connection.closed()).await.expect("an end");
    assert!(why.contains("socket"), "{why}");
}
