//! A stream of lines: a process's stdin and stdout, or a pipe to a server in this process.
//!
//! Two tasks: one writes what is to be sent, one reads what comes and hands it to the inbox. A message is written whole or not
//! at all, even if whoever sent it has gone meanwhile.

use std::{io, sync::Arc};

use haft_tool::BoxFuture;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
    task::JoinHandle,
};

use super::{Inbox, RequestId, Wire, deliver, lines::Lines};
use crate::client::Refused;

/// So many messages may wait for a server that does not read.
const QUEUE: usize = 64;

/// So much is read at once.
const GULP: usize = 64 * 1024;

/// What stands behind a pipe: it can say why the pipe ended, and it is ended with it.
pub(crate) trait Behind: Send + Sync + 'static {
    /// Our side of the pipe was closed, or the other side was: ends what is behind it, and says how that went.
    fn end(&self) -> BoxFuture<'_, String>;
}

/// A wire of lines.
pub(crate) struct Pipe {
    outgoing: std::sync::Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    writer: JoinHandle<()>,
    reader: JoinHandle<()>,
    behind: Arc<dyn Behind>,
}

impl Pipe {
    /// Speaks lines over these two, with messages of at most so many bytes.
    pub(crate) fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        most: usize,
        behind: Arc<dyn Behind>,
        inbox: Arc<dyn Inbox>,
    ) -> Pipe {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        Pipe {
            outgoing: Some(outgoing).into(),
            writer: tokio::spawn(write(input, queue)),
            reader: tokio::spawn(read(output, most, behind.clone(), inbox)),
            behind,
        }
    }

    /// To a server in this process.
    pub(crate) fn bridge(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        most: usize,
        inbox: Arc<dyn Inbox>,
    ) -> Pipe {
        Pipe::new(input, output, most, Arc::new(InProcess), inbox)
    }

    fn queue(&self) -> Option<mpsc::Sender<Vec<u8>>> {
        self.outgoing.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl Wire for Pipe {
    fn send(&self, message: Value) -> BoxFuture<'_, Result<(), Refused>> {
        let (queue, line) = (self.queue(), line(&message));
        Box::pin(async move {
            let gone = || Refused::new(Refused::GONE, "the server does not take any more messages").unsent();
            queue.ok_or_else(gone)?.send(line).await.map_err(|_| gone())
        })
    }

    fn abandon(&self, _: RequestId, notice: Value) {
        // A server that does not read will not hear it: nothing waits for room.
        if let Some(queue) = self.queue()
            && !notice.is_null()
        {
            let _ = queue.try_send(line(&notice));
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let queue = self.outgoing.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        // The writer ends with its queue, and with it the server's input.
        drop(queue);
        Box::pin(async move {
            self.behind.end().await;
            self.writer.abort();
            self.reader.abort();
        })
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.writer.abort();
        self.reader.abort();
    }
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

async fn write(mut input: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        let written: io::Result<()> = async {
            input.write_all(&line).await?;
            input.flush().await
        }
        .await;
        if written.is_err() {
            // The reader sees the end too, and says why. Whoever sends meanwhile learns it from the closed queue.
            return;
        }
    }
    let _ = input.shutdown().await;
}

async fn read(
    mut output: impl AsyncRead + Unpin,
    most: usize,
    behind: Arc<dyn Behind>,
    inbox: Arc<dyn Inbox>,
) {
    let (mut lines, mut pieces) = (Lines::new(most), Vec::new());
    let mut buffer = vec![0; GULP];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        inbox.alive();
        lines.push(&buffer[..count], &mut pieces);
        deliver(pieces.drain(..), &*inbox);
    }
    lines.finish(&mut pieces);
    deliver(pieces.drain(..), &*inbox);
    inbox.ended(behind.end().await);
}

/// A server in this process: it ends by itself when its pipe does.
struct InProcess;

impl Behind for InProcess {
    fn end(&self) -> BoxFuture<'_, String> {
        Box::pin(async { "the server closed the connection".to_owned() })
    }
}
