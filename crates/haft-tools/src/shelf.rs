//! The first of many things, in an order of their own, and no more than have room.
//!
//! Searches find far more than they show, and find it in no order. A shelf holds what would be shown so far and lets the
//! rest go, so that ten million finds cost no more memory than one page.

use std::{collections::BinaryHeap, thread};

/// Something on a shelf. The order is the one in which things are shown.
pub(crate) trait Thing: Ord {
    /// How much room it takes.
    fn weight(&self) -> u64 {
        1
    }
}

pub(crate) struct Shelf<T> {
    room: u64,
    held: u64,
    /// The last one on top: the first to go.
    things: BinaryHeap<T>,
}

impl<T: Thing> Shelf<T> {
    pub(crate) fn new(room: u64) -> Shelf<T> {
        Shelf { room, held: 0, things: BinaryHeap::new() }
    }

    /// How much room there is.
    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    /// Whether some of it is left.
    pub(crate) fn has_room(&self) -> bool {
        self.held < self.room
    }

    /// Whether something would stay of which it is known whether it comes before another one.
    pub(crate) fn takes(&self, comes_before: impl FnOnce(&T) -> bool) -> bool {
        self.has_room() || self.things.peek().is_some_and(comes_before)
    }

    /// Puts something where it belongs, and lets go what has no room any more.
    pub(crate) fn put(&mut self, thing: T) {
        self.held += thing.weight();
        self.things.push(thing);
        while let Some(last) =
            self.things.peek().map(Thing::weight).filter(|last| self.held - last >= self.room)
        {
            self.things.pop();
            self.held -= last;
        }
    }

    /// Has less room from now on: what is there, without the last thing. Gives that thing.
    pub(crate) fn shrink(&mut self) -> Option<T> {
        let last = self.things.pop()?;
        self.held -= last.weight();
        self.room = self.held;
        Some(last)
    }
}

/// So many are sorted sooner than a thread starts.
const FEW: usize = 2_000;

/// All that several shelves hold, in order. Each is sorted on a thread of its own where that pays.
pub(crate) fn in_order<T: Thing + Send>(shelves: impl IntoIterator<Item = Shelf<T>>) -> Vec<T> {
    let mut lists: Vec<Vec<T>> = shelves.into_iter().map(|shelf| shelf.things.into_vec()).collect();
    if lists.iter().map(Vec::len).sum::<usize>() > FEW {
        thread::scope(|threads| {
            for list in &mut lists {
                threads.spawn(|| list.sort_unstable());
            }
        });
    }
    let mut all: Vec<T> = lists.into_iter().flatten().collect();
    // A stable sort merges what is in order already.
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Thing for u64 {
        fn weight(&self) -> u64 {
            *self
        }
    }

    #[track_caller]
    fn check(room: u64, put: &[u64], expected: &[u64]) {
        let mut shelf = Shelf::new(room);
        put.iter().for_each(|thing| shelf.put(*thing));
        assert_eq!(in_order([shelf]), expected);
    }

    #[test]
    fn what_comes_last_goes_when_the_rest_fills_the_room() {
        check(6, &[5, 1, 3, 2], &[1, 2, 3]);
        check(7, &[5, 1, 3, 2], &[1, 2, 3, 5]);
        check(0, &[5, 1], &[]);
        check(u64::MAX, &[5, 1], &[1, 5]);
    }

    #[test]
    fn several_shelves_are_one_in_order() {
        let shelves = [0, 1, 2].map(|third| {
            let mut shelf = Shelf::new(u64::MAX);
            (0..2_000).rev().for_each(|thing| shelf.put(thing * 3 + third));
            shelf
        });
        assert_eq!(in_order(shelves), (0..6_000).collect::<Vec<u64>>());
    }
}
