//! How long images are kept: what no image wants goes, then what is too old or too much.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    thread,
    time::{Duration, SystemTime},
};

use super::{StoredImages, image::Changed, index::Index, index::What, wait};
use crate::{
    blobs::{BlobLimits, BlobsPruned, Hash},
    record::Instant,
};

/// Looking through everything is done once in this time.
const EVERY: Duration = Duration::from_secs(24 * 3600);

/// Whoever has just kept something may not have said yet what for.
const YOUNG: Duration = Duration::from_secs(3600);

/// So many sessions are looked at.
const MOST_SESSIONS: usize = 100_000;

impl StoredImages {
    /// Forgets what is not kept any longer, on a thread of its own, if that is due. Nobody waits for it.
    pub fn prune_when_due(&self) {
        let stamp = self.0.options.place().join("pruned");
        let age =
            fs::metadata(&stamp).and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age < EVERY) || !self.0.options.place().exists() {
            return;
        }
        let images = self.clone();
        // A thread that cannot be had, or is cut off, leaves it for the next time.
        let _ = thread::Builder::new().name("haft-prune".to_owned()).spawn(move || {
            if images.prune(SystemTime::now()).is_ok() {
                let _ = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(stamp);
            }
        });
    }

    /// Forgets what is not kept any longer. Blocks.
    ///
    /// # Errors
    /// The book or the blobs cannot be read. Nothing that is wanted was forgotten then.
    pub fn prune(&self, now: SystemTime) -> io::Result<BlobsPruned> {
        let options = &self.0.options;
        let mut wanted = self.wanted_by_images(now)?;
        let roots = self.roots(now);
        roots.iter().for_each(|(_, index)| wanted.extend(hashes(index)));
        let limits = BlobLimits { most_bytes: options.max_total, young: YOUNG, now };
        let pruned = self.0.blobs.prune(&|hash| wanted.contains(hash), &limits)?;
        if pruned.wanted > 0 {
            // Some of what they say is kept is not: the next look reads everything again.
            roots.iter().for_each(|(directory, _)| drop(fs::remove_file(directory.join("index"))));
        }
        Ok(pruned)
    }

    fn wanted_by_images(&self, now: SystemTime) -> io::Result<HashSet<Hash>> {
        let since = now.checked_sub(self.0.options.keep).unwrap_or(SystemTime::UNIX_EPOCH);
        let since = since.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let since = Instant(i64::try_from(since).unwrap_or(i64::MAX));
        let mut wanted = HashSet::new();
        for session in wait(self.0.book.sessions(MOST_SESSIONS))?.into_iter().filter(|row| row.last >= since)
        {
            for event in self.0.image_events(&session.session)?.into_iter().filter(|event| event.at >= since)
            {
                let changed: Changed = serde_json::from_value(event.body).unwrap_or_default();
                wanted.extend(changed.images.iter().filter_map(|image| image.before.hash()).copied());
            }
        }
        Ok(wanted)
    }

    /// The looks at roots that somebody works in, and those of watches that are open.
    fn roots(&self, now: SystemTime) -> Vec<(std::path::PathBuf, Index)> {
        let directories = fs::read_dir(self.0.options.place().join("roots")).into_iter().flatten().flatten();
        let mut found = Vec::new();
        for directory in directories.map(|entry| entry.path()) {
            if is_older(&directory.join("index"), now, self.0.options.keep) {
                let _ = fs::remove_file(directory.join("index"));
            }
            let open = fs::read_dir(directory.join("open"))
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path());
            let open = open.filter(|path| path.extension().is_some_and(|extension| extension == "index"));
            for path in open.chain([directory.join("index")]) {
                found.extend(Index::read(&path).ok().flatten().map(|index| (directory.clone(), index)));
            }
        }
        found
    }
}

fn hashes(index: &Index) -> impl Iterator<Item = Hash> {
    index.entries.iter().filter_map(|entry| match entry.what {
        What::File(hash) => Some(hash),
        _ => None,
    })
}

fn is_older(path: &Path, now: SystemTime, age: Duration) -> bool {
    let modified = fs::metadata(path).and_then(|found| found.modified());
    modified.is_ok_and(|at| now.duration_since(at).is_ok_and(|is| is > age))
}
