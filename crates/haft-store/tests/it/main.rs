//! What every book promises, what an engine with a journal does, and what happens when a disk, a file or a clock is bad.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod kit; //      rows and books to test with
mod books; //    the same promises for every book
mod library; //  books that several processes have in hand
mod promises; // what every book promises to all of them
mod results; //  a result is restored as it was
#[cfg(feature = "postgres")]
mod server; //   a server's tables of other versions, a process that lives for days
#[cfg(feature = "objects")]
mod objects; //  blobs and results in a bucket
mod again; //    calls that come again, through the engine
mod drops; //    runs that are dropped, through the engine
mod faults; //   full disks, damaged files, clocks that jump
mod undo; //     what calls changed is taken back
