//! The terminal, taken over and given back.
//!
//! Keys come one by one and nothing echoes while this lives. However haft ends, short of being killed without notice, the terminal
//! is as it was: the guard is dropped when haft leaves, when it unwinds, and when a signal asks it to go.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use tokio::sync::Notify;

use crate::out;

const PASTE_ON: &str = "\x1b[?2004h";
/// Whatever was being drawn: at once, without colours, with a cursor, and pastes as they were.
const AS_IT_WAS: &str = "\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?2004l";

/// Keeps the terminal as we need it.
pub(super) struct Guard {
    /// What a panic said, which must not be written over a screen that is drawn.
    said: Arc<Mutex<Option<String>>>,
}

impl Guard {
    pub(super) fn take() -> io::Result<Guard> {
        enable_raw_mode()?;
        write_now(PASTE_ON);
        let said = Arc::new(Mutex::new(None));
        let heard = said.clone();
        // A tool that breaks is a result, and nothing to write across the screen. What ends haft itself is said at the end.
        std::panic::set_hook(Box::new(move |panic| {
            *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
        }));
        Ok(Guard { said })
    }

    /// Gives the terminal back for a while.
    pub(super) fn release(&self) {
        write_now(AS_IT_WAS);
        // Where that fails there is no terminal any more.
        let _ = disable_raw_mode();
    }

    /// And takes it again.
    pub(super) fn retake(&self) -> io::Result<()> {
        enable_raw_mode()?;
        write_now(PASTE_ON);
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.release();
        if thread::panicking() {
            write_now("\r\n");
            let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).take();
            out::complain(&said.unwrap_or_else(|| "haft broke, and does not know why".to_owned()));
        } else {
            drop(std::panic::take_hook());
        }
    }
}

fn write_now(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes frames on a thread of its own: a terminal that is held (Ctrl-S, a slow line) holds up no call.
///
/// One frame at a time: what happens while one is written is in the next.
pub(super) struct Painter {
    frames: mpsc::Sender<String>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    progress: Mutex<Progress>,
    written: Notify,
}

#[derive(Default)]
struct Progress {
    is_busy: bool,
    /// Whether the terminal takes nothing any more.
    is_gone: bool,
}

impl Painter {
    pub(super) fn start() -> io::Result<Painter> {
        let (frames, coming) = mpsc::channel::<String>();
        let state = Arc::new(State::default());
        let painter = Painter { frames, state: state.clone() };
        thread::Builder::new().name("painter".to_owned()).spawn(move || {
            for frame in coming {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(frame.as_bytes()).and_then(|()| stdout.flush());
                drop(stdout);
                let mut progress = state.progress.lock().unwrap_or_else(PoisonError::into_inner);
                *progress = Progress { is_busy: false, is_gone: progress.is_gone || written.is_err() };
                drop(progress);
                state.written.notify_one();
            }
        })?;
        Ok(painter)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.state.progress.lock().unwrap_or_else(PoisonError::into_inner).is_busy
    }

    pub(super) fn is_gone(&self) -> bool {
        self.state.progress.lock().unwrap_or_else(PoisonError::into_inner).is_gone
    }

    /// Hands over a frame.
    pub(super) fn paint(&self, frame: String) {
        if frame.is_empty() {
            return;
        }
        self.state.progress.lock().unwrap_or_else(PoisonError::into_inner).is_busy = true;
        // The thread ends only with this.
        let _ = self.frames.send(frame);
    }

    /// Waits until what was handed over is written.
    pub(super) async fn settled(&self) {
        while self.is_busy() {
            self.state.written.notified().await;
        }
    }
}
