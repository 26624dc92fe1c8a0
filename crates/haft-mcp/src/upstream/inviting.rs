//! A server that wants the person to visit an address: which addresses they are shown, and what becomes of their answer.
//!
//! What is shown is what would be opened, and nothing of it is fetched here. An address that hides where it leads is not
//! shown at all: whoever sees it could not judge it.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use haft_engine::policy::{Asker, Given, Inquiry, Invitation};
use serde_json::{Map, Value, json};
use url::Url;

use crate::client::Refused;

const BAD_PARAMS: i64 = -32602;
/// The longest address that is shown, in bytes.
const LONGEST: usize = 4 << 10;
/// So many visits are remembered, so that the person can be told that they are over.
const MOST_REMEMBERED: usize = 32;

/// An address that can be shown.
#[derive(Debug, PartialEq)]
struct Address {
    url: String,
    host: String,
}

impl Address {
    fn read(text: &str) -> Result<Address, String> {
        if text.len() > LONGEST {
            return Err(format!("it has {} bytes, and at most {LONGEST} are shown", text.len()));
        }
        let url = Url::parse(text).map_err(|err| format!("it is none: {err}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("it begins with `{}:`, and only http and https are visited", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it has a user name in it, behind which its host is easily missed".to_owned());
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or("it has no host")?.to_owned();
        let host = url.port().map_or(host.clone(), |port| format!("{host}:{port}"));
        Ok(Address { url: url.into(), host })
    }
}

/// The visits that somebody agreed to.
#[derive(Default)]
pub(super) struct Visits(Mutex<VecDeque<(String, String)>>);

impl Visits {
    /// Puts an address to the person: `elicitation/create` with a URL.
    pub(super) async fn invite(
        &self,
        server: &str,
        params: &Map<String, Value>,
        person: &dyn Asker,
    ) -> Result<Given, Refused> {
        let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default();
        let address = Address::read(text("url"));
        let address = address
            .map_err(|why| Refused::new(BAD_PARAMS, format!("`url` is not shown to anybody: {why}")))?;
        let Address { url, host } = &address;
        let given = person
            .invite(Invitation { session: None, who: server, message: text("message"), url, host })
            .await;
        if matches!(given, Given::Answers(_)) {
            if !person.open(url) {
                person.tell(&format!("Open this page yourself: {url}"));
            }
            self.remember(text("elicitationId"), host);
        }
        Ok(given)
    }

    fn remember(&self, id: &str, host: &str) {
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if visits.len() >= MOST_REMEMBERED {
            visits.pop_front();
        }
        visits.push_back((id.to_owned(), host.to_owned()));
    }

    /// The host of a visit that a server says is over, if somebody agreed to it and was not told yet.
    pub(super) fn over(&self, params: &Map<String, Value>) -> Option<String> {
        let id = params.get("elicitationId").and_then(Value::as_str).filter(|id| !id.is_empty())?;
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = visits.iter().position(|(other, _)| other == id)?;
        visits.remove(at).map(|(_, host)| host)
    }
}

/// Waits until the person says that they are back, or that they will not go on.
pub(super) async fn is_back(server: &str, person: &dyn Asker) -> bool {
    let answer = json!({ "type": "string", "enum": [DONE, "no"], "description": "Have you done it?" });
    let schema = json!({ "type": "object", "properties": { "answer": answer }, "required": ["answer"] });
    let message = "It goes on when you have done what the page wanted: say `done` then.";
    match person.inquire(Inquiry { session: None, who: server, message, schema: &schema }).await {
        Given::Answers(answers) => answers.get("answer").is_some_and(|answer| answer == DONE),
        Given::Declined | Given::Dismissed => false,
        // Then the server says it, or time does.
        Given::NobodyThere => std::future::pending().await,
    }
}

const DONE: &str = "done";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_can_be_judged_are_shown() {
        for (text, expected) in [
            ("https://Example.COM/a b", Ok(("https://example.com/a%20b", "example.com"))),
            ("http://127.0.0.1:3000/x", Ok(("http://127.0.0.1:3000/x", "127.0.0.1:3000"))),
            ("https://\u{430}pple.com/", Ok(("https://xn--pple-43d.com/", "xn--pple-43d.com"))),
            ("https://a.com/\n\t?x", Ok(("https://a.com/?x", "a.com"))),
            ("https://bank.com@evil.com/", Err("it has a user name")),
            ("https://:p@evil.com/", Err("it has a user name")),
            ("javascript:alert(1)", Err("it begins with `javascript:`")),
            ("file:///etc/passwd", Err("it begins with `file:`")),
            ("example.com", Err("it is none")),
            ("", Err("it is none")),
        ] {
            let read = Address::read(text);
            match (&read, expected) {
                (Ok(address), Ok((url, host))) => assert_eq!((&*address.url, &*address.host), (url, host)),
                (Err(why), Err(begin)) => assert!(why.starts_with(begin), "{text}: {why}"),
                _ => panic!("{text}: {read:?}"),
            }
        }
        assert!(Address::read(&format!("https://a.com/{}", "x".repeat(LONGEST))).is_err());
    }

    #[test]
    fn a_visit_is_over_once_and_only_if_somebody_went() {
        let visits = Visits::default();
        visits.remember("1", "a.com");
        let said = |id: &str| Map::from_iter([("elicitationId".to_owned(), id.into())]);
        assert_eq!(visits.over(&said("2")), None);
        assert_eq!(visits.over(&said("1")).as_deref(), Some("a.com"));
        assert_eq!(visits.over(&said("1")), None);
        (0..1000).for_each(|_| visits.remember("", "a.com"));
        assert_eq!(visits.0.lock().unwrap().len(), MOST_REMEMBERED);
    }
}
