//! Two things at once, for work that waits for the disk or takes the processor for a while.

use std::{
    panic::resume_unwind,
    sync::{Mutex, PoisonError},
    thread,
};

/// Does one thing on a thread of its own while the other is done here. Where no thread is to be had, one after the other.
pub fn beside<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    let one = Mutex::new(Some(one));
    let first = || {
        let one = one.lock().unwrap_or_else(PoisonError::into_inner).take();
        one.expect("it is done once: there, or here where there is no thread")()
    };
    thread::scope(|threads| match thread::Builder::new().spawn_scoped(threads, first) {
        Ok(running) => {
            let done = other();
            (running.join().unwrap_or_else(|panic| resume_unwind(panic)), done)
        }
        Err(_) => (first(), other()),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn both_are_under_way_at_once() {
        let ((there, hear), (here, told)) = (channel(), channel());
        let one = move || {
            let _ = here.send(1);
            hear.recv().unwrap()
        };
        assert_eq!(beside(one, move || (there.send(2).unwrap(), told.recv().unwrap()).1), (2, 1));
    }
}
