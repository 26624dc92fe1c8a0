//! `tools/call`: through the engine, and back in the shape of the protocol.

use std::sync::Arc;

use haft_engine::{Call, result::ToolResult, session::Explanation, turn::Event};
use haft_tool::Refusal;
use serde_json::{Map, Value, json};

use super::{
    catalogue, listen,
    message::{BAD_PARAMS, BROKEN},
    promised, search, tasks,
    visit::{Visit, VisitDesk},
};
use crate::{
    client::{Era, Refused},
    shape,
};

/// Calls a tool for a client. What goes wrong with the call is a result, which the model is to read; that there is no such
/// tool, or that a server refuses in the protocol's own words, is a refusal.
pub(super) async fn call(
    visit: Visit,
    desk: Arc<VisitDesk>,
    mut params: Map<String, Value>,
) -> Result<Value, Refused> {
    let Some(Value::String(name)) = params.remove("name") else {
        return Err(Refused::new(BAD_PARAMS, "`name` is the name of the tool to call"));
    };
    let arguments = params.remove("arguments").unwrap_or_else(|| json!({}));
    if visit.guest.door.options.only.is_none()
        && let Some(answer) = search::call(&visit, &desk, &name, &arguments).await
    {
        return answer;
    }
    match known(&visit, &name).await {
        Some(tool) => run(&visit, &desk, tool, arguments).await,
        None => Err(Refused::new(BAD_PARAMS, unknown(&visit, &name))),
    }
}

/// The pool's name for a tool. Who calls before listing may mean a tool of a server that nobody has asked yet.
pub(super) async fn known(visit: &Visit, name: &str) -> Option<String> {
    if let Some(tool) = visit.guest.tool_named(name) {
        return Some(tool);
    }
    listen::acquaint(&visit.guest.door).await;
    visit.guest.tool_named(name)
}

/// That there is no such tool, and what may have been meant.
pub(super) fn unknown(visit: &Visit, name: &str) -> String {
    let nearest = catalogue::nearest(&visit.guest, name);
    let hint = match nearest.as_slice() {
        [] => String::new(),
        names => format!("; the nearest are {}", names.join(", ")),
    };
    format!("Unknown tool: {name}{hint}")
}

/// Calls the tool that the pool has under this name.
pub(super) async fn run(
    visit: &Visit,
    desk: &Arc<VisitDesk>,
    tool: String,
    arguments: Value,
) -> Result<Value, Refused> {
    visit.guest.begins().await;
    let passage = visit.passage(desk.clone());
    let call = Call::new(visit.guest.spilled.next_call(), tool.clone(), arguments);
    passage.is_of(&call.id);
    let again = call.clone();
    let result = passage.clone().around(watched(visit, desk, call)).await;
    if let Some(refused) = passage.take_refusal().filter(|refused| is_of_the_protocol(refused, &result)) {
        return Err(refused);
    }
    let mut answer = shape::call_tool_result(&result);
    let mut promised = None;
    if let Some(raw) = passage.take_answer() {
        if tasks::is_task(&raw) && !result.is_error() {
            return Ok(tasks::sealed(visit, &server_of(visit, &tool), raw));
        }
        promised = left_out(&raw, &result, visit.era);
        shape::overlay(&mut answer, raw, &result, visit.era == Era::Modern);
    }
    visit.guest.link_spilled(&mut answer, &result);
    if let Some(data) = promised {
        promised::keep(visit, &tool, data, &mut answer);
    }
    visit.guest.greet(&mut answer);
    if result.fault.is_some_and(|fault| fault.refusal == Some(Refusal::NobodyThere)) {
        say_what_would_allow(visit, again, &mut answer).await;
    }
    Ok(answer)
}

/// The server's structured content, if the engine gave none of it because it is too large.
fn left_out(raw: &Value, result: &ToolResult, era: Era) -> Option<Value> {
    let data = raw.get("structuredContent").filter(|data| data.is_object() || era == Era::Modern)?;
    (result.data.is_none() && !result.is_error() && !data.is_null()).then(|| data.clone())
}

/// Where nobody can be asked, somebody can still write a rule. The second line of the refusal says so for any command line;
/// here it says so for whoever configured this client. Without a rule that is narrow enough it stays as it is.
async fn say_what_would_allow(visit: &Visit, call: Call, answer: &mut Value) {
    let Some(Value::String(refusal)) = answer.pointer_mut("/content/0/text") else { return };
    if let Some(better) = with_way_out(visit, call, refusal).await {
        *refusal = better;
    }
}

/// The words of such a refusal with what would allow the call here, if a rule would.
pub(super) async fn with_way_out(visit: &Visit, call: Call, refusal: &str) -> Option<String> {
    let (why, _) = refusal.split_once('\n')?;
    let explained = visit.guest.session.explain(call).await.ok()?;
    let rules = allowing(&explained);
    (!rules.is_empty()).then(|| format!("{why}\n{}", way_out(&rules)))
}

fn way_out(rules: &[String]) -> String {
    let flags: Vec<String> = rules.iter().map(|rule| format!("--allow {}", quoted(rule))).collect();
    format!(
        "Go on without it, or tell the user: `haft mcp {}` or the same under [permissions] in haft's settings would permit \
         it, and a client that shows forms (elicitation) would be asked.",
        flags.join(" ")
    )
}

/// A rule as a word of a command line.
fn quoted(rule: &str) -> String {
    format!("'{}'", rule.replace('\'', r"'\''"))
}

/// The narrowest rules that would allow it: for a tool of which nothing is known, its name.
fn allowing(explained: &Explanation) -> Vec<String> {
    let is_bare = explained.effects.is_unknown() && explained.effects.commands().is_empty();
    match &explained.would_allow {
        Some(rules) => rules.clone(),
        None if is_bare && explained.decision.trace.is_uncovered() => vec![explained.tool.clone()],
        None => Vec::new(),
    }
}

/// The server that a tool of the pool comes from.
fn server_of(visit: &Visit, tool: &str) -> String {
    let catalogue = visit.guest.catalogue();
    catalogue.pool().find(tool).and_then(|entry| entry.server()).unwrap_or_default().to_owned()
}

/// Runs the call, and tells the client of its progress if it wants to hear of it.
async fn watched(visit: &Visit, desk: &VisitDesk, call: Call) -> ToolResult {
    let session = &visit.guest.session;
    if visit.said.progress.is_none() {
        return session.call(call).await;
    }
    let mut steps = 0u64;
    session
        .watched_call(call, |event| {
            if let (Event::Progress { progress, .. }, Some(voice)) = (event, desk.voice()) {
                // Progress has to grow, and a tool that has no figures still goes on.
                steps = progress.done.max(steps + 1);
                let mut params = Map::from_iter([("progress".to_owned(), steps.into())]);
                if let Some(total) = progress.total.filter(|total| *total >= steps) {
                    params.insert("total".to_owned(), total.into());
                }
                params.insert("message".to_owned(), progress.label.as_str().into());
                voice.progress(params);
            }
        })
        .await
}

/// Whether the server refused the request as such. That it did not answer is a matter of the call, and so is what the
/// engine did not let through.
fn is_of_the_protocol(refused: &Refused, result: &ToolResult) -> bool {
    let of_ours = [Refused::TIMED_OUT, Refused::GONE, Refused::UNREADABLE, Refused::UNFINISHED, BROKEN];
    result.is_error() && !of_ours.contains(&refused.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_out_can_be_typed_as_it_stands() {
        let way_out = way_out(&["Bash(echo 'a')".to_owned(), "Edit(a.md)".to_owned()]);
        let expected = r"`haft mcp --allow 'Bash(echo '\''a'\'')' --allow 'Edit(a.md)'`";
        assert!(way_out.contains(expected) && !way_out.contains('\n'), "{way_out}");
    }
}
