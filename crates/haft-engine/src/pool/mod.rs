//! Which tools does the model see?
//!
//! Tools come from [`Source`]s. Before each turn a [`PoolBuilder`] asks them what they have and makes a [`Pool`] of
//! it: an immutable snapshot, in an order that keeps a model's prompt cache valid. What is left out is not forgotten:
//! [`Pool::problems`] says of every absent tool why. Read it in the order of the modules.
//!
//! Not here: whether a call may run (the policy only tells which tools are hidden), and the JSON of any provider.

mod offer; //      one tool as it is offered to a model
mod source; //     where do tools come from?
mod names; //      what are they called?
mod toolset; //    which of them are wanted here?
mod filtered; //   a source of which only some tools are wanted
mod entry; //      a tool in the pool
mod problem; //    why is a tool not in the pool?
mod pins; //       does it still say what it said when it was first permitted?
mod contents; //   what was made of a source
mod deferral; //   whose schema waits until it is searched for?
mod found; //      how do its tools stay findable cheaply?
mod listing; //    what is told of those that wait?
mod snapshot; //   the tools of one turn
mod select; //     which tools get into it, and under which names?
mod build; //      from sources to a snapshot, and to the next one
mod nearest; //    what did the model mean by an unknown name?
mod arguments; //  what a schema says of each argument
pub mod search; // how is a deferred tool found?
mod lint; //       is the model told enough, and not too much?

pub use build::{PoolBuilder, PoolView};
pub use deferral::{Loading, TOOL_SEARCH, Thresholds, estimate};
pub use entry::Entry;
pub use filtered::Filtered;
pub use lint::{Finding, FindingKind, lint};
pub use names::{BadName, check_plain, mangle, split};
pub use nearest::nearest;
pub use offer::Offer;
pub use pins::{MemoryPins, Pins, Statement};
pub use problem::{Problem, ProblemKind};
pub use snapshot::Pool;
pub use source::{DuplicateTool, LiveSource, Source, StaticSource};
pub use toolset::{Filter, ToolsetError, Toolsets, is_like};

#[cfg(test)]
mod testing; //    pools written as text
