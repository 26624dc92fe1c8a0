//! Streamable HTTP: each message is a request, and its answer is JSON or a stream of events.
//!
//! Whoever sends a request reads its answer: nothing runs on when nobody waits, and closing the stream is how a modern server
//! learns that. What an older server says by itself comes on a stream of its own. A session that the server has forgotten is
//! begun again, once, with the first words of before; the request that found out was not carried out and is made again.

pub(crate) mod headers; // what a request says of itself
pub(crate) mod origin; //  requests to one address
mod state; //              what was agreed, and the session
mod stream; //             an answer that is a stream, and how it is resumed

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use haft_tool::BoxFuture;
use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde_json::Value;
use tokio::{sync, task::AbortHandle, time::timeout};

use self::{
    origin::{Origin, body, failed, unreachable},
    state::State,
};
use super::{Inbox, RequestId, Wire};
use crate::client::Refused;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const EITHER: &str = "application/json, text/event-stream";

/// How long a farewell, or a notice that nobody waits for, may take.
const BRIEFLY: Duration = Duration::from_secs(5);

/// A wire of requests.
pub(crate) struct Http(Arc<Shared>);

pub(super) struct Shared {
    origin: Origin,
    inbox: Arc<dyn Inbox>,
    most: usize,
    state: Mutex<State>,
    /// Held by whoever begins a session again: the others wait and use it.
    renewal: sync::Mutex<()>,
    /// The task that reads what an older server says by itself.
    news: Mutex<Option<AbortHandle>>,
}

impl Http {
    pub(crate) fn new(origin: Origin, most: usize, inbox: Arc<dyn Inbox>) -> Http {
        Http(Arc::new(Shared {
            origin,
            inbox,
            most,
            state: Mutex::default(),
            renewal: sync::Mutex::default(),
            news: Mutex::default(),
        }))
    }
}

impl Wire for Http {
    fn send(&self, message: Value) -> BoxFuture<'_, Result<(), Refused>> {
        Box::pin(self.0.exchange(message))
    }

    fn abandon(&self, _: RequestId, notice: Value) {
        // The stream was closed when the request was dropped, which is all that a modern server wants.
        if self.0.lock().is_modern() || notice.is_null() {
            return;
        }
        let shared = self.0.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { timeout(BRIEFLY, shared.exchange(notice)).await });
        }
    }

    fn agreed(&self, version: &str) {
        self.0.lock().agree(version);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.stop_news();
        Box::pin(async move {
            let _ = timeout(BRIEFLY, self.0.leave()).await;
        })
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.0.stop_news();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop_news(&self) {
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(news) = news {
            news.abort();
        }
    }

    /// Sends a message, and hands on all that comes in answer.
    async fn exchange(self: &Arc<Shared>, message: Value) -> Result<(), Refused> {
        let (response, session) = self.post(&message).await?;
        let response = match self.is_forgotten(response, session.is_some()).await {
            Ok(response) => response,
            Err(refused) => {
                if !self.renew(session).await? {
                    return Err(refused);
                }
                self.post(&message).await?.0
            }
        };
        self.answered(&message, response).await?;
        self.lock().note(&message);
        if message.get("method").is_some_and(|method| method == "notifications/initialized") {
            self.begin_news().await;
        }
        Ok(())
    }

    /// Makes the request, and says in which session.
    async fn post(&self, message: &Value) -> Result<(Response, Option<String>), Refused> {
        let text = message.to_string();
        let (headers, session) = self.lock().headers(message);
        let response = self
            .origin
            .send(|client| {
                let request = client.post(self.origin.url.clone()).body(text.clone());
                request.header(ACCEPT, EITHER).header(CONTENT_TYPE, JSON).headers(headers.clone())
            })
            .await?;
        Ok((response, session))
    }

    /// The answer, unless it is that the server does not know our session. Servers say that in two ways.
    async fn is_forgotten(&self, response: Response, had_session: bool) -> Result<Response, Refused> {
        let status = response.status();
        if !had_session || !matches!(status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST) {
            return Ok(response);
        }
        let said = body(response, self.most).await?;
        let text = String::from_utf8_lossy(&said);
        let is_about_it = status == StatusCode::NOT_FOUND || text.to_ascii_lowercase().contains("session");
        match is_about_it {
            true => Err(failed(status, &text)),
            false => Ok(again(status, said)),
        }
    }

    async fn answered(self: &Arc<Shared>, message: &Value, response: Response) -> Result<(), Refused> {
        let id = message.get("id").and_then(Value::as_u64).filter(|_| message.get("method").is_some());
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        let status = response.status();
        if method == "initialize" && status.is_success() {
            self.lock().begin(message, response.headers());
        }
        let kind = kind(&response);
        if status.is_success() && kind == EVENTS {
            return match id {
                Some(id) => self.read_answer(id, method, response).await,
                None => Ok(()),
            };
        }
        let said = body(response, self.most).await?;
        let parsed = serde_json::from_slice::<Value>(&said);
        match (parsed, id) {
            // A refusal in the words of the protocol counts more than the status around it.
            (Ok(answer), Some(id)) if status.is_success() || answer.get("error").is_some() => {
                self.deliver(id, method, answer);
                Ok(())
            }
            (_, None) if status.is_success() => Ok(()),
            // Accepted: the answer comes on the other stream.
            (_, Some(_)) if status == StatusCode::ACCEPTED => Ok(()),
            (Err(err), Some(_)) if status.is_success() => {
                let why = format!("the answer is not JSON: {err} (content type `{kind}`)");
                Err(Refused::new(Refused::UNREADABLE, why))
            }
            _ => Err(failed(status, &String::from_utf8_lossy(&said))),
        }
    }

    /// Hands on what came in answer to a request.
    fn deliver(&self, id: RequestId, method: &str, message: Value) {
        if method == "tools/list" {
            self.lock().learn(&message);
        }
        self.inbox.arrived(message, Some(id));
    }

    /// Begins the session again, unless somebody has done so. Says whether there is one now.
    async fn renew(self: &Arc<Shared>, forgotten: Option<String>) -> Result<bool, Refused> {
        let _renewal = self.renewal.lock().await;
        let Some(first_words) = self.lock().renewal_of(forgotten.as_deref()) else {
            return Ok(self.lock().has_session());
        };
        self.stop_news();
        let (response, _) = self.post(&first_words).await?;
        if !response.status().is_success() {
            let status = response.status();
            let said = body(response, self.most).await?;
            return Err(failed(status, &String::from_utf8_lossy(&said)));
        }
        self.lock().begin(&first_words, response.headers());
        // What it says of itself was said before; read, so that the connection can be used again.
        let _ = timeout(BRIEFLY, body(response, self.most)).await;
        let greeting = super::notification("notifications/initialized", serde_json::Map::new());
        self.post(&greeting).await?;
        self.begin_news().await;
        self.watch_again().await;
        // A server that has forgotten us may be another one by now: what it has is asked for again.
        let is_new = super::notification("notifications/tools/list_changed", serde_json::Map::new());
        self.inbox.arrived(is_new, None);
        Ok(true)
    }

    /// Asks to be told of resources in a new session as in the old one. Nobody waits for the answers any more.
    async fn watch_again(&self) {
        let watched = self.lock().watched();
        for request in watched {
            if let Ok((response, _)) = self.post(&request).await {
                let _ = timeout(BRIEFLY, body(response, self.most)).await;
            }
        }
    }

    /// Tells the server that the session is over.
    async fn leave(&self) -> Result<(), Refused> {
        let Some(headers) = self.lock().farewell() else { return Ok(()) };
        let left = self.origin.send(|client| client.delete(self.origin.url.clone()).headers(headers.clone()));
        left.await.map(drop)
    }
}

/// The first part of the content type.
fn kind(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// An answer whose body was read, to be read again.
fn again(status: StatusCode, said: Vec<u8>) -> Response {
    let mut response = axum::http::Response::new(said);
    *response.status_mut() = status;
    Response::from(response)
}

/// Reads the next piece of a stream.
pub(super) async fn chunk(response: &mut Response) -> Result<Option<Vec<u8>>, Refused> {
    let chunk = response.chunk().await.map_err(|err| unreachable(&err))?;
    Ok(chunk.map(|chunk| chunk.to_vec()))
}
