//! Prints requests of every kind in every dialect, a JSON document a line. `cargo xtask models` has them judged by the
//! vendors' own types.

use haft_engine::{pool::Offer, result::ToolResult, turn::Call};
use haft_model::{
    Assistant, Decoder, Dialect, Effort, History, Message, Part, Request, RequestOptions, Said, StreamEvent,
    Thinking, ToolChoice,
};
use haft_tool::{Block, FaultKind, Schema};
use serde_json::{Value, json};

#[expect(clippy::print_stdout, reason = "what it prints is what it is for")]
fn main() {
    for dialect in Dialect::ALL {
        for (name, request) in requests(dialect) {
            let body: Value = serde_json::from_str(request.json()).unwrap_or_default();
            println!(
                "{}",
                json!({ "dialect": dialect.name(), "name": name, "path": request.path(), "body": body })
            );
        }
    }
}

/// The requests of a dialect, by what they show.
pub(crate) fn requests(dialect: Dialect) -> Vec<(&'static str, Request)> {
    let plain = RequestOptions::new("a-model");
    let mut hello = History::new(dialect);
    hello.push(Message::user("Hello."));
    let mut with_tool = hello.clone();
    let schema = Schema::from_value(json!({ "type": "object", "properties": {} }));
    with_tool.set_tools([offer("Read", &schema)]);
    let with = |options: RequestOptions| with_tool.request(&options);
    let mut requests = vec![
        ("a greeting", hello.request(&plain)),
        ("a conversation", conversation(dialect).request(&plain)),
        ("an answer of its own, sent back", sent_back(dialect).request(&plain)),
        ("in one piece", with(RequestOptions { whole: true, uncached: true, ..plain.clone() })),
        (
            "with limits",
            with(RequestOptions {
                max_tokens: Some(4_000),
                // Anthropic's newest types have none any more; older models and compatible servers do.
                temperature: (dialect != Dialect::Anthropic).then_some(0.5),
                cache_key: Some("session-1".to_owned()),
                ..plain.clone()
            }),
        ),
    ];
    if dialect.has_references() {
        requests.push(("a tool that was found, referred to", referring(dialect).request(&plain)));
    }
    for (name, thinking) in [
        ("thinking by effort", Thinking::Effort(Effort::Medium)),
        ("thinking within a budget", Thinking::Budget(2_000)),
        ("not thinking", Thinking::Off),
    ] {
        requests.push((name, hello.request(&RequestOptions { thinking: Some(thinking), ..plain.clone() })));
    }
    for (name, tool_choice) in [
        ("calls forbidden", ToolChoice::Never),
        ("a call required", ToolChoice::Required),
        ("this call required", ToolChoice::Named("Read".to_owned())),
    ] {
        requests.push((name, with(RequestOptions { tool_choice, one_call: true, ..plain.clone() })));
    }
    requests
}

/// All tools are sent, and the result of a search refers to one that the API keeps.
fn referring(dialect: Dialect) -> History {
    let schema = Schema::from_value(json!({ "type": "object", "properties": {} }));
    let mut history = History::new(dialect);
    let kept = |name| Offer { deferred: true, ..offer(name, &schema) };
    history.set_tools_deferring([offer("ToolSearch", &schema), kept("Undo"), kept("Watch")]);
    history.push(Message::user("Take it back."));
    let call = Call::new("toolu_1", "ToolSearch", r#"{"query": "undo"}"#);
    history.push(Assistant { parts: vec![Part::new(Said::Call(call.clone()))] });
    let mut found = result(&call, vec![Block::Text("Undo takes a path.".to_owned())], None);
    found.meta.loaded = vec!["Undo".to_owned()];
    history.push(Message::Results(vec![found]));
    history
}

/// What the API's own model said, with all that it wants back, and the results of its calls.
fn sent_back(dialect: Dialect) -> History {
    let bytes = match dialect {
        Dialect::Anthropic => include_str!("../tests/it/streams/anthropic/thinking_and_parallel_calls.sse"),
        Dialect::OpenAi => include_str!("../tests/it/streams/openai/parallel_calls.sse"),
        Dialect::Responses => include_str!("../tests/it/streams/responses/reasoning_and_calls.sse"),
        Dialect::Gemini => include_str!("../tests/it/streams/gemini/thoughts_and_calls.sse"),
    };
    let mut history = History::new(dialect);
    history.push(Message::user("Read both."));
    let mut decoder = Decoder::seeded(dialect, 7);
    let events = decoder.feed(bytes.as_bytes()).into_iter().chain(decoder.end());
    for event in events {
        let StreamEvent::Done(response) = event else { continue };
        let calls: Vec<Call> = response.message.calls().cloned().collect();
        history.push(response.message);
        let found = || vec![Block::Text("found".to_owned())];
        history.push(Message::Results(calls.iter().map(|call| result(call, found(), None)).collect()));
    }
    history
}

/// What another API's model said, and so is sent without anything that only its own wants back.
fn conversation(dialect: Dialect) -> History {
    let schema =
        Schema::from_value(json!({ "type": "object", "properties": { "path": { "type": "string" } },
        "required": ["path"], "additionalProperties": false }));
    let mut history = History::new(dialect);
    history.set_system("You are brief.");
    history.set_tools([offer("List", &schema), offer("Read", &schema)]);
    let picture = Block::Image { media_type: "image/png".to_owned(), data: b"\x89PNG".to_vec() };
    let paper = Block::Document {
        media_type: "application/pdf".to_owned(),
        name: "paper.pdf".to_owned(),
        data: b"%PDF-1.7".to_vec(),
    };
    history.push(Message::User(vec![Block::Text("What is in these?".to_owned()), picture.clone(), paper]));
    let calls = [
        Call::new("toolu_1", "Read", r#"{"path": "a.rs"}"#),
        Call::new("functions.Read:1", "Read", r#"{"path": "logo.png"}"#),
        Call::new("toolu_3", "List", r#"{"path": "#),
    ];
    let said = [Said::Thinking("Let me see.".to_owned()), Said::Text("I look.".to_owned())];
    let said = said.into_iter().chain(calls.iter().cloned().map(Said::Call));
    history.push(Assistant { parts: said.map(Part::new).collect() });
    history.push(Message::Results(vec![
        result(&calls[0], vec![Block::Text("fn main() {}".to_owned())], None),
        result(&calls[1], vec![picture], None),
        result(
            &calls[2],
            vec![Block::Text("The arguments are cut off.".to_owned())],
            Some(FaultKind::InvalidInput),
        ),
    ]));
    history.push(Assistant { parts: vec![Part::new(Said::Text("A program and a picture.".to_owned()))] });
    history.push(Message::user("Thanks. And now?"));
    history
}

fn offer<'a>(name: &'a str, schema: &'a Schema) -> Offer<'a> {
    Offer { name, title: name, prompt: "Takes a path.", schema, output: None, deferred: false }
}

fn result(call: &Call, blocks: Vec<Block>, fault: Option<FaultKind>) -> ToolResult {
    ToolResult {
        call: call.id.clone(),
        tool: call.name.clone(),
        blocks,
        fault: fault.map(|kind| haft_engine::result::FaultFacts { kind, refusal: None }),
        data: None,
        observation: None,
        actions: Vec::new(),
        messages: Vec::new(),
        view: None,
        meta: Default::default(),
    }
}
