//! A WebSocket: one message a frame, in the subprotocol `mcp`.
//!
//! The handshake goes through the same HTTP client as everything else, so that TLS, headers and tokens are the same there.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{SinkExt, StreamExt, stream::SplitSink, stream::SplitStream};
use haft_tool::BoxFuture;
use reqwest::{StatusCode, Upgraded};
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::{client::generate_key, derive_accept_key},
        protocol::{Role, WebSocketConfig},
    },
};

use super::{
    Inbox, RequestId, Wire, deliver,
    http::origin::{Origin, body, failed, unreachable},
    lines::of_text,
};
use crate::client::{Refused, Tokens};

type Socket = WebSocketStream<Upgraded>;

/// So many messages may wait for a server that does not read.
const QUEUE: usize = 64;

/// How long a farewell may take.
const BRIEFLY: Duration = Duration::from_secs(2);

/// A wire of frames.
pub(crate) struct WebSocket {
    outgoing: Mutex<Option<mpsc::Sender<String>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    reader: JoinHandle<()>,
}

impl WebSocket {
    /// Shakes hands with a server at a `ws` or `wss` address.
    pub(crate) async fn open(
        url: &str,
        headers: &BTreeMap<String, String>,
        tokens: Option<Arc<dyn Tokens>>,
        most: usize,
        inbox: Arc<dyn Inbox>,
    ) -> Result<WebSocket, Refused> {
        let origin = Origin::for_upgrades(&plain(url)?, headers, tokens)?;
        let config = WebSocketConfig::default().max_message_size(Some(most)).max_frame_size(Some(most));
        let upgraded = shake_hands(&origin).await?;
        let (sink, stream) =
            WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await.split();
        let (outgoing, queue) = mpsc::channel(QUEUE);
        Ok(WebSocket {
            outgoing: Some(outgoing).into(),
            writer: Some(tokio::spawn(write(sink, queue))).into(),
            reader: tokio::spawn(read(stream, inbox)),
        })
    }

    fn queue(&self) -> Option<mpsc::Sender<String>> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The address as an HTTP client has it.
fn plain(url: &str) -> Result<String, Refused> {
    let lower = url.to_ascii_lowercase();
    match (lower.strip_prefix("ws://"), lower.strip_prefix("wss://")) {
        (Some(_), _) => Ok(format!("http://{}", &url[5..])),
        (_, Some(_)) => Ok(format!("https://{}", &url[6..])),
        _ => Err(Refused::new(Refused::GONE, format!("`{url}` must begin with ws:// or wss://"))),
    }
}

async fn shake_hands(origin: &Origin) -> Result<Upgraded, Refused> {
    let key = generate_key();
    let request = origin.send(|client| {
        let request =
            client.get(origin.url().clone()).header("connection", "Upgrade").header("upgrade", "websocket");
        let request = request.header("sec-websocket-version", "13").header("sec-websocket-protocol", "mcp");
        request.header("sec-websocket-key", &key)
    });
    let response = request.await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let status = response.status();
        let said = body(response, 4096).await.unwrap_or_default();
        return Err(failed(status, &String::from_utf8_lossy(&said)));
    }
    let accepted = response.headers().get("sec-websocket-accept").and_then(|value| value.to_str().ok());
    if accepted != Some(&derive_accept_key(key.as_bytes())) {
        return Err(Refused::new(
            Refused::GONE,
            "what answers there is no WebSocket server: its handshake is wrong",
        ));
    }
    response.upgrade().await.map_err(|err| unreachable(&err))
}

impl Wire for WebSocket {
    fn send(&self, message: Value) -> BoxFuture<'_, Result<(), Refused>> {
        let queue = self.queue();
        Box::pin(async move {
            let gone = || Refused::new(Refused::GONE, "the server does not take any more messages");
            queue.ok_or_else(gone)?.send(message.to_string()).await.map_err(|_| gone())
        })
    }

    fn abandon(&self, _: RequestId, notice: Value) {
        if let Some(queue) = self.queue()
            && !notice.is_null()
        {
            let _ = queue.try_send(notice.to_string());
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        drop(self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).take());
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            if let Some(writer) = writer {
                let _ = timeout(BRIEFLY, writer).await;
            }
            self.reader.abort();
        })
    }
}

impl Drop for WebSocket {
    fn drop(&mut self) {
        self.reader.abort();
        if let Some(writer) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            writer.abort();
        }
    }
}

async fn write(mut sink: SplitSink<Socket, Message>, mut queue: mpsc::Receiver<String>) {
    while let Some(text) = queue.recv().await {
        if sink.send(Message::text(text)).await.is_err() {
            return;
        }
    }
    let _ = sink.close().await;
}

async fn read(mut stream: SplitStream<Socket>, inbox: Arc<dyn Inbox>) {
    let why = loop {
        let bytes = match stream.next().await {
            Some(Ok(Message::Text(text))) => text.as_bytes().to_vec(),
            Some(Ok(Message::Binary(bytes))) => bytes.to_vec(),
            Some(Ok(Message::Close(Some(frame)))) => break format!("the server closed the socket: {frame}"),
            Some(Ok(_)) => continue,
            Some(Err(err)) => break format!("the socket broke: {err}"),
            None => break "the server closed the socket".to_owned(),
        };
        deliver(of_text(&bytes), &*inbox);
    };
    inbox.ended(why);
}
