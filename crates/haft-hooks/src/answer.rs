//! What a hook answers: an exit code, and perhaps JSON.
//!
//! 0 is "go on", with what stands on stdout; 2 is "no", with stderr as the reason; anything else is the hook's own
//! trouble, which the person hears of. An answer that nobody understands is such trouble, too: nothing is guessed.

use haft_engine::policy::{Said, Verdict};
use serde_json::Value;

use crate::{
    config::{Handler, OnFailure},
    event::Event,
};

/// How a hook's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With this code.
    Code(i32),
    /// In another way, told in words: "took longer than 5 s".
    Trouble(String),
}

/// What is left of a hook's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) ending: Ending,
    pub(crate) output: String,
    /// Whether that is not all of it.
    pub(crate) is_cut: bool,
    pub(crate) errors: String,
}

/// The most of a hook's words that a model, or a person, is shown, in characters.
const MOST_WORDS: usize = 10_000;

/// What the hook says.
pub(crate) fn answer(event: Event, handler: &Handler, left: &Left) -> Said {
    let mut said = match understand(event, handler, left) {
        Ok(said) => said,
        Err(trouble) => troubled(event, handler, trouble),
    };
    for words in [&mut said.reason, &mut said.context, &mut said.stop, &mut said.notice].into_iter().flatten()
    {
        shorten(words);
    }
    said.at = event.name().to_owned();
    said
}

fn understand(event: Event, handler: &Handler, left: &Left) -> Result<Said, String> {
    let said = Said::by(label(handler));
    match &left.ending {
        Ending::Trouble(what) => Err(what.clone()),
        Ending::Code(0) => printed(event, said, left),
        Ending::Code(2) => Ok(blocked(event, said, &left.errors)),
        Ending::Code(code) => Err(with_words(&format!("ended with exit code {code}"), &left.errors)),
    }
}

/// The command in a few words: its story is read by people and models.
pub(crate) fn label(handler: &Handler) -> String {
    const MOST: usize = 60;
    let line = handler.command.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

fn with_words(what: &str, words: &str) -> String {
    match words.trim() {
        "" => what.to_owned(),
        words => format!("{what}: {words}"),
    }
}

/// A hook that could not answer. Whether that blocks is for the settings to say, where there is something to block.
fn troubled(event: Event, handler: &Handler, trouble: String) -> Said {
    let mut said = Said::by(label(handler));
    said.notice = Some(format!("the hook {trouble}"));
    if handler.on_failure == OnFailure::Block && event.can_block() {
        said.verdict = Some(Verdict::Deny);
        said.reason =
            Some("it could not be asked, and the settings say that this blocks the call".to_owned());
    }
    said
}

fn blocked(event: Event, mut said: Said, errors: &str) -> Said {
    let reason = match errors.trim() {
        "" => "it gives no reason".to_owned(),
        reason => reason.to_owned(),
    };
    if event.can_block() || event.can_object() {
        (said.verdict, said.reason) = (Some(Verdict::Deny), Some(reason));
    } else {
        said.notice = Some(reason);
    }
    said
}

fn printed(event: Event, mut said: Said, left: &Left) -> Result<Said, String> {
    let text = left.output.trim();
    let is_meant = text.starts_with('{');
    if is_meant && left.is_cut {
        return Err("printed more JSON than is read".to_owned());
    }
    let not_json = match serde_json::from_str::<Value>(text) {
        Ok(answer) if is_meant => return Answer { event, answer: &answer }.read(said),
        Ok(_) => String::new(),
        Err(err) => err.to_string(),
    };
    if event.takes_plain_text() && !is_meant && !text.is_empty() {
        said.context = Some(text.to_owned());
    }
    match among_words(text) {
        Some(answer) => Answer { event, answer: &answer }.read_among_words(said),
        None if is_meant => Err(format!("printed what is not JSON: {not_json}")),
        None => Ok(said),
    }
}

/// The last answer that begins a line of a text which is not JSON as a whole: a guard that also writes a log is a guard.
fn among_words(text: &str) -> Option<Value> {
    const KEYS: [&str; 3] = ["hookSpecificOutput", "decision", "continue"];
    let begins = text.match_indices('{').filter(|(at, _)| *at == 0 || text.as_bytes()[at - 1] == b'\n');
    let mut answers = begins.filter_map(|(at, _)| {
        let value = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok()?;
        KEYS.iter().any(|key| value.get(key).is_some()).then_some(value)
    });
    answers.next_back()
}

/// JSON on stdout.
struct Answer<'a> {
    event: Event,
    answer: &'a Value,
}

impl Answer<'_> {
    fn read(&self, mut said: Said) -> Result<Said, String> {
        said.notice = self.text("systemMessage")?;
        if self.answer.get("continue") == Some(&Value::Bool(false)) {
            said.stop = Some(self.text("stopReason")?.unwrap_or_else(|| "it gives no reason".to_owned()));
        }
        self.old_form(&mut said)?;
        self.specific(&mut said)?;
        if said.verdict.is_some() && !self.event.can_block() && !self.event.can_object() {
            // There is nothing that could be decided; what it wanted to say, the person hears.
            said.verdict = None;
            said.notice = said.notice.or(said.reason.take());
        }
        Ok(said)
    }

    /// What it says beside other words. Nobody can know what those were for, so only a no is heard: a hook may tighten.
    fn read_among_words(&self, said: Said) -> Result<Said, String> {
        const BESIDE: &str =
            "printed other words beside its JSON; print the JSON alone, and the rest to stderr";
        let read = self.read(Said::by(said.by.clone()))?;
        if read.verdict != Some(Verdict::Deny) && read.stop.is_none() {
            return match said.context {
                Some(_) => Ok(Said { notice: Some(format!("the hook {BESIDE}")), ..said }),
                None => Err(BESIDE.to_owned()),
            };
        }
        let verdict = read.verdict.filter(|verdict| *verdict == Verdict::Deny);
        let notice = Some(format!("the hook {BESIDE}: only its no is heard"));
        Ok(Said { verdict, reason: read.reason, stop: read.stop, notice, ..said })
    }

    /// `decision: approve|block` with `reason`, which every event took before there was more to say.
    fn old_form(&self, said: &mut Said) -> Result<(), String> {
        let Some(decision) = self.answer.get("decision").filter(|decision| !decision.is_null()) else {
            return Ok(());
        };
        said.verdict = match decision.as_str() {
            Some("block" | "deny") => Some(Verdict::Deny),
            Some("approve" | "allow") if self.event.can_object() => None,
            Some("approve" | "allow") => Some(Verdict::Allow),
            _ => return Err(format!("answered with the decision {decision}; there are approve and block")),
        };
        said.reason = self.text("reason")?;
        Ok(())
    }

    fn specific(&self, said: &mut Said) -> Result<(), String> {
        let Some(specific) = self.answer.get("hookSpecificOutput").filter(|specific| !specific.is_null())
        else {
            return Ok(());
        };
        if let Some(verdict) = permission(specific)? {
            said.verdict = verdict;
            said.reason = text(specific, "permissionDecisionReason")?.or(said.reason.take());
        }
        said.context = text(specific, "additionalContext")?;
        said.input = object(specific, "updatedInput")?;
        if self.event.can_object() {
            let output = specific.get("updatedToolOutput").or(specific.get("updatedMCPToolOutput"));
            said.output = output.filter(|output| !output.is_null()).map(as_text);
        }
        match specific.get("decision").filter(|decision| !decision.is_null()) {
            Some(decision) => in_place_of_the_person(decision, said),
            None => Ok(()),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        text(self.answer, key)
    }
}

/// `permissionDecision`. `defer` says nothing: others decide.
fn permission(specific: &Value) -> Result<Option<Option<Verdict>>, String> {
    match specific.get("permissionDecision").filter(|decision| !decision.is_null()) {
        None => Ok(None),
        Some(decision) => match decision.as_str() {
            Some("allow") => Ok(Some(Some(Verdict::Allow))),
            Some("ask") => Ok(Some(Some(Verdict::Ask))),
            Some("deny") => Ok(Some(Some(Verdict::Deny))),
            Some("defer") => Ok(Some(None)),
            _ => Err(format!(
                "answered with the permissionDecision {decision}; there are allow, ask, deny and defer"
            )),
        },
    }
}

/// `decision: {behavior, updatedInput, message, interrupt}` of PermissionRequest.
fn in_place_of_the_person(decision: &Value, said: &mut Said) -> Result<(), String> {
    said.verdict = match decision.get("behavior").and_then(Value::as_str) {
        Some("allow") => Some(Verdict::Allow),
        Some("deny") => Some(Verdict::Deny),
        _ => return Err("answered with a decision whose behavior is neither allow nor deny".to_owned()),
    };
    said.input = object(decision, "updatedInput")?;
    said.reason = text(decision, "message")?;
    if decision.get("interrupt") == Some(&Value::Bool(true)) {
        said.stop = Some(said.reason.clone().unwrap_or_else(|| "it gives no reason".to_owned()));
    }
    Ok(())
}

fn text(of: &Value, key: &str) -> Result<Option<String>, String> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("answered with a `{key}` that is no text")),
    }
}

fn object(of: &Value, key: &str) -> Result<Option<Value>, String> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(object @ Value::Object(_)) => Ok(Some(object.clone())),
        Some(_) => Err(format!("answered with an `{key}` that is no object")),
    }
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Cut between characters, and the cut is told.
fn shorten(words: &mut String) {
    if let Some((at, _)) = words.char_indices().nth(MOST_WORDS) {
        let left_out = words[at..].chars().count();
        words.truncate(at);
        words.push_str(&format!("\n[… {left_out} more characters of this hook are left out]"));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::config::Config;

    fn handler(on_failure: &str) -> Handler {
        let hooks = json!({ "Stop": [{ "command": "guard.py  --strict", "on_failure": on_failure }] });
        Config::read(&hooks).0.list().next().unwrap().handler.clone()
    }

    fn said(event: Event, code: i32, output: &str, errors: &str) -> Said {
        let left = Left {
            ending: Ending::Code(code),
            output: output.to_owned(),
            is_cut: false,
            errors: errors.to_owned(),
        };
        answer(event, &handler("go_on"), &left)
    }

    fn json_said(event: Event, output: Value) -> Said {
        said(event, 0, &output.to_string(), "")
    }

    #[test]
    fn exit_codes_say_go_on_no_and_trouble() {
        use Event::{Notification, PostToolUse, PreToolUse};
        assert!(said(PreToolUse, 0, "", "chatter").is_nothing());
        assert!(said(PreToolUse, 0, "all fine\n", "").is_nothing());
        let no = said(PreToolUse, 2, "ignored", "not on main\n");
        assert_eq!((no.verdict, no.reason.as_deref()), (Some(Verdict::Deny), Some("not on main")));
        assert_eq!(no.by, "guard.py --strict");
        assert_eq!(said(PostToolUse, 2, "", "lint").verdict, Some(Verdict::Deny));
        let told = said(Notification, 2, "", "no bell");
        assert_eq!((told.verdict, told.notice.as_deref()), (None, Some("no bell")));
        let trouble = said(PreToolUse, 1, "", "Traceback");
        assert_eq!(trouble.verdict, None);
        assert_eq!(trouble.notice.as_deref(), Some("the hook ended with exit code 1: Traceback"));
    }

    #[test]
    fn a_hook_that_cannot_answer_blocks_only_where_the_settings_say_so() {
        let ending = Ending::Trouble("took longer than 5 s".to_owned());
        let left = Left { ending, output: String::new(), is_cut: false, errors: String::new() };
        assert_eq!(answer(Event::PreToolUse, &handler("go_on"), &left).verdict, None);
        let blocks = answer(Event::PreToolUse, &handler("block"), &left);
        assert_eq!(blocks.verdict, Some(Verdict::Deny));
        assert_eq!(blocks.notice.as_deref(), Some("the hook took longer than 5 s"));
        assert_eq!(answer(Event::PostToolUse, &handler("block"), &left).verdict, None, "it has happened");
    }

    #[test]
    fn permission_decisions_are_read() {
        for (decision, expected) in [
            ("allow", Some(Verdict::Allow)),
            ("ask", Some(Verdict::Ask)),
            ("deny", Some(Verdict::Deny)),
            ("defer", None),
        ] {
            let said = json_said(
                Event::PreToolUse,
                json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": decision,
                    "permissionDecisionReason": "why", "updatedInput": { "a": 1 }, "additionalContext": "note" } }),
            );
            assert_eq!((said.verdict, said.reason.as_deref()), (expected, Some("why")));
            assert_eq!((said.input, said.context.as_deref()), (Some(json!({ "a": 1 })), Some("note")));
        }
    }

    #[test]
    fn the_old_form_is_read() {
        let no = json_said(Event::PreToolUse, json!({ "decision": "block", "reason": "r" }));
        assert_eq!((no.verdict, no.reason.as_deref()), (Some(Verdict::Deny), Some("r")));
        let yes = json_said(Event::PreToolUse, json!({ "decision": "approve" }));
        assert_eq!(yes.verdict, Some(Verdict::Allow));
        let feedback = json_said(Event::PostToolUse, json!({ "decision": "block", "reason": "lint" }));
        assert_eq!(feedback.verdict, Some(Verdict::Deny));
    }

    #[test]
    fn a_turn_is_stopped_and_a_person_is_told() {
        let said = json_said(
            Event::PostToolUse,
            json!({ "continue": false, "stopReason": "enough", "systemMessage": "hm", "suppressOutput": true }),
        );
        assert_eq!((said.stop.as_deref(), said.notice.as_deref()), (Some("enough"), Some("hm")));
    }

    #[test]
    fn an_answer_for_the_person_is_read() {
        let decide = |decision: Value| {
            json_said(Event::PermissionRequest, json!({ "hookSpecificOutput": { "decision": decision } }))
        };
        let yes = decide(json!({ "behavior": "allow", "updatedInput": { "x": 1 } }));
        assert_eq!((yes.verdict, yes.input), (Some(Verdict::Allow), Some(json!({ "x": 1 }))));
        let no = decide(json!({ "behavior": "deny", "message": "no", "interrupt": true }));
        assert_eq!((no.verdict, no.stop.as_deref()), (Some(Verdict::Deny), Some("no")));
    }

    #[test]
    fn what_is_not_understood_is_trouble_and_never_a_yes() {
        for output in [
            r#"{"hookSpecificOutput":{"permissionDecision":"alow"}}"#,
            r#"{"decision":"maybe"}"#,
            r#"{"hookSpecificOutput":{"updatedInput":"rm"}}"#,
            r#"{"hookSpecificOutput":{"decision":{"behavior":"sure"}}}"#,
            r#"{"reason":3,"decision":"block"}"#,
            r#"{"decision":"block""#,
        ] {
            let said = said(Event::PreToolUse, 0, output, "");
            assert_eq!(said.verdict, None, "{output}");
            assert!(said.notice.is_some(), "{output}");
        }
    }

    #[test]
    fn a_no_among_other_words_is_heard_and_a_yes_is_not() {
        let deny =
            r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"not here"}}"#;
        let pretty = "{\n  \"decision\": \"block\",\n  \"reason\": \"not here\"\n}";
        for output in [
            format!("checking …\n{deny}"),
            format!("{deny}\ndone"),
            format!("{{\"level\":\"info\"}}\n{deny}\n"),
            format!("log\n{pretty}\n"),
            format!("{{\"decision\":\"approve\"}}\n{deny}"),
        ] {
            let said = said(Event::PreToolUse, 0, &output, "");
            assert_eq!(
                (said.verdict, said.reason.as_deref()),
                (Some(Verdict::Deny), Some("not here")),
                "{output}"
            );
            assert!(said.notice.unwrap().contains("beside its JSON"), "{output}");
        }
        let yes = r#"{"decision":"approve","systemMessage":"hi"}"#;
        let yes = said(Event::PreToolUse, 0, &format!("log\n{yes}"), "");
        assert_eq!(yes.verdict, None);
        assert!(yes.notice.unwrap().contains("beside its JSON"));
        let stops = said(Event::PostToolUse, 0, "log\n{\"continue\":false,\"stopReason\":\"enough\"}", "");
        assert_eq!(stops.stop.as_deref(), Some("enough"));
        assert!(said(Event::PreToolUse, 0, "log\n{\"level\":\"info\"}", "").is_nothing());
        let prompt = said(Event::UserPromptSubmit, 0, "log\n{\"decision\":\"block\"}", "");
        assert_eq!(prompt.verdict, Some(Verdict::Deny));
    }

    #[test]
    fn plain_text_is_context_where_a_session_or_a_prompt_begins() {
        assert_eq!(said(Event::SessionStart, 0, "branch main\n", "").context.as_deref(), Some("branch main"));
        assert_eq!(said(Event::PostToolUse, 0, "formatted", "").context, None);
    }

    #[test]
    fn long_words_are_cut_between_characters_and_say_so() {
        let long = "é".repeat(MOST_WORDS + 7);
        let said =
            json_said(Event::PostToolUse, json!({ "hookSpecificOutput": { "additionalContext": long } }));
        let context = said.context.unwrap();
        assert!(context.ends_with("[… 7 more characters of this hook are left out]"));
        assert_eq!(context.chars().filter(|char| *char == 'é').count(), MOST_WORDS);
    }

    #[test]
    fn an_output_changes_text_or_json() {
        let changed = |value: Value| {
            json_said(Event::PostToolUse, json!({ "hookSpecificOutput": { "updatedToolOutput": value } }))
                .output
        };
        assert_eq!(changed(json!("new")), Some("new".to_owned()));
        assert_eq!(changed(json!({ "a": 1 })), Some(r#"{"a":1}"#.to_owned()));
    }

    proptest! {
        #[test]
        fn no_output_makes_reading_panic(output in r#"\{?["a-z:,{}\[\]0-9 \\é]{0,60}"#, code in -1..4i32) {
            for event in Event::ALL {
                let said = said(event, code, &output, "");
                prop_assert!(said.verdict.is_none() || event.can_block() || event.can_object());
            }
        }
    }
}
