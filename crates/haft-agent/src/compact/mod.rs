//! A conversation that becomes too long for the model's window.
//!
//! First the oldest results go: each is kept in a file, and its path stands in its place, so nothing is lost to the model.
//! Of the latest results, which the model may not have seen yet, those that are too large are shown in part. Where that is
//! not enough, the model writes a summary, and the conversation goes on from there. Requests are no longer those that were
//! cached, so it is done seldom, and then thoroughly.

mod shorter; // messages in fewer words

use haft_engine::{
    result::ToolResult,
    turn::{Interrupt, Occasion},
};
use haft_model::{ErrorKind, History, Message, ModelError, StreamEvent, ToolChoice};
use haft_tool::{Block, shown};

use crate::{Agent, AgentEvent, End, OnEvent};
use shorter::{GONE, asked_last, forget_half, forget_oldest, glimpse, in_short, worded};

/// The conversation is made shorter when so much of the window is taken,
const FULL: f64 = 0.8;
/// until no more than this is.
const ROOMY: f64 = 0.5;

/// The latest messages with results stay as they are, if they are no more than their share,
const LATEST: usize = 2;
/// which is this of the window for each.
const SHARE: f64 = 0.25;

/// A shorter result would not become shorter.
const WORTHWHILE: usize = 600;

/// The summary is asked for so often, each time about less.
const ATTEMPTS: u32 = 4;

/// How much shorter a conversation became, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// About so many before.
    pub before: u64,
    /// About so many now.
    pub after: u64,
}

impl Agent {
    /// Makes the conversation shorter now, by a summary. `wanted` says what must not be lost; it may be empty.
    pub async fn compact(
        &mut self,
        wanted: &str,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Result<Compacted, ModelError> {
        self.introduce().await;
        let before = self.begin_compacting("manual", wanted, on).await;
        self.put_away(0, on).await;
        self.cut_latest(on).await;
        self.summarise(wanted, on, interrupt).await?;
        Ok(self.compacted(before, on).await)
    }

    /// Makes room if the window is nearly full.
    pub(crate) async fn make_room(&mut self, on: OnEvent<'_>, interrupt: &Interrupt) -> Result<(), End> {
        let used = self.gauge.used(&self.history);
        // What could not be made shorter is not tried again in every turn.
        if used < share(self.options.window, FULL) || used < share(self.shortest, 1.2) {
            return Ok(());
        }
        match self.shorten(share(self.options.window, ROOMY), on, interrupt).await {
            Err(_) if interrupt.is_triggered() => Err(End::Interrupted),
            Err(error) => Err(End::Failed(error)),
            // Where nothing could be left out, the API says whether it is too much.
            Ok(_) => Ok(()),
        }
    }

    /// The API says that the conversation is too long, whatever we think of it.
    pub(crate) async fn squeeze(
        &mut self,
        why: ErrorKind,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Result<(), ModelError> {
        let used = self.gauge.used(&self.history).max(1_000);
        let window = self.options.window.min(used);
        // Nothing else is known of the window than that this is more than it has. Too many bytes say nothing of it.
        if why == ErrorKind::ContextWindow {
            self.options.window = window;
        }
        match self.shorten(share(window, ROOMY), on, interrupt).await? {
            true => Ok(()),
            false => Err(error(ErrorKind::ContextWindow, "the conversation cannot be made shorter")),
        }
    }

    /// Makes it no longer than so many tokens, if that can be. Whether it is shorter now.
    async fn shorten(
        &mut self,
        enough: u64,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Result<bool, ModelError> {
        let before = self.begin_compacting("auto", "", on).await;
        self.put_away(enough, on).await;
        if self.gauge.used(&self.history) > enough {
            self.cut_latest(on).await;
        }
        if self.gauge.used(&self.history) > enough {
            self.summarise("", on, interrupt).await?;
        }
        self.gauge.forget();
        self.shortest = self.gauge.used(&self.history);
        if self.shortest >= before {
            return Ok(false);
        }
        self.compacted(before, on).await;
        Ok(true)
    }

    async fn begin_compacting(&mut self, trigger: &str, instructions: &str, on: OnEvent<'_>) -> u64 {
        on(AgentEvent::Compacting);
        self.session.occasion(Occasion::PreCompact { trigger, instructions }).await;
        self.gauge.used(&self.history)
    }

    async fn compacted(&mut self, before: u64, on: OnEvent<'_>) -> Compacted {
        self.gauge.forget();
        if let Some(trouble) = self.rewritten().await {
            on(AgentEvent::Notice(trouble));
        }
        let after = self.gauge.used(&self.history);
        on(AgentEvent::Compacted { before, after });
        Compacted { before, after }
    }

    /// Puts a path in the place of results, the oldest first, until no more than so many tokens are taken.
    async fn put_away(&mut self, enough: u64, on: OnEvent<'_>) {
        let places = self.places_of_results();
        self.gauge.forget();
        for place in &places[..places.len().saturating_sub(LATEST)] {
            if self.gauge.used(&self.history) <= enough {
                return;
            }
            let mut changed = Vec::new();
            for (at, result) in self.results_at(*place).iter().enumerate() {
                match self.handle(result).await {
                    Ok(Some(words)) => changed.push((at, words)),
                    Ok(None) => {}
                    Err(why) => on(not_put_away(&why)),
                }
            }
            self.rewrite(*place, changed);
        }
    }

    /// Shows in part what is larger than its share of the latest results. They are the last that anything is taken from:
    /// the model may not have seen them yet.
    async fn cut_latest(&mut self, on: OnEvent<'_>) {
        let places = self.places_of_results();
        for place in &places[places.len().saturating_sub(LATEST)..] {
            let results = self.results_at(*place);
            let share = share(self.options.window, SHARE) / results.len().max(1) as u64;
            let mut changed = Vec::new();
            for (at, result) in results.iter().enumerate() {
                if self.gauge.tokens(self.weight(result)) <= share {
                    continue;
                }
                match self.handle(result).await {
                    Ok(Some(words)) => {
                        let room = self.gauge.bytes(share).saturating_sub(words.len());
                        changed.push((at, format!("{}{words}", glimpse(&result.text(), room))));
                    }
                    Ok(None) => {}
                    Err(why) => on(not_put_away(&why)),
                }
            }
            self.rewrite(*place, changed);
        }
    }

    fn places_of_results(&self) -> Vec<usize> {
        let messages = self.history.messages().iter().enumerate();
        messages.filter(|(_, message)| matches!(message, Message::Results(_))).map(|(at, _)| at).collect()
    }

    fn results_at(&self, place: usize) -> &[ToolResult] {
        match &self.history.messages()[place] {
            Message::Results(results) => results,
            _ => &[],
        }
    }

    /// What a result takes of the window by itself.
    fn weight(&self, result: &ToolResult) -> usize {
        let mut alone = History::new(self.history.dialect());
        alone.push(Message::Results(vec![result.clone()]));
        alone.weight()
    }

    /// Puts words in the place of what some results of a message say.
    fn rewrite(&mut self, place: usize, changed: Vec<(usize, String)>) {
        if changed.is_empty() {
            return;
        }
        let mut results = self.results_at(place).to_vec();
        for (at, words) in changed {
            results[at].blocks = vec![Block::Text(words)];
        }
        self.history.replace(place, Message::Results(results));
    }

    /// What stands in the place of a result, if that is worthwhile.
    async fn handle(&self, result: &ToolResult) -> std::io::Result<Option<String>> {
        if result.blocks.iter().map(Block::len).sum::<usize>() < WORTHWHILE {
            return Ok(None);
        }
        let path = match result.meta.truncated.as_ref().and_then(|cut| cut.path.clone()) {
            Some(path) => path,
            None if result.blocks.iter().all(|block| block.as_text().is_none()) => {
                return Ok(Some(GONE.to_owned()));
            }
            None => self.session.put_away(&result.call, result.blocks.clone()).await?,
        };
        let kind = if result.is_error() { "error" } else { "result" };
        let words = format!(
            "[This {kind} was put away to make room. It is in {}: read it again if you need it.]",
            shown(&path)
        );
        Ok(Some(words))
    }

    /// Puts a summary in the place of the conversation. What the person asked and has no answer yet, and the last calls with
    /// their results, stay as they are.
    async fn summarise(
        &mut self,
        wanted: &str,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Result<(), ModelError> {
        let summary = self.ask_for_summary(wanted, on, interrupt).await?;
        let mut first = vec![Block::Text(format!("{SUMMARY}\n\n{}", summary.trim()))];
        first.extend(asked_last(&self.prompt));
        let mut kept = vec![Message::User(first)];
        if let [.., said @ Message::Assistant(_), results @ Message::Results(_)] = self.history.messages() {
            kept.extend([said.clone(), results.clone()]);
        }
        self.history.truncate(0);
        self.history.extend(kept);
        Ok(())
    }

    async fn ask_for_summary(
        &mut self,
        wanted: &str,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Result<String, ModelError> {
        let most = share(self.options.window, FULL);
        let prompt = worded(&self.prompt);
        let mut asking = self.history.clone();
        if let Some(Message::Assistant(said)) = asking.messages().last()
            && said.calls().next().is_some()
        {
            // Calls without results are not taken by any API.
            asking.truncate(asking.messages().len() - 1);
        }
        let extra = if wanted.is_empty() { String::new() } else { format!("\n\nAbove all, keep: {wanted}") };
        asking.push(Message::user(format!("{ASK}{extra}")));
        let mut attempt = 1;
        loop {
            if self.gauge.tokens(asking.weight()) > most {
                in_short(&mut asking);
            }
            while self.gauge.tokens(asking.weight()) > most && forget_oldest(&mut asking, &prompt) {}
            let failed = match self.ask(&asking, interrupt).await {
                Ok(text) if !text.trim().is_empty() => return Ok(text),
                Ok(_) => error(ErrorKind::Unreadable, "the model wrote no summary"),
                Err(failed) => failed,
            };
            attempt += 1;
            let too_long = matches!(failed.kind, ErrorKind::ContextWindow | ErrorKind::TooLarge);
            if attempt > ATTEMPTS
                || interrupt.is_triggered()
                || (too_long && !forget_half(&mut asking, &prompt))
            {
                return Err(failed);
            }
            if !too_long {
                let Some(delay) = self.options.patience.before(attempt, &failed) else { return Err(failed) };
                on(AgentEvent::Retrying { attempt, delay, error: failed });
                tokio::select! {
                    () = interrupt.triggered() => {}
                    () = tokio::time::sleep(delay) => {}
                }
            }
        }
    }

    /// Asks without letting anything be called.
    async fn ask(&mut self, history: &History, interrupt: &Interrupt) -> Result<String, ModelError> {
        let mut options = self.request_options(None);
        options.tool_choice = ToolChoice::Never;
        let request = history.request(&options);
        let answer = async {
            let mut stream = self.model.stream(&request).await?;
            while let Some(event) = stream.next().await {
                match event {
                    StreamEvent::Done(response) => return Ok(*response),
                    StreamEvent::Failed(error) => return Err(*error),
                    _ => {}
                }
            }
            Err(error(ErrorKind::CutOff, "the answer broke off in the middle"))
        };
        let response = tokio::select! {
            biased;
            () = interrupt.triggered() => return Err(error(ErrorKind::CutOff, "stopped")),
            answer = answer => answer?,
        };
        self.count(response.usage);
        Ok(response.message.text())
    }
}

const SUMMARY: &str =
    "[The conversation became too long. This is a summary of it; files and what was done are as it says.]";

const ASK: &str = "The conversation has become too long and goes on from a summary, which you write now. Whoever goes on knows \
nothing but it. Write what the person wants and has said about how; what was found out, with paths, names and figures; what \
was changed and where; what failed and why; what was being done just now; and what is still to do. Be exact and short. Call \
no tool.";

fn error(kind: ErrorKind, message: &str) -> ModelError {
    ModelError { kind, message: message.to_owned(), status: None, retry_after: None }
}

fn share(window: u64, share: f64) -> u64 {
    (window as f64 * share) as u64
}

fn not_put_away(why: &std::io::Error) -> AgentEvent {
    AgentEvent::Notice(format!("a result could not be put away: {why}"))
}
