//! The calls that a session has seen, in this process and before it: is one that arrives new, or does it come again?
//!
//! A call that may change something is made once, with a journal and without: a turn that was dropped, timed out or is sent
//! again, and another session under the same id, find here how far it came. What a journal adds is that other processes
//! know it, too. A call that only looks is made again, so that it shows what is there now.
//!
//! An id and an input that came before are the same call, sent again. But some models count their calls anew in each
//! turn, and then `call_1` with the same input is a new call. Such a session gives itself away: sooner or later an id comes with
//! another input. From then on only a turn that never came to its end is taken for one that comes again.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use haft_tool::{Block, CallId, Caller, Class, Effects, FaultKind, SessionId};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, futures::Notified};

use super::journal::{CallKey, CallState, Digest, Finished, PastCall};
use crate::turn::Call;

/// So many calls are known by heart. One that is older is still found by the journal when it is about to start.
pub(crate) const MOST: usize = 4096;

/// So many results of calls that changed something are kept where no journal keeps them, and so many bytes of text.
const MOST_RESULTS: usize = 64;
const MOST_RESULT_BYTES: usize = 64 * 1024;

/// So many sessions that have ended are remembered by an engine.
const MOST_SESSIONS: usize = 512;

/// Whose calls a session's calls are. Two sessions of one id that belong to different callers, or work in different
/// workspaces, know nothing of each other's calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    session: SessionId,
    scope: [u8; 16],
}

impl Identity {
    /// A caller is known by their name; one without a name by what else is known of them.
    pub(crate) fn new(session: &SessionId, workspace: &Path, caller: &Caller) -> Identity {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        add(workspace.as_os_str().as_bytes());
        match &caller.user {
            Some(user) => {
                add(b"user");
                add(user.as_bytes());
            }
            None => {
                add(caller.channel.as_deref().unwrap_or_default().as_bytes());
                caller.roles.iter().for_each(|role| add(role.as_bytes()));
            }
        }
        let mut scope = [0; 16];
        scope.copy_from_slice(&hash.finalize()[..16]);
        Identity { session: session.clone(), scope }
    }

    /// That of a sub-agent's session.
    pub(crate) fn of_child(&self, session: &SessionId) -> Identity {
        Identity { session: session.clone(), ..self.clone() }
    }

    /// The fingerprint by which books know a call of this session: of another caller or workspace it is another one.
    fn digest(&self, call: &Call) -> Digest {
        let mut hash = Sha256::new();
        hash.update(self.scope);
        hash.update(Digest::of(call).0);
        let mut short = self.scope;
        short[TAG..].copy_from_slice(&hash.finalize()[..16 - TAG]);
        Digest(short)
    }

    /// Whether a call from a journal may be of this session. What is of another caller's is not compared with its calls.
    fn owns(&self, digest: Digest) -> bool {
        digest.0[..TAG] == self.scope[..TAG]
    }
}

/// So many bytes of a fingerprint say whose call it is.
const TAG: usize = 4;

/// The calls of an engine's sessions, also of those that have ended: one may begin again under its id.
#[derive(Debug, Default)]
pub(crate) struct KnownSessions(Mutex<Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    calls: HashMap<Identity, Arc<Known>>,
    /// In the order in which they came.
    order: VecDeque<Identity>,
}

impl KnownSessions {
    pub(crate) fn find(&self, identity: &Identity) -> Option<Arc<Known>> {
        self.lock().calls.get(identity).cloned()
    }

    /// Remembers the calls of a session. Gives the calls that another source brought first, if there are any.
    pub(crate) fn add(&self, identity: &Identity, known: Arc<Known>) -> Arc<Known> {
        let mut sessions = self.lock();
        if let Some(known) = sessions.calls.get(identity) {
            return known.clone();
        }
        sessions.calls.insert(identity.clone(), known.clone());
        sessions.order.push_back(identity.clone());
        // Those that live are not forgotten, however many they are.
        for _ in 0..sessions.order.len().saturating_sub(MOST_SESSIONS).min(8) {
            let Some(oldest) = sessions.order.pop_front() else { break };
            let is_alive = |known: &Arc<Known>| Arc::strong_count(known) > 1;
            if sessions.calls.get(&oldest).is_some_and(is_alive) {
                sessions.order.push_back(oldest);
            } else {
                sessions.calls.remove(&oldest);
            }
        }
        known
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Known {
    calls: Mutex<Calls>,
    /// A call has come further.
    changed: Notify,
    /// Whether a journal knew calls of this session when it began: then a call that is not here was never begun.
    was_recorded: bool,
    /// The last turn of earlier processes: results of those calls are recalled word for word.
    last_recalled: u32,
    /// Ids of calls that were made under the session's id for another caller, or in another workspace.
    of_others: HashSet<CallId>,
}

#[derive(Debug, Default)]
struct Calls {
    by_id: HashMap<CallId, Vec<Before>>,
    /// The ids in the order in which they came.
    order: VecDeque<CallId>,
    /// The latest turn that began.
    turn: u32,
    /// Those that never came to their end, as far as is known.
    open: BTreeSet<u32>,
    /// Calls whose results were not delivered yet.
    undelivered: BTreeSet<u32>,
    /// Turns, and those of them before from which calls came again in them.
    came_again: BTreeSet<(u32, u32)>,
    counts_anew: bool,
    /// What came of calls that may have changed something, where no journal knows it. The latest are last.
    results: VecDeque<(CallKey, Finished)>,
}

#[derive(Debug, Clone, Copy)]
struct Before {
    digest: Digest,
    nth: u32,
    turn: u32,
    state: CallState,
    /// What it did, where that is known in this process.
    did: Did,
    /// Whether it stands without a result in a conversation: when it comes again, it is the same.
    is_missed: bool,
}

/// What a call did, as far as it matters when it comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Did {
    /// It only looked: it is made again, and shows what is there now.
    Look,
    /// It may have changed something.
    Change,
    /// It may have changed something irreversibly, or it was stopped on the way, so that its effect is unknown.
    Irreversible,
}

impl Did {
    pub(crate) fn of(effects: &Effects, has_side_effects: bool, fault: Option<FaultKind>) -> Did {
        use FaultKind::{Cancelled, Internal, Interrupted, TimedOut};
        let was_stopped = matches!(fault, Some(Cancelled | TimedOut | Interrupted | Internal));
        match has_side_effects {
            false => Did::Look,
            true if was_stopped || effects.class() == Class::Destructive => Did::Irreversible,
            true => Did::Change,
        }
    }
}

/// What is known of a call that arrives.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) key: CallKey,
    /// How far it came before, if it is not new.
    pub(crate) before: Option<CallState>,
    /// Whether it came in the last turn: what it changed in the session may be missing.
    pub(crate) is_recent: bool,
    /// Whether its result was given before in this process: its turn came to its end.
    pub(crate) was_told: bool,
}

impl Known {
    pub(crate) fn recall(identity: &Identity, past: Vec<PastCall>) -> Known {
        let (mut calls, mut of_others, mut was_recorded) = (Calls::default(), HashSet::new(), false);
        for PastCall { key, turn, turn_ended, state, read_only } in past {
            calls.turn = calls.turn.max(turn);
            if !identity.owns(key.digest) {
                of_others.insert(key.call);
                continue;
            }
            was_recorded = true;
            // The session was not kept since: what such a call showed must be seen again, and nothing is done twice.
            let is_unseen = read_only && !turn_ended && state == CallState::Finished;
            // One that runs elsewhere is waited for by the journal, when it is claimed there.
            let is_elsewhere = state == CallState::Open;
            let state = if is_unseen || is_elsewhere { CallState::Refused } else { state };
            if !turn_ended {
                calls.open.insert(turn);
            }
            let before =
                Before { digest: key.digest, nth: key.nth, turn, state, did: Did::Change, is_missed: false };
            calls.note(key.call, before);
        }
        let last_recalled = calls.turn;
        Known { calls: Mutex::new(calls), was_recorded, last_recalled, of_others, ..Known::default() }
    }

    /// The number of the turn that begins.
    pub(crate) fn next_turn(&self) -> u32 {
        let mut calls = self.lock();
        calls.turn += 1;
        let turn = calls.turn;
        calls.open.insert(turn);
        calls.undelivered.insert(turn);
        if calls.open.len() > MOST {
            calls.open.pop_first();
        }
        if calls.undelivered.len() > MOST {
            calls.undelivered.pop_first();
        }
        turn
    }

    /// The results were delivered to the program that began the turn.
    pub(crate) fn delivered(&self, turn: u32) {
        self.lock().undelivered.remove(&turn);
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
    ///
    /// `recalls`: a journal keeps the results of all calls. Without one, a call whose result was given is a new one when it
    /// comes again, unless it is irreversible.
    pub(crate) fn arrives(&self, identity: &Identity, turn: u32, call: &Call, recalls: bool) -> Arrival {
        let digest = identity.digest(call);
        let mut calls = self.lock();
        let last = turn.saturating_sub(1);
        let before = calls.before(&call.id, digest);
        let is_same = |before: &Before| {
            let has_no_result = matches!(before.state, CallState::Open | CallState::CutOff)
                || calls.open.contains(&before.turn)
                || calls.undelivered.contains(&before.turn)
                || before.is_missed;
            let is_kept = recalls || before.did == Did::Irreversible;
            has_no_result || (is_kept && !calls.counts_anew)
        };
        let came_again = before.filter(is_same);
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
                let before = Before { digest, nth, turn, state, did: Did::Change, is_missed: false };
                calls.note(call.id.clone(), before);
            }
        }
        let key = CallKey { session: identity.session.clone(), call: call.id.clone(), digest, nth };
        let is_recent = came_again.is_some_and(|before| before.turn >= last);
        let was_told = came_again.is_some_and(|before| {
            before.turn > self.last_recalled
                && !calls.open.contains(&before.turn)
                && !calls.undelivered.contains(&before.turn)
                && !before.is_missed
        });
        // One that only looked is the same call, and looks again.
        let how_far = |before: Before| match (before.state, before.did) {
            (CallState::Finished, Did::Look) => CallState::Refused,
            (state, _) => state,
        };
        Arrival { key, before: came_again.map(how_far), is_recent, was_told }
    }

    /// A call may have been made elsewhere, without a record here: by another process, or another session. One that is
    /// not known is taken for one that was cut off, unless a journal would know it.
    pub(crate) fn suspect(&self, identity: &Identity, call: &Call) {
        let digest = identity.digest(call);
        let mut calls = self.lock();
        let mut same_id = calls.by_id.get_mut(&call.id);
        let same = same_id.iter_mut().flat_map(|same_id| same_id.iter_mut().rev());
        if let Some(before) = same.into_iter().find(|before| before.digest == digest) {
            before.is_missed = true;
            return;
        }
        let was_never_begun = same_id.is_none() && self.was_recorded && !self.of_others.contains(&call.id);
        if !was_never_begun {
            let (state, did) = (CallState::CutOff, Did::Change);
            calls.note(call.id.clone(), Before { digest, nth: 0, turn: 0, state, did, is_missed: true });
        }
    }

    /// Claims a call that may change something, unless it came further before. It is made by whoever gets it, and by nobody
    /// else. `repeatable`: it may be made again after it was cut off.
    pub(crate) fn claim(&self, key: &CallKey, repeatable: bool) -> bool {
        let mut is_ours = true;
        self.change(key, |before| match before.state {
            CallState::Refused => before.state = CallState::Open,
            CallState::CutOff if repeatable => before.state = CallState::Open,
            _ => is_ours = false,
        });
        is_ours
    }

    /// How far a call came, as far as it is known now.
    pub(crate) fn state(&self, key: &CallKey) -> Option<CallState> {
        let calls = self.lock();
        let same_id = calls.by_id.get(&key.call)?;
        let is_it = |before: &&Before| before.digest == key.digest && before.nth == key.nth;
        same_id.iter().find(is_it).map(|before| before.state)
    }

    /// Waits until something has changed about some call.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// A call that ran has its result.
    pub(crate) fn finished(&self, key: &CallKey, did: Did) {
        self.change(key, |before| (before.state, before.did) = (CallState::Finished, did));
    }

    /// Keeps what came of a call, in case it is sent again.
    pub(crate) fn keep(&self, key: &CallKey, finished: Finished) {
        let mut calls = self.lock();
        calls.results.push_back((key.clone(), finished));
        let size = |(_, finished): &(CallKey, Finished)| -> usize {
            finished.result.blocks.iter().filter_map(Block::as_text).map(str::len).sum()
        };
        let mut bytes: usize = calls.results.iter().map(size).sum();
        while calls.results.len() > MOST_RESULTS || bytes > MOST_RESULT_BYTES {
            let Some(oldest) = calls.results.pop_front() else { break };
            bytes -= size(&oldest);
        }
    }

    /// What came of a call, if it is kept here.
    pub(crate) fn result(&self, key: &CallKey) -> Option<Finished> {
        let calls = self.lock();
        calls.results.iter().rev().find(|(kept, _)| kept == key).map(|(_, finished)| finished.clone())
    }

    /// How far a call came.
    pub(crate) fn came(&self, key: &CallKey, state: CallState) {
        self.change(key, |before| before.state = state);
    }

    /// A call was dropped before it had a result. It was cut off, if it had started.
    pub(crate) fn dropped(&self, key: &CallKey) {
        self.change(key, |before| {
            if before.state == CallState::Open {
                before.state = CallState::CutOff;
            }
        });
    }

    fn change(&self, key: &CallKey, change: impl FnOnce(&mut Before)) {
        let mut calls = self.lock();
        let Some(same_id) = calls.by_id.get_mut(&key.call) else { return };
        let is_it = |before: &&mut Before| before.digest == key.digest && before.nth == key.nth;
        if let Some(before) = same_id.iter_mut().find(is_it) {
            change(before);
        }
        drop(calls);
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn whose() -> Identity {
        Identity::new(&"s".into(), Path::new("/w"), &Caller::default())
    }

    #[test]
    fn calls_of_another_caller_or_workspace_are_others() {
        let caller = |user: Option<&str>, roles: &[&str]| Caller {
            user: user.map(str::to_owned),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            channel: None,
        };
        let call = Call::new("1", "Read", json!({ "file_path": "a" }));
        let of =
            |workspace: &str, caller| Identity::new(&"s".into(), Path::new(workspace), &caller).digest(&call);
        let ann = of("/w", caller(Some("ann"), &["admin"]));
        assert_eq!(ann, of("/w", caller(Some("ann"), &[])), "the same person with other roles");
        assert_ne!(ann, of("/v", caller(Some("ann"), &["admin"])));
        assert_ne!(ann, of("/w", caller(Some("bob"), &["admin"])));
        assert_ne!(ann, of("/w", caller(None, &["ann"])));
        assert_ne!(of("/w", caller(None, &["a"])), of("/w", caller(None, &[])));
        assert_ne!(of("/w", caller(None, &["user", "ann"])), of("/w", caller(Some("ann"), &[])));
    }

    #[test]
    fn sessions_that_have_ended_are_remembered_up_to_a_bound_and_living_ones_always() {
        let (sessions, living) = (KnownSessions::default(), Arc::new(Known::default()));
        let of = |n: usize| Identity::new(&n.to_string().into(), Path::new("/w"), &Caller::default());
        sessions.add(&of(0), living.clone());
        for n in 1..3 * MOST_SESSIONS {
            sessions.add(&of(n), Arc::default());
        }
        assert!(Arc::ptr_eq(&sessions.find(&of(0)).unwrap(), &living));
        assert!(sessions.find(&of(1)).is_none() && sessions.find(&of(3 * MOST_SESSIONS - 1)).is_some());
        assert_eq!(sessions.lock().calls.len(), MOST_SESSIONS);
    }

    #[test]
    fn results_that_are_kept_are_bounded() {
        let known = Known::default();
        let key = |n: usize| known.arrives(&whose(), 1, &Call::new(n.to_string(), "T", json!(n)), true).key;
        let keep = |n: usize, text: String| {
            let fault = haft_tool::Fault::failed("x");
            let mut result = crate::result::refused(key(n).call, "T".to_owned(), &fault);
            result.blocks = vec![Block::Text(text)];
            known.keep(&key(n), Finished { result, changes: Vec::new() });
        };
        (0..MOST_RESULTS + 5).for_each(|n| keep(n, "x".to_owned()));
        assert!(known.result(&key(4)).is_none() && known.result(&key(5)).is_some());
        keep(1000, "x".repeat(MOST_RESULT_BYTES));
        assert!(known.result(&key(MOST_RESULTS + 4)).is_none());
    }

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
                    let arrival = known.arrives(&whose(), turn, &Call::new(id, "T", json!(input)), true);
                    known.came(&arrival.key, CallState::Finished);
                    let nth = if arrival.key.nth > 0 { arrival.key.nth.to_string() } else { String::new() };
                    if arrival.before.is_none() { format!("new{nth}") } else { format!("again{nth}") }
                })
                .collect();
            if ends {
                known.turn_ended(turn);
                known.delivered(turn);
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
        let digest = whose().digest(&Call::new(id, "T", json!("test")));
        let key = CallKey { session: "s".into(), call: id.into(), digest, nth: 0 };
        PastCall { key, turn: 1, turn_ended: false, state, read_only: false }
    }

    #[test]
    fn a_turn_that_was_cut_off_has_ended_when_it_was_sent_again() {
        let known =
            Known::recall(&whose(), vec![past("1", CallState::CutOff), past("2", CallState::Finished)]);
        known.count_anew();
        let arrives = |turn| known.arrives(&whose(), turn, &Call::new("1", "T", json!("test")), true);
        let again = arrives(known.next_turn());
        assert_eq!((again.before, again.key.nth), (Some(CallState::CutOff), 0));
        known.came(&again.key, CallState::Finished);
        assert_eq!(known.turn_ended(2), [1]);
        let new = arrives(known.next_turn());
        assert_eq!((new.before, new.key.nth), (None, 1), "the same id later is another call");
    }

    #[test]
    fn a_turn_of_which_a_call_is_still_cut_off_has_not_ended() {
        let known = Known::recall(&whose(), vec![past("1", CallState::CutOff), past("2", CallState::CutOff)]);
        let again = known.arrives(&whose(), known.next_turn(), &Call::new("1", "T", json!("test")), true);
        known.came(&again.key, CallState::Finished);
        assert_eq!(known.turn_ended(2), [0; 0]);
        let rest = known.arrives(&whose(), known.next_turn(), &Call::new("2", "T", json!("test")), true);
        assert_eq!(rest.before, Some(CallState::CutOff));
        known.came(&rest.key, CallState::Finished);
        assert_eq!(known.turn_ended(3), [1]);
    }

    #[test]
    fn what_is_known_is_bounded() {
        let known = Known::default();
        for n in 0..3 * MOST {
            known.arrives(&whose(), 1, &Call::new(format!("c{n}"), "T", json!(n)), true);
        }
        let calls = known.lock();
        assert_eq!((calls.order.len(), calls.by_id.len()), (MOST, MOST));
    }
}
