//! Where a model is, as whom it is asked, and how long one waits.

use std::{env, fmt, time::Duration};

use reqwest::Url;

use crate::{Dialect, ErrorKind, ModelError};

/// An API's address, key, headers and time-outs.
#[derive(Clone)]
pub struct Endpoint {
    dialect: Dialect,
    base: String,
    key: Option<Key>,
    extra: Vec<(String, String)>,
    pub(super) connect: Duration,
    pub(super) idle: Duration,
}

impl Endpoint {
    /// The vendor's own address, without a key.
    pub fn new(dialect: Dialect) -> Endpoint {
        Endpoint {
            dialect,
            base: vendors_own(dialect).to_owned(),
            key: None,
            extra: Vec::new(),
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(300),
        }
    }

    /// Another address: that of a local server, a proxy or a compatible vendor. A path is taken as it is, as in
    /// `https://openrouter.ai/api/v1`; an address without one gets the API's own, such as `/v1`.
    pub fn base(mut self, base: impl Into<String>) -> Endpoint {
        self.base = base.into();
        self
    }

    /// The key, if the API wants one.
    pub fn key(mut self, key: impl Into<Option<Key>>) -> Endpoint {
        self.key = key.into();
        self
    }

    /// A header to send, in place of one that haft would send under this name.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Endpoint {
        self.extra.push((name.into(), value.into()));
        self
    }

    /// How long connecting may take: 10 seconds unless told.
    pub fn connect_timeout(mut self, most: Duration) -> Endpoint {
        self.connect = most;
        self
    }

    /// How long nothing may come: 300 seconds unless told. Models think for long before their first word.
    pub fn idle_timeout(mut self, most: Duration) -> Endpoint {
        self.idle = most;
        self
    }

    /// The API's language.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether it is its vendor's own address, however that is written. What others say that they are compatible with may
    /// refuse fields that only the vendor knows.
    pub fn is_vendors(&self) -> bool {
        let host = |url: Url| url.host_str().map(str::to_owned);
        let own = Url::parse(vendors_own(self.dialect)).ok().and_then(host);
        own.is_some() && self.url("").ok().and_then(host) == own
    }

    /// The variable of the environment that usually has the key.
    pub fn key_variable(dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Anthropic => "ANTHROPIC_API_KEY",
            Dialect::OpenAi | Dialect::Responses => "OPENAI_API_KEY",
            Dialect::Gemini => "GEMINI_API_KEY",
        }
    }

    /// The address of something below the base.
    pub(super) fn url(&self, path: &str) -> Result<Url, ModelError> {
        // The address is not told again: there may be a key in it.
        let wrong =
            |why: &str| ModelError::new(ErrorKind::Refused, format!("the base URL cannot be used: {why}"));
        let mut url = Url::parse(self.base.trim()).map_err(|err| wrong(&err.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(wrong("it must begin with http:// or https:// and name a host"));
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let base = url.path().trim_end_matches('/');
        // Some copy the whole address of the API.
        let base = base.strip_suffix(path).filter(|rest| rest.ends_with('/')).unwrap_or(base);
        let base = base.trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{}/{path}", self.version(&base)));
        let kept = url.query().unwrap_or_default();
        let joint = if kept.is_empty() || query.is_empty() { "" } else { "&" };
        let query = format!("{kept}{joint}{query}");
        url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
        Ok(url)
    }

    /// The API's version, where the base does not say one. OpenAI's clients take a base with a path as it is; Anthropic's
    /// put the version after any.
    fn version(&self, base: &str) -> &'static str {
        let last = base.rsplit('/').next().unwrap_or_default();
        let is_version =
            last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        match self.dialect {
            _ if is_version => "",
            Dialect::Anthropic => "/v1",
            Dialect::OpenAi | Dialect::Responses if base.is_empty() => "/v1",
            Dialect::OpenAi | Dialect::Responses => "",
            Dialect::Gemini => "/v1beta",
        }
    }

    /// Whether no TLS is spoken there.
    pub(super) fn is_plain(&self) -> bool {
        self.url("").is_ok_and(|url| url.scheme() == "http")
    }

    /// Whether it is this machine, to which no proxy leads.
    pub(super) fn is_local(&self) -> bool {
        let Ok(url) = self.url("") else { return false };
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// An error without the key: servers repeat what they were sent. A header that is long enough for one may be one.
    pub(super) fn without_key(&self, mut error: ModelError) -> ModelError {
        let key = self.key.iter().map(|key| key.0.as_str()).filter(|key| key.len() >= 6);
        let headers = self.extra.iter().map(|(_, value)| value.as_str()).filter(|value| value.len() >= 12);
        for secret in key.chain(headers) {
            error.message = error.message.replace(secret, "…");
        }
        error
    }

    /// The headers that say who asks, and those that were given.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        if let Some(Key(key)) = &self.key {
            headers.push(match self.dialect {
                Dialect::Anthropic => ("x-api-key".to_owned(), key.clone()),
                Dialect::OpenAi | Dialect::Responses => ("authorization".to_owned(), format!("Bearer {key}")),
                Dialect::Gemini => ("x-goog-api-key".to_owned(), key.clone()),
            });
        }
        if self.dialect == Dialect::Anthropic {
            headers.push(("anthropic-version".to_owned(), "2023-06-01".to_owned()));
        }
        headers.extend(self.extra.iter().cloned());
        headers
    }
}

/// Where the vendor of an API has it.
fn vendors_own(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Anthropic => "https://api.anthropic.com",
        Dialect::OpenAi | Dialect::Responses => "https://api.openai.com",
        Dialect::Gemini => "https://generativelanguage.googleapis.com",
    }
}

impl fmt::Debug for Endpoint {
    // The base and the headers may have keys in them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("dialect", &self.dialect)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// A key. It is sent to its endpoint, and shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key. Blanks around it are a slip of whoever copied it.
    pub fn new(key: impl AsRef<str>) -> Key {
        Key(key.as_ref().trim().to_owned())
    }

    /// The key in a variable of the environment, if it is set.
    pub fn from_env(variable: &str) -> Option<Key> {
        env::var(variable).ok().map(Key::new).filter(|key| !key.0.is_empty())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}
