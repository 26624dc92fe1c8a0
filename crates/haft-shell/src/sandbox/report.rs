//! How the processes say what went wrong, and how the command ended.
//!
//! A process between `fork` and `exec` can only leave numbers, so it notes what it is about to do; what is noted last when
//! it fails is what failed.

use std::{
    io,
    sync::atomic::Ordering::{Acquire, Relaxed, Release},
};

use super::sys::{self, Answer, Errno, Shared};

/// What the processes tell each other.
#[derive(Debug)]
pub(super) struct Report(Shared<6>);

/// A step, and which of its things.
const STEP: usize = 0;
const ITEM: usize = 1;
/// What the kernel said when it failed.
const ERRNO: usize = 2;
/// How the command ended, as the kernel says it, and one so that zero is "not yet".
const STATUS: usize = 3;
/// What became of the network: nothing yet, a one, or what the kernel said, below zero.
const NETWORK: usize = 4;
/// The process that the caller knows, as its namespace counts.
const LEADER: usize = 5;

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Namespaces,
    Identity,
    Init,
    Root,
    Devices,
    Processes,
    Temporary,
    Write,
    Names,
    Network,
    Privileges,
    Session,
    Limits,
    Directory,
    Landlock,
    Filter,
}

/// In the order of the steps.
const STEPS: [(Step, &str); 16] = [
    (Step::Namespaces, "make namespaces"),
    (Step::Identity, "map the user into the namespace"),
    (Step::Init, "start process 1"),
    (Step::Root, "make the file system read-only"),
    (Step::Devices, "make /dev"),
    (Step::Processes, "mount /proc"),
    (Step::Temporary, "make a private directory for temporary files"),
    (Step::Write, "open for writing"),
    (Step::Names, "close"),
    (Step::Network, "make the network"),
    (Step::Privileges, "give up privileges"),
    (Step::Session, "begin a session"),
    (Step::Limits, "set limits"),
    (Step::Directory, "enter the directory"),
    (Step::Landlock, "apply Landlock"),
    (Step::Filter, "filter system calls"),
];

impl Report {
    pub(super) fn new() -> io::Result<Report> {
        Shared::new().map(Report)
    }

    /// Notes what comes next.
    pub(super) fn at(&self, step: Step) {
        self.0.all()[STEP].store(step as i32, Relaxed);
        self.item(0);
    }

    /// Notes which one.
    pub(super) fn item(&self, index: usize) {
        self.0.all()[ITEM].store(index as i32, Relaxed);
    }

    pub(super) fn begins(&self, leader: i32) {
        self.0.all()[LEADER].store(leader, Relaxed);
    }

    /// The process that the caller knows, once it has begun.
    pub(super) fn leader(&self) -> i32 {
        self.0.all()[LEADER].load(Relaxed)
    }

    pub(super) fn failed(&self, errno: Errno) {
        self.0.all()[ERRNO].store(errno.0, Relaxed);
    }

    pub(super) fn ended(&self, status: i32) {
        self.0.all()[STATUS].store(status + 1, Relaxed);
    }

    /// How the command ended, if it has.
    pub(super) fn status(&self) -> Option<i32> {
        self.0.all()[STATUS].load(Relaxed).checked_sub(1).filter(|status| *status >= 0)
    }

    /// Says what became of the network to whoever waits for it.
    pub(super) fn network(&self, made: Answer) {
        let network = &self.0.all()[NETWORK];
        network.store(made.map_or_else(|errno| -errno.0, |()| 1), Release);
        sys::wake(network);
    }

    /// What became of the network, waited for until it is said or somebody asks us to look up.
    pub(super) fn await_network(&self) -> Option<Answer> {
        let network = &self.0.all()[NETWORK];
        sys::sleep_while_zero(network);
        match network.load(Acquire) {
            0 => None,
            errno @ ..0 => Some(Err(Errno(-errno))),
            1.. => Some(Ok(())),
        }
    }

    /// What failed, if anything did: the step, its words, which of its things, and why.
    pub(super) fn failure(&self) -> Option<(Step, &'static str, usize, Errno)> {
        let [step, item, errno] = [STEP, ITEM, ERRNO].map(|at| self.0.all()[at].load(Relaxed));
        let (step, words) = *STEPS.get(usize::try_from(step).ok()?)?;
        (errno != 0).then(|| (step, words, usize::try_from(item).unwrap_or(0), Errno(errno)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_in_the_order_of_the_steps() {
        STEPS.iter().enumerate().for_each(|(index, (step, _))| assert_eq!(*step as usize, index));
    }

    #[test]
    fn what_was_noted_last_is_what_failed() {
        let report = Report::new().unwrap();
        assert_eq!((report.failure(), report.status()), (None, None));
        report.at(Step::Names);
        report.item(3);
        report.failed(Errno(libc::EPERM));
        report.ended(0);
        assert_eq!(report.failure(), Some((Step::Names, "close", 3, Errno(libc::EPERM))));
        assert_eq!(report.status(), Some(0));
    }

    #[test]
    fn what_became_of_the_network_is_waited_for() {
        for made in [Ok(()), Err(Errno(libc::ENOSPC))] {
            let report = Report::new().unwrap();
            assert_eq!(report.await_network(), None);
            report.network(made);
            assert_eq!(report.await_network(), Some(made));
        }
    }
}
