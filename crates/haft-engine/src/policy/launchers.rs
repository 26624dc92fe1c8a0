//! Programs that run other programs or scripts: for which of them do the words say what runs?
//!
//! Whoever always allows `sh` allows everything that somebody pipes into it. The words are all that a rule sees, so there is
//! a rule only where they settle it.

/// They run what other words, or what comes in, tell them: no rule for their words is narrow.
const RUN_OTHERS: &str = "\
    . ansible at batch builtin busybox capsh chroot chrt command coproc crontab dbus-run-session doas ed \
    emacs entr env eval ex exec expect fakeroot firejail flock gdb ionice lldb ltrace mongosh mosh mysql nc \
    ncat nice nohup nsenter nvim parallel pkexec prlimit proot psql redis-cli rlwrap runuser script screen \
    setpriv setsid socat source sqlite3 ssh stdbuf strace su sudo systemd-run taskset telnet time timeout \
    tmux trap unbuffer unshare vi vim watch wsl xargs";

/// They run a script: the one that is named, or whatever comes in.
const RUN_SCRIPTS: &str = "\
    ash bash bun csh dash deno elixir fish groovy guile irb julia ksh lua luajit mksh node nodejs osascript \
    perl php powershell pwsh pypy pypy3 python r racket rscript ruby sh tcl tclsh tcsh tsx ts-node wish zsh";

/// Modules of Python that take all they do from their words and the project.
const MODULES: &[&str] = &[
    "black",
    "build",
    "compileall",
    "flake8",
    "isort",
    "mypy",
    "pylint",
    "pytest",
    "ruff",
    "unittest",
    "venv",
];

/// Whether the words of a command say what it runs, so that the same words are the same deed.
pub(super) fn says_what_runs(argv: &[String]) -> bool {
    let Some((program, words)) = argv.split_first() else { return false };
    let takes_in = |word: &String| {
        word == "-" || word.contains("/dev/stdin") || word.contains("/dev/fd") || word.contains("/proc/")
    };
    if words.iter().any(takes_in) || is_among(program, RUN_OTHERS) {
        return false;
    }
    // `docker exec box sh` is as open as `sh`. A dot among them is a directory.
    let hands_on = |word: &String| word != "." && (is_among(word, RUN_OTHERS) || is_script_runner(word));
    if is_script_runner(program) { names_its_script(words) } else { !words.iter().any(hands_on) }
}

fn names_its_script(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        ["-c" | "-e" | "-r", code, ..] => !code.is_empty(),
        ["-m", module, ..] => MODULES.contains(&module),
        ["repl", ..] => false,
        [script, ..] => !script.is_empty() && !script.starts_with('-'),
        [] => false,
    }
}

/// `python3.12` is `python`.
fn is_script_runner(word: &str) -> bool {
    let name = base_name(word);
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUN_SCRIPTS.split(' ').any(|known| known == name || known == unversioned)
}

fn is_among(word: &str, names: &str) -> bool {
    let name = base_name(word);
    names.split(' ').any(|known| known == name)
}

fn base_name(word: &str) -> String {
    word.rsplit('/').next().unwrap_or(word).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: bool) {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(says_what_runs(&argv), expected, "{line}");
    }

    #[test]
    fn a_program_with_all_its_words_says_what_it_runs() {
        for line in [
            "git commit -m x",
            "npm run build",
            "make",
            "cargo test",
            "python manage.py",
            "bash build.sh -x",
            "docker build .",
        ] {
            check(line, true);
        }
        check("python3.12 -m pytest", true);
        check("node -e 1", true);
    }

    #[test]
    fn what_runs_what_comes_in_or_follows_does_not() {
        for line in [
            "sh",
            "bash -s",
            "python",
            "python3.12 -",
            "python -X dev",
            "node -i",
            "python -m code",
            "deno repl",
            "bash /dev/stdin",
            "xargs rm",
            "sudo make",
            "env A=1 make",
            "ssh host",
            "psql app",
            "docker exec box sh",
            "kubectl exec pod -- /bin/bash",
            "git apply -",
            "/usr/bin/env make",
            "PYTHON",
        ] {
            check(line, false);
        }
    }
}
