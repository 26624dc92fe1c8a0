//! The one door to the file system.
//!
//! A tool opens paths here and nowhere else. The door knows what the call declared and was permitted, looks at what it
//! really opened, and hands out that descriptor: the file that was judged is the file that is used, whatever somebody
//! swapped in between.

use std::{
    fmt::Write,
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use haft_schema::nearest;
use haft_tool::{Fault, Files, Refusal};
use rustix::fs::OFlags;

use super::locate::locate;

/// File access for one call: what its effects declared, at the places that were judged.
#[derive(Debug)]
pub(crate) struct DeclaredFiles {
    readable: Vec<PathBuf>,
    workspace: PathBuf,
}

impl DeclaredFiles {
    /// The places may be read whether the call declared to read or to write them: who may write may look first.
    pub(crate) fn new(readable: Vec<PathBuf>, workspace: &Path) -> DeclaredFiles {
        DeclaredFiles { readable, workspace: workspace.to_owned() }
    }

    /// Refuses a real place that the call did not declare.
    fn permit(&self, path: &Path, real: &Path) -> Result<(), Fault> {
        if self.readable.iter().any(|place| real.starts_with(place)) {
            return Ok(());
        }
        Err(Fault::denied(
            Refusal::Boundary,
            format!("{} is not what this call was permitted to touch", path.display()),
        ))
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

    fn place(&self, path: &Path) -> Result<PathBuf, Fault> {
        let real = locate(path).map_err(|err| Fault::io("find", path, err))?;
        self.permit(path, &real)?;
        Ok(real)
    }
}

impl Files for DeclaredFiles {
    fn open(&self, path: &Path) -> Result<File, Fault> {
        let real = self.place(path)?;
        let cannot = |err| Fault::io("read", path, err);
        // Non-blocking, so that opening a FIFO returns; no terminal becomes ours; the last link was resolved already.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let file = match OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(&real) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Err(self.missing(path, &real, err)),
            opened => opened.map_err(cannot)?,
        };
        let metadata = file.metadata().map_err(cannot)?;
        if metadata.is_dir() {
            return Err(cannot(io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            return Err(cannot(io::Error::other("it is not a regular file")));
        }
        self.permit(path, &opened(&file).map_err(cannot)?)?;
        Ok(file)
    }

    fn metadata(&self, path: &Path) -> Result<Option<Metadata>, Fault> {
        match fs::symlink_metadata(self.place(path)?) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(Fault::io("look at", path, err)),
        }
    }

    fn list(&self, path: &Path) -> Result<Vec<(PathBuf, Metadata)>, Fault> {
        let cannot = |err| Fault::io("list", path, err);
        let mut found = Vec::new();
        for entry in fs::read_dir(self.place(path)?).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            match entry.metadata() {
                Ok(metadata) => found.push((PathBuf::from(entry.file_name()), metadata)),
                // Gone between the listing and the look: it is simply not there.
                Err(err) if err.kind() == io::ErrorKind::NotFound => {}
                Err(err) => return Err(cannot(err)),
            }
        }
        Ok(found)
    }
}

/// Looks only at so many names: a hint is not worth more.
fn nearest_name(parent: &Path, name: &str) -> Option<String> {
    let entries = fs::read_dir(parent).ok()?.take(2_000).flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
}

/// What a descriptor really is, asked of the kernel.
fn opened(file: &File) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::{io::Read, os::unix::fs::symlink};

    use super::*;

    fn door(path: &Path) -> DeclaredFiles {
        DeclaredFiles::new(vec![locate(path).unwrap()], Path::new("/nowhere"))
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
