//! What every book promises, what an engine with a journal does, and what happens when a disk, a file or a clock is bad.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod kit; //      rows and books to test with
mod books; //    the same promises for every book
mod results; //  a result is restored as it was
mod again; //    calls that come again, through the engine
mod faults; //   full disks, damaged files, clocks that jump
