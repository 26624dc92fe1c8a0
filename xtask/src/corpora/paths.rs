//! `paths.jsonl`: may this file be touched, and is it the one that is touched?
//!
//! Everything is asked of a session in this process but what may take too long or too much: that is a process, which can
//! be killed.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use haft_engine::{policy::Verdict, result::ToolResult};
use haft_tool::{FaultKind, shown};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    case::{Answer, Case},
    session::{Meanwhile, Session},
    stage::{Prop, Stage},
};
use crate::haft::{Haft, watch};

/// What else holds in a case.
#[derive(Deserialize)]
struct Context {
    /// The tool.
    op: String,
    #[serde(default)]
    layout: Vec<Prop>,
    /// What Grep looks for.
    pattern: Option<String>,
    swap_after_check: Option<Swap>,
    #[serde(default)]
    must_not_change: Vec<PathBuf>,
    #[serde(default)]
    must_not_return: Vec<String>,
    #[serde(default)]
    must_not_list: Vec<String>,
    max_seconds: Option<u64>,
    max_memory_mb: Option<u64>,
}

/// What somebody does between the check and the use.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Swap {
    Replace { replace: PathBuf, with_symlink_to: PathBuf },
    Create { create_symlink: PathBuf, to: PathBuf },
}

/// A case on its stage.
struct Scene<'a> {
    haft: &'a Haft,
    stage: Stage,
    context: Context,
    rules: &'a Value,
    /// The path, or Glob's pattern. Where it is not UTF-8 there are several ways to write it.
    spellings: Vec<String>,
}

/// What is written; no layout holds it.
const WRITTEN: &str = "HAFT WROTE THIS\n";

/// A case that says nothing else ends long before.
const PATIENCE: u64 = 60;

pub(super) fn judge(haft: &Haft, case: &Case) -> Result<Answer> {
    let stage = Stage::new()?;
    let context: Context = Deserialize::deserialize(stage.filled_value(&case.context))?;
    context.layout.iter().try_for_each(|prop| stage.set(prop))?;
    // A path like /proc/self/cwd means the workspace, as if haft had been started there.
    env::set_current_dir(stage.workspace())?;
    let spellings = match case.kind.as_str() {
        "verdict-bytes" => spellings(&stage.filled_bytes(&case.input)?),
        _ => vec![stage.filled(&case.input)],
    };
    let scene = Scene { haft, stage, context, rules: &case.rules, spellings };
    let answer = scene.judge(&case.kind);
    // The stage goes; nobody may stand on it.
    env::set_current_dir("/")?;
    answer
}

/// How a model could write a name that no JSON can hold: as haft shows it, or with what is no text left out.
fn spellings(path: &Path) -> Vec<String> {
    vec![shown(path).to_string(), path.to_string_lossy().into_owned()]
}

impl Scene<'_> {
    fn judge(&self, kind: &str) -> Result<Answer> {
        match kind {
            _ if !["Read", "Write", "Edit", "Glob", "Grep"].contains(&self.context.op.as_str()) => {
                Ok(Answer::skipped(format!("nobody has said what {} is given", self.context.op)))
            }
            "verdict" | "verdict-bytes" => self.verdict(),
            "containment" => self.containment(),
            "search" => self.search(),
            "bounded" => self.bounded(),
            other => Ok(Answer::skipped(format!("the kind `{other}` is not known"))),
        }
    }

    /// The most lenient verdict of all spellings.
    fn verdict(&self) -> Result<Answer> {
        let session = self.session(None)?;
        let mut verdicts = Vec::new();
        for spelling in &self.spellings {
            verdicts.push(match session.explain(&self.context.op, self.input(spelling)) {
                Ok(explained) => (explained.decision.verdict, explained.decision.reason()),
                Err(refused) if is_misunderstood(&refused) => {
                    return Ok(Answer::said("nothing", refused.text()));
                }
                Err(refused) => (Verdict::Deny, refused.text()),
            });
        }
        match verdicts.into_iter().min() {
            // What may run and must end soon is run: it may still be refused by what the file turns out to be.
            Some((Verdict::Allow, _)) if self.context.max_seconds.is_some() => self.bounded(),
            Some((verdict, why)) => Ok(Answer::said(verdict.to_string(), why)),
            None => bail!("a case without a path"),
        }
    }

    fn containment(&self) -> Result<Answer> {
        let swap = self.context.swap_after_check.clone().map(|swap| meanwhile(&self.context.op, swap));
        let session = self.session(swap)?;
        let before = contents(&self.context.must_not_change)?;
        let input = self.input(&self.spellings[0]);
        if self.context.op != "Read" {
            // Nobody changes what was not read; the attack must come further than that.
            session.call("Read", json!({ "file_path": self.spellings[0] }));
        }
        let result = session.call(&self.context.op, input);
        if is_misunderstood(&result) {
            return Ok(Answer::said("nothing", result.text()));
        }
        let after = contents(&self.context.must_not_change)?;
        let changed = before.keys().find(|path| before[*path] != after[*path]);
        Ok(match (changed, self.leak(&result.text())) {
            (Some(path), _) => Answer::Broke(format!("{} has changed", path.display())),
            (None, Some(leak)) => Answer::Broke(leak),
            (None, None) => Answer::said("contained", result.text()),
        })
    }

    /// In every form that a result can have.
    fn search(&self) -> Result<Answer> {
        let session = self.session(None)?;
        let plain = self.input(&self.spellings[0]);
        let inputs = match self.context.op.as_str() {
            "Grep" => ["content", "files_with_matches", "count"].map(|mode| with_mode(&plain, mode)).to_vec(),
            _ => vec![plain],
        };
        for input in inputs {
            let result = session.call(&self.context.op, input);
            match self.leak(&result.text()) {
                Some(leak) => return Ok(Answer::Broke(leak)),
                None if result.is_error() => return Ok(Answer::said("nothing", result.text())),
                None => {}
            }
        }
        Ok(Answer::said("filtered", ""))
    }

    /// As a process, within its limits.
    fn bounded(&self) -> Result<Answer> {
        let limit = self.context.max_seconds.unwrap_or(PATIENCE);
        let input = self.input(&self.spellings[0]).to_string();
        let mut words = vec!["call".to_owned(), self.context.op.clone(), input];
        for kind in ["allow", "ask", "deny"] {
            let rules = self.stage.filled_value(&self.rules[kind]);
            let rules = rules.as_array().into_iter().flatten().filter_map(Value::as_str);
            words.extend(rules.flat_map(|rule| [format!("--{kind}"), rule.to_owned()]));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let haft = self.haft.at(self.stage.home());
        let watched = watch(&mut haft.command(&self.stage.workspace(), &words), Duration::from_secs(limit))?;
        let megabytes = watched.peak_bytes >> 20;
        let Some(status) = watched.status else {
            return Ok(Answer::Broke(format!("it took more than {limit} s")));
        };
        if self.context.max_memory_mb.is_some_and(|most| megabytes > most) {
            return Ok(Answer::Broke(format!("it took {megabytes} MB")));
        }
        let why = format!("{status} after {:.1} s with {megabytes} MB", watched.wall.as_secs_f64());
        let word = if status.success() { "allow" } else { "deny" };
        Ok(Answer::said(word, why))
    }

    fn session(&self, meanwhile: Option<Meanwhile>) -> Result<Session> {
        Session::begin(&self.stage, self.rules, meanwhile)
    }

    /// What the tool is given.
    fn input(&self, path: &str) -> Value {
        match self.context.op.as_str() {
            "Write" => json!({ "file_path": path, "content": WRITTEN }),
            "Edit" => json!({ "file_path": path, "old_string": self.passage(path), "new_string": WRITTEN }),
            "Glob" => json!({ "pattern": path }),
            "Grep" => json!({ "pattern": self.context.pattern.as_deref().unwrap_or("."), "path": path }),
            _ => json!({ "file_path": path }),
        }
    }

    /// A passage that stands in the file, so that an edit comes as far as it can.
    fn passage(&self, path: &str) -> String {
        let text = fs::read_to_string(self.stage.workspace().join(path)).unwrap_or_default();
        text.lines().find(|line| !line.is_empty()).unwrap_or("x").to_owned()
    }

    /// What came back and must not.
    fn leak(&self, text: &str) -> Option<String> {
        let forbidden = self.context.must_not_return.iter().chain(&self.context.must_not_list);
        forbidden.into_iter().find(|one| text.contains(one.as_str())).map(|one| format!("`{one}` came back"))
    }
}

/// Whether haft did not get as far as to judge: such an answer is neither right nor wrong.
fn is_misunderstood(result: &ToolResult) -> bool {
    let kind = result.fault.map(|fault| fault.kind);
    matches!(kind, Some(FaultKind::UnknownTool | FaultKind::InvalidInput))
}

fn with_mode(input: &Value, mode: &str) -> Value {
    let mut input = input.clone();
    input["output_mode"] = mode.into();
    input
}

/// Swaps once the call of the tool has been permitted, not at the reading before.
fn meanwhile(op: &str, swap: Swap) -> Meanwhile {
    let op = op.to_owned();
    Arc::new(move |tool| {
        if tool == op {
            swap.happen().expect("the stage is ours to change");
        }
    })
}

impl Swap {
    fn happen(&self) -> Result<()> {
        match self {
            Swap::Replace { replace, with_symlink_to } => {
                fs::rename(replace, replace.with_extension("swapped"))?;
                symlink(with_symlink_to, replace)?;
            }
            Swap::Create { create_symlink, to } => symlink(to, create_symlink)?,
        }
        Ok(())
    }
}

/// What files hold.
fn contents(paths: &[PathBuf]) -> Result<BTreeMap<PathBuf, Option<Vec<u8>>>> {
    let content = |path: &PathBuf| match fs::read(path) {
        Ok(bytes) => Ok((path.clone(), Some(bytes))),
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok((path.clone(), None)),
        Err(err) => Err(err).with_context(|| path.display().to_string()),
    };
    paths.iter().map(content).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_swap_happens_after_the_check_and_before_the_use() {
        let stage = Stage::new().unwrap();
        fs::write(stage.filled("{OUT}/f.txt"), "outside").unwrap();
        let swap =
            json!({ "create_symlink": stage.filled("{WS}/new.txt"), "to": stage.filled("{OUT}/f.txt") });
        let swap = meanwhile("Write", serde_json::from_value(swap).unwrap());
        let session = Session::begin(&stage, &json!({ "allow": ["Edit(**)"] }), Some(swap)).unwrap();
        let read = session.call("Read", json!({ "file_path": "new.txt" }));
        assert!(read.is_error() && fs::symlink_metadata(stage.filled("{WS}/new.txt")).is_err());
        session.call("Write", json!({ "file_path": "new.txt", "content": "x" }));
        assert!(fs::symlink_metadata(stage.filled("{WS}/new.txt")).is_ok());
        assert_eq!(fs::read_to_string(stage.filled("{OUT}/f.txt")).unwrap(), "outside");
    }

    #[test]
    fn a_name_that_is_not_utf_8_has_two_spellings() {
        let path = Stage::new().unwrap().filled_bytes("ZGVlcC/+/y5rZXk=").unwrap();
        assert_eq!(spellings(&path), [r"deep/$'\xfe\xff.key'", "deep/\u{fffd}\u{fffd}.key"]);
    }
}
