//! One look at all that lies below a root. What is new or changed is kept on the way.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::atomic::{AtomicI64, AtomicUsize, Ordering},
    time::{Instant, SystemTime},
};

use haft_engine::session::survey;
use haft_tool::{Details, Flow, Found, Kind, Stamp, Visitor, Walk};

use super::{
    UndoOptions,
    index::{Entry, Index, Reason, What, relative},
};
use crate::blobs::Blobs;

/// What a look needs to know.
pub(super) struct Scan<'a> {
    pub(super) root: &'a Path,
    /// What was found the last time.
    pub(super) known: &'a Index,
    pub(super) blobs: &'a dyn Blobs,
    pub(super) options: &'a UndoOptions,
    /// Whether to look at the objects of a repository, too: only if the repository was not there before.
    pub(super) objects: bool,
}

/// What came of it.
pub(super) enum Scanned {
    Whole(Index),
    /// There is more than is looked at.
    TooMany,
}

/// Where git keeps its own.
const GIT: &[u8] = b".git";

impl Scan<'_> {
    pub(super) fn run(&self) -> io::Result<Scanned> {
        let taken_ns = now_ns();
        let budget = Budget::new(self.options);
        let mut entries = self.own_entry()?;
        for (prefix, directory) in [(&b""[..], self.root.to_owned()), (GIT, self.root.join(".git"))] {
            if directory.symlink_metadata().is_ok_and(|found| !found.is_symlink()) {
                entries.extend(self.walk(prefix, &directory, &budget)?);
            }
        }
        if budget.is_spent() {
            return Ok(Scanned::TooMany);
        }
        entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(Scanned::Whole(Index { taken_ns, entries }))
    }

    /// The root itself, and the directory of a repository, which a walk passes by.
    fn own_entry(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for (path, place) in [(&b""[..], self.root.to_owned()), (GIT, self.root.join(".git"))] {
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_dir() => {
                    entries.push(Entry {
                        path: path.to_owned(),
                        details: details(&found),
                        what: What::Directory,
                    });
                }
                Err(err) if !is_gone(&err) => return Err(err),
                _ => {}
            }
        }
        Ok(entries)
    }

    fn walk(&self, prefix: &[u8], directory: &Path, budget: &Budget) -> io::Result<Vec<Entry>> {
        let ignored = self.options.ignored || prefix == GIT;
        let everything = Walk { hidden: true, ignored, depth: None, in_order: false };
        let mut collectors: Vec<Collector<'_>> = Vec::new();
        collectors.resize_with(Walk::crew(), || Collector {
            scan: self,
            prefix,
            budget,
            entries: Vec::new(),
            failed: None,
        });
        let mut visitors: Vec<&mut dyn Visitor> = collectors.iter_mut().map(|one| one as _).collect();
        match survey(directory, &everything, &mut visitors) {
            Err(err) if !is_gone(&err) => return Err(err),
            _ => {}
        }
        let mut entries = Vec::new();
        for collector in collectors {
            match collector.failed {
                Some(err) => return Err(err),
                None => entries.extend(collector.entries),
            }
        }
        Ok(entries)
    }
}

/// How much one look may cost.
struct Budget {
    files: AtomicUsize,
    most_files: usize,
    bytes: AtomicI64,
    until: Instant,
}

impl Budget {
    fn new(options: &UndoOptions) -> Budget {
        Budget {
            files: AtomicUsize::new(0),
            most_files: options.most_files,
            bytes: AtomicI64::new(i64::try_from(options.most_read).unwrap_or(i64::MAX)),
            until: Instant::now() + options.patience,
        }
    }

    fn is_spent(&self) -> bool {
        self.files.load(Ordering::Relaxed) > self.most_files
    }

    fn allows(&self, bytes: u64) -> bool {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed) >= bytes && Instant::now() < self.until
    }
}

/// One thread's part of a look.
struct Collector<'a> {
    scan: &'a Scan<'a>,
    prefix: &'a [u8],
    budget: &'a Budget,
    entries: Vec<Entry>,
    failed: Option<io::Error>,
}

impl Visitor for Collector<'_> {
    fn visit(&mut self, found: &dyn Found) -> Flow {
        if self.passes_by(found) {
            return Flow::Past;
        }
        self.budget.files.fetch_add(1, Ordering::Relaxed);
        if self.budget.is_spent() {
            return Flow::Stop;
        }
        // What is gone by now is simply not there.
        let Ok(details) = found.details() else { return Flow::On };
        let path = self.path(found.path());
        match self.look(found, &path, details) {
            Ok(Some((what, details))) => self.entries.push(Entry { path, details, what }),
            Ok(None) => {}
            Err(err) => {
                self.failed = Some(err);
                return Flow::Stop;
            }
        }
        Flow::On
    }
}

impl Collector<'_> {
    fn path(&self, found: &Path) -> Vec<u8> {
        let separator: &[u8] =
            if self.prefix.is_empty() || found.as_os_str().is_empty() { b"" } else { b"/" };
        [self.prefix, separator, found.as_os_str().as_bytes()].concat()
    }

    /// What nobody takes back, and what is haft's own.
    fn passes_by(&self, found: &dyn Found) -> bool {
        let path = found.path();
        let is_objects = || path == Path::new("objects") || path == Path::new("lfs");
        (self.prefix == GIT && !self.scan.objects && is_objects())
            || (found.kind() == Kind::Directory && self.scan.root.join(path) == self.scan.options.own)
    }

    fn look(&self, found: &dyn Found, path: &[u8], details: Details) -> io::Result<Option<(What, Details)>> {
        Ok(match found.kind() {
            Kind::Directory => Some((What::Directory, details)),
            Kind::Link => found.target().ok().map(|target| (What::Link(relative(target)), details)),
            Kind::Special => None,
            Kind::File => match self.scan.known.unchanged(path, &details) {
                Some(Entry { what, .. }) if *what != What::Unkept(Reason::Late) => {
                    Some((what.clone(), details))
                }
                _ => self.keep(found, details)?,
            },
        })
    }

    fn keep(&self, found: &dyn Found, details: Details) -> io::Result<Option<(What, Details)>> {
        let len = details.stamp.len;
        if len > self.scan.options.max_file {
            return Ok(Some((What::Unkept(Reason::Large), details)));
        }
        if !self.budget.allows(len) {
            return Ok(Some((What::Unkept(Reason::Late), details)));
        }
        let file = match found.open() {
            Ok((file, _)) => file,
            Err(err) if is_gone(&err) => return Ok(None),
            Err(_) => return Ok(Some((What::Unkept(Reason::Unreadable), details))),
        };
        let blob = self.scan.blobs.put(&file, false)?;
        // It may have grown since it was looked at. Then its stamp is no longer that of a file that was read.
        let stamp = Stamp { len: blob.len, ..details.stamp };
        Ok(Some((What::File(blob.hash), Details { stamp, ..details })))
    }
}

fn is_gone(err: &io::Error) -> bool {
    matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn details(found: &fs::Metadata) -> Details {
    use std::os::unix::fs::MetadataExt;
    let changed_ns = found.ctime().saturating_mul(1_000_000_000).saturating_add(found.ctime_nsec());
    Details { stamp: Stamp::of(found), changed_ns, mode: found.mode() & 0o7777 }
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
