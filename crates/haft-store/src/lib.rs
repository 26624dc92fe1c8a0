//! What happened, kept.
//!
//! The engine says what happens ([`haft_engine::session::Journal`]); here it is written down, found again, and used so that
//! a call which comes twice is made once. It is a crate because it keeps databases away from everybody else, and because
//! an engine without a memory must stay possible.
//!
//! [`Journal`] implements the engine's trait, once, over any [`Book`]. A book is what a database must be able to do: there is one
//! on SQLite for a machine, and one in memory for tests.
//! Not here: what is recorded when (the engine), and what people see of it (the command line).

mod record; //     what a row holds
mod result; //     a result as text, and back
mod book; //       what a backend must do
mod journal; //    the engine's journal, over any book
mod memory; //     a book for tests
mod sqlite; //     the book of one machine
#[cfg(feature = "postgres")]
mod postgres; //   the book of several machines
pub mod blobs; //  bytes that do not change, found by what they are
mod due; //        what is done once a day
pub mod results; // large results, and how long they are kept
#[cfg(feature = "objects")]
mod far_results; // large results that several machines share
pub mod images; // what files were before calls changed them

pub use book::{
    Book, BookError, Bookmark, CallFilter, Claimed, Document, Durability, EventFilter, Limits, Page, Pruned,
    Retention,
};
#[cfg(feature = "objects")]
pub use far_results::SharedResults;
pub use journal::{Inspector, Journal, OnFailure};
pub use memory::MemoryBook;
#[cfg(feature = "postgres")]
pub use postgres::{LEASE, PostgresBook};
pub use record::{
    AnyRow, CallNo, CallRow, Claim, Entry, EventKind, EventRow, Instant, Outcome, PathRow, SessionRow, Turn,
    TurnRow, WholeCall,
};
pub use result::{restore, restore_blocks, store, store_blocks};
pub use sqlite::SqliteBook;
