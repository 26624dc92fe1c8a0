//! When is a server that failed tried again?
//!
//! A server that ran and died is started again at once: that heals most of what happens. One that cannot be started, or
//! dies before it has answered anything, is left alone for a while, and for twice as long each time, so that a broken
//! configuration does not cost a process a call. What asks for it meanwhile is told why, and when it is worth asking again.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

const BASE: Duration = Duration::from_secs(1);
const CAP: Duration = Duration::from_secs(60);

/// How a server has fared lately.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Failures since it last answered anything.
    failures: u32,
    /// What the last of them was.
    why: Option<Arc<str>>,
    until: Option<Instant>,
}

/// Why a server is left alone, and for how long yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pause {
    pub(super) why: Arc<str>,
    pub(super) left: Duration,
}

impl Health {
    /// It answered: whatever was before is over.
    pub(super) fn answered(&mut self) {
        *self = Health::default();
    }

    /// It could not be started.
    pub(super) fn could_not_start(&mut self, why: &str, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.why = Some(why.into());
        self.until = Some(now + pause(self.failures));
    }

    /// It ended without being asked to.
    pub(super) fn died(&mut self, why: &str, now: Instant) {
        let has_answered = self.failures == 0;
        self.could_not_start(why, now);
        if has_answered {
            self.until = None;
        }
    }

    /// The last failure, if nothing was answered since.
    pub(super) fn why(&self) -> Option<&Arc<str>> {
        self.why.as_ref()
    }

    /// Why it is left alone now, if it is.
    pub(super) fn pause(&self, now: Instant) -> Option<Pause> {
        let left = self.until?.checked_duration_since(now).filter(|left| !left.is_zero())?;
        Some(Pause { why: self.why.clone()?, left })
    }

    /// When the pause ends.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }
}

/// Doubled each time, between half and all of it by chance, so that many do not come back together.
fn pause(failures: u32) -> Duration {
    let doubled = BASE.saturating_mul(1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    doubled.min(CAP).mul_f64(0.5 + fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ran_is_started_again_at_once_and_then_with_growing_pauses() {
        let (mut health, now) = (Health::default(), Instant::now());
        health.died("exit status 1", now);
        assert_eq!(health.pause(now), None, "it had run");
        for most in [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0] {
            health.could_not_start("no such file", now);
            let pause = health.pause(now).expect("a pause");
            assert!((most / 2.0..=most).contains(&pause.left.as_secs_f64()), "{pause:?} instead of {most} s");
            assert_eq!(&*pause.why, "no such file");
        }
        assert_eq!(health.pause(now + CAP), None, "every pause ends");
    }

    #[test]
    fn dying_before_the_first_answer_is_like_not_starting() {
        let (mut health, now) = (Health::default(), Instant::now());
        health.died("crashed", now);
        health.died("crashed again", now);
        assert!(health.pause(now).is_some());
        health.answered();
        health.died("crashed", now);
        assert_eq!((health.pause(now), health.why().map(|why| &**why)), (None, Some("crashed")));
    }

    #[test]
    fn no_number_of_failures_overflows() {
        let (mut health, now) = (Health { failures: u32::MAX - 1, ..Health::default() }, Instant::now());
        health.could_not_start("x", now);
        health.could_not_start("x", now);
        assert!(health.pause(now).is_some_and(|pause| pause.left <= CAP));
    }
}
