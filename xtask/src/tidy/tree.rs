//! The repository, read once.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::{
    repository::{self, Kind, Package},
    rust_text,
};

/// All that checks look at.
#[derive(Default)]
pub(super) struct Tree {
    /// Our crates.
    pub(super) crates: Vec<Crate>,
    /// Their Rust files.
    pub(super) sources: Vec<Source>,
    /// What of others is built for this platform.
    pub(super) foreign: Vec<Foreign>,
    /// The text of Cargo.lock: everything that is built for any platform.
    pub(super) lock: String,
    /// What deny.toml says; cargo-deny reads the same file.
    pub(super) deny: Deny,
    /// Fuzz targets, and whether each has seeds.
    pub(super) fuzz_targets: Vec<(String, bool)>,
}

/// One of our crates.
pub(super) struct Crate {
    pub(super) name: String,
    /// The path of its manifest, from the root.
    pub(super) file: String,
    pub(super) manifest: String,
    pub(super) dependencies: Vec<(String, Option<Kind>)>,
}

/// A Rust file of ours.
pub(super) struct Source {
    /// Its path from the root.
    pub(super) file: String,
    pub(super) text: String,
    /// The text without comments and literals.
    pub(super) code: String,
}

/// A crate of others.
pub(super) struct Foreign {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) licence: Option<String>,
}

/// What this reads of deny.toml.
#[derive(Deserialize, Default)]
pub(super) struct Deny {
    pub(super) licenses: Licences,
    pub(super) bans: Bans,
}

/// `[licenses]`
#[derive(Deserialize, Default)]
pub(super) struct Licences {
    pub(super) allow: Vec<String>,
}

/// `[bans]`
#[derive(Deserialize, Default)]
pub(super) struct Bans {
    pub(super) deny: Vec<Ban>,
}

/// A crate that nobody may use.
#[derive(Deserialize)]
pub(super) struct Ban {
    #[serde(rename = "crate")]
    pub(super) name: String,
    pub(super) reason: String,
}

impl Tree {
    pub(super) fn read() -> Result<Tree> {
        let read = |file: &str| fs::read_to_string(repository::root().join(file)).context(file.to_owned());
        let ours = repository::metadata()?.packages;
        let all = repository::metadata_of_all()?.packages;
        Ok(Tree {
            sources: sources()?,
            foreign: foreign(all, &ours),
            lock: read("Cargo.lock")?,
            deny: toml::from_str(&read("deny.toml")?).context("deny.toml")?,
            fuzz_targets: fuzz_targets()?,
            crates: ours.into_iter().map(Crate::read).collect::<Result<_>>()?,
        })
    }

    /// The files below a folder.
    pub(super) fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a Source> {
        self.sources.iter().filter(move |source| source.file.starts_with(folder))
    }
}

impl Crate {
    fn read(package: Package) -> Result<Crate> {
        let dependencies = package.dependencies.into_iter().map(|one| (one.name, one.kind)).collect();
        Ok(Crate {
            name: package.name,
            file: from_root(&package.manifest_path),
            manifest: fs::read_to_string(&package.manifest_path)?,
            dependencies,
        })
    }

    /// The line of the manifest that names the dependency, in the section of its kind.
    pub(super) fn line_of(&self, dependency: &str, kind: Option<Kind>) -> usize {
        let section = match kind {
            None => "dependencies",
            Some(Kind::Dev) => "dev-dependencies",
            Some(Kind::Build) => "build-dependencies",
        };
        let mut is_inside = false;
        for (index, line) in self.manifest.lines().enumerate() {
            if let Some(head) = line.strip_prefix('[') {
                is_inside =
                    head.trim_end_matches(']').ends_with(section) && !head.contains(&format!("-{section}"));
            }
            let is_named =
                line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
            if is_inside && is_named {
                return index + 1;
            }
        }
        1
    }
}

impl Source {
    pub(super) fn new(file: impl Into<String>, text: impl Into<String>) -> Source {
        let (file, text) = (file.into(), text.into());
        Source { code: rust_text::code(&text), file, text }
    }

    /// Whether it is a test or a bench, and no part of the product.
    pub(super) fn is_test(&self) -> bool {
        let is_folder = |name: &str| self.file.contains(&format!("/{name}/"));
        self.file.ends_with("/tests.rs") || is_folder("tests") || is_folder("benches")
    }
}

fn sources() -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in ["crates", "xtask", "fuzz/fuzz_targets"] {
        collect(&repository::root().join(folder), &mut sources)?;
    }
    sources.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(sources)
}

fn collect(folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    for path in entries(folder)? {
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(Source::new(from_root(&path), fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

fn foreign(all: Vec<Package>, ours: &[Package]) -> Vec<Foreign> {
    let is_ours = |package: &Package| ours.iter().any(|own| own.manifest_path == package.manifest_path);
    let others = all.into_iter().filter(|package| !is_ours(package));
    others
        .map(|package| Foreign { name: package.name, version: package.version, licence: package.license })
        .collect()
}

fn fuzz_targets() -> Result<Vec<(String, bool)>> {
    let fuzz = repository::root().join("fuzz");
    let mut targets = Vec::new();
    for path in entries(&fuzz.join("fuzz_targets"))? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let has_seeds = fuzz.join("seeds").join(&name).is_dir();
        targets.push((name, has_seeds));
    }
    Ok(targets)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    Ok(list.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?)
}

fn from_root(path: &Path) -> String {
    path.strip_prefix(repository::root()).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_found_in_the_section_of_its_kind() {
        let manifest = "[dependencies]\na.workspace = true\nab = \"1\"\n\n[dev-dependencies]\na = \"1\"\n";
        let package = Crate {
            name: "x".to_owned(),
            file: "x/Cargo.toml".to_owned(),
            manifest: manifest.to_owned(),
            dependencies: Vec::new(),
        };
        assert_eq!(package.line_of("a", None), 2);
        assert_eq!(package.line_of("ab", None), 3);
        assert_eq!(package.line_of("a", Some(Kind::Dev)), 6);
    }
}
