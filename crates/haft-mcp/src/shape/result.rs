//! A result as a server returns it.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use haft_engine::result::{Meta, ToolResult};
use haft_tool::{Block, CallId};
use serde_json::{Map, Value, json};

use super::object;

/// The key of haft's own facts. A prefix and a name, as the protocol wants it; the prefix is no one else's.
const META: &str = "haft/meta";

/// The answer to `tools/call`.
///
/// Clients differ in which of `content` and `structuredContent` a model reads, so the text is always there, even if
/// only to say that there is none. A fault is a result with `isError`: the model is to read it and go on.
pub fn call_tool_result(result: &ToolResult) -> Value {
    let mut answer = Map::new();
    answer.insert("content".to_owned(), content(result).into());
    if let Some(data @ Value::Object(_)) = &result.data {
        answer.insert("structuredContent".to_owned(), data.clone());
    }
    answer.insert("isError".to_owned(), result.is_error().into());
    answer.insert("_meta".to_owned(), object([(META, meta(result))]));
    answer.into()
}

fn content(result: &ToolResult) -> Vec<Value> {
    let blocks = result.blocks.iter().enumerate().map(|(index, found)| block(found, index, &result.call));
    let messages = result.messages.iter().map(|message| text(message));
    let mut content: Vec<Value> = blocks.chain(messages).filter(|block| !is_blank(block)).collect();
    if content.is_empty() {
        content.push(text("(no output)"));
    }
    content
}

fn block(block: &Block, index: usize, call: &CallId) -> Value {
    match block {
        Block::Text(words) => text(words),
        Block::Image { media_type, data } => media("image", media_type, data),
        Block::Audio { media_type, data } => media("audio", media_type, data),
        Block::Document { media_type, name, data } => {
            let uri = format!("haft://result/{}/{index}/{}", encode(call.as_str()), encode(name));
            object([("type", "resource".into()), ("resource", resource(uri, media_type, data))])
        }
        Block::Link { uri, name, media_type } => link(uri, name, media_type.as_deref()),
    }
}

fn text(text: &str) -> Value {
    object([("type", "text".into()), ("text", text.into())])
}

/// Clients pass blocks on to model APIs, which refuse blank text.
fn is_blank(block: &Value) -> bool {
    block.get("text").and_then(Value::as_str).is_some_and(|text| text.trim().is_empty())
}

fn media(kind: &str, media_type: &str, data: &[u8]) -> Value {
    let data = BASE64_STANDARD.encode(data);
    object([("type", kind.into()), ("data", data.into()), ("mimeType", media_type.into())])
}

fn resource(uri: String, media_type: &str, data: &[u8]) -> Value {
    let (key, contents) = match str::from_utf8(data) {
        Ok(text) if media_type.starts_with("text/") => ("text", text.to_owned()),
        _ => ("blob", BASE64_STANDARD.encode(data)),
    };
    object([("uri", uri.into()), ("mimeType", media_type.into()), (key, contents.into())])
}

fn link(uri: &str, name: &str, media_type: Option<&str>) -> Value {
    let name = if name.is_empty() { uri } else { name };
    let mut link = json!({ "type": "resource_link", "uri": uri, "name": name });
    if let Some(media_type) = media_type {
        link["mimeType"] = media_type.into();
    }
    link
}

/// A text as one step of a URI's path.
fn encode(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// What a program may want to know: facts of the call, why it did not work, what may come next.
fn meta(result: &ToolResult) -> Value {
    // Notes of a tool can have any key: the engine's facts are written over them, not the other way round.
    let mut meta = result.meta.notes.clone();
    let facts = Meta { notes: Map::new(), ..result.meta.clone() };
    if let Ok(Value::Object(facts)) = serde_json::to_value(facts) {
        meta.extend(facts);
    }
    if let Some(fault) = &result.fault {
        meta.insert("fault".to_owned(), json!(fault));
    }
    if let Some(observation) = &result.observation {
        meta.insert("observation".to_owned(), observation.as_str().into());
    }
    if !result.actions.is_empty() {
        meta.insert("actions".to_owned(), json!(result.actions));
    }
    meta.into()
}

#[cfg(test)]
mod tests {
    use haft_engine::result::{FaultFacts, Truncation};
    use haft_tool::{Action, FaultKind, Refusal};

    use super::*;

    fn replied(blocks: impl IntoIterator<Item = Block>) -> ToolResult {
        ToolResult {
            call: "call 1".into(),
            tool: "Read".to_owned(),
            blocks: blocks.into_iter().collect(),
            fault: None,
            data: None,
            observation: None,
            actions: Vec::new(),
            messages: Vec::new(),
            view: None,
            meta: Meta { duration_us: 7, attempts: 1, source: "builtin".into(), ..Meta::default() },
        }
    }

    fn words(text: &str) -> Block {
        Block::Text(text.to_owned())
    }

    fn document(media_type: &str, name: &str, data: &[u8]) -> Block {
        Block::Document { media_type: media_type.to_owned(), name: name.to_owned(), data: data.to_vec() }
    }

    fn link(name: &str, media_type: Option<&str>) -> Block {
        let media_type = media_type.map(str::to_owned);
        Block::Link { uri: "https://docs.rs/serde".to_owned(), name: name.to_owned(), media_type }
    }

    fn cases() -> Vec<(&'static str, ToolResult)> {
        let failed = FaultFacts { kind: FaultKind::Failed, refusal: None };
        let denied = FaultFacts { kind: FaultKind::Denied, refusal: Some(Refusal::Rule) };
        let png = Block::Image { media_type: "image/png".to_owned(), data: b"\x89PNG".to_vec() };
        let wav = Block::Audio { media_type: "audio/wav".to_owned(), data: b"RIFF".to_vec() };
        let path = Some("/state/results/1.txt".into());
        let truncated = Truncation { bytes: 4_000_000, shown: 20, path, ..Truncation::default() };
        let notes = json!({ "lines": 3, "attempts": "mine" });
        vec![
            ("plain text", replied([words("fn main() {}")])),
            ("error", ToolResult { fault: Some(failed), ..replied([words("cannot read /w/a")]) }),
            ("denied", ToolResult { fault: Some(denied), ..replied([words("`rm` is denied by a rule")]) }),
            ("empty", replied([words(" \n")])),
            ("several blocks", replied([words("2 matches"), words("a.rs:1")])),
            ("image and audio", replied([png, wav])),
            (
                "documents",
                replied([
                    document("application/pdf", "a b.pdf", b"%PDF"),
                    document("text/markdown", "n.md", b"# N"),
                ]),
            ),
            ("links", replied([link("serde", Some("text/html")), link("", None)])),
            ("data that is no object", ToolResult { data: Some(json!([1])), ..replied([words("[1]")]) }),
            (
                "data, messages, facts",
                ToolResult {
                    data: Some(json!({ "rows": [1] })),
                    observation: Some("1 row".to_owned()),
                    actions: vec![Action {
                        tool: "Read".to_owned(),
                        input: json!({ "path": "b" }),
                        why: "the rest".to_owned(),
                    }],
                    messages: vec!["The file changed.".to_owned()],
                    view: None,
                    meta: Meta {
                        truncated: Some(truncated),
                        notes: notes.as_object().cloned().unwrap_or_default(),
                        attempts: 2,
                        ..Meta::default()
                    },
                    ..replied([words("1 row")])
                },
            ),
        ]
    }

    #[test]
    fn results_as_clients_see_them() {
        let show = |(name, result): (&str, ToolResult)| {
            format!(
                "## {name}\n{}\n",
                serde_json::to_string_pretty(&call_tool_result(&result)).expect("JSON")
            )
        };
        insta::assert_snapshot!(cases().into_iter().map(show).collect::<String>());
    }
}
