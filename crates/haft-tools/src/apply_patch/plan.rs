//! What becomes of each file, known before the first of them is changed.

use std::{
    fmt,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use haft_tool::{Fault, FileChange, Files, Stamp, View, shown};

use super::{
    apply::{Applied, Misfit, apply},
    parse::{FilePatch, Hunk, Intent},
};
use crate::{
    diff::{Tally, counted, diff, tally},
    edit::Loosening,
    stored::{self, Stored},
    text::decode,
};

/// A file, what was in it and what is to be.
pub(super) struct Plan {
    path: PathBuf,
    deed: Deed,
    /// What the change stands on, if text is changed.
    stored: Option<Stored>,
    /// The text of a file that goes.
    gone: String,
    /// The text of a file that comes or changes.
    after: String,
    loosened: Option<Loosening>,
}

enum Deed {
    Create { content: Vec<u8> },
    Change { content: Vec<u8> },
    Remove,
    Move { to: PathBuf, content: Vec<u8>, was_executable: bool },
}

impl Plan {
    /// Reads what is there and makes what is to be; tells all that is in the way.
    pub(super) fn make(
        files: &dyn Files,
        place: &dyn Fn(&Path) -> PathBuf,
        file: &FilePatch<'_>,
    ) -> Result<Plan, Vec<Fault>> {
        let path = place(&file.path);
        match &file.intent {
            Intent::Add(content) => Plan::create(files, path, content).map_err(|fault| vec![fault]),
            Intent::Remove(hunks) => Plan::remove(files, path, hunks),
            Intent::Update { to, hunks } => {
                let to = to.as_ref().map(|to| place(to));
                match hunks.is_empty() {
                    true => Plan::rename(files, path, to).map_err(|fault| vec![fault]),
                    false => Plan::update(files, path, to, hunks),
                }
            }
        }
    }

    fn new(path: PathBuf, deed: Deed) -> Plan {
        Plan { path, deed, stored: None, gone: String::new(), after: String::new(), loosened: None }
    }

    fn create(files: &dyn Files, path: PathBuf, content: &str) -> Result<Plan, Fault> {
        is_free(files, &path, "update it instead")?;
        let deed = Deed::Create { content: content.as_bytes().to_vec() };
        Ok(Plan { after: content.to_owned(), ..Plan::new(path, deed) })
    }

    fn remove(files: &dyn Files, path: PathBuf, hunks: &[Hunk<'_>]) -> Result<Plan, Vec<Fault>> {
        let (bytes, now) = stored::read(files, &path).map_err(|fault| vec![fault])?;
        is_fresh(files, &path, now).map_err(|fault| vec![fault])?;
        // What is not text can be deleted, only not by hunks that show its lines.
        let gone = decode(bytes).map(|text| text.content).unwrap_or_default();
        if !hunks.is_empty() {
            let left = apply(&gone, hunks).map_err(|misfits| faults(&path, &misfits))?.text;
            if !left.trim_start_matches(crate::text::MARK).is_empty() {
                let left = counted(left.lines().count(), "line");
                let problem = format!("{}: the file has {left} that the patch does not show", shown(&path));
                return Err(vec![Fault::rejected(problem)]);
            }
        }
        Ok(Plan { gone, ..Plan::new(path, Deed::Remove) })
    }

    /// Without a look at what is in it.
    fn rename(files: &dyn Files, path: PathBuf, to: Option<PathBuf>) -> Result<Plan, Fault> {
        let (content, now) = stored::read(files, &path)?;
        is_fresh(files, &path, now)?;
        let deed = deed(files, &path, to, content)?;
        Ok(Plan::new(path, deed))
    }

    fn update(
        files: &dyn Files,
        path: PathBuf,
        to: Option<PathBuf>,
        hunks: &[Hunk<'_>],
    ) -> Result<Plan, Vec<Fault>> {
        let alone = |fault| vec![fault];
        let stored = Stored::read(files, &path).map_err(alone)?;
        let Applied { text: after, loosened } =
            apply(&stored.text, hunks).map_err(|misfits| faults(&path, &misfits))?;
        if after == stored.text && to.is_none() {
            return Err(vec![Fault::rejected(format!("{}: nothing would change", shown(&path)))]);
        }
        let content = stored.encode(&path, &after).map_err(alone)?.into_owned();
        let deed = deed(files, &path, to, content).map_err(alone)?;
        Ok(Plan { stored: Some(stored), after, loosened, ..Plan::new(path, deed) })
    }

    pub(super) fn changes(&self) -> Vec<FileChange<'_>> {
        let path: &Path = &self.path;
        match &self.deed {
            Deed::Create { content } | Deed::Change { content } => vec![FileChange::Write { path, content }],
            Deed::Remove => vec![FileChange::Remove { path }],
            Deed::Move { to, content, .. } => {
                vec![FileChange::Write { path: to, content }, FileChange::Remove { path }]
            }
        }
    }

    pub(super) fn stand_on_it(&self, files: &dyn Files) -> Result<(), Fault> {
        self.stored.as_ref().map_or(Ok(()), |stored| stored.stand_on_it(files, &self.path))
    }

    pub(super) fn step_off(&self, files: &dyn Files) -> Result<(), Fault> {
        self.stored.as_ref().map_or(Ok(()), |stored| stored.step_off(files, &self.path))
    }

    fn before(&self) -> &str {
        self.stored.as_ref().map_or(&self.gone, |stored| &stored.text)
    }

    /// How a person sees it.
    pub(super) fn view(&self) -> View {
        let said = || View::text(self.to_string());
        match &self.deed {
            _ if self.before() == self.after => said(),
            Deed::Move { to, .. } => View::List(vec![said(), diff(to, self.before(), &self.after)]),
            _ => diff(&self.path, self.before(), &self.after),
        }
    }
}

/// How the model sees it.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shown(&self.path);
        let Tally { added, removed } = tally(self.before(), &self.after);
        match &self.deed {
            Deed::Create { .. } => write!(f, "created {path} ({})", counted(added, "line"))?,
            Deed::Change { .. } => write!(f, "changed {path} (+{added} -{removed})")?,
            Deed::Remove => write!(f, "deleted {path}")?,
            Deed::Move { to, .. } => write!(f, "moved {path} to {} (+{added} -{removed})", shown(to))?,
        }
        if let Some(loosened) = self.loosened {
            write!(f, "\n  ({loosened})")?;
        }
        if self.stored.as_ref().is_some_and(Stored::is_stale) {
            f.write_str(
                "\n  (the file has changed since you read it; the patch was applied to what is there now)",
            )?;
        }
        if matches!(self.deed, Deed::Move { was_executable: true, .. }) {
            f.write_str("\n  (it was executable and is no longer)")?;
        }
        Ok(())
    }
}

fn deed(files: &dyn Files, path: &Path, to: Option<PathBuf>, content: Vec<u8>) -> Result<Deed, Fault> {
    let Some(to) = to else { return Ok(Deed::Change { content }) };
    is_free(files, &to, "choose another name")?;
    let mode = files.metadata(path)?.map_or(0, |metadata| metadata.permissions().mode());
    Ok(Deed::Move { to, content, was_executable: mode & 0o111 != 0 })
}

fn is_free(files: &dyn Files, path: &Path, advice: &str) -> Result<(), Fault> {
    match files.metadata(path)? {
        None => Ok(()),
        Some(_) => Err(Fault::rejected(format!("{} exists already; {advice}", shown(path)))),
    }
}

/// What goes as a whole must be what the model was shown.
fn is_fresh(files: &dyn Files, path: &Path, now: Stamp) -> Result<(), Fault> {
    if stored::seen(files, path)?.stamp == now {
        return Ok(());
    }
    Err(Fault::rejected(format!(
        "{} has changed since it was read; nothing was changed. Read it again, then decide",
        shown(path)
    )))
}

fn faults(path: &Path, misfits: &[Misfit]) -> Vec<Fault> {
    misfits.iter().map(|misfit| Fault::rejected(format!("{}: {misfit}", shown(path)))).collect()
}
