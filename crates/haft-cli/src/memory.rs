//! What a session that was named by `--session` knows from one run to the next: a file in the state directory.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use haft_engine::{Session, session::Memory};
use haft_store::Book;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::{exit::usage, kept, place, setup::Setup};

fn directory() -> anyhow::Result<PathBuf> {
    Ok(place::state()?.join("sessions"))
}

fn file(id: &str) -> anyhow::Result<PathBuf> {
    // The id was checked when the options were read: letters, digits, `-` and `_`.
    Ok(directory()?.join(format!("{id}.json")))
}

/// What the session knew at the end of the last run.
pub(crate) fn recall(id: &str) -> anyhow::Result<Memory> {
    let file = file(id)?;
    // It says what a person has granted: it counts only if nobody else could have written it.
    let wrong = |err: io::Error| {
        usage(format!("{}: {err}; remove the file to begin the session anew", file.display()))
    };
    match kept::read(&file).map_err(wrong)? {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|err| wrong(err.into())),
        None => Ok(Memory::default()),
    }
}

/// Keeps what it knows now. Written beside and moved: a run that is killed leaves the old one whole.
pub(crate) fn remember(id: &str, memory: &Memory) -> anyhow::Result<()> {
    let file = file(id)?;
    let write = || kept::replace(&file, &serde_json::to_vec(memory)?);
    write().map_err(|err| anyhow::anyhow!("the session cannot be kept in {}: {err}", file.display()))
}

/// Forgets what sessions knew that nobody went on with for as long as calls are kept, and of which the journal has none any more.
/// What cannot be looked at stays.
pub(crate) async fn forget(book: &dyn Book, keep: Duration) -> anyhow::Result<()> {
    for id in older(&directory()?, keep) {
        if book.past(&id.as_str().into(), 1).await?.is_empty() {
            let _ = fs::remove_file(file(&id)?);
        }
    }
    Ok(())
}

/// The sessions whose files nobody has written for so long.
fn older(directory: &Path, keep: Duration) -> Vec<String> {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_old = |file: &fs::DirEntry| {
        let written = file.metadata().and_then(|found| found.modified());
        written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > keep))
    };
    let id = |file: fs::DirEntry| file.file_name().to_str()?.strip_suffix(".json").map(str::to_owned);
    files.filter(is_old).filter_map(id).collect()
}

/// What a session knows is kept so often while it runs.
const KEEP_EVERY: Duration = Duration::from_secs(2);

/// Keeps what a session knows while it runs: after a crash, what was read need not be read again.
pub(crate) struct Keeper {
    session: Session,
    keeps: bool,
    kept: Instant,
    /// What is being kept right now: two at once would be in each other's way.
    keeping: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(crate) fn new(setup: &Setup, session: &Session) -> Keeper {
        Keeper {
            session: session.clone(),
            // Another machine's is kept in the end alone.
            keeps: setup.store().is_some_and(|store| !store.is_far()),
            kept: Instant::now(),
            keeping: None,
        }
    }

    /// Keeps it if it is time.
    pub(crate) fn keep_now_and_then(&mut self) {
        let is_at_it = self.keeping.as_ref().is_some_and(|keeping| !keeping.is_finished());
        if !is_at_it && self.kept.elapsed() >= KEEP_EVERY {
            self.keep();
        }
    }

    /// Keeps it, since nothing may happen for long.
    pub(crate) fn keep(&mut self) {
        if !self.keeps {
            return;
        }
        self.kept = Instant::now();
        let (id, memory, before) =
            (self.session.id().to_string(), self.session.memory(), self.keeping.take());
        self.keeping = Some(tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            // It is kept in the end in any case, and there is told what is wrong.
            let _ = spawn_blocking(move || drop(remember(&id, &memory))).await;
        }));
    }

    /// Waits for what is being kept.
    pub(crate) async fn settle(&mut self) {
        if let Some(keeping) = self.keeping.take() {
            let _ = keeping.await;
        }
    }
}
