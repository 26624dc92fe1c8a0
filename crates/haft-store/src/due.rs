//! When something that is done once a day is due, by a file whose time says when it was done last.
//!
//! To a clock that jumped ahead everything is old. Whoever forgets by age asks here how long nobody did, and forgets nothing by
//! age after a pause that no machine in use makes: from the next day on, it does.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    thread,
    time::Duration,
};

pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);
/// So long nobody was here, or the clock is wrong.
pub(crate) const PAUSE: Duration = Duration::from_secs(30 * 24 * 3600);

/// What may be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forget {
    /// What is too old, and what is too much.
    OldAndMuch,
    /// What is too much: ages are not to be believed today.
    Much,
}

/// Does something on a thread of its own, if it was not done in the last day. The stamp is the file that says so; it is made if
/// its directory is there. Nobody waits for it.
pub(crate) fn when_due(stamp: PathBuf, work: impl FnOnce(Forget) -> io::Result<()> + Send + 'static) {
    let Some(forget) = due(&stamp) else { return };
    // A thread that cannot be had, or is cut off, leaves it for the next time.
    let _ = thread::Builder::new().name("haft-prune".to_owned()).spawn(move || {
        if work(forget).is_ok() {
            let _ = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(stamp);
        }
    });
}

/// What is to be done today, if anything.
fn due(stamp: &PathBuf) -> Option<Forget> {
    let last = fs::metadata(stamp).and_then(|found| found.modified()).ok();
    // A stamp of the future is that of a clock that was wrong: it keeps nobody from doing it.
    match last.and_then(|at| at.elapsed().ok()) {
        Some(age) if age < DAY => None,
        Some(age) if age > PAUSE => Some(Forget::Much),
        _ => stamp.parent().is_some_and(|directory| directory.exists()).then_some(Forget::OldAndMuch),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, time::SystemTime};

    use super::*;

    #[test]
    fn after_a_pause_that_only_a_clock_makes_nothing_is_too_old() {
        let place = tempfile::tempdir().unwrap();
        let stamp = place.path().join("pruned");
        assert_eq!(due(&place.path().join("nowhere/pruned")), None);
        assert_eq!(due(&stamp), Some(Forget::OldAndMuch), "it was never done");
        let file = File::create(&stamp).unwrap();
        for (days, expected) in [
            (0, None),
            (2, Some(Forget::OldAndMuch)),
            (29, Some(Forget::OldAndMuch)),
            (31, Some(Forget::Much)),
        ] {
            file.set_modified(SystemTime::now() - DAY * days - Duration::from_secs(60)).unwrap();
            assert_eq!(due(&stamp), expected, "{days} days ago");
        }
        file.set_modified(SystemTime::now() + DAY * 100).unwrap();
        assert_eq!(due(&stamp), Some(Forget::OldAndMuch), "a clock that went back");
    }
}
