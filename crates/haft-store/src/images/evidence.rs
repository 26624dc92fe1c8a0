//! What can be seen of a call that was cut off: for each path, what is there now and what was there before.

use std::{io, sync::Arc};

use haft_engine::session::{CallKey, Evidence, Found};
use haft_tool::BoxFuture;

use super::{
    MOST_UNRECORDED, StoredImages,
    image::{Changed, Image, Was},
    plan::{is_equal, now},
};
use crate::{book::Book, journal::Inspector};

/// More than this nobody reads.
const MOST: usize = 100;

impl StoredImages {
    /// Looks at all that the call was about to change, or was watched to change. Blocks.
    ///
    /// # Errors
    /// The book cannot be read.
    pub fn evidence(&self, key: &CallKey) -> io::Result<Vec<Evidence>> {
        self.settle_the_abandoned();
        let events =
            self.0.image_events(&key.session)?.into_iter().filter(|event| event.key.as_ref() == Some(key));
        let changed = events.filter_map(|event| serde_json::from_value::<Changed>(event.body).ok());
        let mut first: Vec<Image> = Vec::new();
        for image in changed.flat_map(|changed| changed.images) {
            // What was there first is what was there before the call.
            if first.len() < MOST && !first.iter().any(|known| known.path() == image.path()) {
                first.push(image);
            }
        }
        Ok(first.iter().map(|image| Evidence { path: image.path(), found: found(image) }).collect())
    }
}

impl Inspector for StoredImages {
    fn inspect<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, io::Result<Vec<Evidence>>> {
        let (images, key) = (self.clone(), key.clone());
        Box::pin(async move {
            let looked = tokio::task::spawn_blocking(move || images.evidence(&key)).await;
            looked.map_err(io::Error::other)?
        })
    }

    fn seals_in(&self, book: &Arc<dyn Book>) -> bool {
        Arc::ptr_eq(&self.0.book, book)
    }

    fn unrecorded(&self, key: &CallKey) {
        let mut room = self.0.room();
        // One that is dropped asks for no notes, and must not be remembered forever.
        if room.unrecorded.len() < MOST_UNRECORDED {
            room.unrecorded.insert(key.clone());
        }
    }
}

fn found(image: &Image) -> Found {
    let Ok(now) = now(&image.path(), &image.after, &image.before) else { return Found::Unknown };
    match (&image.before, &now) {
        (before, now) if is_equal(before, now) => Found::Unchanged,
        (Was::Absent, _) => Found::New,
        (_, Was::Absent) => Found::Gone,
        (Was::Unkept { .. }, Was::File { .. }) => Found::Unknown,
        _ => Found::Changed,
    }
}
