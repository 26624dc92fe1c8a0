//! How do the calls of one turn run?
//!
//! A turn is a list of calls. Each is understood first (`pipeline`, steps 1–3), then waits until the [`Scheduler`] lets
//! it run beside or after the others, and then walks through the rest of the pipeline. Not here: what tools do, who may
//! do what, and what an API's messages look like.

mod call; //       what the model asked for
mod scheduler; //  who may run beside whom
mod pipeline; //   one call, from JSON to result
mod drive; //      all calls of a turn
mod live; //       a turn that is fed while the model writes
mod event; //      what a watcher sees
mod views; //      how a person sees it
mod observer; //   who hears of every turn
mod interrupt; //  stopping it
mod hook; //       code that is asked before, after and around calls
mod kernel; //     tools that see the runtime

pub use call::{Arguments, Call};
pub use drive::Within;
pub(crate) use drive::{Feed, drive};
pub use event::Event;
pub(crate) use event::Events;
pub use hook::{Hook, Now, Occasion};
pub use interrupt::Interrupt;
pub use kernel::{Kernel, KernelCx};
pub use live::LiveTurn;
pub use observer::{Observer, TurnObserver};
pub use pipeline::Retry;
pub(crate) use pipeline::{CallCx, NotifyingAsker, Prepared, ToldAddition, hide_secrets, prepare};
pub use scheduler::{CallIndex, Scheduler};
pub use views::{Drawn, Stage, Views};
