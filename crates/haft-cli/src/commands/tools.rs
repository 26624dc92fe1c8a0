//! `haft tools`: what a model is offered.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use haft_engine::{
    Session,
    pool::{Entry, Pool, lint},
};
use haft_model::Dialect;
#[cfg(feature = "tui")]
use haft_tool::View;
use serde_json::{Value, json};

use crate::{
    draw::{self, Paint, plain_line},
    exit::Exit,
    out::{self, Out},
    setup::{self, Setup},
};

/// What can be typed after `haft tools`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print the JSON of a request's `tools` field, as this API wants it
    #[arg(long, value_parser = shapes())]
    dialect: Option<Shape>,
    /// Also other names, the tools that are deferred, hidden or not available, with why, and what is odd in what servers say
    #[arg(long)]
    all: bool,
    /// With --dialect: all tools, of which the API keeps the deferred ones until a result refers to them
    #[arg(long, requires = "dialect", conflicts_with = "all")]
    references: bool,
    /// Only the tools of these toolsets; a list with commas
    #[arg(long, value_name = "T")]
    toolset: Option<String>,
    /// Ask all servers anew what they have. Without it, only those that never said it are started
    #[arg(long)]
    refresh: bool,
}

const EXAMPLES: &str = "\
Examples:
  haft tools --all
  haft tools --dialect openai
  haft tools --toolset 'readonly,!Stat' --json";

/// Whose JSON.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Model(Dialect),
    Mcp,
}

const MCP: &str = "mcp";

fn shapes() -> impl TypedValueParser<Value = Shape> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::name).into_iter().chain([MCP]))
        .try_map(|name| if name == MCP { Ok(Shape::Mcp) } else { name.parse().map(Shape::Model) })
}

pub(crate) fn run(setup: &Setup, args: &Args) -> anyhow::Result<Exit> {
    let mut options = setup.resumed_options()?;
    options.toolset = args.toolset.clone();
    ask_servers(setup, args.refresh)?;
    let session: Session = setup::begin(&setup.idle_engine()?, options)?;
    let pool = session.pool();
    let mut out = Out::stdout();
    match args.dialect {
        Some(Shape::Model(dialect)) if args.references => {
            out.json(&dialect.tools_deferring(pool.all_offers()))?
        }
        Some(shape) => out.json(&request(shape, &pool, args.all))?,
        None if setup.options.json => out.json(&listing(setup, &pool, args.all))?,
        None => out.text(&(table(&pool, args.all) + &remarks(setup, args.all)))?,
    }
    out.flush()?;
    advise(setup, &pool);
    Ok(Exit::Done)
}

/// What servers say is kept: they are started only if nothing is.
fn ask_servers(setup: &Setup, refresh: bool) -> anyhow::Result<()> {
    if !refresh {
        return setup.servers.acquaint();
    }
    for failure in setup.servers.refresh()? {
        out::complain(&plain_line(failure));
    }
    Ok(())
}

/// The `tools` field of a request.
fn request(shape: Shape, pool: &Pool, all: bool) -> Value {
    let entries = pool.entries().filter(|entry| all && entry.is_deferred());
    let offers = pool.shown().chain(entries).map(Entry::offer);
    match shape {
        Shape::Model(dialect) => dialect.tools_all(offers),
        Shape::Mcp => offers.map(|offer| haft_mcp::tool(&offer)).collect(),
    }
}

/// The tools for programs.
fn listing(setup: &Setup, pool: &Pool, all: bool) -> Value {
    let tools: Vec<Value> = listed(pool, all).map(tool).collect();
    let mut listing = json!({ "fingerprint": pool.fingerprint(), "tools": tools });
    if all {
        let problem = |problem: &haft_engine::pool::Problem| json!({ "tool": &*problem.tool, "source": &*problem.source, "why": problem.kind.to_string() });
        listing["problems"] = pool.problems().iter().map(problem).collect();
        let remark = |(server, remark)| json!({ "server": server, "remark": remark });
        listing["remarks"] = setup.servers.remarks().into_iter().map(remark).collect();
    }
    listing
}

fn tool(entry: &Entry) -> Value {
    let spec = entry.tool().spec();
    json!({
        "name": entry.name(),
        "source": entry.source(),
        "toolset": spec.membership(),
        "state": state(entry),
        "aliases": spec.other_names(),
        "description": entry.tool().prompt(),
    })
}

fn listed(pool: &Pool, all: bool) -> impl Iterator<Item = &Entry> {
    pool.shown().chain(pool.deferred().take(if all { usize::MAX } else { 0 }))
}

fn state(entry: &Entry) -> &'static str {
    if entry.is_deferred() { "deferred" } else { "shown" }
}

/// The tools for people.
fn table(pool: &Pool, all: bool) -> String {
    let mut rows: Vec<[String; 5]> = listed(pool, all).map(|entry| row(entry, all)).collect();
    if all {
        let absent = pool.problems().iter().map(|problem| {
            let name = if problem.tool.is_empty() { "*" } else { &problem.tool };
            [name, &problem.source, "", "absent", &problem.kind.to_string()].map(str::to_owned)
        });
        rows.extend(absent);
    }
    draw::table(["NAME", "SOURCE", "TOOLSET", "STATE", "DESCRIPTION"], &rows, Paint::stdout())
}

/// The tools that a model sees, for a screen that knows its own width: a name and a sentence each.
#[cfg(feature = "tui")]
pub(crate) fn view(pool: &Pool) -> View {
    let line = |entry: &Entry| (entry.name().to_owned(), first_sentence(entry.tool().prompt()).to_owned());
    let mut views = vec![View::Fields(pool.shown().map(line).collect())];
    let words = match pool.deferred().count() {
        0 => return View::List(views),
        1 => "1 more is deferred: the model finds it".to_owned(),
        count => format!("{count} more are deferred: the model finds them"),
    };
    views.extend([
        View::text(" "),
        View::text(format!("{words} by ToolSearch; `haft tools --all` lists all")),
    ]);
    View::List(views)
}

#[cfg(feature = "tui")]
fn first_sentence(prompt: &str) -> &str {
    let line = prompt.lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..end]).trim_end_matches('.')
}

/// What is odd in what servers tell models, a line each.
fn remarks(setup: &Setup, all: bool) -> String {
    let remarks = if all { setup.servers.remarks() } else { Vec::new() };
    remarks.iter().map(|(server, remark)| plain_line(format!("{server}: {remark}")) + "\n").collect()
}

fn row(entry: &Entry, all: bool) -> [String; 5] {
    let spec = entry.tool().spec();
    let first = entry.tool().prompt().lines().next().unwrap_or_default();
    let description = match spec.other_names() {
        [_, ..] if all => format!("{first} (also {})", spec.other_names().join(", ")),
        _ => first.to_owned(),
    };
    let toolset = if spec.membership().is_empty() { "-" } else { spec.membership() };
    [
        entry.name().to_owned(),
        entry.source().to_string(),
        toolset.to_owned(),
        state(entry).to_owned(),
        description,
    ]
}

/// What could be better, for those who asked for more.
fn advise(setup: &Setup, pool: &Pool) {
    if !setup.talk.is_verbose() {
        return;
    }
    let deferred = pool.deferred().count();
    if deferred > 0 {
        setup.talk.detail(|| format!("{deferred} tools are deferred: a model finds them by ToolSearch"));
    }
    for finding in lint(pool) {
        setup.talk.detail(|| format!("lint: {finding}"));
    }
}
