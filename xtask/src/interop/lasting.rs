//! haft between the reference server and others, for longer than a call: what a server asks back, sessions that are forgotten,
//! and haft within haft.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use anyhow::{Context, bail};
use haft_model::scripted::Turn;
use serde_json::{Value, json};

use super::{
    Case, Trouble,
    clients::launcher,
    servers::{EVERYTHING, everything_at, everything_on},
    stage::{PATIENCE, Stage, path},
};
use crate::{kit::PYTHON, scripted::ScriptedModel, serving::free_port};

pub(super) const CASES: [Case; 9] = [
    Case { name: "server-everything, a prompt of it", run: prompt },
    Case { name: "server-everything, a task by stdio", run: task_by_stdio },
    Case { name: "server-everything, a task that asks, by HTTP", run: task_by_http },
    Case { name: "server-everything, a page that nobody visits", run: page },
    Case { name: "server-everything asks a client of haft back", run: forwarding },
    Case { name: "server-filesystem gives more than fits", run: large },
    Case { name: "server-everything asks the model of a run", run: sampling },
    Case { name: "server-everything forgets a session", run: forgets },
    Case { name: "server-everything behind haft within haft", run: within },
];

fn prompt(stage: &Stage) -> Result<(), Trouble> {
    let server = stage.node_server(EVERYTHING, &["stdio"])?;
    stage.serves(&[("s", server)])?;
    stage.says(&mut stage.haft(&["prompt", "s"]), "s args-prompt city=… [state=…]")?;
    let words = ["prompt", "s", "args-prompt", "city=Berlin", "state=Berlin"];
    stage.says(&mut stage.haft(&words), "What's weather in Berlin, Berlin?")
}

fn task_by_stdio(stage: &Stage) -> Result<(), Trouble> {
    let server = stage.node_server(EVERYTHING, &["stdio"])?;
    stage.calls(server, TASK, &json!({ "topic": "stones" }), "Research Report: stones")
}

/// It asks in the middle, where nobody is: that arrives, and is declined.
fn task_by_http(stage: &Stage) -> Result<(), Trouble> {
    let serving = everything_at(stage, "streamableHttp", "mcp")?;
    let server = json!({ "type": "http", "url": serving.address });
    stage.calls(server, TASK, &json!({ "topic": "python", "ambiguous": true }), "User declined")
}

const TASK: &str = "simulate-research-query";

fn page(stage: &Stage) -> Result<(), Trouble> {
    let server = stage.node_server(EVERYTHING, &["stdio"])?;
    let input = json!({ "url": "https://example.com/start" });
    stage.calls(server.clone(), "trigger-url-elicitation", &input, "User declined to open the URL")?;
    let first = json!({ "url": "https://example.com/start", "errorPath": true });
    stage.calls(
        server,
        "trigger-url-elicitation",
        &first,
        "does not want to visit https://modelcontextprotocol.io",
    )
}

/// Sampling, forms and pages reach the client in front of haft, and a task is one call to it.
fn forwarding(stage: &Stage) -> Result<(), Trouble> {
    let server = stage.node_server(EVERYTHING, &["stdio"])?;
    stage.user_serves("s", &server)?;
    stage.kit.script("@modelcontextprotocol/sdk", "package.json").map_err(Trouble::Skipped)?;
    let script = stage.script("forwarding_v1.mjs", include_str!("peers/forwarding_v1.mjs"))?;
    let launcher = launcher(stage, &["--allow", "mcp__s", "mcp"])?;
    let mut command = stage.kit.node_command(&script, &[&path(&launcher)]).map_err(Trouble::Skipped)?;
    let said = stage.heard(command.current_dir(stage.workspace()), "all was forwarded")?;
    for expected in [
        "sampled: Resource trigger-sampling-request context: a riddle",
        "page https://example.com/start",
        "User completed the URL elicitation flow",
        "refused -32042",
        "https://modelcontextprotocol.io",
        "Research Report: python (snake)",
    ] {
        if !said.contains(expected) {
            return Err(Trouble::Failed(format!("no `{expected}` in: {said}")));
        }
    }
    Ok(())
}

/// A client that wants what a tool promises gets it, cut, and the whole as a resource.
fn large(stage: &Stage) -> Result<(), Trouble> {
    let workspace = path(&stage.workspace());
    stage.serves(&[("s", stage.node_server("@modelcontextprotocol/server-filesystem", &[&workspace])?)])?;
    let file = stage.workspace().join("large.txt");
    fs::write(&file, "a line of many\n".repeat(100_000))?;
    stage.kit.script("@modelcontextprotocol/sdk", "package.json").map_err(Trouble::Skipped)?;
    let script = stage.script("large_v1.mjs", include_str!("peers/large_v1.mjs"))?;
    let launcher = launcher(stage, &["--allow", "mcp__s", "mcp"])?;
    let words = [path(&launcher), path(&file)];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = stage.kit.node_command(&script, &words).map_err(Trouble::Skipped)?;
    stage.says(command.current_dir(stage.workspace()), "(cut: it has 1500000 bytes in all) 20")
}

/// The model of `haft run` answers the server, and somebody at a terminal permits it.
fn sampling(stage: &Stage) -> Result<(), Trouble> {
    let server = stage.node_server(EVERYTHING, &["stdio"])?;
    stage.user_serves("s", &server)?;
    let python = stage.kit.python(&PYTHON, "python").map_err(Trouble::Skipped)?;
    let model = ScriptedModel::start(|number, _| match number {
        0 => Turn::new().call("mcp__s__trigger-sampling-request", json!({ "prompt": "a riddle" })),
        1 => Turn::new().text("forty-two"),
        _ => Turn::new().text("All is done."),
    })?;
    let options = model.options();
    let mut words = vec!["--allow", "mcp__s", "run"];
    words.extend(options.iter().map(String::as_str));
    words.push("Ask it");
    let haft = stage.haft(&words);
    let mut command = Command::new(python);
    command.arg(stage.script("person.py", include_str!("peers/person.py"))?);
    command.args(["Let your model answer?", "yes"]).arg(haft.get_program()).args(haft.get_args());
    command.current_dir(stage.workspace()).env_clear();
    command.envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?))));
    stage.says(&mut command, "All is done.")?;
    let asked = model.take();
    let bodies: Vec<&str> = asked.iter().map(|asked| asked.body.as_str()).collect();
    match bodies.as_slice() {
        [_, sampled, last]
            if sampled.contains("context: a riddle")
                && !sampled.contains("Ask it")
                && last.contains("forty-two") =>
        {
            Ok(())
        }
        _ => Err(Trouble::Failed(format!("the model was asked: {bodies:#?}"))),
    }
}

/// The server is another one at the same address, which knows no session of before: the next call does not notice.
fn forgets(stage: &Stage) -> Result<(), Trouble> {
    let port = free_port()?;
    let serving = everything_on(stage, "streamableHttp", "mcp", port)?;
    stage.serves(&[("s", json!({ "type": "http", "url": serving.address }))])?;
    let mut client = Lines::start(&mut stage.haft(&["--allow", "mcp__s", "mcp"]))?;
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "lines", "version": "1" } });
    client.ask("initialize", hello)?;
    client.calls("s__echo", json!({ "message": "one" }), "Echo: one")?;
    drop(serving);
    let _again = everything_on(stage, "streamableHttp", "mcp", port)?;
    client.calls("s__echo", json!({ "message": "two" }), "Echo: two")?;
    client.calls("s__get-sum", json!({ "a": 1, "b": 2 }), "3")
}

/// haft is a server of haft, by something in between, and has the same servers: it serves, and there is an end of it.
fn within(stage: &Stage) -> Result<(), Trouble> {
    let everything = stage.node_server(EVERYTHING, &["stdio"])?;
    let starts = stage.workspace().with_file_name("starts");
    let inner = counted(&launcher(stage, &["--allow", "mcp__s", "mcp"])?, &starts)?;
    stage.serves(&[("s", everything), ("inner", json!({ "command": path(&inner) }))])?;
    // There is so much behind the inner one that it defers the most of it.
    let input = json!({ "name": "s__echo", "arguments": { "message": "hello" } }).to_string();
    let words = ["--allow", "mcp__inner", "call", "mcp__inner__ToolCall", &input];
    stage.says(&mut stage.haft(&words), "Echo: hello")?;
    // The inner one starts one more to ask it for its tools, and that starts none.
    match fs::read_to_string(&starts)?.lines().count() {
        2 => Ok(()),
        count => Err(Trouble::Failed(format!("haft was started {count} times within haft"))),
    }
}

/// The same program, with a line in a file for each start.
fn counted(program: &Path, starts: &Path) -> Result<PathBuf, Trouble> {
    let file = program.with_file_name("counted");
    let text = format!("#!/bin/sh\necho start >> '{}'\n'{}'\n", path(starts), path(program));
    fs::write(&file, text)?;
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(file)
}

/// A client that writes lines to haft and reads its answers.
struct Lines {
    child: Child,
    input: ChildStdin,
    answers: Receiver<Value>,
    next: u64,
}

impl Lines {
    fn start(command: &mut Command) -> Result<Lines, Trouble> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("haft mcp")?;
        let input = child.stdin.take().context("its stdin")?;
        let output = child.stdout.take().context("its stdout")?;
        let (tx, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let read = serde_json::from_str(&line).unwrap_or_default();
                if tx.send(read).is_err() {
                    return;
                }
            }
        });
        Ok(Lines { child, input, answers, next: 0 })
    }

    fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        writeln!(self.input, "{message}")?;
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).context("no answer")?;
            match answer.get("error") {
                _ if answer["id"] != self.next => {}
                Some(error) => bail!("{method} was refused: {error}"),
                None => return Ok(answer["result"].clone()),
            }
        }
    }

    fn calls(&mut self, tool: &str, arguments: Value, expected: &str) -> Result<(), Trouble> {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))?;
        match answer.to_string().contains(expected) {
            true => Ok(()),
            false => Err(Trouble::Failed(format!("no `{expected}` in: {answer}"))),
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // It ends what it has started before it ends itself; one that does not is killed.
        drop(std::mem::replace(&mut self.answers, channel().1));
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        );
        for _ in 0..100 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
