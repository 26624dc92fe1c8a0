//! What happened in all scenes together: counted while they are played, and told in a table at the end.

use haft_engine::{
    pool::{Entry, Pool},
    result::ToolResult,
};
use haft_tool::FaultKind;

use super::{stage::DIALECT, timeline::Timeline};
use crate::draw::{Paint, table};

/// What became of all calls, and what it took.
#[derive(Default)]
pub(super) struct Tally {
    done: usize,
    refused: usize,
    mistaken: usize,
    stopped: usize,
    /// What the calls took one by one, and what the turns took.
    work_ms: u128,
    wall_ms: u128,
    turns: usize,
    /// Bytes of tools that requests did not carry, because they were deferred.
    deferred: usize,
    /// Bytes of results that the model did not get, because they were kept in files.
    spilled: usize,
    spills: usize,
}

/// About so many bytes of JSON and prose a model counts as one token.
const BYTES_PER_TOKEN: usize = 4;

impl Tally {
    /// A turn was played, with this pool in the request before it.
    pub(super) fn note(&mut self, results: &[ToolResult], timeline: &Timeline, pool: &Pool) {
        results.iter().for_each(|result| self.count(result));
        let (work, wall) = timeline.saved();
        self.work_ms += work;
        self.wall_ms += wall;
        self.turns += 1;
        let all = DIALECT.tools_all(pool.entries().map(Entry::offer)).to_string().len();
        self.deferred += all.saturating_sub(DIALECT.tools(pool.offers()).to_string().len());
    }

    fn count(&mut self, result: &ToolResult) {
        let count = match result.fault.map(|fault| fault.kind) {
            None => &mut self.done,
            Some(FaultKind::Denied) => &mut self.refused,
            Some(FaultKind::TimedOut | FaultKind::Cancelled | FaultKind::Interrupted) => &mut self.stopped,
            Some(_) => &mut self.mistaken,
        };
        *count += 1;
        if let Some(cut) = &result.meta.truncated {
            self.spills += 1;
            self.spilled += usize::try_from(cut.bytes.saturating_sub(cut.shown)).unwrap_or(usize::MAX);
        }
    }

    fn calls(&self) -> usize {
        self.done + self.refused + self.mistaken + self.stopped
    }

    /// The table.
    pub(super) fn table(&self, took: &str, paint: Paint) -> String {
        let gained = self.work_ms as f64 / self.wall_ms.max(1) as f64;
        let tokens = |bytes: usize| format!("~{}", grouped(bytes / BYTES_PER_TOKEN));
        let rows = [
            (
                "calls",
                self.calls().to_string(),
                format!("in {} turns and {took}; every one got exactly one result", self.turns),
            ),
            ("  done", self.done.to_string(), String::new()),
            ("  corrected", self.mistaken.to_string(), "their own error told how".to_owned()),
            ("  refused", self.refused.to_string(), "by a decision that says what would allow it".to_owned()),
            (
                "  stopped",
                self.stopped.to_string(),
                "by a time limit or Ctrl-C, with what was done".to_owned(),
            ),
            (
                "parallelism",
                format!("{gained:.1} x"),
                format!("{} ms of work in {} ms of turns", self.work_ms, self.wall_ms),
            ),
            ("tokens saved", tokens(self.deferred + self.spilled), String::new()),
            (
                "  deferral",
                tokens(self.deferred),
                format!("tools that {} requests did not carry", self.turns),
            ),
            (
                "  spills",
                tokens(self.spilled),
                match self.spills {
                    1 => "1 result, the whole of which is in a file".to_owned(),
                    spills => format!("{spills} results, the whole of which is in files"),
                },
            ),
        ];
        let rows: Vec<[String; 3]> = rows.map(|(what, figure, how)| [what.to_owned(), figure, how]).into();
        table(["what happened", "", ""], &rows, paint)
    }
}

/// A number with a comma after each thousand.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_can_be_read() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
