//! `cargo xtask kill`: is every file whole if haft is killed at any moment?
//!
//! Round after round, a turn of writes, edits and patches is killed at random. Right after it every file must hold one
//! of the texts that it was to hold. After the next start, which cleans up, there must be no other file besides, and
//! the files of a patch must be of one mind. Beside each round goes one of the journal's, with commands and calls of a server: what
//! it recorded, and whether anything happens twice when the turn is sent again.

mod script; //  what a turn changes, and what each file may hold
mod journal; // what is recorded of it, and what happens when it is sent again
mod undo; //    whether it can be taken back

use std::{
    collections::BTreeSet,
    fs,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::haft::{Haft, Profile};
use script::{CHANGES, EDITED, PATCHED, Versions, WRITTEN, added, made, reachable, text, version_of};

const ROUNDS: u32 = 1_000;
/// After so many rounds a new session begins: each takes back all that its session did, which takes longer each time.
const SITTING: u32 = 100;

const OPTIONS: [&str; 4] = ["--session", "kill", "--allow", "Edit(**)"];

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let rounds = match words {
        [] => ROUNDS,
        ["--rounds", number] => number.parse().context("--rounds needs a number")?,
        _ => bail!("kill takes --rounds N and nothing else"),
    };
    let directory = tempfile::Builder::new().prefix("haft-kill-").tempdir()?;
    let root = directory.path().canonicalize()?;
    let (mut field, mut recorded) = anew(&root)?;
    let (mut tally, mut record) = (Tally::default(), journal::Tally::default());
    let began = Instant::now();
    for round in 0..rounds {
        if round > 0 && round % SITTING == 0 {
            eprintln!("kill: {round} of {rounds} rounds, {} s", began.elapsed().as_secs());
            (field, recorded) = anew(&root)?;
        }
        let mut problems = field.round(&mut tally)?;
        problems.extend(recorded.round(&mut record)?);
        if !problems.is_empty() {
            println!("kill: after {} rounds\n  {}", tally.rounds, problems.join("\n  "));
            println!("kill: everything is kept in {}", directory.keep().display());
            return Ok(ExitCode::FAILURE);
        }
    }
    println!("kill: {}", tally.text(field.patches));
    println!("kill: {}", record.text());
    for (alive, whose) in [(tally.alive, "edits"), (record.alive(), "the journal")] {
        ensure!(
            hits_enough(alive, rounds),
            "only {alive} of {rounds} kills met {whose} at work: such a run proves little; run it where less else runs"
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Both fields of a sitting, where nothing is left of the one before.
fn anew(root: &Path) -> Result<(Field, journal::Field)> {
    for entry in fs::read_dir(root)? {
        fs::remove_dir_all(entry?.path())?;
    }
    let place = root.join("sitting");
    fs::create_dir(&place)?;
    let field = Field::new(&place)?;
    let recorded = journal::Field::new(&field.haft, &place)?;
    Ok((field, recorded))
}

/// Whether enough kills met a process that lived. They come at random moments of a turn, so nearly all should; a few rounds may
/// miss by chance.
fn hits_enough(alive: u32, rounds: u32) -> bool {
    rounds < 10 || alive >= rounds / 4
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
        let patches = if patches { "" } else { "; without patches, for there is no tool ApplyPatch" };
        format!("{rounds} rounds, {alive} killed at work, {littered} with something to clean up{patches}")
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
    /// What the files hold between two rounds.
    now: Versions,
    /// Ids of calls are new in each round.
    round: u32,
}

impl Field {
    fn new(root: &Path) -> Result<Field> {
        let mut field = Field {
            haft: Haft::build(Profile::Debug, root.join("home"))?,
            workspace: root.join("ws"),
            message: root.join("message.json"),
            whole: Duration::ZERO,
            patches: false,
            now: Versions::default(),
            round: 0,
        };
        fs::create_dir_all(field.workspace.join("patched/deep"))?;
        // So that this is the workspace, whatever lies above it.
        fs::create_dir(field.workspace.join(".git"))?;
        let first = [WRITTEN, EDITED].into_iter().chain(PATCHED).map(str::to_owned);
        for name in first.chain([added(0)]) {
            fs::write(field.workspace.join(&name), text(&name, 0))?;
        }
        field.patches = field.knows("ApplyPatch")?;
        field.calibrate()?;
        Ok(field)
    }

    fn knows(&self, tool: &str) -> Result<bool> {
        let mut list = self.haft.command(&self.workspace, &["tools", "--dialect", "anthropic"]);
        let tools = list.stdout(Stdio::piped()).output()?.stdout;
        Ok(String::from_utf8_lossy(&tools).contains(&format!("\"{tool}\"")))
    }

    /// A turn that nobody kills does all that it should, and says how long that takes.
    fn calibrate(&mut self) -> Result<()> {
        let start = Instant::now();
        let output = self.turn()?.stdout(Stdio::piped()).output()?;
        self.whole = start.elapsed();
        let said = String::from_utf8_lossy(&output.stdout);
        let patched = if self.patches { CHANGES } else { 0 };
        let expected = Versions { written: CHANGES, edited: CHANGES, patched };
        let (seen, problems) = self.look();
        ensure!(
            problems.is_empty() && seen == expected,
            "an ordinary turn fails: {problems:?}; it said {said}"
        );
        self.settle(seen)
    }

    /// Kills a turn, and says what is wrong afterwards.
    fn round(&mut self, tally: &mut Tally) -> Result<Vec<String>> {
        tally.rounds += 1;
        self.round += 1;
        tally.alive += u32::from(self.kill()?);
        tally.littered += u32::from(!self.strangers()?.is_empty());
        let torn = self.torn();
        if !torn.is_empty() {
            return Ok(torn);
        }
        self.restart()?;
        let (seen, mut problems) = self.look();
        problems.extend(self.strangers()?.into_iter().map(|name| format!("{name} is left")));
        self.settle(seen)?;
        Ok(problems)
    }

    /// Runs a turn and kills it; whether it still lived.
    fn kill(&self) -> Result<bool> {
        let mut child = self.turn()?.spawn()?;
        thread::sleep(self.whole.mul_f64(fastrand::f64()));
        let was_alive = child.try_wait()?.is_none();
        child.kill()?;
        child.wait()?;
        Ok(was_alive)
    }

    fn turn(&self) -> Result<Command> {
        fs::write(&self.message, self.now.message(self.patches, self.round).to_string())?;
        let message = self.message.to_string_lossy();
        Ok(self.haft.command(&self.workspace, &[&["turn", &*message], &OPTIONS[..]].concat()))
    }

    /// Something harmless, with the same state: it cleans up.
    fn restart(&self) -> Result<()> {
        let words = [&["call", "Stat", r#"{"path":"."}"#], &OPTIONS[..]].concat();
        let output = self.haft.command(&self.workspace, &words).stderr(Stdio::piped()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "haft does not start again: {}, {said}", output.status);
        Ok(())
    }

    /// Right after the kill, every file is old or new: never torn, never gone.
    fn torn(&self) -> Vec<String> {
        let Versions { written, edited, patched } = self.now;
        let files = [(WRITTEN, written), (EDITED, edited), (PATCHED[0], patched), (PATCHED[1], patched)];
        files.into_iter().filter_map(|(name, from)| self.version(name, reachable(from)).err()).collect()
    }

    /// After the next start: what the files hold, and what is wrong with them.
    fn look(&self) -> (Versions, Vec<String>) {
        let mut problems = Vec::new();
        let mut version = |name: &str, allowed: RangeInclusive<u64>| {
            let from = *allowed.start();
            self.version(name, allowed).unwrap_or_else(|problem| {
                problems.push(problem);
                from
            })
        };
        let written = version(WRITTEN, reachable(self.now.written));
        let edited = version(EDITED, reachable(self.now.edited));
        let patched = version(PATCHED[0], reachable(self.now.patched));
        // What a patch changes is changed as a whole.
        version(PATCHED[1], patched..=patched);
        version(&added(patched), patched..=patched);
        for one in reachable(self.now.written).filter(|one| self.workspace.join(made(*one)).exists()) {
            version(&made(one), one..=one);
        }
        let others = reachable(self.now.patched).filter(|one| *one != patched).map(added);
        let half = others.filter(|name| self.workspace.join(name).exists());
        problems
            .extend(half.map(|name| format!("a patch is half done: {name} is there at version {patched}")));
        (Versions { written, edited, patched }, problems)
    }

    /// Which of its texts a file holds, or what is wrong with it.
    fn version(&self, name: &str, allowed: RangeInclusive<u64>) -> Result<u64, String> {
        let found = fs::read_to_string(self.workspace.join(name)).map_err(|err| format!("{name}: {err}"))?;
        match version_of(&found) {
            Some(version) if found != text(name, version) => {
                Err(format!("{name} is torn: {} bytes, and not version {version}", found.len()))
            }
            Some(version) if allowed.contains(&version) => Ok(version),
            Some(version) => Err(format!("{name} is version {version}, and none of {allowed:?}")),
            None => Err(format!("{name} is torn: {} bytes without a heading", found.len())),
        }
    }

    /// Files that nobody asked for.
    fn strangers(&self) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        collect(&self.workspace, &self.workspace, &mut found)?;
        let known = [WRITTEN, EDITED].into_iter().chain(PATCHED).map(str::to_owned);
        let added = reachable(self.now.patched).map(added);
        let known: BTreeSet<String> =
            known.chain(added).chain(reachable(self.now.written).map(made)).collect();
        Ok(&found - &known)
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

/// All files below a directory, by their names from the root.
fn collect(root: &Path, directory: &Path, found: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => collect(root, &entry.path(), found)?,
            false => drop(found.insert(entry.path().strip_prefix(root)?.to_string_lossy().into_owned())),
        }
    }
    Ok(())
}
