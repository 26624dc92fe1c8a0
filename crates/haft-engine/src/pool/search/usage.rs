//! Which tools were called here before?
//!
//! Whoever works in a workspace comes back to the same tools. A tool that was called there wins a tie and rises a little,
//! by a share that is bounded: what fits clearly better stays better. Only the order of answers changes, never what the
//! model is shown.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Remembers the calls of one workspace. Names never leave it: another workspace has another memory.
///
/// Both methods are asked in the middle of calls: they must not wait for anything.
pub trait Usage: fmt::Debug + Send + Sync {
    /// A call of this tool succeeded.
    fn called(&self, tool: &str);

    /// How often calls of this tool succeeded.
    fn times(&self, tool: &str) -> u32;
}

/// So many tools are remembered.
const MOST: usize = 1_000;

/// A memory that lasts as long as the process, and can be kept.
#[derive(Debug, Default)]
pub struct MemoryUsage(Mutex<HashMap<String, u32>>);

impl MemoryUsage {
    /// With what was remembered before.
    pub fn new(times: impl IntoIterator<Item = (String, u32)>) -> MemoryUsage {
        MemoryUsage(Mutex::new(times.into_iter().take(MOST).collect()))
    }

    /// All that is remembered, most called first.
    pub fn all(&self) -> Vec<(String, u32)> {
        let mut all: Vec<_> = self.times().iter().map(|(name, times)| (name.clone(), *times)).collect();
        all.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        all
    }

    fn times(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        // Nothing in here panics halfway through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Usage for MemoryUsage {
    fn called(&self, tool: &str) {
        let mut times = self.times();
        if times.len() >= MOST && !times.contains_key(tool) {
            // The half that is called least makes room; what everybody calls all the time stays.
            let mut all: Vec<u32> = times.values().copied().collect();
            let median = *all.select_nth_unstable(MOST / 2).1;
            times.retain(|_, times| *times > median);
        }
        let count = times.entry(tool.to_owned()).or_default();
        *count = count.saturating_add(1);
    }

    fn times(&self, tool: &str) -> u32 {
        MemoryUsage::times(self).get(tool).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_is_counted_and_no_more_than_so_many_are_kept() {
        let usage = MemoryUsage::new([("Read".to_owned(), 2)]);
        (0..3 * MOST).for_each(|n| usage.called(&n.to_string()));
        usage.called("Read");
        assert_eq!(Usage::times(&usage, "Read"), 3);
        assert_eq!(Usage::times(&usage, "Never"), 0);
        assert!(usage.all().len() <= MOST);
        assert_eq!(usage.all()[0], ("Read".to_owned(), 3));
    }
}
