//! `haft doctor`: what works here.

use haft_shell::sandbox::{Confinement, Support};
use serde_json::json;

use crate::{cli::Options, exit::Exit, hooks, out::Out, place::Place, settings::Settings};

/// What can be typed after `haft doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(options: &Options) -> anyhow::Result<Exit> {
    let support = Support::here();
    let level = Confinement::at(Place::find(options.cwd.as_deref())?.cwd).trial();
    let settings = Settings::read(options.config.as_deref())?;
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
        out.json(&json!({ "sandbox": sandbox, "hooks": hooks::listed(&settings.hooks) }))?;
    } else {
        let said = level.as_ref().map_or_else(|err| format!("none: {err}"), ToString::to_string);
        out.lines(&format!("sandbox  {said}\n         the kernel has {support}"))?;
        for line in hooks::lines(&settings.hooks) {
            out.lines(&format!("hook     {line}"))?;
        }
    }
    out.flush()?;
    Ok(if level.is_ok() { Exit::Done } else { Exit::Failed })
}
