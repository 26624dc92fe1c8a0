//! haft's own tools, at the door.

use haft_engine::pool::Thresholds;
use haft_testkit::{Probe, sleeping};
use haft_tool::{Effects, Progress, Reply, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kit::{House, text};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn a_client_of_the_old_era_greets_lists_and_calls() {
    let open = House::new().open();
    let mut client = open.client();
    let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let greeting = client.ask("initialize", hello).await.unwrap();
    assert_eq!(greeting["protocolVersion"], "2024-11-05");
    assert_eq!(greeting["serverInfo"]["version"], "1.2.3");
    assert_eq!(client.ask("ping", json!({})).await, Ok(json!({})));
    assert_eq!(
        client.names("tools/list", "tools").await,
        ["Sized", "ToolCall", "ToolDescribe", "ToolSearch"]
    );
    let result = client.call("Sized", json!({ "bytes": 3 })).await.unwrap();
    assert_eq!((text(&result), &result["isError"]), ("...", &json!(false)));
    assert_eq!(result.get("resultType"), None, "the old era has none");
}

#[tokio::test]
async fn a_client_of_the_new_era_needs_no_greeting() {
    let open = House::new().open();
    let mut client = open.modern(json!({}));
    let found = client.ask("server/discover", json!({})).await.unwrap();
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "haft");
    let listed = client.ask("tools/list", json!({})).await.unwrap();
    assert_eq!((&listed["resultType"], &listed["cacheScope"]), (&json!("complete"), &json!("private")));
    assert!(listed["ttlMs"].is_u64());
    let result = client.call("Sized", json!({ "bytes": 1 })).await.unwrap();
    assert_eq!((text(&result), &result["resultType"]), (".", &json!("complete")));
    for removed in ["ping", "initialize", "logging/setLevel", "resources/subscribe"] {
        assert_eq!(client.ask(removed, json!({})).await.unwrap_err()["code"], -32601, "{removed}");
    }
}

#[tokio::test]
async fn who_neither_greets_nor_says_who_it_is_is_told_what_is_missing() {
    let open = House::new().open();
    let refused = open.client().ask("tools/list", json!({})).await.unwrap_err();
    assert_eq!(refused["code"], -32602);
    assert!(refused["message"].as_str().unwrap().contains("initialize"), "{refused}");
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_a_result_and_an_unknown_tool_is_refused_with_the_nearest() {
    let open = House::new().open();
    let mut client = open.legacy(json!({})).await;
    let result = client.call("Sized", json!({ "bytes": "many" })).await.unwrap();
    assert_eq!(result["isError"], true, "{result}");
    let refused = client.call("Sizd", json!({})).await.unwrap_err();
    assert_eq!(refused["code"], -32602);
    assert!(refused["message"].as_str().unwrap().contains("Sized"), "{refused}");
    assert_eq!(client.ask("no/such", json!({})).await.unwrap_err()["code"], -32601);
}

#[tokio::test]
async fn a_line_that_is_no_message_is_refused_and_the_next_is_read() {
    let open = House::new().open();
    let mut client = open.legacy(json!({})).await;
    client.say(json!("nonsense")).await;
    assert_eq!(client.hear().await["error"]["code"], -32600);
    assert_eq!(client.ask("ping", json!({})).await, Ok(json!({})));
}

/// A pool that is too large to be shown: one tool that is always shown, and many that are not.
fn large() -> House {
    House::new().building(|builder| {
        let builder =
            builder.settings(|figures| figures.thresholds = Thresholds { count: 3, ..Thresholds::OFF });
        let builder = builder.tool(
            haft_tool::ToolBuilder::<Nothing>::of(
                haft_tool::Spec::new("ToolSearch").load(haft_tool::Load::Always),
            )
            .call(|_, _| async { Ok(Reply::text("never called")) }),
        );
        (0..20).fold(builder, |builder, number| {
            let prompt = format!("Paints a fence in colour number {number}. Use it for fences.");
            builder.tool(
                tool(format!("paint_{number}"))
                    .prompt(prompt)
                    .effects(|_: &Nothing| Effects::none())
                    .call(move |_: Nothing, _| async move { Ok(Reply::text(format!("painted {number}"))) }),
            )
        })
    })
}

#[tokio::test]
async fn tools_that_are_not_listed_are_found_described_and_called_and_the_list_stays_as_it_is() {
    let open = large().open();
    let mut client = open.legacy(json!({})).await;
    let before = client.ask("tools/list", json!({})).await.unwrap();
    assert_eq!(client.names("tools/list", "tools").await, ["ToolCall", "ToolDescribe", "ToolSearch"]);
    let found = client.call("ToolSearch", json!({ "query": "paint fence", "limit": 2 })).await.unwrap();
    assert_eq!(text(&found).lines().count(), 2, "{found}");
    let name = text(&found).split(':').next().unwrap().to_owned();
    let described = client.call("ToolDescribe", json!({ "names": [name] })).await.unwrap();
    let definition: Value = serde_json::from_str(text(&described)).unwrap();
    assert_eq!(definition["name"], name.as_str());
    let called = client.call("ToolCall", json!({ "name": name, "arguments": {} })).await.unwrap();
    assert!(text(&called).starts_with("painted"), "{called}");
    let direct = client.call("paint_7", json!({})).await.unwrap();
    assert_eq!(text(&direct), "painted 7");
    let unknown = client.call("ToolCall", json!({ "name": "paint_fence" })).await.unwrap();
    assert!(unknown["isError"] == true && text(&unknown).contains("paint_"), "{unknown}");
    assert_eq!(client.ask("tools/list", json!({})).await.unwrap(), before, "use changes nothing");
}

#[tokio::test]
async fn a_tool_that_is_denied_is_neither_listed_nor_called() {
    let open = House::new().deny("Sized").open();
    let mut client = open.legacy(json!({})).await;
    assert!(!client.names("tools/list", "tools").await.contains(&"Sized".to_owned()));
    assert!(client.call("Sized", json!({ "bytes": 1 })).await.is_err());
    let result =
        client.call("ToolCall", json!({ "name": "Sized", "arguments": { "bytes": 1 } })).await.unwrap();
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn who_denies_the_search_has_it_denied_and_what_is_hidden_is_not_found() {
    let open = large().deny("ToolSearch").deny("paint_7").open();
    let mut client = open.legacy(json!({})).await;
    let listed = client.names("tools/list", "tools").await;
    assert!(!listed.contains(&"ToolSearch".to_owned()) && listed.contains(&"ToolDescribe".to_owned()));
    let query = json!({ "query": "paint fence" });
    for (tool, arguments) in
        [("ToolSearch", query.clone()), ("ToolCall", json!({ "name": "ToolSearch", "arguments": query }))]
    {
        let refused = client.call(tool, arguments).await.unwrap();
        let is_told = text(&refused).contains("denied by deny rule `ToolSearch`");
        assert!(refused["isError"] == true && is_told, "{refused}");
    }
    let hidden = client.call("ToolDescribe", json!({ "names": ["paint_7"] })).await.unwrap();
    assert_eq!(hidden["isError"], true, "{hidden}");
    let open = large().deny("paint_7").open();
    let found =
        open.legacy(json!({})).await.call("ToolSearch", json!({ "query": "select:paint_7,paint_8" })).await;
    let found = found.unwrap();
    assert!(text(&found).starts_with("paint_8:") && !text(&found).contains("paint_7"), "{found}");
}

#[tokio::test]
async fn a_large_result_is_cut_and_its_link_gives_the_whole_page_by_page() {
    let open = House::new().open();
    let mut client = open.legacy(json!({})).await;
    let result = client.call("Sized", json!({ "bytes": 300_000 })).await.unwrap();
    let link = result["content"].as_array().unwrap().last().unwrap();
    assert_eq!((&link["type"], &link["size"]), (&json!("resource_link"), &json!(300_000)));
    let cut = &result["_meta"]["haft/meta"]["truncated"];
    assert!(
        cut["bytes"] == 300_000 && cut.get("path").is_none(),
        "where it is kept is no client's business: {cut}"
    );
    let (mut whole, mut next) = (0, Some(link["uri"].as_str().unwrap().to_owned()));
    while let Some(uri) = next {
        let read = client.ask("resources/read", json!({ "uri": uri })).await.unwrap();
        whole += read["contents"][0]["text"].as_str().unwrap().len();
        next = read["contents"][0]["_meta"]["haft/next"].as_str().map(str::to_owned);
    }
    assert_eq!(whole, 300_000);
    let refused = client.ask("resources/read", json!({ "uri": "haft://result/other" })).await.unwrap_err();
    assert_eq!((&refused["code"], &refused["data"]["uri"]), (&json!(-32602), &json!("haft://result/other")));
    let mut other = open.legacy(json!({})).await;
    assert!(
        other.ask("resources/read", json!({ "uri": link["uri"] })).await.is_err(),
        "it is another client's"
    );
}

#[tokio::test]
async fn progress_is_told_by_the_client_s_own_token_and_only_if_it_has_one() {
    let steps = || {
        tool("Steps").effects(|_: &Nothing| Effects::none()).call(|_: Nothing, cx| async move {
            cx.progress(Progress::of("one", 1, Some(2)));
            cx.progress(Progress::of("two", 2, Some(2)));
            Ok(Reply::text("done"))
        })
    };
    let open = House::new().building(|builder| builder.tool(steps())).open();
    let mut client = open.legacy(json!({})).await;
    let params = json!({ "name": "Steps", "arguments": {}, "_meta": { "progressToken": "mine" } });
    client.ask("tools/call", params).await.unwrap();
    let told: Vec<Value> = client.heard.drain(..).map(|message| message["params"].clone()).collect();
    let expected = |done: u64, words: &str| json!({ "progress": done, "total": 2, "message": words, "progressToken": "mine" });
    assert_eq!(told, [expected(1, "one"), expected(2, "two")]);
    client.call("Steps", json!({})).await.unwrap();
    assert_eq!(client.heard, [Value::Null; 0]);
}

#[tokio::test]
async fn a_call_that_is_taken_back_ends_and_is_not_answered() {
    let probe = Probe::default();
    let open = House::new().building(|builder| builder.tool(sleeping(&probe))).open();
    let mut client = open.legacy(json!({})).await;
    let id = client.send("tools/call", json!({ "name": "Sleep", "arguments": { "ms": 60_000 } })).await;
    while probe.notes().is_empty() {
        tokio::task::yield_now().await;
    }
    client
        .say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }))
        .await;
    assert_eq!(client.ask("ping", json!({})).await, Ok(json!({})));
    assert_eq!(client.heard, [Value::Null; 0]);
    // The same id may be used again: nothing of it runs any more.
    client.say(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).await;
    assert_eq!(client.hear().await["result"], json!({}));
}
