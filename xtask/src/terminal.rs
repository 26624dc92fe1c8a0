//! A person at a terminal who gives the same answer to each question, for chores that start haft as a person does.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The answer to each question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
}

impl Answer {
    /// What is typed at a prompt. Where yes is not among the answers, only leaving the sandbox is: that is refused.
    fn line(self, prompt: &str) -> &'static [u8] {
        match self {
            Answer::Yes if prompt.contains("[y]") => b"y\n",
            Answer::Yes | Answer::No => b"n\n",
        }
    }
}

/// A program that ran on a terminal.
#[derive(Debug)]
pub(crate) struct Transcript {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// What was on the screen each time an answer was typed.
    pub(crate) questions: Vec<String>,
}

/// A program that takes longer hangs.
const TIME_LIMIT: Duration = Duration::from_secs(90);
const POLL_INTERVAL: Duration = Duration::from_millis(3);

/// Runs a command on a terminal of its own and answers its questions. Its output is not the terminal's.
pub(crate) fn run(command: &Command, answer: Answer) -> Result<Transcript> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?.into_string()?;
    let slave = OpenOptions::new().read(true).write(true).open(name)?;
    let questions = answer_all(master, answer);
    let mut child = on_terminal(command, slave).spawn().with_context(|| format!("{command:?}"))?;
    let readers = (read_all(child.stdout.take()), read_all(child.stderr.take()));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > TIME_LIMIT {
            child.kill()?;
            child.wait()?;
            let asked = questions.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
            bail!("it takes longer than {} s; it asked: {asked}", TIME_LIMIT.as_secs());
        }
        thread::sleep(POLL_INTERVAL);
    };
    let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
    let questions = questions.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Transcript { success: status.success(), stdout: text(readers.0), stderr: text(readers.1), questions })
}

/// The same command with the pty as its controlling terminal.
fn on_terminal(command: &Command, slave: File) -> Command {
    let mut on_terminal = Command::new("setsid");
    on_terminal.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args()).env_clear();
    on_terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.get_current_dir().map(|directory| on_terminal.current_dir(directory));
    on_terminal.stdin(slave).stdout(Stdio::piped()).stderr(Stdio::piped());
    on_terminal
}

fn read_all(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // What was read before an error is what there is.
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Answers on the other side of the terminal. The thread ends with the last program on it: a read fails then.
fn answer_all(master: OwnedFd, answer: Answer) -> Arc<Mutex<Vec<String>>> {
    let questions = Arc::new(Mutex::new(Vec::new()));
    let answered = Arc::clone(&questions);
    thread::spawn(move || {
        let (mut terminal, mut piece, mut screen) = (File::from(master), [0; 4096], String::new());
        while let Ok(read @ 1..) = terminal.read(&mut piece) {
            screen.push_str(&String::from_utf8_lossy(&piece[..read]));
            if is_prompt(&screen) {
                let line = answer.line(last_line(&screen));
                let mut questions = answered.lock().unwrap_or_else(PoisonError::into_inner);
                questions.push(std::mem::take(&mut screen));
                if terminal.write_all(line).is_err() {
                    return;
                }
            }
        }
    });
    questions
}

/// Whether the last line waits for an answer.
fn is_prompt(screen: &str) -> bool {
    let last = last_line(screen);
    last.ends_with(": ") && last.contains("[n]")
}

fn last_line(screen: &str) -> &str {
    screen.rsplit('\n').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_a_last_line_that_names_its_answers() {
        assert!(is_prompt("Bash: x\r\nAllow it? [y]es once, [n]o, or `n` and a reason: "));
        assert!(!is_prompt("Allow it? [y]es once, [n]o: y\r\n") && !is_prompt("  why     ask: "));
    }

    #[test]
    fn questions_of_a_program_are_answered_and_recorded() {
        let mut command = Command::new("bash");
        let script = "printf 'one [y] [n]: ' >/dev/tty; read a </dev/tty; printf 'two [y] [n]: ' >/dev/tty; read b </dev/tty; echo $a$b";
        command.args(["-c", script]).env("PATH", std::env::var_os("PATH").unwrap());
        let ran = run(&command, Answer::No).unwrap();
        assert_eq!((ran.stdout.as_str(), ran.questions.len(), ran.success), ("nn\n", 2, true));
    }
}
