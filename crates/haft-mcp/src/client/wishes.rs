//! What a server wants to know, whichever way it asks: by a request of its own, or by an answer that is a question.

use std::collections::HashSet;

use futures::future::try_join_all;
use serde_json::{Map, Value, json};

use super::{Desk, Refused, Wish};

/// Answers one wish at a desk, if the desk has said that it can.
pub(super) async fn answer(
    desk: &dyn Desk,
    method: &str,
    params: Map<String, Value>,
) -> Result<Value, Refused> {
    if method == "ping" {
        return Ok(json!({}));
    }
    is_declared(&desk.capabilities(), method, &params)?;
    desk.answer(Wish { method: method.to_owned(), params }).await
}

/// Answers one of several wishes, which the server tells apart by names.
async fn answer_named(desk: &dyn Desk, name: &str, wish: Wish) -> Result<Value, Refused> {
    is_declared(&desk.capabilities(), &wish.method, &wish.params)?;
    desk.answer_named(name, wish).await
}

fn is_declared(
    capabilities: &Map<String, Value>,
    method: &str,
    params: &Map<String, Value>,
) -> Result<(), Refused> {
    let needed = match method {
        "elicitation/create" => "elicitation",
        "sampling/createMessage" => "sampling",
        "roots/list" => "roots",
        _ => return Err(Refused::new(-32601, format!("{method} is not known here"))),
    };
    let Some(capability) = capabilities.get(needed) else {
        return Err(Refused::new(
            -32601,
            format!("{method} is not supported here: {needed} was not declared"),
        ));
    };
    let is_by_url = params.get("mode").is_some_and(|mode| mode == "url");
    if needed == "elicitation" && is_by_url && capability.get("url").is_none() {
        return Err(Refused::new(
            -32602,
            "no address can be shown to anybody here: `elicitation.url` was not declared",
        ));
    }
    Ok(())
}

/// What an answer asks, if it is a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    wishes: Vec<(String, Wish)>,
    state: Option<Value>,
}

impl Question {
    pub(super) fn of(answer: &Value) -> Option<Question> {
        if answer.get("resultType")? != "input_required" {
            return None;
        }
        let requests = answer.get("inputRequests").and_then(Value::as_object);
        let wishes = requests.into_iter().flatten().map(|(key, request)| (key.clone(), wish(request)));
        let state = answer.get("requestState").filter(|state| !state.is_null()).cloned();
        Some(Question { wishes: wishes.collect(), state })
    }

    /// What a task asks that was not answered yet, if it asks anything.
    pub(super) fn of_task(task: &Value, answered: &HashSet<String>) -> Option<Question> {
        let requests = task.get("inputRequests").and_then(Value::as_object);
        let open = requests.into_iter().flatten().filter(|(key, _)| !answered.contains(*key));
        let wishes: Vec<_> = open.map(|(key, request)| (key.clone(), wish(request))).collect();
        (!wishes.is_empty()).then_some(Question { wishes, state: None })
    }

    /// The names that the server has for what it asks.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.wishes.iter().map(|(name, _)| name.as_str())
    }

    /// The request again, with what it wanted to know. All is asked at the same time.
    pub(super) async fn answered(
        self,
        desk: &dyn Desk,
        mut params: Map<String, Value>,
    ) -> Result<Map<String, Value>, Refused> {
        let answers = self.wishes.into_iter().map(|(key, wish)| async move {
            answer_named(desk, &key, wish).await.map(|answer| (key, answer))
        });
        let answers: Map<String, Value> = try_join_all(answers).await?.into_iter().collect();
        for key in ["inputResponses", "requestState"] {
            params.remove(key);
        }
        if !answers.is_empty() {
            params.insert("inputResponses".to_owned(), answers.into());
        }
        if let Some(state) = self.state {
            params.insert("requestState".to_owned(), state);
        }
        Ok(params)
    }
}

fn wish(request: &Value) -> Wish {
    Wish {
        method: request.get("method").and_then(Value::as_str).unwrap_or_default().to_owned(),
        params: request.get("params").and_then(Value::as_object).cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(capabilities: Value, method: &str, params: Value, expected: Option<i64>) {
        let (Value::Object(capabilities), Value::Object(params)) = (capabilities, params) else {
            panic!("objects")
        };
        let refused = is_declared(&capabilities, method, &params).err();
        assert_eq!(refused.map(|refused| refused.code), expected, "{method}");
    }

    #[test]
    fn what_was_not_declared_is_refused() {
        check(json!({}), "elicitation/create", json!({}), Some(-32601));
        check(json!({ "elicitation": {} }), "elicitation/create", json!({}), None);
        check(json!({ "elicitation": {} }), "elicitation/create", json!({ "mode": "url" }), Some(-32602));
        check(json!({ "elicitation": { "url": {} } }), "elicitation/create", json!({ "mode": "url" }), None);
        check(json!({ "roots": {} }), "sampling/createMessage", json!({}), Some(-32601));
        check(json!({ "roots": {} }), "roots/list", json!({}), None);
        check(json!({ "roots": {} }), "tools/list", json!({}), Some(-32601));
    }

    #[test]
    fn only_an_answer_that_says_so_is_a_question() {
        assert_eq!(Question::of(&json!({ "content": [] })), None);
        assert_eq!(Question::of(&json!({ "resultType": "complete", "inputRequests": {} })), None);
        let question = Question::of(
            &json!({ "resultType": "input_required", "requestState": "s", "inputRequests": { "a": { "method": "roots/list" } } }),
        );
        let wish = Wish { method: "roots/list".to_owned(), params: Map::new() };
        assert_eq!(
            question,
            Some(Question { wishes: vec![("a".to_owned(), wish)], state: Some("s".into()) })
        );
    }
}
