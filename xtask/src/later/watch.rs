//! A program outside that runs what a command creates, the moment it is there: an editor, a shell, a hook of git.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Looks for files that hold a text, again and again without a pause.
pub(super) struct Watcher {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Sightings>,
}

/// What the watcher found.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    /// How long each was there, as far as looks tell.
    pub(super) times: Vec<Duration>,
    /// Those that are still there at the end.
    pub(super) left: Vec<PathBuf>,
}

impl Watcher {
    pub(super) fn start(paths: Vec<PathBuf>, marker: String) -> Watcher {
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let thread = thread::spawn(move || watch(&paths, marker.as_bytes(), &until));
        Watcher { ended, thread }
    }

    /// Has a last look.
    pub(super) fn end(self) -> Sightings {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn watch(paths: &[PathBuf], marker: &[u8], ended: &AtomicBool) -> Sightings {
    let mut seen = Sightings::default();
    let mut since: Vec<Option<Instant>> = vec![None; paths.len()];
    loop {
        let is_last = ended.load(Ordering::Relaxed);
        for (path, since) in paths.iter().zip(&mut since) {
            match (holds(path, marker), *since) {
                (true, None) => *since = Some(Instant::now()),
                (false, Some(start)) => {
                    seen.times.push(start.elapsed());
                    *since = None;
                }
                _ => {}
            }
        }
        if is_last {
            let there = paths.iter().zip(&since).filter(|(_, since)| since.is_some());
            seen.left = there.map(|(path, _)| path.clone()).collect();
            return seen;
        }
    }
}

/// Whether a file can be read and holds the text. Links are followed, as by what would run it.
fn holds(path: &PathBuf, marker: &[u8]) -> bool {
    fs::read(path).is_ok_and(|text| text.windows(marker.len()).any(|piece| piece == marker))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_comes_and_goes_is_seen_with_its_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let watcher = Watcher::start(vec![path.clone()], "EVIL".to_owned());
        fs::write(&path, "echo EVIL").unwrap();
        thread::sleep(Duration::from_millis(50));
        fs::remove_file(&path).unwrap();
        thread::sleep(Duration::from_millis(50));
        let seen = watcher.end();
        assert!(seen.left.is_empty() && seen.times.len() == 1, "{seen:?}");
    }
}
