//! The agents that are defined in files: the user's own, and those of a workspace that is trusted.
//!
//! Of a workspace nothing is read here: it was read once, when it was compared with what was trusted, and that is what
//! counts. The user's files are read when somebody may delegate. One that cannot be used is left out, and that is said.

use std::{
    fs,
    path::{Path, PathBuf},
};

use haft_agent::AgentDefinition;

use crate::{
    out::Talk,
    place,
    trust::{Brought, revealed_line},
};

/// Where a workspace keeps them, in the order in which they count.
const IN_WORKSPACE: [&str; 2] = [".haft/agents", ".claude/agents"];
const ENDING: &str = ".md";

const MOST: usize = 200;
const MOST_BYTES: u64 = 256 * 1024;

/// What a trusted workspace brings.
#[derive(Debug, Default)]
pub(crate) struct Agents(Vec<(PathBuf, Vec<u8>)>);

impl Agents {
    /// Those of a workspace; nobody's if it is not trusted.
    pub(crate) fn brought(trusted: Option<&Brought>) -> Agents {
        let Some(brought) = trusted else { return Agents::default() };
        let of = |place: &'static str| {
            let is_one = move |path: &str| {
                let name = path.strip_prefix(place).and_then(|rest| rest.strip_prefix('/'));
                name.is_some_and(|name| name.ends_with(ENDING) && !name.contains('/'))
            };
            let files = brought.bundle.files.iter().filter(move |file| is_one(&file.path));
            files.map(|file| (brought.workspace.join(&file.path), file.bytes.clone()))
        };
        Agents(IN_WORKSPACE.into_iter().flat_map(of).take(MOST).collect())
    }

    /// All definitions. The user's come first: no workspace takes their names.
    pub(crate) fn definitions(&self, talk: Talk) -> Vec<AgentDefinition> {
        let own = place::user_agents().map(|directory| users(&directory)).unwrap_or_default();
        let brought = self.0.iter().map(|(path, bytes)| (path.clone(), Ok(bytes.clone())));
        let read = |(path, bytes): (PathBuf, Result<Vec<u8>, String>)| match bytes
            .and_then(|bytes| definition(&path, bytes))
        {
            Ok(definition) => Some(definition),
            Err(what) => {
                talk.say(|| revealed_line(&format!("{what}; this agent is left out")));
                None
            }
        };
        own.into_iter().chain(brought).filter_map(read).collect()
    }
}

/// The user's files, by name.
fn users(directory: &Path) -> Vec<(PathBuf, Result<Vec<u8>, String>)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let is_one = |path: &PathBuf| path.to_string_lossy().ends_with(ENDING);
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_one).take(MOST).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let wrong = |what: String| format!("{}: {what}", path.display());
        let bytes = match fs::metadata(&path) {
            Ok(about) if about.len() > MOST_BYTES => {
                Err(wrong(format!("it has more than {MOST_BYTES} bytes")))
            }
            Ok(_) => fs::read(&path).map_err(|err| wrong(err.to_string())),
            Err(err) => Err(wrong(err.to_string())),
        };
        (path, bytes)
    };
    paths.into_iter().map(read).collect()
}

fn definition(path: &Path, bytes: Vec<u8>) -> Result<AgentDefinition, String> {
    let text = String::from_utf8(bytes).map_err(|_| format!("{}: it is not UTF-8", path.display()))?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    AgentDefinition::read(&text, &name)
        .map_err(|err| format!("{}:{}: {}", path.display(), err.line, err.what))
}
