//! All that a process started.
//!
//! Its process group is not enough: a program may leave it (`setsid`), and a daemon has no parent that leads back. So every
//! process inherits a mark in its environment, and whoever has it belongs to the tree. What leaves the group *and* clears
//! its environment is not found; in the sandbox it ends all the same, because the kernel ends it.

use std::{
    ffi::OsString,
    fs,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};

/// The variable that marks a tree.
const MARK: &str = "HAFT_RUN";

/// A process and what it started.
#[derive(Debug)]
pub(super) struct Tree {
    leader: Option<Pid>,
    /// When the leader began, as the kernel counts.
    begun: u64,
    /// `HAFT_RUN=…`, as it stands in an environment.
    mark: Vec<u8>,
}

impl Tree {
    /// A tree with a mark that no other has.
    pub(super) fn new() -> Tree {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Tree {
            leader: None,
            begun: 0,
            mark: format!("{MARK}={}-{count}-{now:x}", std::process::id()).into_bytes(),
        }
    }

    pub(super) fn variable(&self) -> (OsString, OsString) {
        let mark = String::from_utf8_lossy(&self.mark[MARK.len() + 1..]).into_owned();
        (MARK.into(), mark.into())
    }

    /// Its first process is this one, which leads a group of its own.
    pub(super) fn begins_with(&mut self, leader: Pid) {
        self.leader = Some(leader);
        self.begun = Stat::of(leader).map_or(0, |stat| stat.begun);
    }

    /// Sends a signal to all of it. The leader must not have been waited for, or its number may be somebody else's.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // Who is gone needs no signal.
            let _ = kill_process_group(leader, signal);
        }
        let elsewhere = self.others().into_iter().filter(|pid| !self.is_in_the_group(*pid));
        elsewhere.for_each(|pid| self.signal_one(pid, signal));
    }

    /// Interrupts what runs, as a terminal would: the group, or whoever passes it on to those inside.
    pub(super) fn interrupt(&self, is_passed_on: bool) {
        let Some(leader) = self.leader else { return };
        let _ = match is_passed_on {
            true => kill_process(leader, Signal::INT),
            false => kill_process_group(leader, Signal::INT),
        };
    }

    /// All that runs, but for the leader.
    pub(super) fn others(&self) -> Vec<Pid> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Pid::from_raw).filter(|pid| Some(*pid) != self.leader && self.has(*pid)).collect()
    }

    fn has(&self, pid: Pid) -> bool {
        let Some(stat) = Stat::of(pid) else { return false };
        let is_dead = matches!(stat.state, b'Z' | b'X');
        // Who was there before is none of it.
        !is_dead && (self.leads(stat.group) || stat.begun >= self.begun && self.is_marked(pid))
    }

    /// Who is in the group has got the group's signal: some programs take a second one for impatience.
    fn is_in_the_group(&self, pid: Pid) -> bool {
        Stat::of(pid).is_some_and(|stat| self.leads(stat.group))
    }

    fn leads(&self, group: i32) -> bool {
        self.leader.is_some_and(|leader| leader.as_raw_pid() == group)
    }

    fn is_marked(&self, pid: Pid) -> bool {
        for _ in 0..LOOKS {
            // Another user's environment cannot be read, and another user's process is none of ours.
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            // A process that is just becoming another program has none for a moment, and would get away.
            let is_between = environment.is_empty() && fs::read_link(format!("/proc/{pid}/exe")).is_ok();
            if !is_between {
                return environment.split(|byte| *byte == 0).any(|variable| variable == self.mark);
            }
            thread::sleep(PAUSE);
        }
        false
    }

    /// The number is pinned before the last look: it cannot become another process's in between.
    fn signal_one(&self, pid: Pid, signal: Signal) {
        if let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty())
            && self.has(pid)
        {
            let _ = pidfd_send_signal(pidfd, signal);
        }
    }
}

/// How often a process without an environment is looked at, and how long it has in between: 20 ms in all.
const LOOKS: usize = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// From `/proc/PID/stat`: `PID (NAME) STATE PARENT GROUP …`, where the name may hold anything.
struct Stat {
    state: u8,
    group: i32,
    /// When it began, in ticks since the machine did.
    begun: u64,
}

impl Stat {
    fn of(pid: Pid) -> Option<Stat> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let after = std::str::from_utf8(&stat[memchr::memrchr(b')', &stat)? + 1..]).ok()?;
        let words: Vec<&str> = after.split_ascii_whitespace().collect();
        Some(Stat {
            state: *words.first()?.as_bytes().first()?,
            group: words.get(2)?.parse().ok()?,
            begun: words.get(19)?.parse().ok()?,
        })
    }
}
