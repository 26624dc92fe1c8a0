//! A client that costs as little as it can: it speaks the wire itself, one request after another.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::serving::Serving;

const VERSION: &str = "2025-11-25";

/// What is echoed.
const MESSAGE: &str = "sixty-four bytes, which is about what a short argument of a tool has";

/// How long an answer may take. Python on a busy machine takes long to say its first word.
const PATIENCE: Duration = Duration::from_secs(120);

/// A way to a server.
pub(super) enum Wire {
    /// Lines on the streams of a process that we started.
    Lines { child: Child, input: Option<ChildStdin>, output: BufReader<ChildStdout> },
    /// Streamable HTTP to one that listens.
    Http { serving: Serving, stream: BufReader<TcpStream>, place: String, session: Option<String> },
}

/// A client that has greeted its server and knows the tool to call.
pub(super) struct Client {
    wire: Wire,
    next: u64,
    tool: String,
}

impl Wire {
    pub(super) fn lines(command: &mut Command) -> Result<Wire> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let (input, output) = child.stdin.take().zip(child.stdout.take()).context("it has pipes")?;
        Ok(Wire::Lines { child, input: Some(input), output: BufReader::new(output) })
    }

    pub(super) fn http(serving: Serving) -> Result<Wire> {
        let rest = serving.address.strip_prefix("http://").context("an address begins with http://")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let stream = connected(host)?;
        let place = format!("POST /{path} HTTP/1.1\r\nhost: {host}\r\n");
        Ok(Wire::Http { serving, stream, place, session: None })
    }

    /// Some servers do not keep a connection that was silent for a few seconds.
    fn refresh(&mut self) -> Result<()> {
        if let Wire::Http { stream, .. } = self {
            let address = stream.get_ref().peer_addr()?;
            *stream = connected(address)?;
        }
        Ok(())
    }

    /// The process that is spoken to.
    fn process(&self) -> u32 {
        match self {
            Wire::Lines { child, .. } => child.id(),
            Wire::Http { serving, .. } => serving.id(),
        }
    }

    fn send(&mut self, message: &str) -> Result<()> {
        match self {
            Wire::Lines { input, .. } => {
                let input = input.as_mut().context("it was ended")?;
                input.write_all(message.as_bytes())?;
            }
            Wire::Http { stream, place, session, .. } => {
                let session =
                    session.as_ref().map_or_else(String::new, |id| format!("mcp-session-id: {id}\r\n"));
                let request = format!(
                    "{place}content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
                     mcp-protocol-version: {VERSION}\r\n{session}content-length: {}\r\n\r\n{message}",
                    message.len()
                );
                stream.get_mut().write_all(request.as_bytes())?;
            }
        }
        Ok(())
    }

    /// What comes next: one message by lines, all of an answer's by HTTP.
    fn receive(&mut self) -> Result<String> {
        match self {
            Wire::Lines { output, .. } => {
                let mut line = String::new();
                ensure!(output.read_line(&mut line)? > 0, "it ended before it answered");
                Ok(line)
            }
            Wire::Http { stream, session, .. } => {
                let answer = Answer::read(stream)?;
                ensure!((200..300).contains(&answer.status), "status {}: {}", answer.status, answer.body);
                *session = answer.session.or(session.take());
                Ok(answer.body)
            }
        }
    }
}

fn connected(address: impl ToSocketAddrs) -> Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(BufReader::new(stream))
}

impl Drop for Wire {
    fn drop(&mut self) {
        let Wire::Lines { child, input, .. } = self else { return };
        // A server leaves when its input ends; one that does not has had its time.
        drop(input.take());
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(5) && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// The parts of a message that say what it answers.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
}

impl Client {
    /// Greets a server and looks for its echo.
    pub(super) fn meet(wire: Wire) -> Result<Client> {
        let mut client = Client { wire, next: 0, tool: String::new() };
        let listed = client.greet_and_list()?;
        let listed: Value = serde_json::from_str(&listed)?;
        let tools = listed["result"]["tools"].as_array().context("a list of tools")?;
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        let echo = names.into_iter().find(|name| name.ends_with("echo")).map(str::to_owned);
        client.tool = echo.with_context(|| format!("no echo among {listed}"))?;
        Ok(client)
    }

    /// The handshake, and the first list of tools.
    fn greet_and_list(&mut self) -> Result<String> {
        let client = json!({ "name": "bench", "version": "1" });
        self.ask(
            "initialize",
            &json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client }),
        )?;
        let said = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.wire.send(&format!("{said}\n"))?;
        if matches!(self.wire, Wire::Http { .. }) {
            self.wire.receive()?;
        }
        self.ask("tools/list", &json!({}))
    }

    /// How long it takes from the start of a process to its first list of tools. `look`: whoever wants to see it then.
    pub(super) fn first_list(
        command: &mut Command,
        look: impl FnOnce(u32) -> Result<()>,
    ) -> Result<Duration> {
        let start = Instant::now();
        let mut client = Client { wire: Wire::lines(command)?, next: 0, tool: String::new() };
        let listed = client.greet_and_list()?;
        let time = start.elapsed();
        ensure!(listed.contains("\"tools\":["), "no list: {listed}");
        look(client.process())?;
        Ok(time)
    }

    /// Makes sure that the way is open, and used.
    pub(super) fn warm_up(&mut self, calls: usize) -> Result<()> {
        self.wire.refresh()?;
        (0..calls).try_for_each(|_| self.call().map(drop))
    }

    /// The process that is spoken to.
    pub(super) fn process(&self) -> u32 {
        self.wire.process()
    }

    /// One call, from the first byte sent to the last received.
    pub(super) fn call(&mut self) -> Result<Duration> {
        let params = json!({ "name": self.tool, "arguments": { "message": MESSAGE } });
        let start = Instant::now();
        let answer = self.ask("tools/call", &params)?;
        let time = start.elapsed();
        let is_echo =
            answer.contains(MESSAGE) && !answer.contains("\"error\"") && !answer.contains("\"isError\":true");
        ensure!(is_echo, "no echo: {answer}");
        Ok(time)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<String> {
        self.next += 1;
        let id = self.next.to_string();
        self.wire.send(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n"
        ))?;
        loop {
            let said = self.wire.receive()?;
            let mut messages = said.lines();
            if let Some(answer) = messages.find(|message| answers(message, &id)) {
                return Ok(answer.to_owned());
            }
            ensure!(matches!(self.wire, Wire::Lines { .. }), "no answer to {method}: {said}");
        }
    }
}

fn answers(message: &str, id: &str) -> bool {
    let head: Result<Head, _> = serde_json::from_str(message);
    head.is_ok_and(|head| head.method.is_none() && head.id.is_some_and(|found| found.get() == id))
}

/// An answer by HTTP.
struct Answer {
    status: u16,
    session: Option<String>,
    /// A message a line, whichever way they came.
    body: String,
}

impl Answer {
    fn read(stream: &mut impl BufRead) -> Result<Answer> {
        let status = next_line(stream)?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok()).context("a status")?;
        let (mut length, mut is_chunked, mut is_events, mut session) = (0, false, false, None);
        loop {
            let line = next_line(stream)?;
            let Some((name, value)) = line.split_once(':') else { break };
            match (name.to_ascii_lowercase().as_str(), value.trim()) {
                ("content-length", value) => length = value.parse()?,
                ("transfer-encoding", value) => is_chunked = value.eq_ignore_ascii_case("chunked"),
                ("content-type", value) => is_events = value.starts_with("text/event-stream"),
                ("mcp-session-id", value) => session = Some(value.to_owned()),
                _ => {}
            }
        }
        let body = if is_chunked { chunks(stream)? } else { exactly(stream, length)? };
        let body = String::from_utf8(body)?;
        let body = if is_events { events(&body) } else { body };
        Ok(Answer { status, session, body })
    }
}

fn next_line(stream: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        bail!("the connection was closed");
    }
    Ok(line.trim_end().to_owned())
}

fn exactly(stream: &mut impl Read, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn chunks(stream: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = usize::from_str_radix(&next_line(stream)?, 16).context("the length of a chunk")?;
        body.extend(exactly(stream, length)?);
        ensure!(next_line(stream)?.is_empty(), "a chunk is longer than it says");
        if length == 0 {
            return Ok(body);
        }
    }
}

/// What events bear.
fn events(body: &str) -> String {
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(|data| format!("{}\n", data.trim_start())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, body: &str) {
        let answer = Answer::read(&mut answer.as_bytes()).unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (200, body));
    }

    #[test]
    fn an_answer_is_read_however_it_comes() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}rest", "{}");
        check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", "{}");
        check(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 30\r\n\r\nid: 1\ndata: {}\n\n:\n\ndata: [1]\n\n",
            "{}\n[1]\n",
        );
    }

    #[test]
    fn only_an_answer_with_the_number_is_one() {
        assert!(answers(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "7"));
        assert!(!answers(r#"{"jsonrpc":"2.0","id":8,"result":{}}"#, "7"));
        assert!(!answers(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, "7"));
        assert!(!answers("listening", "7"));
    }
}
