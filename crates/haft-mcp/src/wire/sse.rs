//! The HTTP transport of before: events come from one address, messages go to another.
//!
//! The first event says where messages go. That must be the same scheme, host and port: what is sent has keys in its headers.

use std::sync::{Arc, OnceLock};

use haft_tool::BoxFuture;
use reqwest::{
    Response, Url,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{
    Inbox, RequestId, Wire, deliver,
    events::{Event, Events},
    http::{
        chunk,
        origin::{Origin, body, failed},
    },
    lines::of_text,
};
use crate::client::Refused;

/// A wire of events and posts.
pub(crate) struct Sse {
    origin: Origin,
    /// Where messages go.
    endpoint: Url,
    inbox: Arc<dyn Inbox>,
    most: usize,
    version: Arc<OnceLock<String>>,
    reader: JoinHandle<()>,
}

impl Sse {
    /// Opens the stream, and waits for the address that messages go to.
    pub(crate) async fn open(origin: Origin, most: usize, inbox: Arc<dyn Inbox>) -> Result<Sse, Refused> {
        let url = origin.url().clone();
        let response =
            origin.send(|client| client.get(url.clone()).header(ACCEPT, "text/event-stream")).await?;
        if !response.status().is_success() {
            let status = response.status();
            let said = body(response, 4096).await.unwrap_or_default();
            return Err(failed(status, &String::from_utf8_lossy(&said)));
        }
        let mut stream = Stream { response, events: Events::new(most), found: Vec::new() };
        let endpoint = endpoint(&origin, &mut stream).await?;
        let reader = tokio::spawn(read(stream, most, inbox.clone()));
        Ok(Sse { origin, endpoint, inbox, most, version: Arc::default(), reader })
    }

    async fn post(&self, message: Value) -> Result<(), Refused> {
        let text = message.to_string();
        let sent = self.origin.send(|client| {
            let mut request = client
                .post(self.endpoint.clone())
                .header(CONTENT_TYPE, "application/json")
                .body(text.clone());
            if let Some(version) = self.version.get() {
                request = request.header("mcp-protocol-version", version);
            }
            request
        });
        let response = sent.await?;
        let status = response.status();
        let said = body(response, self.most).await?;
        if !status.is_success() {
            return Err(failed(status, &String::from_utf8_lossy(&said)));
        }
        // Some servers answer here too, instead of on the stream.
        if let Ok(answer @ Value::Object(_)) = serde_json::from_slice(&said)
            && (answer.get("result").is_some() || answer.get("error").is_some())
        {
            self.inbox.arrived(answer, None);
        }
        Ok(())
    }
}

impl Wire for Sse {
    fn send(&self, message: Value) -> BoxFuture<'_, Result<(), Refused>> {
        Box::pin(self.post(message))
    }

    fn abandon(&self, _: RequestId, notice: Value) {
        let (origin, endpoint) = (self.origin.clone(), self.endpoint.clone());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !notice.is_null() {
            let text = notice.to_string();
            runtime.spawn(async move {
                let _ = origin
                    .send(|client| {
                        client
                            .post(endpoint.clone())
                            .header(CONTENT_TYPE, "application/json")
                            .body(text.clone())
                    })
                    .await;
            });
        }
    }

    fn agreed(&self, version: &str) {
        let _ = self.version.set(version.to_owned());
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.reader.abort();
        Box::pin(async {})
    }
}

impl Drop for Sse {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// The stream, and what was read of it and not handed on yet.
struct Stream {
    response: Response,
    events: Events,
    found: Vec<Event>,
}

impl Stream {
    /// More events; none at the end.
    async fn more(&mut self) -> Result<Option<std::vec::Drain<'_, Event>>, Refused> {
        while self.found.is_empty() {
            let Some(chunk) = chunk(&mut self.response).await? else { return Ok(None) };
            self.events.push(&chunk, &mut self.found);
        }
        Ok(Some(self.found.drain(..)))
    }
}

async fn endpoint(origin: &Origin, stream: &mut Stream) -> Result<Url, Refused> {
    let ended = || Refused::new(Refused::GONE, "the event stream ended before it said where messages go");
    let mut rest = Vec::new();
    let mut said = None;
    while said.is_none() {
        for event in stream.more().await?.ok_or_else(ended)? {
            match event.kind == "endpoint" && said.is_none() {
                true => said = Some(event.data),
                false => rest.push(event),
            }
        }
    }
    stream.found = rest;
    let said = said.unwrap_or_default();
    let endpoint = origin.url().join(said.trim()).map_err(|err| {
        Refused::new(Refused::GONE, format!("the server's address for messages, `{said}`, is no URL: {err}"))
    })?;
    match origin.is_home(&endpoint) {
        true => Ok(endpoint),
        false => Err(Refused::new(
            Refused::GONE,
            format!(
                "the server wants messages to go elsewhere, to {endpoint}; that must be the origin of {}",
                origin.url()
            ),
        )),
    }
}

async fn read(mut stream: Stream, most: usize, inbox: Arc<dyn Inbox>) {
    let why = loop {
        match stream.more().await {
            Ok(Some(events)) => events.for_each(|event| hand_on(event, most, &*inbox)),
            Ok(None) => break "the event stream has ended".to_owned(),
            Err(refused) => break format!("the event stream broke: {}", refused.message),
        }
    };
    inbox.ended(why);
}

fn hand_on(event: Event, most: usize, inbox: &dyn Inbox) {
    if event.is_cut {
        let why = format!("an event is longer than {most} bytes, the most that is read from this server");
        return inbox.lost(None, Refused::new(Refused::UNREADABLE, why));
    }
    deliver(of_text(event.data.as_bytes()), inbox);
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Writes down whose answer is lost.
    #[derive(Default)]
    struct Losses(Mutex<Vec<Option<RequestId>>>);

    impl Inbox for Losses {
        fn arrived(&self, _: Value, _: Option<RequestId>) {}
        fn lost(&self, id: Option<RequestId>, _: Refused) {
            self.0.lock().unwrap().push(id);
        }
        fn ended(&self, _: String) {}
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_lost_and_not_waited_for() {
        let losses = Losses::default();
        for data in
            [r#"{"jsonrpc":"2.0","id":7,"result":{"content":[}"#, "a log line", r#"{"id":8,"result":{}}"#]
        {
            hand_on(Event { data: data.to_owned(), ..Event::default() }, 1000, &losses);
        }
        assert_eq!(*losses.0.lock().unwrap(), [Some(7)]);
    }
}
