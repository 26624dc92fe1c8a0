//! What of a schema a grammar can be made of.
//!
//! Servers of local models make a grammar of each schema, by which the model then writes. What their small readers cannot turn
//! into one is refused, and with it every request of the session. So they get less in keywords, and the rest in words.

use serde_json::{Map, Value};

use super::{each_schema, say};

/// A grammar repeats nothing more often than this: llama.cpp refuses from 2,000 on.
const MOST: u64 = 2_000;

/// The schema without what no grammar can be made of, which its description says.
pub(super) fn plain(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    let mut said = Vec::new();
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("pattern", Value::String(pattern)) if !is_plain(pattern) => {
                said.push(format!("pattern: {pattern}"))
            }
            ("minLength" | "maxLength" | "minItems" | "maxItems", Value::Number(count))
                if count.as_u64() >= Some(MOST) =>
            {
                said.push(format!("{keyword}: {count}"));
            }
            _ => drop(kept.insert(keyword.clone(), each_schema(keyword, value, &mut plain_value))),
        }
    }
    say(&mut kept, &said);
    kept
}

fn plain_value(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => plain(map).into(),
        other => other.clone(),
    }
}

/// Whether a pattern is one that says the whole text, in characters, classes of characters, groups and repetitions alone.
fn is_plain(pattern: &str) -> bool {
    let Some(whole) = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('$')) else { return false };
    let mut rest = whole.chars().peekable();
    let (mut in_class, mut after_repetition) = (false, false);
    while let Some(next) = rest.next() {
        let repeats = !in_class && matches!(next, '*' | '+' | '?' | '{');
        let is_taken = match next {
            '\\' => rest.next().is_some_and(|escaped| is_escape(escaped, in_class)),
            '[' if !in_class => {
                in_class = true;
                true
            }
            ']' => {
                in_class = false;
                true
            }
            '^' | '$' => in_class,
            '(' => in_class || rest.peek() != Some(&'?'),
            '{' if !in_class => {
                let counts: String = std::iter::from_fn(|| rest.next_if(|c| *c != '}')).collect();
                rest.next();
                counts
                    .split(',')
                    .all(|count| count.is_empty() || count.parse().is_ok_and(|count: u64| count < MOST))
            }
            _ => true,
        };
        if !is_taken || (repeats && after_repetition) {
            return false;
        }
        after_repetition = repeats;
    }
    true
}

/// What may stand behind a backslash: what means something without one, and the few that every grammar knows.
fn is_escape(escaped: char, in_class: bool) -> bool {
    let known = if in_class { "\\[]nrt" } else { "\\^$.[]()|{}*+?nrt" };
    known.contains(escaped)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_stays_if_a_grammar_can_be_made_of_it() {
        for pattern in ["^[a-z]+$", r"^[0-9]{4}-[0-9]{2}$", r"^v1\.(a|b)*$", "^[^/]*$", "^$", "^a{0,1999}$"] {
            assert!(is_plain(pattern), "{pattern}");
        }
        for pattern in [
            "[a-z]",
            "^a",
            "a$",
            r"^\d+$",
            r"^\w$",
            r"^[\w-]+$",
            r"^\S$",
            "^(?!a)b$",
            "^(?:a)$",
            r"^a\$",
            "^a{2000}$",
            "^a+?$",
            "^a^b$",
            r"^[\.]$",
        ] {
            assert!(!is_plain(pattern), "{pattern}");
        }
    }

    #[test]
    fn what_no_grammar_can_be_made_of_is_told_in_words_however_deep_it_is() {
        let schema = json!({ "type": "object", "properties": {
            "day": { "type": "string", "pattern": "^\\d{4}$", "description": "Which." },
            "text": { "type": "string", "maxLength": 5000, "minLength": 1 },
            "list": { "type": "array", "maxItems": 1999, "items": { "type": "string", "pattern": "x" } },
            "pattern": { "type": "string", "default": { "maxLength": 9000 } },
        } });
        let expected = json!({ "type": "object", "properties": {
            "day": { "type": "string", "description": "Which. (pattern: ^\\d{4}$)" },
            "text": { "type": "string", "minLength": 1, "description": "(maxLength: 5000)" },
            "list": { "type": "array", "maxItems": 1999, "items": { "type": "string", "description": "(pattern: x)" } },
            "pattern": { "type": "string", "default": { "maxLength": 9000 } },
        } });
        assert_eq!(plain_value(&schema), expected);
    }
}
