//! Calls, told apart.
//!
//! An API's ids need not differ from message to message: some servers count calls anew in each. The engine takes the same
//! id with the same input for the same call, sent again, and answers it from the journal. So a call whose id was there
//! before is known to the engine, the journal and the screen by another one; the API gets its own back.

use std::collections::{HashMap, HashSet};

use haft_engine::result::ToolResult;
use haft_model::StreamEvent;
use haft_tool::CallId;

/// The ids of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    used: HashSet<CallId>,
    next: u64,
}

/// The ids of one message: the API's, and ours where it is another one.
#[derive(Debug, Default)]
pub(crate) struct Names {
    ours: HashMap<CallId, CallId>,
    /// Ours, in the order of the calls.
    order: Vec<(CallId, CallId)>,
}

impl Ids {
    /// These were used before.
    pub(crate) fn used<'a>(ids: impl IntoIterator<Item = &'a CallId>) -> Ids {
        let used: HashSet<CallId> = ids.into_iter().cloned().collect();
        Ids { next: used.len() as u64, used }
    }

    fn fresh(&mut self, id: &CallId) -> CallId {
        if self.used.insert(id.clone()) {
            return id.clone();
        }
        loop {
            self.next += 1;
            let ours = CallId::from(format!("{id}~{}", self.next));
            if self.used.insert(ours.clone()) {
                return ours;
            }
        }
    }
}

impl Names {
    /// By which id the engine knows a call of this message.
    pub(crate) fn ours(&mut self, id: &CallId, ids: &mut Ids) -> CallId {
        if let Some(ours) = self.ours.get(id) {
            return ours.clone();
        }
        let ours = ids.fresh(id);
        self.ours.insert(id.clone(), ours.clone());
        ours
    }

    /// The event with our ids in it. A complete call has its place in the order from here on.
    pub(crate) fn rename(&mut self, event: StreamEvent, ids: &mut Ids) -> StreamEvent {
        match event {
            StreamEvent::CallOpened { id, name } => StreamEvent::CallOpened { id: self.ours(&id, ids), name },
            StreamEvent::CallArguments { id, piece } => {
                StreamEvent::CallArguments { id: self.ours(&id, ids), piece }
            }
            StreamEvent::Call(mut call) => {
                let ours = self.ours(&call.id, ids);
                self.order.push((call.id, ours.clone()));
                call.id = ours;
                StreamEvent::Call(call)
            }
            event => event,
        }
    }

    /// Ours, in the order of the calls.
    pub(crate) fn in_order(&self) -> Vec<CallId> {
        self.order.iter().map(|(_, ours)| ours.clone()).collect()
    }

    /// The results as the API knows their calls.
    pub(crate) fn give_back(&self, results: &mut [ToolResult]) {
        for result in results {
            if let Some((theirs, _)) = self.order.iter().find(|(_, ours)| *ours == result.call) {
                result.call = theirs.clone();
            }
        }
    }

    /// The names of a message from before.
    pub(crate) fn of(pairs: Vec<(CallId, CallId)>) -> Names {
        Names { ours: pairs.iter().cloned().collect(), order: pairs }
    }
}

#[cfg(test)]
mod tests {
    use haft_engine::Call;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_that_was_there_before_gets_another() {
        let mut ids = Ids::default();
        let mut said = Vec::new();
        for _ in 0..3 {
            let mut names = Names::default();
            for id in ["call_0", "call_1"] {
                let opened = StreamEvent::CallOpened { id: id.into(), name: "Read".to_owned() };
                let StreamEvent::CallOpened { id: opened, .. } = names.rename(opened, &mut ids) else {
                    panic!()
                };
                let call = StreamEvent::Call(Call::new(id, "Read", json!({})));
                let StreamEvent::Call(call) = names.rename(call, &mut ids) else { panic!() };
                assert_eq!(opened, call.id);
            }
            said.push(names.in_order().iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        }
        assert_eq!(said, ["call_0 call_1", "call_0~1 call_1~2", "call_0~3 call_1~4"]);
    }
}
