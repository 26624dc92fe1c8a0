//! How much a command may use.
//!
//! The kernel bounds what one process does: the size of a file, the files that it has open. What all processes of a command use
//! together is measured from outside by one thread for all sandboxes ([`watch`]), which ends the command that passes a bound.
//! Memory is what is in use: compilers, browsers and virtual machines reserve many times as many addresses as they ever touch.

mod exceeded; // the bound that was passed, in words
mod usage; //    what the processes of a command use
mod machine; //  what the machine can spare
mod disk; //     what is left on a file system
mod watched; //  a sandbox that is measured
mod watch; //    the thread that measures
#[cfg(test)]
mod tests;

pub use exceeded::{LimitExceeded, Resource};
use haft_tool::ResourceLimits;
pub(super) use watched::{KillSwitch, Watched};

use super::sys::{Answer, limit};

/// How many bytes of memory a command that begins now may use where nothing else is set.
pub fn spare_memory() -> u64 {
    machine::Machine::now().map_or(u64::MAX, |machine| machine.spare())
}

/// Sets the bounds that the kernel keeps for this process and all that it starts. There are no core files: they would be copies of its secrets.
pub(super) fn enforce(limits: &ResourceLimits) -> Answer {
    limit(libc::RLIMIT_CORE, 0)?;
    for (resource, value) in [
        (libc::RLIMIT_NPROC, limits.processes.map(kernel_processes)),
        (libc::RLIMIT_FSIZE, limits.file_size),
        (libc::RLIMIT_NOFILE, limits.open_files),
    ] {
        value.map_or(Ok(()), |value| limit(resource, value))?;
    }
    Ok(())
}

/// A little more than is allowed: at the bound itself `fork` fails and a fork bomb lives on; past it the command is ended.
fn kernel_processes(processes: u64) -> u64 {
    processes.saturating_add(processes / 4).saturating_add(16)
}
