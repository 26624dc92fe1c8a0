//! Asking again: when, and how often.

use std::time::Duration;

use haft_model::ModelError;

use crate::Patience;

impl Patience {
    /// How long to wait before this attempt, counted from 2: `None` if there is none.
    pub(crate) fn before(&self, attempt: u32, error: &ModelError) -> Option<Duration> {
        if !error.is_retryable() || attempt > self.attempts {
            return None;
        }
        match error.retry_after {
            // A nought says nothing: the server is as busy as it was.
            Some(wanted) if !wanted.is_zero() => (wanted <= self.most).then_some(wanted),
            _ => Some(self.own(attempt)),
        }
    }

    /// An error after which nobody asks again, with how long the server wants to be left alone if that is why.
    pub(crate) fn explained(&self, mut error: ModelError) -> ModelError {
        if let Some(wanted) = error.retry_after.filter(|wanted| error.is_retryable() && *wanted > self.most) {
            error.message += &format!("; the server asks to be left alone for {}", spoken(wanted));
        }
        error
    }

    fn own(&self, attempt: u32) -> Duration {
        let doubled = self.first.saturating_mul(1 << attempt.saturating_sub(2).min(20)).min(self.longest);
        // Many who failed together should not come back together.
        doubled.mul_f64(0.75 + fastrand::f64() / 2.0)
    }
}

/// About how long: `1 h 30 min`, `4 min`.
fn spoken(wait: Duration) -> String {
    let minutes = wait.as_secs().div_ceil(60);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use haft_model::ErrorKind;

    use super::*;

    fn error(kind: ErrorKind, retry_after: Option<u64>) -> ModelError {
        let retry_after = retry_after.map(Duration::from_secs);
        ModelError { kind, message: "no".to_owned(), status: None, retry_after }
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let patience = Patience::default();
        for (attempt, seconds) in [(2, 0.5), (3, 1.0), (4, 2.0), (8, 30.0)] {
            let pause = patience.before(attempt, &error(ErrorKind::Overloaded, None)).unwrap().as_secs_f64();
            assert!((seconds * 0.74..seconds * 1.26).contains(&pause), "{attempt}: {pause}");
        }
        assert_eq!(patience.before(9, &error(ErrorKind::Overloaded, None)), None);
    }

    #[test]
    fn the_server_is_heard_unless_it_asks_for_too_much() {
        let patience = Patience::default();
        let asked = |seconds| patience.before(2, &error(ErrorKind::RateLimited, Some(seconds)));
        assert_eq!((asked(7), asked(3600)), (Some(Duration::from_secs(7)), None));
        assert!(asked(0).is_some_and(|pause| pause > Duration::from_millis(300)));
        let words = |seconds| patience.explained(error(ErrorKind::RateLimited, Some(seconds))).message;
        assert_eq!(words(3600), "no; the server asks to be left alone for 1 h");
        assert_eq!(words(5_430), "no; the server asks to be left alone for 1 h 31 min");
        assert_eq!(
            (words(121).as_str(), words(7).as_str()),
            ("no; the server asks to be left alone for 3 min", "no")
        );
    }

    #[test]
    fn what_would_be_refused_again_is_not_asked_again() {
        assert_eq!(Patience::default().before(2, &error(ErrorKind::Unauthorized, Some(1))), None);
    }
}
