//! A text file that is about to be changed: what is in it, what the session knows of it, and the way back to bytes.

use std::{borrow::Cow, fs::File, io::Read as _, path::Path};

use haft_tool::{Fault, FileChange, Files, Sight, Stamp, shown};

use crate::text::{Form, Text, decode};

pub(crate) struct Stored {
    /// What is in it now.
    pub(crate) text: String,
    form: Form,
    /// What a change of it stands on.
    pub(crate) footing: Footing,
}

/// What a change stands on: the state of a file in which its passage was found.
pub(crate) struct Footing {
    /// The state that was read.
    now: Stamp,
    /// What the session knows.
    seen: Sight,
}

impl Stored {
    /// Reads a file, if the session has seen it.
    pub(crate) fn read(files: &dyn Files, path: &Path) -> Result<Stored, Fault> {
        let file = files.open(path)?;
        // Before its first byte: a large file is not read to be refused.
        let seen = seen(files, path)?;
        let (bytes, now) = bytes(file, path)?;
        let Text { content, form } =
            decode(bytes).map_err(|err| Fault::failed(format!("cannot edit {}: {err}", shown(path))))?;
        Ok(Stored { text: content, form, footing: Footing { now, seen } })
    }

    /// The bytes of a new text, in the encoding that the file has.
    pub(crate) fn encode<'t>(&self, path: &Path, text: &'t str) -> Result<Cow<'t, [u8]>, Fault> {
        self.form.encode(text).map_err(|err| {
            Fault::rejected(format!("cannot write {}: {err}; nothing was written", shown(path)))
        })
    }
}

impl Footing {
    /// For a file in this state, if the session has seen it in some.
    pub(crate) fn find(files: &dyn Files, path: &Path, now: Stamp) -> Result<Footing, Fault> {
        Ok(Footing { now, seen: seen(files, path)? })
    }

    /// Whether it has changed since the session saw it.
    pub(crate) fn is_stale(&self) -> bool {
        self.seen.stamp != self.now
    }

    /// Makes a change for which what is there now has been looked at.
    pub(crate) fn change(&self, files: &dyn Files, change: &FileChange<'_>) -> Result<(), Fault> {
        self.stand_on_it(files, change.path())?;
        if let Err(fault) = files.change(std::slice::from_ref(change)) {
            self.step_off(files, change.path())?;
            return Err(fault);
        }
        Ok(())
    }

    /// Notes that the change stands on what is there now, for its passage was found there.
    pub(crate) fn stand_on_it(&self, files: &dyn Files, path: &Path) -> Result<(), Fault> {
        if self.is_stale() { files.see(path, self.now.into()) } else { Ok(()) }
    }

    /// Takes that back: nothing was changed, and the model has still not been shown what is there.
    pub(crate) fn step_off(&self, files: &dyn Files, path: &Path) -> Result<(), Fault> {
        if self.is_stale() { files.see(path, self.seen.clone()) } else { Ok(()) }
    }
}

/// The state of a file that is there.
pub(crate) fn look(files: &dyn Files, path: &Path) -> Result<Stamp, Fault> {
    let metadata = files.open(path)?.metadata().map_err(|err| Fault::io("look at", path, err))?;
    Ok(Stamp::of(&metadata))
}

/// All bytes of a file.
pub(crate) fn read(files: &dyn Files, path: &Path) -> Result<Vec<u8>, Fault> {
    bytes(files.open(path)?, path).map(|(bytes, _)| bytes)
}

/// All bytes of a file, and its state before the first of them was read: a change meanwhile counts as one since.
fn bytes(mut file: File, path: &Path) -> Result<(Vec<u8>, Stamp), Fault> {
    let cannot = |err| Fault::io("read", path, err);
    let stamp = Stamp::of(&file.metadata().map_err(cannot)?);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(cannot)?;
    Ok((bytes, stamp))
}

/// What the session knows of a file that is to be changed.
pub(crate) fn seen(files: &dyn Files, path: &Path) -> Result<Sight, Fault> {
    files.seen(path)?.ok_or_else(|| {
        Fault::rejected(format!(
            "{} has not been read in this session; nothing was changed. Read it first",
            shown(path)
        ))
    })
}
