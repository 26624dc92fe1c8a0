//! The user's hooks: read from `[hooks]`, added to the engine, told about sessions, and heard on stderr.
//!
//! What a hook is and how it runs is the affair of `haft-hooks`. Only files that are believed come here: a workspace's own
//! are read by whoever asks for trust first.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use haft_engine::{EngineBuilder, Session, policy::Said, result::ToolResult, session::Memory};
use haft_hooks::{CommandHooks, Config, Event, Listed};
use haft_redact::Redactor;
use serde_json::{Map, Value, json};
use toml::Spanned;

use crate::{
    draw::{plain, plain_line},
    out::Talk,
};

/// `[hooks]` as it is written: events, and what runs then.
pub(crate) type WrittenHooks = BTreeMap<Spanned<String>, Value>;

/// The table, if there is one. What is wrong in it is told with its place.
pub(crate) fn read(written: WrittenHooks) -> Result<Option<Value>, (Range<usize>, String)> {
    let places: Vec<(String, Range<usize>)> =
        written.keys().map(|key| (key.get_ref().clone(), key.span())).collect();
    let events: Map<String, Value> =
        written.into_iter().map(|(key, value)| (key.into_inner(), value)).collect();
    let table = Value::Object(events);
    match Config::read(&table).1.into_iter().next() {
        None => Ok((!places.is_empty()).then_some(table)),
        Some(problem) => {
            let place = places.into_iter().find(|(event, _)| *event == problem.event);
            Err((place.map_or(0..0, |(_, span)| span), problem.message))
        }
    }
}

/// The hooks of all tables, in the order of the levels. They were checked when they were read.
pub(crate) fn config(tables: &[Value]) -> Config {
    tables.iter().map(|table| Config::read(table).0).fold(Config::default(), Config::and)
}

/// Adds them to an engine. Without any, it knows of none. What they read holds no secrets, where somebody takes them out.
pub(crate) fn add(builder: EngineBuilder, config: Config, redactor: Option<Arc<Redactor>>) -> EngineBuilder {
    if config.is_empty() {
        return builder;
    }
    let hooks = CommandHooks::new(config);
    builder.hook(match redactor {
        Some(redactor) => hooks.filtered_by(move |input| drop(redactor.redact_json(input))),
        None => hooks,
    })
}

/// A session begins: what hooks want the model to know.
pub(crate) async fn start(session: &Session, talk: Talk) -> Vec<String> {
    let source = if session.memory() == Memory::default() { "startup" } else { "resume" };
    let said = session.starts(source).await;
    said.iter().for_each(|said| tell(talk, said));
    said.into_iter().filter_map(|said| said.context).collect()
}

/// There is no conversation here that could begin with it, so it goes with the first result.
pub(crate) fn greet(greeting: Vec<String>, results: &mut [ToolResult]) {
    if let Some(first) = results.first_mut() {
        first.messages.splice(..0, greeting);
    }
}

/// A session ends.
pub(crate) async fn end(session: &Session, talk: Talk) {
    session.ends("other").await.iter().for_each(|said| tell(talk, said));
}

/// What a hook has for the person is said in every case, the rest to those who asked for more.
pub(crate) fn tell(talk: Talk, said: &Said) {
    let Said { by, at, .. } = said;
    if let Some(notice) = &said.notice {
        talk.remark(|| plain(format!("{at} `{by}`: {notice}")));
    }
    if let Some(stop) = &said.stop {
        talk.remark(|| plain(format!("{at} `{by}` stops the turn: {stop}")));
    }
    if let Some(verdict) = said.verdict {
        let reason = said.reason.as_deref().unwrap_or("no reason");
        talk.detail(|| plain(format!("{at} `{by}` says {verdict}: {reason}")));
    }
    if said.input.is_some() {
        talk.detail(|| plain(format!("{at} `{by}` changes the input")));
    }
}

/// A line for each hook.
pub(crate) fn lines(hooks: &Config) -> Vec<String> {
    let line = |hook: Listed<'_>| {
        let matcher = if hook.matcher.is_empty() { "*" } else { hook.matcher };
        let command = plain_line(hook.handler.command.clone());
        format!("{} {}: {command}", hook.event, plain_line(matcher.to_owned()))
    };
    hooks.list().map(line).collect()
}

/// The same for programs.
pub(crate) fn listed(hooks: &Config) -> Vec<Value> {
    let one = |hook: Listed<'_>| {
        json!({
            "event": Event::name(hook.event),
            "matcher": hook.matcher,
            "command": hook.handler.command,
            "timeout_s": hook.handler.timeout.as_secs_f64(),
        })
    };
    hooks.list().map(one).collect()
}
