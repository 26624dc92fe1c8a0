//! An answer as it comes.

use std::{collections::VecDeque, time::Duration};

use reqwest::Response as Answer;

use super::{broken, silent};
use crate::{Decoder, Dialect, StreamEvent};

/// So long the end of an answer may take after its last event, before its connection is given up.
const LINGER: Duration = Duration::from_millis(200);

/// The events of one answer. Dropping it ends the request.
#[derive(Debug)]
pub struct Stream {
    /// `None` when all has been read.
    answer: Option<Answer>,
    decoder: Decoder,
    waiting: VecDeque<StreamEvent>,
    idle: Duration,
}

impl Stream {
    pub(super) fn new(answer: Answer, dialect: Dialect, idle: Duration) -> Stream {
        Stream { answer: Some(answer), decoder: Decoder::new(dialect), waiting: VecDeque::new(), idle }
    }

    /// The next event; `None` after the last one, which is `Done` or `Failed`. It can be dropped and asked again: nothing
    /// is lost. Asked to the end, it leaves a connection that the next request can use.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            let answer = self.answer.as_mut()?;
            if self.decoder.is_over() {
                let rest = async { while let Ok(Some(_)) = answer.chunk().await {} };
                let _ = tokio::time::timeout(LINGER, rest).await;
                self.answer = None;
                return None;
            }
            let events = match tokio::time::timeout(self.idle, answer.chunk()).await {
                Ok(Ok(Some(piece))) => self.decoder.feed(&piece),
                Ok(Ok(None)) => self.decoder.end(),
                Ok(Err(err)) => self.decoder.fail(broken(&err)),
                Err(_) => self.decoder.fail(silent(self.idle)),
            };
            self.waiting.extend(events);
        }
    }
}
