//! Which request is answered by whom.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    call, catalogue,
    door::lock,
    era::{SERVER, Said},
    guest::{Guest, Outlet},
    hello, listen,
    message::{self, Incoming, NO_METHOD, Request},
    observer, parked, prompts, resources, tasks,
    visit::Visit,
};
use crate::client::{Era, Refused};

/// What comes back for a message.
pub(super) async fn attend(guest: &Arc<Guest>, request: Request, outlet: Outlet) -> Option<Value> {
    let id = request.id.clone();
    let running = match guest.begin(&id) {
        Ok(running) => running,
        Err(refused) => return Some(message::response(id, Err(refused))),
    };
    let cancelled = running.cancel.clone();
    // A request that was taken back gets no answer; what it started ends with the future.
    let answer = cancelled.run_until_cancelled(answer(guest, request, outlet)).await?;
    Some(message::response(id, answer))
}

/// The answer to a request.
pub(super) async fn answer(
    guest: &Arc<Guest>,
    mut request: Request,
    outlet: Outlet,
) -> Result<Value, Refused> {
    let mut said = Said::take(&mut request.params);
    let open = observer::begin(guest, &request.id, &request.method, &request.params, &mut said);
    let answer = worked_out(guest, request, said, outlet).await;
    if let Some(open) = open {
        observer::end(open, answer.as_ref());
    }
    answer
}

async fn worked_out(
    guest: &Arc<Guest>,
    request: Request,
    said: Said,
    outlet: Outlet,
) -> Result<Value, Refused> {
    let Request { id, method, params } = request;
    let era = said.era(&method)?;
    let capabilities = match (&said.capabilities, era) {
        (Some(capabilities), Era::Modern) => Arc::new(capabilities.clone()),
        _ => lock(&guest.client).capabilities.clone(),
    };
    let visit = Visit { guest: guest.clone(), era, said, capabilities, outlet, id };
    let result = match era {
        Era::Modern => modern(visit, &method, params).await?,
        Era::Legacy => legacy(visit, &method, params).await?,
    };
    Ok(finish(guest, era, &method, result))
}

async fn legacy(visit: Visit, method: &str, params: Map<String, Value>) -> Result<Value, Refused> {
    match method {
        "initialize" => return Box::pin(hello::initialize(&visit, params)).await,
        "ping" => return Ok(json!({})),
        _ if !visit.guest.has_begun() => return Err(visit.said.incomplete()),
        "logging/setLevel" => return Box::pin(hello::set_level(&visit, &params)).await,
        "resources/subscribe" => return Box::pin(resources::subscribe(&visit, params)).await,
        "resources/unsubscribe" => return Box::pin(resources::unsubscribe(&visit, params)).await,
        _ => {}
    }
    let desk = visit.desk();
    // What works them out has kilobytes of state, which every future around it would hold and every move of it copy.
    let answer = match method {
        "tools/call" => Box::pin(call::call(visit, desk.clone(), params)).await,
        "prompts/get" => Box::pin(prompts::get(visit, desk.clone(), params)).await,
        "resources/read" => Box::pin(resources::read(visit, desk.clone(), params)).await,
        _ => Box::pin(either(visit, method, params)).await,
    };
    desk.end();
    answer
}

async fn modern(visit: Visit, method: &str, mut params: Map<String, Value>) -> Result<Value, Refused> {
    match method {
        "server/discover" => Box::pin(hello::discover(&visit)).await,
        "subscriptions/listen" => Box::pin(listen::listen(&visit, &params)).await,
        "tools/call" => Box::pin(parked::run(visit, method, &mut params, call::call)).await,
        "prompts/get" => Box::pin(parked::run(visit, method, &mut params, prompts::get)).await,
        "resources/read" => Box::pin(parked::run(visit, method, &mut params, resources::read)).await,
        _ => Box::pin(either(visit, method, params)).await,
    }
}

/// What both eras have, and what never ends in a question.
async fn either(visit: Visit, method: &str, params: Map<String, Value>) -> Result<Value, Refused> {
    match method {
        "tools/list" => catalogue::tools(&visit).await,
        "prompts/list" => catalogue::prompts(&visit).await,
        "resources/list" => catalogue::resources(&visit).await,
        "resources/templates/list" => catalogue::templates(&visit).await,
        "completion/complete" => prompts::complete(&visit, params).await,
        "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result" => {
            tasks::forward_task(&visit, method, params).await
        }
        other => Err(Refused::new(NO_METHOD, format!("there is no method {other:?} here"))),
    }
}

/// What only one revision wants around a result.
fn finish(guest: &Guest, era: Era, method: &str, result: Value) -> Value {
    let Value::Object(mut result) = result else { return result };
    match era {
        Era::Legacy => ["resultType", "ttlMs", "cacheScope"].iter().for_each(|key| {
            result.shift_remove(*key);
        }),
        Era::Modern => complete(guest, method, &mut result),
    }
    result.into()
}

fn complete(guest: &Guest, method: &str, result: &mut Map<String, Value>) {
    result.entry("resultType").or_insert_with(|| "complete".into());
    let is_cacheable = method.ends_with("/list") || method == "resources/read" || method == "server/discover";
    if is_cacheable && result["resultType"] == "complete" {
        let fresh = if method.ends_with("/list") || method == "server/discover" { LISTS_FRESH_MS } else { 0 };
        let given = result.get("ttlMs").and_then(Value::as_u64).unwrap_or(fresh);
        result.insert("ttlMs".to_owned(), given.into());
        // What may be seen is a matter of who asks: nothing of it is for a cache that others share.
        result.insert("cacheScope".to_owned(), "private".into());
    }
    if let Value::Object(meta) = result.entry("_meta").or_insert_with(|| json!({})) {
        meta.insert(SERVER.to_owned(), hello::info(&guest.door).into());
    }
}

/// Changes are told, to those who listen; to others a list is a list for a while.
const LISTS_FRESH_MS: u64 = 60_000;

/// What a client tells or answers.
pub(super) fn hear(guest: &Arc<Guest>, incoming: Incoming) {
    match incoming {
        Incoming::Answer { id, answer } => guest.answered(&id, answer),
        Incoming::Notification { method, params } if method == "notifications/cancelled" => {
            if let Some(id) = params.get("requestId") {
                guest.cancel(id);
            }
        }
        // `initialized`, and that roots changed: servers ask for them each time.
        Incoming::Notification { .. } | Incoming::Request(_) => {}
    }
}
