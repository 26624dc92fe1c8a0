//! A form that a server wants filled in, at the terminal.
//!
//! Who asks and what is asked is a stranger's word: it is shown in a box that cannot look like a line of ours, and nothing is
//! answered unless the person types it.

use std::io;

use haft_engine::policy::{Given, Inquiry};
use serde_json::{Map, Value};

use crate::{
    draw::{fit, plain, plain_line},
    tty::Tty,
};

/// More fields than this are no form.
const MOST_FIELDS: usize = 30;
const MOST_COLUMNS: usize = 300;

/// Asks for all fields, one after another.
pub(crate) async fn fill(inquiry: Inquiry<'_>) -> io::Result<Given> {
    let fields = Field::all(inquiry.schema);
    let tty = Tty::open()?;
    tty.forget_typed();
    tty.write(&head(&inquiry, fields.len())).await?;
    let mut answers = Map::new();
    for field in fields {
        match ask(&tty, &field).await? {
            Said::Value(value) => drop(answers.insert(field.name, value)),
            Said::Nothing => {}
            Said::No => return Ok(Given::Declined),
            Said::Nobody => return Ok(Given::NobodyThere),
        }
    }
    Ok(Given::Answers(answers))
}

async fn ask(tty: &Tty, field: &Field) -> io::Result<Said> {
    loop {
        tty.write(&field.prompt()).await?;
        let Some(line) = tty.line().await? else { return Ok(Said::Nobody) };
        match field.read(&line) {
            Ok(said) => return Ok(said),
            Err(what) => tty.write(&format!("  {what}\n")).await?,
        }
    }
}

/// Who asks, and what they say.
pub(crate) fn head(inquiry: &Inquiry<'_>, fields: usize) -> String {
    let who = plain_line(inquiry.who.to_owned());
    let lines: String = plain(inquiry.message.to_owned())
        .lines()
        .take(40)
        .map(|line| format!("  │ {}\n", fit(line, MOST_COLUMNS)))
        .collect();
    format!(
        "\nThe server {who} asks you ({fields} fields; `!` declines, what you type goes to that server):\n{lines}"
    )
}

/// What was typed.
#[derive(Debug, PartialEq)]
pub(crate) enum Said {
    Value(Value),
    Nothing,
    No,
    Nobody,
}

/// One field of a form.
#[derive(Debug)]
pub(crate) struct Field {
    name: String,
    words: String,
    kind: Kind,
    default: Option<Value>,
    is_required: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text,
    Whole,
    Number,
    YesOrNo,
    One(Vec<String>),
    Some(Vec<String>),
}

impl Field {
    /// The fields that a form asks for, in its order.
    pub(crate) fn all(schema: &Value) -> Vec<Field> {
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let field = |(name, about): (&String, &Value)| {
            let text = |key: &str| about.get(key).and_then(Value::as_str);
            Field {
                name: name.clone(),
                words: text("description").or(text("title")).unwrap_or_default().to_owned(),
                kind: Kind::of(about),
                default: about.get("default").cloned(),
                is_required: required.iter().any(|one| one == name.as_str()),
            }
        };
        fields.take(MOST_FIELDS).map(field).collect()
    }

    #[cfg(feature = "tui")]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn prompt(&self) -> String {
        format!("  {}\n  > ", self.label())
    }

    /// What is asked, on one line.
    pub(crate) fn label(&self) -> String {
        let choices = match &self.kind {
            Kind::Text => String::new(),
            Kind::Whole => " (a whole number)".to_owned(),
            Kind::Number => " (a number)".to_owned(),
            Kind::YesOrNo => " (y or n)".to_owned(),
            Kind::One(words) => format!(" (one of {})", words.join(", ")),
            Kind::Some(words) => format!(" (any of {}; with commas)", words.join(", ")),
        };
        let default = match (&self.default, self.is_required) {
            (Some(default), _) => format!(" [{default}]"),
            (None, false) => " [nothing]".to_owned(),
            (None, true) => String::new(),
        };
        let words = if self.words.is_empty() { String::new() } else { format!(": {}", self.words) };
        let line = plain_line(format!("{}{words}{choices}{default}", self.name));
        fit(&line, MOST_COLUMNS)
    }

    /// What a line says, or what is wrong with it.
    pub(crate) fn read(&self, line: &str) -> Result<Said, String> {
        match line {
            "!" => Ok(Said::No),
            "" => match (&self.default, self.is_required) {
                (Some(default), _) => Ok(Said::Value(default.clone())),
                (None, false) => Ok(Said::Nothing),
                (None, true) => Err("it is needed; `!` declines the whole".to_owned()),
            },
            line => self.kind.read(line).map(Said::Value),
        }
    }
}

impl Kind {
    fn of(about: &Value) -> Kind {
        if let Some(words) = words(about) {
            return Kind::One(words);
        }
        match about.get("type").and_then(Value::as_str) {
            Some("integer") => Kind::Whole,
            Some("number") => Kind::Number,
            Some("boolean") => Kind::YesOrNo,
            Some("array") => about.get("items").and_then(words).map_or(Kind::Text, Kind::Some),
            _ => Kind::Text,
        }
    }

    fn read(&self, line: &str) -> Result<Value, String> {
        match self {
            Kind::Text => Ok(line.into()),
            Kind::Whole => {
                line.parse::<i64>().map(Value::from).map_err(|_| "it is a whole number".to_owned())
            }
            Kind::Number => {
                let number = line.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
                number.map(Value::from).ok_or_else(|| "it is a number".to_owned())
            }
            Kind::YesOrNo => match line.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(true.into()),
                "n" | "no" | "false" => Ok(false.into()),
                _ => Err("y or n".to_owned()),
            },
            Kind::One(words) => one(words, line).map(Value::from),
            Kind::Some(words) => {
                line.split(',').map(|word| one(words, word.trim()).map(Value::from)).collect()
            }
        }
    }
}

fn one(words: &[String], line: &str) -> Result<String, String> {
    words.iter().find(|word| *word == line).cloned().ok_or_else(|| "it is one of those words".to_owned())
}

/// The words to choose from, in any of the ways in which they can be written.
fn words(about: &Value) -> Option<Vec<String>> {
    let plain = about.get("enum").and_then(Value::as_array);
    let titled = ["oneOf", "anyOf"].iter().find_map(|key| about.get(key)).and_then(Value::as_array);
    let text = |value: &Value| value.get("const").unwrap_or(value).as_str().map(str::to_owned);
    plain.or(titled)?.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(about: Value, line: &str, expected: Result<Said, &str>) {
        let schema = json!({ "properties": { "x": about }, "required": ["x"] });
        let said = Field::all(&schema).remove(0).read(line);
        assert_eq!(said.as_ref().map_err(String::as_str), expected.as_ref().map_err(|what| *what), "{line}");
    }

    #[test]
    fn what_is_typed_becomes_what_the_form_wants() {
        let value = |value: Value| Ok(Said::Value(value));
        check(json!({ "type": "string" }), "a b", value(json!("a b")));
        check(json!({ "type": "integer" }), "7", value(json!(7)));
        check(json!({ "type": "integer" }), "7.5", Err("it is a whole number"));
        check(json!({ "type": "number" }), "7.5", value(json!(7.5)));
        check(json!({ "type": "number" }), "inf", Err("it is a number"));
        check(json!({ "type": "boolean" }), "Y", value(json!(true)));
        check(json!({ "type": "boolean" }), "perhaps", Err("y or n"));
        check(json!({ "enum": ["a", "b"] }), "b", value(json!("b")));
        check(json!({ "oneOf": [{ "const": "a", "title": "A" }] }), "c", Err("it is one of those words"));
        check(json!({ "type": "array", "items": { "enum": ["a", "b"] } }), "a, b", value(json!(["a", "b"])));
        check(json!({ "type": "string", "default": "d" }), "", value(json!("d")));
        check(json!({}), "", Err("it is needed; `!` declines the whole"));
        check(json!({}), "!", Ok(Said::No));
    }

    #[test]
    fn no_form_is_endless_and_none_can_look_like_ours() {
        let many: Map<String, Value> = (0..1000).map(|number| (number.to_string(), json!({}))).collect();
        assert_eq!(Field::all(&json!({ "properties": many })).len(), MOST_FIELDS);
        assert!(Field::all(&json!([])).is_empty());
        let inquiry = Inquiry { session: None, who: "s\n", message: "a\n\u{1b}[2Jb", schema: &json!({}) };
        assert!(!head(&inquiry, 0).contains('\u{1b}'));
    }
}
