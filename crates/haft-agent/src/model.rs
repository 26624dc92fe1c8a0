//! Who is asked: a model that answers in events.
//!
//! The client of `haft-model` is one. A trait, because a show or a test has a model that follows a script, and because
//! agents that share one should not know what it is.

use haft_model::{Assistant, ModelError, Request, StreamEvent};
use haft_tool::BoxFuture;

/// Answers requests. Shared by all agents that ask it.
pub trait Model: Send + Sync {
    /// Asks once. What goes wrong before an answer begins is an error here; what goes wrong later is the last event of
    /// the answer. Never asks twice by itself: the loop does.
    fn stream<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Box<dyn ModelStream>, ModelError>>;
}

/// An answer as it comes.
pub trait ModelStream: Send {
    /// The next event; `None` after the last, which is `Done` or `Failed`. It may be dropped and asked again.
    fn next(&mut self) -> BoxFuture<'_, Option<StreamEvent>>;

    /// What was said so far, with what the API wants back of it. Asked once, of an answer that broke off or is stopped: of
    /// its calls those count that `next` has given out.
    fn so_far(&mut self) -> Assistant;
}

#[cfg(feature = "client")]
impl Model for haft_model::Client {
    fn stream<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Box<dyn ModelStream>, ModelError>> {
        Box::pin(async move {
            let stream = haft_model::Client::stream(self, request).await?;
            Ok(Box::new(stream) as Box<dyn ModelStream>)
        })
    }
}

#[cfg(feature = "client")]
impl ModelStream for haft_model::Stream {
    fn next(&mut self) -> BoxFuture<'_, Option<StreamEvent>> {
        Box::pin(haft_model::Stream::next(self))
    }

    fn so_far(&mut self) -> Assistant {
        haft_model::Stream::so_far(self)
    }
}
