//! What happens to a session besides its calls, for hooks to hear of.
//!
//! Whoever owns the session says when it happens: the engine cannot know when a conversation begins or a model has
//! finished. What hooks answer is given back, for the owner to act on.

use futures::future::join_all;

use super::Session;
use crate::{
    policy::Said,
    turn::{Now, Occasion, hide_secrets},
};

impl Session {
    /// The session begins to make calls. `source` is `startup`, or `resume` if it goes on from before. The context that
    /// hooks add belongs to the conversation.
    pub async fn starts(&self, source: &str) -> Vec<Said> {
        self.occasion(Occasion::SessionStart { source }).await
    }

    /// The session makes no more calls. What hooks say to that changes nothing. Ask before [`end`](Session::end).
    pub async fn ends(&self, reason: &str) -> Vec<Said> {
        self.occasion(Occasion::SessionEnd { reason }).await
    }

    /// The model has finished its answer, with these words. A denial means: go on, for this reason. `again` says that
    /// it has gone on once because of that.
    pub async fn stops(&self, message: &str, again: bool) -> Vec<Said> {
        match self.sub_agent() {
            Some(kind) => {
                let id = self.id().as_str();
                self.occasion(Occasion::SubagentStop { id, kind, again }).await
            }
            None => self.occasion(Occasion::Stop { again, message }).await,
        }
    }

    /// Something happened: all hooks are told together.
    pub async fn occasion(&self, occasion: Occasion<'_>) -> Vec<Said> {
        let hooks = self.engine().hooks();
        // What a sub-agent is told comes from a model: no person has written anything.
        let is_nobodys = self.sub_agent().is_some() && matches!(occasion, Occasion::UserPrompt { .. });
        if hooks.is_empty() || is_nobodys {
            return Vec::new();
        }
        let session = self.facts();
        let now = Now { session: &session, mode: self.mode() };
        let said = join_all(hooks.iter().map(|hook| hook.occasion(now, occasion))).await;
        let mut said: Vec<Said> = said.into_iter().flatten().filter(|said| !said.is_nothing()).collect();
        for said in &mut said {
            if said.at.is_empty() {
                occasion.name().clone_into(&mut said.at);
            }
            hide_secrets(self, said);
        }
        said
    }
}
