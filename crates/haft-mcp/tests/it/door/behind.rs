//! Servers of both eras behind the door, and clients of both eras in front of it.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use haft_mcp::client::Server;
use serde_json::{Value, json};

use super::kit::{Client, House, text};
use crate::bridges::{Out, greets_as_before, server};

/// What servers of the test have.
fn tools() -> Value {
    json!([
        { "name": "echo", "description": "Says it again.", "inputSchema": { "type": "object", "properties": { "message": { "type": "string" } } }, "x-odd": [1] },
        { "name": "ask", "inputSchema": { "type": "object" } },
        { "name": "refuse", "inputSchema": { "type": "object" } },
    ])
}

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true }, "prompts": {}, "resources": { "subscribe": true }, "completions": {}, "logging": {} })
}

/// What both eras answer alike.
fn common(message: &Value, out: &Out) {
    let params = &message["params"];
    let resource = || json!({ "uri": params["uri"], "mimeType": "text/plain", "text": "words" });
    match message["method"].as_str().unwrap_or_default() {
        "tools/list" => out.answer(message, json!({ "resultType": "complete", "tools": tools() })),
        "prompts/list" => {
            out.answer(message, json!({ "resultType": "complete", "prompts": [{ "name": "greet" }] }))
        }
        "prompts/get" => {
            let words = json!({ "type": "text", "text": format!("prompt {}", params["name"].as_str().unwrap_or_default()) });
            out.answer(
                message,
                json!({ "resultType": "complete", "messages": [{ "role": "user", "content": words }] }),
            );
        }
        "resources/list" => {
            out.answer(
                message,
                json!({ "resultType": "complete", "resources": [{ "uri": "test://a", "name": "a" }] }),
            );
        }
        "resources/templates/list" => {
            let templates = json!([{ "uriTemplate": "test://t/{id}", "name": "t" }]);
            out.answer(message, json!({ "resultType": "complete", "resourceTemplates": templates }));
        }
        "resources/read" => {
            out.answer(message, json!({ "resultType": "complete", "contents": [resource()], "x": 1 }))
        }
        "resources/subscribe" => {
            out.answer(message, json!({}));
            out.say(json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": params["uri"] } }));
        }
        "completion/complete" => {
            let values = json!([params["ref"]["name"], params["argument"]["value"]]);
            out.answer(message, json!({ "resultType": "complete", "completion": { "values": values } }));
        }
        "tools/call" if params["name"] == "echo" => {
            if !params["_meta"]["progressToken"].is_null() {
                let progress =
                    json!({ "progressToken": params["_meta"]["progressToken"], "progress": 1.5, "total": 3 });
                out.say(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress }));
            }
            let block = json!({ "type": "text", "text": params["arguments"]["message"], "annotations": { "priority": 0.5 } });
            out.answer(message, json!({ "resultType": "complete", "content": [block], "_meta": { "trace": params["_meta"]["traceparent"] } }));
        }
        "tools/call" if params["name"] == "refuse" => {
            let error = json!({ "code": -32021, "message": "no", "data": { "requiredCapabilities": { "sampling": {} } } });
            out.say(json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
        }
        _ if message.get("id").is_some() => out.refuse(message, -32601, "what is that"),
        _ => {}
    }
}

/// A server of the old era. Its tool `ask` sends a request of its own.
fn legacy_server() -> Server {
    let waiting: Arc<Mutex<Option<Value>>> = Arc::default();
    server(move |message, out| {
        match message["method"].as_str() {
            Some("server/discover") => out.refuse(&message, -32601, "what is that"),
            Some("initialize") => {
                let said = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities(), "serverInfo": { "name": "old", "version": "1" }, "instructions": "be kind" });
                out.answer(&message, said);
            }
            Some("tools/call") if message["params"]["name"] == "ask" => {
                let question =
                    json!({ "message": "name?", "requestedSchema": { "type": "object", "properties": {} } });
                out.say(json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": question }));
                *waiting.lock().unwrap() = Some(message);
            }
            None if message["id"] == "q" => {
                let name = &message["result"]["content"]["name"];
                let call = waiting.lock().unwrap().take().expect("a call that waits");
                out.answer(
                    &call,
                    json!({ "content": [{ "type": "text", "text": format!("hello {name}") }] }),
                );
            }
            _ => common(&message, out),
        }
        true
    })
}

/// A server of the new era. Its tool `ask` answers with a question.
fn modern_server() -> Server {
    server(|message, out| {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("server/discover") => {
                let meta = json!({ "io.modelcontextprotocol/serverInfo": { "name": "new", "version": "2" } });
                let said = json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities(), "_meta": meta });
                out.answer(&message, said);
            }
            Some("initialize") => out.refuse(&message, -32601, "gone"),
            Some("tools/call") if params["name"] == "ask" && params["requestState"] != "s" => {
                let question = json!({ "method": "elicitation/create", "params": { "message": "name?", "requestedSchema": { "type": "object", "properties": {} } } });
                let asked = json!({ "resultType": "input_required", "inputRequests": { "n": question }, "requestState": "s" });
                out.answer(&message, asked);
            }
            Some("tools/call") if params["name"] == "ask" => {
                let name = &params["inputResponses"]["n"]["content"]["name"];
                out.answer(&message, json!({ "resultType": "complete", "content": [{ "type": "text", "text": format!("hello {name}") }] }));
            }
            _ => common(&message, out),
        }
        true
    })
}

/// Calls `ask` and answers what it asks, in the way of the client's era.
async fn ask_and_answer(client: &mut Client, tool: &str) -> Value {
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    let mut call = json!({ "name": tool, "arguments": {} });
    let id = client.send("tools/call", call.clone()).await;
    let first = client.hear().await;
    if first["method"] == "elicitation/create" {
        client.say(json!({ "jsonrpc": "2.0", "id": first["id"], "result": answer })).await;
        return client.answer(id).await.unwrap();
    }
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let name = first["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    call["requestState"] = first["result"]["requestState"].clone();
    call["inputResponses"] = json!({ name: answer });
    client.ask("tools/call", call).await.unwrap()
}

#[tokio::test]
async fn a_server_s_question_reaches_the_client_whatever_era_the_two_are_of() {
    for (name, behind) in [("old", legacy_server as fn() -> Server), ("new", modern_server)] {
        let open = House::new().server(name, behind()).allow(&format!("mcp__{name}")).open();
        let legacy = open.legacy(json!({ "elicitation": {} })).await;
        for mut client in [legacy, open.modern(json!({ "elicitation": {} }))] {
            let result = ask_and_answer(&mut client, &format!("{name}__ask")).await;
            assert_eq!(text(&result), r#"hello "Ada""#, "{name}");
        }
        open.door.close().await;
    }
}

#[tokio::test]
async fn definitions_results_and_refusals_come_out_as_the_server_wrote_them() {
    for behind in [legacy_server(), modern_server()] {
        let open = House::new().server("up", behind).allow("mcp__up").open();
        for mut client in [open.legacy(json!({})).await, open.modern(json!({}))] {
            let listed = client.ask("tools/list", json!({})).await.unwrap();
            let echo =
                listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "up__echo").unwrap();
            let mut expected = tools()[0].clone();
            expected["name"] = "up__echo".into();
            assert_eq!(echo, &expected);
            let params = json!({ "name": "up__echo", "arguments": { "message": "hi" }, "_meta": { "progressToken": 7, "traceparent": "00-1" } });
            let result = client.ask("tools/call", params).await.unwrap();
            assert_eq!(
                result["content"],
                json!([{ "type": "text", "text": "hi", "annotations": { "priority": 0.5 } }])
            );
            assert_eq!(result["_meta"]["trace"], "00-1");
            let told = &client.heard.pop().expect("progress")["params"];
            assert_eq!(told, &json!({ "progressToken": 7, "progress": 1.5, "total": 3 }));
            let refused = client.call("up__refuse", json!({})).await.unwrap_err();
            assert_eq!(refused["data"]["requiredCapabilities"], json!({ "sampling": {} }), "{refused}");
            let by_pool_name = client.call("mcp__up__echo", json!({ "message": "yo" })).await.unwrap();
            assert_eq!(text(&by_pool_name), "yo");
        }
        open.door.close().await;
    }
}

#[tokio::test]
async fn a_client_that_searches_first_finds_what_servers_have_by_the_names_that_it_knows() {
    for behind in [legacy_server(), modern_server()] {
        let open = House::new().server("up", behind).open();
        for mut client in [open.legacy(json!({})).await, open.modern(json!({}))] {
            let find = json!({ "query": "select:up__echo,mcp__up__ask" });
            let found = client.call("ToolSearch", find).await.unwrap();
            let names: Vec<&str> = text(&found).lines().filter_map(|line| line.split(':').next()).collect();
            assert_eq!(names, ["up__echo", "up__ask"], "{found}");
            let nothing = client.call("ToolSearch", json!({ "query": "select:nothing" })).await.unwrap();
            assert!(text(&nothing).contains("up (3)"), "{nothing}");
            let shown = client.call("ToolDescribe", json!({ "names": ["up__echo"] })).await.unwrap();
            assert!(text(&shown).contains("Says it again."), "{shown}");
        }
        open.door.close().await;
    }
}

#[tokio::test]
async fn prompts_resources_and_completions_find_their_server() {
    let open = House::new()
        .server("a", legacy_server())
        .server("b", modern_server())
        .allow("mcp__a")
        .allow("mcp__b")
        .open();
    for mut client in [open.legacy(json!({})).await, open.modern(json!({}))] {
        assert_eq!(client.names("prompts/list", "prompts").await, ["a__greet", "b__greet"]);
        assert_eq!(client.names("resources/list", "resources").await, ["a"], "the first by name has it");
        let got = client.ask("prompts/get", json!({ "name": "b__greet" })).await.unwrap();
        assert_eq!(got["messages"][0]["content"]["text"], "prompt greet");
        let read = client.ask("resources/read", json!({ "uri": "test://t/9" })).await.unwrap();
        assert_eq!(
            read["contents"][0],
            json!({ "uri": "test://t/9", "mimeType": "text/plain", "text": "words" })
        );
        let missing = client.ask("resources/read", json!({ "uri": "other://x" })).await.unwrap_err();
        assert_eq!((&missing["code"], &missing["data"]["uri"]), (&json!(-32602), &json!("other://x")));
        let reference = json!({ "type": "ref/prompt", "name": "b__greet" });
        let params = json!({ "ref": reference, "argument": { "name": "x", "value": "par" } });
        let completed = client.ask("completion/complete", params).await.unwrap();
        assert_eq!(completed["completion"]["values"], json!(["greet", "par"]));
        assert!(client.ask("prompts/get", json!({ "name": "c__greet" })).await.is_err());
    }
}

#[tokio::test]
async fn a_server_that_is_denied_gives_neither_calls_nor_resources_nor_prompts() {
    let open = House::new().server("a", legacy_server()).deny("mcp__a").open();
    let mut client = open.legacy(json!({})).await;
    assert!(client.call("a__echo", json!({ "message": "x" })).await.is_err());
    for (method, key) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
        assert_eq!(client.names(method, key).await, [""; 0], "{method}");
    }
    for (method, params) in [
        ("resources/read", json!({ "uri": "test://a" })),
        ("resources/subscribe", json!({ "uri": "test://a" })),
        ("prompts/get", json!({ "name": "a__greet" })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "a__greet" }, "argument": { "name": "x", "value": "" } }),
        ),
    ] {
        let refused = client.ask(method, params).await.unwrap_err();
        assert_eq!(refused["code"], -32003, "{method}: {refused}");
    }
}

#[tokio::test]
async fn alone_a_server_is_shown_as_it_is() {
    let open = House::new()
        .server("a", legacy_server())
        .server("b", modern_server())
        .only("a")
        .allow("mcp__a")
        .open();
    let mut client = open.client();
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let greeting = client.ask("initialize", hello).await.unwrap();
    assert_eq!(
        (&greeting["serverInfo"]["name"], &greeting["instructions"]),
        (&json!("old"), &json!("be kind"))
    );
    assert_eq!(greeting["capabilities"], capabilities());
    let listed = client.ask("tools/list", json!({})).await.unwrap();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 3);
    assert!(
        tools().as_array().unwrap().iter().all(|tool| listed["tools"].as_array().unwrap().contains(tool))
    );
    assert_eq!(client.names("prompts/list", "prompts").await, ["greet"]);
    assert_eq!(text(&client.call("echo", json!({ "message": "hi" })).await.unwrap()), "hi");
    assert!(client.call("Sized", json!({ "bytes": 1 })).await.is_err(), "nothing of ours");
    assert_eq!(client.ask("logging/setLevel", json!({ "level": "info" })).await, Ok(json!({})));
}

#[tokio::test]
async fn a_resource_that_nobody_could_be_asked_about_says_what_would_allow_it_here() {
    let open = House::new().server("a", legacy_server()).open();
    let mut client = open.legacy(json!({})).await;
    client.names("resources/list", "resources").await;
    let refused = client.ask("resources/read", json!({ "uri": "test://a" })).await.unwrap_err();
    let words = refused["message"].as_str().unwrap();
    assert!(words.contains("`haft mcp --allow '"), "{refused}");
    open.door.close().await;
}

/// A server that dies when it is called, and is another process then.
fn mortal_server(subscribed: Arc<AtomicUsize>) -> Server {
    server(move |message, out| {
        match message["method"].as_str() {
            Some("server/discover") => out.refuse(&message, -32601, "what is that"),
            Some("initialize") => {
                let said = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities(), "serverInfo": { "name": "old", "version": "1" } });
                out.answer(&message, said);
            }
            Some("resources/subscribe") => {
                subscribed.fetch_add(1, Ordering::SeqCst);
                out.answer(&message, json!({}));
            }
            Some("tools/call") => return false,
            _ => common(&message, out),
        }
        true
    })
}

#[tokio::test]
async fn a_resource_is_watched_again_when_its_server_died_and_the_client_is_told_to_look() {
    let subscribed = Arc::new(AtomicUsize::new(0));
    let open = House::new().server("a", mortal_server(subscribed.clone())).allow("mcp__a").open();
    let mut client = open.legacy(json!({})).await;
    client.names("resources/list", "resources").await;
    client.ask("resources/subscribe", json!({ "uri": "test://a" })).await.unwrap();
    client.call("a__echo", json!({})).await.unwrap();
    let told = match client.heard.iter().find(|told| told["method"] == "notifications/resources/updated") {
        Some(told) => told.clone(),
        None => client.hear().await,
    };
    assert_eq!(told["params"]["uri"], "test://a", "{told}");
    assert_eq!(subscribed.load(Ordering::SeqCst), 2);
    open.door.close().await;
}

#[tokio::test]
async fn a_client_that_subscribes_hears_of_changes() {
    let open = House::new().server("a", legacy_server()).allow("mcp__a").open();
    let mut client = open.legacy(json!({})).await;
    client.names("resources/list", "resources").await;
    assert_eq!(client.ask("resources/subscribe", json!({ "uri": "test://a" })).await, Ok(json!({})));
    let told = match client.heard.pop() {
        Some(told) => told,
        None => client.hear().await,
    };
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "test://a");
}

#[tokio::test]
async fn a_change_of_the_list_is_told_once_and_only_if_the_list_is_another_one() {
    let listed = Arc::new(AtomicUsize::new(1));
    let size = listed.clone();
    let behind = server(move |message, out| {
        let tool =
            |number: usize| json!({ "name": format!("t{number}"), "inputSchema": { "type": "object" } });
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" => out.refuse(&message, -32601, "what is that"),
            "initialize" => {
                let said = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": { "listChanged": true } }, "serverInfo": { "name": "s", "version": "1" } });
                out.answer(&message, said);
            }
            "tools/list" => {
                let tools: Vec<Value> = (0..size.load(Ordering::SeqCst)).map(tool).collect();
                out.answer(&message, json!({ "tools": tools }));
            }
            "tools/call" => {
                out.answer(&message, json!({ "content": [{ "type": "text", "text": "ok" }] }));
                out.say(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
            }
            _ if message.get("id").is_some() => out.refuse(&message, -32601, "what is that"),
            _ => {}
        }
        true
    });
    let open = House::new().server("up", behind).allow("mcp__up").open();
    let mut client = open.legacy(json!({})).await;
    let mut listener = open.modern(json!({}));
    assert!(client.names("tools/list", "tools").await.contains(&"up__t0".to_owned()));
    listener.send("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })).await;
    let acknowledged = listener.hear().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    client.call("up__t0", json!({})).await.unwrap();
    listed.store(2, Ordering::SeqCst);
    client.call("up__t0", json!({})).await.unwrap();
    let told = client.hear().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert!(client.names("tools/list", "tools").await.contains(&"up__t1".to_owned()));
    assert_eq!(client.heard, [Value::Null; 0], "once");
    let told = listener.hear().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
}

/// A server whose tool promises structured content of this schema, and gives this.
fn promising(schema: Value, data: Value) -> Server {
    server(move |message, out| {
        match message["method"].as_str().unwrap_or_default() {
            "tools/list" => {
                let tool =
                    json!({ "name": "get", "inputSchema": { "type": "object" }, "outputSchema": schema });
                out.answer(&message, json!({ "tools": [tool] }));
            }
            "tools/call" => {
                let text = json!([{ "type": "text", "text": data.to_string() }]);
                out.answer(&message, json!({ "content": text, "structuredContent": data }));
            }
            _ if greets_as_before(&message, out) => {}
            _ if message.get("id").is_some() => out.refuse(&message, -32601, "what is that"),
            _ => {}
        }
        true
    })
}

#[tokio::test]
async fn a_result_that_is_too_large_has_what_its_tool_promises_all_the_same() {
    let schema = json!({ "type": "object", "properties": { "content": { "type": "string" } }, "required": ["content"] });
    let data = json!({ "content": format!("{} ghp_{}", "x".repeat(2_000_000), "a1B2c3D4e5".repeat(4)) });
    let open = House::new().server("s", promising(schema, data)).allow("mcp__s").open();
    for mut client in [open.legacy(json!({})).await, open.modern(json!({}))] {
        let result = client.call("s__get", json!({})).await.unwrap();
        let given = result["structuredContent"]["content"].as_str().unwrap_or_else(|| panic!("{result}"));
        assert!(given.starts_with("xxx") && given.contains("(cut: it has ") && given.len() < 5000);
        assert_eq!(result["isError"], false);
        let links =
            result["content"].as_array().unwrap().iter().filter(|block| block["type"] == "resource_link");
        assert_eq!(links.count(), 1, "the whole is where it always is");
    }
}

#[tokio::test]
async fn what_cannot_be_cut_and_conform_is_an_error_that_says_that_the_call_was_made() {
    let schema = json!({ "type": "object", "properties": { "rows": { "type": "array", "items": { "type": "integer" } } }, "required": ["rows"] });
    let data = json!({ "rows": vec![1234; 400_000] });
    let open = House::new().server("s", promising(schema, data)).allow("mcp__s").open();
    let result = open.legacy(json!({})).await.call("s__get", json!({})).await.unwrap();
    assert_eq!((&result["isError"], result.get("structuredContent")), (&json!(true), None));
    let last = result["content"].as_array().unwrap().last().unwrap();
    assert!(last["text"].as_str().unwrap().starts_with("The call was carried out."), "{last}");
}
