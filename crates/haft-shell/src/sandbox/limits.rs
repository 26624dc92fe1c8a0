//! How much a process may use.

use super::sys::{Answer, limit};

/// Bounds for each process; `None` is what the system allows anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How many processes at once.
    pub processes: Option<u64>,
    /// How large a file may become, in bytes.
    pub file_size: Option<u64>,
    /// How much memory one process may have, in bytes.
    pub memory: Option<u64>,
    /// How many files one process may have open.
    pub open_files: Option<u64>,
}

impl Default for Limits {
    /// Room for any build; an end to a fork bomb and to a log that fills the disk.
    fn default() -> Limits {
        Limits { processes: Some(8192), file_size: Some(64 << 30), memory: None, open_files: None }
    }
}

impl Limits {
    /// For this process and all that it starts. There are no core files: they would be copies of its secrets.
    pub(super) fn enforce(&self) -> Answer {
        limit(libc::RLIMIT_CORE, 0)?;
        for (resource, value) in [
            (libc::RLIMIT_NPROC, self.processes),
            (libc::RLIMIT_FSIZE, self.file_size),
            (libc::RLIMIT_AS, self.memory),
            (libc::RLIMIT_NOFILE, self.open_files),
        ] {
            value.map_or(Ok(()), |value| limit(resource, value))?;
        }
        Ok(())
    }
}
