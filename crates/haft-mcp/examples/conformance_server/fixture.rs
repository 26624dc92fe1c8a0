//! The server: what is listed, asked and answered, in both eras.

#![expect(deprecated, reason = "clients of the older era still ask for it")]

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        GetPromptRequestParams, GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionFilter, Tool, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::{
    contents, definitions,
    rounds::{Asked, Codec, Outcome},
    work,
};

/// What all sessions share. A clone is the same server.
#[derive(Clone)]
pub(crate) struct Fixture(Arc<Shared>);

struct Shared {
    codec: Codec,
    more_tools: AtomicBool,
    more_prompts: AtomicBool,
    /// Methods of notifications, for everybody who listens.
    news: broadcast::Sender<&'static str>,
}

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";

impl Fixture {
    /// A server whose lists have not changed yet.
    pub(crate) fn new() -> Fixture {
        let (more_tools, more_prompts) = (AtomicBool::new(false), AtomicBool::new(false));
        Fixture(Arc::new(Shared {
            codec: Codec::new(),
            more_tools,
            more_prompts,
            news: broadcast::Sender::new(64),
        }))
    }

    fn tools(&self) -> Vec<Value> {
        definitions::tools(self.0.more_tools.load(Ordering::Relaxed))
    }

    fn prompts(&self) -> Vec<Value> {
        definitions::prompts(self.0.more_prompts.load(Ordering::Relaxed))
    }

    fn change(&self, list: &AtomicBool, news: &'static str) -> Value {
        list.fetch_xor(true, Ordering::Relaxed);
        // Nobody has to listen.
        let _ = self.0.news.send(news);
        contents::said("changed")
    }

    async fn run(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorData> {
        let name = &*request.name;
        work::require(name, context)?;
        match name {
            "test_trigger_tool_change" => {
                return Ok(Outcome::Done(self.change(&self.0.more_tools, TOOLS_CHANGED)));
            }
            "test_trigger_prompt_change" => {
                return Ok(Outcome::Done(self.change(&self.0.more_prompts, PROMPTS_CHANGED)));
            }
            _ => {}
        }
        if let Some(result) = contents::of_tool(name) {
            return Ok(Outcome::Done(result));
        }
        if let Some(result) = work::done(name, context).await {
            return Ok(Outcome::Done(result));
        }
        let asked = Asked {
            name,
            arguments: request.arguments.clone().unwrap_or_default(),
            responses: request.input_responses.clone(),
            state: request.request_state.as_deref(),
        };
        let outcome = asked.outcome(&self.0.codec, context).await?;
        outcome.ok_or_else(|| ErrorData::invalid_params(format!("there is no tool `{name}`"), None))
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "completions": {},
            "logging": {},
        });
        let mut info = ServerConfig::new(typed(capabilities).unwrap_or_default());
        info.server_info.name = "haft-fixture".to_owned();
        info.instructions = Some("What the conformance suite asks for, and nothing useful.".to_owned());
        info
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool["name"] == name).and_then(|tool| typed(tool).ok())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        complete(json!({ "tools": self.tools() }))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        complete(json!({ "prompts": self.prompts() }))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        complete(json!({ "resources": definitions::resources() }))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        complete(json!({ "resourceTemplates": definitions::templates() }))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(match self.run(&request, &context).await? {
            Outcome::Done(result) => CallToolResponse::Complete(complete(result)?),
            Outcome::Asks(question) => CallToolResponse::InputRequired(typed(question)?),
        })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        if let Some(prompt) = contents::of_prompt(&request.name, &arguments) {
            return Ok(GetPromptResponse::Complete(complete(prompt)?));
        }
        let asked = Asked {
            name: &request.name,
            arguments,
            responses: request.input_responses,
            state: request.request_state.as_deref(),
        };
        match asked.outcome(&self.0.codec, &context).await? {
            Some(Outcome::Done(prompt)) => Ok(GetPromptResponse::Complete(complete(prompt)?)),
            Some(Outcome::Asks(question)) => Ok(GetPromptResponse::InputRequired(typed(question)?)),
            None => Err(ErrorData::invalid_params(format!("there is no prompt `{}`", request.name), None)),
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match contents::of_resource(&request.uri) {
            Some(found) => Ok(ReadResourceResponse::Complete(complete(found)?)),
            None => {
                Err(ErrorData::resource_not_found("Resource not found", Some(json!({ "uri": request.uri }))))
            }
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let known = ["paris", "park", "party", "test value"];
        let values: Vec<&str> =
            known.into_iter().filter(|word| word.starts_with(&request.argument.value)).collect();
        complete(json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    /// A legacy client hears of changes without asking.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut news = self.0.news.subscribe();
        tokio::spawn(async move {
            while let Ok(method) = news.recv().await {
                if work::tell(&context.peer, method, json!({})).await.is_err() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    /// A modern client hears of what it has asked for.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut news = self.0.news.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                method = news.recv() => {
                    let Ok(method) = method else { return Ok(()) };
                    // What was not asked for is refused by the sink.
                    let _ = context.sink().send(typed(json!({ "method": method, "params": {} }))?).await;
                }
            }
        }
    }
}

/// A result that is whole. Older clients know no other, and the library does not say it to them.
fn complete<T: DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    result["resultType"] = "complete".into();
    typed(result)
}

/// JSON as one of the library's types.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|err| ErrorData::internal_error(err.to_string(), None))
}
