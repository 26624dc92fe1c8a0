//! Tasks of the older era (2025-11-25): a tool may want to be called as one, and then can be called in no other way.
//!
//! The call asks for a task, and its answer is the task and nothing else. How it goes is asked for (`tasks/get`), as often as
//! the server likes; the result is fetched when there is one (`tasks/result`). A task that wants to know something asks by
//! requests of its own, which it sends to whoever waits for its result: so that is waited for while it asks, and how it goes
//! is looked at beside it.

use std::time::Duration;

use futures::{FutureExt, future::BoxFuture};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    Connection, Refused,
    later::RELATED_TASK,
    peer::{FOREVER, Terms},
    tasks::{Caller, Following, Pace, cancelled, unfinished, unknown},
};
use crate::wire::repair;

/// A task is asked to be remembered as long as its call may take, and no longer than this.
const LONGEST_KEPT: Duration = Duration::from_secs(24 * 3600);

/// Whether a server that has these capabilities takes calls of tools as tasks. A tool that wants to be called as one, of a
/// server that does not, is called as any other.
pub(super) fn takes_calls(capabilities: &Map<String, Value>) -> bool {
    let requests = capabilities.get("tasks").and_then(|tasks| tasks.get("requests"));
    requests.and_then(|requests| requests.pointer("/tools/call")).is_some_and(|call| !call.is_null())
}

/// Calls a tool as a task, and follows that to its result. Dropped, or when the time of the call is over, it is cancelled.
pub(super) async fn called(connection: &Connection, caller: Caller<'_>) -> Result<Value, Refused> {
    let total = caller.terms.total.min(FOREVER);
    let (began, desk) = (caller.began, caller.desk.clone());
    let mut asked = caller.params.clone();
    let kept = total.min(LONGEST_KEPT).as_millis() as u64;
    asked.insert("task".to_owned(), json!({ "ttl": kept }));
    let (number, answer) = connection.ask_numbered("tools/call", asked, &caller.terms).await?;
    let Some(task) = answer.get("task").filter(|task| task.is_object()) else {
        // It was carried out at once, as the protocol does not have it: that is its result all the same.
        return repair::result("tools/call", answer);
    };
    let token = caller.params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
    let mut following = Following::begin(connection, task, caller)?;
    let id = following.params["taskId"].as_str().unwrap_or_default().to_owned();
    let _heard = connection.later().follow(&id, number, token, desk);
    match timeout_at(began + total, following.older_result(task)).await {
        Ok(ended) => ended,
        Err(_) => Err(following.takes_too_long(total)),
    }
}

/// How far a task is.
#[derive(Debug, PartialEq)]
enum Stage {
    Works,
    /// It wants to know something, and asks whoever waits for its result.
    Asks,
    /// There is a result to be fetched, or a refusal.
    Ended,
    Cancelled(Refused),
}

fn read(seen: Value) -> Result<(Value, Stage), Refused> {
    let stage = match seen.get("status").and_then(Value::as_str) {
        // One that was just handed in is not at work yet, some servers say.
        Some("working" | "submitted") => Stage::Works,
        Some("input_required") => Stage::Asks,
        Some("completed" | "failed") => Stage::Ended,
        Some("cancelled") => Stage::Cancelled(cancelled(&seen)),
        _ => return Err(Refused::new(Refused::UNREADABLE, unknown(&seen))),
    };
    Ok((seen, stage))
}

impl Following {
    async fn older_result(&mut self, task: &Value) -> Result<Value, Refused> {
        let mut pace = Pace::default();
        pace.hear(task);
        self.report(task);
        // What it sends while it asks comes to who waits for the result.
        let mut waiting: Option<BoxFuture<'static, Result<Value, Refused>>> = None;
        let mut stage = read(task.clone()).map_or(Stage::Works, |(_, stage)| stage);
        loop {
            match stage {
                Stage::Cancelled(refused) => {
                    self.is_over = true;
                    return Err(refused);
                }
                Stage::Ended => return self.fetched(waiting, &pace).await,
                Stage::Asks if waiting.is_none() => waiting = Some(self.fetch_sometime()),
                Stage::Asks | Stage::Works => {}
            }
            let pause = sleep(pace.pause(self.began.elapsed()));
            match &mut waiting {
                None => pause.await,
                Some(result) => tokio::select! {
                    fetched = &mut *result => match fetched {
                        Ok(result) => return self.ended(result),
                        // Whether that is the end of the task, too, is for the task to say.
                        Err(_) => {
                            waiting = None;
                            sleep(pace.pause(self.began.elapsed())).await;
                        }
                    },
                    () = pause => {}
                },
            }
            let (seen, next) = self.ask_twice("tasks/get", &self.params, &pace, read).await?;
            pace.hear(&seen);
            self.report(&seen);
            stage = next;
        }
    }

    /// Waits for the result for as long as the task takes.
    fn fetch_sometime(&self) -> BoxFuture<'static, Result<Value, Refused>> {
        let (connection, params) = (self.connection.clone(), self.params.clone());
        let terms = Terms { idle: FOREVER, ..self.terms.clone() };
        async move { connection.ask("tasks/result", &params, &terms).await }.boxed()
    }

    /// The result of a task that has one. Who waits for it already gets it there: a server may give it once.
    async fn fetched(
        &mut self,
        waiting: Option<BoxFuture<'static, Result<Value, Refused>>>,
        pace: &Pace,
    ) -> Result<Value, Refused> {
        let in_time = Instant::now() + self.terms.idle.min(FOREVER);
        if let Some(waiting) = waiting
            && let Ok(Ok(result)) = timeout_at(in_time, waiting).await
        {
            return self.ended(result);
        }
        let first = self.connection.ask("tasks/result", &self.params, &self.terms).await;
        match first {
            Ok(result) => self.ended(result),
            // What the call would have been refused with, had it been no task. It is over either way.
            Err(refused) if !is_ours(&refused) => {
                self.is_over = true;
                Err(refused)
            }
            Err(refused) if self.connection.is_closed() => Err(Refused::new(Refused::GONE, refused.message)),
            Err(_) => {
                sleep(pace.pause(self.began.elapsed())).await;
                let second = self.connection.ask("tasks/result", &self.params, &self.terms).await;
                let lost = |refused: Refused| match is_ours(&refused) {
                    true => unfinished(&format!("tasks/result failed twice: {}", refused.message)),
                    false => refused,
                };
                self.ended(second.map_err(lost)?)
            }
        }
    }

    fn ended(&mut self, mut result: Value) -> Result<Value, Refused> {
        self.is_over = true;
        // Whose result it is was known here alone.
        if let Some(Value::Object(meta)) = result.get_mut("_meta") {
            meta.shift_remove(RELATED_TASK);
        }
        repair::result("tools/call", result)
    }
}

/// Whether the server said nothing at all.
fn is_ours(refused: &Refused) -> bool {
    matches!(refused.code, Refused::TIMED_OUT | Refused::GONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_a_stage_and_anything_else_is_not_understood() {
        let stage = |status: Value| read(json!({ "status": status })).map(|(_, stage)| stage);
        assert_eq!(stage(json!("working")), Ok(Stage::Works));
        assert_eq!(stage(json!("input_required")), Ok(Stage::Asks));
        assert_eq!(stage(json!("completed")), Ok(Stage::Ended));
        assert_eq!(stage(json!("failed")), Ok(Stage::Ended));
        assert!(matches!(stage(json!("cancelled")), Ok(Stage::Cancelled(_))));
        for odd in [json!("done"), json!(null), json!(7)] {
            assert_eq!(stage(odd).map_err(|refused| refused.code), Err(Refused::UNREADABLE));
        }
    }

    #[test]
    fn a_server_says_whether_it_takes_calls_as_tasks() {
        for (capabilities, expected) in [
            (json!({ "tasks": { "requests": { "tools": { "call": {} } } } }), true),
            (json!({ "tasks": { "requests": { "tools": {} } } }), false),
            (json!({ "tasks": { "list": {} } }), false),
            (json!({ "tasks": true }), false),
            (json!({}), false),
        ] {
            assert_eq!(takes_calls(capabilities.as_object().expect("an object")), expected, "{capabilities}");
        }
    }
}
