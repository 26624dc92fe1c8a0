//! What taking calls back would do, file by file. Nothing is changed here.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use haft_engine::session::CallKey;
use haft_tool::Stamp;
use rustix::fs::OFlags;

use super::{
    Shared,
    chain::{Chain, Link, Undo},
    image::{Image, Was},
};
use crate::blobs::Hash;

/// What taking back would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The calls that are taken back.
    pub calls: Vec<CallKey>,
    /// Those of which something is: of the others every file is refused. For an undo that is taken back, the calls that it
    /// took back.
    pub taken: Vec<CallKey>,
    /// The undo that is taken back instead.
    pub redoes: Option<CallKey>,
    /// In which turn they were.
    pub turn: u32,
    /// In which workspace.
    pub workspace: PathBuf,
    /// What becomes of each file, in the order of the paths. What is as it was is not among them.
    pub files: Vec<Planned>,
    /// Those that are as they were.
    pub settled: Vec<PathBuf>,
    /// What cannot be taken back besides, in words.
    pub left_out: Vec<String>,
}

/// What becomes of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Which.
    pub path: PathBuf,
    /// What is there now.
    pub now: Was,
    /// What is to be there.
    pub to: Was,
    /// Whether that can be.
    pub standing: Standing,
    /// Whether it was found only after haft had been cut off: somebody else may have done it.
    pub late: bool,
}

/// Whether a file can be taken back.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// It can.
    Ready,
    /// It cannot; this is why, and what would help.
    Refused(String),
}

impl Planned {
    fn is_refused(&self) -> bool {
        matches!(self.standing, Standing::Refused(_))
    }
}

impl Plan {
    /// The files that can be taken back.
    pub fn ready(&self) -> impl Iterator<Item = &Planned> {
        self.files.iter().filter(|file| file.standing == Standing::Ready)
    }

    /// Those that cannot, and why.
    pub fn refused(&self) -> impl Iterator<Item = (&Planned, &str)> {
        self.files.iter().filter_map(|file| match &file.standing {
            Standing::Refused(why) => Some((file, why.as_str())),
            Standing::Ready => None,
        })
    }
}

/// How files are taken back whatever has become of them.
pub(super) type Takes<'a> = &'a dyn Fn(&Path) -> bool;

impl Shared {
    /// Takes calls back.
    pub(super) fn plan_undo(&self, chain: &Chain, calls: Vec<CallKey>, takes: Takes<'_>) -> io::Result<Plan> {
        let is_meant = |link: &&Link| calls.contains(&link.key);
        let (mut turn, mut workspace, mut files, mut settled) = (0, PathBuf::new(), Vec::new(), Vec::new());
        let mut taken: HashSet<&CallKey> = HashSet::new();
        for (path, links) in &chain.paths {
            let Some(first) = links.iter().position(|link| calls.contains(&link.key)) else { continue };
            (turn, workspace) = (links[first].turn, haft_tool::unshown(&links[first].workspace));
            let meant = &links[first..];
            let last = meant.iter().rfind(is_meant).unwrap_or(&meant[0]);
            let to = &meant[0].image.before;
            let mut planned = self.planned(path, &last.image.after, to, takes(path))?;
            if planned.as_ref().is_some_and(Planned::is_refused) {
                // What was written down and cut off before it was done has left what was there before it.
                let undone = self.planned(path, &last.image.before, to, takes(path))?;
                planned = undone.filter(|file| !file.is_refused()).or(planned);
            }
            if let (Some(file), Some(why)) =
                (&mut planned, stands_between(meant, &calls).filter(|_| !takes(path)))
            {
                file.standing = Standing::Refused(why);
            }
            if !planned.as_ref().is_some_and(Planned::is_refused) {
                taken.extend(meant.iter().filter(is_meant).map(|link| &link.key));
            }
            settled.extend(planned.is_none().then(|| path.clone()));
            files.extend(planned.map(|file| Planned { late: meant.iter().any(|link| link.late), ..file }));
        }
        let left_out = chain.left_out.iter().filter(|(key, _)| calls.contains(key));
        let left_out = left_out.map(|(_, words)| words.clone()).collect();
        let taken = calls.iter().filter(|key| taken.contains(key)).cloned().collect();
        Ok(Plan { calls, taken, redoes: None, turn, workspace, files, settled, left_out })
    }

    /// Takes an undo back.
    pub(super) fn plan_redo(&self, undo: &Undo, takes: Takes<'_>) -> io::Result<Plan> {
        let mut images: BTreeMap<PathBuf, (&Was, &Was)> = BTreeMap::new();
        for image in &undo.images {
            let (_, after) = images.entry(image.path()).or_insert((&image.before, &image.after));
            *after = &image.after;
        }
        let mut files = Vec::new();
        for (path, (before, after)) in &images {
            files.extend(self.planned(path, after, before, takes(path))?);
        }
        let is_refused =
            |path: &Path| files.iter().any(|file: &Planned| file.path == path && file.is_refused());
        let mut taken: Vec<CallKey> = Vec::new();
        for link in undo.taken.iter().filter(|(path, _)| !is_refused(path)).flat_map(|(_, links)| links) {
            if !taken.contains(&link.key) {
                taken.push(link.key.clone());
            }
        }
        let is_open = |path: &&PathBuf| !files.iter().any(|file: &Planned| file.path == **path);
        let settled = undo.taken.keys().filter(is_open).cloned().collect();
        let workspace = haft_tool::unshown(&undo.workspace);
        let redoes = Some(undo.key.clone());
        Ok(Plan {
            calls: Vec::new(),
            taken,
            redoes,
            turn: undo.turn,
            workspace,
            files,
            settled,
            left_out: Vec::new(),
        })
    }

    /// `left`: what whoever changed it left there. `None`: there is nothing to do.
    fn planned(&self, path: &Path, left: &Was, to: &Was, takes: bool) -> io::Result<Option<Planned>> {
        let now = now(path, left, to)?;
        if is_equal(&now, to) {
            return Ok(None);
        }
        let standing = match self.obstacle(&now, left, to, takes)? {
            Some(why) => Standing::Refused(why),
            None => Standing::Ready,
        };
        Ok(Some(Planned { path: path.to_owned(), now, to: to.clone(), standing, late: false }))
    }

    fn obstacle(&self, now: &Was, left: &Was, to: &Was, takes: bool) -> io::Result<Option<String>> {
        match to {
            Was::Unkept { why, .. } => return Ok(Some(format!("what was there was not kept: {why}"))),
            Was::File { hash, .. } if !self.blobs.has(hash)? => {
                return Ok(Some("what was there is not kept any more".to_owned()));
            }
            _ => {}
        }
        let is_left = is_equal(now, left) || matches!((now, to), (Was::Directory { .. }, Was::Absent));
        Ok((!is_left && !takes).then(|| {
            format!(
                "it has changed since: there was {} then, and is {} now; --take takes it back all the same",
                left.describe(),
                now.describe()
            )
        }))
    }
}

/// What somebody did to a path between the calls that are taken back, or after them.
fn stands_between(links: &[Link], calls: &[CallKey]) -> Option<String> {
    if let Some(other) = links.iter().rfind(|link| !calls.contains(&link.key)) {
        let CallKey { session, call, .. } = &other.key;
        return Some(format!(
            "the call {call} changed it later; take that back first: haft undo {session}/{call}"
        ));
    }
    let follows = |one: &Image, other: &Image| {
        // Of a directory that was about to be made it is not known yet which permissions it gets.
        is_equal(&one.after, &other.before)
            || matches!((&one.after, &other.before), (Was::Directory { .. }, Was::Directory { .. }))
            // Several were about to make the same directory, or the one was cut off before it did what it had written down.
            || is_equal(&one.before, &other.before)
    };
    let broken = links.windows(2).any(|pair| !follows(&pair[0].image, &pair[1].image));
    broken
        .then(|| "somebody else changed it between these calls; --take takes that back with them".to_owned())
}

/// What is at a path, as far as it can matter.
pub(super) fn now(path: &Path, left: &Was, to: &Was) -> io::Result<Was> {
    let found = match fs::symlink_metadata(path) {
        Err(err) if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Was::Absent);
        }
        found => found?,
    };
    let (stamp, mode) = (Stamp::of(&found), found.mode() & 0o7777);
    if found.is_dir() {
        return Ok(Was::Directory { mode });
    }
    if found.is_symlink() {
        return Ok(Was::link(&fs::read_link(path)?));
    }
    let unkept =
        |why: &str| Was::Unkept { len: stamp.len, mode, modified_ns: stamp.modified_ns, why: why.to_owned() };
    if !found.is_file() {
        return Ok(unkept("it is not a regular file"));
    }
    // Only a file that could be one of the two is worth reading.
    let could_be = |was: &Was| matches!(was, Was::File { len, .. } if *len == stamp.len);
    if !could_be(left) && !could_be(to) {
        return Ok(unkept("it was not read"));
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => {
            let blob = Hash::of_file(&file)?;
            Ok(Was::File { hash: blob.hash, len: blob.len, mode })
        }
        Err(err) => Ok(unkept(&err.to_string())),
    }
}

/// Whether these are the same. What was not kept is known by its stamp.
pub(super) fn is_equal(one: &Was, other: &Was) -> bool {
    match (one, other) {
        (
            Was::Unkept { len, mode, modified_ns, .. },
            Was::Unkept { len: other_len, mode: other_mode, modified_ns: other_modified, .. },
        ) => len == other_len && mode == other_mode && modified_ns == other_modified,
        (one, other) => one == other,
    }
}
