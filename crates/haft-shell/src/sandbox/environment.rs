//! What a command may know of our environment.
//!
//! Keys live in variables. So what is passed on is a list of plain names; a name that nobody thought of stays here, and a
//! value that looks like a key stays here under any name.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// Of all variables, those that say where things are and how to speak, and hold no secret.
pub fn environment(own: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    own.filter(|(name, value)| is_plain(name) && !is_secret(value)).collect()
}

/// Of all variables, those that lead to a granted Unix socket.
pub(super) fn socket_variables(
    own: impl Iterator<Item = (OsString, OsString)>,
    granted: &[PathBuf],
) -> Vec<(OsString, OsString)> {
    let is_granted = |path: &Path| granted.iter().any(|granted| granted == path || is_same(granted, path));
    let leads_there = |name: &OsStr, value: &OsStr| {
        let text = value.to_str().unwrap_or_default();
        match name.to_str().unwrap_or_default() {
            "SSH_AUTH_SOCK" => is_granted(Path::new(value)),
            "DOCKER_HOST" => text.strip_prefix("unix://").is_some_and(|path| is_granted(Path::new(path))),
            "DBUS_SESSION_BUS_ADDRESS" => {
                let path = text.strip_prefix("unix:path=").and_then(|rest| rest.split(',').next());
                path.is_some_and(|path| is_granted(Path::new(path)))
            }
            // Where the socket is found without another variable.
            "XDG_RUNTIME_DIR" => granted.iter().any(|granted| granted.starts_with(value)),
            "GPG_TTY" => granted.iter().any(|granted| is_of_gpg(granted)),
            _ => false,
        }
    };
    own.filter(|(name, value)| leads_there(name, value)).collect()
}

fn is_same(granted: &Path, path: &Path) -> bool {
    matches!((granted.canonicalize(), path.canonicalize()), (Ok(granted), Ok(path)) if granted == path)
}

fn is_of_gpg(socket: &Path) -> bool {
    socket.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("S.gpg-agent"))
}

/// Names that are passed on.
const PLAIN: [&str; 51] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "CI",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "HOSTNAME",
    "SHLVL",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_DIRS",
    "XDG_CONFIG_DIRS",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUST_BACKTRACE",
    "CARGO_TARGET_DIR",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "JAVA_HOME",
    "NVM_DIR",
    "NVM_BIN",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "GEM_HOME",
    "GEM_PATH",
    "MANPATH",
    "INFOPATH",
    "NODE_ENV",
    "DEBIAN_FRONTEND",
    "SOURCE_DATE_EPOCH",
];

fn is_plain(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    PLAIN.contains(&name)
        || (name.starts_with("LC_") && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
}

/// How well-known keys begin.
const KEYS: [&str; 14] = [
    "sk-",
    "sk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "eyJ",
];

/// Whether a value looks like a key, or has a password in an address.
fn is_secret(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    KEYS.iter().any(|key| value.starts_with(key)) || value.contains("-----BEGIN") || has_password(&value)
}

fn has_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, passes: bool) {
        let left = environment([(name.into(), value.into())].into_iter());
        assert_eq!(!left.is_empty(), passes, "{name}={value}");
    }

    #[test]
    fn plain_names_are_passed_on() {
        for name in ["PATH", "HOME", "LANG", "LC_ALL", "TERM", "CARGO_HOME"] {
            check(name, "x", true);
        }
    }

    #[test]
    fn a_name_that_nobody_thought_of_is_not() {
        for name in
            ["OPENAI_API_KEY", "AWS_PROFILE", "SSH_AUTH_SOCK", "LD_PRELOAD", "BASH_ENV", "LC_EVIL=1", "path"]
        {
            check(name, "x", false);
        }
    }

    #[test]
    fn a_variable_that_leads_to_a_socket_is_passed_on_with_its_grant() {
        let check = |name: &str, value: &str, granted: &str, passes: bool| {
            let left = socket_variables([(name.into(), value.into())].into_iter(), &[granted.into()]);
            assert_eq!(!left.is_empty(), passes, "{name}={value} {granted}");
        };
        check("SSH_AUTH_SOCK", "/a/agent", "/a/agent", true);
        check("SSH_AUTH_SOCK", "/a/agent", "/a/other", false);
        check("DOCKER_HOST", "unix:///a/d.sock", "/a/d.sock", true);
        check("DOCKER_HOST", "tcp://10.0.0.1", "/a/d.sock", false);
        check("GPG_TTY", "/dev/pts/1", "/run/user/7/gnupg/S.gpg-agent", true);
        check("GPG_TTY", "/dev/pts/1", "/a/agent", false);
        check("XDG_RUNTIME_DIR", "/run/user/7", "/run/user/7/gnupg/S.gpg-agent", true);
        check("AWS_PROFILE", "/a/agent", "/a/agent", false);
    }

    #[test]
    fn what_looks_like_a_secret_is_not_passed_on_under_any_name() {
        check("EDITOR", "ghp_0123456789", false);
        check("GOPATH", "https://me:word@host/x", false);
        check("GOPATH", "https://host/x:y@z", true);
    }
}
