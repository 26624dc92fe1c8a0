//! What operators see of haft: spans and metrics by OpenTelemetry, and logs.
//!
//! It hears what the engine tells its observers ([`Observer`](haft_engine::turn::Observer)) and puts it into the words of
//! the semantic conventions for generative AI and MCP. The engine knows nothing of it, and where it is not configured it
//! costs nothing: no thread, no event, no allocation.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use haft_engine::Engine;
//! use haft_otel::Telemetry;
//!
//! // As the variables OTEL_… say; `None` if they ask for nothing. Keep it: it sends the rest when it is dropped.
//! let telemetry = Telemetry::from_env()?;
//! let mut builder = Engine::builder();
//! if let Some(telemetry) = &telemetry {
//!     builder = builder.observer(telemetry.observer());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A program with a pipeline of its own gives its tracer and its meter instead: [`CallObserver::new`].
//!
//! It is a crate because it keeps the OpenTelemetry SDK, its protobuf and its HTTP client away from everybody else. Not
//! here: what happens to a call, and what may be shown of it. Texts come redacted, and content only if it is asked for.

mod wanted; //       what do the variables ask for?
mod telemetry; //    where does it go, and when is it gone?
mod words; //        what are things called in the conventions?
mod parent; //       which trace does it belong to?
mod calls; //        turns and calls as spans
mod instruments; //  … and as metrics
#[cfg(feature = "mcp")]
mod requests; //     requests of MCP as both
pub mod logs; //     … and all of it as lines

pub use calls::CallObserver;
pub use parent::Parent;
#[cfg(feature = "mcp")]
pub use requests::RequestObserver;
pub use telemetry::Telemetry;
pub use wanted::Unusable;
