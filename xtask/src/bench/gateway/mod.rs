//! `cargo xtask bench gateway`: what it costs that haft stands between a client and a server.
//!
//! The same server is called by the same client on all ways in turns: straight, through haft, and through others who do the
//! same work if the kit has them. What a way adds is its cost less that of the straight one. What counts is the best round.

mod echo; //   the server at the end of every way
mod client; // the client at their beginning
mod ways; //   what is between
mod usage; //  processor time and memory, as the system accounts for them
mod starts; // how long it takes until there is something to call

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::table::{Row, short};
use crate::haft::Haft;
use client::Client;
use usage::Cpu;
use ways::{Field, Way};

pub(crate) use echo::serve;

const ROUNDS: usize = 7;
const WARM_UP: usize = 200;
/// So many calls has a round, or as many as there is time for.
const CALLS: usize = 2000;
const TIME: Duration = Duration::from_secs(2);

/// What haft may add to a call.
const BY_LINES: Duration = Duration::from_micros(150);
const BY_HTTP: Duration = Duration::from_micros(400);
/// What it may add to that by recording the call, which is on disk before it is made.
const RECORDED: Duration = Duration::from_millis(2);
/// What it may hold.
const MEMORY: u64 = 20_000_000;
/// What it may use of what FastMCP uses.
const SHARE: f64 = 0.1;

/// Measures, prints what was measured, and gives what was promised of it.
pub(super) fn rows(haft: &Haft, place: &Path) -> Result<Vec<Row>> {
    let field = Field::new(haft, &place.join("gateway"))?;
    let mut runners = Vec::new();
    for way in Way::ALL {
        match field.open(way)? {
            Ok(client) => runners.push(Runner { way, client, best: Round::NONE }),
            Err(why) => println!("{} is skipped: {why}", way.name()),
        }
    }
    for _ in 0..ROUNDS {
        for runner in &mut runners {
            runner.run().with_context(|| runner.way.name())?;
        }
    }
    let measured: Vec<Measured> = runners.iter().map(Runner::measured).collect();
    let measured = Measurements(measured);
    println!("{}\n", measured.text()?);
    drop(runners);
    let mut rows = measured.rows()?;
    rows.extend(starts::rows(&field)?);
    Ok(rows)
}

/// One who goes a way.
struct Runner {
    way: Way,
    client: Client,
    best: Round,
}

/// What a round took. The best of several is the best of each figure.
#[derive(Debug, Clone, Copy)]
struct Round {
    p50: Duration,
    p95: Duration,
    /// A call, of all processes on the way.
    cpu: Duration,
}

impl Round {
    const NONE: Round = Round { p50: Duration::MAX, p95: Duration::MAX, cpu: Duration::MAX };

    fn or(self, other: Round) -> Round {
        Round { p50: self.p50.min(other.p50), p95: self.p95.min(other.p95), cpu: self.cpu.min(other.cpu) }
    }

    /// What is added to another way.
    fn over(self, other: Round) -> Round {
        Round {
            p50: self.p50.saturating_sub(other.p50),
            p95: self.p95.saturating_sub(other.p95),
            cpu: self.cpu.saturating_sub(other.cpu),
        }
    }
}

impl Runner {
    fn run(&mut self) -> Result<()> {
        self.client.warm_up(WARM_UP)?;
        let mut times = Vec::with_capacity(CALLS);
        let (before, start) = (Cpu::of(self.client.process()), Instant::now());
        while times.len() < CALLS && start.elapsed() < TIME {
            times.push(self.client.call()?);
        }
        let cpu = Cpu::of(self.client.process()).since(&before) / times.len() as u32;
        times.sort_unstable();
        let (p50, p95) = (times[times.len() / 2], times[times.len() * 95 / 100]);
        self.best = self.best.or(Round { p50, p95, cpu });
        Ok(())
    }

    fn measured(&self) -> Measured {
        Measured { way: self.way, round: self.best, memory: usage::memory(self.client.process()) }
    }
}

/// What was measured of a way.
struct Measured {
    way: Way,
    round: Round,
    memory: u64,
}

struct Measurements(Vec<Measured>);

impl Measurements {
    fn find(&self, way: Way) -> Option<&Measured> {
        self.0.iter().find(|measured| measured.way == way)
    }

    fn direct(&self) -> Result<Round> {
        Ok(self.find(Way::Direct).context("the straight way is measured always")?.round)
    }

    fn text(&self) -> Result<String> {
        let direct = self.direct()?;
        let mut text = format!(
            "{:<22} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "way", "p50", "p95", "added p50", "added p95", "CPU/call", "added CPU", "memory"
        );
        for Measured { way, round, memory } in &self.0 {
            let added = round.over(direct);
            let times = [round.p50, round.p95, added.p50, added.p95, round.cpu, added.cpu];
            let times = times.map(|time| format!(" {:>9}", short(time))).concat();
            text += &format!("\n{:<22}{times} {:>6.1} MB", way.name(), *memory as f64 / 1e6);
        }
        Ok(text)
    }

    /// What was promised. What cannot be measured, because those are not here who it was promised against, is said.
    fn rows(&self) -> Result<Vec<Row>> {
        let direct = self.direct()?;
        let mut rows = Vec::new();
        for (way, allowed) in [(Way::HaftLines, BY_LINES), (Way::HaftHttp, BY_HTTP)] {
            let measured = self.find(way).context("haft is measured always")?;
            let what = |figure: &str| format!("{}: {figure}", way.name());
            rows.push(Row::overhead(what("p50 over direct"), measured.round.p50, direct.p50, allowed));
            rows.push(Row::memory(what("memory"), measured.memory, MEMORY));
            let cpu = measured.round.over(direct).cpu;
            rows.extend(rivals(way).into_iter().map(|(rival, bound)| {
                let what = what(&format!("added CPU, {}", rival.name()));
                match self.find(rival) {
                    Some(theirs) => Row::times(what, cpu, theirs.round.over(direct).cpu, bound),
                    None => Row::missing(what, "it is not here; see `cargo xtask kit --peers`"),
                }
            }));
        }
        let [recorded, not] = [Way::HaftRecorded, Way::HaftLines].map(|way| self.find(way));
        let (recorded, not) = recorded.zip(not).context("haft is measured always")?;
        let name = format!("{}: p50 over that without", recorded.way.name());
        rows.push(Row::overhead(name, recorded.round.p50, not.round.p50, RECORDED));
        rows.push(Row::memory(format!("{}: memory", recorded.way.name()), recorded.memory, MEMORY));
        Ok(rows)
    }
}

/// Who goes the same way, and how much of what they use haft may use.
fn rivals(way: Way) -> Vec<(Way, f64)> {
    match way {
        Way::HaftLines => vec![(Way::FastMcpLines, SHARE)],
        _ => vec![(Way::FastMcpHttp, SHARE), (Way::McpProxyHttp, 1.0)],
    }
}

#[cfg(test)]
mod tests {
    use super::{super::table, *};

    fn measured(way: Way, p50: u64, cpu: u64, megabytes: u64) -> Measured {
        let micros = Duration::from_micros;
        let round = Round { p50: micros(p50), p95: micros(p50 * 2), cpu: micros(cpu) };
        Measured { way, round, memory: megabytes * 1_000_000 }
    }

    #[test]
    fn what_is_added_is_held_against_what_was_promised() {
        let measured = Measurements(vec![
            measured(Way::Direct, 50, 10, 2),
            measured(Way::HaftLines, 150, 70, 12),
            measured(Way::HaftHttp, 500, 120, 21),
            measured(Way::HaftRecorded, 1150, 170, 15),
            measured(Way::FastMcpLines, 2050, 2010, 90),
            measured(Way::McpProxyHttp, 400, 110, 15),
        ]);
        let text = measured.text().unwrap();
        assert!(text.contains("haft stdio→stdio"), "{text}");
        let rows = table::text(&measured.rows().unwrap());
        let verdicts: Vec<&str> = rows.lines().skip(1).filter_map(|line| line.rsplit(' ').next()).collect();
        assert_eq!(
            verdicts,
            ["kept", "kept", "kept", "OVER", "OVER", "--peers`", "OVER", "kept", "kept"],
            "{rows}"
        );
    }
}
