//! `haft doctor`: what works here.

use haft_shell::sandbox::{Confinement, Support};
use serde_json::json;

use crate::{
    cli::Options,
    exit::Exit,
    hooks,
    out::Out,
    place::Place,
    settings::{McpServer, Settings, expand},
    trust::{self, Brought, revealed_line},
};

/// What can be typed after `haft doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(options: &Options) -> anyhow::Result<Exit> {
    let place = Place::find(options.cwd.as_deref())?;
    let (support, level) = (Support::here(), Confinement::at(place.cwd).trial());
    let brought = trust::look(&place.workspace);
    let documents = if brought.counts(options.trust)? { brought.documents()? } else { Vec::new() };
    let hooks = hooks::config(&Settings::read(options.config.as_deref(), &documents)?.hooks);
    let mut out = Out::stdout();
    if options.json {
        let sandbox = json!({
            "works": level.is_ok(),
            "level": level.as_ref().map_or_else(ToString::to_string, ToString::to_string),
            "namespaces": support.namespaces.is_ok(),
            "landlock": support.landlock,
            "seccomp": support.seccomp,
            "proc": support.processes,
        });
        let trust = brought.standing.word();
        let (servers, hooks) = (servers_json(&brought), hooks::listed(&hooks));
        out.json(&json!({ "sandbox": sandbox, "trust": trust, "servers": servers, "hooks": hooks }))?;
    } else {
        let said = level.as_ref().map_or_else(|err| format!("none: {err}"), ToString::to_string);
        out.lines(&format!("sandbox  {said}\n         the kernel has {support}"))?;
        out.text(&trust_lines(&brought))?;
        for line in hooks::lines(&hooks) {
            out.lines(&format!("hook     {line}"))?;
        }
    }
    out.flush()?;
    Ok(if level.is_ok() { Exit::Done } else { Exit::Failed })
}

fn trust_lines(brought: &Brought) -> String {
    let standing = brought.warning().unwrap_or_else(|| brought.standing.word().to_owned());
    format!("trust    {standing}\n{}", server_lines(brought))
}

fn server_lines(brought: &Brought) -> String {
    match brought.servers() {
        Ok(servers) => {
            let line = |server: &McpServer| {
                format!("server   {}: {}\n", revealed_line(&server.name), readiness(server, brought))
            };
            servers.iter().map(line).collect()
        }
        Err(err) => format!("server   {}\n", revealed_line(&err.to_string())),
    }
}

/// Null where the list cannot be read.
fn servers_json(brought: &Brought) -> serde_json::Value {
    let one = |server: &McpServer| json!({ "name": server.name, "ready": readiness(server, brought) });
    brought.servers().ok().map(|servers| servers.iter().map(one).collect::<Vec<_>>()).into()
}

/// What a server of `.mcp.json` lacks to be started, as far as that can be said without starting it.
fn readiness(server: &McpServer, brought: &Brought) -> String {
    if !brought.counts(false).unwrap_or(false) {
        return "does not count: the workspace is not trusted".to_owned();
    }
    let variable = |name: &str| std::env::var(name).ok();
    match server.texts().into_iter().find_map(|text| expand(text, variable).err()) {
        Some(missing) => format!("{missing} is not set"),
        None => "listed; servers are not started yet".to_owned(),
    }
}
