//! How a person sees the calls of a session, moment after moment.
//!
//! A tool draws its calls from their input, and an event says only what is new. This keeps what is needed in between, so that
//! every front end asks the tools in the same way.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use haft_tool::{CallId, FaultKind, Moment, View};
use serde_json::Value;

use super::Event;
use crate::{pool::Pool, result::ToolResult, session::Session};

/// A call at one of its moments, as its tool draws it.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// Which call.
    pub call: CallId,
    /// The tool's name in the pool.
    pub tool: String,
    /// At which moment.
    pub stage: Stage,
    /// What is to be seen.
    pub view: View,
}

/// The moments of a call, as [`Moment`] has them, for whoever keeps a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It waits for another call, or to be permitted. The view is one line that describes it.
    Queued,
    /// It runs.
    Using,
    /// It has something to say while it runs.
    Progress,
    /// It worked, and ran so long.
    Done(Duration),
    /// It did not.
    Failed(Duration),
    /// Somebody said no.
    Refused,
}

/// Draws the calls of a session from the events of its turns, in the order in which they come.
///
/// ```
/// use haft_engine::{Call, Engine, Session, SessionOptions, turn::Views};
///
/// async fn show(session: &Session, calls: Vec<Call>) {
///     let mut views = Views::new(session);
///     let mut turn = session.live_turn();
///     calls.into_iter().for_each(|call| drop(turn.push(call)));
///     turn.close();
///     while let Some(event) = turn.next().await {
///         if let Some(drawn) = views.draw(&event) {
///             println!("{} {:?}: {:?}", drawn.call, drawn.stage, drawn.view);
///         }
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Views {
    session: Session,
    /// The calls that run.
    open: HashMap<CallId, Open>,
}

#[derive(Debug)]
struct Open {
    tool: String,
    input: Arc<Value>,
    pool: Arc<Pool>,
}

impl Views {
    /// For the turns of a session.
    pub fn new(session: &Session) -> Views {
        Views { session: session.clone(), open: HashMap::new() }
    }

    /// What an event changes to the eye; `None` if nothing.
    pub fn draw(&mut self, event: &Event) -> Option<Drawn> {
        match event {
            Event::Queued { call, tool, description } => {
                Some(drawn(call, tool, Stage::Queued, View::text(description)))
            }
            Event::Started { call, tool, input, .. } => {
                let open = Open { tool: tool.clone(), input: input.clone(), pool: self.session.pool() };
                let view = open.view(Moment::Using);
                self.open.insert(call.clone(), open);
                Some(drawn(call, tool, Stage::Using, view))
            }
            Event::Progress { call, progress } => {
                let open = self.open.get(call)?;
                Some(drawn(call, &open.tool, Stage::Progress, open.view(Moment::Progress(progress))))
            }
            Event::Finished(result) => Some(self.finished(result)),
            _ => None,
        }
    }

    fn finished(&mut self, result: &ToolResult) -> Drawn {
        let open = self.open.remove(&result.call);
        let tool = open.map_or_else(|| result.tool.clone(), |open| open.tool);
        let took = Duration::from_micros(result.meta.duration_us);
        let stage = match result.fault.map(|fault| fault.kind) {
            None => Stage::Done(took),
            Some(FaultKind::Denied) => Stage::Refused,
            Some(_) => Stage::Failed(took),
        };
        let view = result.view.as_deref().cloned().unwrap_or_else(|| View::text(result.text()));
        drawn(&result.call, &tool, stage, view)
    }
}

impl Open {
    /// The tool's own drawing, unless it breaks over it.
    fn view(&self, moment: Moment<'_>) -> View {
        let own = std::panic::catch_unwind(AssertUnwindSafe(|| {
            self.pool.find(&self.tool).map(|entry| entry.tool().view(&self.input, moment))
        }));
        own.ok().flatten().unwrap_or_else(|| View::general(&self.tool, moment))
    }
}

fn drawn(call: &CallId, tool: &str, stage: Stage, view: View) -> Drawn {
    Drawn { call: call.clone(), tool: tool.to_owned(), stage, view }
}
