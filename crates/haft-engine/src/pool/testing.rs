//! Tools for the tests of the pool.

use std::borrow::Cow;

use haft_tool::{Load, Reply, SharedTool, Spec, ToolBuilder};
use serde_json::{Value, json};

/// A tool with this spec, prompt and schema that does nothing.
pub(super) fn raw(spec: Spec, prompt: &str, schema: Value) -> SharedTool {
    ToolBuilder::<Value>::of(spec)
        .prompt(prompt)
        .schema(schema)
        .call(|_, _| async { Ok(Reply::text("done")) })
}

pub(super) fn named(name: &str) -> Spec {
    Spec::new("").named(Cow::Owned(name.to_owned()))
}

pub(super) fn plain(name: &str, prompt: &str) -> SharedTool {
    raw(named(name), prompt, json!({}))
}

pub(super) fn member(name: &str, toolset: &'static str) -> SharedTool {
    raw(named(name).toolset(toolset), "", json!({}))
}

/// `Name`, `Name!` (always loaded), `Name?` (deferred).
pub(super) fn loading(name: &str) -> SharedTool {
    let load = match name.chars().last() {
        Some('!') => Load::Always,
        Some('?') => Load::Deferred,
        _ => Load::Auto,
    };
    raw(named(name.trim_end_matches(['!', '?'])).load(load), "", json!({}))
}
