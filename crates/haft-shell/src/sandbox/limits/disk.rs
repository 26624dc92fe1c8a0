//! What is left on a file system that a command may write.

use std::{
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use rustix::fs::{StatVfs, fstatvfs, stat, statvfs};

/// The usual reserve: this part of a file system, but not more.
const RESERVE_PART: u64 = 50;
const RESERVE_MOST_BYTES: u64 = 1 << 30;
const RESERVE_MOST_FILES: u64 = 10_000;

/// A file system, and what stays free on it.
#[derive(Debug)]
pub(super) struct FileSystem {
    pub(super) place: PathBuf,
    pub(super) device: u64,
    pub(super) reserve: Space,
    wanted: Option<u64>,
}

/// Bytes and files that can still be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Space {
    pub(super) bytes: u64,
    pub(super) files: u64,
}

impl FileSystem {
    /// The file system of a place, as it is when a command begins.
    pub(super) fn at(place: &Path, reserve: Option<u64>) -> Option<FileSystem> {
        let device = stat(place).ok()?.st_dev;
        let mut one = FileSystem {
            place: place.to_owned(),
            device,
            reserve: Space { bytes: 0, files: 0 },
            wanted: reserve,
        };
        one.set_reserve();
        Some(one)
    }

    /// Keeps the usual reserve; where less than that is left now, half of it.
    pub(super) fn set_reserve(&mut self) {
        let Ok(facts) = statvfs(&self.place) else { return };
        let left = Space::of(&facts);
        let bytes = self.wanted.unwrap_or(
            (facts.f_blocks.saturating_mul(facts.f_frsize) / RESERVE_PART).min(RESERVE_MOST_BYTES),
        );
        let files = (facts.f_files / RESERVE_PART).min(RESERVE_MOST_FILES);
        let kept = |reserve: u64, left: u64| if left > reserve { reserve } else { left / 2 };
        self.reserve = Space { bytes: kept(bytes, left.bytes), files: kept(files, left.files) };
    }

    /// What is left now.
    pub(super) fn left(&self) -> Option<Space> {
        statvfs(&self.place).ok().map(|facts| Space::of(&facts))
    }
}

impl Space {
    /// Some file systems do not count their files.
    fn of(facts: &StatVfs) -> Space {
        let files = if facts.f_files == 0 { u64::MAX } else { facts.f_favail };
        Space { bytes: facts.f_bavail.saturating_mul(facts.f_frsize), files }
    }
}

/// How much a file system in memory holds.
pub(super) fn used_bytes(directory: impl AsFd) -> u64 {
    let used = |facts: StatVfs| facts.f_blocks.saturating_sub(facts.f_bfree).saturating_mul(facts.f_frsize);
    fstatvfs(directory).map_or(0, used)
}

/// Whether nothing more fits into a file system in memory.
pub(super) fn is_full(directory: impl AsFd) -> bool {
    fstatvfs(directory).is_ok_and(|facts| facts.f_blocks > 0 && facts.f_bfree == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserve_is_never_more_than_half_of_what_is_left() {
        let place = Path::new("/");
        let usual = FileSystem::at(place, None).unwrap();
        let left = usual.left().unwrap();
        assert!(usual.reserve.bytes <= RESERVE_MOST_BYTES && usual.reserve.bytes < left.bytes);
        let greedy = FileSystem::at(place, Some(u64::MAX)).unwrap();
        assert!(greedy.reserve.bytes <= left.bytes / 2 + (1 << 30), "{greedy:?}");
        assert!(FileSystem::at(Path::new("/no such place"), None).is_none());
    }
}
