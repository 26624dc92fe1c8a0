//! A process that is spoken to by its stdin and stdout: a server.
//!
//! The owner gets the other ends of both pipes, as plain descriptors that do not block: whoever has a runtime makes streams
//! of them. What the process writes to stderr goes the usual way, to the listener.

use std::{io, os::fd::OwnedFd};

use rustix::fs::OFlags;

use super::start::{Streams, Wiring, channel};

/// Our ends of the pipes. They do not block.
#[derive(Debug)]
pub struct Ends {
    /// What is written here is its stdin. Dropping it is the end of its input.
    pub input: OwnedFd,
    /// What it writes to stdout is read here.
    pub output: OwnedFd,
}

pub(super) fn streams() -> io::Result<Wiring> {
    let (read, input) = channel()?;
    let (output, written) = channel()?;
    let (errors, errors_written) = channel()?;
    let ends = Ends { input: unblocked(input)?, output: unblocked(output)? };
    let streams = Streams { input: read.into(), output: written, errors: errors_written };
    Ok((streams, errors, None, Some(ends)))
}

/// Only our end: the process expects a pipe that blocks.
fn unblocked(end: OwnedFd) -> io::Result<OwnedFd> {
    let flags = rustix::fs::fcntl_getfl(&end)?;
    rustix::fs::fcntl_setfl(&end, flags | OFlags::NONBLOCK)?;
    Ok(end)
}
