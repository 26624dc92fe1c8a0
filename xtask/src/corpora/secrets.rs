//! `secrets.jsonl`: is a secret taken out, and only that?

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::case::{Answer, Case, Worth};
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

/// Of the cases with a secret, so many per hundred are right: it is gone, and what stood around it is still there.
const REDACTED: usize = 97;

/// Of those that only look like one, at most so many per hundred are touched.
const TOUCHED: usize = 2;

/// The bounds that a run does not keep. A secret that is still there fails it besides.
pub(super) fn missed(cases: &[Case], worths: &[Worth]) -> Vec<String> {
    let passed = |expect: &str| {
        let of = cases.iter().zip(worths).filter(|(case, _)| case.expect == expect);
        of.fold((0, 0), |(passed, all), (_, worth)| (passed + usize::from(*worth == Worth::Passed), all + 1))
    };
    let (redacted, secrets) = passed("redact");
    let (kept, lookalikes) = passed("keep");
    let touched = lookalikes - kept;
    let too_few = redacted * 100 < secrets * REDACTED;
    let too_many = touched * 100 > lookalikes * TOUCHED;
    let bounds = [
        too_few.then(|| format!("{redacted} of {secrets} secrets are redacted; {REDACTED} % must be")),
        too_many.then(|| format!("{touched} of {lookalikes} look-alikes are touched; {TOUCHED} % may be")),
    ];
    bounds.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_secrets_and_too_many_lookalikes_fail_the_run() {
        let run = |secrets: (usize, usize), lookalikes: (usize, usize)| {
            let lists = [("redact", secrets), ("keep", lookalikes)];
            let each = lists.into_iter().flat_map(|(expect, (passed, all))| {
                (0..all).map(move |index| {
                    (case(expect), if index < passed { Worth::Passed } else { Worth::OverCautious })
                })
            });
            let (cases, worths): (Vec<Case>, Vec<Worth>) = each.unzip();
            missed(&cases, &worths)
        };
        assert_eq!(run((97, 100), (98, 100)), Vec::<String>::new());
        assert_eq!(run((96, 100), (98, 100)), ["96 of 100 secrets are redacted; 97 % must be"]);
        assert_eq!(run((97, 100), (97, 100)), ["3 of 100 look-alikes are touched; 2 % may be"]);
    }

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
