//! The person at the client: asked by elicitation, where the client can.
//!
//! The question shows what would be done and why that is asked, in words; the answer is a form of one choice and a reason.
//! A client that shows no forms has nobody behind it, as far as we can know: the call is denied, and the denial says what
//! would allow it.

use std::sync::Arc;

use haft_engine::policy::{Answer, Asker, CallFacts, Given, Inquiry, Question};
use haft_tool::{BoxFuture, View};
use serde_json::{Map, Value, json};

use super::visit::takes;
use crate::{
    Passage,
    client::{Desk, Wish},
};

/// Asks whoever made the call that is asked about, through the client that it came from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Elicitor;

impl Asker for Elicitor {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let Some(desk) = desk() else { return Answer::NobodyThere };
            let wish = Wish { method: "elicitation/create".to_owned(), params: form(&question) };
            match desk.answer(wish).await {
                Ok(answer) => read(&answer, rules_of(&question).is_some()),
                Err(_) => Answer::NobodyThere,
            }
        })
    }

    fn is_there(&self) -> bool {
        desk().is_some()
    }

    fn inquire<'a>(&'a self, inquiry: Inquiry<'a>) -> BoxFuture<'a, Given> {
        Box::pin(async move {
            let Some(desk) = desk() else { return Given::NobodyThere };
            let params = Map::from_iter([
                ("mode".to_owned(), "form".into()),
                ("message".to_owned(), format!("{} asks: {}", inquiry.who, inquiry.message).into()),
                ("requestedSchema".to_owned(), inquiry.schema.clone()),
            ]);
            match desk.answer(Wish { method: "elicitation/create".to_owned(), params }).await {
                Ok(answer) => given(answer),
                Err(_) => Given::NobodyThere,
            }
        })
    }
}

/// What was filled in. What says neither yes nor no was put away.
fn given(mut answer: Value) -> Given {
    match answer.get("action").and_then(Value::as_str) {
        Some("accept") => match answer.get_mut("content").map(Value::take) {
            Some(Value::Object(content)) => Given::Answers(content),
            _ => Given::Answers(Map::new()),
        },
        Some("decline") => Given::Declined,
        _ => Given::Dismissed,
    }
}

/// The desk of the call that runs here, if there is a person behind it.
fn desk() -> Option<Arc<dyn Desk>> {
    let passage = Passage::current()?;
    let shows_forms =
        passage.desk().capabilities().get("elicitation").is_some_and(|modes| takes(modes, "form"));
    shows_forms.then(|| passage.desk().clone())
}

/// The rules that *always* would write, for whoever may write them: they are the owner's, and hold for all that come after.
fn rules_of<'a>(question: &Question<'a>) -> Option<&'a [String]> {
    let roles = &question.call.session.caller.roles;
    question.always.filter(|_| roles.iter().any(|role| role == OWNER))
}

const OWNER: &str = "owner";

fn form(question: &Question<'_>) -> Map<String, Value> {
    let mut choices =
        vec![("once", "Allow this once".to_owned()), ("session", "Allow for this session".to_owned())];
    if let Some(rules) = rules_of(question) {
        choices.push(("always", format!("Always allow {}", rules.join(" and "))));
    }
    choices.push(("no", "Do not allow".to_owned()));
    let (values, titles): (Vec<&str>, Vec<String>) = choices.into_iter().unzip();
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": { "type": "string", "title": "Decision", "enum": values, "enumNames": titles },
            "reason": { "type": "string", "title": "Reason", "description": "For the model, if you say no." },
        },
        "required": ["decision"],
    });
    let message = words(question);
    Map::from_iter([
        ("mode".to_owned(), "form".into()),
        ("message".to_owned(), message.into()),
        ("requestedSchema".to_owned(), schema),
    ])
}

/// So much of an input is shown. More than that is said to be there.
const MOST_SHOWN: usize = 4_000;

/// Who wants to do what, and why that is asked.
fn words(question: &Question<'_>) -> String {
    let CallFacts { tool, effects, decision, input, .. } = question.call;
    let input = serde_json::to_string_pretty(input).unwrap_or_default();
    let input = match question.preview {
        // What is odd about a tool does not stand in the place of what it is called with.
        Some(View::Text(words)) => format!("{words}\n\n{input}"),
        _ => input,
    };
    let shown = match input.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}… ({} more bytes)", &input[..end], input.len() - end),
        None => input,
    };
    let description = question.description;
    format!("{tool}: {description}\nDoes: {effects}\nAsked because: {}\n\n{shown}", decision.reason())
}

/// Only a clear yes is one.
fn read(answer: &Value, offers_always: bool) -> Answer {
    let content = |key: &str| answer.get("content")?.get(key)?.as_str();
    let reason = content("reason").map(str::trim).filter(|reason| !reason.is_empty()).map(str::to_owned);
    if answer.get("action").is_none_or(|action| action != "accept") {
        return Answer::No(reason);
    }
    match content("decision") {
        Some("once") => Answer::Once,
        Some("session") => Answer::Session,
        Some("always") if offers_always => Answer::Always,
        _ => Answer::No(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: Value, offers_always: bool, expected: Answer) {
        assert_eq!(read(&answer, offers_always), expected, "{answer}");
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        let accept = |decision: &str| json!({ "action": "accept", "content": { "decision": decision } });
        check(accept("once"), false, Answer::Once);
        check(accept("session"), false, Answer::Session);
        check(accept("always"), true, Answer::Always);
        check(accept("always"), false, Answer::No(None));
        check(accept("yes"), true, Answer::No(None));
        check(json!({ "action": "accept" }), true, Answer::No(None));
        check(json!({ "action": "decline", "content": { "decision": "once" } }), true, Answer::No(None));
        check(json!({ "action": "cancel" }), true, Answer::No(None));
        check(json!({}), true, Answer::No(None));
        let no = json!({ "action": "accept", "content": { "decision": "no", "reason": " use the copy " } });
        check(no, true, Answer::No(Some("use the copy".to_owned())));
    }
}
