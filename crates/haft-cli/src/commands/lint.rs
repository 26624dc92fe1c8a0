//! `haft lint`: mistakes in settings, rules, descriptions and pins, and what is odd in what servers tell models, all at once.
//!
//! The files of a workspace are looked at whether it is trusted or not: reading them does nothing.

use std::{fmt, sync::Arc};

use haft_engine::{
    SessionOptions,
    policy::{Bases, Origin, Policy, RemarkKind, Rules, lint as lint_rules},
    pool::{Pool, lint as lint_pool},
};
use haft_mcp::lint::{Remark, Severity};
use serde_json::{Value, json};

use crate::{
    cli::Options,
    exit::Exit,
    out::Out,
    pins::FilePins,
    place::{self, Place},
    servers::Servers,
    settings::{Listed, Mcp, Settings, each_level},
    setup::names,
    trust::{self, Standing, revealed},
};

/// What can be typed after `haft lint`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

const EXAMPLES: &str = "\
Errors are what will not work: settings that are none, rules that cannot be read, tools that
are held back. The rest is advice: read what is said about a server's words before you permit
its tools (docs/mcp-lint.md). Rules given by --allow, --ask and --deny are looked at, too.

Exit: 0 no errors, 1 errors.";

/// Something that is wrong, or could be better.
#[derive(Debug)]
struct Finding {
    is_error: bool,
    /// Whether no honest server says this.
    is_alarm: bool,
    /// What it is about: settings, rules, trust, tools, servers, pins.
    about: &'static str,
    what: String,
    /// What kind of remark about a rule, if it is one.
    kind: Option<RemarkKind>,
    /// Where the rule stands that it is about.
    origin: Option<Origin>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_error { "error" } else { "advice" };
        write!(f, "{word}: {}: {}", self.about, revealed(&self.what))
    }
}

impl Finding {
    fn error(about: &'static str, what: impl fmt::Display) -> Finding {
        Finding { is_error: true, is_alarm: false, about, what: what.to_string(), kind: None, origin: None }
    }

    fn advice(about: &'static str, what: impl fmt::Display) -> Finding {
        Finding { is_error: false, ..Finding::error(about, what) }
    }

    /// The same, about a rule.
    fn of_rule(self, origin: &Origin, kind: Option<RemarkKind>) -> Finding {
        Finding { kind, origin: Some(origin.clone()), ..self }
    }

    fn json(&self) -> Value {
        let (path, line) = match &self.origin {
            Some(Origin::File { path, line }) => (Some(path), Some(line)),
            _ => (None, None),
        };
        let Finding { is_error, about, what, kind, .. } = self;
        json!({ "error": is_error, "about": about, "kind": kind, "path": path, "line": line, "what": what })
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Exit> {
    let place = Place::find(options.cwd.as_deref())?;
    let mut findings = Vec::new();
    let (rules, mcp) = settings(options, &place, &mut findings)?;
    let rules = rules.and(options.rules());
    let cache = place::state().ok().map(|state| state.join("servers"));
    let servers = Servers::new(&mcp, &place, cache, None);
    let pool = pool(&place, &servers)?;
    self::rules(rules, &place, &pool, &mut findings);
    findings.extend(lint_pool(&pool).iter().map(|finding| Finding::advice("tools", finding)));
    let remark = |(server, remark): (String, Remark)| Finding {
        is_alarm: remark.severity == Severity::Alarm,
        ..Finding::advice("servers", format!("{server}: {remark}"))
    };
    findings.extend(servers.remarks().into_iter().map(remark));
    pins(&mut findings);
    // What matters most is read first; else the order in which things are looked at.
    findings.sort_by_key(|finding| (!finding.is_alarm, !finding.is_error));
    tell(options, &findings)?;
    Ok(if findings.iter().any(|finding| finding.is_error) { Exit::Failed } else { Exit::Done })
}

/// The settings of all levels; gives their rules, of all layers, and the servers that count.
fn settings(options: &Options, place: &Place, findings: &mut Vec<Finding>) -> anyhow::Result<(Rules, Mcp)> {
    let brought = trust::look(&place.workspace);
    match &brought.standing {
        Standing::Unsure(why) => findings.push(Finding::error("trust", why)),
        _ if options.trust => {}
        _ => findings.extend(brought.warning().map(|words| Finding::advice("trust", words))),
    }
    let listed = brought.servers().unwrap_or_else(|err| {
        findings.push(Finding::error("settings", err));
        Listed::default()
    });
    let odd = |(name, why): &(String, String)| {
        Finding::error("settings", format!(".mcp.json: server `{name}`: {why}"))
    };
    findings.extend(listed.odd.iter().map(odd));
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
            // What is wrong with the keys of a file is told a line each.
            Err(err) => {
                findings.extend(err.to_string().lines().map(|line| Finding::error("settings", line)));
            }
        }
    }
    let counts = brought.counts(options.trust).unwrap_or_default();
    let documents = if counts { documents } else { Vec::new() };
    // What is wrong with it was found above.
    let set = Settings::read(options.config.as_deref(), &documents).unwrap_or_default().mcp;
    Ok((rules, if counts { set.beside(listed) } else { set }))
}

/// Rules of all layers, also of those that would not be heard today.
fn rules(rules: Rules, place: &Place, pool: &Pool, findings: &mut Vec<Finding>) {
    for remark in lint_rules(&rules, names(pool)) {
        findings.push(Finding::advice("rules", &remark).of_rule(&remark.origin, Some(remark.kind)));
    }
    let bases = Bases { workspace: place.workspace.clone(), home: place.home.clone() };
    for err in Policy::compile(rules, &bases).err().into_iter().flatten() {
        findings.push(Finding::error("rules", &err).of_rule(&err.origin, None));
    }
}

/// The built-in tools, and what is known of those of servers. None is started.
fn pool(place: &Place, servers: &Servers) -> anyhow::Result<Arc<Pool>> {
    let builder = haft_engine::Engine::builder()
        .kernels(haft_tools::kernels())
        .tools(haft_tools::builtin_with(haft_tools::Options::default()))
        .tools(servers.tools());
    let engine = servers
        .sources()
        .into_iter()
        .fold(builder, haft_engine::EngineBuilder::source)
        .build()
        .map_err(|err| anyhow::anyhow!("{err}"))?;
    let session =
        engine.session(SessionOptions::at(&place.workspace)).map_err(|err| anyhow::anyhow!("{err}"))?;
    Ok(session.pool())
}

fn pins(findings: &mut Vec<Finding>) {
    let all = match FilePins::open(None) {
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
        out.json(&findings.iter().map(Finding::json).collect::<Vec<Value>>())?;
    } else {
        for finding in findings {
            out.lines(&finding.to_string())?;
        }
    }
    Ok(out.flush()?)
}
