//! What a hook reads on stdin: one JSON object, in the words of the convention.

use haft_engine::{
    policy::{CallFacts, Mode},
    result::ToolResult,
    turn::{Now, Occasion},
};
use haft_tool::{FaultKind, SessionFacts};
use serde_json::{Map, Value, json};

use crate::event::Event;

/// What every hook is told.
fn common(event: Event, session: &SessionFacts, mode: Mode) -> Map<String, Value> {
    let fields = [
        ("session_id", session.id.as_str().into()),
        // There is no transcript here; hooks look for the key.
        ("transcript_path", "".into()),
        ("cwd", session.cwd.to_string_lossy().into()),
        ("permission_mode", permission_mode(mode).into()),
        ("hook_event_name", event.name().into()),
    ];
    fields.into_iter().map(|(name, value): (&str, Value)| (name.to_owned(), value)).collect()
}

fn permission_mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "default",
        Mode::Plan => "plan",
        Mode::AcceptEdits => "acceptEdits",
        Mode::Auto => "auto",
        Mode::DontAsk => "dontAsk",
        Mode::Bypass => "bypassPermissions",
    }
}

/// For an event about a call.
pub(crate) fn of_call(event: Event, call: &CallFacts<'_>) -> Value {
    let mut told = common(event, call.session, call.mode);
    told.insert("tool_name".to_owned(), call.tool.into());
    told.insert("tool_input".to_owned(), call.input.clone());
    told.insert("tool_use_id".to_owned(), call.call.as_str().into());
    told.insert("effects".to_owned(), json!(call.effects));
    told.insert("decision".to_owned(), call.decision.reason().into());
    told.insert("trace".to_owned(), json!(call.decision.trace));
    Value::Object(told)
}

/// For a call that has run.
pub(crate) fn of_result(event: Event, call: &CallFacts<'_>, result: &ToolResult) -> Value {
    let mut told = of_call(event, call);
    let text = result.text();
    if let Some(fault) = result.fault {
        told["error"] = text.into();
        told["is_interrupt"] = (fault.kind == FaultKind::Cancelled).into();
        return told;
    }
    told["tool_response"] = response(call, result, text);
    told
}

/// What hooks look for in a response: whether it worked, which file it was, what it printed.
fn response(call: &CallFacts<'_>, result: &ToolResult, text: String) -> Value {
    let mut response = json!({ "success": true });
    if let Some(path) = call.input.get("file_path") {
        response["filePath"] = path.clone();
    }
    if call.tool == "Bash" {
        response["stdout"] = text.clone().into();
        response["stderr"] = "".into();
        response["interrupted"] = false.into();
    }
    response["text"] = text.into();
    if let Some(data) = &result.data {
        response["data"] = data.clone();
    }
    response
}

/// For an event that is not about a call, and what its matcher is for.
pub(crate) fn of_occasion<'a>(
    now: &Now<'_>,
    occasion: &Occasion<'a>,
) -> Option<(Event, Value, Option<&'a str>)> {
    let event = Event::named(occasion.name())?;
    let (fields, subject) = match *occasion {
        Occasion::SessionStart { source } => (json!({ "source": source }), Some(source)),
        Occasion::SessionEnd { reason } => (json!({ "reason": reason }), Some(reason)),
        Occasion::Stop { again, message } => {
            (json!({ "stop_hook_active": again, "last_assistant_message": message }), None)
        }
        Occasion::Notification { kind, message } => {
            (json!({ "message": message, "notification_type": kind }), Some(kind))
        }
        Occasion::UserPrompt { prompt } => (json!({ "prompt": prompt }), None),
        Occasion::SubagentStart { id, kind } => (json!({ "agent_id": id, "agent_type": kind }), Some(kind)),
        Occasion::SubagentStop { id, kind, again } => {
            (json!({ "agent_id": id, "agent_type": kind, "stop_hook_active": again }), Some(kind))
        }
        Occasion::PreCompact { trigger, instructions } => {
            (json!({ "trigger": trigger, "custom_instructions": instructions }), Some(trigger))
        }
        // An occasion that is newer than this crate: nobody has hooks for it.
        _ => return None,
    };
    let mut told = common(event, now.session, now.mode);
    if let Value::Object(fields) = fields {
        told.extend(fields);
    }
    Some((event, Value::Object(told), subject))
}

#[cfg(test)]
mod tests {
    use haft_tool::Caller;

    use super::*;

    #[test]
    fn an_occasion_is_told_with_the_words_of_the_convention() {
        let session = SessionFacts {
            id: "s1".into(),
            workspace: "/w".into(),
            cwd: "/w/src".into(),
            home: None,
            caller: Caller::default(),
        };
        let now = Now { session: &session, mode: Mode::AcceptEdits };
        let (event, told, subject) = of_occasion(&now, &Occasion::SessionStart { source: "resume" }).unwrap();
        assert_eq!((event, subject), (Event::SessionStart, Some("resume")));
        let expected = json!({
            "session_id": "s1", "transcript_path": "", "cwd": "/w/src", "permission_mode": "acceptEdits",
            "hook_event_name": "SessionStart", "source": "resume",
        });
        assert_eq!(told, expected);
        let stop = Occasion::Stop { again: true, message: "done" };
        assert_eq!(of_occasion(&now, &stop).unwrap().1["stop_hook_active"], true);
    }

    #[test]
    fn every_occasion_has_its_event_and_every_mode_its_name() {
        let modes = Mode::ALL.map(permission_mode);
        assert_eq!(modes, ["default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions"]);
        for name in ["SessionStart", "Stop", "Notification", "UserPromptSubmit", "SubagentStop", "PreCompact"]
        {
            assert!(Event::named(name).is_some(), "{name}");
        }
    }
}
