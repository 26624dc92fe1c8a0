//! What the settings say: which command runs when, and for what.
//!
//! The shape is the one that people have: `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command":
//! "…"}]}]}`. A hook may also stand in its group directly, which reads better in TOML. Everything wrong is told at once,
//! with its place; whoever reads the settings says whether that is an error or a remark.

use std::{fmt, time::Duration};

use haft_engine::policy::Rule;
use haft_schema::nearest;
use serde_json::{Map, Value};

use crate::{event::Event, matcher::Matcher};

/// All hooks of some settings.
#[derive(Debug, Clone, Default)]
pub struct Config {
    hooks: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    event: Event,
    written: String,
    matcher: Matcher,
    handler: Handler,
}

/// One command and how it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// The command line, for bash.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether nobody waits for it. Its answer is not heard then.
    pub in_background: bool,
    /// A rule, such as `Bash(git push:*)`: it runs only for calls of which some part is what the rule speaks of.
    pub only_if: Option<String>,
    /// What it means for a call if it cannot answer.
    pub on_failure: OnFailure,
    /// Whether it runs confined: it reads everything, changes the workspace, and reaches nobody.
    pub sandbox: bool,
}

/// What it means if a hook that could block does not come to an answer: it takes too long, breaks, or says what nobody
/// understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// The call goes on, and the person is told.
    #[default]
    GoOn,
    /// The call is blocked.
    Block,
}

/// A hook, as people list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<'a> {
    /// When it runs.
    pub event: Event,
    /// For what, as it was written; empty is everything.
    pub matcher: &'a str,
    /// What runs.
    pub handler: &'a Handler,
}

/// Something in the settings that cannot be used. The rest can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key below `hooks` in which it is.
    pub event: String,
    /// The place and what is wrong: `hooks.PreToolUse[0].matcher: …`.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// How long a hook may take that says nothing else, and how long any.
const USUAL_TIME: Duration = Duration::from_secs(60);
const MOST_TIME: Duration = Duration::from_secs(24 * 3600);

const GROUP_KEYS: [&str; 2] = ["matcher", "hooks"];
/// The last three are of the convention and mean nothing here.
const HANDLER_KEYS: [&str; 14] = [
    "type",
    "command",
    "args",
    "timeout",
    "timeout_s",
    "async",
    "if",
    "on_failure",
    "sandbox",
    "shell",
    "description",
    "statusMessage",
    "once",
    "asyncRewake",
];

impl Config {
    /// Reads the `hooks` object of a settings file, and says what in it cannot be used.
    pub fn read(hooks: &Value) -> (Config, Vec<Problem>) {
        let mut reader =
            Reader { on_failure: OnFailure::default(), config: Config::default(), problems: Vec::new() };
        match hooks.as_object() {
            Some(events) => reader.events(events),
            None => reader.wrong("", "hooks", "it must be a table of events"),
        }
        (reader.config, reader.problems)
    }

    /// These, and then others.
    pub fn and(mut self, mut others: Config) -> Config {
        self.hooks.append(&mut others.hooks);
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// All of them, in the order in which they were written.
    pub fn list(&self) -> impl Iterator<Item = Listed<'_>> {
        self.hooks.iter().map(|entry| Listed {
            event: entry.event,
            matcher: &entry.written,
            handler: &entry.handler,
        })
    }

    pub(crate) fn has(&self, event: Event) -> bool {
        self.hooks.iter().any(|entry| entry.event == event)
    }

    /// Those for an event and one of these names, each command once.
    pub(crate) fn matching(&self, event: Event, names: &[&str]) -> Vec<&Handler> {
        let mut found: Vec<&Handler> = Vec::new();
        for entry in self.hooks.iter().filter(|entry| entry.event == event) {
            let is_for = names.is_empty() || entry.matcher.matches(names.iter().copied());
            if is_for && !found.iter().any(|one| one.does_the_same_as(&entry.handler)) {
                found.push(&entry.handler);
            }
        }
        found
    }
}

impl Handler {
    /// Whether it would only do once more what the other does: who waits how long is no difference.
    fn does_the_same_as(&self, other: &Handler) -> bool {
        let key = |one: &Handler| (one.on_failure, one.sandbox, one.in_background);
        self.command == other.command && self.only_if == other.only_if && key(self) == key(other)
    }
}

struct Reader {
    on_failure: OnFailure,
    config: Config,
    problems: Vec<Problem>,
}

impl Reader {
    fn events(&mut self, events: &Map<String, Value>) {
        if let Some(value) = events.get("on_failure") {
            self.on_failure = self.failure("on_failure", "hooks", value).unwrap_or_default();
        }
        for (name, groups) in events.iter().filter(|(name, _)| *name != "on_failure") {
            let place = format!("hooks.{name}");
            match (Event::named(name), groups.as_array()) {
                (None, _) => self.wrong(name, &place, unknown_event(name)),
                (_, None) => self.wrong(name, &place, "it must be a list of hooks"),
                (Some(event), Some(groups)) => {
                    for (at, group) in groups.iter().enumerate() {
                        self.group(event, &format!("{place}[{at}]"), group);
                    }
                }
            }
        }
    }

    fn group(&mut self, event: Event, place: &str, group: &Value) {
        let Some(group) = group.as_object() else {
            return self.wrong(
                event.name(),
                place,
                "it must be a table with `matcher` and `command` or `hooks`",
            );
        };
        let written = match group.get("matcher") {
            None => "",
            Some(Value::String(text)) => text,
            Some(_) => return self.wrong(event.name(), &format!("{place}.matcher"), "it must be a text"),
        };
        let matcher = match Matcher::new(written) {
            Ok(matcher) => matcher,
            Err(what) => return self.wrong(event.name(), &format!("{place}.matcher"), what),
        };
        let handlers = match group.get("hooks") {
            None => vec![(place.to_owned(), group)],
            Some(hooks) => match self.listed(event, place, group, hooks) {
                Some(listed) => listed,
                None => return,
            },
        };
        for (place, handler) in handlers {
            if let Some(handler) = self.handler(event, &place, handler) {
                let (written, matcher) = (written.to_owned(), matcher.clone());
                self.config.hooks.push(Entry { event, written, matcher, handler });
            }
        }
    }

    fn listed<'v>(
        &mut self,
        event: Event,
        place: &str,
        group: &Map<String, Value>,
        hooks: &'v Value,
    ) -> Option<Vec<(String, &'v Map<String, Value>)>> {
        self.check_keys(event, place, group, &GROUP_KEYS);
        let place = format!("{place}.hooks");
        let Some(hooks) = hooks.as_array() else {
            self.wrong(event.name(), &place, "it must be a list");
            return None;
        };
        let mut found = Vec::new();
        for (at, hook) in hooks.iter().enumerate() {
            let place = format!("{place}[{at}]");
            match hook.as_object() {
                Some(hook) => found.push((place, hook)),
                None => self.wrong(event.name(), &place, "it must be a table with `command`"),
            }
        }
        Some(found)
    }

    fn handler(&mut self, event: Event, place: &str, written: &Map<String, Value>) -> Option<Handler> {
        if let Some(kind) = written.get("type").filter(|kind| *kind != "command") {
            self.wrong(
                event.name(),
                place,
                format!("hooks of the type {kind} do not run here; only commands do"),
            );
            return None;
        }
        let known: Vec<&str> = HANDLER_KEYS.iter().chain(&GROUP_KEYS).copied().collect();
        self.check_keys(event, place, written, &known);
        let shell = written.get("shell").and_then(Value::as_str).unwrap_or("bash");
        if !["bash", "sh"].contains(&shell) {
            self.wrong(event.name(), place, format!("there is no shell `{shell}` for hooks; there is bash"));
            return None;
        }
        Some(Handler {
            command: self.command(event, place, written)?,
            timeout: self.timeout(event, place, written)?,
            in_background: self.flag(event, place, written, "async")?,
            only_if: self.condition(event, place, written)?,
            on_failure: match written.get("on_failure") {
                Some(value) => self.failure(event.name(), place, value)?,
                None => self.on_failure,
            },
            sandbox: self.flag(event, place, written, "sandbox")?,
        })
    }

    fn command(&mut self, event: Event, place: &str, written: &Map<String, Value>) -> Option<String> {
        let command = written.get("command").and_then(Value::as_str).map(str::trim);
        let Some(command) = command.filter(|command| !command.is_empty()) else {
            self.wrong(event.name(), place, "it has no `command`");
            return None;
        };
        let Some(arguments) = written.get("args") else { return Some(command.to_owned()) };
        let arguments: Option<Vec<&str>> =
            arguments.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
        let Some(arguments) = arguments else {
            self.wrong(event.name(), &format!("{place}.args"), "it must be a list of texts");
            return None;
        };
        Some([command].into_iter().chain(arguments).map(quoted).collect::<Vec<_>>().join(" "))
    }

    fn timeout(&mut self, event: Event, place: &str, written: &Map<String, Value>) -> Option<Duration> {
        let Some(value) = written.get("timeout").or(written.get("timeout_s")) else {
            return Some(USUAL_TIME);
        };
        let seconds = value.as_f64().filter(|seconds| *seconds > 0.0).map(Duration::try_from_secs_f64);
        match seconds {
            Some(Ok(time)) => Some(time.min(MOST_TIME)),
            _ => {
                self.wrong(
                    event.name(),
                    &format!("{place}.timeout"),
                    "it must be a number of seconds above 0",
                );
                None
            }
        }
    }

    fn condition(
        &mut self,
        event: Event,
        place: &str,
        written: &Map<String, Value>,
    ) -> Option<Option<String>> {
        let place = format!("{place}.if");
        match written.get("if") {
            None => Some(None),
            Some(_) if !event.is_of_a_call() => {
                self.wrong(event.name(), &place, "it is for events that are about a call");
                None
            }
            Some(Value::String(rule)) => match rule.parse::<Rule>() {
                Ok(_) => Some(Some(rule.clone())),
                Err(err) => {
                    self.wrong(event.name(), &place, err);
                    None
                }
            },
            Some(_) => {
                self.wrong(event.name(), &place, "it must be a rule, such as `Bash(git push:*)`");
                None
            }
        }
    }

    fn flag(&mut self, event: Event, place: &str, written: &Map<String, Value>, name: &str) -> Option<bool> {
        match written.get(name) {
            None => Some(false),
            Some(Value::Bool(flag)) => Some(*flag),
            Some(_) => {
                self.wrong(event.name(), &format!("{place}.{name}"), "it must be true or false");
                None
            }
        }
    }

    fn failure(&mut self, event: &str, place: &str, value: &Value) -> Option<OnFailure> {
        match value.as_str() {
            Some("go_on") => Some(OnFailure::GoOn),
            Some("block") => Some(OnFailure::Block),
            _ => {
                self.wrong(event, &format!("{place}.on_failure"), "it must be \"go_on\" or \"block\"");
                None
            }
        }
    }

    fn check_keys(&mut self, event: Event, place: &str, written: &Map<String, Value>, known: &[&str]) {
        for key in written.keys().filter(|key| !known.contains(&key.as_str())) {
            let advice = match nearest(key, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", known.join(", ")),
            };
            self.wrong(event.name(), place, format!("there is no setting `{key}`; {advice}"));
        }
    }

    fn wrong(&mut self, event: &str, place: &str, what: impl fmt::Display) {
        self.problems.push(Problem { event: event.to_owned(), message: format!("{place}: {what}") });
    }
}

fn unknown_event(name: &str) -> String {
    let names = Event::ALL.map(Event::name);
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("there is no such event; did you mean `{near}`?"),
        None => format!("there is no such event; there are {}", names.join(", ")),
    }
}

/// A word that bash takes as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(hooks: Value) -> Config {
        let (config, problems) = Config::read(&hooks);
        assert_eq!(problems, []);
        config
    }

    #[track_caller]
    fn check_problem(hooks: Value, expected: &str) {
        let (_, problems) = Config::read(&hooks);
        assert_eq!(problems.iter().map(Problem::to_string).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn both_shapes_say_the_same() {
        let usual = json!({ "PreToolUse": [{ "matcher": "Edit|Write", "hooks": [
            { "type": "command", "command": "check.sh", "timeout": 5 } ] }] });
        let short =
            json!({ "PreToolUse": [{ "matcher": "Edit|Write", "command": "check.sh", "timeout_s": 5 }] });
        let (usual, short) = (read(usual), read(short));
        assert_eq!(usual.list().collect::<Vec<_>>(), short.list().collect::<Vec<_>>());
        assert_eq!(usual.matching(Event::PreToolUse, &["Write"])[0].timeout, Duration::from_secs(5));
        assert!(usual.matching(Event::PreToolUse, &["Read"]).is_empty());
        assert!(usual.matching(Event::PostToolUse, &["Write"]).is_empty());
    }

    #[test]
    fn a_command_that_is_written_twice_runs_once() {
        let config = read(json!({ "PreToolUse": [
            { "matcher": "Edit", "command": "a" }, { "command": "a", "timeout": 5 }, { "command": "b" } ] }));
        let found = config.matching(Event::PreToolUse, &["Edit"]);
        assert_eq!(found.iter().map(|one| one.command.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn everything_can_be_said() {
        let config = read(json!({ "on_failure": "block", "PostToolUse": [{
            "matcher": "Bash", "command": "it's", "args": ["a b", "$x"], "async": true, "if": "Bash(git push:*)",
            "sandbox": true, "timeout": 1e9, "statusMessage": "…" }] }));
        let handler = config.list().next().unwrap().handler;
        assert_eq!(handler.command, r"'it'\''s' 'a b' '$x'");
        assert_eq!((handler.on_failure, handler.timeout), (OnFailure::Block, MOST_TIME));
        assert!(handler.in_background && handler.sandbox && handler.only_if.is_some());
    }

    #[test]
    fn mistakes_say_where_they_are_and_what_would_be_right() {
        check_problem(json!([]), "hooks: it must be a table of events");
        check_problem(
            json!({ "PreTolUse": [] }),
            "hooks.PreTolUse: there is no such event; did you mean `PreToolUse`?",
        );
        check_problem(json!({ "Stop": {} }), "hooks.Stop: it must be a list of hooks");
        check_problem(json!({ "Stop": [{}] }), "hooks.Stop[0]: it has no `command`");
        check_problem(
            json!({ "Stop": [{ "hooks": [{ "command": "a" }, { "comand": "b", "command": "c" }] }] }),
            "hooks.Stop[0].hooks[1]: there is no setting `comand`; did you mean `command`?",
        );
        check_problem(
            json!({ "Stop": [{ "type": "prompt", "prompt": "x" }] }),
            "hooks.Stop[0]: hooks of the type \"prompt\" do not run here; only commands do",
        );
        check_problem(
            json!({ "Stop": [{ "command": "x", "timeout": -1 }] }),
            "hooks.Stop[0].timeout: it must be a number of seconds above 0",
        );
        check_problem(
            json!({ "Stop": [{ "command": "x", "if": "Bash" }] }),
            "hooks.Stop[0].if: it is for events that are about a call",
        );
        check_problem(
            json!({ "on_failure": "explode" }),
            "hooks.on_failure: it must be \"go_on\" or \"block\"",
        );
        check_problem(
            json!({ "PreToolUse": [{ "matcher": "(", "command": "x" }] }),
            "hooks.PreToolUse[0].matcher: `(` is neither names nor a regular expression: unclosed group",
        );
    }

    #[test]
    fn what_is_wrong_in_one_place_leaves_the_rest() {
        let (config, problems) =
            Config::read(&json!({ "Setup": [{ "command": "x" }], "Stop": [{ "command": "y" }] }));
        assert_eq!((config.list().count(), problems.len()), (1, 1));
    }
}
