//! `haft doctor`: what works here.

use haft_mcp::{
    client::Era,
    lint::{Remark, Severity},
    upstream::{State, Upstream},
};
use haft_model::Key;
use haft_shell::{
    run::bash_program,
    sandbox::{Confinement, Support},
};
use serde_json::{Value, json};

use crate::{
    cli::Options,
    exit::Exit,
    hooks, kept,
    model::{self, ModelArgs},
    out::Out,
    place::{self, Place},
    servers::Servers,
    settings::{Listed, Settings},
    store,
    trust::{self, Brought, revealed_line},
    watch,
};

/// What can be typed after `haft doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(options: &Options) -> anyhow::Result<Exit> {
    let place = Place::find(options.cwd.as_deref())?;
    let (support, level) = (Support::here(), Confinement::at(&place.cwd).trial());
    let brought = trust::look(&place.workspace);
    let counts = brought.counts(options.trust)?;
    let documents = if counts { brought.documents()? } else { Vec::new() };
    let settings = Settings::read(options.config.as_deref(), &documents)?;
    let (hooks, servers) = (hooks::config(&settings.hooks), conditions(&settings, &brought, counts, &place));
    let (shell, model, journal) = (shell(), model(&settings, options), journal(&settings));
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
        let servers = servers.map(|all| all.into_iter().map(|server| server.json).collect::<Vec<_>>()).ok();
        let hooks = hooks::listed(&hooks);
        out.json(&json!({
            "sandbox": sandbox,
            "shell": shell.json,
            "model": model.json,
            "trust": trust,
            "counts": counts,
            "servers": servers,
            "hooks": hooks,
            "journal": journal.json,
        }))?;
    } else {
        let said = level.as_ref().map_or_else(|err| format!("none: {err}"), ToString::to_string);
        out.lines(&format!("sandbox  {said}\n         the kernel has {support}"))?;
        out.lines(&format!("shell    {}", shell.words))?;
        out.lines(&format!("model    {}", revealed_line(&model.words)))?;
        out.lines(&format!("trust    {}", standing(&brought, counts)))?;
        out.lines(&format!("journal  {}", revealed_line(&journal.words)))?;
        out.text(&server_lines(servers))?;
        for line in hooks::lines(&hooks) {
            out.lines(&format!("hook     {line}"))?;
        }
    }
    out.flush()?;
    Ok(if level.is_ok() { Exit::Done } else { Exit::Failed })
}

/// Whether what the workspace brings counts, and why. With `--trust` it does, for this command.
fn standing(brought: &Brought, counts: bool) -> String {
    let word = brought.standing.word();
    match brought.warning() {
        None => word.to_owned(),
        Some(_) if counts => format!("{word}; counts this time, because of --trust"),
        Some(warning) => warning,
    }
}

/// How a server is, for people and for programs.
struct Condition {
    name: String,
    words: String,
    json: Value,
}

/// All servers, without starting any. An error is that of the workspace's list.
fn conditions(
    settings: &Settings,
    brought: &Brought,
    counts: bool,
    place: &Place,
) -> anyhow::Result<Vec<Condition>> {
    let listed = brought.servers()?;
    let (listed, untrusted) = if counts { (listed, Listed::default()) } else { (Listed::default(), listed) };
    let mcp = settings.mcp.clone().beside(listed);
    let cache = place::state().ok().map(|state| state.join("servers"));
    let servers = Servers::new(&mcp, place, cache, None);
    let remarks = servers.remarks();
    let mut all: Vec<Condition> =
        servers.upstreams.all().iter().map(|upstream| condition(upstream, &remarks)).collect();
    let out = servers.left_out.iter().map(|(name, why)| absent(name, why));
    let unheard = untrusted
        .servers
        .iter()
        .map(|server| absent(&server.name, "does not count: the workspace is not trusted"));
    all.extend(out.chain(unheard));
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// The bash that runs commands.
fn shell() -> Condition {
    let (words, json) = match bash_program() {
        Ok(path) => (path.display().to_string(), json!({ "works": true, "path": path })),
        Err(err) => (err.to_string(), json!({ "works": false, "problem": err.to_string() })),
    };
    Condition { name: "shell".to_owned(), words, json }
}

/// Which model `haft run` would ask, or what is missing. Nobody is asked.
fn model(settings: &Settings, options: &Options) -> Condition {
    let chosen =
        model::choose(&settings.model, &ModelArgs::default(), options.model.as_deref(), &Key::from_env);
    let (words, json) = match chosen {
        Ok(choice) => {
            let dialect = choice.endpoint.dialect();
            let json = json!({ "configured": true, "name": choice.name, "dialect": dialect.name() });
            (format!("{} ({dialect})", choice.name), json)
        }
        Err(err) => {
            let problem = err.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" · ");
            let json = json!({ "configured": false, "problem": problem });
            (problem, json)
        }
    };
    Condition { name: "model".to_owned(), words, json }
}

/// Where calls are recorded, and whether that can be read.
fn journal(settings: &Settings) -> Condition {
    let name = "journal".to_owned();
    let greeted = store::open(settings).and_then(|store| {
        let answer = watch::runtime()?.block_on(store.greet());
        Ok((store.shown, answer))
    });
    match greeted {
        Err(err) => {
            let words = err.to_string();
            Condition { name, json: json!({ "works": false, "where": null, "problem": words }), words }
        }
        Ok((shown, Ok(()))) => Condition {
            name,
            words: format!("{shown}: works"),
            json: json!({ "works": true, "where": shown }),
        },
        Ok((shown, Err(err))) => {
            let json = json!({ "works": false, "where": shown, "problem": err.to_string() });
            Condition { name, words: format!("{shown}: {err}"), json }
        }
    }
}

/// How the servers of a command that runs are: a name and words each.
#[cfg(feature = "tui")]
pub(crate) fn of_servers(servers: &Servers) -> Vec<(String, String)> {
    let remarks = servers.remarks();
    let known = servers.upstreams.all().iter().map(|upstream| condition(upstream, &remarks));
    let out = servers.left_out.iter().map(|(name, why)| absent(name, why));
    known.chain(out).map(|condition| (condition.name, condition.words)).collect()
}

fn absent(name: &str, why: &str) -> Condition {
    Condition { name: name.to_owned(), words: why.to_owned(), json: json!({ "name": name, "ready": why }) }
}

fn condition(upstream: &Upstream, remarks: &[(String, Remark)]) -> Condition {
    let (name, known) = (upstream.server().name.clone(), upstream.known());
    let failure = upstream.last_failure();
    let mut words = vec![match upstream.state() {
        State::Running => "runs".to_owned(),
        State::Starting => "starts".to_owned(),
        State::Resting | State::Failed(_) => "rests".to_owned(),
    }];
    if upstream.is_known() {
        let counts = (known.tools.len(), known.prompts.len(), known.resources.len() + known.templates.len());
        words.push(format!("{} tools, {} prompts, {} resources", counts.0, counts.1, counts.2));
        words.extend(known.era.map(|era| format!("{} protocol", word(era))));
    } else {
        words.push("never asked what it has".to_owned());
    }
    words.extend(known.remarks.iter().map(|remark| format!("remark: {remark}")));
    let odd = remarks.iter().filter(|(server, remark)| *server == name && remark.severity >= Severity::Warn);
    let odd = odd.count();
    words.extend((odd > 0).then(|| format!("{odd} warnings about what it tells models: see `haft lint`")));
    words
        .extend(failure.as_ref().map(|failed| format!("failed on {}: {}", kept::day(failed.at), failed.why)));
    let json = json!({
        "name": name,
        "ready": words[0],
        "known": upstream.is_known(),
        "era": known.era,
        "tools": known.tools.len(),
        "prompts": known.prompts.len(),
        "resources": known.resources.len() + known.templates.len(),
        "remarks": known.remarks,
        "warnings": odd,
        "failure": failure,
    });
    Condition { name, words: words.join("; "), json }
}

fn word(era: Era) -> &'static str {
    match era {
        Era::Legacy => "older",
        Era::Modern => "newer",
    }
}

fn server_lines(servers: anyhow::Result<Vec<Condition>>) -> String {
    let line = |server: &Condition| {
        format!("server   {}: {}\n", revealed_line(&server.name), revealed_line(&server.words))
    };
    match servers {
        Ok(servers) => servers.iter().map(line).collect(),
        Err(err) => format!("server   {}\n", revealed_line(&err.to_string())),
    }
}
