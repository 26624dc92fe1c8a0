//! A line between a process and its owner, besides input and output.
//!
//! A process that is fed one piece of work after the other must be told each, and must say when it is done with it. Neither
//! can go the way of input and output: what runs there reads and prints what it likes. So the process is given two
//! descriptors more, one to hear and one to speak on. What is said is bytes; what they mean is agreed by those who speak.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, ErrorKind, Read, Write},
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use rustix::{
    event::{PollFd, PollFlags},
    pipe::{PipeFlags, pipe_with},
};

use super::start::{high, nonblocking};

/// So much of what a process said is kept until somebody listens. Who says more is not understood anyway.
const MOST_HEARD: usize = 64 * 1024;

/// The process's ends of a line.
pub(super) struct Theirs {
    hears: OwnedFd,
    speaks: OwnedFd,
}

impl Theirs {
    /// What the child's descriptors [`SPOKEN`](super::SPOKEN) are to be.
    pub(super) fn passed(&self) -> [RawFd; 2] {
        [self.hears.as_raw_fd(), self.speaks.as_raw_fd()]
    }
}

/// Our ends. An end that nobody listens to any more is put away.
#[derive(Default)]
pub(super) struct Line {
    speaks: Option<File>,
    hears: Option<File>,
}

impl Line {
    pub(super) fn new() -> io::Result<(Line, Theirs)> {
        let (their_hears, speaks) = pipe_with(PipeFlags::CLOEXEC)?;
        let (hears, their_speaks) = pipe_with(PipeFlags::CLOEXEC)?;
        let line = Line { speaks: Some(nonblocking(speaks)?), hears: Some(nonblocking(hears)?) };
        Ok((line, Theirs { hears: high(their_hears)?, speaks: high(their_speaks)? }))
    }

    /// What is worth waking up for.
    pub(super) fn watched(&self, has_words: bool) -> impl Iterator<Item = PollFd<'_>> {
        let speaks = self.speaks.iter().filter(move |_| has_words);
        let hears = self.hears.iter().map(|file| PollFd::new(file, PollFlags::IN));
        hears.chain(speaks.map(|file| PollFd::new(file, PollFlags::OUT)))
    }

    /// Says as much as the other side takes now, and leaves the rest.
    pub(super) fn say(&mut self, words: &mut VecDeque<u8>) {
        while let (Some(speaks), false) = (&mut self.speaks, words.is_empty()) {
            match speaks.write(words.as_slices().0) {
                Ok(count) => drop(words.drain(..count)),
                Err(err) if err.kind() == ErrorKind::WouldBlock => return,
                Err(err) if err.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.speaks = None,
            }
        }
        if self.speaks.is_none() {
            words.clear();
        }
    }

    /// What the other side said, at most a gulp.
    pub(super) fn hear<'a>(&mut self, buffer: &'a mut [u8]) -> &'a [u8] {
        let Some(hears) = &mut self.hears else { return &[] };
        match hears.read(buffer) {
            Ok(0) => self.hears = None,
            Ok(count) => return &buffer[..count],
            Err(err) if matches!(err.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.hears = None,
        }
        &[]
    }
}

/// Keeps what was said, and of too much the end.
pub(super) fn note(heard: &mut Vec<u8>, words: &[u8]) {
    heard.extend_from_slice(words);
    let too_much = heard.len().saturating_sub(MOST_HEARD);
    heard.drain(..too_much);
}
