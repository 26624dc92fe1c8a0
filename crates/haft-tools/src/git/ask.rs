//! Git, started in its fence: for the model's question, and for the small ones that come before it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use haft_shell::run::{Launch, Process, Room};
use haft_tool::{Cx, Fault, Grant, SessionFacts};

use super::{
    TIME,
    pinned::{self, Pin},
};
use crate::process;

/// What is needed to start git here.
pub(crate) struct Git<'a> {
    grant: Grant,
    here: SessionFacts,
    program: PathBuf,
    cx: &'a Cx,
}

/// The answer to a small question.
pub(crate) struct Answer {
    /// Whether git could answer.
    pub(crate) is_good: bool,
    /// What it said, byte by byte.
    pub(crate) said: Vec<u8>,
    /// What it complained about.
    pub(crate) complaint: String,
}

/// So much may be answered to a small question.
const MOST_ANSWERED: usize = 4 << 20;

impl<'a> Git<'a> {
    pub(crate) fn new(grant: Grant, here: SessionFacts, cx: &'a Cx) -> Result<Git<'a>, Fault> {
        Ok(Git { grant, here, program: pinned::program()?, cx })
    }

    /// What it may touch.
    pub(crate) fn grant(&self) -> &Grant {
        &self.grant
    }

    /// The root of the workspace.
    pub(crate) fn workspace(&self) -> &Path {
        &self.here.workspace
    }

    /// Where it runs, links resolved.
    pub(crate) fn cwd(&self) -> &Path {
        &self.here.cwd
    }

    /// Starts git with these words for somebody who reads what it says.
    pub(crate) async fn start(&self, words: Vec<OsString>, pins: &[Pin]) -> Result<Process, Fault> {
        let mut launch = self.launch(words, pins);
        let keeper = self.cx.keeper();
        launch.spill = Some(Box::new(move || keeper.begin()));
        self.begin(launch).await
    }

    /// Asks git something short. Only words that run nothing whatever the repository says: nothing of it is known yet.
    pub(crate) async fn ask(&self, words: &[&str]) -> Result<Answer, Fault> {
        self.tell(words.iter().map(OsString::from).collect(), &[]).await
    }

    /// Has git do something whose answer is short, in a repository of which is known what it would run.
    pub(crate) async fn tell(&self, words: Vec<OsString>, pins: &[Pin]) -> Result<Answer, Fault> {
        let words = std::iter::once(OsString::from("--no-pager")).chain(words).collect();
        let mut launch = self.launch(words, pins);
        launch.apart = true;
        launch.room = Room { shown: 2_000, view: MOST_ANSWERED, most: MOST_ANSWERED as u64 };
        let process = self.begin(launch).await?;
        let ended = tokio::select! {
            ended = process.ended() => ended,
            () = self.cx.cancelled() => return Err(Fault::cancelled("stopped before git was run")),
        };
        let (head, hidden, tail) = process.with_output(|output| output.raw());
        let is_good = ended.stopped.is_none() && ended.status.is_success() && hidden == 0;
        let complaint = process.with_errors(|errors| errors.text().head);
        Ok(Answer { is_good, said: [head, tail].concat(), complaint: complaint.trim_end().to_owned() })
    }

    fn launch(&self, words: Vec<OsString>, pins: &[Pin]) -> Launch {
        let mut launch = Launch::new(&self.program, &self.here.cwd);
        launch.args = words;
        launch.env = pinned::inherited();
        launch.set = pinned::around(pins, &self.here.workspace);
        launch.time_limit = Some(TIME);
        launch
    }

    async fn begin(&self, launch: Launch) -> Result<Process, Fault> {
        let cannot = |err| Fault::failed(format!("git could not be started: {err}"));
        process::start(launch, &self.grant, &self.here, self.cx, None, cannot).await
    }
}
