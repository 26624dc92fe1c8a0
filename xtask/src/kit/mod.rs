//! `cargo xtask kit`: the suite, servers and clients of others that haft is tried with.
//!
//! They are kept outside the repository, in `$HAFT_MCP_KIT` or `~/.cache/haft/mcp-kit`, each in a fixed version; what has to be
//! built is kept with the other tools. What is there is not asked for again; what cannot be had is named, and whatever needs it
//! is skipped with that reason.

mod packages; // what is in it
mod install; //  how it gets there

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};

use crate::repository::tools;
use packages::Venv;

pub(crate) use packages::{MODELS, PEERS, PYTHON, PYTHON_V1};

/// `cargo xtask kit [--peers]`.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let with_peers = match words {
        [] => false,
        ["--peers"] => true,
        _ => bail!("`{}` is no option of kit; there is --peers", words.join(" ")),
    };
    let missing = Kit::find()?.install(with_peers)?;
    for what in &missing {
        println!("kit: {what} is missing");
    }
    println!("kit: {}", if missing.is_empty() { "all is there" } else { "what needs those is skipped" });
    // A registry that cannot be reached is no fault of the project.
    Ok(ExitCode::SUCCESS)
}

/// Where all of it is.
pub(crate) struct Kit {
    root: PathBuf,
}

impl Kit {
    /// The place, whether something is there or not.
    pub(crate) fn find() -> Result<Kit> {
        if let Some(root) = env::var_os("HAFT_MCP_KIT") {
            return Ok(Kit { root: root.into() });
        }
        let home = env::var_os("HOME").context("there is no HOME to keep the kit in")?;
        Ok(Kit { root: Path::new(&home).join(".cache/haft/mcp-kit") })
    }

    /// The JavaScript file of a package, to be run by our Node.
    pub(crate) fn script(&self, package: &str, file: &str) -> Result<PathBuf, String> {
        let script = self.npm().join("node_modules").join(package).join(file);
        present(script, &format!("the npm package {package}"))
    }

    /// Where `import` finds the npm packages.
    pub(crate) fn npm(&self) -> PathBuf {
        self.root.join("npm")
    }

    /// A Node that is new enough for all of it.
    pub(crate) fn node(&self) -> Result<PathBuf, String> {
        present(self.npm().join("node_modules/.bin/node"), "Node")
    }

    /// A program of one of the Python environments.
    pub(crate) fn python(&self, venv: &Venv, program: &str) -> Result<PathBuf, String> {
        present(self.root.join(venv.name).join("bin").join(program), program)
    }

    /// The Python of an environment with all that belongs there, fetched if it is not.
    pub(crate) fn python_with(&self, venv: &Venv) -> Result<PathBuf, String> {
        self.install_python(venv).map_err(|err| format!("{err:#}"))?;
        let absent =
            venv.packages.iter().find(|(name, version)| !has_python(&self.root, venv, name, version));
        match absent {
            Some((name, version)) => Err(format!("{name} {version} could not be had")),
            None => self.python(venv, "python"),
        }
    }

    /// A peer that was built from its source.
    pub(crate) fn built(&self, program: &str) -> Result<PathBuf, String> {
        let tools = tools().map_err(|err| err.to_string())?;
        present(tools.join("bin").join(program), program)
    }

    /// `node FILE WORDS`.
    pub(crate) fn node_command(&self, script: &Path, words: &[&str]) -> Result<Command, String> {
        let mut command = Command::new(self.node()?);
        command.arg(script).args(words);
        Ok(command)
    }
}

fn present(path: PathBuf, what: &str) -> Result<PathBuf, String> {
    if path.exists() {
        Ok(path)
    } else {
        Err(format!("{what} is not in the kit; `cargo xtask kit` installs it, peers with --peers"))
    }
}

/// Whether what is wanted of npm is there, in its version.
fn has_npm(root: &Path, package: &str, version: &str) -> bool {
    let manifest = root.join("npm/node_modules").join(package).join("package.json");
    let text = std::fs::read_to_string(manifest).unwrap_or_default();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    found["version"] == version
}

/// Whether what is wanted of a Python environment is there, in its version.
fn has_python(root: &Path, venv: &Venv, package: &str, version: &str) -> bool {
    let information = format!("{}-{version}.dist-info", package.replace('-', "_"));
    let libraries = std::fs::read_dir(root.join(venv.name).join("lib")).into_iter().flatten().flatten();
    libraries.map(|python| python.path().join("site-packages").join(&information)).any(|path| path.is_dir())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{packages::NPM, *};

    #[test]
    fn what_is_there_in_another_version_is_not_there() {
        let place = tempfile::tempdir().unwrap();
        let package = place.path().join("npm/node_modules/@a/b");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("package.json"), r#"{ "version": "1.2.3" }"#).unwrap();
        assert!(has_npm(place.path(), "@a/b", "1.2.3"));
        assert!(!has_npm(place.path(), "@a/b", "1.2.4"));
        assert!(!has_npm(place.path(), "@a/c", "1.2.3"));
    }

    #[test]
    fn python_packages_are_known_by_their_folders() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(
            place.path().join("python/lib/python3.11/site-packages/mcp_server_git-1.dist-info"),
        )
        .unwrap();
        assert!(has_python(place.path(), &PYTHON, "mcp-server-git", "1"));
        assert!(!has_python(place.path(), &PYTHON, "mcp-server-git", "2"));
        assert!(!has_python(place.path(), &PYTHON_V1, "mcp-server-git", "1"));
    }

    #[test]
    fn every_package_has_one_version() {
        let mut names: Vec<&str> = NPM.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NPM.len());
    }
}
