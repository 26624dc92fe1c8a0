//! Tasks of servers behind the door: for clients that know them, and for those that do not.

use serde_json::json;

use super::kit::{House, Open, text};
use crate::tasks::{Heard, completed, task, works};

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
