//! An interpreter that stays: a process that runs one snippet after the other.
//!
//! It is told a snippet on its line ([`Process::say`]) with a word that nobody else knows, and says the word with a status when
//! the snippet is done. The word is new each time, so that no snippet can answer for one that comes after it; what a
//! snippet prints is never taken for an answer.

use std::{
    any::Any,
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use haft_shell::{
    run::{Ended, Process, Stopped},
    sandbox::Gatekeeper,
};
use haft_tool::{BoxFuture, Cx, Grant, Progress, Task, TaskNews, TaskState};
use tokio::time::Instant;

use super::language::Language;
use crate::gate::CallGate;

/// How long a snippet has to end when it is interrupted because it took too long.
const GRACE: Duration = Duration::from_secs(2);

/// The same when its call is cancelled: the call has only a moment longer.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(380);

/// How long a process that was told to end is waited for.
const BURIAL: Duration = Duration::from_secs(3);
const QUICK_BURIAL: Duration = Duration::from_millis(50);

/// How often somebody is told what is going on.
const TICK: Duration = Duration::from_millis(100);

/// An answer is shorter than this, whatever came before it.
const LONGEST_ANSWER: usize = 256;

pub(super) struct Interpreter {
    pub(super) language: Language,
    pub(super) process: Process,
    /// With what it was started.
    pub(super) grant: Grant,
    /// Asks about what it attempts, by the call that gives it work.
    gate: Arc<CallGate>,
    /// How long it stays without work.
    idle: Duration,
    busy: AtomicBool,
}

/// What became of a snippet.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is done, with this status: 0 is well.
    Done(i32),
    /// The process has ended.
    Gone(Ended),
    /// It was interrupted, and what was defined before it is still there.
    Interrupted(Why),
    /// It was interrupted, and the process is gone with it.
    Lost(Why, Option<Ended>),
}

/// Why a snippet was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    TimedOut,
    Cancelled,
}

/// What is heard of a snippet.
enum Answer {
    Done(i32),
    Gone(Ended),
}

impl Interpreter {
    pub(super) fn new(
        language: Language,
        process: Process,
        grant: Grant,
        gate: Arc<CallGate>,
        idle: Duration,
    ) -> Interpreter {
        Interpreter { language, process, grant, gate, idle, busy: AtomicBool::new(false) }
    }

    /// Waits until it says its first word. Says no if it ends before.
    pub(super) async fn is_ready(&self) -> bool {
        loop {
            let change = self.process.changed();
            if !self.process.heard().is_empty() {
                return true;
            }
            if self.process.has_ended().is_some() {
                return false;
            }
            change.await;
        }
    }

    /// The right to give it work, unless somebody has it.
    pub(super) fn begin(&self) -> Option<Shift<'_>> {
        let was_busy = self.busy.swap(true, Ordering::AcqRel);
        (!was_busy).then(|| {
            self.process.lift_time_limit();
            Shift { interpreter: self, is_over: false }
        })
    }

    /// Waits for the answer to this word. Whatever else is said is not for us.
    async fn answer(&self, word: &str) -> Answer {
        let mut said = Vec::new();
        loop {
            let change = self.process.changed();
            said.extend(self.process.heard());
            if let Some(status) = status_after(word, &said) {
                return Answer::Done(status);
            }
            let old = said.len().saturating_sub(LONGEST_ANSWER);
            said.drain(..old);
            if let Some(ended) = self.process.has_ended() {
                return Answer::Gone(ended);
            }
            change.await;
        }
    }
}

/// The right to give an interpreter work. Whoever drops it while a snippet runs ends the interpreter: nobody could tell any
/// more when that snippet is done.
pub(super) struct Shift<'a> {
    interpreter: &'a Interpreter,
    is_over: bool,
}

impl Shift<'_> {
    /// Runs a snippet, no longer than this.
    pub(super) async fn run(mut self, code: &str, limit: Duration, cx: &Cx) -> Outcome {
        let word = word();
        let process = &self.interpreter.process;
        self.interpreter.gate.open(cx);
        process.say(&[code.len().to_string().as_bytes(), b"\0", code.as_bytes(), b"\0"].concat());
        process.say(&[word.as_bytes(), b"\0"].concat());
        let outcome = match self.first(&word, limit, cx).await {
            Ok(Answer::Done(status)) => Outcome::Done(status),
            Ok(Answer::Gone(ended)) => Outcome::Gone(ended),
            Err(why) => self.interrupt(&word, why).await,
        };
        self.is_over = true;
        outcome
    }

    /// The answer, or why nobody waits for it any longer.
    async fn first(&self, word: &str, limit: Duration, cx: &Cx) -> Result<Answer, Why> {
        let answer = self.interpreter.answer(word);
        let (limit, mut ticks) = (tokio::time::sleep(limit), tokio::time::interval(TICK));
        tokio::pin!(answer, limit);
        let mut reported = 0;
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return Ok(answer),
                () = cx.cancelled() => return Err(Why::Cancelled),
                () = &mut limit => match self.interpreter.process.is_paused() {
                    // It waits for the person, not for itself.
                    true => limit.as_mut().reset(Instant::now() + TICK),
                    false => return Err(Why::TimedOut),
                },
                _ = ticks.tick() => reported = self.report_progress(reported, cx),
            }
        }
    }

    /// Asks first, and ends the process if that does not help.
    async fn interrupt(&self, word: &str, why: Why) -> Outcome {
        let (grace, burial) = match why {
            Why::TimedOut => (GRACE, BURIAL),
            Why::Cancelled => (LAST_WORDS, QUICK_BURIAL),
        };
        let process = &self.interpreter.process;
        process.interrupt();
        match tokio::time::timeout(grace, self.interpreter.answer(word)).await {
            Ok(Answer::Done(_)) => Outcome::Interrupted(why),
            Ok(Answer::Gone(ended)) => Outcome::Lost(why, Some(ended)),
            Err(_) => {
                process.stop();
                Outcome::Lost(why, tokio::time::timeout(burial, process.ended()).await.ok())
            }
        }
    }

    fn report_progress(&self, reported: u64, cx: &Cx) -> u64 {
        let process = &self.interpreter.process;
        let (written, line) = process.with_output(|output| (output.bytes(), output.last_line()));
        if written > reported {
            cx.progress(Progress::of(line, written, None));
        }
        written
    }
}

impl Drop for Shift<'_> {
    fn drop(&mut self) {
        if self.is_over {
            self.interpreter.process.end_after(self.interpreter.idle);
        } else {
            self.interpreter.process.stop();
        }
        self.interpreter.gate.close();
        self.interpreter.busy.store(false, Ordering::Release);
    }
}

/// A word that cannot be guessed: two hashes under keys of their own, which the system made at random.
fn word() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

/// The status that was said with this word.
fn status_after(word: &str, said: &[u8]) -> Option<i32> {
    let mut parts: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
    // What follows the last NUL is not finished.
    parts.pop();
    let at = parts.iter().position(|part| part.ends_with(word.as_bytes()))?;
    let status = std::str::from_utf8(parts.get(at + 1)?).ok()?;
    status.parse().ok()
}

/// The session owns it as one of its tasks. What it prints comes back with the calls, not here.
impl Task for Interpreter {
    fn describe(&self) -> String {
        format!("{} for Repl", self.language)
    }

    fn state(&self) -> TaskState {
        match self.process.has_ended() {
            None => TaskState::Running,
            Some(ended) => TaskState::Done(how(&ended)),
        }
    }

    fn since(&self, from: u64) -> TaskNews {
        TaskNews { next: from, ..TaskNews::default() }
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.process.changed())
    }

    fn shares(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self.process.loopback()?)
    }

    fn stop(&self) {
        self.process.stop();
    }
}

/// How a process ended, in a few words.
pub(super) fn how(ended: &Ended) -> String {
    match &ended.stopped {
        None => ended.status.to_string(),
        Some(Stopped::Asked) => "stopped".to_owned(),
        Some(Stopped::TimedOut) => "ended because nobody used it".to_owned(),
        Some(Stopped::WroteTooMuch) => "stopped: it wrote too much".to_owned(),
        Some(Stopped::OverLimit(limit)) => format!("stopped: {limit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_with_the_right_word_counts() {
        let cases: [(&[u8], Option<i32>); 9] = [
            (b"abc\x000\0", Some(0)),
            (b"abc\x00130\0", Some(130)),
            (b"abc\x000", None),
            (b"abc\0", None),
            (b"xyz\x001\0", None),
            (b"old\x001\0abc\x000\0", Some(0)),
            (b"junk abc\x002\0", Some(2)),
            (b"abc\0nonsense\0", None),
            (b"", None),
        ];
        cases
            .into_iter()
            .for_each(|(said, status)| assert_eq!(status_after("abc", said), status, "{said:?}"));
    }

    #[test]
    fn no_word_comes_twice() {
        let words: std::collections::HashSet<String> = (0..1000).map(|_| word()).collect();
        assert!(words.len() == 1000 && words.iter().all(|word| word.len() == 32));
    }
}
