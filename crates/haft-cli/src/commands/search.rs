//! `haft search`: the tools that serve a need, as ToolSearch ranks them.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use haft_engine::pool::{
    Entry, Pool,
    search::{Document, Hit, SearchIndex, Weights},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    draw::{self, Paint, plain_line},
    exit::{Exit, usage},
    lines::next_line,
    out::Out,
    setup::{self, Setup},
};

/// What can be typed after `haft search`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What a tool should do; `select:A,B` for exact names, `+server words` for one server
    #[arg(required_unless_present = "batch", conflicts_with = "batch")]
    query: Option<String>,
    /// How many tools at most
    #[arg(short, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    k: u16,
    /// Search these tools, a line of JSON each ({"name","description","input_schema"} and perhaps "server"), instead of
    /// those of a session
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// Read queries, a line of JSON each ({"id","query"}), from this file or stdin (`-`); print as many lines
    /// {"id","ranked"} with names, best first
    #[arg(long, value_name = "FILE")]
    batch: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  haft search 'find text in files'
  haft search '+github open an issue' -k 3 --json
  haft search --batch queries.jsonl --catalog tools.jsonl > ranked.jsonl";

pub(crate) fn run(setup: &Setup, args: &Args) -> anyhow::Result<Exit> {
    let searched = match &args.catalog {
        Some(file) => Searched::Catalog(Box::new(Catalog::read(file)?)),
        None => Searched::Pool(pool(setup)?),
    };
    let (mut out, k) = (Out::stdout(), usize::from(args.k));
    match (&args.batch, &args.query) {
        (Some(file), _) => batch(&searched, file, k, &mut out)?,
        (None, query) => {
            let query = query.as_deref().unwrap_or_default();
            let found = searched.search(query, k);
            match (setup.options.json, found.is_empty()) {
                (true, _) => {
                    out.json(&json!({ "tools": found.iter().map(Found::json).collect::<Vec<_>>() }))?
                }
                (false, true) => out.lines(&format!("No tool fits: {}", searched.instead(query)))?,
                (false, false) => out.text(&table(&found))?,
            }
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn pool(setup: &Setup) -> anyhow::Result<Arc<Pool>> {
    Ok(setup::begin(&setup.idle_engine()?, setup.resumed_options()?)?.pool())
}

/// What is searched.
enum Searched {
    Pool(Arc<Pool>),
    Catalog(Box<Catalog>),
}

/// A tool that was found.
struct Found {
    name: String,
    server: String,
    description: String,
    score: f32,
}

impl Searched {
    fn names(&self, query: &str, k: usize) -> Vec<String> {
        self.hits(query, k).into_iter().map(|hit| hit.name).collect()
    }

    fn search(&self, query: &str, k: usize) -> Vec<Found> {
        self.hits(query, k).into_iter().map(|hit| self.found(hit)).collect()
    }

    fn hits(&self, query: &str, k: usize) -> Vec<Hit> {
        match self {
            Searched::Pool(pool) => pool.search(query, k),
            Searched::Catalog(catalog) => catalog.index.search(query, k),
        }
    }

    fn instead(&self, query: &str) -> String {
        match self {
            Searched::Pool(pool) => pool.instead(query),
            Searched::Catalog(_) => "try other words for the function.".to_owned(),
        }
    }

    fn found(&self, Hit { name, score }: Hit) -> Found {
        let (server, description) = match self {
            Searched::Pool(pool) => pool.find(&name).map(of_entry),
            Searched::Catalog(catalog) => catalog.tools.iter().find(|tool| tool.name == name).map(of_line),
        }
        .unwrap_or_default();
        Found { name, server, description, score }
    }
}

fn of_entry(entry: &Entry) -> (String, String) {
    (entry.server().unwrap_or_default().to_owned(), first_line(entry.tool().prompt()))
}

fn of_line(tool: &ToolLine) -> (String, String) {
    (tool.document().server.unwrap_or_default().to_owned(), first_line(&tool.description))
}

fn first_line(text: &str) -> String {
    text.trim_start().lines().next().unwrap_or_default().to_owned()
}

impl Found {
    fn json(&self) -> Value {
        let Found { name, server, description, score } = self;
        json!({ "name": name, "server": server, "description": description, "score": score })
    }
}

fn table(found: &[Found]) -> String {
    let row = |tool: &Found| {
        let server = if tool.server.is_empty() { "-" } else { &tool.server };
        let [name, server, line] =
            [&tool.name, server, &*tool.description].map(|text| plain_line(text.to_owned()));
        [name, server, format!("{:.2}", tool.score), line]
    };
    let rows: Vec<[String; 4]> = found.iter().map(row).collect();
    draw::table(["NAME", "SERVER", "SCORE", "DESCRIPTION"], &rows, Paint::stdout())
}

/// Tools from a file.
struct Catalog {
    tools: Vec<ToolLine>,
    index: SearchIndex,
}

/// A tool, as a line of the file has it.
#[derive(Deserialize)]
struct ToolLine {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    input_schema: Value,
    server: Option<String>,
}

impl Catalog {
    fn read(file: &Path) -> anyhow::Result<Catalog> {
        let mut tools: Vec<ToolLine> = Vec::new();
        let mut lines = Lines::open("--catalog", file)?;
        while let Some(tool) = lines.next()? {
            tools.push(tool);
        }
        let index = SearchIndex::new(tools.iter().map(ToolLine::document), &Weights::default());
        Ok(Catalog { tools, index })
    }
}

impl ToolLine {
    fn document(&self) -> Document<'_> {
        let read = Document::new(&self.name, &self.input_schema);
        Document { server: self.server.as_deref().or(read.server), prompt: &self.description, ..read }
    }
}

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    id: Value,
    query: String,
}

fn batch(searched: &Searched, file: &Path, k: usize, out: &mut Out) -> anyhow::Result<()> {
    let mut lines = Lines::open("--batch", file)?;
    while !out.is_closed()
        && let Some(Question { id, query }) = lines.next()?
    {
        out.json(&json!({ "id": id, "ranked": searched.names(&query, k) }))?;
        if lines.are_awaited() {
            // Whoever asks may wait for this answer before asking on.
            out.flush()?;
        }
    }
    Ok(())
}

/// Lines of JSON from a file or stdin. Empty ones are passed over.
struct Lines {
    from: BufReader<Box<dyn Read>>,
    name: String,
    number: usize,
    line: Vec<u8>,
}

impl Lines {
    fn open(option: &str, file: &Path) -> anyhow::Result<Lines> {
        let (from, name): (Box<dyn Read>, _) = match file.to_str() {
            Some("-") => (Box::new(io::stdin()), "stdin".to_owned()),
            _ => {
                let name = file.display().to_string();
                (Box::new(File::open(file).map_err(|err| usage(format!("{option} {name}: {err}")))?), name)
            }
        };
        Ok(Lines { from: BufReader::with_capacity(64 * 1024, from), name, number: 0, line: Vec::new() })
    }

    /// The next one; a line that is something else is an error that says where.
    fn next<T: for<'de> Deserialize<'de>>(&mut self) -> anyhow::Result<Option<T>> {
        loop {
            self.number += 1;
            let Lines { from, name, number, line } = self;
            if !next_line(from, line).map_err(|err| usage(format!("{name}: {err}")))? {
                return Ok(None);
            }
            if !line.trim_ascii().is_empty() {
                let read = serde_json::from_slice(line);
                return read.map(Some).map_err(|err| usage(format!("{name}:{number}: {err}")));
            }
        }
    }

    fn are_awaited(&self) -> bool {
        self.from.buffer().is_empty()
    }
}
