//! What was agreed with a server, and the session that it gave.

use std::collections::BTreeMap;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::headers::{MarkedTools, headers, marked};
use crate::wire::repair::MODERN;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// So many tools with marked arguments are kept in mind.
const MOST_MARKED: usize = 10_000;

/// So many resources of one connection are watched.
const MOST_WATCHED: usize = 1000;

/// What is known between requests.
#[derive(Default)]
pub(super) struct State {
    version: Option<String>,
    session: Option<String>,
    /// The first words, to begin a session again.
    first_words: Option<Value>,
    tools: MarkedTools,
    /// What the session was asked to tell of, by address: asked for again in the next one.
    watched: BTreeMap<String, Value>,
}

impl State {
    pub(super) fn agree(&mut self, version: &str) {
        self.version = Some(version.to_owned());
    }

    pub(super) fn is_modern(&self) -> bool {
        self.version.as_deref() == Some(MODERN)
    }

    pub(super) fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// A session began with these words.
    pub(super) fn begin(&mut self, first_words: &Value, answer: &HeaderMap) {
        self.first_words = Some(first_words.clone());
        self.session = answer.get(SESSION).and_then(|session| session.to_str().ok()).map(str::to_owned);
    }

    /// The words to begin the session again, if it is still the one that the server has forgotten.
    pub(super) fn renewal_of(&mut self, forgotten: Option<&str>) -> Option<Value> {
        if self.session.as_deref() != forgotten {
            return None;
        }
        let first_words = self.first_words.clone()?;
        self.session = None;
        Some(first_words)
    }

    /// A message was answered.
    pub(super) fn note(&mut self, message: &Value) {
        let uri = || message.pointer("/params/uri").and_then(Value::as_str).unwrap_or_default().to_owned();
        match message.get("method").and_then(Value::as_str) {
            Some("resources/subscribe") if self.watched.len() < MOST_WATCHED => {
                self.watched.insert(uri(), message.clone());
            }
            Some("resources/unsubscribe") => drop(self.watched.remove(&uri())),
            _ => {}
        }
    }

    /// The requests to tell of resources, as they were made.
    pub(super) fn watched(&self) -> Vec<Value> {
        self.watched.values().cloned().collect()
    }

    /// The headers of a message, and the session that it is sent in.
    pub(super) fn headers(&self, message: &Value) -> (HeaderMap, Option<String>) {
        let mut found = HeaderMap::new();
        let begins = message.get("method").is_some_and(|method| method == "initialize");
        let said =
            message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion").and_then(Value::as_str);
        let version = said.or(self.version.as_deref().filter(|_| !begins));
        let session = self.session.clone().filter(|_| !begins && said.is_none());
        if let Some(version) = version {
            put(&mut found, VERSION, version);
        }
        if let Some(session) = &session {
            put(&mut found, SESSION, session);
        }
        if version.is_some_and(|version| version >= MODERN) {
            headers(message, &self.tools).iter().for_each(|(name, value)| put(&mut found, name, value));
        }
        (found, session)
    }

    /// The headers of a request that has no message: for news, for what follows an event, for a farewell.
    pub(super) fn bare(&self) -> HeaderMap {
        let mut found = HeaderMap::new();
        for (name, value) in [(VERSION, &self.version), (SESSION, &self.session)] {
            if let Some(value) = value {
                put(&mut found, name, value);
            }
        }
        found
    }

    /// The headers of a farewell, if there is a session to leave.
    pub(super) fn farewell(&mut self) -> Option<HeaderMap> {
        let headers = self.bare();
        self.session.take().map(|_| headers)
    }

    /// Which arguments of tools are said in headers.
    pub(super) fn learn(&mut self, answer: &Value) {
        let tools = answer.pointer("/result/tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            let marked = tool.get("inputSchema").map(marked).and_then(Result::ok).unwrap_or_default();
            match marked.is_empty() || self.tools.len() >= MOST_MARKED {
                true => drop(self.tools.remove(name)),
                false => drop(self.tools.insert(name.to_owned(), marked)),
            }
        }
    }
}

/// What no header can hold is not said; the message says it in any case.
fn put(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
        headers.insert(name, value);
    }
}
