//! Which directory comes next, and for whom.
//!
//! A stack under a lock: the newest directory first, so that what waits is never more than what lies beside the way down.
//! A directory takes far longer to look at than the lock to take, and there are as many threads as cores.

use std::{
    path::Path,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{ignores::Ignores, names::Names, without_slash};

/// A directory to look at.
pub(super) struct Task {
    /// Its path, without a slash at the end.
    pub(super) path: Vec<u8>,
    /// Its level; the root's is one.
    pub(super) depth: usize,
    /// What the directories above it, and it itself once it is read, say about what is in it.
    pub(super) ignores: Option<Arc<Ignores>>,
    /// Some of its names, if they are known already, from one on.
    pub(super) part: Option<(Arc<Names>, usize)>,
}

impl Task {
    pub(super) fn root(root: &Path, ignores: Option<Arc<Ignores>>) -> Task {
        let path = without_slash(root).to_owned();
        Task { path, depth: 1, ignores, part: None }
    }

    pub(super) fn below(&self, path: &[u8]) -> Task {
        Task { path: path.to_owned(), depth: self.depth + 1, ignores: self.ignores.clone(), part: None }
    }

    pub(super) fn part(&self, names: Arc<Names>, from: usize) -> Task {
        Task { path: self.path.clone(), part: Some((names, from)), ignores: self.ignores.clone(), ..*self }
    }
}

pub(super) struct Queue {
    state: Mutex<State>,
    news: Condvar,
    is_over: AtomicBool,
}

struct State {
    tasks: Vec<Task>,
    members: usize,
    waiting: usize,
}

impl Queue {
    pub(super) fn new(members: usize, first: Task) -> Queue {
        let state = State { tasks: vec![first], members, waiting: 0 };
        Queue { state: Mutex::new(state), news: Condvar::new(), is_over: AtomicBool::new(false) }
    }

    /// The next directory. Waits while others may still find one; `None` when nobody can, or the walk was stopped.
    pub(super) fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if self.is_over() {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                return Some(task);
            }
            state.waiting += 1;
            if state.waiting == state.members {
                drop(state);
                self.stop();
                return None;
            }
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    pub(super) fn push(&self, tasks: impl IntoIterator<Item = Task>) {
        let mut tasks = tasks.into_iter().peekable();
        if tasks.peek().is_none() {
            return;
        }
        let mut state = self.lock();
        state.tasks.extend(tasks);
        if state.waiting > 0 {
            self.news.notify_all();
        }
    }

    /// Nobody gets anything any more.
    pub(super) fn stop(&self) {
        // Under the lock, so that nobody misses it between looking and falling asleep.
        let _state = self.lock();
        self.is_over.store(true, Ordering::Relaxed);
        self.news.notify_all();
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(super) fn member(&self) -> Member<'_> {
        Member(self)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that takes part. When it is gone, the walk is over for all: it ended because nothing is left, or it broke.
pub(super) struct Member<'a>(&'a Queue);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
