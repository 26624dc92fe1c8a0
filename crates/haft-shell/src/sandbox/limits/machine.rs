//! What the machine can spare: its memory, or that of the container that haft is in.

use std::{fs, path::Path};

/// Memory of the machine, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) total: u64,
    /// What can be had without swapping.
    pub(super) available: u64,
    pub(super) swap_free: u64,
    /// What is in files in memory.
    pub(super) shared: u64,
}

/// What stays free for the machine: a tenth, but not less and not more than this.
const RESERVE_LEAST_BYTES: u64 = 256 << 20;
const RESERVE_MOST_BYTES: u64 = 2 << 30;
/// The least that a command may use by default, however little there is.
const SPARE_LEAST_BYTES: u64 = 128 << 20;

impl Machine {
    /// What holds now. None where the kernel does not say.
    pub(super) fn now() -> Option<Machine> {
        let machine = Machine::of(&fs::read_to_string("/proc/meminfo").ok()?)?;
        Some(container_limits().into_iter().fold(machine, Machine::within))
    }

    fn of(meminfo: &str) -> Option<Machine> {
        let value = |name: &str| number_after(meminfo, name).map(|kilobytes| kilobytes.saturating_mul(1024));
        Some(Machine {
            total: value("MemTotal:")?,
            available: value("MemAvailable:")?,
            swap_free: value("SwapFree:").unwrap_or(0),
            shared: value("Shmem:").unwrap_or(0),
        })
    }

    /// The same in a container with less.
    fn within(self, container: Container) -> Machine {
        if container.most >= self.total {
            return self;
        }
        let available = self.available.min(container.most.saturating_sub(container.used));
        Machine { total: container.most, available, swap_free: 0, ..self }
    }

    /// What stays free for everything else.
    pub(super) fn reserve(&self) -> u64 {
        (self.total / 10).clamp(RESERVE_LEAST_BYTES, RESERVE_MOST_BYTES)
    }

    /// What is left, counting half of the swap space: a machine that needs more of it stands still.
    pub(super) fn left(&self) -> u64 {
        self.available.saturating_add(self.swap_free / 2)
    }

    /// How much a command may use that begins now.
    pub(super) fn spare(&self) -> u64 {
        let room = self.left().saturating_sub(self.reserve());
        room.max(self.available / 4 * 3).max(SPARE_LEAST_BYTES)
    }
}

/// What a control group may use and uses, without files that can be dropped.
#[derive(Debug, Clone, Copy)]
struct Container {
    most: u64,
    used: u64,
}

/// The bounds of the control groups that haft is in, of both versions. A container sees its own as the outermost.
fn container_limits() -> Vec<Container> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups.lines().flat_map(container_limits_of).collect()
}

/// The bounds of one line of `/proc/self/cgroup`: `ID:CONTROLLERS:PATH`.
fn container_limits_of(line: &str) -> Vec<Container> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (root, most, used, cache) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max", "memory.current", ["inactive_file ", "active_file "]),
        "memory" => (
            "/sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            ["total_inactive_file ", "total_active_file "],
        ),
        _ => return Vec::new(),
    };
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let limit = |group: &Path| {
        let group = Path::new(root).join(group);
        let (most, used) = (number(&group.join(most))?, number(&group.join(used))?);
        let facts = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cached: u64 = cache.iter().filter_map(|name| number_after(&facts, name)).sum();
        Some(Container { most, used: used.saturating_sub(cached) })
    };
    Path::new(path.trim_start_matches('/')).ancestors().filter_map(limit).collect()
}

/// The number on the line that begins with a name.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1 << 30;

    fn machine(total: u64, available: u64, swap_free: u64) -> Machine {
        Machine { total, available, swap_free, shared: 0 }
    }

    #[test]
    fn meminfo_is_read_and_says_something_here() {
        let text =
            "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:    600 kB\nShmem: 7 kB\nSwapFree:  50 kB\n";
        let expected =
            Machine { total: 1000 << 10, available: 600 << 10, swap_free: 50 << 10, shared: 7 << 10 };
        assert_eq!(Machine::of(text), Some(expected));
        assert_eq!(Machine::of("MemTotal: x"), None);
        let now = Machine::now().unwrap();
        assert!(now.total >= now.available && now.available > 0, "{now:?}");
    }

    #[test]
    fn machine_keeps_a_reserve_whatever_a_command_may_use() {
        for (machine, spare) in [
            (machine(24 * GB, 20 * GB, 0), 18 * GB),
            (machine(24 * GB, 20 * GB, 8 * GB), 22 * GB),
            (machine(8 * GB, GB / 2, 0), GB / 8 * 3),
            (machine(GB / 2, 0, 0), SPARE_LEAST_BYTES),
        ] {
            assert_eq!(machine.spare(), spare, "{machine:?}");
        }
    }

    #[test]
    fn container_with_less_counts_instead_of_its_machine() {
        let all = machine(24 * GB, 20 * GB, 4 * GB);
        assert_eq!(all.within(Container { most: 2 * GB, used: GB }), machine(2 * GB, GB, 0));
        assert_eq!(all.within(Container { most: u64::MAX, used: GB }), all);
        assert_eq!(all.within(Container { most: GB, used: 2 * GB }).available, 0);
    }
}
