//! An answer as it comes.

use std::{collections::VecDeque, time::Duration};

use reqwest::Response as Answer;

use super::{Endpoint, broken, silent};
use crate::{Decoder, StreamEvent};

/// So long the end of an answer may take after its last event, before its connection is given up.
const LINGER: Duration = Duration::from_millis(200);

/// The events of one answer. Dropping it ends the request.
#[derive(Debug)]
pub struct Stream {
    /// `None` when all has been read.
    answer: Option<Answer>,
    decoder: Decoder,
    waiting: VecDeque<StreamEvent>,
    endpoint: Endpoint,
}

impl Stream {
    pub(super) fn new(answer: Answer, endpoint: Endpoint) -> Stream {
        let decoder = Decoder::new(endpoint.dialect());
        Stream { answer: Some(answer), decoder, waiting: VecDeque::new(), endpoint }
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
            let idle = self.endpoint.idle;
            let events = match tokio::time::timeout(idle, answer.chunk()).await {
                Ok(Ok(Some(piece))) => self.decoder.feed(&piece),
                Ok(Ok(None)) => self.decoder.end(),
                Ok(Err(err)) => self.decoder.fail(broken(&err)),
                Err(_) => self.decoder.fail(silent(idle)),
            };
            self.waiting.extend(events.into_iter().map(|event| match event {
                StreamEvent::Failed(error) => {
                    StreamEvent::Failed(Box::new(self.endpoint.without_key(*error)))
                }
                event => event,
            }));
        }
    }
}
