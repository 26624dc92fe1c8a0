//! A walk through all that lies below a directory, as a tool sees it.
//!
//! The engine finds, the tool looks. What is found is already filtered: what the session may not read, what is hidden
//! and what is ignored never reaches a visitor, so no tool can forget to leave it out.

use std::{
    fs::File,
    io,
    num::NonZero,
    path::{Path, PathBuf},
    thread,
};

use crate::Stamp;

/// What a walk passes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Walk {
    /// Also what begins with a dot. `.git` only if the walk begins there.
    pub hidden: bool,
    /// Also what `.gitignore` and `.ignore` files leave out.
    pub ignored: bool,
    /// How many levels of directories; all if it is not given. One is the directory itself.
    pub depth: Option<usize>,
    /// In the order of the tree: names sorted by their bytes, and all that lies below a directory right after it. Only the first
    /// visitor sees anything then.
    pub in_order: bool,
}

impl Walk {
    /// How many visitors keep this machine busy.
    pub fn crew() -> usize {
        thread::available_parallelism().map_or(1, NonZero::get)
    }
}

/// One of those who look at what a walk finds. Each has a thread of its own, so it may keep what it needs for its work,
/// and what it has found: whoever started the walk has it back afterwards.
pub trait Visitor: Send {
    /// Looks at something. In no order unless one was asked for: directories come before what is in them, nothing else is certain.
    fn visit(&mut self, found: &dyn Found) -> Flow;
}

/// Something that a walk found. It can be opened without naming it again: what is opened lies in the directory in which
/// it was found, and is no link.
pub trait Found {
    /// Where, from the root of the walk on. Empty if the root itself is a file.
    fn path(&self) -> &Path;

    /// What it is.
    fn kind(&self) -> Kind;

    /// Opens a regular file and tells its size. Anything else is refused, and never waited for.
    fn open(&self) -> io::Result<(File, u64)>;

    /// Its size, when it was changed, and which one it is.
    fn stamp(&self) -> io::Result<Stamp> {
        Ok(self.details()?.stamp)
    }

    /// All that can be told of it without opening it.
    fn details(&self) -> io::Result<Details>;

    /// What a link points to, as it is written in it.
    fn target(&self) -> io::Result<PathBuf>;
}

/// What can be told of something without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Details {
    /// Its size, when it was changed, and which one it is.
    pub stamp: Stamp,
    /// When anything about it was changed, its name and permissions included, in nanoseconds since 1970.
    pub changed_ns: i64,
    /// Its permissions.
    pub mode: u32,
}

/// What something is, if it is a link: a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A directory. The walk goes into it, unless it is told not to.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link. No walk follows it.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// How a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// To whatever comes next.
    On,
    /// Not into this directory.
    Past,
    /// Nowhere: what was looked for is found. Other visitors may still be busy with their last look.
    Stop,
}

/// How a walk went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Walked {
    /// How many directories could not be read.
    pub unreadable: u64,
    /// How many names were passed over because they are hidden or ignored. What is below them is not counted.
    pub left_out: u64,
}
