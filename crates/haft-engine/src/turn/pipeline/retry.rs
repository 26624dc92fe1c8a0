//! How often and after how long a call that failed in passing is tried again.

use std::time::Duration;

/// Three attempts, a second at first, ten at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How many attempts in all.
    pub attempts: u32,
    /// How long before the second.
    pub base: Duration,
    /// How long before any.
    pub cap: Duration,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { attempts: 3, base: Duration::from_secs(1), cap: Duration::from_secs(10) }
    }
}

impl Retry {
    /// How long to wait after so many attempts: doubled each time, between half and all of it by chance, so that
    /// many clients do not come back together.
    pub(crate) fn delay(&self, attempts: u32) -> Duration {
        let doubled =
            self.base.saturating_mul(1u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.cap).mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_cap() {
        let retry = Retry::default();
        for (attempts, most) in [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 10.0), (40, 10.0)] {
            for _ in 0..100 {
                let seconds = retry.delay(attempts).as_secs_f64();
                assert!((most / 2.0..=most).contains(&seconds), "{seconds} s after {attempts}");
            }
        }
    }
}
