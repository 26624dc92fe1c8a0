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
