//! Variables that change what programs do.
//!
//! Closed the safe way round: only what is known to be plain may stand before a program without a question; only what is
//! known to have power is a danger where it is merely set.

/// Names that no program that matters reads as anything but text, a language, a width or a level.
const PLAIN: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "CI",
    "DEBUG",
    "VERBOSE",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_TEST_THREADS",
    "NODE_ENV",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "SOURCE_DATE_EPOCH",
    "DEBIAN_FRONTEND",
    "LOG_LEVEL",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PYTHONHASHSEED",
];

/// Names that choose programs, code, settings, places or the way a shell reads.
const POWER: &[&str] = &[
    "PATH",
    "IFS",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "SHELL",
    "USER",
    "LOGNAME",
    "EXECIGNORE",
    "GLOBIGNORE",
    "FIGNORE",
    "POSIXLY_CORRECT",
    "TMPDIR",
    "TMP",
    "TEMP",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "FCEDIT",
    "SUDO_EDITOR",
    "RSYNC_RSH",
    "CVS_RSH",
    "TERMINFO",
    "TERMCAP",
    "HISTFILE",
    "INPUTRC",
    "NLSPATH",
    "LOCPATH",
    "HOSTALIASES",
    "RESOLV_HOST_CONF",
    "GCONV_PATH",
    "MALLOC_TRACE",
    "CC",
    "CXX",
    "LD",
    "AR",
    "MAKE",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "MFLAGS",
    "CLASSPATH",
    "JDK_JAVA_OPTIONS",
    "VIMINIT",
    "EXINIT",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "ERL_AFLAGS",
    "ERL_FLAGS",
    "AWKPATH",
    "AWKLIBPATH",
    "ZIPOPT",
    "ZIP",
    "UNZIP",
    "UNZIPOPT",
    "GZIP",
    "BZIP2",
    "XZ_OPT",
    "XZ_DEFAULTS",
    "POSIX_ME_HARDER",
    "TAPE",
    "PSQLRC",
    "PSQL_PAGER",
    "PSQL_EDITOR",
    "SQLITE_HISTORY",
    "KUBECONFIG",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "SSH_AUTH_SOCK",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_EXTRA_CA_CERTS",
    "GOFLAGS",
    "GOPATH",
    "GOROOT",
    "GOPROXY",
    "GOTOOLCHAIN",
    "GOENV",
    "JQ_LIBRARY_PATH",
    "MANPATH",
    "MANOPT",
    "OPENSSL_ENGINES",
    "WGETRC",
    "NETRC",
    "CURL_HOME",
    "CURL_CA_BUNDLE",
    "FPATH",
    "ZDOTDIR",
    "MODULEPATH",
    "PKG_CONFIG",
    "PKG_CONFIG_PATH",
    "R_PROFILE",
    "JULIA_LOAD_PATH",
    "ASPELL_CONF",
    "ACKRC",
];

/// Beginnings of names with power.
const POWER_BEGINNINGS: &[&str] = &[
    "LD_",
    "DYLD_",
    "BASH",
    "GIT_",
    "LESS",
    "MANPAGER",
    "PYTHON",
    "PERL",
    "RUBY",
    "GEM_",
    "BUNDLE",
    "XDG_",
    "GREP_",
    "TAR_",
    "CARGO_",
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTUP_",
    "npm_",
    "NPM_",
    "YARN_",
    "PNPM_",
    "PIP_",
    "UV_",
    "JAVA_",
    "_JAVA_",
    "MAVEN_",
    "GRADLE_",
    "DOTNET_",
    "SSH_",
    "SUDO_",
    "DOCKER_",
    "AWS_",
    "MYSQL_",
    "PG",
    "GNUPG",
    "GPG_",
    "SSL_",
    "GLIBC_",
    "MALLOC_",
    "COMP_",
    "OPENSSL_",
    "QT_",
    "GTK_",
    "CMAKE_",
    "CCACHE_",
    "DISTCC_",
    "ELECTRON_",
    "DENO_",
    "BUN_",
    "SYSTEMD_",
    "DBUS_",
];

/// Whether an assignment to it changes what programs are or do.
#[must_use]
pub fn is_power_variable(name: &str) -> bool {
    if is_plain_variable(name) {
        return false;
    }
    POWER.contains(&name)
        || POWER_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ["_PROXY", "_OPTIONS", "_OPTS", "_PATH", "_HOME", "_PAGER", "_EDITOR", "_COMMAND", "_CMD", "_RC"]
            .iter()
            .any(|end| name.to_ascii_uppercase().ends_with(end))
        || name.to_ascii_uppercase().contains("_CONFIG")
        || name.to_ascii_uppercase().contains("PRELOAD")
}

/// Whether an assignment to it before a program is known to be harmless, whatever the program.
///
/// A name that is neither this nor powerful (`FOO`) may mean anything to the program that it stands before; set on its
/// own it means nothing.
#[must_use]
pub fn is_plain_variable(name: &str) -> bool {
    PLAIN.contains(&name)
        || name
            .strip_prefix("LC_")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_chooses_programs_code_or_settings_has_power() {
        for name in [
            "PATH",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "IFS",
            "BASH_ENV",
            "ENV",
            "PS4",
            "PROMPT_COMMAND",
            "GIT_DIR",
            "GIT_SSH_COMMAND",
            "GIT_EXTERNAL_DIFF",
            "PAGER",
            "MANPAGER",
            "LESSOPEN",
            "PYTHONPATH",
            "PERL5OPT",
            "RUBYOPT",
            "NODE_OPTIONS",
            "XDG_CONFIG_HOME",
            "RIPGREP_CONFIG_PATH",
            "TAR_OPTIONS",
            "https_proxy",
            "npm_config_registry",
            "CARGO_HOME",
            "RUSTC_WRAPPER",
            "MAKEFLAGS",
            "VIMINIT",
            "BROWSER",
            "HOME",
            "TMPDIR",
        ] {
            assert!(is_power_variable(name) && !is_plain_variable(name), "{name}");
        }
    }

    #[test]
    fn languages_widths_and_levels_have_none() {
        for name in ["LC_ALL", "LANG", "TZ", "NO_COLOR", "RUST_BACKTRACE", "NODE_ENV", "GIT_AUTHOR_NAME"] {
            assert!(is_plain_variable(name) && !is_power_variable(name), "{name}");
        }
    }

    #[test]
    fn a_name_that_nobody_knows_is_neither() {
        for name in ["FOO", "x", "LC_", "LC_x/y"] {
            assert_eq!((is_power_variable(name), is_plain_variable(name)), (false, false), "{name}");
        }
    }
}
