//! Who took how long, and what was promised.

use std::time::Duration;

use anyhow::Result;

/// How often each one runs. The first run warms the caches and is not counted.
const ROUNDS: usize = 12;

/// One comparison.
pub(super) struct Row {
    what: String,
    outcome: Result<Outcome, String>,
}

struct Outcome {
    haft: String,
    peer: String,
    ratio: f64,
    bound: f64,
}

impl Row {
    /// haft's time against a peer's: at most so many times as long.
    pub(super) fn times(what: impl Into<String>, haft: Duration, peer: Duration, bound: f64) -> Row {
        let ratio = haft.as_secs_f64() / peer.as_secs_f64();
        let outcome = Outcome { haft: short(haft), peer: short(peer), ratio, bound };
        Row { what: what.into(), outcome: Ok(outcome) }
    }

    /// Memory against a limit.
    pub(super) fn memory(what: impl Into<String>, used: u64, limit: u64) -> Row {
        let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        let ratio = used as f64 / limit as f64;
        let outcome = Outcome { haft: megabytes(used), peer: megabytes(limit), ratio, bound: 1.0 };
        Row { what: what.into(), outcome: Ok(outcome) }
    }

    /// How much longer haft takes than a peer, against what that may be.
    pub(super) fn overhead(
        what: impl Into<String>,
        haft: Duration,
        peer: Duration,
        allowed: Duration,
    ) -> Row {
        let ratio = haft.saturating_sub(peer).as_secs_f64() / allowed.as_secs_f64();
        let outcome = Outcome { haft: short(haft), peer: short(peer), ratio, bound: 1.0 };
        Row { what: what.into(), outcome: Ok(outcome) }
    }

    /// A time against a limit.
    pub(super) fn limit(what: impl Into<String>, time: Duration, limit: Duration) -> Row {
        let ratio = time.as_secs_f64() / limit.as_secs_f64();
        let outcome = Outcome { haft: short(time), peer: short(limit), ratio, bound: 1.0 };
        Row { what: what.into(), outcome: Ok(outcome) }
    }

    /// A bare figure against a limit.
    pub(super) fn figure(what: impl Into<String>, figure: f64, limit: f64) -> Row {
        let shown =
            |figure: f64| if figure < 100.0 { format!("{figure:.2}") } else { format!("{figure:.0}") };
        let outcome = Outcome { haft: shown(figure), peer: shown(limit), ratio: figure / limit, bound: 1.0 };
        Row { what: what.into(), outcome: Ok(outcome) }
    }

    /// A comparison that could not be made. It keeps no bound.
    pub(super) fn missing(what: impl Into<String>, why: impl Into<String>) -> Row {
        Row { what: what.into(), outcome: Err(why.into()) }
    }

    /// A race as a row: the contender comes first, its peer second.
    pub(super) fn race(what: impl Into<String>, bound: f64, times: Result<[Duration; 2]>) -> Row {
        match times {
            Ok([haft, peer]) => Row::times(what, haft, peer, bound),
            Err(err) => Row::missing(what, format!("{err:#}")),
        }
    }

    pub(super) fn is_kept(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|outcome| outcome.ratio <= outcome.bound)
    }

    /// Whether it was measured, and found to be more than was promised.
    pub(super) fn is_over(&self) -> bool {
        self.outcome.is_ok() && !self.is_kept()
    }

    fn line(&self) -> String {
        match &self.outcome {
            Err(why) => format!("{:<48} not measured: {why}", self.what),
            Ok(Outcome { haft, peer, ratio, bound }) => {
                let verdict = if self.is_kept() { "kept" } else { "OVER" };
                format!("{:<48} {haft:>11} {peer:>11} {ratio:>6.2} {bound:>6.2}  {verdict}", self.what)
            }
        }
    }
}

pub(super) fn text(rows: &[Row]) -> String {
    let head = format!("{:<48} {:>11} {:>11} {:>6} {:>6}", "bench", "haft", "peer", "ratio", "bound");
    std::iter::once(head).chain(rows.iter().map(Row::line)).collect::<Vec<_>>().join("\n")
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// A time that may be far shorter than a millisecond.
pub(super) fn short(time: Duration) -> String {
    if time < Duration::from_millis(1) { format!("{} µs", time.as_micros()) } else { milliseconds(time) }
}

/// One who races: runs once, and says how long it took.
pub(super) type Contender<'a> = &'a mut dyn FnMut() -> Result<Duration>;

/// Lets all run in turns, and gives the shortest time of each.
pub(super) fn race<const N: usize>(contenders: [Contender<'_>; N]) -> Result<[Duration; N]> {
    race_for(ROUNDS, contenders)
}

/// The same, so many times.
pub(super) fn race_for<const N: usize>(
    rounds: usize,
    mut contenders: [Contender<'_>; N],
) -> Result<[Duration; N]> {
    let mut shortest = [Duration::MAX; N];
    for round in 0..=rounds {
        for (contender, shortest) in contenders.iter_mut().zip(&mut shortest) {
            let time = contender()?;
            if round > 0 {
                *shortest = time.min(*shortest);
            }
        }
    }
    Ok(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_which_bound_is_kept() {
        let ms = Duration::from_millis;
        let rows = [
            Row::times("a", ms(9), ms(10), 1.0),
            Row::times("b", ms(20), ms(10), 1.5),
            Row::missing("c", "no rg"),
            Row::overhead("d", ms(12), ms(10), ms(4)),
        ];
        let text = text(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].ends_with("9.00 ms    10.00 ms   0.90   1.00  kept"), "{text}");
        assert!(lines[2].ends_with("2.00   1.50  OVER"), "{text}");
        assert!(lines[3].ends_with("not measured: no rg"), "{text}");
        assert!(lines[4].ends_with("0.50   1.00  kept"), "{text}");
        assert_eq!(rows.each_ref().map(Row::is_kept), [true, false, false, true]);
        assert_eq!(rows.each_ref().map(Row::is_over), [false, true, false, false]);
    }

    #[test]
    fn the_first_run_is_not_counted() {
        let mut runs = 0;
        let mut contender = || {
            runs += 1;
            Ok(Duration::from_millis(if runs == 1 { 1 } else { 100 - runs }))
        };
        let [shortest] = race([&mut contender]).unwrap();
        assert_eq!(shortest, Duration::from_millis(100 - 1 - ROUNDS as u64));
    }
}
