//! All that a process started.
//!
//! Its process group is not enough: a program may leave it (`setsid`), and a daemon has no parent that leads back. So every
//! process inherits a mark in its environment, and whoever has it belongs to the tree. What leaves the group *and* clears
//! its environment is not found; in the sandbox it ends all the same, because the kernel ends it.

use std::{
    ffi::OsString,
    fs,
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
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
    /// `HAFT_RUN=…`, as it stands in an environment.
    mark: Vec<u8>,
}

impl Tree {
    /// A tree with a mark that no other has.
    pub(super) fn new() -> Tree {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Tree { leader: None, mark: format!("{MARK}={}-{count}-{now:x}", std::process::id()).into_bytes() }
    }

    pub(super) fn variable(&self) -> (OsString, OsString) {
        let mark = String::from_utf8_lossy(&self.mark[MARK.len() + 1..]).into_owned();
        (MARK.into(), mark.into())
    }

    /// Its first process is this one, which leads a group of its own.
    pub(super) fn begins_with(&mut self, leader: Pid) {
        self.leader = Some(leader);
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
        let Some((state, group)) = state_and_group(pid) else { return false };
        let is_dead = matches!(state, b'Z' | b'X');
        !is_dead && (self.leads(group) || self.is_marked(pid))
    }

    /// Who is in the group has got the group's signal: some programs take a second one for impatience.
    fn is_in_the_group(&self, pid: Pid) -> bool {
        state_and_group(pid).is_some_and(|(_, group)| self.leads(group))
    }

    fn leads(&self, group: i32) -> bool {
        self.leader.is_some_and(|leader| leader.as_raw_pid() == group)
    }

    fn is_marked(&self, pid: Pid) -> bool {
        // Another user's environment cannot be read, and another user's process is none of ours.
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == self.mark)
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

/// From `/proc/PID/stat`: `PID (NAME) STATE PARENT GROUP …`, where the name may hold anything.
fn state_and_group(pid: Pid) -> Option<(u8, i32)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after = &stat[memchr::memrchr(b')', &stat)? + 1..];
    let mut words = after.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let state = *words.next()?.first()?;
    let group = std::str::from_utf8(words.nth(1)?).ok()?.parse().ok()?;
    Some((state, group))
}
