//! The loop, with a model that follows a script behind HTTP, and an engine with tools that wait, grow and tell.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod kit; //       a stage for an agent
mod answers; //   what a run comes to
mod streams; //   calls while the model writes, and answers that break off
mod stopped; //   interrupts, limits, circles
mod dropped; //   runs that nobody waits for any more
mod background; // work in the background, and who hears of it
mod requests; //  what the API is sent, turn after turn
mod compacts; //  conversations that become too long
mod kept; //      what is kept, and going on with it
mod delegate; //  agents that an agent starts
