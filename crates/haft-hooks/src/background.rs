//! Hooks that nobody waits for (`async = true`).
//!
//! They have an owner all the same: whoever owns the hooks. They end with it, and at the end of a session they are waited
//! for a little, because a program that leaves takes them along.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::task::JoinSet;

/// How many run at once.
const MOST: usize = 32;

/// How long the end of a session waits for them.
const LAST_WORDS: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct Background {
    running: Mutex<JoinSet<()>>,
}

impl Background {
    /// Lets it run. Says no if too many do.
    pub(crate) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        if running.len() >= MOST {
            return false;
        }
        running.spawn(work);
        true
    }

    /// Waits a little for those that run, and ends the rest.
    pub(crate) async fn end(&self) {
        let mut running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while running.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, all).await;
    }
}
