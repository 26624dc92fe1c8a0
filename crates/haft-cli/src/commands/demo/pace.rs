//! A story that can be followed: on a terminal, what is shown comes no faster than it can be read.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{QueueSelector, tcflush},
};

/// All of it takes less than a minute.
const PER_LINE: Duration = Duration::from_millis(180);

/// How fast it goes.
#[derive(Debug, Default)]
pub(super) struct Pace {
    is_slow: bool,
    /// How long was waited in all.
    waited: Duration,
}

impl Pace {
    /// As fast as it can where nobody watches, or whoever does is in a hurry.
    pub(super) fn new(is_fast: bool) -> Pace {
        let is_watched = io::stdout().is_terminal() && io::stdin().is_terminal();
        Pace { is_slow: is_watched && !is_fast, ..Pace::default() }
    }

    pub(super) fn is_slow(&self) -> bool {
        self.is_slow
    }

    pub(super) fn waited(&self) -> Duration {
        self.waited
    }

    /// Waits while so many lines are read. Enter ends all waiting.
    pub(super) fn read(&mut self, lines: usize) {
        if !self.is_slow {
            return;
        }
        let (began, time) = (Instant::now(), PER_LINE * u32::try_from(lines).unwrap_or(u32::MAX));
        let stdin = io::stdin();
        let timeout = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
        let typed = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout));
        if typed.is_ok_and(|ready| ready > 0) {
            // It was meant for this, and not for whoever reads next.
            let _ = tcflush(&stdin, QueueSelector::IFlush);
            self.is_slow = false;
        }
        self.waited += began.elapsed();
    }
}
