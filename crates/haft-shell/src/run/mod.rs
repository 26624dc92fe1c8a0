//! A process: started, listened to, ended.
//!
//! Whatever haft runs is started here. [`Launch`] says what and how; [`Process`] is the running thing. A thread of its own
//! listens to each process: it needs no runtime, so a process is looked after whoever polls what, and its output is
//! taken in as fast as it comes. What is kept in memory is bounded; the whole goes to a file while it streams.
//!
//! A process ends with all that it started. Whoever drops a [`Process`] ends it.
//!
//! Not here: what a command means, what it may do ([`Fence`] is the seam for whoever confines it), and what a model is
//! told about it.

mod launch; //   what is to run, and how
mod confined; // the sandbox around it
mod bash; //     a command for bash, and where it leaves off
mod start; //    the child, from fork to exec
mod pipes; //    its stdin and stdout as pipes to its owner
mod guard; //    who ends a server when haft cannot
mod line; //     a line to it, besides input and output
mod process; //  the running thing, as its owner sees it
mod listen; //   the thread that listens to it
mod tree; //     all that it started
mod ended; //    how it ended
mod output; //   what it wrote, with bounded memory
mod clean; //    its text without what only terminals need
mod window; //   the beginning and the end of a stream
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_pipes;

pub use bash::{LONGEST_COMMAND, bash_program, inherited};
pub use confined::{confined, confined_with_directories};
pub use ended::{Ended, Status, Stopped, signal_name};
pub use launch::{Confine, Fence, Launch, Room, Spill, Unfenced};
pub use output::{Cut, Output, Piece};
pub use pipes::Ends;
pub use process::{Process, TimeLimit, TimeLimitPause};
pub use start::{PASSED, SPOKEN};
