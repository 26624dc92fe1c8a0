//! What model and person are told about a snippet.

use std::fmt::Write;

use haft_shell::run::{Output, Status};
use haft_tool::{FaultKind, Grant, Reply, View};

use super::{
    interpreter::{Interpreter, Outcome, Why, how},
    language::Language,
    limits::is_within,
};
use crate::bash::report::{as_it_came, as_part, end_line, printed};

/// A snippet that has run, or was to.
pub(super) struct Told<'a> {
    pub(super) code: &'a str,
    pub(super) interpreter: &'a Interpreter,
    /// What an interpreter would be started with now.
    pub(super) grant: &'a Grant,
    pub(super) outcome: &'a Outcome,
    /// How the interpreter before this one ended.
    pub(super) lost: Option<String>,
    /// How long the snippet had, in milliseconds.
    pub(super) limit: u128,
}

impl Told<'_> {
    pub(super) fn reply(&self) -> Reply {
        let page = self.interpreter.process.tear_off();
        let notes = self.notes(&page);
        let mut text = printed(&page);
        for note in &notes {
            end_line(&mut text);
            let _ = write!(text, "[{note}]");
        }
        if text.is_empty() {
            "[no output]".clone_into(&mut text);
        }
        let reply = as_part(&page, Reply::text(text)).drawn(self.view(&page, &notes));
        self.failure().into_iter().fold(reply, Reply::failing)
    }

    fn notes(&self, page: &Output) -> Vec<String> {
        let language = self.interpreter.language;
        let anew = self.lost.iter().map(|how| {
            format!("{language} was started anew, and what was defined before is gone; the last one: {how}")
        });
        anew.chain(self.end()).chain(self.facts(page)).chain(self.has_less()).collect()
    }

    /// How the snippet ended, if that is worth a word.
    fn end(&self) -> Option<String> {
        let language = self.interpreter.language;
        match self.outcome {
            Outcome::Done(0) => None,
            Outcome::Done(status) if language == Language::Bash => Some(Status::Code(*status).to_string()),
            // The error says it all.
            Outcome::Done(_) => None,
            Outcome::Gone(ended) => Some(format!(
                "{language} has ended ({}), and what was defined in it is gone; the next call starts it anew",
                how(ended)
            )),
            Outcome::Interrupted(why) => {
                Some(format!("interrupted: {}; what was defined before is still there", self.because(*why)))
            }
            Outcome::Lost(why, ended) => {
                let how = ended.as_ref().map_or_else(|| "it is being killed".to_owned(), how);
                Some(format!(
                    "interrupted: {}; {language} is gone with all that was defined in it ({how}), the next call starts it \
                     anew",
                    self.because(*why)
                ))
            }
        }
    }

    fn because(&self, why: Why) -> String {
        match why {
            Why::TimedOut => {
                format!("it took longer than {} ms (`timeout` can be at most 600000)", self.limit)
            }
            Why::Cancelled => "on request".to_owned(),
        }
    }

    /// What the sandbox says. An interpreter that has ended was asked before.
    fn facts(&self, page: &Output) -> Vec<String> {
        match self.outcome {
            Outcome::Gone(ended) | Outcome::Lost(_, Some(ended)) => ended.facts.clone(),
            _ => self.interpreter.process.facts(page),
        }
    }

    /// What fails now may fail because the sandbox is older than what was permitted.
    fn has_less(&self) -> Option<String> {
        let failed = matches!(self.outcome, Outcome::Done(status) if *status != 0);
        (failed && !is_within(self.grant, &self.interpreter.grant)).then(|| {
            "it runs with what was permitted when it was started, which is less than now; `reset` starts it with all"
                .to_owned()
        })
    }

    fn failure(&self) -> Option<FaultKind> {
        match self.outcome {
            Outcome::Done(0) => None,
            Outcome::Done(_) => Some(FaultKind::Failed),
            Outcome::Gone(ended) if ended.stopped.is_none() && ended.status.is_success() => None,
            Outcome::Gone(_) => Some(FaultKind::Failed),
            Outcome::Interrupted(why) | Outcome::Lost(why, _) => Some(match why {
                Why::TimedOut => FaultKind::TimedOut,
                Why::Cancelled => FaultKind::Cancelled,
            }),
        }
    }

    /// The code, what it printed with its colours, and how it ended.
    fn view(&self, page: &Output, notes: &[String]) -> View {
        let language = self.interpreter.language.name().to_owned();
        let mut parts = vec![View::Code { language, text: self.code.to_owned() }];
        if page.bytes() > 0 {
            parts.push(View::Code { language: "ansi".to_owned(), text: as_it_came(page) });
        }
        parts.extend(notes.iter().map(View::text));
        View::List(parts)
    }
}
