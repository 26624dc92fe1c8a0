//! Which shape of the protocol a request has, and what it says of its client.
//!
//! A request of the new era says everything itself, in `_meta`; one of the old era relies on a handshake. Both may come
//! from one client: the shape is the request's and not the connection's.

use serde_json::{Map, Value, json};

use super::message::BAD_PARAMS;
use crate::client::{Era, Refused};

/// The revisions that we speak, oldest first.
pub(super) const VERSIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];
/// The first revision without a handshake.
pub(super) const MODERN: &str = "2026-07-28";
/// The last revision with one.
const LATEST_LEGACY: &str = "2025-11-25";

/// The code for a revision that we do not speak.
const UNSUPPORTED_VERSION: i64 = -32022;
/// The code for a capability that the client should have declared.
const MISSING_CAPABILITY: i64 = -32021;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Where a server says who it is.
pub(super) const SERVER: &str = "io.modelcontextprotocol/serverInfo";
/// Whose notification it is.
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// What a request's `_meta` says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Said {
    /// The revision, if the request brings its own.
    pub(super) version: Option<String>,
    /// The client's capabilities, if the request brings them.
    pub(super) capabilities: Option<Map<String, Value>>,
    /// From which level on the client wants to hear of this request.
    pub(super) log_level: Option<String>,
    /// By which token the client knows progress of this request.
    pub(super) progress: Option<Value>,
    /// What is none of our business and goes on to a server.
    pub(super) rest: Map<String, Value>,
}

impl Said {
    /// Takes `_meta` out of a request's parameters.
    pub(super) fn take(params: &mut Map<String, Value>) -> Said {
        match params.remove("_meta") {
            Some(Value::Object(meta)) => Said::from_meta(meta),
            _ => Said::default(),
        }
    }

    /// What a request's parameters say in `_meta`, left where it is.
    pub(super) fn of(params: &Map<String, Value>) -> Said {
        match params.get("_meta") {
            Some(Value::Object(meta)) => Said::from_meta(meta.clone()),
            _ => Said::default(),
        }
    }

    fn from_meta(mut meta: Map<String, Value>) -> Said {
        meta.shift_remove(CLIENT);
        Said {
            version: text(meta.shift_remove(VERSION)),
            capabilities: match meta.shift_remove(CAPABILITIES) {
                Some(Value::Object(capabilities)) => Some(capabilities),
                _ => None,
            },
            log_level: text(meta.get(LOG_LEVEL).cloned()),
            progress: meta
                .shift_remove("progressToken")
                .filter(|token| token.is_string() || token.is_number()),
            rest: meta,
        }
    }

    /// The shape of the request, or what is wrong with it. `server/discover` is of the new era whatever it says.
    pub(super) fn era(&self, method: &str) -> Result<Era, Refused> {
        match &self.version {
            Some(version) if !VERSIONS.contains(&version.as_str()) => Err(unsupported(version)),
            Some(version) if version.as_str() < MODERN && method != "server/discover" => Ok(Era::Legacy),
            Some(_) if self.capabilities.is_some() => Ok(Era::Modern),
            None if method != "server/discover" && self.capabilities.is_none() => Ok(Era::Legacy),
            _ => Err(self.incomplete()),
        }
    }

    /// What of `_meta` is missing in a request that stands for itself.
    pub(super) fn incomplete(&self) -> Refused {
        let missing = [(VERSION, self.version.is_none()), (CAPABILITIES, self.capabilities.is_none())];
        let missing: Vec<&str> =
            missing.into_iter().filter(|(_, is_missing)| *is_missing).map(|(key, _)| key).collect();
        let missing = missing.join(" and ");
        Refused::new(
            BAD_PARAMS,
            format!("the request's `_meta` has to have {missing}; older clients begin with `initialize`"),
        )
    }
}

fn text(value: Option<Value>) -> Option<String> {
    value.as_ref().and_then(Value::as_str).map(str::to_owned)
}

/// The refusal of a revision that we do not speak.
pub(super) fn unsupported(requested: &str) -> Refused {
    Refused {
        code: UNSUPPORTED_VERSION,
        message: format!("revision {requested:?} is not spoken here; {} are", VERSIONS.join(", ")),
        data: Some(json!({ "supported": VERSIONS, "requested": requested })),
    }
}

/// The revision of a handshake: the client's own if we speak it, else our latest that has one.
pub(super) fn agreed(requested: Option<&str>) -> &'static str {
    let known = VERSIONS.iter().find(|version| Some(**version) == requested && **version < MODERN);
    known.copied().unwrap_or(LATEST_LEGACY)
}

/// The refusal of what needs a capability that the client did not declare: `elicitation`.
pub(super) fn missing_capability(name: &str) -> Refused {
    Refused {
        code: MISSING_CAPABILITY,
        message: format!("this needs a client with the capability `{name}`"),
        data: Some(json!({ "requiredCapabilities": { name: {} } })),
    }
}

/// The same of a way of eliciting that the client did not declare: forms, or addresses to visit.
pub(super) fn missing_mode(mode: &str) -> Refused {
    let what = if mode == "url" { "shows addresses to visit" } else { "shows forms" };
    Refused {
        code: MISSING_CAPABILITY,
        message: format!("this needs a client that {what} (the capability `elicitation.{mode}`)"),
        data: Some(json!({ "requiredCapabilities": { "elicitation": { mode: {} } } })),
    }
}

/// The HTTP status of an answer in the new era, where it is more than a part of the answer.
pub(super) fn status(code: i64) -> u16 {
    match code {
        MISSING_CAPABILITY | UNSUPPORTED_VERSION | super::http::HEADER_MISMATCH => 400,
        super::message::NO_METHOD => 404,
        _ => 200,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(meta: Value) -> Said {
        let mut params = Map::new();
        params.insert("_meta".to_owned(), meta);
        Said::take(&mut params)
    }

    #[test]
    fn a_request_that_says_everything_is_of_the_new_era_and_one_that_says_nothing_of_the_old() {
        let modern = said(json!({ VERSION: MODERN, CAPABILITIES: {} }));
        assert_eq!(modern.era("tools/list"), Ok(Era::Modern));
        assert_eq!(said(json!({})).era("tools/list"), Ok(Era::Legacy));
        assert_eq!(
            said(json!({ VERSION: "2025-06-18", CAPABILITIES: {} })).era("tools/list"),
            Ok(Era::Legacy)
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let refused = said(json!({ VERSION: MODERN })).era("tools/list").unwrap_err();
        assert!(refused.code == BAD_PARAMS && refused.message.contains(CAPABILITIES), "{refused}");
        let refused = said(json!({})).era("server/discover").unwrap_err();
        assert!(refused.message.contains(VERSION), "{refused}");
    }

    #[test]
    fn a_revision_that_nobody_knows_is_answered_with_those_that_we_know() {
        let refused = said(json!({ VERSION: "v999", CAPABILITIES: {} })).era("tools/list").unwrap_err();
        assert_eq!(refused.code, UNSUPPORTED_VERSION);
        assert_eq!(refused.data.unwrap()["supported"], json!(VERSIONS));
    }

    #[test]
    fn a_handshake_agrees_on_what_both_know() {
        assert_eq!(agreed(Some("2025-03-26")), "2025-03-26");
        assert_eq!(agreed(Some(MODERN)), LATEST_LEGACY);
        assert_eq!(agreed(None), LATEST_LEGACY);
    }

    #[test]
    fn what_is_not_ours_goes_on() {
        let said = said(
            json!({ VERSION: MODERN, CAPABILITIES: {}, CLIENT: {}, "progressToken": 3, "traceparent": "00-1", LOG_LEVEL: "info" }),
        );
        assert_eq!(Value::from(said.rest), json!({ "traceparent": "00-1", LOG_LEVEL: "info" }));
        assert_eq!((said.progress, said.log_level.as_deref()), (Some(json!(3)), Some("info")));
    }
}
