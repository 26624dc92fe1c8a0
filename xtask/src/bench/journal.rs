//! `cargo xtask bench journal`: what it costs that calls are recorded, and how quickly they are found again.

use std::{collections::BTreeMap, fs, path::Path, process::Stdio, time::Duration};

use anyhow::{Context, Result, ensure};

use super::{
    peers::timed,
    table::{Row, race_for},
};
use crate::{haft::Haft, repository::cargo};

const MICRO: Duration = Duration::from_micros(1);

/// Figures of the bench of haft-store, and what each may be. All that begins with `log` has one bound.
const BOUNDS: [(&str, Duration); 2] = [
    ("added to a call that changes nothing", Duration::from_micros(30)),
    ("a start that is durable", Duration::from_millis(2)),
];
const LOG: Duration = Duration::from_millis(100);
/// What a start of haft may take longer: one call with, one without.
const STARTED: Duration = Duration::from_millis(10);
const ROUNDS: usize = 20;

pub(super) fn rows(haft: &Haft, place: &Path) -> Result<Vec<Row>> {
    let figures = figures("journal")?;
    let row = |(name, time): (&String, &Duration)| {
        let bound = BOUNDS.iter().find(|(known, _)| known == name).map(|(_, bound)| *bound);
        let bound = bound.or(name.starts_with("log ").then_some(LOG))?;
        Some(Row::overhead(name.clone(), *time, Duration::ZERO, bound))
    };
    let mut rows: Vec<Row> = figures.iter().filter_map(row).collect();
    for (name, _) in BOUNDS.iter().filter(|(name, _)| !figures.contains_key(*name)) {
        rows.push(Row::missing(*name, "the bench says nothing of it"));
    }
    rows.extend(starts(haft, &place.join("journal"))?);
    Ok(rows)
}

/// What the bench of the store measured.
pub(super) fn figures(bench: &str) -> Result<BTreeMap<String, Duration>> {
    let bench = ["bench", "--quiet", "--package", "haft-store", "--bench", bench];
    let output = cargo(&bench).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the bench of haft-store does not run");
    let text = String::from_utf8(output.stdout)?;
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    let figure = |(name, us): (&str, &str)| {
        let us: f64 = us.parse().with_context(|| format!("{name}: {us}"))?;
        Ok((name.to_owned(), MICRO.mul_f64(us)))
    };
    lines.map(figure).collect()
}

/// haft from its start to its end, for one call that changes nothing, and with nothing to do.
fn starts(haft: &Haft, place: &Path) -> Result<Vec<Row>> {
    fs::create_dir_all(place.join(".git"))?;
    let call = ["call", "Stat", r#"{"path":"."}"#];
    let without = [&call[..], &["--no-journal"]].concat();
    let times = race_for(
        ROUNDS,
        [&mut || timed(&mut haft.command(place, &call)), &mut || timed(&mut haft.command(place, &without))],
    );
    Ok(match times {
        Ok([with, without]) => vec![Row::overhead("haft call, from start to end", with, without, STARTED)],
        Err(err) => vec![Row::missing("haft call, from start to end", format!("{err:#}"))],
    })
}
