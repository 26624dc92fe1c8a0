//! What is being changed right now, written down where the next start finds it.
//!
//! A process can be killed between any two of its steps. Each change of files therefore has a record, in a directory of
//! our own, that names what it puts beside the files; the record goes when the change is done. One that is there while
//! nobody holds it belongs to a process that died: what it left is taken away, and if it died while names changed hands,
//! they are given back. A name that has found another owner since is left alone.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::fs::{AtFlags, FlockOperation, OFlags, fcntl_lock, renameat, statat, unlinkat};

use super::{beneath::open, commit::STAGED_PREFIX};

/// Where changes are recorded. Without a place, a killed process leaves what it leaves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger(Option<PathBuf>);

/// Cleans up after processes that died while they changed files, by the ledger of their engine. An engine does it when its
/// first session begins; this is for those who have none.
pub fn sweep(ledger: &Path) {
    Ledger::at(ledger.to_owned()).sweep();
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) target: PathBuf,
    pub(super) staged: PathBuf,
    pub(super) kept: PathBuf,
    pub(super) was_there: bool,
}

/// The record of a change that is going on. It is held by a lock, which the system takes back from the dead.
#[derive(Debug)]
pub(super) struct Record(Option<Held>);

/// A record's file, locked for this process alone: what it starts meanwhile must not hold the lock when it has died. Such a
/// lock does not hold against its own process, and goes when the file is opened there once more and closed. So this process
/// knows by itself which records are its own, and leaves them alone.
#[derive(Debug)]
struct Held {
    path: PathBuf,
    file: File,
}

static OWN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn own() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Held {
    fn new(path: PathBuf) -> io::Result<Held> {
        let mut own = own();
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        own.insert(path.clone());
        let held = Held { path, file };
        drop(own);
        fcntl_lock(&held.file, FlockOperation::LockExclusive)?;
        Ok(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        own().remove(&self.path);
    }
}

impl Ledger {
    pub(crate) fn at(directory: PathBuf) -> Ledger {
        Ledger(Some(directory))
    }

    /// Records a change that is about to begin. Where that is not possible the change goes on: it is no less whole for
    /// whoever looks, and only a process that is killed just then leaves something behind.
    pub(super) fn begin(&self, entries: &[Entry]) -> Record {
        Record(self.0.as_ref().and_then(|directory| record(directory, entries).ok()))
    }

    /// Cleans up after processes that died.
    pub(crate) fn sweep(&self) {
        let directory = self.0.as_ref().and_then(|directory| directory.canonicalize().ok());
        let Some(records) = directory.and_then(|directory| fs::read_dir(directory).ok()) else { return };
        for record in records.flatten() {
            // What cannot be read or undone stays for the next start.
            if let Ok(Some(left)) = abandoned(&record.path())
                && left.clean().is_ok()
            {
                let _ = fs::remove_file(record.path());
            }
        }
    }
}

fn record(directory: &Path, entries: &[Entry]) -> io::Result<Held> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // One name for the same file, however it is reached.
    let path = directory.canonicalize()?.join(format!("{:016x}", fastrand::u64(..)));
    let mut held = Held::new(path)?;
    held.file.write_all(&names(entries))?;
    Ok(held)
}

impl Record {
    /// Everything is staged: from here on, names change hands.
    pub(super) fn staged(&mut self, inodes: impl Iterator<Item = u64>) {
        let inodes: Vec<u8> = inodes.flat_map(|inode| format!("{inode}\0").into_bytes()).collect();
        self.write(&[STAGED.as_bytes(), b"\0", &inodes].concat());
    }

    /// They all have.
    pub(super) fn done(&mut self) {
        self.write(&[DONE.as_bytes(), b"\0"].concat());
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(held) = &mut self.0 {
            let _ = held.file.write_all(bytes);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(held) = &self.0 {
            let _ = fs::remove_file(&held.path);
        }
    }
}

// Paths are absolute, so these words are none.
const STAGED: &str = "staged";
const DONE: &str = "done";

fn names(entries: &[Entry]) -> Vec<u8> {
    let fields = entries.iter().flat_map(|entry| {
        let was_there: &[u8] = if entry.was_there { b"1" } else { b"0" };
        [bytes(&entry.target), bytes(&entry.staged), bytes(&entry.kept), was_there]
    });
    fields.flat_map(|field| [field, b"\0"].concat()).collect()
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// What a process left that died.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    entries: Vec<Entry>,
    /// The new files, if names were changing hands.
    inodes: Option<Vec<u64>>,
}

/// Reads a record, unless somebody holds it.
fn abandoned(path: &Path) -> io::Result<Option<Left>> {
    let own = own();
    if own.contains(path) {
        return Ok(None);
    }
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    drop(own);
    if fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    // Made a moment ago and not yet written: its owner is about to lock it.
    Ok((!text.is_empty()).then(|| Left::parse(&text)))
}

impl Left {
    fn parse(text: &[u8]) -> Left {
        // A last field without its end was not written whole, and says nothing.
        let end = text.iter().rposition(|byte| *byte == 0).unwrap_or(0);
        let mut fields = text[..end].split(|byte| *byte == 0).peekable();
        let path = |field: &[u8]| PathBuf::from(OsString::from_vec(field.to_vec()));
        let mut entries = Vec::new();
        while fields.peek().is_some_and(|field| field.starts_with(b"/")) {
            let (Some(target), Some(staged), Some(kept), Some(was_there)) =
                (fields.next(), fields.next(), fields.next(), fields.next())
            else {
                break;
            };
            let (target, staged, kept) = (path(target), path(staged), path(kept));
            entries.push(Entry { target, staged, kept, was_there: was_there == b"1" });
        }
        let rest: Vec<&[u8]> = fields.collect();
        let inodes = match rest.split_first() {
            Some((word, inodes)) if *word == STAGED.as_bytes() && rest.last() != Some(&DONE.as_bytes()) => {
                inodes.iter().map(|inode| std::str::from_utf8(inode).ok()?.parse().ok()).collect()
            }
            _ => None,
        };
        Left { inodes: inodes.filter(|inodes: &Vec<u64>| inodes.len() == entries.len()), entries }
    }

    fn clean(&self) -> io::Result<()> {
        for (at, entry) in self.entries.iter().enumerate() {
            entry.clean(self.inodes.as_ref().map(|inodes| inodes[at]))?;
        }
        Ok(())
    }
}

impl Entry {
    /// Gives the name back if it had changed hands, and takes our own names away.
    fn clean(&self, inode: Option<u64>) -> io::Result<()> {
        let (Some(parent), Some(target)) = (self.target.parent(), self.target.file_name()) else {
            return Ok(());
        };
        let directory = match open(parent, OFlags::RDONLY | OFlags::DIRECTORY) {
            // Where there is no directory, nothing is left in it.
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let (Some(staged), Some(kept)) = (own_name(&self.staged), own_name(&self.kept)) else {
            return Ok(());
        };
        let found = |name: &OsStr| statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        if let Some(inode) = inode {
            let now = found(target).map(|found| found.st_ino);
            // A removed file has no new one: its place is empty if it is still ours.
            let is_ours = now == Some(inode).filter(|inode| *inode != 0);
            match (is_ours, found(kept).is_some()) {
                (true, true) => renameat(&directory, kept, &directory, target)?,
                (true, false) if now.is_some() && !self.was_there => {
                    unlinkat(&directory, target, AtFlags::empty())?;
                }
                _ => {}
            }
        }
        for name in [staged, kept] {
            if found(name).is_some() {
                unlinkat(&directory, name, AtFlags::empty())?;
            }
        }
        Ok(())
    }
}

/// The name of a file that we put there ourselves. A record that names another one is not ours.
fn own_name(path: &Path) -> Option<&OsStr> {
    path.file_name().filter(|name| name.as_bytes().starts_with(STAGED_PREFIX.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene {
        _dir: tempfile::TempDir,
        root: PathBuf,
        ledger: Ledger,
    }

    /// A process that dies after some of its steps: `files` are what it leaves.
    fn scene(files: &[(&str, &str)]) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("work")).unwrap();
        for (name, content) in files {
            fs::write(root.join("work").join(name), content).unwrap();
        }
        Scene { ledger: Ledger::at(root.join("ledger")), root, _dir: dir }
    }

    impl Scene {
        fn entry(&self, target: &str, was_there: bool) -> Entry {
            let work = self.root.join("work");
            let staged = format!("{STAGED_PREFIX}{target}");
            Entry {
                target: work.join(target),
                kept: work.join(format!("{staged}-old")),
                staged: work.join(staged),
                was_there,
            }
        }

        fn inode(&self, name: &str) -> u64 {
            std::os::unix::fs::MetadataExt::ino(&fs::metadata(self.root.join("work").join(name)).unwrap())
        }

        fn dies(&self, entries: &[Entry], staged: Option<&[u64]>, done: bool) {
            let mut record = self.ledger.begin(entries);
            if let Some(inodes) = staged {
                record.staged(inodes.iter().copied());
            }
            if done {
                record.done();
            }
            // The record stays, its lock goes.
            record.0 = None;
        }

        fn after_sweep(&self) -> Vec<(String, String)> {
            self.ledger.sweep();
            assert_eq!(fs::read_dir(self.root.join("ledger")).unwrap().count(), 0, "records are gone");
            let files = fs::read_dir(self.root.join("work")).unwrap().map(|entry| entry.unwrap());
            let text = |path: PathBuf| fs::read_to_string(path).unwrap();
            let mut files: Vec<_> =
                files.map(|file| (file.file_name().into_string().unwrap(), text(file.path()))).collect();
            files.sort();
            files
        }
    }

    fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
    }

    #[test]
    fn what_was_staged_and_never_used_is_taken_away() {
        let scene = scene(&[("a", "old"), (".haft-staged-a", "half of the ne")]);
        scene.dies(&[scene.entry("a", true)], None, false);
        assert_eq!(scene.after_sweep(), files(&[("a", "old")]));
    }

    #[test]
    fn names_that_had_changed_hands_are_given_back() {
        let scene = scene(&[
            ("a", "new a"),
            (".haft-staged-a-old", "old a"),
            (".haft-staged-gone-old", "old gone"),
            ("made", "new made"),
            ("later", "old later"),
            (".haft-staged-later-old", "old later"),
            (".haft-staged-later", "new later"),
        ]);
        let entries = [
            scene.entry("a", true),
            scene.entry("gone", true),
            scene.entry("made", false),
            scene.entry("later", true),
        ];
        let inodes = [scene.inode("a"), 0, scene.inode("made"), scene.inode(".haft-staged-later")];
        scene.dies(&entries, Some(&inodes), false);
        assert_eq!(
            scene.after_sweep(),
            files(&[("a", "old a"), ("gone", "old gone"), ("later", "old later")])
        );
    }

    #[test]
    fn a_change_that_was_done_stays_done() {
        let scene = scene(&[("a", "new a"), (".haft-staged-a-old", "old a")]);
        scene.dies(&[scene.entry("a", true)], Some(&[scene.inode("a")]), true);
        assert_eq!(scene.after_sweep(), files(&[("a", "new a")]));
    }

    #[test]
    fn a_name_that_somebody_else_has_taken_since_is_left_alone() {
        let scene = scene(&[("a", "somebody's"), (".haft-staged-a-old", "old a"), ("made", "somebody's")]);
        let entries = [scene.entry("a", true), scene.entry("made", false)];
        scene.dies(&entries, Some(&[1, 1]), false);
        assert_eq!(scene.after_sweep(), files(&[("a", "somebody's"), ("made", "somebody's")]));
    }

    #[test]
    fn a_change_that_is_going_on_is_not_disturbed() {
        let scene = scene(&[("a", "old"), (".haft-staged-a", "ne")]);
        let record = scene.ledger.begin(&[scene.entry("a", true)]);
        scene.ledger.sweep();
        assert!(scene.root.join("work/.haft-staged-a").exists());
        drop(record);
        assert_eq!(fs::read_dir(scene.root.join("ledger")).unwrap().count(), 0);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "what is started here is nobody's command")]
    fn what_a_dead_process_started_does_not_hold_its_records() {
        let scene = scene(&[("a", "old"), (".haft-staged-a", "ne")]);
        let mut record = scene.ledger.begin(&[scene.entry("a", true)]);
        let held = record.0.as_ref().unwrap();
        rustix::io::fcntl_setfd(&held.file, rustix::io::FdFlags::empty()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        record.0 = None;
        let files_now = scene.after_sweep();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(files_now, files(&[("a", "old")]));
    }

    #[test]
    fn a_record_that_names_files_of_others_does_nothing_to_them() {
        let scene = scene(&[("a", "mine"), ("b", "mine")]);
        let work = scene.root.join("work");
        let entry =
            Entry { target: work.join("c"), staged: work.join("a"), kept: work.join("b"), was_there: true };
        scene.dies(&[entry], Some(&[0]), false);
        assert_eq!(scene.after_sweep(), files(&[("a", "mine"), ("b", "mine")]));
    }

    #[test]
    fn a_record_that_was_not_written_whole_is_read_as_far_as_it_goes() {
        let scene = scene(&[]);
        let entry = scene.entry("a", true);
        let whole = [names(std::slice::from_ref(&entry)), b"staged\x0012".to_vec()].concat();
        assert_eq!(Left::parse(&whole), Left { entries: vec![entry], inodes: None });
        for end in 0..whole.len() {
            Left::parse(&whole[..end]);
        }
    }
}
