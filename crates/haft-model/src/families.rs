//! What models of a family take, by their names: APIs do not say it, and refuse a request that asks for something else.
//!
//! A name that nobody here knows is sent what was asked for, in the API's own form. New models of a vendor mostly take what
//! its newest here take.

use crate::{Dialect, Effort, Thinking};

/// How a model can be told how much to think.
#[derive(Debug, Clone, Copy)]
enum Takes {
    /// It does not think, and refuses to be told how much.
    Nothing,
    /// So many tokens.
    Budget { least: u32, most: u32, or_none: bool },
    /// One of these words.
    Words { words: &'static [Effort], or_none: bool },
}

use Effort::{High, Low, Medium, Minimal};

const CLAUDE: Takes = Takes::Budget { least: 1_024, most: 128_000, or_none: true };

/// The beginnings of names, of which the first that fits counts.
const ANTHROPIC: &[(&str, Takes)] = &[
    ("claude-2", Takes::Nothing),
    ("claude-instant", Takes::Nothing),
    ("claude-3-7", CLAUDE),
    ("claude-3", Takes::Nothing),
    ("claude-opus-4-0", CLAUDE),
    ("claude-opus-4-1", CLAUDE),
    ("claude-opus-4-2025", CLAUDE),
    ("claude-opus-4-5", CLAUDE),
    ("claude-sonnet-4-0", CLAUDE),
    ("claude-sonnet-4-2025", CLAUDE),
    ("claude-sonnet-4-5", CLAUDE),
    ("claude-haiku-4-5", CLAUDE),
    ("claude-", Takes::Words { words: &[Low, Medium, High], or_none: true }),
];

const OPENAI: &[(&str, Takes)] = &[
    ("gpt-3", Takes::Nothing),
    ("gpt-4", Takes::Nothing),
    ("chatgpt-", Takes::Nothing),
    ("gpt-5-chat", Takes::Nothing),
    ("gpt-5-codex", Takes::Words { words: &[Low, Medium, High], or_none: false }),
    ("gpt-5-pro", Takes::Words { words: &[High], or_none: false }),
    ("gpt-5.", Takes::Words { words: &[Low, Medium, High], or_none: true }),
    ("gpt-5", Takes::Words { words: &[Minimal, Low, Medium, High], or_none: false }),
    ("gpt-oss", Takes::Words { words: &[Low, Medium, High], or_none: false }),
    ("o1-mini", Takes::Nothing),
    ("o1-preview", Takes::Nothing),
    ("o1", Takes::Words { words: &[Low, Medium, High], or_none: false }),
    ("o3", Takes::Words { words: &[Low, Medium, High], or_none: false }),
    ("o4", Takes::Words { words: &[Low, Medium, High], or_none: false }),
];

const GEMINI: &[(&str, Takes)] = &[
    ("gemini-1", Takes::Nothing),
    ("gemini-2.0", Takes::Nothing),
    ("gemini-2.5-pro", Takes::Budget { least: 128, most: 32_768, or_none: false }),
    ("gemini-2.5-flash-lite", Takes::Budget { least: 512, most: 24_576, or_none: true }),
    ("gemini-2.5", Takes::Budget { least: 1, most: 24_576, or_none: true }),
    ("gemini-3-pro", Takes::Words { words: &[Low, High], or_none: false }),
    ("gemini-3-flash", Takes::Words { words: &[Minimal, Low, Medium, High], or_none: false }),
    ("gemini-3", Takes::Words { words: &[Low, Medium, High], or_none: false }),
];

/// What of a wish the model can be told; nothing, if it is none that thinks.
pub(crate) fn thinking(dialect: Dialect, model: &str, wanted: Thinking) -> Option<Thinking> {
    let table = match dialect {
        Dialect::Anthropic => ANTHROPIC,
        Dialect::OpenAi | Dialect::Responses => OPENAI,
        Dialect::Gemini => GEMINI,
    };
    let found = table.iter().find(|(beginning, _)| plain(model).starts_with(beginning));
    found.map_or(Some(wanted), |(_, takes)| takes.fitting(wanted))
}

/// Whether a model of Anthropic's is known to take references to tools that its API keeps from it.
pub fn takes_references(model: &str) -> bool {
    let is_known = |beginning: &&str| plain(model).starts_with(*beginning);
    let newer = ["claude-opus-4-", "claude-sonnet-4-"];
    let older =
        ["claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2", "claude-sonnet-4-0", "claude-sonnet-4-2"];
    newer.iter().any(is_known) && !older.iter().any(is_known)
}

/// Whether a model of Gemini's takes pictures and documents inside of a result: from the third generation on. The others refuse
/// the whole request.
pub(crate) fn takes_media_in_results(model: &str) -> bool {
    let generation = plain(model).strip_prefix("gemini-").and_then(|rest| rest.chars().next()?.to_digit(10));
    generation.is_some_and(|generation| generation >= 3)
}

/// Whether a model thinks, as far as is known: what does not refuses fields that are about thoughts.
pub(crate) fn may_think(dialect: Dialect, model: &str) -> bool {
    thinking(dialect, model, Thinking::Effort(Low)).is_some()
}

/// Whether it is one of Anthropic's own models, wherever it is.
pub(crate) fn is_claude(model: &str) -> bool {
    model.contains("claude")
}

/// The name without what says where it is: `models/gemini-2.5-pro`.
fn plain(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

impl Takes {
    fn fitting(self, wanted: Thinking) -> Option<Thinking> {
        match (self, wanted) {
            (Takes::Nothing, _) => None,
            (Takes::Budget { or_none: true, .. } | Takes::Words { or_none: true, .. }, Thinking::Off) => {
                Some(Thinking::Off)
            }
            (Takes::Budget { least, most, .. }, wanted) => {
                Some(Thinking::Budget(wanted.tokens().clamp(least, most)))
            }
            (Takes::Words { words, .. }, wanted) => {
                let enough = words.iter().find(|word| **word >= wanted.effort());
                enough.or(words.last()).map(|word| Thinking::Effort(*word))
            }
        }
    }
}

impl Thinking {
    /// About so many tokens.
    fn tokens(self) -> u32 {
        match self {
            Thinking::Off => 0,
            Thinking::Budget(tokens) => tokens,
            Thinking::Effort(Minimal) => 1_024,
            Thinking::Effort(Low) => 4_096,
            Thinking::Effort(Medium) => 12_288,
            Thinking::Effort(High) => 24_000,
        }
    }

    /// The nearest word.
    pub(crate) fn effort(self) -> Effort {
        match self {
            Thinking::Off | Thinking::Budget(0..=1_024) => Minimal,
            Thinking::Budget(1_025..=4_096) => Low,
            Thinking::Budget(4_097..=16_384) => Medium,
            Thinking::Budget(_) => High,
            Thinking::Effort(effort) => effort,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a model is told where nothing, a little, much, and 5,000 tokens are wanted.
    #[track_caller]
    fn check(dialect: Dialect, model: &str, expected: &str) {
        let wanted = [Thinking::Off, Thinking::Effort(Low), Thinking::Effort(High), Thinking::Budget(5_000)];
        let told = wanted.map(|wanted| match thinking(dialect, model, wanted) {
            None => "-".to_owned(),
            Some(Thinking::Off) => "off".to_owned(),
            Some(Thinking::Budget(tokens)) => tokens.to_string(),
            Some(Thinking::Effort(effort)) => effort.name().to_owned(),
        });
        assert_eq!(told.join(" "), expected, "{model}");
    }

    #[test]
    fn a_model_is_told_how_much_to_think_in_the_form_that_it_takes() {
        for model in
            ["claude-sonnet-4-5", "claude-haiku-4-5-20251001", "claude-opus-4-1", "claude-3-7-sonnet-latest"]
        {
            check(Dialect::Anthropic, model, "off 4096 24000 5000");
        }
        check(Dialect::Anthropic, "claude-3-5-haiku-latest", "- - - -");
        check(Dialect::Anthropic, "claude-opus-4-6", "off low high medium");
        check(Dialect::Anthropic, "claude-sonnet-5", "off low high medium");
        for dialect in [Dialect::OpenAi, Dialect::Responses] {
            check(dialect, "gpt-5", "minimal low high medium");
            check(dialect, "gpt-5-codex", "low low high medium");
            check(dialect, "gpt-5.1", "off low high medium");
            check(dialect, "o3-mini", "low low high medium");
            check(dialect, "gpt-4.1", "- - - -");
        }
        check(Dialect::Gemini, "models/gemini-2.5-pro", "128 4096 24000 5000");
        check(Dialect::Gemini, "gemini-2.5-flash", "off 4096 24000 5000");
        check(Dialect::Gemini, "gemini-3-pro-preview", "low low high high");
        check(Dialect::Gemini, "gemini-2.0-flash", "- - - -");
    }

    #[test]
    fn a_name_that_nobody_knows_is_told_what_was_asked_for() {
        check(Dialect::OpenAi, "qwen3-coder", "off low high 5000");
        check(Dialect::Anthropic, "some-model", "off low high 5000");
        check(Dialect::OpenAi, "anthropic/claude-sonnet-4.5", "off low high 5000");
    }

    #[test]
    fn media_inside_of_results_are_for_the_third_generation_of_gemini_on() {
        for model in ["gemini-3-pro-preview", "models/gemini-3.5-flash", "gemini-4"] {
            assert!(takes_media_in_results(model), "{model}");
        }
        for model in ["gemini-2.5-pro", "gemini-2.0-flash", "gemini-flash-latest", "gemma-3-27b", "m"] {
            assert!(!takes_media_in_results(model), "{model}");
        }
    }

    #[test]
    fn references_are_for_the_models_that_are_known_to_take_them() {
        for model in ["claude-sonnet-4-5", "claude-opus-4-5-20251101", "claude-opus-4-6"] {
            assert!(takes_references(model), "{model}");
        }
        for model in
            ["claude-sonnet-4-20250514", "claude-opus-4-1", "claude-haiku-4-5", "claude-3-7-sonnet", "m"]
        {
            assert!(!takes_references(model), "{model}");
        }
    }
}
