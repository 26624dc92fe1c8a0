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
        let message = [error.get("message"), Some(error), value.get("message"), value.get("detail")];
        let message = message.into_iter().flatten().find_map(Value::as_str).unwrap_or_default();
        let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
        let code = error.get("code").or_else(|| error.get("status"));
        let status = code.and_then(Value::as_u64).or_else(|| code.and_then(Value::as_str)?.parse().ok());
        Said {
            codes: ["type", "code", "status"]
                .iter()
                .filter_map(|key| error.get(key)?.as_str())
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

fn kind(status: u16, said: &Said) -> ErrorKind {
    if is_context_window(status, said) {
        return ErrorKind::ContextWindow;
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
    const WORDS: [&str; 16] = [
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
    ];
    if said.has(&["context_length_exceeded", "exceed_context_size", "model_context_window_exceeded"]) {
        return true;
    }
    let message = said.message.to_ascii_lowercase();
    // Some answer with 500; a limit of tokens in a minute is another matter.
    matches!(status, 0 | 400 | 413 | 422 | 500) && WORDS.iter().any(|words| message.contains(words))
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
