//! The bound that a command passed, in words.

use std::{fmt, path::PathBuf, time::Duration};

/// A bound that ended a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LimitExceeded {
    /// What it used too much of.
    pub resource: Resource,
    /// How much it may use: bytes, processes or seconds; of the disk, how much stays free.
    pub limit: u64,
}

/// Something that a command uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// Memory, bounded by a setting.
    Memory,
    /// Memory, bounded by what the machine could spare when the command started.
    SpareMemory,
    /// The machine's last memory; of all commands this one used most.
    LastMemory,
    /// Processes and threads.
    Processes,
    /// Processor time.
    CpuTime,
    /// The size of one file.
    FileSize,
    /// Free space on the file system of this place.
    Disk(PathBuf),
    /// Files that can still be made on the file system of this place.
    Files(PathBuf),
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = size(self.limit);
        match &self.resource {
            Resource::Memory => {
                write!(
                    f,
                    "it used more than {size} of memory; make it use less, or raise `sandbox.memory_mb`"
                )
            }
            Resource::SpareMemory => write!(
                f,
                "it used more than {size} of memory, which was all that the machine could spare; make it use less, or \
                 set `sandbox.memory_mb`"
            ),
            Resource::LastMemory => write!(
                f,
                "the machine had less than {size} of memory left, and of all commands this one used most; make it use less"
            ),
            Resource::Processes => write!(
                f,
                "it had more than {} processes and threads at once; make it start fewer, or raise `sandbox.processes`",
                self.limit
            ),
            Resource::CpuTime => write!(
                f,
                "it used more than {:?} of processor time; make it do less, or raise `sandbox.cpu_s`",
                Duration::from_secs(self.limit)
            ),
            Resource::FileSize => {
                write!(f, "a file became larger than {size}; write less, or raise `sandbox.file_mb`")
            }
            Resource::Disk(place) => write!(
                f,
                "less than {size} was left on the file system of {}, and of all commands this one wrote most; what it wrote \
                 is still there: remove what is not needed, or lower `sandbox.disk_reserve_mb`",
                place.display()
            ),
            Resource::Files(place) => write!(
                f,
                "fewer than {} files could still be made on the file system of {}; what it made is still there: remove \
                 what is not needed",
                self.limit,
                place.display()
            ),
        }
    }
}

/// A number of bytes for a reader.
fn size(bytes: u64) -> String {
    const UNITS: [(u32, &str); 3] = [(30, "GB"), (20, "MB"), (10, "KB")];
    let Some((shift, unit)) = UNITS.into_iter().find(|(shift, _)| bytes >> shift > 0) else {
        return format!("{bytes} bytes");
    };
    let tenths = bytes.saturating_mul(10) >> shift;
    if tenths.is_multiple_of(10) || tenths >= 1000 {
        format!("{} {unit}", tenths / 10)
    } else {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_told_with_units_and_settings() {
        let told = |resource, limit| LimitExceeded { resource, limit }.to_string();
        for (bytes, words) in
            [(512, "512 bytes"), (1 << 20, "1 MB"), (12 << 30, "12 GB"), (1_610_612_736, "1.5 GB")]
        {
            assert_eq!(size(bytes), words);
        }
        assert!(told(Resource::Memory, 12 << 30).starts_with("it used more than 12 GB of memory"));
        assert!(told(Resource::Memory, 1).contains("`sandbox.memory_mb`"));
        assert!(told(Resource::CpuTime, 60).starts_with("it used more than 60s of processor time"));
        assert!(
            told(Resource::Disk("/w".into()), 1 << 30)
                .contains("less than 1 GB was left on the file system of /w")
        );
        assert_eq!(size(u64::MAX), "1717986918 GB");
    }
}
