//! Rules that a person always wants: added to their settings file, in one step, with everything else in it as it was; or, where
//! several machines share a store, to a document there.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, ErrorKind, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use haft_engine::policy::{Origin, RuleKeeper, Written};
use haft_tool::{BoxFuture, SessionFacts};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tokio::task::spawn_blocking;
use toml_edit::{Array, Document, DocumentMut, Item, TableLike, Value, table, value};

use crate::far::Leaf;

/// The settings file in which the rules of *always* are kept.
#[derive(Debug, Clone)]
pub(crate) struct SettingsFile(pub(crate) PathBuf);

impl RuleKeeper for SettingsFile {
    fn keep<'a>(
        &'a self,
        _: &'a SessionFacts,
        rules: &'a [String],
    ) -> BoxFuture<'a, io::Result<Vec<Written>>> {
        let (path, rules) = (self.0.clone(), rules.to_vec());
        Box::pin(async move { spawn_blocking(move || keep(&path, &rules)).await.map_err(io::Error::other)? })
    }
}

/// The document in which they are kept where several machines share a store.
#[derive(Clone)]
pub(crate) struct SharedRules(pub(crate) Leaf);

/// What is written there.
#[derive(Default, Serialize, Deserialize)]
struct Shared {
    allow: Vec<String>,
}

impl SharedRules {
    /// Those that were kept so far, on whichever machine. The server is waited for.
    pub(crate) fn rules(&self) -> io::Result<Vec<Written>> {
        let there: Option<Shared> = self.0.read()?.map(serde_json::from_value).transpose()?;
        Ok(Written::all(&there.unwrap_or_default().allow, Origin::Store))
    }
}

impl RuleKeeper for SharedRules {
    fn keep<'a>(
        &'a self,
        _: &'a SessionFacts,
        rules: &'a [String],
    ) -> BoxFuture<'a, io::Result<Vec<Written>>> {
        let (document, rules) = (self.0.clone(), rules.to_vec());
        let keep = move || {
            document.change(|there| {
                let mut shared = there.map_or_else(|| Ok(Shared::default()), Shared::deserialize)?;
                for rule in &rules {
                    if !shared.allow.contains(rule) {
                        shared.allow.push(rule.clone());
                    }
                }
                Ok((Some(serde_json::to_value(shared)?), Written::all(&rules, Origin::Store)))
            })
        };
        Box::pin(async move { spawn_blocking(keep).await.map_err(io::Error::other)? })
    }
}

fn keep(path: &Path, rules: &[String]) -> io::Result<Vec<Written>> {
    // A link leads to the file that is meant: it stays a link.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().ok_or(ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let _alone = lock(directory)?;
    let before = match fs::read_to_string(&path) {
        Err(err) if err.kind() == ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let after = with_rules(&before, rules)
        .map_err(|what| io::Error::new(ErrorKind::InvalidData, format!("{}: {what}", path.display())))?;
    if after != before {
        replace(&path, directory, &after)?;
    }
    Ok(rules.iter().map(|rule| written(rule, &path, &after)).collect())
}

const TRIES: u32 = 100;

/// Two sessions that keep a rule at once keep both. Whoever holds it longer than a second is stuck.
fn lock(directory: &Path) -> io::Result<File> {
    let file = File::open(directory)?;
    for _ in 0..TRIES {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => thread::sleep(Duration::from_millis(10)),
            Err(err) => return Err(err.into()),
        }
    }
    Err(io::Error::new(ErrorKind::TimedOut, format!("somebody else holds {}", directory.display())))
}

/// In one step: whoever reads meanwhile sees the old file or the new one. A new file is its owner's alone.
fn replace(path: &Path, directory: &Path, text: &str) -> io::Result<()> {
    let mut staged = NamedTempFile::new_in(directory)?;
    if let Ok(metadata) = fs::metadata(path) {
        staged.as_file().set_permissions(metadata.permissions())?;
    }
    staged.write_all(text.as_bytes())?;
    staged.as_file().sync_all()?;
    staged.persist(path).map_err(|err| err.error)?;
    File::open(directory)?.sync_all()
}

/// The file's text with these rules in it, each once.
fn with_rules(text: &str, rules: &[String]) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|err: toml_edit::TomlError| err.message().to_owned())?;
    let root = document.as_table_mut();
    let permissions = root.entry("permissions").or_insert_with(table);
    let permissions = permissions.as_table_like_mut().ok_or("`permissions` is not a table")?;
    let allow = list(permissions)?;
    for rule in rules {
        let is_there = allow.iter().any(|there| there.as_str() == Some(rule));
        if !is_there {
            append(allow, rule);
        }
    }
    Ok(document.to_string())
}

fn list(permissions: &mut dyn TableLike) -> Result<&mut Array, String> {
    let allow = permissions.entry("allow").or_insert_with(|| value(Array::new()));
    allow.as_array_mut().ok_or_else(|| "`permissions.allow` is not a list".to_owned())
}

/// At the end, and on a line of its own where the others are. A comment after the last one stays with it.
fn append(list: &mut Array, rule: &str) {
    let trailing = list.trailing().as_str().unwrap_or_default().to_owned();
    let before = list.iter().last().and_then(|last| last.decor().prefix()?.as_str()).unwrap_or_default();
    let indent = before.rsplit_once('\n').map(|(_, indent)| indent.to_owned());
    let mut added = Value::from(rule);
    match indent {
        Some(indent) => {
            let comment = trailing.trim_end();
            added.decor_mut().set_prefix(format!("{comment}\n{indent}"));
            list.set_trailing("\n");
            list.set_trailing_comma(true);
        }
        None if list.is_empty() => {}
        None => added.decor_mut().set_prefix(" "),
    }
    list.push_formatted(added);
}

fn written(rule: &str, path: &Path, text: &str) -> Written {
    let line = line_of(rule, text).unwrap_or(1);
    Written::new(rule, Origin::File { path: path.to_owned(), line })
}

fn line_of(rule: &str, text: &str) -> Option<u32> {
    let document = Document::parse(text).ok()?;
    let allow = document.get("permissions")?.get("allow").and_then(Item::as_array)?;
    let span = allow.iter().find(|there| there.as_str() == Some(rule))?.span()?;
    let ends = text.as_bytes().get(..span.start)?.iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(ends + 1).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use haft_testkit::Workspace;

    use super::*;

    #[track_caller]
    fn check(before: &str, expected: &str) {
        let after = with_rules(before, &["Bash(make)".to_owned()]).expect(before);
        assert_eq!(after, expected);
        assert_eq!(with_rules(&after, &["Bash(make)".to_owned()]).unwrap(), expected, "twice is once");
        toml::from_str::<toml::Table>(&after).expect("still TOML");
    }

    #[test]
    fn a_rule_is_added_and_all_else_stays() {
        check("", "[permissions]\nallow = [\"Bash(make)\"]\n");
        check(
            "mode = \"plan\" # mine\n",
            "mode = \"plan\" # mine\n\n[permissions]\nallow = [\"Bash(make)\"]\n",
        );
        check(
            "# top\n[permissions]\nallow = [ \"A\" ] # some\ndeny = []\n\n[limits]\nparallel = 3\n",
            "# top\n[permissions]\nallow = [ \"A\" , \"Bash(make)\"] # some\ndeny = []\n\n[limits]\nparallel = 3\n",
        );
        check("[permissions]\ndeny = [\"B\"]\n", "[permissions]\ndeny = [\"B\"]\nallow = [\"Bash(make)\"]\n");
        check(
            "permissions.deny = [\"B\"]\n",
            "permissions.deny = [\"B\"]\npermissions.allow = [\"Bash(make)\"]\n",
        );
        check(
            "permissions = { deny = [\"B\"] }\n",
            "permissions = { deny = [\"B\"] , allow = [\"Bash(make)\"] }\n",
        );
    }

    #[test]
    fn a_list_of_lines_gets_a_line() {
        check(
            "[permissions]\nallow = [\n    # for docs\n    \"A\",\n    \"B\", # why\n]\n",
            "[permissions]\nallow = [\n    # for docs\n    \"A\",\n    \"B\", # why\n    \"Bash(make)\",\n]\n",
        );
        check(
            "[permissions]\nallow = [\n  \"A\"\n]\n",
            "[permissions]\nallow = [\n  \"A\"\n,\n  \"Bash(make)\",\n]\n",
        );
    }

    #[test]
    fn a_file_that_is_none_is_left_alone() {
        assert_eq!(with_rules("permissions = 3", &[]).unwrap_err(), "`permissions` is not a table");
        assert_eq!(
            with_rules("permissions.allow = \"A\"", &[]).unwrap_err(),
            "`permissions.allow` is not a list"
        );
        let files = Workspace::new("-- haft.toml\nmode = \n");
        let err = keep(&files.root().join("haft.toml"), &["A".to_owned()]).unwrap_err();
        assert!(err.to_string().contains("haft.toml: "), "{err}");
        assert_eq!(files.text("haft.toml"), "mode = \n");
    }

    #[test]
    fn a_new_file_is_its_owners_alone_and_an_old_one_keeps_its_mode_and_its_link() {
        let files = Workspace::new("-- real.toml\nmode = \"plan\"\n");
        let mode = |name: &str| fs::metadata(files.root().join(name)).unwrap().permissions().mode() & 0o777;
        let kept = keep(&files.root().join("new/haft/haft.toml"), &["A".to_owned(), "B".to_owned()]).unwrap();
        assert_eq!(mode("new/haft/haft.toml"), 0o600);
        assert_eq!(kept.len(), 2);
        fs::set_permissions(files.root().join("real.toml"), fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink("real.toml", files.root().join("haft.toml")).unwrap();
        let kept = keep(&files.root().join("haft.toml"), &["A".to_owned()]).unwrap();
        assert!(fs::symlink_metadata(files.root().join("haft.toml")).unwrap().is_symlink());
        assert_eq!(mode("real.toml"), 0o644);
        assert_eq!(files.text("real.toml"), "mode = \"plan\"\n\n[permissions]\nallow = [\"A\"]\n");
        let origin = format!("{}:4", files.root().join("real.toml").display());
        assert_eq!(kept[0].origin.to_string(), origin);
    }

    #[test]
    fn two_at_once_keep_both() {
        let files = Workspace::new("");
        let path = files.root().join("haft.toml");
        thread::scope(|scope| {
            for n in 0..8 {
                let path = &path;
                scope.spawn(move || keep(path, &[format!("Tool{n}")]).unwrap());
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        assert!((0..8).all(|n| text.contains(&format!("\"Tool{n}\""))), "{text}");
    }
}
