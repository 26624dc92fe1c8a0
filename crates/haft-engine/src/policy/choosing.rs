//! Questions that are not about a call: what the model would have the person decide.
//!
//! They go to the same person, by the same [`Asker`](super::Asker), and wait in the same queue. Whoever shows choices shows
//! them in its own way ([`Asker::choose`](super::Asker::choose)); whoever only shows forms is given a form ([`form`]), and
//! what comes back is read here ([`read`]).

use haft_tool::{CallId, SessionFacts};
use serde_json::{Map, Value, json};

use super::asking::Given;

/// What the person is to decide. All words in it are the model's.
#[derive(Debug, Clone, Copy)]
pub struct Choices<'a> {
    /// The session in which it is asked: whose question it is. The engine always says.
    pub session: Option<&'a SessionFacts>,
    /// The call that asks, if one does.
    pub call: Option<&'a CallId>,
    /// Something to read before: a plan. To be shown whole.
    pub text: Option<&'a str>,
    /// The questions, in their order.
    pub questions: &'a [Choice],
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// A word or two for it.
    pub header: String,
    /// The question itself.
    pub question: String,
    /// What can be chosen.
    pub options: Vec<ChoiceOption>,
    /// Whether more than one can.
    pub several: bool,
    /// Whether the person may answer in words of their own.
    pub own_words: bool,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceOption {
    /// What it is called. The answer is this word.
    pub label: String,
    /// What choosing it means; may be empty.
    pub description: String,
}

/// What the person says to one question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chosen {
    /// The labels that were chosen, in the order of the question.
    pub labels: Vec<String>,
    /// Words of their own.
    pub words: Option<String>,
}

impl Chosen {
    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.words.is_none()
    }
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choosing {
    /// An answer to each question, in their order. One may be empty.
    Chosen(Vec<Chosen>),
    /// The person does not want to say.
    Declined,
    /// There is nobody to say anything.
    NobodyThere,
}

/// The questions as a form of plain values: the JSON Schema of an object. Nothing but strings and yes-or-no, because not every
/// client shows more.
pub fn form(choices: &Choices<'_>) -> Value {
    let mut fields = Map::new();
    for (at, choice) in choices.questions.iter().enumerate() {
        fields.extend(fields_of(at + 1, choice));
    }
    json!({ "type": "object", "properties": fields })
}

fn fields_of(number: usize, choice: &Choice) -> Vec<(String, Value)> {
    let title = |option: &ChoiceOption| match option.description.as_str() {
        "" => option.label.clone(),
        description => format!("{}: {description}", option.label),
    };
    let mut fields = Vec::new();
    if choice.several {
        for (at, option) in choice.options.iter().enumerate() {
            let words = format!("{} — {}", choice.header, title(option));
            fields.push((
                chosen_key(number, at),
                json!({ "type": "boolean", "title": words, "default": false }),
            ));
        }
    } else if !choice.options.is_empty() {
        let labels: Vec<&str> = choice.options.iter().map(|option| option.label.as_str()).collect();
        let titles: Vec<String> = choice.options.iter().map(title).collect();
        let field = json!({
            "type": "string", "title": choice.header, "description": choice.question, "enum": labels, "enumNames": titles,
        });
        fields.push((key(number), field));
    }
    if choice.own_words {
        let title = format!("{} — in your own words", choice.header);
        fields.push((
            words_key(number),
            json!({ "type": "string", "title": title, "description": choice.question }),
        ));
    }
    fields
}

/// The questions in words, for whoever shows a form beside them.
pub fn words(choices: &Choices<'_>) -> String {
    let mut parts: Vec<String> = choices.text.iter().map(|text| (*text).to_owned()).collect();
    let numbered = choices.questions.len() > 1;
    for (at, choice) in choices.questions.iter().enumerate() {
        let number = if numbered { format!("{}. ", at + 1) } else { String::new() };
        parts.push(format!("{number}{}", choice.question));
    }
    parts.join("\n\n")
}

/// What was filled in.
pub fn read(choices: &Choices<'_>, given: Given) -> Choosing {
    let answers = match given {
        Given::Answers(answers) => answers,
        Given::Declined | Given::Dismissed => return Choosing::Declined,
        Given::NobodyThere => return Choosing::NobodyThere,
    };
    let each = choices.questions.iter().enumerate().map(|(at, choice)| chosen(at + 1, choice, &answers));
    Choosing::Chosen(each.collect())
}

/// What is no option is no answer: a form comes from elsewhere.
fn chosen(number: usize, choice: &Choice, answers: &Map<String, Value>) -> Chosen {
    let text = |key: String| {
        answers.get(&key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    };
    let one = text(key(number));
    let is_chosen = |at: usize, option: &ChoiceOption| match choice.several {
        true => answers.get(&chosen_key(number, at)) == Some(&Value::Bool(true)),
        false => one == Some(option.label.as_str()),
    };
    let labels = choice.options.iter().enumerate().filter(|(at, option)| is_chosen(*at, option));
    Chosen {
        labels: labels.map(|(_, option)| option.label.clone()).collect(),
        words: text(words_key(number)).filter(|_| choice.own_words).map(str::to_owned),
    }
}

fn key(number: usize) -> String {
    format!("answer_{number}")
}

fn chosen_key(number: usize, at: usize) -> String {
    format!("answer_{number}_{}", at + 1)
}

fn words_key(number: usize) -> String {
    format!("words_{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(several: bool) -> Choice {
        let option = |label: &str, description: &str| ChoiceOption {
            label: label.into(),
            description: description.into(),
        };
        Choice {
            header: "Store".into(),
            question: "Which store?".into(),
            options: vec![option("SQLite", "a file"), option("None", "")],
            several,
            own_words: true,
        }
    }

    #[test]
    fn a_form_has_plain_fields_only() {
        let questions = [choice(false), choice(true)];
        let form = form(&Choices { session: None, call: None, text: None, questions: &questions });
        let keys: Vec<&String> = form["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["answer_1", "words_1", "answer_2_1", "answer_2_2", "words_2"]);
        assert_eq!(form["properties"]["answer_1"]["enumNames"], json!(["SQLite: a file", "None"]));
    }

    #[track_caller]
    fn check(several: bool, answers: Value, labels: &[&str], words: Option<&str>) {
        let questions = [choice(several)];
        let Value::Object(answers) = answers else { panic!("an object") };
        let choices = Choices { session: None, call: None, text: None, questions: &questions };
        let Choosing::Chosen(chosen) = read(&choices, Given::Answers(answers)) else { panic!("an answer") };
        assert_eq!(
            (chosen[0].labels.as_slice(), chosen[0].words.as_deref()),
            (&labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>()[..], words)
        );
    }

    #[test]
    fn only_what_was_offered_is_chosen() {
        check(false, json!({ "answer_1": "None" }), &["None"], None);
        check(false, json!({ "answer_1": "Oracle" }), &[], None);
        check(false, json!({ "answer_1": 7, "words_1": "  " }), &[], None);
        check(false, json!({ "words_1": " the old one " }), &[], Some("the old one"));
        check(true, json!({ "answer_1_2": true, "answer_1_1": "true" }), &["None"], None);
        check(true, json!({ "answer_1_1": true, "answer_1_2": true }), &["SQLite", "None"], None);
    }
}
