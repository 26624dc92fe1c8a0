//! A watch that is open, written down where the next start finds it.
//!
//! Beside each marker lies the look that the watch began with. A marker is held by a lock, which the system takes back
//! from the dead: one that nobody holds belongs to a process that is gone, and whoever finds it looks what happened.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use haft_engine::session::{CallKey, Doer};
use haft_tool::{shown, unshown};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::{directory_of, index::Index};

/// Who watches which root.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    key: CallKey,
    turn: u32,
    workspace: String,
    root: String,
}

/// A watch that is open. If it is only dropped, it stays for others to find.
#[derive(Debug)]
pub(super) struct Marker {
    path: PathBuf,
    _held: File,
}

/// A watch that was cut off.
pub(super) struct Abandoned {
    pub(super) doer: Doer,
    pub(super) root: PathBuf,
    pub(super) begin: Index,
    pub(super) marker: Marker,
}

impl Marker {
    /// Opens one, with the latest look at the root, which is kept under a name of its own from now on.
    pub(super) fn open(place: &Path, doer: &Doer, root: &Path) -> io::Result<Marker> {
        let directory = directory_of(place, root).join("open");
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let path = directory.join(format!("{:016x}", fastrand::u64(..)));
        fs::hard_link(latest(place, root), path.with_extension("index"))?;
        let noted = Noted {
            key: doer.key.clone(),
            turn: doer.turn,
            workspace: shown(&doer.workspace).to_string(),
            root: shown(root).to_string(),
        };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        file.write_all(&serde_json::to_vec(&noted)?)?;
        Ok(Marker { path, _held: file })
    }

    /// From now on the latest look is what it begins with.
    pub(super) fn move_on(&self, place: &Path, root: &Path) -> io::Result<()> {
        let (index, next) = (self.path.with_extension("index"), self.path.with_extension("next"));
        fs::hard_link(latest(place, root), &next)?;
        fs::rename(&next, index)?;
        // Two names of one file do not change places, they both stay.
        let _ = fs::remove_file(next);
        Ok(())
    }

    /// All is written down.
    pub(super) fn close(self) {
        // The marker first: a look without one is nothing, a marker without a look could not be settled.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension("index"));
    }
}

/// The processes of a call die after whoever ran it, each when its turn comes: what they still write belongs to the call, and
/// must be there before anybody looks.
pub(super) fn let_them_die() {
    thread::sleep(Duration::from_millis(100));
}

/// Where the latest look at a root is.
pub(super) fn latest(place: &Path, root: &Path) -> PathBuf {
    directory_of(place, root).join("index")
}

/// The watches of a root that were cut off.
pub(super) fn abandoned(place: &Path, root: &Path) -> Vec<Abandoned> {
    in_directory(&directory_of(place, root).join("open"))
}

/// The roots that have watches which were cut off.
pub(super) fn roots_with_abandoned(place: &Path) -> Vec<PathBuf> {
    let roots = fs::read_dir(place.join("roots")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        roots.flat_map(|root| in_directory(&root.path().join("open"))).map(|one| one.root).collect();
    found.sort();
    found.dedup();
    found
}

fn in_directory(directory: &Path) -> Vec<Abandoned> {
    let markers = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    markers.filter(|path| path.extension().is_none()).filter_map(|path| read(path).ok().flatten()).collect()
}

/// Reads a marker, unless somebody holds it.
fn read(path: PathBuf) -> io::Result<Option<Abandoned>> {
    let mut file = File::open(&path)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    // Not written whole: its owner is about to lock it, or died before anything ran.
    let Ok(noted) = serde_json::from_slice::<Noted>(&text) else { return Ok(None) };
    let marker = Marker { _held: file, path };
    let Some(begin) = Index::read(&marker.path.with_extension("index"))? else {
        // Somebody else has settled it meanwhile, or there is nothing to compare with.
        marker.close();
        return Ok(None);
    };
    let doer = Doer { key: noted.key, turn: noted.turn, workspace: unshown(&noted.workspace) };
    Ok(Some(Abandoned { doer, root: unshown(&noted.root), begin, marker }))
}
