//! Who hears of changes, and that nobody misses one.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_mcp::client::Server;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::kit::{Client, House, Open};
use crate::bridges::server;

/// What a server was asked for, in order.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    fn count(&self, method: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|asked| *asked == method).count()
    }
}

/// A server of the old era with a resource. It is changed by each call of `touch`, and in the moment in which somebody wants
/// to hear of it; each call of `grow` adds a tool.
fn with_resource(asked: &Asked) -> Server {
    let (asked, grown) = (asked.clone(), Mutex::new(0));
    server(move |message, out| {
        let method = message["method"].as_str().unwrap_or_default();
        asked.0.lock().unwrap().push(method.to_owned());
        let tool = |name: String| json!({ "name": name, "inputSchema": { "type": "object" } });
        let touched = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": "test://a" } });
        match method {
            "server/discover" => out.refuse(&message, -32601, "what is that"),
            "initialize" => out.answer(
                &message,
                json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true } }, "serverInfo": { "name": "s", "version": "1" } }),
            ),
            "tools/list" => {
                let more = (0..*grown.lock().unwrap()).map(|number| tool(format!("more{number}")));
                let tools: Vec<Value> = ["touch", "grow"].map(|name| tool(name.to_owned())).into_iter().chain(more).collect();
                out.answer(&message, json!({ "tools": tools }));
            }
            "resources/list" => out.answer(&message, json!({ "resources": [{ "uri": "test://a", "name": "a" }] })),
            "resources/subscribe" => {
                out.say(touched);
                out.answer(&message, json!({}));
            }
            "resources/unsubscribe" => out.answer(&message, json!({})),
            "tools/call" => {
                if message["params"]["name"] == "touch" {
                    out.say(touched);
                } else {
                    *grown.lock().unwrap() += 1;
                    out.say(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                }
                out.answer(&message, json!({ "content": [{ "type": "text", "text": "done" }] }));
            }
            _ if message.get("id").is_some() => out.refuse(&message, -32601, "what is that"),
            _ => {}
        }
        true
    })
}

fn open(asked: &Asked, shared: bool) -> Open {
    House::new().server("up", Server { shared, ..with_resource(asked) }).allow("mcp__up").open()
}

const UPDATED: &str = "notifications/resources/updated";

/// The next message of this kind.
async fn next(client: &mut Client, method: &str) -> Value {
    loop {
        let found = client.heard.iter().position(|message| message["method"] == method);
        if let Some(found) = found {
            return client.heard.remove(found);
        }
        let message = client.hear().await;
        client.heard.push(message);
    }
}

/// Forgets what came so far, with what the server says while it answers.
async fn settle(client: &mut Client) {
    while let Ok(message) = timeout(Duration::from_millis(100), client.hear()).await {
        client.heard.push(message);
    }
    client.heard.clear();
}

#[tokio::test]
async fn on_a_shared_connection_everybody_who_subscribed_hears_of_a_resource() {
    let asked = Asked::default();
    let open = open(&asked, true);
    let (mut first, mut second, mut deaf) =
        (open.legacy(json!({})).await, open.legacy(json!({})).await, open.legacy(json!({})).await);
    let mut listener = open.modern(json!({}));
    let a = || json!({ "uri": "test://a" });
    for client in [&mut first, &mut second] {
        client.names("resources/list", "resources").await;
        client.ask("resources/subscribe", a()).await.unwrap();
    }
    let wanted = json!({ "notifications": { "resourceSubscriptions": ["test://a"] } });
    listener.send("subscriptions/listen", wanted).await;
    next(&mut listener, "notifications/subscriptions/acknowledged").await;
    assert_eq!(asked.count("initialize"), 1, "they share it");
    for client in [&mut first, &mut second, &mut deaf, &mut listener] {
        settle(client).await;
    }
    deaf.call("up__touch", json!({})).await.unwrap();
    for client in [&mut first, &mut second, &mut listener] {
        assert_eq!(next(client, UPDATED).await["params"]["uri"], "test://a");
        assert_eq!(client.heard, [Value::Null; 0], "once");
    }
    assert_eq!(deaf.heard, [Value::Null; 0], "it did not subscribe");

    first.ask("resources/unsubscribe", a()).await.unwrap();
    assert_eq!(asked.count("resources/unsubscribe"), 0, "others want to hear of it still");
    deaf.call("up__touch", json!({})).await.unwrap();
    next(&mut second, UPDATED).await;
    assert_eq!((first.ask("ping", json!({})).await, first.heard.len()), (Ok(json!({})), 0));
    drop(listener);
    tokio::time::sleep(Duration::from_millis(50)).await;
    second.ask("resources/unsubscribe", a()).await.unwrap();
    assert_eq!(asked.count("resources/unsubscribe"), 1, "nobody does any more");
}

#[tokio::test]
async fn on_connections_of_their_own_one_client_s_subscription_is_not_the_other_s() {
    let asked = Asked::default();
    let open = open(&asked, false);
    let (mut first, mut second) = (open.legacy(json!({})).await, open.legacy(json!({})).await);
    for client in [&mut first, &mut second] {
        client.names("resources/list", "resources").await;
        client.ask("resources/subscribe", json!({ "uri": "test://a" })).await.unwrap();
        settle(client).await;
    }
    first.call("up__touch", json!({})).await.unwrap();
    next(&mut first, UPDATED).await;
    assert_eq!((second.ask("ping", json!({})).await, second.heard.len()), (Ok(json!({})), 0));
    first.ask("resources/unsubscribe", json!({ "uri": "test://a" })).await.unwrap();
    assert_eq!(asked.count("resources/unsubscribe"), 1);
}

#[tokio::test]
async fn what_changes_while_somebody_begins_to_listen_is_told_after_the_acknowledgement() {
    for shared in [false, true] {
        let open = open(&Asked::default(), shared);
        let mut listener = open.modern(json!({}));
        listener.names("resources/list", "resources").await;
        let wanted = json!({ "notifications": { "resourceSubscriptions": ["test://a", "test://none"] } });
        listener.send("subscriptions/listen", wanted).await;
        let first = listener.hear().await;
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        let accepted = &first["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(accepted, &json!(["test://a"]));
        let second = listener.hear().await;
        assert_eq!((&second["method"], &second["params"]["uri"]), (&json!(UPDATED), &json!("test://a")));
    }
}

#[tokio::test]
async fn changes_of_lists_that_follow_each_other_are_told_each_and_soon() {
    let open = open(&Asked::default(), true);
    let mut actor = open.modern(json!({}));
    let mut listener = open.modern(json!({}));
    actor.names("tools/list", "tools").await;
    listener.send("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })).await;
    next(&mut listener, "notifications/subscriptions/acknowledged").await;
    for round in 0..3 {
        actor.call("up__grow", json!({})).await.unwrap();
        // Whoever looks in between takes nothing away from those who listen.
        let told = async {
            loop {
                listener.ask("ping/none", json!({})).await.unwrap_err();
                listener.call("up__none", json!({})).await.unwrap_err();
                if listener
                    .heard
                    .pop()
                    .is_some_and(|told| told["method"] == "notifications/tools/list_changed")
                {
                    break;
                }
            }
        };
        assert!(timeout(Duration::from_millis(1500), told).await.is_ok(), "round {round}");
    }
}
