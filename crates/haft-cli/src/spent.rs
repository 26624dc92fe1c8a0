//! What all answers took, whoever asked for them, and what that costs.
//!
//! Counted where the model is asked: the agent, its sub-agents, summaries and the judge of mode `auto` all ask there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_agent::{Model, ModelStream};
use haft_model::{Assistant, ModelError, Request, StreamEvent, Usage};
use haft_tool::BoxFuture;

use crate::settings::Price;

/// What was used so far. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spent(Arc<Mutex<Usage>>);

impl Spent {
    /// All of it.
    pub(crate) fn usage(&self) -> Usage {
        *self.lock()
    }

    /// A model whose answers are counted here.
    pub(crate) fn counting(&self, model: impl Model + 'static) -> Arc<dyn Model> {
        Arc::new(Counted { model, spent: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Counted<M> {
    model: M,
    spent: Spent,
}

impl<M: Model> Model for Counted<M> {
    fn stream<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Box<dyn ModelStream>, ModelError>> {
        Box::pin(async move {
            let stream = self.model.stream(request).await?;
            Ok(Box::new(CountedStream { stream, spent: self.spent.clone(), so_far: Usage::default() })
                as Box<dyn ModelStream>)
        })
    }
}

struct CountedStream {
    stream: Box<dyn ModelStream>,
    spent: Spent,
    /// What the answer took so far.
    so_far: Usage,
}

/// What was written is paid for, also of an answer that broke off or was stopped.
impl Drop for CountedStream {
    fn drop(&mut self) {
        *self.spent.lock() += self.so_far;
    }
}

impl ModelStream for CountedStream {
    fn next(&mut self) -> BoxFuture<'_, Option<StreamEvent>> {
        Box::pin(async move {
            let event = self.stream.next().await;
            match &event {
                Some(StreamEvent::Usage(usage)) => self.so_far = *usage,
                Some(StreamEvent::Done(response)) => {
                    *self.spent.lock() += response.usage;
                    self.so_far = Usage::default();
                }
                _ => {}
            }
            event
        })
    }

    fn so_far(&mut self) -> Assistant {
        self.stream.so_far()
    }
}

impl Price {
    /// What this costs, in dollars; nothing if there are no prices.
    pub(crate) fn of(self, usage: Usage) -> Option<f64> {
        if self == Price::default() {
            return None;
        }
        let input = self.input.unwrap_or_default();
        let plain = usage.input.saturating_sub(usage.cached + usage.cache_written);
        let each = [
            (plain, input),
            (usage.cached, self.cached.unwrap_or(input)),
            (usage.cache_written, self.cache_written.unwrap_or(input)),
            (usage.output, self.output.unwrap_or_default()),
        ];
        Some(each.into_iter().map(|(tokens, price)| tokens as f64 * price / 1e6).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cached_has_its_own_price_and_without_prices_nothing_has_one() {
        let usage =
            Usage { input: 1_000_000, cached: 600_000, cache_written: 200_000, output: 100_000, thinking: 0 };
        assert_eq!(Price::default().of(usage), None);
        let price = Price { input: Some(3.0), output: Some(15.0), ..Price::default() };
        assert_eq!(price.of(usage), Some(4.5));
        let price = Price { cached: Some(0.3), cache_written: Some(3.75), ..price };
        assert!((price.of(usage).unwrap() - (0.6 + 0.18 + 0.75 + 1.5)).abs() < 1e-9);
    }
}
