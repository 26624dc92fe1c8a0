//! What goes on in the background: what is listed, and the word when it ends.
//!
//! The model is told with the next message, which may be hours later; the person is told at once, and not again then.

use haft_engine::session::TaskFacts;
use haft_tool::TaskState;

use super::transcript::Tone;

/// Who watches what goes on in the background.
#[derive(Debug, Default)]
pub(super) struct Background {
    /// Those whose end is known here.
    over: Vec<String>,
}

/// What was seen there.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sight {
    /// What goes on: an id and a line each.
    pub(super) running: Vec<(String, String)>,
    /// What has ended since the last look, in words.
    pub(super) ended: Vec<(Tone, String)>,
}

impl Background {
    /// What has ended by now was told to others.
    pub(super) fn after(tasks: &[TaskFacts]) -> Background {
        let over = tasks.iter().filter(|task| task.state != TaskState::Running);
        Background { over: over.map(|task| task.id.clone()).collect() }
    }

    pub(super) fn look(&mut self, tasks: Vec<TaskFacts>) -> Sight {
        let mut sight = Sight::default();
        for TaskFacts { id, description, state } in tasks {
            let (tone, how) = match state {
                TaskState::Running => {
                    sight.running.push((id, description));
                    continue;
                }
                TaskState::Done(how) => (Tone::Plain, how),
                TaskState::Failed(how) => (Tone::Warning, how),
            };
            if !self.over.contains(&id) {
                sight.ended.push((tone, format!("{id} ({description}){ENDED}{how}")));
                self.over.push(id);
            }
        }
        sight
    }

    /// What of a notice is news: it comes with the next message, and may tell of an end that is known.
    pub(super) fn news<'a>(&self, notice: &'a str) -> Option<&'a str> {
        let Some((before, _)) = notice.rsplit_once(ENDED) else { return Some(notice) };
        let is_known = self
            .over
            .iter()
            .any(|id| before.strip_prefix(id.as_str()).is_some_and(|rest| rest.starts_with(" (")));
        match is_known {
            false => Some(notice),
            // It has printed something, too.
            true => before.contains("): ").then_some(before),
        }
    }
}

const ENDED: &str = " has ended: ";

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, state: TaskState) -> TaskFacts {
        TaskFacts { id: id.into(), description: "npm run dev".into(), state }
    }

    #[test]
    fn an_end_is_told_when_it_is_seen_and_once() {
        let done = || TaskState::Done("exit code 0".into());
        let mut background = Background::after(&[task("task-1", done())]);
        let sight = background.look(vec![task("task-1", done()), task("task-2", TaskState::Running)]);
        assert_eq!((sight.running.len(), sight.ended.len()), (1, 0));
        let failed = || vec![task("task-2", TaskState::Failed("exit code 1".into()))];
        let words = "task-2 (npm run dev) has ended: exit code 1";
        assert_eq!(background.look(failed()).ended, [(Tone::Warning, words.to_owned())]);
        assert_eq!(background.look(failed()), Sight::default());
        assert_eq!(background.news(words), None);
        assert_eq!(background.news("task-22 (x) has ended: y"), Some("task-22 (x) has ended: y"));
        let more = "task-2 (npm run dev): 3 lines, the last: ready has ended: exit code 1";
        assert_eq!(background.news(more), Some("task-2 (npm run dev): 3 lines, the last: ready"));
        assert_eq!(background.news("the sandbox is off"), Some("the sandbox is off"));
    }
}
