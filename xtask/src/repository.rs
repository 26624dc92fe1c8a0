//! What is where, and what cargo knows about it.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The root of the repository, wherever the chore was started.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in a folder of the root")
}

/// Tools that chores install are kept outside the repository, so that a clean clone finds them again.
pub(crate) fn tools() -> Result<PathBuf> {
    let home = env::var_os("HOME").context("there is no HOME to keep tools in")?;
    Ok(Path::new(&home).join(".cache/haft/tools"))
}

/// A cargo command at the root. It is found by PATH and not by `$CARGO`, for only rustup's own understands `+nightly`.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(words).current_dir(root());
    command
}

/// What `cargo metadata` says.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

/// A package, ours or another's.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A line in its manifest.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Option<Kind>,
}

/// `None` is a dependency of the product.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Dev,
    Build,
}

/// Our own packages.
pub(crate) fn metadata() -> Result<Metadata> {
    read_metadata(&["--no-deps", "--offline"])
}

/// Our own packages and all that they use on this platform: the others need not have been downloaded.
pub(crate) fn metadata_of_all() -> Result<Metadata> {
    read_metadata(&["--locked", "--filter-platform", &host()?])
}

fn read_metadata(options: &[&str]) -> Result<Metadata> {
    let text = output(cargo(&["metadata", "--format-version", "1"]).args(options))?;
    serde_json::from_str(&text).context("cargo metadata is not what it was")
}

/// The platform that rustc builds for.
fn host() -> Result<String> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say its host")?.to_owned())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs it in sight of the person.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    Ok(command.status().with_context(|| format!("{command:?}"))?.success())
}

/// Whether it can be run at all; nothing is shown.
pub(crate) fn is_there(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}
