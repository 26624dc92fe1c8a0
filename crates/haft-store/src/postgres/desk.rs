//! The thread that speaks with the server.
//!
//! Connections live on the runtime that made them, and books are used from several, one after the other: a command may make
//! one for its calls and another for its last word. So the connections have a thread and a runtime of their own, and
//! everybody else sends it work and waits for the answer.

use std::{
    io,
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError, mpsc as std_mpsc},
    thread,
    time::Duration,
};

use tokio::{
    runtime::Builder,
    sync::{mpsc, oneshot},
    task::{LocalSet, spawn_local},
};

use super::{queue::Queue, room::Room};
use crate::book::BookError;

/// How long the last entries may take when the book is closed. Whoever wants to be sure has flushed before.
const FAREWELL: Duration = Duration::from_secs(12);

type Job = Box<dyn FnOnce(Rc<Room>) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// Where work is handed in.
pub(super) struct Desk {
    jobs: Option<mpsc::UnboundedSender<Job>>,
    /// Ends with the thread.
    ended: Mutex<std_mpsc::Receiver<()>>,
}

impl Desk {
    /// Opens it. `room` is what the work finds there; it is made on the thread.
    pub(super) fn open(
        room: impl FnOnce(Arc<Queue>) -> Room + Send + 'static,
        queue: Arc<Queue>,
    ) -> io::Result<Desk> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (jobs, inbox) = mpsc::unbounded_channel();
        let (ending, ended) = std_mpsc::channel();
        thread::Builder::new().name("haft-postgres".to_owned()).spawn(move || {
            let local = LocalSet::new();
            local.block_on(&runtime, serve(Rc::new(room(queue)), inbox));
            drop(ending);
        })?;
        Ok(Desk { jobs: Some(jobs), ended: Mutex::new(ended) })
    }

    /// Has work done. It is done whether or not anybody waits for it.
    pub(super) fn ask<T, F>(
        &self,
        work: impl FnOnce(Rc<Room>) -> F + Send + 'static,
    ) -> impl Future<Output = Result<T, BookError>> + Send + 'static
    where
        T: Send + 'static,
        F: Future<Output = Result<T, BookError>> + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |room| {
            Box::pin(async move {
                let _ = answer.send(work(room).await);
            })
        });
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        async move {
            match answered.await {
                Ok(outcome) if sent => outcome,
                _ => Err(BookError::Other("the thread that speaks with PostgreSQL is gone".to_owned())),
            }
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.jobs = None;
        // What is queued is written first, if the server is there to take it.
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(FAREWELL);
    }
}

async fn serve(room: Rc<Room>, mut inbox: mpsc::UnboundedReceiver<Job>) {
    let writer = spawn_local(Room::write_queued(room.clone()));
    while let Some(job) = inbox.recv().await {
        spawn_local(job(room.clone()));
    }
    room.queue().close();
    // Writes what is left, and gives up the lease.
    let _ = writer.await;
    room.leave().await;
}
