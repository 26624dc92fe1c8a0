//! One settings file, read.
//!
//! It is read twice: as a tree, whose keys are compared with those that there are, and as types. Errors have the line.

use std::{
    collections::BTreeMap,
    fmt::Display,
    num::NonZeroUsize,
    ops::Range,
    path::{Path, PathBuf},
};

use haft_engine::policy::{Mode, Origin, Written};
use haft_schema::nearest;
use serde::Deserialize;
use toml::{
    Spanned,
    de::{DeTable, DeValue, Deserializer},
};

use super::{
    Auto, Bash, Delegates, Journal, Level, Limits, Mcp, Model, Note, Results, Sandbox, SandboxLimits,
    Secrets, Settings, Store, Undo, Web,
    keys::{Step, step},
};
use crate::{
    draw::plain_line,
    exit::usage,
    hooks::{self, WrittenHooks},
    place,
};

/// A file's name and text, read once: what was judged is what is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A file as it is written, but for its rules.
#[derive(Deserialize, Default)]
#[serde(default)]
struct InFile {
    mode: Option<Spanned<String>>,
    forbid_modes: Vec<Spanned<String>>,
    managed_rules_only: Option<bool>,
    model: Model,
    auto: Auto,
    delegate: Delegates,
    limits: Limits,
    tools: Tools,
    read: Read,
    bash: Bash,
    sandbox: WrittenSandbox,
    web: Web,
    secrets: Secrets,
    journal: Journal,
    store: Store,
    undo: Undo,
    results: Results,
    mcp: Mcp,
    hooks: WrittenHooks,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WrittenSandbox {
    enabled: Option<bool>,
    required: Option<bool>,
    read: Option<Vec<Spanned<String>>>,
    write: Option<Vec<Spanned<String>>>,
    deny_read: Vec<Spanned<String>>,
    hosts: Option<Vec<String>>,
    sockets: Option<Vec<Spanned<String>>>,
    unsandboxed: Option<Vec<Spanned<String>>>,
    forbid_unsandboxed: Option<bool>,
    memory_mb: Option<NonZeroUsize>,
    processes: Option<NonZeroUsize>,
    file_mb: Option<NonZeroUsize>,
    cpu_s: Option<NonZeroUsize>,
    disk_reserve_mb: Option<NonZeroUsize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Read {
    data_reminder: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tools {
    defer_above: Option<usize>,
    defer_share: Option<f64>,
    context_tokens: Option<NonZeroUsize>,
    always_load: Vec<String>,
    listing_bytes: Option<usize>,
    toolsets: BTreeMap<String, Vec<String>>,
}

impl Document {
    /// What it says, if it stands on this level above these settings.
    pub(super) fn parse(&self, level: Level, below: &Settings) -> anyhow::Result<Settings> {
        let file = File { path: &self.path, text: &self.text };
        let table = DeTable::parse(file.text).map_err(|err| file.refuse(&err))?;
        let mut wrong = Vec::new();
        file.check_keys(&mut Vec::new(), table.get_ref(), &mut wrong);
        if !wrong.is_empty() {
            wrong.sort_by_key(|(at, _)| *at);
            let lines: Vec<String> = wrong.into_iter().map(|(_, err)| err.to_string()).collect();
            return Err(usage(lines.join("\n")));
        }
        let whole = file.settings(table.clone(), level)?;
        if level != Level::Workspace {
            return Ok(whole);
        }
        // Read as a whole first: a mistake is one, also in what does not count.
        let (table, notes) = file.tightening(table, below);
        Ok(Settings { notes, ..file.settings(table, level)? })
    }
}

/// A value that counts, in the words of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) key: String,
    pub(crate) text: String,
}

impl Document {
    /// The values that count of it on the level of a workspace, above these settings; not its rules and hooks.
    pub(super) fn told(&self, below: &Settings) -> anyhow::Result<Vec<Told>> {
        let file = File { path: &self.path, text: &self.text };
        let table = DeTable::parse(file.text).map_err(|err| file.refuse(&err))?;
        let mut told = Vec::new();
        file.tell(&mut Vec::new(), file.tightening(table, below).0.get_ref(), &mut told);
        Ok(told)
    }
}

/// A settings file while it is read.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    pub(super) path: &'a Path,
    text: &'a str,
}

impl<'a> File<'a> {
    /// All keys that are none, and where each stands.
    fn check_keys(
        self,
        path: &mut Vec<String>,
        table: &DeTable<'_>,
        wrong: &mut Vec<(usize, anyhow::Error)>,
    ) {
        for (key, value) in table {
            path.push(key.get_ref().to_string());
            match (step(path), value.get_ref().as_table()) {
                (Step::Setting(_), _) => {}
                (Step::Table, Some(inner)) => self.check_keys(path, inner, wrong),
                (Step::Table, None) => {
                    let what = format!("`{}` is a table of settings, written [{0}]", path.join("."));
                    wrong.push((value.span().start, self.wrong(value.span(), what)));
                }
                (Step::Nowhere(known), _) => wrong.push((key.span().start, self.unknown(key, path, &known))),
            }
            path.pop();
        }
    }

    fn tell(self, path: &mut Vec<String>, table: &DeTable<'_>, told: &mut Vec<Told>) {
        for (key, value) in table {
            path.push(key.get_ref().to_string());
            match (step(path), value.get_ref()) {
                // Rules and hooks are told by those who understand them.
                (Step::Setting(_), _) if path.iter().any(|name| name == "permissions" || name == "hooks") => {
                }
                (Step::Setting(_), _) => {
                    let text = self.text.get(value.span()).unwrap_or_default().to_owned();
                    told.push(Told { key: path.join("."), text });
                }
                (_, DeValue::Table(inner)) => self.tell(path, inner, told),
                _ => {}
            }
            path.pop();
        }
    }

    fn unknown(self, key: &Spanned<impl AsRef<str>>, path: &[String], known: &[&str]) -> anyhow::Error {
        let word = key.get_ref().as_ref();
        let table = path[..path.len() - 1].join(".");
        let at = if table.is_empty() { String::new() } else { format!(" in [{table}]") };
        let advice = match nearest(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.join(", ")),
        };
        self.wrong(key.span(), format!("there is no setting `{word}`{at}; {advice}"))
    }

    fn settings(self, table: Spanned<DeTable<'a>>, level: Level) -> anyhow::Result<Settings> {
        let rules = self.all_rules(table.get_ref(), level)?;
        self.check_level(table.get_ref(), level)?;
        let written = InFile::deserialize(Deserializer::from(table)).map_err(|err| self.refuse(&err))?;
        let hooks = hooks::read(written.hooks).map_err(|(span, what)| self.wrong(span, what))?;
        Ok(Settings {
            mode: written.mode.map(|mode| self.mode(mode)).transpose()?,
            forbid_modes: written
                .forbid_modes
                .into_iter()
                .map(|mode| self.mode(mode))
                .collect::<Result<_, _>>()?,
            rules,
            managed_rules_only: written.managed_rules_only.unwrap_or_default(),
            model: written.model,
            auto: written.auto,
            delegate: written.delegate,
            limits: written.limits,
            tools: super::Tools {
                defer_above: written.tools.defer_above,
                defer_share: written.tools.defer_share,
                context_tokens: written.tools.context_tokens,
                always_load: written.tools.always_load,
                listing_bytes: written.tools.listing_bytes,
            },
            toolsets: written.tools.toolsets,
            data_reminder: written.read.data_reminder,
            sandbox: self.sandbox(written.sandbox)?,
            bash: written.bash,
            web: written.web,
            secrets: written.secrets,
            journal: written.journal,
            store: written.store,
            undo: written.undo,
            results: written.results,
            mcp: written.mcp.saying_something(),
            hooks: hooks.into_iter().collect(),
            ..Settings::default()
        })
    }

    /// What is for administrators would mislead elsewhere. A workspace's is left out with a note.
    fn check_level(self, table: &DeTable<'_>, level: Level) -> anyhow::Result<()> {
        match table.get("managed_rules_only") {
            Some(value) if matches!(level, Level::User | Level::Config) => {
                let what = format!(
                    "`managed_rules_only` belongs to the managed settings, {}",
                    place::managed_settings().display()
                );
                Err(self.wrong(value.span(), what))
            }
            _ => Ok(()),
        }
    }

    fn mode(self, written: Spanned<String>) -> anyhow::Result<Mode> {
        written.get_ref().parse().map_err(|err| self.wrong(written.span(), err))
    }

    fn sandbox(self, written: WrittenSandbox) -> anyhow::Result<Sandbox> {
        let paths = |paths: Vec<Spanned<String>>| -> anyhow::Result<Vec<PathBuf>> {
            paths.into_iter().map(|path| self.place(path)).collect()
        };
        let rule = |rule: Spanned<String>| {
            let origin = Origin::File { path: self.path.to_owned(), line: self.line(rule.span().start) };
            Written::new(rule.into_inner(), origin)
        };
        Ok(Sandbox {
            enabled: written.enabled,
            required: written.required,
            read: written.read.map(paths).transpose()?,
            write: written.write.map(paths).transpose()?,
            deny_read: paths(written.deny_read)?,
            hosts: written.hosts,
            sockets: written.sockets.map(|sockets| self.sockets(sockets)).transpose()?,
            unsandboxed: written.unsandboxed.map(|rules| rules.into_iter().map(rule).collect()),
            forbid_unsandboxed: written.forbid_unsandboxed,
            limits: SandboxLimits {
                memory_mb: written.memory_mb,
                processes: written.processes,
                file_mb: written.file_mb,
                cpu_s: written.cpu_s,
                disk_reserve_mb: written.disk_reserve_mb,
            },
        })
    }

    /// Paths of Unix sockets. One that begins with a variable is that which the variable names now; there is none if it is
    /// not set.
    fn sockets(self, written: Vec<Spanned<String>>) -> anyhow::Result<Vec<PathBuf>> {
        let mut sockets = Vec::new();
        for socket in written {
            let Some(after) = socket.get_ref().strip_prefix('$') else {
                sockets.push(self.place(socket)?);
                continue;
            };
            let (name, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
            let value = std::env::var_os(name).filter(|value| Path::new(value).is_absolute());
            let rest = rest.trim_start_matches('/');
            // An empty rest would put a slash behind the name of a file.
            let path =
                |value| if rest.is_empty() { PathBuf::from(value) } else { PathBuf::from(value).join(rest) };
            sockets.extend(value.map(path));
        }
        Ok(sockets)
    }

    /// A path that means the same wherever haft is started.
    fn place(self, written: Spanned<String>) -> anyhow::Result<PathBuf> {
        let path = Path::new(written.get_ref());
        let below_home = path.strip_prefix("~").ok();
        let placed = match (below_home, place::home()) {
            (Some(below), Some(home)) => home.join(below),
            _ => path.to_owned(),
        };
        if placed.is_absolute() {
            return Ok(placed);
        }
        let what = format!("`{}` is not absolute; begin it with `/` or `~/`", written.get_ref());
        Err(self.wrong(written.span(), what))
    }

    fn refuse(self, err: &toml::de::Error) -> anyhow::Error {
        // Its first line is what is wrong; the rest would be the place, which we tell our own way.
        let what = err.message().lines().next().unwrap_or_default();
        // Whoever writes settings need not know Rust.
        let what = what.replace("a nonzero usize", "a whole number from 1 on");
        self.wrong(err.span().unwrap_or(0..0), what)
    }

    pub(super) fn wrong(self, span: Range<usize>, what: impl Display) -> anyhow::Error {
        // A quoted key can hold anything, and the file may be a stranger's.
        let what = plain_line(what.to_string());
        usage(format!("{}:{}: {what}", self.path.display(), self.line(span.start)))
    }

    pub(super) fn note(self, span: Range<usize>, what: String) -> Note {
        Note { path: self.path.to_owned(), line: self.line(span.start), what }
    }

    /// The line of a place in the text, from 1.
    pub(super) fn line(self, at: usize) -> u32 {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let ends = before.iter().filter(|byte| **byte == b'\n').count();
        u32::try_from(ends).unwrap_or(u32::MAX - 1) + 1
    }
}

/// The value at a place of a tree.
pub(super) fn at<'t, 'i>(table: &'t DeTable<'i>, path: &[&str]) -> Option<&'t Spanned<DeValue<'i>>> {
    let (first, rest) = path.split_first()?;
    let value = table.get(*first)?;
    if rest.is_empty() { Some(value) } else { at(value.get_ref().as_table()?, rest) }
}
