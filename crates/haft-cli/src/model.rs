//! Which model is asked, and how: from options, settings and the environment.
//!
//! A key is sent where it belongs. One of a vendor goes to that vendor; a server somewhere else gets a key only if the
//! settings name the variable that has it.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use haft_agent::{AgentOptions, Model};
use haft_model::{Client, Dialect, Effort, Endpoint, ErrorKind, Key, ModelError, Thinking, takes_references};
use serde_json::{Map, Value};

use crate::{
    exit::usage,
    settings::{self, Amount, Thought, expand},
    spent::Spent,
};

/// What can be typed of a model, besides its name.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ModelArgs {
    /// Ask the model at this address, such as http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The API that it speaks; `openai` where an address is given and nothing else says it
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Option<Dialect>,
}

pub(crate) fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::name)).try_map(|name| name.parse::<Dialect>())
}

/// A model that was chosen.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) name: String,
    pub(crate) endpoint: Endpoint,
    /// The variable that has the key that is sent.
    key_variable: Option<String>,
    /// Fields that each request has besides haft's.
    pub(crate) extra: Map<String, Value>,
    /// Where it is, without what may be a secret.
    address: String,
    /// What all that is asked there took.
    pub(crate) spent: Spent,
}

/// The models that are asked where only a vendor is known.
const USUAL: [(Dialect, &str); 3] = [
    (Dialect::Anthropic, "claude-sonnet-4-5"),
    (Dialect::Responses, "gpt-5"),
    (Dialect::Gemini, "gemini-2.5-pro"),
];

/// Which model is asked. `name` is what was typed, and `environment` says what a variable holds.
pub(crate) fn choose(
    set: &settings::Model,
    args: &ModelArgs,
    name: Option<&str>,
    environment: &dyn Fn(&str) -> Option<Key>,
) -> anyhow::Result<Choice> {
    let name = name.or(set.name.as_deref());
    let base = args.base_url.as_deref().or(set.base_url.as_deref());
    let dialect = args.dialect.or(set.dialect);
    let dialect = match (dialect, base) {
        (Some(dialect), _) => dialect,
        (None, Some(_)) => Dialect::OpenAi,
        (None, None) => vendor(name, environment).ok_or_else(|| usage(NO_MODEL))?,
    };
    let key_variable = match (&set.key_env, base) {
        (Some(variable), _) => Some(variable.as_str()),
        (None, Some(_)) => None,
        (None, None) => Some(Endpoint::key_variable(dialect)),
    };
    let key = match key_variable {
        None => None,
        Some(variable) => Some(environment(variable).ok_or_else(|| match set.key_env {
            Some(_) => {
                usage(format!("model.key_env is {variable}, and the environment has no such variable"))
            }
            None => usage(format!(
                "{dialect} wants a key: set {variable}, or name another variable in model.key_env"
            )),
        })?),
    };
    let usual = USUAL
        .iter()
        .find(|(vendor, _)| *vendor == dialect || (base.is_none() && of_openai(*vendor, dialect)));
    let name = match (name, base, usual) {
        (Some(name), ..) => name,
        // A server with one model takes any name; another says which it has.
        (None, Some(_), _) | (None, None, None) => "default",
        (None, None, Some((_, name))) => name,
    };
    let mut endpoint = Endpoint::new(dialect).key(key);
    if let Some(seconds) = set.timeout_s {
        endpoint = endpoint.idle_timeout(Duration::from_secs(seconds.get() as u64));
    }
    let endpoint = match base {
        Some(base) => endpoint.base(base),
        None => endpoint,
    };
    let endpoint = with_headers(endpoint, set)?;
    Ok(Choice {
        name: name.to_owned(),
        endpoint,
        key_variable: key_variable.map(str::to_owned),
        extra: extra(set),
        address: base.map_or_else(|| format!("the vendor's address ({dialect})"), without_secrets),
        spent: Spent::default(),
    })
}

/// Values may name variables, as those of servers' headers do: a key does not have to stand in a file.
fn with_headers(mut endpoint: Endpoint, set: &settings::Model) -> anyhow::Result<Endpoint> {
    for (name, value) in &set.headers {
        let value = expand(value, |variable| std::env::var(variable).ok()).map_err(|missing| {
            usage(format!("model.headers.{name} names {missing}, and the environment has no such variable"))
        })?;
        endpoint = endpoint.header(name, value);
    }
    Ok(endpoint)
}

/// TOML has no `null`, which leaves a field out of a request: no field has an empty text, so that stands for it.
fn extra(set: &settings::Model) -> Map<String, Value> {
    let value = |value: &Value| if value == "" { Value::Null } else { value.clone() };
    set.extra.iter().map(|(name, given)| (name.clone(), value(given))).collect()
}

fn of_openai(one: Dialect, other: Dialect) -> bool {
    let is_theirs = |dialect| matches!(dialect, Dialect::OpenAi | Dialect::Responses);
    is_theirs(one) && is_theirs(other)
}

/// Whose API is meant: the name tells, or the first key that is there.
fn vendor(name: Option<&str>, environment: &dyn Fn(&str) -> Option<Key>) -> Option<Dialect> {
    let told = name.and_then(|name| match name {
        _ if name.starts_with("claude") => Some(Dialect::Anthropic),
        _ if ["gpt", "o1", "o3", "o4"].iter().any(|beginning| name.starts_with(beginning)) => {
            Some(Dialect::Responses)
        }
        _ if name.starts_with("gemini") => Some(Dialect::Gemini),
        _ => None,
    });
    let has_key = |(vendor, _): &&(Dialect, &str)| environment(Endpoint::key_variable(*vendor)).is_some();
    told.or_else(|| USUAL.iter().find(has_key).map(|(vendor, _)| *vendor))
}

impl Choice {
    /// The model, ready to be asked. Nothing is opened yet.
    pub(crate) fn model(&self) -> anyhow::Result<Arc<dyn Model>> {
        Ok(self.spent.counting(Client::new(self.endpoint.clone()).map_err(usage)?))
    }

    /// Another model at the same address.
    #[cfg(feature = "tui")]
    pub(crate) fn named(&self, name: String) -> Choice {
        Choice { name, ..self.clone() }
    }

    /// An error in words: where nobody answers, it is said where.
    pub(crate) fn words(&self, error: &ModelError) -> String {
        match error.kind {
            ErrorKind::Unreachable | ErrorKind::TimedOut | ErrorKind::CutOff => {
                format!("{}: {error}", self.address)
            }
            _ => error.to_string(),
        }
    }

    /// What whoever asked can do about an error, where that is known.
    pub(crate) fn advice(&self, error: &ModelError) -> Option<String> {
        match (error.kind, &self.key_variable) {
            (ErrorKind::Unauthorized, Some(variable)) => {
                Some(format!("the key that was sent is that of {variable}"))
            }
            (ErrorKind::Unauthorized, None) => Some(
                "no key was sent; if there must be one, name the variable that has it: key_env of [model] in the settings"
                    .to_owned(),
            ),
            (ErrorKind::NotFound, _) => Some(
                "is the model's name right (--model, or name of [model]), and does its address lead to the API (--base-url)?"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// How an agent asks it.
    pub(crate) fn options(&self, set: &settings::Model) -> AgentOptions {
        let usual = AgentOptions::new(self.endpoint.dialect(), &self.name);
        AgentOptions {
            window: set.context_tokens.map_or(usual.window, |tokens| tokens.get() as u64),
            answer_tokens: set.answer_tokens.map(figure),
            max_turns: set.max_turns.map(figure),
            max_tokens: set.run_tokens.map(|tokens| tokens.get() as u64),
            tool_references: set
                .tool_references
                .unwrap_or_else(|| self.endpoint.is_vendors() && takes_references(&self.name)),
            cache_key: self.endpoint.is_vendors(),
            images: set.images.unwrap_or(usual.images),
            extra: self.extra.clone(),
            thinking: set.thinking.map(thinking),
            ..usual
        }
    }
}

/// An address without who asks and what comes after it: both may be keys.
fn without_secrets(base: &str) -> String {
    let base = base.trim().split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = base.split_once("://").unwrap_or(("", base));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    let joint = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{joint}{host}{}", path.trim_end_matches('/'))
}

fn figure(set: NonZeroUsize) -> u32 {
    u32::try_from(set.get()).unwrap_or(u32::MAX)
}

fn thinking(set: Thought) -> Thinking {
    match set {
        Thought::Word(Amount::Off) | Thought::Tokens(0) => Thinking::Off,
        Thought::Word(Amount::Minimal) => Thinking::Effort(Effort::Minimal),
        Thought::Word(Amount::Low) => Thinking::Effort(Effort::Low),
        Thought::Word(Amount::Medium) => Thinking::Effort(Effort::Medium),
        Thought::Word(Amount::High) => Thinking::Effort(Effort::High),
        Thought::Tokens(tokens) => Thinking::Budget(tokens),
    }
}

const NO_MODEL: &str = "no model is configured; there are three ways to name one:\n  \
a key in the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY\n  \
settings in ~/.config/haft/haft.toml: [model] with name, dialect, and base_url or key_env\n  \
options: --base-url http://127.0.0.1:8080 for a server of your own, with --dialect and --model where it needs them";

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings, options and the variables that are set; what is asked, in which API, and whether with a key.
    #[track_caller]
    fn check(set: &str, (base, dialect, name): (&str, &str, &str), variables: &[&str], expected: &str) {
        let set: settings::Model = toml::from_str(set).unwrap();
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let args = ModelArgs { base_url: given(base), dialect: dialect.parse().ok() };
        let environment = |name: &str| variables.contains(&name).then(|| Key::new("k-123456"));
        let said = match choose(&set, &args, given(name).as_deref(), &environment) {
            Ok(choice) => {
                let key = if format!("{:?}", choice.endpoint).contains("Key(") { " with a key" } else { "" };
                format!("{} {}{key}", choice.endpoint.dialect(), choice.name)
            }
            Err(err) => err.to_string().lines().next().unwrap().to_owned(),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn a_key_in_the_environment_is_enough() {
        check(
            "",
            ("", "", ""),
            &["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
            "anthropic claude-sonnet-4-5 with a key",
        );
        check("", ("", "", ""), &["OPENAI_API_KEY"], "responses gpt-5 with a key");
        check("", ("", "openai", ""), &["OPENAI_API_KEY"], "openai gpt-5 with a key");
        check(
            "",
            ("", "", "gemini-3-pro"),
            &["GEMINI_API_KEY", "OPENAI_API_KEY"],
            "gemini gemini-3-pro with a key",
        );
    }

    #[test]
    fn a_server_of_ones_own_gets_no_key_that_was_not_meant_for_it() {
        let key = &["OPENAI_API_KEY", "MY_KEY"];
        check("", ("http://127.0.0.1:1", "", ""), key, "openai default");
        check("base_url = 'http://a'\nname = 'm'", ("", "", ""), key, "openai m");
        check(
            "base_url = 'http://a'\nkey_env = 'MY_KEY'",
            ("", "anthropic", "x"),
            key,
            "anthropic x with a key",
        );
    }

    #[test]
    fn an_address_is_told_without_secrets() {
        assert_eq!(without_secrets("http://127.0.0.1:8080/"), "http://127.0.0.1:8080");
        assert_eq!(without_secrets("https://me:pass@a.example/v1?key=abc#x"), "https://a.example/v1");
        assert_eq!(without_secrets("a.example/@b"), "a.example/@b");
    }

    #[test]
    fn what_is_missing_is_said() {
        check("", ("", "", ""), &[], "no model is configured; there are three ways to name one:");
        check(
            "",
            ("", "", "claude-x"),
            &["OPENAI_API_KEY"],
            "anthropic wants a key: set ANTHROPIC_API_KEY, or name another variable in model.key_env",
        );
        check(
            "key_env = 'MY_KEY'",
            ("http://a", "", ""),
            &[],
            "model.key_env is MY_KEY, and the environment has no such variable",
        );
    }
}
