//! `secrets.jsonl`: is a secret taken out, and only that?

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::case::{Answer, Case};
use crate::haft::Haft;

/// What must be gone, and what must still be there.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Wanted {
    secrets: Vec<String>,
    keep: Vec<String>,
}

/// The binary answers: `haft redact --batch`.
pub(super) fn judge(haft: &Haft, case: &Case) -> Result<Answer> {
    let line = json!({ "id": case.id, "text": case.input }).to_string();
    let said = ask(&mut haft.command(Path::new("/"), &["redact", "--batch"]), &line)?;
    let answer: Value = serde_json::from_str(&said).with_context(|| said.clone())?;
    let text = answer["text"].as_str().context("there is no text in the answer")?;
    compare(case, text)
}

fn ask(command: &mut Command, line: &str) -> Result<String> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().context("no stdin")?.write_all(line.as_bytes())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("haft redact ended with {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn compare(case: &Case, text: &str) -> Result<Answer> {
    let wanted: Wanted = match &case.context {
        Value::Null => Wanted::default(),
        context => serde_json::from_value(context.clone())?,
    };
    if wanted.secrets.iter().any(|secret| text.contains(secret)) {
        return Ok(Answer::Broke(format!("the secret is still there: {text:?}")));
    }
    let is_whole = wanted.keep.iter().all(|part| text.contains(part));
    let word = match text == case.input {
        true => "keep",
        false if is_whole => "redact",
        false => "more than the secret was taken",
    };
    Ok(Answer::said(word, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(expect: &str) -> Case {
        let context = json!({ "secrets": ["hunter2"], "keep": ["host"] });
        let line = json!({ "id": "s-1", "group": "g", "kind": expect, "input": "pw hunter2 host", "expect": expect, "context": context });
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn a_secret_that_is_still_there_is_broken_and_all_else_is_a_word() {
        let compare = |text| compare(&case("redact"), text).unwrap();
        assert!(matches!(compare("pw hunter2 host"), Answer::Broke(_)));
        assert_eq!(compare("pw [x] host"), Answer::said("redact", "pw [x] host"));
        assert_eq!(compare("pw [x]"), Answer::said("more than the secret was taken", "pw [x]"));
    }
}
