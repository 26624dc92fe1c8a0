//! The contract between a tool and the runtime that calls it.
//!
//! This is all an author of tools needs, and it is a crate of its own so that writing a tool never means compiling
//! an engine. Read it in the order of the modules: what a [`Tool`] is, what is fixed about it ([`Spec`]), what a call
//! is going to do ([`Effects`]), what it may use while it runs ([`Cx`]), and what comes back ([`Reply`] or [`Fault`]).
//!
//! Not here: pools, policies, turns, files, processes, networks. A tool cannot know which model or door called it.
//!
//! ```
//! use haft_tool::{Cx, Effects, Fault, Reply, Spec, Tool};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! /// Adds two numbers.
//! ///
//! /// Use it for sums that must be exact.
//! #[derive(Deserialize, JsonSchema)]
//! struct AddInput {
//!     /// The first number.
//!     a: f64,
//!     /// The second number.
//!     b: f64,
//! }
//!
//! struct Add;
//!
//! impl Tool for Add {
//!     type Input = AddInput;
//!     const SPEC: Spec = Spec::new("Add");
//!
//!     fn effects(&self, _input: &AddInput) -> Effects {
//!         Effects::none()
//!     }
//!
//!     async fn call(&self, input: AddInput, _cx: &Cx) -> Result<Reply, Fault> {
//!         Ok(Reply::text((input.a + input.b).to_string()))
//!     }
//! }
//! ```

mod tool; //     what an author writes
mod spec; //     what is fixed about a tool
mod schema; //   the shape of its input, made from the type
mod path; //     paths that arrive absolute
mod address; //  which addresses are public
mod shown; //    how names that are no text are written
pub mod front_matter; // texts that begin with fields
mod effects; //  what a call is going to do
mod cx; //       what a running call may use
mod files; //    the door to the file system among it
pub mod protected; // names that other programs run or obey later
mod grant; //    what its processes may touch
mod task; //     work that goes on after its call
mod walk; //     all that lies below a directory
mod reply; //    what comes back
mod fault; //    what comes back when it does not work
mod view; //     how a person sees it
mod any; //      the object-safe twin that an engine works on
mod closure; //  tools without a type of their own

pub use address::{address_of, granted_form, host_in_one_form, is_local_name, is_public, split_port};
pub use any::{AnyTool, Bound, BoxFuture, IntoTool, SharedTool};
pub use closure::{ToolBuilder, tool};
pub use cx::{
    CallId, Caller, Cx, Host, Keeper, Kept, NoHost, Permission, PermissionRequest, Progress, SessionFacts,
    SessionId,
};
pub use effects::{
    Access, Below, Certainty, Class, CommandEffect, Effects, HostEffect, Located, MACHINE, Mention,
    OTHER_CALLS, PathEffect, Reversal, Spelling, Spread, StateEffect, overlap,
};
pub use fault::{Fault, FaultKind, Refusal};
pub use files::{FileChange, Files, Hidden, Piece, Sight, Stamp, without_hidden};
pub use grant::{Grant, ReadScope, ResourceLimits};
pub use path::{AbsolutePath, PathBase, by_text};
pub use reply::{Action, Block, Change, Reply, Whole};
pub use schema::Schema;
pub use shown::{Shown, shown, unshown};
pub use spec::{Availability, CostTier, Interrupt, Limit, Load, Spec};
pub use task::{Task, TaskNews, TaskState, Tasks};
pub use tool::Tool;
pub use view::{Moment, View};
pub use walk::{Details, Flow, Found, Kind, Visitor, Walk, Walked};
