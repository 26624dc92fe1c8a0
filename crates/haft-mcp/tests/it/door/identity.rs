//! Two tokens, two principals: what holds for one, and what one has, is not the other's.

use haft_engine::policy::{RuleKeeper, Written};
use haft_mcp::{
    client::Server,
    server::{Badge, HttpOptions},
};
use haft_tool::{BoxFuture, Caller, Effects, Reply, SessionFacts, Spec, ToolBuilder, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    http::{Answer, Served, badge, hello, modern, serve},
    kit::{House, text},
};
use crate::bridges::server;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

const ADA: &str = "token-of-ada";
const BOB: &str = "token-of-bob";

fn of(token: &str, user: &str, role: &str) -> Badge {
    let (user, channel) = (Some(user.to_owned()), Some("mcp".to_owned()));
    badge(token).of(Caller { user, roles: vec![role.to_owned()], channel })
}

fn house() -> House {
    let paint = tool("Paint")
        .effects(|_: &Nothing| Effects::unknown())
        .call(|_: Nothing, _| async { Ok(Reply::text("painted")) });
    let who = tool("Who").effects(|_: &Nothing| Effects::none()).call(|_: Nothing, cx| async move {
        let Caller { user, roles, channel } = &cx.session().caller;
        Ok(Reply::text(format!("{user:?} {roles:?} {channel:?}")))
    });
    let vault = ToolBuilder::<Nothing>::of(Spec::new("Vault").roles(&["dev"]))
        .effects(|_| Effects::none())
        .call(|_, _| async { Ok(Reply::text("gold")) });
    House::new().building(|builder| builder.tool(paint).tool(who).tool(vault))
}

/// Ada is a dev, Bob is a guest.
async fn both(house: House) -> Served {
    let badges = vec![of(ADA, "ada", "dev"), of(BOB, "bob", "guest")];
    serve(house, HttpOptions { badges: Some(badges), sse: true, ..HttpOptions::default() }).await
}

impl Served {
    /// A request of the new era by whoever has the token, who can be asked and knows tasks.
    async fn by(&self, token: &str, method: &str, params: Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let name = params.get("name").or_else(|| params.get("uri")).or_else(|| params.get("taskId"));
        let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut message = modern(method, params);
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
        let headers = [
            ("authorization", bearer.as_str()),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
            ("mcp-name", &name),
        ];
        self.post(&headers, message).await
    }

    async fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let answer = self.by(token, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
        answer.json()
    }

    async fn names(&self, token: &str) -> Vec<String> {
        let listed = self.by(token, "tools/list", json!({})).await.json();
        let tools = listed["result"]["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// A session of the old era; gives its id.
    async fn greet(&self, token: &str) -> String {
        let greeted = self.post(&[("authorization", &format!("Bearer {token}"))], hello()).await;
        greeted.header("mcp-session-id").expect("a session").to_owned()
    }
}

#[tokio::test]
async fn a_session_knows_who_its_client_is_in_both_eras() {
    let served = both(house()).await;
    let said = |user: &str, role: &str| format!(r#"Some("{user}") ["{role}"] Some("mcp")"#);
    assert_eq!(text(&served.call(ADA, "Who", json!({})).await["result"]), said("ada", "dev"));
    assert_eq!(text(&served.call(BOB, "Who", json!({})).await["result"]), said("bob", "guest"));
    let session = served.greet(BOB).await;
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "Who", "arguments": {} } });
    let bearer = format!("Bearer {BOB}");
    let headers = [("authorization", bearer.as_str()), ("mcp-session-id", &session)];
    assert_eq!(text(&served.post(&headers, call).await.json()["result"]), said("bob", "guest"));
}

#[tokio::test]
async fn a_rule_for_a_role_lets_one_call_and_not_the_other() {
    let served = both(house().allow_to("dev", "Paint")).await;
    assert_eq!(text(&served.call(ADA, "Paint", json!({})).await["result"]), "painted");
    let asked = served.call(BOB, "Paint", json!({})).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "nothing covers it for Bob: {asked}");
}

#[tokio::test]
async fn a_list_lacks_what_is_denied_to_whoever_asks_for_it_and_calling_it_helps_nobody() {
    let served = both(house().deny_except("dev", "Sized")).await;
    let (ada, bob) = (served.names(ADA).await, served.names(BOB).await);
    for name in ["Sized", "Vault"] {
        assert!(ada.iter().any(|listed| listed == name), "{name}: {ada:?}");
        assert!(!bob.iter().any(|listed| listed == name), "{name}: {bob:?}");
        for called in [name.to_owned(), "ToolCall".to_owned()] {
            let arguments = match called.as_str() {
                "ToolCall" => json!({ "name": name, "arguments": { "bytes": 1 } }),
                _ => json!({ "bytes": 1 }),
            };
            let refused = served.call(BOB, &called, arguments).await;
            let is_refused = refused.get("error").is_some() || refused["result"]["isError"] == true;
            assert!(is_refused, "{called} {name}: {refused}");
        }
    }
    assert_eq!(text(&served.call(ADA, "Sized", json!({ "bytes": 1 })).await["result"]), ".");
    assert_eq!(text(&served.call(ADA, "Vault", json!({})).await["result"]), "gold");
}

#[tokio::test]
async fn a_session_is_not_there_for_another_token() {
    let served = both(house()).await;
    let session = served.greet(ADA).await;
    let ping = || json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string();
    for (token, expected) in [(BOB, 404), (ADA, 200)] {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("mcp-session-id", &session)];
        assert_eq!(served.request("POST", "/mcp", &headers, &ping()).await.status, expected, "{token}");
        let again = [headers[0], headers[1], ("last-event-id", "9-9")];
        assert_eq!(served.request("GET", "/mcp", &again, "").await.status, expected, "{token}");
        let path = format!("/message?sessionId={session}");
        let posted = served.request("POST", &path, &headers[..1], &ping()).await;
        assert_eq!(posted.status, if expected == 200 { 202 } else { 404 }, "{token}");
        assert_eq!(served.request("DELETE", "/mcp", &headers, "").await.status, expected, "{token}");
    }
}

#[tokio::test]
async fn a_call_that_waits_goes_on_only_for_whoever_made_it() {
    let served = both(house()).await;
    let call = json!({ "name": "Paint", "arguments": {} });
    let asked = served.by(ADA, "tools/call", call.clone()).await.json();
    let name =
        asked["result"]["inputRequests"].as_object().expect("a question").keys().next().unwrap().clone();
    let mut answered = call;
    answered["requestState"] = asked["result"]["requestState"].clone();
    answered["inputResponses"] = json!({ name: { "action": "accept", "content": { "decision": "once" } } });
    let refused = served.by(BOB, "tools/call", answered.clone()).await.json();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let painted = served.by(ADA, "tools/call", answered).await.json();
    assert_eq!(text(&painted["result"]), "painted", "{painted}");
}

/// Keeps no rule, and would.
struct Keeper;

impl RuleKeeper for Keeper {
    fn keep<'a>(
        &'a self,
        _: &'a SessionFacts,
        _: &'a [String],
    ) -> BoxFuture<'a, std::io::Result<Vec<Written>>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[tokio::test]
async fn a_rule_for_everybody_is_written_by_the_owner_alone() {
    let post = tool("Post")
        .effects(|_: &Nothing| Effects::fetches("example.org"))
        .call(|_: Nothing, _| async { Ok(Reply::text("posted")) });
    let house = house().building(|builder| builder.tool(post).rule_keeper(Keeper));
    let badges = vec![of(ADA, "ada", "owner"), of(BOB, "bob", "guest")];
    let served = serve(house, HttpOptions { badges: Some(badges), ..HttpOptions::default() }).await;
    for (token, is_offered) in [(ADA, true), (BOB, false)] {
        let asked = served.call(token, "Post", json!({})).await;
        let question = asked["result"]["inputRequests"].as_object().expect("a question").values().next();
        let choices = &question.unwrap()["params"]["requestedSchema"]["properties"]["decision"]["enum"];
        let choices = choices.as_array().expect("choices");
        assert_eq!(choices.contains(&json!("always")), is_offered, "{token}: {asked}");
    }
}

#[tokio::test]
async fn a_large_result_is_read_only_by_whoever_it_was_for() {
    let served = both(house()).await;
    let result = served.call(ADA, "Sized", json!({ "bytes": 300_000 })).await;
    let link = result["result"]["content"].as_array().unwrap().last().unwrap()["uri"].clone();
    let read = |token| served.by(token, "resources/read", json!({ "uri": link }));
    assert_eq!(read(BOB).await.json()["error"]["code"], -32602);
    assert!(read(ADA).await.json()["result"]["contents"][0]["text"].is_string());
}

/// A server that makes a task of every call.
fn of_tasks() -> Server {
    server(|message, out| {
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" => out.answer(
                &message,
                json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } }),
            ),
            "tools/list" => out.answer(
                &message,
                json!({ "resultType": "complete", "tools": [{ "name": "build", "inputSchema": { "type": "object" } }] }),
            ),
            "tools/call" => {
                out.answer(&message, json!({ "resultType": "task", "taskId": "7", "status": "working" }))
            }
            "tasks/get" => out.answer(
                &message,
                json!({ "resultType": "complete", "taskId": message["params"]["taskId"], "status": "working" }),
            ),
            _ if message.get("id").is_some() => out.refuse(&message, -32601, "what is that"),
            _ => {}
        }
        true
    })
}

#[tokio::test]
async fn a_task_is_known_only_to_whoever_began_it() {
    let served = both(house().server("ci", of_tasks()).allow("mcp__ci")).await;
    let begun = served.call(ADA, "ci__build", json!({})).await;
    let id = begun["result"]["taskId"].clone();
    assert!(id.is_string(), "{begun}");
    let get = |token| served.by(token, "tasks/get", json!({ "taskId": id }));
    assert_eq!(get(BOB).await.json()["error"]["code"], -32602);
    assert_eq!(get(ADA).await.json()["result"]["status"], "working");
    served.open.door.close().await;
}
