//! What is sent in answer to a request of the old era, and again if the client comes back for it.
//!
//! There a closed stream means nothing: the call goes on, and the client may ask for what it missed. So what is sent is kept
//! for a while, within bounds.

use std::{collections::VecDeque, sync::Mutex};

use axum::body::Bytes;
use tokio::sync::watch;

use crate::server::door::lock;

/// So much is kept of a stream. What is older is gone.
const MOST_KEPT: usize = 512;
const MOST_BYTES: usize = 4 << 20;

/// One stream of messages.
pub(super) struct Track {
    /// Its number in the session; 0 is what belongs to no request.
    pub(super) number: u64,
    log: Mutex<Log>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Log {
    /// The place of the first that is kept.
    first: u64,
    kept: VecDeque<Bytes>,
    bytes: usize,
    is_over: bool,
    /// The place of the first that nobody was sent yet.
    unsent: u64,
}

/// What comes next on a track.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// A message, and its place.
    Message(u64, Bytes),
    /// Nothing any more.
    Over,
}

impl Track {
    pub(super) fn new(number: u64) -> Track {
        Track { number, log: Mutex::default(), changed: watch::Sender::new(0) }
    }

    pub(super) fn push(&self, message: Bytes) {
        self.add(message, false);
    }

    /// Adds the last message, in one step with the end: who reads it knows that it is the last.
    pub(super) fn finish(&self, message: Bytes) {
        self.add(message, true);
    }

    fn add(&self, message: Bytes, is_last: bool) {
        let mut log = lock(&self.log);
        log.is_over = is_last;
        log.bytes += message.len();
        log.kept.push_back(message);
        while log.kept.len() > MOST_KEPT || (log.bytes > MOST_BYTES && log.kept.len() > 1) {
            let dropped = log.kept.pop_front().map_or(0, |message| message.len());
            log.bytes -= dropped;
            log.first += 1;
        }
        drop(log);
        self.changed.send_modify(|changes| *changes += 1);
    }

    pub(super) fn end(&self) {
        lock(&self.log).is_over = true;
        self.changed.send_modify(|changes| *changes += 1);
    }

    pub(super) fn is_over(&self) -> bool {
        lock(&self.log).is_over
    }

    /// What comes at this place, or after it if that is gone.
    pub(super) async fn next(&self, place: u64) -> Next {
        let mut changes = self.changed.subscribe();
        loop {
            changes.borrow_and_update();
            if let Some(next) = self.look(place) {
                return next;
            }
            if changes.changed().await.is_err() {
                return Next::Over;
            }
        }
    }

    fn look(&self, place: u64) -> Option<Next> {
        let log = lock(&self.log);
        let place = place.max(log.first);
        match log.kept.get((place - log.first) as usize) {
            Some(message) => Some(Next::Message(place, message.clone())),
            None => log.is_over.then_some(Next::Over),
        }
    }

    /// Whether nothing comes any more from this place on.
    pub(super) fn ends_at(&self, place: u64) -> bool {
        self.look(place) == Some(Next::Over)
    }

    /// Somebody was sent what is at this place.
    pub(super) fn was_sent(&self, place: u64) {
        let mut log = lock(&self.log);
        log.unsent = log.unsent.max(place + 1);
    }

    /// Where somebody begins who comes for the first time: what others have had is not for them.
    pub(super) fn first_unsent(&self) -> u64 {
        lock(&self.log).unsent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_missed_comes_again_and_then_what_is_new() {
        let track = Track::new(1);
        track.push("a".into());
        track.push("b".into());
        assert_eq!(track.next(1).await, Next::Message(1, "b".into()));
        let (next, ()) = tokio::join!(track.next(2), async { track.push("c".into()) });
        assert_eq!(next, Next::Message(2, "c".into()));
        track.end();
        assert_eq!(track.next(3).await, Next::Over);
        assert_eq!(track.next(0).await, Next::Message(0, "a".into()));
    }

    #[tokio::test]
    async fn who_reads_the_last_message_knows_that_it_is_the_last() {
        let track = Track::new(1);
        track.push("a".into());
        assert!(!track.ends_at(1));
        track.finish("b".into());
        assert!(track.ends_at(2) && !track.ends_at(1));
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded() {
        let track = Track::new(0);
        for number in 0..MOST_KEPT + 10 {
            track.push(number.to_string().into());
        }
        assert_eq!(track.next(0).await, Next::Message(10, "10".into()));
        track.was_sent(12);
        assert_eq!(track.first_unsent(), 13);
    }
}
