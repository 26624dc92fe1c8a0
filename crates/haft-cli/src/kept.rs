//! Files of the state directory: replaced whole or not at all, readable by their owner alone, believed only if nobody
//! else could have written them.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Larger files are none of ours.
const MOST: u64 = 64 << 20;

/// Puts these bytes in the place of a file, in one step. The directory is made if it is missing.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // 0600 from the first moment on.
    let mut staged = tempfile::Builder::new().prefix(".partial-").tempfile_in(directory)?;
    staged.write_all(bytes)?;
    staged.as_file().sync_all()?;
    staged.persist(path).map(drop).map_err(|err| err.error)
}

/// The bytes of a file; `None` if it is not there.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    read_checked(path, check_owner)
}

/// The same for what nobody else may know.
pub(crate) fn read_secret(path: &Path) -> io::Result<Option<Vec<u8>>> {
    read_checked(path, |file| {
        check_owner(file)?;
        if file.metadata()?.mode() & 0o077 == 0 {
            return Ok(());
        }
        Err(io::Error::other("others can read it; `chmod 600` makes it yours alone"))
    })
}

fn read_checked(path: &Path, check: impl FnOnce(&File) -> io::Result<()>) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(err) => return Err(err),
    };
    check(&file)?;
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(io::Error::other(format!("it is larger than {MOST} bytes")));
    }
    Ok(Some(bytes))
}

fn check_owner(file: &File) -> io::Result<()> {
    let metadata = file.metadata()?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if is_ours && metadata.mode() & 0o022 == 0 && metadata.is_file() {
        return Ok(());
    }
    Err(io::Error::other("others could have written it; it must belong to you and be writable by you alone"))
}

/// How often, and after how long, a lock that another holds is tried again. Whoever holds it longer is stuck.
const TRIES: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(20);

/// Keeps others out while something is read, changed and written. Ends when it is dropped, or with the process.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN),
            Err(TryLockError::Error(err)) => return Err(err),
        }
    }
    Err(io::Error::new(ErrorKind::TimedOut, format!("another process holds {}", path.display())))
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A day as `2026-11-16`, from seconds since 1970.
pub(crate) fn day(seconds: u64) -> String {
    let ms = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    haft_store::Instant(ms).day()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_file_is_ours_alone_and_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/file");
        assert_eq!(read(&path).unwrap(), None);
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some(&b"two"[..]));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_others_could_have_written_is_not_believed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        replace(&path, b"x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("others could have written it"));
    }

    #[test]
    fn a_lock_that_is_never_given_back_is_not_waited_for_forever() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = lock(&path).unwrap();
        assert_eq!(lock(&path).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(held);
        lock(&path).unwrap();
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (68_169_599, "1972-02-28"),
            (68_169_600, "1972-02-29"),
            (951_782_400, "2000-02-29"),
            (1_704_067_199, "2023-12-31"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(day(seconds), expected);
        }
    }
}
