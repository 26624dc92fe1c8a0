//! A call that has come to touch something else, after it was told to start.
//!
//! It keeps its place in the model's order as far as that is still possible: it waits for earlier calls that it conflicts
//! with now, and later ones wait for it. What runs already cannot be made to wait, so it waits for that instead. Here
//! calls are compared one by one: it is rare, and whoever changes a call has started a program to do so.

use haft_tool::Effects;

use super::{CallIndex, NodeId, Scheduler, link, may_start_early};

impl Scheduler {
    /// A call that was started, and has done nothing yet, is going to do this instead. It does not count as running
    /// until [`start`](Scheduler::start) names it again. `conflicts` says which other calls it conflicts with now.
    pub fn reschedule(&mut self, index: CallIndex, effects: &Effects, conflicts: impl Fn(CallIndex) -> bool) {
        let node = self.calls[index];
        self.running = self.running.saturating_sub(1);
        let own = self.node_of(index);
        (own.started, own.early) = (false, may_start_early(effects));
        let (before, after) = self.divide(index, conflicts);
        for later in after {
            self.nodes[node as usize].waited_for_by.push(later);
            self.hold(later);
        }
        if effects.runs_alone() {
            self.alone.push(node);
        } else {
            self.places.join(effects, node);
        }
        if link(&mut self.nodes, node, &before) == 0 {
            self.ready(node);
        }
    }

    /// Of the calls in conflict: those to wait for, and those that must wait. Who waits already, by whatever way, goes on
    /// waiting, so that nobody ever waits for himself.
    fn divide(&self, index: CallIndex, conflicts: impl Fn(CallIndex) -> bool) -> (Vec<NodeId>, Vec<NodeId>) {
        let waiting = self.waiting_for(self.calls[index]);
        let is_open = |(other, node): &(CallIndex, NodeId)| {
            *other != index && !self.nodes[*node as usize].done && !waiting[*node as usize]
        };
        let others = self.calls.iter().copied().enumerate().filter(is_open);
        let others = others.filter(|(other, _)| conflicts(*other));
        let (mut before, mut later) = (Vec::new(), Vec::new());
        for (other, node) in others {
            let goes_first = other < index || self.nodes[node as usize].started;
            if goes_first { before.push(node) } else { later.push(node) }
        }
        let (sooner, after): (Vec<NodeId>, Vec<NodeId>) = later.into_iter().partition(|node| {
            let waiting = self.waiting_for(*node);
            before.iter().any(|before| waiting[*before as usize])
        });
        before.extend(sooner);
        (before, after)
    }

    /// Who waits for a node, directly or not.
    fn waiting_for(&self, node: NodeId) -> Vec<bool> {
        let mut waiting = vec![false; self.nodes.len()];
        let mut seen = vec![node];
        while let Some(node) = seen.pop() {
            for waiter in &self.nodes[node as usize].waited_for_by {
                if !std::mem::replace(&mut waiting[*waiter as usize], true) {
                    seen.push(*waiter);
                }
            }
        }
        waiting
    }

    /// One more thing to wait for, for a call that has not started.
    fn hold(&mut self, node: NodeId) {
        let held = &mut self.nodes[node as usize];
        held.waits_for += 1;
        if let Some(index) = held.call.filter(|_| held.waits_for == 1) {
            let heap = if held.early { &mut self.ready_early } else { &mut self.ready_late };
            heap.retain(|ready| ready.0 != index);
        }
    }
}
