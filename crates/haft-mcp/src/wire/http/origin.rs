//! Requests to one address: its headers, its tokens, and nobody else's.
//!
//! What is sent there is never sent elsewhere: a redirect is followed only within the same scheme, host and port.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use reqwest::{
    Client, ClientBuilder, RequestBuilder, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE},
    redirect::{Attempt, Policy},
};
use serde_json::json;

use crate::client::{Challenge, Refused, Tokens};

/// How long it may take to connect.
const CONNECT: Duration = Duration::from_secs(30);

/// The most redirects that are followed.
const REDIRECTS: usize = 5;

/// How often a request is made again because a token was refused.
const CHALLENGES: usize = 4;

/// So much of an answer that says what went wrong is shown.
const SHOWN: usize = 300;

/// An address, and how to speak to it.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(super) client: Client,
    pub(super) url: Url,
    headers: HeaderMap,
    tokens: Option<Arc<dyn Tokens>>,
}

impl fmt::Debug for Origin {
    // Headers hold keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// Headers that are the transport's own.
const OWN: [&str; 7] = [
    "accept",
    "content-type",
    "content-length",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
];

impl Origin {
    pub(crate) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        tokens: Option<Arc<dyn Tokens>>,
    ) -> Result<Origin, Refused> {
        Origin::with(client_builder(), url, headers, tokens)
    }

    /// For connections that become something else, which only the first version of HTTP can.
    pub(crate) fn for_upgrades(
        url: &str,
        headers: &BTreeMap<String, String>,
        tokens: Option<Arc<dyn Tokens>>,
    ) -> Result<Origin, Refused> {
        Origin::with(client_builder().http1_only(), url, headers, tokens)
    }

    fn with(
        client: ClientBuilder,
        url: &str,
        headers: &BTreeMap<String, String>,
        tokens: Option<Arc<dyn Tokens>>,
    ) -> Result<Origin, Refused> {
        let wrong = |why: String| Refused::new(Refused::GONE, why);
        let url = Url::parse(url).map_err(|err| wrong(format!("`{url}` is no URL: {err}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(format!("`{url}` must begin with http:// or https://")));
        }
        let client = client.build().map_err(|err| wrong(format!("HTTP cannot be spoken here: {err}")))?;
        Ok(Origin { client, url, headers: kept(headers)?, tokens })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Whether this is the same scheme, host and port.
    pub(crate) fn is_home(&self, url: &Url) -> bool {
        self.url.origin() == url.origin()
    }

    /// Makes a request with the address's headers and a token. A refused token is replaced if somebody can.
    pub(crate) async fn send(&self, build: impl Fn(&Client) -> RequestBuilder) -> Result<Response, Refused> {
        for before in 0..CHALLENGES {
            let mut request = build(&self.client).headers(self.headers.clone());
            let token = self.token().await;
            if let Some(header) = token.as_deref().and_then(bearer) {
                request = request.header(AUTHORIZATION, header);
            }
            let response = request.send().await.map_err(|err| unreachable(&err))?;
            let Some(header) = challenge(&response) else { return Ok(response) };
            let status = response.status().as_u16();
            let Some(tokens) = &self.tokens else { return Err(unauthorized(status, &header, NO_TOKENS)) };
            let challenge = Challenge { status, header: &header, refused: token.as_deref(), before };
            tokens.challenged(challenge).await.map_err(|why| unauthorized(status, &header, &why))?;
        }
        Err(unauthorized(401, "", "it takes no token that there is"))
    }

    async fn token(&self) -> Option<String> {
        self.tokens.as_ref()?.token().await
    }
}

const NO_TOKENS: &str = "there are none for it";

fn bearer(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn client_builder() -> ClientBuilder {
    // Somebody may have installed one already: it is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(Policy::custom(within_the_origin))
        .referer(false)
}

fn within_the_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let is_home = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    match is_home && attempt.previous().len() <= REDIRECTS {
        true => attempt.follow(),
        false => attempt.stop(),
    }
}

fn kept(headers: &BTreeMap<String, String>) -> Result<HeaderMap, Refused> {
    let wrong = |name: &str| {
        Refused::new(
            Refused::GONE,
            format!("the header `{name}` cannot be sent: it has characters that no header may have"),
        )
    };
    let mut kept = HeaderMap::new();
    for (name, value) in headers {
        if OWN.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            continue;
        }
        let value = HeaderValue::from_str(value).map_err(|_| wrong(name))?;
        kept.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(name))?, value);
    }
    Ok(kept)
}

/// What the server wants to see first, if it wants a token or a better one.
fn challenge(response: &Response) -> Option<String> {
    let said =
        response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(said.to_owned()),
        StatusCode::FORBIDDEN if said.contains("insufficient_scope") => Some(said.to_owned()),
        _ => None,
    }
}

fn unauthorized(status: u16, challenge: &str, why: &str) -> Refused {
    let message = format!("the server wants a token (HTTP {status}): {why}");
    Refused {
        code: Refused::UNAUTHORIZED,
        message,
        data: Some(json!({ "status": status, "challenge": challenge })),
    }
}

/// An HTTP failure without words of the protocol. `data.status` tells which.
pub(crate) fn failed(status: StatusCode, said: &str) -> Refused {
    let said = said.trim();
    let shown = &said[..said.floor_char_boundary(SHOWN)];
    let message = match shown.is_empty() {
        true => format!("the server answered with HTTP {status}"),
        false => format!("the server answered with HTTP {status}: {shown}"),
    };
    Refused { code: Refused::UNREADABLE, message, data: Some(json!({ "status": status.as_u16() })) }
}

/// The chain of reasons: the first alone says only that it did not work.
pub(crate) fn unreachable(err: &reqwest::Error) -> Refused {
    let mut words = err.to_string();
    let mut source = std::error::Error::source(err);
    while let Some(why) = source {
        words = format!("{words}: {why}");
        source = why.source();
    }
    Refused::new(Refused::GONE, words)
}

/// Reads an answer whole, if it is no larger than that.
pub(crate) async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, Refused> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|err| unreachable(&err))? {
        if body.len() + chunk.len() > most {
            let why =
                format!("the answer is longer than {most} bytes, the most that is read from this server");
            return Err(Refused::new(Refused::UNREADABLE, why));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
