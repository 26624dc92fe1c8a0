//! The thread that watches: inotify on every directory, and a look into it.

use std::{
    collections::{HashMap, VecDeque},
    ffi::OsString,
    fs,
    mem::MaybeUninit,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags},
    io::Errno,
};

use super::{
    DIRECTORIES_LIMIT, WATCHES_LIMIT,
    inspect::{Inspector, Look},
    settings::is_in_repository,
};

/// The part of the user's watches that one command may take.
const WATCHES_SHARE: usize = 32;

/// Watches until the end, and looks once more.
pub(super) fn watch(inspector: Inspector, end: BorrowedFd<'_>) {
    let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
    let covers_all = inotify.is_some();
    let mut watcher =
        Watcher { inspector, inotify, directories: HashMap::new(), limit: watches_limit(), covers_all, end };
    watcher.look_at_roots(Look::First);
    watcher.listen();
    if !watcher.covers_all && watcher.inspector.may_have_made() {
        watcher.inotify = None;
        watcher.limit = DIRECTORIES_LIMIT;
        watcher.look_at_roots(Look::Last);
    }
    watcher.inspector.finish();
}

struct Watcher<'a> {
    inspector: Inspector,
    inotify: Option<OwnedFd>,
    /// The directories, and a few files, by the number of their watch.
    directories: HashMap<i32, PathBuf>,
    /// Directories that may still be looked at.
    limit: usize,
    /// Whether every directory is watched, and no event was lost.
    covers_all: bool,
    /// Readable when the command has ended.
    end: BorrowedFd<'a>,
}

impl Watcher<'_> {
    fn look_at_roots(&mut self, look: Look) {
        for root in self.inspector.watched.roots.clone() {
            self.look_below(root, look);
        }
    }

    /// Looks at a directory and all below it, breadth first.
    fn look_below(&mut self, start: PathBuf, look: Look) {
        let mut waiting = VecDeque::from([start]);
        while let Some(directory) = waiting.pop_front() {
            if self.limit == 0 {
                self.covers_all = false;
                return;
            }
            // A command that made nothing is not waited for.
            if look == Look::First && self.has_ended() && !self.inspector.may_have_made() {
                return;
            }
            self.limit -= 1;
            self.add(&directory);
            // The watch comes first: what appears between the two is seen twice, and not never.
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if self.inspector.inspect(&entry.path(), is_directory, look) {
                    waiting.push_back(entry.path());
                }
                self.add_files();
            }
        }
    }

    fn add(&mut self, directory: &Path) {
        let Some(inotify) = &self.inotify else { return };
        let mut flags =
            WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        if is_in_repository(directory) {
            flags |= WatchFlags::CLOSE_WRITE;
        }
        match inotify::add_watch(inotify, directory, flags) {
            Ok(number) => drop(self.directories.insert(number, directory.to_owned())),
            // What is gone by now needs no watch.
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(_) => self.covers_all = false,
        }
    }

    /// Watches the files whose contents decide.
    fn add_files(&mut self) {
        for path in self.inspector.take_files_to_watch() {
            let Some(inotify) = &self.inotify else { return };
            let flags = WatchFlags::MODIFY | WatchFlags::DONT_FOLLOW;
            if let Ok(number) = inotify::add_watch(inotify, &path, flags)
                && self.directories.insert(number, path.clone()).is_none()
            {
                // It may have been written before it was watched.
                self.inspector.inspect(&path, false, Look::Event);
            }
        }
    }

    /// Judges what appears until the command has ended, and then what has appeared until now.
    fn listen(&mut self) {
        loop {
            let is_over = self.wait();
            while self.read() {}
            if is_over {
                return;
            }
        }
    }

    /// Waits for an event. Returns true at the end.
    fn wait(&self) -> bool {
        let Some(inotify) = &self.inotify else {
            let mut watched = [PollFd::new(&self.end, PollFlags::IN)];
            while matches!(poll(&mut watched, None), Err(Errno::INTR)) {}
            return true;
        };
        let mut watched = [PollFd::new(inotify, PollFlags::IN), PollFd::new(&self.end, PollFlags::IN)];
        match poll(&mut watched, None) {
            Ok(_) => !watched[1].revents().is_empty(),
            Err(Errno::INTR) => false,
            Err(_) => true,
        }
    }

    fn has_ended(&self) -> bool {
        let mut watched = [PollFd::new(&self.end, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&at_once)).is_ok_and(|count| count > 0)
    }

    /// Reads the events that are there. Returns false if there were none.
    fn read(&mut self) -> bool {
        let mut events = Vec::new();
        {
            let Some(inotify) = &self.inotify else { return false };
            let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
            let mut reader = inotify::Reader::new(inotify, &mut buffer);
            while let Ok(event) = reader.next() {
                let name = event.file_name().map(|name| name.to_bytes().to_owned());
                events.push((event.wd(), event.events(), name));
                if reader.is_buffer_empty() {
                    break;
                }
            }
        }
        let is_some = !events.is_empty();
        for (number, kind, name) in events {
            self.handle(number, kind, name);
        }
        is_some
    }

    fn handle(&mut self, number: i32, kind: ReadFlags, name: Option<Vec<u8>>) {
        if kind.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.covers_all = false;
        }
        if kind.contains(ReadFlags::IGNORED) {
            self.directories.remove(&number);
            return;
        }
        let Some(watched) = self.directories.get(&number) else { return };
        // Without a name it is what is watched itself.
        let path = name.map_or_else(|| watched.clone(), |name| watched.join(OsString::from_vec(name)));
        let is_directory = kind.contains(ReadFlags::ISDIR);
        if self.inspector.inspect(&path, is_directory, Look::Event) {
            self.look_below(path, Look::Event);
        }
        self.add_files();
    }
}

/// The watches that one command may have.
fn watches_limit() -> usize {
    let given = fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok();
    let given = given.and_then(|text| text.trim().parse::<usize>().ok());
    given.map_or(WATCHES_LIMIT, |given| (given / WATCHES_SHARE).min(WATCHES_LIMIT))
}
