//! Where a command runs.
//!
//! `cd a; b` runs `b` in `a`, or where it was if `a` is not there: both must be permitted. So a place is a few
//! directories, or is not known.

use std::{
    path::{Component, Path, PathBuf},
    rc::Rc,
};

use haft_tool::by_text;

/// The directories in which a command may run.
#[derive(Debug, Clone)]
pub struct Places(Option<Rc<[PathBuf]>>);

impl PartialEq for Places {
    /// Nearly always it is the very same list, and paths are slow to compare.
    fn eq(&self, other: &Places) -> bool {
        match (&self.0, &other.0) {
            (Some(mine), Some(its)) => Rc::ptr_eq(mine, its) || mine == its,
            (mine, its) => mine.is_none() && its.is_none(),
        }
    }
}

impl Eq for Places {}

/// More than so many are not followed.
const MOST: usize = 8;

impl Places {
    pub(super) const UNKNOWN: Places = Places(None);

    pub(super) fn at(directory: PathBuf) -> Places {
        Places(Some(Rc::new([directory])))
    }

    /// The one directory, if there is but one.
    pub(super) fn only(&self) -> Option<&Path> {
        match self.0.as_deref() {
            Some([directory]) => Some(directory),
            _ => None,
        }
    }

    /// All of them, if they are known.
    pub(super) fn all(&self) -> Option<&[PathBuf]> {
        self.0.as_deref()
    }

    /// In any of these or those.
    pub(super) fn or(&self, other: &Places) -> Places {
        if self == other {
            return self.clone();
        }
        let (Some(mine), Some(its)) = (&self.0, &other.0) else { return Places::UNKNOWN };
        let mut all = mine.to_vec();
        all.extend(its.iter().filter(|directory| !mine.contains(directory)).cloned());
        if all.len() > MOST { Places::UNKNOWN } else { Places(Some(all.into())) }
    }

    /// What a path means here: each place gives one. `None` if the place is not known and the path needs it.
    pub(super) fn resolve(&self, path: &str) -> Option<Vec<PathBuf>> {
        let path = Path::new(path);
        if path.is_absolute() {
            return Some(vec![path.to_owned()]);
        }
        let join = |directory: &PathBuf| {
            let mut joined = directory.clone();
            joined.extend(path.components().filter(|part| *part != Component::CurDir));
            joined
        };
        self.0.as_deref().map(|directories| directories.iter().map(join).collect())
    }

    /// Where `cd PATH` leads. The shell takes `..` back by the text of the path, the kernel by what is there.
    pub(super) fn go(&self, path: &str) -> Places {
        let Some(directories) = self.resolve(path) else { return Places::UNKNOWN };
        let mut all: Vec<PathBuf> = Vec::new();
        for directory in directories {
            let by_text = by_text(&directory);
            for one in [directory, by_text] {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        if all.len() > MOST { Places::UNKNOWN } else { Places(Some(all.into())) }
    }
}
