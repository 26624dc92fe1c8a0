//! Putting back what was at places: files, links and directories, by the same steps as every other change.
//!
//! Not for tools: nothing is judged here. Whoever takes a call back knows what the call was permitted to change.

use std::{
    fmt, fs,
    fs::File,
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, mkdirat, statat, unlinkat},
    io::Errno,
};

use super::{
    Ledger,
    beneath::open,
    commit::{Content, Fate, MODE_BITS, Manner, commit},
    images::{Album, Thing},
};

/// A place, and what is to be there again.
pub struct Restore<'a> {
    /// Where: absolute, without links.
    pub path: PathBuf,
    /// What.
    pub past: Past<'a>,
}

/// What was at a place.
#[derive(Clone, Copy)]
pub enum Past<'a> {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// Opens what it held.
        content: &'a Content<'a>,
        /// Its permissions.
        mode: u32,
    },
    /// A link, with this in it.
    Link(&'a Path),
    /// A directory.
    Directory {
        /// Its permissions.
        mode: u32,
    },
}

/// Why it was not put back.
#[derive(Debug)]
pub struct RestoreError {
    /// Where it went wrong.
    pub path: PathBuf,
    /// How.
    pub source: io::Error,
    /// Whether something was put back before. Only where a file was in the place of a directory, or the other way round.
    pub partly: bool,
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partly = if self.partly { "some files were put back before" } else { "nothing was put back" };
        write!(f, "{}: {} ({partly})", haft_tool::shown(&self.path), self.source)
    }
}

impl std::error::Error for RestoreError {}

/// Puts all of this back, or nothing. No link is followed. Each album gets what is there before it goes, as with any change
/// of files. Gives the directories that had to stay because something of others is in them.
///
/// # Errors
/// What could not be put back. The files are as they were then, unless the error says otherwise.
pub fn restore<'a>(
    places: &[Restore<'_>],
    ledger: Option<&Path>,
    album: &dyn Fn() -> Box<dyn Album + 'a>,
) -> Result<Vec<PathBuf>, RestoreError> {
    let ledger = ledger.map(|path| Ledger::at(path.to_owned())).unwrap_or_default();
    let mut work = Work::sort(places)?;
    work.open_up();
    let clears_first = work.is_in_the_way();
    if clears_first {
        let gone = std::mem::take(&mut work.gone);
        work.commit(gone, &ledger, album(), Noted::Unwanted)?;
        work.remove_directories();
    }
    work.make_directories().map_err(|err| err.partly(clears_first))?;
    let fates: Vec<_> = work.gone.iter().chain(&work.held).cloned().collect();
    let noted = if clears_first { Noted::Wanted } else { Noted::Both };
    work.commit(fates, &ledger, album(), noted).map_err(|err| err.partly(clears_first))?;
    work.remove_directories();
    work.close_again();
    Ok(work.left)
}

impl RestoreError {
    fn at(path: &Path, source: impl Into<io::Error>) -> RestoreError {
        RestoreError { path: path.to_owned(), source: source.into(), partly: false }
    }

    fn partly(self, partly: bool) -> RestoreError {
        RestoreError { partly, ..self }
    }
}

/// What is to be done, by kind.
#[derive(Default)]
struct Work<'a> {
    gone: Vec<(PathBuf, Fate<'a>)>,
    held: Vec<(PathBuf, Fate<'a>)>,
    /// Directories that are to be there, the outermost first, with their permissions, and those that they have now.
    wanted: Vec<(PathBuf, u32, Option<u32>)>,
    /// Directories that are not, the innermost first.
    unwanted: Vec<(PathBuf, u32)>,
    left: Vec<PathBuf>,
}

/// Which directories are noted with a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Noted {
    Wanted,
    Unwanted,
    Both,
}

/// What is at a place, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Now {
    Nothing,
    Directory(u32),
    Other,
}

impl<'a> Work<'a> {
    fn sort(places: &[Restore<'a>]) -> Result<Work<'a>, RestoreError> {
        let mut work = Work::default();
        for Restore { path, past } in places {
            let now = look(path).map_err(|err| RestoreError::at(path, err))?;
            let gone = || (path.clone(), Fate::Gone);
            match (*past, now) {
                (Past::Absent, Now::Nothing) => {}
                (Past::Absent, Now::Directory(mode)) => work.unwanted.push((path.clone(), mode)),
                (Past::Absent, Now::Other) => work.gone.push(gone()),
                (Past::Directory { mode }, Now::Directory(is)) => {
                    work.wanted.push((path.clone(), mode, Some(is)));
                }
                (Past::Directory { mode }, _) => {
                    work.wanted.push((path.clone(), mode, None));
                    work.gone.extend((now == Now::Other).then(gone));
                }
                (Past::File { content, mode }, _) => {
                    work.held.push((path.clone(), Fate::Was(content, mode)));
                }
                (Past::Link(target), _) => work.held.push((path.clone(), Fate::Links(target))),
            }
            if let (Past::File { .. } | Past::Link(_), Now::Directory(mode)) = (past, now) {
                work.unwanted.push((path.clone(), mode));
            }
        }
        work.wanted.sort();
        work.unwanted.sort_by(|one, other| other.cmp(one));
        Ok(work)
    }

    /// Whether something must go before something else of the same name, or below it, can come.
    fn is_in_the_way(&self) -> bool {
        let replaced = self.held.iter().any(|(path, _)| self.unwanted.iter().any(|(one, _)| one == path));
        replaced || self.gone.iter().any(|(path, _)| self.wanted.iter().any(|(one, ..)| one == path))
    }

    /// A directory that nobody may write to is opened for as long as it takes.
    fn open_up(&self) {
        let is = self.wanted.iter().filter_map(|(path, _, is)| Some((path, (*is)?)));
        let unwanted = self.unwanted.iter().map(|(path, mode)| (path, *mode));
        for (path, mode) in is.chain(unwanted).filter(|(_, mode)| mode & 0o700 != 0o700) {
            // If it does not help, what comes next fails with a better reason.
            let _ = change_mode(path, mode | 0o700);
        }
    }

    fn make_directories(&self) -> Result<(), RestoreError> {
        for (path, mode, _) in self.wanted.iter().filter(|(.., is)| is.is_none()) {
            make(path, *mode).map_err(|err| RestoreError::at(path, err))?;
        }
        Ok(())
    }

    /// What becomes of directories is noted with the files.
    fn commit(
        &self,
        fates: Vec<(PathBuf, Fate<'_>)>,
        ledger: &Ledger,
        mut album: Box<dyn Album + '_>,
        noted: Noted,
    ) -> Result<(), RestoreError> {
        self.note_directories(&mut *album, noted)?;
        if fates.is_empty() {
            let at =
                self.wanted.first().map(|(path, ..)| path).or(self.unwanted.first().map(|(path, _)| path));
            return album.seal().map_err(|err| RestoreError::at(at.map_or(Path::new("/"), |path| path), err));
        }
        let manner = Manner { ledger: ledger.clone(), album: Some(album), takes_links: true };
        let done = commit(&fates, manner);
        done.map(drop).map_err(|(at, err)| RestoreError::at(&fates[at].0, err))
    }

    fn note_directories(&self, album: &mut dyn Album, noted: Noted) -> Result<(), RestoreError> {
        for (path, mode, is) in self.wanted.iter().filter(|_| noted != Noted::Unwanted) {
            let before = is.map_or(Thing::Absent, |mode| Thing::Directory { mode });
            let added = album.add(path, &before, &Thing::Directory { mode: *mode });
            added.map_err(|err| RestoreError::at(path, err))?;
        }
        for (path, mode) in self.unwanted.iter().filter(|_| noted != Noted::Wanted) {
            let added = album.add(path, &Thing::Directory { mode: *mode }, &Thing::Absent);
            added.map_err(|err| RestoreError::at(path, err))?;
        }
        Ok(())
    }

    fn remove_directories(&mut self) {
        for (path, _) in std::mem::take(&mut self.unwanted) {
            if remove(&path).is_err() {
                self.left.push(path);
            }
        }
    }

    /// The permissions that were wanted, from the inside out.
    fn close_again(&self) {
        for (path, mode, _) in self.wanted.iter().rev() {
            let _ = change_mode(path, *mode);
        }
    }
}

fn look(path: &Path) -> io::Result<Now> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let found = match open(parent, OFlags::PATH | OFlags::DIRECTORY) {
        Ok(parent) => statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from),
        // Below a link there is nothing that could be meant: the link itself is in the way, and goes.
        Err(err) if Errno::from_io_error(&err) == Some(Errno::LOOP) => {
            Err(io::ErrorKind::NotADirectory.into())
        }
        Err(err) => Err(err),
    };
    match found {
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {
            Ok(Now::Directory(found.st_mode & MODE_BITS))
        }
        Ok(_) => Ok(Now::Other),
        Err(err) if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Now::Nothing)
        }
        Err(err) => Err(err),
    }
}

fn make(path: &Path, mode: u32) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let parent = open(parent, OFlags::PATH | OFlags::DIRECTORY)?;
    Ok(mkdirat(&parent, name, Mode::from_raw_mode(mode | 0o700))?)
}

fn remove(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let parent = open(parent, OFlags::PATH | OFlags::DIRECTORY)?;
    Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
}

/// By descriptor, so that a link that was swapped in is not followed; the descriptor needs no permission to read.
fn change_mode(path: &Path, mode: u32) -> io::Result<()> {
    let directory: File = open(path, OFlags::PATH | OFlags::DIRECTORY)?;
    if directory.metadata()?.mode() & MODE_BITS == mode {
        return Ok(());
    }
    fs::set_permissions(format!("/proc/self/fd/{}", directory.as_raw_fd()), PermissionsExt::from_mode(mode))
}
