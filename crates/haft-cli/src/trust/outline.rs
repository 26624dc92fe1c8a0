//! What of a workspace would count: for the person who is to say whether it may, and for programs.

use std::{fmt::Write, path::Path};

use haft_engine::policy::{Bases, Origin, Policy, Written};
use serde_json::{Value, json};

use super::{
    diff::{revealed_line, unified},
    gather::Bundle,
    standing::{Brought, Change},
};
use crate::{
    exit::usage,
    place::Place,
    settings::{Listed, McpServer, Settings, Told, Transport},
};

/// All that would count, and what would not in any case.
#[derive(Debug)]
pub(crate) struct Outline {
    settings: Settings,
    values: Vec<Told>,
    servers: Vec<McpServer>,
    /// Entries that make no server, and why.
    odd: Vec<(String, String)>,
    others: Vec<(String, usize)>,
}

impl Outline {
    /// Reads it the way that a session would. What a session could not use is an error here: nobody trusts that.
    pub(crate) fn of(brought: &Brought, place: &Place) -> anyhow::Result<Outline> {
        let documents = brought.documents()?;
        let (settings, values) = Settings::of_workspace(&documents)?;
        let bases = Bases { workspace: place.workspace.clone(), home: place.home.clone() };
        if let Err(errors) = Policy::compile(settings.rules.clone(), &bases) {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            return Err(usage(lines.join("\n")));
        }
        let others = brought.others().map(|file| (file.path.clone(), file.bytes.len())).collect();
        let Listed { mut servers, mut odd } = brought.servers()?;
        for (name, table) in settings.mcp.servers.iter().filter(|(_, table)| table.is_whole()) {
            match table.server(name) {
                Ok(server) => servers.push(server),
                Err(why) => odd.push((name.clone(), why)),
            }
        }
        Ok(Outline { settings, values, servers, odd, others })
    }

    /// For people. Nothing in it can move the cursor, hide, or look like a line of ours.
    pub(crate) fn text(&self, workspace: &Path) -> String {
        let mut lines = Vec::new();
        let rules = &self.settings.rules;
        for (word, list) in [("deny", &rules.deny), ("ask", &rules.ask), ("allow", &rules.allow)] {
            lines.extend(list.iter().map(|rule| (word, self::rule(rule, workspace))));
        }
        lines.extend(self.values.iter().map(|told| ("sets", format!("{} = {}", told.key, told.text))));
        for hooks in &self.settings.hooks {
            lines.extend(hook_lines(hooks).into_iter().map(|line| ("hook", line)));
        }
        lines.extend(self.servers.iter().map(|server| ("server", self::server(server))));
        lines.extend(self.others.iter().map(|(path, bytes)| ("file", format!("{path} ({bytes} bytes)"))));
        let mut text = listed("Once it is trusted, this counts:", &lines);
        let ignored: Vec<_> = self.ignored().map(|words| ("not", words)).collect();
        if !ignored.is_empty() {
            text.push_str(&listed("This does not count, trusted or not:", &ignored));
        }
        text
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let rules = &self.settings.rules;
        let list = |rules: &[Written]| -> Vec<Value> {
            let one = |rule: &Written| json!({ "rule": rule.text, "layer": rule.layer.to_string(), "at": rule.origin.to_string() });
            rules.iter().map(one).collect()
        };
        let ignored: Vec<String> = self.ignored().collect();
        json!({
            "rules": { "allow": list(&rules.allow), "ask": list(&rules.ask), "deny": list(&rules.deny) },
            "values": self.values.iter().map(|told| json!({ "key": told.key, "value": told.text })).collect::<Vec<_>>(),
            "hooks": self.settings.hooks.iter().flat_map(hook_lines).collect::<Vec<_>>(),
            "servers": self.servers.iter().map(server_json).collect::<Vec<_>>(),
            "files": self.others.iter().map(|(path, bytes)| json!({ "path": path, "bytes": bytes })).collect::<Vec<_>>(),
            "ignored": ignored,
        })
    }

    fn ignored(&self) -> impl Iterator<Item = String> {
        let odd = self.odd.iter().map(|(name, why)| format!("server `{name}`: {why}"));
        self.settings.notes.iter().map(ToString::to_string).chain(odd)
    }
}

fn listed(heading: &str, lines: &[(&str, String)]) -> String {
    let mut text = format!("{heading}\n");
    if lines.is_empty() {
        text.push_str("  nothing\n");
    }
    for (word, line) in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {word:<7} {}", revealed_line(line));
    }
    text
}

fn rule(rule: &Written, workspace: &Path) -> String {
    let at = match &rule.origin {
        Origin::File { path, line } => {
            format!("{}:{line}", path.strip_prefix(workspace).unwrap_or(path).display())
        }
        origin => origin.to_string(),
    };
    let layer = match rule.layer.to_string() {
        layer if layer == "global" => String::new(),
        layer => format!(" for {layer}"),
    };
    let reason = rule.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{}{layer} ({at}){reason}", rule.text)
}

/// A line for each hook, with the whole of what it runs.
fn hook_lines(hooks: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (event, groups) in hooks.as_object().into_iter().flatten() {
        let Some(groups) = groups.as_array() else {
            lines.push(format!("{event}: {groups}"));
            continue;
        };
        for group in groups {
            let matcher = group.get("matcher").and_then(Value::as_str).filter(|matcher| !matcher.is_empty());
            let head = format!("{event} {}", matcher.unwrap_or("*"));
            match group.get("hooks").and_then(Value::as_array) {
                Some(hooks) => lines.extend(hooks.iter().map(|hook| format!("{head}: {}", handler(hook)))),
                None => lines.push(format!("{head}: {}", handler(group))),
            }
        }
    }
    lines
}

fn handler(hook: &Value) -> String {
    match hook.get("command").and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        // Of a kind that is not known here: all of it.
        None => hook.to_string(),
    }
}

fn server(server: &McpServer) -> String {
    let names = |what: &str, names: Vec<&String>| match names.as_slice() {
        [] => String::new(),
        names => {
            format!(" ({what} {})", names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", "))
        }
    };
    match &server.transport {
        Transport::Stdio { command, args, env, cwd } => {
            let quoted = |arg: &String| {
                if arg.contains(char::is_whitespace) { format!("{arg:?}") } else { arg.clone() }
            };
            let words: Vec<String> = [command].into_iter().chain(args).map(quoted).collect();
            let place = cwd.as_ref().map(|cwd| format!(" (in {cwd})")).unwrap_or_default();
            format!("{}: {}{place}{}", server.name, words.join(" "), names("env", env.keys().collect()))
        }
        Transport::Remote { url, headers, .. } => {
            format!("{}: {url}{}", server.name, names("headers", headers.keys().collect()))
        }
    }
}

fn server_json(server: &McpServer) -> Value {
    match &server.transport {
        Transport::Stdio { command, args, env, cwd } => {
            let env: Vec<_> = env.keys().collect();
            json!({ "name": server.name, "command": command, "args": args, "env": env, "cwd": cwd })
        }
        Transport::Remote { url, headers, kind } => {
            let headers: Vec<_> = headers.keys().collect();
            json!({ "name": server.name, "url": url, "headers": headers, "type": kind.word() })
        }
    }
}

impl Brought {
    /// The difference to what was trusted before; empty if nothing was.
    pub(crate) fn diff(&self) -> String {
        let Some(before) = self.standing.trusted() else { return String::new() };
        let one = |(path, change): (String, Change)| {
            let bytes =
                |bundle: &Bundle| bundle.find(&path).map(|file| file.bytes.clone()).unwrap_or_default();
            diff_of_one(&path, change, &bytes(&before.bundle), &bytes(&self.bundle))
        };
        self.changes().into_iter().map(one).collect()
    }
}

fn diff_of_one(path: &str, change: Change, old: &[u8], new: &[u8]) -> String {
    let path = revealed_line(path);
    match (str::from_utf8(old), str::from_utf8(new)) {
        // An empty file that comes or goes has no lines that could differ.
        (Ok(old), Ok(new)) if old != new => unified(&path, old, new),
        _ => format!("{path}: {}, {} bytes before, {} now\n", change.word(), old.len(), new.len()),
    }
}
