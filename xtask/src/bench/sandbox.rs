//! `cargo xtask bench sandbox`: what it costs to be confined, over the same command without.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use haft_shell::sandbox::Confinement;

use super::{
    peers::{peer, timed},
    table::{Row, race_for},
};
use crate::haft::Haft;

/// What confinement may add.
const ALLOWED: Duration = Duration::from_millis(5);
/// More than elsewhere: the times are short, and the shortest counts.
const ROUNDS: usize = 40;

pub(super) fn rows(haft: &Haft, place: &Path) -> Result<Vec<Row>> {
    let place = place.join("sandbox");
    fs::create_dir_all(place.join(".git"))?;
    let times = race_for(
        ROUNDS,
        [
            &mut || confined(&may_write(&place)),
            &mut || confined(&only_looks(&place)),
            &mut || bare(&place),
            &mut || {
                timed(&mut haft.command(&place, &["sandbox", "--write", ".", "--", "bash", "-c", "true"]))
            },
        ],
    );
    let rows = |[writes, looks, bare, command]: [Duration; 4]| {
        let row = |what: &str, time| Row::overhead(what, time, bare, ALLOWED);
        vec![
            row("sandbox as Bash uses it: bash -c true", writes),
            row("the same for who only looks, and reads the workspace", looks),
            row("haft sandbox: bash -c true", command),
        ]
    };
    Ok(times.map_or_else(|err| vec![Row::missing("sandbox", format!("{err:#}"))], rows))
}

fn bare(place: &Path) -> Result<Duration> {
    timed(&mut peer("bash", place, &["-c", "true"]))
}

fn may_write(place: &Path) -> Confinement {
    Confinement { write: vec![place.to_owned()], ..Confinement::at(place) }
}

/// As for a command without approval.
fn only_looks(place: &Path) -> Confinement {
    Confinement { only_looks: true, read: Some(vec![place.to_owned()]), ..Confinement::at(place) }
}

/// The same in this process, from the first thought to the last thing put away.
fn confined(confinement: &Confinement) -> Result<Duration> {
    let start = Instant::now();
    let mut command = Command::new("bash");
    command.args(["-c", "true"]).stdin(Stdio::null());
    let mut guard = confinement.prepare()?.apply(&mut command)?;
    let mut child = command.spawn().map_err(|err| anyhow!("{}", guard.explain(err)))?;
    guard.started()?;
    let status = child.wait()?;
    drop((guard, command));
    let time = start.elapsed();
    ensure!(status.success(), "it ended with {status}");
    Ok(time)
}
