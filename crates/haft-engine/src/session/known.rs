//! The calls that a session has seen, in this process and before it: is one that arrives new, or does it come again?
//!
//! An id and an input that came before are the same call, sent again. But some models count their calls anew in each
//! turn, and then `call_1` with the same input is a new call. Such a session gives itself away: sooner or later an id comes with
//! another input. From then on only a turn that never came to its end is taken for one that comes again.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use haft_tool::{CallId, SessionId};

use super::journal::{CallKey, CallState, Digest, PastCall};
use crate::turn::Call;

/// So many calls are known by heart. One that is older is still found by the journal when it is about to start.
pub(crate) const MOST: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    by_id: HashMap<CallId, Vec<Before>>,
    /// The ids in the order in which they came.
    order: VecDeque<CallId>,
    /// The latest turn that began.
    turn: u32,
    /// Those that never came to their end, as far as is known.
    open: BTreeSet<u32>,
    /// Turns, and those of them before from which calls came again in them.
    came_again: BTreeSet<(u32, u32)>,
    counts_anew: bool,
}

#[derive(Debug, Clone, Copy)]
struct Before {
    digest: Digest,
    nth: u32,
    turn: u32,
    state: CallState,
}

/// What is known of a call that arrives.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) key: CallKey,
    /// How far it came before, if it is not new.
    pub(crate) before: Option<CallState>,
    /// Whether it came in the last turn: what it changed in the session may be missing.
    pub(crate) is_recent: bool,
}

impl Known {
    pub(crate) fn recall(past: Vec<PastCall>) -> Known {
        let mut calls = Calls::default();
        for PastCall { key, turn, turn_ended, state, read_only } in past {
            calls.turn = calls.turn.max(turn);
            // The session was not kept since: what such a call showed must be seen again, and nothing is done twice.
            let is_unseen = read_only && !turn_ended && state == CallState::Finished;
            let state = if is_unseen { CallState::Refused } else { state };
            if !turn_ended {
                calls.open.insert(turn);
            }
            calls.note(key.call, Before { digest: key.digest, nth: key.nth, turn, state });
        }
        Known(Mutex::new(calls))
    }

    /// The number of the turn that begins.
    pub(crate) fn next_turn(&self) -> u32 {
        let mut calls = self.lock();
        calls.turn += 1;
        let turn = calls.turn;
        calls.open.insert(turn);
        if calls.open.len() > MOST {
            calls.open.pop_first();
        }
        turn
    }

    /// Ids mean nothing from now on.
    pub(crate) fn count_anew(&self) {
        self.lock().counts_anew = true;
    }

    /// Every call of the turn has its result. So has every call of an earlier turn that was cut off, if what came again in this
    /// one was all that it lacked: gives those turns, which have ended now, too.
    pub(crate) fn turn_ended(&self, turn: u32) -> Vec<u32> {
        let mut calls = self.lock();
        calls.open.remove(&turn);
        let came_again = std::mem::take(&mut calls.came_again);
        let (ended, later): (Vec<_>, Vec<_>) = came_again.into_iter().partition(|(of, _)| *of == turn);
        calls.came_again = later.into_iter().collect();
        let ended = ended.into_iter().map(|(_, earlier)| earlier);
        let ended: Vec<u32> = ended.filter(|earlier| calls.is_complete(*earlier)).collect();
        for earlier in &ended {
            calls.open.remove(earlier);
        }
        ended
    }

    /// A call arrives.
    pub(crate) fn arrives(&self, session: &SessionId, turn: u32, call: &Call) -> Arrival {
        let (mut calls, digest) = (self.lock(), Digest::of(call));
        let last = turn.saturating_sub(1);
        let before = calls.before(&call.id, digest);
        let came_again = before.filter(|before| !calls.counts_anew || calls.open.contains(&before.turn));
        let nth = match (came_again, before) {
            (Some(before), _) => before.nth,
            (None, Some(before)) => before.nth + 1,
            (None, None) => 0,
        };
        match came_again {
            Some(before) if before.turn < turn && calls.open.contains(&before.turn) => {
                calls.came_again.insert((turn, before.turn));
            }
            Some(_) => {}
            None => {
                let state = CallState::Refused; // Until it starts.
                calls.note(call.id.clone(), Before { digest, nth, turn, state });
            }
        }
        let key = CallKey { session: session.clone(), call: call.id.clone(), digest, nth };
        let is_recent = came_again.is_some_and(|before| before.turn >= last);
        Arrival { key, before: came_again.map(|before| before.state), is_recent }
    }

    /// How far a call came.
    pub(crate) fn came(&self, key: &CallKey, state: CallState) {
        self.change(key, |known| *known = state);
    }

    /// A call was dropped before it had a result. It was cut off, if it had started.
    pub(crate) fn dropped(&self, key: &CallKey) {
        self.change(key, |state| {
            if *state == CallState::Open {
                *state = CallState::CutOff
            }
        });
    }

    fn change(&self, key: &CallKey, change: impl FnOnce(&mut CallState)) {
        let mut calls = self.lock();
        let Some(same_id) = calls.by_id.get_mut(&key.call) else { return };
        let is_it = |before: &&mut Before| before.digest == key.digest && before.nth == key.nth;
        if let Some(before) = same_id.iter_mut().find(is_it) {
            change(&mut before.state);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    /// The latest of that id and input.
    fn before(&self, id: &CallId, digest: Digest) -> Option<Before> {
        self.by_id.get(id)?.iter().rev().find(|before| before.digest == digest).copied()
    }

    /// Whether every call of a turn has its result.
    fn is_complete(&self, turn: u32) -> bool {
        let mut of_turn = self.by_id.values().flatten().filter(|before| before.turn == turn);
        of_turn.all(|before| matches!(before.state, CallState::Finished | CallState::Refused))
    }

    fn note(&mut self, id: CallId, call: Before) {
        let same_id = self.by_id.entry(id.clone()).or_default();
        self.counts_anew |= same_id.iter().any(|before| before.digest != call.digest);
        same_id.push(call);
        self.order.push_back(id);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
            && let Some(same_id) = self.by_id.get_mut(&oldest)
        {
            same_id.remove(0);
            if same_id.is_empty() {
                self.by_id.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A turn a line, a call a word: `id:input`. What is known of each: new, or how far it came; `nth` where it is not 0.
    #[track_caller]
    fn check(turns: &str, expected: &str) {
        let known = Known::default();
        let mut told = Vec::new();
        for line in turns.lines() {
            let turn = known.next_turn();
            let (calls, ends) = match line.trim().strip_suffix(" †") {
                Some(calls) => (calls, false),
                None => (line.trim(), true),
            };
            let words: Vec<String> = calls
                .split_whitespace()
                .map(|word| {
                    let (id, input) = word.split_once(':').unwrap();
                    let arrival = known.arrives(&"s".into(), turn, &Call::new(id, "T", json!(input)));
                    known.came(&arrival.key, CallState::Finished);
                    let nth = if arrival.key.nth > 0 { arrival.key.nth.to_string() } else { String::new() };
                    if arrival.before.is_none() { format!("new{nth}") } else { format!("again{nth}") }
                })
                .collect();
            if ends {
                known.turn_ended(turn);
            }
            told.push(words.join(" "));
        }
        assert_eq!(told.join("\n"), expected);
    }

    #[test]
    fn an_id_with_the_same_input_is_the_same_call_in_any_later_turn() {
        check("a:1 b:1\n a:1 b:1\n c:1\n b:1", "new new\nagain again\nnew\nagain");
    }

    #[test]
    fn an_id_with_another_input_is_another_call() {
        check("a:1\n a:2", "new\nnew");
    }

    #[test]
    fn ids_that_are_counted_anew_mean_nothing_once_their_turn_has_ended() {
        check("1:test\n 1:edit\n 1:test\n 1:test", "new\nnew\nnew1\nnew2");
    }

    #[test]
    fn a_turn_that_never_ended_is_sent_again_whatever_ids_mean() {
        check("1:test\n 1:edit\n 1:test †\n 1:test", "new\nnew\nnew1\nagain1");
    }

    /// A call of a turn that was cut off, as the journal tells of it.
    fn past(id: &str, state: CallState) -> PastCall {
        let digest = Digest::of(&Call::new(id, "T", json!("test")));
        let key = CallKey { session: "s".into(), call: id.into(), digest, nth: 0 };
        PastCall { key, turn: 1, turn_ended: false, state, read_only: false }
    }

    #[test]
    fn a_turn_that_was_cut_off_has_ended_when_it_was_sent_again() {
        let known = Known::recall(vec![past("1", CallState::CutOff), past("2", CallState::Finished)]);
        known.count_anew();
        let arrives = |turn| known.arrives(&"s".into(), turn, &Call::new("1", "T", json!("test")));
        let again = arrives(known.next_turn());
        assert_eq!((again.before, again.key.nth), (Some(CallState::CutOff), 0));
        known.came(&again.key, CallState::Finished);
        assert_eq!(known.turn_ended(2), [1]);
        let new = arrives(known.next_turn());
        assert_eq!((new.before, new.key.nth), (None, 1), "the same id later is another call");
    }

    #[test]
    fn a_turn_of_which_a_call_is_still_cut_off_has_not_ended() {
        let known = Known::recall(vec![past("1", CallState::CutOff), past("2", CallState::CutOff)]);
        let again = known.arrives(&"s".into(), known.next_turn(), &Call::new("1", "T", json!("test")));
        known.came(&again.key, CallState::Finished);
        assert_eq!(known.turn_ended(2), [0; 0]);
        let rest = known.arrives(&"s".into(), known.next_turn(), &Call::new("2", "T", json!("test")));
        assert_eq!(rest.before, Some(CallState::CutOff));
        known.came(&rest.key, CallState::Finished);
        assert_eq!(known.turn_ended(3), [1]);
    }

    #[test]
    fn what_is_known_is_bounded() {
        let known = Known::default();
        for n in 0..3 * MOST {
            known.arrives(&"s".into(), 1, &Call::new(format!("c{n}"), "T", json!(n)));
        }
        let calls = known.lock();
        assert_eq!((calls.order.len(), calls.by_id.len()), (MOST, MOST));
    }
}
