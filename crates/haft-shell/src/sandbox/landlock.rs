//! The file policy again, by other means.
//!
//! The mounts carry the policy; Landlock is there for the day when they have a hole. It knows trees that may be read and trees
//! that may be changed, and cannot cut anything out of them. Where there are no mounts it is all there is, and what must not be read
//! is left out by naming everything around it.

use std::{
    ffi::CString,
    fs,
    mem::offset_of,
    os::fd::RawFd,
    path::{Path, PathBuf},
};

use super::{
    error::SandboxError,
    sys::{self, Answer, Handled, c_string},
};

/// What Landlock is told.
#[derive(Debug)]
pub(super) struct Landlock {
    version: u32,
    /// May be read and run.
    read: Vec<CString>,
    /// May be changed.
    write: Vec<CString>,
    /// Whether nothing else closes the network.
    closes_network: bool,
}

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIRECTORY: u64 = 1 << 3;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const DEVICE_REQUESTS: u64 = 1 << 15;

const READ: u64 = EXECUTE | READ_FILE | READ_DIRECTORY;
/// What makes sense for something that is no directory.
const ON_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_REQUESTS;
const CONNECT_AND_BIND: u64 = 3;
const ABSTRACT_SOCKETS_AND_SIGNALS: u64 = 3;

/// How many entries may be named around what is denied.
const AROUND: usize = 20_000;

impl Landlock {
    /// Behind mounts: read what may be read, change what may be changed there.
    pub(super) fn behind_mounts(
        version: u32,
        read: &[PathBuf],
        write: &[PathBuf],
        temporary: &[PathBuf],
    ) -> Result<Landlock, SandboxError> {
        let devices = [PathBuf::from("/dev")];
        let write = [write, temporary, &devices].concat();
        Ok(Landlock { version, read: strings(read)?, write: strings(&write)?, closes_network: false })
    }

    /// On its own: read what may be read, but for what is denied.
    pub(super) fn alone(
        version: u32,
        read: &[PathBuf],
        write: &[PathBuf],
        deny_read: &[PathBuf],
        closes_network: bool,
    ) -> Result<Landlock, SandboxError> {
        let mut around_denied = Vec::new();
        for place in read.iter().filter(|place| !deny_read.iter().any(|denied| place.starts_with(denied))) {
            around_denied.extend(around(place, deny_read)?);
        }
        let devices = [PathBuf::from("/dev")];
        let write = [write, &devices].concat();
        let open = write.into_iter().filter(|path| !deny_read.iter().any(|denied| path.starts_with(denied)));
        // A tree that may be changed may be read, so what is denied in it would be open again.
        let open: Vec<PathBuf> = open.collect();
        let holed = |path: &&PathBuf| deny_read.iter().any(|denied| denied.starts_with(path));
        if let Some(path) = open.iter().find(holed) {
            let why = "something in it may not be read, and without namespaces that cannot be cut out";
            return Err(SandboxError::path("open for writing", path, why));
        }
        Ok(Landlock { version, read: strings(&around_denied)?, write: strings(&open)?, closes_network })
    }

    /// From here on, for this process and all that it starts.
    pub(super) fn enforce(&self) -> Answer {
        let rules = self.rules()?;
        self.read.iter().try_for_each(|path| allow_path(rules, path, READ & self.files()))?;
        self.write.iter().try_for_each(|path| allow_path(rules, path, self.files()))?;
        // What is open as standard input or output can be opened again by the name `/dev/stdout`.
        for fd in 0..3 {
            let _ = sys::landlock_allow(rules, fd, self.files() & ON_FILES);
        }
        let enforced = sys::landlock_enforce(rules);
        sys::close(rules);
        enforced
    }

    fn rules(&self) -> Answer<RawFd> {
        let network = if self.closes_network && self.version >= 4 { CONNECT_AND_BIND } else { 0 };
        let scopes = if self.version >= 6 { ABSTRACT_SOCKETS_AND_SIGNALS } else { 0 };
        let size = match self.version {
            ..4 => offset_of!(Handled, network),
            4..6 => offset_of!(Handled, scopes),
            _ => size_of::<Handled>(),
        };
        sys::landlock_rules(&Handled { files: self.files(), network, scopes }, size)
    }

    /// Everything about files that this version knows, of what we know.
    fn files(&self) -> u64 {
        match self.version {
            ..2 => REFER - 1,
            2 => TRUNCATE - 1,
            3..5 => DEVICE_REQUESTS - 1,
            _ => (DEVICE_REQUESTS << 1) - 1,
        }
    }
}

/// Allows something below a path; for a file, what makes sense for one. What is not there needs no rule.
fn allow_path(rules: RawFd, path: &CString, access: u64) -> Answer {
    let place = match sys::place(path) {
        Ok(place) => place,
        // One that has become a link since it was looked at is another place.
        Err(sys::Errno(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::EACCES)) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let allowed = sys::landlock_allow(rules, place, access);
    let allowed = allowed.or_else(|_| sys::landlock_allow(rules, place, access & ON_FILES));
    sys::close(place);
    allowed
}

/// The largest trees that together are everything but these paths.
fn around(directory: &Path, denied: &[PathBuf]) -> Result<Vec<PathBuf>, SandboxError> {
    if !denied.iter().any(|path| path.starts_with(directory)) {
        return Ok(vec![directory.to_owned()]);
    }
    let mut trees = Vec::new();
    if denied.iter().any(|path| path == directory) {
        return Ok(trees);
    }
    let entries = fs::read_dir(directory).map_err(|err| SandboxError::path("look into", directory, err))?;
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink())) {
        trees.extend(around(&entry.path(), denied)?);
        if trees.len() > AROUND {
            return Err(SandboxError::path("name everything in", directory, "there is too much"));
        }
    }
    Ok(trees)
}

fn strings(paths: &[PathBuf]) -> Result<Vec<CString>, SandboxError> {
    let string = |path: &PathBuf| {
        c_string(path.as_os_str()).map_err(|_| SandboxError::path("name", path, "there is a NUL in it"))
    };
    paths.iter().map(string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_around_a_denied_path_is_named_and_it_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for path in ["a", "u/.ssh", "u/x/y", "u/b"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let mut trees = around(&root, &[root.join("u/.ssh")]).unwrap();
        trees.sort();
        assert_eq!(trees, ["a", "u/b", "u/x"].map(|path| root.join(path)));
        assert_eq!(around(&root, &[]).unwrap(), [root]);
    }
}
