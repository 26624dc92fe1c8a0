//! From what a person wants to an answer.

use haft_engine::{
    policy::{Said, Verdict, strictest},
    turn::{Interrupt, Occasion},
};
use haft_model::{ErrorKind, Message, ModelError, Stop, Usage};
use haft_tool::Block;

use crate::{
    Agent, AgentEvent, End, OnEvent, Outcome, Prompt,
    exchange::{Answered, Exchanged, last_text},
    guard::{Guard, HOW_TO_WAIT, Judged, words},
    tasks,
};

/// So often an answer that was cut off at the most tokens is asked to go on, in a row.
const MOST_CONTINUED: u32 = 3;

/// So often in a row a model that stops without a word is asked again.
const MOST_EMPTY: u32 = 2;

/// So often in a row a model may want to be asked again with what it said so far, or a hook may keep it going.
const MOST_AGAIN: u32 = 20;

/// The books of a run.
#[derive(Default)]
struct Run {
    turns: u32,
    usage: Usage,
    text: String,
    /// Attempts in a row without an answer.
    failed: u32,
    /// Answers in a row that were cut off.
    continued: u32,
    /// Answers in a row without a word, or that were broken.
    empty: u32,
    /// Whether the last answer was not whole: what comes next goes on with it.
    unfinished: bool,
    /// Whether thoughts were left out because the API did not take them back, and there was no answer since.
    forgot: bool,
    /// Whether the conversation was made shorter because the API said that it must be, and has not been answered since.
    squeezed: bool,
    /// Answers in a row after which the model wanted to be asked again.
    paused: u32,
    /// How often a hook has kept the model going.
    kept_going: u32,
}

impl Run {
    /// What the model says: its last words, with what they go on with.
    fn hear(&mut self, text: String) {
        let goes_on = std::mem::take(&mut self.unfinished);
        match text.trim().is_empty() {
            true => {}
            false if goes_on => self.text.push_str(&text),
            false => self.text = text,
        }
    }

    fn end(self, end: End) -> Outcome {
        Outcome { end, text: self.text, turns: self.turns, usage: self.usage }
    }
}

impl Agent {
    /// Does what a person wants, and comes back when there is an answer, or none to be had. Whatever happens, the
    /// conversation is one that the API takes: the next run goes on with it.
    ///
    /// The first `interrupt` stops the turn; what was done is kept, and every call has a result. The second one also stops
    /// calls that ask to be waited for. A new run needs a new one. Needs a tokio runtime with its clock enabled.
    pub async fn run(
        &mut self,
        prompt: impl Into<Prompt>,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Outcome {
        let prompt: Prompt = prompt.into();
        let text = prompt.text();
        self.session.set_request(&text);
        let said = self.session.occasion(Occasion::UserPrompt { prompt: &text }).await;
        notices(&said, on);
        if let Some(reason) = refusal(&said) {
            return Run::default().end(End::Stopped(reason));
        }
        // What somebody asks for again is no circle of the model's.
        self.guard = Guard::default();
        self.catch_up(on, interrupt).await;
        let mut blocks: Vec<Block> = self.preface.drain(..).map(Block::Text).collect();
        blocks.extend(tasks::news(&self.session, on).map(Block::Text));
        blocks.extend(said.into_iter().filter_map(|said| said.context).map(Block::Text));
        blocks.extend(prompt.0.iter().cloned());
        self.prompt = prompt.0;
        // Also where somebody has stopped it by now: what was typed is not lost.
        self.add(Message::User(blocks), on).await;
        self.go(on, interrupt).await
    }

    /// Goes on with a conversation that was cut off, without another word of the person. One that was answered is answered
    /// with what was said.
    pub async fn resume(&mut self, on: OnEvent<'_>, interrupt: &Interrupt) -> Outcome {
        self.session.set_request(&Prompt(self.prompt.clone()).text());
        self.guard = Guard::default();
        self.catch_up(on, interrupt).await;
        if interrupt.is_triggered() {
            return Run::default().end(End::Interrupted);
        }
        match self.history.messages().last() {
            Some(Message::User(blocks)) if blocks.last().is_some_and(is_stop) => {
                self.add(Message::user(RESUMED), on).await;
                self.go(on, interrupt).await
            }
            Some(Message::User(_) | Message::Results(_)) => self.go(on, interrupt).await,
            _ => {
                let text = last_text(self.history.messages());
                Run { text, ..Run::default() }.end(End::Answered)
            }
        }
    }

    /// Gives calls that have none their results.
    async fn catch_up(&mut self, on: OnEvent<'_>, interrupt: &Interrupt) {
        let mut results = self.settle(on, interrupt).await;
        if let Some(last) = results.last_mut() {
            last.messages.extend(tasks::news(&self.session, on));
            self.add(Message::Results(results), on).await;
        }
    }

    async fn add(&mut self, message: Message, on: OnEvent<'_>) {
        if let Some(trouble) = self.say(message, &[]).await {
            on(AgentEvent::Notice(trouble));
        }
    }

    async fn go(&mut self, on: OnEvent<'_>, interrupt: &Interrupt) -> Outcome {
        let mut run = Run::default();
        loop {
            if interrupt.is_triggered() {
                return self.interrupted(run, on).await;
            }
            if self.options.max_turns.is_some_and(|most| run.turns >= most) {
                return run.end(End::TurnLimit);
            }
            if self.is_used_up(&run) {
                return run.end(End::TokenLimit);
            }
            self.introduce().await;
            if let Err(end) = self.make_room(on, interrupt).await {
                return run.end(end);
            }
            on(AgentEvent::Asking { turn: run.turns + 1 });
            let left = self.options.max_tokens.map(|most| most.saturating_sub(run.usage.output));
            match self.exchange(left, on, interrupt).await {
                Exchanged::Interrupted { text } => {
                    run.hear(text);
                    return self.interrupted(run, on).await;
                }
                Exchanged::Failed(error) => {
                    if let Some(end) = self.failed(&mut run, error, on, interrupt).await {
                        return run.end(end);
                    }
                }
                Exchanged::Answered(answered) => {
                    if let Some(end) = self.answered(&mut run, answered, on, interrupt).await {
                        return run.end(end);
                    }
                }
            }
        }
    }

    /// The model is told, with whatever comes next, that this was stopped: also by another process that goes on with it.
    async fn interrupted(&mut self, run: Run, on: OnEvent<'_>) -> Outcome {
        self.add(Message::user(INTERRUPTED), on).await;
        run.end(End::Interrupted)
    }

    /// There is no answer: asks again, after a while or with less.
    async fn failed(
        &mut self,
        run: &mut Run,
        error: ModelError,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Option<End> {
        if matches!(error.kind, ErrorKind::ContextWindow | ErrorKind::TooLarge) && !run.squeezed {
            run.squeezed = true;
            return match self.squeeze(error.kind, on, interrupt).await {
                Ok(()) => None,
                Err(_) if interrupt.is_triggered() => None,
                Err(_) => Some(End::Failed(error)),
            };
        }
        if self.does_without(run, error.kind, on).await {
            return None;
        }
        run.failed += 1;
        let Some(delay) = self.options.patience.before(run.failed + 1, &error) else {
            return Some(End::Failed(self.options.patience.explained(error)));
        };
        on(AgentEvent::Retrying { attempt: run.failed + 1, delay, error });
        tokio::select! {
            biased;
            () = interrupt.triggered() => {}
            () = tokio::time::sleep(delay) => {}
        }
        None
    }

    /// Leaves out what the API does not take. Whether there was anything of the kind: then the rest is asked again.
    async fn does_without(&mut self, run: &mut Run, why: ErrorKind, on: OnEvent<'_>) -> bool {
        match why {
            ErrorKind::Media if self.history.has_media() => {
                self.history.set_media(false);
                self.gauge.forget();
                on(AgentEvent::Notice(NO_MEDIA.to_owned()));
                true
            }
            ErrorKind::Thoughts if !std::mem::replace(&mut run.forgot, true) => {
                self.history.forget_thoughts();
                self.gauge.forget();
                if let Some(trouble) = self.rewritten().await {
                    on(AgentEvent::Notice(trouble));
                }
                true
            }
            _ => false,
        }
    }

    /// There is an answer: the results of its calls join the conversation. Gives the end, if this is it.
    async fn answered(
        &mut self,
        run: &mut Run,
        answered: Answered,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Option<End> {
        let Answered { text, stop, usage, calls, mut results } = answered;
        run.turns += 1;
        (run.failed, run.squeezed, run.forgot) = (0, false, false);
        run.usage += usage;
        self.count(usage);
        let is_empty = text.trim().is_empty() || matches!(stop, Stop::Broken(_));
        run.empty = if is_empty && calls.is_empty() { run.empty + 1 } else { 0 };
        run.hear(text);
        on(AgentEvent::Usage { answer: usage, total: self.usage, context: self.context() });
        if calls.is_empty() {
            return self.without_calls(run, stop, on, interrupt).await;
        }
        (run.continued, run.paused) = (0, 0);
        let judged = self.guard.judge(&calls.iter().zip(&results).collect::<Vec<_>>());
        match judged {
            Judged::Fine => {}
            Judged::Waits(place) => results[place].messages.push(HOW_TO_WAIT.to_owned()),
            Judged::Tell(place) | Judged::Stuck(place) => {
                results[place].messages.push(words(&calls[place].name));
            }
        }
        if let Some(last) = results.last_mut() {
            last.messages.extend(tasks::news(&self.session, on));
        }
        let hook_stops = results.iter().find_map(|result| result.stops_turn().map(str::to_owned));
        self.add(Message::Results(results), on).await;
        match (judged, hook_stops) {
            (_, Some(why)) => Some(End::Stopped(why)),
            (Judged::Stuck(place), None) if !interrupt.is_triggered() => {
                Some(End::Stuck(calls[place].name.clone()))
            }
            _ => None,
        }
    }

    /// Whether the run has no token left.
    fn is_used_up(&self, run: &Run) -> bool {
        self.options.max_tokens.is_some_and(|most| run.usage.output >= most)
    }

    /// The model makes no more calls: it has answered, or there is a reason to ask it to go on.
    async fn without_calls(
        &mut self,
        run: &mut Run,
        stop: Stop,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Option<End> {
        match stop {
            Stop::Refused => return Some(End::Refused),
            Stop::Paused => {
                run.paused += 1;
                run.unfinished = true;
                return (run.paused > MOST_AGAIN).then_some(End::TokenLimit);
            }
            Stop::MaxTokens if run.continued >= MOST_CONTINUED || self.is_used_up(run) => {
                return Some(End::TokenLimit);
            }
            Stop::MaxTokens => {
                run.continued += 1;
                run.unfinished = true;
                self.add(Message::user(GO_ON), on).await;
                return None;
            }
            Stop::ContextWindow if !run.squeezed => {
                run.squeezed = true;
                run.unfinished = true;
                if self.squeeze(ErrorKind::ContextWindow, on, interrupt).await.is_err() {
                    return Some(End::TokenLimit);
                }
                self.add(Message::user(GO_ON), on).await;
                return None;
            }
            Stop::ContextWindow => return Some(End::TokenLimit),
            Stop::End | Stop::Calls | Stop::Broken(_) | Stop::Other(_) => {}
        }
        if let Some(error) = wordless(run, &stop) {
            if run.empty > MOST_EMPTY {
                return Some(End::Failed(error));
            }
            // What was said of a broken answer stays, and somebody has to ask for the rest of it.
            if matches!(self.history.messages().last(), Some(Message::Assistant(_))) {
                self.add(Message::user(again(&error)), on).await;
            }
            run.failed = run.empty - 1;
            return self.failed(run, error, on, interrupt).await;
        }
        let said = self.session.stops(&run.text, run.kept_going > 0).await;
        notices(&said, on);
        if let Some(why) = said.iter().find_map(|said| said.stop.clone()) {
            return Some(End::Stopped(why));
        }
        match refusal(&said) {
            None => {
                self.prompt.clear();
                Some(End::Answered)
            }
            Some(reason) if run.kept_going >= MOST_AGAIN => Some(End::Stopped(reason)),
            Some(reason) => {
                run.kept_going += 1;
                self.add(Message::user(reason), on).await;
                None
            }
        }
    }
}

/// What is wrong with an answer without a word. After other words, the end of a turn needs none; what its API could not read,
/// such as a call, is no end, whatever was said before it.
fn wordless(run: &Run, stop: &Stop) -> Option<ModelError> {
    let message = match stop {
        _ if run.empty == 0 => return None,
        Stop::Broken(why) => format!("the model's answer is not whole ({why})"),
        Stop::Other(why) => format!("the model stopped without a word ({why})"),
        _ if !run.text.is_empty() || (run.empty > MOST_EMPTY && run.turns > run.empty) => return None,
        _ => "the model stopped without a word".to_owned(),
    };
    Some(ModelError { kind: ErrorKind::Unreadable, message, status: None, retry_after: None })
}

const INTERRUPTED: &str = "[The person stopped the turn before it was complete.]";

const RESUMED: &str = "[They want you to go on with it now.]";

const NO_MEDIA: &str = "the model does not take pictures or documents, or not one of these: from now on it is told in words what there is";

fn again(why: &ModelError) -> String {
    format!(
        "[That did not arrive: {}. Say or do it again; calls must be calls, in the form of the tools.]",
        why.message
    )
}

/// Whether a message is nothing but the word that the person stopped the turn, which nobody typed.
pub fn tells_stop(message: &Message) -> bool {
    matches!(message, Message::User(blocks) if !blocks.is_empty() && blocks.iter().all(is_stop))
}

fn is_stop(block: &Block) -> bool {
    block.as_text() == Some(INTERRUPTED)
}

const GO_ON: &str =
    "[Your answer was cut off because it was too long. Go on where it stopped, in smaller steps.]";

/// Why hooks say no, if they do.
fn refusal(said: &[Said]) -> Option<String> {
    let strictest = strictest(said).filter(|said| said.verdict == Some(Verdict::Deny))?;
    let reason = strictest.reason.as_deref().unwrap_or("without a reason");
    Some(format!("the hook `{}` said no: {reason}", strictest.by))
}

fn notices(said: &[Said], on: OnEvent<'_>) {
    for said in said {
        if let Some(notice) = &said.notice {
            on(AgentEvent::Notice(format!("{} `{}`: {notice}", said.at, said.by)));
        }
    }
}
