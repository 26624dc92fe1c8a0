//! What is in the kit, and in which version.

/// From npm. Node itself comes first: the rest wants a newer one than distributions have.
pub(super) const NPM: [(&str, &str); 9] = [
    ("node", "22.23.3"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ("@modelcontextprotocol/server-memory", "2026.8.31"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("@modelcontextprotocol/sdk", "1.32.2"),
    ("@modelcontextprotocol/client", "2.4.0"),
    ("supergateway", "4.0.0"),
];

/// A Python environment and what is in it.
pub(crate) struct Venv {
    pub(crate) name: &'static str,
    pub(super) packages: &'static [(&'static str, &'static str)],
}

/// The client and the servers of today.
pub(crate) const PYTHON: Venv = Venv {
    name: "python",
    packages: &[("mcp", "2.3.0"), ("mcp-server-git", "2026.10.19"), ("mcp-server-time", "2026.10.19")],
};

/// The last line of the SDK that has a WebSocket server.
pub(crate) const PYTHON_V1: Venv =
    Venv { name: "python-v1", packages: &[("mcp", "1.30.0"), ("websockets", "17.4")] };

/// The model vendors' own clients, whose types judge requests.
pub(crate) const MODELS: Venv = Venv {
    name: "models",
    packages: &[("anthropic", "2.8.0"), ("openai", "3.49.0"), ("google-genai", "3.1.0")],
};

/// Agents to be compared with, from npm. What is built for this machine comes with the first.
pub(super) const AGENTS: [(&str, &str); 2] =
    [("@openai/codex", "0.169.0"), ("@mariozechner/pi-coding-agent", "0.73.1")];

/// A gateway to be compared with.
pub(crate) const PEERS: Venv = Venv { name: "peers", packages: &[("fastmcp", "4.1.2")] };

/// The same, built from its source, which takes long.
pub(super) const BUILT: [Built; 2] = [
    Built {
        package: "mcp-proxy",
        version: "0.6.0",
        program: "mcp-proxy",
        features: &["--no-default-features"],
    },
    Built { package: "agent-code", version: "0.30.0", program: "agent", features: &[] },
];

/// A program that cargo builds.
pub(super) struct Built {
    pub(super) package: &'static str,
    pub(super) version: &'static str,
    pub(super) program: &'static str,
    pub(super) features: &'static [&'static str],
}
