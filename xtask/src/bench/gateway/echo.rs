//! The server at the end of every way: it gives back what it is sent, and costs next to nothing.

use std::{
    borrow::Cow,
    io::{self, BufRead, Write},
    process::ExitCode,
};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// The chore that is this server.
pub(super) const CHORE: &str = "echo-server";

/// What is said to it. Only what it needs is read.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

/// The server's own process: `echo-server TOOLS`.
pub(crate) fn serve(tools: &str) -> Result<ExitCode> {
    let tools: usize = tools.parse().context("how many tools it has is a number")?;
    let (mut out, mut input) = (io::stdout().lock(), io::stdin().lock());
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let answer = serde_json::from_str(&line).ok().and_then(|request| answer(&request, tools));
        if let Some(answer) = answer {
            // One write, as a whole line.
            out.write_all(answer.as_bytes())?;
            out.flush()?;
        }
        line.clear();
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(request: &Request<'_>, tools: usize) -> Option<String> {
    let id = request.id?;
    let result = match request.method.as_deref()? {
        "tools/call" => return Some(echo(id, request.params)),
        "initialize" => introduction(),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": (0..tools).map(tool).collect::<Vec<_>>() }),
        _ => return Some(refusal(id)),
    };
    Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n"))
}

fn echo(id: &RawValue, params: Option<&RawValue>) -> String {
    let params = params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok());
    match params {
        Some(Params { arguments: Arguments { message } }) => format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":{message}}}]}}}}\n"
        ),
        None => refusal(id),
    }
}

fn refusal(id: &RawValue) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32601,\"message\":\"no such method\"}}}}\n"
    )
}

fn introduction() -> Value {
    json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "echo", "version": "1" } })
}

/// Of the size that definitions have: about a kilobyte.
fn tool(number: usize) -> Value {
    let name = if number == 0 { "echo".to_owned() } else { format!("look_{number}") };
    let text = |about: &str| json!({ "type": "string", "description": format!("{about}. {}", "It is given back as it is. ".repeat(5)) });
    json!({
        "name": name,
        "description": format!("Gives back its message (number {number}). {}", "Use it to see that somebody is there. ".repeat(6)),
        "inputSchema": {
            "type": "object",
            "properties": { "message": text("What to say"), "reason": text("Why it is said"), "place": text("Where it is said") },
            "required": ["message"],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        let answer = answer(&serde_json::from_str(line).unwrap(), 1);
        assert_eq!(answer.as_deref().map(str::trim_end), expected);
    }

    #[test]
    fn a_message_comes_back_and_what_is_not_known_is_refused() {
        check(
            r#"{"id":"a","method":"tools/call","params":{"name":"echo","arguments":{"message":"x\n"}}}"#,
            Some(r#"{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"x\n"}]}}"#),
        );
        check(
            r#"{"id":1,"method":"server/discover"}"#,
            Some(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}"#),
        );
        check(r#"{"id":1,"method":"ping"}"#, Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
        check(r#"{"method":"notifications/initialized"}"#, None);
    }
}
