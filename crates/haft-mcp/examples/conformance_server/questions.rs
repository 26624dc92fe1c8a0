//! Tools and a prompt that ask back.
//!
//! Each is one pure function from the answers that are there to what comes next: more questions, or the result. How a question
//! reaches the client and how the answer comes back depends on the era, and is not known here.

use serde_json::{Map, Value, json};

use crate::contents::{prompt, said, text};

/// What comes next.
pub(crate) enum Next {
    /// These have to be answered first: the requests by their keys. `remembered`: whether the server keeps a state between rounds.
    Ask { wishes: Map<String, Value>, remembered: bool },
    /// The result.
    Done(Value),
}

/// What a client has said it can answer.
pub(crate) struct Abilities {
    pub(crate) elicitation: bool,
    pub(crate) sampling: bool,
}

/// What a tool or a prompt does with the answers so far. `None`: it is none of those that ask.
pub(crate) fn next(
    name: &str,
    arguments: &Map<String, Value>,
    answers: &Map<String, Value>,
    abilities: &Abilities,
) -> Option<Next> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let asked = |wishes: &[(&str, Value)], remembered| ask(wishes, answers, remembered);
    let next = match name {
        "test_sampling" => asked(&[("answer", sample(&argument("prompt"), 100))], false)
            .unwrap_or_else(|| done(&format!("LLM response: {}", words_of(&answers["answer"])))),
        "test_elicitation" => asked(&[("answer", elicit(&argument("message"), person()))], false)
            .unwrap_or_else(|| done(&format!("User response: {}", answers["answer"]))),
        "test_elicitation_sep1034_defaults" => {
            completed(answers, "Please check these values", with_defaults())
        }
        "test_elicitation_sep1330_enums" => completed(answers, "Please choose", with_choices()),
        "test_streaming_elicitation" => completed(answers, "Please go on", fields(&[("ok", "boolean")])),
        "test_input_required_result_elicitation" => asked(&[("user_name", whats_your_name())], false)
            .unwrap_or_else(|| done(&format!("Hello, {}!", field(&answers["user_name"], "name")))),
        "test_input_required_result_sampling" => {
            asked(&[("capital_question", sample("What is the capital of France?", 100))], false)
                .unwrap_or_else(|| done(&words_of(&answers["capital_question"])))
        }
        "test_input_required_result_list_roots" => asked(&[("client_roots", roots())], false)
            .unwrap_or_else(|| done(&format!("Roots: {}", answers["client_roots"]["roots"]))),
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            asked(&[("confirm", elicit("Please confirm", fields(&[("ok", "boolean")])))], true)
                .unwrap_or_else(|| done("state-ok"))
        }
        "test_input_required_result_multiple_inputs" => {
            let wishes = [
                ("user_name", whats_your_name()),
                ("greeting", sample("Generate a greeting", 50)),
                ("client_roots", roots()),
            ];
            asked(&wishes, true).unwrap_or_else(|| {
                done(&format!("{}, {}", words_of(&answers["greeting"]), field(&answers["user_name"], "name")))
            })
        }
        "test_input_required_result_multi_round" => two_rounds(answers),
        "test_input_required_result_capabilities" => {
            asked(&answerable(abilities), false).unwrap_or_else(|| done("thank you"))
        }
        "test_input_required_result_prompt" => {
            let wish = elicit("What context should the prompt use?", fields(&[("context", "string")]));
            asked(&[("user_context", wish)], false).unwrap_or_else(|| {
                Next::Done(prompt(vec![text(&format!(
                    "Use this context: {}",
                    field(&answers["user_context"], "context")
                ))]))
            })
        }
        _ => return None,
    };
    Some(next)
}

fn two_rounds(answers: &Map<String, Value>) -> Next {
    let name = elicit("Step 1: What is your name?", fields(&[("name", "string")]));
    let color = elicit("Step 2: What is your favorite color?", fields(&[("color", "string")]));
    ask(&[("step1", name)], answers, true).or_else(|| ask(&[("step2", color)], answers, true)).unwrap_or_else(
        || done(&format!("{} likes {}", field(&answers["step1"], "name"), field(&answers["step2"], "color"))),
    )
}

fn completed(answers: &Map<String, Value>, message: &str, schema: Value) -> Next {
    ask(&[("answer", elicit(message, schema))], answers, false).unwrap_or_else(|| {
        let answer = &answers["answer"];
        done(&format!(
            "Elicitation completed: action={}, content={}",
            answer["action"].as_str().unwrap_or_default(),
            answer["content"]
        ))
    })
}

fn answerable(abilities: &Abilities) -> Vec<(&'static str, Value)> {
    let mut wishes = Vec::new();
    if abilities.elicitation {
        wishes.push(("user_name", whats_your_name()));
    }
    if abilities.sampling {
        wishes.push(("greeting", sample("Generate a greeting", 50)));
    }
    wishes
}

/// Those wishes that have no usable answer, if there are any. An answer that is no object is none.
fn ask(wishes: &[(&str, Value)], answers: &Map<String, Value>, remembered: bool) -> Option<Next> {
    let is_open = |key: &str| !answers.get(key).is_some_and(Value::is_object);
    let open = wishes.iter().filter(|(key, _)| is_open(key));
    let wishes: Map<String, Value> = open.map(|(key, wish)| ((*key).to_owned(), wish.clone())).collect();
    (!wishes.is_empty()).then_some(Next::Ask { wishes, remembered })
}

fn done(words: &str) -> Next {
    Next::Done(said(words))
}

/// The text of a model's answer.
fn words_of(answer: &Value) -> String {
    answer["content"]["text"].as_str().unwrap_or("nothing").to_owned()
}

/// What a user filled in.
fn field(answer: &Value, name: &str) -> String {
    answer["content"][name].as_str().unwrap_or("nobody").to_owned()
}

fn whats_your_name() -> Value {
    elicit("What is your name?", fields(&[("name", "string")]))
}

fn elicit(message: &str, schema: Value) -> Value {
    json!({ "method": "elicitation/create", "params": { "mode": "form", "message": message, "requestedSchema": schema } })
}

fn sample(words: &str, limit: u32) -> Value {
    let message = json!({ "role": "user", "content": text(words) });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": limit } })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

fn fields(fields: &[(&str, &str)]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind }))).collect();
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

fn with_defaults() -> Value {
    json!({ "type": "object", "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    }, "required": [] })
}

fn with_choices() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = |words: &str| {
        let one = |(index, nth): (usize, &str)| json!({ "const": format!("value{}", index + 1), "title": format!("{nth} {words}") });
        ["First", "Second", "Third"].into_iter().enumerate().map(one).collect::<Vec<Value>>()
    };
    json!({ "type": "object", "properties": {
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"] },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    }, "required": [] })
}
