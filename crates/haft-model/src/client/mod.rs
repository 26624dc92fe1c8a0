//! HTTP: a request goes out, an answer is read while it comes.
//!
//! Thin: it knows addresses, headers and time-outs. What is said is made by [`History`](crate::History) and read by
//! [`Decoder`](crate::Decoder). It never asks twice: whether to is the caller's, who sees what the person sees.
//! Nothing is built before the first request, and no certificate is read for an address without TLS.

mod endpoint; // where to, as whom, how long
mod stream; //   an answer as it comes

use std::{
    error::Error,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use reqwest::{
    Response as Answer,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};

use crate::{ErrorKind, HttpFailure, ModelError, Request, Response, StreamEvent};

pub use endpoint::{Endpoint, Key};
pub use stream::Stream;

/// Of an answer that is no success so much is read.
const MOST_OF_ERROR: usize = 64 << 10;

/// A model API at an address.
///
/// ```no_run
/// use haft_model::{Client, Dialect, Endpoint, History, Key, Message, RequestOptions, StreamEvent};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), haft_model::ModelError> {
/// let endpoint = Endpoint::new(Dialect::OpenAi).base("http://127.0.0.1:8080").key(Key::from_env("MY_KEY"));
/// let client = Client::new(endpoint)?;
///
/// let mut history = History::new(Dialect::OpenAi);
/// history.push(Message::user("Say hello."));
/// let mut stream = client.stream(&history.request(&RequestOptions::new("any"))).await?;
/// while let Some(event) = stream.next().await {
///     match event {
///         StreamEvent::Text(piece) => print!("{piece}"),
///         StreamEvent::Call(call) => println!("calls {}", call.name), // it can be run already
///         StreamEvent::Done(response) => history.push(response.message),
///         StreamEvent::Failed(error) if error.is_retryable() => println!("again in {:?}", error.retry_after),
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Client {
    endpoint: Endpoint,
    headers: HeaderMap,
    http: OnceLock<reqwest::Client>,
}

impl Client {
    /// A client. Nothing is opened or read yet.
    pub fn new(endpoint: Endpoint) -> Result<Client, ModelError> {
        endpoint.url("")?;
        Ok(Client { headers: headers(&endpoint)?, endpoint, http: OnceLock::new() })
    }

    /// Where it asks.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks, and gives the answer as it comes. An answer that is no success is an error here; what goes wrong later is the
    /// last event of the stream.
    pub async fn stream(&self, request: &Request) -> Result<Stream, ModelError> {
        let answer = self.send(request).await?;
        Ok(Stream::new(answer, self.endpoint.clone()))
    }

    /// Asks, and waits for the whole answer.
    pub async fn ask(&self, request: &Request) -> Result<Response, ModelError> {
        let mut stream = self.stream(request).await?;
        let mut answer = Err(ModelError::new(ErrorKind::CutOff, "the answer broke off in the middle"));
        while let Some(event) = stream.next().await {
            match event {
                StreamEvent::Done(response) => answer = Ok(*response),
                StreamEvent::Failed(error) => answer = Err(*error),
                _ => {}
            }
        }
        answer
    }

    async fn send(&self, request: &Request) -> Result<Answer, ModelError> {
        let (dialect, spoken) = (request.dialect(), self.endpoint.dialect());
        if dialect != spoken {
            let why = format!("the request is in {dialect}, and the endpoint speaks {spoken}");
            return Err(ModelError::new(ErrorKind::Refused, why));
        }
        let url = self.endpoint.url(&request.path())?;
        let http = self.http().await?;
        let sending = http.post(url).headers(self.headers.clone()).body(body(request)).send();
        let answer = match tokio::time::timeout(self.endpoint.idle, sending).await {
            Ok(answer) => answer.map_err(|err| broken(&err))?,
            Err(_) => return Err(silent(self.endpoint.idle)),
        };
        match answer.status().is_success() {
            true => Ok(answer),
            false => Err(self.endpoint.without_key(refused(answer, self.endpoint.idle).await)),
        }
    }

    async fn http(&self) -> Result<&reqwest::Client, ModelError> {
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        let endpoint = self.endpoint.clone();
        let built = match endpoint.is_plain() {
            true => build(&endpoint),
            // The system's certificates are read from files.
            false => match tokio::task::spawn_blocking(move || build(&endpoint)).await {
                Ok(built) => built,
                Err(err) => return Err(ModelError::new(ErrorKind::Unreachable, format!("no client: {err}"))),
            },
        };
        let http = built
            .map_err(|err| ModelError::new(ErrorKind::Unreachable, format!("no client{}", why(&err))))?;
        Ok(self.http.get_or_init(|| http))
    }
}

/// The text of a request, which is as long as the conversation: it is sent from where it is.
fn body(request: &Request) -> Bytes {
    struct Text(Arc<String>);
    impl AsRef<[u8]> for Text {
        fn as_ref(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }
    Bytes::from_owner(Text(request.json.clone()))
}

fn build(endpoint: &Endpoint) -> reqwest::Result<reqwest::Client> {
    // Somebody may have installed one already: it is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(endpoint.connect)
        // A key is not sent to wherever an answer points.
        .redirect(Policy::none())
        .referer(false)
        // What is compressed is held back until there is enough of it.
        .no_gzip()
        .no_brotli();
    if endpoint.is_plain() {
        builder = builder.tls_certs_only([]).http1_only();
    }
    if endpoint.is_local() {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn headers(endpoint: &Endpoint) -> Result<HeaderMap, ModelError> {
    let wrong = |name: &str| {
        let why = format!("the header `{name}` cannot be sent: it has characters that no header may have");
        ModelError::new(ErrorKind::Refused, why)
    };
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    for (name, value) in endpoint.headers() {
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong(&name))?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(&name))?, value);
    }
    Ok(headers)
}

/// An answer that is no success, with as much of it as says why.
async fn refused(mut answer: Answer, idle: std::time::Duration) -> ModelError {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(piece)) = answer.chunk().await {
            body.extend_from_slice(&piece[..piece.len().min(MOST_OF_ERROR - body.len())]);
            if body.len() >= MOST_OF_ERROR {
                break;
            }
        }
    };
    // What has come by then says enough.
    let _ = tokio::time::timeout(idle, reading).await;
    let headers = answer.headers();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    HttpFailure { status: answer.status().as_u16(), headers: &header, body: &body }.error()
}

fn silent(idle: std::time::Duration) -> ModelError {
    let why = format!("the server said nothing for {} seconds", idle.as_secs_f32());
    ModelError::new(ErrorKind::TimedOut, why)
}

/// Why a request or an answer broke.
fn broken(err: &reqwest::Error) -> ModelError {
    let kind = match () {
        () if err.is_timeout() => ErrorKind::TimedOut,
        () if err.is_connect() => ErrorKind::Unreachable,
        () if err.is_builder() => ErrorKind::Refused,
        () => ErrorKind::CutOff,
    };
    ModelError::new(kind, format!("no answer{}", why(err)))
}

/// Why an answer that had begun broke off.
fn broke_off(err: &reqwest::Error) -> ModelError {
    ModelError { message: format!("the answer broke off in the middle{}", why(err)), ..broken(err) }
}

/// The deepest of the reasons, without the address: it may have a key in it.
fn why(err: &reqwest::Error) -> String {
    let mut words = Vec::new();
    let mut source: Option<&dyn Error> = err.source();
    while let Some(why) = source {
        words.push(why.to_string());
        source = why.source();
    }
    match words.last() {
        Some(deepest) => format!(": {deepest}"),
        None => String::new(),
    }
}
