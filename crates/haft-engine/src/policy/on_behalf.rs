//! Asking on behalf of a session: the question carries the session that it is asked for, also where it comes from somewhere else, such as
//! a server that a call has reached.

use std::sync::Arc;

use haft_tool::{BoxFuture, SessionFacts};

use super::{Answer, Asker, Choices, Choosing, Given, Inquiry, Invitation, Question};

tokio::task_local! {
    static ASKER: Arc<dyn Asker>;
}

/// An asker, and the session for which it is asked.
pub struct OnBehalf {
    asker: Arc<dyn Asker>,
    session: SessionFacts,
}

impl OnBehalf {
    /// Asks this one for this session.
    pub fn of(session: SessionFacts, asker: Arc<dyn Asker>) -> OnBehalf {
        OnBehalf { asker, session }
    }
}

impl Asker for OnBehalf {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.asker.ask(question)
    }
    fn is_there(&self) -> bool {
        self.asker.is_there()
    }
    fn inquire<'a>(&'a self, inquiry: Inquiry<'a>) -> BoxFuture<'a, Given> {
        self.asker.inquire(Inquiry { session: Some(&self.session), ..inquiry })
    }
    fn invite<'a>(&'a self, invitation: Invitation<'a>) -> BoxFuture<'a, Given> {
        self.asker.invite(Invitation { session: Some(&self.session), ..invitation })
    }
    fn open(&self, url: &str) -> bool {
        self.asker.open(url)
    }
    fn choose<'a>(&'a self, choices: Choices<'a>) -> BoxFuture<'a, Choosing> {
        self.asker.choose(Choices { session: Some(&self.session), ..choices })
    }
    fn tell(&self, words: &str) {
        self.asker.tell(words);
    }
}

/// The asker of the call that runs here, where its session was given one of its own. A call is driven by the task that asked
/// for it, so a task-local value is the call's own.
pub fn asker_of_call() -> Option<Arc<dyn Asker>> {
    ASKER.try_with(Arc::clone).ok()
}

/// Runs a call whose session has an asker of its own.
pub(crate) async fn asking<F: Future>(asker: Arc<dyn Asker>, call: F) -> F::Output {
    ASKER.scope(asker, call).await
}
