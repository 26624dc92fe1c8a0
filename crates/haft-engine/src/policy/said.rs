//! What hooks say about a call, and whose word counts.
//!
//! A hook may tighten what the rules have settled. It may loosen one thing only: a question that stands because nothing
//! covers the call. Of several, the strictest is heard. Who said what stays in the [`Trace`](super::Trace).

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::decide::Verdict;

/// What one hook says. The default says nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Said {
    /// Which hook, in a few words.
    pub by: String,
    /// When it was said, in the words of the convention: `PreToolUse`. The engine fills it in where it is empty.
    pub at: String,
    /// What should become of the call. After the call, a denial is feedback for the model: it has happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why. The model reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Another input in the place of the call's own. It is checked, foreseen, judged and scheduled like any other.
    #[serde(rename = "changed_input", serialize_with = "whether", skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Another text in the place of the result's own.
    #[serde(rename = "changed_output", serialize_with = "whether", skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Words that join the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The turn is to stop, for this reason. What runs ends; what has not begun never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Something for the person, not for the model: a message, or what went wrong with the hook itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// The story tells that something was changed; what came of it stands beside the story.
fn whether<T, S: Serializer>(changed: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(changed.is_some())
}

impl Said {
    /// Nothing, by this hook. Fill in what it says.
    pub fn by(hook: impl Into<String>) -> Said {
        Said { by: hook.into(), ..Said::default() }
    }

    /// A verdict and why.
    pub fn verdict(hook: impl Into<String>, verdict: Verdict, reason: impl Into<String>) -> Said {
        Said { verdict: Some(verdict), reason: Some(reason.into()), ..Said::by(hook) }
    }

    /// Passes its words through `change`, with the name of whoever said them: that may be a command line.
    pub(crate) fn rewrite(&mut self, change: &mut dyn FnMut(&mut String)) {
        let Said { by, at: _, verdict: _, reason, input: _, output, context, stop, notice } = self;
        let words = [reason, output, context, stop, notice].into_iter().flatten();
        words.chain([by]).for_each(change);
    }

    /// Whether it says anything at all.
    pub fn is_nothing(&self) -> bool {
        let Said { by: _, at: _, verdict, reason, input, output, context, stop, notice } = self;
        let words = [reason, output, context, stop, notice];
        verdict.is_none() && input.is_none() && words.iter().all(|word| word.is_none())
    }

    /// One line: who wants what, and why.
    pub(super) fn words(&self) -> String {
        let wants = match self.verdict {
            Some(Verdict::Allow) => "allows it",
            Some(Verdict::Ask) => "wants it asked",
            Some(Verdict::Deny) => "refuses it",
            None => "says nothing of it",
        };
        let changes = if self.input.is_some() { ", with another input" } else { "" };
        // A reason may be what a program printed. It stands in a line.
        let reason = self.reason.iter().flat_map(|reason| reason.split_whitespace());
        match reason.collect::<Vec<_>>().join(" ").as_str() {
            "" => format!("the hook `{}` {wants}{changes}", self.by),
            reason => format!("the hook `{}` {wants}{changes}: {reason}", self.by),
        }
    }
}

/// The strictest word; of equals the first.
pub fn strictest(said: &[Said]) -> Option<&Said> {
    let spoken = said.iter().filter(|said| said.verdict.is_some());
    spoken.reduce(|strictest, next| if next.verdict > strictest.verdict { next } else { strictest })
}

/// The input that hooks want instead: of several, that of the last.
pub fn changed_input(said: &[Said]) -> Option<&Value> {
    said.iter().rev().find_map(|said| said.input.as_ref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_strictest_of_several_is_heard_and_of_equals_the_first() {
        let say = |by: &str, verdict| Said { verdict, ..Said::by(by) };
        let said = [
            say("a", None),
            say("b", Some(Verdict::Allow)),
            say("c", Some(Verdict::Ask)),
            say("d", Some(Verdict::Ask)),
        ];
        assert_eq!(strictest(&said).map(|said| said.by.as_str()), Some("c"));
        assert_eq!(strictest(&said[..1]), None);
    }

    #[test]
    fn the_story_tells_of_a_change_and_not_its_text() {
        let said = Said { input: Some(json!({ "big": "x" })), at: "PreToolUse".into(), ..Said::by("tidy") };
        let told = json!({ "by": "tidy", "at": "PreToolUse", "changed_input": true });
        assert_eq!(serde_json::to_value(&said).unwrap(), told);
    }
}
