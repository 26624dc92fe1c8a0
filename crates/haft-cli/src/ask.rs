//! The person at the terminal.
//!
//! Questions go to the terminal itself, not to stdin and stdout: these carry messages. Where there is no terminal, or
//! nobody watches it, nobody is asked and the call is denied.

use std::{
    env,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
};

use haft_engine::policy::{Answer, Asker, CallFacts, Question};
use haft_tool::BoxFuture;
use rustix::termios::QueueSelector;
use tokio::{sync::Mutex, task::spawn_blocking};

use crate::{cli::Options, draw::plain_line};

/// Whether somebody can be asked here.
pub(crate) fn may_ask(options: &Options) -> bool {
    let in_ci = env::var_os("CI").is_some_and(|value| !value.is_empty());
    !options.json && !options.quiet && !in_ci && terminal().is_ok()
}

fn terminal() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}

/// Asks on the terminal that the process belongs to, one question at a time.
#[derive(Debug, Default)]
pub(crate) struct Terminal {
    turn: Mutex<()>,
}

impl Asker for Terminal {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            let words = words(&question);
            // If the call is cancelled meanwhile, the thread waits for a line that nobody needs; it ends with us.
            let answered = spawn_blocking(move || converse(&words)).await;
            answered.ok().and_then(Result::ok).unwrap_or(Answer::NobodyThere)
        })
    }
}

fn words(question: &Question<'_>) -> String {
    let Question { call: CallFacts { tool, effects, input, decision, .. }, description } = question;
    // All of it may come from a model or a file: nothing in it may move the cursor or look like a line of ours.
    let [description, effects, input] =
        [description.to_string(), effects.to_string(), input.to_string()].map(plain_line);
    let reason = plain_line(decision.reason());
    format!("\n{tool}: {description}\n  does    {effects}\n  input   {input}\n  why     {reason}\n")
}

const PROMPT: &str = "Allow it? [y]es once, [s] for this session, [n]o, or `n` and a reason: ";

fn converse(words: &str) -> io::Result<Answer> {
    let mut terminal = terminal()?;
    let mut lines = BufReader::new(terminal.try_clone()?);
    terminal.write_all(words.as_bytes())?;
    // What was typed before the question is no answer to it.
    rustix::termios::tcflush(&terminal, QueueSelector::IFlush)?;
    loop {
        terminal.write_all(PROMPT.as_bytes())?;
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Ok(Answer::NobodyThere);
        }
        if let Some(answer) = answer(line.trim()) {
            return Ok(answer);
        }
    }
}

fn answer(line: &str) -> Option<Answer> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let reason = Some(rest.trim()).filter(|reason| !reason.is_empty()).map(str::to_owned);
    match (word.to_ascii_lowercase().as_str(), reason) {
        ("y" | "yes", None) => Some(Answer::Once),
        ("s" | "session", None) => Some(Answer::Session),
        ("n" | "no", reason) => Some(Answer::No(reason)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<Answer>) {
        assert_eq!(answer(line), expected, "{line}");
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        check("y", Some(Answer::Once));
        check("Yes", Some(Answer::Once));
        check("s", Some(Answer::Session));
        check("n", Some(Answer::No(None)));
        check("n use the copy in tests/", Some(Answer::No(Some("use the copy in tests/".to_owned()))));
        check("", None);
        check("y but only the first", None);
        check("ok", None);
    }
}
