//! Where each client keeps its servers, and in which form.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A program that can use haft.
pub(super) struct Client {
    /// What is typed for it.
    pub(super) name: &'static str,
    /// The file, from the place that it is in.
    pub(super) file: &'static str,
    /// Which place that is.
    pub(super) base: Base,
    pub(super) form: Form,
}

/// Where a client's files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// In the project: the configuration is for this one.
    Workspace,
    /// In the home: it is for all of them.
    Home,
}

/// How a client writes a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `{"mcpServers": {"haft": {"command": …, "args": […]}}}`, which most have.
    McpServers,
    /// The same under `servers`, with a type.
    Servers,
    /// The same under `context_servers`.
    ContextServers,
    /// Under `mcp`, with the command as one list.
    Mcp,
    /// A table in TOML: `[mcp_servers.haft]`.
    Toml,
}

use Base::{Home, Workspace};
use Form::{ContextServers, Mcp, McpServers, Servers, Toml};

const ALL: [Client; 9] = [
    Client { name: "claude", file: ".mcp.json", base: Workspace, form: McpServers },
    Client {
        name: "claude-desktop",
        file: ".config/Claude/claude_desktop_config.json",
        base: Home,
        form: McpServers,
    },
    Client { name: "cursor", file: ".cursor/mcp.json", base: Home, form: McpServers },
    Client { name: "vscode", file: ".vscode/mcp.json", base: Workspace, form: Servers },
    Client { name: "codex", file: ".codex/config.toml", base: Home, form: Toml },
    Client { name: "gemini", file: ".gemini/settings.json", base: Home, form: McpServers },
    Client { name: "windsurf", file: ".codeium/windsurf/mcp_config.json", base: Home, form: McpServers },
    Client { name: "zed", file: ".config/zed/settings.json", base: Home, form: ContextServers },
    Client { name: "opencode", file: ".config/opencode/opencode.json", base: Home, form: Mcp },
];

/// What can be typed.
pub(super) fn names() -> [&'static str; ALL.len()] {
    ALL.map(|client| client.name)
}

/// The client of this name.
pub(super) fn named(name: &str) -> Option<Client> {
    ALL.into_iter().find(|client| client.name == name)
}

impl Client {
    pub(super) fn path(&self, workspace: &Path, home: Option<&Path>) -> Option<PathBuf> {
        let base = match self.base {
            Workspace => Some(workspace),
            Home => home,
        };
        base.map(|base| base.join(self.file))
    }
}

impl Form {
    /// The key under which servers stand.
    pub(super) fn key(self) -> &'static str {
        match self {
            McpServers => "mcpServers",
            Servers => "servers",
            ContextServers => "context_servers",
            Mcp => "mcp",
            Toml => "mcp_servers",
        }
    }

    /// A server that is this command.
    pub(super) fn entry(self, command: &str, args: &[String]) -> Value {
        match self {
            McpServers | Toml | ContextServers => json!({ "command": command, "args": args }),
            Servers => json!({ "type": "stdio", "command": command, "args": args }),
            Mcp => {
                let whole: Vec<&str> = [command].into_iter().chain(args.iter().map(String::as_str)).collect();
                json!({ "type": "local", "command": whole, "enabled": true })
            }
        }
    }
}
