//! One of the names in a directory, as a visitor sees it.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use haft_tool::{Details, Found, Kind, Stamp};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};

use super::{
    super::commit::MODE_BITS,
    names::{self, Name},
};

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

    fn details(&self) -> io::Result<Details> {
        let stat = self.stat()?;
        let stamp = Stamp {
            len: u64::try_from(stat.st_size).unwrap_or(0),
            modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            inode: stat.st_ino,
        };
        let changed_ns = nanoseconds(stat.st_ctime, stat.st_ctime_nsec);
        Ok(Details { stamp, changed_ns, mode: stat.st_mode & MODE_BITS })
    }

    fn target(&self) -> io::Result<PathBuf> {
        let target = fs::readlinkat(self.directory, self.name.for_kernel(), Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }
}

fn nanoseconds(seconds: i64, rest: u64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(i64::try_from(rest).unwrap_or(0))
}

fn kind(stat: &Stat) -> Kind {
    names::kind(FileType::from_raw_mode(stat.st_mode)).unwrap_or(Kind::Special)
}
