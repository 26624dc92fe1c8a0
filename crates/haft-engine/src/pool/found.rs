//! What can be found in a pool, and how does it stay findable cheaply?
//!
//! The index of a pool is put together from what was read of each source, when somebody first searches. Most sources are
//! the same from one pool to the next, and then nothing of them is read again.

use std::sync::{Arc, OnceLock};

use super::{
    Entry,
    contents::Contents,
    entry::Definition,
    search::{Placed, SearchIndex, Stems, Usage, Weights},
};

/// The sources of a catalog, for whoever searches it.
pub(super) struct Sources {
    sources: Vec<Arc<Contents>>,
    pub(super) usage: Option<Arc<dyn Usage>>,
    index: OnceLock<SearchIndex>,
}

impl Sources {
    pub(super) fn new(sources: Vec<Arc<Contents>>, usage: Option<Arc<dyn Usage>>) -> Sources {
        Sources { sources, usage, index: OnceLock::new() }
    }

    /// The index of these entries, which come from the sources and are sorted by name.
    pub(super) fn index(&self, entries: &[Entry]) -> &SearchIndex {
        self.index.get_or_init(|| {
            let mut stems = Stems::new();
            let place = |contents: &Arc<Contents>| Placed {
                part: contents.part(&mut stems),
                places: places(contents, entries),
            };
            SearchIndex::of(self.sources.iter().map(place).collect(), &Weights::default())
        })
    }
}

/// Where the tools of a source stand among the entries; `None` for those that are not there.
fn places(contents: &Contents, entries: &[Entry]) -> Vec<Option<u32>> {
    let mut next = 0;
    let place = |definition: &Arc<Definition>| {
        // Both are sorted, and the tools of a server stand together: mostly it is the next one.
        if !entries.get(next).is_some_and(|entry| entry.is(definition)) {
            let name = &**definition.name();
            next = entries.partition_point(|entry| entry.name() < name);
        }
        let place = entries.get(next).filter(|entry| entry.is(definition)).map(|_| next as u32);
        next += usize::from(place.is_some());
        place
    };
    contents.definitions.iter().map(place).collect()
}
