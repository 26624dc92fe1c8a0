//! Clients by HTTP.

use std::time::Duration;

use haft_mcp::server::{Badge, HttpOptions, Token};
use haft_testkit::{Probe, sleeping};
use haft_tool::{Effects, Progress, Reply, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::kit::{House, Open, text};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A door by HTTP.
pub(super) struct Served {
    pub(super) open: Open,
    port: u16,
}

pub(super) async fn serve(house: House, options: HttpOptions) -> Served {
    let open = house.open();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let door = open.door.clone();
    tokio::spawn(async move { door.listen(listener, options).await });
    Served { open, port }
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    body: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|err| panic!("{err}: {self:?}"))
    }

    /// The messages of a stream.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&prefix))
    }
}

impl Served {
    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let mut head =
            format!("{method} {path} HTTP/1.1\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str("host: localhost\r\n");
        }
        if method == "POST" {
            head.push_str(
                "content-type: application/json\r\naccept: application/json, text/event-stream\r\n",
            );
        }
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        stream
    }

    pub(super) async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut stream = self.send(method, path, headers, body).await;
        let mut bytes = Vec::new();
        timeout(Duration::from_secs(20), stream.read_to_end(&mut bytes)).await.expect("an end").unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body =
            if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_owned() };
        Answer { status, head: head.to_owned(), body }
    }

    pub(super) async fn post(&self, headers: &[(&str, &str)], message: Value) -> Answer {
        self.request("POST", "/mcp", headers, &message.to_string()).await
    }

    /// A request of the new era, with the headers that it needs.
    async fn modern(&self, method: &str, params: Value) -> Answer {
        let (message, name) = (modern(method, params), "Steps");
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        if method == "tools/call" {
            headers.push(("mcp-name", name));
        }
        self.post(&headers, message).await
    }
}

pub(super) fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A token of whomever the door is for.
pub(super) fn badge(token: &str) -> Badge {
    Badge::new(Token::new(token).unwrap())
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole.push_str(&rest[..size]);
        body = rest[size..].strip_prefix("\r\n").unwrap_or_default();
    }
    whole
}

fn steps() -> House {
    let steps = tool("Steps").effects(|_: &Nothing| Effects::none()).call(|_: Nothing, cx| async move {
        cx.progress(Progress::of("one", 1, Some(2)));
        Ok(Reply::text("done"))
    });
    House::new().building(|builder| builder.tool(steps))
}

pub(super) fn hello() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
}

#[tokio::test]
async fn only_who_has_the_token_and_comes_from_here_is_let_in() {
    let options = HttpOptions { badges: Some(vec![badge("secret")]), ..HttpOptions::default() };
    let served = serve(steps(), options).await;
    let token = ("authorization", "Bearer secret");
    for (headers, status) in [
        (vec![], 401),
        (vec![("authorization", "Bearer other")], 401),
        (vec![token], 200),
        (vec![token, ("host", "evil.example")], 403),
        (vec![token, ("origin", "http://evil.example")], 403),
        (vec![token, ("origin", "http://localhost:5173")], 200),
    ] {
        assert_eq!(served.post(&headers, hello()).await.status, status, "{headers:?}");
        let listening = served.request("GET", "/mcp", &headers, "").await;
        assert_eq!(listening.status, if status == 200 { 405 } else { status }, "{headers:?}");
    }
}

#[tokio::test]
async fn a_client_of_the_old_era_has_a_session_until_it_leaves() {
    let served = serve(steps(), HttpOptions::default()).await;
    let greeted = served.post(&[], hello()).await;
    let id = greeted.header("mcp-session-id").expect("a session").to_owned();
    assert_eq!(greeted.json()["result"]["serverInfo"]["name"], "haft");
    let session = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(served.post(&session, note).await.status, 202);
    let ping = || json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    assert_eq!(served.post(&session, ping()).await.json()["result"], json!({}));
    assert_eq!(served.post(&[], ping()).await.status, 400, "without a session");
    assert_eq!(served.post(&[("mcp-session-id", "other")], ping()).await.status, 404);
    assert_eq!(served.post(&[session[0], ("mcp-protocol-version", "1999-01-01")], ping()).await.status, 400);
    assert_eq!(served.request("DELETE", "/mcp", &session, "").await.status, 200);
    assert_eq!(served.post(&session, ping()).await.status, 404);
}

#[tokio::test]
async fn what_comes_before_an_answer_makes_it_a_stream() {
    let served = serve(steps(), HttpOptions::default()).await;
    let call = json!({ "name": "Steps", "arguments": {} });
    let plain = served.modern("tools/call", call.clone()).await;
    assert_eq!((plain.header("content-type"), plain.status), (Some("application/json"), 200));
    assert_eq!(text(&plain.json()["result"]), "done");
    let mut watched = call;
    watched["_meta"]["progressToken"] = 5.into();
    let stream = served.modern("tools/call", watched).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    let events = stream.events();
    assert_eq!((&events[0]["params"]["progressToken"], events.len()), (&json!(5), 2));
    assert_eq!(text(&events[1]["result"]), "done");
}

#[tokio::test]
async fn in_the_new_era_the_status_says_what_kind_of_refusal_it_is() {
    let served = serve(steps(), HttpOptions::default()).await;
    let version = ("mcp-protocol-version", "2026-07-28");
    let unknown = served.modern("no/such", json!({})).await;
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!(-32601)));
    let bare = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" });
    let bare = served.post(&[version, ("mcp-method", "tools/list")], bare).await;
    assert_eq!(
        (bare.status, &bare.json()["error"]["code"], &bare.json()["id"]),
        (400, &json!(-32602), &json!(7))
    );
    for headers in
        [vec![version], vec![version, ("mcp-method", "prompts/list")], vec![("mcp-method", "tools/list")]]
    {
        let mismatch = served.post(&headers, modern("tools/list", json!({}))).await;
        assert_eq!(
            (mismatch.status, &mismatch.json()["error"]["code"]),
            (400, &json!(-32020)),
            "{headers:?}"
        );
    }
    let mut odd = modern("tools/list", json!({}));
    odd["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "v9".into();
    let odd = served.post(&[("mcp-protocol-version", "v9"), ("mcp-method", "tools/list")], odd).await;
    assert_eq!((odd.status, &odd.json()["error"]["code"]), (400, &json!(-32022)));
}

#[tokio::test]
async fn what_is_no_message_is_refused_before_anything_else() {
    let served = serve(steps(), HttpOptions::default()).await;
    assert_eq!(served.request("POST", "/mcp", &[], "{").await.status, 400);
    assert_eq!(served.request("PUT", "/mcp", &[], "").await.status, 405);
    assert_eq!(served.request("GET", "/other", &[], "").await.status, 404);
    assert_eq!(served.request("GET", "/sse", &[], "").await.status, 404, "it was not asked for");
}

#[tokio::test]
async fn in_the_new_era_a_closed_stream_ends_the_call() {
    let probe = Probe::default();
    let served =
        serve(House::new().building(|builder| builder.tool(sleeping(&probe))), HttpOptions::default()).await;
    let message = modern("tools/call", json!({ "name": "Sleep", "arguments": { "ms": 300 } }));
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "Sleep")];
    let stream = served.send("POST", "/mcp", &headers, &message.to_string()).await;
    while probe.notes().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(stream);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(probe.notes().len(), 1, "it began and did not end: {:?}", probe.notes());
    served.open.door.close().await;
}

#[tokio::test]
async fn in_the_old_era_a_client_can_come_back_for_what_it_missed() {
    let probe = Probe::default();
    let house = steps().building(|builder| builder.tool(sleeping(&probe)));
    let served = serve(house, HttpOptions::default()).await;
    let greeted = served.post(&[], hello()).await;
    let id = greeted.header("mcp-session-id").unwrap().to_owned();
    let session = [("mcp-session-id", id.as_str())];
    let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "Steps", "arguments": {}, "_meta": { "progressToken": 1 } } });
    let stream = served.post(&session, call).await;
    let first = stream.body.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id").to_owned();
    let again = served.request("GET", "/mcp", &[session[0], ("last-event-id", &first)], "").await;
    assert_eq!(again.events(), stream.events()[1..], "the answer, again");
    let nothing = served.request("GET", "/mcp", &[session[0], ("last-event-id", "99-1")], "").await;
    assert_eq!((nothing.status, nothing.body.as_str()), (200, ""));
}

#[tokio::test]
async fn the_older_transport_is_there_if_it_is_asked_for() {
    let served = serve(steps(), HttpOptions { sse: true, ..HttpOptions::default() }).await;
    let mut events = served.send("GET", "/sse", &[], "").await;
    let mut seen = String::new();
    let mut read_until = async |words: &str| {
        while !seen.contains(words) {
            let mut bytes = [0; 4096];
            let count = timeout(Duration::from_secs(20), events.read(&mut bytes)).await.unwrap().unwrap();
            assert!(count > 0, "it ended: {seen}");
            seen.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
        }
        seen.clone()
    };
    let greeting = read_until("sessionId=").await;
    let endpoint = greeting.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned();
    assert_eq!(served.request("POST", &endpoint, &[], &hello().to_string()).await.status, 202);
    assert!(read_until("\"serverInfo\"").await.contains("event: message"));
    assert_eq!(served.request("POST", "/message?sessionId=x", &[], &hello().to_string()).await.status, 404);
}
