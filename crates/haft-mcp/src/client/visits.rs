//! A server that wants somebody to visit an address before it does what it is asked (2025-11-25: the error -32042).
//!
//! The request did not run. Whoever made it is asked as if the server had asked them (`elicitation/create` with a URL); when
//! they agree, they are waited for: until the server says that they are done, or they say so themselves. Then the request is
//! made once more. Nobody fetches the address here.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio::time::sleep;

use super::{Desk, Refused, later::Later, wishes};

/// What a server refuses with that wants somebody to visit an address first.
pub(super) const VISIT_FIRST: i64 = -32042;

/// How often a request may lead to a visit before it is taken for a loop.
pub(super) const MOST_VISITS: usize = 3;

/// More addresses than this are not visited for one request.
const MOST_AT_ONCE: usize = 8;

/// How long somebody may take whose return nobody tells us.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// What the protocol has for a user who says no.
const REJECTED: i64 = -1;

/// Whether a client that has these capabilities shows addresses to the person.
pub(crate) fn shows_addresses(capabilities: &Map<String, Value>) -> bool {
    capabilities.get("elicitation").and_then(|modes| modes.get("url")).is_some_and(|url| !url.is_null())
}

/// Has the addresses visited that a refusal names. The refusal that remains, if they were not.
pub(super) async fn made(later: &Arc<Later>, refused: &Refused, desk: &dyn Desk) -> Result<(), Refused> {
    let wanted = wanted(refused);
    if wanted.is_empty() {
        let why =
            format!("{} (it wants somebody to visit an address first, and names none)", refused.message);
        return Err(Refused::new(REJECTED, why));
    }
    let names = wanted.iter().filter_map(|params| params.get("elicitationId")?.as_str().map(str::to_owned));
    // Waited for before anybody goes: they may be quick.
    let mut away = later.await_visits(names.collect());
    for params in wanted {
        let address = params.get("url").and_then(Value::as_str).unwrap_or_default().to_owned();
        let answer = wishes::answer(desk, "elicitation/create", params).await;
        let answer = answer.map_err(|why| cannot(&address, refused, &why))?;
        if answer.get("action").is_none_or(|action| action != "accept") {
            return Err(not_visited(&address, refused));
        }
    }
    let is_done = tokio::select! {
        () = away.over() => true,
        is_done = desk.is_back() => is_done,
        // A server need not say anything: it is asked whether it has what it wants.
        () = sleep(PATIENCE) => true,
    };
    if is_done {
        Ok(())
    } else {
        Err(Refused::new(REJECTED, format!("{}: the user gave up", refused.message)))
    }
}

/// The addresses that a refusal names, each as the parameters of the question that is asked about it.
fn wanted(refused: &Refused) -> Vec<Map<String, Value>> {
    let all = refused.data.as_ref().and_then(|data| data.get("elicitations")).and_then(Value::as_array);
    let is_url = |params: &&Map<String, Value>| {
        params.get("mode").is_none_or(|mode| mode == "url") && params.get("url").is_some_and(Value::is_string)
    };
    let objects = all.into_iter().flatten().filter_map(Value::as_object).filter(is_url);
    let with_mode = |params: &Map<String, Value>| {
        let mut params = params.clone();
        params.insert("mode".to_owned(), "url".into());
        params
    };
    objects.take(MOST_AT_ONCE).map(with_mode).collect()
}

fn not_visited(address: &str, refused: &Refused) -> Refused {
    let why = format!("{}: the user does not want to visit {address}, which it wants first", refused.message);
    Refused::new(REJECTED, why)
}

fn cannot(address: &str, refused: &Refused, why: &Refused) -> Refused {
    let message = format!("{}: it wants the user to visit {address} first, and {why}", refused.message);
    Refused { code: why.code, message, data: why.data.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(data: Value, expected: Value) {
        let refused = Refused { data: Some(data), ..Refused::new(VISIT_FIRST, "first") };
        let found: Vec<Value> = wanted(&refused).into_iter().map(Value::from).collect();
        assert_eq!(Value::from(found), expected);
    }

    #[test]
    fn addresses_are_read_and_nothing_else() {
        let one = json!({ "mode": "url", "url": "https://x", "elicitationId": "1", "message": "m" });
        check(json!({ "elicitations": [one] }), json!([one]));
        check(
            json!({ "elicitations": [{ "url": "https://x" }] }),
            json!([{ "url": "https://x", "mode": "url" }]),
        );
        check(
            json!({ "elicitations": [{ "mode": "form", "url": "https://x" }, { "mode": "url" }, 7] }),
            json!([]),
        );
        check(json!({ "elicitations": {} }), json!([]));
        check(json!(null), json!([]));
    }
}
