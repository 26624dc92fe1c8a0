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
    let all = meant.map(|(_, value)| value).chain(tokens().secrets());
    all.fold(builder, haft_redact::Builder::secret).build()
}
