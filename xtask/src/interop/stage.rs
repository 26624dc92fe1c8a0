//! Where a case takes place: a workspace of its own, a haft that knows nothing of the person, and the kit.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Trouble;
use crate::{haft::Haft, kit::Kit};

/// A Python server on a busy machine needs a quarter of a minute to say its name.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);

pub(super) struct Stage {
    haft: Haft,
    pub(super) kit: Kit,
    place: TempDir,
}

impl Stage {
    pub(super) fn new(haft: &Haft, kit: Kit) -> Result<Stage> {
        let place = tempfile::tempdir()?;
        let workspace = place.path().join("workspace");
        fs::create_dir_all(&workspace)?;
        fs::write(workspace.join("haft.toml"), "")?;
        fs::write(workspace.join("notes.md"), "a note for the peers\n")?;
        Ok(Stage { haft: haft.at(place.path().join("home")), kit, place })
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.place.path().join("workspace")
    }

    /// `haft WORDS` in the workspace, which is trusted.
    pub(super) fn haft(&self, words: &[&str]) -> Command {
        let mut all = vec!["--trust"];
        all.extend(words);
        self.haft.command(&self.workspace(), &all)
    }

    /// Calls a tool of a server that is written in `.mcp.json`, and looks for a text in the result.
    pub(super) fn calls(
        &self,
        server: Value,
        tool: &str,
        input: &Value,
        expected: &str,
    ) -> Result<(), Trouble> {
        self.serves(&[("s", server)])?;
        let (tool, input) = (format!("mcp__s__{tool}"), input.to_string());
        self.says(&mut self.haft(&["--allow", "mcp__s", "call", &tool, &input]), expected)
    }

    /// Has these servers written in `.mcp.json`, and no others.
    pub(super) fn serves(&self, servers: &[(&str, Value)]) -> Result<(), Trouble> {
        let servers: serde_json::Map<String, Value> =
            servers.iter().map(|(name, server)| ((*name).to_owned(), server.clone())).collect();
        fs::write(self.workspace().join(".mcp.json"), json!({ "mcpServers": servers }).to_string())?;
        Ok(())
    }

    /// Has a server in the user's own settings, which let it ask for a model.
    pub(super) fn user_serves(&self, name: &str, server: &Value) -> Result<(), Trouble> {
        let settings = self.place.path().join("home/.config/haft");
        fs::create_dir_all(&settings)?;
        // JSON's texts and lists of texts are TOML's as well.
        let text = format!(
            "[mcp.servers.{name}]\ncommand = {}\nargs = {}\nsampling = true\n",
            server["command"], server["args"]
        );
        fs::write(settings.join("haft.toml"), text)?;
        Ok(())
    }

    /// Runs it and looks for a text in what it prints.
    pub(super) fn says(&self, command: &mut Command, expected: &str) -> Result<(), Trouble> {
        self.heard(command, expected).map(drop)
    }

    /// The same; gives all that it says.
    pub(super) fn heard(&self, command: &mut Command, expected: &str) -> Result<String, Trouble> {
        let said = output(command, PATIENCE)?;
        if said.contains(expected) {
            return Ok(said);
        }
        let end: String = said.chars().rev().take(600).collect::<Vec<_>>().into_iter().rev().collect();
        Err(Trouble::Failed(format!("no `{expected}` in: {end}")))
    }

    /// A script of ours beside the packages that it imports.
    pub(super) fn script(&self, name: &str, text: &str) -> Result<PathBuf, Trouble> {
        let place = self.kit.npm().join("haft");
        fs::create_dir_all(&place)?;
        let script = place.join(name);
        fs::write(&script, text)?;
        Ok(script)
    }

    /// `node SCRIPT`, as `.mcp.json` has it.
    pub(super) fn node_server(&self, package: &str, words: &[&str]) -> Result<Value, Trouble> {
        let script = self.kit.script(package, "dist/index.js").map_err(Trouble::Skipped)?;
        let node = self.kit.node().map_err(Trouble::Skipped)?;
        let mut args = vec![path(&script)];
        args.extend(words.iter().map(|word| (*word).to_owned()));
        Ok(json!({ "command": path(&node), "args": args }))
    }
}

/// A path as text.
pub(super) fn path(path: &Path) -> String {
    path.display().to_string()
}

/// All that a program prints, on both streams, until it ends or its time is over.
fn output(command: &mut Command, limit: Duration) -> Result<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let streams = [child.stdout.take().map(reader), child.stderr.take().map(reader)];
    let start = Instant::now();
    let mut is_late = false;
    while child.try_wait()?.is_none() {
        if start.elapsed() > limit {
            is_late = true;
            child.kill()?;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let mut said = String::new();
    for stream in streams.into_iter().flatten() {
        said += &stream.join().unwrap_or_default();
    }
    if is_late {
        said += &format!("\n(killed after {} s)", limit.as_secs());
    }
    Ok(said)
}

fn reader(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a stream broke is as good as it gets.
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
