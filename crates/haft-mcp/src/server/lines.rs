//! Clients on a pair of streams: a message a line.

use std::{io, sync::Arc};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::JoinSet,
};

use super::{
    dispatch,
    guest::{Guest, Outlet},
    hello,
    message::{self, Incoming, NO_MESSAGE},
};
use crate::client::Refused;

/// The longest line that is read. What is longer is refused, and the next line is read.
const LONGEST: usize = 16 << 20;

/// Serves a client until it leaves or the door closes. What it asked for is answered as far as it can be.
pub(super) async fn serve(
    guest: &Arc<Guest>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let (outlet, messages) = Outlet::new();
    guest.speak_through(outlet.clone());
    let writing = tokio::spawn(write(messages, writer));
    let closing = guest.door.closing.clone();
    let read = closing.run_until_cancelled(read(guest, &outlet, reader)).await;
    guest.goes().await;
    // Others may hold the outlet still; after this nothing of theirs is for anybody.
    outlet.send(Value::Null).await;
    let written = writing.await.unwrap_or(Ok(()));
    read.unwrap_or(Ok(())).and(written)
}

async fn read(guest: &Arc<Guest>, outlet: &Outlet, reader: impl AsyncRead + Unpin) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 << 10, reader);
    let mut requests = JoinSet::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        match next_line(&mut reader, &mut line).await? {
            Line::End => break,
            Line::TooLong => outlet.send(refusal(Value::Null, too_long())).await,
            Line::Whole => take(guest, outlet, &mut requests, &line).await,
        }
        while requests.try_join_next().is_some() {}
    }
    // A client that closes its end may still read: what runs without needing it is answered.
    guest.no_more.cancel();
    finish(requests).await;
    Ok(())
}

/// How long what runs may go on after the client has said its last.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(2);

async fn finish(mut requests: JoinSet<()>) {
    let all = async { while requests.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST_WORDS, all).await;
}

enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads up to the end of a line, and no more into memory than a line may have.
async fn next_line(reader: &mut (impl AsyncBufReadExt + Unpin), line: &mut Vec<u8>) -> io::Result<Line> {
    let mut is_too_long = false;
    loop {
        let bytes = reader.fill_buf().await?;
        if bytes.is_empty() {
            return Ok(if line.is_empty() { Line::End } else { Line::Whole });
        }
        let end = memchr::memchr(b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        is_too_long |= line.len() + part.len() > LONGEST;
        if !is_too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        match end {
            Some(_) if is_too_long => {
                line.clear();
                return Ok(Line::TooLong);
            }
            Some(_) => return Ok(Line::Whole),
            None => {}
        }
    }
}

async fn take(guest: &Arc<Guest>, outlet: &Outlet, requests: &mut JoinSet<()>, line: &[u8]) {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    for message in message::read(text) {
        match message {
            Ok(Incoming::Request(request)) => {
                if request.method == "initialize" {
                    hello::meet(guest, &request.params);
                }
                let (guest, outlet) = (guest.clone(), outlet.clone());
                requests.spawn(async move {
                    if let Some(answer) = dispatch::attend(&guest, request, outlet.clone()).await {
                        outlet.send(answer).await;
                    }
                });
            }
            Ok(other) => dispatch::hear(guest, other),
            Err(unreadable) => outlet.send(refusal(unreadable.id, unreadable.refused)).await,
        }
    }
}

fn refusal(id: Value, refused: Refused) -> Value {
    message::response(id, Err(refused))
}

fn too_long() -> Refused {
    Refused::new(NO_MESSAGE, format!("a message has at most {LONGEST} bytes"))
}

/// Writes messages as they come, with one flush for all that are there. `null` is no message, and the last.
async fn write(mut messages: mpsc::Receiver<Value>, mut writer: impl AsyncWrite + Unpin) -> io::Result<()> {
    let (mut ready, mut bytes) = (Vec::new(), Vec::new());
    while messages.recv_many(&mut ready, 64).await > 0 {
        let is_last = ready.iter().any(Value::is_null);
        for message in ready.drain(..).take_while(|message| !message.is_null()) {
            serde_json::to_writer(&mut bytes, &message)?;
            bytes.push(b'\n');
        }
        writer.write_all(&bytes).await?;
        writer.flush().await?;
        bytes.clear();
        // One large result should not be held for ever.
        bytes.shrink_to(64 << 10);
        if is_last {
            break;
        }
    }
    writer.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8]) -> Vec<String> {
        let mut reader = BufReader::with_capacity(4, text);
        let (mut found, mut line) = (Vec::new(), Vec::new());
        loop {
            line.clear();
            match next_line(&mut reader, &mut line).await.unwrap() {
                Line::End => return found,
                Line::TooLong => found.push("(too long)".to_owned()),
                Line::Whole => found.push(String::from_utf8(line.clone()).unwrap()),
            }
        }
    }

    #[tokio::test]
    async fn lines_are_told_apart_also_without_a_last_end() {
        assert_eq!(lines(b"one\r\n\ntwo").await, ["one\r", "", "two"]);
        assert_eq!(lines(b"").await, [""; 0]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_the_next_is_read() {
        let mut text = vec![b'x'; LONGEST + 10];
        text.extend_from_slice(b"\nshort\n");
        assert_eq!(lines(&text).await, ["(too long)", "short"]);
    }
}
