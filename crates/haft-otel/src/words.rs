//! What are things called in the conventions?
//!
//! The names of the semantic conventions for generative AI and MCP, and beside them our own, below `haft.`, for what they
//! have no name for. Texts of models and servers are bounded here: nobody's trace is filled by one call.

use serde::Serialize;

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const EXECUTE_TOOL: &str = "execute_tool";
pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(crate) const TOOL: &str = "gen_ai.tool.name";
pub(crate) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(crate) const CALL_ID: &str = "gen_ai.tool.call.id";
pub(crate) const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(crate) const RESULT: &str = "gen_ai.tool.call.result";
/// A call of a server's tool is a request of MCP as well: the conventions want its name on the same span.
pub(crate) const METHOD: &str = "mcp.method.name";
pub(crate) const ERROR_TYPE: &str = "error.type";

pub(crate) const SOURCE: &str = "haft.tool.source";
pub(crate) const CHANNEL: &str = "haft.channel";
pub(crate) const CALLS: &str = "haft.turn.calls";
pub(crate) const FAILED_CALLS: &str = "haft.turn.failed_calls";
pub(crate) const GIVEN_UP: &str = "haft.turn.given_up";
pub(crate) const QUEUE_SECONDS: &str = "haft.queue.duration";
pub(crate) const DECISION_SECONDS: &str = "haft.decision.duration";
pub(crate) const RUN_SECONDS: &str = "haft.run.duration";
pub(crate) const ATTEMPTS: &str = "haft.attempts";
pub(crate) const REFUSAL: &str = "haft.refusal";
pub(crate) const RESULT_BYTES: &str = "haft.result.size";
pub(crate) const WHOLE_BYTES: &str = "haft.result.whole_size";
pub(crate) const IS_SPILLED: &str = "haft.result.spilled";
pub(crate) const IS_RECALLED: &str = "haft.recalled";

pub(crate) const DECISION: &str = "haft.decision";
pub(crate) const VERDICT: &str = "haft.decision.verdict";
pub(crate) const CLASS: &str = "haft.decision.class";
pub(crate) const LAYER: &str = "haft.decision.layer";
pub(crate) const RULE: &str = "haft.decision.rule";
pub(crate) const ORIGIN: &str = "haft.decision.origin";
pub(crate) const REASON: &str = "haft.decision.reason";
pub(crate) const RETRY: &str = "haft.retry";
pub(crate) const ATTEMPT: &str = "haft.retry.attempt";
pub(crate) const DELAY_SECONDS: &str = "haft.retry.delay";
pub(crate) const UNRECORDED: &str = "haft.unrecorded";
pub(crate) const HOOK: &str = "haft.hook";
pub(crate) const HOOK_NAME: &str = "haft.hook.name";
pub(crate) const HOOK_AT: &str = "haft.hook.at";
pub(crate) const PERMISSION: &str = "haft.permission";
pub(crate) const ANSWER: &str = "haft.permission.answer";
pub(crate) const TASK: &str = "haft.task";
pub(crate) const TASK_ID: &str = "haft.task.id";
pub(crate) const SHORTENED: &str = "haft.shortened";

/// A tool that is not in the pool: models make up names, and a metric must not have a series for each.
pub(crate) const OTHER: &str = "_OTHER";

/// The longest name or id. Longer ones are made up.
const LONGEST_NAME: usize = 256;
/// The longest input or result.
const LONGEST_CONTENT: usize = 64 << 10;

/// What is called `Failed` in the code is `failed` on the wire.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => OTHER.to_owned(),
    }
}

/// A name or an id.
pub(crate) fn name(text: &str) -> String {
    text[..text.floor_char_boundary(LONGEST_NAME)].to_owned()
}

/// An input or a result, as much as fits.
pub(crate) fn content(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST_CONTENT);
    if end == text.len() {
        return text.to_owned();
    }
    format!("{}… ({} bytes in all)", &text[..end], text.len())
}

/// How the conventions sort tools: what is done here, and what somebody else does for us.
pub(crate) fn tool_type(source: &str) -> &'static str {
    if is_of_server(source) { "extension" } else { "function" }
}

/// Whether a tool comes from a server: `mcp:github`.
pub(crate) fn is_of_server(source: &str) -> bool {
    source.starts_with("mcp:")
}

#[cfg(test)]
mod tests {
    use haft_tool::{FaultKind, Refusal};

    use super::*;

    #[test]
    fn kinds_are_said_as_in_results() {
        assert_eq!(word(&FaultKind::TimedOut), "timed_out");
        assert_eq!(word(&Refusal::NobodyThere), "nobody_there");
        assert_eq!(word(&7), OTHER);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(name(&"ü".repeat(1000)).len(), 256);
        assert_eq!(content("short"), "short");
        let cut = content(&"ü".repeat(100_000));
        assert!(cut.len() < LONGEST_CONTENT + 40 && cut.ends_with("(200000 bytes in all)"), "{}", cut.len());
    }
}
