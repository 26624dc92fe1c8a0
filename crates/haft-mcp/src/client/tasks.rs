//! Work that a server goes on with after it has answered: a task (the extension `io.modelcontextprotocol/tasks`).
//!
//! Who calls a tool wants its result. So an answer that is a task is followed here until there is one: the server is asked how
//! it goes, as often as it likes to be asked; what it wants to know meanwhile goes to the desk; a task that nobody waits for
//! any more is cancelled. Callers that want to follow a task themselves say so in their request's options, and none of this
//! concerns them. Tasks of the older era are made for who asks for one: see [`older_tasks`](super::older_tasks).

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout_at},
};

use super::{
    Connection, Desk, News, Refused,
    peer::{FOREVER, Terms},
    wishes::Question,
};
use crate::wire::{refused, repair};

/// The name of the extension among capabilities.
const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A server is asked no more often than this, and no less often than that, whatever it says.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How often a server is asked that does not say.
const USUAL_PAUSE: Duration = Duration::from_secs(1);

/// How long a server has to hear that nobody waits any more.
const GOODBYE: Duration = Duration::from_secs(10);

/// The most that a task may want to know, all in all.
const MOST_WISHES: usize = 64;
/// The longest id in bytes: it is sent with each question, and over HTTP in a header.
const LONGEST_ID: usize = 4 << 10;
/// As much of what a task says of itself is told on, in characters.
const LONGEST_WORDS: usize = 300;

/// Whether a client or a server that has these capabilities knows tasks.
pub(crate) fn knows_tasks(capabilities: &Map<String, Value>) -> bool {
    capabilities.get("extensions").and_then(|all| all.get(EXTENSION)).is_some_and(|own| !own.is_null())
}

/// Adds to a client's capabilities that it knows tasks.
pub(super) fn declare(capabilities: &mut Map<String, Value>) {
    let extensions = capabilities.entry("extensions").or_insert_with(|| json!({}));
    if !extensions.is_object() {
        *extensions = json!({});
    }
    extensions[EXTENSION] = json!({});
}

/// Whether an answer is a task instead of a result.
pub(super) fn is_task(answer: &Value) -> bool {
    answer.get("resultType").is_some_and(|kind| kind == "task")
}

/// On whose behalf a task is followed.
pub(super) struct Caller<'a> {
    /// Answers what the task wants to know, and hears how it goes.
    pub(super) desk: Arc<dyn Desk>,
    /// How each question about it is asked.
    pub(super) terms: Terms,
    /// When the request was made: its time counts from there.
    pub(super) began: Instant,
    /// What the request was made with: the same `_meta` goes with the questions.
    pub(super) params: &'a Map<String, Value>,
}

/// The result of the task that `answer` is. Dropped, or when the time of the request is over, the task is cancelled.
pub(super) async fn followed(
    connection: &Connection,
    answer: &Value,
    caller: Caller<'_>,
) -> Result<Value, Refused> {
    let total = caller.terms.total.min(FOREVER);
    let deadline = caller.began + total;
    let caller = Caller { terms: Terms { declares_tasks: true, ..caller.terms }, ..caller };
    let mut following = Following::begin(connection, answer, caller)?;
    match timeout_at(deadline, following.result(answer)).await {
        Ok(ended) => ended,
        Err(_) => Err(following.takes_too_long(total)),
    }
}

/// A task that somebody waits for.
pub(super) struct Following {
    pub(super) connection: Connection,
    desk: Arc<dyn Desk>,
    pub(super) terms: Terms,
    /// What each question about the task is asked with: its id.
    pub(super) params: Map<String, Value>,
    pub(super) began: Instant,
    /// The names of the wishes that were answered. A server may show them until it has got to the answers.
    answered: HashSet<String>,
    /// What it last said of itself, and how often that was something new.
    said: String,
    steps: u64,
    /// Whether the server has ended it.
    pub(super) is_over: bool,
}

impl Following {
    pub(super) fn begin(
        connection: &Connection,
        answer: &Value,
        caller: Caller<'_>,
    ) -> Result<Following, Refused> {
        let id = answer.get("taskId").and_then(Value::as_str);
        let id = id.filter(|id| !id.is_empty() && id.len() <= LONGEST_ID).ok_or_else(|| {
            unfinished(&format!(
                "the answer is a task whose `taskId` is not a text of at most {LONGEST_ID} bytes"
            ))
        })?;
        let mut params = Map::from_iter([("taskId".to_owned(), id.into())]);
        params.extend(caller.params.get("_meta").map(|meta| ("_meta".to_owned(), meta.clone())));
        Ok(Following {
            connection: connection.clone(),
            desk: caller.desk,
            terms: caller.terms,
            params,
            began: Instant::now(),
            answered: HashSet::new(),
            said: String::new(),
            steps: 0,
            is_over: false,
        })
    }

    async fn result(&mut self, answer: &Value) -> Result<Value, Refused> {
        let mut pace = Pace::default();
        pace.hear(answer);
        self.report(answer);
        if answer.get("status").is_none_or(|status| status == "working") {
            sleep(pace.pause(self.began.elapsed())).await;
        }
        loop {
            let (seen, stage) = self.ask_twice("tasks/get", &self.params, &pace, read).await?;
            pace.hear(&seen);
            self.report(&seen);
            match stage {
                Stage::Works => {}
                Stage::Asks => self.answer(&seen, &pace).await?,
                Stage::Ended(ended) => {
                    self.is_over = true;
                    return ended;
                }
            }
            sleep(pace.pause(self.began.elapsed())).await;
        }
    }

    /// Asks, and asks once more if that fails: one lost answer is no reason to lose the result of long work.
    pub(super) async fn ask_twice<T>(
        &self,
        method: &str,
        params: &Map<String, Value>,
        pace: &Pace,
        read: impl Fn(Value) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let first = self.connection.ask(method, params, &self.terms).await.and_then(&read);
        let Err(why) = first else { return first };
        if self.connection.is_closed() {
            // Without what it says of this question, which may never have left: the call itself has.
            return Err(Refused::new(Refused::GONE, why.message));
        }
        sleep(pace.pause(self.began.elapsed())).await;
        let second = self.connection.ask(method, params, &self.terms).await.and_then(&read);
        second.map_err(|why| unfinished(&format!("{method} failed twice: {}", why.message)))
    }

    /// Answers what the task wants to know and was not told yet.
    async fn answer(&mut self, seen: &Value, pace: &Pace) -> Result<(), Refused> {
        let Some(question) = Question::of_task(seen, &self.answered) else { return Ok(()) };
        self.answered.extend(question.names().map(str::to_owned));
        if self.answered.len() > MOST_WISHES {
            let why = format!("a task wants to know more than {MOST_WISHES} things");
            return Err(Refused::new(Refused::UNREADABLE, why));
        }
        let params = question.answered(&*self.desk, self.params.clone()).await?;
        self.ask_twice("tasks/update", &params, pace, |_| Ok(())).await
    }

    /// Tells the desk what the task says of itself, if that is new.
    pub(super) fn report(&mut self, seen: &Value) {
        let words = words(seen);
        if words.is_empty() || words == self.said {
            return;
        }
        self.steps += 1;
        self.said = words;
        let mut params = Map::from_iter([
            ("progress".to_owned(), self.steps.into()),
            ("message".to_owned(), self.said.as_str().into()),
        ]);
        let token = self.params.get("_meta").and_then(|meta| meta.get("progressToken"));
        params.extend(token.map(|token| ("progressToken".to_owned(), token.clone())));
        self.desk.hear(News { method: "notifications/progress".to_owned(), params });
    }

    pub(super) fn takes_too_long(&self, total: Duration) -> Refused {
        let last =
            if self.said.is_empty() { String::new() } else { format!("; it last said: {}", self.said) };
        let why = format!("its task had no result within {} s{last}", total.as_secs_f32().ceil());
        Refused::new(Refused::TIMED_OUT, why)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let Some(runtime) = Handle::try_current().ok().filter(|_| !self.is_over) else { return };
        let (connection, params) = (self.connection.clone(), std::mem::take(&mut self.params));
        // Not the desk of the request, which is over: nobody is to be asked or told anything for it.
        let terms = Terms { declares_tasks: self.terms.declares_tasks, ..Terms::within(GOODBYE) };
        runtime.spawn(async move {
            // Servers need not be able to cancel, and whether this one can changes nothing here.
            let _ = connection.ask("tasks/cancel", &params, &terms).await;
        });
    }
}

/// How often a server wants to be asked, and how long it remembers the task.
pub(super) struct Pace {
    pause: Duration,
    kept: Option<Duration>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { pause: USUAL_PAUSE, kept: None }
    }
}

impl Pace {
    /// Both may change from answer to answer, and have other names in the older era.
    pub(super) fn hear(&mut self, seen: &Value) {
        // A server that asks for no pause at all gets the shortest.
        let said = |key: &str, before: &str| millis(seen, key).or_else(|| millis(seen, before));
        self.pause = said("pollIntervalMs", "pollInterval").unwrap_or(self.pause);
        self.pause = self.pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        self.kept = said("ttlMs", "ttl");
    }

    /// Shorter towards the end of the server's memory: a result must not be forgotten while we pause.
    pub(super) fn pause(&self, age: Duration) -> Duration {
        let left = self.kept.map(|kept| kept.saturating_sub(age)).filter(|left| !left.is_zero());
        left.map_or(self.pause, |left| self.pause.min(left / 2).max(SHORTEST_PAUSE))
    }
}

fn millis(seen: &Value, key: &str) -> Option<Duration> {
    let figure = seen.get(key)?;
    let whole = figure.as_u64().or_else(|| figure.as_f64().map(|figure| figure.max(0.0) as u64));
    whole.map(Duration::from_millis)
}

/// How far a task is.
#[derive(Debug, PartialEq)]
enum Stage {
    Works,
    Asks,
    Ended(Result<Value, Refused>),
}

/// Reads what a server says about a task.
fn read(mut seen: Value) -> Result<(Value, Stage), Refused> {
    let stage = match seen.get("status").and_then(Value::as_str) {
        Some("working") => Stage::Works,
        Some("input_required") => Stage::Asks,
        Some("completed") => Stage::Ended(completed(seen["result"].take())),
        Some("failed") => Stage::Ended(Err(failed(&mut seen))),
        Some("cancelled") => Stage::Ended(Err(cancelled(&seen))),
        _ => return Err(Refused::new(Refused::UNREADABLE, unknown(&seen))),
    };
    Ok((seen, stage))
}

/// The result is read as if it had come at once. Another question or another task would have no end.
fn completed(result: Value) -> Result<Value, Refused> {
    let is_result = result.is_object() && result.get("resultType").is_none_or(|kind| kind == "complete");
    match is_result {
        true => repair::result("tools/call", result),
        false => {
            Err(Refused::new(Refused::UNREADABLE, "its task was completed, and `result` is not a result"))
        }
    }
}

fn failed(seen: &mut Value) -> Refused {
    match seen["error"].take() {
        Value::Null => refused(words(seen).into()),
        error => refused(error),
    }
}

pub(super) fn cancelled(seen: &Value) -> Refused {
    match words(seen).as_str() {
        "" => unfinished("the server cancelled its task"),
        words => unfinished(&format!("the server cancelled its task: {words}")),
    }
}

pub(super) fn unknown(seen: &Value) -> String {
    let status: String = seen["status"].to_string().chars().take(LONGEST_WORDS).collect();
    format!(
        "the status of its task is {status}; it should be working, input_required, completed, failed or cancelled"
    )
}

/// What a task says of itself, for people.
fn words(seen: &Value) -> String {
    let words = seen.get("statusMessage").and_then(Value::as_str).unwrap_or_default();
    words.trim().chars().take(LONGEST_WORDS).collect()
}

pub(super) fn unfinished(why: &str) -> Refused {
    Refused::new(Refused::UNFINISHED, format!("{why}; whether it was carried out is not known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_as_often_as_it_says_within_reason() {
        for (said, age, expected) in [
            (json!({}), 0, 1000),
            (json!({ "pollIntervalMs": 2500 }), 0, 2500),
            (json!({ "pollIntervalMs": 0 }), 0, 100),
            (json!({ "pollIntervalMs": -5.5 }), 0, 100),
            (json!({ "pollIntervalMs": 86_400_000 }), 0, 10_000),
            (json!({ "pollIntervalMs": "soon" }), 0, 1000),
            (json!({ "pollIntervalMs": 8000, "ttlMs": null }), 0, 8000),
            (json!({ "pollIntervalMs": 8000, "ttlMs": 6000 }), 2000, 2000),
            (json!({ "pollIntervalMs": 8000, "ttlMs": 6000 }), 5999, 100),
            (json!({ "pollIntervalMs": 8000, "ttlMs": 6000 }), 9000, 8000),
            (json!({ "pollInterval": 8000, "ttl": 6000 }), 2000, 2000),
        ] {
            let mut pace = Pace::default();
            pace.hear(&said);
            let pause = pace.pause(Duration::from_millis(age));
            assert_eq!(pause, Duration::from_millis(expected), "{said} after {age} ms");
        }
    }

    #[track_caller]
    fn check(seen: Value, expected: Result<Stage, i64>) {
        let stage = read(seen.clone()).map(|(_, stage)| stage).map_err(|refused| refused.code);
        assert_eq!(stage, expected, "{seen}");
    }

    #[test]
    fn every_status_is_a_stage_and_anything_else_is_not_understood() {
        check(json!({ "status": "working" }), Ok(Stage::Works));
        check(json!({ "status": "input_required" }), Ok(Stage::Asks));
        let result = json!({ "content": [] });
        check(json!({ "status": "completed", "result": result }), Ok(Stage::Ended(Ok(result))));
        let refused = Refused::new(-7, "no");
        check(
            json!({ "status": "failed", "error": { "code": -7, "message": "no" } }),
            Ok(Stage::Ended(Err(refused))),
        );
        for odd in [json!({}), json!([]), json!(7), json!({ "status": "done" }), json!({ "status": 7 })] {
            check(odd, Err(Refused::UNREADABLE));
        }
    }

    #[test]
    fn a_completed_task_that_holds_no_result_is_not_understood() {
        for result in [json!(null), json!("x"), json!({ "resultType": "task", "taskId": "another" })] {
            assert_eq!(completed(result).map_err(|refused| refused.code), Err(Refused::UNREADABLE));
        }
    }

    #[test]
    fn the_extension_is_declared_beside_others() {
        for (before, after) in [
            (json!({}), json!({ "extensions": { EXTENSION: {} } })),
            (json!({ "extensions": { "x": 1 } }), json!({ "extensions": { "x": 1, EXTENSION: {} } })),
            (json!({ "extensions": null }), json!({ "extensions": { EXTENSION: {} } })),
        ] {
            let mut capabilities = before.as_object().cloned().expect("an object");
            assert!(!knows_tasks(&capabilities));
            declare(&mut capabilities);
            assert!(knows_tasks(&capabilities));
            assert_eq!(Value::Object(capabilities), after);
        }
    }
}
