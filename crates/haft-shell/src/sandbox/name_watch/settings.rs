//! Git's settings: what a command changed in them is compared by key, and powerful changes are taken back.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, statat, unlinkat};

use super::quarantine::{by_number, open_below};
use crate::git_config::{FILE_BYTES_LIMIT, compare_in, revert};

/// The names of files with settings in a repository's directory.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];
/// Files of a repository's directory whose contents before the command are known.
const READ: [&str; 3] = [SETTINGS[0], SETTINGS[1], "rebase-merge/git-rebase-todo"];

/// The settings of the repositories as they were before the command.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Baseline(BTreeMap<PathBuf, Vec<u8>>);

impl Baseline {
    /// Reads the settings in these directories, as far as they are repositories.
    pub(in super::super) fn read(directories: impl Iterator<Item = PathBuf>) -> Baseline {
        let mut baseline = Baseline::default();
        for directory in directories.filter(|directory| directory.join("HEAD").exists()) {
            for name in READ {
                let path = directory.join(name);
                if let Ok(bytes) = open_file(&directory, name).and_then(read) {
                    baseline.0.insert(path, bytes);
                }
            }
        }
        baseline
    }

    /// Returns true if the file was there before the command, and is known.
    pub(super) fn knows(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// The contents of a file before the command.
    pub(super) fn before(&self, path: &Path) -> &[u8] {
        self.0.get(path).map_or(&b""[..], Vec::as_slice)
    }

    /// Takes back what a command changed in a file that can run or redirect something. Returns the names of the keys.
    pub(super) fn take_back(&self, root: &Path, relative: &Path) -> io::Result<Vec<String>> {
        let path = root.join(relative);
        let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let name = relative.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let before = self.before(&path);
        let (opened, current) = read_below(root, relative)?;
        let changes = compare_in(directory, before, &current);
        let keys: Vec<String> =
            changes.iter().filter(|change| !change.is_harmless()).map(|change| change.name()).collect();
        if keys.is_empty() {
            return Ok(keys);
        }
        replace(&opened, name, &revert(&current, before, Some(directory)))?;
        Ok(keys)
    }
}

/// Returns true for a file with settings of a repository.
pub(super) fn are_settings(path: &Path) -> bool {
    let named = path.file_name().and_then(|name| name.to_str());
    let is_in_repository = path.parent().is_some_and(is_in_repository);
    is_in_repository && named.is_some_and(|name| SETTINGS.contains(&name.to_lowercase().as_str()))
}

/// Returns true for a directory that is a repository's, or lies in it.
pub(super) fn is_in_repository(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

fn open_file(directory: &Path, name: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(directory.join(name), flags, Mode::empty())?))
}

/// Reads a file below a root, through no link. Returns its directory as well.
pub(super) fn read_below(root: &Path, relative: &Path) -> io::Result<(OwnedFd, Vec<u8>)> {
    let name = relative.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let directory = open_below(root, relative.parent().unwrap_or(Path::new("")))?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let bytes = read(File::from(openat(&directory, name, flags, Mode::empty())?))?;
    Ok((directory, bytes))
}

fn read(file: File) -> io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_LIMIT as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts other bytes in the place of a file in one step, with its permissions.
pub(super) fn replace(directory: &impl AsFd, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
    let mode = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode & 0o777;
    let mut temporary = name.to_owned();
    temporary.push(format!(".haft-{}", std::process::id()));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut file = File::from(openat(directory, &temporary, flags, Mode::from_raw_mode(mode))?);
    let written = file.write_all(bytes).and_then(|()| Ok(renameat(directory, &temporary, directory, name)?));
    if written.is_err() {
        let _ = unlinkat(directory, &temporary, AtFlags::empty());
    }
    written
}

/// The target of a file `.git`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// It is empty, or gone.
    Nothing,
    /// A repository whose settings are guarded by their place.
    Guarded,
    /// Anything else.
    Elsewhere,
}

/// Returns where the repository of a linked worktree or submodule is.
pub(super) fn target_of_gitfile(root: &Path, relative: &Path) -> Target {
    let parent = relative.parent().unwrap_or(Path::new(""));
    let (Ok(directory), Some(name)) = (open_below(root, parent), relative.file_name()) else {
        return Target::Nothing;
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let text = match openat(&directory, name, flags, Mode::empty()) {
        Ok(file) => read(File::from(file)),
        Err(rustix::io::Errno::NOENT) => return Target::Nothing,
        Err(err) => Err(err.into()),
    };
    let Ok(text) = text else { return Target::Elsewhere };
    if text.is_empty() {
        return Target::Nothing;
    }
    let Some(place) = text.strip_prefix(b"gitdir:").map(<[u8]>::trim_ascii) else { return Target::Elsewhere };
    let place = by_number(&directory).join(OsStr::from_bytes(place)).canonicalize();
    match place.is_ok_and(|place| is_guarded(&place)) {
        true => Target::Guarded,
        false => Target::Elsewhere,
    }
}

/// Returns true for the file by which a linked worktree finds its repository, if it leads to another one.
pub(super) fn is_foreign_commondir(root: &Path, relative: &Path) -> bool {
    let path = root.join(relative);
    let directory = path.parent().and_then(Path::parent);
    if !path.ends_with("commondir") || !directory.is_some_and(|above| above.ends_with(".git/worktrees")) {
        return false;
    }
    let opened = open_below(root, relative.parent().unwrap_or(Path::new("")));
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = opened.and_then(|directory| Ok(openat(&directory, "commondir", flags, Mode::empty())?));
    match file.and_then(|file| read(File::from(file))) {
        Ok(text) => !text.is_empty() && text.trim_ascii() != b"../..",
        Err(err) => err.kind() != io::ErrorKind::NotFound,
    }
}

/// Whether a real path is the directory of a submodule's repository, or of a linked worktree.
fn is_guarded(place: &Path) -> bool {
    let names: Vec<_> = place.components().map(|part| part.as_os_str()).collect();
    names.windows(3).any(|names| names[0] == ".git" && (names[1] == "modules" || names[1] == "worktrees"))
}
