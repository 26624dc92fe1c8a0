//! What would be decided about a call, and why, without running it: the same way as that of a call, stopped before it is made.

use haft_tool::Effects;
use serde_json::Value;

use super::Session;
use crate::{
    policy::{Classifier, Decision, Judgement, Matter, Record, may_judge},
    result::ToolResult,
    session::locate::locate_each,
    turn::{Call, CallCx, Events, Interrupt, prepare},
};

/// What a call would do and what would be decided about it.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The tool's name in the pool.
    pub tool: String,
    /// Why the model is not offered the tool, if it is not.
    pub hidden: Option<String>,
    /// One line for a person.
    pub description: String,
    /// The input, checked and with absolute paths.
    pub input: Value,
    /// What it would do.
    pub effects: Effects,
    /// Whether it may, and why.
    pub decision: Decision,
    /// The narrowest rules by which it would run unasked, if it is asked only because nothing covers it.
    pub would_allow: Option<Vec<String>>,
    /// The user's rule by which it would run outside of the sandbox.
    pub unsandboxed_by: Option<String>,
    /// What the classifier would say that was given, if one would be asked: in mode `auto`, about what nothing covers.
    pub judged: Option<Judgement>,
}

impl Session {
    /// What would be decided about a call, and why, without running it. Tools that are hidden from the model are judged
    /// like the others: what hides them decides about their calls.
    pub async fn explain(&self, call: Call) -> Result<Explanation, Box<ToolResult>> {
        self.explain_with(call, None).await
    }

    /// The same, and what a classifier would say of it, where one would be asked.
    pub async fn explain_with(
        &self,
        call: Call,
        classifier: Option<&dyn Classifier>,
    ) -> Result<Explanation, Box<ToolResult>> {
        let offered = self.pool();
        let is_hidden = offered.find(&call.name).is_none();
        let pool = if is_hidden { self.whole_pool() } else { offered.clone() };
        let (events, interrupt) = (Events::default(), Interrupt::default());
        let cx = CallCx { session: self, pool: &pool, events: &events, interrupt: &interrupt, turn: 0 };
        let mut prepared = prepare(cx, call, None)?;
        let names = vec![prepared.named(self)];
        let workspace = self.workspace();
        let located =
            tokio::task::spawn_blocking(move || locate_each(names, &workspace)).await.unwrap_or_default();
        if let Some(Err(fault)) = located.first() {
            return Err(Box::new(prepared.refused(fault)));
        }
        let confines = self.confines_reading();
        located.into_iter().flatten().for_each(|places| places.note_in(&mut prepared.effects, confines));
        let decision = self.decide(&prepared);
        let hidden = offered.absence(prepared.entry.name()).filter(|_| is_hidden);
        let would_allow = self.policy().lasting_rules(&self.request(&prepared));
        let judged = match classifier.filter(|_| may_judge(&decision, &self.request(&prepared))) {
            Some(classifier) => {
                let (request, said) = (self.request(&prepared), prepared.said());
                // Nothing is counted: no call is made.
                let record = Record::default();
                Some(
                    classifier
                        .judge(Matter { request: &request, said: said.as_deref(), record: &record })
                        .await,
                )
            }
            None => None,
        };
        let unsandboxed_by = self.unsandboxed_by(&prepared);
        Ok(Explanation {
            unsandboxed_by,
            tool: prepared.entry.name().to_owned(),
            hidden: hidden.map(|problem| problem.kind.to_string()),
            description: prepared.describe(),
            input: (*prepared.input).clone(),
            effects: prepared.effects,
            decision,
            would_allow,
            judged,
        })
    }
}
