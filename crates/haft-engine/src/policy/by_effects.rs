//! The classifier that needs nothing: by what a call does.
//!
//! | let through | if |
//! |---|---|
//! | a change of files inside the workspace by a file tool | it can be taken back, and no name looks like a secret's |
//! | a known build or test command | processes are confined, and no word leads out of the workspace |
//! | `mkdir`, `touch` inside the workspace | no name looks like a secret's |
//! | a read of headers, libraries, documentation and sources of packages outside | no name looks like a secret's |
//!
//! All parts of a call must be let through. Everything else is asked; nothing is denied. What is destructive, unknown,
//! protected, or a server's tool does not come here at all, and a host never passes.

use std::path::{Path, PathBuf};

use haft_tool::{Access, BoxFuture, Certainty, Class, CommandEffect, Effects, PathEffect, Reversal, Spread};

use super::{
    classifier::{Classifier, Judgement, Matter},
    decide::Request,
    paths::{Seen, bytes},
};

/// Lets through what is plainly harmless, and asks about the rest.
#[derive(Debug, Clone, Default)]
pub struct ByEffects {
    confined: bool,
    home: Option<PathBuf>,
}

impl ByEffects {
    /// One that lets no command through.
    pub fn new() -> ByEffects {
        ByEffects::default()
    }

    /// Says whether processes are confined. Say so only if the kernel was tried.
    #[must_use]
    pub fn confined(self, confined: bool) -> ByEffects {
        ByEffects { confined, ..self }
    }

    /// Says where the home is, below which tools keep the sources of packages.
    #[must_use]
    pub fn home(self, home: Option<PathBuf>) -> ByEffects {
        ByEffects { home, ..self }
    }

    fn look(&self, request: &Request<'_>) -> Result<(), String> {
        let effects = request.effects;
        if let Some(effect) = effects.hosts().first() {
            return Err(format!("it contacts {}", effect.host));
        }
        let runs = effects.commands().iter().filter(|command| command.certainty != Certainty::Meaning);
        runs.clone().try_for_each(|command| self.command(command))?;
        effects.paths().iter().try_for_each(|effect| self.path(request, effect))?;
        if runs.count() == 0 && !matches!(effects.reversal(), Reversal::None | Reversal::Reversible) {
            return Err("it cannot be taken back".to_owned());
        }
        Ok(())
    }

    fn command(&self, command: &CommandEffect) -> Result<(), String> {
        let line = command.argv.join(" ");
        if command.class == Class::ReadOnly && !command.argv.is_empty() {
            return Ok(());
        }
        let is_exact = command.class == Class::Write && command.certainty == Certainty::Exact;
        if !is_exact || command.argv.iter().any(|word| leads_out(word)) {
            return Err(format!("`{line}` may reach further than it looks"));
        }
        match MAKES_NAMES.contains(&command.argv[0].as_str()) || is_build(&command.argv) {
            false => Err(format!("`{line}` is no known build or test command")),
            true if is_build(&command.argv) && !self.confined => {
                Err(format!("`{line}` would not be confined"))
            }
            true => Ok(()),
        }
    }

    fn path(&self, request: &Request<'_>, effect: &PathEffect) -> Result<(), String> {
        let place = haft_tool::shown(effect.place());
        let inside = Seen::of(effect).is_inside(bytes(request.workspace));
        match effect.access {
            Access::Read if inside => Ok(()),
            _ if looks_secret(effect.place()) => Err(format!("{place} looks like a secret")),
            Access::Read if self.is_public(effect.place()) => Ok(()),
            Access::Read => Err(format!("{place} is outside the workspace")),
            Access::Write if !inside => Err(format!("{place} is outside the workspace")),
            Access::Write if !is_made(request.effects, effect) => Err(format!("{place} may be overwritten")),
            Access::Write => Ok(()),
        }
    }

    fn is_public(&self, place: &Path) -> bool {
        let below_home = self.home.as_deref().and_then(|home| place.strip_prefix(home).ok());
        PUBLIC.split(' ').any(|public| place.starts_with(public))
            || below_home.is_some_and(|below| PACKAGES.iter().any(|packages| below.starts_with(packages)))
    }
}

impl Classifier for ByEffects {
    fn judge<'a>(&'a self, matter: Matter<'a>) -> BoxFuture<'a, Judgement> {
        let judgement = match self.look(matter.request) {
            Ok(()) => Judgement::allow(NAME, "it is plainly harmless"),
            Err(why) => Judgement::ask(NAME, why),
        };
        Box::pin(async { judgement })
    }
}

const NAME: &str = "by effects";

/// They make a name where there was none, and lose nothing.
const MAKES_NAMES: [&str; 2] = ["mkdir", "touch"];

/// Build and test commands, with whatever follows.
const BUILDS: &str = "\
    cargo build, cargo check, cargo clippy, cargo doc, cargo fmt, cargo nextest run, cargo test, ctest, \
    dotnet build, dotnet test, eslint, go build, go fmt, go test, go vet, gofmt, gradle build, gradle test, \
    jest, mix compile, mix test, mvn compile, mvn test, mypy, npm test, pnpm test, prettier, pytest, python \
    -m pytest, python -m unittest, python3 -m pytest, python3 -m unittest, ruff, rustfmt, swift build, swift \
    test, tsc, vitest run, yarn test, zig build";

/// Those that run what a project calls so: with these words and no others.
const TARGETS: &str = "\
    make, make all, make build, make check, make lint, make test, npm run build, npm run check, npm run \
    lint, npm run test, npm run typecheck, pnpm run build, pnpm run lint, pnpm run test, yarn build, yarn \
    lint";

fn is_build(argv: &[String]) -> bool {
    let begins = |build: &str| {
        let mut words = argv.iter();
        build.split(' ').all(|word| words.next().is_some_and(|own| own == word))
    };
    let line = argv.join(" ");
    BUILDS.split(", ").any(begins) || TARGETS.split(", ").any(|target| target == line)
}

/// A word that may name something outside of the workspace.
fn leads_out(word: &str) -> bool {
    word.starts_with(['/', '~']) || word.contains("..") || word.contains("=/") || word.contains("=~")
}

/// Whether a write only adds, or is one of a file tool, which shows what it replaces.
fn is_made(effects: &Effects, effect: &PathEffect) -> bool {
    let by = effect.by.and_then(|by| effects.commands().get(by)).and_then(|command| command.argv.first());
    match by {
        Some(program) => MAKES_NAMES.contains(&program.as_str()),
        None => effects.commands().is_empty() && effect.spread == Spread::Guarded,
    }
}

/// What everybody may read on every machine.
const PUBLIC: &str = "\
    /usr/include /usr/share /usr/lib /usr/lib64 /usr/src /lib /lib64 /nix/store /etc/os-release \
    /etc/debian_version /etc/lsb-release /etc/localtime /etc/timezone";

/// Below a home: the sources of packages.
const PACKAGES: &[&str] =
    &[".cargo/registry/src", ".cargo/git/checkouts", ".rustup/toolchains", "go/pkg/mod", ".m2/repository"];

/// Parts of names that secrets have.
const SECRET: &str = "\
    .env secret credential password passwd token private id_rsa id_ed25519 id_ecdsa .pem .key .p12 .pfx \
    .keystore .netrc .pgpass .npmrc .pypirc .ssh .gnupg .aws .kube shadow wallet vault history";

fn looks_secret(place: &Path) -> bool {
    let names = place.iter().map(|name| name.to_string_lossy().to_ascii_lowercase());
    names.into_iter().any(|name| SECRET.split(' ').any(|part| name.contains(part)))
}
