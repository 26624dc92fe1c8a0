//! Two things at once, for work that waits for the disk or takes the processor for a while.

use std::{panic::resume_unwind, thread};

/// Does one thing on a thread of its own while the other is done here. Where no thread is to be had, one after the other.
pub(super) fn beside<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|threads| match thread::Builder::new().spawn_scoped(threads, &one) {
        Ok(running) => {
            let done = other();
            (running.join().unwrap_or_else(|panic| resume_unwind(panic)), done)
        }
        Err(_) => (one(), other()),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn both_are_under_way_at_once() {
        let ((there, hear), (here, told)) = (channel(), channel());
        let hear = std::sync::Mutex::new(hear);
        let one = || {
            let _ = here.send(1);
            hear.lock().unwrap().recv().unwrap()
        };
        assert_eq!(beside(one, move || (there.send(2).unwrap(), told.recv().unwrap()).1), (2, 1));
    }
}
