//! How what a workspace brings compares with what was trusted.

use std::path::{Path, PathBuf};

use haft_engine::policy::{Origin, Written, path_rule};

use super::{
    diff::revealed_line,
    gather::{Bundle, SERVERS, SETTINGS, gather},
    store::{Trusted, recall},
};
use crate::{
    exit::usage,
    settings::{Document, Listed, servers},
};

/// A workspace's files, and whether they count.
#[derive(Debug)]
pub(crate) struct Brought {
    pub(crate) workspace: PathBuf,
    pub(crate) bundle: Bundle,
    pub(crate) standing: Standing,
}

/// Whether somebody has said that they count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It brings nothing.
    Nothing,
    /// Exactly this was trusted.
    Trusted(Trusted),
    /// Nothing of it was ever trusted.
    Untrusted,
    /// Something else was trusted.
    Changed(Trusted),
    /// It cannot be said, for this reason. So it is not trusted.
    Unsure(String),
}

/// What became of a file since it was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    New,
    Changed,
    Gone,
}

impl Change {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Change::New => "new",
            Change::Changed => "changed",
            Change::Gone => "gone",
        }
    }
}

/// Reads what a workspace brings, once, and compares.
pub(crate) fn look(workspace: &Path) -> Brought {
    let (bundle, standing) = match gather(workspace) {
        Ok(bundle) if bundle.files.is_empty() => (bundle, Standing::Nothing),
        Ok(bundle) => {
            let standing = compare(&bundle, recall(workspace));
            (bundle, standing)
        }
        Err(why) => (Bundle::default(), Standing::Unsure(why)),
    };
    Brought { workspace: workspace.to_owned(), bundle, standing }
}

fn compare(bundle: &Bundle, recalled: Result<Option<Trusted>, String>) -> Standing {
    match recalled {
        Ok(None) => Standing::Untrusted,
        Ok(Some(trusted)) if trusted.bundle == *bundle => Standing::Trusted(trusted),
        Ok(Some(trusted)) => Standing::Changed(trusted),
        Err(why) => Standing::Unsure(why),
    }
}

impl Standing {
    /// The word for it in machine-readable output.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Standing::Nothing => "nothing",
            Standing::Trusted(_) => "trusted",
            Standing::Untrusted => "untrusted",
            Standing::Changed(_) => "changed",
            Standing::Unsure(_) => "unsure",
        }
    }

    /// When the workspace was trusted, whether that still holds or not.
    pub(crate) fn since(&self) -> Option<u64> {
        self.trusted().map(|trusted| trusted.since)
    }

    /// What was trusted, whether it still is or not.
    pub(crate) fn trusted(&self) -> Option<&Trusted> {
        match self {
            Standing::Trusted(trusted) | Standing::Changed(trusted) => Some(trusted),
            _ => None,
        }
    }
}

impl Brought {
    /// Whether it counts; for this run, because somebody says so, or because it was trusted.
    pub(crate) fn counts(&self, told: bool) -> anyhow::Result<bool> {
        match &self.standing {
            Standing::Trusted(_) => Ok(true),
            // What could not be read cannot be used, whoever says so.
            Standing::Unsure(why) if told && self.bundle.files.is_empty() => {
                Err(usage(format!("--trust: the workspace's own files cannot be used: {why}")))
            }
            Standing::Nothing => Ok(false),
            _ => Ok(told),
        }
    }

    /// What has changed since it was trusted, sorted by path.
    pub(crate) fn changes(&self) -> Vec<(String, Change)> {
        let Standing::Changed(before) = &self.standing else { return Vec::new() };
        let now = self.bundle.files.iter().filter_map(|file| match before.bundle.find(&file.path) {
            None => Some((file.path.clone(), Change::New)),
            Some(old) if old.bytes != file.bytes => Some((file.path.clone(), Change::Changed)),
            Some(_) => None,
        });
        let gone = before.bundle.files.iter().filter(|old| self.bundle.find(&old.path).is_none());
        let mut changes: Vec<_> = now.chain(gone.map(|old| (old.path.clone(), Change::Gone))).collect();
        changes.sort_by(|one, other| one.0.cmp(&other.0));
        changes
    }

    /// One line for those who work in it, if it does not count.
    pub(crate) fn warning(&self) -> Option<String> {
        let why = match &self.standing {
            Standing::Nothing | Standing::Trusted(_) => return None,
            Standing::Untrusted => {
                let paths: Vec<String> = self.bundle.files.iter().map(|file| file.path.clone()).collect();
                format!("not trusted yet ({})", few(&paths))
            }
            Standing::Changed(_) => {
                let each = |(path, change): (String, Change)| format!("{path} {}", change.word());
                format!(
                    "changed since it was trusted ({})",
                    few(&self.changes().into_iter().map(each).collect::<Vec<_>>())
                )
            }
            Standing::Unsure(why) => why.clone(),
        };
        // Names of files are a stranger's words, too.
        let why = revealed_line(&why);
        Some(format!("the workspace's own settings do not count: {why}; see `haft trust`"))
    }

    /// The settings files, in the order in which they are heard.
    pub(crate) fn documents(&self) -> anyhow::Result<Vec<Document>> {
        SETTINGS.iter().filter_map(|path| self.document(path).transpose()).collect()
    }

    /// The servers that it lists.
    pub(crate) fn servers(&self) -> anyhow::Result<Listed> {
        self.document(SERVERS)?.map_or(Ok(Listed::default()), |document| servers(&document))
    }

    fn document(&self, path: &str) -> anyhow::Result<Option<Document>> {
        let Some(file) = self.bundle.find(path) else { return Ok(None) };
        let path = self.workspace.join(path);
        let text = String::from_utf8(file.bytes.clone())
            .map_err(|_| usage(format!("{}: the file is not UTF-8", path.display())))?;
        Ok(Some(Document { path, text }))
    }

    /// What asks before anything changes a file that its hooks or servers run: whoever could change it could run anything.
    pub(crate) fn guards(&self) -> Vec<Written> {
        const READ: [&str; 3] = [".haft/", ".claude/agents/", ".claude/skills/"];
        let is_read = |path: &str| READ.iter().any(|place| path.starts_with(place));
        let is_run = |file: &&super::gather::Content| !is_read(&file.path);
        let guard = |file: &super::gather::Content| Written {
            firm: true,
            reason: Some("a hook or a server of the workspace runs it".to_owned()),
            ..Written::new(path_rule("Edit", &self.workspace.join(&file.path)), Origin::Haft)
        };
        self.others().filter(is_run).map(guard).collect()
    }

    /// The files that are neither settings nor servers: agents and skills, and what hooks and servers run.
    pub(crate) fn others(&self) -> impl Iterator<Item = &super::gather::Content> {
        let is_other = |path: &str| path != SERVERS && !SETTINGS.contains(&path);
        self.bundle.files.iter().filter(move |file| is_other(&file.path))
    }
}

fn few(words: &[String]) -> String {
    const MOST: usize = 4;
    match words.len().saturating_sub(MOST) {
        0 => words.join(", "),
        more => format!("{} and {more} more", words[..MOST].join(", ")),
    }
}
