//! What model and person are told.

use haft_shell::run::{Ended, Output, Status, Stopped};
use haft_tool::{FaultKind, Reply, View};

use super::TIME;
use crate::bash::report::{as_it_came, as_part, on_one_line, with_notes};

/// Git, when it has ended, or has been told to and not yet done so.
pub(super) struct Told<'a> {
    pub(super) args: &'a [String],
    pub(super) ended: Option<&'a Ended>,
    pub(super) left_out: &'a [String],
}

impl Told<'_> {
    pub(super) fn reply(&self, output: &Output) -> Reply {
        let mut notes: Vec<String> = self.end().into_iter().chain(self.withheld()).collect();
        notes.extend(self.ended.into_iter().flat_map(|ended| ended.facts.clone()));
        let reply = as_part(output, Reply::text(with_notes(output, &notes))).drawn(self.view(output, &notes));
        let reply = match self.ended.map(|ended| ended.status) {
            Some(Status::Code(code)) => reply.note("exit_code", code),
            _ => reply,
        };
        self.failure().into_iter().fold(reply, Reply::failing)
    }

    /// How it ended, if that is worth a word.
    fn end(&self) -> Option<String> {
        let Some(ended) = self.ended else { return Some("stopped on request before it ended".to_owned()) };
        match &ended.stopped {
            Some(Stopped::Asked) => Some("stopped on request before it ended".to_owned()),
            Some(Stopped::TimedOut) => Some(format!(
                "stopped: it took longer than {} s; look at less, with `-n`, a range or `-- path`",
                TIME.as_secs()
            )),
            Some(Stopped::WroteTooMuch) => Some("stopped: it wrote too much; look at less".to_owned()),
            Some(Stopped::OverLimit(limit)) => Some(format!("stopped: {limit}")),
            None if ended.status.is_success() => None,
            None => Some(ended.status.to_string()),
        }
    }

    fn withheld(&self) -> Option<String> {
        const MOST_NAMED: usize = 5;
        let names: Vec<&str> = self.left_out.iter().take(MOST_NAMED).map(String::as_str).collect();
        let names = names.join(", ");
        let more = match self.left_out.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!self.left_out.is_empty())
            .then(|| format!("left out, because a rule keeps it from being read: {names}{more}"))
    }

    fn failure(&self) -> Option<FaultKind> {
        match self.ended.map(|ended| (&ended.stopped, ended.status)) {
            None | Some((Some(Stopped::Asked), _)) => Some(FaultKind::Cancelled),
            Some((Some(Stopped::TimedOut), _)) => Some(FaultKind::TimedOut),
            Some((None, Status::Code(0))) => None,
            Some(_) => Some(FaultKind::Failed),
        }
    }

    /// The command, what it printed, as a difference where it is one, and how it ended.
    fn view(&self, output: &Output, notes: &[String]) -> View {
        let mut parts = vec![View::Text(format!("$ {}", command(self.args)))];
        match as_it_came(output) {
            text if text.is_empty() => {}
            unified if unified.starts_with("diff --git ") => {
                parts.push(View::Diff { path: String::new(), unified });
            }
            text => parts.push(View::Code { language: "ansi".to_owned(), text }),
        }
        parts.extend(notes.iter().map(View::text));
        View::List(parts)
    }
}

/// The words as they would be typed, on one line, with nothing in them that could play tricks on a screen.
pub(super) fn command(args: &[String]) -> String {
    let words = args.iter().map(|word| quoted(word));
    on_one_line(&std::iter::once("git".to_owned()).chain(words).collect::<Vec<_>>().join(" "))
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@^~+,%{}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
