//! What a server's own result has that the engine's has no place for: annotations, `_meta`, addresses of resources.
//!
//! What a model reads comes out of the engine, without secrets and within its budget. Around it, a client may count on what
//! the server wrote. So the server's blocks give the form and the engine's the contents; where the two do not go together,
//! the engine's are taken as they are.

use haft_engine::result::ToolResult;
use serde_json::{Map, Value};

/// What an answer of the engine has of its own: not taken from the server.
const OURS: [&str; 7] =
    ["content", "structuredContent", "isError", "_meta", "resultType", "ttlMs", "cacheScope"];

/// Adds to an answer made by [`call_tool_result`](super::call_tool_result) what the server's own answer has besides.
/// `any_data`: whether structured content may be something else than an object.
pub fn overlay(answer: &mut Value, raw: Value, result: &ToolResult, any_data: bool) {
    let (Value::Object(answer), Value::Object(mut raw)) = (answer, raw) else { return };
    merge_meta(answer, raw.shift_remove("_meta"));
    let is_whole = result.meta.truncated.is_none();
    if let Some(data) = result.data.as_ref().filter(|_| any_data) {
        answer.insert("structuredContent".to_owned(), data.clone());
    }
    if let (true, Some(Value::Array(theirs)), Some(Value::Array(ours))) =
        (is_whole, raw.shift_remove("content"), answer.get_mut("content"))
    {
        merge_content(ours, theirs);
    }
    for (key, value) in raw.into_iter().filter(|(key, _)| !OURS.contains(&key.as_str())) {
        answer.entry(key).or_insert(value);
    }
}

fn merge_meta(answer: &mut Map<String, Value>, theirs: Option<Value>) {
    let Some(Value::Object(mut meta)) = theirs else { return };
    if let Some(Value::Object(ours)) = answer.shift_remove("_meta") {
        meta.extend(ours);
    }
    answer.insert("_meta".to_owned(), meta.into());
}

/// Puts their form around our contents, block by block, as long as they go together.
fn merge_content(ours: &mut Vec<Value>, theirs: Vec<Value>) {
    let mut merged = Vec::with_capacity(ours.len());
    let mut contents = std::mem::take(ours).into_iter().peekable();
    for their in theirs {
        // What only the engine says (a remark, a hint) stands where it stood.
        match contents.next() {
            Some(our) => merged.push(around(their, our)),
            None => break,
        }
    }
    merged.extend(contents);
    *ours = merged;
}

fn around(their: Value, our: Value) -> Value {
    let kind = |block: &Value| block.get("type").and_then(Value::as_str).map(str::to_owned);
    match (kind(&their).as_deref(), kind(&our).as_deref()) {
        (Some("text"), Some("text")) => with(their, our, &["text"]),
        (Some("image"), Some("image")) | (Some("audio"), Some("audio")) => {
            with(their, our, &["data", "mimeType"])
        }
        (Some("resource_link"), Some("resource_link")) => with(their, our, &["uri"]),
        (Some("resource"), Some("resource")) => resource(their, our),
        // The engine has no embedded texts: they come as text. If all of it is there, nothing was taken out.
        (Some("resource"), Some("text")) if has_all(&our, &their) => their,
        _ => our,
    }
}

/// Their block with our contents.
fn with(mut their: Value, mut our: Value, keys: &[&str]) -> Value {
    for key in keys {
        if let Some(value) = our.get_mut(*key) {
            their[*key] = value.take();
        }
    }
    their
}

fn resource(mut their: Value, our: Value) -> Value {
    let (Some(theirs), Some(ours)) = (their.get_mut("resource"), our.get("resource")) else { return our };
    match (theirs.get("text"), ours.get("text"), ours.get("blob")) {
        (Some(_), Some(text), _) => theirs["text"] = text.clone(),
        (None, _, Some(blob)) if theirs.get("blob").is_some() => theirs["blob"] = blob.clone(),
        _ => return our,
    }
    their
}

fn has_all(our: &Value, their: &Value) -> bool {
    let text = their.pointer("/resource/text").and_then(Value::as_str);
    let words = our.get("text").and_then(Value::as_str);
    text.zip(words).is_some_and(|(text, words)| words.contains(text))
}

#[cfg(test)]
mod tests {
    use haft_engine::result::{Meta, Truncation};
    use serde_json::json;

    use super::*;

    fn result(data: Option<Value>, truncated: bool) -> ToolResult {
        let truncated = truncated.then_some(Truncation { bytes: 9, shown: 1, ..Truncation::default() });
        ToolResult {
            call: "c".into(),
            tool: "t".to_owned(),
            blocks: Vec::new(),
            fault: None,
            data,
            observation: None,
            actions: Vec::new(),
            messages: Vec::new(),
            view: None,
            meta: Meta { truncated, ..Meta::default() },
        }
    }

    #[track_caller]
    fn check(ours: Value, theirs: Value, expected: Value) {
        let mut answer = json!({ "content": ours });
        overlay(&mut answer, json!({ "content": theirs }), &result(None, false), false);
        assert_eq!(answer["content"], expected);
    }

    #[test]
    fn contents_are_ours_and_the_form_is_theirs() {
        check(
            json!([{ "type": "text", "text": "key [redacted]" }]),
            json!([{ "type": "text", "text": "key 123", "annotations": { "audience": ["user"] }, "odd": 1 }]),
            json!([{ "type": "text", "text": "key [redacted]", "annotations": { "audience": ["user"] }, "odd": 1 }]),
        );
        check(
            json!([{ "type": "resource", "resource": { "uri": "haft://result/1", "text": "clean" } }]),
            json!([{ "type": "resource", "resource": { "uri": "test://a", "text": "secret" } }]),
            json!([{ "type": "resource", "resource": { "uri": "test://a", "text": "clean" } }]),
        );
    }

    #[test]
    fn an_embedded_text_is_theirs_only_if_nothing_was_taken_out_of_it() {
        let theirs = json!([{ "type": "resource", "resource": { "uri": "test://a", "text": "body" } }]);
        check(json!([{ "type": "text", "text": "test://a\nbody" }]), theirs.clone(), theirs.clone());
        let ours = json!([{ "type": "text", "text": "test://a\n[redacted]" }]);
        check(ours.clone(), theirs, ours);
    }

    #[test]
    fn what_does_not_go_together_is_ours() {
        let ours =
            json!([{ "type": "text", "text": "an odd block" }, { "type": "text", "text": "and a hint" }]);
        check(ours.clone(), json!([{ "type": "video", "data": "…" }]), ours);
    }

    #[test]
    fn a_result_that_was_cut_stays_cut() {
        let mut answer = json!({ "content": [{ "type": "text", "text": "a…" }] });
        let raw = json!({ "content": [{ "type": "text", "text": "all of it" }], "_meta": { "a/b": 1 } });
        overlay(&mut answer, raw, &result(None, true), false);
        assert_eq!(answer, json!({ "content": [{ "type": "text", "text": "a…" }], "_meta": { "a/b": 1 } }));
    }

    #[test]
    fn our_facts_are_not_theirs_to_write() {
        let mut answer = json!({ "isError": true, "_meta": { "haft/meta": 1 } });
        let raw = json!({ "isError": false, "_meta": { "haft/meta": 2, "x": 3 }, "resultType": "task", "extra": 4 });
        overlay(&mut answer, raw, &result(Some(json!([1])), false), true);
        let expected = json!({ "isError": true, "_meta": { "haft/meta": 1, "x": 3 }, "structuredContent": [1], "extra": 4 });
        assert_eq!(answer, expected);
    }
}
