//! What model and person are told about a command.

use std::{fmt::Write, path::Path};

use haft_engine::result::size;
use haft_shell::run::{Ended, Output, Status, Stopped};
use haft_tool::{Change, FaultKind, Grant, Reply, SessionFacts, View, Whole, shown};

use super::{BashInput, BashOptions, is_home};
use crate::{quoted::quoted, shown::count};

/// A command that has ended, or has been told to and not yet done so.
pub(super) struct Told<'a> {
    pub(super) input: &'a BashInput,
    pub(super) options: &'a BashOptions,
    pub(super) session: &'a SessionFacts,
    pub(super) grant: &'a Grant,
    pub(super) ended: Option<&'a Ended>,
    /// What is told of an earlier run of it.
    pub(super) before: Option<String>,
    /// What is to be said besides.
    pub(super) more: Option<String>,
}

impl Told<'_> {
    pub(super) fn reply(&self, output: &Output) -> Reply {
        let (moved, where_now) = self.directory();
        let mut notes: Vec<String> = self.end().into_iter().chain(where_now).collect();
        notes.extend(self.left_running());
        notes.extend(self.ended.into_iter().flat_map(|ended| ended.facts.clone()));
        notes.extend(self.more.clone());
        let text = self.before.clone().unwrap_or_default() + &with_notes(output, &notes);
        let reply = as_part(output, Reply::text(text)).drawn(self.view(output, &notes));
        let reply = self.noted(reply);
        let reply = moved.into_iter().fold(reply, Reply::change);
        self.failure().into_iter().fold(reply, Reply::failing)
    }

    /// How it ended, if that is worth a word.
    fn end(&self) -> Option<String> {
        let Some(ended) = self.ended else {
            return Some(
                "stopped on request; it has not ended yet and will be killed in a moment; what it did stays done"
                    .to_owned(),
            );
        };
        let limit = self.input.timeout.map_or(self.options.timeout.as_millis(), u128::from);
        match &ended.stopped {
            Some(Stopped::TimedOut) => Some(format!(
                "stopped: it took longer than {limit} ms; what it did until then stays done. Set `timeout` (at most \
                 600000) or `background` for longer work"
            )),
            Some(Stopped::WroteTooMuch) => Some(format!(
                "stopped: it wrote more than {}; make it write less, or into a file",
                size(usize::try_from(self.options.most_output).unwrap_or(usize::MAX))
            )),
            Some(Stopped::Asked) => {
                Some("stopped on request before it ended; what it did until then stays done".to_owned())
            }
            Some(Stopped::OverLimit(limit)) => Some(format!("stopped: {limit}")),
            None if ended.status.is_success() => None,
            None => Some(ended.status.to_string()),
        }
    }

    fn failure(&self) -> Option<FaultKind> {
        match self.ended.map(|ended| (&ended.stopped, ended.status)) {
            None | Some((Some(Stopped::Asked), _)) => Some(FaultKind::Cancelled),
            Some((Some(Stopped::TimedOut), _)) => Some(FaultKind::TimedOut),
            Some((None, Status::Code(0))) => None,
            Some(_) => Some(FaultKind::Failed),
        }
    }

    /// Where the next command begins, if not where this one did.
    fn directory(&self) -> (Option<Change>, Option<String>) {
        let Some(now) = self.ended.and_then(|ended| ended.directory.as_ref()) else { return (None, None) };
        if *now == self.session.cwd || std::fs::canonicalize(&self.session.cwd).is_ok_and(|cwd| cwd == *now) {
            return (None, None);
        }
        if is_home(now, self.session, &self.grant.write) {
            return (Some(Change::Cwd(now.clone())), Some(format!("the directory is now {}", shown(now))));
        }
        let told = format!(
            "the directory is still {}: {} is outside the workspace, and holds for one command only",
            shown(&self.session.cwd),
            shown(now),
        );
        (None, Some(told))
    }

    fn left_running(&self) -> Option<String> {
        let left = self.ended.map_or(0, |ended| ended.left_running);
        (left > 0).then(|| {
            let verb = if left == 1 { "was" } else { "were" };
            let left = count(left as u64, "process");
            format!("{left} that it left running {verb} ended; set `background` for what is to go on")
        })
    }

    fn noted(&self, reply: Reply) -> Reply {
        match self.ended.map(|ended| ended.status) {
            Some(Status::Code(code)) => reply.note("exit_code", code),
            Some(Status::Signal(signal)) => reply.note("signal", signal),
            _ => reply,
        }
    }

    /// The command, what it printed with its colours, and how it ended.
    fn view(&self, output: &Output, notes: &[String]) -> View {
        let mut parts = vec![View::Text(format!("$ {}", on_one_line(&self.input.command)))];
        parts.extend(self.before.as_deref().map(|before| View::text(before.trim_end())));
        if output.bytes() > 0 {
            parts.push(View::Code { language: "ansi".to_owned(), text: as_it_came(output) });
        }
        parts.extend(notes.iter().map(View::text));
        View::List(parts)
    }
}

/// What was printed, and what is to be said about it.
pub(crate) fn with_notes(output: &Output, notes: &[String]) -> String {
    let mut text = printed(output);
    for note in notes {
        end_line(&mut text);
        let _ = write!(text, "[{note}]");
    }
    if text.is_empty() { "[no output]".to_owned() } else { text }
}

/// Says of a reply what its text is a part of, if there was more than is shown.
pub(crate) fn as_part(output: &Output, reply: Reply) -> Reply {
    let cut = output.text();
    if cut.hidden_bytes == 0 || output.is_binary() {
        return reply;
    }
    let path = output.file().and_then(Result::ok).map(Path::to_owned);
    let bytes = cut.hidden_bytes + (cut.head.len() + cut.tail.len()) as u64;
    reply.part_of(Whole { bytes, path })
}

/// How a task ended, in a few words.
pub(super) fn status(ended: &Ended) -> String {
    match &ended.stopped {
        None => ended.status.to_string(),
        Some(Stopped::Asked) => "stopped".to_owned(),
        Some(Stopped::TimedOut) => "stopped: it took longer than its time limit".to_owned(),
        Some(Stopped::WroteTooMuch) => "stopped: it wrote too much".to_owned(),
        Some(Stopped::OverLimit(limit)) => format!("stopped: {limit}"),
    }
}

/// A command that goes on.
pub(super) fn in_the_background(id: &str, so_far: &str) -> Reply {
    let mut text = so_far.to_owned();
    if !text.is_empty() {
        end_line(&mut text);
    }
    let _ = write!(
        text,
        "[it goes on in the background as {id}; look at it with TaskOutput, end it with TaskStop]"
    );
    Reply::text(text).note("task_id", id)
}

/// The text of the output, without its middle if it is long.
pub(crate) fn printed(output: &Output) -> String {
    if output.is_binary() {
        return format!(
            "[{} of output that is no text, not shown; write it to a file to use it]",
            size(usize::try_from(output.bytes()).unwrap_or(usize::MAX))
        );
    }
    let cut = output.text();
    let mut text = quoted(&cut.head).into_owned();
    if cut.hidden_bytes > 0 {
        let whole = match output.file() {
            Some(Ok(path)) => format!("the whole is in {}", shown(path)),
            Some(Err(why)) => format!("it could not be kept: {why}"),
            None => "it was not kept".to_owned(),
        };
        end_line(&mut text);
        let bytes = size(usize::try_from(cut.hidden_bytes).unwrap_or(usize::MAX));
        let lines = count(cut.hidden_lines, "line");
        let _ = writeln!(text, "[… {bytes}, {lines} hidden; {whole} …]");
        text.push_str(&quoted(&cut.tail));
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// What came, colours and all, for a screen.
pub(crate) fn as_it_came(output: &Output) -> String {
    let (head, hidden, tail) = output.raw();
    let mut text = String::from_utf8_lossy(&head).into_owned();
    if hidden > 0 {
        let _ = write!(text, "\n[… {} hidden …]\n", size(usize::try_from(hidden).unwrap_or(usize::MAX)));
    }
    text.push_str(&String::from_utf8_lossy(&tail));
    text
}

pub(crate) fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// A command on one line, whole, with nothing in it that could play tricks on a screen.
pub(crate) fn on_one_line(command: &str) -> String {
    let mut line = String::with_capacity(command.len());
    for c in command.trim().chars() {
        match c {
            '\n' => line.push_str(" ⏎ "),
            '\t' => line.push_str("\\t"),
            c if c.is_control() || is_invisible(c) => {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line
}

/// Characters that take no room, or turn the direction of writing.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
