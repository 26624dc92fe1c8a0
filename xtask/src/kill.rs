//! `cargo xtask kill`: is every file whole if haft is killed at any moment?
//!
//! Round after round, a turn of writes, edits and patches is killed at random. Right after it every file must hold one
//! of the texts that it was to hold. After the next start, which cleans up, there must be no other file besides, and
//! the files of a patch must be of one mind.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::haft::{Haft, Profile};

const ROUNDS: u32 = 1_000;

/// How often a turn changes each file.
const CHANGES: u64 = 6;

/// Enough that a text is not written at once.
const LINES: usize = 2_000;

const SESSION: [&str; 4] = ["--session", "kill", "--allow", "Edit(**)"];

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let rounds = match words {
        [] => ROUNDS,
        ["--rounds", number] => number.parse().context("--rounds needs a number")?,
        _ => bail!("kill takes --rounds N and nothing else"),
    };
    let directory = tempfile::Builder::new().prefix("haft-kill-").tempdir()?;
    let mut field = Field::new(&directory.path().canonicalize()?)?;
    let mut tally = Tally::default();
    let problems = field.rounds(rounds, &mut tally)?;
    println!("kill: {}", tally.text(field.patches));
    if problems.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    problems.iter().for_each(|problem| println!("kill: {problem}"));
    println!("kill: everything is kept in {}", directory.keep().display());
    Ok(ExitCode::FAILURE)
}

/// How much a run has proved.
#[derive(Default)]
struct Tally {
    rounds: u32,
    /// Killed while it still worked.
    alive: u32,
    /// It left something that the next start had to take away.
    littered: u32,
}

impl Tally {
    fn text(&self, patches: bool) -> String {
        let Tally { rounds, alive, littered } = self;
        let patches = if patches { "" } else { "; there is no tool ApplyPatch yet" };
        format!("{rounds} rounds, {alive} killed at work, {littered} of them left something to clean up{patches}")
    }
}

/// Where it happens.
struct Field {
    haft: Haft,
    workspace: PathBuf,
    message: PathBuf,
    /// How long a turn takes that nobody kills.
    whole: Duration,
    patches: bool,
    /// What the files hold.
    now: Versions,
}

/// Which of its texts a file holds. Those of a patch share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Versions {
    written: u64,
    edited: u64,
    patched: u64,
}

const WRITTEN: &str = "written.txt";
const EDITED: &str = "edited.txt";
const PATCHED: [&str; 2] = ["patched/a.txt", "patched/deep/b.txt"];

impl Field {
    fn new(root: &Path) -> Result<Field> {
        let workspace = root.join("ws");
        fs::create_dir_all(workspace.join("patched/deep"))?;
        // So that the workspace is found whatever lies above it.
        fs::create_dir(workspace.join(".git"))?;
        for name in [WRITTEN, EDITED].into_iter().chain(PATCHED) {
            fs::write(workspace.join(name), text(name, 0))?;
        }
        fs::write(workspace.join(added(0)), text("added", 0))?;
        let haft = Haft::build(Profile::Debug, root.join("home"))?;
        let message = root.join("message.json");
        let now = Versions::default();
        let mut field = Field { haft, workspace, message, whole: Duration::ZERO, patches: false, now };
        field.patches = field.knows("ApplyPatch")?;
        field.calibrate()?;
        Ok(field)
    }

    fn knows(&self, tool: &str) -> Result<bool> {
        let output = self.haft.command(&self.workspace, &["tools", "--dialect", "anthropic"]).stdout(std::process::Stdio::piped()).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).contains(&format!("\"{tool}\"")))
    }

    /// A turn that nobody kills does all that it should, and says how long that takes.
    fn calibrate(&mut self) -> Result<()> {
        let start = Instant::now();
        let output = self.turn()?.stdout(std::process::Stdio::piped()).output()?;
        self.whole = start.elapsed();
        let seen = self.look().map_err(|problems| anyhow::anyhow!("{}", problems.join("\n")))?;
        let patched = if self.patches { CHANGES } else { 0 };
        let expected = Versions { written: CHANGES, edited: CHANGES, patched };
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(seen == expected, "a turn that nobody killed came to {seen:?}; it said {said}");
        self.settle(seen)
    }

    fn rounds(&mut self, rounds: u32, tally: &mut Tally) -> Result<Vec<String>> {
        for _ in 0..rounds {
            tally.rounds += 1;
            if self.killed()? {
                tally.alive += 1;
            }
            tally.littered += u32::from(!self.strangers()?.is_empty());
            let seen = self.whole_files().and_then(|()| self.restart()).and_then(|()| self.look());
            match seen {
                Ok(seen) => self.settle(seen)?,
                Err(problems) => return Ok(problems),
            }
        }
        Ok(Vec::new())
    }

    /// Runs a turn and kills it; whether it still lived.
    fn killed(&self) -> Result<bool> {
        let mut child = self.turn()?.spawn()?;
        thread::sleep(self.whole.mul_f64(fastrand::f64()));
        let was_alive = child.try_wait()?.is_none();
        child.kill()?;
        child.wait()?;
        Ok(was_alive)
    }

    fn turn(&self) -> Result<std::process::Command> {
        fs::write(&self.message, self.now.message(self.patches).to_string())?;
        let message = self.message.to_string_lossy();
        Ok(self.haft.command(&self.workspace, &[&["turn", &*message], &SESSION[..]].concat()))
    }

    /// Something harmless, with the same state: it cleans up.
    fn restart(&self) -> Result<(), Vec<String>> {
        let words = [&["call", "Stat", r#"{"path":"."}"#], &SESSION[..]].concat();
        let output = self.haft.command(&self.workspace, &words).stderr(std::process::Stdio::piped()).output();
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(vec![format!(
                "the next start fails: {}, {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            )]),
            Err(err) => Err(vec![err.to_string()]),
        }
    }

    /// Right after the kill: old or new, never torn, never gone.
    fn whole_files(&self) -> Result<(), Vec<String>> {
        let files = [(WRITTEN, self.now.written), (EDITED, self.now.edited)];
        let patched = PATCHED.map(|name| (name, self.now.patched));
        let problems: Vec<String> = files
            .into_iter()
            .chain(patched)
            .filter_map(|(name, from)| self.version(name, name, from..=from + CHANGES).err())
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// After the next start: whole, of one mind, and nothing besides.
    fn look(&self) -> Result<Versions, Vec<String>> {
        let find = |name: &str, from: u64| self.version(name, name, from..=from + CHANGES);
        let mut problems = Vec::new();
        let mut version = |found: Result<u64, String>| {
            found.unwrap_or_else(|problem| {
                problems.push(problem);
                0
            })
        };
        let seen = Versions {
            written: version(find(WRITTEN, self.now.written)),
            edited: version(find(EDITED, self.now.edited)),
            patched: version(find(PATCHED[0], self.now.patched)),
        };
        version(self.version(PATCHED[1], PATCHED[1], seen.patched..=seen.patched));
        version(self.version(&added(seen.patched), "added", seen.patched..=seen.patched));
        for made in self.now.made() {
            if self.workspace.join(new_file(made)).exists() {
                version(self.version(&new_file(made), "made", made..=made));
            }
        }
        let strangers = self.strangers().map_err(|err| vec![err.to_string()])?;
        problems.extend(strangers.into_iter().map(|name| format!("{name} was left behind")));
        problems.extend(self.half_patched(seen.patched));
        if problems.is_empty() { Ok(seen) } else { Err(problems) }
    }

    /// Which text a file holds, or what is wrong with it.
    fn version(&self, name: &str, kind: &str, allowed: RangeInclusive<u64>) -> Result<u64, String> {
        let found = fs::read_to_string(self.workspace.join(name)).map_err(|err| format!("{name}: {err}"))?;
        let first = found.lines().next().unwrap_or_default();
        let version = first.strip_prefix("version ").and_then(|number| number.parse().ok());
        match version {
            Some(version) if !allowed.contains(&version) => {
                Err(format!("{name} holds version {version}, which is none of {allowed:?}"))
            }
            Some(version) if found == text(kind, version) => Ok(version),
            _ => Err(format!("{name} is torn: {} bytes that begin with {first:?}", found.len())),
        }
    }

    /// A file that a patch adds is there only with that patch.
    fn half_patched(&self, patched: u64) -> Option<String> {
        let mut others = (self.now.patched..=self.now.patched + CHANGES).filter(|version| *version != patched);
        let other = others.find(|version| self.workspace.join(added(*version)).exists())?;
        Some(format!("a patch is half done: {} is there at version {patched}", added(other)))
    }

    /// Files that nobody asked for.
    fn strangers(&self) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        collect(&self.workspace, &self.workspace, &mut names)?;
        let known = [WRITTEN, EDITED].into_iter().chain(PATCHED).map(str::to_owned);
        let added = (self.now.patched..=self.now.patched + CHANGES).map(added);
        let known: BTreeSet<String> = known.chain(added).chain(self.now.made().map(new_file)).collect();
        Ok(&names - &known)
    }

    /// The next round begins here.
    fn settle(&mut self, seen: Versions) -> Result<()> {
        self.now = seen;
        match fs::remove_dir_all(self.workspace.join("made")) {
            Err(err) if err.kind() != std::io::ErrorKind::NotFound => Err(err.into()),
            _ => Ok(()),
        }
    }
}

impl Versions {
    /// Files that a turn from here makes.
    fn made(self) -> RangeInclusive<u64> {
        self.written + 1..=self.written + CHANGES
    }

    /// What the model sends: it reads what it is going to change, then changes it again and again.
    fn message(self, patches: bool) -> Value {
        let read = |name: &str| ("Read", json!({ "file_path": name, "limit": 1 }));
        let mut calls: Vec<(&str, Value)> = [WRITTEN, EDITED].into_iter().chain(PATCHED).map(read).collect();
        calls.push(read(&added(self.patched)));
        for change in 1..=CHANGES {
            let written = self.written + change;
            calls.push(("Write", json!({ "file_path": WRITTEN, "content": text(WRITTEN, written) })));
            calls.push(("Write", json!({ "file_path": new_file(written), "content": text("made", written) })));
            let edited = self.edited + change;
            let (old, new) = (heading(edited - 1), heading(edited));
            calls.push(("Edit", json!({ "file_path": EDITED, "old_string": old, "new_string": new })));
            if patches {
                calls.push(("ApplyPatch", json!({ "patch": patch(self.patched + change) })));
            }
        }
        let block = |(index, (name, input)): (usize, (&str, Value))| {
            json!({ "type": "tool_use", "id": format!("call_{index}"), "name": name, "input": input })
        };
        calls.into_iter().enumerate().map(block).collect()
    }
}

/// All that a file holds. Only the heading of an edited or patched one changes; the rest of a written one does too.
fn text(kind: &str, version: u64) -> String {
    let shown = if kind == WRITTEN { version } else { 0 };
    let lines = if kind == "added" { 3 } else { LINES };
    let mut text = heading(version);
    (0..lines).for_each(|line| writeln!(text, "{kind} {shown} {line}").expect("a text takes all"));
    text
}

fn heading(version: u64) -> String {
    format!("version {version}\n")
}

fn added(version: u64) -> String {
    format!("patched/added-{version}.txt")
}

fn new_file(version: u64) -> String {
    format!("made/{version}.txt")
}

/// To this version from the one before: changes two files, adds one, removes one.
fn patch(version: u64) -> String {
    let mut patch = String::from("*** Begin Patch\n");
    for name in PATCHED {
        let (old, new) = (heading(version - 1), heading(version));
        write!(patch, "*** Update File: {name}\n@@\n-{old}+{new}").expect("a text takes all");
    }
    write!(patch, "*** Add File: {}\n", added(version)).expect("a text takes all");
    text("added", version).lines().for_each(|line| writeln!(patch, "+{line}").expect("a text takes all"));
    patch + &format!("*** Delete File: {}\n*** End Patch\n", added(version - 1))
}

/// All files below, by their names from the root.
fn collect(root: &Path, directory: &Path, names: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            collect(root, &path, names)?;
        } else {
            names.insert(path.strip_prefix(root)?.to_string_lossy().into_owned());
        }
    }
    Ok(())
}
