//! A server in this process, written as a function from a message to what is sent back.

use std::sync::Arc;

use haft_mcp::client::{Bridge, Limits, Server, Transport};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream},
    sync::mpsc,
};

/// Where a scripted server writes.
#[derive(Clone)]
pub(crate) struct Out(mpsc::UnboundedSender<String>);

impl Out {
    /// A message.
    pub(crate) fn say(&self, message: Value) {
        self.raw(&format!("{message}\n"));
    }

    /// The answer to a request.
    pub(crate) fn answer(&self, request: &Value, result: Value) {
        self.say(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// A refusal of a request.
    pub(crate) fn refuse(&self, request: &Value, code: i64, message: &str) {
        self.say(
            json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": code, "message": message } }),
        );
    }

    /// Any bytes.
    pub(crate) fn raw(&self, text: &str) {
        // A server that writes when nobody reads any more is not what is tested.
        let _ = self.0.send(text.to_owned());
    }
}

/// A server that does with each message what `script` says. A script that returns false ends it.
pub(crate) fn server(script: impl Fn(Value, &Out) -> bool + Send + Sync + 'static) -> Server {
    let script = Arc::new(script);
    let bridge = Bridge::new(move || {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(serve(theirs, script.clone()));
        ours
    });
    let mut server = Server::new("scripted", Transport::Bridge(bridge));
    server.limits = Limits { start: std::time::Duration::from_secs(10), ..Limits::default() };
    server
}

async fn serve(pipe: DuplexStream, script: Arc<impl Fn(Value, &Out) -> bool + Send + Sync + 'static>) {
    let (read, mut write) = tokio::io::split(pipe);
    let (tx, mut rx) = mpsc::unbounded_channel::<String>();
    let out = Out(tx);
    let mut lines = BufReader::new(read).lines();
    loop {
        tokio::select! {
            biased;
            Some(text) = rx.recv() => {
                if write.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { return };
                let message = serde_json::from_str(&line).expect("a message of ours is JSON");
                if !script(message, &out) {
                    return;
                }
            }
        }
    }
}

/// A legacy server's answer to the first words. Says whether the message was one of them.
pub(crate) fn greets_as_before(message: &Value, out: &Out) -> bool {
    match message["method"].as_str() {
        Some("server/discover") => out.refuse(message, -32601, "what is that"),
        Some("initialize") => {
            let said = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "s", "version": "1" } });
            out.answer(message, said);
        }
        Some("notifications/initialized") => {}
        _ => return false,
    }
    true
}

/// A modern server's answer to the first words. Says whether the message was one of them.
pub(crate) fn greets_as_today(message: &Value, out: &Out) -> bool {
    if message["method"] != "server/discover" {
        return false;
    }
    let meta = json!({ "io.modelcontextprotocol/serverInfo": { "name": "m", "version": "2" } });
    let said = json!({ "resultType": "complete", "supportedVersions": ["2025-11-25", "2026-07-28"], "capabilities": { "tools": {} }, "instructions": "be kind", "_meta": meta });
    out.answer(message, said);
    true
}
