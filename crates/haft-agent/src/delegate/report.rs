//! What became of a sub-agent, in words and figures: for the model that began it, and for people.

use std::{collections::VecDeque, fmt::Write as _, time::Duration};

use haft_engine::{result::ToolResult, turn::Event};
use haft_model::Usage;
use haft_tool::{CallId, FaultKind, Reply, SessionId, front_matter::one_line};

use crate::{End, Outcome};

/// So many of its calls are told, the latest, where there is no answer.
const MOST_DEEDS: usize = 20;
const LONGEST_DEED: usize = 160;
/// So much of its last words is told where they are no answer.
const LONGEST_WORDS: usize = 4 * 1024;

/// What its calls were.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    /// Those that have not ended, with a line for each.
    open: Vec<(CallId, String)>,
    latest: VecDeque<String>,
    made: usize,
    failed: usize,
}

impl Deeds {
    /// Something happens to a call. Gives the line of one that was just understood.
    pub(super) fn note(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::Queued { call, description, .. } => {
                let line = one_line(description, LONGEST_DEED);
                self.open.push((call.clone(), line.clone()));
                Some(line)
            }
            Event::Finished(result) => {
                self.ended(result);
                None
            }
            _ => None,
        }
    }

    fn ended(&mut self, result: &ToolResult) {
        let place = self.open.iter().position(|(call, _)| *call == result.call);
        let line = place.map_or_else(|| result.tool.clone(), |place| self.open.swap_remove(place).1);
        self.made += 1;
        let how = match result.fault.map(|fault| fault.kind) {
            None => "",
            Some(FaultKind::Denied) => " (refused)",
            Some(FaultKind::Cancelled | FaultKind::TimedOut | FaultKind::Interrupted) => " (stopped)",
            Some(_) => " (failed)",
        };
        self.failed += usize::from(!how.is_empty());
        if self.latest.len() == MOST_DEEDS {
            self.latest.pop_front();
        }
        self.latest.push_back(format!("{line}{how}"));
    }
}

/// Why it ended.
#[derive(Debug)]
pub(super) enum Why {
    /// Its run came to this.
    Run(End),
    /// It took longer than it may.
    Time(Duration),
    /// It was stopped before it began.
    NeverBegan,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Report {
    why: Why,
    text: String,
    turns: u32,
    usage: Usage,
    deeds: Deeds,
    took: Duration,
}

impl Report {
    pub(super) fn new(outcome: Outcome, deeds: Deeds, took: Duration) -> Report {
        let Outcome { end, text, turns, usage } = outcome;
        Report { why: Why::Run(end), text, turns, usage, deeds, took }
    }

    pub(super) fn never_began() -> Report {
        let none = Outcome { end: End::Interrupted, text: String::new(), turns: 0, usage: Usage::default() };
        Report { why: Why::NeverBegan, ..Report::new(none, Deeds::default(), Duration::ZERO) }
    }

    /// The same for one that took longer than it may.
    pub(super) fn too_late(self, limit: Duration) -> Report {
        Report { why: Why::Time(limit), ..self }
    }

    /// Whether there is an answer.
    pub(super) fn is_answered(&self) -> bool {
        matches!(self.why, Why::Run(End::Answered)) && !self.text.trim().is_empty()
    }

    /// One line: how it ended.
    pub(super) fn line(&self) -> String {
        let how =
            if self.is_answered() { "answered".to_owned() } else { format!("no answer: {}", self.reason()) };
        format!("{how} ({})", self.figures())
    }

    /// All of it, for the model: the answer, or why there is none and what was done.
    pub(super) fn words(&self) -> String {
        if self.is_answered() {
            return self.text.trim_end().to_owned();
        }
        let mut words = format!("The sub-agent gave no answer: {}.\n", self.reason());
        // Writing to a String cannot fail.
        let _ = match self.deeds.made {
            0 => write!(words, "It made no calls."),
            made => write!(
                words,
                "What it did stays done. It made {}, {} of which did not work:",
                count(made, "call"),
                self.deeds.failed
            ),
        };
        let left_out = self.deeds.made.saturating_sub(self.deeds.latest.len());
        if left_out > 0 {
            let _ = write!(words, "\n- … {left_out} before these");
        }
        for deed in &self.deeds.latest {
            let _ = write!(words, "\n- {deed}");
        }
        for (_, deed) in &self.deeds.open {
            let _ = write!(words, "\n- {deed} (stopped)");
        }
        let said = self.text.trim();
        if !said.is_empty() {
            let end = said.floor_char_boundary(LONGEST_WORDS);
            let cut = if end < said.len() { " […]" } else { "" };
            let _ = write!(words, "\nIts last words: {}{cut}", &said[..end]);
        }
        words
    }

    /// The result of the call that waited for it.
    pub(super) fn reply(&self, agent: &str, session: &SessionId) -> Reply {
        let reply = Reply::text(self.words())
            .note("agent", agent)
            .note("session", session.as_str())
            .note("turns", self.turns)
            .note("calls", self.deeds.made)
            .note("input_tokens", self.usage.input)
            .note("output_tokens", self.usage.output)
            .note("ms", u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX));
        if self.is_answered() { reply } else { reply.failing(self.kind()) }
    }

    fn kind(&self) -> FaultKind {
        match self.why {
            Why::Time(_) => FaultKind::TimedOut,
            Why::NeverBegan | Why::Run(End::Interrupted) => FaultKind::Cancelled,
            Why::Run(_) => FaultKind::Failed,
        }
    }

    fn reason(&self) -> String {
        match &self.why {
            Why::Time(limit) => format!("it took longer than {} s and was stopped", limit.as_secs()),
            Why::NeverBegan => "it was stopped before it began".to_owned(),
            Why::Run(end) => match end {
                End::Answered => "it ended without a word".to_owned(),
                End::TurnLimit => format!("its model was asked {} times, which is the most", self.turns),
                End::TokenLimit => "its model has written as much as it may".to_owned(),
                End::Interrupted => "it was stopped".to_owned(),
                End::Stuck(tool) => {
                    format!("it went round in circles: the same call of {tool} again and again")
                }
                End::Stopped(why) => why.clone(),
                End::Refused => "its model does not want to do this".to_owned(),
                End::Failed(error) => format!("its model does not answer: {}", error.message),
            },
        }
    }

    fn figures(&self) -> String {
        format!(
            "{}, {}, {} tokens",
            count(self.turns as usize, "turn"),
            count(self.deeds.made, "call"),
            self.usage.input + self.usage.output
        )
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
