//! All levels, put together: who is heard after whom, and what is out of everybody's reach.

use std::{fs, io::ErrorKind, path::Path};

use haft_engine::policy::{Origin, Rules, Written};

use super::{Document, Fixed, Note, Settings, Told};
use crate::{exit::usage, place};

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// The administrator's: out of everybody else's reach.
    Managed,
    /// The user's.
    User,
    /// The workspace's own, if they are trusted.
    Workspace,
    /// The file that `--config` names.
    Config,
}

/// What all levels say together.
pub(super) fn read(config: Option<&Path>, workspace: &[Document]) -> anyhow::Result<Settings> {
    let (mut settings, mut managed) = (Settings::default(), Settings::default());
    for (level, document) in documents(config, workspace)? {
        let said = document.parse(level, &settings)?;
        match level {
            Level::Managed => managed = said,
            _ => settings = settings.and(said),
        }
    }
    Ok(settings.under(managed))
}

/// What the files of a workspace add to what holds without them.
pub(super) fn of_workspace(workspace: &[Document]) -> anyhow::Result<(Settings, Vec<Told>)> {
    let mut below = read(None, &[])?;
    let (mut said, mut told) = (Settings::default(), Vec::new());
    for document in workspace {
        told.extend(document.told(&below)?);
        let more = document.parse(Level::Workspace, &below)?;
        below = below.and(more.clone());
        said = said.and(more);
    }
    Ok((said, told))
}

/// What each file says alone, or what is wrong with it: for those who want all mistakes at once.
pub(crate) fn each_level(
    config: Option<&Path>,
    workspace: &[Document],
) -> anyhow::Result<Vec<anyhow::Result<Settings>>> {
    let mut below = Settings::default();
    let mut each = Vec::new();
    for (level, document) in documents(config, workspace)? {
        let said = document.parse(level, &below);
        if let (Ok(said), true) = (&said, level != Level::Managed) {
            below = below.and(said.clone());
        }
        each.push(said);
    }
    Ok(each)
}

/// The files that are there, in the order in which they are heard. The managed one comes first and is put on top.
fn documents(config: Option<&Path>, workspace: &[Document]) -> anyhow::Result<Vec<(Level, Document)>> {
    let mut documents = Vec::new();
    documents.extend(optional(&place::managed_settings())?.map(|document| (Level::Managed, document)));
    if let Some(path) = place::user_settings() {
        documents.extend(optional(&path)?.map(|document| (Level::User, document)));
    }
    documents.extend(workspace.iter().map(|document| (Level::Workspace, document.clone())));
    if let Some(path) = config {
        let text = fs::read_to_string(path).map_err(|err| unreadable(path, &err))?;
        documents.push((Level::Config, Document { path: path.to_owned(), text }));
    }
    Ok(documents)
}

/// A file that need not be there. One that is there and cannot be read is an error: it might deny something.
fn optional(path: &Path) -> anyhow::Result<Option<Document>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(Document { path: path.to_owned(), text })),
        Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(err) => Err(unreadable(path, &err)),
    }
}

fn unreadable(path: &Path, err: &std::io::Error) -> anyhow::Error {
    usage(format!("{}: the settings cannot be read: {err}", path.display()))
}

impl Settings {
    /// These under the managed ones: their values win, and what would loosen them does not count.
    pub(super) fn under(mut self, managed: Settings) -> Settings {
        let fixed = Fixed {
            mode: managed.mode,
            recorded: managed.journal.enabled == Some(true),
            sandboxed: managed.sandbox.enabled == Some(true) || managed.sandbox.required == Some(true),
        };
        if managed.managed_rules_only {
            self.notes.extend(self.rules.allow.iter().filter_map(outdone));
            self.rules.allow.clear();
        }
        if managed.managed_rules_only || managed.sandbox.unsandboxed.is_some() {
            self.sandbox.unsandboxed = None;
        }
        // A managed list is the whole list: what others add would widen it.
        if managed.sandbox.write.is_some() {
            self.sandbox.write = None;
        }
        if managed.sandbox.read.is_some() {
            self.sandbox.read = None;
        }
        if managed.secrets.redact == Some(true) {
            self.secrets.off_for.clear();
        }
        if managed.sandbox.hosts.is_some() {
            self.sandbox.hosts = None;
        }
        if managed.sandbox.sockets.is_some() {
            self.sandbox.sockets = None;
        }
        Settings { fixed, ..self.and(managed) }
    }

    /// Of these rules, those that the managed settings let others write.
    pub(crate) fn admit(&self, rules: Rules) -> Rules {
        if self.managed_rules_only { Rules { allow: Vec::new(), ..rules } } else { rules }
    }
}

fn outdone(rule: &Written) -> Option<Note> {
    let Origin::File { path, line } = &rule.origin else { return None };
    let what =
        format!("allow rule `{}` does not count: the managed settings allow only their own", rule.text);
    Some(Note { path: path.clone(), line: *line, what })
}
