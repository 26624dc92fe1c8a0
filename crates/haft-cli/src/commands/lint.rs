//! `haft lint`: mistakes in settings, rules, descriptions and pins, all at once.
//!
//! The files of a workspace are looked at whether it is trusted or not: reading them does nothing.

use std::{fmt, sync::Arc};

use haft_engine::{
    SessionOptions,
    policy::{Bases, Policy, Rules, lint as lint_rules},
    pool::{Pool, lint as lint_pool},
};
use serde_json::{Value, json};

use crate::{
    cli::Options,
    exit::Exit,
    out::Out,
    pins::FilePins,
    place::Place,
    settings::each_level,
    trust::{self, Standing, revealed},
};

/// What can be typed after `haft lint`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

const EXAMPLES: &str = "\
Errors are what will not work: settings that are none, rules that cannot be read, tools that
are held back. The rest is advice.

Exit: 0 no errors, 1 errors.";

/// Something that is wrong, or could be better.
#[derive(Debug)]
struct Finding {
    is_error: bool,
    /// What it is about: settings, rules, trust, tools, pins.
    about: &'static str,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_error { "error" } else { "advice" };
        write!(f, "{word}: {}: {}", self.about, revealed(&self.what))
    }
}

impl Finding {
    fn error(about: &'static str, what: impl fmt::Display) -> Finding {
        Finding { is_error: true, about, what: what.to_string() }
    }

    fn advice(about: &'static str, what: impl fmt::Display) -> Finding {
        Finding { is_error: false, about, what: what.to_string() }
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Exit> {
    let place = Place::find(options.cwd.as_deref())?;
    let mut findings = Vec::new();
    let rules = settings(options, &place, &mut findings)?;
    let pool = pool(&place)?;
    self::rules(rules, &place, &pool, &mut findings);
    findings.extend(lint_pool(&pool).iter().map(|finding| Finding::advice("tools", finding)));
    pins(&mut findings);
    tell(options, &findings)?;
    Ok(if findings.iter().any(|finding| finding.is_error) { Exit::Failed } else { Exit::Done })
}

/// The settings of all levels; gives their rules, of all layers.
fn settings(options: &Options, place: &Place, findings: &mut Vec<Finding>) -> anyhow::Result<Rules> {
    let brought = trust::look(&place.workspace);
    match &brought.standing {
        Standing::Unsure(why) => findings.push(Finding::error("trust", why)),
        _ => findings.extend(brought.warning().map(|words| Finding::advice("trust", words))),
    }
    if let Err(err) = brought.servers() {
        findings.push(Finding::error("settings", err));
    }
    let mut rules = Rules::default();
    let documents = brought.documents().unwrap_or_else(|err| {
        findings.push(Finding::error("settings", err));
        Vec::new()
    });
    for said in each_level(options.config.as_deref(), &documents)? {
        match said {
            Ok(said) => {
                rules = rules.and(said.rules);
                findings.extend(said.notes.iter().map(|note| Finding::advice("settings", note)));
            }
            Err(err) => findings.push(Finding::error("settings", err)),
        }
    }
    Ok(rules)
}

/// Rules of all layers, also of those that would not be heard today.
fn rules(rules: Rules, place: &Place, pool: &Pool, findings: &mut Vec<Finding>) {
    let aliases = pool.entries().flat_map(|entry| entry.tool().spec().other_names().iter().copied());
    let names = pool.entries().map(|entry| entry.name()).chain(aliases);
    let remarks = lint_rules(&rules, names);
    findings.extend(remarks.iter().map(|remark| Finding::advice("rules", remark)));
    let bases = Bases { workspace: place.workspace.clone(), home: place.home.clone() };
    if let Err(errors) = Policy::compile(rules, &bases) {
        findings.extend(errors.iter().map(|err| Finding::error("rules", err)));
    }
}

/// The built-in tools.
fn pool(place: &Place) -> anyhow::Result<Arc<Pool>> {
    let engine = haft_engine::Engine::builder()
        .kernel(haft_tools::ToolSearch)
        .tools(haft_tools::builtin_with(haft_tools::Options::default()))
        .build()
        .map_err(|err| anyhow::anyhow!("{err}"))?;
    let session =
        engine.session(SessionOptions::at(&place.workspace)).map_err(|err| anyhow::anyhow!("{err}"))?;
    Ok(session.pool())
}

fn pins(findings: &mut Vec<Finding>) {
    let all = match FilePins::open() {
        Ok(pins) => pins.all(),
        Err(err) => return findings.push(Finding::error("pins", err)),
    };
    for pin in all.values().flat_map(|tools| tools.values()) {
        if let Some(changed) = pin.offered.as_ref().and_then(|offered| pin.accepted.difference(offered)) {
            let name = &pin.accepted.name;
            let what = format!("{name} is quarantined: {changed} changed; see `haft pin {name}`");
            findings.push(Finding::error("pins", what));
        }
    }
}

fn tell(options: &Options, findings: &[Finding]) -> anyhow::Result<()> {
    let mut out = Out::stdout();
    if options.json {
        let one = |finding: &Finding| json!({ "error": finding.is_error, "about": finding.about, "what": finding.what });
        out.json(&findings.iter().map(one).collect::<Vec<Value>>())?;
    } else {
        for finding in findings {
            out.lines(&finding.to_string())?;
        }
    }
    Ok(out.flush()?)
}
