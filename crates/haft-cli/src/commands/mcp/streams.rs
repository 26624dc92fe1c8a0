//! stdin and stdout, as streams that nobody has to wait for in a thread.
//!
//! Tokio gives each read and each write of them to a thread, for they may be files. That costs a message more than all the
//! rest of its way. A client speaks by pipes, which can be waited for by the runtime itself. What we were given may be shared
//! with whoever started us, a shell for example, and has to go on blocking for them: so a pipe is opened anew. All else stays
//! with threads.

use std::{io, os::fd::AsFd};

use rustix::fs::{FileType, fstat};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::unix::pipe,
};

const OWN_INPUT: &str = "/proc/self/fd/0";
const OWN_OUTPUT: &str = "/proc/self/fd/1";

/// What a client says. To be called inside a runtime.
pub(super) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    let anew = || pipe::OpenOptions::new().open_receiver(OWN_INPUT).ok();
    match is_pipe(io::stdin()).then(anew).flatten() {
        Some(pipe) => Box::new(pipe),
        None => Box::new(tokio::io::stdin()),
    }
}

/// What it is told. To be called inside a runtime.
pub(super) fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    let anew = || pipe::OpenOptions::new().open_sender(OWN_OUTPUT).ok();
    match is_pipe(io::stdout()).then(anew).flatten() {
        Some(pipe) => Box::new(pipe),
        None => Box::new(tokio::io::stdout()),
    }
}

fn is_pipe(stream: impl AsFd) -> bool {
    fstat(stream).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Fifo)
}
