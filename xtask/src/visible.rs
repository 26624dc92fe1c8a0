//! `cargo xtask visible`: is anything of haft's ever seen in a person's tree?
//!
//! Commands of a turn run in a repository, and haft is killed (−9) in the middle of turns. Meanwhile `ls -A`, `git status`, `tar`,
//! a second haft and inotify, which misses nothing, look at the tree. All that they see must be of the person or of the commands.

use std::{
    collections::BTreeSet,
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::inotify;
use serde_json::{Value, json};

use crate::{
    account::{Account, Entry},
    set_up,
};

const ROUNDS: u32 = 200;
/// Commands of one turn.
const COMMANDS: usize = 10;
/// What commands make is called like this; nothing else may appear.
const OWN: &str = "own-";
const SET_UP: &str = "git config --global user.name Ada; git config --global user.email ada@example.org
project; mkdir -p w/src/deep; echo x > w/src/deep/x; commit w deep; mkdir empty";
const START_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let rounds = match words {
        [] => ROUNDS,
        ["--rounds", number] => number.parse().context("--rounds needs a number")?,
        _ => bail!("visible takes --rounds N and nothing else"),
    };
    let account = match Account::enter(&[&["visible"], words].concat())? {
        Entry::Finished(code) => return Ok(code),
        Entry::Account(account) => account,
    };
    let place = account.home.join("field");
    set_up::fill(&place, SET_UP)?;
    let field = Field { tree: place.join("w"), account };
    let mut problems = field.look_while_commands_run()?;
    let (looks, killed) = (problems.looks, field.kill(rounds, &mut problems)?);
    if problems.all.is_empty() {
        println!(
            "visible: nothing of haft's in the tree: {looks} looks of ls, git, tar and a second haft while {COMMANDS} commands ran, \
             {killed} of {rounds} turns killed at work, {} events of inotify",
            problems.events
        );
        return Ok(ExitCode::SUCCESS);
    }
    for problem in &problems.all {
        println!("visible: {problem}");
    }
    Ok(ExitCode::FAILURE)
}

/// Names that should not be there, and how much was looked at.
#[derive(Debug, Default)]
struct Problems {
    all: BTreeSet<String>,
    looks: usize,
    events: usize,
}

impl Problems {
    fn add(&mut self, from: &str, names: impl IntoIterator<Item = String>) {
        self.all.extend(names.into_iter().map(|name| format!("{from} sees {name}")));
    }
}

/// The tree and the account that owns it.
struct Field {
    account: Account,
    tree: PathBuf,
}

impl Field {
    /// Looks in all ways again and again, as long as a turn runs.
    fn look_while_commands_run(&self) -> Result<Problems> {
        let (mut problems, watch) = (Problems::default(), Watch::start(&self.tree)?);
        let mut turn = self.turn("sleep 1; echo x >")?;
        let start = Instant::now();
        while turn.try_wait()?.is_none() {
            ensure!(start.elapsed() < START_LIMIT, "the turn does not end");
            self.look(&mut problems)?;
        }
        ensure!(problems.looks > 1, "the turn was over before the first look");
        self.look(&mut problems)?;
        let made = names(&self.tree)?.into_iter().filter(|name| name.starts_with(OWN)).count();
        ensure!(made == COMMANDS, "the commands made {made} files");
        problems.add_events(watch)?;
        Ok(problems)
    }

    /// Kills haft in the middle of turns; how many it met at work.
    fn kill(&self, rounds: u32, problems: &mut Problems) -> Result<u32> {
        let whole = {
            let start = Instant::now();
            self.turn("echo x >")?.wait()?;
            start.elapsed()
        };
        let mut killed = 0;
        for round in 0..rounds {
            let watch = Watch::start(&self.tree)?;
            let mut turn = self.turn("sleep 0.05; echo x >")?;
            thread::sleep(whole.mul_f64(fastrand::f64() * 1.5));
            killed += u32::from(turn.try_wait()?.is_none());
            turn.kill()?;
            turn.wait()?;
            if round % 10 == 0 {
                self.look(problems)?;
            } else {
                problems.add("ls after a kill", strangers(names(&self.tree)?));
            }
            problems.add_events(watch)?;
        }
        ensure!(killed >= rounds / 4, "only {killed} of {rounds} kills met a turn at work");
        Ok(killed)
    }

    /// A turn of commands that each make a file of their own.
    fn turn(&self, command: &str) -> Result<Child> {
        let turn = fastrand::u32(..);
        let call = |n: usize| {
            let id = format!("{turn:x}-{n}");
            let input = json!({ "command": format!("{command} {OWN}{id}") });
            json!({ "type": "tool_use", "id": id, "name": "Bash", "input": input })
        };
        let message = self.account.home.join("message.json");
        fs::write(&message, (0..COMMANDS).map(call).collect::<Value>().to_string())?;
        let message = message.to_string_lossy().into_owned();
        let words = ["turn", &message, "--allow", "Bash", "--allow", "Edit(**)"];
        Ok(self.account.haft.command(&self.tree, &words).spawn()?)
    }

    fn look(&self, problems: &mut Problems) -> Result<()> {
        problems.looks += 1;
        problems.add("ls -A", strangers(lines(Command::new("ls").arg("-A").current_dir(&self.tree))?));
        let mut git = Command::new("git");
        git.args(["status", "--porcelain", "--ignored", "--untracked-files=all"])
            .env("GIT_OPTIONAL_LOCKS", "0");
        let changed = lines(git.current_dir(&self.tree))?;
        problems.add(
            "git status",
            strangers(changed.iter().filter_map(|line| Some(line.get(3..)?.to_owned())).collect()),
        );
        // Files that commands make meanwhile change while they are read.
        let mut tar = Command::new("bash");
        tar.args(["-c", "tar c --exclude=.git . 2>/dev/null | tar t"]).current_dir(&self.tree);
        let packed = lines(&mut tar)?;
        let tops = packed.iter().filter_map(|name| name.trim_start_matches("./").split('/').next());
        problems.add("tar", strangers(tops.filter(|name| !name.is_empty()).map(str::to_owned).collect()));
        let second = self.account.haft.at(self.account.home.join("second"));
        let mut listing =
            second.command(&self.tree, &["call", "Bash", r#"{"command":"ls -A"}"#, "--no-journal"]);
        problems.add("a second haft", strangers(lines(listing.stdout(Stdio::piped()))?));
        Ok(())
    }
}

impl Problems {
    fn add_events(&mut self, watch: Watch) -> Result<()> {
        let names = watch.end()?;
        self.events += names.len();
        self.add("inotify", strangers(names));
        Ok(())
    }
}

/// The names that neither the person nor a command made.
fn strangers(names: Vec<String>) -> Vec<String> {
    let is_known = |name: &str| name.starts_with(OWN) || matches!(name, "a.txt" | "b.txt" | "src" | ".git");
    names.into_iter().filter(|name| !is_known(name)).collect()
}

fn names(directory: &Path) -> Result<Vec<String>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

fn lines(command: &mut Command) -> Result<Vec<String>> {
    let output = command.stderr(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// Every name that is made, moved or removed in the directories of a tree.
struct Watch(OwnedFd);

impl Watch {
    fn start(tree: &Path) -> Result<Watch> {
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let mut directories = vec![tree.to_owned()];
        while let Some(directory) = directories.pop() {
            let events =
                inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVE | inotify::WatchFlags::DELETE;
            inotify::add_watch(&watch, &directory, events)?;
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                // Objects come and go with each command of git, and are git's.
                if entry.file_type()?.is_dir() && entry.file_name() != "objects" {
                    directories.push(entry.path());
                }
            }
        }
        Ok(Watch(watch))
    }

    fn end(self) -> Result<Vec<String>> {
        // What a killed turn had started ends a moment later.
        thread::sleep(POLL_INTERVAL);
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        let mut names = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    ensure!(
                        !event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW),
                        "inotify lost events"
                    );
                    names.extend(event.file_name().map(|name| name.to_string_lossy().into_owned()));
                }
                Err(rustix::io::Errno::AGAIN) => return Ok(names),
                Err(err) => return Err(err.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_comes_and_goes_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("src")).unwrap();
        let watch = Watch::start(directory.path()).unwrap();
        fs::File::create(directory.path().join("src/.vscode")).unwrap();
        fs::remove_file(directory.path().join("src/.vscode")).unwrap();
        assert_eq!(strangers(watch.end().unwrap()), [".vscode", ".vscode"]);
    }
}
