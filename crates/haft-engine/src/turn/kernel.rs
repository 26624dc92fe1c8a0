//! Tools whose side effects are on the runtime itself.
//!
//! ToolSearch looks into the pool, Batch makes calls, ExitPlanMode asks the person: such tools cannot be content with a
//! narrow [`Cx`](haft_tool::Cx). They are looked up before every source, and walk through the same stages as all others.

use std::sync::{Arc, OnceLock};

use haft_tool::{BoxFuture, Cx, Fault, Reply, SharedTool};
use serde_json::Value;

use super::{
    Call,
    drive::{Within, drive_within},
    pipeline::{CallCx, stops},
};
use crate::{
    policy::{Asker, Choice, Choices, Choosing, Said},
    pool::Pool,
    result::ToolResult,
    session::{Session, WaitingTime},
};

/// A tool that sees the runtime.
pub trait Kernel: Send + Sync {
    /// Its contract: name, prompt, schema, effects. The body of this tool is never called.
    fn tool(&self) -> SharedTool;

    /// Runs a call that was checked and permitted.
    fn run<'a>(&'a self, input: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>>;
}

/// Several may share one.
impl<K: Kernel + ?Sized> Kernel for Arc<K> {
    fn tool(&self) -> SharedTool {
        (**self).tool()
    }
    fn run<'a>(&'a self, input: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        (**self).run(input, kx)
    }
}

/// What a kernel tool may use beyond the context of the call.
pub struct KernelCx<'a> {
    /// The context of the call.
    pub cx: Cx,
    /// The pool of this turn.
    pub pool: &'a Pool,
    pub(crate) turn: CallCx<'a>,
    /// Where the word goes of a hook that stops the turn in a call that this one makes.
    pub(crate) stopped: &'a OnceLock<Box<Said>>,
    /// For how long the person was waited for.
    pub(crate) waiting: &'a WaitingTime,
}

impl<'a> KernelCx<'a> {
    /// The session of the call. What changes in it should stand in the reply ([`Change`](haft_tool::Change)), so that it is
    /// recorded and applied in the model's order.
    pub fn session(&self) -> &'a Session {
        self.turn.session
    }

    /// The session's asker.
    pub fn asker(&self) -> &'a dyn Asker {
        self.turn.session.asker()
    }

    /// Has the person decide something, perhaps after reading something, until they have or nobody waits for it any more.
    /// The time that they take is not the call's.
    pub async fn choose(&self, text: Option<&str>, questions: &[Choice]) -> Result<Choosing, Fault> {
        if !self.asker().is_there() {
            return Ok(Choosing::NobodyThere);
        }
        let session = self.session().facts();
        let choices = Choices { session: Some(&session), call: Some(self.cx.call_id()), text, questions };
        let waiting = self.waiting.begin();
        let chosen = self.cx.token().run_until_cancelled(self.asker().choose(choices)).await;
        drop(waiting);
        chosen.ok_or_else(|| Fault::cancelled("the question was withdrawn before it was answered"))
    }

    /// Makes calls, each through all stages, as if the model had made them in this turn: beside each other where their
    /// effects let them. One result per call, in their order.
    ///
    /// The call that makes them must declare that it changes [other calls](haft_tool::OTHER_CALLS): whatever else there is
    /// in the turn waits. Give them ids that are the same whenever the call is made again, so that none is made twice.
    pub async fn calls(&self, calls: Vec<Call>, within: Within) -> Vec<ToolResult> {
        let results = drive_within(self.turn, calls, within).await;
        if let Some(said) = results.iter().find_map(|result| stops(&result.meta.hooks)) {
            // The first that stops it is heard; another could say no more.
            let _ = self.stopped.set(Box::new(said.clone()));
        }
        results
    }
}
