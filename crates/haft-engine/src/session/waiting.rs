//! The time that a call waits for a person: it is none of the call's own.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

/// How long a call has waited for a person, and whether it waits now.
#[derive(Debug, Default)]
pub(crate) struct WaitingTime {
    waited_us: AtomicU64,
    open: watch::Sender<usize>,
}

/// An open question. The call's time goes on when it is dropped.
pub(crate) struct OpenQuestion<'a> {
    of: &'a WaitingTime,
    since: Instant,
}

impl WaitingTime {
    /// The call waits for a person from now on.
    pub(crate) fn begin(&self) -> OpenQuestion<'_> {
        self.open.send_modify(|open| *open += 1);
        OpenQuestion { of: self, since: Instant::now() }
    }

    /// How long it has waited, in questions that are closed.
    pub(crate) fn total(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Ordering::Relaxed))
    }

    /// Returns when the call has worked for so long, not counting what it waits for a person from now on.
    pub(crate) async fn elapse(&self, limit: Duration) {
        let (began, waited) = (Instant::now(), self.total());
        let mut open = self.open.subscribe();
        loop {
            // The sender is `self`: it is there as long as this runs.
            let _ = open.wait_for(|open| *open == 0).await;
            let worked = began.elapsed().saturating_sub(self.total().saturating_sub(waited));
            match limit.checked_sub(worked).filter(|left| !left.is_zero()) {
                Some(left) => tokio::time::sleep(left).await,
                None if *open.borrow() == 0 => return,
                None => {}
            }
        }
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let waited = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.of.waited_us.fetch_add(waited, Ordering::Relaxed);
        self.of.open.send_modify(|open| *open -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_open_question_stops_the_clock_of_its_call() {
        let waiting = WaitingTime::default();
        let began = Instant::now();
        let person = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let question = waiting.begin();
            tokio::time::sleep(Duration::from_secs(500)).await;
            drop(question);
        };
        tokio::join!(waiting.elapse(Duration::from_secs(10)), person);
        assert_eq!(began.elapsed().as_secs(), 510);
        assert_eq!(waiting.total(), Duration::from_secs(500));
    }
}
