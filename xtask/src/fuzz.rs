//! `cargo xtask fuzz`: strangers' bytes against what reads them.
//!
//! The targets and their seeds are in `fuzz/`; what a run learns goes to `fuzz/corpus`, what it finds to
//! `fuzz/artifacts`. Where a machine cannot fuzz, that is said and is no failure.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};

use crate::repository::{self, cargo, is_there, root, succeeds};

/// What the person asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    seconds: u32,
    /// How many inputs a target gets at most; without a number, as many as there is time for.
    runs: Option<u32>,
    /// Where chance begins; without one, somewhere else each time.
    seed: Option<u32>,
    install: bool,
    targets: Vec<String>,
}

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let known = targets(&fs::read_to_string(root().join("fuzz/Cargo.toml"))?)?;
    let options = Options::parse(words, &known)?;
    let fuzzer = match Fuzzer::find(options.install)? {
        Ok(fuzzer) => fuzzer,
        Err(reason) => {
            println!("fuzz: skipped, {reason}");
            return Ok(ExitCode::SUCCESS);
        }
    };
    if !succeeds(&mut fuzzer.command("build", &[]))? {
        bail!("the fuzz targets do not build");
    }
    let mut findings = Vec::new();
    for target in &options.targets {
        println!("fuzz: {target}, at most {} s", options.seconds);
        if !succeeds(&mut fuzzer.run(target, &options)?)? {
            findings.push(target.as_str());
        }
    }
    if findings.is_empty() {
        println!("fuzz: {} targets, nothing found", options.targets.len());
        return Ok(ExitCode::SUCCESS);
    }
    println!("fuzz: findings of {} are in fuzz/artifacts", findings.join(", "));
    Ok(ExitCode::FAILURE)
}

impl Options {
    fn parse(words: &[&str], known: &[String]) -> Result<Options> {
        let mut options =
            Options { seconds: 15, runs: None, seed: None, install: false, targets: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--seconds" => options.seconds = number(word, words.next())?,
                "--runs" => options.runs = Some(number(word, words.next())?),
                "--seed" => options.seed = Some(number(word, words.next())?),
                "--install" => options.install = true,
                target if known.iter().any(|name| name == target) => options.targets.push(target.to_owned()),
                other => bail!("`{other}` is no target; there are {}", known.join(", ")),
            }
        }
        if options.targets.is_empty() {
            options.targets = known.to_vec();
        }
        Ok(options)
    }
}

fn number(option: &str, word: Option<&&str>) -> Result<u32> {
    word.and_then(|word| word.parse().ok()).with_context(|| format!("{option} needs a number"))
}

/// The targets that a manifest names.
fn targets(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = toml::from_str(manifest)?;
    let list = manifest.get("bin").and_then(|list| list.as_array()).context("no targets")?;
    Ok(list.iter().filter_map(|bin| Some(bin.get("name")?.as_str()?.to_owned())).collect())
}

/// How this machine can fuzz.
struct Fuzzer {
    toolchain: Toolchain,
    /// Where programs are looked for.
    path: std::ffi::OsString,
    target_directory: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Toolchain {
    Nightly,
    /// The flags of coverage are not promised to anybody, so a stable compiler has to be told to take them.
    Stable,
}

impl Fuzzer {
    /// The fuzzer, or why there is none.
    fn find(install: bool) -> Result<Result<Fuzzer, &'static str>> {
        if !["c++", "g++", "clang++"].iter().any(|name| is_there(Command::new(name).arg("--version"))) {
            return Ok(Err("there is no C++ compiler for libFuzzer"));
        }
        let own = repository::tools()?;
        let path = env::join_paths(
            [own.join("bin")].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
        )?;
        if !is_there(Command::new("cargo-fuzz").args(["fuzz", "--version"]).env("PATH", &path)) {
            if !install {
                return Ok(Err("cargo-fuzz is not installed; `cargo xtask fuzz --install` does it"));
            }
            if !succeeds(cargo(&["install", "--locked", "cargo-fuzz", "--root"]).arg(&own))? {
                return Ok(Err("cargo-fuzz cannot be installed"));
            }
        }
        let target_directory = repository::metadata()?.target_directory.join("fuzz");
        Ok(Ok(Fuzzer { toolchain: toolchain(), path, target_directory }))
    }

    fn command(&self, verb: &str, words: &[&str]) -> Command {
        let mut command = match self.toolchain {
            Toolchain::Nightly => cargo(&["+nightly", "fuzz", verb]),
            Toolchain::Stable => cargo(&["fuzz", verb]),
        };
        if self.toolchain == Toolchain::Stable {
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        // Nothing here is unsafe: what is looked for are panics, endless loops and broken promises.
        command.args(["--sanitizer", "none", "--target-dir"]).arg(&self.target_directory);
        command.args(words).env("PATH", &self.path);
        command
    }

    fn run(&self, target: &str, options: &Options) -> Result<Command> {
        let fuzz = root().join("fuzz");
        let corpus = fuzz.join("corpus").join(target);
        fs::create_dir_all(&corpus)?;
        let mut command = self.command("run", &[target]);
        command.arg(corpus).arg(fuzz.join("seeds").join(target)).arg("--");
        command.arg(format!("-max_total_time={}", options.seconds));
        command.args(options.runs.map(|runs| format!("-runs={runs}")));
        command.args(options.seed.map(|seed| format!("-seed={seed}")));
        command.arg(format!("-dict={}", dictionary(&fuzz, target).display()));
        command.args(["-max_len=2048", "-timeout=10", "-rss_limit_mb=2048", "-verbosity=0"]);
        command.args(["-print_funcs=0", "-print_final_stats=1"]);
        Ok(command)
    }
}

/// The words that a target understands.
fn dictionary(fuzz: &Path, target: &str) -> PathBuf {
    let name = match target {
        "names" | "rule" | "edit" | "redact" | "search" => "text.dict",
        "gitconfig" => "gitconfig.dict",
        "patch" => "patch.dict",
        "pdf" => "pdf.dict",
        "shell" => "shell.dict",
        _ => "json.dict",
    };
    fuzz.join(name)
}

fn toolchain() -> Toolchain {
    // Asking must not install one.
    match is_there(cargo(&["+nightly", "--version"]).env("RUSTUP_AUTO_INSTALL", "0")) {
        true => Toolchain::Nightly,
        false => Toolchain::Stable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options> {
        Options::parse(words, &["input".to_owned(), "names".to_owned()])
    }

    #[test]
    fn without_a_target_all_are_meant() {
        let options = parse(&[]).unwrap();
        assert_eq!((options.seconds, options.targets), (15, vec!["input".to_owned(), "names".to_owned()]));
        assert_eq!(parse(&["--seconds", "600", "names"]).unwrap().targets, ["names"]);
    }

    #[test]
    fn what_is_no_target_gets_the_list() {
        assert_eq!(parse(&["name"]).unwrap_err().to_string(), "`name` is no target; there are input, names");
        assert_eq!(parse(&["--seconds"]).unwrap_err().to_string(), "--seconds needs a number");
        assert_eq!(parse(&["--runs", "-1"]).unwrap_err().to_string(), "--runs needs a number");
        assert_eq!(parse(&["--seed", "x"]).unwrap_err().to_string(), "--seed needs a number");
    }

    #[test]
    fn targets_are_those_of_the_manifest() {
        assert_eq!(targets("[[bin]]\nname = \"a\"\n[[bin]]\nname = \"b\"\n").unwrap(), ["a", "b"]);
    }
}
