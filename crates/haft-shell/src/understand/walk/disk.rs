//! What a walk asks the disk: whose program a name is, which repository git finds, what a directory makes of a launcher, and
//! where a program writes that knows its place.

use std::{collections::HashMap, hash::Hash, path::PathBuf};

use haft_tool::{Access, Class};

use super::{
    super::{
        places::Places,
        surroundings::{self, FileSearch},
    },
    Finder, Walk,
};
use crate::programs::{self, Arg, Facts, KnownPlace, Run, Touch, Unless};

impl Walk<'_> {
    /// What is said of a program may hold only where its directory does not say otherwise.
    pub(super) fn look_around(&mut self, program: &str, unless: Unless, facts: &mut Facts) {
        let Some(directory) = self.here.only() else {
            return self.doubt(format!("{program} in a directory that is known only when it runs"));
        };
        let found = match self.lookup {
            Some(_) => surroundings::look(unless, directory, self.base.home.as_deref()),
            None => FileSearch::Unsure,
        };
        match found {
            FileSearch::Clear => {}
            FileSearch::Found(file) => {
                self.doubt(format!("{program}, which {} may replace or change", file.display()));
            }
            // The places where it looks are read, whatever is there.
            FileSearch::Unsure => {
                let (Unless::Above(names) | Unless::Beside(names)) = unless;
                let first = names.first().copied().unwrap_or(".");
                let above = directory
                    .ancestors()
                    .skip(1)
                    .filter_map(|place| place.join(first).to_str().map(str::to_owned));
                let touch = |path| Touch {
                    path: Arg::Known(path),
                    access: Access::Read,
                    aside: false,
                    harmless: false,
                };
                facts.touches.extend(above.map(touch));
            }
        }
    }

    /// What a program writes at places that no word names.
    pub(super) fn add_known_places(&mut self, facts: &mut Facts) {
        for place in std::mem::take(&mut facts.writes) {
            let harmless = matches!(place, KnownPlace::HarmlessGit(_));
            let path = match place {
                KnownPlace::Path(path) => match (&facts.directory, path) {
                    (Some(directory), path) => programs::below(directory, &path),
                    (None, path) => path,
                },
                KnownPlace::Home(place) => match &self.base.home {
                    Some(home) => known_path(home.join(place)),
                    None => Arg::Unknown { prefix: String::new(), splits: false },
                },
                KnownPlace::Git(place) | KnownPlace::HarmlessGit(place) => {
                    match self.git_directory(facts.directory.as_ref()) {
                        Some(found) => known_path(found.join(place)),
                        None => Arg::Known(format!(".git/{place}")),
                    }
                }
            };
            facts.touches.push(Touch { path, access: Access::Write, aside: false, harmless });
        }
    }

    /// Where git keeps its settings, if it finds a repository in the one directory in which it runs.
    pub(super) fn git_directory(&self, directory: Option<&Arg>) -> Option<PathBuf> {
        let places = match directory {
            None => self.here.clone(),
            Some(Arg::Known(directory)) => self.here.go(directory),
            Some(_) => return None,
        };
        self.lookup.as_ref()?.git_directory(places.all()?.first()?)
    }

    /// Whether `PATH` leads to a program of the workspace, whatever its name says.
    pub(super) fn is_of_the_workspace(&mut self, program: &str, finder: Finder) -> bool {
        let Some(lookup) = &self.lookup else { return false };
        if finder == Finder::Shell && programs::is_built_in(program) {
            return false;
        }
        let cwd = self.here.only().unwrap_or(&self.base.cwd).to_owned();
        let ask = |(cwd, program): &(PathBuf, String)| lookup.leads_inside(program, cwd);
        remembered(&mut self.found_inside, (cwd, program.to_owned()), ask)
    }

    /// Whether git may find another repository than the session's own, in the directory that it is told to go to.
    pub(super) fn is_elsewhere(&mut self, directory: Option<&Arg>) -> bool {
        let places = match directory {
            None => self.here.clone(),
            Some(Arg::Known(directory)) => self.here.go(directory),
            Some(_) => Places::UNKNOWN,
        };
        match (&self.lookup, places.all()) {
            (_, None) => true,
            (None, Some(_)) => places != self.start,
            (Some(lookup), Some(directories)) => {
                let known = &mut self.other_repositories;
                let mut is_other = |directory: &PathBuf| {
                    remembered(known, directory.clone(), |directory| lookup.has_other_repository(directory))
                };
                // What the line itself changes before, it may change there.
                directories.iter().any(&mut is_other) || (self.changes_files && places != self.start)
            }
        }
    }
}

/// Whether a program may change files itself. What it runs is an act of its own, unless it is code in a file.
pub(super) fn changes_files(facts: &Facts) -> bool {
    let is_followed = |run: &Run| matches!(run, Run::Command { .. } | Run::Script(_));
    facts.class != Class::ReadOnly
        && (facts.runs.is_empty()
            || !facts.runs.iter().all(is_followed)
            || facts.touches.iter().any(|touch| touch.access == Access::Write))
}

fn known_path(path: PathBuf) -> Arg {
    match path.into_os_string().into_string() {
        Ok(path) => Arg::Known(path),
        Err(_) => Arg::Unknown { prefix: String::new(), splits: false },
    }
}

/// The answer to a question that is asked once.
fn remembered<K: Eq + Hash>(
    answers: &mut HashMap<K, bool>,
    question: K,
    ask: impl FnOnce(&K) -> bool,
) -> bool {
    if let Some(answer) = answers.get(&question) {
        return *answer;
    }
    let answer = ask(&question);
    answers.insert(question, answer);
    answer
}
