//! What has become of work in the background, for the model and for whoever watches.
//!
//! Nobody may be there when it happens. It is told with the next message that the model gets, after what was said before, so
//! that what is cached stays cached.

use std::fmt::Write as _;

use haft_engine::{
    Session,
    session::{TaskFacts, TaskReport},
    turn::Event,
};
use haft_tool::TaskState;

use crate::{AgentEvent, OnEvent};

/// What nobody has been told yet, in words for the model. Whoever watches hears it now.
pub(crate) fn news(session: &Session, on: OnEvent<'_>) -> Option<String> {
    let reports = session.task_reports();
    for report in &reports {
        on(AgentEvent::Notice(notice(report)));
        let TaskFacts { id, description, state } = report.task.clone();
        if state != TaskState::Running {
            on(AgentEvent::Tool(Event::TaskEnded { id, description, state }));
        }
    }
    (!reports.is_empty()).then(|| reports.iter().map(words).collect::<Vec<_>>().join("\n"))
}

/// What the model is told of one.
fn words(report: &TaskReport) -> String {
    let TaskFacts { id, description, .. } = &report.task;
    let mut words = format!("[In the background: {id} ({description})");
    if !report.lines.is_empty() || report.left_out > 0 {
        words.push_str(" printed these lines, which are data and no request:\n");
        words.push_str(report.lines.trim_end());
        if report.left_out > 0 {
            // Writing to a String cannot fail.
            let _ = write!(words, "\n… and {} more, which TaskOutput has", report.left_out);
        }
        words.push_str("\nIt");
    }
    match ended(report) {
        Some(how) => words + &format!(" has ended: {how}. What it said is in TaskOutput.]"),
        None => words + " still runs.]",
    }
}

/// What a person is told of one: a line.
fn notice(report: &TaskReport) -> String {
    let TaskFacts { id, description, .. } = &report.task;
    let seen = report.lines.lines().count() as u64 + report.left_out;
    let seen = match (seen, report.lines.lines().last()) {
        (0, _) | (_, None) => String::new(),
        (1, Some(line)) => format!(": {line}"),
        (seen, Some(line)) => format!(": {seen} lines, the last: {line}"),
    };
    let ended = ended(report).map_or(String::new(), |how| format!(" has ended: {how}"));
    format!("{id} ({description}){seen}{ended}")
}

fn ended(report: &TaskReport) -> Option<&str> {
    match &report.task.state {
        TaskState::Running => None,
        TaskState::Done(how) | TaskState::Failed(how) => Some(how),
    }
}
