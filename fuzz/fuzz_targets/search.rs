//! What a model writes into ToolSearch: the first line is the query, the others are tools that somebody else describes,
//! `name: description`.

#![no_main]

use haft_engine::pool::search::{Document, SearchIndex, Weights};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let query = lines.next().unwrap_or_default();
    let schema = json!({ "properties": { "city": { "description": "Where.", "enum": ["Rome", "Köln"] } } });
    let strangers = lines.take(20).map(|line| line.split_once(':').unwrap_or((line, "")));
    let usual = [
        ("mcp__weather__forecast", "Tomorrow's weather. 天气"),
        ("mcp__tracker__create_issue", "Opens an issue."),
    ];
    let tools: Vec<(&str, &str)> = usual.into_iter().chain(strangers).collect();
    check(query, &tools, &schema);
});

fn check(query: &str, tools: &[(&str, &str)], schema: &Value) {
    let documents = tools.iter().map(|(name, prompt)| Document { prompt, ..Document::new(name, schema) });
    let index = SearchIndex::new(documents, &Weights::default());
    for k in [0, 3, 100] {
        let hits = index.search(query, k);
        assert!(hits.len() <= k.min(tools.len()), "no more than asked for, and no tool twice");
        assert!(hits.iter().all(|hit| hit.score.is_finite() && hit.score > 0.0), "{hits:?}");
        assert!(hits.iter().all(|hit| tools.iter().any(|(name, _)| *name == hit.name)), "{hits:?}");
        assert_eq!(hits, index.search(query, k), "the same each time");
    }
}
