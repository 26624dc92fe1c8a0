//! What is new under a protected name, whose work it is, and what becomes of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use haft_tool::protected::{Part, Protected, Writer, find, folded, holds_packages};
use rustix::fs::{AtFlags, StatxFlags, statx};

use super::{
    ChangeOutcome, ProtectedChange, WatchScope,
    activity::{Activity, Nanoseconds, start_of_watch},
    quarantine::{QuarantineDirectory, open_below},
    rebase,
    settings::{self, Baseline, Target},
    split,
};
use crate::sandbox::files::{Outcome, is_temporary};

/// Changes that are told. More are set aside as well.
const CHANGES_LIMIT: usize = 50;

/// Directories of a repository in which nothing runs, and where most of its files are.
const REPOSITORY_DATA: [&str; 5] = ["objects", "refs", "logs", "lfs", "rr-cache"];

/// When an entry is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// While the command starts.
    First,
    /// It has just appeared.
    Event,
    /// The command has ended.
    Last,
}

/// Judges the entries of directories.
#[derive(Debug)]
pub(super) struct Inspector {
    pub(super) watched: WatchScope,
    baseline: Baseline,
    activity: Option<Arc<Activity>>,
    outcome: Arc<Outcome>,
    start: Nanoseconds,
    shelf: QuarantineDirectory,
    /// Guidance that was there, by the time of its last change.
    guidance: BTreeMap<PathBuf, (Nanoseconds, &'static str)>,
    /// Settings of repositories that were seen.
    settings: BTreeSet<PathBuf>,
    /// Files that lead to a repository, which may change again.
    gitfiles: BTreeSet<PathBuf>,
    watch_next: Vec<PathBuf>,
    changes: Arc<Mutex<Vec<ProtectedChange>>>,
}

/// The times of an entry.
struct Times {
    born: Nanoseconds,
    changed: Nanoseconds,
}

impl Inspector {
    pub(super) fn new(
        watched: WatchScope,
        baseline: Baseline,
        activity: Option<Arc<Activity>>,
        outcome: Arc<Outcome>,
    ) -> Inspector {
        let shelf = QuarantineDirectory::at(watched.shelf.clone(), watched.home.as_deref());
        Inspector {
            watched,
            baseline,
            activity,
            outcome,
            start: start_of_watch(),
            shelf,
            guidance: BTreeMap::new(),
            settings: BTreeSet::new(),
            gitfiles: BTreeSet::new(),
            watch_next: Vec::new(),
            changes: Arc::default(),
        }
    }

    /// Returns true if the command may have made something at all.
    pub(super) fn may_have_made(&self) -> bool {
        self.activity.as_ref().is_none_or(|activity| !activity.is_empty())
    }

    /// Looks at an entry of a directory. Returns true if it is a directory to look into.
    pub(super) fn inspect(&mut self, path: &Path, is_directory: bool, look: Look) -> bool {
        let Some((root, relative)) = split(&self.watched.roots, path) else { return false };
        let found = find(path, root, self.watched.home.as_deref(), Writer::Process);
        if found.is_some() {
            if self.watched.frozen.contains(path) || self.is_permitted(path) {
                return false;
            }
            if is_directory && self.holds_permitted(path) {
                return true;
            }
        }
        let (root, relative) = (root.to_owned(), relative.to_owned());
        match found {
            None if settings::is_foreign_commondir(&root, &relative) => {
                self.inspect_code_at(&root, &relative, "git obeys", look);
                false
            }
            None if rebase::is_todo_list(path) => {
                self.settings.insert(path.to_owned());
                self.inspect_todo_list(path);
                false
            }
            None if self.is_named_by_settings(path) => {
                self.inspect_code_at(&root, &relative, "git runs or obeys by its settings", look);
                false
            }
            None => is_directory && !is_passed_by(path),
            Some(found) if !found.is_code() => {
                self.inspect_guidance(path, found, look);
                is_directory
            }
            Some(found) if found.part == Part::Directory && is_directory => true,
            Some(_) if settings::are_settings(path) => {
                self.settings.insert(path.to_owned());
                if look != Look::First || !self.baseline.knows(path) {
                    self.inspect_settings(path);
                }
                false
            }
            Some(found) if found.part == Part::Directory && path.ends_with(".git") => {
                self.inspect_gitfile(&root, &relative, found, look);
                false
            }
            // Nothing runs an empty directory, which the person may have made. What appears in it is judged.
            Some(_) if is_directory && is_empty(path) => true,
            Some(found) => {
                self.inspect_code(&root, &relative, found, look);
                false
            }
        }
    }

    /// A file `.git` says where the repository of a linked worktree or a submodule is. Git creates it empty and then writes it: an empty
    /// one leads nowhere, and is looked at again when it is written.
    fn inspect_gitfile(&mut self, root: &Path, relative: &Path, found: Protected, look: Look) {
        let path = root.join(relative);
        match settings::target_of_gitfile(root, relative) {
            Target::Nothing => {}
            Target::Guarded => drop(self.gitfiles.insert(path)),
            Target::Elsewhere => return self.inspect_code(root, relative, found, look),
        }
        self.watch_next.push(root.join(relative));
    }

    /// Files whose changes are to be seen from now on.
    pub(super) fn take_files_to_watch(&mut self) -> Vec<PathBuf> {
        mem::take(&mut self.watch_next)
    }

    /// What is found, for others to read.
    pub(super) fn found(&self) -> Arc<Mutex<Vec<ProtectedChange>>> {
        Arc::clone(&self.changes)
    }

    /// Looks at what was known when the command has ended.
    pub(super) fn finish(mut self) {
        for path in mem::take(&mut self.gitfiles) {
            self.inspect(&path, false, Look::Event);
        }
        for path in mem::take(&mut self.settings) {
            // Permission may have come while the command ran.
            match rebase::is_todo_list(&path) {
                _ if self.is_permitted(&path) => {}
                true => self.inspect_todo_list(&path),
                false => self.inspect_settings(&path),
            }
        }
        for (path, (changed, effect)) in mem::take(&mut self.guidance) {
            if self.times(&path).is_some_and(|now| now.changed > changed && self.is_by_command(now.changed)) {
                self.add(path, effect, ChangeOutcome::Kept);
            }
        }
    }

    /// Whether the call was permitted to write a place, before it started or since.
    fn is_permitted(&self, path: &Path) -> bool {
        let since = self.outcome.permitted();
        self.watched
            .permitted
            .iter()
            .chain(&since)
            .any(|place| path.starts_with(place) || is_temporary(path, place))
    }

    /// Whether something in a directory was permitted: then the rest of it is judged name by name.
    fn holds_permitted(&self, path: &Path) -> bool {
        self.watched.permitted.iter().chain(&self.outcome.permitted()).any(|place| place.starts_with(path))
    }

    fn inspect_code(&mut self, root: &Path, relative: &Path, found: Protected, look: Look) {
        self.inspect_code_at(root, relative, found.group.effect, look);
    }

    fn inspect_code_at(&mut self, root: &Path, relative: &Path, effect: &'static str, look: Look) {
        let path = root.join(relative);
        let Some(times) = self.times(&path) else { return };
        let is_new = times.born >= self.start || (look != Look::Last && times.changed >= self.start);
        let time = if times.born >= self.start { times.born } else { times.changed };
        if !self.is_by_command(time) {
            return;
        }
        if is_new {
            let outcome = match self.shelf.take(root, relative) {
                Ok(kept) => ChangeOutcome::SetAside(kept),
                Err(err) if err.kind() == std::io::ErrorKind::NotFound => return, // it is gone
                Err(err) => ChangeOutcome::Left(err.to_string()),
            };
            self.add(path, effect, outcome);
        } else if times.changed >= self.start {
            self.add(path, effect, ChangeOutcome::Kept);
        }
    }

    fn inspect_guidance(&mut self, path: &Path, found: Protected, look: Look) {
        let Some(times) = self.times(path) else { return };
        let is_old = look == Look::First && times.changed < self.start;
        if is_old {
            self.guidance.insert(path.to_owned(), (times.changed, found.group.effect));
        } else if times.changed >= self.start && self.is_by_command(times.changed) {
            self.guidance.remove(path);
            self.add(path.to_owned(), found.group.effect, ChangeOutcome::Kept);
        }
    }

    /// Settings that the command cannot have changed, and those of a repository that is older than it and was not read, stay.
    fn inspect_settings(&mut self, path: &Path) {
        let Some((root, relative)) = split(&self.watched.roots, path) else { return };
        let Some(times) = self.times(path) else { return };
        let is_judged = self.baseline.knows(path) || self.is_of_new_repository(root, relative);
        if times.changed < self.start || !is_judged || !self.is_by_command(times.changed) {
            return;
        }
        let outcome = match self.baseline.take_back(root, relative) {
            Ok(keys) if keys.is_empty() => return,
            Ok(keys) => ChangeOutcome::Reverted(keys),
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return,
            Err(err) => ChangeOutcome::Left(err.to_string()),
        };
        self.add(path.to_owned(), "git obeys", outcome);
    }

    /// Takes commands out of the list of a rebase that neither were in it before nor stand in the command's words.
    fn inspect_todo_list(&mut self, path: &Path) {
        let Some((root, relative)) = split(&self.watched.roots, path) else { return };
        let Some(times) = self.times(path) else { return };
        if times.changed < self.start || self.is_permitted(path) || !self.is_by_command(times.changed) {
            return;
        }
        let before = self.baseline.before(path);
        let outcome = match rebase::take_back(root, relative, before, &self.watched.words) {
            Ok(lines) if lines.is_empty() => return,
            Ok(lines) => ChangeOutcome::Reverted(lines),
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return,
            Err(err) => ChangeOutcome::Left(err.to_string()),
        };
        self.add(path.to_owned(), "git runs when the rebase goes on", outcome);
    }

    /// Whether settings of git name a place as code. What was there before the command is read-only to it.
    fn is_named_by_settings(&self, path: &Path) -> bool {
        self.watched.code.iter().any(|place| path.starts_with(place)) && !self.is_permitted(path)
    }

    /// Whether the directory with settings is younger than the command.
    fn is_of_new_repository(&self, root: &Path, relative: &Path) -> bool {
        let directory = root.join(relative.parent().unwrap_or(Path::new("")));
        self.times(&directory).is_some_and(|times| times.born >= self.start)
    }

    fn add(&mut self, path: PathBuf, effect: &'static str, outcome: ChangeOutcome) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_told = changes.iter().any(|change| {
            change.path == path && mem::discriminant(&change.outcome) == mem::discriminant(&outcome)
        });
        // What is set aside a second time is kept, too, but the first one says enough.
        if !is_told && changes.len() < CHANGES_LIMIT {
            changes.push(ProtectedChange { path, effect, outcome });
        }
    }

    /// Whether something that happened at this time can be the command's work.
    fn is_by_command(&self, time: Nanoseconds) -> bool {
        self.activity.as_ref().is_none_or(|activity| activity.covers(time))
    }

    /// The times of an entry, without following links. None if it is gone.
    fn times(&self, path: &Path) -> Option<Times> {
        let (root, relative) = split(&self.watched.roots, path)?;
        let directory = open_below(root, relative.parent()?).ok()?;
        let wanted = StatxFlags::CTIME | StatxFlags::BTIME;
        let facts = statx(&directory, relative.file_name()?, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let time =
            |seconds: i64, nanoseconds: u32| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        let changed = time(facts.stx_ctime.tv_sec, facts.stx_ctime.tv_nsec);
        // Where the file system knows no time of birth, the last change counts.
        let has_birth = facts.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born = if has_birth { time(facts.stx_btime.tv_sec, facts.stx_btime.tv_nsec) } else { changed };
        Some(Times { born, changed })
    }
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether a directory is passed by: nothing in it is used by entering or opening it.
fn is_passed_by(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    holds_packages(name) || (settings::is_in_repository(path) && REPOSITORY_DATA.contains(&&*folded(name)))
}
