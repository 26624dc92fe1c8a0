//! How the kit gets to its place: by the ordinary clients of npm, Python and cargo.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};

use super::{
    Kit, has_npm, has_python,
    packages::{AGENTS, BUILT, Built, NPM, PEERS, PYTHON, PYTHON_V1, Venv},
};
use crate::repository::{cargo, succeeds, tools};

/// A name and a version.
type Package = (&'static str, &'static str);

impl Kit {
    /// Fetches what is not there, and names what could not be had.
    pub(super) fn install(&self, with_peers: bool) -> Result<Vec<String>> {
        fs::create_dir_all(self.npm()).with_context(|| format!("{} cannot be made", self.npm().display()))?;
        let npm: Vec<Package> = NPM.into_iter().chain(AGENTS.into_iter().filter(|_| with_peers)).collect();
        self.install_npm(&npm)?;
        let venvs: &[&Venv] =
            if with_peers { &[&PYTHON, &PYTHON_V1, &PEERS] } else { &[&PYTHON, &PYTHON_V1] };
        for venv in venvs {
            self.install_python(venv)?;
        }
        if with_peers {
            self.build_peers()?;
        }
        let mut missing = self.missing(&npm, venvs);
        if with_peers {
            let absent = BUILT.iter().filter(|built| self.built(built.program).is_err());
            missing.extend(absent.map(|built| format!("{} {} (cargo)", built.package, built.version)));
        }
        Ok(missing)
    }

    fn install_npm(&self, wanted: &[Package]) -> Result<()> {
        let absent: Vec<String> =
            self.absent_npm(wanted).iter().map(|(name, version)| format!("{name}@{version}")).collect();
        if absent.is_empty() {
            return Ok(());
        }
        let manifest = self.npm().join("package.json");
        if !manifest.exists() {
            fs::write(manifest, "{ \"private\": true }\n")?;
        }
        println!("kit: npm install {}", absent.join(" "));
        let words = ["install", "--no-audit", "--no-fund", "--save-exact", "--loglevel=error"];
        try_to(Command::new("npm").args(words).args(&absent).current_dir(self.npm()));
        Ok(())
    }

    /// Fetches what is not there of one environment.
    pub(super) fn install_python(&self, venv: &Venv) -> Result<()> {
        let absent = self.absent_python(venv);
        if absent.is_empty() {
            return Ok(());
        }
        let place = self.root.join(venv.name);
        let python = place.join("bin/python");
        if !python.exists() && !try_to(Command::new("python3").args(["-m", "venv"]).arg(&place)) {
            return Ok(());
        }
        let wanted: Vec<String> = absent.iter().map(|(name, version)| format!("{name}=={version}")).collect();
        println!("kit: pip install {} (into {})", wanted.join(" "), venv.name);
        let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        try_to(Command::new(python).args(words).args(wanted));
        Ok(())
    }

    fn build_peers(&self) -> Result<()> {
        for Built { package, version, program, features } in BUILT {
            if self.built(program).is_err() {
                println!("kit: cargo install {package}@{version}, which takes some minutes");
                let words = ["install", "--locked", "--version", version, package];
                try_to(cargo(&words).args(features).arg("--root").arg(tools()?));
            }
        }
        Ok(())
    }

    fn missing(&self, npm: &[Package], venvs: &[&Venv]) -> Vec<String> {
        let npm = self.absent_npm(npm).into_iter().map(|(name, version)| format!("{name} {version} (npm)"));
        let python = venvs.iter().flat_map(|venv| {
            self.absent_python(venv)
                .into_iter()
                .map(|(name, version)| format!("{name} {version} ({})", venv.name))
        });
        npm.chain(python).collect()
    }

    fn absent_npm(&self, wanted: &[Package]) -> Vec<Package> {
        wanted.iter().copied().filter(|(name, version)| !has_npm(&self.root, name, version)).collect()
    }

    fn absent_python(&self, venv: &Venv) -> Vec<(&'static str, &'static str)> {
        let is_absent = |(name, version): &(&str, &str)| !has_python(&self.root, venv, name, version);
        venv.packages.iter().copied().filter(is_absent).collect()
    }
}

/// Runs it in sight of the person. One that is not installed at all is no more than one that failed.
fn try_to(command: &mut Command) -> bool {
    succeeds(command).unwrap_or_else(|err| {
        let program = Path::new(command.get_program()).display();
        eprintln!("kit: {program} cannot be run: {err:#}");
        false
    })
}
