//! A door, and a client that writes line by line.

use std::{sync::Arc, time::Duration};

use haft_engine::{
    Engine, EngineBuilder, SessionOptions,
    policy::{Origin, Rules, Written},
    result::FileStore,
};
use haft_mcp::{
    client::Server,
    server::{Door, DoorOptions, Elicitor, RequestObserver},
    upstream::{Options, Upstreams},
};
use haft_testkit::Workspace;
use haft_tool::Caller;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf},
    time::timeout,
};

/// What is put together for a door.
pub(crate) struct House {
    workspace: Workspace,
    builder: EngineBuilder,
    servers: Vec<Server>,
    rules: Rules,
    only: Option<String>,
    roles: Vec<String>,
    observer: Option<Arc<dyn RequestObserver>>,
}

impl House {
    pub(crate) fn new() -> House {
        let workspace = Workspace::new("");
        let results = FileStore::new(workspace.root().join("results"));
        let builder = Engine::builder().asker(Elicitor).results(results).tool(haft_testkit::sized());
        let (servers, rules) = (Vec::new(), Rules::default());
        House { workspace, builder, servers, rules, only: None, roles: Vec::new(), observer: None }
    }

    pub(crate) fn building(mut self, change: impl FnOnce(EngineBuilder) -> EngineBuilder) -> House {
        self.builder = change(self.builder);
        self
    }

    pub(crate) fn server(mut self, name: &str, server: Server) -> House {
        self.servers.push(Server { name: name.to_owned(), ..server });
        self
    }

    pub(crate) fn observed(mut self, observer: impl RequestObserver + 'static) -> House {
        self.observer = Some(Arc::new(observer));
        self
    }

    pub(crate) fn only(mut self, name: &str) -> House {
        self.only = Some(name.to_owned());
        self
    }

    pub(crate) fn allow(mut self, rule: &str) -> House {
        self.rules.allow.push(Written::new(rule, Origin::Flag));
        self
    }

    pub(crate) fn deny(mut self, rule: &str) -> House {
        self.rules.deny.push(Written::new(rule, Origin::Flag));
        self
    }

    /// For those who have the role.
    pub(crate) fn allow_to(mut self, role: &str, rule: &str) -> House {
        let rule = Written::new(rule, Origin::Flag);
        self.rules.allow.push(Written { for_roles: vec![role.to_owned()], ..rule });
        self
    }

    /// For those who do not have the role.
    pub(crate) fn deny_except(mut self, role: &str, rule: &str) -> House {
        let rule = Written::new(rule, Origin::Flag);
        self.rules.deny.push(Written { except_roles: vec![role.to_owned()], ..rule });
        self
    }

    /// For a client whose caller has this role.
    pub(crate) fn caller_role(mut self, role: &str) -> House {
        self.roles.push(role.to_owned());
        self
    }

    pub(crate) fn open(self) -> Open {
        let upstreams = Upstreams::new(self.servers, Options::default());
        let builder = self.builder.tools(upstreams.resource_tools());
        let builder = upstreams.sources().into_iter().fold(builder, EngineBuilder::source);
        let engine = builder.build().expect("an engine");
        let caller = Caller { roles: self.roles, ..Caller::default() };
        let session =
            SessionOptions { rules: self.rules, caller, ..SessionOptions::at(self.workspace.root()) };
        let (only, version, upstreams) = (self.only, "1.2.3".to_owned(), Some(upstreams));
        let observer = self.observer;
        let door = Door::new(DoorOptions { engine, session, upstreams, only, version, observer });
        Open { door, _workspace: Arc::new(self.workspace) }
    }
}

/// A door that is open.
pub(crate) struct Open {
    pub(crate) door: Door,
    _workspace: Arc<Workspace>,
}

impl Open {
    /// Somebody at the door, who has said nothing yet.
    pub(crate) fn client(&self) -> Client {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (door, (read, write)) = (self.door.clone(), tokio::io::split(theirs));
        tokio::spawn(async move { door.serve(read, write).await });
        let (read, write) = tokio::io::split(ours);
        Client { read: BufReader::new(read).lines(), write, next: 0, heard: Vec::new(), meta: json!({}) }
    }

    /// A client of the old era that can do this.
    pub(crate) async fn legacy(&self, capabilities: Value) -> Client {
        let mut client = self.client();
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } });
        client.ask("initialize", hello).await.expect("a greeting");
        client.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    /// A client of the new era that can do this.
    pub(crate) fn modern(&self, capabilities: Value) -> Client {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        Client { meta, ..self.client() }
    }
}

/// A client.
pub(crate) struct Client {
    read: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    next: i64,
    /// What came that was no answer to what was asked.
    pub(crate) heard: Vec<Value>,
    /// What each request says of the client.
    meta: Value,
}

impl Client {
    pub(crate) async fn say(&mut self, message: Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.expect("somebody reads");
    }

    /// The next message, whatever it is.
    pub(crate) async fn hear(&mut self) -> Value {
        let line = timeout(Duration::from_secs(20), self.read.next_line()).await;
        let line = line.expect("an answer in time").expect("a line").expect("somebody there");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Sends a request; gives its id.
    pub(crate) async fn send(&mut self, method: &str, mut params: Value) -> i64 {
        self.next += 1;
        for (key, value) in self.meta.as_object().expect("an object") {
            params["_meta"][key] = value.clone();
        }
        self.say(json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params })).await;
        self.next
    }

    /// The answer to a request. What comes before it is kept in `heard`.
    pub(crate) async fn answer(&mut self, id: i64) -> Result<Value, Value> {
        loop {
            let message = self.hear().await;
            if message["id"] != id || message.get("method").is_some() {
                self.heard.push(message);
                continue;
            }
            return match message.get("error") {
                Some(error) => Err(error.clone()),
                None => Ok(message["result"].clone()),
            };
        }
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// Calls a tool.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// The names that are listed.
    pub(crate) async fn names(&mut self, method: &str, key: &str) -> Vec<String> {
        let listed = self.ask(method, json!({})).await.expect("a list");
        let listed = listed[key].as_array().expect("entries").clone();
        listed.iter().map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
    }
}

/// The first text of a result.
#[track_caller]
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}
