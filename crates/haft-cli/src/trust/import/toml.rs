//! Values as TOML. Only what an import writes: texts, lists, and JSON that came from there.

use serde_json::Value;

use crate::draw::is_unseen;

/// A text in quotes.
pub(super) fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // Also what a person would not see.
            c if is_unseen(c) => quoted.push_str(&format!("\\U{:08X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A name, in quotes if it needs them.
pub(super) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { text(name) }
}

/// A list of texts under a name, a line each.
pub(super) fn list(name: &str, texts: &[&str]) -> String {
    let lines: String = texts.iter().map(|one| format!("  {},\n", text(one))).collect();
    format!("{} = [\n{lines}]\n", key(name))
}

/// A value of JSON; the items of a list stand on lines of their own.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let lines: String = items.iter().map(|item| format!("  {},\n", inline(item))).collect();
            format!("[\n{lines}]")
        }
        value => inline(value),
    }
}

fn inline(value: &Value) -> String {
    match value {
        // TOML has none: what says nothing is left out where it may be, and is an empty text in a list.
        Value::Null => text(""),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(string) => text(string),
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let said = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Vec<String> =
                said.map(|(name, value)| format!("{} = {}", key(name), inline(value))).collect();
            if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for one in [
            json!("a\"b\\c\n\t\u{1}\u{200b}é"),
            json!([1, 2.5, true]),
            json!({ "a b": ["x"], "c": {} }),
            json!([]),
        ] {
            let text = format!("x = {}", value(&one));
            let read: serde_json::Map<String, Value> = ::toml::from_str(&text).unwrap();
            assert_eq!(read["x"], one, "{text}");
        }
    }
}
