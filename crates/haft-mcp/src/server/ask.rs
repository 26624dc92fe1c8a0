//! The person at the client: asked by elicitation, where the client can.
//!
//! The question shows what would be done and why that is asked, in words; the answer is a form of one choice and a reason.
//! A client that shows no forms has nobody behind it, as far as we can know: the call is denied, and the denial says what
//! would allow it.

use std::sync::Arc;

use haft_engine::policy::{
    Answer, AnswerKind, Asker, CallFacts, Execution, Given, Inquiry, OfferedAnswer, Question, QuestionStage,
};
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
                Ok(answer) => read(&answer, &offered(&question)),
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
    question.always.filter(|_| is_owner(question))
}

/// Whether the caller is the user that this process runs as: others have no say in what that user's processes reach.
fn is_owner(question: &Question<'_>) -> bool {
    question.call.session.caller.roles.iter().any(|role| role == OWNER)
}

const OWNER: &str = "owner";

fn form(question: &Question<'_>) -> Map<String, Value> {
    let answers = offered(question);
    let titles: Vec<String> = answers.iter().map(|offered| title(offered, question)).collect();
    let values: Vec<&str> = answers.iter().map(|offered| offered.answer.name()).collect();
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

/// The answers that this client may give.
fn offered(question: &Question<'_>) -> Vec<OfferedAnswer> {
    let is_owner = is_owner(question);
    let is_for_owner = |answer: AnswerKind| matches!(answer, AnswerKind::Always | AnswerKind::Unsandboxed);
    let answers = question.answers().into_iter();
    answers.filter(|offered| is_owner || !is_for_owner(offered.answer)).collect()
}

/// An answer in the words of a form.
fn title(offered: &OfferedAnswer, question: &Question<'_>) -> String {
    let meaning = &offered.meaning;
    match offered.answer {
        AnswerKind::Once => format!("Allow once: {meaning}"),
        AnswerKind::Session => format!("Allow for this session: {meaning}"),
        AnswerKind::Always => {
            format!("Always allow {}", rules_of(question).unwrap_or_default().join(" and "))
        }
        AnswerKind::Unsandboxed => format!("Allow once, outside the sandbox: {meaning}"),
        AnswerKind::No => format!("Do not allow: {meaning}"),
    }
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
    let does = if question.stage == QuestionStage::BeforeCall { "Does" } else { "In addition" };
    let place = match question.execution {
        Execution::Unsandboxed(Some(rule)) => format!("\nRuns outside the sandbox: {rule}"),
        _ => String::new(),
    };
    let reason = decision.reason();
    format!("{tool}: {description}\n{does}: {effects}\nAsked because: {reason}{place}\n\n{shown}")
}

/// Only a clear yes is one.
fn read(answer: &Value, offered: &[OfferedAnswer]) -> Answer {
    let content = |key: &str| answer.get("content")?.get(key)?.as_str();
    let reason = content("reason").map(str::trim).filter(|reason| !reason.is_empty()).map(str::to_owned);
    if answer.get("action").is_none_or(|action| action != "accept") {
        return Answer::No(reason);
    }
    let decision = content("decision");
    let chosen = offered.iter().find(|offered| decision == Some(offered.answer.name()));
    match chosen.map(|offered| offered.answer) {
        Some(AnswerKind::Once) => Answer::Once,
        Some(AnswerKind::Session) => Answer::Session,
        Some(AnswerKind::Always) => Answer::Always,
        Some(AnswerKind::Unsandboxed) => Answer::Unsandboxed,
        Some(AnswerKind::No) | None => Answer::No(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: Value, offers_more: bool, expected: Answer) {
        let mut kinds = vec![AnswerKind::Once, AnswerKind::Session, AnswerKind::No];
        kinds.extend([AnswerKind::Always, AnswerKind::Unsandboxed].into_iter().filter(|_| offers_more));
        let offer = |answer| OfferedAnswer { answer, meaning: String::new() };
        let offered: Vec<OfferedAnswer> = kinds.into_iter().map(offer).collect();
        assert_eq!(read(&answer, &offered), expected, "{answer}");
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        let accept = |decision: &str| json!({ "action": "accept", "content": { "decision": decision } });
        check(accept("once"), false, Answer::Once);
        check(accept("session"), false, Answer::Session);
        check(accept("always"), true, Answer::Always);
        check(accept("always"), false, Answer::No(None));
        check(accept("unsandboxed"), true, Answer::Unsandboxed);
        check(accept("unsandboxed"), false, Answer::No(None));
        check(accept("yes"), true, Answer::No(None));
        check(json!({ "action": "accept" }), true, Answer::No(None));
        check(json!({ "action": "decline", "content": { "decision": "once" } }), true, Answer::No(None));
        check(json!({ "action": "cancel" }), true, Answer::No(None));
        check(json!({}), true, Answer::No(None));
        let no = json!({ "action": "accept", "content": { "decision": "no", "reason": " use the copy " } });
        check(no, true, Answer::No(Some("use the copy".to_owned())));
    }
}
