//! Where some lines of a file begin: what makes a far page of a large file cheap.
//!
//! There are never many: when they are, every other one is forgotten and the next ones are made twice as far apart.

/// The most marks of one file.
const MOST: usize = 512;
/// As far apart as costs nothing to pass over.
const NEAREST: u64 = 256 * 1024;

/// Marks of a line (from 1) and its first byte, rising.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marks {
    marks: Vec<(u64, u64)>,
    /// How many bytes apart.
    spacing: u64,
}

impl Marks {
    pub(super) fn new(marks: Vec<(u64, u64)>) -> Marks {
        let spacing = match marks.as_slice() {
            // Nobody but us made them, so the first two tell.
            [(_, first), (_, second), ..] => second.saturating_sub(*first).max(NEAREST),
            _ => NEAREST,
        };
        Marks { marks, spacing: 1 << spacing.ilog2() }
    }

    pub(super) fn into_inner(self) -> Vec<(u64, u64)> {
        self.marks
    }

    /// Where to start counting from, to find a line.
    pub(super) fn before(&self, line: u64) -> (u64, u64) {
        let after = self.marks.partition_point(|(marked, _)| *marked <= line);
        after.checked_sub(1).and_then(|at| self.marks.get(at)).copied().unwrap_or((1, 0))
    }

    /// Whether a line that begins here would be worth a mark.
    pub(super) fn wants(&self, offset: u64) -> bool {
        offset >= self.marks.last().map_or(0, |(_, last)| *last) + self.spacing
    }

    /// Marks a line, if that is worth it.
    pub(super) fn add(&mut self, line: u64, offset: u64) {
        if !self.wants(offset) {
            return;
        }
        self.marks.push((line, offset));
        if self.marks.len() > MOST {
            let mut is_kept = false;
            self.marks.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.spacing *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_many_however_large_the_file() {
        let mut marks = Marks::new(Vec::new());
        let lines_of_100_bytes = (0..10_000_000_000u64).step_by(NEAREST as usize);
        lines_of_100_bytes.for_each(|offset| marks.add(offset / 100 + 1, offset));
        assert!((MOST / 2..=MOST).contains(&marks.marks.len()), "{}", marks.marks.len());
        let (line, offset) = marks.before(50_000_000);
        assert!(line <= 50_000_000 && 5_000_000_000 - offset <= marks.spacing, "{line} at {offset}");
        assert_eq!(Marks::new(marks.clone().into_inner()), marks, "kept and taken up again");
    }

    #[test]
    fn a_line_before_the_first_mark_is_counted_from_the_beginning() {
        let marks = Marks::new(vec![(5_000, 300_000)]);
        assert_eq!(marks.before(4_999), (1, 0));
        assert_eq!(marks.before(5_000), (5_000, 300_000));
    }
}
