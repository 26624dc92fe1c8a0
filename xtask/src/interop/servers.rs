//! haft as the client of others' servers, as a person uses it: `.mcp.json` and `haft call`.

use std::process::Command;

use serde_json::json;

use super::{
    Case, Trouble,
    stage::{Stage, path},
};
use crate::{
    kit::{PYTHON, PYTHON_V1},
    serving::{Serving, free_port},
};

pub(super) const CASES: [Case; 8] = [
    Case { name: "server-everything by stdio", run: everything_by_stdio },
    Case { name: "server-everything by streamable HTTP", run: everything_by_http },
    Case { name: "server-everything by SSE", run: everything_by_sse },
    Case { name: "server-filesystem by stdio", run: filesystem },
    Case { name: "server-memory by stdio", run: memory },
    Case { name: "mcp-server-git by stdio", run: git },
    Case { name: "mcp-server-time by stdio", run: time },
    Case { name: "a Python server by WebSocket", run: web_socket },
];

pub(super) const EVERYTHING: &str = "@modelcontextprotocol/server-everything";

fn everything_by_stdio(stage: &Stage) -> Result<(), Trouble> {
    let server = stage.node_server(EVERYTHING, &["stdio"])?;
    stage.calls(server, "echo", &json!({ "message": "hello" }), "Echo: hello")
}

fn everything_by_http(stage: &Stage) -> Result<(), Trouble> {
    let serving = everything_at(stage, "streamableHttp", "mcp")?;
    stage.calls(
        json!({ "type": "http", "url": serving.address }),
        "echo",
        &json!({ "message": "hello" }),
        "Echo: hello",
    )
}

fn everything_by_sse(stage: &Stage) -> Result<(), Trouble> {
    let serving = everything_at(stage, "sse", "sse")?;
    stage.calls(
        json!({ "type": "sse", "url": serving.address }),
        "echo",
        &json!({ "message": "hello" }),
        "Echo: hello",
    )
}

pub(super) fn everything_at(stage: &Stage, transport: &str, last: &str) -> Result<Serving, Trouble> {
    everything_on(stage, transport, last, free_port()?)
}

pub(super) fn everything_on(
    stage: &Stage,
    transport: &str,
    last: &str,
    port: u16,
) -> Result<Serving, Trouble> {
    let script = stage.kit.script(EVERYTHING, "dist/index.js").map_err(Trouble::Skipped)?;
    let mut command = stage.kit.node_command(&script, &[transport]).map_err(Trouble::Skipped)?;
    let address = format!("http://127.0.0.1:{port}/{last}");
    Ok(Serving::start_at(command.env("PORT", port.to_string()), port, address)?)
}

fn filesystem(stage: &Stage) -> Result<(), Trouble> {
    let workspace = path(&stage.workspace());
    let server = stage.node_server("@modelcontextprotocol/server-filesystem", &[&workspace])?;
    let file = path(&stage.workspace().join("notes.md"));
    stage.calls(server, "read_text_file", &json!({ "path": file }), "a note for the peers")
}

fn memory(stage: &Stage) -> Result<(), Trouble> {
    let mut server = stage.node_server("@modelcontextprotocol/server-memory", &[])?;
    server["env"] = json!({ "MEMORY_FILE_PATH": path(&stage.workspace().join("memory.json")) });
    let entity = json!({ "name": "haft", "entityType": "tool", "observations": ["it remembers"] });
    stage.calls(server, "create_entities", &json!({ "entities": [entity] }), "it remembers")
}

fn git(stage: &Stage) -> Result<(), Trouble> {
    let program = stage.kit.python(&PYTHON, "mcp-server-git").map_err(Trouble::Skipped)?;
    let workspace = path(&stage.workspace());
    let made = Command::new("git").args(["init", "--quiet", &workspace]).status();
    if !made.is_ok_and(|status| status.success()) {
        return Err(Trouble::Skipped("git is not installed".to_owned()));
    }
    let server = json!({ "command": path(&program), "args": ["--repository", workspace] });
    stage.calls(server, "git_status", &json!({ "repo_path": workspace }), "notes.md")
}

fn time(stage: &Stage) -> Result<(), Trouble> {
    let program = stage.kit.python(&PYTHON, "mcp-server-time").map_err(Trouble::Skipped)?;
    let server = json!({ "command": path(&program), "args": ["--local-timezone", "UTC"] });
    stage.calls(server, "get_current_time", &json!({ "timezone": "UTC" }), "is_dst")
}

fn web_socket(stage: &Stage) -> Result<(), Trouble> {
    let python = stage.kit.python(&PYTHON_V1, "python").map_err(Trouble::Skipped)?;
    let script = stage.script("ws_server.py", include_str!("peers/ws_server.py"))?;
    let port = free_port()?;
    let address = format!("ws://127.0.0.1:{port}/ws");
    let serving = Serving::start_at(Command::new(python).arg(script).arg(port.to_string()), port, address)?;
    stage.calls(
        json!({ "type": "ws", "url": serving.address }),
        "echo",
        &json!({ "message": "hello" }),
        "Echo: hello",
    )
}
