//! The terminal that the process belongs to: lines out, lines in, and nobody left waiting.
//!
//! It is opened anew, without blocking and not as stdin: nobody else's descriptor changes. A thread waits for it and for a
//! pipe that ends with the question, so one that is given up is given up at once, and no thread sits in a read. The terminal
//! stays in its usual mode: it echoes, edits the line and makes Ctrl-C a signal, whatever becomes of this process.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt},
    sync::Arc,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::OFlags,
    pipe::{PipeFlags, pipe_with},
    termios::QueueSelector,
};
use tokio::task::spawn_blocking;

use crate::out;

/// No terminal hands over a longer line.
const LONGEST_LINE: usize = 4096;

/// Whether there is a terminal.
pub(crate) fn is_there() -> bool {
    open().is_ok()
}

fn open() -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    OpenOptions::new().read(true).write(true).custom_flags(flags.cast_signed()).open("/dev/tty")
}

/// The terminal, while somebody is asked.
pub(crate) struct Tty(Arc<File>, out::Hold);

impl Tty {
    pub(crate) fn open() -> io::Result<Tty> {
        Ok(Tty(Arc::new(open()?), out::hold()))
    }

    /// Writes all of a text.
    pub(crate) async fn write(&self, text: &str) -> io::Result<()> {
        let text = text.to_owned();
        self.aside(move |mut tty, end| {
            let mut rest = text.as_bytes();
            while !rest.is_empty() {
                ready(tty, PollFlags::OUT, end)?;
                rest = &rest[unless_busy(tty.write(rest))?..];
            }
            Ok(())
        })
        .await
    }

    /// Writes a few words without waiting; a terminal that takes none gets none.
    pub(crate) fn write_now(&self, words: &str) {
        let _ = (&*self.0).write(words.as_bytes());
    }

    /// Forgets what was typed and not read yet, also of a line that is not finished.
    pub(crate) fn forget_typed(&self) {
        let _ = rustix::termios::tcflush(&*self.0, QueueSelector::IFlush);
    }

    /// The next line that is typed; `None` where there will be none.
    pub(crate) async fn line(&self) -> io::Result<Option<String>> {
        self.aside(|mut tty, end| {
            let (mut line, mut piece) = (Vec::new(), [0; LONGEST_LINE]);
            while line.len() < LONGEST_LINE && !line.ends_with(b"\n") {
                ready(tty, PollFlags::IN, end)?;
                match tty.read(&mut piece) {
                    Ok(0) => return Ok(None),
                    read => line.extend(&piece[..unless_busy(read)?]),
                }
            }
            Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()))
        })
        .await
    }

    /// Works on a thread, which ends when this future is dropped.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&File, &OwnedFd) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let tty = Arc::clone(&self.0);
        let (end, _held_until_then) = pipe_with(PipeFlags::CLOEXEC)?;
        spawn_blocking(move || work(&tty, &end)).await.map_err(io::Error::other)?
    }
}

/// Waits for the terminal, or for the other end of the pipe to go: that is an error, whatever the terminal has.
fn ready(tty: &File, wanted: PollFlags, end: &OwnedFd) -> io::Result<()> {
    let mut both = [PollFd::new(tty, wanted), PollFd::new(end, PollFlags::empty())];
    match poll(&mut both, None) {
        Err(rustix::io::Errno::INTR) => ready(tty, wanted, end),
        Err(err) => Err(err.into()),
        Ok(_) if !both[1].revents().is_empty() => Err(ErrorKind::Interrupted.into()),
        Ok(_) => Ok(()),
    }
}

fn unless_busy(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Err(err) if err.kind() == ErrorKind::WouldBlock => Ok(0),
        done => done,
    }
}

/// Asks for a yes or a no, and waits. For commands that do nothing else meanwhile.
pub(crate) fn says_yes(question: &str) -> io::Result<bool> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let mut lines = BufReader::new(terminal.try_clone()?);
    // What was typed before the question is no answer to it.
    rustix::termios::tcflush(&terminal, QueueSelector::IFlush)?;
    loop {
        write!(terminal, "{question} [y]es, [n]o: ")?;
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

/// Says something beside any question.
pub(crate) fn say(words: &str) {
    let _hold = out::hold();
    if let Ok(mut terminal) = OpenOptions::new().write(true).open("/dev/tty") {
        let _ = writeln!(terminal, "{words}");
    }
}
