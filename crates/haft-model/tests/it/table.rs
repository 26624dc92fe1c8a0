//! The results and tools that all tests share, and a model's message for each dialect.

use haft_engine::{
    pool::Offer,
    result::{FaultFacts, Meta, ToolResult, Truncation},
};
use haft_model::Dialect;
use haft_tool::{Block, FaultKind, Refusal, Schema};
use serde_json::{Value, json};

/// Results of every kind, by what they show.
pub(crate) fn results() -> Vec<(&'static str, ToolResult)> {
    let png = Block::Image { media_type: "image/png".to_owned(), data: b"\x89PNG".to_vec() };
    let pdf = document("application/pdf", "report.pdf", b"%PDF-1.7");
    let link = Block::Link {
        uri: "https://docs.rs/serde".to_owned(),
        name: "serde".to_owned(),
        media_type: Some("text/html".to_owned()),
    };
    vec![
        ("plain text", replied("Read", [text("fn main() {}")])),
        ("error", failed(FaultKind::Failed, None, [text("cannot read /w/a: it does not exist")])),
        ("denied", failed(FaultKind::Denied, Some(Refusal::Rule), [text("`rm` is denied by a rule")])),
        ("empty", replied("Bash", [])),
        ("blank text", replied("Bash", [text(" \n")])),
        ("empty error", failed(FaultKind::Failed, None, [])),
        ("several blocks", replied("Grep", [text("2 matches"), text("a.rs:1\nb.rs:2")])),
        ("image", replied("Read", [text("logo.png"), png.clone()])),
        ("only an image", replied("Read", [png.clone()])),
        ("error with an image", failed(FaultKind::Failed, None, [text("no such button"), png])),
        ("image of a rare type", replied("Read", [image("image/tiff", b"II*\0")])),
        ("image with a sloppy type", replied("Read", [image("image/JPG; q=1", b"\xff\xd8")])),
        ("image without bytes", replied("Read", [image("image/png", b"")])),
        ("pdf document", replied("Read", [text("2 pages"), pdf])),
        ("text document", replied("Read", [document("text/markdown", "notes.md", b"# Notes")])),
        ("unknown document", replied("Read", [document("application/zip", "a.zip", b"PK")])),
        ("audio", replied("Listen", [audio("audio/wav", b"RIFF"), audio("audio/midi", b"MThd")])),
        ("link", replied("WebSearch", [link])),
        ("huge data with messages", huge()),
    ]
}

/// Every result under an id of its own.
pub(crate) fn turn() -> Vec<ToolResult> {
    let numbered = results().into_iter().enumerate();
    numbered.map(|(index, (_, result))| ToolResult { call: format!("id_{index}").into(), ..result }).collect()
}

fn replied(tool: &str, blocks: impl IntoIterator<Item = Block>) -> ToolResult {
    ToolResult {
        call: "toolu_1".into(),
        tool: tool.to_owned(),
        blocks: blocks.into_iter().collect(),
        fault: None,
        data: None,
        observation: None,
        actions: Vec::new(),
        messages: Vec::new(),
        view: None,
        meta: Meta::default(),
    }
}

fn failed(kind: FaultKind, refusal: Option<Refusal>, blocks: impl IntoIterator<Item = Block>) -> ToolResult {
    ToolResult { fault: Some(FaultFacts { kind, refusal }), ..replied("Bash", blocks) }
}

fn huge() -> ToolResult {
    let path = Some("/state/results/1.txt".into());
    let truncated = Truncation { bytes: 4_000_000, shown: 20, path, ..Truncation::default() };
    ToolResult {
        data: Some(json!({ "rows": vec!["only for programs"; 1000] })),
        messages: vec!["The file changed since you read it.".to_owned(), String::new()],
        view: None,
        meta: Meta { truncated: Some(truncated), ..Meta::default() },
        ..replied("Bash", [text("first lines\n… 4 MB hidden, whole in /state/results/1.txt …\nlast lines")])
    }
}

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn image(media_type: &str, data: &[u8]) -> Block {
    Block::Image { media_type: media_type.to_owned(), data: data.to_vec() }
}

fn audio(media_type: &str, data: &[u8]) -> Block {
    Block::Audio { media_type: media_type.to_owned(), data: data.to_vec() }
}

fn document(media_type: &str, name: &str, data: &[u8]) -> Block {
    Block::Document { media_type: media_type.to_owned(), name: name.to_owned(), data: data.to_vec() }
}

/// Tools with schemas of every kind: name, prompt, schema.
pub(crate) fn schemas() -> Vec<(&'static str, &'static str, Schema)> {
    let schemas = [
        (
            "Read",
            "Reads a file.",
            json!({ "type": "object", "properties": {
            "path": { "type": "string", "description": "The file." },
            "limit": { "type": "integer", "minimum": 1, "default": 2000 },
        }, "required": ["path"], "additionalProperties": false }),
        ),
        ("no_arguments", "Tells the time.", json!({})),
        ("no_words", "", json!({ "type": "object", "properties": { "a": { "type": "string" } } })),
        ("unit", "Takes nothing.", json!({ "type": "null" })),
        (
            "map",
            "Takes any names.",
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        ),
        (
            "refs",
            "Draws.",
            json!({ "type": "object", "properties": {
            "from": { "$ref": "#/$defs/Point", "description": "Where to begin." },
            "through": { "type": "array", "items": { "$ref": "#/$defs/Point" } },
        }, "required": ["from"], "$defs": { "Point": {
            "type": "object", "description": "A point.",
            "properties": { "x": { "type": "number" }, "y": { "type": "number" } }, "required": ["x", "y"],
        } } }),
        ),
        (
            "recursive",
            "Plants a tree.",
            json!({ "$ref": "#/definitions/Node", "definitions": { "Node": {
            "type": "object", "properties": {
                "label": { "type": "string" },
                "children": { "type": "array", "items": { "$ref": "#/definitions/Node" } },
            },
        } } }),
        ),
        (
            "nested",
            "Edits often.",
            json!({ "type": "object", "properties": { "edits": {
            "type": "array", "minItems": 1, "items": { "type": "object", "properties": {
                "old": { "type": "string", "minLength": 1 },
                "new": { "type": ["string", "null"] },
                "mode": { "allOf": [{ "type": "string", "enum": ["once", "all"] }], "description": "How often." },
                "at": { "oneOf": [{ "type": "integer" }, { "type": "string", "pattern": "^[a-z]+$" }] },
                "kind": { "const": "edit" },
                "level": { "enum": [1, "high", true] },
                "when": { "type": "string", "format": "date-time" },
                "id": { "type": ["integer", "string"], "format": "uuid", "description": "Which." },
            }, "required": ["old", "unlisted"], "unevaluatedProperties": false },
        } } }),
        ),
        (
            "any_of_root",
            "Draws a shape.",
            json!({ "anyOf": [
            { "type": "object", "properties": { "shape": { "type": "string", "const": "circle" },
              "radius": { "type": "number" } }, "required": ["shape", "radius"] },
            { "type": "object", "properties": { "shape": { "type": "string", "const": "square" },
              "side": { "type": "number" }, "radius": { "type": "string" } }, "required": ["shape", "side"] },
        ] }),
        ),
        (
            "old_draft",
            "From another time.",
            json!({ "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "object", "id": "x", "properties": {
                "n": { "type": "integer", "minimum": 0, "exclusiveMinimum": true, "required": true },
                "pair": { "type": "array", "items": [{ "type": "string" }, { "type": "number" }], "additionalItems": false },
                "any": { "type": "any", "description": null },
                "bare": { "type": "array" }, "all": true, "never": false,
            }, "dependencies": { "n": ["pair"] } }),
        ),
        (
            "odd_names",
            "Queries.",
            json!({ "type": "object", "properties": {
            "$top": { "type": "integer" }, "filter[id]": { "type": "string" }, "q": { "type": "string" },
        }, "required": ["$top", "q"], "additionalProperties": false }),
        ),
        (
            "conditions",
            "Is strict.",
            json!({ "type": "object", "properties": { "a": { "type": "string" } },
            "if": { "required": ["a"] }, "then": { "required": ["b"] }, "not": { "required": ["c"] } }),
        ),
    ];
    schemas.into_iter().map(|(name, prompt, schema)| (name, prompt, Schema::from_value(schema))).collect()
}

/// The tools, and one more that is deferred.
pub(crate) fn offers<'a>(schemas: &'a [(&'a str, &'a str, Schema)]) -> impl Iterator<Item = Offer<'a>> {
    let offer = |(name, prompt, schema): &'a (&'a str, &'a str, Schema)| Offer {
        name,
        title: name,
        prompt,
        schema,
        output: None,
        deferred: false,
    };
    let deferred = Offer { name: "deferred", deferred: true, ..offer(&schemas[0]) };
    schemas.iter().map(offer).chain([deferred])
}

/// What a model says before the results, as the history of a conversation has it.
pub(crate) fn assistant(dialect: Dialect, calls: &[(&str, &str)]) -> Vec<Value> {
    let input = json!({ "path": "a" });
    let each = |write: &dyn Fn(&str, &str) -> Value| -> Vec<Value> {
        calls.iter().map(|(id, name)| write(id, name)).collect()
    };
    match dialect {
        Dialect::Anthropic => {
            let content =
                each(&|id, name| json!({ "type": "tool_use", "id": id, "name": name, "input": input }));
            vec![json!({ "role": "assistant", "content": content })]
        }
        Dialect::OpenAi => {
            let tool_calls = each(&|id, name| {
                let function = json!({ "name": name, "arguments": input.to_string() });
                json!({ "id": id, "type": "function", "function": function })
            });
            vec![json!({ "role": "assistant", "content": null, "tool_calls": tool_calls })]
        }
        Dialect::Responses => each(
            &|id, name| json!({ "type": "function_call", "call_id": id, "name": name, "arguments": input.to_string() }),
        ),
        Dialect::Gemini => {
            let parts =
                each(&|id, name| json!({ "functionCall": { "id": id, "name": name, "args": input } }));
            vec![json!({ "role": "model", "parts": parts })]
        }
    }
}
