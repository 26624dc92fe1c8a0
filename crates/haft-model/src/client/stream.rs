//! An answer as it comes.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use haft_tool::CallId;
use reqwest::Response as Answer;

use super::{Endpoint, broke_off, silent};
use crate::{Assistant, Decoder, StreamEvent};

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

    /// What the model has said so far, as far as it was given out: what a conversation keeps of an answer that is given up.
    pub fn so_far(&mut self) -> Assistant {
        let unheard = self.waiting.iter().filter_map(|event| match event {
            StreamEvent::Call(call) => Some(&call.id),
            _ => None,
        });
        let unheard: HashSet<&CallId> = unheard.collect();
        self.decoder.so_far(|id| !unheard.contains(id))
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
                Ok(Err(err)) => self.decoder.fail(broke_off(&err)),
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
