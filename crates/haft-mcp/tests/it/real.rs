//! Real servers from the registries. They are found in the kit (`cargo xtask kit` installs it); what is missing is skipped
//! with a reason.

use std::{
    collections::BTreeMap,
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_mcp::client::{
    Connection, Desk, Era, News, NobodysDesk, Refused, RequestOptions, Server, Transport, Wish,
};
use haft_shell::run::{Launch, Process};
use haft_tool::BoxFuture;
use serde_json::{Map, Value, json};

use crate::quirks::{beside, kit, node};

/// A file of the kit, or a printed reason to do without.
#[expect(clippy::print_stdout, reason = "whoever runs the tests reads why some did nothing")]
fn of_the_kit(file: &str) -> Option<PathBuf> {
    let found = kit()?.join(file);
    if !found.exists() {
        println!("skipped: {} is not there; `cargo xtask kit` installs it", found.display());
        return None;
    }
    Some(found)
}

const EVERYTHING: &str = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";

fn stdio(command: &Path, args: &[&str]) -> Server {
    let transport = Transport::Stdio {
        command: command.display().to_string(),
        args: args.iter().map(ToString::to_string).collect(),
        env: BTreeMap::new(),
        cwd: std::env::temp_dir(),
    };
    Server::new("real", transport)
}

/// A server process that listens on a port of its own. It ends when this is dropped.
struct Listening {
    address: SocketAddr,
    _process: Process,
}

/// It is told its port by the variable `PORT`, and by the word `PORT` among its arguments.
fn listening(program: &Path, args: &[&str]) -> Listening {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its number");
    let port = free.port().to_string();
    let mut launch = Launch::new(program, std::env::temp_dir());
    launch.args =
        args.iter().map(|arg| if *arg == "PORT" { port.as_str() } else { arg }).map(Into::into).collect();
    launch.env = std::env::vars_os().collect();
    launch.set = vec![("PORT".into(), port.into())];
    let process = launch.start().expect("a process");
    for _ in 0..600 {
        if TcpStream::connect(free).is_ok() {
            return Listening { address: free, _process: process };
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{} does not listen: {:?}", program.display(), process.with_output(|output| output.text()));
}

async fn open(server: &Server, era: Option<Era>) -> Connection {
    Connection::open(server, era, Arc::new(NobodysDesk)).await.expect("a connection")
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("an object, not {other}"),
    }
}

/// Says what it hears of progress, and accepts whatever it is asked.
#[derive(Default)]
struct Listener(Mutex<Vec<String>>);

impl Desk for Listener {
    fn capabilities(&self) -> Map<String, Value> {
        object(json!({ "elicitation": {}, "sampling": {}, "roots": {} }))
    }
    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        self.0.lock().expect("no poison").push(wish.method.clone());
        Box::pin(async move {
            Ok(match &*wish.method {
                "roots/list" => json!({ "roots": [] }),
                "sampling/createMessage" => {
                    json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "sampled words" } })
                }
                _ => json!({ "action": "decline" }),
            })
        })
    }
    fn hear(&self, news: News) {
        self.0.lock().expect("no poison").push(news.method);
    }
}

/// Everything that the reference server has, over whichever transport.
async fn check_everything(server: &Server) {
    let desk = Arc::new(Listener::default());
    let connection = Connection::open(server, None, desk.clone()).await.expect("a connection");
    assert_eq!(connection.about().era, Era::Legacy);
    let tools = connection.list("tools/list", "tools").await.expect("tools");
    assert!(tools.entries.len() >= 10, "{}", tools.entries.len());
    assert!(!connection.list("prompts/list", "prompts").await.expect("prompts").entries.is_empty());
    assert!(!connection.list("resources/list", "resources").await.expect("resources").entries.is_empty());
    let options = RequestOptions { desk: Some(desk.clone()), ..RequestOptions::default() };
    let echo = object(json!({ "name": "echo", "arguments": { "message": "hi" } }));
    let answer = connection.request("tools/call", echo, &options).await.expect("an answer");
    assert_eq!(answer["content"][0]["text"], "Echo: hi");
    let long = object(
        json!({ "name": "trigger-long-running-operation", "arguments": { "duration": 1, "steps": 3 } }),
    );
    connection.request("tools/call", long, &options).await.expect("an answer");
    let heard = desk.0.lock().expect("no poison").clone();
    assert_eq!(heard.iter().filter(|method| *method == "notifications/progress").count(), 3, "{heard:?}");
    let sample = object(json!({ "name": "trigger-sampling-request", "arguments": { "prompt": "p" } }));
    let answer = connection.request("tools/call", sample, &options).await.expect("an answer");
    assert!(answer["content"][0]["text"].to_string().contains("sampled words"), "{answer}");
    let missing = connection.request("prompts/get", object(json!({ "name": "nothing" })), &options).await;
    assert!(missing.expect_err("no such prompt").code < 0);
    connection.close().await;
    assert!(connection.is_closed());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_server_over_stdio() {
    let (Some(script), Some(node)) = (of_the_kit(EVERYTHING), node()) else { return };
    check_everything(&stdio(&node, &[&script.display().to_string(), "stdio"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_server_over_streamable_http() {
    let (Some(script), Some(node)) = (of_the_kit(EVERYTHING), node()) else { return };
    let running = listening(&node, &[&script.display().to_string(), "streamableHttp"]);
    let url = format!("http://{}/mcp", running.address);
    check_everything(&Server::new("real", Transport::Http { url, headers: BTreeMap::new() })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_server_over_sse_is_found_by_its_plain_address_too() {
    let (Some(script), Some(node)) = (of_the_kit(EVERYTHING), node()) else { return };
    let running = listening(&node, &[&script.display().to_string(), "sse"]);
    let url = format!("http://{}/sse", running.address);
    check_everything(&Server::new("real", Transport::Sse { url: url.clone(), headers: BTreeMap::new() }))
        .await;
    let connection =
        open(&Server::new("real", Transport::Http { url, headers: BTreeMap::new() }), None).await;
    assert!(connection.list("tools/list", "tools").await.expect("tools").entries.len() >= 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_both_eras_is_spoken_to_in_the_one_that_is_wanted() {
    let Some(time) = of_the_kit("python/bin/mcp-server-time") else { return };
    for (wanted, expected) in
        [(None, Era::Modern), (Some(Era::Legacy), Era::Legacy), (Some(Era::Modern), Era::Modern)]
    {
        let connection = open(&stdio(&time, &[]), wanted).await;
        assert_eq!(connection.about().era, expected, "wanted {wanted:?}");
        let tools = connection.list("tools/list", "tools").await.expect("tools");
        assert_eq!(tools.entries.len(), 2, "{tools:?}");
        let call =
            object(json!({ "name": "get_current_time", "arguments": { "timezone": "Europe/Berlin" } }));
        let answer =
            connection.request("tools/call", call, &RequestOptions::default()).await.expect("an answer");
        assert!(answer["content"][0]["text"].to_string().contains("Europe/Berlin"), "{answer}");
        connection.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_a_websocket() {
    let Some(python) = of_the_kit("python-v1/bin/python") else { return };
    let Some(script) = beside("tools/mcp/ws_server.py") else {
        println!("skipped: needs ../shared/tools/mcp/ws_server.py");
        return;
    };
    // The script has a port of its own; here it gets another.
    let moved = "import runpy, sys, uvicorn; run = uvicorn.run; \
        uvicorn.run = lambda app, **more: run(app, **{**more, 'port': int(sys.argv[1])}); runpy.run_path(sys.argv[2])";
    let running = listening(&python, &["-c", moved, "PORT", &script.display().to_string()]);
    let url = format!("ws://{}/ws", running.address);
    let connection =
        open(&Server::new("real", Transport::WebSocket { url, headers: BTreeMap::new() }), None).await;
    assert_eq!(connection.about().era, Era::Legacy);
    assert!(!connection.list("tools/list", "tools").await.expect("tools").entries.is_empty());
    connection.close().await;
}
