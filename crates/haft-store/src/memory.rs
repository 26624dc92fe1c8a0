//! A book in memory: for tests, and as the plainest telling of what a book does.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use haft_engine::session::{CallKey, CallState, PastCall};
use haft_tool::{BoxFuture, SessionId};
use serde_json::Value;

use crate::{
    book::{
        Book, BookError, Bookmark, CallFilter, Claimed, Document, Durability, EventFilter, Limits, Page,
        Part, Pruned, path_fits,
    },
    record::{
        AnyRow, CallNo, CallRow, Claim, Entry, EventKind, EventRow, Instant, Outcome, PathRow, SessionRow,
        Turn, TurnRow, WholeCall,
    },
};

/// A book in memory. Clones are the same book and the same process; [`MemoryBook::of_another_process`] is the same book
/// in the hands of another.
#[derive(Debug, Clone)]
pub struct MemoryBook {
    pages: Arc<Mutex<Pages>>,
    owner: String,
}

#[derive(Debug, Default)]
struct Pages {
    calls: Vec<Row>,
    events: Vec<EventRow>,
    turns: Vec<Turn>,
    ended: BTreeMap<(SessionId, u32), Instant>,
    documents: BTreeMap<(String, String), Document>,
    /// The owners that have gone.
    gone: BTreeSet<String>,
    owners: usize,
}

#[derive(Debug)]
struct Row {
    call: CallRow,
    result: Option<String>,
}

impl Default for MemoryBook {
    fn default() -> MemoryBook {
        MemoryBook { pages: Arc::default(), owner: "0".to_owned() }
    }
}

impl MemoryBook {
    /// The same book, in the hands of another process.
    pub fn of_another_process(&self) -> MemoryBook {
        let mut pages = self.lock();
        pages.owners += 1;
        MemoryBook { pages: self.pages.clone(), owner: pages.owners.to_string() }
    }

    /// As if this process were killed.
    pub fn die(self) {
        let owner = self.owner.clone();
        self.lock().gone.insert(owner);
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    fn find(&mut self, key: &CallKey) -> Option<&mut Row> {
        self.calls.iter_mut().rev().find(|row| row.call.key == *key)
    }

    fn write(&mut self, entry: Entry, owner: &str) {
        match entry {
            Entry::Turn(turn) => self.turns.push(turn),
            Entry::Started(claim) => {
                if self.find(&claim.key).is_none_or(|row| row.call.state == CallState::Refused) {
                    self.begin(*claim, CallState::Open, owner);
                }
            }
            Entry::Refused(claim) => {
                if self.find(&claim.key).is_none_or(|row| row.call.state == CallState::Refused) {
                    self.begin(*claim, CallState::Refused, owner);
                }
            }
            Entry::Finished(outcome) => self.finish(*outcome),
            Entry::Touched { key, paths } => self.touch(&key, paths),
            Entry::Event(event) => self.events.push(event),
            Entry::TurnEnded { session, turn, at } => drop(self.ended.insert((session, turn), at)),
        }
    }

    fn begin(&mut self, claim: Claim, state: CallState, owner: &str) {
        let events = [
            (EventKind::INPUT, Some(claim.input)),
            (EventKind::DECISION, Some(claim.decision)),
            (EventKind::APPROVAL, claim.approval),
        ];
        for (kind, body) in events.into_iter().filter_map(|(kind, body)| Some((kind, body?))) {
            let (session, key) = (claim.key.session.clone(), Some(claim.key.clone()));
            self.events.push(EventRow { session, key, turn: claim.turn, at: claim.at, kind, body });
        }
        let no = CallNo(self.calls.len() as i64 + 1);
        let row = CallRow {
            no,
            session: claim.key.session.clone(),
            call: claim.key.call.clone(),
            key: claim.key.clone(),
            turn: claim.turn,
            tool: claim.tool,
            description: claim.description,
            verdict: Some(claim.verdict),
            class: Some(claim.class),
            state,
            fault: None,
            at: claim.at,
            duration_us: None,
            repeatable: claim.repeatable,
            owner: Some(owner.to_owned()),
            paths: claim.paths,
        };
        match self.find(&claim.key) {
            Some(known) => *known = Row { call: CallRow { no: known.call.no, ..row }, result: None },
            None => self.calls.push(Row { call: row, result: None }),
        }
    }

    fn touch(&mut self, key: &CallKey, paths: Vec<PathRow>) {
        let Some(row) = self.find(key) else { return };
        for path in paths {
            match row.call.paths.iter_mut().find(|known| known.path == path.path) {
                Some(known) => known.writes |= path.writes,
                None => row.call.paths.push(path),
            }
        }
    }

    fn finish(&mut self, outcome: Outcome) {
        let state = if outcome.ran { CallState::Finished } else { CallState::Refused };
        if self.find(&outcome.key).is_none() {
            let row = CallRow {
                no: CallNo(self.calls.len() as i64 + 1),
                session: outcome.key.session.clone(),
                call: outcome.key.call.clone(),
                key: outcome.key.clone(),
                turn: outcome.turn,
                tool: outcome.tool.clone(),
                description: outcome.tool.clone(),
                verdict: None,
                class: None,
                state,
                fault: None,
                at: outcome.at,
                duration_us: None,
                repeatable: true,
                owner: None,
                paths: Vec::new(),
            };
            self.calls.push(Row { call: row, result: None });
        }
        // One that never ran says nothing of an earlier run that was cut off.
        let may_say = |row: &&mut Row| match row.call.state {
            CallState::Finished => false,
            CallState::Refused => true,
            CallState::Open | CallState::CutOff => outcome.ran,
        };
        let Some(row) = self.find(&outcome.key).filter(may_say) else { return };
        row.call.state = state;
        row.call.fault = outcome.fault;
        row.call.duration_us = outcome.ran.then_some(outcome.duration_us);
        row.result = Some(outcome.result);
    }

    fn claim(&mut self, claim: Claim, owner: &str) -> Claimed {
        let gone = self.gone.clone();
        let repeatable = claim.repeatable;
        let Some(row) = self.find(&claim.key) else {
            self.begin(claim, CallState::Open, owner);
            return Claimed::Yours;
        };
        let state = match row.state(&gone) {
            CallState::Open if claim.was_dropped && row.call.owner.as_deref() == Some(owner) => {
                CallState::CutOff
            }
            state => state,
        };
        match state {
            CallState::Finished => Claimed::Finished(row.result.clone().unwrap_or_default()),
            CallState::Open => Claimed::Busy(row.call.owner.clone().unwrap_or_default()),
            CallState::CutOff if !repeatable => {
                row.call.owner = Some(owner.to_owned());
                Claimed::CutOff
            }
            CallState::CutOff | CallState::Refused => {
                self.begin(claim, CallState::Open, owner);
                Claimed::Yours
            }
        }
    }

    fn session(&self, session: &SessionId) -> Option<SessionRow> {
        let turns = self.turns.iter().filter(|turn| turn.session == *session);
        let calls = self.calls.iter().map(|row| &row.call).filter(|call| call.session == *session);
        let said = self.events.iter().filter(|event| event.session == *session && event.key.is_none());
        let (turns, calls): (Vec<&Turn>, Vec<&CallRow>) = (turns.collect(), calls.collect());
        let began: Vec<Instant> =
            turns.iter().map(|turn| turn.at).chain(said.map(|event| event.at)).collect();
        let (first, last) = (*began.iter().min()?, turns.last());
        let changed = calls.iter().flat_map(|call| &call.paths).filter(|path| path.writes);
        Some(SessionRow {
            session: session.clone(),
            began: first,
            last: calls.iter().map(|call| call.at).chain(began).max()?,
            workspace: last.map(|turn| turn.workspace.clone()).unwrap_or_default(),
            caller: last.map(|turn| turn.caller.clone()).unwrap_or_default(),
            mode: last.map(|turn| turn.mode.clone()).unwrap_or_default(),
            turns: last.map_or(0, |turn| turn.turn),
            calls: calls.len() as u64,
            refused: calls.iter().filter(|call| call.state == CallState::Refused).count() as u64,
            changed: changed.map(|path| &path.path).collect::<BTreeSet<_>>().len() as u64,
        })
    }
}

/// What a reader of all of it finds.
impl Pages {
    fn rows(&self, from: &Bookmark, filter: &CallFilter) -> Vec<AnyRow> {
        let [events, last] = from.last;
        let is_meant = |session: &SessionId| filter.session.as_ref().is_none_or(|wanted| wanted == session);
        match from.part {
            Part::Sessions => {
                let sessions = self.sessions().filter(|row| is_meant(&row.session));
                let lasted = |row: &SessionRow| {
                    filter.since.is_none_or(|since| row.last >= since)
                        && filter.until.is_none_or(|until| row.began < until)
                };
                sessions.filter(lasted).map(AnyRow::Session).collect()
            }
            Part::Turns => {
                let mut known = BTreeSet::new();
                let turns =
                    self.turns.iter().filter(|turn| is_meant(&turn.session) && filter.is_then(turn.at));
                let first = turns.filter(|turn| known.insert((&turn.session, turn.turn)));
                first.map(|turn| AnyRow::Turn(self.turn(turn))).collect()
            }
            Part::Events => {
                let is_of_session = |event: &&EventRow| {
                    event.key.as_ref().is_none_or(|key| !self.calls.iter().any(|row| row.call.key == *key))
                };
                let events =
                    self.events.iter().take(usize::try_from(events).unwrap_or(0)).filter(is_of_session);
                let events = events.filter(|event| is_meant(&event.session) && filter.is_then(event.at));
                events.map(|event| AnyRow::Event(event.clone())).collect()
            }
            Part::Calls => {
                let calls = self.calls.iter().map(|row| (row, row.found(&self.gone)));
                let calls = calls.filter(|(_, call)| call.no.0 <= last && filter.fits(call));
                calls.map(|(row, call)| AnyRow::Call(Box::new(self.whole(row, call)))).collect()
            }
        }
    }

    fn sessions(&self) -> impl Iterator<Item = SessionRow> {
        let said = self.events.iter().filter(|event| event.key.is_none()).map(|event| &event.session);
        let ids: BTreeSet<&SessionId> = self.turns.iter().map(|turn| &turn.session).chain(said).collect();
        ids.into_iter().filter_map(|id| self.session(id))
    }

    fn turn(&self, turn: &Turn) -> TurnRow {
        let ended = self.ended.get(&(turn.session.clone(), turn.turn)).copied();
        TurnRow { session: turn.session.clone(), turn: turn.turn, at: turn.at, ended }
    }

    fn whole(&self, row: &Row, call: CallRow) -> WholeCall {
        let events = self.events.iter().filter(|event| event.key.as_ref() == Some(&call.key)).cloned();
        WholeCall { events: events.collect(), result: row.result.clone(), call }
    }
}

impl Row {
    fn state(&self, gone: &BTreeSet<String>) -> CallState {
        let is_gone = self.call.owner.as_ref().is_some_and(|owner| gone.contains(owner));
        if self.call.state == CallState::Open && is_gone { CallState::CutOff } else { self.call.state }
    }

    fn found(&self, gone: &BTreeSet<String>) -> CallRow {
        CallRow { state: self.state(gone), ..self.call.clone() }
    }
}

impl CallFilter {
    fn fits(&self, call: &CallRow) -> bool {
        fn is<T: PartialEq>(wanted: &Option<T>, found: &T) -> bool {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        }
        is(&self.session, &call.session)
            && is(&self.turn, &call.turn)
            && self.call.as_ref().is_none_or(|wanted| wanted == call.call.as_str())
            && is(&self.tool, &call.tool)
            && (self.verdict.is_none() || self.verdict == call.verdict)
            && is(&self.state, &call.state)
            && self
                .path
                .as_ref()
                .is_none_or(|wanted| call.paths.iter().any(|row| path_fits(wanted, &row.path)))
            && self.is_then(call.at)
            && self.after.is_none_or(|after| call.no > after)
            && self.before.is_none_or(|before| call.no < before)
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, Result<T, BookError>> {
    Box::pin(std::future::ready(Ok(value)))
}

impl Book for MemoryBook {
    fn append(&self, entries: Vec<Entry>, _: Durability) -> BoxFuture<'_, Result<(), BookError>> {
        let mut pages = self.lock();
        entries.into_iter().for_each(|entry| pages.write(entry, &self.owner));
        ready(())
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, BookError>> {
        ready(self.lock().claim(claim, &self.owner))
    }

    fn past<'a>(
        &'a self,
        session: &'a SessionId,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<PastCall>, BookError>> {
        let pages = self.lock();
        let of_session = pages.calls.iter().filter(|row| row.call.session == *session);
        let past = of_session.map(|row| PastCall {
            key: row.call.key.clone(),
            turn: row.call.turn,
            turn_ended: pages.ended.contains_key(&(session.clone(), row.call.turn)),
            state: row.state(&pages.gone),
            read_only: row.call.class.as_deref() == Some("read_only") && row.call.repeatable,
        });
        let mut past: Vec<PastCall> = past.collect();
        past.drain(..past.len().saturating_sub(most));
        ready(past)
    }

    fn result<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, Result<Option<String>, BookError>> {
        ready(self.lock().find(key).and_then(|row| row.result.clone()))
    }

    fn calls(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, BookError>> {
        let pages = self.lock();
        let all = pages.calls.iter().map(|row| row.found(&pages.gone)).filter(|call| filter.fits(call));
        let mut found: Vec<CallRow> = all.collect();
        if filter.after.is_none() {
            found.reverse();
        }
        found.truncate(filter.most);
        ready(found)
    }

    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<EventRow>, BookError>> {
        let pages = self.lock();
        let fits = |event: &&EventRow| {
            filter.session.as_ref().is_none_or(|session| event.session == *session)
                && filter.turn.is_none_or(|turn| event.turn == turn)
                && filter.key.as_ref().is_none_or(|key| event.key.as_ref() == Some(key))
                && (filter.kinds.is_empty() || filter.kinds.contains(&event.kind))
        };
        let most = filter.most.unwrap_or(usize::MAX);
        ready(pages.events.iter().filter(fits).take(most).cloned().collect())
    }

    fn sessions(&self, most: usize) -> BoxFuture<'_, Result<Vec<SessionRow>, BookError>> {
        let pages = self.lock();
        let mut rows: Vec<SessionRow> = pages.sessions().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.last));
        rows.truncate(most);
        ready(rows)
    }

    fn page(&self, filter: CallFilter, from: Option<Bookmark>) -> BoxFuture<'_, Result<Page, BookError>> {
        let pages = self.lock();
        let last = || [pages.events.len() as i64, pages.calls.last().map_or(0, |row| row.call.no.0)];
        let from = from.unwrap_or_else(|| Bookmark::first(&filter, last()));
        // Nobody writes so much to memory that a place in it would not do.
        let ([read, _], most) = (from.numbers, filter.most.max(1));
        let rows = pages.rows(&from, &filter).into_iter();
        let rows: Vec<AnyRow> = rows.skip(usize::try_from(read).unwrap_or(0)).take(most).collect();
        let behind = read.saturating_add_unsigned(rows.len() as u64);
        let next = if rows.len() < most { from.next_part() } else { Some(from.behind("", [behind, 0])) };
        ready(Page { rows, next })
    }

    fn document<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, BookError>> {
        ready(self.lock().documents.get(&(space.to_owned(), key.to_owned())).cloned())
    }

    fn put<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
        version: u64,
        body: Option<Value>,
    ) -> BoxFuture<'a, Result<Option<u64>, BookError>> {
        let (mut pages, place) = (self.lock(), (space.to_owned(), key.to_owned()));
        if pages.documents.get(&place).map_or(0, |document| document.version) != version {
            return ready(None);
        }
        match body {
            Some(body) => drop(pages.documents.insert(place, Document { version: version + 1, body })),
            None => drop(pages.documents.remove(&place)),
        }
        ready(Some(version + 1))
    }

    fn prune(&self, limits: Limits) -> BoxFuture<'_, Result<Pruned, BookError>> {
        let mut pages = self.lock();
        let (gone, before) = (pages.gone.clone(), pages.calls.len());
        let Some(oldest) = limits.before else { return ready(Pruned::default()) };
        pages.calls.retain(|row| row.call.at >= oldest || row.state(&gone) == CallState::Open);
        let kept: BTreeSet<SessionId> = pages.calls.iter().map(|row| row.call.session.clone()).collect();
        let sessions = pages.turns.iter().map(|turn| turn.session.clone()).collect::<BTreeSet<_>>();
        pages.turns.retain(|turn| turn.at >= oldest || kept.contains(&turn.session));
        let left = pages.turns.iter().map(|turn| turn.session.clone()).collect::<BTreeSet<_>>();
        ready(Pruned {
            calls: (before - pages.calls.len()) as u64,
            sessions: (sessions.len() - left.len()) as u64,
        })
    }
}
