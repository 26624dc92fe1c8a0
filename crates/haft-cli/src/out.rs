//! stdout and stderr.
//!
//! Only whole answers go to stdout. Who closes it early has seen enough: nothing more is written, and that is no error.

use std::{
    io::{self, BufWriter, ErrorKind, IsTerminal, Stdout, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;

use crate::draw::{fit, plain, plain_line};

/// The answer.
pub(crate) struct Out {
    to: BufWriter<Stdout>,
    is_terminal: bool,
    is_closed: bool,
}

impl Out {
    pub(crate) fn stdout() -> Out {
        let stdout = io::stdout();
        Out { is_terminal: stdout.is_terminal(), to: BufWriter::new(stdout), is_closed: false }
    }

    /// Whether a person reads it directly.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Whether nobody reads it any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Writes a text as it is.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes that may be no text.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let written = self.to.write_all(bytes);
        self.unless_closed(written)
    }

    /// Writes a text and ends its last line.
    pub(crate) fn lines(&mut self, text: &str) -> io::Result<()> {
        self.text(text)?;
        if text.ends_with('\n') { Ok(()) } else { self.text("\n") }
    }

    /// Writes a value as one line of JSON, whole or not at all.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_string(value)?;
        line.push('\n');
        self.text(&line)
    }

    /// Hands over what was written so far.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let flushed = self.to.flush();
        self.unless_closed(flushed)
    }

    fn unless_closed(&mut self, written: io::Result<()>) -> io::Result<()> {
        match written {
            Err(err) if err.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            written => written,
        }
    }
}

/// What is said beside the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Talk {
    is_verbose: bool,
    is_quiet: bool,
}

impl Talk {
    pub(crate) fn new(verbose: bool) -> Talk {
        Talk { is_verbose: verbose, is_quiet: false }
    }

    /// Says nothing but errors.
    pub(crate) fn quiet(self, quiet: bool) -> Talk {
        Talk { is_verbose: self.is_verbose && !quiet, is_quiet: quiet }
    }

    pub(crate) fn is_verbose(self) -> bool {
        self.is_verbose
    }

    pub(crate) fn is_quiet(self) -> bool {
        self.is_quiet
    }

    /// Something for those who asked for more.
    pub(crate) fn detail(self, words: impl FnOnce() -> String) {
        if self.is_verbose {
            write_line(&words());
        }
    }
}

impl Talk {
    /// A line of what goes on, unless they asked for less.
    pub(crate) fn say(self, words: impl FnOnce() -> String) {
        if !self.is_quiet {
            write_line(&words());
        }
    }

    /// Something that a person should know, unless they asked for less.
    pub(crate) fn remark(self, words: impl FnOnce() -> String) {
        if !self.is_quiet {
            complain(&words());
        }
    }
}

/// An error. Said in every case. It may quote what comes from outside, which must not move the cursor.
pub(crate) fn complain(words: &str) {
    write_line(&plain(format!("haft: {words}")));
}

fn write_line(line: &str) {
    let diverted = DIVERTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(tell) = &*diverted {
        return tell(line.to_owned());
    }
    let mut sign = sign();
    sign.erase();
    // Where stderr is gone there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// The last line of a terminal, while it says what goes on: it is gone before anything else is written there.
#[derive(Debug)]
struct Sign {
    is_shown: bool,
    /// How many others have the terminal: who asks, or whoever writes a line piece by piece.
    holders: usize,
}

static SIGN: Mutex<Sign> = Mutex::new(Sign { is_shown: false, holders: 0 });

fn sign() -> MutexGuard<'static, Sign> {
    SIGN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sign {
    fn erase(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(io::stderr().lock(), "{ERASE}");
        }
    }
}

/// To the beginning of the line, and away with it.
const ERASE: &str = "\r\x1b[K";

/// Shows on stderr, which is a terminal, what goes on, unless somebody else writes there.
pub(crate) fn show_sign(words: &str) {
    let mut sign = sign();
    if sign.holders == 0 {
        let columns = columns_of_stderr().unwrap_or(80).saturating_sub(1);
        let _ = write!(io::stderr().lock(), "{ERASE}{}", fit(&plain_line(words.to_owned()), columns));
        sign.is_shown = true;
    }
}

fn columns_of_stderr() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Takes it away.
pub(crate) fn take_sign_away() {
    sign().erase();
}

/// Somebody has the terminal as long as this lives.
#[derive(Debug)]
pub(crate) struct Hold(());

/// Takes the sign away, and keeps it away.
pub(crate) fn hold() -> Hold {
    let mut sign = sign();
    sign.erase();
    sign.holders += 1;
    Hold(())
}

impl Drop for Hold {
    fn drop(&mut self) {
        sign().holders -= 1;
    }
}

/// Takes a line that would have been written.
type Voice = Box<dyn Fn(String) + Send>;

/// Where talk goes while somebody else has the screen: a line across a drawing helps nobody.
static DIVERTED: Mutex<Option<Voice>> = Mutex::new(None);

/// Talk goes elsewhere as long as this lives.
#[cfg(feature = "tui")]
#[derive(Debug)]
pub(crate) struct Diverted(());

/// Sends talk elsewhere.
#[cfg(feature = "tui")]
pub(crate) fn divert(tell: impl Fn(String) + Send + 'static) -> Diverted {
    *DIVERTED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(tell));
    Diverted(())
}

#[cfg(feature = "tui")]
impl Drop for Diverted {
    fn drop(&mut self) {
        *DIVERTED.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Writes to the terminal what is meant for it alone.
#[cfg(feature = "tui")]
pub(crate) fn raw(text: &str) {
    let mut stdout = io::stdout().lock();
    // A terminal that is gone needs nothing any more.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}
