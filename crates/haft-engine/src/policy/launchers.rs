//! Programs that run what their arguments say: to allow one with anything after it is to allow everything.

/// Shells, interpreters, and whatever starts other programs or scripts by its arguments or by files that a model may write.
const PROGRAMS: &[&str] = &[
    // shells
    "ash",
    "bash",
    "csh",
    "dash",
    "elvish",
    "fish",
    "ksh",
    "mksh",
    "nu",
    "powershell",
    "pwsh",
    "rbash",
    "sh",
    "tcsh",
    "xonsh",
    "yash",
    "zsh",
    // interpreters
    "awk",
    "bun",
    "deno",
    "elixir",
    "erl",
    "expect",
    "gawk",
    "ghci",
    "guile",
    "groovy",
    "irb",
    "java",
    "jshell",
    "julia",
    "lua",
    "luajit",
    "mawk",
    "nawk",
    "node",
    "nodejs",
    "ocaml",
    "osascript",
    "perl",
    "php",
    "pypy",
    "pypy3",
    "python",
    "python2",
    "python3",
    "R",
    "racket",
    "ruby",
    "Rscript",
    "runghc",
    "sbcl",
    "scala",
    "sqlite3",
    "swift",
    "tclsh",
    "ts-node",
    "tsx",
    // what runs another command
    "at",
    "batch",
    "builtin",
    "busybox",
    "chroot",
    "chrt",
    "command",
    "coproc",
    "crontab",
    "doas",
    "env",
    "eval",
    "exec",
    "fakeroot",
    "find",
    "firejail",
    "flatpak",
    "flock",
    "ionice",
    "ltrace",
    "make",
    "gmake",
    "ninja",
    "just",
    "task",
    "nice",
    "nohup",
    "nsenter",
    "numactl",
    "parallel",
    "pkexec",
    "proot",
    "rlwrap",
    "runuser",
    "script",
    "screen",
    "setarch",
    "setpriv",
    "setsid",
    "source",
    "ssh",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "sudoedit",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "tmux",
    "toolbox",
    "trap",
    "unbuffer",
    "unshare",
    "watch",
    "watchexec",
    "entr",
    "xargs",
    "xvfb-run",
    // editors and pagers with a shell inside
    "ed",
    "emacs",
    "ex",
    "less",
    "man",
    "more",
    "nano",
    "nvim",
    "vi",
    "view",
    "vim",
    // machines, containers, clusters
    "ansible",
    "ansible-playbook",
    "docker",
    "docker-compose",
    "kubectl",
    "lxc",
    "nerdctl",
    "podman",
    "vagrant",
    // what fetches and runs
    "npx",
    "bunx",
    "pipx",
    "uvx",
    "pnpx",
    "nix",
    "nix-shell",
    "gdb",
    "lldb",
    "git",
    "hg",
    "rsync",
    "scp",
    "sftp",
    "tar",
    "rpm",
    "dpkg",
    "apt",
    "apt-get",
    "brew",
    "msbuild",
    "gradle",
    "gradlew",
    "mvn",
    "ant",
    "rake",
    "tox",
    "nox",
];

/// Of programs with commands of their own, those that run scripts.
const COMMANDS: &[(&str, &[&str])] = &[
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

/// Whether these words with anything after them may run anything.
pub(super) fn runs_others(words: &[&str]) -> bool {
    let Some((program, rest)) = words.split_first() else { return true };
    let name = program.rsplit('/').next().unwrap_or(program);
    let next = rest.first().copied().unwrap_or_default();
    let runs_scripts = |(own, commands): &(&str, &[&str])| *own == name && commands.contains(&next);
    is_one_of(name) || COMMANDS.iter().any(runs_scripts)
}

/// Also with a version behind the name: `python3.12`, `lua5.4`.
fn is_one_of(name: &str) -> bool {
    let stem = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    PROGRAMS.contains(&name) || (!stem.is_empty() && PROGRAMS.contains(&stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_anything_is_known_by_its_first_words() {
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
            let words: Vec<&str> = line.split(' ').collect();
            assert!(runs_others(&words), "{line}");
        }
        for line in ["cargo test", "ls", "npm view", "rg", "go vet", "pytest", "eslint"] {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(!runs_others(&words), "{line}");
        }
    }
}
