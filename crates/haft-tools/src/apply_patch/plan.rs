//! What becomes of each file, known before the first of them is changed.

use std::{
    borrow::Cow,
    fmt,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use haft_tool::{Fault, FileChange, Files, Stamp, View, shown};

use super::{
    apply::{Applied, apply},
    misfit::Misfit,
    parse::{FilePatch, Hunk, Intent},
    search::Numbers,
};
use crate::{
    diff::{MOST_SHOWN, Tally, diff, tally},
    edit::Loosening,
    shown::count,
    stored::{self, Stored},
    text::{MARK, decode},
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
    /// Its bytes, if they are not those of the text.
    encoded: Option<Vec<u8>>,
    loosened: Option<Loosening>,
}

enum Deed {
    Create,
    Change,
    Remove,
    Move { to: PathBuf, was_executable: bool },
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
            Intent::Add(content) => Plan::create(files, path, content).map_err(alone),
            Intent::Remove(hunks) => Plan::remove(files, path, hunks),
            Intent::Update { to, hunks } => {
                let to = to.as_ref().map(|to| place(to));
                match hunks.is_empty() {
                    true => Plan::rename(files, path, to).map_err(alone),
                    false => Plan::update(files, path, to, hunks),
                }
            }
        }
    }

    fn new(path: PathBuf, deed: Deed) -> Plan {
        let (gone, after) = (String::new(), String::new());
        Plan { path, deed, stored: None, gone, after, encoded: None, loosened: None }
    }

    fn create(files: &dyn Files, path: PathBuf, content: &str) -> Result<Plan, Fault> {
        is_free(files, &path, "update it instead")?;
        Ok(Plan { after: content.to_owned(), ..Plan::new(path, Deed::Create) })
    }

    fn remove(files: &dyn Files, path: PathBuf, hunks: &[Hunk<'_>]) -> Result<Plan, Vec<Fault>> {
        let now = fresh(files, &path).map_err(alone)?;
        // Nobody is shown more than that.
        if hunks.is_empty() && now.len > MOST_SHOWN as u64 {
            return Ok(Plan::new(path, Deed::Remove));
        }
        let bytes = stored::read(files, &path).map_err(alone)?;
        // What is not text can be deleted, only not by hunks that show its lines.
        let gone = decode(bytes).map(|text| text.content).unwrap_or_default();
        let hidden = files.secrets_in(&gone);
        if !hunks.is_empty() {
            let left =
                apply(&gone, &hidden, hunks, Numbers::Hold).map_err(|misfits| faults(&path, &misfits))?.text;
            if !left.trim_start_matches(MARK).is_empty() {
                let left = count(left.lines().count() as u64, "line");
                let problem = format!("{}: the file has {left} that the patch does not show", shown(&path));
                return Err(vec![Fault::rejected(problem)]);
            }
        }
        Ok(Plan { gone, ..Plan::new(path, Deed::Remove) })
    }

    /// Without a look at what is in it.
    fn rename(files: &dyn Files, path: PathBuf, to: Option<PathBuf>) -> Result<Plan, Fault> {
        fresh(files, &path)?;
        let bytes = stored::read(files, &path)?;
        let deed = deed(files, &path, to)?;
        Ok(Plan { encoded: Some(bytes), ..Plan::new(path, deed) })
    }

    fn update(
        files: &dyn Files,
        path: PathBuf,
        to: Option<PathBuf>,
        hunks: &[Hunk<'_>],
    ) -> Result<Plan, Vec<Fault>> {
        let stored = Stored::read(files, &path).map_err(alone)?;
        let numbers = if stored.footing.is_stale() { Numbers::MayBeOld } else { Numbers::Hold };
        let Applied { text: after, loosened } =
            apply(&stored.text, &files.secrets_in(&stored.text), hunks, numbers)
                .map_err(|misfits| faults(&path, &misfits))?;
        if after == stored.text && to.is_none() {
            return Err(vec![Fault::rejected(format!("{}: nothing would change", shown(&path)))]);
        }
        let encoded = match stored.encode(&path, &after).map_err(alone)? {
            Cow::Borrowed(_) => None,
            Cow::Owned(bytes) => Some(bytes),
        };
        let deed = deed(files, &path, to).map_err(alone)?;
        Ok(Plan { stored: Some(stored), after, encoded, loosened, ..Plan::new(path, deed) })
    }

    pub(super) fn changes(&self) -> Vec<FileChange<'_>> {
        let path: &Path = &self.path;
        let content = self.encoded.as_deref().unwrap_or(self.after.as_bytes());
        match &self.deed {
            Deed::Create | Deed::Change => vec![FileChange::Write { path, content }],
            Deed::Remove => vec![FileChange::Remove { path }],
            Deed::Move { to, .. } => {
                vec![FileChange::Write { path: to, content }, FileChange::Remove { path }]
            }
        }
    }

    pub(super) fn stand_on_it(&self, files: &dyn Files) -> Result<(), Fault> {
        self.stored.as_ref().map_or(Ok(()), |stored| stored.footing.stand_on_it(files, &self.path))
    }

    pub(super) fn step_off(&self, files: &dyn Files) -> Result<(), Fault> {
        self.stored.as_ref().map_or(Ok(()), |stored| stored.footing.step_off(files, &self.path))
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
            Deed::Create => write!(f, "created {path} ({})", count(added as u64, "line"))?,
            Deed::Change => write!(f, "changed {path} (+{added} -{removed})")?,
            Deed::Remove => write!(f, "deleted {path}")?,
            Deed::Move { to, .. } => write!(f, "moved {path} to {} (+{added} -{removed})", shown(to))?,
        }
        if let Some(loosened) = self.loosened {
            write!(f, "\n  ({loosened})")?;
        }
        if self.stored.as_ref().is_some_and(|stored| stored.footing.is_stale()) {
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

fn deed(files: &dyn Files, path: &Path, to: Option<PathBuf>) -> Result<Deed, Fault> {
    let Some(to) = to else { return Ok(Deed::Change) };
    is_free(files, &to, "choose another name")?;
    let mode = files.metadata(path)?.map_or(0, |metadata| metadata.permissions().mode());
    Ok(Deed::Move { to, was_executable: mode & 0o111 != 0 })
}

fn is_free(files: &dyn Files, path: &Path, advice: &str) -> Result<(), Fault> {
    match files.metadata(path)? {
        None => Ok(()),
        Some(_) => Err(Fault::rejected(format!("{} exists already; {advice}", shown(path)))),
    }
}

/// What goes as a whole must be what the model was shown.
fn fresh(files: &dyn Files, path: &Path) -> Result<Stamp, Fault> {
    let now = stored::look(files, path)?;
    if stored::seen(files, path)?.stamp == now {
        return Ok(now);
    }
    Err(Fault::rejected(format!(
        "{} has changed since it was read; nothing was changed. Read it again, then decide",
        shown(path)
    )))
}

fn alone(fault: Fault) -> Vec<Fault> {
    vec![fault]
}

fn faults(path: &Path, misfits: &[Misfit]) -> Vec<Fault> {
    misfits.iter().map(|misfit| Fault::rejected(format!("{}: {misfit}", shown(path)))).collect()
}
