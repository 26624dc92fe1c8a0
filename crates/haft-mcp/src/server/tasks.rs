//! Work that outlives its request: a task belongs to the server that made it, and to the client that it was made for.
//!
//! A server's task ids are known to clients only as we seal them: with the server in it, and for one principal. So they find
//! their way back, and nobody else's.

use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::{Map, Value};

use super::{message::BAD_PARAMS, parked::secret, prompts::forward, visit::Visit};
use crate::{client::Refused, upstream::Principal};

const ID: &str = "taskId";

/// Seals and opens ids of tasks.
pub(super) struct TaskSeal(RequestStateCodec);

impl TaskSeal {
    pub(super) fn new() -> TaskSeal {
        TaskSeal(RequestStateCodec::new_unchecked(secret()))
    }

    fn seal(&self, Principal(who): &Principal, server: &str, id: &str) -> Option<String> {
        self.0.seal_json_with(&(server, id), &SealOptions::new().associated_data(who.as_bytes())).ok()
    }

    fn open(&self, Principal(who): &Principal, sealed: &str) -> Option<(String, String)> {
        self.0.open_json_with(sealed, who.as_bytes()).ok()
    }
}

/// Whether a server answered with a task instead of a result.
pub(super) fn is_task(answer: &Value) -> bool {
    answer.get("resultType").is_some_and(|kind| kind == "task") && answer.get(ID).is_some()
}

/// The answer with an id that the client may know.
pub(super) fn sealed(visit: &Visit, server: &str, mut answer: Value) -> Value {
    let sealed = answer.get(ID).and_then(Value::as_str);
    let sealed = sealed.and_then(|id| visit.guest.door.tasks.seal(&visit.guest.principal, server, id));
    if let Some(sealed) = sealed {
        answer[ID] = sealed.into();
    }
    answer
}

/// `tasks/…`: goes to the server that made the task.
pub(super) async fn forward_task(
    visit: &Visit,
    method: &str,
    mut params: Map<String, Value>,
) -> Result<Value, Refused> {
    let unknown =
        || Refused::new(BAD_PARAMS, "there is no such task; an id is what the call gave, unchanged");
    let id = params.get(ID).and_then(Value::as_str).ok_or_else(unknown)?;
    let (server, plain) = visit.guest.door.tasks.open(&visit.guest.principal, id).ok_or_else(unknown)?;
    let upstream = visit.guest.door.upstream(&server).ok_or_else(unknown)?.clone();
    params.insert(ID.to_owned(), plain.into());
    let mut answer = forward(visit, &upstream, &visit.desk(), method, params).await?;
    // A finished task carries a result, which did not come out of the engine.
    if let Some(redactor) = visit.guest.session.redactor() {
        redactor.redact_json(&mut answer);
    }
    Ok(sealed(visit, &server, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_good_for_one_principal_alone() {
        let (seal, me, you) = (TaskSeal::new(), Principal("me".into()), Principal("you".into()));
        let sealed = seal.seal(&me, "builds", "task-1").unwrap();
        assert_eq!(seal.open(&me, &sealed), Some(("builds".to_owned(), "task-1".to_owned())));
        assert_eq!(seal.open(&you, &sealed), None);
        assert_eq!(seal.open(&me, "task-1"), None);
    }
}
