//! The images of a change that is about to be made: what is there is kept, then all of it is written down, and only then
//! do names change hands. So what is written down is what will be, or nothing has happened.

use std::{fs::File, io, path::Path};

use haft_engine::session::{Album, Doer, Fingerprint, Listener, Thing, beside};
use haft_tool::Stamp;

use super::{
    Shared,
    image::{Changed, Image, Was, without_content},
};
use crate::{
    blobs::{Blob, Hash, Hasher},
    book::Durability,
};

/// Whether what is there is what somebody expects.
pub(super) type Check<'a> = dyn Fn(&Path, &Was) -> io::Result<()> + 'a;

pub(super) struct Keeping<'a> {
    shared: &'a Shared,
    doer: &'a Doer,
    changed: Changed,
    check: Option<&'a Check<'a>>,
}

impl<'a> Keeping<'a> {
    pub(super) fn new(shared: &'a Shared, doer: &'a Doer) -> Keeping<'a> {
        Keeping { shared, doer, changed: Changed::default(), check: None }
    }

    /// For undo: says what it takes back, and looks once more before it does.
    pub(super) fn undoing(self, changed: Changed, check: &'a Check<'a>) -> Keeping<'a> {
        Keeping { changed, check: Some(check), ..self }
    }

    fn before(&self, thing: &Thing<'_>) -> io::Result<Was> {
        match (thing, without_content(thing)) {
            (_, Some(was)) => Ok(was),
            (Thing::File { file, len, mode, .. }, None) if *len <= self.shared.options.max_file => {
                let blob = self.shared.blobs.put(file, true)?;
                Ok(Was::File { hash: blob.hash, len: blob.len, mode: *mode })
            }
            (thing, None) => large(thing),
        }
    }

    /// What was put for it.
    fn kept(&self) -> Vec<Hash> {
        let before = self.changed.images.iter().map(|image| &image.before);
        before.filter_map(|was| if let Was::File { hash, .. } = was { Some(*hash) } else { None }).collect()
    }

    /// Those who watch must not take it for somebody else's work.
    fn remember(&self, images: &[Image]) {
        let mut room = self.shared.room();
        if room.open > 0 || !room.lasting.is_empty() {
            room.sealed.extend(images.iter().map(|image| (image.path(), image.after.clone())));
        }
    }

    fn unkept(&self, thing: &Thing<'_>, why: String) -> Was {
        match thing {
            Thing::File { file, len, mode, .. } => {
                Was::Unkept { len: *len, mode: *mode, modified_ns: modified(file).unwrap_or(0), why }
            }
            thing => without_content(thing).unwrap_or(Was::Absent),
        }
    }
}

fn will_be(shared: &Shared, thing: &Thing<'_>) -> io::Result<Was> {
    match (thing, without_content(thing)) {
        (_, Some(was)) => Ok(was),
        // Its content is not needed: whoever takes it back keeps it then.
        (Thing::File { file, len, mode, fingerprint }, None) if *len <= shared.options.max_file => {
            let blob = match fingerprint {
                Some(Fingerprint(hash)) => Blob { hash: Hash(*hash), len: *len },
                None => Hash::of_file(file)?,
            };
            Ok(Was::File { hash: blob.hash, len: blob.len, mode: *mode })
        }
        (thing, None) => large(thing),
    }
}

fn large(thing: &Thing<'_>) -> io::Result<Was> {
    let Thing::File { file, len, mode, .. } = thing else { return Ok(Was::Absent) };
    let why = "it is larger than `undo.max_file_mb`".to_owned();
    Ok(Was::Unkept { len: *len, mode: *mode, modified_ns: modified(file)?, why })
}

fn modified(file: &File) -> io::Result<i64> {
    Ok(Stamp::of(&file.metadata()?).modified_ns)
}

impl Album for Keeping<'_> {
    fn keep(&mut self, path: &Path, before: &Thing<'_>) -> io::Result<()> {
        let was = match self.before(before) {
            Ok(was) => was,
            Err(err) => self.unkept(before, self.shared.failed(self.doer, err)?),
        };
        if let Some(check) = self.check {
            check(path, &was)?;
        }
        if let Was::Unkept { why, .. } = &was {
            self.shared
                .note(&self.doer.key, format!("{} cannot be taken back: {why}", haft_tool::shown(path)));
        }
        self.changed.images.push(Image::new(path, was, Was::Absent));
        Ok(())
    }

    fn listener(&self) -> Option<Box<dyn Listener>> {
        Some(Box::<Hasher>::default())
    }

    fn expect(&mut self, after: &Thing<'_>) -> io::Result<()> {
        if let Some(image) = self.changed.images.last_mut() {
            image.after = will_be(self.shared, after)?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let images = std::mem::take(&mut self.changed.images);
        self.remember(&images);
        let part = Changed { images, settled: Vec::new(), ..self.changed.clone() };
        match self.shared.record(self.doer, &part, Durability::Process) {
            Ok(()) => Ok(()),
            Err(err) => self.shared.unrecorded(self.doer, err),
        }
    }

    fn seal(self: Box<Self>) -> io::Result<()> {
        if self.changed.images.is_empty() && self.changed.settled.is_empty() {
            return Ok(());
        }
        let record = || self.shared.record(self.doer, &self.changed, Durability::Power);
        // The disk takes both at once: a change that was written down, and cut off before its image can be found, was not made.
        let (settled, recorded) = match self.kept() {
            kept if kept.is_empty() => (Ok(()), record()),
            kept => beside(|| self.shared.blobs.settle(&kept), record),
        };
        settled.or_else(|err| self.shared.failed(self.doer, err).map(drop))?;
        if let Err(err) = recorded {
            self.shared.unrecorded(self.doer, err)?;
        }
        self.remember(&self.changed.images);
        Ok(())
    }
}
