//! An answer as it comes.

use std::{
    collections::{HashSet, VecDeque},
    pin::{Pin, pin},
    time::Duration,
};

use bytes::Bytes;
use haft_tool::CallId;
use reqwest::Response as Answer;
use tokio::time::{Instant, Sleep, sleep};

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
    /// Rings when it may have been silent for too long.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    pub(super) fn new(answer: Answer, endpoint: Endpoint) -> Stream {
        let decoder = Decoder::new(endpoint.dialect());
        Stream { answer: Some(answer), decoder, waiting: VecDeque::new(), endpoint, alarm: None }
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
            if self.decoder.is_over() {
                let answer = self.answer.as_mut()?;
                let rest = async { while let Ok(Some(_)) = answer.chunk().await {} };
                let _ = tokio::time::timeout(LINGER, rest).await;
                self.answer = None;
                return None;
            }
            let events = match self.piece().await? {
                Heard::Piece(piece) => self.decoder.feed(&piece),
                Heard::End => self.decoder.end(),
                Heard::Broken(err) => self.decoder.fail(broke_off(&err)),
                Heard::Nothing => self.decoder.fail(silent(self.endpoint.idle)),
            };
            self.waiting.extend(events.into_iter().map(|event| match event {
                StreamEvent::Failed(error) => {
                    StreamEvent::Failed(Box::new(self.endpoint.without_key(*error)))
                }
                event => event,
            }));
        }
    }

    /// The next piece of the answer; `None` if all has been read.
    async fn piece(&mut self) -> Option<Heard> {
        let Stream { answer, alarm, endpoint, .. } = self;
        let (since, idle) = (Instant::now(), endpoint.idle);
        let mut chunk = pin!(answer.as_mut()?.chunk());
        // One for the whole answer, which looks at the time when it rings: there may be a piece for every few characters.
        let alarm = alarm.get_or_insert_with(|| Box::pin(sleep(idle)));
        loop {
            tokio::select! {
                biased;
                piece = &mut chunk => return Some(match piece {
                    Ok(Some(piece)) => Heard::Piece(piece),
                    Ok(None) => Heard::End,
                    Err(err) => Heard::Broken(err),
                }),
                () = alarm.as_mut() => {
                    let left = idle.saturating_sub(since.elapsed());
                    if left.is_zero() {
                        return Some(Heard::Nothing);
                    }
                    *alarm = Box::pin(sleep(left));
                }
            }
        }
    }
}

/// What came of listening.
enum Heard {
    Piece(Bytes),
    End,
    Broken(reqwest::Error),
    /// For too long.
    Nothing,
}
