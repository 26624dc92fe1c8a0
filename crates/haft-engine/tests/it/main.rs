//! The engine as an embedder uses it.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod kit; //      what the tests share
mod turns; //    how the calls of a turn run together
mod limits; //   time-outs, interrupts, retries, panics
mod inputs; //   what becomes of wrong names and arguments
mod children; // sessions of sub-agents
mod permissions; // what running calls ask for
mod asking; //   questions and answers, and modes
mod refusals; // what a model reads when it may not
mod judge; //    a model in the person's place
mod observers; // those who hear of every turn
mod pins; //     tools of servers that change
mod seams; //    hooks, journal, asker, kernel
mod hooks; //    who is asked before and after, and whose word counts
mod secrets; //  what must not come out
mod views; //    what a person sees of calls
mod results; //  budgets and spilled results
mod search; //   finding tools among many
mod random; //   turns made by chance
mod tenants; //   several users of one engine
