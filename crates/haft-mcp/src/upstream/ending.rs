//! Letting go of a server: because nobody needs it, because it died, or because haft ends.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use futures::future::join_all;
use tokio::time::{Instant, sleep};

use super::{
    Principal, Upstream,
    line::Line,
    one::{Inner, Link},
};

impl Upstream {
    /// Ends all its connections, and its processes.
    pub async fn close(&self) {
        let links: Vec<Link> = self.inner().links.drain().map(|(_, link)| link).collect();
        join_all(links.iter().map(|link| async move {
            if let Link::Up(line) = link {
                line.connection().close().await;
            }
        }))
        .await;
    }

    /// Ends the connection of one principal: a client of ours that has gone.
    pub async fn close_for(&self, principal: &Principal) {
        if self.server.shared {
            return;
        }
        let link = self.inner().links.remove(principal);
        if let Some(Link::Up(line)) = link {
            line.connection().close().await;
        }
    }

    /// A connection ended, and nobody had asked for that.
    fn died(&self, key: &Principal, line: &Arc<Line>, why: &str) {
        {
            let mut inner = self.inner();
            if !inner.is_that(key, line) {
                return;
            }
            inner.links.remove(key);
            inner.health.died(why, Instant::now());
        }
        self.changed();
    }

    /// Takes an unused connection away, for its end.
    fn retire(&self, key: &Principal, line: &Arc<Line>, unused: Duration) -> bool {
        let mut inner = self.inner();
        let is_unused = inner.is_that(key, line) && line.spare(unused).is_zero();
        if is_unused {
            inner.links.remove(key);
        }
        is_unused
    }
}

impl Inner {
    fn is_that(&self, key: &Principal, line: &Arc<Line>) -> bool {
        matches!(self.links.get(key), Some(Link::Up(own)) if Arc::ptr_eq(own, line))
    }
}

/// Waits for a connection's end, and ends it when nobody has needed it for a while. Has nothing by which it could keep
/// the server alive: it is aborted with the line.
pub(super) async fn keep(
    upstream: Weak<Upstream>,
    key: Principal,
    line: Arc<Line>,
    unused: Option<Duration>,
) {
    let connection = line.connection().clone();
    let line = {
        let weak = Arc::downgrade(&line);
        drop(line);
        weak
    };
    let ended = connection.closed();
    tokio::pin!(ended);
    loop {
        let Some(spare) = line.upgrade().map(|line| unused.map(|unused| line.spare(unused))) else { return };
        let why = tokio::select! {
            why = &mut ended => Some(why),
            () = pause(spare) => None,
        };
        let (Some(upstream), Some(line)) = (upstream.upgrade(), line.upgrade()) else { return };
        match (why, unused) {
            (Some(why), _) => return upstream.died(&key, &line, &why),
            (None, Some(unused)) if upstream.retire(&key, &line, unused) => {
                // The line is what this task ends with: it must live until the connection is closed.
                return connection.close().await;
            }
            _ => {}
        }
    }
}

async fn pause(spare: Option<Duration>) {
    match spare {
        // A lease that is given back in this very moment is seen a little later.
        Some(spare) => sleep(spare.max(Duration::from_millis(10))).await,
        None => std::future::pending().await,
    }
}
