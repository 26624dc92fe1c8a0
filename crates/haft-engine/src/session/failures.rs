//! How often a tool was given the same wrong input in a row.
//!
//! A model that makes the same mistake again did not understand the first answer: it gets another one.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// The last failure of each tool, and how often it came.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<String, (u64, u32)>>);

impl Failures {
    /// Notes a failure; says how often the very same one was told before.
    pub(crate) fn count(&self, tool: &str, identity: u64) -> u32 {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, times) = failures.entry(tool.to_owned()).or_insert((identity, 0));
        if *last != identity {
            (*last, *times) = (identity, 0);
        }
        *times += 1;
        *times - 1
    }

    /// The tool was called well.
    pub(crate) fn forget(&self, tool: &str) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !failures.is_empty() {
            failures.remove(tool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_failure_in_a_row_counts() {
        let failures = Failures::default();
        assert_eq!([1, 1, 2, 2, 1].map(|identity| failures.count("Read", identity)), [0, 1, 0, 1, 0]);
        assert_eq!(failures.count("Edit", 1), 0);
        failures.forget("Read");
        assert_eq!(failures.count("Read", 1), 0);
    }
}
