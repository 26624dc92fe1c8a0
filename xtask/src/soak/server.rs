//! A server that can be killed, and its book.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    process::{self, ExitCode},
};

use anyhow::Result;
use serde_json::{Value, json};

/// Where servers live: a workspace that names them, their books and who they are now.
pub(super) struct Field {
    root: PathBuf,
    servers: usize,
}

impl Field {
    pub(super) fn new(root: &Path, servers: usize) -> Result<Field> {
        let field = Field { root: root.to_owned(), servers };
        for folder in ["ws/.git", "books", "alive", "home"] {
            fs::create_dir_all(root.join(folder))?;
        }
        let this = std::env::current_exe()?;
        let entry = |index: usize| {
            let args = json!(["soak-server", field.name(index), root]);
            (field.name(index), json!({ "command": this, "args": args }))
        };
        let listed: serde_json::Map<String, Value> = (0..servers).map(entry).collect();
        fs::write(root.join("ws/.mcp.json"), json!({ "mcpServers": listed }).to_string())?;
        Ok(field)
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.join("ws")
    }

    pub(super) fn name(&self, index: usize) -> String {
        format!("s{index:02}")
    }

    /// Kills one of those that are alive; whether there was one.
    pub(super) fn kill_one(&self) -> bool {
        let name = self.name(fastrand::usize(..self.servers));
        let path = self.root.join("alive").join(name);
        let Some(pid) = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<i32>().ok())
        else {
            return false;
        };
        // It may be gone already, and its number somebody else's: only a server of ours is killed.
        let ours =
            fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("soak-server"));
        let _ = fs::remove_file(path);
        ours && rustix::process::Pid::from_raw(pid)
            .is_some_and(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok())
    }

    /// What all servers carried out, a token for each time.
    pub(super) fn done(&self) -> Result<Vec<String>> {
        let mut done = Vec::new();
        for index in 0..self.servers {
            let book = fs::read_to_string(self.root.join("books").join(self.name(index)));
            done.extend(book.unwrap_or_default().lines().map(str::to_owned));
        }
        Ok(done)
    }
}

/// The server's own process: `soak-server NAME ROOT`.
pub(crate) fn serve(name: &str, root: &str) -> Result<ExitCode> {
    let root = Path::new(root);
    fs::write(root.join("alive").join(name), process::id().to_string())?;
    let mut book = OpenOptions::new().create(true).append(true).open(root.join("books").join(name))?;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        if let Some(id) = message.get("id") {
            let answer = answer(&message, &mut book)?;
            writeln!(out, "{}", json!({ "jsonrpc": "2.0", "id": id }).merged(answer))?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

trait Merged {
    fn merged(self, other: Value) -> Value;
}

impl Merged for Value {
    fn merged(mut self, other: Value) -> Value {
        if let (Value::Object(one), Value::Object(other)) = (&mut self, other) {
            one.extend(other);
        }
        self
    }
}

fn answer(message: &Value, book: &mut File) -> io::Result<Value> {
    Ok(match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({ "result": {
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "soak", "version": "1" },
        } }),
        "ping" => json!({ "result": {} }),
        "tools/list" => json!({ "result": { "tools": [{
            "name": "keep",
            "description": "Writes a token into the server's book and gives it back.",
            "inputSchema": { "type": "object", "properties": { "token": { "type": "string" } }, "required": ["token"] },
        }] } }),
        "tools/call" => {
            let token = message["params"]["arguments"]["token"].as_str().unwrap_or_default();
            // One write, so that a kill leaves a whole line or none.
            book.write_all(format!("{token}\n").as_bytes())?;
            json!({ "result": { "content": [{ "type": "text", "text": format!("kept {token}") }] } })
        }
        _ => json!({ "error": { "code": -32601, "message": "no such method" } }),
    })
}
