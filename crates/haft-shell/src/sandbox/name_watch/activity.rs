//! When a command made names.
//!
//! The supervisor sees every system call that makes one. What appeared while the command made none is the person's.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::super::{
    seccomp::Reported,
    supervisor::{Call, Handler},
};

/// The longest time between the report of a call and its effect. A thread may have to wait for a processor.
const EFFECT_DELAY: Duration = Duration::from_secs(2);
/// File systems stamp with a coarse clock, which is behind.
const CLOCK_GRANULE: Duration = Duration::from_millis(20);
/// Intervals that are told apart. Beyond it the last one grows.
const INTERVALS_LIMIT: usize = 1_000;

/// A point in time, in nanoseconds since 1970, as file systems have it.
pub(super) type Nanoseconds = i128;

/// The intervals in which a command made names.
#[derive(Debug, Default)]
pub(in super::super) struct Activity(Mutex<Vec<(Nanoseconds, Nanoseconds)>>);

impl Activity {
    /// Records that a name may be made from now on.
    pub(in super::super) fn record(&self) {
        let now = now();
        let end = now + nanoseconds(EFFECT_DELAY);
        let mut intervals = self.intervals();
        let is_full = intervals.len() >= INTERVALS_LIMIT;
        match intervals.last_mut() {
            Some((_, last)) if *last >= now || is_full => *last = end,
            _ => intervals.push((now - nanoseconds(CLOCK_GRANULE), end)),
        }
    }

    /// Returns true if what happened at this time may be the command's work.
    pub(super) fn covers(&self, time: Nanoseconds) -> bool {
        self.intervals().iter().any(|(start, end)| (*start..=*end).contains(&time))
    }

    /// Returns true if no name was made at all.
    pub(super) fn is_empty(&self) -> bool {
        self.intervals().is_empty()
    }

    fn intervals(&self) -> MutexGuard<'_, Vec<(Nanoseconds, Nanoseconds)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time now.
pub(super) fn now() -> Nanoseconds {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, nanoseconds)
}

/// The earliest stamp of what is made from now on.
pub(super) fn start_of_watch() -> Nanoseconds {
    now() - nanoseconds(CLOCK_GRANULE)
}

fn nanoseconds(duration: Duration) -> Nanoseconds {
    duration.as_nanos() as Nanoseconds
}

/// Records the calls that make names, and leaves them to the next handler.
pub(in super::super) struct Creations(pub(in super::super) Arc<Activity>);

impl Handler for Creations {
    fn reported(&self) -> Vec<Reported> {
        let writes = (libc::O_CREAT | libc::O_TMPFILE) as u32;
        let mut reported: Vec<Reported> = CALLS.map(Reported::Always).to_vec();
        reported.push(Reported::AnyBit(libc::SYS_openat, 2, writes));
        #[cfg(target_arch = "x86_64")]
        {
            reported.push(Reported::AnyBit(libc::SYS_open, 1, writes));
            reported.extend(OLD_CALLS.map(Reported::Always));
        }
        reported
    }

    fn handle(&mut self, call: Call) -> Option<Call> {
        if makes_a_name(call.number()) {
            self.0.record();
        }
        Some(call)
    }
}

const CALLS: [libc::c_long; 7] = [
    libc::SYS_openat2,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
];
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: [libc::c_long; 6] =
    [libc::SYS_creat, libc::SYS_mkdir, libc::SYS_mknod, libc::SYS_symlink, libc::SYS_link, libc::SYS_rename];

fn makes_a_name(call: libc::c_long) -> bool {
    #[cfg(target_arch = "x86_64")]
    if OLD_CALLS.contains(&call) || call == libc::SYS_open {
        return true;
    }
    CALLS.contains(&call) || call == libc::SYS_openat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happens_soon_after_a_call_is_the_commands() {
        let activity = Activity::default();
        let long_ago = now() - nanoseconds(Duration::from_secs(60));
        assert!(activity.is_empty() && !activity.covers(now()));
        activity.record();
        activity.record();
        assert_eq!(activity.intervals().len(), 1);
        assert!(activity.covers(now()) && !activity.covers(long_ago));
        assert!(!activity.covers(now() + nanoseconds(Duration::from_secs(3))));
    }
}
