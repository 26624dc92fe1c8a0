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

    /// Waits until the turn is being stopped.
    pub async fn triggered(&self) {
        self.0.soft.cancelled().await;
    }

    /// An interrupt that happens with this one, as softly or as hard, and can happen alone.
    pub fn child(&self) -> Interrupt {
        // Whoever stops this one hard has stopped it softly before, and the child with it.
        Interrupt(Arc::new(Tokens { soft: self.0.soft.child_token(), hard: self.0.hard.child_token() }))
    }

    /// A token for one call of a tool.
    pub(crate) fn token(&self, on_interrupt: OnInterrupt) -> CancellationToken {
        match on_interrupt {
            OnInterrupt::Cancel => self.0.soft.child_token(),
            OnInterrupt::Block => self.0.hard.child_token(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_stopped_with_its_parent_and_can_be_stopped_alone() {
        let parent = Interrupt::default();
        let (one, other) = (parent.child(), parent.child());
        one.trigger();
        assert_eq!([&parent, &one, &other].map(Interrupt::is_triggered), [false, true, false]);
        parent.trigger();
        assert!(other.is_triggered() && !other.token(OnInterrupt::Block).is_cancelled());
        parent.trigger();
        assert!(other.token(OnInterrupt::Block).is_cancelled());
    }
}
