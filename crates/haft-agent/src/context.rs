//! How full the model's window is.
//!
//! The API says how many tokens a request had. What joined the conversation since is estimated from its weight (bytes of
//! text, and a fixed share for each picture), by the ratio that the API's own figures show.

use haft_model::{History, Usage};

/// How full the model's window is, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context {
    /// About so many are taken.
    pub used: u64,
    /// So many there are.
    pub window: u64,
}

impl Context {
    /// About so many are left.
    pub fn left(&self) -> u64 {
        self.window.saturating_sub(self.used)
    }
}

/// Where nobody has counted yet.
const BYTES_PER_TOKEN: f64 = 4.0;

/// What is known of a conversation's size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gauge {
    bytes_per_token: f64,
    /// What the API counted last, and how many bytes that was.
    counted: Option<(u64, usize)>,
}

impl Default for Gauge {
    fn default() -> Gauge {
        Gauge { bytes_per_token: BYTES_PER_TOKEN, counted: None }
    }
}

impl Gauge {
    /// The API has counted a request of this weight, and its answer.
    pub(crate) fn count(&mut self, request_bytes: usize, usage: Usage) {
        if usage.input == 0 {
            return;
        }
        // A server that counts only what it had not cached would make everything look small.
        let ratio = request_bytes as f64 / usage.input as f64;
        if (1.0..=8.0).contains(&ratio) {
            self.bytes_per_token = ratio;
            self.counted = Some((usage.input, request_bytes));
        }
    }

    /// Whether the API has counted what there is.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// What was counted is no longer there.
    pub(crate) fn forget(&mut self) {
        self.counted = None;
    }

    /// About so many tokens a request would have.
    pub(crate) fn used(&self, history: &History) -> u64 {
        let bytes = history.weight();
        match self.counted {
            Some((tokens, then)) if bytes >= then => tokens + self.tokens(bytes - then),
            _ => self.tokens(bytes),
        }
    }

    pub(crate) fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / self.bytes_per_token) as u64 // saturates
    }

    /// About so many bytes of text are so many tokens.
    pub(crate) fn bytes(&self, tokens: u64) -> usize {
        (tokens as f64 * self.bytes_per_token) as usize // saturates
    }
}

#[cfg(test)]
mod tests {
    use haft_model::{Dialect, Message};

    use super::*;

    /// A conversation of so many bytes.
    fn history(bytes: usize) -> History {
        let mut history = History::new(Dialect::OpenAi);
        history.push(Message::user("x"));
        let around = history.weight() - 1;
        history.replace(0, Message::user("x".repeat(bytes - around)));
        history
    }

    #[test]
    fn what_was_counted_counts_and_the_rest_is_estimated_by_it() {
        let mut gauge = Gauge::default();
        assert_eq!(gauge.used(&history(4_000)), 1_000);
        gauge.count(4_000, Usage { input: 2_000, ..Usage::default() });
        assert_eq!([4_000, 6_000, 2_000].map(|bytes| gauge.used(&history(bytes))), [2_000, 3_000, 1_000]);
    }

    #[test]
    fn figures_that_cannot_be_are_not_believed() {
        let mut gauge = Gauge::default();
        for input in [0, 1, 1_000_000] {
            gauge.count(4_000, Usage { input, ..Usage::default() });
            assert_eq!(gauge.used(&history(4_000)), 1_000, "{input}");
        }
    }
}
