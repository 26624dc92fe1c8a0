//! What is said while a model works: lines on stderr for people, lines of JSON on stdout for programs.

use std::{
    collections::HashMap,
    io::{self, IsTerminal},
};

use haft_agent::{AgentEvent, Outcome};
use haft_engine::{
    Session,
    turn::{Arguments, Event},
};
use haft_model::{StreamEvent, Usage};
use haft_tool::CallId;
use serde_json::{Value, json};

use super::{Output, reason, sign::Sign};
use crate::{
    draw::{plain, plain_line, within},
    hooks,
    memory::Keeper,
    model::Choice,
    out::{Hold, Out, Talk, complain, hold},
    settings::Price,
    setup::Setup,
    wire,
};

/// Tells what happens.
pub(super) struct Teller<'a> {
    talk: Talk,
    session: &'a Session,
    output: Output,
    out: Out,
    /// What each call is, in a line.
    lines: HashMap<CallId, String>,
    /// What the model says beside its calls, as far as its line is not complete.
    text: String,
    keeper: Keeper,
    /// What the run leaves undone.
    unfinished: Vec<String>,
    choice: &'a Choice,
    sign: Sign,
    /// The answer as it comes, where somebody watches.
    shown: Option<Shown>,
}

/// What was written of the model's words so far.
#[derive(Default)]
struct Shown {
    text: String,
    /// While its last line is not finished, nobody else writes there.
    is_within: Option<Hold>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(
        setup: &Setup,
        session: &'a Session,
        output: Output,
        choice: &'a Choice,
        sign: Sign,
    ) -> Teller<'a> {
        let out = Out::stdout();
        let is_watched = output == Output::Text && out.is_terminal() && !setup.talk.is_quiet();
        Teller {
            talk: setup.talk,
            session,
            output,
            choice,
            sign,
            shown: is_watched.then(Shown::default),
            out,
            lines: HashMap::new(),
            text: String::new(),
            keeper: Keeper::new(setup, session),
            unfinished: Vec::new(),
        }
    }

    pub(super) fn tell(&mut self, event: AgentEvent) {
        if self.output == Output::StreamJson
            && let Some(line) = line(&event)
        {
            // Whoever closed stdout has seen enough; what is done is done all the same.
            let _ = self.out.json(&line).and_then(|()| self.out.flush());
        }
        self.sign.told(&event, |call| self.lines.get(call).cloned());
        if let Some(shown) = &mut self.shown {
            // As for lines: whoever closed stdout has seen enough.
            let _ = shown.told(&event, &mut self.out);
        }
        match event {
            AgentEvent::Model(StreamEvent::Text(piece)) => self.text.push_str(&piece),
            AgentEvent::Model(StreamEvent::Call(_)) => self.say_text(),
            AgentEvent::Tool(event) => self.tool(event),
            AgentEvent::Retrying { attempt, delay, error } => {
                self.text.clear();
                self.talk.say(|| {
                    let error = self.choice.words(&error);
                    plain_line(format!("… {error}; attempt {attempt} in {:.1} s", delay.as_secs_f32()))
                });
            }
            AgentEvent::Compacting => self.talk.say(|| "… the conversation is made shorter".to_owned()),
            AgentEvent::Compacted { before, after } => {
                self.talk.say(|| format!("… from about {before} tokens to {after}"));
            }
            AgentEvent::Notice(words) => complain(&words),
            AgentEvent::Usage { .. } => {
                // What is said without a call is the answer, which goes to stdout.
                self.text.clear();
                self.keeper.keep_now_and_then();
            }
            _ => {}
        }
    }

    /// What the model says before it calls something.
    fn say_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if self.shown.is_some() && io::stderr().is_terminal() {
            return;
        }
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            self.talk.say(|| plain_line(line.to_owned()));
        }
    }

    fn tool(&mut self, event: Event) {
        match event {
            Event::Queued { call, tool, description } => {
                let line = if description.is_empty() { tool } else { description };
                self.lines.insert(call, plain_line(within(&line, &self.session.workspace())));
            }
            Event::HookSaid { said, .. } => hooks::tell(self.talk, &said),
            Event::TaskStarted { id, description } => {
                self.talk.say(|| plain_line(format!("→ {description} goes on as {id}")));
            }
            Event::Finished(result) => {
                let line = self.lines.remove(&result.call).unwrap_or_else(|| plain_line(result.tool.clone()));
                self.talk.say(|| match result.is_error() {
                    false => format!("✓ {line}"),
                    true => {
                        let text = plain_line(why(&result.text()).to_owned());
                        // What a call is called need not be said twice.
                        let why = text.strip_prefix(&line).and_then(|rest| rest.strip_prefix(": "));
                        format!("✗ {line}: {}", why.unwrap_or(&text))
                    }
                });
            }
            _ => {}
        }
    }

    /// The run ends, and this is not done.
    pub(super) fn leaves(&mut self, unfinished: Vec<String>) {
        self.unfinished = unfinished;
    }

    /// Waits for what is being kept.
    pub(super) async fn settle(&mut self) {
        self.keeper.settle().await;
    }

    /// The answer.
    pub(super) fn end(&mut self, outcome: &Outcome, price: Price) -> anyhow::Result<()> {
        let choice = self.choice;
        let mut result = result(outcome, self.session, choice);
        result["unfinished"] = json!(self.unfinished);
        if let Some(cost) = price.of(choice.spent.usage()) {
            result["cost"] = cost.into();
        }
        let is_shown = match &mut self.shown {
            Some(shown) => {
                shown.end_line(&mut self.out)?;
                shown.ends_with(&outcome.text)
            }
            None => false,
        };
        match self.output {
            Output::Text if outcome.text.is_empty() || is_shown => {}
            Output::Text => self.out.lines(&outcome.text)?,
            Output::Json => self.out.json(&result)?,
            Output::StreamJson => {
                result["type"] = "result".into();
                self.out.json(&result)?;
            }
        }
        self.out.flush()?;
        self.unfinished.iter().for_each(|words| complain(words));
        if let Some(words) = reason(&outcome.end, self.session.id(), choice) {
            complain(&words);
        }
        Ok(())
    }
}

impl Shown {
    fn told(&mut self, event: &AgentEvent, out: &mut Out) -> io::Result<()> {
        match event {
            AgentEvent::Model(StreamEvent::Text(piece)) => self.piece(piece, out),
            AgentEvent::Model(StreamEvent::CallOpened { .. } | StreamEvent::Call(_)) => self.end_line(out),
            AgentEvent::Asking { .. } | AgentEvent::Usage { .. } | AgentEvent::Retrying { .. } => {
                self.end_line(out)
            }
            _ => Ok(()),
        }
    }

    fn piece(&mut self, piece: &str, out: &mut Out) -> io::Result<()> {
        self.text.push_str(piece);
        let within = self.is_within.take().unwrap_or_else(hold);
        // What a model writes is no command to the terminal.
        out.text(&plain(piece.to_owned()))?;
        out.flush()?;
        self.is_within = (!self.text.ends_with('\n')).then_some(within);
        Ok(())
    }

    fn end_line(&mut self, out: &mut Out) -> io::Result<()> {
        if self.is_within.take().is_some() {
            out.text("\n")?;
            out.flush()?;
        }
        Ok(())
    }

    /// Whether this is what was shown last, however its parts were joined: an answer may go on in a second message.
    fn ends_with(&self, text: &str) -> bool {
        let is_seen = |char: &char| !char.is_whitespace();
        let mut shown = self.text.chars().rev().filter(is_seen);
        text.chars().rev().filter(is_seen).all(|char| shown.next() == Some(char))
    }
}

fn result(outcome: &Outcome, session: &Session, choice: &Choice) -> Value {
    json!({
        "session": session.id(),
        "end": outcome.end.name(),
        "text": outcome.text,
        "turns": outcome.turns,
        "usage": usage(choice.spent.usage()),
        "model": choice.name,
        "error": reason(&outcome.end, session.id(), choice).map(|words| words.lines().next().unwrap_or_default().to_owned()),
    })
}

fn usage(usage: Usage) -> Value {
    json!({
        "input": usage.input,
        "cached": usage.cached,
        "cache_written": usage.cache_written,
        "output": usage.output,
        "thinking": usage.thinking,
    })
}

/// Why a call did not work, in a line: a command says it last, in brackets, after what it printed.
fn why(text: &str) -> &str {
    let last = text.trim_end().lines().last().filter(|line| line.starts_with('[') && line.ends_with(']'));
    last.or_else(|| text.lines().next()).unwrap_or_default()
}

/// An event, as a line of a stream.
fn line(event: &AgentEvent) -> Option<Value> {
    Some(match event {
        AgentEvent::Asking { turn } => json!({ "type": "asking", "turn": turn }),
        AgentEvent::Model(StreamEvent::Text(text)) => json!({ "type": "text", "text": text }),
        AgentEvent::Model(StreamEvent::Thinking(text)) => json!({ "type": "thinking", "text": text }),
        AgentEvent::Model(StreamEvent::Call(call)) => {
            let input = match &call.input {
                // As `started` has it, unless the model wrote no JSON.
                Arguments::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
                Arguments::Value(value) => value.clone(),
            };
            json!({ "type": "call", "call": call.id, "tool": call.name, "input": input })
        }
        AgentEvent::Model(_) => return None,
        AgentEvent::Tool(event) => wire::event(event),
        AgentEvent::Retrying { attempt, delay, error } => json!({
            "type": "asking_again",
            "attempt": attempt,
            "delay_ms": u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            "error": error.to_string(),
        }),
        AgentEvent::Compacted { before, after } => {
            json!({ "type": "compacted", "before": before, "after": after })
        }
        AgentEvent::Notice(words) => json!({ "type": "notice", "text": words }),
        AgentEvent::Usage { answer, total, context } => json!({
            "type": "usage",
            "answer": usage(*answer),
            "total": usage(*total),
            "context": { "used": context.used, "window": context.window },
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Shown, why};

    #[test]
    fn an_answer_that_was_seen_in_parts_is_not_written_again() {
        let shown = |text: &str| Shown { text: text.to_owned(), ..Shown::default() };
        assert!(shown("Let me look.Done.").ends_with("Done.\n"));
        assert!(
            shown("Let me look.The first half,and the second.").ends_with("The first half, and the second.")
        );
        assert!(!shown("Let me look.").ends_with("Done.") && !shown("").ends_with("Done."));
    }

    #[test]
    fn why_a_call_did_not_work_is_said_and_not_what_it_printed_first() {
        assert_eq!(why("Compiling a\nerror\n[exit code 101]\n"), "[exit code 101]");
        assert_eq!(why("cannot read a: it does not exist\nnear: b"), "cannot read a: it does not exist");
        assert_eq!(why(""), "");
    }
}
