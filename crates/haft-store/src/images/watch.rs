//! From one look to the next: what processes of a call changed.
//!
//! A look before they start, a look after they ended; what is different between them is the call's work, unless it is known
//! to be somebody else's. A task that goes on after its call is looked after whenever somebody looks at its root again.

use std::{
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use haft_engine::session::{Doer, Watch};
use haft_tool::{SessionId, shown};

use super::{
    Shared,
    compare::{Happened, compare},
    events,
    image::{Changed, Image},
    index::Index,
    marker::{Abandoned, Marker, abandoned, latest, let_them_die},
    scan::{Scan, Scanned},
    wait,
};
use crate::{
    book::Durability,
    record::{Entry, PathRow},
};

/// So many files that a command changed are found again by their names.
const MOST_TOUCHED: usize = 1000;

/// A call whose task goes on.
pub(super) struct Lasting {
    doer: Doer,
    root: PathBuf,
    marker: Marker,
}

/// Roots that are watched for a call.
struct Watching {
    shared: Arc<Shared>,
    doer: Doer,
    roots: Vec<(PathBuf, Arc<Index>, Marker)>,
    left_out: Vec<String>,
}

pub(super) fn begin(shared: &Arc<Shared>, doer: &Doer, roots: &[PathBuf]) -> io::Result<Box<dyn Watch>> {
    shared.room().open += 1;
    let mut watching =
        Watching { shared: shared.clone(), doer: doer.clone(), roots: Vec::new(), left_out: Vec::new() };
    for root in outermost(roots).into_iter().filter(|_| shared.options.shell) {
        match watching.add(root) {
            Ok(()) => {}
            Err(err) => watching.left_out.push(shared.failed(doer, at(root, &err))?),
        }
    }
    let mut room = shared.room();
    if room.open == 1 {
        // This look has seen them.
        room.sealed.clear();
    }
    drop(room);
    Ok(Box::new(watching))
}

/// Nothing of a session goes on: what its tasks did is settled for good.
pub(super) fn end(shared: &Arc<Shared>, session: &SessionId) {
    let (ended, others) = std::mem::take(&mut shared.room().lasting)
        .into_iter()
        .partition::<Vec<Lasting>, _>(|lasting| lasting.doer.key.session == *session);
    shared.room().lasting = others;
    for lasting in ended {
        let settled = shared.known(&lasting.root).and_then(|known| {
            let Scanned::Whole(fresh) = shared.look(&lasting.root, &known, &known)? else { return Ok(()) };
            shared.settle(&lasting.doer, &lasting.root, &known, &fresh, false, Vec::new())?;
            shared.keep_look(&lasting.root, fresh).map(drop)
        });
        // Otherwise the marker stays, and the next start tries again.
        if settled.is_ok() {
            lasting.marker.close();
        }
    }
    shared.forget_sealed();
}

impl Watching {
    fn add(&mut self, root: &Path) -> io::Result<()> {
        let shared = &self.shared;
        let place = shared.options.place();
        let known = shared.known(root)?;
        let left = abandoned(&place, root);
        if !left.is_empty() {
            let_them_die();
        }
        let is_too_large = shared.room().too_large.contains(root);
        let looked = if is_too_large { Scanned::TooMany } else { shared.look(root, &known, &known)? };
        let Scanned::Whole(fresh) = looked else {
            shared.room().too_large.insert(root.to_owned());
            let (root, most) = (shown(root), shared.options.most_files);
            self.left_out.push(format!("what was changed below {root}: there are more than {most} files"));
            return Ok(());
        };
        shared.settle_abandoned(left, &fresh);
        shared.settle_lasting(root, &known, &fresh)?;
        let begin = shared.keep_look(root, fresh)?;
        shared
            .room()
            .lasting
            .iter()
            .filter(|one| one.root == root)
            .try_for_each(|one| one.marker.move_on(&place, root))?;
        self.roots.push((root.to_owned(), begin, Marker::open(&place, &self.doer, root)?));
        Ok(())
    }
}

impl Watch for Watching {
    fn settle(mut self: Box<Self>, goes_on: bool) {
        let mut left_out = std::mem::take(&mut self.left_out);
        for (root, begin, marker) in std::mem::take(&mut self.roots) {
            let left_out = std::mem::take(&mut left_out);
            if let Err(err) = self.settle_root(&root, &begin, marker, left_out, goes_on) {
                // The marker is still there: the next look finds out.
                self.shared
                    .note(&self.doer.key, format!("what it changed is not known yet: {}", at(&root, &err)));
            }
        }
        if !left_out.is_empty() {
            let changed = Changed { left_out, ..Changed::default() };
            let _ = self.shared.record(&self.doer, &changed, Durability::Process);
        }
    }
}

impl Watching {
    fn settle_root(
        &self,
        root: &Path,
        begin: &Index,
        marker: Marker,
        left_out: Vec<String>,
        goes_on: bool,
    ) -> io::Result<()> {
        let shared = &self.shared;
        let Scanned::Whole(fresh) = shared.look(root, begin, begin)? else {
            let words = format!("{} holds more files now than are looked at", shown(root));
            return Err(io::Error::other(words));
        };
        shared.settle(&self.doer, root, begin, &fresh, false, left_out)?;
        shared.keep_look(root, fresh)?;
        if goes_on {
            marker.move_on(&shared.options.place(), root)?;
            shared.room().lasting.push(Lasting { doer: self.doer.clone(), root: root.to_owned(), marker });
        } else {
            marker.close();
        }
        Ok(())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.shared.room().open -= 1;
        self.shared.forget_sealed();
    }
}

impl Shared {
    /// What was found at the last look.
    pub(super) fn known(&self, root: &Path) -> io::Result<Arc<Index>> {
        if let Some(known) = self.room().roots.get(root) {
            return Ok(known.clone());
        }
        let Some(known) = Index::read(&latest(&self.options.place(), root))? else {
            return Ok(Arc::default());
        };
        let known = Arc::new(known);
        self.room().roots.insert(root.to_owned(), known.clone());
        Ok(known)
    }

    /// Looks again. `begin` is what the next comparison begins with.
    pub(super) fn look(&self, root: &Path, known: &Index, begin: &Index) -> io::Result<Scanned> {
        let had_repository = begin.entries.is_empty() || begin.find(b".git").is_some();
        let scan =
            Scan { root, known, blobs: &*self.blobs, options: &self.options, objects: !had_repository };
        scan.run()
    }

    /// Makes this the last look.
    fn keep_look(&self, root: &Path, mut fresh: Index) -> io::Result<Arc<Index>> {
        fresh.entries.retain(|entry| !is_object(&entry.path));
        let path = latest(&self.options.place(), root);
        let fresh = Arc::new(fresh);
        let last = self.room().roots.insert(root.to_owned(), fresh.clone());
        // When it was looked matters only if something was too fresh then to be believed.
        if last.is_some_and(|last| last.entries == fresh.entries && !last.is_fresh()) && path.exists() {
            return Ok(fresh);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap_or(Path::new("/")))?;
        fresh.write(&path)?;
        Ok(fresh)
    }

    fn settle(
        &self,
        doer: &Doer,
        root: &Path,
        begin: &Index,
        fresh: &Index,
        late: bool,
        mut left_out: Vec<String>,
    ) -> io::Result<()> {
        let by_others = self.room().sealed.clone();
        let Happened { images, left_out: more } = compare(root, begin, fresh, &by_others);
        left_out.extend(more);
        if images.is_empty() && left_out.is_empty() {
            return Ok(());
        }
        let changed = Changed { images, late, left_out, ..Changed::default() };
        let mut entries = events(doer, &changed)?;
        entries.push(Entry::Touched { key: doer.key.clone(), paths: touched(&changed.images) });
        wait(self.book.append(entries, Durability::Process))
    }

    /// Finds out what those did who were cut off.
    pub(super) fn settle_abandoned(&self, abandoned: Vec<Abandoned>, fresh: &Index) {
        for Abandoned { doer, root, begin, marker } in abandoned {
            // What cannot be written down now stays for the next time.
            if self.settle(&doer, &root, &begin, fresh, true, Vec::new()).is_ok() {
                marker.close();
            }
        }
    }

    /// What was changed while nobody of ours ran is the work of a task that goes on, if there is one.
    fn settle_lasting(&self, root: &Path, known: &Index, fresh: &Index) -> io::Result<()> {
        let doer = self.room().lasting.iter().rfind(|one| one.root == root).map(|one| one.doer.clone());
        match doer {
            Some(doer) => self.settle(&doer, root, known, fresh, false, Vec::new()),
            None => Ok(()),
        }
    }

    fn forget_sealed(&self) {
        let mut room = self.room();
        if room.open == 0 && room.lasting.is_empty() {
            room.sealed.clear();
        }
    }
}

/// Nobody foresaw what a command would change: from now on it is found by that, too.
fn touched(images: &[Image]) -> Vec<PathRow> {
    let files = images.iter().filter(|image| image.is_of_content()).take(MOST_TOUCHED);
    files.map(|image| PathRow { path: image.shown().to_owned(), writes: true }).collect()
}

/// The roots that lie in no other.
fn outermost(roots: &[PathBuf]) -> Vec<&Path> {
    let mut sorted: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    sorted.sort_unstable();
    let mut outer: Vec<&Path> = Vec::with_capacity(sorted.len());
    for root in sorted {
        if !outer.iter().any(|other| root.starts_with(other)) {
            outer.push(root);
        }
    }
    outer
}

/// What git keeps for good: it is looked at only where the whole repository is new.
fn is_object(path: &[u8]) -> bool {
    [&b".git/objects"[..], b".git/lfs"]
        .iter()
        .any(|root| path.strip_prefix(*root).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/")))
}

fn at(root: &Path, err: &io::Error) -> io::Error {
    io::Error::new(err.kind(), format!("{}: {err}", shown(root)))
}
