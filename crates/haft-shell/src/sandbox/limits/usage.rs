//! What the processes of a command use together.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    os::fd::{AsFd, OwnedFd},
    sync::OnceLock,
    time::Duration,
};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, readlinkat, statat};

/// How much is read of a file of `/proc`, and of how many descriptors of a process files in memory are counted.
const FILE_MOST_BYTES: usize = 64 * 1024;
const DESCRIPTORS_MOST: usize = 20_000;

/// The processes of a command.
#[derive(Debug)]
pub(super) enum Processes {
    /// All that there are in this `/proc`.
    Namespace(OwnedFd),
    /// All in the session of this process, and all that it started, as far as their parents live.
    Session(i32),
}

/// What they use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// With threads.
    pub(super) processes: u64,
    /// Memory in use, where what is shared counts for each that has it.
    pub(super) resident: u64,
    /// Of those that run and of those that have ended.
    pub(super) cpu_time: Duration,
}

impl Processes {
    /// What they use now. Where there are more of them than may be, they are only counted: that is quick.
    pub(super) fn usage(&self, most: Option<u64>) -> Usage {
        let mut usage = Usage::default();
        let Some(directory) = self.directory() else { return usage };
        if let Processes::Namespace(_) = self {
            usage.processes = numbers(&directory).len() as u64;
            if most.is_some_and(|most| usage.processes > most) {
                return usage;
            }
            usage.processes = 0;
        }
        for stat in self.members(&directory).values() {
            usage.processes += stat.threads;
            usage.resident = usage.resident.saturating_add(stat.resident);
            usage.cpu_time = usage.cpu_time.saturating_add(stat.cpu_time);
        }
        usage
    }

    /// The memory that would be free without them: what is shared counts once, and files that can be read again do not.
    pub(super) fn memory(&self, in_files: u64) -> u64 {
        let Some(directory) = self.directory() else { return in_files };
        let (mut own, mut shared) = (0u64, 0u64);
        let mut held = BTreeMap::new();
        for (pid, stat) in self.members(&directory) {
            match memory_of(&directory, pid) {
                Some(memory) => {
                    own = own.saturating_add(memory.own);
                    shared = shared.saturating_add(memory.shared);
                }
                None => own = own.saturating_add(stat.resident),
            }
            held.extend(held_files(&directory, pid));
        }
        own.saturating_add(shared.max(in_files.saturating_add(held.values().sum())))
    }

    /// Bytes that they have written to files, with those of processes that have ended.
    pub(super) fn written(&self) -> u64 {
        let Some(directory) = self.directory() else { return 0 };
        let written = |pid: &i32| {
            let io = read_at(&directory, &format!("{pid}/io"))?;
            let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "))?;
            line.trim().parse::<u64>().ok()
        };
        self.members(&directory).keys().filter_map(written).fold(0, u64::saturating_add)
    }

    fn directory(&self) -> Option<OwnedFd> {
        match self {
            Processes::Namespace(directory) => open_directory(directory, ".").ok(),
            Processes::Session(_) => open_directory(CWD, "/proc").ok(),
        }
    }

    fn members(&self, directory: &OwnedFd) -> BTreeMap<i32, Stat> {
        let all = numbers(directory).into_iter().filter_map(|pid| Some((pid, Stat::of(directory, pid)?)));
        match self {
            Processes::Namespace(_) => all.collect(),
            Processes::Session(leader) => descendants(*leader, all.collect()),
        }
    }
}

/// Of all processes, those of a session and their descendants.
fn descendants(leader: i32, all: BTreeMap<i32, Stat>) -> BTreeMap<i32, Stat> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    all.iter().for_each(|(pid, stat)| children.entry(stat.parent).or_default().push(*pid));
    let in_session = |(pid, stat): (&i32, &Stat)| (*pid == leader || stat.session == leader).then_some(*pid);
    let mut open: Vec<i32> = all.iter().filter_map(in_session).collect();
    let mut members = BTreeSet::new();
    while let Some(pid) = open.pop() {
        if members.insert(pid) {
            open.extend(children.get(&pid).into_iter().flatten());
        }
    }
    all.into_iter().filter(|(pid, _)| members.contains(pid)).collect()
}

/// From `/proc/PID/stat`: `PID (NAME) STATE PARENT GROUP SESSION …`, where the name may hold anything.
#[derive(Debug, Clone, Copy)]
struct Stat {
    parent: i32,
    session: i32,
    threads: u64,
    resident: u64,
    cpu_time: Duration,
}

impl Stat {
    fn of(directory: &OwnedFd, pid: i32) -> Option<Stat> {
        Stat::parse(&read_at(directory, &format!("{pid}/stat"))?)
    }

    fn parse(stat: &str) -> Option<Stat> {
        let words: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let kernel = Kernel::get();
        let ticks: u64 = (11..15).filter_map(number).fold(0, u64::saturating_add);
        Some(Stat {
            parent: words.get(1)?.parse().ok()?,
            session: words.get(3)?.parse().ok()?,
            threads: number(17)?,
            resident: number(21)?.saturating_mul(kernel.page_bytes),
            cpu_time: Duration::from_millis(ticks.saturating_mul(1000) / kernel.ticks_per_second),
        })
    }
}

/// A process's part of the memory.
struct Memory {
    own: u64,
    shared: u64,
}

/// None for a process that may not be looked at, or is not there.
fn memory_of(directory: &OwnedFd, pid: i32) -> Option<Memory> {
    let facts = read_at(directory, &format!("{pid}/smaps_rollup"))?;
    let value = |name: &str| {
        let line = facts.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
        Some(kilobytes.saturating_mul(1024))
    };
    let own = value("Pss_Anon:").or_else(|| value("Pss:"))?.saturating_add(value("SwapPss:").unwrap_or(0));
    Some(Memory { own, shared: value("Pss_Shmem:").unwrap_or(0) })
}

/// The files in memory that a process holds by descriptors alone, and their sizes.
fn held_files(directory: &OwnedFd, pid: i32) -> Vec<((u64, u64), u64)> {
    let Ok(open) = open_directory(directory, &format!("{pid}/fd")) else { return Vec::new() };
    let size = |number: i32| {
        let name = number.to_string();
        let target = readlinkat(&open, &name, Vec::new()).ok()?;
        if !target.as_bytes().starts_with(b"/memfd:") {
            return None;
        }
        let facts = statat(&open, &name, AtFlags::empty()).ok()?;
        Some(((facts.st_dev, facts.st_ino), u64::try_from(facts.st_blocks).ok()?.saturating_mul(512)))
    };
    numbers(&open).into_iter().take(DESCRIPTORS_MOST).filter_map(size).collect()
}

/// The names in a directory that are numbers.
fn numbers(directory: &OwnedFd) -> Vec<i32> {
    let Ok(entries) = Dir::read_from(directory) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok()).collect()
}

pub(super) fn open_directory(above: impl AsFd, name: &str) -> rustix::io::Result<OwnedFd> {
    openat(above, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn read_at(directory: &OwnedFd, name: &str) -> Option<String> {
    let file = openat(directory, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(std::fs::File::from(file), FILE_MOST_BYTES as u64), &mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// How the kernel counts.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    page_bytes: u64,
    ticks_per_second: u64,
}

impl Kernel {
    /// As it tells every process when it starts.
    fn get() -> Kernel {
        static KERNEL: OnceLock<Kernel> = OnceLock::new();
        *KERNEL.get_or_init(|| Kernel::of(&std::fs::read("/proc/self/auxv").unwrap_or_default()))
    }

    fn of(auxiliary: &[u8]) -> Kernel {
        let mut kernel = Kernel { page_bytes: 4096, ticks_per_second: 100 };
        const WORD: usize = size_of::<usize>();
        let word = |bytes: &[u8]| bytes.try_into().map(usize::from_ne_bytes).unwrap_or(0) as u64;
        for pair in auxiliary.chunks_exact(2 * WORD) {
            let (key, value) = (word(&pair[..WORD]), word(&pair[WORD..]));
            match key {
                libc::AT_PAGESZ if value > 0 => kernel.page_bytes = value,
                libc::AT_CLKTCK if value > 0 => kernel.ticks_per_second = value,
                _ => {}
            }
        }
        kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_is_counted_with_its_threads() {
        let own = Processes::Session(std::process::id() as i32);
        let usage = own.usage(None);
        assert!(usage.processes >= 1 && usage.resident > 1 << 20, "{usage:?}");
        let memory = own.memory(0);
        assert!(memory > 0 && memory <= usage.resident + (64 << 20), "{memory} {usage:?}");
    }

    #[test]
    fn stat_is_parsed_whatever_the_name() {
        let line = "7 (a) b) (c) S 5 6 4 0 -1 0 1 2 3 4 10 20 30 40 20 0 9 0 100 5000 12 0";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.session, stat.threads), (5, 4, 9));
        assert_eq!(stat.resident, 12 * Kernel::get().page_bytes);
        assert!(Stat::parse("7 (a) S 5").is_none() && Stat::parse("").is_none());
    }

    #[test]
    fn descendants_follow_parents_and_sessions() {
        let stat =
            |parent, session| Stat { parent, session, threads: 1, resident: 0, cpu_time: Duration::ZERO };
        let all = BTreeMap::from([
            (10, stat(1, 10)),
            (11, stat(10, 10)),
            (12, stat(11, 12)),
            (13, stat(1, 10)),
            (14, stat(1, 14)),
        ]);
        assert_eq!(descendants(10, all).into_keys().collect::<Vec<_>>(), [10, 11, 12, 13]);
    }
}
