//! What an author writes.
//!
//! One trait with one required method besides the types. Everything that has a default has the careful one: a tool
//! that says nothing about itself touches the unknown, runs alone and is never allowed unasked.

use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{Availability, Cx, Effects, Fault, Moment, PathBase, Reply, Spec, View};

/// A tool: a typed contract between a model and a piece of code.
///
/// The doc comment of [`Input`](Tool::Input) is the prompt, the comment on a field describes that argument. Say what
/// it does, when to use it, when another tool is better, and what is not an error.
///
/// The stages around a call expand paths, check the input, ask for permission, keep time, cut, redact and record, for
/// every tool alike. An implementation does none of this. It must be *safe to drop at every `.await`*: the engine
/// cancels the call's token, waits a moment, and then drops the future.
pub trait Tool: Send + Sync + 'static {
    /// The arguments. Use [`AbsolutePath`](crate::AbsolutePath) for paths: they arrive absolute.
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// What is fixed about the tool.
    const SPEC: Spec;

    /// Runs the call. It has been checked and permitted; only what [`effects`](Tool::effects) declared may be touched.
    fn call(&self, input: Self::Input, cx: &Cx) -> impl Future<Output = Result<Reply, Fault>> + Send;

    /// What this call is going to do, from its input alone.
    ///
    /// Asked once, before permission, and read by policy, scheduler, sandbox, undo and screen. No I/O here, and no
    /// optimism: what you do not know is [`Effects::unknown`], which is the default.
    fn effects(&self, _input: &Self::Input) -> Effects {
        Effects::unknown()
    }

    /// The same for a tool whose input names paths in a language of its own, such as a command line: what relative names
    /// and `~` in it stand on. Besides, it may ask the disk what a name means in [`PathBase::workspace`]. A tool with [`AbsolutePath`](crate::AbsolutePath)s has no need of it.
    fn effects_here(&self, input: &Self::Input, _base: &PathBase) -> Effects {
        self.effects(input)
    }

    /// Refuses input that fits the schema but makes no sense. Pure: no I/O, no session.
    ///
    /// Return a fault made by [`Fault::rejected`]: the model is told to change its input, nobody is asked.
    fn validate(&self, _input: &Self::Input) -> Result<(), Fault> {
        Ok(())
    }

    /// One line for a person who is about to allow this call: "Count the words of notes.txt".
    fn describe(&self, _input: &Self::Input) -> String {
        Self::SPEC.title().to_owned()
    }

    /// What the auto-approval classifier is told of this call. The effects are told anyway; add what they cannot say.
    fn classifier_input(&self, _input: &Self::Input) -> Option<String> {
        None
    }

    /// What a person sees of the call before they allow it: a change as a diff, a command as it is understood.
    ///
    /// Asked only when somebody is about to be asked, and before permission is given: look, through the door of `cx`, and
    /// touch nothing. It must come to the same as the call would, be quick, and say so where it leaves something out; a call
    /// that would fail may say why. `None`, the default, leaves it to the effects and the input.
    fn preview(&self, _input: &Self::Input, _cx: &Cx) -> impl Future<Output = Option<View>> + Send {
        async { None }
    }

    /// Whether the tool can work here at all. An unavailable tool is not offered to the model.
    ///
    /// Environment variables that the spec requires are looked at before this is asked.
    fn availability(&self) -> Availability {
        Availability::Ready
    }

    /// What the model is told, for a tool that has more to say than was known when it was written. `own` is the doc comment of
    /// [`Input`](Tool::Input), which is the prompt of all others. Asked once.
    fn prompt(&self, _own: &str) -> Option<String> {
        None
    }

    /// How a person sees the call at this moment. `None` leaves it to the general drawing.
    fn view(&self, _input: &Self::Input, _moment: Moment<'_>) -> Option<View> {
        None
    }

    /// The schema of [`Reply::data`], for tools that promise one.
    fn output() -> Option<crate::Schema>
    where
        Self: Sized,
    {
        None
    }
}
