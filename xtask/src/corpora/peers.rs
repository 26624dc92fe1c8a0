//! `cargo xtask corpora --peers`: the same command lines, judged by programs of others.
//!
//! They know other rules than haft does. A case counts for a peer only if its rules can be written in the peer's own way.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    Report,
    case::{Answer, Case, Worth},
};

/// A program that judges command lines.
pub(super) struct Peer {
    name: &'static str,
    program: PathBuf,
    judge: fn(&Path, &Case) -> Result<Answer>,
}

/// The peers that are installed; of the others, where they were looked for.
pub(super) fn installed() -> Vec<Peer> {
    let program = PathBuf::from(std::env::var_os("HAFT_PEER_CODEX").unwrap_or_else(|| "codex".into()));
    let runs = Command::new(&program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !runs {
        println!("peers: no codex here; name it by HAFT_PEER_CODEX (npm package @openai/codex)");
        return Vec::new();
    }
    vec![Peer { name: "codex execpolicy check", program, judge: codex }]
}

impl Peer {
    /// A line of the table, and haft's on the same cases.
    pub(super) fn compare(&self, cases: &[Case], haft: impl Fn(&Case) -> Result<Answer>) -> Result<String> {
        let (mut its, mut ours) = (Report::default(), Report::default());
        for case in cases.iter().filter(|case| case.kind == "verdict") {
            let answer = (self.judge)(&self.program, case).with_context(|| case.id.clone())?;
            if !matches!(answer, Answer::Skipped(_)) {
                ours.add(case, &haft(case)?);
            }
            its.add(case, &answer);
        }
        Ok(format!("{}\n{}", row(self.name, &its), row("haft, on the same", &ours)))
    }
}

fn row(name: &str, report: &Report) -> String {
    let count = |worth| report.count(worth);
    format!(
        "| {name} | {} | {} | {} | {} |",
        report.worths.len() - count(Worth::Skipped),
        count(Worth::Passed),
        count(Worth::Unsafe),
        count(Worth::OverCautious),
    )
}

/// Its rules are prefixes of words; what is not one plain command goes to it as a script for bash, as its own tool does.
fn codex(program: &Path, case: &Case) -> Result<Answer> {
    let Some(rules) = prefix_rules(&case.rules) else {
        return Ok(Answer::skipped("rules that it does not have"));
    };
    if case.input.contains('\0') {
        return Ok(Answer::skipped("no argument can hold it"));
    }
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("case.rules");
    fs::write(&file, rules)?;
    let mut command = Command::new(program);
    command.args(["execpolicy", "check", "--rules"]).arg(&file).arg("--");
    match is_plain(&case.input) {
        true => command.args(case.input.split_ascii_whitespace()),
        false => command.args(["bash", "-lc", &case.input]),
    };
    let output = command.output()?;
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    Ok(match said["decision"].as_str() {
        Some("allow") => Answer::said("allow", ""),
        Some("forbidden") => Answer::said("deny", ""),
        // No rule says anything: it would ask, or rely on its sandbox.
        _ => Answer::said("ask", ""),
    })
}

fn is_plain(line: &str) -> bool {
    line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _./=:@%+,-".contains(&byte))
}

/// The rules as its own; `None` if one of them cannot be said so.
fn prefix_rules(rules: &Value) -> Option<String> {
    let mut text = String::new();
    for (list, decision) in [("allow", "allow"), ("ask", "prompt"), ("deny", "forbidden")] {
        for rule in rules[list].as_array().into_iter().flatten() {
            let words = rule.as_str()?.strip_prefix("Bash(")?.strip_suffix(')')?.trim_end_matches(":*");
            let words: Vec<String> = words.split(' ').map(|word| format!("{word:?}")).collect();
            text.push_str(&format!("prefix_rule(pattern=[{}], decision=\"{decision}\")\n", words.join(", ")));
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_about_words_can_be_said_and_others_cannot() {
        let rules = json!({ "allow": ["Bash(git diff:*)"], "deny": ["Bash(curl:*)"] });
        assert_eq!(
            prefix_rules(&rules).unwrap(),
            "prefix_rule(pattern=[\"git\", \"diff\"], decision=\"allow\")\n\
             prefix_rule(pattern=[\"curl\"], decision=\"forbidden\")\n"
        );
        assert_eq!(prefix_rules(&json!({ "allow": ["Bash"] })), None);
        assert_eq!(prefix_rules(&json!({ "deny": ["Read(.env)"] })), None);
        assert_eq!(prefix_rules(&Value::Null).unwrap(), "");
    }
}
