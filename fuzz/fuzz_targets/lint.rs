//! What servers tell models: a definition of a tool as JSON, or a text that stands for its description.

#![no_main]

use haft_mcp::lint::{Neighbours, examine, reveal};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let tool = match serde_json::from_str(&text) {
        Ok(Value::Object(tool)) => tool,
        _ => Map::from_iter([("name".to_owned(), json!("x")), ("description".to_owned(), json!(text))]),
    };
    let neighbours = Neighbours::default().with("mail", ["send_message", &*text]);
    let remarks = examine("here", std::slice::from_ref(&tool), Some(&text), &neighbours);
    assert_eq!(remarks, examine("here", &[tool], Some(&text), &neighbours), "it is always the same");
    for remark in remarks {
        let line = remark.to_string();
        assert!(!line.contains(['\n', '\u{1b}', '\u{202e}', '\u{200b}']), "{line:?}");
        assert!(remark.words.chars().count() <= 161, "{line:?}");
    }
    let shown = reveal(&text);
    assert_eq!(reveal(&shown), shown, "what is shown shows everything");
});
