//! What comes for a request when its answer is long there: for a task of the older era, or from somebody who was sent away.
//!
//! The answer to such a request says only that more comes. Whoever waits for that is known here for as long as they wait, by
//! the server's own id of it, so that what comes finds the caller and not whoever happens to ask something else.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value};
use tokio::sync::watch;

use super::Desk;
use crate::wire::RequestId;

/// What a server says when somebody has done what they were sent away for.
pub(crate) const VISITED: &str = "notifications/elicitation/complete";
/// Where a message of the older era says to which task it belongs.
pub(super) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Who waits for what comes later.
#[derive(Default)]
pub(super) struct Later {
    tasks: Mutex<HashMap<String, Followed>>,
    visits: Mutex<HashMap<String, watch::Sender<bool>>>,
}

/// A call whose answer was a task.
struct Followed {
    /// The number of the call, which is the token of its progress as long as the task lives.
    call: RequestId,
    /// The token that the caller had given its progress.
    token: Option<Value>,
    desk: Arc<dyn Desk>,
}

impl Later {
    /// From now on, what a server wants or says for a task goes to this desk, until the value is dropped.
    pub(super) fn follow(
        self: &Arc<Later>,
        task: &str,
        call: RequestId,
        token: Option<Value>,
        desk: Arc<dyn Desk>,
    ) -> FollowedTask {
        lock(&self.tasks).insert(task.to_owned(), Followed { call, token, desk });
        FollowedTask { later: self.clone(), task: task.to_owned() }
    }

    /// The desk of the task that a message says it belongs to.
    pub(super) fn desk_of(&self, params: &Map<String, Value>) -> Option<Arc<dyn Desk>> {
        let task = params.get("_meta")?.get(RELATED_TASK)?.get("taskId")?.as_str()?;
        lock(&self.tasks).get(task).map(|followed| followed.desk.clone())
    }

    /// Who follows what came of the call with this number, and the token by which they know its progress.
    pub(super) fn caller(&self, call: RequestId) -> Option<(Arc<dyn Desk>, Option<Value>)> {
        let tasks = lock(&self.tasks);
        let found = tasks.values().find(|followed| followed.call == call)?;
        Some((found.desk.clone(), found.token.clone()))
    }

    /// Whoever is about to send somebody away learns here when the server says that they are done.
    pub(super) fn await_visits(self: &Arc<Later>, visits: Vec<String>) -> AwaitedVisits {
        let mut waiting = lock(&self.visits);
        let mut over = Vec::with_capacity(visits.len());
        for id in &visits {
            let said = waiting.entry(id.clone()).or_insert_with(|| watch::Sender::new(false));
            over.push(said.subscribe());
        }
        drop(waiting);
        AwaitedVisits { later: self.clone(), visits, over }
    }

    /// A server says that somebody has done what they were sent away for.
    pub(super) fn visited(&self, params: &Map<String, Value>) {
        let id = params.get("elicitationId").and_then(Value::as_str).unwrap_or_default();
        if let Some(waiting) = lock(&self.visits).get(id) {
            waiting.send_replace(true);
        }
    }
}

/// A task is followed for as long as this is there.
pub(super) struct FollowedTask {
    later: Arc<Later>,
    task: String,
}

impl Drop for FollowedTask {
    fn drop(&mut self) {
        lock(&self.later.tasks).remove(&self.task);
    }
}

/// Visits that somebody waits for, as long as this is there.
pub(super) struct AwaitedVisits {
    later: Arc<Later>,
    visits: Vec<String>,
    over: Vec<watch::Receiver<bool>>,
}

impl AwaitedVisits {
    /// Until the server says that all of them are over. Of visits without a name it cannot say that.
    pub(super) async fn over(&mut self) {
        if self.over.is_empty() {
            std::future::pending::<()>().await;
        }
        for visit in &mut self.over {
            // Another one who waits for the same may have heard of it first, and gone.
            let _ = visit.wait_for(|is_over| *is_over).await;
        }
    }
}

impl Drop for AwaitedVisits {
    fn drop(&mut self) {
        let mut waiting = lock(&self.later.visits);
        self.visits.iter().for_each(|id| drop(waiting.remove(id)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here panics halfway through a change, so what a poisoned lock guards is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::client::NobodysDesk;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn what_belongs_to_a_task_finds_its_caller_as_long_as_somebody_follows_it() {
        let later = Arc::new(Later::default());
        let of_task = object(json!({ "_meta": { RELATED_TASK: { "taskId": "t" } } }));
        let following = later.follow("t", 7, Some(json!("mine")), Arc::new(NobodysDesk));
        assert!(later.desk_of(&of_task).is_some() && later.desk_of(&Map::new()).is_none());
        assert_eq!(later.caller(7).map(|(_, token)| token), Some(Some(json!("mine"))));
        assert!(later.caller(8).is_none());
        drop(following);
        assert!(later.desk_of(&of_task).is_none() && later.caller(7).is_none());
    }

    #[test]
    fn a_visit_is_over_when_the_server_says_so_also_before_anybody_waits() {
        let later = Arc::new(Later::default());
        let mut one = later.await_visits(vec!["a".to_owned(), "b".to_owned()]);
        assert!(one.over().now_or_never().is_none());
        later.visited(&object(json!({ "elicitationId": "a" })));
        later.visited(&object(json!({ "elicitationId": "nobody's" })));
        assert!(one.over().now_or_never().is_none());
        later.visited(&object(json!({ "elicitationId": "b" })));
        assert!(one.over().now_or_never().is_some());
        assert!(later.await_visits(Vec::new()).over().now_or_never().is_none(), "nobody can say so");
    }
}
