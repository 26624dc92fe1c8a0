//! A sequence of commands, as a row of a table.

/// Commands that people run one after the other, in directories that a set-up made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sequence {
    pub(super) name: &'static str,
    /// A script of bash, with the functions of `set_up.rs`, in an empty directory. The workspace is `w`.
    pub(super) set_up: &'static str,
    pub(super) steps: &'static [Step],
    /// The user's settings of haft, in TOML.
    pub(super) settings: &'static str,
    /// Ends of names that differ from run to run.
    pub(super) ignored: &'static [&'static str],
}

/// One call of Bash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) line: &'static str,
    /// The directory in which it runs.
    pub(super) directory: &'static str,
    /// What the call declares besides its command.
    pub(super) hosts: &'static [&'static str],
    pub(super) write: &'static [&'static str],
}

impl Sequence {
    pub(super) const fn new(name: &'static str, set_up: &'static str, steps: &'static [Step]) -> Sequence {
        Sequence { name, set_up, steps, settings: "", ignored: &[] }
    }

    pub(super) const fn settings(self, settings: &'static str) -> Sequence {
        Sequence { settings, ..self }
    }

    pub(super) const fn ignoring(self, ignored: &'static [&'static str]) -> Sequence {
        Sequence { ignored, ..self }
    }
}

/// A command in the workspace.
pub(super) const fn run(line: &'static str) -> Step {
    Step { line, directory: "w", hosts: &[], write: &[] }
}

impl Step {
    pub(super) const fn inside(self, directory: &'static str) -> Step {
        Step { directory, ..self }
    }

    pub(super) const fn hosts(self, hosts: &'static [&'static str]) -> Step {
        Step { hosts, ..self }
    }

    pub(super) const fn write(self, write: &'static [&'static str]) -> Step {
        Step { write, ..self }
    }
}
