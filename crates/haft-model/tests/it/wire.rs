//! What the vendors' own SDK types say to the results and tool lists: types, id pairing, schemas.
//!
//! The judge is a script beside the repository. Where it or Python is missing, the test says so and passes.

use std::{
    env,
    error::Error,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use haft_engine::result::ToolResult;
use haft_model::Dialect;
use serde_json::{Value, json};

use crate::table;

#[test]
fn the_vendors_types_accept_everything() {
    let Some(script) = script() else {
        println!("skipped: no tools/wire_check.py in $HAFT_SHARED or beside the workspace");
        return;
    };
    let documents = documents();
    let judged = match judge(&script, &documents) {
        Ok(judged) => judged,
        Err(err) => {
            println!("skipped: python3 could not be asked: {err}");
            return;
        }
    };
    let verdict = String::from_utf8_lossy(&judged.stdout);
    if verdict.trim().is_empty() {
        println!("skipped: the SDKs are not there: {}", String::from_utf8_lossy(&judged.stderr));
        return;
    }
    let faults: Vec<&str> = verdict.lines().filter(|line| !line.ends_with(" ok")).collect();
    assert!(judged.status.success() && faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(verdict.lines().count(), documents.len());
}

fn script() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = env::var_os("HAFT_SHARED").map(PathBuf::from);
    let candidates = shared.into_iter().chain([beside]).map(|shared| shared.join("tools/wire_check.py"));
    candidates.into_iter().find(|script| script.is_file())
}

#[expect(clippy::disallowed_methods, reason = "a test runs the judge; no tool does")]
fn judge(script: &Path, documents: &[Value]) -> Result<Output, Box<dyn Error>> {
    let mut command = Command::new("python3");
    command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    // Taken, so that it is closed when all is written.
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    stdin.write_all(Value::from(documents).to_string().as_bytes())?;
    drop(stdin);
    Ok(child.wait_with_output()?)
}

/// Each result alone, all of them in one turn, and the tools.
fn documents() -> Vec<Value> {
    let schemas = table::schemas();
    let mut documents = Vec::new();
    for dialect in Dialect::ALL {
        let tools = dialect.tools(table::offers(&schemas));
        documents.push(json!({ "dialect": judged_name(dialect), "tools": tools }));
        documents.push(conversation(dialect, &table::turn()));
        documents.extend(table::results().into_iter().map(|(_, result)| conversation(dialect, &[result])));
    }
    documents
}

fn judged_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAi => "openai-chat",
        Dialect::Responses => "openai-responses",
        Dialect::Anthropic | Dialect::Gemini => dialect.name(),
    }
}

fn conversation(dialect: Dialect, results: &[ToolResult]) -> Value {
    let question = match dialect {
        Dialect::Gemini => json!({ "role": "user", "parts": [{ "text": "go" }] }),
        _ => json!({ "role": "user", "content": "go" }),
    };
    let calls: Vec<(&str, &str)> =
        results.iter().map(|result| (result.call.as_str(), result.tool.as_str())).collect();
    let mut messages = vec![question];
    messages.extend(table::assistant(dialect, &calls));
    match dialect.results(results) {
        Value::Array(list) => messages.extend(list),
        message => messages.push(message),
    }
    json!({ "dialect": judged_name(dialect), "messages": messages })
}
