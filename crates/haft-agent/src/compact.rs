//! A conversation that becomes too long for the model's window.
//!
//! First the oldest results go: each is kept in a file, and its path stands in its place, so nothing is lost to the model.
//! Where that is not enough, the model writes a summary, and the conversation goes on from there. Requests are no longer
//! those that were cached, so it is done seldom, and then thoroughly.

use haft_engine::{
    result::ToolResult,
    turn::{Interrupt, Occasion},
};
use haft_model::{ErrorKind, History, Message, ModelError, StreamEvent, ToolChoice};
use haft_tool::{Block, shown};

use crate::{Agent, AgentEvent, End, OnEvent};

/// The conversation is made shorter when so much of the window is taken,
const FULL: f64 = 0.8;
/// until no more than this is.
const ROOMY: f64 = 0.5;

/// The latest messages with results stay as they are.
const LATEST: usize = 2;

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
        match self.shorten(on, interrupt).await {
            Err(_) if interrupt.is_triggered() => Err(End::Interrupted),
            Err(error) => Err(End::Failed(error)),
            // Where nothing could be left out, the API says whether it is too much.
            Ok(_) => Ok(()),
        }
    }

    /// The API says that the conversation is too long, whatever we think of it.
    pub(crate) async fn squeeze(&mut self, on: OnEvent<'_>, interrupt: &Interrupt) -> Result<(), ModelError> {
        let used = self.gauge.used(&self.history);
        // Nothing else is known of the window than that this is more than it has.
        self.options.window = self.options.window.min(used.max(1_000));
        match self.shorten(on, interrupt).await? {
            true => Ok(()),
            false => Err(error(ErrorKind::ContextWindow, "the conversation cannot be made shorter")),
        }
    }

    /// Whether it is shorter now.
    async fn shorten(&mut self, on: OnEvent<'_>, interrupt: &Interrupt) -> Result<bool, ModelError> {
        let before = self.begin_compacting("auto", "", on).await;
        let enough = share(self.options.window, ROOMY);
        self.put_away(enough, on).await;
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
        let with_results = |message: &Message| matches!(message, Message::Results(_));
        let places: Vec<usize> = (0..self.history.messages().len())
            .filter(|at| with_results(&self.history.messages()[*at]))
            .collect();
        self.gauge.forget();
        for place in &places[..places.len().saturating_sub(LATEST)] {
            if self.gauge.used(&self.history) <= enough {
                return;
            }
            let Message::Results(results) = &self.history.messages()[*place] else { continue };
            let mut results = results.clone();
            let mut is_changed = false;
            for result in &mut results {
                match self.handle(result).await {
                    Ok(Some(words)) => {
                        result.blocks = vec![Block::Text(words)];
                        is_changed = true;
                    }
                    Ok(None) => {}
                    Err(why) => on(AgentEvent::Notice(format!("a result could not be put away: {why}"))),
                }
            }
            if is_changed {
                self.history.replace(*place, Message::Results(results));
            }
        }
    }

    /// What stands in the place of a result, if that is worthwhile.
    async fn handle(&self, result: &ToolResult) -> std::io::Result<Option<String>> {
        let size: usize = result.blocks.iter().map(size).sum();
        if size < WORTHWHILE {
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

    /// Puts a summary in the place of the conversation. What the person asked last, and the last calls with their results,
    /// stay as they are.
    async fn summarise(
        &mut self,
        wanted: &str,
        on: OnEvent<'_>,
        interrupt: &Interrupt,
    ) -> Result<(), ModelError> {
        let summary = self.ask_for_summary(wanted, on, interrupt).await?;
        let messages = self.history.messages();
        let mut first = vec![Block::Text(format!("{SUMMARY}\n\n{}", summary.trim()))];
        if !self.prompt.is_empty() {
            first.push(Block::Text("What the person asked last, word for word:".to_owned()));
            first.extend(self.prompt.iter().cloned());
        }
        let mut kept = vec![Message::User(first)];
        if let [.., said @ Message::Assistant(_), results @ Message::Results(_)] = messages {
            let bytes: usize = match results {
                Message::Results(results) => results.iter().flat_map(|result| &result.blocks).map(size).sum(),
                _ => 0,
            };
            if self.gauge.tokens(bytes) < share(self.options.window, ROOMY / 2.0) {
                kept.extend([said.clone(), results.clone()]);
            }
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
            while self.gauge.tokens(asking.bytes()) > most && forget_oldest(&mut asking) {}
            let failed = match self.ask(&asking, interrupt).await {
                Ok(text) if !text.trim().is_empty() => return Ok(text),
                Ok(_) => error(ErrorKind::Unreadable, "the model wrote no summary"),
                Err(failed) => failed,
            };
            attempt += 1;
            let too_long = matches!(failed.kind, ErrorKind::ContextWindow | ErrorKind::TooLarge);
            if attempt > ATTEMPTS || interrupt.is_triggered() || (too_long && !forget_half(&mut asking)) {
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
        let mut options = self.request_options();
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

const GONE: &str = "[A picture or document was here. It was left out to make room.]";

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

fn size(block: &Block) -> usize {
    match block {
        Block::Text(text) => text.len(),
        Block::Image { data, .. } | Block::Audio { data, .. } | Block::Document { data, .. } => data.len(),
        Block::Link { uri, name, .. } => uri.len() + name.len(),
    }
}

/// Leaves out the oldest messages, with the results that belong to them. Says no if there are none but the last one.
fn forget_oldest(history: &mut History) -> bool {
    forget_before(history, OLDEST)
}

/// Leaves out the older half.
fn forget_half(history: &mut History) -> bool {
    forget_before(history, (history.messages().len() / 2).max(OLDEST))
}

/// At least so many are left out at once: one word is put in their place, so that one would not be less.
const OLDEST: usize = 2;

fn forget_before(history: &mut History, least: usize) -> bool {
    let messages = history.messages();
    let cut = (least..messages.len()).find(|at| !matches!(messages[*at], Message::Results(_)));
    cut.is_some_and(|cut| forget(history, cut))
}

fn forget(history: &mut History, cut: usize) -> bool {
    let rest = history.messages()[cut..].to_vec();
    history.truncate(0);
    // APIs want a conversation to begin with the person.
    if !matches!(rest.first(), Some(Message::User(_))) {
        history.push(Message::user("[What was said before this is left out.]"));
    }
    history.extend(rest);
    true
}

#[cfg(test)]
mod tests {
    use haft_engine::Call;
    use haft_model::{Assistant, Dialect, Part, Said};
    use serde_json::json;

    use super::*;

    /// Messages as letters: `u`ser, `a`ssistant, `r`esults.
    fn history(letters: &str) -> History {
        let mut history = History::new(Dialect::Anthropic);
        for letter in letters.chars() {
            let call = Call::new("1", "Read", json!({}));
            history.push(match letter {
                'u' => Message::user("Go"),
                'a' => Message::Assistant(Assistant { parts: vec![Part::new(Said::Call(call))] }),
                _ => Message::Results(Vec::new()),
            });
        }
        history
    }

    fn letters(history: &History) -> String {
        let letter = |message: &Message| match message {
            Message::User(_) => 'u',
            Message::Assistant(_) => 'a',
            Message::Results(_) => 'r',
        };
        history.messages().iter().map(letter).collect()
    }

    #[test]
    fn what_is_left_begins_with_the_person_and_becomes_shorter_until_only_the_last_is_left() {
        let mut history = history("uararauaru");
        let mut seen = vec![letters(&history)];
        while forget_oldest(&mut history) {
            seen.push(letters(&history));
        }
        assert_eq!(seen, ["uararauaru", "uarauaru", "uauaru", "uaru", "u"]);
    }

    #[test]
    fn half_of_it_is_left_out_at_once() {
        let mut history = history("uararararu");
        assert!(forget_half(&mut history));
        assert_eq!(letters(&history), "uararu");
    }
}
