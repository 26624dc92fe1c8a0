//! What every program needs to read besides what it was given.
//!
//! A process that is confined for reading still has to start: with its libraries, the system's settings, the runtime that a
//! user keeps at home, and git with its settings and its repository. Nothing here is a place where people keep what is
//! theirs. What a file of the workspace names is believed only if the place that it names says the same.

use std::{
    env, fs, iter,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The system's own places.
const SYSTEM: [&str; 32] = [
    "/bin",
    "/dev",
    "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/opt",
    "/proc",
    "/run/NetworkManager/resolv.conf",
    "/run/current-system",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/run/utmp",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/var/cache/apt",
    "/var/cache/fontconfig",
    "/var/cache/ldconfig",
    "/var/cache/man",
    "/var/lib/apt",
    "/var/lib/dpkg",
    "/var/lib/pacman",
    "/var/lib/rpm",
    "/var/lib/sss/mc",
    "/var/lib/sss/pubconf",
    "/var/lib/texmf",
];

/// Directories below `/etc` in which some things are private and others are not.
const MIXED_SETTINGS: [&str; 4] = ["apt", "pki", "ssh", "ssl"];

/// What a home has of runtimes, and of git's settings. Tokens and histories lie beside them.
const AT_HOME: [&str; 45] = [
    ".asdf",
    ".bun/bin",
    ".cabal/bin",
    ".cargo/bin",
    ".cargo/env",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno/bin",
    ".dotnet/dotnet",
    ".dotnet/host",
    ".dotnet/sdk",
    ".dotnet/shared",
    ".fnm",
    ".ghcup/bin",
    ".gitconfig",
    ".goenv",
    ".jenv",
    ".jq",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise/installs",
    ".local/share/mise/shims",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".nix-profile",
    ".nodenv",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".terminfo",
    ".tool-versions",
    ".volta",
    "anaconda3",
    "go/bin",
    "miniconda3",
    "miniforge3",
];

/// Variables that say where a runtime is.
const RUNTIME_VARIABLES: [&str; 11] = [
    "CONDA_PREFIX",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GOBIN",
    "GOROOT",
    "JAVA_HOME",
    "NVM_BIN",
    "NVM_DIR",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
];

/// What a process needs that works in a directory, the workspace as a rule, and has this home. All of it is without links.
pub(super) fn needed(directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    // Programs ask the variable, also where nobody says whose home it is.
    let from_variable = || env::var_os("HOME").and_then(|home| real(Path::new(&home)));
    let home = home.map(Path::to_owned).or_else(from_variable);
    let home = home.as_deref();
    let mut places = system().to_vec();
    places.extend(programs());
    places.extend(RUNTIME_VARIABLES.iter().filter_map(|name| real(Path::new(&env::var_os(name)?))));
    if let Some(home) = home {
        places.extend(AT_HOME.iter().filter_map(|place| real(&home.join(place))));
        places.extend(included(home));
    }
    // Whatever a variable or a link says, it is not all that a user has.
    places.retain(|place| place.parent().is_some() && !home.is_some_and(|home| home.starts_with(place)));
    places.extend(repository_of(directory));
    places
}

/// Whether every process may read a place, which is without links.
pub(super) fn is_the_systems(place: &Path) -> bool {
    is_in(place, system())
}

/// The same for every process: looked up once.
fn system() -> &'static [PathBuf] {
    static SYSTEM_PLACES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    SYSTEM_PLACES.get_or_init(|| {
        let mut places: Vec<PathBuf> = SYSTEM.iter().filter_map(|place| real(Path::new(place))).collect();
        places.extend(settings(Path::new("/etc"), &MIXED_SETTINGS));
        places.sort();
        places.dedup_by(|inner, outer| inner.starts_with(outer));
        places
    })
}

/// The entries of a directory for settings that everybody may read. Those that only some may are theirs, also if we are root.
fn settings(directory: &Path, mixed: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut open = Vec::new();
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        if name == "sudoers.d" || !fs::metadata(&path).is_ok_and(|facts| facts.mode() & 0o004 != 0) {
            continue;
        }
        if mixed.iter().any(|mixed| name == **mixed) {
            open.extend(settings(&path, &[]));
        } else {
            open.extend(real(&path));
        }
    }
    open
}

/// The directories in which programs are looked for, and what their links lead to.
fn programs() -> Vec<PathBuf> {
    static PROGRAMS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let find = || {
        let path = env::var_os("PATH").unwrap_or_default();
        let directories = env::split_paths(&path).filter(|directory| directory.is_absolute());
        let mut places = Vec::new();
        for directory in directories.filter_map(|directory| real(&directory)) {
            if is_in(&directory, system()) && !directory.starts_with("/usr/local") {
                continue;
            }
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                    places.extend(
                        real(&entry.path()).filter(|place| !is_in(place, system()) && place.is_file()),
                    );
                }
            }
            places.push(directory);
        }
        places
    };
    PROGRAMS.get_or_init(find).clone()
}

/// The files that the user's own settings of git name: who cannot read one of them cannot use git at all.
fn included(home: &Path) -> Vec<PathBuf> {
    const NAMING: [&str; 3] = ["path", "excludesfile", "attributesfile"];
    let mut places = Vec::new();
    for settings in [".gitconfig", ".config/git/config"] {
        let text = fs::read_to_string(home.join(settings)).unwrap_or_default();
        for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
            if !NAMING.contains(&name.trim().to_lowercase().as_str()) {
                continue;
            }
            let value = value.trim().trim_matches('"');
            let place = match value.strip_prefix("~/") {
                Some(rest) => home.join(rest),
                None => home.join(settings).with_file_name("").join(value),
            };
            places.extend(real(&place).filter(|place| place.is_file()));
        }
    }
    places
}

/// The repository that a directory is in, as far as it lies outside of the directory. What the directory says of another
/// one proves nothing: a repository inside is believed in nothing that it names.
fn repository_of(directory: &Path) -> Vec<PathBuf> {
    let named = directory.ancestors().map(|above| above.join(".git")).find(|path| path.exists());
    let Some(named) = named else { return Vec::new() };
    let Some(git) = git_directory(&named).filter(|git| !git.starts_with(directory)) else {
        return Vec::new();
    };
    let common = fs::read_to_string(git.join("commondir")).ok();
    let common = common.and_then(|text| real(&git.join(text.trim_end())));
    let mut places: Vec<PathBuf> = iter::once(git).chain(common).collect();
    places.extend(places.iter().flat_map(|place| alternates(place)).collect::<Vec<_>>());
    if let Some(top) = named.parent() {
        let settings = [".gitignore", ".gitattributes", ".mailmap"].map(|file| top.join(file));
        places.extend(settings.iter().filter_map(|file| real(file)).filter(|place| place.starts_with(top)));
    }
    places
}

/// The directory that `.git` is or names. A file is a claim of whoever wrote it: the directory must name it in turn.
fn git_directory(named: &Path) -> Option<PathBuf> {
    if fs::symlink_metadata(named).ok()?.is_dir() {
        return Some(named.to_owned());
    }
    let text = fs::read_to_string(named).ok()?;
    let git = real(&named.with_file_name("").join(text.strip_prefix("gitdir:")?.trim()))?;
    let worktree = fs::read_to_string(git.join("gitdir")).ok().map(|text| git.join(text.trim_end()));
    let submodule = || {
        let settings = fs::read_to_string(git.join("config")).ok()?;
        let values = settings.lines().filter_map(|line| line.split_once('='));
        let (_, value) = values.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("worktree"))?;
        Some(git.join(value.trim().trim_matches('"')).join(".git"))
    };
    let named_in_turn = worktree.or_else(submodule)?;
    (real(&named_in_turn)? == real(named)?).then_some(git)
}

/// The object stores that a repository borrows from.
fn alternates(git: &Path) -> Vec<PathBuf> {
    let objects = git.join("objects");
    let text = fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| real(&objects.join(line))).filter(|place| place.ends_with("objects")).collect()
}

fn is_in(place: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| place.starts_with(root))
}

fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
