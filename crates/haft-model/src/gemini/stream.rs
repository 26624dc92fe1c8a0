//! A stream of `generateContent`: each event is a small response of its own, and its parts join those before.
//!
//! A part with a thought signature goes back as it came. Calls come whole, and often without an id.

use serde_json::Value;

use crate::{
    ErrorKind, ModelError,
    conversation::Said,
    stream::{Draft, Flow, Read, Stop, field, items, tells_error},
};

/// Nothing has to be remembered but what is in the draft.
#[derive(Debug, Default)]
pub(crate) struct Reader {}

impl Reader {
    pub(crate) fn event(&mut self, json: &str, chunk: &Value, draft: &mut Draft) -> Read {
        if tells_error(chunk) {
            return Err(ModelError::told(chunk));
        }
        begin(chunk, draft);
        if chunk["promptFeedback"]["blockReason"].is_string() {
            draft.stop = Some(Stop::Refused);
        }
        let candidate = &chunk["candidates"][0];
        let texts = field(json, "candidates").map(items).unwrap_or_default();
        let content = texts.first().and_then(|candidate| field(candidate, "content"));
        let texts = content.and_then(|content| field(content, "parts")).map(items).unwrap_or_default();
        let values = candidate["content"]["parts"].as_array();
        for (json, part) in texts.into_iter().zip(values.into_iter().flatten()) {
            read_part(json, part, draft)?;
        }
        let reason = candidate.get("finishReason").and_then(Value::as_str);
        if let Some(reason) = reason.filter(|reason| !matches!(*reason, "" | "FINISH_REASON_UNSPECIFIED")) {
            draft.stop = Some(stop(reason));
        }
        Ok(Flow::On)
    }

    /// One response, or the list of them that a stream without events is.
    pub(crate) fn whole(&mut self, json: &str, response: &Value, draft: &mut Draft) -> Read {
        let (texts, values) = match response {
            Value::Array(values) => (items(json), values.as_slice()),
            value => (vec![json], std::slice::from_ref(value)),
        };
        for (json, value) in texts.into_iter().zip(values) {
            self.event(json, value, draft)?;
        }
        match draft.stop.is_some() {
            true => Ok(Flow::Over),
            false => {
                let why = "the answer is no response: it has no `finishReason`";
                Err(ModelError::new(ErrorKind::Unreadable, why))
            }
        }
    }
}

fn read_part(json: &str, part: &Value, draft: &mut Draft) -> Result<(), ModelError> {
    let is_signed = part.get("thoughtSignature").is_some_and(Value::is_string);
    let said = match &part["text"] {
        Value::String(text) if part["thought"] == true => Said::Thinking(text.clone()),
        Value::String(text) => Said::Text(text.clone()),
        _ if part["functionCall"].is_object() => return read_call(json, &part["functionCall"], draft),
        _ => {
            let kind = part.as_object().and_then(|part| part.keys().next()).cloned().unwrap_or_default();
            let slot = draft.begin(Said::Other(kind))?;
            draft.keep(slot, json);
            return Ok(());
        }
    };
    match (said, is_signed) {
        (Said::Thinking(piece), false) => draft.thinking(&piece),
        (Said::Text(piece), false) => draft.text(&piece),
        (said, _) => {
            let (piece, empty) = match said {
                Said::Thinking(piece) => (piece, Said::Thinking(String::new())),
                Said::Text(piece) | Said::Other(piece) => (piece, Said::Text(String::new())),
                Said::Call(_) => return Ok(()),
            };
            let slot = draft.begin(empty)?;
            draft.add(slot, &piece);
            draft.keep(slot, json);
            Ok(())
        }
    }
}

fn read_call(json: &str, function: &Value, draft: &mut Draft) -> Result<(), ModelError> {
    let text = |key: &str| function.get(key).and_then(Value::as_str).unwrap_or_default();
    let slot = draft.open(text("id"), text("name"))?;
    let arguments = field(json, "functionCall").and_then(|function| field(function, "args"));
    draft.arguments(slot, arguments.unwrap_or("{}"), false);
    draft.close(slot);
    draft.keep(slot, json);
    Ok(())
}

fn begin(chunk: &Value, draft: &mut Draft) {
    let text = |key: &str| chunk.get(key).and_then(Value::as_str).unwrap_or_default();
    if draft.model.is_empty() {
        (draft.id, draft.model) = (text("responseId").to_owned(), text("modelVersion").to_owned());
    }
    let usage = &chunk["usageMetadata"];
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    draft.used(|used| {
        used.input = count("promptTokenCount").unwrap_or(used.input);
        used.cached = count("cachedContentTokenCount").unwrap_or(used.cached);
        let answer = used.output.saturating_sub(used.thinking);
        used.thinking = count("thoughtsTokenCount").unwrap_or(used.thinking);
        used.output = count("candidatesTokenCount").unwrap_or(answer).saturating_add(used.thinking);
    });
}

fn stop(reason: &str) -> Stop {
    match reason {
        "STOP" => Stop::End,
        "MAX_TOKENS" => Stop::MaxTokens,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
        | "IMAGE_SAFETY" => Stop::Refused,
        other => Stop::Broken(other.to_owned()),
    }
}
