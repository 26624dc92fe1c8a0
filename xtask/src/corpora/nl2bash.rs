//! `cargo xtask corpora --nl2bash PLACE`: how much of a public collection of one-liners is asked, and is what is allowed harmless?
//!
//! The collection (TellinaTool/nl2bash, `data/bash/all.cm`) is no part of the repository: a checkout, a bare clone or the
//! file itself is named. No line of it has an expected answer, so asked ones are listed for a person to read, and
//! allowed ones are run in a throw-away tree, watched by strace.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail, ensure};
use haft_engine::policy::Verdict;
use haft_tool::{Access, Effects};
use serde_json::{Value, json};

use super::session::Session;
use crate::{
    haft::{Haft, Profile},
    repository::is_there,
    touches::{is_foreseen, real, sample::Sample, surprises, trace::Tried},
};

/// Where the lines are in the collection.
const LINES: &str = "data/bash/all.cm";

/// What every program may read: the system's own files, and what the kernel tells.
const OF_THE_SYSTEM: [&str; 13] = [
    "/var/run",
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/sbin",
    "/etc",
    "/proc",
    "/sys",
    "/dev",
    "/run",
    "/var/cache/man",
    "/var/lib",
];

/// What the person asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    place: PathBuf,
    /// How many of the allowed lines are run.
    run: usize,
    /// Which lines are printed.
    list: Option<Verdict>,
    /// How many of them; all if nothing is said.
    sample: usize,
    seed: u64,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options { place: PathBuf::new(), run: 0, list: None, sample: usize::MAX, seed: 1 };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().copied().with_context(|| format!("{word} needs a value"));
            match *word {
                "--nl2bash" => options.place = value()?.into(),
                "--run" => options.run = value()?.parse()?,
                "--sample" => options.sample = value()?.parse()?,
                "--seed" => options.seed = value()?.parse()?,
                "--list" => {
                    options.list = Some(match value()? {
                        "asked" => Verdict::Ask,
                        "allowed" => Verdict::Allow,
                        other => bail!("--list takes `asked` or `allowed`, not `{other}`"),
                    });
                }
                other => bail!("`{other}` is not understood"),
            }
        }
        Ok(options)
    }
}

/// A line, and what was decided about it.
struct Judged {
    line: String,
    verdict: Verdict,
    why: String,
    effects: Option<Effects>,
}

pub(super) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::parse(words)?;
    let lines = lines(&options.place)?;
    let tree = Sample::new()?;
    let judged = judge(&lines, &tree)?;
    let of = |verdict| judged.iter().filter(move |judged| judged.verdict == verdict);
    let allowed: Vec<&Judged> = of(Verdict::Allow).collect();
    println!(
        "nl2bash lines={} allowed={} asked={} denied={}",
        judged.len(),
        allowed.len(),
        of(Verdict::Ask).count(),
        of(Verdict::Deny).count()
    );
    if let Some(verdict) = options.list {
        for one in chosen(of(verdict).collect(), options.sample, options.seed) {
            println!("{}\n    {}", one.line, one.why.lines().next().unwrap_or_default());
        }
    }
    if options.run == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    ensure!(is_there(Command::new("strace").arg("-V")), "strace is not installed: nothing can be watched");
    let complaints = run_all(chosen(allowed, options.run, options.seed))?;
    complaints.iter().for_each(|complaint| println!("  {complaint}"));
    Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The lines of a file, of a checkout or of a bare clone, each once.
fn lines(place: &Path) -> Result<BTreeSet<String>> {
    let text = if place.is_file() {
        fs::read(place)?
    } else if place.join(LINES).is_file() {
        fs::read(place.join(LINES))?
    } else {
        let object = format!("HEAD:{LINES}");
        let output = Command::new("git").arg("--git-dir").arg(place).args(["show", &object]).output()?;
        ensure!(output.status.success(), "{} has no {LINES}", place.display());
        output.stdout
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn judge(lines: &BTreeSet<String>, tree: &Sample) -> Result<Vec<Judged>> {
    let session = Session::elsewhere(tree.workspace(), tree.home(), &Value::Null)?;
    let judge = |line: &String| {
        let line = line.clone();
        match session.explain("Bash", json!({ "command": line })) {
            Ok(explained) => Judged {
                line,
                verdict: explained.decision.verdict,
                why: explained.decision.reason(),
                effects: Some(explained.effects),
            },
            Err(refused) => {
                Judged { line, verdict: Verdict::Deny, why: refused.text().to_owned(), effects: None }
            }
        }
    };
    Ok(lines.iter().map(judge).collect())
}

/// So many of them, the same for the same seed.
fn chosen(mut all: Vec<&Judged>, count: usize, seed: u64) -> Vec<&Judged> {
    let mut state = seed;
    for at in 0..all.len().saturating_sub(1) {
        let left = all.len() - at;
        // By the constants of Knuth; the low bits of such numbers are poor.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all.swap(at, at + usize::try_from(state >> 33).unwrap_or_default() % left);
    }
    all.truncate(count);
    all
}

fn run_all(lines: Vec<&Judged>) -> Result<Vec<String>> {
    let home = tempfile::tempdir()?;
    let haft = Haft::build(Profile::Debug, home.path())?;
    // The effects name the places of the tree that they were judged in: each line is judged again where it runs.
    let mut complaints = Vec::new();
    let mut ran = 0;
    let mut tree = Sample::new()?;
    for Judged { line, .. } in lines {
        let before = tree.contents()?;
        let judged = judge(&BTreeSet::from([line.clone()]), &tree)?;
        let Some(Judged { verdict: Verdict::Allow, effects: Some(effects), .. }) = judged.first() else {
            continue;
        };
        ran += 1;
        let expected =
            |tried: &Tried| is_foreseen(tried, effects, &tree) && !is_elsewhere(tried, effects, &tree);
        let seen = surprises(&haft, &tree, line, effects, &expected)?;
        complaints.extend(seen.into_iter().map(|what| format!("{line:?}: {what}")));
        if tree.contents()? != before {
            complaints.push(format!("{line:?}: it changed the workspace"));
            tree = Sample::new()?;
        }
    }
    println!("nl2bash run={ran} surprises={}", complaints.len());
    Ok(complaints)
}

/// Reads what is neither the workspace's, nor the system's, nor declared.
fn is_elsewhere(tried: &Tried, effects: &Effects, tree: &Sample) -> bool {
    let Tried::Path { path, access: Access::Read } = tried else { return false };
    let places = OF_THE_SYSTEM.iter().any(|place| path.starts_with(place));
    let declared = effects.paths().iter().any(|effect| path.starts_with(real(&effect.path)));
    // A program that asks where it is goes up to the root, and a home is looked into for settings.
    let above = tree.root().starts_with(path) || path.starts_with(tree.home());
    !(places || declared || above || is_of_the_manual(path) || path.starts_with(tree.workspace()))
}

/// `man` and `apropos` look for pages beside the programs of `PATH`.
fn is_of_the_manual(path: &Path) -> bool {
    let path_variable = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path_variable)
        .filter_map(|directory| directory.parent().map(Path::to_owned))
        .any(|prefix| ["man", "share/man"].iter().any(|pages| path.starts_with(prefix.join(pages))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_the_same_for_the_same_seed() {
        let judged: Vec<Judged> = (0..50)
            .map(|number| Judged {
                line: number.to_string(),
                verdict: Verdict::Ask,
                why: String::new(),
                effects: None,
            })
            .collect();
        let lines = |seed| -> Vec<&str> {
            chosen(judged.iter().collect(), 10, seed).iter().map(|one| one.line.as_str()).collect()
        };
        assert_eq!(lines(1), lines(1));
        assert_ne!(lines(1), lines(2));
        assert_eq!(BTreeSet::from_iter(lines(1)).len(), 10);
    }

    #[test]
    fn options_are_understood() {
        let options = Options::parse(&["--nl2bash", "/x", "--list", "asked", "--sample", "3", "--run", "5"]);
        let expected = Options { place: "/x".into(), run: 5, list: Some(Verdict::Ask), sample: 3, seed: 1 };
        assert_eq!(options.unwrap(), expected);
        assert!(Options::parse(&["--nl2bash"]).is_err());
        assert!(Options::parse(&["--nl2bash", "/x", "--list", "all"]).is_err());
    }
}
