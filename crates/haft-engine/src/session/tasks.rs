//! What goes on in a session after the calls that began it.
//!
//! The list owns the tasks: what is taken out of it ends, and so does all of it with the session. Nobody may be there when
//! one ends, so the list knows of which end nobody has been told.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use haft_redact::Redactor;
use haft_tool::{BoxFuture, Fault, Task, TaskNews, TaskState, Tasks};
use serde::{Deserialize, Serialize};

use crate::turn::{Event, Events};

/// More than anybody can keep an eye on.
const MOST_RUNNING: usize = 32;

/// So many that have ended can still be looked at.
const MOST_ENDED: usize = 64;

/// How long all tasks together have to end with their session.
const FAREWELL: Duration = Duration::from_secs(5);

/// What all ids begin with.
const PREFIX: &str = "task-";

/// The tasks of one session.
#[derive(Default)]
pub(crate) struct TaskList(Mutex<Listed>);

#[derive(Default)]
struct Listed {
    /// In the order of their beginning.
    tasks: Vec<Entry>,
    count: u64,
}

struct Entry {
    id: String,
    task: Arc<dyn Task>,
    seen: u64,
    /// Up to which place what is notable was told.
    told: u64,
    /// Whether somebody has been told that it has ended.
    is_told: bool,
}

impl Entry {
    fn new(id: String, task: Arc<dyn Task>) -> Entry {
        Entry { id, task, seen: 0, told: 0, is_told: false }
    }

    /// What nobody has been told of it, if there is something.
    fn report(&mut self) -> Option<TaskReport> {
        if self.is_told {
            return None;
        }
        // Asked first: what it says before its end is part of the same report.
        let state = self.task.state();
        let notable = self.task.notable(self.told.max(self.seen));
        self.told = notable.next;
        self.is_told = state != TaskState::Running;
        let is_news = self.is_told || !notable.text.is_empty() || notable.skipped > 0;
        is_news.then(|| TaskReport {
            task: TaskFacts { id: self.id.clone(), description: self.task.describe(), state },
            lines: notable.text,
            left_out: notable.skipped,
        })
    }
}

/// What has become of a task since anybody was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReport {
    /// Which task, and whether it has ended.
    pub task: TaskFacts,
    /// The lines that it was to watch for.
    pub lines: String,
    /// How many more there were.
    pub left_out: u64,
}

/// What can be said of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFacts {
    /// By which id it is known.
    pub id: String,
    /// What it is, in one line.
    pub description: String,
    /// Whether it goes on.
    pub state: TaskState,
}

impl TaskFacts {
    fn hide(&mut self, redactor: Option<&Arc<Redactor>>) {
        hide(&mut self.description, redactor);
        if let TaskState::Done(text) | TaskState::Failed(text) = &mut self.state {
            hide(text, redactor);
        }
    }
}

fn hide(text: &mut String, redactor: Option<&Arc<Redactor>>) {
    if let Some(redactor) = redactor {
        *text = redactor.redact(text).text.into_owned();
    }
}

impl TaskList {
    /// The list of a session that goes on: what went on before has ended, and its ids are not given again.
    pub(crate) fn recall(past: Vec<TaskFacts>) -> TaskList {
        let number = |facts: &TaskFacts| facts.id.strip_prefix(PREFIX)?.parse().ok();
        let count = past.iter().filter_map(number).max().unwrap_or(0);
        // Whoever knows that it ended knew it then; what went on when haft ended is news.
        let entry = |facts: TaskFacts| Entry {
            is_told: facts.state != TaskState::Running,
            ..Entry::new(facts.id.clone(), Arc::new(Past(facts)))
        };
        TaskList(Mutex::new(Listed { tasks: past.into_iter().map(entry).collect(), count }))
    }

    /// What is known of them, without secrets, to go on with later.
    pub(crate) fn memory(&self, redactor: Option<&Arc<Redactor>>) -> Vec<TaskFacts> {
        let mut facts = self.facts();
        facts.drain(..facts.len().saturating_sub(MOST_ENDED));
        facts.iter_mut().for_each(|facts| facts.hide(redactor));
        facts
    }

    /// What nobody has been told, without secrets. It is told once.
    pub(crate) fn reports(&self, redactor: Option<&Arc<Redactor>>) -> Vec<TaskReport> {
        let mut reports: Vec<TaskReport> = self.lock().tasks.iter_mut().filter_map(Entry::report).collect();
        for TaskReport { task, lines, .. } in &mut reports {
            task.hide(redactor);
            hide(lines, redactor);
        }
        reports
    }

    pub(crate) fn facts(&self) -> Vec<TaskFacts> {
        let facts = |entry: &Entry| TaskFacts {
            id: entry.id.clone(),
            description: entry.task.describe(),
            state: entry.task.state(),
        };
        self.lock().tasks.iter().map(facts).collect()
    }

    /// Ends all of them, and waits until they have.
    pub(crate) async fn end(&self) {
        let tasks: Vec<Arc<dyn Task>> =
            self.lock().tasks.iter().map(|entry| entry.task.clone()).filter(is_running).collect();
        tasks.iter().for_each(|task| task.stop());
        let all = async {
            for task in &tasks {
                task.ended().await;
            }
        };
        // What does not go in time is not waited for any longer; it has been told.
        let _ = tokio::time::timeout(FAREWELL, all).await;
    }

    fn lock(&self) -> MutexGuard<'_, Listed> {
        // Nothing is left half done in here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_running(task: &Arc<dyn Task>) -> bool {
    task.state() == TaskState::Running
}

impl Tasks for TaskList {
    fn add(&self, task: Arc<dyn Task>) -> Result<String, Fault> {
        let mut listed = self.lock();
        let running = listed.tasks.iter().filter(|entry| is_running(&entry.task)).count();
        if running >= MOST_RUNNING {
            return Err(Fault::failed(format!(
                "{running} tasks go on already, which is the most there can be; stop one of them first"
            )));
        }
        listed.forget_the_oldest();
        listed.count += 1;
        let id = format!("{PREFIX}{}", listed.count);
        listed.tasks.push(Entry::new(id.clone(), task));
        Ok(id)
    }

    fn find(&self, id: &str) -> Option<Arc<dyn Task>> {
        self.lock().entry(id).map(|entry| entry.task.clone())
    }

    fn ids(&self) -> Vec<String> {
        self.lock().tasks.iter().map(|entry| entry.id.clone()).collect()
    }

    fn seen(&self, id: &str) -> u64 {
        self.lock().entry(id).map_or(0, |entry| entry.seen)
    }

    fn see(&self, id: &str, up_to: u64) {
        if let Some(entry) = self.lock().entry(id) {
            entry.seen = up_to;
            // Whoever looks is told how it ended.
            entry.is_told |= !is_running(&entry.task);
        }
    }
}

/// The session's tasks as one call sees them: whoever watches the call is told of what it leaves going on.
pub(super) struct CallTasks {
    pub(super) list: Arc<TaskList>,
    pub(super) events: Events,
    /// Set once something goes on.
    pub(super) left: Arc<AtomicBool>,
    /// Takes secrets out of what is told: a description may be a command with all its words.
    pub(super) redactor: Option<Arc<Redactor>>,
}

impl Tasks for CallTasks {
    fn add(&self, task: Arc<dyn Task>) -> Result<String, Fault> {
        let mut description = task.describe();
        let id = self.list.add(task)?;
        self.left.store(true, Ordering::Relaxed);
        self.events.send(|| {
            hide(&mut description, self.redactor.as_ref());
            Event::TaskStarted { id: id.clone(), description }
        });
        Ok(id)
    }

    fn find(&self, id: &str) -> Option<Arc<dyn Task>> {
        self.list.find(id)
    }

    fn ids(&self) -> Vec<String> {
        self.list.ids()
    }

    fn seen(&self, id: &str) -> u64 {
        self.list.seen(id)
    }

    fn see(&self, id: &str, up_to: u64) {
        self.list.see(id, up_to);
    }
}

/// A task of an earlier run of the session. What it said is not there any more.
struct Past(TaskFacts);

impl Task for Past {
    fn describe(&self) -> String {
        self.0.description.clone()
    }

    fn state(&self) -> TaskState {
        match &self.0.state {
            TaskState::Running => {
                TaskState::Failed("it ended with the run of haft that it was begun in".to_owned())
            }
            ended => ended.clone(),
        }
    }

    fn since(&self, _: u64) -> TaskNews {
        TaskNews::default()
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn stop(&self) {}
}

impl Listed {
    fn entry(&mut self, id: &str) -> Option<&mut Entry> {
        self.tasks.iter_mut().find(|entry| entry.id == id)
    }

    fn forget_the_oldest(&mut self) {
        let ended = self.tasks.iter().filter(|entry| !is_running(&entry.task)).count();
        let oldest = self.tasks.iter().position(|entry| !is_running(&entry.task));
        if let Some(oldest) = oldest.filter(|_| ended >= MOST_ENDED) {
            self.tasks.remove(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;

    struct Pretended(watch::Sender<bool>);

    impl Task for Pretended {
        fn describe(&self) -> String {
            "pretends".to_owned()
        }
        fn state(&self) -> TaskState {
            if *self.0.borrow() { TaskState::Done("stopped".to_owned()) } else { TaskState::Running }
        }
        fn since(&self, _: u64) -> TaskNews {
            TaskNews::default()
        }
        fn changed(&self) -> BoxFuture<'static, ()> {
            let mut changes = self.0.subscribe();
            Box::pin(async move { drop(changes.changed().await) })
        }
        fn stop(&self) {
            self.0.send_replace(true);
        }
    }

    fn task() -> Arc<dyn Task> {
        Arc::new(Pretended(watch::Sender::new(false)))
    }

    #[tokio::test]
    async fn all_end_with_the_session() {
        let list = TaskList::default();
        let tasks: Vec<_> = (0..3).map(|_| task()).collect();
        tasks.iter().for_each(|task| drop(list.add(task.clone())));
        assert_eq!(list.ids(), ["task-1", "task-2", "task-3"]);
        list.end().await;
        assert!(tasks.iter().all(|task| task.state() != TaskState::Running));
    }

    #[test]
    fn there_is_an_end_to_how_many() {
        let list = TaskList::default();
        (0..MOST_RUNNING).for_each(|_| drop(list.add(task()).unwrap()));
        assert!(list.add(task()).unwrap_err().message().contains("stop one of them first"));
        list.find("task-1").unwrap().stop();
        assert_eq!(list.add(task()).unwrap(), "task-33");
    }

    #[test]
    fn what_has_ended_is_forgotten_after_a_while() {
        let list = TaskList::default();
        for _ in 0..200 {
            let id = list.add(task()).unwrap();
            list.find(&id).unwrap().stop();
        }
        assert_eq!(list.ids().len(), MOST_ENDED);
        assert!(list.find("task-1").is_none() && list.find("task-200").is_some());
    }

    #[test]
    fn each_task_remembers_up_to_where_it_was_looked_at() {
        let list = TaskList::default();
        let (one, two) = (list.add(task()).unwrap(), list.add(task()).unwrap());
        list.see(&one, 7);
        assert_eq!((list.seen(&one), list.seen(&two), list.seen("none")), (7, 0, 0));
    }

    #[tokio::test]
    async fn a_task_of_an_earlier_run_is_known_and_has_ended() {
        let before = TaskList::default();
        before.add(task()).unwrap();
        let past = before.memory(None);
        assert_eq!(past[0].state, TaskState::Running);
        let now = TaskList::recall(past);
        assert_eq!(now.add(task()).unwrap(), "task-2", "no id is given twice");
        let found = now.find("task-1").unwrap();
        found.ended().await;
        let TaskState::Failed(why) = found.state() else { panic!("{:?}", found.state()) };
        assert_eq!(
            (found.describe().as_str(), why.as_str()),
            ("pretends", "it ended with the run of haft that it was begun in")
        );
    }

    #[test]
    fn an_end_is_told_once_and_not_to_whoever_has_seen_it() {
        let list = TaskList::default();
        let (one, two) = (list.add(task()).unwrap(), list.add(task()).unwrap());
        assert_eq!(list.reports(None), []);
        [&one, &two].into_iter().for_each(|id| list.find(id).unwrap().stop());
        list.see(&two, 0);
        let told: Vec<String> = list.reports(None).into_iter().map(|report| report.task.id).collect();
        assert_eq!(told, [one]);
        assert_eq!(list.reports(None), []);
        let past = list.memory(None);
        assert_eq!(TaskList::recall(past).reports(None), [], "what had ended was told then");
    }

    #[test]
    fn what_ended_with_haft_is_told_to_whoever_goes_on() {
        let before = TaskList::default();
        before.add(task()).unwrap();
        let reports = TaskList::recall(before.memory(None)).reports(None);
        assert!(matches!(
            &reports[..],
            [TaskReport { task: TaskFacts { state: TaskState::Failed(_), .. }, .. }]
        ));
    }
}
