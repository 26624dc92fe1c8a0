//! The ways to the echo server: straight, through haft, through others who stand in the same place.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    client::{Client, Wire},
    echo::CHORE,
};
use crate::{
    haft::Haft,
    kit::{Kit, PEERS},
    serving::{Serving, free_port},
};

/// A way to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Direct,
    HaftLines,
    HaftHttp,
    /// With the journal, which the others have not.
    HaftRecorded,
    FastMcpLines,
    FastMcpHttp,
    McpProxyHttp,
}

impl Way {
    pub(super) const ALL: [Way; 7] = [
        Way::Direct,
        Way::HaftLines,
        Way::HaftHttp,
        Way::HaftRecorded,
        Way::FastMcpLines,
        Way::FastMcpHttp,
        Way::McpProxyHttp,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Direct => "direct",
            Way::HaftLines => "haft stdio→stdio",
            Way::HaftHttp => "haft HTTP→stdio",
            Way::HaftRecorded => "haft, with a journal",
            Way::FastMcpLines => "FastMCP stdio→stdio",
            Way::FastMcpHttp => "FastMCP HTTP→stdio",
            Way::McpProxyHttp => "mcp-proxy HTTP→stdio",
        }
    }
}

/// Where all of them begin, and what they are made of.
pub(super) struct Field<'a> {
    pub(super) haft: &'a Haft,
    place: PathBuf,
    kit: Kit,
    echo: PathBuf,
}

impl<'a> Field<'a> {
    pub(super) fn new(haft: &'a Haft, place: &Path) -> Result<Field<'a>> {
        // What was kept of servers in an earlier run would hide what the first start costs.
        let _ = fs::remove_dir_all(place);
        fs::create_dir_all(place)?;
        let place = place.canonicalize()?;
        Ok(Field { haft, place, kit: Kit::find()?, echo: env::current_exe()? })
    }

    /// A client at the beginning of a way, or why there is no such way here.
    pub(super) fn open(&self, way: Way) -> Result<Result<Client, String>> {
        let wire = match way {
            Way::Direct => Wire::lines(Command::new(&self.echo).args([CHORE, "1"])),
            Way::HaftLines => Wire::lines(&mut self.gateway("one", 1, 1, &["--no-journal"])?),
            Way::HaftRecorded => Wire::lines(&mut self.gateway("recorded", 1, 1, &[])?),
            Way::HaftHttp => {
                let words = ["--no-journal", "--listen", "127.0.0.1:0", "--no-token"];
                Wire::http(Serving::start(&mut self.gateway("one", 1, 1, &words)?)?)
            }
            Way::FastMcpLines => match self.fast_mcp(&[]) {
                Ok(mut command) => Wire::lines(&mut command),
                Err(why) => return Ok(Err(format!("{why:#}"))),
            },
            Way::FastMcpHttp => {
                let port = free_port()?;
                match self.fast_mcp(&["--transport", "http", "--port", &port.to_string()]) {
                    Ok(mut command) => at(&mut command, port, "mcp"),
                    Err(why) => return Ok(Err(format!("{why:#}"))),
                }
            }
            Way::McpProxyHttp => {
                let port = free_port()?;
                match self.kit.built("mcp-proxy") {
                    Ok(program) => {
                        at(self.quiet(&program).arg("--config").arg(self.mcp_proxy(port)?), port, "")
                    }
                    Err(why) => return Ok(Err(why)),
                }
            }
        };
        Client::meet(wire?).map(Ok).with_context(|| way.name())
    }

    /// `haft mcp` in front of so many servers, with a home of its own.
    pub(super) fn gateway(
        &self,
        home: &str,
        servers: usize,
        tools: usize,
        words: &[&str],
    ) -> Result<Command> {
        let home = self.place.join(home);
        let settings = home.join(".config/haft");
        fs::create_dir_all(&settings)?;
        let server = |number: usize| {
            let name = if number == 0 { "echo".to_owned() } else { format!("echo-{number}") };
            let tools = tools.to_string();
            format!("[mcp.servers.{name}]\ncommand = {:?}\nargs = [{CHORE:?}, {tools:?}]\n", self.echo)
        };
        fs::write(settings.join("haft.toml"), (0..servers).map(server).collect::<String>())?;
        let all: Vec<&str> = ["mcp", "--allow", "mcp__*"].into_iter().chain(words.iter().copied()).collect();
        Ok(self.haft.at(&home).command(&home, &all))
    }

    /// `fastmcp run`, which makes a proxy of a file that names servers.
    fn fast_mcp(&self, words: &[&str]) -> Result<Command> {
        let program = self.kit.python(&PEERS, "fastmcp").map_err(anyhow::Error::msg)?;
        let servers = self.place.join("fastmcp.json");
        fs::write(
            &servers,
            json!({ "mcpServers": { "echo": { "command": self.echo, "args": [CHORE, "1"] } } }).to_string(),
        )?;
        let mut command = self.quiet(&program);
        command.arg("run").arg(servers).args(["--no-banner", "--log-level", "ERROR"]).args(words);
        Ok(command)
    }

    fn mcp_proxy(&self, port: u16) -> Result<PathBuf> {
        let settings = self.place.join("mcp-proxy.toml");
        let text = format!(
            "[proxy]\nname = \"bench\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\
             [observability]\nlog_level = \"error\"\n\
             [[backends]]\nname = \"echo\"\ntransport = \"stdio\"\ncommand = {:?}\nargs = [{CHORE:?}, \"1\"]\n",
            self.echo
        );
        fs::write(&settings, text)?;
        Ok(settings)
    }

    /// A program of others, as little disturbed by the person's settings as haft is, and not slowed down by what it logs.
    fn quiet(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", &self.place).env("FASTMCP_CHECK_FOR_UPDATES", "off").current_dir(&self.place);
        command
    }
}

fn at(command: &mut Command, port: u16, path: &str) -> Result<Wire> {
    Wire::http(Serving::start_at(command, port, format!("http://127.0.0.1:{port}/{path}"))?)
}
