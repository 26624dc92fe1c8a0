//! Which kind of error an API's words are.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::{ErrorKind, ModelError, delay};

/// So much of an answer without an API's own words is shown.
const SHOWN: usize = 500;

/// An HTTP answer that is no success.
///
/// ```
/// use haft_model::{ErrorKind, HttpFailure};
///
/// let headers = |name: &str| (name == "retry-after").then_some("20");
/// let body = br#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#;
/// let error = HttpFailure { status: 429, headers: &headers, body }.error();
/// assert_eq!((error.kind, error.to_string()), (ErrorKind::RateLimited, "slow down (HTTP 429)".to_owned()));
/// assert_eq!(error.retry_after.map(|wait| wait.as_secs()), Some(20));
/// ```
pub struct HttpFailure<'a> {
    /// Its status.
    pub status: u16,
    /// Its headers, by their names in lower case.
    pub headers: &'a dyn Fn(&str) -> Option<&'a str>,
    /// Its body, or the beginning of it.
    pub body: &'a [u8],
}

impl HttpFailure<'_> {
    /// What it means.
    pub fn error(&self) -> ModelError {
        self.error_at(SystemTime::now())
    }

    pub(crate) fn error_at(&self, now: SystemTime) -> ModelError {
        let said = Said::read(self.body);
        let retry_after = delay::of_headers(self.headers, now).or(said.retry_after);
        let message = match said.message.is_empty() {
            true => format!("the server answered without a word: {}", self.status),
            false => said.message.clone(),
        };
        ModelError { kind: kind(self.status, &said), message, status: Some(self.status), retry_after }
    }
}

impl ModelError {
    /// An error that an API tells in the middle of a stream, or with a status of success.
    pub(crate) fn told(error: &Value) -> ModelError {
        let said = Said::of(error);
        let status = said.status.unwrap_or(0);
        let message = if said.message.is_empty() {
            "the API told of an error, and not which".to_owned()
        } else {
            said.message.clone()
        };
        let status_told = said.status;
        let retry_after = said.retry_after;
        ModelError { kind: kind(status, &said), message, status: status_told, retry_after }
    }
}

/// What an API said went wrong, wherever it says so.
#[derive(Debug, Default)]
struct Said {
    /// Types and codes, in lower case, with blanks between.
    codes: String,
    message: String,
    /// A status that stands in the body: an error in a stream has no other.
    status: Option<u16>,
    retry_after: Option<Duration>,
}

impl Said {
    fn read(body: &[u8]) -> Said {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Said::of(&value),
            Err(_) => Said { message: shown(&String::from_utf8_lossy(body)), ..Said::default() },
        }
    }

    fn of(value: &Value) -> Said {
        let value = match value {
            Value::Array(items) => items.first().unwrap_or(value),
            value => value,
        };
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        // Some servers wrap the error of the server behind them in one of their own.
        let inner = error.get("error").filter(|inner| inner.is_object()).unwrap_or(error);
        let message = words(error, MOST_WRAPPED).or_else(|| words(value, MOST_WRAPPED)).unwrap_or_default();
        let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
        let code =
            [error, inner].into_iter().find_map(|error| error.get("code").or_else(|| error.get("status")));
        let status = code.and_then(Value::as_u64).or_else(|| code.and_then(Value::as_str)?.parse().ok());
        Said {
            codes: [error, inner]
                .iter()
                .flat_map(|error| {
                    ["type", "code", "status"].map(|key| error.get(key).and_then(Value::as_str))
                })
                .flatten()
                .fold(String::new(), |codes, code| codes + " " + &code.to_ascii_lowercase()),
            message: shown(message),
            status: status.and_then(|status| u16::try_from(status).ok()).filter(|status| *status >= 400),
            retry_after: details
                .filter_map(|detail| detail.get("retryDelay")?.as_str())
                .find_map(delay::of_words)
                .or_else(|| delay::of_message(message)),
        }
    }

    fn has(&self, codes: &[&str]) -> bool {
        codes.iter().any(|code| self.codes.contains(code))
    }
}

/// So deep an error is wrapped in others.
const MOST_WRAPPED: usize = 4;

/// The words of an error, which may be the error of another server in it.
fn words(error: &Value, depth: usize) -> Option<&str> {
    let deeper = depth.checked_sub(1)?;
    match error {
        Value::String(text) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
        Value::Array(errors) => errors.first().and_then(|error| words(error, deeper)),
        Value::Object(fields) => ["message", "error", "detail", "msg"]
            .iter()
            .filter_map(|key| fields.get(*key))
            .find_map(|error| words(error, deeper)),
        _ => None,
    }
}

fn kind(status: u16, said: &Said) -> ErrorKind {
    if is_context_window(status, said) {
        return ErrorKind::ContextWindow;
    }
    if is_media(status, said) {
        return ErrorKind::Media;
    }
    if is_thoughts(status, said) {
        return ErrorKind::Thoughts;
    }
    if said.has(&["insufficient_quota", "billing", "payment_required"]) {
        return ErrorKind::Quota;
    }
    if said.has(&["overloaded", "unavailable", "server_is_overloaded", "slow_down"]) {
        return ErrorKind::Overloaded;
    }
    if said.has(&["rate_limit", "resource_exhausted", "too_many_requests"]) {
        return ErrorKind::RateLimited;
    }
    match status {
        400 if said.message.contains("API key not valid") => ErrorKind::Unauthorized,
        0 => kind_of_words(said),
        401 | 403 => ErrorKind::Unauthorized,
        402 => ErrorKind::Quota,
        404 | 405 => ErrorKind::NotFound,
        408 | 425 => ErrorKind::TimedOut,
        413 => ErrorKind::TooLarge,
        429 => ErrorKind::RateLimited,
        503 | 529 => ErrorKind::Overloaded,
        504 => ErrorKind::TimedOut,
        500.. => ErrorKind::Server,
        // A conflict or a moved lock: OpenAI's own clients ask again.
        409 => ErrorKind::Server,
        _ => ErrorKind::Refused,
    }
}

/// An error in a stream has words only.
fn kind_of_words(said: &Said) -> ErrorKind {
    if said.has(&["authentication", "permission", "invalid_api_key", "unauthenticated"]) {
        return ErrorKind::Unauthorized;
    }
    if said.has(&["not_found"]) {
        return ErrorKind::NotFound;
    }
    if said.has(&[
        "invalid_request",
        "invalid_argument",
        "invalid_prompt",
        "bad_request",
        "failed_precondition",
    ]) {
        return ErrorKind::Refused;
    }
    if said.has(&["request_too_large"]) {
        return ErrorKind::TooLarge;
    }
    if said.has(&["timeout", "deadline_exceeded"]) {
        return ErrorKind::TimedOut;
    }
    ErrorKind::Server
}

/// No two servers say it in the same way, and few by a code.
fn is_context_window(status: u16, said: &Said) -> bool {
    const WORDS: [&str; 19] = [
        "prompt is too long",
        "maximum context length",
        "exceed context limit",
        "exceeds the available context size",
        "exceeds the maximum number of tokens",
        "exceeds the context window",
        "exceed the context window",
        "context length exceeded",
        "context window is full",
        "input is too long",
        "maximum prompt length",
        "exceeded model token limit",
        "greater than the context length",
        "exceeds the context length",
        "context window exceeds limit",
        "reduce the length of the messages",
        "context size has been exceeded",
        "longer than the model's context length",
        "longer than the maximum model length",
    ];
    // The same words are said of other things.
    const OF_TOKENS: [&str; 3] = ["exceeds the limit of", "model only supports up to", "must have less than"];
    if said.has(&["context_length_exceeded", "exceed_context_size", "model_context_window_exceeded"]) {
        return true;
    }
    let message = said.message.to_ascii_lowercase();
    if asks_for_more_than_there_is(&message) {
        return true;
    }
    let is_said = |words: &&str| message.contains(*words);
    let is_too_long =
        WORDS.iter().any(is_said) || (message.contains("token") && OF_TOKENS.iter().any(is_said));
    // Some answer with 500; a limit of tokens in a minute is another matter,
    matches!(status, 0 | 400 | 413 | 422 | 500) && is_too_long
}

/// unless one request is more than all of them: "… Limit 6000, Requested 7591 …". It is refused at any time.
fn asks_for_more_than_there_is(message: &str) -> bool {
    let figure = |word: &str| -> Option<u64> {
        let (_, rest) = message.split_once(word)?;
        let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
        digits.replace(',', "").parse().ok()
    };
    matches!((figure("limit "), figure("requested ")), (Some(limit), Some(wanted)) if wanted > limit)
}

/// What servers say to a picture or a document that they, or the model, cannot take.
fn is_media(status: u16, said: &Said) -> bool {
    const WORDS: [&str; 22] = [
        "unknown variant `image_url`",
        "unknown variant `input_image`",
        "unknown variant `file`",
        "image input is not supported",
        "image inputs are not supported",
        "audio input is not supported",
        "images are not supported",
        "image is not supported",
        "support image input",
        "support image_url",
        "not support image",
        "not support vision",
        "not support multimodal",
        "not support pdf",
        "image_url is only supported",
        "not a multimodal model",
        "at most 0 image",
        "could not process image",
        "could not process pdf",
        "unable to process input image",
        "image is not valid",
        "a valid image",
    ];
    let message = said.message.to_ascii_lowercase();
    matches!(status, 0 | 400 | 404 | 415 | 422 | 500 | 501)
        && WORDS.iter().any(|words| message.contains(words))
}

/// What APIs say to thoughts that they have not signed or cannot decrypt, and strict servers to the fields that others want them
/// back in.
fn is_thoughts(status: u16, said: &Said) -> bool {
    const WORDS: [[&str; 2]; 4] = [
        ["invalid `signature`", "thinking"],
        ["thought", "signature is not valid"],
        ["encrypted content", "could not be"],
        ["thinking` blocks", "cannot be modified"],
    ];
    const FIELDS: [&str; 4] =
        ["reasoning_content", "reasoning_details", "extra_content", "provider_specific_fields"];
    const REFUSED: [&str; 6] =
        ["unsupported", "not supported", "not permitted", "not allowed", "unknown", "unrecognized"];
    let message = said.message.to_ascii_lowercase();
    let is_said = |words: &[&str; 2]| words.iter().all(|words| message.contains(words));
    let has = |words: &[&str]| words.iter().any(|words| message.contains(words));
    let is_field = has(&FIELDS) && has(&REFUSED);
    said.has(&["invalid_encrypted_content"])
        || (matches!(status, 0 | 400 | 422) && (is_field || WORDS.iter().any(is_said)))
}

fn shown(text: &str) -> String {
    let text = text.trim();
    match text.len() > SHOWN {
        true => format!("{}…", &text[..text.floor_char_boundary(SHOWN)]),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, body: &str, expected: ErrorKind) {
        let error = HttpFailure { status, headers: &|_| None, body: body.as_bytes() }.error();
        assert_eq!(error.kind, expected, "{status} {body}");
    }

    #[test]
    fn statuses_tell_what_can_be_done() {
        for (status, kind) in [
            (400, ErrorKind::Refused),
            (401, ErrorKind::Unauthorized),
            (402, ErrorKind::Quota),
            (403, ErrorKind::Unauthorized),
            (404, ErrorKind::NotFound),
            (408, ErrorKind::TimedOut),
            (409, ErrorKind::Server),
            (413, ErrorKind::TooLarge),
            (422, ErrorKind::Refused),
            (429, ErrorKind::RateLimited),
            (500, ErrorKind::Server),
            (502, ErrorKind::Server),
            (503, ErrorKind::Overloaded),
            (504, ErrorKind::TimedOut),
            (529, ErrorKind::Overloaded),
        ] {
            check(status, "", kind);
        }
    }

    #[test]
    fn an_apis_own_words_count_more_than_a_status() {
        check(429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#, ErrorKind::Quota);
        check(
            400,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ErrorKind::Overloaded,
        );
        check(
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            ErrorKind::Unauthorized,
        );
        check(
            500,
            r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
            ErrorKind::Overloaded,
        );
        check(403, r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#, ErrorKind::RateLimited);
    }

    #[test]
    fn a_conversation_that_is_too_long_is_known_in_every_servers_words() {
        for (status, body) in [
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_ctx":2048}}"#,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","code":400}"#,
            ),
            (500, r#"{"error":"the input length exceeds the context window"}"#),
            (
                400,
                r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}"#,
            ),
            (
                400,
                r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}"#,
            ),
        ] {
            check(status, body, ErrorKind::ContextWindow);
        }
        check(
            429,
            r#"{"error":{"message":"maximum context length of tokens per minute"}}"#,
            ErrorKind::RateLimited,
        );
        for (status, message) in [
            (500, "Context size has been exceeded."),
            (400, "The input (40000 tokens) is longer than the model's context length (32768 tokens)."),
            (400, "The prompt (total length 9000) is longer than the maximum model length of 8192."),
            (400, "Input token count 40000 exceeds the limit of 32768"),
            (422, "inputs must have less than 4096 tokens. Given: 5000"),
            (400, "this model only supports up to 8192 tokens"),
        ] {
            check(status, &format!(r#"{{"error":{{"message":"{message}"}}}}"#), ErrorKind::ContextWindow);
        }
        check(
            400,
            r#"{"error":{"message":"the name exceeds the limit of 64 characters"}}"#,
            ErrorKind::Refused,
        );
    }

    #[test]
    fn a_request_that_no_minute_has_room_for_is_too_long_and_not_too_soon() {
        let groq = r#"{"error":{"message":"Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 7591, please reduce","type":"tokens","code":"rate_limit_exceeded"}}"#;
        check(413, groq, ErrorKind::ContextWindow);
        let openai = r#"{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 36278.","type":"tokens","code":"rate_limit_exceeded"}}"#;
        check(429, openai, ErrorKind::ContextWindow);
        let soon = r#"{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 28000, Requested 6278. Please try again in 8s.","code":"rate_limit_exceeded"}}"#;
        check(429, soon, ErrorKind::RateLimited);
    }

    #[test]
    fn pictures_that_cannot_be_taken_and_thoughts_that_are_not_known_are_told_apart() {
        for (status, message) in [
            (
                400,
                "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text` at line 1",
            ),
            (
                500,
                "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
            ),
            (404, "No endpoints found that support image input"),
            (400, "Invalid content type. image_url is only supported by certain models."),
            (400, "Qwen3-Coder is not a multimodal model"),
            (400, "messages.2.content.0.image.source.base64.data: Could not process image"),
        ] {
            check(
                status,
                &serde_json::json!({ "error": { "message": message } }).to_string(),
                ErrorKind::Media,
            );
        }
        for message in [
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            "The encrypted content gAAA could not be verified.",
            "Thought signature is not valid",
            "'messages.2': for 'role:assistant' the following must be satisfied[('messages.2': property 'reasoning_content' is unsupported)]",
            "body.messages.1.tool_calls.0.provider_specific_fields: Extra inputs are not permitted",
        ] {
            check(
                400,
                &serde_json::json!({ "error": { "message": message } }).to_string(),
                ErrorKind::Thoughts,
            );
        }
        let missing = r#"{"error":{"message":"The `reasoning_content` in the thinking mode must be passed back to the API."}}"#;
        check(400, missing, ErrorKind::Refused);
        check(400, r#"{"error":{"code":"invalid_encrypted_content","message":"no"}}"#, ErrorKind::Thoughts);
    }

    #[test]
    fn the_message_is_found_wherever_it_stands() {
        let message = |body: &str| {
            HttpFailure { status: 500, headers: &|_| None, body: body.as_bytes() }.error().message
        };
        assert_eq!(message(r#"{"error":{"message":"a"}}"#), "a");
        assert_eq!(message(r#"{"error":"b"}"#), "b");
        assert_eq!(message(r#"{"detail":"c"}"#), "c");
        assert_eq!(message(r#"[{"error":{"message":"d"}}]"#), "d");
        assert_eq!(message("<html>Bad Gateway</html>"), "<html>Bad Gateway</html>");
        assert_eq!(message(""), "the server answered without a word: 500");
        assert!(message(&"é".repeat(2_000)).len() < 600);
    }
}
