//! One call: all that is known of it, in the order in which it happened.

use haft_store::{
    CallRow, EventKind,
    images::{Changed, Image},
};
use haft_tool::shown;
use serde_json::Value;

use super::{
    table::{is_interrupted, state, took},
    when::{Clock, time},
};
use crate::draw::plain;

/// So much of an input or a result is shown; `--json` has the whole.
const MOST: usize = 4000;
/// So much of a diff.
const MOST_DIFF: usize = 20_000;

pub(super) fn one(call: &CallRow, whole: &Value, diff: &str, clock: &Clock) -> String {
    let mut lines = vec![
        format!("call {}  {}", call.no.0, call.description),
        format!("  id         {}  (session {}, turn {})", call.call, call.session, call.turn),
        format!("  tool       {}", call.tool),
        format!("  when       {}", clock.whole(call.at)),
        format!("  state      {}", ending(call)),
    ];
    for path in &call.paths {
        lines.push(format!("  {:<10} {}", if path.writes { "writes" } else { "reads" }, path.path));
    }
    let events = whole["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |kind: &'static str| events.iter().filter(move |event| event["kind"] == kind);
    for event in of("input") {
        lines.push(section("input", &indented(&pretty(&event["body"]))));
    }
    // An undo is decided by whoever wants it, not by rules.
    for event in of("decision").filter(|event| !event["body"].is_null()) {
        lines.push(section("decision", &indented(&decision(&event["body"]))));
    }
    let others = events.iter().filter(|event| event["kind"] != "input" && event["kind"] != "decision");
    let others: Vec<String> = others.map(event).collect();
    if !others.is_empty() {
        lines.push(section("events", &indented(&others.join("\n"))));
    }
    if !diff.is_empty() {
        lines.push(section("diff", &cut(diff, MOST_DIFF, "`haft undo CALL --preview` has the whole")));
    }
    if let Some(blocks) = whole["result"]["blocks"].as_array() {
        let texts: Vec<String> = blocks.iter().map(block).collect();
        lines.push(section("result", &indented(&texts.join("\n"))));
    }
    plain(lines.join("\n"))
}

fn ending(call: &CallRow) -> String {
    let fault = call.fault.as_ref().filter(|_| !is_interrupted(call));
    let fault = fault.map(|fault| format!(": {fault}")).unwrap_or_default();
    let took = took(call).map(|us| format!(", {}", time(us))).unwrap_or_default();
    format!("{}{fault}{took}", state(call).0)
}

fn section(name: &str, text: &str) -> String {
    format!("\n{name}\n{text}")
}

fn indented(text: &str) -> String {
    let shown = cut(text, MOST, "--json has them");
    shown.lines().map(|line| format!("  {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// As much of a text as is shown, and where the rest is.
fn cut(text: &str, most: usize, rest: &str) -> String {
    let end = text.floor_char_boundary(most);
    if end == text.len() {
        return text.trim_end().to_owned();
    }
    format!("{}\n[… {} bytes hidden; {rest}]", &text[..end], text.len() - end)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A trace as `haft explain` prints it.
fn decision(trace: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = vec![text(&trace["reason"]), format!("  class      {}", text(&trace["class"]))];
    if let Some(rule) = trace["rule"].as_object() {
        let of = |key: &str| rule.get(key).map(text).unwrap_or_default();
        lines.push(format!("  rule       {}  ({}, layer {})", of("text"), of("origin"), of("layer")));
        lines.extend(rule.get("reason").map(|reason| format!("  because    {}", text(reason))));
    }
    for (key, name) in [("part", "part"), ("otherwise", "otherwise")] {
        lines.extend(trace[key].as_str().map(|text| format!("  {name:<10} {text}")));
    }
    let steps = |key: &str| trace[key].as_array().cloned().unwrap_or_default();
    let layers: Vec<String> = steps("layers")
        .iter()
        .map(|step| format!("{}: {}", text(&step["stage"]), text(&step["outcome"])))
        .collect();
    lines.push(format!("  layers     {}", layers.join(", ")));
    lines.extend(
        steps("steps")
            .iter()
            .map(|step| format!("  {:<16} {}", text(&step["stage"]), text(&step["outcome"]))),
    );
    lines.join("\n")
}

fn event(event: &Value) -> String {
    let body = &event["body"];
    let kind = event["kind"].as_str().unwrap_or_default();
    if kind == EventKind::IMAGE.0
        && let Ok(changed) = serde_json::from_value::<Changed>(body.clone())
    {
        return images(&changed);
    }
    if body.is_null() { kind.to_owned() } else { format!("{kind:<10} {body}") }
}

/// What was changed, a line for each file.
fn images(changed: &Changed) -> String {
    let line = |image: &Image| {
        let (path, before, after) = (image.path(), image.before.describe(), image.after.describe());
        format!("{:<10} {}: {before} → {after}", "changed", shown(&path))
    };
    let left_out = changed.left_out.iter().map(|words| format!("{:<10} {words}", "not kept"));
    changed.images.iter().map(line).chain(left_out).collect::<Vec<_>>().join("\n")
}

fn block(block: &Value) -> String {
    match block["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", block["type"].as_str().unwrap_or("something else than text")),
    }
}

#[cfg(test)]
mod tests {
    use haft_engine::session::CallState;
    use serde_json::json;

    use super::{
        super::{table::tests::call, when::tests::noon},
        *,
    };

    #[test]
    fn an_undo_has_no_decision_and_what_was_interrupted_no_duration() {
        let interrupted = CallRow {
            fault: Some("interrupted".to_owned()),
            duration_us: Some(0),
            ..call(7, "undo", CallState::Finished)
        };
        let whole = json!({ "events": [{ "kind": "decision", "body": null }], "result": null });
        let told = one(&interrupted, &whole, "", &noon());
        assert!(told.contains("  state      interrupted\n") && !told.contains("decision"), "{told}");
    }

    #[test]
    fn a_call_is_told_in_the_order_in_which_it_happened() {
        let step = |stage: &str, outcome: &str| json!({ "stage": stage, "outcome": outcome });
        let trace = json!({
            "verdict": "allow",
            "class": "write",
            "reason": "allow: allow rule `Edit(**)` (command line) covers it: writes /w/src/main.rs",
            "rule": { "text": "Edit(**)", "origin": "command line", "layer": "global", "reason": "it is mine" },
            "part": "writes /w/src/main.rs",
            "otherwise": null,
            "layers": [step("deny lists", "empty"), step("global", "allow")],
            "steps": [step("deny rules", "there are none"), step("allow rules", "it covers it")],
        });
        let whole = json!({
            "events": [
                { "kind": "decision", "body": trace },
                { "kind": "input", "body": { "file_path": "/w/src/main.rs" } },
                { "kind": "approval", "body": { "by": "person", "said": "once" } },
                { "kind": "recalled", "body": null },
            ],
            "result": { "blocks": [{ "type": "text", "text": "created\u{1b}[2J\n" }, { "type": "image" }] },
        });
        insta::assert_snapshot!(one(&call(7, "Write", CallState::Finished), &whole, "-1\n+2\n", &noon()), @r#"
        call 7  Write src/main.rs, which is a file with a name that is rather long
          id         toolu_7  (session work, turn 1)
          tool       Write
          when       2026-11-16 09:30:05 UTC
          state      done, 12 ms
          writes     /w/src/main.rs

        input
          {
            "file_path": "/w/src/main.rs"
          }

        decision
          allow: allow rule `Edit(**)` (command line) covers it: writes /w/src/main.rs
            class      write
            rule       Edit(**)  (command line, layer global)
            because    it is mine
            part       writes /w/src/main.rs
            layers     deny lists: empty, global: allow
            deny rules       there are none
            allow rules      it covers it

        events
          approval   {"by":"person","said":"once"}
          recalled

        diff
        -1
        +2

        result
          created\u{1b}[2J

          [image]
        "#);
    }
}
