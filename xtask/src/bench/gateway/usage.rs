//! What processes use, as the system accounts for it.

use std::{collections::HashMap, fs, time::Duration};

use super::echo::CHORE;
use crate::haft::bytes_in;

/// The time that each thread of some processes has had, in nanoseconds, by its number.
pub(super) struct Cpu(HashMap<u32, u64>);

impl Cpu {
    /// Of a process and all below it.
    pub(super) fn of(root: u32) -> Cpu {
        let threads = tree(root).into_iter().flat_map(threads);
        Cpu(threads.filter_map(|(process, thread)| Some((thread, nanoseconds(process, thread)?))).collect())
    }

    /// What was used since. A thread that has ended meanwhile is left out, with all it ever used.
    pub(super) fn since(&self, before: &Cpu) -> Duration {
        let used =
            |(thread, now): (&u32, &u64)| now.saturating_sub(before.0.get(thread).copied().unwrap_or(0));
        Duration::from_nanos(self.0.iter().map(used).sum())
    }
}

/// A process and all below it.
pub(super) fn tree(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(process) = found.get(next).copied() {
        next += 1;
        for (_, thread) in threads(process) {
            let children = fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
            found.extend(
                children.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()),
            );
        }
    }
    found
}

/// The threads of a process, each with the process.
fn threads(process: u32) -> Vec<(u32, u32)> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((process, entry.file_name().to_str()?.parse().ok()?))).collect()
}

fn nanoseconds(process: u32, thread: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
    text.split(' ').next()?.parse().ok()
}

/// The memory that a process holds, and what is held for it alone by those that it started, the server at the end left out.
pub(super) fn memory(root: u32) -> u64 {
    let of_root = fs::read_to_string(format!("/proc/{root}/status"))
        .ok()
        .and_then(|status| bytes_in(&status, "VmRSS:"));
    let others = tree(root).into_iter().skip(1).filter(|process| !is_echo(*process));
    of_root.unwrap_or(0) + others.map(private).sum::<u64>()
}

fn private(process: u32) -> u64 {
    let maps = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    ["Private_Clean:", "Private_Dirty:"].iter().filter_map(|field| bytes_in(&maps, field)).sum()
}

fn is_echo(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/cmdline")).is_ok_and(|line| line.contains(CHORE))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn work_is_seen_and_whoever_is_below_belongs_to_it() {
        let script = "sleep 60 & while read line; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; done; kill $!";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, mut output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        let before = Cpu::of(shell.id());
        std::io::Write::write_all(&mut input, b"\n").unwrap();
        std::io::Read::read_exact(&mut output, &mut [0]).unwrap();
        assert!(Cpu::of(shell.id()).since(&before) > Duration::from_millis(1));
        assert_eq!(tree(shell.id()).len(), 2);
        assert!(memory(shell.id()) > 100_000);
        drop(input);
        shell.wait().unwrap();
    }
}
