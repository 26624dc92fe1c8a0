//! Somebody who agrees to everything, with the values that were proposed.

use haft_mcp::client::{Desk, News, Refused, Wish};
use haft_tool::BoxFuture;
use serde_json::{Map, Value, json};

pub(crate) struct WillingDesk;

impl Desk for WillingDesk {
    fn capabilities(&self) -> Map<String, Value> {
        let declared =
            json!({ "elicitation": { "form": { "applyDefaults": true } }, "sampling": {}, "roots": {} });
        declared.as_object().cloned().unwrap_or_default()
    }

    fn answer(&self, wish: Wish) -> BoxFuture<'_, Result<Value, Refused>> {
        Box::pin(async move {
            match wish.method.as_str() {
                "elicitation/create" => Ok(json!({ "action": "accept", "content": proposed(&wish.params) })),
                "sampling/createMessage" => Ok(json!({
                    "role": "assistant",
                    "content": { "type": "text", "text": "yes" },
                    "model": "none",
                    "stopReason": "endTurn",
                })),
                "roots/list" => Ok(json!({ "roots": [] })),
                other => Err(Refused::new(-32601, format!("{other} is not known here"))),
            }
        })
    }

    fn hear(&self, _: News) {}
}

/// The default of each field; a field without one is left out, or agreed to if it is a yes or no.
fn proposed(params: &Map<String, Value>) -> Map<String, Value> {
    let fields = params.get("requestedSchema").and_then(|schema| schema.get("properties")?.as_object());
    let value = |schema: &Value| {
        schema.get("default").cloned().or_else(|| (schema["type"] == "boolean").then_some(true.into()))
    };
    fields.into_iter().flatten().filter_map(|(name, schema)| Some((name.clone(), value(schema)?))).collect()
}
