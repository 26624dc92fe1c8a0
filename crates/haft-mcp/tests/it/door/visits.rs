//! Pages that servers behind the door want visited: shown by clients that can, in the way of their era.

use serde_json::{Value, json};

use super::kit::{House, Open, text};
use crate::{
    tasks::Heard,
    visits::{PAGE, asks, refuses_first, sends_away},
};

fn door(heard: &Heard, first: bool) -> Open {
    let server = if first { sends_away(heard, refuses_first) } else { sends_away(heard, asks(PAGE)) };
    House::new().server("shop", server).allow("mcp__shop").open()
}

fn shows_pages() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} } })
}

#[tokio::test]
async fn a_client_of_the_old_era_that_can_is_asked_and_told_when_it_is_over() {
    let heard = Heard::default();
    let open = door(&heard, false);
    let mut client = open.legacy(shows_pages()).await;
    let id = client.send("tools/call", json!({ "name": "shop__pay", "arguments": {} })).await;
    let question = client.hear().await;
    assert_eq!(question["params"]["url"], PAGE, "{question}");
    assert_eq!(question["params"]["elicitationId"], "e-1");
    client.say(json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept" } })).await;
    assert_eq!(text(&client.answer(id).await.unwrap()), r#"{"action":"accept"}"#);
}

#[tokio::test]
async fn a_client_of_the_new_era_finds_the_page_in_the_answer() {
    let open = door(&Heard::default(), false);
    let mut client = open.modern(shows_pages());
    let call = json!({ "name": "shop__pay", "arguments": {} });
    let asked = client.ask("tools/call", call.clone()).await.unwrap();
    let (name, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["params"]["url"], PAGE, "{asked}");
    assert!(request["params"].get("elicitationId").is_none(), "the new era has no such name: {asked}");
    let mut retry = call;
    retry["requestState"] = asked["requestState"].clone();
    retry["inputResponses"] = json!({ name: { "action": "accept" } });
    assert_eq!(text(&client.ask("tools/call", retry).await.unwrap()), r#"{"action":"accept"}"#);
}

#[tokio::test]
async fn a_client_that_cannot_is_not_asked_and_the_server_is_told_why() {
    let open = door(&Heard::default(), false);
    for mut client in
        [open.legacy(json!({ "elicitation": {} })).await, open.modern(json!({ "elicitation": {} }))]
    {
        let result = client.call("shop__pay", json!({})).await.unwrap();
        assert!(text(&result).contains("`elicitation.url` was not declared"), "{result}");
        assert!(client.heard.is_empty(), "{:?}", client.heard);
    }
}

#[tokio::test]
async fn a_page_that_comes_first_is_a_refusal_for_clients_that_know_it_and_a_question_for_the_others() {
    let heard = Heard::default();
    let open = door(&heard, true);
    let mut client = open.legacy(shows_pages()).await;
    let refused = client.call("shop__pay", json!({})).await.unwrap_err();
    assert_eq!(
        (&refused["code"], &refused["data"]["elicitations"][0]["url"]),
        (&json!(-32042), &json!(PAGE))
    );
    assert_eq!(text(&client.call("shop__pay", json!({})).await.unwrap()), "paid");

    let open = door(&Heard::default(), true);
    let mut client = open.modern(shows_pages());
    let asked = client.call("shop__pay", json!({})).await.unwrap();
    let (_, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["params"]["url"], PAGE, "{asked}");

    for capabilities in [json!({}), json!({ "elicitation": {} })] {
        let open = door(&Heard::default(), true);
        let mut client = open.legacy(capabilities).await;
        let refused = client.call("shop__pay", json!({})).await.unwrap_err();
        let message = refused["message"].as_str().unwrap();
        assert_ne!(refused["code"], -32042, "{refused}");
        assert!(message.contains(PAGE) && message.contains("sign in first"), "{refused}");
        assert!(message.contains("was not declared"), "{refused}");
    }
}

#[tokio::test]
async fn that_somebody_is_done_is_told_to_the_client_that_sent_them() {
    let server = sends_away(&Heard::default(), |_, call, out| {
        let params = json!({ "elicitationId": "e-1" });
        out.say(
            json!({ "jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": params }),
        );
        crate::visits::paid(call, out, "paid");
    });
    let open = House::new().server("shop", server).allow("mcp__shop").open();
    let mut client = open.legacy(shows_pages()).await;
    client.call("shop__pay", json!({})).await.unwrap();
    let told = |message: &&Value| message["method"] == "notifications/elicitation/complete";
    let told: Vec<&Value> = client.heard.iter().filter(told).collect();
    assert_eq!(told.len(), 1, "{:?}", client.heard);
    assert_eq!(told[0]["params"]["elicitationId"], "e-1");
}
