//! `haft mcp`, as a client sees it: lines of JSON, many requests at once.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};

use crate::haft::{Haft, bytes_in};

/// How long an answer may take: longer than any pause that haft makes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A variable by which all that was started can be found again.
const MARK: &str = "HAFT_SOAK_MARK";

type Waiting = Arc<Mutex<HashMap<u64, Sender<Value>>>>;

pub(super) struct Gateway {
    child: Child,
    input: Mutex<Option<ChildStdin>>,
    next: AtomicU64,
    waiting: Waiting,
    strays: Arc<Mutex<Vec<String>>>,
    mark: String,
}

/// What a process holds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vitals {
    pub(super) memory: u64,
    pub(super) descriptors: usize,
}

/// What a client was told of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    NotDone,
    /// It may have been carried out.
    NotKnown,
}

impl Gateway {
    pub(super) fn start(haft: &Haft, workspace: PathBuf) -> Result<Gateway> {
        let mark = format!("{}-{}", std::process::id(), fastrand::u64(..));
        let mut command = haft.command(&workspace, &["mcp", "--trust", "--allow", "mcp__*"]);
        command.env(MARK, &mark).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn()?;
        let (input, output) = child.stdin.take().zip(child.stdout.take()).context("it has pipes")?;
        let gateway = Gateway {
            child,
            input: Mutex::new(Some(input)),
            next: AtomicU64::new(1),
            waiting: Waiting::default(),
            strays: Arc::default(),
            mark,
        };
        gateway.listen(output);
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "soak", "version": "1" } });
        gateway.request("initialize", hello)?;
        gateway.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(gateway)
    }

    fn listen(&self, output: ChildStdout) {
        let (waiting, strays) = (self.waiting.clone(), self.strays.clone());
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let message: Value = serde_json::from_str(&line).unwrap_or_default();
                let id = message["id"].as_u64().filter(|_| message.get("method").is_none());
                let known = id.and_then(|id| waiting.lock().expect("no panics").remove(&id));
                match known {
                    Some(waiter) => drop(waiter.send(message)),
                    None if message.get("method").is_some() => {}
                    None => strays.lock().expect("no panics").push(line),
                }
            }
            // Whoever still waits is told that nothing comes.
            waiting.lock().expect("no panics").clear();
        });
    }

    fn say(&self, message: &Value) -> Result<()> {
        let mut input = self.input.lock().map_err(|_| anyhow!("a caller panicked"))?;
        let input = input.as_mut().context("haft mcp has been ended")?;
        writeln!(input, "{message}").context("haft mcp does not listen any more")
    }

    fn request(&self, method: &str, params: Value) -> Result<Value> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = channel();
        self.waiting.lock().map_err(|_| anyhow!("a caller panicked"))?.insert(id, sender);
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        receiver.recv_timeout(PATIENCE).context("no answer")
    }

    /// Calls a tool, and says what the answer says.
    pub(super) fn call(&self, tool: &str, token: &str) -> Result<Answer> {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": { "token": token } }))?;
        let text = answer["result"]["content"].to_string();
        if answer["result"]["isError"] != true && text.contains(&format!("kept {token}")) {
            return Ok(Answer::Done);
        }
        if text.contains("not known") {
            return Ok(Answer::NotKnown);
        }
        ensure!(answer["result"]["isError"] == true, "neither an answer nor an error: {answer}");
        Ok(Answer::NotDone)
    }

    pub(super) fn vitals(&self) -> Vitals {
        let pid = self.child.id();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        Vitals { memory: bytes_in(&status, "VmRSS:").unwrap_or(0), descriptors }
    }

    /// Everybody who descends from it, itself included: `pid command`.
    pub(super) fn processes(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let mark = format!("{MARK}={}", self.mark);
        let marked = |entry: &Path| {
            let environment = fs::read(entry.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes())
        };
        let found = entries.flatten().map(|entry| entry.path()).filter(|entry| marked(entry));
        let describe = |entry: PathBuf| {
            let line = fs::read(entry.join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&line).replace('\0', " ");
            format!("{} {words}", entry.file_name().unwrap_or_default().to_string_lossy())
        };
        found.map(describe).collect()
    }

    /// Ends it as a client does, and says what is left of it.
    pub(super) fn end(mut self) -> Result<Vec<String>> {
        self.input.lock().map_err(|_| anyhow!("a caller panicked"))?.take();
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            if start.elapsed() > Duration::from_secs(30) {
                self.child.kill()?;
                bail!("haft mcp did not end within 30 s of the end of its input");
            }
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(Duration::from_millis(500));
        let mut left = self.processes();
        left.extend(
            self.strays
                .lock()
                .map_err(|_| anyhow!("a reader panicked"))?
                .iter()
                .map(|line| format!("an answer to nobody: {line}")),
        );
        Ok(left)
    }
}
