//! What is sent, and what of it stays the same.

#[path = "../../examples/requests.rs"]
#[allow(dead_code)]
mod examples;

use haft_model::{Dialect, Effort, History, Message, RequestOptions, Thinking, scripted::Turn};
use serde_json::{Value, json};

use crate::{streams::decode, table};

#[test]
fn requests_in_each_dialect() {
    for dialect in Dialect::ALL {
        let requests = examples::requests(dialect).into_iter().map(|(name, request)| {
            let body: Value = serde_json::from_str(request.json()).expect("JSON");
            let pretty = serde_json::to_string_pretty(&body).expect("JSON");
            format!("## {name}: {}\n{pretty}\n", request.path())
        });
        insta::assert_snapshot!(format!("requests_{dialect}"), requests.collect::<String>());
    }
}

/// A conversation in which the model calls once in each turn.
fn long(dialect: Dialect, turns: usize) -> History {
    let schemas = table::schemas();
    let mut history = History::new(dialect);
    history.set_system("Be brief.");
    history.set_tools(table::offers(&schemas));
    history.push(Message::user("go"));
    for number in 0..turns {
        turn(&mut history, number);
    }
    history
}

/// The model's answer in its API's own bytes, and the result of its call.
fn turn(history: &mut History, number: usize) {
    let dialect = history.dialect();
    let said =
        Turn::new().thinking("hm").text("I read.").call_as(format!("id_{number}"), "Read", r#"{"path":"a"}"#);
    let bytes: String = said
        .wire(dialect)
        .into_iter()
        .filter_map(|wire| match wire {
            haft_model::scripted::Wire::Send(text) => Some(text),
            _ => None,
        })
        .collect();
    let Some(haft_model::StreamEvent::Done(response)) = decode(dialect, bytes.as_bytes(), 100).pop() else {
        panic!("an answer");
    };
    let calls: Vec<_> = response.message.calls().cloned().collect();
    history.push(response.message);
    let results = calls.into_iter().map(|call| {
        let (_, result) = table::results().swap_remove(0);
        haft_engine::result::ToolResult { call: call.id, tool: call.name, ..result }
    });
    history.push(Message::Results(results.collect()));
}

/// A request without the marks that say how far to cache.
fn unmarked(json: &str) -> String {
    json.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

#[test]
fn a_request_begins_with_the_bytes_of_the_one_before() {
    for dialect in Dialect::ALL {
        let mut history = long(dialect, 3);
        let options = RequestOptions { model: "m".to_owned(), ..RequestOptions::default() };
        let before = unmarked(history.request(&options).json());
        turn(&mut history, 3);
        let after = unmarked(history.request(&options).json());
        let same = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
        let messages = before.rfind("id_2").expect("the last result");
        assert!(same > messages, "{dialect}: the same for {same} bytes, the last result is at {messages}");
    }
}

#[test]
fn anthropics_cache_is_told_where_this_request_and_the_one_before_end() {
    let mark = json!({ "type": "ephemeral" });
    let history = long(Dialect::Anthropic, 3);
    let body = |options: &RequestOptions| -> Value {
        serde_json::from_str(history.request(options).json()).expect("JSON")
    };
    let marked = body(&RequestOptions::new("m"));
    assert_eq!(
        marked["tools"].as_array().and_then(|tools| tools.last()).expect("tools")["cache_control"],
        mark
    );
    assert_eq!(marked["system"][0]["cache_control"], mark);
    let messages = marked["messages"].as_array().expect("messages");
    let places: Vec<usize> =
        (0..messages.len()).filter(|at| messages[*at].to_string().contains("cache_control")).collect();
    assert_eq!((messages.len(), places), (7, vec![4, 6]));
    assert_eq!(marked.to_string().matches("cache_control").count(), 4, "the API takes no more");
    let plain = body(&RequestOptions { uncached: true, ..RequestOptions::new("m") });
    assert!(!plain.to_string().contains("cache_control"));
}

#[test]
fn a_deferred_tool_is_never_marked() {
    let schemas = table::schemas();
    let mut history = History::new(Dialect::Anthropic);
    history.set_tools_deferring(table::offers(&schemas));
    history.push(Message::user("go"));
    let body: Value = serde_json::from_str(history.request(&RequestOptions::new("m")).json()).expect("JSON");
    for tool in body["tools"].as_array().expect("tools") {
        assert!(tool.get("cache_control").is_none() || tool.get("defer_loading").is_none(), "{tool}");
    }
    assert!(body["tools"].to_string().contains("cache_control"));
}

/// A result that says which tools its call loaded, in the request of a history.
fn told_of(history: &History) -> Value {
    let body: Value = serde_json::from_str(history.request(&RequestOptions::new("m")).json()).expect("JSON");
    body["messages"][0]["content"][0]["content"].clone()
}

#[test]
fn results_refer_to_tools_that_the_api_keeps_and_to_no_others() {
    let schemas = table::schemas();
    let offers = || table::offers(&schemas);
    let kept: Vec<&str> = offers().filter(|offer| offer.deferred).map(|offer| offer.name).collect();
    let shown: Vec<&str> = offers().filter(|offer| !offer.deferred).map(|offer| offer.name).collect();
    let (_, mut found) = table::results().swap_remove(0);
    found.meta.loaded = vec![kept[0].to_owned(), shown[0].to_owned(), "Gone".to_owned()];
    let mut history = History::new(Dialect::Anthropic);
    history.set_tools_deferring(offers());
    history.push(Message::Results(vec![found]));
    assert_eq!(told_of(&history), json!([{ "type": "tool_reference", "tool_name": kept[0] }]));
    assert_eq!(history.loaded().collect::<Vec<_>>(), [kept[0], shown[0], "Gone"]);
    let small = history.bytes();
    // A tool that is no longer kept is described, also where it was referred to.
    history.set_tools(offers());
    assert_eq!(told_of(&history)[0]["type"], "text");
    history.set_tools_deferring(offers().filter(|offer| offer.name != kept[0]));
    assert_eq!(told_of(&history)[0]["type"], "text");
    history.set_tools_deferring(offers());
    assert_eq!(told_of(&history)[0]["type"], "tool_reference");
    assert_eq!(history.bytes(), small, "what is kept from the model is not counted");
    let all = history.request(&RequestOptions::new("m")).json().len();
    assert!(small < all, "{small} {all}");
}

#[test]
fn anthropics_older_models_think_within_a_budget_that_leaves_room() {
    let body = |model: &str, max_tokens, thinking| -> Value {
        let mut history = History::new(Dialect::Anthropic);
        history.push(Message::user("go"));
        let options = RequestOptions { max_tokens, thinking: Some(thinking), ..RequestOptions::new(model) };
        serde_json::from_str(history.request(&options).json()).expect("JSON")
    };
    let high = Thinking::Effort(Effort::High);
    let older = body("claude-sonnet-4-5", None, high);
    assert_eq!(older["thinking"], json!({ "type": "enabled", "budget_tokens": 24_000 }));
    assert_eq!((&older["max_tokens"], older.get("output_config")), (&json!(32_000), None));
    assert_eq!(body("claude-sonnet-4-5", Some(8_000), high)["thinking"]["budget_tokens"], 4_000);
    assert_eq!(body("claude-sonnet-4-5", Some(1_000), high).get("thinking"), None);
    assert_eq!(body("claude-opus-4-1", None, Thinking::Budget(60_000))["max_tokens"], 68_000);
    let newer = body("claude-opus-4-6", None, Thinking::Budget(20_000));
    assert_eq!(newer["thinking"], json!({ "type": "adaptive" }));
    assert_eq!(newer["output_config"], json!({ "effort": "high" }));
}

#[test]
fn a_conversation_goes_on_with_another_api_and_back() {
    for from in Dialect::ALL {
        let history = long(from, 2);
        let options = RequestOptions::new("m");
        for to in Dialect::ALL {
            let other = history.for_dialect(to);
            let body: Value = serde_json::from_str(other.request(&options).json()).expect("JSON");
            let text = body.to_string();
            for id in ["id_0", "id_1"] {
                // The call and its result, and in Responses and Gemini nothing else that has it.
                assert!(text.matches(&format!("\"{id}\"")).count() >= 2, "{from} to {to}: {text}");
            }
            assert!(from == to || !text.contains("\"hm\""), "{from} to {to}: thoughts stay at home: {text}");
            let mut back = other.for_dialect(from);
            back.set_tools(table::offers(&table::schemas()));
            assert_eq!(back.request(&options), history.request(&options), "{from} to {to} and back");
        }
    }
}

#[test]
fn a_turn_late_in_a_session_costs_little_more_than_an_early_one() {
    let cost = |turns: usize| {
        let history = long(Dialect::Anthropic, turns);
        let options = RequestOptions::new("m");
        let once = || {
            let start = std::time::Instant::now();
            let mut grown = history.clone();
            let cloned = start.elapsed();
            turn(&mut grown, turns);
            let request = grown.request(&options);
            assert!(request.json().len() > turns * 100);
            start.elapsed() - cloned
        };
        (0..20).map(|_| once()).min().expect("runs")
    };
    let (early, late) = (cost(5), cost(500));
    println!("turn 5: {early:?}, turn 500: {late:?}");
    assert!(
        late < early * 3 + std::time::Duration::from_micros(500),
        "turn 5: {early:?}, turn 500: {late:?}"
    );
}
