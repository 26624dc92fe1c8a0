//! An answer that is a stream, and how it is resumed; and the stream of what an older server says by itself.
//!
//! A server may close a stream before the answer has come, to free the connection: the rest is asked for after the pause that
//! the server wants, from the last event on. Only a stream whose events are numbered can be resumed.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use reqwest::{
    Response,
    header::{ACCEPT, HeaderValue},
};
use serde_json::Value;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout},
};

use super::{EVENTS, Shared, chunk, kind};
use crate::{
    client::Refused,
    wire::{
        RequestId,
        events::{Event, Events},
        lines::{Piece, of_text},
    },
};

/// How long to wait before a stream is opened again, if the server does not say.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How often in a row a stream is resumed without anything new coming.
const MOST_TRIES: u32 = 8;

/// How long the stream of news may take to open before others go on without it.
const OPENING: Duration = Duration::from_secs(1);

/// After the answer the rest of the stream is read for so long: what is read to its end can be used again.
const REST: Duration = Duration::from_millis(50);

/// Where a stream is.
#[derive(Default)]
struct Place {
    last: Option<String>,
    retry: Option<u64>,
}

impl Place {
    fn note(&mut self, event: &Event) {
        if let Some(id) = &event.id {
            self.last = Some(id.clone()).filter(|id| !id.is_empty());
        }
        self.retry = event.retry.or(self.retry);
    }

    /// Servers that fail are given more time with each try.
    fn pause(&self, tries: u32) -> Duration {
        let asked = self.retry.map_or(PAUSE, Duration::from_millis);
        asked.saturating_mul(1 << tries.min(6)).min(LONGEST_PAUSE)
    }
}

impl Shared {
    /// Reads the stream of a request until its answer has come.
    pub(super) async fn read_answer(
        self: &Arc<Shared>,
        id: RequestId,
        method: &str,
        first: Response,
    ) -> Result<(), Refused> {
        let (mut place, mut tries) = (Place::default(), 0);
        let mut response = Some(first);
        loop {
            let ended = match response.take() {
                Some(response) => self.read_until_answer(id, method, response, &mut place, &mut tries).await,
                None => Ok(false),
            };
            let why = match ended {
                Ok(true) => return Ok(()),
                Ok(false) => Refused::new(Refused::GONE, "the stream ended before the answer came"),
                Err(refused) => refused,
            };
            if place.last.is_none() || tries >= MOST_TRIES {
                return Err(why);
            }
            sleep(place.pause(tries)).await;
            tries += 1;
            response = match self.open(place.last.as_deref()).await {
                Ok(response) => Some(response),
                Err(refused) if refused.code == Refused::GONE => None,
                Err(refused) => return Err(refused),
            };
        }
    }

    /// Says whether the answer has come.
    async fn read_until_answer(
        self: &Arc<Shared>,
        id: RequestId,
        method: &str,
        mut response: Response,
        place: &mut Place,
        tries: &mut u32,
    ) -> Result<bool, Refused> {
        let (mut events, mut found) = (Events::new(self.most), Vec::new());
        while let Some(chunk) = chunk(&mut response).await? {
            events.push(&chunk, &mut found);
            for event in found.drain(..) {
                *tries = 0;
                place.note(&event);
                if self.hand_on(Some((id, method)), event) {
                    tokio::spawn(read_rest(response));
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Hands an event's message on. Says whether it is an answer.
    fn hand_on(&self, within: Option<(RequestId, &str)>, event: Event) -> bool {
        if event.is_cut {
            let why = format!(
                "an event is longer than {} bytes, the most that is read from this server",
                self.most
            );
            self.inbox.lost(within.map(|(id, _)| id), Refused::new(Refused::UNREADABLE, why));
            return within.is_some();
        }
        let is_message = event.kind.is_empty() || event.kind == "message";
        if !is_message || event.data.trim().is_empty() {
            return false;
        }
        let mut is_over = false;
        for piece in of_text(event.data.as_bytes()) {
            is_over |= match piece {
                Piece::Message(message) => self.hand_on_message(within, message),
                Piece::Broken { id, why } => self.hand_on_loss(within, id, why),
            };
        }
        is_over
    }

    fn hand_on_message(&self, within: Option<(RequestId, &str)>, message: Value) -> bool {
        let is_answer = is_answer_to(within.map(|(id, _)| id), &message);
        match within {
            Some((id, method)) if is_answer => self.deliver(id, method, message),
            Some((id, _)) => self.inbox.arrived(message, Some(id)),
            None => self.inbox.arrived(message, None),
        }
        is_answer
    }

    /// An answer that cannot be read is one all the same: no better one will come.
    fn hand_on_loss(&self, within: Option<(RequestId, &str)>, lost: Option<RequestId>, why: String) -> bool {
        self.inbox.lost(lost, Refused::new(Refused::UNREADABLE, why));
        lost.is_some() && lost == within.map(|(id, _)| id)
    }

    /// Opens a stream by itself, from an event on if it is one that broke off.
    async fn open(&self, last: Option<&str>) -> Result<Response, Refused> {
        let mut headers = self.lock().bare();
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert("last-event-id", last);
        }
        let opened = self.origin.send(|client| {
            client.get(self.origin.url.clone()).header(ACCEPT, EVENTS).headers(headers.clone())
        });
        let response = opened.await?;
        match response.status().is_success() && kind(&response) == EVENTS {
            true => Ok(response),
            false => Err(super::failed(response.status(), "there is no stream of events")),
        }
    }

    /// Reads what an older server says by itself, for as long as the session lasts. A server may have none. Waits a moment
    /// for the stream to be there: what is said while nobody listens is lost, and a server may ask at the first request.
    pub(super) async fn begin_news(self: &Arc<Shared>) {
        if !self.lock().has_session() || self.lock().is_modern() {
            return;
        }
        let (tell, told) = oneshot::channel();
        let task = tokio::spawn(follow_news(Arc::downgrade(self), tell));
        let before =
            self.news.lock().unwrap_or_else(std::sync::PoisonError::into_inner).replace(task.abort_handle());
        if let Some(before) = before {
            before.abort();
        }
        let _ = timeout(OPENING, told).await;
    }

    async fn read_news(&self, mut response: Response, place: &mut Place) {
        let (mut events, mut found) = (Events::new(self.most), Vec::new());
        while let Ok(Some(chunk)) = chunk(&mut response).await {
            events.push(&chunk, &mut found);
            for event in found.drain(..) {
                place.note(&event);
                self.hand_on(None, event);
            }
        }
    }
}

/// Whether this is the answer that is waited for. One whose number cannot be read is: nobody else's comes on this stream.
fn is_answer_to(request: Option<RequestId>, message: &Value) -> bool {
    let has = |key: &str| message.get(key).is_some();
    let id = message.get("id").and_then(|id| id.as_u64().or_else(|| id.as_str()?.parse().ok()));
    !has("method") && (has("result") || has("error")) && (id.is_none() || id == request)
}

async fn follow_news(shared: Weak<Shared>, tell: oneshot::Sender<()>) {
    let (mut place, mut tries, mut tell) = (Place::default(), 0, Some(tell));
    while let Some(shared) = shared.upgrade() {
        let began = Instant::now();
        let opened = shared.open(place.last.as_deref()).await;
        // Whoever waits for the stream has it now, or learns that there is none.
        drop(tell.take());
        match opened {
            Ok(response) => shared.read_news(response, &mut place).await,
            Err(refused) if refused.code == Refused::GONE && tries < MOST_TRIES => {}
            Err(_) => return,
        }
        drop(shared);
        // A stream that was open for a while was worth opening.
        tries = if began.elapsed() > LONGEST_PAUSE { 0 } else { tries + 1 };
        sleep(place.pause(tries.saturating_sub(1))).await;
    }
}

async fn read_rest(mut response: Response) {
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    let _ = timeout(REST, rest).await;
}
