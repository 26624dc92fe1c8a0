//! What do calls see and change?
//!
//! A session is who works where: identity, workspace, directory, mode, loaded tools. Calls see a narrow part of it and
//! change it only by what they return.

mod state; //     the session itself
mod rules; //     its rules, compiled
mod links;
mod locate; //    what a path really is
mod files; //     the one door to the file system
mod beneath; //   opening the file that was judged, and no other
mod beside; //    two things at once
mod commit; //    changing files: all of them or none
mod images; //    what files were before
mod restore; //   putting it back
mod ledger; //    what is being changed right now, for the next start
mod walk; //      all that lies below a directory
mod grant; //     what a call's processes may touch
mod tasks; //     what goes on after its call
mod host; //      what stands behind a running call
mod waiting; //   the time for which it waits for a person
mod unsandboxed; // whether it may leave the sandbox
mod memory; //    what it knows from one turn to the next
mod plan; //      what it has set out to do
mod deeds; //     what it has done
mod worktree; //  where it works instead
mod occasions; // what happens besides calls, for hooks to hear
mod failures; //  mistakes that a model repeats
mod journal; //   what lasts of a call
mod known; //     which calls came before

pub use beside::beside;
pub use deeds::Deed;
pub(crate) use failures::Failures;
pub(crate) use host::CallHost;
pub use images::{Album, Doer, Fingerprint, Images, Listener, Thing, Watch};
pub use journal::{
    CallKey, CallState, Digest, Ending, Evidence, Finished, Found, Journal, Note, Noted, PastCall, Start,
    Starting, Word,
};
pub(crate) use known::{Arrival, Did, KnownSessions};
pub(crate) use ledger::Ledger;
pub use ledger::sweep;
pub use locate::locate;
pub(crate) use locate::{Named, Places, locate_each};
pub use memory::Memory;
pub(crate) use memory::Seen;
pub use plan::{PLAN, Plan, Step, TODOS, Todo, TodoStatus};
pub use restore::{Past, Restore, RestoreError, restore};
pub use state::{ChildOptions, Explanation, Session, SessionError, SessionOptions};
pub use tasks::{TaskFacts, TaskReport};
pub(crate) use waiting::WaitingTime;
pub use walk::survey;
pub use worktree::{WORKTREE, Worktree};
