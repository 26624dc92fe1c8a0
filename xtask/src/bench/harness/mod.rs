//! `cargo xtask bench harness`: what haft adds between a model's answer and the next request.
//!
//! `haft run` works against a scripted model on this machine. What counts is the time from the end of an answer to the
//! arrival of the next request, the work of its tools included; of several runs the best, since whatever else the machine
//! does only makes it longer.

mod scenes; // what the model has it do
mod peers; //  others on the same script

use std::{
    collections::VecDeque,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use haft_model::{Dialect, scripted::Turn};

use super::{Options, table::Row};
use crate::{
    haft::{Haft, bytes_in},
    scripted::{Asked, ScriptedModel},
};
use scenes::{Field, SCENES};

/// So often each scene is played.
const ROUNDS: usize = 5;
/// No run takes so long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Measures all scenes or one, and gives what was promised of each.
pub(super) fn rows(haft: &Haft, place: &Path, options: &Options) -> Result<Vec<Row>> {
    let root = place.join("harness");
    if options.peers {
        return peers::rows(&Field::new(&haft.at(root.join("home")), &root, place)?, &root);
    }
    let only = options.only.as_deref();
    let names = || SCENES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let wanted: Vec<_> = SCENES.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)).collect();
    ensure!(!wanted.is_empty(), "there is no such scene; there are {}", names());
    let field = Field::new(&haft.at(root.join("home")), &root, place)?;
    let mut rows = Vec::new();
    for (name, scene) in wanted {
        match scene(&field) {
            Ok(measured) => rows.extend(measured),
            Err(err) => rows.push(Row::missing(*name, format!("{err:#}"))),
        }
    }
    Ok(rows)
}

/// What was seen of one run.
struct Played {
    /// From the start of the process to the first request.
    start: Duration,
    /// From the end of each answer to the next request.
    gaps: Vec<Duration>,
    /// The first request.
    first: String,
    /// The bytes of the last request, which holds all that was said.
    last: usize,
    /// The most memory that haft held.
    peak: u64,
}

/// Who is asked to work: how it speaks with its model, and how it is started in a directory.
struct Player<'a> {
    dialect: Dialect,
    command: Box<Start<'a>>,
}

/// In a directory, with a model.
type Start<'a> = dyn Fn(&Path, &ScriptedModel) -> Result<Command> + 'a;

impl Player<'_> {
    /// Plays a script to its end: a turn each, then a word of goodbye.
    fn play(&self, directory: &Path, turns: &[Turn]) -> Result<Played> {
        let mut script: VecDeque<Turn> = turns.iter().cloned().collect();
        let next = move |_, body: &str| {
            let turn = if is_for_work(body) { script.pop_front() } else { None };
            turn.unwrap_or_else(|| Turn::new().text("Done."))
        };
        let model = ScriptedModel::speaking(self.dialect, next)?;
        let (began, peak) = watched(&mut (self.command)(directory, &model)?)?;
        let mut asked = model.take();
        asked.retain(|asked| is_for_work(&asked.body));
        ensure!(
            asked.len() == turns.len() + 1,
            "the model was asked {} times for {} turns",
            asked.len(),
            turns.len()
        );
        let last = asked.last().map_or(0, |asked| asked.body.len());
        Ok(Played {
            start: asked[0].at - began,
            gaps: gaps(&asked)?,
            first: asked[0].body.clone(),
            last,
            peak,
        })
    }
}

/// Whether the model is asked to work, and not for a title or an opinion, as some do beside.
fn is_for_work(body: &str) -> bool {
    body.contains(r#""tools":[{"#)
}

fn gaps(asked: &[Asked]) -> Result<Vec<Duration>> {
    let gap = |pair: &[Asked]| {
        Ok(pair[1].at.saturating_duration_since(pair[0].answered.context("an answer was cut off")?))
    };
    asked.windows(2).map(gap).collect()
}

/// Runs it to its end: when it began, and the most memory it held. It is looked at seldom, so as not to be in its way.
fn watched(command: &mut Command) -> Result<(Instant, u64)> {
    let began = Instant::now();
    let mut child = command.spawn()?;
    let mut peak = 0;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        peak = bytes_in(&status, "VmHWM:").unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "haft ended with {status}");
            return Ok((began, peak));
        }
        if began.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("haft does not end");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The middle of some times.
fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
