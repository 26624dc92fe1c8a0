//! The agents that are defined in files: the user's own, and those of a workspace that is trusted.
//!
//! Of a workspace nothing is read here: it was read once, when it was compared with what was trusted, and that is what
//! counts. The user's files are read when somebody may delegate. One that cannot be used is left out, and that is said.

use std::{
    fs,
    path::{Path, PathBuf},
};

use haft_agent::{AgentDefinition, Delegate};
use haft_engine::Session;

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

    /// All definitions. The user's come first: no workspace takes their names. Of two with one name the first by its path
    /// counts.
    pub(crate) fn definitions(&self, talk: Talk) -> Vec<AgentDefinition> {
        let own = place::user_agents().map(|directory| users(&directory)).unwrap_or_default();
        let brought = self.0.iter().map(|(path, bytes)| (path.clone(), Ok(bytes.clone())));
        let mut known: Vec<(PathBuf, AgentDefinition)> = Vec::new();
        for (path, bytes) in own.into_iter().chain(brought) {
            let read =
                bytes.and_then(|bytes| definition(&path, bytes)).and_then(|it| alone(&known, &path, it));
            match read {
                Ok(definition) => known.push((path, definition)),
                Err(what) => talk.say(|| revealed_line(&format!("{what}; this agent is left out"))),
            }
        }
        known.into_iter().map(|(_, definition)| definition).collect()
    }
}

/// A name that one before it has is not its own.
fn alone(
    known: &[(PathBuf, AgentDefinition)],
    path: &Path,
    definition: AgentDefinition,
) -> Result<AgentDefinition, String> {
    match known.iter().find(|(_, one)| one.name == definition.name) {
        Some((first, _)) => {
            Err(format!("{}: {} is named `{}`, too", path.display(), first.display(), definition.name))
        }
        None => Ok(definition),
    }
}

/// Says which tools of definitions there are not: their agents have the others.
pub(crate) fn tell_unknown_tools(delegate: &Delegate, session: &Session, talk: Talk) {
    for definition in delegate.definitions() {
        let named = definition.tools.iter().flatten().chain(&definition.without);
        let is_unknown = |tool: &&String| session.engine().toolsets().filter([tool.as_str()]).is_err();
        for tool in named.filter(is_unknown) {
            let pool = session.pool();
            let near = pool
                .nearest(tool, 1)
                .first()
                .map_or_else(String::new, |near| format!("; did you mean {near}?"));
            talk.say(|| {
                revealed_line(&format!("agent {}: there is no tool `{tool}`{near}", definition.name))
            });
        }
    }
}

/// The user's files, by name.
fn users(directory: &Path) -> Vec<(PathBuf, Result<Vec<u8>, String>)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let is_one = |path: &PathBuf| path.to_string_lossy().ends_with(ENDING);
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_one).collect();
    paths.sort();
    paths.truncate(MOST);
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
