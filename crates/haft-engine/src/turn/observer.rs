//! Those who hear of every turn: logs, spans, metrics.
//!
//! A watcher looks at one turn, because it asked to. An observer is there from the beginning, for all sessions of an
//! engine, whichever door calls come through. It changes nothing, and nothing waits for it; where there is none, nothing
//! is made for it.

use haft_tool::{CallId, SessionFacts};

use super::Event;
use crate::result::ToolResult;

/// Hears what happens in all sessions of an engine.
pub trait Observer: Send + Sync {
    /// A turn of this session begins. Asked in the task that begins it, before anything else. `None`: this one is not of
    /// interest, and costs nothing more.
    fn turn(&self, session: &SessionFacts) -> Option<Box<dyn TurnObserver>>;
}

/// Hears one turn. It is told in the task that runs the calls, between them: it must not wait, and should do little.
///
/// It is dropped with the turn, or a little later if something of the turn goes on after it.
pub trait TurnObserver: Send + Sync {
    /// Something happened to a call. Progress is not told: it is for the eye.
    fn event(&self, event: &Event);

    /// Every call has its result, as the model gets it: a result may have been shortened after it had finished. Not told
    /// of a turn that was given up.
    fn ended(&self, results: &[ToolResult]);

    /// By which name a call is known in traces: a `traceparent` of W3C Trace Context. Tools hand it to whom they ask.
    fn traceparent(&self, _call: &CallId) -> Option<String> {
        None
    }
}
