//! As much of HTTP as a scripted model takes: requests with a length, answers in pieces.
//!
//! Written out, because a test wants to break off in the middle of an answer, which servers are made not to do.

use std::time::Instant;

use haft_model::Dialect;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::Recorded;

/// A connection of a client. `None` from any of its functions is its end.
pub(super) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Connection {
        // A piece is to arrive when it is sent.
        stream.set_nodelay(true).expect("an open socket");
        Connection { stream, read: Vec::new() }
    }

    /// The next request.
    pub(super) async fn request(&mut self, connection: usize) -> Option<Recorded> {
        let head = loop {
            match find(&self.read, b"\r\n\r\n") {
                Some(end) => break end,
                None => self.more().await?,
            }
        };
        let text = String::from_utf8_lossy(&self.read[..head]).into_owned();
        self.read.drain(..head + 4);
        let mut lines = text.split("\r\n");
        let path = lines.next()?.split(' ').nth(1)?.to_owned();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length: usize = length.and_then(|(_, length)| length.parse().ok()).unwrap_or_default();
        while self.read.len() < length {
            self.more().await?;
        }
        let body: Vec<u8> = self.read.drain(..length).collect();
        let text = String::from_utf8_lossy(&body).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Some(Recorded { at: Instant::now(), connection, dialect: dialect(&path), path, headers, text, body })
    }

    /// The head of an answer whose pieces follow.
    pub(super) async fn begin(
        &mut self,
        status: u16,
        kind: &str,
        headers: &[(String, String)],
    ) -> Option<()> {
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n{more}\r\n"
        );
        self.stream.write_all(head.as_bytes()).await.ok()
    }

    pub(super) async fn piece(&mut self, text: &str) -> Option<()> {
        if text.is_empty() {
            return Some(());
        }
        let piece = format!("{:x}\r\n{text}\r\n", text.len());
        self.stream.write_all(piece.as_bytes()).await.ok()
    }

    pub(super) async fn end(&mut self) -> Option<()> {
        self.stream.write_all(b"0\r\n\r\n").await.ok()
    }

    /// A whole answer that no script made.
    pub(super) async fn refuse(&mut self, status: u16, body: &str) -> Option<()> {
        self.begin(status, "application/json", &[]).await?;
        self.piece(body).await?;
        self.end().await
    }

    async fn more(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.read).await.ok()?;
        (read > 0).then_some(())
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn dialect(path: &str) -> Option<Dialect> {
    let path = path.split('?').next().unwrap_or_default();
    match path {
        _ if path.ends_with("/messages") => Some(Dialect::Anthropic),
        _ if path.ends_with("/chat/completions") => Some(Dialect::OpenAi),
        _ if path.ends_with("/responses") => Some(Dialect::Responses),
        _ if path.ends_with(":streamGenerateContent") || path.ends_with(":generateContent") => {
            Some(Dialect::Gemini)
        }
        _ => None,
    }
}
