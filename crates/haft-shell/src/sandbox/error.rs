//! Why there is no sandbox. Every one of these means that nothing was run.

use std::{io, path::PathBuf};

/// Why a process cannot be confined as asked. It was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A path of the policy cannot be used.
    #[error("the sandbox cannot {what} {}: {why}", path.display())]
    Path {
        /// What was to be done with it: a verb.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The policy contradicts itself.
    #[error("{0}")]
    Policy(String),
    /// The kernel cannot give all that is required.
    #[error("a complete sandbox is required, and here it would be: {0}")]
    Required(String),
    /// A step of building it failed.
    #[error("the sandbox could not be built: {step}: {why}")]
    Build {
        /// Which step, and with what.
        step: String,
        /// What the kernel said.
        why: io::Error,
    },
    /// The sandbox was ready, the program was not.
    #[error("the program could not be started: {0}")]
    Start(io::Error),
    /// The hosts cannot be served.
    #[error("the proxy for the allowed hosts cannot run: {0}")]
    Proxy(io::Error),
}

impl SandboxError {
    pub(super) fn path(what: &'static str, path: impl Into<PathBuf>, why: impl ToString) -> SandboxError {
        SandboxError::Path { what, path: path.into(), why: why.to_string() }
    }

    pub(super) fn build(step: impl Into<String>, why: impl Into<io::Error>) -> SandboxError {
        SandboxError::Build { step: step.into(), why: why.into() }
    }
}
