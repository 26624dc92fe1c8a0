//! How long images are kept: what no image wants goes, then what is too old or too much.

use std::{
    collections::HashSet,
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

use haft_tool::SessionId;

use super::{StoredImages, image::Changed, index::Index, index::What, wait};
use crate::{
    blobs::{BlobLimits, BlobsPruned, Hash},
    book::{CallFilter, Part},
    due::{Forget, when_due},
    record::{AnyRow, Instant},
};

/// Whoever has just kept something may not have said yet what for.
const YOUNG: Duration = Duration::from_secs(3600);

/// So many sessions are looked at, at a time.
const SOME_SESSIONS: usize = 1_000;

impl StoredImages {
    /// Forgets what is not kept any longer, on a thread of its own, if that is due. Nobody waits for it.
    pub fn prune_when_due(&self) {
        let images = self.clone();
        when_due(self.0.options.place().join("pruned"), move |forget| {
            images.prune_by(SystemTime::now(), forget).map(drop)
        });
    }

    /// Forgets what is not kept any longer. Blocks.
    ///
    /// # Errors
    /// The book or the blobs cannot be read. Nothing that is wanted was forgotten then.
    pub fn prune(&self, now: SystemTime) -> io::Result<BlobsPruned> {
        self.prune_by(now, Forget::OldAndMuch)
    }

    fn prune_by(&self, now: SystemTime, forget: Forget) -> io::Result<BlobsPruned> {
        let options = &self.0.options;
        // To a clock that jumped ahead, what was kept a moment ago is no longer young either.
        let (keep, young) = match forget {
            Forget::OldAndMuch => (options.keep, YOUNG),
            Forget::Much => (Duration::MAX, Duration::MAX),
        };
        let mut wanted = self.wanted_by_images(now, keep)?;
        let roots = self.roots(now, keep);
        roots.iter().for_each(|(_, index)| wanted.extend(hashes(index)));
        let limits = BlobLimits { most_bytes: options.max_total, young, now };
        let pruned = self.0.blobs.prune(&|hash| wanted.contains(hash), &limits)?;
        if pruned.wanted > 0 {
            // Some of what they say is kept is not: the next look reads everything again.
            roots.iter().for_each(|(directory, _)| drop(fs::remove_file(directory.join("index"))));
        }
        Ok(pruned)
    }

    fn wanted_by_images(&self, now: SystemTime, keep: Duration) -> io::Result<HashSet<Hash>> {
        let since = now.checked_sub(keep).unwrap_or(SystemTime::UNIX_EPOCH);
        let since = since.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let since = Instant(i64::try_from(since).unwrap_or(i64::MAX));
        let (mut wanted, mut from) = (HashSet::new(), None);
        loop {
            let lately = CallFilter { since: Some(since), most: SOME_SESSIONS, ..CallFilter::default() };
            let page = wait(self.0.book.page(lately, from))?;
            for row in &page.rows {
                if let AnyRow::Session(session) = row {
                    self.wanted_by(&session.session, since, &mut wanted)?;
                }
            }
            from = page.next.filter(|next| next.part == Part::Sessions);
            if from.is_none() {
                return Ok(wanted);
            }
        }
    }

    fn wanted_by(&self, session: &SessionId, since: Instant, wanted: &mut HashSet<Hash>) -> io::Result<()> {
        for event in self.0.image_events(session)?.into_iter().filter(|event| event.at >= since) {
            let changed: Changed = serde_json::from_value(event.body).unwrap_or_default();
            wanted.extend(changed.images.iter().filter_map(|image| image.before.hash()).copied());
        }
        Ok(())
    }

    /// The looks at roots that somebody works in, and those of watches that are open.
    fn roots(&self, now: SystemTime, keep: Duration) -> Vec<(std::path::PathBuf, Index)> {
        let directories = fs::read_dir(self.0.options.place().join("roots")).into_iter().flatten().flatten();
        let mut found = Vec::new();
        for directory in directories.map(|entry| entry.path()) {
            if is_older(&directory.join("index"), now, keep) {
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
