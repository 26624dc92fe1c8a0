//! What do the variables ask for?
//!
//! The usual ones, read as the specification of OpenTelemetry has them, with one difference: nothing is exported unless
//! a variable says so. A command that talks to a port of this machine because nobody forbade it would be a surprise.

use thiserror::Error;

/// What is exported, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) traces: bool,
    pub(crate) metrics: bool,
    /// Whether inputs and results of calls are part of it.
    pub(crate) content: bool,
}

/// Why nothing can be exported: what is set, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unusable(pub(crate) String);

/// The opt-in of the conventions for what may be private.
const CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

impl Wanted {
    /// `None`: nothing is asked for.
    pub(crate) fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Wanted>, Unusable> {
        // Empty is the same as not set, and case does not count.
        let lower = |name: &str| {
            variable(name).map(|text| text.trim().to_ascii_lowercase()).filter(|text| !text.is_empty())
        };
        if lower("OTEL_SDK_DISABLED").as_deref() == Some("true") {
            return Ok(None);
        }
        let traces = signal("TRACES", &lower)?;
        let metrics = signal("METRICS", &lower)?;
        let content =
            matches!(lower(CONTENT).as_deref(), Some("true" | "1" | "span_only" | "span_and_event"));
        Ok((traces || metrics).then_some(Wanted { traces, metrics, content }))
    }
}

/// Whether this signal is exported.
fn signal(name: &str, lower: &dyn Fn(&str) -> Option<String>) -> Result<bool, Unusable> {
    let exporter = format!("OTEL_{name}_EXPORTER");
    let is_on = match lower(&exporter).as_deref() {
        Some("none") => false,
        Some("otlp") => true,
        Some(other) => {
            return Err(Unusable(format!("{exporter} is `{other}`, and haft knows `otlp` and `none`")));
        }
        None => ["OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), format!("OTEL_EXPORTER_OTLP_{name}_ENDPOINT")]
            .iter()
            .any(|endpoint| lower(endpoint).is_some()),
    };
    let protocols = [format!("OTEL_EXPORTER_OTLP_{name}_PROTOCOL"), "OTEL_EXPORTER_OTLP_PROTOCOL".to_owned()];
    let protocol =
        protocols.into_iter().find_map(|variable| lower(&variable).map(|protocol| (variable, protocol)));
    match protocol {
        Some((variable, protocol)) if is_on && protocol != "http/protobuf" => {
            Err(Unusable(format!("{variable} is `{protocol}`, and haft speaks `http/protobuf` alone")))
        }
        _ => Ok(is_on),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables as text, and what they ask for.
    #[track_caller]
    fn check(variables: &str, expected: &str) {
        let pairs: Vec<(&str, &str)> =
            variables.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
        let find = |name: &str| {
            let found =
                pairs.iter().find(|(known, _)| known.strip_prefix("OTEL_").unwrap_or(known) == &name[5..]);
            found.map(|(_, value)| (*value).to_owned())
        };
        let said = match Wanted::read(&find) {
            Ok(None) => "nothing".to_owned(),
            Ok(Some(Wanted { traces, metrics, content })) => {
                let all = [(traces, "traces"), (metrics, "metrics"), (content, "content")];
                all.iter().filter(|(is_on, _)| *is_on).map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
            }
            Err(unusable) => unusable.to_string(),
        };
        assert_eq!(said, expected, "{variables}");
    }

    #[test]
    fn nothing_is_exported_unless_a_variable_says_so() {
        check("", "nothing");
        check("SERVICE_NAME=x RESOURCE_ATTRIBUTES=a=b EXPORTER_OTLP_HEADERS=k=v", "nothing");
        check("EXPORTER_OTLP_ENDPOINT=http://c:4318", "traces metrics");
        check("EXPORTER_OTLP_TRACES_ENDPOINT=http://c/v1/traces", "traces");
        check("EXPORTER_OTLP_METRICS_ENDPOINT=http://c/v1/metrics", "metrics");
        check("TRACES_EXPORTER=otlp", "traces");
    }

    #[test]
    fn what_is_turned_off_is_off() {
        check("EXPORTER_OTLP_ENDPOINT=http://c SDK_DISABLED=true", "nothing");
        check("EXPORTER_OTLP_ENDPOINT=http://c SDK_DISABLED=TRUE", "nothing");
        check("EXPORTER_OTLP_ENDPOINT=http://c SDK_DISABLED=yes", "traces metrics");
        check("EXPORTER_OTLP_ENDPOINT=http://c METRICS_EXPORTER=none", "traces");
        check("EXPORTER_OTLP_ENDPOINT=http://c METRICS_EXPORTER=none TRACES_EXPORTER=None", "nothing");
        check("EXPORTER_OTLP_ENDPOINT=", "nothing");
    }

    #[test]
    fn content_is_asked_for_by_name() {
        const CONTENT: &str = "INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
        for (value, expected) in [
            ("true", "traces metrics content"),
            ("SPAN_ONLY", "traces metrics content"),
            ("span_and_event", "traces metrics content"),
            ("event_only", "traces metrics"),
            ("no_content", "traces metrics"),
            ("false", "traces metrics"),
        ] {
            check(&format!("EXPORTER_OTLP_ENDPOINT=http://c {CONTENT}={value}"), expected);
        }
        check(&format!("{CONTENT}=true"), "nothing");
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        check("TRACES_EXPORTER=zipkin", "OTEL_TRACES_EXPORTER is `zipkin`, and haft knows `otlp` and `none`");
        check(
            "EXPORTER_OTLP_ENDPOINT=http://c EXPORTER_OTLP_PROTOCOL=grpc",
            "OTEL_EXPORTER_OTLP_PROTOCOL is `grpc`, and haft speaks `http/protobuf` alone",
        );
        check("EXPORTER_OTLP_ENDPOINT=http://c EXPORTER_OTLP_PROTOCOL=http/protobuf", "traces metrics");
        check("EXPORTER_OTLP_PROTOCOL=grpc", "nothing");
        check(
            "EXPORTER_OTLP_ENDPOINT=http://c EXPORTER_OTLP_PROTOCOL=grpc EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf METRICS_EXPORTER=none",
            "traces",
        );
    }
}
