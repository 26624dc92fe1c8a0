//! Hooks as real programs, in a real session with the built-in tools.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod kit; //    a project, some hooks, a session
mod usual; //  hooks as people write them
mod rough; //  hooks that hang, flood, break and leave things behind
