//! The beginning and the end of a stream, in bounded memory.

use std::collections::VecDeque;

/// The first and the last bytes of a stream.
#[derive(Debug)]
pub(super) struct Window {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_room: usize,
    tail_room: usize,
    total: u64,
}

impl Window {
    pub(super) fn new(head_room: usize, tail_room: usize) -> Window {
        Window { head: Vec::new(), tail: VecDeque::new(), head_room, tail_room, total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_room - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_room)..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(self.tail_room);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
    }

    /// How many bytes there were.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Whether so many more would still leave nothing out.
    pub(super) fn has_room_for(&self, more: usize) -> bool {
        self.total.saturating_add(more as u64) <= (self.head_room + self.tail_room) as u64
    }

    /// The first bytes.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The last bytes, without those of the head.
    pub(super) fn tail(&self) -> Vec<u8> {
        self.tail.iter().copied().collect()
    }

    /// How many bytes are in neither.
    pub(super) fn hidden(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// What is still known of the stream from a place on: how many bytes of it are not, and the bytes after those.
    pub(super) fn since(&self, from: u64) -> (u64, Vec<u8>) {
        let from = from.min(self.total);
        let head_end = self.head.len() as u64;
        let tail_start = self.total - self.tail.len() as u64;
        if from < head_end && self.hidden() == 0 {
            let mut bytes = self.head[from as usize..].to_vec();
            bytes.extend(&self.tail);
            return (0, bytes);
        }
        let skipped = tail_start.saturating_sub(from);
        let start = from.saturating_sub(tail_start) as usize;
        (skipped, self.tail.iter().skip(start).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_is_whole() {
        let mut window = Window::new(4, 4);
        window.push(b"abc");
        window.push(b"defgh");
        assert_eq!(
            (window.head(), window.tail().as_slice(), window.hidden()),
            (&b"abcd"[..], &b"efgh"[..], 0)
        );
        assert_eq!(window.since(2), (0, b"cdefgh".to_vec()));
    }

    #[test]
    fn the_middle_is_counted_but_not_kept() {
        let mut window = Window::new(2, 3);
        window.push(b"0123456789");
        assert_eq!((window.head(), window.tail().as_slice(), window.hidden()), (&b"01"[..], &b"789"[..], 5));
        assert_eq!(window.since(0), (7, b"789".to_vec()));
        assert_eq!(window.since(8), (0, b"89".to_vec()));
        assert_eq!(window.since(99), (0, Vec::new()));
    }

    proptest! {
        #[test]
        fn it_holds_the_ends_of_whatever_comes(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9), 0..9),
            head in 0..9usize, tail in 0..9usize, from in 0..60u64,
        ) {
            let mut window = Window::new(head, tail);
            pieces.iter().for_each(|piece| window.push(piece));
            let all: Vec<u8> = pieces.concat();
            prop_assert!(all.starts_with(window.head()) && all.ends_with(&window.tail()));
            prop_assert_eq!(window.head().len() + window.tail().len() + window.hidden() as usize, all.len());
            let (skipped, bytes) = window.since(from);
            let from = from.min(all.len() as u64) as usize;
            prop_assert_eq!(&all[from + skipped as usize..], &bytes);
        }
    }
}
