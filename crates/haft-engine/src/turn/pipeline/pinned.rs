//! Between steps 4 and 5: a tool of a server that is permitted for the first time is pinned to what it says of itself.
//!
//! The pool leaves out tools that have changed since; here is the word for a model that calls one all the same, and the
//! last look for those that changed hands between the pool and the call.

use std::sync::Arc;

use haft_tool::{Fault, FaultKind, Refusal};

use super::CallCx;
use crate::pool::Entry;

/// Pins a tool that is not pinned yet. A call whose tool cannot be pinned does not happen.
pub(super) async fn pin(cx: &CallCx<'_>, entry: &Entry) -> Result<(), Fault> {
    let (Some(pins), Some(server)) = (cx.session.engine().pins(), entry.server()) else { return Ok(()) };
    let (tool, statement) = (entry.tool().spec().name(), entry.statement());
    let pinned = match pins.get(server, tool) {
        Some(pinned) => pinned,
        None => {
            let (pins, server, tool) = (Arc::clone(pins), server.to_owned(), tool.to_owned());
            let first = statement.clone();
            // It may be a file.
            let put = tokio::task::spawn_blocking(move || pins.put(&server, &tool, &first)).await;
            put.map_err(std::io::Error::other).flatten().map_err(unpinned)?
        }
    };
    match pinned.difference(&statement) {
        None => Ok(()),
        Some(changed) => Err(quarantined(entry.name(), &changed)),
    }
}

fn unpinned(err: std::io::Error) -> Fault {
    let message = "the call was not made, because what its tool says of itself could not be kept";
    Fault::new(FaultKind::Unavailable, message).with_source(err)
}

/// What a model is told that calls a tool which is held back.
pub(super) fn quarantined(name: &str, changed: &str) -> Fault {
    let message = format!(
        "{name} is quarantined: {changed} changed since it was first permitted.\n\
         A person must look at the change (`haft pin {name}`) and accept it (`haft pin --accept {name}`); use another tool until then."
    );
    Fault::denied(Refusal::Quarantine, message)
}
