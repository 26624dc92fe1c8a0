//! haft as the server of others' clients: `haft mcp` on stdio and by HTTP. Each lists the tools and looks for a file.

use std::{path::PathBuf, process::Command};

use super::{
    Case, Trouble,
    stage::{Stage, path},
};
use crate::{kit::PYTHON, serving::Serving};

pub(super) const CASES: [Case; 8] = [
    Case { name: "Python SDK 2 on stdio", run: |stage| on_stdio(stage, Client::Python) },
    Case { name: "Python SDK 2 by HTTP", run: |stage| by_http(stage, Client::Python) },
    Case { name: "TypeScript SDK 1 on stdio", run: |stage| on_stdio(stage, Client::FirstScript) },
    Case { name: "TypeScript SDK 1 by HTTP", run: |stage| by_http(stage, Client::FirstScript) },
    Case { name: "TypeScript SDK 2 on stdio", run: |stage| on_stdio(stage, Client::SecondScript) },
    Case { name: "TypeScript SDK 2 by HTTP", run: |stage| by_http(stage, Client::SecondScript) },
    Case { name: "inspector on stdio", run: |stage| on_stdio(stage, Client::Inspector) },
    Case { name: "inspector by HTTP", run: |stage| by_http(stage, Client::Inspector) },
];

/// What is looked for: the file that every workspace here has.
const EXPECTED: &str = "notes.md";

#[derive(Clone, Copy)]
enum Client {
    Python,
    FirstScript,
    SecondScript,
    Inspector,
}

fn on_stdio(stage: &Stage, client: Client) -> Result<(), Trouble> {
    let launcher = launcher(stage, &["mcp"])?;
    let mut command = client.command(stage)?;
    match client {
        Client::Inspector => command.arg(&launcher).args(TOOL_OF_INSPECTOR),
        _ => command.arg("stdio").arg(&launcher),
    };
    client.checks(stage, command.current_dir(stage.workspace()))
}

fn by_http(stage: &Stage, client: Client) -> Result<(), Trouble> {
    let serving = Serving::start(&mut stage.haft(&["mcp", "--listen", "127.0.0.1:0", "--no-token"]))?;
    let mut command = client.command(stage)?;
    match client {
        Client::Inspector => command.args([&serving.address, "--transport", "http"]).args(TOOL_OF_INSPECTOR),
        _ => command.args(["http", &serving.address]),
    };
    client.checks(stage, &mut command)
}

const TOOL_OF_INSPECTOR: [&str; 6] =
    ["--method", "tools/call", "--tool-name", "Glob", "--tool-arg", "pattern=*.md"];

impl Client {
    /// Runs it: it has to find the file, in the newest era that it knows.
    fn checks(self, stage: &Stage, command: &mut Command) -> Result<(), Trouble> {
        let said = stage.heard(command, EXPECTED)?;
        match self.era().filter(|era| !said.contains(era)) {
            Some(era) => Err(Trouble::Failed(format!("it was not spoken to in {era}: {said}"))),
            None => Ok(()),
        }
    }

    /// The revision that a client prints which knows several.
    fn era(self) -> Option<&'static str> {
        match self {
            Client::Python | Client::SecondScript => Some("2026-07-28"),
            Client::FirstScript | Client::Inspector => None,
        }
    }

    /// The client, still without the server that it is for.
    fn command(self, stage: &Stage) -> Result<Command, Trouble> {
        let script = |package: &str, name: &str, text: &str| {
            stage.kit.script(package, "package.json").map_err(Trouble::Skipped)?;
            let script = stage.script(name, text)?;
            stage.kit.node_command(&script, &[]).map_err(Trouble::Skipped)
        };
        match self {
            Client::Python => {
                let python = stage.kit.python(&PYTHON, "python").map_err(Trouble::Skipped)?;
                let mut command = Command::new(python);
                command.arg(stage.script("client.py", include_str!("peers/client.py"))?);
                Ok(command)
            }
            Client::FirstScript => {
                script("@modelcontextprotocol/sdk", "client_v1.mjs", include_str!("peers/client_v1.mjs"))
            }
            Client::SecondScript => {
                script("@modelcontextprotocol/client", "client_v2.mjs", include_str!("peers/client_v2.mjs"))
            }
            Client::Inspector => {
                let file = "clients/launcher/build/index.js";
                let launcher =
                    stage.kit.script("@modelcontextprotocol/inspector", file).map_err(Trouble::Skipped)?;
                stage.kit.node_command(&launcher, &["--cli"]).map_err(Trouble::Skipped)
            }
        }
    }
}

/// How deep haft is within haft, handed on if it is.
const DEPTH: &str = "${HAFT_MCP_WITHIN:+HAFT_MCP_WITHIN=$HAFT_MCP_WITHIN}";

/// `haft mcp`, with whatever stands around it, as one word: clients start servers in ways and environments of their own.
pub(super) fn launcher(stage: &Stage, words: &[&str]) -> Result<PathBuf, Trouble> {
    let command = stage.haft(words);
    let quote = |text: &std::ffi::OsStr| format!("'{}'", text.to_string_lossy().replace('\'', r"'\''"));
    let variables: Vec<String> = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quote(value?))))
        .collect();
    let words: Vec<String> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(quote).collect();
    let workspace = path(&stage.workspace());
    let text = format!(
        "#!/bin/sh\ncd '{workspace}' && exec env -i {DEPTH} {} {}\n",
        variables.join(" "),
        words.join(" ")
    );
    let file = stage.workspace().with_file_name("haft-mcp");
    std::fs::write(&file, text)?;
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(file)
}
