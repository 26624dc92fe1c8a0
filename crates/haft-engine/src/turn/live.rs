//! A turn that is fed while the model still writes.

use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

use super::{
    Call, Event, Interrupt,
    drive::{Driven, Feed, drive_undelivered},
    event::{EventStream, Events},
};
use crate::{result::ToolResult, session::Session};

/// A running turn. Push calls as their blocks close, close it when the message is complete, watch it, and take the
/// results. Dropping it cancels what runs.
///
/// Before it is closed, only calls that change nothing start.
pub struct LiveTurn {
    calls: Option<UnboundedSender<Call>>,
    events: EventStream,
    interrupt: Interrupt,
    session: Session,
    driver: JoinHandle<Driven>,
}

impl LiveTurn {
    pub(crate) fn start(session: Session, interrupt: Interrupt) -> LiveTurn {
        let (calls, feed) = unbounded_channel();
        let (events, stream) = Events::channel(&session);
        let watched = interrupt.clone();
        let driven = session.clone();
        let driver =
            tokio::spawn(
                async move { drive_undelivered(&driven, Feed::Live(feed), &events, &watched).await },
            );
        LiveTurn { calls: Some(calls), events: stream, interrupt, session, driver }
    }

    /// The model's next call. Gives it back if the turn takes no more: it was closed or interrupted.
    pub fn push(&self, call: Call) -> Result<(), Call> {
        match &self.calls {
            Some(calls) => calls.send(call).map_err(|refused| refused.0),
            None => Err(call),
        }
    }

    /// The message is complete: calls that change something may start.
    pub fn close(&mut self) {
        self.calls = None;
    }

    /// Stops the turn. See [`Interrupt`].
    pub fn interrupt(&self) {
        self.interrupt.trigger();
    }

    /// What happens, as it happens. `None` once the turn is over.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.next().await
    }

    /// Closes the turn and waits for all results, in the order of the calls.
    pub async fn results(mut self) -> Vec<ToolResult> {
        self.close();
        match (&mut self.driver).await {
            Ok(driven) => driven.deliver(&self.session),
            Err(err) if err.is_panic() => std::panic::resume_unwind(err.into_panic()),
            Err(_) => Vec::new(),
        }
    }
}

impl Drop for LiveTurn {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// For logs.
impl std::fmt::Debug for LiveTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveTurn").field("is_closed", &self.calls.is_none()).finish_non_exhaustive()
    }
}
