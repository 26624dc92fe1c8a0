//! Changing files: all of them or none, each in one step.
//!
//! Every new content is first written beside its file and synced. Only when all of them are there do the names change
//! hands, and what was there before is kept under a name of its own until the last one has. Whoever looks sees old
//! content or new, never half of one, also after a crash; what a crash leaves half done, the [`Ledger`] undoes at the
//! next start.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    ops::Range,
    os::unix::{ffi::OsStringExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use haft_tool::{Piece, Stamp};
use rustix::{
    fs::{self, AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid},
    io::Errno,
};

use super::{
    beneath::{make_directory, missing_directories, open},
    beside::beside,
    images::{Album, Fingerprint, Listener, Thing},
    ledger::{Entry, Ledger, Record},
};

/// What is to become of a place that was located.
#[derive(Clone, Copy)]
pub(super) enum Fate<'a> {
    Holds(&'a [u8]),
    Splices(&'a File, &'a [Piece<'a>]),
    /// It holds what is read from there, and has this mode.
    Was(&'a Content<'a>, u32),
    /// It is a link with this in it.
    Links(&'a Path),
    Gone,
}

/// Opens what a file is to hold.
pub(super) type Content<'a> = dyn Fn() -> io::Result<Box<dyn io::Read + Send>> + Sync + 'a;

impl Fate<'_> {
    fn is_gone(self) -> bool {
        matches!(self, Fate::Gone)
    }

    fn write_to(self, to: &mut Staging) -> io::Result<()> {
        match self {
            Fate::Holds(content) => to.write_all(content),
            Fate::Splices(was, pieces) => splice(was, pieces, to),
            Fate::Was(content, _) => io::copy(&mut content()?, to).map(drop),
            Fate::Links(_) | Fate::Gone => Ok(()),
        }
    }
}

/// A new content on its way to the disk, and whoever wants to know it.
struct Staging {
    file: File,
    listener: Option<Box<dyn Listener>>,
}

impl io::Write for Staging {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        if let Some(listener) = &mut self.listener {
            listener.hear(&bytes[..written]);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One that is there.
struct Staged {
    file: File,
    written: Metadata,
    fingerprint: Option<Fingerprint>,
}

/// What else a change of files needs to know.
#[derive(Default)]
pub(super) struct Manner<'a> {
    pub(super) ledger: Ledger,
    /// Where it is kept what was there.
    pub(super) album: Option<Box<dyn Album + 'a>>,
    /// Whether a link may be replaced. Nobody but undo means the link itself.
    pub(super) takes_links: bool,
}

/// Makes all of these changes, or none. Gives what is there now, in the same order. The mode and, where the system
/// permits, the owner stay. Another name of a file (a hard link) keeps the old content.
pub(super) fn commit(
    changes: &[(PathBuf, Fate<'_>)],
    manner: Manner<'_>,
) -> Result<Vec<Option<Metadata>>, (usize, io::Error)> {
    let Manner { ledger, mut album, takes_links } = manner;
    let mut steps = Vec::with_capacity(changes.len());
    for (at, (real, fate)) in changes.iter().enumerate() {
        let planned = Step::plan(real, *fate, takes_links, album.as_deref_mut());
        steps.push(planned.map_err(|err| (at, err))?);
    }
    let entries: Vec<Entry> = steps.iter().map(Step::entry).collect();
    let mut record = ledger.begin(&entries);
    let done: Result<(), (usize, io::Error)> =
        prepare(&mut steps, &mut record, album).and_then(|()| exchange(&mut steps));
    match done {
        Ok(()) => record.done(),
        Err(_) => steps.iter().rev().for_each(Step::undo),
    }
    steps.iter().for_each(Step::tidy);
    done?;
    sync_directories(&steps).map_err(|err| (0, err))?;
    Ok(steps.into_iter().map(|step| step.written).collect())
}

/// Everything that can go wrong, before the first name changes hands.
fn prepare(
    steps: &mut [Step<'_>],
    record: &mut Record,
    mut album: Option<Box<dyn Album + '_>>,
) -> Result<(), (usize, io::Error)> {
    for (at, step) in steps.iter_mut().enumerate() {
        step.stage(album.as_deref_mut()).map_err(|err| (at, err))?;
    }
    if let Some(album) = album {
        album.seal().map_err(|err| (0, unkept(&err)))?;
    }
    // One rename is one step by itself.
    if let [step] = steps
        && !step.fate.is_gone()
    {
        return Ok(());
    }
    record.staged(steps.iter().map(|step| step.inode));
    steps.iter_mut().enumerate().try_for_each(|(at, step)| step.keep_old().map_err(|err| (at, err)))
}

fn exchange(steps: &mut [Step<'_>]) -> Result<(), (usize, io::Error)> {
    steps.iter_mut().enumerate().try_for_each(|(at, step)| step.exchange().map_err(|err| (at, err)))
}

fn sync_directories(steps: &[Step<'_>]) -> io::Result<()> {
    let mut synced = HashSet::new();
    let mut directories = steps.iter().filter(|step| synced.insert(step.parent.as_path()));
    directories.try_for_each(|step| step.directory.sync_all())
}

/// One change on its way.
struct Step<'a> {
    fate: Fate<'a>,
    parent: PathBuf,
    directory: File,
    name: OsString,
    old: Option<Stat>,
    /// The new content, until it has the file's name.
    staged: OsString,
    /// The old content, until all is done.
    kept: OsString,
    is_kept: bool,
    is_exchanged: bool,
    inode: u64,
    written: Option<Metadata>,
}

/// A file is read in pieces of this size: smaller ones cost a system call each.
const BUFFER: usize = 64 << 10;

/// What of a mode are permissions.
pub(super) const MODE_BITS: u32 = 0o7777;

/// By this, what a crash left behind is recognised.
pub(super) const STAGED_PREFIX: &str = ".haft-staged-";

impl<'a> Step<'a> {
    fn plan(
        real: &Path,
        fate: Fate<'a>,
        takes_links: bool,
        album: Option<&mut (dyn Album + '_)>,
    ) -> io::Result<Step<'a>> {
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let directory = if fate.is_gone() {
            open(parent, OFlags::RDONLY | OFlags::DIRECTORY)?
        } else {
            make_parents(parent, album)?
        };
        let old = replaceable(&directory, name, takes_links)?;
        if old.is_none() && matches!(fate, Fate::Splices(..) | Fate::Gone) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let staged = format!("{STAGED_PREFIX}{:016x}", fastrand::u64(..));
        Ok(Step {
            fate,
            parent: parent.to_owned(),
            directory,
            name: name.to_owned(),
            old,
            kept: format!("{staged}-old").into(),
            staged: staged.into(),
            is_kept: false,
            is_exchanged: false,
            inode: 0,
            written: None,
        })
    }

    fn entry(&self) -> Entry {
        Entry {
            target: self.parent.join(&self.name),
            staged: self.parent.join(&self.staged),
            kept: self.parent.join(&self.kept),
            was_there: self.old.is_some(),
        }
    }

    /// Puts what is new under a name of our own, and keeps what is old. Both take the disk a while, and neither needs the other.
    fn stage(&mut self, mut album: Option<&mut (dyn Album + '_)>) -> io::Result<()> {
        let listener = album.as_ref().and_then(|album| album.listener());
        let mut keep = || match &mut album {
            Some(album) => self.keep_image(*album).map_err(|err| unkept(&err)),
            None => Ok(()),
        };
        let staged = match self.fate {
            Fate::Gone => None,
            Fate::Links(target) => {
                fs::symlinkat(target, &self.directory, &self.staged)?;
                None
            }
            Fate::Holds(_) | Fate::Splices(..) | Fate::Was(..) => {
                let (staged, kept) = beside(|| self.stage_file(listener), &mut keep);
                let staged = staged?;
                kept?;
                Some(staged)
            }
        };
        match &staged {
            Some(staged) => {
                self.inode = staged.written.ino();
                self.written = Some(staged.written.clone());
            }
            None => keep()?,
        }
        if matches!(self.fate, Fate::Links(_)) {
            self.inode = fs::statat(&self.directory, &self.staged, AtFlags::SYMLINK_NOFOLLOW)?.st_ino;
        }
        match album {
            Some(album) => album.expect(&self.staged_thing(staged.as_ref())).map_err(|err| unkept(&err)),
            None => Ok(()),
        }
    }

    /// The new content, on the disk.
    fn stage_file(&self, listener: Option<Box<dyn Listener>>) -> io::Result<Staged> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A new file gets what the umask leaves; an old one's content is nobody's business until it has its mode.
        let mode = Mode::from_raw_mode(if self.old.is_none() { 0o666 } else { 0o600 });
        let file = File::from(fs::openat(&self.directory, &self.staged, flags, mode)?);
        let mut staging = Staging { file, listener };
        self.fate.write_to(&mut staging)?;
        let Staging { file, listener } = staging;
        if let Some(old) = self.old {
            // Not ours to give away in general: then the file becomes ours, as it does with most editors.
            let _ = fs::fchown(&file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)));
        }
        let kept_mode = self.old.filter(is_regular).map(|old| old.st_mode);
        let mode = if let Fate::Was(_, mode) = self.fate { Some(mode) } else { kept_mode };
        if let Some(mode) = mode {
            fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        let written = file.metadata()?;
        file.sync_all()?;
        Ok(Staged { file, written, fingerprint: listener.map(|listener| listener.fingerprint()) })
    }

    /// What will be there.
    fn staged_thing<'b>(&'b self, staged: Option<&'b Staged>) -> Thing<'b> {
        match (self.fate, staged) {
            (Fate::Links(target), _) => Thing::Link(target.to_owned()),
            (_, Some(Staged { file, written, fingerprint })) => {
                let mode = written.mode() & MODE_BITS;
                Thing::File { file, len: written.len(), mode, fingerprint: *fingerprint }
            }
            _ => Thing::Absent,
        }
    }

    /// Keeps what is there.
    fn keep_image(&self, album: &mut (dyn Album + '_)) -> io::Result<()> {
        let path = self.parent.join(&self.name);
        let Some(old) = self.old else { return album.keep(&path, &Thing::Absent) };
        if !is_regular(&old) {
            let target = fs::readlinkat(&self.directory, &self.name, Vec::new())?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            return album.keep(&path, &Thing::Link(target));
        }
        let (len, mode) = (u64::try_from(old.st_size).unwrap_or(0), old.st_mode & MODE_BITS);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        match fs::openat(&self.directory, &self.name, flags, Mode::empty()) {
            Ok(file) => {
                album.keep(&path, &Thing::File { file: &File::from(file), len, mode, fingerprint: None })
            }
            Err(err) => album.keep(&path, &Thing::Closed { len, mode, why: err.to_string() }),
        }
    }

    /// A second name for what is there. What is removed gets it instead of its own.
    fn keep_old(&mut self) -> io::Result<()> {
        if self.old.is_some() && !self.fate.is_gone() {
            fs::linkat(&self.directory, &self.name, &self.directory, &self.kept, AtFlags::empty())?;
            self.is_kept = true;
        }
        Ok(())
    }

    fn exchange(&mut self) -> io::Result<()> {
        if self.fate.is_gone() {
            fs::renameat(&self.directory, &self.name, &self.directory, &self.kept)?;
            self.is_kept = true;
        } else {
            fs::renameat(&self.directory, &self.staged, &self.directory, &self.name)?;
        }
        self.is_exchanged = true;
        Ok(())
    }

    /// Gives the name back. Best effort: there is nobody left to tell, and the old content is kept if it fails.
    fn undo(&self) {
        let _ = match (self.is_exchanged, self.is_kept) {
            (true, true) => fs::renameat(&self.directory, &self.kept, &self.directory, &self.name),
            (true, false) => fs::unlinkat(&self.directory, &self.name, AtFlags::empty()),
            (false, _) => Ok(()),
        };
    }

    /// Takes away what is under the names of our own.
    fn tidy(&self) {
        for name in [&self.staged, &self.kept] {
            let _ = fs::unlinkat(&self.directory, name, AtFlags::empty());
        }
    }
}

/// Writes old and new pieces. If the old file changes meanwhile, they are pieces of nothing that ever was.
fn splice(was: &File, pieces: &[Piece<'_>], to: &mut Staging) -> io::Result<()> {
    let before = Stamp::of(&was.metadata()?);
    for piece in pieces {
        match piece {
            Piece::New(bytes) => to.write_all(bytes)?,
            Piece::Same(range) => copy(was, range, to)?,
        }
    }
    if Stamp::of(&was.metadata()?) != before {
        return Err(io::Error::other("it was changed by somebody else meanwhile"));
    }
    Ok(())
}

/// The kernel copies, where it can and nobody listens: `io::copy` sees to that.
fn copy(mut from: &File, range: &Range<u64>, to: &mut Staging) -> io::Result<()> {
    from.seek(SeekFrom::Start(range.start))?;
    let wanted = range.end.saturating_sub(range.start);
    let mut from = from.take(wanted);
    let copied = match to.listener {
        None => io::copy(&mut from, &mut to.file)?,
        Some(_) => io::copy(&mut BufReader::with_capacity(BUFFER, from), to)?,
    };
    if copied == wanted { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Opens the directory of a file, making what is missing of it.
fn make_parents(parent: &Path, album: Option<&mut (dyn Album + '_)>) -> io::Result<File> {
    let Some(album) = album else { return make_directory(parent) };
    let missing = missing_directories(parent);
    for directory in &missing {
        // What it really gets is what the umask leaves; that it was not there is what counts.
        let after = Thing::Directory { mode: 0o755 };
        album.add(directory, &Thing::Absent, &after).map_err(|err| unkept(&err))?;
    }
    if !missing.is_empty() {
        album.write().map_err(|err| unkept(&err))?;
    }
    make_directory(parent)
}

fn unkept(err: &io::Error) -> io::Error {
    io::Error::other(format!("what is there could not be kept for undo ({err}); nothing was changed"))
}

fn is_regular(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
}

/// What is under a name, if that may be replaced.
fn replaceable(directory: &File, name: &OsStr, takes_links: bool) -> io::Result<Option<Stat>> {
    let old = match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        found => found?,
    };
    match FileType::from_raw_mode(old.st_mode) {
        FileType::RegularFile => Ok(Some(old)),
        FileType::Directory => Err(io::ErrorKind::IsADirectory.into()),
        FileType::Symlink if takes_links => Ok(Some(old)),
        FileType::Symlink => Err(Errno::LOOP.into()),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        (dir, root)
    }

    fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
        let changes = [(path.to_owned(), Fate::Holds(content))];
        commit(&changes, Manner::default()).map(drop).map_err(|(_, err)| err)
    }

    fn names(root: &Path) -> Vec<String> {
        let names = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_leaves_nothing_else() {
        let (_dir, root) = place();
        let path = root.join("script");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(names(&root), ["script"]);
    }

    #[test]
    fn parents_are_made_and_other_names_of_a_file_are_left_alone() {
        let (_dir, root) = place();
        replace(&root.join("a/b/c"), b"deep").unwrap();
        assert_eq!(std::fs::read_to_string(root.join("a/b/c")).unwrap(), "deep");
        std::fs::hard_link(root.join("a/b/c"), root.join("other")).unwrap();
        replace(&root.join("a/b/c"), b"changed").unwrap();
        assert_eq!(std::fs::read_to_string(root.join("other")).unwrap(), "deep");
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let (_dir, root) = place();
        std::fs::create_dir(root.join("dir")).unwrap();
        symlink("elsewhere", root.join("link")).unwrap();
        assert_eq!(replace(&root.join("dir"), b"").unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(Errno::from_io_error(&replace(&root.join("link"), b"").unwrap_err()), Some(Errno::LOOP));
        assert!(replace(Path::new("/"), b"").is_err());
        assert_eq!(names(&root), ["dir", "link"], "nothing is left behind");
    }

    #[test]
    fn pieces_of_a_file_are_joined_with_new_ones_unless_they_are_not_there() {
        let (_dir, root) = place();
        let path = root.join("a");
        std::fs::write(&path, "one two three").unwrap();
        let was = File::open(&path).unwrap();
        let splice = |pieces: &[Piece]| {
            let changes = [(path.clone(), Fate::Splices(&was, pieces))];
            commit(&changes, Manner::default()).map(drop).map_err(|(_, err)| err.kind())
        };
        assert_eq!(splice(&[Piece::Same(0..99)]), Err(io::ErrorKind::UnexpectedEof));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one two three");
        splice(&[Piece::Same(8..13), Piece::New(b", "), Piece::Same(0..3)]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three, one");
        assert_eq!(names(&root), ["a"]);
    }

    #[test]
    fn several_files_change_together() {
        let (_dir, root) = place();
        std::fs::write(root.join("changed"), "old").unwrap();
        std::fs::write(root.join("removed"), "old").unwrap();
        let changes = [
            (root.join("changed"), Fate::Holds(b"new")),
            (root.join("removed"), Fate::Gone),
            (root.join("sub/made"), Fate::Holds(b"made")),
        ];
        let now = commit(&changes, Manner::default()).unwrap();
        assert_eq!(now.iter().map(|found| found.is_some()).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(names(&root), ["changed", "sub"]);
        assert_eq!(std::fs::read_to_string(root.join("changed")).unwrap(), "new");
        assert_eq!(std::fs::read_to_string(root.join("sub/made")).unwrap(), "made");
    }

    #[test]
    fn if_one_cannot_change_none_does() {
        let (_dir, root) = place();
        std::fs::write(root.join("a"), "old a").unwrap();
        std::fs::write(root.join("b"), "old b").unwrap();
        std::fs::create_dir(root.join("dir")).unwrap();
        for bad in [(root.join("dir"), Fate::Holds(b"x".as_slice())), (root.join("missing"), Fate::Gone)] {
            let changes = [
                (root.join("a"), Fate::Holds(b"new a")),
                (root.join("b"), Fate::Gone),
                (root.join("c"), Fate::Holds(b"new c")),
                bad,
            ];
            assert_eq!(commit(&changes, Manner::default()).unwrap_err().0, 3);
            assert_eq!(names(&root), ["a", "b", "dir"]);
            assert_eq!(std::fs::read_to_string(root.join("a")).unwrap(), "old a");
        }
    }

    #[test]
    fn names_that_changed_hands_are_given_back_when_a_later_one_fails() {
        let (_dir, root) = place();
        std::fs::write(root.join("a"), "old a").unwrap();
        std::fs::write(root.join("b"), "old b").unwrap();
        let changes = [
            (root.join("a"), Fate::Holds(b"new a".as_slice())),
            (root.join("b"), Fate::Gone),
            (root.join("c"), Fate::Holds(b"new c")),
        ];
        let mut steps: Vec<Step> =
            changes.iter().map(|(real, fate)| Step::plan(real, *fate, false, None).unwrap()).collect();
        let mut record = Ledger::default().begin(&[]);
        prepare(&mut steps, &mut record, None).unwrap();
        // Somebody takes the last one's content away between staging and renaming.
        std::fs::remove_file(root.join(&steps[2].staged)).unwrap();
        assert_eq!(exchange(&mut steps).unwrap_err().0, 2);
        steps.iter().rev().for_each(Step::undo);
        steps.iter().for_each(Step::tidy);
        assert_eq!(names(&root), ["a", "b"]);
        assert_eq!(std::fs::read_to_string(root.join("a")).unwrap(), "old a");
        assert_eq!(std::fs::read_to_string(root.join("b")).unwrap(), "old b");
    }
}
