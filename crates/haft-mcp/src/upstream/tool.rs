//! A tool of a server, in the contract.
//!
//! What a server says of its tool is told to models and kept by pins, and nothing is decided by it: what a call does is not
//! known, whatever it claims. A claim can only make things stricter.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
    time::Duration,
};

use haft_engine::pool::is_like;
use haft_schema::Checker;
use haft_tool::{
    AnyTool, Availability, Bound, BoxFuture, CostTier, Cx, Effects, Fault, FaultKind, Load, Moment, PathBase,
    Reply, Schema, Spec, View,
};
use serde_json::{Map, Value, json};

use super::{
    Upstream,
    connecting::{Errand, Trouble},
    reply::{self, Promise},
};
use crate::{Passage, client::Refused, lint};

/// The longest description that a model is shown.
const LONGEST_PROMPT: usize = 16 << 10;
const LONGEST_TITLE: usize = 200;
/// What the engine waits longer than the connection, so that the connection says what happened.
const GRACE: Duration = Duration::from_secs(5);

/// One tool of one server.
pub(super) struct McpTool {
    upstream: Arc<Upstream>,
    spec: Spec,
    prompt: String,
    schema: Schema,
    output: Option<Schema>,
    promise: OnceLock<Option<Checker>>,
    /// Whether the server itself says that it may do harm.
    is_dangerous: bool,
    /// Whether it can only be called as a task.
    wants_task: bool,
}

impl McpTool {
    pub(super) fn new(upstream: &Arc<Upstream>, definition: &Map<String, Value>) -> McpTool {
        let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default();
        let schema = |key: &str| definition.get(key).filter(|schema| schema.is_object()).cloned();
        let annotations = definition.get("annotations");
        let claims = |hint: &str| annotations.and_then(|all| all.get(hint)) == Some(&Value::Bool(true));
        McpTool {
            spec: spec(upstream, definition),
            prompt: bounded(text("description"), LONGEST_PROMPT),
            schema: Schema::from_value(input(schema("inputSchema"))),
            output: schema("outputSchema").map(Schema::from_value),
            promise: OnceLock::new(),
            is_dangerous: claims("destructiveHint") || claims("openWorldHint"),
            wants_task: definition.get("execution").and_then(|how| how.get("taskSupport"))
                == Some(&"required".into()),
            upstream: upstream.clone(),
        }
    }

    /// What its structured results must be like, by its own word. A schema that cannot be used promises nothing.
    fn promise(&self) -> Option<&Checker> {
        let compile = || Checker::compile_openly(self.output.as_ref()?.value()).ok();
        self.promise.get_or_init(compile).as_ref()
    }

    async fn call(&self, arguments: Value, cx: &Cx) -> Result<Reply, Fault> {
        let errand = Errand::of_call(&self.upstream, cx, self.spec.is_idempotent());
        let errand = errand.wanting_task(self.wants_task);
        let params = Map::from_iter([
            ("name".to_owned(), self.spec.name().into()),
            ("arguments".to_owned(), arguments),
        ]);
        let answer = self.upstream.request(&errand, "tools/call", params).await;
        let answer = answer.map_err(|trouble| fault(&self.upstream.server().name, trouble))?;
        let promise = Promise {
            schema: self.promise(),
            is_made: self.output.is_some(),
            is_strict: self.upstream.server().strict_output,
        };
        let reply = reply::of_call(&self.upstream, &answer, &promise);
        if let Some(passage) = Passage::current().filter(|passage| passage.is_for(cx.call_id())) {
            passage.keep_answer(answer);
        }
        Ok(reply)
    }
}

/// What it takes. Where a server says nothing of keys at all, it takes any, and judges them itself: an object without
/// `properties` would be taken for one that has no keys, and could not be called with any.
fn input(schema: Option<Value>) -> Value {
    let mut schema = schema.unwrap_or_else(|| json!({}));
    let speaks_of_keys = ["properties", "additionalProperties", "unevaluatedProperties"];
    if speaks_of_keys.iter().all(|key| schema.get(key).is_none())
        && schema.get("type").is_none_or(|kind| kind == "object")
    {
        schema["type"] = "object".into();
        schema["additionalProperties"] = true.into();
    }
    schema
}

fn spec(upstream: &Upstream, definition: &Map<String, Value>) -> Spec {
    let server = upstream.server();
    let name = definition.get("name").and_then(Value::as_str).unwrap_or_default();
    let is_in = |patterns: &[String]| patterns.iter().any(|pattern| is_like(name, pattern));
    let limit = server.limits.start.saturating_add(server.limits.total).saturating_add(GRACE);
    let mut spec = Spec::new("").named(Cow::Owned(name.to_owned())).cost(CostTier::Cheap).timeout(limit);
    if let Some(title) = title(definition) {
        spec = spec.titled_as(Cow::Owned(bounded(title, LONGEST_TITLE)));
    }
    if is_in(&server.always_load) {
        spec = spec.load(Load::Always);
    }
    if is_in(&server.idempotent) {
        spec = spec.idempotent();
    }
    match definition.get("annotations") {
        None | Some(Value::Null) => spec,
        Some(annotations) => spec.claiming(annotations.clone()),
    }
}

fn title(definition: &Map<String, Value>) -> Option<&str> {
    let annotated = definition.get("annotations").and_then(|annotations| annotations.get("title"));
    let title = definition.get("title").or(annotated)?.as_str()?.trim();
    (!title.is_empty()).then_some(title)
}

fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}… (cut; it is {} bytes long)", &text[..text.floor_char_boundary(most)], text.len())
}

impl AnyTool for McpTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn prompt(&self) -> &str {
        &self.prompt
    }
    fn schema(&self) -> &Schema {
        &self.schema
    }
    fn output(&self) -> Option<&Schema> {
        self.output.as_ref()
    }
    fn availability(&self) -> Availability {
        self.upstream.absence().map_or(Availability::Ready, Availability::Missing)
    }
    fn bind(self: Arc<Self>, input: &Value) -> Result<Box<dyn Bound>, Fault> {
        Ok(Box::new(McpCall { tool: self, arguments: input.clone() }))
    }
    fn view(&self, _input: &Value, moment: Moment<'_>) -> View {
        View::general(&self.line(), moment)
    }
}

impl McpTool {
    fn line(&self) -> String {
        format!("{} of the server {}", self.spec.title(), self.upstream.server().name)
    }
}

struct McpCall {
    tool: Arc<McpTool>,
    arguments: Value,
}

impl Bound for McpCall {
    fn validate(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn effects(&self, _: &PathBase) -> Effects {
        let mut effects = Effects::unknown();
        effects.push_doubt("what it does is the server's word");
        if self.tool.is_dangerous { effects.irreversible() } else { effects }
    }

    fn describe(&self) -> String {
        self.tool.line()
    }

    fn classifier_input(&self) -> Option<String> {
        None
    }

    /// What is odd in what the server tells models about the tool, for whoever is about to permit it.
    fn preview(&self, _: Cx) -> BoxFuture<'_, Option<View>> {
        Box::pin(async {
            let known = self.tool.upstream.known();
            let is_it = |tool: &&Map<String, Value>| tool.get("name") == Some(&self.tool.spec.name().into());
            let definition = known.tools.iter().find(is_it)?;
            let (upstream, instructions) = (&self.tool.upstream, known.instructions.as_deref());
            lint::warning(&upstream.server().name, definition, instructions, &upstream.neighbours())
                .map(View::text)
        })
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Reply, Fault>> {
        Box::pin(async move { self.tool.call(self.arguments, &cx).await })
    }
}

/// What the model is told when a server has no answer, or says no.
pub(super) fn fault(server: &str, trouble: Trouble) -> Fault {
    let refused = match trouble {
        Trouble::Unreached(fault) => return fault,
        Trouble::Refused(refused) => refused,
    };
    let said = bounded(&refused.message, 4 << 10);
    match refused.code {
        Refused::TIMED_OUT => Fault::new(
            FaultKind::TimedOut,
            format!("the server `{server}` did not answer in time ({said}); what it had done by then stays done"),
        ),
        Refused::GONE => Fault::new(
            FaultKind::Interrupted,
            format!(
                "the connection to the server `{server}` ended; whether it was carried out is not known: look before you \
                 do it again"
            ),
        )
        .with_source(refused),
        Refused::UNFINISHED => Fault::new(
            FaultKind::Interrupted,
            format!("the server `{server}` gave no result: {said}: look before you do it again"),
        ),
        Refused::UNREADABLE => {
            Fault::failed(format!("the answer of the server `{server}` could not be understood: {said}"))
        }
        Refused::UNAUTHORIZED => Fault::new(
            FaultKind::Unavailable,
            format!("the server `{server}` does not let you in: tell the user to log in to it"),
        )
        .with_source(refused),
        INVALID_PARAMS => Fault::rejected(format!("the server `{server}` refuses the input: {said}")),
        _ => Fault::failed(format!("the server `{server}` says: {said}")),
    }
}

const INVALID_PARAMS: i64 = -32602;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        client::{Server, Transport},
        upstream::Options,
    };

    fn tool(definition: Value) -> McpTool {
        let transport = Transport::Http { url: "http://127.0.0.1:1/mcp".to_owned(), headers: [].into() };
        let server = Server {
            always_load: vec!["get_*".to_owned()],
            idempotent: vec!["get_it".to_owned()],
            ..Server::new("s", transport)
        };
        let upstream = Upstream::new(server, &Options::default());
        McpTool::new(&upstream, definition.as_object().expect("an object"))
    }

    fn effects(definition: Value) -> Effects {
        let bound = Arc::new(tool(definition)).bind(&json!({})).expect("bound");
        bound.effects(&PathBase { cwd: "/w".into(), home: None, workspace: None })
    }

    #[test]
    fn hints_only_tighten() {
        for (annotations, is_destructive) in [
            (json!(null), false),
            (json!({ "readOnlyHint": true, "idempotentHint": true }), false),
            (json!({ "destructiveHint": false, "openWorldHint": false }), false),
            (json!({ "destructiveHint": true, "readOnlyHint": true }), true),
            (json!({ "openWorldHint": true }), true),
            (json!({ "destructiveHint": "yes" }), false),
            (json!("odd"), false),
        ] {
            let found = effects(json!({ "name": "x", "annotations": annotations }));
            assert!(found.is_unknown() && !found.is_read_only(), "{annotations}");
            assert_eq!(found.is_destructive(), is_destructive, "{annotations}");
            assert_eq!(found.doubts(), ["what it does is the server's word"]);
        }
        assert!(
            !tool(json!({ "name": "x", "annotations": { "idempotentHint": true } })).spec.is_idempotent()
        );
    }

    #[test]
    fn the_users_settings_say_what_is_shown_and_what_may_be_repeated() {
        let (one, other) = (tool(json!({ "name": "get_it" })), tool(json!({ "name": "put_it" })));
        assert_eq!((one.spec.loading(), one.spec.is_idempotent()), (Load::Always, true));
        assert_eq!((other.spec.loading(), other.spec.is_idempotent()), (Load::Auto, false));
    }

    #[test]
    fn definitions_of_any_kind_make_a_tool() {
        for (definition, title, prompt) in [
            (json!({ "name": "x" }), "x", ""),
            (json!({ "name": "x", "title": "The X", "description": "Does x." }), "The X", "Does x."),
            (json!({ "name": "x", "annotations": { "title": " Ex " }, "inputSchema": null }), "Ex", ""),
            (json!({ "name": "x", "title": 7, "description": {}, "inputSchema": [] }), "x", ""),
        ] {
            let made = tool(definition);
            assert_eq!((made.spec.title(), made.prompt()), (title, prompt));
            let open = json!({ "type": "object", "additionalProperties": true, "properties": {} });
            assert_eq!(made.schema().value(), &open);
        }
    }

    #[test]
    fn a_tool_takes_any_key_only_where_its_server_says_nothing_of_keys() {
        for (schema, expected) in [
            (json!({}), true),
            (json!({ "type": "object" }), true),
            (json!({ "type": "object", "required": ["x"] }), true),
            (json!({ "properties": {} }), false),
            (json!({ "type": "object", "properties": {} }), false),
            (json!({ "type": "object", "additionalProperties": false }), false),
            (json!({ "type": "object", "properties": { "y": {} }, "additionalProperties": true }), true),
        ] {
            let made = tool(json!({ "name": "x", "inputSchema": schema }));
            let checker = Checker::compile(made.schema().value()).expect("a schema");
            assert_eq!(checker.check(json!({ "x": 1 })).is_ok(), expected, "{schema}");
        }
    }

    #[test]
    fn a_description_is_bounded_and_says_so() {
        let made = tool(json!({ "name": "x", "description": "ü".repeat(20_000) }));
        assert!(
            made.prompt.len() < LONGEST_PROMPT + 60 && made.prompt.ends_with("(cut; it is 40000 bytes long)")
        );
    }

    #[test]
    fn every_refusal_says_what_can_be_done() {
        for (code, kind) in [
            (Refused::TIMED_OUT, FaultKind::TimedOut),
            (Refused::GONE, FaultKind::Interrupted),
            (Refused::UNFINISHED, FaultKind::Interrupted),
            (Refused::UNREADABLE, FaultKind::Failed),
            (Refused::UNAUTHORIZED, FaultKind::Unavailable),
            (INVALID_PARAMS, FaultKind::RejectedInput),
            (7, FaultKind::Failed),
        ] {
            let fault = fault("s", Trouble::Refused(Refused::new(code, "why")));
            assert_eq!(fault.kind(), kind, "{code}");
            assert!(fault.message().contains("`s`"), "{}", fault.message());
        }
    }
}
