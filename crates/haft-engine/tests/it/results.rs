//! Budgets and spilled results.

use std::fs;

use haft_engine::Session;
use haft_testkit::{Workspace, sized};
use haft_tool::{Effects, Reply, Whole, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{begin, call};

fn session(workspace: &Workspace) -> Session {
    begin(haft_testkit::engine(workspace).tool(sized()), workspace)
}

#[tokio::test]
async fn a_result_over_the_limit_is_kept_whole_and_shown_in_part() {
    let workspace = Workspace::new("");
    let result = session(&workspace).call(call("big", "Sized", json!({ "bytes": 200 * 1024 }))).await;
    let text = result.text();
    assert!(text.len() < 10_000, "{} bytes", text.len());
    let truncated = result.meta.truncated.expect("it was cut");
    assert_eq!(truncated.bytes, 200 * 1024);
    let path = truncated.path.expect("it was kept");
    assert_eq!(fs::metadata(&path).unwrap().len(), 200 * 1024);
    assert!(text.contains(&format!("the whole is in {}", path.display())), "{text}");
    assert!(text.contains(" KB, ") && text.contains(" lines hidden"), "{text}");
}

#[tokio::test]
async fn a_result_within_the_limit_is_left_alone() {
    let workspace = Workspace::new("");
    let result = session(&workspace).call(call("1", "Sized", json!({ "bytes": 100 * 1024 }))).await;
    assert_eq!((result.text().len(), result.meta.truncated), (100 * 1024, None));
}

#[tokio::test]
async fn over_the_budget_of_the_turn_the_largest_results_go_first() {
    let workspace = Workspace::new("");
    let sizes = [90, 20, 95, 99, 98, 97];
    let calls =
        sizes.iter().enumerate().map(|(n, kb)| call(&n.to_string(), "Sized", json!({ "bytes": kb * 1024 })));
    let results = session(&workspace).turn(calls.collect()).await;
    let cut: Vec<bool> = results.iter().map(|result| result.meta.truncated.is_some()).collect();
    assert_eq!(cut, [false, false, false, true, true, false]);
    let total: usize = results.iter().map(|result| result.text().len()).sum();
    assert!(total <= 400 * 1024, "{total}");
}

#[tokio::test]
async fn a_store_that_cannot_keep_a_result_says_so() {
    let workspace = Workspace::new("-- blocked\nnot a directory\n");
    let store = haft_engine::result::FileStore::new(workspace.root().join("blocked"));
    let engine = haft_engine::Engine::builder().results(store).tool(sized());
    let result = begin(engine, &workspace).call(call("1", "Sized", json!({ "bytes": 200 * 1024 }))).await;
    assert!(!result.is_error());
    assert!(result.text().contains("the whole could not be kept"), "{}", result.text());
}

#[tokio::test]
async fn what_a_tool_shows_a_part_of_counts_as_shortened_and_is_shortened_again_where_the_turn_needs_it() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let workspace = Workspace::new("-- whole\nall of it\n");
    let path = workspace.root().join("whole");
    let whole = Whole { bytes: 1 << 20, path: Some(path.clone()) };
    let seen = tool("Seen").effects(|_: &Nothing| Effects::none()).call(move |_: Nothing, _| {
        let whole = whole.clone();
        async move { Ok(Reply::text("x".repeat(90 * 1024)).part_of(whole)) }
    });
    let session = begin(haft_testkit::engine(&workspace).tool(seen), &workspace);
    let results = session.turn((0..6).map(|n| call(&n.to_string(), "Seen", json!({}))).collect()).await;
    let cut = results.iter().filter_map(|result| result.meta.truncated.as_ref());
    let cut: Vec<_> = cut.map(|cut| (cut.bytes, cut.path.as_deref(), cut.shown == 90 * 1024)).collect();
    let of_whole = |is_as_the_tool_left_it| (1 << 20, Some(&*path), is_as_the_tool_left_it);
    assert_eq!(cut.iter().filter(|cut| **cut == of_whole(true)).count(), 4, "{cut:?}");
    assert_eq!(cut.iter().filter(|cut| **cut == of_whole(false)).count(), 2, "{cut:?}");
}

#[tokio::test]
async fn an_observation_comes_first_and_suggestions_last() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let workspace = Workspace::new("");
    let search = tool("Search").effects(|_: &Nothing| Effects::none()).call(|_: Nothing, _| async {
        Ok(Reply::text("a\nb").observed("2 matches").suggest(
            "Read",
            json!({ "file_path": "a" }),
            "the best match",
        ))
    });
    let result = begin(haft_testkit::engine(&workspace).tool(search), &workspace)
        .call(call("1", "Search", json!({})))
        .await;
    insta::assert_snapshot!(result.text(), @r#"
    2 matches

    a
    b

    You may want to go on with:
    - Read {"file_path":"a"}: the best match
    "#);
}
