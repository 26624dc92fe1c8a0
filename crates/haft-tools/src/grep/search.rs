//! A thread that searches the files it is shown.

use std::{
    fs::File,
    io::{self, Read},
    ops::Range,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use haft_tool::{Cx, Files, Flow, Found, Kind, Progress, Visitor};

use super::{
    GrepInput, Mode,
    filter::Filter,
    finds::{Collector, Finds, Place},
};
use crate::shelf::Shelf;

/// Files up to this size are read whole, in one go. Larger ones stream through, so that what is searched is still in the
/// processor's cache: reading a file of megabytes whole takes half as long again.
const WHOLE: u64 = 128 << 10;

/// A line, or a whole file where matches may span lines, takes no more memory than this.
const MOST_HEAP: usize = 64 << 20;

/// What one thread keeps of all it finds takes no more memory than this, about.
const MOST_HELD: usize = 32 << 20;

/// One thread's part of a search.
pub(super) struct Search {
    mode: Mode,
    matcher: RegexMatcher,
    filter: Arc<Filter>,
    searcher: Searcher,
    buffer: Vec<u8>,
    pace: Arc<Pace>,
    files: Arc<dyn Files>,
    pub(super) shelf: Shelf<Finds>,
    held_bytes: usize,
    pub(super) tally: Tally,
    look: Option<Look>,
}

/// A first look: how far it has come, and whether that was not to the end.
#[derive(Default)]
struct Look {
    names: usize,
    files: usize,
    bytes: u64,
    is_cut: bool,
}

impl Look {
    /// So much is looked at in a few milliseconds. Names are those that are searched, and those that are not.
    const FILES: usize = 512;
    const NAMES: usize = 4096;
    const BYTES: u64 = 8 << 20;

    fn is_at_another_name(&mut self) -> bool {
        self.names += 1;
        self.is_cut |= self.names > Look::NAMES;
        self.is_cut
    }

    /// Whether a file of this size is one too many.
    fn has_enough(&mut self, len: u64) -> bool {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(len);
        self.is_cut |= self.files > Look::FILES || self.bytes > Look::BYTES;
        self.is_cut
    }
}

/// What is counted whether it is shown or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) searched: u64,
    pub(super) files: u64,
    pub(super) matches: u64,
    /// Files that could not be read, or hold lines that are too long to search.
    pub(super) failed: u64,
}

impl Search {
    pub(super) fn new(
        input: &GrepInput,
        matcher: RegexMatcher,
        filter: Arc<Filter>,
        pace: Arc<Pace>,
    ) -> Search {
        let shows_lines = input.output_mode == Mode::Content;
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MOST_HEAP))
            .multi_line(input.multiline)
            .line_number(shows_lines && input.numbers)
            .before_context(if shows_lines { input.before() } else { 0 })
            .after_context(if shows_lines { input.after() } else { 0 })
            .build();
        Search {
            mode: input.output_mode,
            matcher,
            filter,
            searcher,
            buffer: Vec::new(),
            files: pace.cx.files(),
            pace,
            shelf: Shelf::new(input.reach()),
            held_bytes: 0,
            tally: Tally::default(),
            look: None,
        }
    }

    /// Only for a first look, at what comes first.
    pub(super) fn looking(self) -> Search {
        Search { look: Some(Look::default()), ..self }
    }

    /// Whether that was all there is.
    pub(super) fn has_seen_all(&self) -> bool {
        self.look.as_ref().is_none_or(|look| !look.is_cut)
    }

    /// Whether the page is full, and there is more.
    pub(super) fn is_full(&self) -> bool {
        let found = if self.mode == Mode::Content { self.tally.matches } else { self.tally.files };
        !self.shelf.has_room() && found > self.shelf.room()
    }

    fn search(&mut self, found: &dyn Found) -> io::Result<()> {
        let (mut file, len) = found.open()?;
        if self.look.as_mut().is_some_and(|look| look.has_enough(len)) {
            return Ok(());
        }
        self.tally.searched += 1;
        let place = Place::of(found.path());
        let wanted = self.shelf.takes(|last| place < last.place);
        let lines = if self.mode == Mode::Content && wanted { self.shelf.room() } else { 0 };
        let mut collector = Collector::new(&self.matcher, lines, self.mode == Mode::FilesWithMatches);
        if len > WHOLE {
            let reader = Cancellable { file, cx: &self.pace.cx };
            self.searcher.search_reader(&self.matcher, reader, &mut collector)?;
            if let Some(around) = collector.around() {
                let (file, _) = found.open()?;
                self.note_secrets(&file, around)?;
            }
        } else {
            let len = usize::try_from(len).unwrap_or(0);
            let content = read_whole(&mut file, len, &mut self.buffer)?;
            self.searcher.search_slice(&self.matcher, content, &mut collector)?;
            if collector.around().is_some() {
                self.files.secrets_in(&String::from_utf8_lossy(content));
            }
            collector.is_binary |= collector.count > 0 && !has_mark(content) && content.contains(&0);
        }
        if let Some(finds) = collector.finish(place) {
            self.keep(finds, wanted);
        }
        Ok(())
    }

    /// Lines do not show by themselves what in them is hidden: the name of a value may stand before them, or be cut off.
    fn note_secrets(&self, file: &File, around: Range<u64>) -> io::Result<()> {
        let mut bytes = vec![0; usize::try_from(around.end - around.start).unwrap_or(0)];
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], around.start + filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        self.files.secrets_in(&String::from_utf8_lossy(&bytes[..filled]));
        Ok(())
    }

    fn keep(&mut self, finds: Finds, wanted: bool) {
        self.tally.files += 1;
        self.tally.matches += finds.count;
        if wanted {
            self.held_bytes += finds.bytes();
            self.shelf.put(finds);
        }
        // What was let go to make room is no longer counted exactly: this is a limit against harm, not a budget.
        while self.held_bytes > MOST_HELD
            && let Some(last) = self.shelf.shrink()
        {
            self.held_bytes = self.held_bytes.saturating_sub(last.bytes());
        }
    }
}

impl Visitor for Search {
    fn visit(&mut self, found: &dyn Found) -> Flow {
        let flow = self.look_at(found);
        if self.has_seen_all() { flow } else { Flow::Stop }
    }
}

impl Search {
    fn look_at(&mut self, found: &dyn Found) -> Flow {
        match found.kind() {
            _ if self.look.as_mut().is_some_and(Look::is_at_another_name) => Flow::Stop,
            Kind::Directory if self.filter.admits(found.path(), true) => Flow::On,
            Kind::Directory => Flow::Past,
            Kind::File if is_admitted(&self.filter, found.path()) => {
                if self.search(found).is_err() {
                    self.tally.failed += 1;
                }
                self.pace.step(self.tally.searched);
                Flow::On
            }
            _ => Flow::On,
        }
    }
}

/// A file that was named itself is searched, whatever it is called.
fn is_admitted(filter: &Filter, path: &Path) -> bool {
    path.as_os_str().is_empty() || filter.admits(path, false)
}

/// All of a file, in one read where its size is what it was a moment ago.
fn read_whole<'a>(file: &mut File, len: usize, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
    if buffer.len() < len {
        buffer.resize(len.next_power_of_two().max(64 * 1024), 0);
    }
    let mut filled = 0;
    while filled < len || len == 0 {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
        if filled == buffer.len() {
            break;
        }
    }
    Ok(&buffer[..filled])
}

/// Whether a file says by its first bytes that it is in an encoding in which zero bytes are no sign of anything.
fn has_mark(content: &[u8]) -> bool {
    content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff")
}

/// A large file, read until the call is cancelled.
struct Cancellable<'a> {
    file: File,
    cx: &'a Cx,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cx.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

/// Tells from time to time how far a search has come.
pub(super) struct Pace {
    cx: Cx,
    started: Instant,
    searched: AtomicU64,
    told_ms: AtomicU64,
}

/// Files between two looks at the clock, and how much time has passed when it is worth telling.
const STEP: u64 = 512;
const WORTH: Duration = Duration::from_millis(500);

impl Pace {
    pub(super) fn new(cx: Cx) -> Pace {
        Pace { cx, started: Instant::now(), searched: AtomicU64::new(0), told_ms: AtomicU64::new(0) }
    }

    fn step(&self, searched: u64) {
        if !searched.is_multiple_of(STEP) {
            return;
        }
        let all = self.searched.fetch_add(STEP, Ordering::Relaxed) + STEP;
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let told = self.told_ms.load(Ordering::Relaxed);
        let is_time = u128::from(now - told.min(now)) >= WORTH.as_millis();
        if is_time && self.told_ms.compare_exchange(told, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.cx.progress(Progress::of("files searched", all, None));
        }
    }
}
