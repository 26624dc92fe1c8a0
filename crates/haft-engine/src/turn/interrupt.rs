//! Stopping a turn.
//!
//! The first interrupt stops what may be stopped and waits for tools that ask not to be; the second stops those too.
//! Every call gets a result all the same.

use std::sync::Arc;

use haft_tool::Interrupt as OnInterrupt;
use tokio_util::sync::CancellationToken;

/// A handle that stops a turn. Clones stop the same turn.
#[derive(Debug, Clone)]
pub struct Interrupt(Arc<Tokens>);

#[derive(Debug)]
struct Tokens {
    soft: CancellationToken,
    hard: CancellationToken,
}

impl Default for Interrupt {
    fn default() -> Interrupt {
        Interrupt::below(&CancellationToken::new())
    }
}

impl Interrupt {
    /// An interrupt that also happens, the hard way, when the token is cancelled.
    pub fn below(token: &CancellationToken) -> Interrupt {
        let hard = token.child_token();
        Interrupt(Arc::new(Tokens { soft: hard.child_token(), hard }))
    }

    /// Stops the turn; the second time, also the calls that are waited for.
    pub fn trigger(&self) {
        if self.0.soft.is_cancelled() {
            self.0.hard.cancel();
        }
        self.0.soft.cancel();
    }

    /// Whether the turn is being stopped.
    pub fn is_triggered(&self) -> bool {
        self.0.soft.is_cancelled()
    }

    pub(crate) async fn triggered(&self) {
        self.0.soft.cancelled().await;
    }

    /// A token for one call of a tool.
    pub(crate) fn token(&self, on_interrupt: OnInterrupt) -> CancellationToken {
        match on_interrupt {
            OnInterrupt::Cancel => self.0.soft.child_token(),
            OnInterrupt::Block => self.0.hard.child_token(),
        }
    }
}
