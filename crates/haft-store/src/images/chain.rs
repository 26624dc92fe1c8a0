//! Which images stand: all that calls changed, in its order, without what was taken back.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::PathBuf,
};

use haft_engine::session::CallKey;
use haft_tool::SessionId;

use super::{
    Shared,
    image::{Changed, Image},
    wait,
};
use crate::{
    book::EventFilter,
    record::{EventKind, EventRow, Instant},
};

/// What stands at each path, the oldest first, and what was taken back.
#[derive(Default)]
pub(super) struct Chain {
    pub(super) paths: BTreeMap<PathBuf, Vec<Link>>,
    /// In the order in which they were made.
    pub(super) undos: Vec<Undo>,
    /// What cannot be taken back of calls, in words.
    pub(super) left_out: Vec<(CallKey, String)>,
    count: usize,
}

/// An image that stands.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) key: CallKey,
    pub(super) turn: u32,
    pub(super) workspace: String,
    pub(super) image: Image,
    pub(super) late: bool,
    /// Its place among all.
    pub(super) place: usize,
}

/// Calls that were taken back.
pub(super) struct Undo {
    pub(super) key: CallKey,
    pub(super) turn: u32,
    pub(super) workspace: String,
    pub(super) images: Vec<Image>,
    pub(super) taken: HashMap<PathBuf, Vec<Link>>,
    pub(super) is_redone: bool,
}

impl Shared {
    /// What stands of all sessions.
    pub(super) fn chain(&self) -> io::Result<Chain> {
        let kinds = vec![EventKind::IMAGE];
        let all = wait(self.book.events(EventFilter { kinds, ..EventFilter::default() }))?;
        // The order within a session is that of the book; a clock that jumps must not change it.
        let mut latest: HashMap<SessionId, Instant> = HashMap::new();
        let mut events: Vec<(Instant, EventRow)> = Vec::with_capacity(all.len());
        for event in all {
            let latest = latest.entry(event.session.clone()).or_insert(event.at);
            *latest = event.at.max(*latest);
            events.push((*latest, event));
        }
        events.sort_by_key(|(at, _)| *at);
        let mut chain = Chain::default();
        events.into_iter().for_each(|(_, event)| chain.add(event));
        Ok(chain)
    }

    pub(super) fn image_events(&self, session: &SessionId) -> io::Result<Vec<EventRow>> {
        let filter = EventFilter {
            session: Some(session.clone()),
            kinds: vec![EventKind::IMAGE],
            ..EventFilter::default()
        };
        wait(self.book.events(filter))
    }
}

impl Chain {
    fn add(&mut self, event: EventRow) {
        // What nobody can read any more says nothing.
        let (Some(key), Ok(changed)) = (event.key, serde_json::from_value::<Changed>(event.body)) else {
            return;
        };
        self.left_out.extend(changed.left_out.iter().map(|words| (key.clone(), words.clone())));
        if let Some(undo) = &changed.redoes {
            return self.redo(undo, &changed);
        }
        if !changed.undoes.is_empty() {
            return self.undo(key, event.turn, changed);
        }
        for image in changed.images {
            let (key, workspace) = (key.clone(), changed.workspace.clone());
            self.count += 1;
            let link =
                Link { key, turn: event.turn, workspace, image, late: changed.late, place: self.count };
            self.paths.entry(link.image.path()).or_default().push(link);
        }
    }

    fn undo(&mut self, key: CallKey, turn: u32, changed: Changed) {
        let paths = changed.paths();
        let Changed { images, workspace, undoes, .. } = changed;
        // One that changes much is written down in parts.
        let known = self.undos.iter().rposition(|undo| undo.key == key);
        let at = known.unwrap_or_else(|| {
            let (images, taken) = (Vec::new(), HashMap::new());
            self.undos.push(Undo { key, turn, workspace, images, taken, is_redone: false });
            self.undos.len() - 1
        });
        let undo = &mut self.undos[at];
        for path in paths {
            if let Some(links) = self.paths.get_mut(&path) {
                let taken = links.extract_if(.., |link| undoes.contains(&link.key));
                undo.taken.entry(path).or_default().extend(taken);
            }
        }
        undo.images.extend(images);
    }

    fn redo(&mut self, key: &CallKey, changed: &Changed) {
        let Some(undo) = self.undos.iter_mut().rfind(|undo| undo.key == *key) else { return };
        undo.is_redone = true;
        for path in changed.paths() {
            let taken = undo.taken.remove(&path).unwrap_or_default();
            self.paths.entry(path).or_default().extend(taken);
        }
    }

    /// All that stands.
    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        self.paths.values().flatten()
    }
}
