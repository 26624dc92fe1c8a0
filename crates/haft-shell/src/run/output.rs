//! What a process wrote, with bounded memory.
//!
//! Twice: as text for a model, cleaned, with the whole in a file once it is too much to show; and as it came, for a
//! person's screen. Of both the beginning and the end stay in memory, however much there was.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{
    Room, Spill,
    clean::{Cleaner, lines},
    window::Window,
};

/// What a process wrote so far.
pub struct Output {
    cleaner: Cleaner,
    text: Window,
    raw: Window,
    lines: u64,
    binary: bool,
    last_line: Vec<u8>,
    most: u64,
    file: File,
}

/// Where the whole goes.
enum File {
    /// Nowhere yet: it is in memory.
    Unneeded(Option<Spill>),
    /// Here.
    Open(PathBuf, Box<dyn Write + Send>),
    /// It could not be kept.
    Broken(String),
}

/// The text as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cut {
    /// The beginning.
    pub head: String,
    /// The end; empty if the head is all.
    pub tail: String,
    /// How many bytes are between them.
    pub hidden_bytes: u64,
    /// How many line ends are between them.
    pub hidden_lines: u64,
}

/// What came after some place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// How many bytes before it are not in memory any more.
    pub skipped: u64,
    /// The place after it, to go on from.
    pub next: u64,
}

impl Output {
    pub(super) fn new(room: &Room, spill: Option<Spill>) -> Output {
        let (tail, view_tail) = (room.shown / 3, room.view / 2);
        Output {
            cleaner: Cleaner::default(),
            text: Window::new(room.shown - tail, tail),
            raw: Window::new(room.view - view_tail, view_tail),
            lines: 0,
            binary: false,
            last_line: Vec::new(),
            most: room.most,
            file: File::Unneeded(spill),
        }
    }

    /// Takes what the process wrote. Says no when that is more than it may write.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        if self.raw.total() > self.most {
            return false;
        }
        self.raw.push(bytes);
        self.binary |= bytes.contains(&0);
        let Output { cleaner, text, lines, last_line, file, .. } = self;
        cleaner.push(bytes, &mut |clean| take(text, lines, last_line, file, clean));
        self.raw.total() <= self.most
    }

    /// Keeps the whole there once it is too much to show, unless that has been agreed already.
    pub(super) fn keep_in(&mut self, spill: Spill) {
        if let File::Unneeded(none @ None) = &mut self.file {
            *none = Some(spill);
        }
    }

    /// No more comes.
    pub(super) fn finish(&mut self) {
        let Output { cleaner, text, lines, last_line, file, .. } = self;
        cleaner.finish(&mut |clean| take(text, lines, last_line, file, clean));
        if let File::Open(_, writer) = &mut self.file {
            // Let go at once: a writer may keep back a line without end until it knows that nothing follows.
            let mut writer = std::mem::replace(writer, Box::new(io::sink()));
            if let Err(err) = writer.flush() {
                self.file = File::Broken(err.to_string());
            }
        }
    }

    /// How many bytes it wrote.
    pub fn bytes(&self) -> u64 {
        self.raw.total()
    }

    /// Whether it wrote what is no text.
    pub fn is_binary(&self) -> bool {
        self.binary
    }

    /// Where the whole text is, if there is more than is shown.
    pub fn file(&self) -> Option<Result<&Path, &str>> {
        match &self.file {
            File::Unneeded(_) => None,
            File::Open(path, _) => Some(Ok(path)),
            File::Broken(why) => Some(Err(why)),
        }
    }

    /// The text, as far as it is shown. Cuts fall between lines where a line end is near, and between characters always.
    pub fn text(&self) -> Cut {
        let (head, mut tail) = (self.text.head(), self.text.tail());
        tail.extend_from_slice(self.cleaner.unfinished());
        if self.text.hidden() == 0 {
            tail.splice(..0, head.iter().copied());
            return Cut { head: lossy(&tail), ..Cut::default() };
        }
        let head = &head[..head_end(head)];
        let tail = &tail[tail_start(&tail)..];
        let total = self.text.total() + self.cleaner.unfinished().len() as u64;
        Cut {
            hidden_bytes: total - (head.len() + tail.len()) as u64,
            hidden_lines: self.lines.saturating_sub(lines(head) + lines(tail)),
            head: lossy(head),
            tail: lossy(tail),
        }
    }

    /// The text from a place on, as far as it is in memory. The line that is being written is part of it; if it is drawn
    /// over, only what is new of it comes again.
    pub fn since(&self, from: u64) -> Piece {
        let (skipped, mut bytes) = self.text.since(from);
        let unfinished = self.cleaner.unfinished();
        let known = from.saturating_sub(self.text.total()).min(unfinished.len() as u64);
        bytes.extend_from_slice(&unfinished[known as usize..]);
        let next = self.text.total() + unfinished.len() as u64;
        // A place inside a character or a line that is gone begins with what is whole.
        let start = if skipped > 0 { tail_start(&bytes) } else { 0 };
        Piece { text: lossy(&bytes[start..]), skipped: skipped + start as u64, next }
    }

    /// As it came, colours and all; cut as the text is.
    pub fn raw(&self) -> (Vec<u8>, u64, Vec<u8>) {
        let (head, tail) = (self.raw.head(), self.raw.tail());
        if self.raw.hidden() == 0 {
            return (head.to_vec(), 0, tail);
        }
        let (end, start) = (head_end(head), tail_start(&tail));
        let hidden = self.raw.hidden() + (head.len() - end + start) as u64;
        (head[..end].to_vec(), hidden, tail[start..].to_vec())
    }

    /// The last line that is not blank: what is going on.
    pub fn last_line(&self) -> String {
        let unfinished = self.cleaner.unfinished();
        let line = if unfinished.trim_ascii().is_empty() { &self.last_line } else { unfinished };
        lossy(line.trim_ascii())
    }
}

/// A cut looks no farther than this for the end of a word.
const LONGEST_WORD: usize = 1024;
/// The longest line that is worth showing while something runs.
const LAST_LINE: usize = 200;

fn take(text: &mut Window, count: &mut u64, last_line: &mut Vec<u8>, file: &mut File, clean: &[u8]) {
    *count += lines(clean);
    if let Some(line) = clean.rsplit(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()) {
        *last_line = line[..line.len().min(LAST_LINE)].to_vec();
    }
    if !text.has_room_for(clean.len()) {
        file.write(text, clean);
    }
    text.push(clean);
}

impl File {
    /// Writes what comes next; the first time, also all that came before.
    fn write(&mut self, before: &Window, clean: &[u8]) {
        if let File::Unneeded(spill) = self {
            *self = match begin(spill.take(), before) {
                Ok((path, writer)) => File::Open(path, writer),
                Err(err) => File::Broken(err.to_string()),
            };
        }
        if let File::Open(_, writer) = self
            && let Err(err) = writer.write_all(clean)
        {
            *self = File::Broken(err.to_string());
        }
    }
}

fn begin(spill: Option<Spill>, before: &Window) -> io::Result<(PathBuf, Box<dyn Write + Send>)> {
    let spill = spill.ok_or_else(|| io::Error::other("nothing is kept here"))?;
    let (path, mut writer) = spill()?;
    writer.write_all(before.head())?;
    writer.write_all(&before.tail())?;
    Ok((path, writer))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last line end, if it does not waste more than half; otherwise the last blank that is near, or the last character.
/// A word that is cut may be a part of a secret that nobody knows any more.
fn head_end(head: &[u8]) -> usize {
    let near = head.len().saturating_sub(LONGEST_WORD.min(head.len() / 2));
    match memchr::memrchr(b'\n', head) {
        Some(line) if line + 1 > head.len() / 2 => line + 1,
        _ => head[near..]
            .iter()
            .rposition(u8::is_ascii_whitespace)
            .map_or(head.len() - partial_end(head), |blank| near + blank + 1),
    }
}

/// The first line start, by the same measure.
fn tail_start(tail: &[u8]) -> usize {
    let near = &tail[..LONGEST_WORD.min(tail.len() / 2)];
    match memchr::memchr(b'\n', tail) {
        Some(line) if line + 1 < tail.len() / 2 => line + 1,
        _ => near.iter().position(u8::is_ascii_whitespace).map_or_else(
            || tail.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count(),
            |at| at + 1,
        ),
    }
}

/// How many bytes at the end are the beginning of a character.
fn partial_end(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        Some(chunk) if chunk.invalid().len() < 4 && bytes.ends_with(chunk.invalid()) => chunk.invalid().len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    const ROOM: Room = Room { shown: 30, view: 20, most: 1000 };

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn output(kept: &Kept) -> Output {
        let kept = kept.clone();
        Output::new(&ROOM, Some(Box::new(move || Ok(("/kept".into(), Box::new(kept))))))
    }

    #[test]
    fn a_word_is_not_cut_in_two_so_that_no_part_of_a_secret_is_shown() {
        let mut output = output(&Kept::default());
        output.push(b"alpha be token=aaaaaaaaaaaaaaaa two three four five token=bbbbbbbbb end x");
        let (head, hidden, tail) = output.raw();
        assert_eq!((lossy(&head).as_str(), lossy(&tail).as_str()), ("alpha be ", "end x"));
        assert_eq!(hidden + (head.len() + tail.len()) as u64, output.bytes());
    }

    #[test]
    fn what_fits_needs_no_file() {
        let kept = Kept::default();
        let mut output = output(&kept);
        output.push(b"one\ntwo\nthree");
        assert_eq!(output.text(), Cut { head: "one\ntwo\nthree".into(), ..Cut::default() });
        output.finish();
        assert_eq!(output.text().head, "one\ntwo\nthree");
        assert!(output.file().is_none());
    }

    #[test]
    fn what_does_not_fit_is_in_the_file_as_a_whole() {
        let kept = Kept::default();
        let mut output = output(&kept);
        (0..20).for_each(|number| assert!(output.push(format!("\x1b[1mline {number:02}\r\n").as_bytes())));
        output.finish();
        let all: String = (0..20).map(|number| format!("line {number:02}\n")).collect();
        assert_eq!(String::from_utf8(kept.0.lock().unwrap().clone()).unwrap(), all);
        let cut = output.text();
        assert_eq!((cut.head.as_str(), cut.tail.as_str()), ("line 00\nline 01\n", "line 19\n"));
        assert_eq!((cut.hidden_bytes, cut.hidden_lines), (17 * 8, 17));
        assert_eq!(output.file(), Some(Ok(Path::new("/kept"))));
    }

    #[test]
    fn a_file_that_cannot_be_made_is_told_and_nothing_else_is_lost() {
        let mut output = Output::new(&ROOM, Some(Box::new(|| Err(io::Error::other("the disk is full")))));
        output.push(&[b'x'; 100]);
        output.finish();
        assert_eq!(output.file(), Some(Err("the disk is full")));
        assert_eq!(output.text().hidden_bytes, 70);
    }

    #[test]
    fn each_look_sees_what_is_new() {
        let mut output = output(&Kept::default());
        output.push(b"ready on ");
        let first = output.since(0);
        assert_eq!((first.text.as_str(), first.next), ("ready on ", 9));
        output.push(b"3000\nget /\n");
        let second = output.since(first.next);
        assert_eq!((second.text.as_str(), second.skipped), ("3000\nget /\n", 0));
        assert_eq!(output.since(second.next).text, "");
    }

    #[test]
    fn a_late_look_is_told_what_it_missed() {
        let mut output = output(&Kept::default());
        (0..20).for_each(|number| assert!(output.push(format!("line {number:02}\n").as_bytes())));
        let piece = output.since(0);
        assert_eq!((piece.text.as_str(), piece.skipped, piece.next), ("line 19\n", 152, 160));
    }

    #[test]
    fn too_much_is_too_much() {
        let mut output = output(&Kept::default());
        assert!(output.push(&[b'x'; 1000]));
        assert!(!output.push(b"x"));
        assert!(!output.push(b"more"));
        assert_eq!(output.bytes(), 1001);
    }

    #[test]
    fn characters_are_not_cut_in_two() {
        let mut output = output(&Kept::default());
        output.push("é€".repeat(40).as_bytes());
        output.finish();
        let cut = output.text();
        assert!(!cut.head.contains('\u{fffd}') && !cut.tail.contains('\u{fffd}'), "{cut:?}");
    }

    #[test]
    fn the_last_line_says_what_is_going_on() {
        let mut output = output(&Kept::default());
        output.push(b"compiling a\n\n");
        assert_eq!(output.last_line(), "compiling a");
        output.push(b" 50%\r 60%");
        assert_eq!(output.last_line(), "60%");
    }
}
