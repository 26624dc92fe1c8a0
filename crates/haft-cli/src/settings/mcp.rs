//! The servers of `.mcp.json`, in the form that other clients write.
//!
//! Values keep their `${VAR}` until a server starts: what is shown and what is trusted is what stands in the file, and a
//! secret of the environment is in nothing that is kept.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Document;
use crate::{draw::plain_line, exit::usage};

/// A server that could be started or reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct McpServer {
    pub(crate) name: String,
    pub(crate) transport: Transport,
}

/// How a server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Transport {
    /// A process, by its stdin and stdout.
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String> },
    /// A URL; streamable HTTP, or the older server-sent events.
    Http { url: String, headers: BTreeMap<String, String>, sse: bool },
}

impl McpServer {
    /// All texts in it that may have variables.
    pub(crate) fn texts(&self) -> Vec<&str> {
        match &self.transport {
            Transport::Stdio { command, args, env } => {
                [command].into_iter().chain(args).chain(env.values()).map(String::as_str).collect()
            }
            Transport::Http { url, headers, .. } => {
                [url].into_iter().chain(headers.values()).map(String::as_str).collect()
            }
        }
    }
}

/// The servers that a file lists.
pub(crate) fn servers(document: &Document) -> anyhow::Result<Vec<McpServer>> {
    let wrong = |what: String| usage(format!("{}: {}", document.path.display(), plain_line(what)));
    let root: Value = serde_json::from_str(&document.text).map_err(|err| wrong(err.to_string()))?;
    let Some(listed) = root.get("mcpServers") else { return Ok(Vec::new()) };
    let listed =
        listed.as_object().ok_or_else(|| wrong("`mcpServers` is an object of servers by name".to_owned()))?;
    let read = |(name, value): (&String, &Value)| {
        server(name, value).map_err(|what| wrong(format!("server `{name}`: {what}")))
    };
    listed.iter().map(read).collect()
}

fn server(name: &str, value: &Value) -> Result<McpServer, String> {
    let fields = value.as_object().ok_or("it is no object")?;
    let kind = fields.get("type").and_then(Value::as_str);
    let transport = match (kind, fields.contains_key("command"), fields.contains_key("url")) {
        (None | Some("stdio"), true, _) => stdio(fields)?,
        (None | Some("http" | "streamable-http" | "streamableHttp"), false, true) => http(fields, false)?,
        (Some("sse"), _, true) => http(fields, true)?,
        (Some("http" | "streamable-http" | "streamableHttp"), _, true) => http(fields, false)?,
        (Some(kind), ..)
            if !["stdio", "http", "sse", "streamable-http", "streamableHttp"].contains(&kind) =>
        {
            return Err(format!("there is no type `{kind}`; there are stdio, http and sse"));
        }
        _ => return Err("it has neither a `command` nor a `url`".to_owned()),
    };
    Ok(McpServer { name: name.to_owned(), transport })
}

fn stdio(fields: &Map<String, Value>) -> Result<Transport, String> {
    let args = match fields.get("args") {
        None => Vec::new(),
        Some(args) => {
            let list = args.as_array().ok_or("`args` is a list of texts")?;
            let text = |arg: &Value| arg.as_str().map(str::to_owned).ok_or("`args` is a list of texts");
            list.iter().map(text).collect::<Result<_, _>>()?
        }
    };
    Ok(Transport::Stdio { command: text(fields, "command")?, args, env: pairs(fields, "env")? })
}

fn http(fields: &Map<String, Value>, sse: bool) -> Result<Transport, String> {
    Ok(Transport::Http { url: text(fields, "url")?, headers: pairs(fields, "headers")?, sse })
}

fn text(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    let text = fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| format!("`{name}` is a text"))
}

fn pairs(fields: &Map<String, Value>, name: &str) -> Result<BTreeMap<String, String>, String> {
    let wrong = || format!("`{name}` is an object of texts");
    let Some(value) = fields.get(name) else { return Ok(BTreeMap::new()) };
    let pairs = value.as_object().ok_or_else(wrong)?.iter();
    pairs.map(|(key, value)| Ok((key.clone(), value.as_str().ok_or_else(wrong)?.to_owned()))).collect()
}

/// The text with `${VAR}` and `${VAR:-default}` filled in, or the variable that is missing. What has another form stays.
pub(crate) fn expand(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let (mut expanded, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, inside, after)) = next_braces(rest) {
        expanded.push_str(before);
        match filled(inside, &variable)? {
            Some(value) => expanded.push_str(&value),
            None => expanded.extend(["${", inside, "}"]),
        }
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// What is before, in and after the next `${…}`.
fn next_braces(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (inside, after) = rest.split_once('}')?;
    Some((before, inside, after))
}

/// The value of what stands in braces, `None` if it is no variable, or the name of the one that is missing.
fn filled(inside: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Option<String>, String> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    if !is_name(name) {
        return Ok(None);
    }
    // As a shell has it: `:-` also stands in for a variable that is empty.
    let value = variable(name).filter(|value| !value.is_empty() || default.is_none());
    value.or(default.map(str::to_owned)).map(Some).ok_or_else(|| name.to_owned())
}

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Vec<McpServer>> {
        servers(&Document { path: ".mcp.json".into(), text: text.to_owned() })
    }

    #[test]
    fn servers_are_processes_or_urls() {
        let found = read(
            r#"{ "mcpServers": {
                "files": { "command": "npx", "args": ["-y", "files-server"], "env": { "TOKEN": "${TOKEN}" } },
                "docs": { "type": "http", "url": "https://docs.example/mcp", "headers": { "X-Key": "${KEY:-none}" } },
                "old": { "type": "sse", "url": "https://old.example/sse", "timeout": 5 }
            } }"#,
        )
        .unwrap();
        let names: Vec<&str> = found.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["files", "docs", "old"]);
        assert_eq!(found[0].texts(), ["npx", "-y", "files-server", "${TOKEN}"]);
        assert!(matches!(&found[1].transport, Transport::Http { sse: false, .. }));
        assert!(matches!(&found[2].transport, Transport::Http { sse: true, .. }));
        assert_eq!(read("{}").unwrap(), []);
    }

    #[test]
    fn what_is_no_server_says_why() {
        for (text, expected) in [
            ("[", ".mcp.json: EOF while parsing a list at line 1 column 1"),
            (r#"{"mcpServers":[]}"#, ".mcp.json: `mcpServers` is an object of servers by name"),
            (r#"{"mcpServers":{"x":{}}}"#, ".mcp.json: server `x`: it has neither a `command` nor a `url`"),
            (
                r#"{"mcpServers":{"x":{"type":"ws","url":"u"}}}"#,
                ".mcp.json: server `x`: there is no type `ws`; there are stdio, http and sse",
            ),
            (
                r#"{"mcpServers":{"x":{"command":"c","args":[1]}}}"#,
                ".mcp.json: server `x`: `args` is a list of texts",
            ),
            (
                r#"{"mcpServers":{"x":{"command":"c","env":{"A":1}}}}"#,
                ".mcp.json: server `x`: `env` is an object of texts",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn variables_are_filled_in_once_and_defaults_stand_in() {
        let variable = |name: &str| match name {
            "HOME" => Some("/home/u".to_owned()),
            "TRICK" => Some("${HOME}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("plain $HOME", Ok("plain $HOME")),
            ("${HOME}/x", Ok("/home/u/x")),
            ("${NONE:-a}${EMPTY:-b}${EMPTY}", Ok("ab")),
            ("${TRICK}", Ok("${HOME}")),
            ("${not a name} ${", Ok("${not a name} ${")),
            ("${NONE}", Err("NONE")),
        ] {
            assert_eq!(expand(text, variable).as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
