//! A connection in use, and who ends it.

use std::{
    fmt,
    ops::Deref,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{task::AbortHandle, time::Instant};

use crate::client::Connection;

/// A connection of a principal. It stays as long as somebody has a [`Lease`] of it, and a while longer.
pub(super) struct Line {
    connection: Connection,
    /// How many leases there are.
    leases: AtomicUsize,
    /// When the last lease was given or given back.
    used: Mutex<Instant>,
    /// Whoever waits for its end,
    keeper: Mutex<Option<Guard>>,
    /// and whoever waits for news.
    listener: Mutex<Option<Guard>>,
}

impl Line {
    pub(super) fn new(connection: Connection) -> Arc<Line> {
        let (leases, used) = (AtomicUsize::new(0), Mutex::new(Instant::now()));
        Arc::new(Line { connection, leases, used, keeper: Mutex::default(), listener: Mutex::default() })
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The task that waits for its end, and ends with it.
    pub(super) fn kept_by(&self, keeper: AbortHandle) {
        *self.keeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(Guard::new(keeper));
    }

    /// The task that hears its news, where that needs one.
    pub(super) fn listens(&self, listener: AbortHandle) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(Guard::new(listener));
    }

    pub(super) fn lease(self: &Arc<Line>) -> Lease {
        self.leases.fetch_add(1, Ordering::Relaxed);
        self.touch();
        Lease(self.clone())
    }

    /// How long it must stay unused yet until nobody has needed it for so long.
    pub(super) fn spare(&self, unused: Duration) -> Duration {
        if self.leases.load(Ordering::Relaxed) > 0 {
            return unused;
        }
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        unused.saturating_sub(used.elapsed())
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// A connection, lent: it is not taken for unused while this is held. Use it like a [`Connection`].
pub struct Lease(Arc<Line>);

impl Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0.connection
    }
}

impl Clone for Lease {
    fn clone(&self) -> Lease {
        self.0.lease()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.touch();
        self.0.leases.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}

/// A task that ends with its owner.
pub(super) struct Guard(Option<AbortHandle>);

impl Guard {
    pub(super) fn new(task: AbortHandle) -> Guard {
        Guard(Some(task))
    }

    /// Lets the task go on: it is ending by itself.
    pub(super) fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}
