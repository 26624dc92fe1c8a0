//! The engine as an embedder uses it.

mod kit; //      what the tests share
mod turns; //    how the calls of a turn run together
mod limits; //   time-outs, interrupts, retries, panics
mod inputs; //   what becomes of wrong names and arguments
mod seams; //    hooks, journal, asker, kernel
mod hooks; //    who is asked before and after, and whose word counts
mod secrets; //  what must not come out
mod results; //  budgets and spilled results
mod random; //   turns made by chance
