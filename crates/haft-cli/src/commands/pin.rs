//! `haft pin`: tools of servers that were permitted once, and what they say now.

use serde_json::{Value, json};

use crate::{
    cli::Options,
    draw::{self, Paint},
    exit::{Exit, usage},
    kept,
    out::Out,
    pins::{ByName, FilePins, Pin},
    settings::Settings,
    store,
    trust::{revealed_line, unified},
};

/// What can be typed after `haft pin`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Show what has changed of this tool, by the name that models use
    name: Option<String>,
    /// Accept what this tool says now
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    accept: Option<String>,
    /// Accept what all tools say now
    #[arg(long, conflicts_with_all = ["name", "accept"])]
    all: bool,
    /// Forget this tool; it is pinned anew when it is next permitted
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "accept", "all"])]
    remove: Option<String>,
}

const EXAMPLES: &str = "\
A tool of a server is pinned to what it says of itself when a call of it is first permitted.
If it says something else later, that one tool is held back until you accept the change.

Examples:
  haft pin                                 all of them
  haft pin mcp__github__create_issue       what has changed
  haft pin --accept mcp__github__create_issue";

pub(crate) fn run(options: &Options, args: &Args) -> anyhow::Result<Exit> {
    let store = store::open(&Settings::read(options.config.as_deref(), &[])?)?;
    let pins = FilePins::open(store.shared_book())?;
    let said = match args {
        Args { accept: Some(name), .. } => accept(&pins, Some(name))?,
        Args { all: true, .. } => accept(&pins, None)?,
        Args { remove: Some(name), .. } => remove(&pins, name)?,
        Args { name: Some(name), .. } => show(options, &pins, name)?,
        _ => list(options, &pins),
    };
    let mut out = Out::stdout();
    match said {
        Said::Json(value) => out.json(&value)?,
        Said::Text(text) => out.lines(&text)?,
    }
    out.flush()?;
    Ok(Exit::Done)
}

enum Said {
    Json(Value),
    Text(String),
}

fn list(options: &Options, pins: &FilePins) -> Said {
    let all = pins.all();
    let each = all.iter().flat_map(|(server, tools)| tools.values().map(move |pin| (server, pin)));
    if options.json {
        return Said::Json(each.map(|(server, pin)| told(server, pin)).collect());
    }
    let row = |(server, pin): (&String, &Pin)| {
        [pin.accepted.name.clone(), revealed_line(server), state(pin), kept::day(pin.since)]
    };
    let rows: Vec<[String; 4]> = each.map(row).collect();
    Said::Text(draw::table(["TOOL", "SERVER", "STATE", "SINCE"], &rows, Paint::stdout()))
}

fn state(pin: &Pin) -> String {
    match &pin.offered {
        None => "pinned".to_owned(),
        Some(offered) => {
            format!("quarantined: {} changed", pin.accepted.difference(offered).unwrap_or_default())
        }
    }
}

fn told(server: &str, pin: &Pin) -> Value {
    json!({
        "tool": pin.accepted.name,
        "server": server,
        "state": if pin.offered.is_some() { "quarantined" } else { "pinned" },
        "since": kept::day(pin.since),
        "sha256": pin.accepted.hash(),
        "offered_sha256": pin.offered.as_ref().map(|offered| offered.hash()),
        "changed": pin.offered.as_ref().and_then(|offered| pin.accepted.difference(offered)),
    })
}

fn show(options: &Options, pins: &FilePins, name: &str) -> anyhow::Result<Said> {
    let all = pins.all();
    let (server, pin) = find(&all, name)?;
    let diff = pin.offered.as_ref().map(|offered| unified(name, &pin.accepted.lines(), &offered.lines()));
    if options.json {
        let mut told = told(server, pin);
        told["accepted"] = json!(pin.accepted);
        told["offered"] = json!(pin.offered);
        told["diff"] = json!(diff);
        return Ok(Said::Json(told));
    }
    let unchanged = || format!("{name} says what it said when it was pinned ({})", kept::day(pin.since));
    Ok(Said::Text(diff.unwrap_or_else(unchanged)))
}

/// Accepts one change, or all.
fn accept(pins: &FilePins, name: Option<&str>) -> anyhow::Result<Said> {
    if let Some(name) = name {
        let all = pins.all();
        if find(&all, name)?.1.offered.is_none() {
            return Ok(Said::Text(format!("{name} has not changed; there is nothing to accept")));
        }
    }
    let accepted = pins.change(|tools| {
        let mut accepted = Vec::new();
        for pin in tools.values_mut().flat_map(|tools| tools.values_mut()) {
            let is_meant = name.is_none_or(|name| pin.accepted.name == name);
            if let Some(offered) = pin.offered.take_if(|_| is_meant) {
                accepted.push(offered.name.clone());
                *pin = Pin { since: kept::now(), accepted: offered.into(), offered: None };
            }
        }
        accepted
    })?;
    Ok(Said::Text(match accepted.as_slice() {
        [] => "nothing has changed".to_owned(),
        names => format!("accepted: {}", names.join(", ")),
    }))
}

fn remove(pins: &FilePins, name: &str) -> anyhow::Result<Said> {
    find(&pins.all(), name)?;
    pins.change(|tools| {
        tools.values_mut().for_each(|tools| tools.retain(|_, pin| pin.accepted.name != name));
        tools.retain(|_, tools| !tools.is_empty());
    })?;
    Ok(Said::Text(format!("forgotten: {name}")))
}

fn find<'a>(all: &'a ByName, name: &str) -> anyhow::Result<(&'a str, &'a Pin)> {
    let mut each =
        all.iter().flat_map(|(server, tools)| tools.values().map(move |pin| (server.as_str(), pin)));
    each.find(|(_, pin)| pin.accepted.name == name).ok_or_else(|| {
        let names = all.values().flat_map(|tools| tools.values()).map(|pin| pin.accepted.name.as_str());
        let advice = match haft_schema::nearest(name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`haft pin` lists those that are".to_owned(),
        };
        usage(format!("no tool `{name}` is pinned; {advice}"))
    })
}
