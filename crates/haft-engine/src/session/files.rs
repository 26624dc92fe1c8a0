//! The one door to the file system.
//!
//! A tool opens paths here and nowhere else. The door knows what the call declared and was permitted, looks at what it
//! really opened, and hands out that descriptor: the file that was judged is the file that is used, whatever somebody
//! swapped in between.

use std::{
    fmt::Write,
    fs::{self, File, Metadata},
    io, iter,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use haft_redact::Redactor;
use haft_schema::nearest;
use haft_tool::{
    Access, Fault, FileChange, Files, Hidden, Refusal, Sight, Stamp, Visitor, Walk, Walked, shown,
};
use rustix::{fs::OFlags, io::Errno};
use tokio_util::sync::CancellationToken;

use super::{
    Ledger, Seen, Session, beneath,
    commit::{Fate, Manner, commit},
    images::{Doer, Images},
    locate::locate,
    walk::{self, Grounds},
};
use crate::{
    policy::Policy,
    pool::Entry,
    result::{FileSecrets, size},
};

/// File access for one call: what its effects declared, at the places that were judged.
pub(crate) struct DeclaredFiles {
    places: Vec<(PathBuf, Access)>,
    workspace: PathBuf,
    seen: Arc<Seen>,
    ledger: Ledger,
    /// Where what it changes is kept, and for whom.
    images: Option<(Arc<dyn Images>, Doer)>,
    /// What finds the secrets in what is read, and where they are noted.
    redactor: Option<(Arc<Redactor>, Arc<FileSecrets>)>,
    gate: Gate,
}

/// What keeps a walk from showing what the rules withhold, and ends it with the call.
#[derive(Default)]
pub(crate) struct Gate {
    /// Whose rules, for which tool. None but in tests: there are no rules then.
    rules: Option<(Session, Entry)>,
    /// The policy of the first walk: what was decided then holds for the call.
    policy: OnceLock<Arc<Policy>>,
    token: CancellationToken,
}

impl Gate {
    pub(crate) fn new(session: Session, entry: Entry, token: CancellationToken) -> Gate {
        Gate { rules: Some((session, entry)), policy: OnceLock::new(), token }
    }

    /// What the session is kept to.
    fn boundary(&self) -> Option<Vec<PathBuf>> {
        self.rules.as_ref().and_then(|(session, _)| session.boundary())
    }

    fn grounds<'a>(&'a self, root: &'a Path, walk: &'a Walk) -> Grounds<'a> {
        let withheld = self.rules.as_ref().and_then(|(session, entry)| {
            let policy = self.policy.get_or_init(|| session.policy());
            let aliases = entry.tool().spec().other_names().iter().copied();
            policy.withheld(iter::once(entry.name()).chain(aliases), root)
        });
        let at_home = self.rules.as_ref().is_some_and(|(session, _)| session.home().is_some());
        Grounds { root, walk, withheld, token: &self.token, at_home }
    }
}

impl DeclaredFiles {
    pub(crate) fn new(
        places: Vec<(PathBuf, Access)>,
        workspace: &Path,
        seen: Arc<Seen>,
        ledger: Ledger,
        gate: Gate,
    ) -> DeclaredFiles {
        let workspace = workspace.to_owned();
        DeclaredFiles { places, workspace, seen, ledger, images: None, redactor: None, gate }
    }

    /// The same, and what it changes is kept.
    pub(crate) fn keeping(self, images: Option<(Arc<dyn Images>, Doer)>) -> DeclaredFiles {
        DeclaredFiles { images, ..self }
    }

    /// The same, and no answer tells what is hidden in what it reads.
    pub(crate) fn hiding(self, redactor: Option<(Arc<Redactor>, Arc<FileSecrets>)>) -> DeclaredFiles {
        DeclaredFiles { redactor, ..self }
    }

    fn manner(&self) -> Manner<'_> {
        let album = self.images.as_ref().map(|(images, doer)| images.begin(doer));
        Manner { ledger: self.ledger.clone(), album, takes_links: false }
    }

    /// The real place, if the call declared it. Who may write may look first; not the other way round.
    fn place(&self, path: &Path, access: Access) -> Result<PathBuf, Fault> {
        let real = locate(path).map_err(|err| Fault::io("find", path, err))?;
        let covers = |(place, declared): &(PathBuf, Access)| {
            real.starts_with(place) && (access == Access::Read || *declared == Access::Write)
        };
        if !self.places.iter().any(covers) {
            return Err(not_permitted(path));
        }
        if self.gate.boundary().is_some_and(|roots| !roots.iter().any(|root| real.starts_with(root))) {
            return Err(out_of_bounds(path));
        }
        if let Some((session, _)) = &self.gate.rules {
            session.refuse_results_of_others(&real)?;
        }
        Ok(real)
    }

    /// What is replaced must be what the model believes is there.
    fn believed(&self, path: &Path, real: &Path) -> Result<(), Fault> {
        let Some(now) = self.metadata(path)?.filter(Metadata::is_file) else { return Ok(()) };
        let (now, path) = (Stamp::of(&now), shown(path));
        match self.seen.of(real).map(|sight| sight.stamp) {
            Some(seen) if seen == now => Ok(()),
            Some(seen) => Err(Fault::rejected(format!(
                "{path} has changed since it was read ({} → {}); nothing was written. Read it again, then decide",
                size(seen.len as usize),
                size(now.len as usize),
            ))),
            None => Err(Fault::rejected(format!(
                "{path} exists ({}) and has not been read in this session; nothing was written. Read it first",
                size(now.len as usize),
            ))),
        }
    }

    /// A file that is not there, and perhaps the one that was meant. Only names inside the workspace are told: others
    /// would say more than was permitted.
    fn missing(&self, path: &Path, real: &Path, err: io::Error) -> Fault {
        let mut fault = Fault::io("read", path, err);
        let name = real.file_name().and_then(|name| name.to_str());
        let parent = real.parent().filter(|parent| parent.starts_with(&self.workspace));
        if let (Some(name), Some(parent)) = (name, parent)
            && let Some(near) = nearest_name(parent, name)
        {
            let _ = write!(fault.message_mut(), "; did you mean {near}?");
        }
        fault
    }
}

impl Files for DeclaredFiles {
    fn open(&self, path: &Path) -> Result<File, Fault> {
        let real = self.place(path, Access::Read)?;
        let cannot = |err| Fault::io("read", path, err);
        // Non-blocking, so that opening a FIFO returns; no terminal becomes ours.
        let file = match beneath::open(&real, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Err(self.missing(path, &real, err)),
            opened => opened.map_err(|err| swapped_or(path, err, cannot))?,
        };
        let metadata = file.metadata().map_err(cannot)?;
        if metadata.is_dir() {
            return Err(cannot(io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            return Err(cannot(io::Error::other("it is not a regular file")));
        }
        Ok(file)
    }

    fn metadata(&self, path: &Path) -> Result<Option<Metadata>, Fault> {
        let cannot = |err| Fault::io("look at", path, err);
        match beneath::open(&self.place(path, Access::Read)?, OFlags::PATH) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => {
                let file = opened.map_err(|err| swapped_or(path, err, cannot))?;
                file.metadata().map(Some).map_err(cannot)
            }
        }
    }

    fn walk(&self, root: &Path, walk: &Walk, visitors: &mut [&mut dyn Visitor]) -> Result<Walked, Fault> {
        let real = self.place(root, Access::Read)?;
        let grounds = self.gate.grounds(&real, walk);
        let walked = walk::walk(&grounds, visitors)
            .map_err(|err| swapped_or(root, err, |err| Fault::io("look through", root, err)))?;
        if self.gate.token.is_cancelled() { Err(walk::cancelled()) } else { Ok(walked) }
    }

    fn change(&self, changes: &[FileChange<'_>]) -> Result<(), Fault> {
        let mut fates: Vec<(PathBuf, Fate<'_>)> = Vec::with_capacity(changes.len());
        for change in changes {
            let real = self.place(change.path(), Access::Write)?;
            self.believed(change.path(), &real)?;
            if fates.iter().any(|(other, _)| *other == real) {
                return Err(twice(change.path()));
            }
            fates.push((real, fate(change)));
        }
        let now = commit(&fates, self.manner()).map_err(|(at, err)| {
            let path = changes[at].path();
            swapped_or(path, err, |err| Fault::io(verb(&changes[at]), path, err))
        })?;
        for ((real, _), now) in fates.into_iter().zip(now) {
            match now {
                Some(now) => self.seen.note(real, Stamp::of(&now).into()),
                None => self.seen.forget(&real),
            }
        }
        Ok(())
    }

    fn seen(&self, path: &Path) -> Result<Option<Sight>, Fault> {
        Ok(self.seen.of(&self.place(path, Access::Read)?))
    }

    fn see(&self, path: &Path, sight: Sight) -> Result<(), Fault> {
        self.seen.note(self.place(path, Access::Read)?, sight);
        Ok(())
    }

    fn secrets_in(&self, text: &str) -> Vec<Hidden> {
        match &self.redactor {
            Some((redactor, secrets)) => secrets.find(redactor, text),
            None => Vec::new(),
        }
    }
}

fn fate<'a>(change: &FileChange<'a>) -> Fate<'a> {
    match change {
        FileChange::Write { content, .. } => Fate::Holds(content),
        FileChange::Splice { was, pieces, .. } => Fate::Splices(was, pieces),
        FileChange::Remove { .. } => Fate::Gone,
    }
}

fn verb(change: &FileChange<'_>) -> &'static str {
    match change {
        FileChange::Write { .. } | FileChange::Splice { .. } => "write",
        FileChange::Remove { .. } => "remove",
    }
}

fn twice(path: &Path) -> Fault {
    Fault::rejected(format!("{} would be changed twice at once; nothing was written", shown(path)))
}

/// A link where there was none when the call was judged: somebody swapped it.
fn swapped_or(path: &Path, err: io::Error, otherwise: impl FnOnce(io::Error) -> Fault) -> Fault {
    if Errno::from_io_error(&err) == Some(Errno::LOOP) { not_permitted(path) } else { otherwise(err) }
}

fn out_of_bounds(path: &Path) -> Fault {
    let message =
        format!("{} is outside the workspace, and this session is kept to its workspace.", shown(path));
    Fault::denied(Refusal::Boundary, message)
}

fn not_permitted(path: &Path) -> Fault {
    Fault::denied(Refusal::Boundary, format!("{} is not what this call was permitted to touch.", shown(path)))
}

/// Looks only at so many names: a hint is not worth more.
fn nearest_name(parent: &Path, name: &str) -> Option<String> {
    let entries = fs::read_dir(parent).ok()?.take(2_000).flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::{io::Read, os::unix::fs::symlink};

    use super::*;

    fn door(path: &Path) -> DeclaredFiles {
        DeclaredFiles::new(
            vec![(locate(path).unwrap(), Access::Read)],
            Path::new("/nowhere"),
            Arc::default(),
            Ledger::default(),
            Gate::default(),
        )
    }

    #[test]
    fn what_was_declared_opens_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (mine, other) = (dir.path().join("mine"), dir.path().join("other"));
        fs::write(&mine, "hello").unwrap();
        fs::write(&other, "secret").unwrap();
        let door = door(&mine);
        let mut text = String::new();
        door.open(&mine).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
        assert_eq!(door.open(&other).unwrap_err().refusal(), Some(Refusal::Boundary));
        assert_eq!(door.metadata(&other).unwrap_err().refusal(), Some(Refusal::Boundary));
    }

    #[test]
    fn a_file_swapped_for_a_link_after_the_check_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (mine, other) = (dir.path().join("mine"), dir.path().join("other"));
        fs::write(&mine, "hello").unwrap();
        fs::write(&other, "secret").unwrap();
        let door = door(&mine);
        fs::remove_file(&mine).unwrap();
        symlink(&other, &mine).unwrap();
        assert_eq!(door.open(&mine).unwrap_err().refusal(), Some(Refusal::Boundary));
    }

    #[test]
    fn what_was_declared_to_be_read_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let mine = dir.path().join("mine");
        fs::write(&mine, "hello").unwrap();
        assert_eq!(door(&mine).write(&mine, b"bye").unwrap_err().refusal(), Some(Refusal::Boundary));
    }

    #[test]
    fn a_file_is_replaced_only_as_it_was_seen() {
        let dir = tempfile::tempdir().unwrap();
        let mine = dir.path().join("mine");
        let door = DeclaredFiles::new(
            vec![(locate(&mine).unwrap(), Access::Write)],
            dir.path(),
            Arc::default(),
            Ledger::default(),
            Gate::default(),
        );
        door.write(&mine, b"first").unwrap();
        door.write(&mine, b"what we wrote ourselves we have seen").unwrap();
        fs::write(&mine, "somebody else").unwrap();
        let fault = door.write(&mine, b"blind").unwrap_err();
        assert!(fault.message().contains("has changed since it was read"), "{fault}");
        let file = door.open(&mine).unwrap();
        door.see(&mine, Stamp::of(&file.metadata().unwrap()).into()).unwrap();
        door.write(&mine, b"second").unwrap();
        let stranger = DeclaredFiles::new(
            vec![(locate(&mine).unwrap(), Access::Write)],
            dir.path(),
            Arc::default(),
            Ledger::default(),
            Gate::default(),
        );
        let fault = stranger.write(&mine, b"blind").unwrap_err();
        assert!(fault.message().contains("has not been read in this session"), "{fault}");
        assert_eq!(fs::read_to_string(&mine).unwrap(), "second");
    }

    #[test]
    fn pipes_and_devices_do_not_hang() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .unwrap();
        for path in [fifo.as_path(), Path::new("/dev/zero")] {
            let fault = door(path).open(path).unwrap_err();
            assert!(fault.message().contains("not a regular file"), "{fault}");
        }
    }
}
