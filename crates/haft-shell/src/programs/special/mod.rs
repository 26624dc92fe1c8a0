//! Programs whose words say more than a table can.

mod builtin; // test, printf, declare, read, set, …
mod shell; //   sh, eval, trap, source
mod wrap; //    env, xargs, sudo, watch, …
mod find;
mod sed;
mod awk;
mod file; //    tar, dd, kill
pub(super) mod git;
mod system; //  ps, python

use super::{Facts, judge::Case};

/// Which code looks at it. The names are those of `by=` in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    Alias,
    Arithmetic,
    Awk,
    Command,
    Dd,
    Declare,
    Env,
    Eval,
    Find,
    Flock,
    ForeignShell,
    GitCheckout,
    GitRestore,
    Kill,
    Loose,
    Parallel,
    Ps,
    Python,
    Sed,
    Set,
    Shell,
    Source,
    Ssh,
    Sudo,
    SwitchUser,
    Tar,
    Test,
    Trap,
    Variables,
    Watch,
    Wraps,
    Xargs,
}

impl Special {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "alias" => Special::Alias,
            "arithmetic" => Special::Arithmetic,
            "awk" => Special::Awk,
            "command" => Special::Command,
            "dd" => Special::Dd,
            "declare" => Special::Declare,
            "env" => Special::Env,
            "eval" => Special::Eval,
            "find" => Special::Find,
            "flock" => Special::Flock,
            "foreign_shell" => Special::ForeignShell,
            "git_checkout" => Special::GitCheckout,
            "git_restore" => Special::GitRestore,
            "kill" => Special::Kill,
            "loose" => Special::Loose,
            "parallel" => Special::Parallel,
            "ps" => Special::Ps,
            "python" => Special::Python,
            "sed" => Special::Sed,
            "set" => Special::Set,
            "shell" => Special::Shell,
            "source" => Special::Source,
            "ssh" => Special::Ssh,
            "sudo" => Special::Sudo,
            "switch_user" => Special::SwitchUser,
            "tar" => Special::Tar,
            "test" => Special::Test,
            "trap" => Special::Trap,
            "variables" => Special::Variables,
            "watch" => Special::Watch,
            "wraps" => Special::Wraps,
            "xargs" => Special::Xargs,
            _ => return None,
        })
    }

    pub(super) fn judge(self, case: &Case<'_>) -> Facts {
        match self {
            Special::Alias => builtin::alias(case),
            Special::Arithmetic => builtin::arithmetic(case),
            Special::Awk => awk::judge(case),
            Special::Command => wrap::command(case),
            Special::Dd => file::dd(case),
            Special::Declare => builtin::declare(case),
            Special::Env => wrap::env(case),
            Special::Eval => shell::eval(case),
            Special::Find => find::judge(case),
            Special::Flock => wrap::flock(case),
            Special::ForeignShell => shell::foreign(case),
            Special::GitCheckout => git::checkout(case),
            Special::GitRestore => git::restore(case),
            Special::Kill => file::kill(case),
            Special::Loose => wrap::loose(case),
            Special::Parallel => wrap::parallel(case),
            Special::Ps => system::ps(case),
            Special::Python => system::python(case),
            Special::Sed => sed::judge(case),
            Special::Set => builtin::set(case),
            Special::Shell => shell::shell(case),
            Special::Source => shell::source(case),
            Special::Ssh => wrap::ssh(case),
            Special::Sudo => wrap::sudo(case),
            Special::SwitchUser => wrap::switch_user(case),
            Special::Tar => file::tar(case),
            Special::Test => builtin::test(case),
            Special::Trap => shell::trap(case),
            Special::Variables => builtin::variables(case),
            Special::Watch => wrap::watch(case),
            Special::Wraps => wrap::wraps(case),
            Special::Xargs => wrap::xargs(case),
        }
    }
}

/// Commands that the shell runs itself, without a look at `PATH`.
const BUILT_IN: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Whether the shell runs it itself.
pub(crate) fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name)
}

/// Names that sed and awk know as their own output.
fn is_screen(name: &str) -> bool {
    matches!(name, "/dev/stdout" | "/dev/stderr" | "/dev/null")
}
