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

/// So many entries of `/etc` are looked at. What comes after them counts as private.
const SETTINGS_LIMIT: usize = 20_000;

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
    // Programs ask the variable, also where no home is given.
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
        let mut left = SETTINGS_LIMIT;
        match open_to_all(Path::new("/etc"), &mut left) {
            None => places.push(PathBuf::from("/etc")),
            Some(parts) => places.extend(parts),
        }
        places.sort();
        places.dedup_by(|inner, outer| inner.starts_with(outer));
        places
    })
}

/// The parts of a directory that every user may read; `None` if that is all of it. The rest is private, also if
/// this process is root's, which no mode keeps out.
fn open_to_all(directory: &Path, left: &mut usize) -> Option<Vec<PathBuf>> {
    let mut parts = Vec::new();
    let mut is_whole = true;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        *left = left.saturating_sub(1);
        let path = entry.path();
        let Ok(facts) = entry.metadata() else { continue };
        if facts.is_symlink() {
            parts.extend(real(&path).filter(|place| is_readable_by_all(place)));
        } else if *left == 0 || facts.mode() & 0o004 == 0 || entry.file_name() == "sudoers.d" {
            is_whole = false;
        } else if facts.is_dir() {
            match open_to_all(&path, left) {
                None => parts.push(path),
                Some(within) => {
                    is_whole = false;
                    parts.extend(within);
                }
            }
        } else {
            parts.push(path);
        }
    }
    (!is_whole).then_some(parts)
}

fn is_readable_by_all(place: &Path) -> bool {
    fs::metadata(place).is_ok_and(|facts| facts.mode() & 0o004 != 0)
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

/// The files that the user's own settings of git name: without one of them git does not start.
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

/// The directory that `.git` is or names. A file is only a claim: the directory must name it in turn.
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn of_settings_only_what_everybody_may_read_is_the_systems() {
        let directory = tempfile::tempdir().unwrap();
        let root = real(directory.path()).unwrap();
        for file in
            ["hosts", "shadow", "ssl/certs/a", "ssl/private/key", "app/conf.d/token", "app/conf.d/plain"]
        {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        let set =
            |path: &str, mode| fs::set_permissions(root.join(path), PermissionsExt::from_mode(mode)).unwrap();
        for (path, mode) in
            [("hosts", 0o644), ("shadow", 0o640), ("ssl/certs/a", 0o644), ("ssl/private", 0o710)]
        {
            set(path, mode);
        }
        set("app/conf.d/token", 0o600);
        set("app/conf.d/plain", 0o644);
        symlink("shadow", root.join("link")).unwrap();
        symlink("hosts", root.join("other")).unwrap();
        let mut parts = open_to_all(&root, &mut 100).unwrap();
        parts.sort();
        parts.dedup();
        assert_eq!(parts, ["app/conf.d/plain", "hosts", "ssl/certs"].map(|part| root.join(part)));
        assert_eq!(open_to_all(&root.join("ssl/certs"), &mut 100), None);
        assert_eq!(
            open_to_all(&root.join("ssl/certs"), &mut 1),
            Some(Vec::new()),
            "what was not looked at is closed"
        );
    }

    #[test]
    fn what_a_directory_says_of_a_repository_elsewhere_is_not_believed() {
        let directory = tempfile::tempdir().unwrap();
        let root = real(directory.path()).unwrap();
        for file in [
            "home/.ssh/HEAD",
            "home/.ssh/config",
            "repo/.git/worktrees/w/HEAD",
            "w/a",
            "worktrees/ws/a",
            "ws/a",
        ] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        let claims = |directory: &str, text: String| {
            let directory = root.join(directory);
            fs::write(directory.join(".git"), text).unwrap();
            repository_of(&directory)
        };
        let gitdir = |place: &str| format!("gitdir: {}\n", root.join(place).display());
        assert_eq!(claims("ws", gitdir("home/.ssh")), [] as [PathBuf; 0]);
        // One inside that says where the rest of it is.
        fs::create_dir(root.join("worktrees/ws/git")).unwrap();
        fs::write(root.join("worktrees/ws/git/commondir"), "../../../home").unwrap();
        fs::write(root.join("worktrees/ws/git/gitdir"), root.join("worktrees/ws/.git").display().to_string())
            .unwrap();
        assert_eq!(claims("worktrees/ws", gitdir("worktrees/ws/git")), [] as [PathBuf; 0]);
        // A worktree that its repository knows, and another place that says it is that one.
        let own = root.join("repo/.git/worktrees/w");
        fs::write(own.join("gitdir"), root.join("w/.git").display().to_string()).unwrap();
        fs::write(own.join("commondir"), "../..").unwrap();
        assert_eq!(claims("w", gitdir("repo/.git/worktrees/w")), [own, root.join("repo/.git")]);
        assert_eq!(claims("ws", gitdir("repo/.git/worktrees/w")), [] as [PathBuf; 0]);
    }
}
