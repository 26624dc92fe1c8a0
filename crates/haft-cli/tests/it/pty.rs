//! A person at a terminal: haft on a real pty, what it shows, and what is typed.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::kit::{Place, Ran};

/// Slow machines take their time; a test that hangs does not.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Person {
    child: Child,
    terminal: File,
    screen: Arc<(Mutex<String>, Condvar)>,
    /// How much of the screen was looked at.
    seen: usize,
}

impl Person {
    /// Starts haft on a terminal of its own. This is typed before it can ask anything.
    pub(crate) fn at(place: &Place, arguments: &[&str], typed_ahead: &str) -> Person {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let mut terminal = File::from(master.try_clone().unwrap());
        terminal.write_all(typed_ahead.as_bytes()).unwrap();
        let child = on_terminal(place, arguments, slave).spawn().unwrap();
        Person { child, terminal, screen: watch(master), seen: 0 }
    }

    /// Waits until this shows, after what was looked at before; gives what came before it.
    #[track_caller]
    pub(crate) fn sees(&mut self, words: &str) -> String {
        let (text, changed) = &*self.screen;
        let (text, timeout) = changed
            .wait_timeout_while(text.lock().unwrap(), PATIENCE, |text| !text[self.seen..].contains(words))
            .unwrap();
        assert!(!timeout.timed_out(), "`{words}` never showed: {}", &text[self.seen..]);
        let at = text[self.seen..].find(words).unwrap();
        let before = text[self.seen..self.seen + at].to_owned();
        self.seen += at + words.len();
        before
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end; gives the answer, and as stderr all that was on the screen.
    pub(crate) fn ends(mut self) -> Ran {
        let output = self.child.wait_with_output().unwrap();
        let rest = self.screen.0.lock().unwrap().clone();
        self.seen = rest.len();
        Ran { err: rest, ..Ran::of(&output) }
    }
}

/// The same command with the pty as its controlling terminal.
#[expect(clippy::disallowed_methods, reason = "the binary is what is tested")]
fn on_terminal(place: &Place, arguments: &[&str], slave: File) -> Command {
    let haft = place.command(arguments);
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait"]).arg(haft.get_program()).args(haft.get_args());
    command.current_dir(place.path("project")).env_clear();
    command.envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env_remove("CI").env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(slave).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn watch(master: OwnedFd) -> Arc<(Mutex<String>, Condvar)> {
    let screen = Arc::new((Mutex::new(String::new()), Condvar::new()));
    let shown = Arc::clone(&screen);
    // Ends with the last program on the terminal: a read fails then.
    thread::spawn(move || {
        let (mut from, mut piece) = (File::from(master), [0; 4096]);
        while let Ok(read @ 1..) = from.read(&mut piece) {
            shown.0.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..read]));
            shown.1.notify_all();
        }
    });
    screen
}
