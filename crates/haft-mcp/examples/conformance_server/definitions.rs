//! What the server lists. The names are those that the suite asks for.

use serde_json::{Value, json};

/// All tools, in the order in which they are listed.
pub(crate) fn tools(has_grown: bool) -> Vec<Value> {
    let mut tools: Vec<Value> = PLAIN.iter().map(|(name, words)| tool(name, words, nothing())).collect();
    tools.extend([
        tool("test_sampling", "Asks the client's model.", one_text("prompt", "What to ask it.")),
        tool("test_elicitation", "Asks the user for a name.", one_text("message", "What to ask.")),
        tool("test_custom_header", "Has a parameter that is a header too.", with_header()),
        tool("json_schema_2020_12_tool", "Has a schema with much of JSON Schema in it.", rich_schema()),
    ]);
    if has_grown {
        tools.push(tool("test_newcomer", "Is there since the list was changed.", nothing()));
    }
    tools
}

/// Tools without arguments.
const PLAIN: [(&str, &str); 25] = [
    ("test_simple_text", "Returns a text."),
    ("test_image_content", "Returns a picture."),
    ("test_audio_content", "Returns a sound."),
    ("test_embedded_resource", "Returns a resource."),
    ("test_multiple_content_types", "Returns a text, a picture and a resource."),
    ("test_tool_with_logging", "Logs three lines while it works."),
    ("test_tool_with_progress", "Reports progress while it works."),
    ("test_error_handling", "Always fails."),
    ("test_elicitation_sep1034_defaults", "Asks the user with default values."),
    ("test_elicitation_sep1330_enums", "Asks the user to choose."),
    ("test_reconnection", "Takes a while."),
    ("test_missing_capability", "Needs a client that can sample."),
    ("test_trigger_tool_change", "Changes the list of tools."),
    ("test_trigger_prompt_change", "Changes the list of prompts."),
    ("test_streaming_elicitation", "Asks the user in the middle of its work."),
    ("test_logging_tool", "Logs, if it is asked to."),
    ("test_input_required_result_elicitation", "Asks the user for a name."),
    ("test_input_required_result_sampling", "Asks the client's model for a capital."),
    ("test_input_required_result_list_roots", "Asks the client for its roots."),
    ("test_input_required_result_request_state", "Asks, and remembers what for."),
    ("test_input_required_result_multiple_inputs", "Asks three things at once."),
    ("test_input_required_result_multi_round", "Asks one thing after the other."),
    ("test_input_required_result_tampered_state", "Asks, and trusts only its own memory."),
    ("test_input_required_result_capabilities", "Asks only what the client can answer."),
    ("test_slow", "Works for ten seconds, unless it is cancelled."),
];

/// All prompts.
pub(crate) fn prompts(has_grown: bool) -> Vec<Value> {
    let argument =
        |name: &str| json!({ "name": name, "description": "Goes into the text.", "required": true });
    let mut prompts = vec![
        json!({ "name": "test_simple_prompt", "description": "A text." }),
        json!({ "name": "test_prompt_with_arguments", "description": "A text with two gaps.",
                "arguments": [argument("arg1"), argument("arg2")] }),
        json!({ "name": "test_prompt_with_embedded_resource", "description": "A resource and a text.",
                "arguments": [argument("resourceUri")] }),
        json!({ "name": "test_prompt_with_image", "description": "A picture and a text." }),
        json!({ "name": "test_input_required_result_prompt", "description": "Asks the user first." }),
    ];
    if has_grown {
        prompts.push(
            json!({ "name": "test_new_prompt", "description": "Is there since the list was changed." }),
        );
    }
    prompts
}

/// All resources that have an address of their own.
pub(crate) fn resources() -> Vec<Value> {
    let resource = |name: &str, kind: &str, words: &str| json!({ "uri": format!("test://{name}"), "name": name, "description": words, "mimeType": kind });
    vec![
        resource("static-text", "text/plain", "A text."),
        resource("static-binary", "image/png", "A picture."),
        resource("watched-resource", "text/plain", "A text that can be subscribed to."),
    ]
}

/// The one template.
pub(crate) fn templates() -> Vec<Value> {
    vec![
        json!({ "uriTemplate": "test://template/{id}/data", "name": "template", "description": "Says its id.",
                 "mimeType": "application/json" }),
    ]
}

fn tool(name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "description": description, "inputSchema": schema })
}

fn nothing() -> Value {
    json!({ "type": "object", "properties": {} })
}

fn one_text(name: &str, description: &str) -> Value {
    json!({ "type": "object", "properties": { name: { "type": "string", "description": description } }, "required": [name] })
}

fn with_header() -> Value {
    json!({ "type": "object", "properties": {
        "region": { "type": "string", "description": "Where.", "x-mcp-header": "Region" },
    } })
}

/// Every keyword of it is looked for in the list.
fn rich_schema() -> Value {
    let text = || json!({ "type": "string" });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": text(), "city": text() },
        } },
        "properties": {
            "name": text(),
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": text(),
            "email": text(),
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
