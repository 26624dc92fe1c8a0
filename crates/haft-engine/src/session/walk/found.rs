//! One of the names in a directory, as a visitor sees it.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use haft_tool::{Found, Kind, Stamp};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};

use super::names::{self, Name};

/// A name in a directory that is open.
pub(super) struct Here<'a> {
    pub(super) directory: &'a File,
    pub(super) name: Name<'a>,
    pub(super) path: &'a Path,
    pub(super) kind: Kind,
}

impl Here<'_> {
    /// What it is, where the name did not come with it.
    pub(super) fn look(&self) -> io::Result<Kind> {
        Ok(kind(&self.stat()?))
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(fs::statat(self.directory, self.name.for_kernel(), AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

impl Found for Here<'_> {
    fn path(&self) -> &Path {
        self.path
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn open(&self) -> io::Result<(File, u64)> {
        // Non-blocking, so that opening a pipe returns; no terminal becomes ours; a link is not followed.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = fs::openat(self.directory, self.name.for_kernel(), flags, Mode::empty())?;
        // What was a file when the directory was read may be something else by now.
        let stat = fs::fstat(&file)?;
        if kind(&stat) != Kind::File {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok((file.into(), u64::try_from(stat.st_size).unwrap_or(0)))
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let stat = self.stat()?;
        let seconds = stat.st_mtime.saturating_mul(1_000_000_000);
        Ok(Stamp {
            len: u64::try_from(stat.st_size).unwrap_or(0),
            modified_ns: seconds.saturating_add(i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            inode: stat.st_ino,
        })
    }

    fn target(&self) -> io::Result<PathBuf> {
        let target = fs::readlinkat(self.directory, self.name.for_kernel(), Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }
}

fn kind(stat: &Stat) -> Kind {
    names::kind(FileType::from_raw_mode(stat.st_mode)).unwrap_or(Kind::Special)
}
