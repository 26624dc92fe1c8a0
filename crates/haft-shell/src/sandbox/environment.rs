//! What a command may know of our environment.
//!
//! Keys live in variables. So what is passed on is a list of plain names; a name that nobody thought of stays here, and a
//! value that looks like a key stays here under any name.

use std::ffi::{OsStr, OsString};

/// Of all variables, those that say where things are and how to speak, and hold no secret.
pub fn environment(own: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    own.filter(|(name, value)| is_plain(name) && !is_secret(value)).collect()
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
    fn what_looks_like_a_secret_is_not_passed_on_under_any_name() {
        check("EDITOR", "ghp_0123456789", false);
        check("GOPATH", "https://me:word@host/x", false);
        check("GOPATH", "https://host/x:y@z", true);
    }
}
