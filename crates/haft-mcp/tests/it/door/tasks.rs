//! Tasks of servers behind the door: for clients that know them, and for those that do not.

use serde_json::json;

use super::kit::{House, Open, text};
use crate::{
    older_tasks,
    tasks::{Heard, completed, task, works},
};

fn door(heard: &Heard) -> Open {
    let server = works(heard, |n, message, out, _| match n {
        1 => out.answer(message, task("working", json!({}))),
        _ => out.answer(message, completed()),
    });
    House::new().server("ci", server).allow("mcp__ci").open()
}

#[tokio::test]
async fn a_client_that_knows_tasks_gets_the_task_and_follows_it_itself() {
    let heard = Heard::default();
    let door = door(&heard);
    let mut client = door.modern(json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
    let made = client.call("mcp__ci__build", json!({})).await.unwrap();
    assert_eq!((&made["resultType"], &made["status"]), (&json!("task"), &json!("working")), "{made}");
    assert_ne!(made["taskId"], "t-1", "sealed");
    assert_eq!(heard.count("tasks/get"), 0, "nobody else follows it");
    let look = json!({ "taskId": made["taskId"] });
    assert_eq!(client.ask("tasks/get", look.clone()).await.unwrap()["status"], "working");
    let ended = client.ask("tasks/get", look).await.unwrap();
    assert_eq!((&ended["status"], text(&ended["result"])), (&json!("completed"), "built"));
    assert_eq!(heard.all("tasks/get")[0]["params"]["taskId"], "t-1");
}

#[tokio::test]
async fn a_client_that_does_not_know_tasks_gets_the_result() {
    let heard = Heard::default();
    let door = door(&heard);
    let result = door.modern(json!({})).call("mcp__ci__build", json!({})).await.unwrap();
    assert_eq!((text(&result), &result["resultType"]), ("built", &json!("complete")), "{result}");
    assert!(result.get("taskId").is_none());
    let result = door.legacy(json!({})).await.call("mcp__ci__build", json!({})).await.unwrap();
    assert_eq!(text(&result), "built");
}

#[tokio::test]
async fn a_tool_that_can_only_be_called_as_a_task_of_the_older_era_is_called_like_any_other_here() {
    let heard = Heard::default();
    let look = |n: usize, message: &serde_json::Value, out: &crate::bridges::Out| {
        let status = if n % 2 == 1 { "working" } else { "completed" };
        out.answer(message, older_tasks::task(status, json!({ "pollInterval": 100 })));
    };
    let server = || older_tasks::works(&heard, look, |_, message, out| older_tasks::built(message, out));
    let door = House::new().server("ci", server()).allow("mcp__ci").open();
    for mut client in [door.legacy(json!({})).await, door.modern(json!({}))] {
        let listed = client.ask("tools/list", json!({})).await.unwrap();
        let of_server = |tool: &&serde_json::Value| tool["name"] == "ci__build";
        let build = listed["tools"].as_array().unwrap().iter().find(of_server).unwrap();
        assert!(build.get("execution").is_none(), "who follows its tasks is us: {build}");
        assert_eq!(text(&client.call("ci__build", json!({})).await.unwrap()), "built");
    }
    let only = House::new().server("ci", server()).allow("mcp__ci").only("ci").open();
    let mut client = only.client();
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let greeting = client.ask("initialize", hello).await.unwrap();
    assert!(greeting["capabilities"].get("tasks").is_none(), "{greeting}");
}
