//! What files were before calls changed them.
//!
//! The traits only: a change of files tells what is there and what will be, before any name changes hands; a call that
//! starts processes which may write has the places watched that they may write to. Images are kept elsewhere, and so is all
//! that is made of them. Without anybody who keeps them, or without a journal, nothing here costs anything.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use haft_tool::SessionId;

use super::journal::CallKey;

/// Keeps what calls change, so that it can be taken back.
///
/// All of this blocks, and is called where blocking is fine.
pub trait Images: Send + Sync {
    /// A change of files is about to be made.
    fn begin<'a>(&'a self, doer: &'a Doer) -> Box<dyn Album + 'a>;

    /// Processes of a call are about to start that may write below these roots. An error keeps them from starting.
    fn watch(&self, doer: &Doer, roots: &[PathBuf]) -> io::Result<Box<dyn Watch>>;

    /// What the result of a call must say: that something of it cannot be taken back. Told once.
    fn notes(&self, _key: &CallKey) -> Vec<String> {
        Vec::new()
    }

    /// Nothing goes on any more in this session.
    fn end(&self, session: &SessionId);
}

/// The images of one change, in the making.
pub trait Album {
    /// Keeps what is at a place, while its new content is being staged. An error keeps the whole change from being made.
    fn keep(&mut self, path: &Path, before: &Thing<'_>) -> io::Result<()>;

    /// Listens to a content while it is being staged, so that nobody has to read it once more to know it.
    fn listener(&self) -> Option<Box<dyn Listener>> {
        None
    }

    /// What will be at the place that was kept last: it is staged, and has not taken the name yet.
    fn expect(&mut self, after: &Thing<'_>) -> io::Result<()>;

    /// Both, where nothing has to be staged.
    fn add(&mut self, path: &Path, before: &Thing<'_>, after: &Thing<'_>) -> io::Result<()> {
        self.keep(path, before)?;
        self.expect(after)
    }

    /// Something of what was kept is about to be made already: directories, without which nothing can be staged. When this
    /// returns, it outlasts the process.
    fn write(&mut self) -> io::Result<()>;

    /// That was all. When this returns, what was kept outlasts the process and the machine's power; only then do names
    /// change hands.
    fn seal(self: Box<Self>) -> io::Result<()>;
}

/// Hears all of a content, in pieces and in their order.
pub trait Listener: Send {
    /// The next piece.
    fn hear(&mut self, bytes: &[u8]);

    /// That was all.
    fn fingerprint(self: Box<Self>) -> Fingerprint;
}

/// What is known of a content: one that is different has another. How it is made is the album's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// Places that are watched while processes run.
pub trait Watch: Send {
    /// The call has ended. `goes_on`: it left a task, which may write on.
    ///
    /// A watch that is dropped instead was cut off; whoever watches next finds out what happened.
    fn settle(self: Box<Self>, goes_on: bool);
}

/// Who changes files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doer {
    /// Which call.
    pub key: CallKey,
    /// In which turn of its session.
    pub turn: u32,
    /// The session's workspace.
    pub workspace: PathBuf,
}

/// What is, or will be, at a place.
#[derive(Debug)]
pub enum Thing<'a> {
    /// Nothing.
    Absent,
    /// A regular file, open for reading; from its beginning if it is read with an offset.
    File {
        /// Its content.
        file: &'a File,
        /// How much of it.
        len: u64,
        /// Its permissions.
        mode: u32,
        /// What a listener of the album made of it, if one has heard it.
        fingerprint: Option<Fingerprint>,
    },
    /// A regular file that cannot be read, and why.
    Closed {
        /// How much it holds.
        len: u64,
        /// Its permissions.
        mode: u32,
        /// Why.
        why: String,
    },
    /// A symbolic link, and what is written in it.
    Link(PathBuf),
    /// A directory with these permissions.
    Directory {
        /// Its permissions.
        mode: u32,
    },
}
