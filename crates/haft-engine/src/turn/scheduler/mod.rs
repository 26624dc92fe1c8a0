//! Who may run beside whom.
//!
//! A call waits for the earlier calls that it conflicts with, and never for others. The scheduler is pure
//! book-keeping: it is told what arrives and what ends, and says what may start. Nothing runs here.
//!
//! Finding the earlier calls must not cost more as a turn grows, so conflicts are not looked for pair by pair. Every
//! place that calls touch (a path, a host, a piece of the session) has a [`Crowd`] of the calls that were there; a new
//! call waits for whole crowds. Paths cover what lies below them: each path also joins the crowds of its ancestors.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    ffi::{OsStr, OsString},
    path::Path,
};

use haft_tool::{Access, Effects};

mod again; // a call that has come to touch something else

/// Which call of the turn, counted from 0 in the model's order.
pub type CallIndex = usize;

/// Decides what may start. Feed it with [`push`](Scheduler::push) and [`finish`](Scheduler::finish), ask
/// [`start`](Scheduler::start).
#[derive(Debug)]
pub struct Scheduler {
    cap: usize,
    running: usize,
    closed: bool,
    nodes: Vec<Node>,
    calls: Vec<NodeId>,
    /// Calls that nothing stands before, smallest index first. Those of the first heap may start while the model
    /// still writes.
    ready_early: BinaryHeap<Reverse<CallIndex>>,
    ready_late: BinaryHeap<Reverse<CallIndex>>,
    places: Places,
    /// Everything since the last call that runs alone.
    everyone: Crowd,
    /// The last call that runs alone, and those that came to do so since.
    alone: Vec<NodeId>,
}

type NodeId = u32;

/// A call, or the meeting point of a crowd: done when all that it waits for is done.
#[derive(Debug)]
struct Node {
    call: Option<CallIndex>,
    early: bool,
    waits_for: u32,
    waited_for_by: Vec<NodeId>,
    started: bool,
    done: bool,
}

impl Node {
    fn new(call: Option<CallIndex>, early: bool) -> Node {
        Node { call, early, waits_for: 0, waited_for_by: Vec::new(), started: false, done: false }
    }
}

fn may_start_early(effects: &Effects) -> bool {
    effects.is_read_only() && effects.is_concurrency_safe()
}

impl Scheduler {
    /// At most `cap` calls run at once (at least one).
    pub fn new(cap: usize) -> Scheduler {
        Scheduler {
            cap: cap.max(1),
            running: 0,
            closed: false,
            nodes: Vec::new(),
            calls: Vec::new(),
            ready_early: BinaryHeap::new(),
            ready_late: BinaryHeap::new(),
            places: Places::default(),
            everyone: Crowd::default(),
            alone: Vec::new(),
        }
    }

    /// The model's next call.
    pub fn push(&mut self, effects: &Effects) -> CallIndex {
        let index = self.calls.len();
        let node = self.add(Some(index), may_start_early(effects));
        self.calls.push(node);

        let mut before: Vec<NodeId> = self.alone.clone();
        if effects.runs_alone() {
            before.extend(self.everyone.meet(&mut self.nodes));
            // Whoever comes later waits for this call, and so for all before it: the slate is clean.
            self.places = Places::default();
            self.alone = vec![node];
        } else {
            self.places.meet(effects, &mut self.nodes, &mut before);
            self.places.join(effects, node);
            self.everyone.join(node);
        }
        self.wait(node, &before);
        index
    }

    /// No more calls come: those that change something may start too.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// A call that may start now; it counts as running from here on. Ask until there is none.
    pub fn start(&mut self) -> Option<CallIndex> {
        if self.running >= self.cap {
            return None;
        }
        let late_is_first = match (self.ready_early.peek(), self.ready_late.peek()) {
            (Some(Reverse(early)), Some(Reverse(late))) => late < early,
            (None, Some(_)) => true,
            _ => false,
        };
        let heap = if self.closed && late_is_first { &mut self.ready_late } else { &mut self.ready_early };
        let Reverse(index) = heap.pop()?;
        self.running += 1;
        self.node_of(index).started = true;
        Some(index)
    }

    /// A running call has ended, however.
    pub fn finish(&mut self, index: CallIndex) {
        self.running = self.running.saturating_sub(1);
        let mut ended = vec![self.calls[index]];
        while let Some(node) = ended.pop() {
            self.nodes[node as usize].done = true;
            for waiter in std::mem::take(&mut self.nodes[node as usize].waited_for_by) {
                let waiter_node = &mut self.nodes[waiter as usize];
                waiter_node.waits_for -= 1;
                if waiter_node.waits_for == 0 {
                    match waiter_node.call {
                        Some(_) => self.ready(waiter),
                        None => ended.push(waiter),
                    }
                }
            }
        }
    }

    /// Whether a call that runs alone has not ended: what comes after it cannot be prepared yet, because it may
    /// change what the names in it mean.
    pub fn is_alone_pending(&self) -> bool {
        self.alone.iter().any(|node| !self.nodes[*node as usize].done)
    }

    fn node_of(&mut self, index: CallIndex) -> &mut Node {
        &mut self.nodes[self.calls[index] as usize]
    }

    fn add(&mut self, call: Option<CallIndex>, early: bool) -> NodeId {
        let id = self.nodes.len() as NodeId;
        self.nodes.push(Node::new(call, early));
        id
    }

    fn wait(&mut self, node: NodeId, before: &[NodeId]) {
        let waits_for = link(&mut self.nodes, node, before);
        if waits_for == 0 {
            self.ready(node);
        }
    }

    fn ready(&mut self, node: NodeId) {
        let node = &self.nodes[node as usize];
        if let Some(index) = node.call {
            let heap = if node.early { &mut self.ready_early } else { &mut self.ready_late };
            heap.push(Reverse(index));
        }
    }
}

/// Lets a node wait for those of the others that are not done, and says how many these are.
fn link(nodes: &mut [Node], node: NodeId, before: &[NodeId]) -> u32 {
    let mut waits_for = 0;
    for earlier in before {
        let earlier = &mut nodes[*earlier as usize];
        if !earlier.done {
            earlier.waited_for_by.push(node);
            waits_for += 1;
        }
    }
    nodes[node as usize].waits_for = waits_for;
    waits_for
}

/// Calls that were at a place. Whoever waits for all of them waits for one node: the crowd's meeting point, made when
/// somebody first asks and grown from there. So a call is counted once per crowd, not once per waiter.
#[derive(Debug, Default)]
struct Crowd {
    met: Option<NodeId>,
    since: Vec<NodeId>,
}

impl Crowd {
    fn join(&mut self, node: NodeId) {
        self.since.push(node);
    }

    fn meet(&mut self, nodes: &mut Vec<Node>) -> Option<NodeId> {
        let is_open = |node: &NodeId| !nodes[*node as usize].done;
        let mut before: Vec<NodeId> = self.since.drain(..).filter(is_open).collect();
        before.extend(self.met.take().filter(is_open));
        self.met = match before.as_slice() {
            [] => None,
            [only] => Some(*only),
            several => {
                let point = nodes.len() as NodeId;
                nodes.push(Node::new(None, false));
                link(nodes, point, several);
                Some(point)
            }
        };
        self.met
    }
}

/// The readers and the writers at one place.
#[derive(Debug, Default)]
struct Visitors {
    readers: Crowd,
    writers: Crowd,
}

impl Visitors {
    fn join(&mut self, access: Access, node: NodeId) {
        match access {
            Access::Read => self.readers.join(node),
            Access::Write => self.writers.join(node),
        }
    }

    /// Whom a newcomer waits for: a reader for the writers, a writer for all.
    fn meet(&mut self, access: Access, nodes: &mut Vec<Node>, before: &mut Vec<NodeId>) {
        before.extend(self.writers.meet(nodes));
        if access == Access::Write {
            before.extend(self.readers.meet(nodes));
        }
    }
}

/// All places that calls of the turn touch.
#[derive(Debug, Default)]
struct Places {
    tree: Vec<Directory>,
    named: HashMap<(Kind, String), Visitors>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Host,
    State,
}

#[derive(Debug, Default)]
struct Directory {
    children: HashMap<OsString, usize>,
    here: Visitors,
    below: Visitors,
}

impl Places {
    fn meet(&mut self, effects: &Effects, nodes: &mut Vec<Node>, before: &mut Vec<NodeId>) {
        for effect in effects.paths() {
            let trail = self.trail(effect.place());
            for place in &trail {
                self.tree[*place].here.meet(effect.access, nodes, before);
            }
            if let Some(last) = trail.last() {
                self.tree[*last].below.meet(effect.access, nodes, before);
            }
        }
        self.each_named(effects, |visitors, access| visitors.meet(access, nodes, before));
    }

    fn join(&mut self, effects: &Effects, node: NodeId) {
        for effect in effects.paths() {
            let mut trail = self.trail(effect.place());
            if let Some(last) = trail.pop() {
                self.tree[last].here.join(effect.access, node);
            }
            for ancestor in trail {
                self.tree[ancestor].below.join(effect.access, node);
            }
        }
        self.each_named(effects, |visitors, access| visitors.join(access, node));
    }

    fn each_named(&mut self, effects: &Effects, mut act: impl FnMut(&mut Visitors, Access)) {
        for effect in effects.hosts() {
            act(self.named.entry((Kind::Host, effect.host.clone())).or_default(), effect.access);
        }
        for effect in effects.state() {
            act(self.named.entry((Kind::State, effect.key.to_string())).or_default(), effect.access);
        }
    }

    /// The places from the root to a path, made where they are missing.
    fn trail(&mut self, path: &Path) -> Vec<usize> {
        if self.tree.is_empty() {
            self.tree.push(Directory::default());
        }
        let mut trail = vec![0];
        let mut here = 0;
        for name in path.iter() {
            here = self.child(here, name);
            trail.push(here);
        }
        trail
    }

    fn child(&mut self, parent: usize, name: &OsStr) -> usize {
        if let Some(child) = self.tree[parent].children.get(name) {
            return *child;
        }
        let child = self.tree.len();
        self.tree.push(Directory::default());
        self.tree[parent].children.insert(name.to_owned(), child);
        child
    }
}

#[cfg(test)]
mod tests;
