//! What must not be shown: the values of the environment's secret variables, tokens for servers, and whatever looks like a
//! secret.

use std::env;

use haft_redact::Redactor;

use crate::{servers::tokens, settings::Secrets};

/// A redactor that knows the environment, and the tokens for servers. What is set in no text form cannot be printed as such, either.
pub(crate) fn redactor(settings: &Secrets) -> Redactor {
    let variables = || {
        env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
    };
    let builder = Redactor::builder().names(settings.names.iter().cloned()).variables(variables());
    let meant = variables().filter(|(name, _)| settings.values_from.contains(name));
    let keys =
        variables().filter(|(name, _)| is_of_collector(name)).flat_map(|(_, headers)| values(&headers));
    let all = meant.map(|(_, value)| value).chain(tokens().secrets()).chain(keys);
    all.fold(builder, haft_redact::Builder::secret).build()
}

/// The headers of what is sent to a collector hold its key, under a name that does not say so.
fn is_of_collector(name: &str) -> bool {
    name.starts_with("OTEL_EXPORTER_OTLP_") && name.ends_with("HEADERS")
}

/// The values of `name=value,name=value`, which is how headers are written in a variable.
fn values(headers: &str) -> Vec<String> {
    let value = |pair: &str| pair.split_once('=').map(|(_, value)| value.trim().to_owned());
    headers.split(',').filter_map(value).filter(|value| !value.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_a_collector_are_secrets() {
        assert!(is_of_collector("OTEL_EXPORTER_OTLP_HEADERS"));
        assert!(is_of_collector("OTEL_EXPORTER_OTLP_TRACES_HEADERS"));
        assert!(!is_of_collector("OTEL_EXPORTER_OTLP_ENDPOINT") && !is_of_collector("MY_HEADERS"));
        assert_eq!(values("x-team=abc, authorization=Basic%20Zm9v==,empty=,odd"), ["abc", "Basic%20Zm9v=="]);
    }
}
