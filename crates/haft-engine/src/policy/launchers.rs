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

/// After which option the next word is the code, by program. Elsewhere the same letter may mean something else, and the script
/// still comes in: `-r` is a library to node and ruby, `-e` ends a shell at the first failure, `-c` only checks for perl.
const CODE_OPTIONS: &[(&str, &[&str])] = &[
    ("ash bash csh dash fish guile ksh mksh powershell pwsh pypy pypy3 python sh tcsh zsh", &["-c"]),
    (
        "bun elixir groovy julia lua luajit node nodejs osascript perl r racket rscript ruby ts-node tsx",
        &["-e"],
    ),
    ("bun node nodejs", &["-p", "--eval", "--print"]),
    ("julia perl", &["-E"]),
    ("php", &["-r"]),
];

/// Words in the place of a script after which more comes in. R takes no script there at all.
const READ_ON: &[(&str, &[&str])] = &[("bun deno node nodejs", &["repl", "inspect", "debug"])];

/// They run what files, hooks or containers tell them, or have options for it: exact words are fine, more words are not.
const RUN_BY_OPTIONS: &str = "\
    ansible-playbook ant apt apt-get awk brew bunx docker docker-compose dpkg find flatpak gawk git gmake gradle \
    gradlew hg java just kubectl less lxc make man mawk more msbuild mvn nano nerdctl ninja nix nix-shell nox npx \
    pipx pnpx podman rake rpm rsync scp sftp tar task tox uvx vagrant view watchexec";

/// Of programs with commands of their own, those that run scripts; the empty one is the program alone.
const RUN_BY_COMMAND: &[(&str, &[&str])] = &[
    ("npm", &["", "run", "run-script", "exec", "x", "start", "test", "t", "install", "i", "ci", "explore"]),
    ("pnpm", &["", "run", "exec", "dlx", "start", "test", "install", "i", "add"]),
    ("yarn", &["", "run", "exec", "dlx", "start", "test", "install", "add", "node"]),
    ("cargo", &["", "run", "r", "install", "bench", "xtask"]),
    ("go", &["", "run", "generate", "tool", "install"]),
    ("pip", &["", "install"]),
    ("pip3", &["", "install"]),
    ("uv", &["", "run", "tool", "pip", "sync"]),
    ("poetry", &["", "run", "install"]),
    ("pipenv", &["", "run", "install"]),
    ("bundle", &["", "exec", "install"]),
    ("composer", &["", "run", "exec", "install"]),
    ("dotnet", &["", "run", "exec", "msbuild", "test"]),
    ("mix", &["", "run", "do"]),
    ("conda", &["", "run"]),
    ("rustup", &["", "run"]),
    ("gh", &["", "alias", "extension"]),
];

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
    match script_runner(program) {
        Some(runner) => names_its_script(runner, words),
        None => !words.iter().any(hands_on),
    }
}

/// Whether these words with anything after them may run anything.
pub(super) fn runs_others(words: &[&str]) -> bool {
    let Some((program, rest)) = words.split_first() else { return true };
    let next = rest.first().copied().unwrap_or_default();
    let by_command =
        |(own, commands): &(&str, &[&str])| *own == base_name(program) && commands.contains(&next);
    is_among(program, RUN_OTHERS)
        || is_among(program, RUN_BY_OPTIONS)
        || is_script_runner(program)
        || RUN_BY_COMMAND.iter().any(by_command)
}

fn names_its_script(runner: &str, words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        [option, code, ref rest @ ..] if is_listed(CODE_OPTIONS, runner, option) => {
            !code.is_empty() && !rest.iter().any(|word| *word == "-i" || *word == "--interactive")
        }
        ["-m", module, ..] => runner.starts_with("py") && MODULES.contains(&module),
        [script, ..] => {
            let is_script = runner != "r" && !is_listed(READ_ON, runner, script);
            is_script && !script.is_empty() && !script.starts_with('-')
        }
        [] => false,
    }
}

fn is_listed(table: &[(&str, &[&str])], program: &str, word: &str) -> bool {
    table.iter().any(|(programs, words)| {
        words.contains(&word) && programs.split_whitespace().any(|known| known == program)
    })
}

fn is_script_runner(word: &str) -> bool {
    script_runner(word).is_some()
}

/// Which it is. `python3.12` is `python`.
fn script_runner(word: &str) -> Option<&'static str> {
    let name = base_name(word);
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUN_SCRIPTS.split(' ').find(|known| *known == name || *known == unversioned)
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
    fn what_runs_anything_with_more_words_is_known_by_its_first() {
        for line in [
            "bash",
            "/bin/sh",
            "python3.12",
            "env",
            "sudo",
            "xargs",
            "git",
            "git log",
            "npm run",
            "npm",
            "cargo run",
        ] {
            assert!(runs_others(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
        for line in ["cargo test", "ls", "npm view", "rg", "go vet", "pytest", "eslint"] {
            assert!(!runs_others(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
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
    fn an_option_is_followed_by_code_only_where_the_program_has_it_so() {
        for line in [
            "php -r phpinfo();",
            "php8.2 -r 1",
            "perl -E say",
            "ruby -e 1",
            "node -p 1",
            "node --eval 1",
            "bash -c ls",
            "fish -c ls",
            "python3 -c 1",
            "lua5.4 -e 1",
            "julia -e 1",
            "Rscript -e 1",
            "R -e 1",
            "node server.js -i",
        ] {
            check(line, true);
        }
        for line in [
            "node -r dotenv/config",
            "nodejs -r x",
            "ruby -r json",
            "ruby -c x",
            "perl -c x",
            "node -c x",
            "lua -r x",
            "php -e x",
            "php -c ini",
            "bash -e -s",
            "sh -e",
            "bash -r x",
            "zsh -m pytest",
            "ruby -m pytest",
            "python -e x",
            "python -r x",
            "node -e 1 -i",
            "lua -e 1 -i",
            "racket -e 1 --interactive",
            "node inspect server.js",
            "R script.R",
            "R",
            "python -c",
        ] {
            check(line, false);
        }
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
