//! A passage of a large file: only the lines around it are brought into memory.
//!
//! The file is read once, in pieces, to see that it is UTF-8 and that the passage stands in it at one place. The lines
//! around that place are then edited like any text, and the rest is left to the door, which lets the kernel copy it.
//! Whatever is less plain than that (several places, none, another encoding) goes the ordinary way.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::FileExt as _,
    path::Path,
};

use haft_tool::{Fault, FileChange, Files, Piece, Reply, Stamp, View};
use memchr::{memchr, memchr_iter, memmem::Finder, memrchr};

use super::{
    EditInput,
    matching::{Edited, edit},
    reply,
};
use crate::{diff::diff_below, stored::Footing, text::ENOUGH};

/// Smaller ones are read whole: to look at all of them is as quick as to look for the place.
const LARGE: u64 = 256 * 1024;

/// Read at a time. Memory that nobody has used yet costs more than another call.
const CHUNK: usize = 64 * 1024;

/// So much is edited on each side of the passage, down to whole lines.
const AROUND: u64 = 16 * 1024;

/// Makes the edit if it is a plain one in a large file; `None` if it is not.
///
/// Gives the file as well, which has no name any more: whoever closes it waits until the system has taken it apart.
pub(super) fn change(files: &dyn Files, input: &EditInput) -> Result<Option<(Reply, File)>, Fault> {
    let path: &Path = &input.file_path;
    let Some(Plain { file, len, footing, window, mut edited }) = plain(files, input)? else {
        return Ok(None);
    };
    let end = window.start + window.text.len() as u64;
    let pieces = [Piece::Same(0..window.start), Piece::New(edited.text.as_bytes()), Piece::Same(end..len)];
    footing.change(files, &FileChange::Splice { path, was: &file, pieces: &pieces })?;
    edited.places.iter_mut().for_each(|line| *line += window.lines_before);
    Ok(Some((reply(path, &edited, footing.is_stale(), &window), file)))
}

/// What that edit would change.
pub(super) fn foreseen(files: &dyn Files, input: &EditInput) -> Result<Option<View>, Fault> {
    let view = |Plain { window, edited, .. }: Plain| {
        diff_below(&input.file_path, window.lines_before, &window.text, &edited.text)
    };
    Ok(plain(files, input)?.map(view))
}

/// A plain edit in a large file.
struct Plain {
    file: File,
    len: u64,
    footing: Footing,
    window: Window,
    edited: Edited,
}

fn plain(files: &dyn Files, input: &EditInput) -> Result<Option<Plain>, Fault> {
    let path: &Path = &input.file_path;
    let cannot = |err| Fault::io("read", path, err);
    let file = files.open(path)?;
    let now = file.metadata().map_err(cannot)?;
    if input.replace_all || now.len() < LARGE || input.old_string.len() > CHUNK / 2 {
        return Ok(None);
    }
    let footing = Footing::find(files, path, Stamp::of(&now))?;
    let Some(window) = window(&file, now.len(), &input.old_string).map_err(cannot)? else { return Ok(None) };
    let hidden = files.secrets_in(&window.text);
    let edited = edit(&window.text, &hidden, &input.old_string, &input.new_string, false).ok();
    let edited = edited.filter(|edited| edited.loosened.is_none());
    Ok(edited.map(|edited| Plain { file, len: now.len(), footing, window, edited }))
}

/// Whole lines of a file.
pub(super) struct Window {
    pub(super) text: String,
    /// How many lines come before.
    pub(super) lines_before: usize,
    /// Its first byte in the file.
    start: u64,
}

impl Window {
    /// A text as a whole.
    pub(super) fn whole(text: String) -> Window {
        Window { text, lines_before: 0, start: 0 }
    }
}

/// The lines around the only place of a passage.
fn window(file: &File, len: u64, old: &str) -> io::Result<Option<Window>> {
    let Some(place) = Scan::new(old).run(file)? else { return Ok(None) };
    let (from, to) = (place.at.saturating_sub(AROUND), len.min(place.at + old.len() as u64 + AROUND));
    let mut bytes = vec![0; (to - from) as usize];
    file.read_exact_at(&mut bytes, from)?;
    let before = (place.at - from) as usize;
    let first = if from == 0 { Some(0) } else { memchr(b'\n', &bytes[..before]).map(|end| end + 1) };
    let last = if to == len { Some(bytes.len()) } else { memrchr(b'\n', &bytes).map(|end| end + 1) };
    let (Some(first), Some(last)) = (first, last.filter(|last| *last >= before + old.len())) else {
        return Ok(None);
    };
    let lines_before = place.lines_before - memchr_iter(b'\n', &bytes[first..before]).count();
    let text = str::from_utf8(&bytes[first..last]).ok().map(str::to_owned);
    Ok(text.map(|text| Window { text, lines_before, start: from + first as u64 }))
}

/// Where a passage stands.
struct Place {
    at: u64,
    /// The line ends before it.
    lines_before: usize,
}

/// One look at a file from beginning to end.
struct Scan<'a> {
    finder: Finder<'a>,
    buffer: Vec<u8>,
    /// Where the buffer begins in the file.
    base: u64,
    /// How much of it was there before the last piece came.
    kept: usize,
    /// From here on in the buffer the passage has not been looked for,
    sought: usize,
    /// and from here on the bytes may be the beginning of a character.
    valid: usize,
    lines: usize,
    place: Option<Place>,
}

/// What another look at the file cannot make plain.
struct NotPlain;

impl<'a> Scan<'a> {
    fn new(old: &'a str) -> Scan<'a> {
        let finder = Finder::new(old);
        let buffer = vec![0; CHUNK + old.len() + 4];
        Scan { finder, buffer, base: 0, kept: 0, sought: 0, valid: 0, lines: 0, place: None }
    }

    /// The only place. `None` also if the file is no UTF-8.
    fn run(mut self, mut file: &File) -> io::Result<Option<Place>> {
        loop {
            let read = fill(&mut file, &mut self.buffer[self.kept..][..CHUNK])?;
            if read == 0 {
                return Ok(self.place.take().filter(|_| self.valid == self.kept));
            }
            if self.take_in(self.kept + read).is_err() {
                return Ok(None);
            }
        }
    }

    fn take_in(&mut self, end: usize) -> Result<(), NotPlain> {
        if self.base == 0 && self.kept == 0 && memchr(0, &self.buffer[..end.min(ENOUGH)]).is_some() {
            return Err(NotPlain);
        }
        self.validate(end)?;
        self.search(end)?;
        if self.place.is_none() {
            self.lines += memchr_iter(b'\n', &self.buffer[self.kept..end]).count();
        }
        self.keep_tail(end);
        Ok(())
    }

    fn validate(&mut self, end: usize) -> Result<(), NotPlain> {
        self.valid = match str::from_utf8(&self.buffer[self.valid..end]) {
            Ok(_) => end,
            Err(err) if err.error_len().is_none() => self.valid + err.valid_up_to(),
            Err(_) => return Err(NotPlain),
        };
        Ok(())
    }

    fn search(&mut self, end: usize) -> Result<(), NotPlain> {
        while let Some(found) = self.finder.find(&self.buffer[self.sought..end]) {
            let at = self.sought + found;
            if self.place.is_some() {
                return Err(NotPlain);
            }
            let lines = |bytes: &[u8]| memchr_iter(b'\n', bytes).count();
            let lines_before = match at.checked_sub(self.kept) {
                Some(_) => self.lines + lines(&self.buffer[self.kept..at]),
                None => self.lines - lines(&self.buffer[at..self.kept]),
            };
            self.place = Some(Place { at: self.base + at as u64, lines_before });
            self.sought = at + 1;
        }
        self.sought = self.sought.max((end + 1).saturating_sub(self.finder.needle().len()));
        Ok(())
    }

    /// What the next piece may complete goes to the front.
    fn keep_tail(&mut self, end: usize) {
        let from = self.sought.min(self.valid).min(end);
        self.buffer.copy_within(from..end, 0);
        self.base += from as u64;
        self.kept = end - from;
        self.sought -= from;
        self.valid -= from;
    }
}

fn fill(file: &mut &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Where the only place is, and on which line: by the scan, which must agree with a plain look at the whole.
    #[track_caller]
    fn check(text: &[u8], old: &str, expected: Option<(u64, usize)>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        let mut start = &file;
        io::Seek::rewind(&mut start).unwrap();
        let place = Scan::new(old).run(&file).unwrap();
        assert_eq!(place.map(|place| (place.at, place.lines_before)), expected);
    }

    #[test]
    fn a_passage_is_found_wherever_the_pieces_of_the_file_meet() {
        let passage = "the passage\nof é two lines";
        for at in [0, 7, CHUNK - 40, CHUNK - 12, CHUNK - 11, CHUNK - 1, CHUNK, CHUNK + 3, 2 * CHUNK - 5] {
            let mut text = "line\n".repeat(at / 5);
            text.push_str(&"x".repeat(at % 5));
            let lines = at / 5;
            text.push_str(passage);
            text.push_str(&"\nmore".repeat(CHUNK / 4));
            check(text.as_bytes(), passage, Some((at as u64, lines)));
            text.push_str(passage);
            check(text.as_bytes(), passage, None);
        }
    }

    #[test]
    fn places_that_overlap_are_two() {
        let mut text = "-".repeat(CHUNK - 2).into_bytes();
        text.extend(b"abab");
        check(&text, "aba", Some((CHUNK as u64 - 2, 0)));
        text.extend(b"a");
        check(&text, "aba", None);
        check(&text, "zz", None);
    }

    #[test]
    fn what_is_not_utf8_to_the_end_is_not_plain() {
        let mut text = "é\n".repeat(CHUNK / 2).into_bytes();
        text.extend(b"passage");
        check(&text, "passage", Some((CHUNK as u64 / 2 * 3, CHUNK / 2)));
        text.extend("é".bytes().take(1));
        check(&text, "passage", None);
        check(b"passage \0", "passage", None);
    }
}
