//! `TaskOutput`: what a task in the background has said since the last look.

use std::{sync::Arc, time::Duration};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use haft_tool::{Access, Cx, Effects, Fault, Reply, Spec, Task, TaskNews, TaskState, Tasks, Tool, shown};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{quoted::quoted, shown::count};

/// Tells what a task in the background has printed since you last looked, and whether it still runs.
///
/// Use it after Monitor, or Bash or Delegate with `background`. It answers at once, unless you say what to wait for: with `pattern` until a line of
/// new output matches ("listening on"), with `timeout` alone until the task ends; in both cases no longer than `timeout`.
/// Waiting in vain is an answer, not an error. It fails if there is no such task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskOutputInput {
    /// The task's id, like `task-1`.
    task_id: String,
    /// What to wait for: a regular expression that a line of the new output matches.
    pattern: Option<String>,
    /// How long to wait, in milliseconds. With a pattern 30000 if it is left out; at most 600000.
    #[schemars(range(min = 0, max = 600_000))]
    timeout: Option<u64>,
}

pub(crate) struct TaskOutput;

/// How long a pattern is waited for.
const USUAL: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(600);

/// A compiled pattern may take so much memory.
const MOST_BYTES: usize = 1 << 20;

impl Tool for TaskOutput {
    type Input = TaskOutputInput;
    const SPEC: Spec = Spec::new("TaskOutput")
        .toolset("shell")
        .aliases(&["BashOutput", "task_output", "read_process"])
        .search_hint("background task process output wait log server")
        .timeout(Duration::from_secs(LONGEST.as_secs() + 30));

    fn validate(&self, input: &TaskOutputInput) -> Result<(), Fault> {
        compile(input.pattern.as_deref()).map(drop)
    }

    fn effects(&self, _: &TaskOutputInput) -> Effects {
        Effects::none().and_state("tasks", Access::Read)
    }

    fn describe(&self, input: &TaskOutputInput) -> String {
        match &input.pattern {
            Some(pattern) => format!("Wait for {pattern:?} from {}", input.task_id),
            None => format!("Look at {}", input.task_id),
        }
    }

    async fn call(&self, input: TaskOutputInput, cx: &Cx) -> Result<Reply, Fault> {
        let tasks = cx.tasks();
        let task = find(&*tasks, &input.task_id)?;
        let pattern = compile(input.pattern.as_deref())?;
        let from = tasks.seen(&input.task_id);
        let waited = wait(&*task, pattern.as_ref(), from, limit(&input));
        let found = tokio::select! {
            found = waited => found,
            () = cx.cancelled() => return Err(Fault::cancelled("stopped waiting; the task goes on")),
        };
        let news = task.since(from);
        tasks.see(&input.task_id, news.next);
        Ok(reply(&input, &*task, &news, found))
    }
}

/// The task of an id, or which there are.
pub(crate) fn find(tasks: &dyn Tasks, id: &str) -> Result<Arc<dyn Task>, Fault> {
    tasks.find(id).ok_or_else(|| {
        let ids = tasks.ids();
        let there = if ids.is_empty() {
            "there are none".to_owned()
        } else {
            format!("there are {}", ids.join(", "))
        };
        Fault::rejected(format!("there is no task {id:?}; {there}"))
    })
}

/// The pattern that output is held against, line by line.
pub(crate) fn compile(pattern: Option<&str>) -> Result<Option<RegexMatcher>, Fault> {
    let Some(pattern) = pattern else { return Ok(None) };
    let built = RegexMatcherBuilder::new().multi_line(true).size_limit(MOST_BYTES).build(pattern);
    built.map(Some).map_err(|err| {
        let said = err.to_string();
        let problem = said.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or(&said);
        Fault::rejected(format!("`pattern` is not valid: {problem} (it is in Rust's regex syntax)"))
    })
}

fn limit(input: &TaskOutputInput) -> Duration {
    let usual = if input.pattern.is_some() { USUAL } else { Duration::ZERO };
    input.timeout.map_or(usual, Duration::from_millis).min(LONGEST)
}

/// Waits for the pattern, or the end of the task. Says whether the pattern was found.
async fn wait(task: &dyn Task, pattern: Option<&RegexMatcher>, from: u64, limit: Duration) -> bool {
    let waited = async {
        loop {
            let change = task.changed();
            if pattern.is_some_and(|pattern| matches(pattern, &task.since(from).text)) {
                return true;
            }
            if task.state() != TaskState::Running {
                return false;
            }
            change.await;
            // A task that writes all the time is looked at now and then.
            tokio::time::sleep(BREATH).await;
        }
    };
    tokio::time::timeout(limit, waited).await.unwrap_or(false)
}

const BREATH: Duration = Duration::from_millis(20);

pub(crate) fn matches(pattern: &RegexMatcher, text: &str) -> bool {
    // A pattern that cannot be matched does not match; matching in memory does not fail otherwise.
    pattern.is_match(text.as_bytes()).unwrap_or(false)
}

fn reply(input: &TaskOutputInput, task: &dyn Task, news: &TaskNews, found: bool) -> Reply {
    let mut lines = Vec::new();
    if news.skipped > 0 {
        let whole =
            news.whole.as_ref().map_or(String::new(), |path| format!("; all of it is in {}", shown(path)));
        lines.push(format!("[… {} before this not shown{whole} …]", count(news.skipped, "byte")));
    }
    let text = news.text.trim_end_matches('\n');
    lines.extend((!text.is_empty()).then(|| quoted(text).into_owned()));
    let state = task.state();
    let nothing = if text.is_empty() { "nothing new; " } else { "" };
    lines.push(match (&state, &input.pattern) {
        (TaskState::Running, Some(_)) if found => "[the pattern matches; it still runs]".to_owned(),
        (TaskState::Running, Some(_)) => {
            format!("[{nothing}the pattern did not match in time; it still runs]")
        }
        (TaskState::Running, None) => format!("[{nothing}it still runs]"),
        (TaskState::Done(how) | TaskState::Failed(how), _) => format!("[{nothing}it has ended: {how}]"),
    });
    Reply::text(lines.join("\n")).note("running", state == TaskState::Running)
}
