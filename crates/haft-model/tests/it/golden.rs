//! What goes back to each API, in files for people to read.

use haft_model::Dialect;
use serde_json::Value;

use crate::table;

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON")
}

#[test]
fn results_in_each_dialect() {
    for dialect in Dialect::ALL {
        let cases = table::results().into_iter().map(|(name, result)| {
            format!("## {name}\n{}\n", pretty(&dialect.results(std::slice::from_ref(&result))))
        });
        insta::assert_snapshot!(format!("results_{dialect}"), cases.collect::<String>());
    }
}

#[test]
fn tools_in_each_dialect() {
    let schemas = table::schemas();
    for dialect in Dialect::ALL {
        insta::assert_snapshot!(format!("tools_{dialect}"), pretty(&dialect.tools(table::offers(&schemas))));
    }
}

#[test]
fn a_deferred_tool_is_shown_only_when_all_are() {
    let schemas = table::schemas();
    for dialect in Dialect::ALL {
        let is_named = |tools: Value| tools.to_string().contains("\"deferred\"");
        assert!(!is_named(dialect.tools(table::offers(&schemas))), "{dialect}");
        assert!(is_named(dialect.tools_all(table::offers(&schemas))), "{dialect}");
    }
}

#[test]
fn an_api_with_references_is_sent_all_tools_and_told_names() {
    let schemas = table::schemas();
    let tools = Dialect::Anthropic.tools_deferring(table::offers(&schemas));
    let marked: Vec<&Value> =
        tools.as_array().expect("tools").iter().filter(|tool| tool["defer_loading"] == true).collect();
    assert_eq!((marked.len(), &marked[0]["name"]), (1, &"deferred".into()));
    let (_, mut found) = table::results().swap_remove(0);
    found.meta.loaded = vec!["mcp__github__fork".to_owned()];
    let message = Dialect::Anthropic.results_referring(std::slice::from_ref(&found));
    assert_eq!(
        message["content"][0]["content"],
        serde_json::json!([{ "type": "tool_reference", "tool_name": "mcp__github__fork" }])
    );
    let plain = Dialect::Anthropic.results(std::slice::from_ref(&found));
    assert_eq!(
        plain["content"][0]["content"][0]["type"], "text",
        "schemas are told where nobody asked otherwise"
    );
}

#[test]
fn where_there_are_no_references_nothing_is_different() {
    let schemas = table::schemas();
    for dialect in Dialect::ALL.into_iter().filter(|dialect| !dialect.has_references()) {
        let (offers, turn) = (|| table::offers(&schemas), table::turn());
        assert_eq!(dialect.tools_deferring(offers()), dialect.tools(offers()), "{dialect}");
        assert_eq!(dialect.results_referring(&turn), dialect.results(&turn), "{dialect}");
    }
}

#[test]
fn no_tools_are_an_empty_list() {
    for dialect in Dialect::ALL {
        assert_eq!(dialect.tools([]), Value::Array(Vec::new()), "{dialect}");
    }
}

#[test]
fn results_come_first_in_the_order_of_the_calls() {
    let turn = table::turn();
    let message = Dialect::Anthropic.results(&turn);
    let kinds = message["content"].as_array().expect("blocks").iter().map(|block| &block["type"]);
    let first_other = kinds.clone().position(|kind| kind != "tool_result");
    assert_eq!(first_other, Some(turn.len()));
    assert!(kinds.skip(turn.len()).all(|kind| kind != "tool_result"));
}
