//! What a tool promises to give (`outputSchema`), where all of it would be too much.
//!
//! A result that is over its budget is shown in part. Of a tool that promises structured content a client wants some all the
//! same, which conforms: SDKs throw a result away that has none. So its long texts are cut, each saying so, until it fits;
//! nothing else is, because a shorter list or a missing key would pass for all there is. What cannot be cut like that is an
//! error, as the protocol wants it where the promise is not kept, and says that the call was carried out.

use haft_schema::Checker;
use serde_json::{Value, json};

use super::visit::Visit;

/// So large may structured content be that had to be cut, in bytes of JSON.
const ROOM: usize = 16 << 10;
/// Texts are cut to so many characters, one length after the other, until all of it fits.
const LENGTHS: [usize; 4] = [4000, 1000, 200, 40];

/// Gives an answer that lost the server's structured content to a budget as much of it as fits.
pub(super) fn keep(visit: &Visit, tool: &str, mut data: Value, answer: &mut Value) {
    let catalogue = visit.guest.catalogue();
    let entry = catalogue.pool().find(tool);
    let Some(schema) = entry.and_then(|entry| entry.tool().output()) else { return };
    let checker = Checker::compile_openly(schema.value()).ok();
    let conforms = |data: &Value| checker.as_ref().is_none_or(|checker| checker.is_valid(data));
    if !conforms(&data) {
        // It was no promise that a server keeps.
        return;
    }
    if let Some(redactor) = visit.guest.session.redactor() {
        redactor.redact_json(&mut data);
    }
    match shortened(&data).filter(conforms) {
        Some(short) => answer["structuredContent"] = short,
        None => refuse(answer),
    }
}

fn shortened(data: &Value) -> Option<Value> {
    let cut_to = |length: &usize| {
        let mut short = data.clone();
        cut(&mut short, *length);
        short
    };
    LENGTHS.iter().map(cut_to).find(|short| short.to_string().len() <= ROOM)
}

/// Cuts all texts in it that are longer than this.
fn cut(data: &mut Value, length: usize) {
    match data {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(length) {
                *text = format!("{}… (cut: it has {} bytes in all)", &text[..end], text.len());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, length)),
        Value::Object(fields) => fields.values_mut().for_each(|field| cut(field, length)),
        _ => {}
    }
}

fn refuse(answer: &mut Value) {
    answer["isError"] = true.into();
    if let Some(content) = answer.get_mut("content").and_then(Value::as_array_mut) {
        content.push(json!({ "type": "text", "text": TOO_LARGE }));
    }
}

const TOO_LARGE: &str = "The call was carried out. Its result is too large to be given in the form that the tool promises; \
what there is of it stands before this. Do not repeat the call for it.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_say_so_and_nothing_else_is() {
        let data = json!({ "content": "ä".repeat(100_000), "tags": ["a", "b"], "count": 3 });
        let short = shortened(&data).expect("it fits");
        assert!(
            short["content"].as_str().is_some_and(|text| text.ends_with("(cut: it has 200000 bytes in all)"))
        );
        assert_eq!((&short["tags"], &short["count"]), (&json!(["a", "b"]), &json!(3)));
        assert!(short.to_string().len() <= ROOM);
    }

    #[test]
    fn many_texts_are_cut_shorter_and_what_is_large_otherwise_is_not_cut_at_all() {
        let many = json!({ "rows": vec!["x".repeat(3000); 50] });
        let short = shortened(&many).expect("it fits");
        assert_eq!(short["rows"].as_array().map(Vec::len), Some(50));
        assert_eq!(shortened(&json!({ "rows": vec![7; 50_000] })), None);
    }
}
