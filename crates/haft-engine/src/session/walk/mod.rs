//! The walk through all that lies below a directory.
//!
//! Several threads share one stack of directories. A directory is opened from the root of the walk, by names in which the
//! kernel follows no link; a file is opened from its directory's descriptor. So whatever is swapped meanwhile, nothing
//! outside is ever reached, and each thread holds two descriptors at most, however deep or wide the tree is.
//!
//! Everything is filtered here, before a visitor sees it: what the rules withhold, what is hidden, what is ignored.

mod queue; //    which directory comes next, and for whom
mod names; //    what a directory holds
mod found; //    one of these, as a visitor sees it
mod ignores; //  which of them are left out

use std::{
    ffi::{CString, OsStr},
    fs::File,
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use haft_tool::{Fault, Flow, Kind, Visitor, Walk, Walked};
use rustix::{fs::OFlags, io::Errno};
use tokio_util::sync::CancellationToken;

use self::{
    found::Here,
    ignores::{Compiled, Globally, Ignores},
    names::{Name, Names},
    queue::{Queue, Task},
};
use super::{beneath, commit::STAGED_PREFIX};
use crate::policy::Withheld;

/// Deeper than anything that people or their programs make; a tree beyond that was made to do harm.
const MOST_LEVELS: usize = 1_000;

/// A large directory is shared out in parts of so many names.
const PART: usize = 256;

/// After so many names somebody looks whether the call was cancelled.
const BREATH: usize = 64;

/// What a walk needs to know.
pub(super) struct Grounds<'a> {
    /// The root, free of links: what was judged.
    pub(super) root: &'a Path,
    pub(super) walk: &'a Walk,
    pub(super) withheld: Option<Withheld<'a>>,
    pub(super) token: &'a CancellationToken,
    /// Whether this is somebody's own machine: then what they ignore everywhere counts.
    pub(super) at_home: bool,
}

/// Shows the visitors all that is there. The error is that of the root; directories further down that cannot be read are
/// counted.
pub(super) fn walk(grounds: &Grounds<'_>, visitors: &mut [&mut dyn Visitor]) -> io::Result<Walked> {
    let root = match beneath::open(grounds.root, OFlags::RDONLY | OFlags::DIRECTORY) {
        Err(err) if err.kind() == io::ErrorKind::NotADirectory => return alone(grounds.root, visitors),
        opened => opened?,
    };
    let crew = if grounds.walk.in_order { visitors.len().min(1) } else { visitors.len() };
    let Some((mine, others)) = visitors[..crew].split_first_mut() else { return Ok(Walked::default()) };
    let compiled = Compiled::default();
    let ignores = if grounds.walk.ignored { None } else { Ignores::above(grounds.root, &compiled) };
    let globally = Globally::find(grounds.at_home && !grounds.walk.ignored);
    let queue = Queue::new(others.len() + 1, Task::root(grounds.root, ignores));
    let crew = Crew {
        grounds,
        root,
        globally,
        compiled,
        queue,
        unreadable: AtomicU64::new(0),
        left_out: AtomicU64::new(0),
    };
    thread::scope(|threads| {
        for visitor in others {
            threads.spawn(|| crew.work(&mut **visitor));
        }
        crew.work(&mut **mine);
    });
    Ok(Walked { unreadable: crew.unreadable.into_inner(), left_out: crew.left_out.into_inner() })
}

/// Shows the visitors all that lies below a directory, whatever rules say: for those who keep what is there, not for tools.
/// The root has no links in it. The error is that of the root.
pub fn survey(root: &Path, walk: &Walk, visitors: &mut [&mut dyn Visitor]) -> io::Result<Walked> {
    let token = CancellationToken::new();
    self::walk(&Grounds { root, walk, withheld: None, token: &token, at_home: false }, visitors)
}

/// The root is a file, or something that can be shown as one.
fn alone(real: &Path, visitors: &mut [&mut dyn Visitor]) -> io::Result<Walked> {
    let (Some(parent), Some(name), Some(visitor)) = (real.parent(), real.file_name(), visitors.first_mut())
    else {
        return Err(io::ErrorKind::NotADirectory.into());
    };
    let directory = beneath::open(parent, OFlags::PATH | OFlags::DIRECTORY)?;
    let name = CString::new(name.as_bytes())?;
    let here = Here { directory: &directory, name: Name::of(&name), path: Path::new(""), kind: Kind::File };
    visitor.visit(&Here { kind: here.look()?, ..here });
    Ok(Walked::default())
}

/// What the threads of a walk share.
struct Crew<'a> {
    grounds: &'a Grounds<'a>,
    root: File,
    globally: Globally,
    compiled: Compiled,
    queue: Queue,
    unreadable: AtomicU64,
    left_out: AtomicU64,
}

impl Crew<'_> {
    fn work(&self, visitor: &mut dyn Visitor) {
        // If a visitor panics, the others must not wait for it.
        let _ended = self.queue.member();
        let mut worker = Worker { crew: self, visitor, names: Names::default(), path: Vec::new() };
        while let Some(task) = self.queue.next() {
            if self.grounds.token.is_cancelled() {
                return self.queue.stop();
            }
            match worker.run(task) {
                // It was there a moment ago: then it is simply no longer there.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(_) => drop(self.unreadable.fetch_add(1, Ordering::Relaxed)),
            }
        }
    }
}

/// One thread of a walk, with what it uses again for each directory.
struct Worker<'a> {
    crew: &'a Crew<'a>,
    visitor: &'a mut dyn Visitor,
    names: Names,
    /// The path of what is looked at.
    path: Vec<u8>,
}

impl Worker<'_> {
    fn run(&mut self, mut task: Task) -> Result<(), Errno> {
        let directory = self.open(&task)?;
        if let Some((names, from)) = task.part.take() {
            return self.visit_part(&directory, &task, &names, from);
        }
        // Taken out while it is read from, and put back to be used again.
        let mut names = std::mem::take(&mut self.names);
        let read = self.read(&directory, &mut names, &mut task);
        if self.crew.grounds.walk.in_order {
            read?;
            names.sort();
            return self.visit_part(&directory, &task, &Arc::new(names), 0);
        }
        if read.is_ok() {
            self.visit_all(&directory, &task, &names, 0);
        }
        self.names = names;
        read
    }

    /// Names that others may hold, too. In the order of the tree what lies below a directory comes next, and the names after it
    /// later.
    fn visit_part(
        &mut self,
        directory: &File,
        task: &Task,
        names: &Arc<Names>,
        from: usize,
    ) -> Result<(), Errno> {
        if let Some((at, below)) = self.visit_all(directory, task, names, from) {
            self.crew.queue.push([task.part(names.clone(), at + 1), below]);
        }
        Ok(())
    }

    /// From the root of the walk on, so that a directory that was moved away in between is not followed.
    fn open(&self, task: &Task) -> Result<File, Errno> {
        let relative = &task.path[self.crew.grounds.root_len().min(task.path.len())..];
        beneath::enter(&self.crew.root, Path::new(OsStr::from_bytes(relative)))
    }

    /// The names in a directory, without those that others are to look at; what they say about each other is noted.
    fn read(&self, directory: &File, names: &mut Names, task: &mut Task) -> Result<(), Errno> {
        names.read(directory)?;
        if !self.crew.grounds.walk.ignored {
            let (stem, above) = (task.path.len() + 1, task.ignores.as_ref());
            let ignores = Ignores::of(directory, names, stem, above, &self.crew.compiled);
            task.ignores = ignores.map(Arc::new).or_else(|| task.ignores.take());
        }
        if names.len() > PART && !self.crew.grounds.walk.in_order {
            self.crew.queue.push(names.split(PART).map(|part| task.part(Arc::new(part), 0)));
        }
        Ok(())
    }

    /// Shows what has these names, from one on. In the order of the tree it stops at the first directory that is to be entered, and
    /// gives its place and it.
    fn visit_all(
        &mut self,
        directory: &File,
        task: &Task,
        names: &Names,
        from: usize,
    ) -> Option<(usize, Task)> {
        self.path.clear();
        self.path.extend_from_slice(&task.path);
        self.path.push(b'/');
        let stem = self.path.len();
        let (mut below, mut left_out, mut next) = (Vec::new(), 0, None);
        for (at, (name, kind)) in names.iter().enumerate().skip(from) {
            if is_never_shown(name.bytes()) {
                continue;
            }
            self.path.truncate(stem);
            self.path.extend_from_slice(name.bytes());
            let rest = &self.path[self.crew.grounds.root_len()..];
            let path = Path::new(OsStr::from_bytes(rest));
            let mut here = Here { directory, name, path, kind: kind.unwrap_or(Kind::Special) };
            if kind.is_none() {
                let Ok(kind) = here.look() else { continue };
                here.kind = kind;
            }
            if self.passes_over(task, &here) {
                left_out += 1;
                continue;
            }
            if self.withholds() {
                continue;
            }
            match self.visitor.visit(&here) {
                Flow::Stop => {
                    self.crew.queue.stop();
                    return None;
                }
                Flow::On if here.kind == Kind::Directory && self.goes_below(task) => {
                    let directory = task.below(&self.path);
                    if self.crew.grounds.walk.in_order {
                        next = Some((at, directory));
                        break;
                    }
                    below.push(directory);
                }
                Flow::On | Flow::Past => {}
            }
            if at % BREATH == BREATH - 1
                && (self.crew.grounds.token.is_cancelled() || self.crew.queue.is_over())
            {
                self.crew.queue.stop();
                return None;
            }
        }
        self.crew.queue.push(below);
        if left_out > 0 {
            self.crew.left_out.fetch_add(left_out, Ordering::Relaxed);
        }
        next
    }

    fn goes_below(&self, task: &Task) -> bool {
        let most = self.crew.grounds.walk.depth.unwrap_or(MOST_LEVELS).min(MOST_LEVELS);
        let deeper = task.depth < most;
        if !deeper && most == MOST_LEVELS {
            self.crew.unreadable.fetch_add(1, Ordering::Relaxed);
        }
        deeper
    }

    /// Whether a name is hidden or ignored. Cheapest first: most names have no dot.
    fn passes_over(&self, task: &Task, here: &Here<'_>) -> bool {
        let must_be_shown = self.crew.grounds.walk.hidden || !is_hidden(here.name.bytes());
        let is_directory = here.kind == Kind::Directory;
        let ignored = match &task.ignores {
            Some(ignores) if must_be_shown || ignores.has_exceptions() => {
                ignores.verdict(&self.path, is_directory).or_else(|| {
                    self.crew.globally.verdict(here.path, is_directory).filter(|_| ignores.in_repository())
                })
            }
            _ => None,
        };
        // An exception in an ignore file also shows what is hidden.
        ignored.unwrap_or(!must_be_shown)
    }

    /// Whether a rule speaks against reading what is looked at. Most sessions have none.
    fn withholds(&self) -> bool {
        let withheld = self.crew.grounds.withheld.as_ref();
        withheld.is_some_and(|withheld| withheld.covers(Path::new(OsStr::from_bytes(&self.path))))
    }
}

fn is_hidden(name: &[u8]) -> bool {
    name.first() == Some(&b'.')
}

/// What git keeps for itself, and what haft is about to put in a file's place.
fn is_never_shown(name: &[u8]) -> bool {
    is_hidden(name) && (name == b".git" || name.starts_with(STAGED_PREFIX.as_bytes()))
}

impl Grounds<'_> {
    /// How much of a path is the root's, with the slash behind it.
    fn root_len(&self) -> usize {
        without_slash(self.root).len() + 1
    }
}

/// What a walk that was cancelled ends in.
pub(super) fn cancelled() -> Fault {
    Fault::cancelled("the walk through the files was stopped before its end")
}

/// The root of the file system has no name before its slash.
fn without_slash(path: &Path) -> &[u8] {
    let path = path.as_os_str().as_bytes();
    path.strip_suffix(b"/").unwrap_or(path)
}

#[cfg(test)]
mod tests;
