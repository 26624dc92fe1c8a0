//! The servers of `.mcp.json`, in the form that other clients write, and of `[mcp.servers]`.
//!
//! Values keep their `${VAR}` until a server starts: what is shown and what is trusted is what stands in the file, and a
//! secret of the environment is in nothing that is kept.

use std::{collections::BTreeMap, num::NonZeroUsize};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Document;
use crate::{draw::plain_line, exit::usage};

/// What `[mcp]` says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Mcp {
    /// Whether results of servers say that they are data.
    pub(crate) data_reminder: Option<bool>,
    /// The servers, or parts of them, by name.
    pub(crate) servers: BTreeMap<String, ServerTable>,
    /// Entries of a list that make no server, and why.
    #[serde(skip)]
    pub(crate) odd: BTreeMap<String, String>,
}

/// What a list of servers has. One entry that is odd is left out alone: the file is often another client's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Listed {
    pub(crate) servers: Vec<McpServer>,
    /// Entries that make no server, and why.
    pub(crate) odd: Vec<(String, String)>,
}

/// A server, or a part of one, as it is written. What is said of one server at several levels adds up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServerTable {
    #[serde(flatten)]
    reach: Reach,
    /// Whether it is left out.
    pub(crate) disabled: Option<bool>,
    /// Whether its process is confined.
    pub(crate) sandbox: Option<bool>,
    /// Whether it may ask for completions.
    pub(crate) sampling: Option<bool>,
    /// Whether one connection serves all.
    pub(crate) shared: Option<bool>,
    /// Whether a result that breaks its own schema is a failure.
    pub(crate) strict_output: Option<bool>,
    /// The tools whose schemas are always shown.
    pub(crate) always_load: Option<Vec<String>>,
    /// The tools that may be called twice.
    pub(crate) idempotent: Option<Vec<String>>,
    /// Seconds until it has said who it is,
    pub(crate) start_s: Option<NonZeroUsize>,
    /// for an answer without a sign of life,
    pub(crate) idle_s: Option<NonZeroUsize>,
    /// for an answer in any case,
    pub(crate) total_s: Option<NonZeroUsize>,
    /// and until it is ended because nobody needs it; 0 for never.
    pub(crate) unused_s: Option<usize>,
    pub(crate) tools: ToolLists,
    pub(crate) auth: AuthTable,
}

/// Who haft is to the authorization server of a server that wants tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AuthTable {
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<String>,
    pub(crate) client_metadata_url: Option<String>,
    /// What to ask for, instead of what the server says.
    pub(crate) scopes: Option<Vec<String>>,
    /// Whether the id and the secret are enough, without a person.
    pub(crate) client_credentials: Option<bool>,
    /// The port that people come back to.
    pub(crate) callback_port: Option<u16>,
    /// Whether the authorization server may be at a private address.
    pub(crate) allow_private: Option<bool>,
}

impl AuthTable {
    fn and(self, later: AuthTable) -> AuthTable {
        AuthTable {
            client_id: later.client_id.or(self.client_id),
            client_secret: later.client_secret.or(self.client_secret),
            client_metadata_url: later.client_metadata_url.or(self.client_metadata_url),
            scopes: later.scopes.or(self.scopes),
            client_credentials: later.client_credentials.or(self.client_credentials),
            callback_port: later.callback_port.or(self.callback_port),
            allow_private: later.allow_private.or(self.allow_private),
        }
    }
}

/// Which of a server's tools are offered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ToolLists {
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) deny: Vec<String>,
}

/// How it is reached: said as a whole, so that nobody's arguments meet another's command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
struct Reach {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// A server that could be started or reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct McpServer {
    pub(crate) name: String,
    pub(crate) transport: Transport,
    /// The rest of what is said of it.
    pub(crate) table: ServerTable,
}

/// How a server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Transport {
    /// A process, by its stdin and stdout.
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String>, cwd: Option<String> },
    /// A URL.
    Remote { url: String, headers: BTreeMap<String, String>, kind: Kind },
}

/// How a URL is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Streamable HTTP.
    Http,
    /// The older server-sent events.
    Sse,
    /// A WebSocket.
    WebSocket,
}

impl Kind {
    /// The word for it in settings.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Http => "http",
            Kind::Sse => "sse",
            Kind::WebSocket => "ws",
        }
    }
}

impl Mcp {
    pub(super) fn and(mut self, later: Mcp) -> Mcp {
        for (name, table) in later.servers {
            let before = self.servers.remove(&name).unwrap_or_default();
            self.servers.insert(name, before.and(table));
        }
        self.odd.extend(later.odd);
        Mcp { data_reminder: later.data_reminder.or(self.data_reminder), ..self }
    }

    /// Without tables in which nothing is left.
    pub(super) fn saying_something(mut self) -> Mcp {
        self.servers.retain(|_, table| *table != ServerTable::default());
        self
    }

    /// Whether somebody has said how a server of this name is reached.
    pub(super) fn reaches(&self, name: &str) -> bool {
        self.servers.get(name).is_some_and(ServerTable::is_whole)
    }

    /// These, and the servers of a list that are not there yet. What is said here of one of them holds.
    pub(crate) fn beside(self, listed: Listed) -> Mcp {
        let servers = listed.servers.into_iter().map(|server| (server.name, server.table)).collect();
        Mcp { servers, odd: listed.odd.into_iter().collect(), ..Mcp::default() }.and(self)
    }

    /// The servers, each whole or why it is none. What somebody sets about an odd entry makes no server of it, unless it
    /// says how that is reached.
    pub(crate) fn made(&self) -> impl Iterator<Item = (&String, Result<McpServer, String>)> {
        let is_odd = |name: &String| self.odd.contains_key(name) && !self.reaches(name);
        let odd = self.odd.iter().filter(move |(name, _)| is_odd(name));
        let odd = odd.map(|(name, why)| (name, Err(why.clone())));
        let others = self.servers.iter().filter(move |(name, _)| !is_odd(name));
        odd.chain(others.map(|(name, table)| (name, table.made(name))))
    }
}

impl ServerTable {
    pub(crate) fn and(mut self, later: ServerTable) -> ServerTable {
        self.tools.deny.extend(later.tools.deny.iter().cloned());
        ServerTable {
            reach: if later.is_whole() { later.reach } else { self.reach },
            disabled: later.disabled.or(self.disabled),
            sandbox: later.sandbox.or(self.sandbox),
            sampling: later.sampling.or(self.sampling),
            shared: later.shared.or(self.shared),
            strict_output: later.strict_output.or(self.strict_output),
            always_load: later.always_load.or(self.always_load),
            idempotent: later.idempotent.or(self.idempotent),
            start_s: later.start_s.or(self.start_s),
            idle_s: later.idle_s.or(self.idle_s),
            total_s: later.total_s.or(self.total_s),
            unused_s: later.unused_s.or(self.unused_s),
            tools: ToolLists { allow: later.tools.allow.or(self.tools.allow), deny: self.tools.deny },
            auth: self.auth.and(later.auth),
        }
    }

    /// Whether it says how the server is reached. Otherwise it is about one that somebody else speaks of.
    pub(crate) fn is_whole(&self) -> bool {
        self.reach.command.is_some() || self.reach.url.is_some()
    }

    /// The server, unless it is switched off or makes no sense.
    fn made(&self, name: &str) -> Result<McpServer, String> {
        match self.disabled {
            Some(true) => Err("it is disabled".to_owned()),
            _ => self.server(name),
        }
    }

    /// The server that it describes, or what is wrong with it.
    pub(crate) fn server(&self, name: &str) -> Result<McpServer, String> {
        let transport = self.reach.transport()?;
        Ok(McpServer { name: name.to_owned(), transport, table: self.clone() })
    }
}

const KINDS: &str = "stdio, http, sse and ws";

impl Reach {
    fn transport(&self) -> Result<Transport, String> {
        let remote = |kind| self.remote(kind);
        match (self.kind.as_deref(), &self.command, &self.url) {
            (None | Some("stdio"), Some(command), _) => Ok(Transport::Stdio {
                command: command.clone(),
                args: self.args.clone(),
                env: self.env.clone(),
                cwd: self.cwd.clone(),
            }),
            (None, None, Some(url)) if url.starts_with("ws:") || url.starts_with("wss:") => {
                remote(Kind::WebSocket)
            }
            (None | Some("http" | "streamable-http" | "streamableHttp"), _, Some(_)) => remote(Kind::Http),
            (Some("sse"), _, Some(_)) => remote(Kind::Sse),
            (Some("ws" | "websocket"), _, Some(_)) => remote(Kind::WebSocket),
            (Some(kind), ..)
                if !["stdio", "http", "sse", "streamable-http", "streamableHttp", "ws", "websocket"]
                    .contains(&kind) =>
            {
                Err(format!("there is no type `{kind}`; there are {KINDS}"))
            }
            _ => Err("it has neither a `command` nor a `url`".to_owned()),
        }
    }

    fn remote(&self, kind: Kind) -> Result<Transport, String> {
        let url = self.url.clone().ok_or("it has no `url`")?;
        Ok(Transport::Remote { url, headers: self.headers.clone(), kind })
    }
}

#[cfg(test)]
impl McpServer {
    /// All texts in it that may have variables.
    pub(crate) fn texts(&self) -> Vec<&str> {
        match &self.transport {
            Transport::Stdio { command, args, env, cwd } => {
                [command].into_iter().chain(args).chain(env.values()).chain(cwd).map(String::as_str).collect()
            }
            Transport::Remote { url, headers, .. } => {
                [url].into_iter().chain(headers.values()).map(String::as_str).collect()
            }
        }
    }
}

/// The servers that a file lists.
pub(crate) fn servers(document: &Document) -> anyhow::Result<Listed> {
    let wrong = |what: String| usage(format!("{}: {}", document.path.display(), plain_line(what)));
    let root: Value = serde_json::from_str(&document.text).map_err(|err| wrong(err.to_string()))?;
    let Some(listed) = root.get("mcpServers") else { return Ok(Listed::default()) };
    let entries =
        listed.as_object().ok_or_else(|| wrong("`mcpServers` is an object of servers by name".to_owned()))?;
    let mut listed = Listed::default();
    for (name, value) in entries {
        match server(name, value) {
            Ok(server) => listed.servers.push(server),
            Err(why) => listed.odd.push((name.clone(), plain_line(why))),
        }
    }
    Ok(listed)
}

fn server(name: &str, value: &Value) -> Result<McpServer, String> {
    let fields = value.as_object().ok_or("it is no object")?;
    let reach = Reach {
        command: optional(fields, "command")?,
        args: list(fields, "args")?,
        env: pairs(fields, "env")?,
        cwd: optional(fields, "cwd")?,
        // As Windsurf and some others write it.
        url: optional(fields, "url")?.or(optional(fields, "serverUrl")?),
        headers: pairs(fields, "headers")?,
        kind: optional(fields, "type")?,
    };
    let table = ServerTable {
        reach,
        disabled: fields.get("disabled").and_then(Value::as_bool),
        idle_s: timeout(fields),
        ..ServerTable::default()
    };
    table.server(name)
}

/// Clients differ in what the figure means: seconds to some, thousandths to others. Nobody waits for a whole quarter of an hour
/// without a sign of life, nor for less than a second.
fn timeout(fields: &Map<String, Value>) -> Option<NonZeroUsize> {
    let figure = fields.get("timeout").and_then(Value::as_u64)?;
    let seconds = if figure >= 1000 { figure / 1000 } else { figure };
    NonZeroUsize::new(usize::try_from(seconds).ok()?)
}

fn list(fields: &Map<String, Value>, name: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{name}` is a list of texts");
    let Some(value) = fields.get(name) else { return Ok(Vec::new()) };
    let text = |text: &Value| text.as_str().map(str::to_owned).ok_or_else(wrong);
    value.as_array().ok_or_else(wrong)?.iter().map(text).collect()
}

fn optional(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(|text| Some(text.to_owned())).ok_or_else(|| format!("`{name}` is a text"))
}

fn pairs(fields: &Map<String, Value>, name: &str) -> Result<BTreeMap<String, String>, String> {
    let wrong = || format!("`{name}` is an object of texts");
    let Some(value) = fields.get(name) else { return Ok(BTreeMap::new()) };
    let pairs = value.as_object().ok_or_else(wrong)?.iter();
    pairs.map(|(key, value)| Ok((key.clone(), plain_text(value).ok_or_else(wrong)?))).collect()
}

/// A variable is a text, whatever kind of value somebody writes for it: `"PORT": 3000`.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
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

    fn read(text: &str) -> anyhow::Result<Listed> {
        servers(&Document { path: ".mcp.json".into(), text: text.to_owned() })
    }

    #[test]
    fn servers_are_processes_or_urls() {
        let found = read(
            r#"{ "mcpServers": {
                "files": { "command": "npx", "args": ["-y", "files-server"], "env": { "TOKEN": "${TOKEN}" } },
                "docs": { "type": "http", "url": "https://docs.example/mcp", "headers": { "X-Key": "${KEY:-none}" } },
                "old": { "type": "sse", "url": "https://old.example/sse", "timeout": 5 },
                "live": { "url": "wss://live.example/mcp", "timeout": 20000, "disabled": true }
            } }"#,
        )
        .unwrap()
        .servers;
        let names: Vec<&str> = found.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["files", "docs", "old", "live"]);
        assert_eq!(found[0].texts(), ["npx", "-y", "files-server", "${TOKEN}"]);
        let kind = |at: usize| match &found[at].transport {
            Transport::Remote { kind, .. } => *kind,
            Transport::Stdio { .. } => panic!("a process"),
        };
        assert_eq!((kind(1), kind(2), kind(3)), (Kind::Http, Kind::Sse, Kind::WebSocket));
        let idle = |at: usize| found[at].table.idle_s.map(NonZeroUsize::get);
        assert_eq!((idle(0), idle(2), idle(3)), (None, Some(5), Some(20)));
        assert_eq!(found[3].table.disabled, Some(true));
        assert_eq!(read("{}").unwrap(), Listed::default());
    }

    #[test]
    fn what_is_no_list_says_why() {
        for (text, expected) in [
            ("[", ".mcp.json: EOF while parsing a list at line 1 column 1"),
            (r#"{"mcpServers":[]}"#, ".mcp.json: `mcpServers` is an object of servers by name"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn an_odd_entry_is_left_out_alone_and_says_why() {
        for (entry, expected) in [
            ("{}", "it has neither a `command` nor a `url`"),
            ("3", "it is no object"),
            (
                r#"{"type":"carrier","url":"u"}"#,
                "there is no type `carrier`; there are stdio, http, sse and ws",
            ),
            (r#"{"command":"c","args":"one"}"#, "`args` is a list of texts"),
            (r#"{"command":"c","args":[1]}"#, "`args` is a list of texts"),
            (r#"{"command":"c","env":{"A":[]}}"#, "`env` is an object of texts"),
        ] {
            let listed =
                read(&format!(r#"{{"mcpServers":{{"x":{entry},"good":{{"command":"g"}}}}}}"#)).unwrap();
            assert_eq!(listed.odd, [("x".to_owned(), expected.to_owned())]);
            assert_eq!(listed.servers.len(), 1, "{entry}");
        }
    }

    #[test]
    fn figures_of_variables_are_texts_and_other_clients_words_for_a_url_are_known() {
        let listed = read(
            r#"{"mcpServers":{"a":{"command":"c","env":{"PORT":3000,"DEBUG":true}},"b":{"serverUrl":"https://b/mcp"}}}"#,
        );
        let listed = listed.unwrap().servers;
        assert_eq!(listed[0].texts(), ["c", "true", "3000"]);
        assert_eq!(listed[1].texts(), ["https://b/mcp"]);
    }

    #[test]
    fn settings_about_an_odd_entry_make_no_server_of_it_and_settings_of_a_whole_one_do() {
        let listed = read(r#"{"mcpServers":{"s":{},"t":{}}}"#).unwrap();
        let set: Mcp = toml::from_str("servers.s.idle_s = 3\nservers.t.command = \"mine\"").unwrap();
        let both = set.beside(listed);
        let made: Vec<(&str, bool)> = both.made().map(|(name, made)| (name.as_str(), made.is_ok())).collect();
        assert_eq!(made, [("s", false), ("t", true)]);
    }

    #[test]
    fn what_is_said_of_a_server_adds_up_but_how_it_is_reached_is_one_word() {
        let table = |text: &str| -> ServerTable { toml::from_str(text).unwrap() };
        let below = table("command = \"a\"\nargs = [\"--all\"]\nidle_s = 5\ntools.deny = [\"x\"]");
        let part = below.clone().and(table("idle_s = 7\ntools.deny = [\"y\"]"));
        assert_eq!(part.server("s").unwrap().texts(), ["a", "--all"]);
        assert_eq!((part.idle_s.map(NonZeroUsize::get), part.tools.deny.len()), (Some(7), 2));
        let other = below.and(table("command = \"b\""));
        assert_eq!(other.server("s").unwrap().texts(), ["b"], "nobody's arguments meet another's command");
        assert!(table("idle_s = 7").server("s").is_err());
    }

    #[test]
    fn a_list_does_not_change_what_is_set() {
        let listed = read(r#"{"mcpServers":{"s":{"command":"theirs"},"t":{"command":"t"}}}"#).unwrap();
        let set: Mcp = toml::from_str("servers.s.command = \"mine\"\nservers.t.disabled = true").unwrap();
        let both = set.beside(listed);
        assert_eq!(both.servers["s"].server("s").unwrap().texts(), ["mine"]);
        assert_eq!(both.servers["t"].server("t").unwrap().texts(), ["t"]);
        assert_eq!(both.servers["t"].disabled, Some(true));
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
