//! Tools that take their time, and say so.

use std::time::Duration;

use rmcp::{
    ErrorData, Peer, RoleServer,
    model::ServerNotification,
    service::{RequestContext, ServiceError},
};
use serde_json::{Value, json};

use crate::{
    contents::said,
    fixture::typed,
    rounds::{abilities, is_modern},
};

/// Between two signs of life.
const PAUSE: Duration = Duration::from_millis(50);

/// The one tool that refuses a client for what it has not declared.
pub(crate) fn require(name: &str, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if name != "test_missing_capability" || abilities(context).sampling {
        return Ok(());
    }
    Err(ErrorData::missing_required_client_capability(typed(json!({ "sampling": {} }))?))
}

/// The result of a tool that works. `None`: it is none of those.
pub(crate) async fn done(name: &str, context: &RequestContext<RoleServer>) -> Option<Value> {
    match name {
        "test_tool_with_logging" | "test_logging_tool" => log_three_lines(context).await,
        "test_tool_with_progress" => report_progress(context).await,
        "test_reconnection" => tokio::time::sleep(2 * PAUSE).await,
        "test_slow" => {
            tokio::select! {
                () = context.ct.cancelled() => {}
                () = tokio::time::sleep(Duration::from_secs(10)) => {}
            }
        }
        _ => return None,
    }
    Some(said("The work is done."))
}

/// A modern client gets a log only if its request says so.
async fn log_three_lines(context: &RequestContext<RoleServer>) {
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        if !is_modern(context) || context.meta.log_level().is_some() {
            let params = json!({ "level": "info", "logger": "fixture", "data": line });
            let _ = tell(&context.peer, "notifications/message", params).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn report_progress(context: &RequestContext<RoleServer>) {
    let token = context.meta.get_progress_token();
    for progress in [0, 50, 100] {
        if let Some(token) = &token {
            let params = json!({ "progressToken": token, "progress": progress, "total": 100 });
            let _ = tell(&context.peer, "notifications/progress", params).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Tells a client something.
pub(crate) async fn tell(peer: &Peer<RoleServer>, method: &str, params: Value) -> Result<(), ServiceError> {
    let news: ServerNotification =
        typed(json!({ "method": method, "params": params })).map_err(ServiceError::McpError)?;
    peer.send_notification(news).await
}
