//! What the server returns: the smallest picture, the smallest sound, a few texts.

use serde_json::{Map, Value, json};

/// One red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/// One silent sample.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

/// The result of a tool that only returns something.
pub(crate) fn of_tool(name: &str) -> Option<Value> {
    let content = match name {
        "test_simple_text" => vec![text("This is a simple text response for testing.")],
        "test_image_content" => vec![image()],
        "test_audio_content" => vec![json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })],
        "test_embedded_resource" => {
            vec![embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
        }
        "test_multiple_content_types" => vec![
            text("Multiple content types test:"),
            image(),
            embedded("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ],
        "test_error_handling" => {
            return Some(failure("This tool intentionally returns an error for testing"));
        }
        "test_custom_header" | "json_schema_2020_12_tool" | "test_newcomer" | "test_missing_capability" => {
            vec![text("done")]
        }
        _ => return None,
    };
    Some(json!({ "content": content }))
}

/// A prompt that needs nobody's answer.
pub(crate) fn of_prompt(name: &str, arguments: &Map<String, Value>) -> Option<Value> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let messages = match name {
        "test_simple_prompt" | "test_new_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => vec![text(&format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1"),
            argument("arg2")
        ))],
        "test_prompt_with_embedded_resource" => vec![
            embedded(argument("resourceUri"), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
        _ => return None,
    };
    Some(prompt(messages))
}

/// What is at an address.
pub(crate) fn of_resource(uri: &str) -> Option<Value> {
    let content = match uri {
        "test://static-text" => {
            json!({ "uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource." })
        }
        "test://static-binary" => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
        "test://watched-resource" => {
            json!({ "uri": uri, "mimeType": "text/plain", "text": "Watched resource content" })
        }
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
        }
    };
    Some(json!({ "contents": [content] }))
}

/// A prompt of a user's messages.
pub(crate) fn prompt(contents: Vec<Value>) -> Value {
    let messages: Vec<Value> =
        contents.into_iter().map(|content| json!({ "role": "user", "content": content })).collect();
    json!({ "messages": messages })
}

/// A result that is a text.
pub(crate) fn said(words: &str) -> Value {
    json!({ "content": [text(words)] })
}

/// A result that says what went wrong.
pub(crate) fn failure(words: &str) -> Value {
    json!({ "content": [text(words)], "isError": true })
}

/// A text as a block.
pub(crate) fn text(words: &str) -> Value {
    json!({ "type": "text", "text": words })
}

fn image() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

fn embedded(uri: &str, kind: &str, words: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": words } })
}
