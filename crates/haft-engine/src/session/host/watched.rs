//! The places that a call's processes may write, watched so that their changes can be taken back.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use haft_tool::{Fault, FaultKind};

use crate::session::images::{Doer, Images, Watch};

/// The watched places of one call. Places can be added while its processes run.
#[derive(Default)]
pub(super) struct WatchedPlaces(Mutex<Watches>);

#[derive(Default)]
struct Watches {
    roots: Vec<PathBuf>,
    open: Vec<Box<dyn Watch>>,
}

impl WatchedPlaces {
    /// Watches what is not watched yet of these roots. Blocks on the file system.
    pub(super) fn begin(&self, images: &dyn Images, doer: &Doer, roots: &[PathBuf]) -> Result<(), Fault> {
        let mut watches = self.lock();
        let is_watched = |root: &Path| watches.roots.iter().any(|watched| root.starts_with(watched));
        let more: Vec<PathBuf> = roots.iter().filter(|root| !is_watched(root)).cloned().collect();
        if more.is_empty() {
            return Ok(());
        }
        watches.open.push(images.watch(doer, &more).map_err(unwatched)?);
        watches.roots.extend(more);
        Ok(())
    }

    /// The same for places that running processes may write from now on. Before the first grant there are none.
    pub(super) fn add(&self, images: &dyn Images, doer: &Doer, roots: &[PathBuf]) -> Result<(), Fault> {
        if self.lock().open.is_empty() {
            return Ok(());
        }
        self.begin(images, doer, roots)
    }

    pub(super) fn take(&self) -> Vec<Box<dyn Watch>> {
        std::mem::take(&mut self.lock().open)
    }

    fn lock(&self) -> MutexGuard<'_, Watches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unwatched(err: io::Error) -> Fault {
    let message = format!("nothing was run: what it may change could not be kept for undo: {err}");
    Fault::new(FaultKind::Unavailable, message).with_source(err)
}
