//! `cargo xtask bench undo`: what it costs that changes can be taken back.

use std::time::Duration;

use anyhow::Result;

use super::{journal::figures, table::Row};

/// Figures of the bench of haft-store, and what each may be.
const BOUNDS: [(&str, Duration); 5] = [
    ("first look at 30,000 files", Duration::from_millis(4_500)),
    ("later look at 30,000 files", Duration::from_millis(40)),
    ("first look at 100 files", Duration::from_millis(20)),
    ("later look at 100 files", Duration::from_millis(2)),
    ("image of a small file, durable", Duration::from_millis(10)),
];

pub(super) fn rows() -> Result<Vec<Row>> {
    let figures = figures("undo")?;
    let row = |(name, bound): &(&str, Duration)| match figures.get(*name) {
        Some(time) => Row::overhead(*name, *time, Duration::ZERO, *bound),
        None => Row::missing(*name, "the bench says nothing of it"),
    };
    Ok(BOUNDS.iter().map(row).collect())
}
