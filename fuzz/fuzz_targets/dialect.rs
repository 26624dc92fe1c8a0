//! A model's message in every dialect, and a server's schema as every API is shown it. Any JSON is both.

#![no_main]

use std::collections::HashSet;

use haft_engine::pool::Offer;
use haft_model::Dialect;
use haft_tool::Schema;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let Ok(json) = serde_json::from_slice::<Value>(bytes) else { return };
    let _ = Dialect::detect(&json);
    for dialect in Dialect::ALL {
        read(dialect, &json);
    }
    let schema = Schema::from_value(json);
    for dialect in Dialect::ALL {
        offer(dialect, &schema);
    }
});

fn read(dialect: Dialect, message: &Value) {
    match dialect.calls(message) {
        Ok(calls) => {
            let ids: HashSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(ids.len(), calls.len(), "each call has its own id");
            assert!(dialect.calls(message).is_ok_and(|again| again.len() == calls.len()));
        }
        Err(err) => assert!(!err.to_string().is_empty()),
    }
}

fn offer(dialect: Dialect, schema: &Schema) {
    let offer = Offer { name: "T", title: "T", prompt: "", schema, output: None, deferred: false };
    let tools = dialect.tools([offer]);
    assert_eq!(tools.to_string(), dialect.tools([offer]).to_string(), "the same bytes each time");
}
