//! `haft explain`: what would be decided about a call, and why, without making it.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use haft_engine::{
    Call, Engine, Session, SessionOptions,
    policy::{ByEffects, Judgement, Mode, Origin, Rules, Verdict, Written},
    result::ToolResult,
    session::Explanation,
    turn::Arguments,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::{
    draw::{Paint, plain, plain_line},
    exit::{Exit, usage},
    lines::next_line,
    out::{self, Out},
    setup::{self, Setup},
};

/// What can be typed after `haft explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The tool
    #[arg(required_unless_present = "batch", conflicts_with = "batch")]
    tool: Option<String>,
    /// Its input; without it, no arguments
    #[arg(value_name = "JSON", conflicts_with = "batch")]
    input: Option<String>,
    /// Read questions, a line of JSON each ({"id","tool","input"} and perhaps "cwd", "home", "mode", "rules", "agent",
    /// "role", "model"), from this file or stdin (`-`); print as many lines with answers
    #[arg(long, value_name = "FILE")]
    batch: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  haft explain Read '{\"file_path\":\"/etc/passwd\"}'
  haft explain Read '{\"file_path\":\".env\"}' --deny 'Read(**/.env)' --json
  haft explain --batch questions.jsonl > answers.jsonl";

pub(crate) fn run(setup: &Setup, args: Args) -> anyhow::Result<Exit> {
    let judge = Judge::new(setup)?;
    let mut out = Out::stdout();
    match (args.batch, args.tool) {
        (Some(file), _) => batch(judge, &file, &mut out)?,
        (None, tool) => {
            let input = Arguments::Text(args.input.unwrap_or_else(|| "{}".to_owned()));
            let session = judge.begin(judge.options.clone())?;
            let judged = judge.judge(&session, Call::new("call_1", tool.unwrap_or_default(), input));
            if setup.options.json {
                out.json(&judged.json())?
            } else {
                out.lines(&judged.text(Paint::stdout()))?
            }
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// What would be decided about a call in a session that runs, for people.
#[cfg(feature = "tui")]
pub(crate) async fn words(setup: &Setup, session: &Session, tool: &str, input: &str) -> String {
    let call = Call::new("call_1", tool, Arguments::Text(input.to_owned()));
    let explained = session.explain_with(call, Some(&setup.classifier())).await;
    Judged::of(explained, session.mode()).text(Paint::default())
}

/// Answers questions about calls.
struct Judge {
    engine: Engine,
    options: SessionOptions,
    /// Who would judge in mode auto.
    classifier: ByEffects,
    runtime: Runtime,
}

/// What would become of a call.
enum Judged {
    /// It was understood, and this was decided, in this mode.
    Decided(Box<Explanation>, Mode),
    /// It would not come so far.
    Refused(Box<ToolResult>),
}

impl Judge {
    fn new(setup: &Setup) -> anyhow::Result<Judge> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let (engine, options) = (setup.idle_engine()?, setup.session_options());
        Ok(Judge { engine, options, classifier: setup.classifier(), runtime })
    }

    fn begin(&self, options: SessionOptions) -> anyhow::Result<Session> {
        setup::begin(&self.engine, options)
    }

    fn judge(&self, session: &Session, call: Call) -> Judged {
        let explained = self.runtime.block_on(session.explain_with(call, Some(&self.classifier)));
        Judged::of(explained, session.mode())
    }
}

impl Judged {
    fn of(explained: Result<Explanation, Box<ToolResult>>, mode: Mode) -> Judged {
        match explained {
            Ok(explanation) => Judged::Decided(Box::new(explanation), mode),
            Err(refused) => Judged::Refused(refused),
        }
    }

    fn reason(&self) -> String {
        match self {
            Judged::Decided(explained, _) => explained.decision.reason(),
            Judged::Refused(refused) => format!("deny: {}", refused.text()),
        }
    }

    /// The answer to a question of a batch.
    fn answer(&self, id: Value) -> Value {
        match self {
            Judged::Decided(explained, mode) => {
                let mut answer = json!({
                    "id": id,
                    "verdict": explained.decision.verdict,
                    "class": explained.decision.trace.class(),
                    "reason": explained.decision.reason(),
                    "trace": explained.decision.trace,
                    "tool": explained.tool,
                    "effects": explained.effects,
                });
                if *mode == Mode::Auto {
                    answer["classifier"] = explained.judged.as_ref().map_or(Value::Null, judgement);
                }
                answer
            }
            Judged::Refused(refused) => {
                let mut answer = denied(id, Value::Null, &self.reason());
                answer["tool"] = refused.tool.as_str().into();
                answer["fault"] = json!(refused.fault);
                answer
            }
        }
    }

    fn json(&self) -> Value {
        let mut answer = self.answer(Value::Null);
        if let Value::Object(answer) = &mut answer {
            answer.shift_remove("id");
        }
        if let Judged::Decided(explained, _) = self {
            answer["description"] = explained.description.as_str().into();
            answer["input"] = explained.input.clone();
            if let Some(rule) = &explained.unsandboxed_by {
                answer["unsandboxed_by"] = rule.as_str().into();
            }
            if let Some(why) = &explained.hidden {
                answer["hidden"] = why.as_str().into();
            }
        }
        answer
    }

    fn text(&self, paint: Paint) -> String {
        let Judged::Decided(explained, mode) = self else {
            return plain(self.reason());
        };
        let Explanation { tool, hidden, description, effects, decision, .. } = &**explained;
        let heading = paint.style(Paint::STRONG, &plain(format!("{tool}: {description}")));
        let hidden = hidden.as_ref().map(|why| format!("  {}\n", plain(why.clone()))).unwrap_or_default();
        let effects = plain(effects.to_string());
        let place = match &explained.unsandboxed_by {
            Some(rule) => format!("\n  {:<16} it runs outside the sandbox ({rule})", "sandbox"),
            None => String::new(),
        };
        let classifier = match (&explained.judged, decision.verdict) {
            (Some(Judgement { verdict, words, by }), _) => {
                format!("\n  {:<16} {verdict}, says the one {by}: {words}", "classifier")
            }
            (None, Verdict::Ask) if *mode == Mode::Auto => {
                format!("\n  {:<16} it is not asked about this: a person is", "classifier")
            }
            _ => String::new(),
        };
        let trace = decision.trace.explain() + &place + &classifier;
        format!("{heading}\n{hidden}  effects    {effects}\n{}", plain(trace))
    }
}

/// What a classifier would say.
fn judgement(Judgement { verdict, words, by }: &Judgement) -> Value {
    json!({ "verdict": verdict, "reason": words, "by": by })
}

fn denied(id: Value, class: Value, reason: &str) -> Value {
    json!({ "id": id, "verdict": "deny", "class": class, "reason": reason, "trace": null })
}

/// A question of a batch.
#[derive(Deserialize)]
struct Question {
    tool: String,
    #[serde(default = "no_arguments")]
    input: Value,
    #[serde(flatten)]
    place: Where,
}

/// Under which circumstances.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
struct Where {
    cwd: Option<PathBuf>,
    home: Option<PathBuf>,
    mode: Option<Mode>,
    agent: Option<String>,
    model: Option<String>,
    #[serde(default, alias = "roles")]
    role: Option<Roles>,
    #[serde(default)]
    rules: LineRules,
}

/// One role, or several.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(untagged)]
enum Roles {
    One(String),
    Many(Vec<String>),
}

impl Roles {
    fn all(&self) -> Vec<String> {
        match self {
            Roles::One(role) => vec![role.clone()],
            Roles::Many(roles) => roles.clone(),
        }
    }
}

/// What a line may say.
const KEYS: [&str; 11] =
    ["id", "tool", "input", "cwd", "home", "mode", "rules", "agent", "role", "roles", "model"];
/// What tells people, or tests, about a line, and nothing about the call.
const NOTES: [&str; 8] = ["group", "kind", "context", "expect", "accept", "why", "note", "comment"];
/// What would make a difference if it were heard: an answer without it would be laxer than was meant.
const MATTERS: [&str; 14] = [
    "cwd",
    "home",
    "mode",
    "rule",
    "agent",
    "role",
    "model",
    "allow",
    "ask",
    "deny",
    "permission",
    "permissionmode",
    "workspace",
    "caller",
];

/// A key of a line that is not understood.
enum Unheard<'a> {
    /// The line is not answered as if it were not there.
    Matters(&'a str),
    Odd(&'a str),
}

fn unheard(line: &Value) -> impl Iterator<Item = Unheard<'_>> {
    let keys = line.as_object().into_iter().flat_map(|line| line.keys().map(String::as_str));
    keys.filter(|key| !KEYS.contains(key) && !NOTES.contains(key)).map(|key| {
        let plain: String = key.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        match MATTERS.contains(&plain.trim_end_matches('s')) {
            true => Unheard::Matters(key),
            false => Unheard::Odd(key),
        }
    })
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LineRules {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

fn no_arguments() -> Value {
    json!({})
}

/// Sessions that are kept for the next lines: mostly they ask about the same place.
const MOST_SESSIONS: usize = 64;

fn batch(judge: Judge, file: &Path, out: &mut Out) -> anyhow::Result<()> {
    let from: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(|err| usage(format!("--batch {}: {err}", file.display())))?)
    };
    let mut lines = BufReader::with_capacity(64 * 1024, from);
    let mut clerk = Clerk { judge, sessions: HashMap::new(), remarked: HashSet::new() };
    let mut line = Vec::new();
    let mut number = 0;
    while !out.is_closed() && next_line(&mut lines, &mut line)? {
        number += 1;
        out.json(&clerk.answer(number, &line))?;
        if lines.buffer().is_empty() {
            // Whoever asks may wait for this answer before asking on.
            out.flush()?;
        }
    }
    Ok(())
}

/// Answers line after line, each as if it were the only one.
struct Clerk {
    judge: Judge,
    sessions: HashMap<Where, Session>,
    /// The keys that the person was told of: once is enough.
    remarked: HashSet<String>,
}

impl Clerk {
    fn answer(&mut self, number: usize, line: &[u8]) -> Value {
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(err) => {
                // Half a surrogate is no text, but what stands beside it can be read: the answer says whose it is.
                let read = std::str::from_utf8(line).ok().and_then(|text| haft_schema::parse(text).ok());
                let id = read.and_then(|value| value.get("id").cloned()).unwrap_or(Value::Null);
                let at = err.column();
                let problem = err.to_string();
                let problem = problem.split(" at line ").next().unwrap_or_default();
                return broken(id, &format!("line {number} is not JSON: {problem} (column {at})"));
            }
        };
        let id = value.get("id").cloned().unwrap_or(Value::Null);
        for key in unheard(&value) {
            match key {
                Unheard::Matters(key) => {
                    let known = KEYS.join(", ");
                    return broken(id, &format!("there is no `{key}` in a question; there are {known}"));
                }
                Unheard::Odd(key) if self.remarked.insert(key.to_owned()) => {
                    out::complain(&plain_line(format!("--batch: `{key}` is not known, and not heard")));
                }
                Unheard::Odd(_) => {}
            }
        }
        match Question::deserialize(&value) {
            Err(err) => broken(id, &format!("the line is not a question: {err}")),
            Ok(question) => self
                .judge(question)
                .map_or_else(|err| broken(id.clone(), &err.to_string()), |judged| judged.answer(id.clone())),
        }
    }

    fn judge(&mut self, Question { tool, input, place }: Question) -> anyhow::Result<Judged> {
        let session = self.session(&place)?;
        let judged = self.judge.judge(&session, Call::new("call", tool, input));
        if matches!(judged, Judged::Refused(_)) {
            // A session counts mistakes and speaks more plainly at the next; the next line is another model's.
            self.sessions.remove(&place);
        }
        Ok(judged)
    }

    fn session(&mut self, place: &Where) -> anyhow::Result<Session> {
        if let Some(session) = self.sessions.get(place) {
            return Ok(session.clone());
        }
        if self.sessions.len() >= MOST_SESSIONS {
            self.sessions.clear();
        }
        let session = self.judge.begin(self.options(place))?;
        self.sessions.insert(place.clone(), session.clone());
        Ok(session)
    }

    fn options(&self, place: &Where) -> SessionOptions {
        let usual = &self.judge.options;
        let mut options = match &place.cwd {
            // A relative path, here as everywhere, begins where we are.
            Some(cwd) => setup::elsewhere(usual, usual.cwd.as_ref().unwrap_or(&usual.workspace).join(cwd)),
            None => usual.clone(),
        };
        options.home = place.home.clone().or(options.home);
        options.mode = place.mode.unwrap_or(options.mode);
        options.agent = place.agent.clone().or(options.agent);
        options.model = place.model.clone().or(options.model);
        if let Some(roles) = &place.role {
            options.caller.roles = roles.all();
        }
        let rules = |rules: &[String]| Written::all(rules, Origin::Session);
        let LineRules { allow, ask, deny } = &place.rules;
        options.rules = options.rules.and(Rules { allow: rules(allow), ask: rules(ask), deny: rules(deny) });
        options
    }
}

fn broken(id: Value, error: &str) -> Value {
    let mut answer = denied(id, Value::Null, &format!("deny: {error}"));
    answer["error"] = error.into();
    answer
}
