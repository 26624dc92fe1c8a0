//! `Monitor`: a command in the background that is watched, so that what it prints is told without being asked for.
//!
//! It is Bash with `background` in all that can be judged: the same command line, effects, sandbox and questions. What it
//! adds is a look at each line.

use std::{
    any::Any,
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use grep_regex::RegexMatcher;
use haft_tool::{
    AbsolutePath, BoxFuture, Cx, Effects, Fault, PathBase, Reply, Spec, Task, TaskNews, TaskState, Tool, View,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    bash::{Bash, BashInput, task::ShellTask},
    task_output::{compile, matches},
};

/// Runs a command in the background and tells you of the lines that it prints, without being asked.
///
/// Use it to hear of something that happens later: a build that fails, a server that logs an error, a file that changes. With
/// `pattern` you are told of the lines that match it, otherwise of every line; they come with the next message that you
/// get, and so does its end. For a command whose whole output you want, use Bash with `background`. TaskOutput has all that it
/// printed, TaskStop ends it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MonitorInput {
    /// The command, as it would be typed.
    command: String,
    /// Which lines to tell of: a regular expression, like `error|warning`. All if it is left out.
    pattern: Option<String>,
    /// What it is for, in five to ten words. The person reads it.
    description: Option<String>,
    /// The hosts that it must reach, like `docs.rs`. The network is closed to it otherwise.
    #[serde(default)]
    hosts: Vec<String>,
    /// What it must write outside the workspace. It can write nothing else there.
    #[serde(default)]
    write: Vec<AbsolutePath>,
}

impl MonitorInput {
    fn command(&self) -> BashInput {
        let (hosts, write) = (self.hosts.clone(), self.write.clone());
        BashInput::in_background(self.command.clone(), self.description.clone(), hosts, write)
    }
}

/// The tool.
pub(crate) struct Monitor {
    pub(crate) bash: Bash,
}

impl Tool for Monitor {
    type Input = MonitorInput;
    const SPEC: Spec =
        Spec::new("Monitor").toolset("shell").processes().aliases(&["monitor", "watch_command"]).search_hint(
            "watch a command in the background and be told of lines logs events errors as they come",
        );

    fn validate(&self, input: &MonitorInput) -> Result<(), Fault> {
        compile(input.pattern.as_deref())?;
        self.bash.validate(&input.command())
    }

    fn effects_here(&self, input: &MonitorInput, base: &PathBase) -> Effects {
        self.bash.effects_here(&input.command(), base)
    }

    fn describe(&self, input: &MonitorInput) -> String {
        self.bash.describe(&input.command())
    }

    async fn preview(&self, input: &MonitorInput, cx: &Cx) -> Option<View> {
        self.bash.preview(&input.command(), cx).await
    }

    fn classifier_input(&self, input: &MonitorInput) -> Option<String> {
        self.bash.classifier_input(&input.command())
    }

    async fn call(&self, input: MonitorInput, cx: &Cx) -> Result<Reply, Fault> {
        let pattern = compile(input.pattern.as_deref())?;
        let shell = self.bash.start(&input.command(), cx).await?;
        let id = cx.tasks().add(Arc::new(Watched::new(shell, pattern)))?;
        let lines =
            input.pattern.map_or("every line".to_owned(), |pattern| format!("lines that match {pattern:?}"));
        let text = format!(
            "[it is watched in the background as {id}: you are told of {lines} and of its end; TaskStop ends it]"
        );
        Ok(Reply::text(text).note("task_id", id))
    }
}

/// A command in the background, and the lines of it that somebody wants to hear of.
struct Watched {
    shell: Arc<ShellTask>,
    finds: Arc<Finds>,
    looking: JoinHandle<()>,
}

/// What was found.
#[derive(Default)]
struct Finds {
    lines: Mutex<Lines>,
    /// Told whenever the command said something and it was looked at.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Lines {
    /// The latest lines that match, each with the place where it ends.
    found: VecDeque<(u64, String)>,
    /// The places of those that were let go.
    dropped: VecDeque<u64>,
    /// Up to where the output was looked at.
    place: u64,
    /// Whether all of it was, to its end.
    is_done: bool,
}

/// More lines than this nobody reads at once.
const MOST_LINES: usize = 40;

/// So many that were let go are still counted.
const MOST_COUNTED: usize = 10_000;

/// A longer line is cut.
const LONGEST_LINE: usize = 400;

/// A command that writes all the time is looked at now and then.
const BREATH: Duration = Duration::from_millis(20);

impl Watched {
    fn new(shell: ShellTask, pattern: Option<RegexMatcher>) -> Watched {
        let (shell, finds) = (Arc::new(shell), Arc::<Finds>::default());
        let looking = tokio::spawn(look(shell.clone(), finds.clone(), pattern));
        Watched { shell, finds, looking }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Whoever looks holds the command, too, and may do so for another moment.
        self.shell.stop();
        self.looking.abort();
    }
}

impl Task for Watched {
    fn describe(&self) -> String {
        self.shell.describe()
    }

    /// It has ended when its last line was looked at.
    fn state(&self) -> TaskState {
        if self.finds.lines().is_done { self.shell.state() } else { TaskState::Running }
    }

    fn since(&self, from: u64) -> TaskNews {
        self.shell.since(from)
    }

    fn notable(&self, from: u64) -> TaskNews {
        self.finds.lines().since(from)
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        let mut changes = self.finds.changes.subscribe();
        Box::pin(async move { drop(changes.changed().await) })
    }

    fn shares(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.shell.shares()
    }

    fn stop(&self) {
        self.shell.stop();
    }
}

impl Finds {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        // Nothing is left half done in here.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn add(&mut self, end: u64, line: &str) {
        if self.found.len() == MOST_LINES
            && let Some((place, _)) = self.found.pop_front()
        {
            self.dropped.push_back(place);
            if self.dropped.len() > MOST_COUNTED {
                self.dropped.pop_front();
            }
        }
        let cut = line.floor_char_boundary(LONGEST_LINE);
        let more = if cut < line.len() { " […]" } else { "" };
        self.found.push_back((end, format!("{}{more}", &line[..cut])));
    }

    fn since(&self, from: u64) -> TaskNews {
        let lines: Vec<&str> =
            self.found.iter().filter(|(end, _)| *end > from).map(|(_, line)| line.as_str()).collect();
        let skipped = self.dropped.iter().filter(|end| **end > from).count() as u64;
        TaskNews { text: lines.join("\n"), skipped, next: self.place.max(from), whole: None }
    }
}

/// Holds each line of a command against the pattern, as it comes.
async fn look(shell: Arc<ShellTask>, finds: Arc<Finds>, pattern: Option<RegexMatcher>) {
    let (mut place, mut rest) = (0, String::new());
    loop {
        let change = shell.changed();
        // Asked first: what it says before its end is looked at.
        let is_over = shell.state() != TaskState::Running;
        let news = shell.since(place);
        place = news.next;
        rest.push_str(&news.text);
        if is_over && !rest.is_empty() && !rest.ends_with('\n') {
            rest.push('\n');
        }
        note_lines(&mut rest, place, pattern.as_ref(), &mut finds.lines());
        finds.lines().is_done = is_over;
        finds.changes.send_modify(|count| *count += 1);
        if is_over {
            return;
        }
        change.await;
        tokio::time::sleep(BREATH).await;
    }
}

/// Takes the whole lines of a text whose end is at a place, and leaves what is no whole line yet.
fn note_lines(text: &mut String, end: u64, pattern: Option<&RegexMatcher>, lines: &mut Lines) {
    let Some(whole) = text.rfind('\n').map(|at| at + 1) else { return };
    let begin = end.saturating_sub(text.len() as u64);
    let mut at = 0;
    for line in text[..whole].split_inclusive('\n') {
        at += line.len();
        let line = line.trim_end();
        if !line.is_empty() && pattern.is_none_or(|pattern| matches(pattern, line)) {
            lines.add(begin + at as u64, line);
        }
    }
    lines.place = begin + whole as u64;
    text.drain(..whole);
}

#[cfg(test)]
mod tests {
    use haft_engine::{
        Call, Session, SessionOptions,
        policy::{Origin, Rules},
    };
    use haft_testkit::{Workspace, engine};
    use serde_json::{Value, json};

    use super::*;

    async fn session(workspace: &Workspace, rule: &str) -> Session {
        let rules = Rules::allowing([rule], Origin::Session);
        let engine = engine(workspace).tools(crate::builtin()).rules(rules).build().unwrap();
        engine.session(SessionOptions::at(workspace.root())).unwrap()
    }

    async fn call(session: &Session, tool: &str, input: Value) -> String {
        session.call(Call::new("1", tool, input)).await.text()
    }

    #[tokio::test]
    async fn lines_that_match_and_the_end_are_told_once() {
        let workspace = Workspace::new("");
        let session = session(&workspace, "Monitor").await;
        let input =
            json!({ "command": "echo fine; echo error 1; echo fine; printf 'error 2'", "pattern": "^error" });
        let begun = call(&session, "Monitor", input).await;
        assert!(begun.contains("task-1") && begun.contains("\"^error\""), "{begun}");
        let mut lines = Vec::new();
        let how = loop {
            for report in session.task_reports() {
                lines.extend(report.lines.lines().map(str::to_owned));
                if let TaskState::Done(how) | TaskState::Failed(how) = report.task.state {
                    lines.push(how);
                }
            }
            if lines.len() == 3 {
                break lines.pop().unwrap();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert_eq!((lines, how.as_str()), (vec!["error 1".to_owned(), "error 2".to_owned()], "exit code 0"));
        assert_eq!(session.task_reports(), []);
        let all = call(&session, "TaskOutput", json!({ "task_id": "task-1" })).await;
        assert_eq!(all, "fine\nerror 1\nfine\nerror 2\n[it has ended: exit code 0]");
    }

    #[tokio::test]
    async fn what_was_looked_at_is_not_told_again_and_a_monitor_can_be_stopped() {
        let workspace = Workspace::new("");
        let session = session(&workspace, "Monitor").await;
        call(&session, "Monitor", json!({ "command": "echo up; sleep 1000" })).await;
        let waited = call(&session, "TaskOutput", json!({ "task_id": "task-1", "pattern": "up" })).await;
        assert_eq!(waited, "up\n[the pattern matches; it still runs]");
        assert_eq!(session.task_reports(), []);
        assert!(call(&session, "TaskList", json!({})).await.contains("task-1 [running] echo up; sleep 1000"));
        assert_eq!(call(&session, "TaskStop", json!({ "task_id": "task-1" })).await, "[task-1 has ended]");
        assert_eq!(session.task_reports(), []);
    }

    #[tokio::test]
    async fn a_monitor_is_judged_as_the_command_that_it_runs() {
        let workspace = Workspace::new("");
        let session = session(&workspace, "Bash(echo:*)").await;
        let input = |command: &str| json!({ "command": command });
        let verdict = async |tool: &str, command: &str| {
            let told = session.explain(Call::new("1", tool, input(command))).await.unwrap();
            told.decision.verdict
        };
        for command in ["echo hi", "curl x.test", "rm -rf /", "cat a.txt > b.txt"] {
            assert_eq!(verdict("Monitor", command).await, verdict("Bash", command).await, "{command}");
        }
    }

    #[test]
    fn of_many_lines_the_latest_are_told_and_the_others_counted() {
        let mut lines = Lines::default();
        let mut text: String = (0..100).map(|number| format!("line {number:02}\n")).collect();
        text.push_str("half");
        note_lines(&mut text, 804, None, &mut lines);
        assert_eq!(text, "half");
        let news = lines.since(0);
        assert_eq!((news.text.lines().count(), news.skipped, news.next), (MOST_LINES, 60, 800));
        assert_eq!(lines.since(792).text, "line 99");
        assert_eq!(lines.since(news.next), TaskNews { next: 800, ..TaskNews::default() });
    }
}
