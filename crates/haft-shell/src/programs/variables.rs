//! Variables that change what the shell and programs do.
//!
//! Closed the safe way round: only what is known to be plain may stand before a program without a question; only what is
//! known to have power is a danger where it is merely set. The names that bash itself interprets are a list of their own,
//! because setting one may run what it is set to: bash calculates what `RANDOM` or `OPTIND` gets, and the index of an
//! array in a calculation runs commands.

use super::Arg;

/// Every name under "Shell Variables" in bash(1), up to version 5.3, and those that the manual has elsewhere.
const SHELL: &[&str] = &[
    "_",
    "BASH",
    "BASHOPTS",
    "BASHPID",
    "BASH_ALIASES",
    "BASH_ARGC",
    "BASH_ARGV",
    "BASH_ARGV0",
    "BASH_CMDS",
    "BASH_COMMAND",
    "BASH_COMPAT",
    "BASH_ENV",
    "BASH_EXECUTION_STRING",
    "BASH_LINENO",
    "BASH_LOADABLES_PATH",
    "BASH_MONOSECONDS",
    "BASH_REMATCH",
    "BASH_SOURCE",
    "BASH_SUBSHELL",
    "BASH_TRAPSIG",
    "BASH_VERSINFO",
    "BASH_VERSION",
    "BASH_XTRACEFD",
    "CDPATH",
    "CHILD_MAX",
    "COLUMNS",
    "COMPREPLY",
    "COMP_CWORD",
    "COMP_KEY",
    "COMP_LINE",
    "COMP_POINT",
    "COMP_TYPE",
    "COMP_WORDBREAKS",
    "COMP_WORDS",
    "COPROC",
    "DIRSTACK",
    "EMACS",
    "ENV",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "EXECIGNORE",
    "FCEDIT",
    "FIGNORE",
    "FUNCNAME",
    "FUNCNEST",
    "GLOBIGNORE",
    "GLOBSORT",
    "GROUPS",
    "HISTCMD",
    "HISTCONTROL",
    "HISTFILE",
    "HISTFILESIZE",
    "HISTIGNORE",
    "HISTSIZE",
    "HISTTIMEFORMAT",
    "HOME",
    "HOSTFILE",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "IGNOREEOF",
    "INPUTRC",
    "INSIDE_EMACS",
    "LANG",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LINENO",
    "LINES",
    "MACHTYPE",
    "MAIL",
    "MAILCHECK",
    "MAILPATH",
    "MAPFILE",
    "OLDPWD",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "OSTYPE",
    "PATH",
    "PIPESTATUS",
    "POSIXLY_CORRECT",
    "POSIX_PEDANTIC",
    "PPID",
    "PROMPT_COMMAND",
    "PROMPT_DIRTRIM",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PWD",
    "RANDOM",
    "READLINE_ARGUMENT",
    "READLINE_LINE",
    "READLINE_MARK",
    "READLINE_POINT",
    "REPLY",
    "SECONDS",
    "SHELL",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "TERM",
    "TERMCAP",
    "TERMINFO",
    "TEXTDOMAIN",
    "TEXTDOMAINDIR",
    "TIMEFORMAT",
    "TMOUT",
    "TMPDIR",
    "TZ",
    "UID",
    "auto_resume",
    "histchars",
    "ignoreeof",
];

/// Names of the shell that it only fills in, or whose text it only prints or counts with: setting them decides nothing.
const INERT: &[&str] = &[
    "_",
    "COLUMNS",
    "HOSTNAME",
    "LINES",
    "MAPFILE",
    "OPTARG",
    "OPTERR",
    "REPLY",
    "TERM",
    "TIMEFORMAT",
    "TMOUT",
    "TZ",
];

/// Names of the shell that scripts set to numbers. Any other text would be calculated.
const NUMBERS: &[&str] = &["OPTIND", "RANDOM", "SECONDS", "SRANDOM"];

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

/// Names that choose programs, code, settings or places for programs.
const POWER: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "rsync_proxy",
    "all_proxy",
    "no_proxy",
    "USER",
    "LOGNAME",
    "TMP",
    "TEMP",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "SUDO_EDITOR",
    "RSYNC_RSH",
    "CVS_RSH",
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
    "npm_config_",
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

/// Why setting a variable does more than keep a text, if it does. This is the one answer for all ways of setting one;
/// `value` is what it is set to, where that is known.
///
/// ```
/// use haft_shell::programs::{Arg, assignment_doubt};
///
/// assert!(assignment_doubt("file_path", None).is_none());
/// assert!(assignment_doubt("OPTIND", Some(&Arg::Known("1".to_owned()))).is_none());
/// assert!(assignment_doubt("OPTIND", None).is_some());
/// ```
#[must_use]
pub fn assignment_doubt(name: &str, value: Option<&Arg>) -> Option<String> {
    let known = match value {
        Some(Arg::Known(text)) => Some(text.as_str()),
        _ => None,
    };
    match name {
        _ if is_locale(name) => {
            let is_fine = known.is_some_and(|text| is_fine_locale(name, text));
            (!is_fine).then(|| format!("`{name}` may change which characters bash reads"))
        }
        _ if INERT.contains(&name) => None,
        _ if NUMBERS.contains(&name) && known.is_some_and(is_number) => None,
        _ if is_shell_variable(name) => Some(format!("`{name}` is a variable that bash itself interprets")),
        _ if is_power_variable(name) => Some(format!("`{name}` changes what programs do")),
        _ => None,
    }
}

/// Why an assignment before a program, which only that program sees, is not known to be harmless.
#[must_use]
pub fn prefix_doubt(name: &str, value: Option<&Arg>, program: Option<&str>) -> Option<String> {
    if is_plain_variable(name) {
        return assignment_doubt(name, value);
    }
    let is_harmless = match program {
        // It takes a line apart by it, and it ends with the command.
        Some("read" | "mapfile" | "readarray") if name == "IFS" => true,
        Some(program) => ignores_environment(program) && !is_shell_variable(name) && !is_power_variable(name),
        None => false,
    };
    (!is_harmless).then(|| format!("{name}, which may change what the program does"))
}

/// Commands of bash that do the same whatever is in the environment, and run no other program.
#[must_use]
pub fn ignores_environment(program: &str) -> bool {
    const COMMANDS: [&str; 27] = [
        ":",
        "[",
        "break",
        "cd",
        "continue",
        "declare",
        "echo",
        "exit",
        "export",
        "false",
        "getopts",
        "local",
        "mapfile",
        "printf",
        "pwd",
        "read",
        "readarray",
        "readonly",
        "return",
        "set",
        "shift",
        "test",
        "true",
        "type",
        "typeset",
        "unset",
        "wait",
    ];
    COMMANDS.contains(&program)
}

/// Whether bash itself sets it or looks at it.
#[must_use]
pub fn is_shell_variable(name: &str) -> bool {
    SHELL.contains(&name) || name.starts_with("BASH")
}

/// A whole number as people write it.
#[must_use]
pub fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    (1..=18).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_locale(name: &str) -> bool {
    name == "LANG" || name == "LANGUAGE" || is_category(name)
}

fn is_category(name: &str) -> bool {
    let is_letters = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_uppercase());
    name.strip_prefix("LC_").is_some_and(is_letters)
}

/// Whether bash reads a script as we do in this locale. There are character sets in which a backslash or a backquote is
/// the second half of a letter; and a language that is a path names a file of messages.
fn is_fine_locale(name: &str, text: &str) -> bool {
    if name == "LANGUAGE" {
        return text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:.@-".contains(&byte));
    }
    let text = text.split_once('@').map_or(text, |(text, _)| text);
    let (place, set) = text.split_once('.').unwrap_or((text, "UTF-8"));
    let (language, country) = place.split_once('_').unwrap_or((place, "XX"));
    let is_language = (2..=3).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_lowercase())
        && country.bytes().all(|byte| byte.is_ascii_uppercase());
    // Without a character set, some have one of those.
    let is_east = text == place && matches!(language, "ja" | "ko" | "th" | "vi" | "zh");
    let set = set.to_ascii_lowercase().replace('-', "");
    let is_set = set == "utf8" || set.starts_with("iso8859");
    text.is_empty() || (matches!(place, "C" | "POSIX") || is_language && !is_east) && is_set
}

/// Whether an assignment to it changes what the shell or programs are or do.
#[must_use]
pub fn is_power_variable(name: &str) -> bool {
    if is_plain_variable(name) || INERT.contains(&name) {
        return false;
    }
    is_shell_variable(name)
        || POWER.contains(&name)
        || POWER_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || !name.contains(|letter: char| letter.is_ascii_lowercase()) && has_power_by_custom(name)
}

/// Whether a name looks like one that some program reads. Those are in capitals: a script's own `file_path` is not.
fn has_power_by_custom(name: &str) -> bool {
    const ENDS: [&str; 10] =
        ["_PROXY", "_OPTIONS", "_OPTS", "_PATH", "_HOME", "_PAGER", "_EDITOR", "_COMMAND", "_CMD", "_RC"];
    ENDS.iter().any(|end| name.ends_with(end)) || name.contains("_CONFIG") || name.contains("PRELOAD")
}

/// Whether an assignment to it before a program is known to be harmless, whatever the program.
///
/// A name that is neither this nor powerful (`FOO`) may mean anything to the program that it stands before; set on its
/// own it means nothing.
#[must_use]
pub fn is_plain_variable(name: &str) -> bool {
    PLAIN.contains(&name) || is_category(name)
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
            "RANDOM",
            "TEXTDOMAINDIR",
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
        for name in ["FOO", "x", "LC_", "LC_x/y", "file_path", "base_cmd", "my_config"] {
            assert_eq!((is_power_variable(name), is_plain_variable(name)), (false, false), "{name}");
        }
    }
}
