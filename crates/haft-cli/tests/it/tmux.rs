//! A person at a whole terminal: haft in tmux, its screen, and keys.

use std::{
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::kit::Place;

/// Slow machines take their time; a test that hangs does not.
const PATIENCE: Duration = Duration::from_secs(90);

/// A terminal of its own, gone with the test.
pub(crate) struct Tmux {
    socket: String,
}

static COUNT: AtomicUsize = AtomicUsize::new(0);

#[expect(clippy::disallowed_methods, reason = "tmux is the terminal of these tests")]
fn tmux(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("tmux").args(arguments).env_remove("TMUX").output()
}

/// Whether there is a tmux here; says so if there is none, and fails where there must be one (`HAFT_TEST_NEEDS=tmux`, as CI has
/// it).
#[expect(clippy::print_stderr, reason = "a test that did nothing says so")]
pub(crate) fn is_there() -> bool {
    let is_there = tmux(&["-V"]).is_ok_and(|output| output.status.success());
    if !is_there {
        let needs = std::env::var("HAFT_TEST_NEEDS").unwrap_or_default();
        assert!(!needs.split(',').any(|need| need == "tmux"), "HAFT_TEST_NEEDS=tmux, and there is none here");
        eprintln!("skipped: there is no tmux here");
    }
    is_there
}

impl Tmux {
    /// Starts haft in a terminal of so many columns and rows. When it ends, its code and the state of the terminal are shown.
    pub(crate) fn start(
        place: &Place,
        (columns, rows): (u16, u16),
        env: &[(&str, &str)],
        arguments: &[&str],
    ) -> Tmux {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let tmux = Tmux { socket: format!("haft-{}-{number}", std::process::id()) };
        let haft = place.command(arguments);
        let mut words = vec!["env".to_owned(), "-i".to_owned()];
        let variables = haft.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        let path = std::env::var("PATH").unwrap_or_default();
        let usual = [("PATH", path.as_str()), ("TERM", "tmux-256color"), ("LANG", "C.UTF-8")];
        let variables = variables.filter(|(name, _)| *name != "CI").chain(usual).chain(env.iter().copied());
        words.extend(variables.map(|(name, value)| quoted(&format!("{name}={value}"))));
        words.push(quoted(haft.get_program().to_str().unwrap()));
        words.extend(haft.get_args().map(|argument| quoted(argument.to_str().unwrap())));
        let script = format!(
            "cd {}; {}; echo \"left with $?\"; stty -a | tr ' ' '\\n' | grep -x -- '-*\\(echo\\|icanon\\);*' | tr '\\n' ' '; exec cat",
            quoted(place.path("project").to_str().unwrap()),
            words.join(" ")
        );
        let (columns, rows) = (columns.to_string(), rows.to_string());
        tmux.run(&[
            "-u",
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "t",
            "-x",
            &columns,
            "-y",
            &rows,
            &script,
        ]);
        tmux
    }

    fn run(&self, arguments: &[&str]) -> String {
        let all: Vec<&str> = ["-L", &self.socket].into_iter().chain(arguments.iter().copied()).collect();
        let output = tmux(&all).unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The screen, without spaces at the ends of lines.
    pub(crate) fn screen(&self) -> String {
        let text = self.run(&["capture-pane", "-p", "-t", "t"]);
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    /// The screen with its colours.
    pub(crate) fn coloured(&self) -> String {
        self.run(&["capture-pane", "-p", "-e", "-t", "t"])
    }

    /// All that was on the screen and is still kept.
    pub(crate) fn memory(&self) -> String {
        self.run(&["capture-pane", "-p", "-S", "-1000", "-t", "t"])
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(crate) fn sees(&self, words: &str) -> String {
        self.waits_for(words, |screen| screen.contains(words))
    }

    /// Waits until this is on the screen no more.
    #[track_caller]
    pub(crate) fn sees_no_more(&self, words: &str) -> String {
        self.waits_for(words, |screen| !screen.contains(words))
    }

    /// Waits until the screen is so.
    #[track_caller]
    pub(crate) fn waits_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        self.waits_for(what, is_so)
    }

    #[track_caller]
    fn waits_for(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "waited for `{what}`: {screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Types a text as it is.
    pub(crate) fn types(&self, text: &str) {
        self.run(&["send-keys", "-t", "t", "-l", text]);
    }

    /// Presses keys by their names: `Enter`, `Escape`, `C-c`.
    pub(crate) fn presses(&self, key: &str) {
        self.run(&["send-keys", "-t", "t", key]);
    }

    /// Types a line.
    pub(crate) fn says(&self, line: &str) {
        self.types(line);
        self.presses("Enter");
    }

    /// Pastes a text, as a terminal does.
    pub(crate) fn pastes(&self, text: &str) {
        self.run(&["set-buffer", "-b", "b", text]);
        self.run(&["paste-buffer", "-p", "-b", "b", "-t", "t"]);
    }

    pub(crate) fn resizes(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.run(&["resize-window", "-t", "t", "-x", &columns, "-y", &rows]);
    }

    /// The id of the shell's process.
    pub(crate) fn shell(&self) -> u32 {
        self.run(&["display-message", "-p", "-t", "t", "#{pane_pid}"]).trim().parse().unwrap()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = tmux(&["-L", &self.socket, "kill-server"]);
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
