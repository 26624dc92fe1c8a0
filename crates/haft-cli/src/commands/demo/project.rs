//! The project, the engine, and the tools that only the demo has.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use haft_engine::{
    Engine, Session, SessionOptions,
    policy::{CallFacts, Mode, Origin, Rules, Said},
    pool::StaticSource,
    result::{FileStore, ToolResult},
    turn::Hook,
};
use haft_tool::{
    AbsolutePath, BoxFuture, Cx, Effects, Fault, Progress, Reply, SharedTool, Spec, ToolBuilder, tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

/// A project that is gone when it is dropped.
pub(super) struct Project {
    /// Removed with everything in it.
    _directory: TempDir,
    pub(super) root: PathBuf,
    pub(super) results: PathBuf,
    pub(super) pace: Pace,
}

const FILES: [(&str, &str); 6] = [
    (
        "README.md",
        "# Lighthouse\n\nA lamp that answers when it is asked.\nRun it with `lighthouse --port 7000`.\n",
    ),
    (
        "src/main.rs",
        "mod lamp;\n\nfn main() {\n    let lamp = lamp::Lamp::new(7000);\n    lamp.shine();\n}\n",
    ),
    (
        "src/lamp.rs",
        "pub struct Lamp {\n    port: u16,\n}\n\nimpl Lamp {\n    pub fn new(port: u16) -> Lamp {\n        \
         Lamp { port }\n    }\n\n    pub fn shine(&self) {}\n}\n",
    ),
    ("Cargo.toml", "[package]\nname = \"lighthouse\"\nversion = \"0.4.0\"\n"),
    ("CHANGELOG.md", "# Changes\n"),
    ("check.sh", "#!/bin/bash\necho 'the lamp is fine'\necho 'and I was here' > /etc/motd || true\n"),
];

impl Project {
    pub(super) fn make() -> anyhow::Result<Project> {
        let directory =
            tempfile::Builder::new().prefix("haft-demo-").tempdir().context("no temporary directory")?;
        let base = directory.path().canonicalize()?;
        let root = base.join("lighthouse");
        fs::create_dir_all(root.join("src"))?;
        FILES.iter().try_for_each(|(name, text)| fs::write(root.join(name), text))?;
        fs::set_permissions(root.join("check.sh"), fs::Permissions::from_mode(0o755))?;
        Ok(Project { _directory: directory, root, results: base.join("results"), pace: Pace::default() })
    }

    /// A session as an embedder would make it: some tools, two rules, a mode, nobody to ask.
    pub(super) fn session(&self) -> anyhow::Result<Session> {
        let tracker = StaticSource::new("mcp:tracker", tracker())?.in_namespace("tracker");
        let engine = Engine::builder()
            .kernel(haft_tools::ToolSearch)
            .tools(haft_tools::builtin())
            .tools([note(), release(), report(), crawl(), migrate()])
            .source(tracker)
            .hook(self.pace.clone())
            .results(FileStore::new(&self.results))
            .build()?;
        let allowed = ["mcp__tracker__issue_search", "Bash(./check.sh)"];
        let rules = Rules::allowing(allowed, Origin::Session);
        let options = SessionOptions {
            id: Some("demo".into()),
            mode: Mode::AcceptEdits,
            rules,
            ..SessionOptions::at(&self.root)
        };
        Ok(engine.session(options)?)
    }
}

/// Makes calls last a little: a disk is too quick for a picture.
#[derive(Clone, Default)]
pub(super) struct Pace(Arc<AtomicU64>);

impl Pace {
    pub(super) fn set(&self, each: Duration) {
        self.0.store(each.as_millis() as u64, Ordering::Relaxed);
    }
}

impl Hook for Pace {
    fn after<'a>(&'a self, _: CallFacts<'a>, _: &'a ToolResult) -> BoxFuture<'a, Vec<Said>> {
        Box::pin(async {
            let each = self.0.load(Ordering::Relaxed);
            if each > 0 {
                sleep(Duration::from_millis(each)).await;
            }
            Vec::new()
        })
    }
}

#[derive(Deserialize, JsonSchema)]
struct NoteInput {
    /// The file.
    file: AbsolutePath,
    /// The line to add at its end.
    line: String,
}

/// Adds a line by reading the file, thinking, and writing it back: two at once would lose one of the lines.
fn note() -> SharedTool {
    tool("Note")
        .prompt("Adds a line to a file. Use it for notes and change logs; it fails if the file cannot be written.")
        .effects(|input: &NoteInput| Effects::writes(&input.file))
        .call(|input: NoteInput, _| async move {
            let cannot = |err: io::Error| Fault::io("write", &input.file, err);
            let before = match fs::read_to_string(&input.file) {
                Err(err) if err.kind() == io::ErrorKind::NotFound => String::new(),
                read => read.map_err(cannot)?,
            };
            sleep(Duration::from_millis(90)).await;
            fs::write(&input.file, format!("{before}{}\n", input.line)).map_err(cannot)?;
            Ok(Reply::text("1 line added"))
        })
}

#[derive(Deserialize, JsonSchema)]
struct ReleaseInput {
    /// The version.
    #[expect(dead_code, reason = "it is never released")]
    version: String,
}

/// A tool that says nothing of its effects.
fn release() -> SharedTool {
    tool("Release")
        .prompt(
            "Releases a version to the world. Use it when the user asks for a release; it cannot be undone.",
        )
        .call(|_: ReleaseInput, _| async { Ok(Reply::text("released")) })
}

#[derive(Deserialize, JsonSchema)]
struct ReportInput {
    /// The day.
    day: String,
}

fn report() -> SharedTool {
    tool("Report")
        .prompt("Shows the log of a day, a line for each request. Use it to look for errors; a day without is empty.")
        .effects(|_: &ReportInput| Effects::none())
        .call(|input: ReportInput, _| async move {
            let line = |n: u32| {
                let status = if n == 2_501 { "500 the lamp went out" } else { "200" };
                format!("{} 09:{:02}:{:02} GET /lamp/{n:<5} {status}\n", input.day, n / 60 % 60, n % 60)
            };
            Ok(Reply::text((1..=5_300).map(line).collect::<String>()))
        })
}

#[derive(Deserialize, JsonSchema)]
struct CrawlInput {
    /// Where to begin.
    #[expect(dead_code, reason = "it never begins")]
    from: String,
}

fn crawl() -> SharedTool {
    const SPEC: Spec = Spec::new("Crawl").timeout(Duration::from_millis(150));
    ToolBuilder::of(SPEC)
        .prompt("Follows all links. Use it to find dead ones; it must end within its time or is stopped.")
        .effects(|_: &CrawlInput| Effects::none())
        .call(|_: CrawlInput, cx: Cx| async move {
            cx.cancelled().await;
            Err(Fault::cancelled("stopped"))
        })
}

/// How many steps [`migrate`] has.
pub(super) const STEPS: u64 = 5;

#[derive(Deserialize, JsonSchema)]
struct MigrateInput {
    /// The file that holds the data.
    file: AbsolutePath,
}

fn migrate() -> SharedTool {
    tool("Migrate")
        .prompt("Brings a data file up to date, step by step. Use it once; it fails if the file cannot be written.")
        .effects(|input: &MigrateInput| Effects::writes(&input.file))
        .call(|input: MigrateInput, cx: Cx| async move {
            for step in 1..=STEPS {
                let line = format!("step {step}\n");
                append(&input.file, &line).map_err(|err| Fault::io("write", &input.file, err))?;
                cx.progress(Progress::of("migrating", step, Some(STEPS)));
                tokio::select! {
                    () = sleep(Duration::from_millis(40)) => {}
                    () = cx.cancelled() => return Err(Fault::cancelled(format!(
                        "stopped on request: {step} of {STEPS} steps are done and stay done, the others are not begun",
                    ))),
                }
            }
            Ok(Reply::text("all steps are done"))
        })
}

fn append(file: &Path, line: &str) -> io::Result<()> {
    let mut opened = fs::OpenOptions::new().create(true).append(true).open(file)?;
    io::Write::write_all(&mut opened, line.as_bytes())
}

const THINGS: [&str; 14] = [
    "issue",
    "comment",
    "label",
    "milestone",
    "board",
    "sprint",
    "epic",
    "user",
    "team",
    "project",
    "webhook",
    "attachment",
    "branch",
    "report",
];
const DEEDS: [(&str, &str); 10] = [
    ("create", "Creates a new"),
    ("get", "Shows one"),
    ("list", "Lists every"),
    ("update", "Changes the fields of a"),
    ("delete", "Removes a"),
    ("search", "Finds by its words a"),
    ("archive", "Puts away a"),
    ("restore", "Brings back a"),
    ("watch", "Subscribes the user to a"),
    ("export", "Writes to a file a"),
];

/// What a server of a tracker would offer: 140 tools, with schemas that somebody else wrote.
fn tracker() -> Vec<SharedTool> {
    let all = THINGS.iter().flat_map(|thing| DEEDS.iter().map(move |deed| (*thing, *deed)));
    all.map(|(thing, (verb, words))| remote(thing, verb, words)).collect()
}

fn remote(thing: &'static str, verb: &str, words: &str) -> SharedTool {
    let prompt = format!(
        "{words} {thing} of the tracker. Use it when the user speaks of {thing}s; fails if not found."
    );
    let schema = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": format!("The {thing}'s id, or words to look for.") },
            "limit": { "type": "integer", "description": "How many at most." },
        },
        "required": ["query"],
    });
    tool(format!("{thing}_{verb}")).prompt(prompt).schema(schema).call(move |input: Value, _| async move {
        let words = input["query"].as_str().unwrap_or_default().to_owned();
        Ok(Reply::text(format!("#17 {words} ({thing}, open)\n#4 {words}, again ({thing}, closed)")))
    })
}
