//! `cargo xtask bench engine`: what a call costs before its tool does anything, against fixed budgets.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::repository::{self, cargo, succeeds};

/// What a bench may take.
struct Budget {
    /// Its group and its name, as criterion files them.
    bench: &'static str,
    /// How many calls one run of it makes.
    calls: f64,
    nanoseconds: f64,
}

const MICRO: f64 = 1e3;
const MILLI: f64 = 1e6;

const BUDGETS: [Budget; 10] = [
    Budget { bench: "call/eight steps", calls: 1.0, nanoseconds: 3.0 * MICRO },
    Budget { bench: "call/eight steps, 100 KB", calls: 1.0, nanoseconds: 25.0 * MICRO },
    Budget { bench: "turn/10000 calls", calls: 10_000.0, nanoseconds: 8.0 * MICRO },
    Budget { bench: "1,000 rules/Read", calls: 1.0, nanoseconds: 5.0 * MICRO },
    Budget { bench: "1,000 rules/Edit", calls: 1.0, nanoseconds: 5.0 * MICRO },
    Budget { bench: "10,000 tools from scratch/deferred", calls: 1.0, nanoseconds: 50.0 * MILLI },
    Budget { bench: "10,000 tools afterwards/nothing changed", calls: 1.0, nanoseconds: MILLI },
    Budget {
        bench: "10,000 tools from scratch/deferred, and the search index",
        calls: 1.0,
        nanoseconds: 350.0 * MILLI,
    },
    Budget { bench: "10,000 tools afterwards/search", calls: 1.0, nanoseconds: 2.0 * MILLI },
    Budget {
        bench: "10,000 tools afterwards/one server changed, and a search",
        calls: 1.0,
        nanoseconds: 10.0 * MILLI,
    },
];

/// Runs the benches and prints the table. Whether every budget was kept.
pub(super) fn run() -> Result<bool> {
    if !succeeds(&mut cargo(&["bench", "--package", "haft-engine", "--benches"]))? {
        bail!("the benches do not run");
    }
    let results = repository::metadata()?.target_directory.join("criterion");
    let medians: Vec<Option<f64>> = BUDGETS.iter().map(|budget| median(&results, budget).ok()).collect();
    println!("{}", table(&medians));
    let is_kept =
        |(budget, median): (&Budget, &Option<f64>)| median.is_some_and(|median| median <= budget.nanoseconds);
    Ok(BUDGETS.iter().zip(&medians).all(is_kept))
}

/// Nanoseconds a call, as the last run measured.
fn median(results: &Path, budget: &Budget) -> Result<f64> {
    let path = results.join(budget.bench).join("new/estimates.json");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(median_of(&text)? / budget.calls)
}

fn median_of(estimates: &str) -> Result<f64> {
    #[derive(Deserialize)]
    struct Estimates {
        median: Estimate,
    }
    #[derive(Deserialize)]
    struct Estimate {
        point_estimate: f64,
    }
    Ok(serde_json::from_str::<Estimates>(estimates)?.median.point_estimate)
}

fn table(medians: &[Option<f64>]) -> String {
    let mut text = format!("{:<40} {:>10} {:>10}", "bench", "median", "budget");
    for (budget, median) in BUDGETS.iter().zip(medians) {
        let verdict = match median {
            None => "not measured",
            Some(median) if *median > budget.nanoseconds => "over budget",
            Some(_) => "",
        };
        let median = median.map_or("–".to_owned(), time);
        text += &format!("\n{:<40} {median:>10} {:>10}  {verdict}", budget.bench, time(budget.nanoseconds));
    }
    text
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        short if short < MICRO => format!("{short:.0} ns"),
        medium if medium < MILLI => format!("{:.2} µs", medium / MICRO),
        long => format!("{:.2} ms", long / MILLI),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_read() {
        let text =
            r#"{"mean":{"point_estimate":9.0},"median":{"confidence_interval":{},"point_estimate":2500.5}}"#;
        assert_eq!(median_of(text).unwrap(), 2500.5);
    }

    #[test]
    fn the_table_says_what_is_over_budget() {
        let table = table(&[Some(2_500.0), Some(30_000.0), None, None, None, Some(4.2e7), Some(900.0)]);
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[1].contains("2.50 µs    3.00 µs"), "{table}");
        assert!(lines[2].ends_with("30.00 µs   25.00 µs  over budget"), "{table}");
        assert!(lines[3].ends_with("not measured"), "{table}");
        assert!(lines[6].contains("42.00 ms") && lines[7].contains("900 ns"), "{table}");
    }
}
