//! Which file a path in a system call means, seen from the process that makes it.
//!
//! The kernel does the work: the path is opened, without access to what it names, in the root directory of the process, and
//! `/proc/self/fd` says what that is called. Names in the sandbox are those of the machine, but for its own `/tmp`, `/dev`
//! and `/proc`. What leads through `/proc/self` is another place for the supervisor than for the process, so those links are
//! followed by hand.

use std::{
    collections::VecDeque,
    ffi::{CString, OsString, c_int},
    os::fd::{AsRawFd, OwnedFd},
    path::{Component, Path, PathBuf},
};

use super::{
    super::sys::{self, Answer, Errno, c_string},
    Call,
};

/// As many links as the kernel follows in a path.
const LINKS_LIMIT: usize = 40;

impl Call {
    /// The real path of what a call creates, removes or renames: links above the last name are followed, the name itself is
    /// not. `directory` is the descriptor from which a relative path starts.
    ///
    /// # Errors
    /// What the kernel would say, or `ESRCH` when the call waits no more.
    pub(in super::super) fn resolve(&self, directory: c_int, path: &Path) -> Answer<PathBuf> {
        let path = self.absolute(directory, path)?;
        self.resolve_absolute(&path)
    }

    /// The real path of what a call opens: if the last name is a link, that is followed as well, also to what is not there yet.
    pub(in super::super) fn resolve_target(&self, directory: c_int, path: &Path) -> Answer<PathBuf> {
        let mut path = self.resolve(directory, path)?;
        for _ in 0..LINKS_LIMIT {
            match self.read_link(&path)? {
                Some(target) => path = self.resolve_absolute(&above(&path).join(target))?,
                None => return Ok(path),
            }
        }
        Err(Errno(libc::ELOOP))
    }

    /// A real path of the sandbox, opened without access to what is there.
    pub(in super::super) fn place(&self, path: &Path) -> Answer<OwnedFd> {
        sys::place_in(self.root()?, &c_string(path)?)
    }

    /// A path from the root on.
    fn absolute(&self, directory: c_int, path: &Path) -> Answer<PathBuf> {
        if path.as_os_str().is_empty() {
            return Err(Errno(libc::ENOENT));
        }
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        let base = match directory {
            libc::AT_FDCWD => self.in_proc("cwd"),
            number => self.in_proc(&format!("fd/{number}")),
        };
        let base =
            std::fs::read_link(base).map_err(|err| Errno(err.raw_os_error().unwrap_or(libc::EBADF)))?;
        self.check()?;
        Ok(base.join(path))
    }

    fn resolve_absolute(&self, path: &Path) -> Answer<PathBuf> {
        match path.components().next_back() {
            Some(Component::Normal(name)) => Ok(self.real(above(path))?.join(name)),
            // `.`, `..` and `/` are what they lead to.
            _ => self.real(path),
        }
    }

    /// The real path of something that is there.
    fn real(&self, path: &Path) -> Answer<PathBuf> {
        let root = self.root()?;
        match sys::place_in(root, &c_string(path)?) {
            Ok(place) => name_of(&place),
            // Perhaps it leads through `/proc/self`.
            Err(Errno(libc::ENOENT | libc::ELOOP | libc::EXDEV)) => {
                let path = self.walk(path)?;
                name_of(&sys::place_in(root, &c_string(&path)?)?)
            }
            Err(errno) => Err(errno),
        }
    }

    /// Follows every link of a path by hand, those of `/proc/self` as the process does.
    fn walk(&self, path: &Path) -> Answer<PathBuf> {
        let mut left: VecDeque<OsString> = names(path);
        let (mut real, mut links) = (PathBuf::from("/"), 0);
        while let Some(name) = left.pop_front() {
            if name == ".." {
                real.pop();
                continue;
            }
            let next = real.join(name);
            let Some(target) = self.link_at(&next)? else {
                real = next;
                continue;
            };
            links += 1;
            if links > LINKS_LIMIT {
                return Err(Errno(libc::ELOOP));
            }
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            let followed = names(&target);
            followed.into_iter().rev().for_each(|name| left.push_front(name));
        }
        Ok(real)
    }

    /// The target of a link. None for what is no link.
    fn link_at(&self, path: &Path) -> Answer<Option<PathBuf>> {
        let own = ["/proc/self", "/proc/thread-self"].iter().find_map(|own| path.strip_prefix(own).ok());
        let Some(own) = own else { return self.read_link(path) };
        let Some(own) = own.to_str().filter(|own| !own.is_empty()) else { return Ok(None) };
        let target = std::fs::read_link(self.in_proc(own)).ok();
        self.check()?;
        // What is open and has no name (a pipe) leads nowhere.
        Ok(target.filter(|target| target.is_absolute()))
    }

    /// The target of a link in the sandbox's files. None for what is no link, or is not there.
    fn read_link(&self, path: &Path) -> Answer<Option<PathBuf>> {
        let path = c_string(path.strip_prefix("/").unwrap_or(path))?;
        match rustix::fs::readlinkat(self.root()?, path.as_c_str(), Vec::new()) {
            Ok(target) => Ok(Some(PathBuf::from(bytes(target)))),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(Errno(errno.raw_os_error())),
        }
    }
}

/// The directory of a path.
fn above(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// The names of a path in their order, with `..`.
fn names(path: &Path) -> VecDeque<OsString> {
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(is_name).map(|part| part.as_os_str().to_owned()).collect()
}

fn name_of(place: &OwnedFd) -> Answer<PathBuf> {
    let link = format!("/proc/self/fd/{}", place.as_raw_fd());
    std::fs::read_link(link).map_err(|err| Errno(err.raw_os_error().unwrap_or(libc::EIO)))
}

fn bytes(name: CString) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(name.into_bytes())
}
