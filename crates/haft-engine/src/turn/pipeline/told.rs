//! What is written down of a call before it runs: its input, its effects and what was decided, without secrets.
//!
//! The tool gets its input as the model wrote it, and so do those who judge it: hiding a part of a command from who permits
//! it would be worse than showing a secret. The journal and the events only say what was done. Nothing here costs anything
//! unless somebody listens.

use std::{borrow::Cow, sync::Arc};

use haft_redact::Redactor;
use haft_tool::{Effects, SessionFacts};
use serde_json::Value;

use super::{CallCx, Prepared, recall::Ticket};
use crate::{
    policy::{CallFacts, Decision, without_secrets},
    session::{Session, Starting, Word},
};

/// What is told of a call.
pub(super) struct Told {
    pub(super) input: Arc<Value>,
    pub(super) effects: Arc<Effects>,
    pub(super) decision: Arc<Decision>,
    /// One line. Empty where nobody but the events is told, who have had it.
    description: String,
}

impl Told {
    /// The same for a journal.
    pub(super) fn starting<'a>(
        &'a self,
        cx: &'a CallCx<'_>,
        session: &'a SessionFacts,
        (prepared, ticket): (&'a Prepared<'_>, &'a Ticket),
        word: Word<'a>,
    ) -> Starting<'a> {
        let facts = cx.facts(session, prepared, &self.decision);
        Starting {
            key: &ticket.key,
            turn: cx.turn,
            facts: CallFacts { input: &self.input, effects: &self.effects, ..facts },
            description: &self.description,
            repeatable: prepared.is_repeatable(),
            was_dropped: ticket.was_dropped(),
            sealed: cx.session.engine().images().is_some() && prepared.effects.are_through_files(),
            word,
        }
    }
}

impl CallCx<'_> {
    /// What the journal and the events are told of a call.
    pub(super) fn told(&self, prepared: &Prepared<'_>, decision: &Decision) -> Told {
        let (mut effects, mut decision) = (prepared.effects.clone(), decision.clone());
        let mut input = prepared.input.clone();
        if let Some(redactor) = self.session.redactor() {
            let mut told = Value::clone(&input);
            if !redactor.redact_json(&mut told).is_empty() {
                input = Arc::new(told);
            }
            let mut clean = |text: &mut String| hide(redactor, text);
            effects.rewrite(&mut clean);
            decision.trace.rewrite(&mut clean);
        }
        let description = String::new();
        Told { input, effects: Arc::new(effects), decision: Arc::new(decision), description }
    }

    /// The same with a line about it.
    pub(super) fn told_whole(&self, prepared: &Prepared<'_>, decision: &Decision) -> Told {
        let description = self.told_line(prepared.describe());
        Told { description, ..self.told(prepared, decision) }
    }

    /// Rules that somebody had written for it.
    pub(super) fn told_rules(&self, rules: &[String]) -> Vec<String> {
        let redactor = self.session.redactor();
        let told = |rule: &String| redactor.and_then(|redactor| without_secrets(rule, redactor));
        rules.iter().map(|rule| told(rule).unwrap_or_else(|| rule.clone())).collect()
    }

    /// A line about the call.
    pub(super) fn told_line(&self, mut line: String) -> String {
        if let Some(redactor) = self.session.redactor() {
            hide(redactor, &mut line);
        }
        line
    }
}

/// What is told of a request for more than a call declared, without secrets.
pub(crate) struct ToldAddition {
    pub(crate) description: String,
    pub(crate) effects: Arc<Effects>,
    pub(crate) decision: Arc<Decision>,
}

impl ToldAddition {
    pub(crate) fn of(
        session: &Session,
        effects: &Effects,
        decision: &Decision,
        description: &str,
    ) -> ToldAddition {
        let (mut effects, mut decision) = (effects.clone(), decision.clone());
        let mut description = description.to_owned();
        if let Some(redactor) = session.redactor() {
            let mut clean = |text: &mut String| hide(redactor, text);
            effects.rewrite(&mut clean);
            decision.trace.rewrite(&mut clean);
            clean(&mut description);
        }
        ToldAddition { description, effects: Arc::new(effects), decision: Arc::new(decision) }
    }
}

pub(super) fn hide(redactor: &Redactor, text: &mut String) {
    if let Cow::Owned(clean) = redactor.redact(text).text {
        *text = clean;
    }
}
