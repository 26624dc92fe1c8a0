//! What tools of servers said when they were first permitted: a file in the state directory.
//!
//! It keeps what was accepted and what is offered instead, so that the difference can be shown without a server. Whoever
//! changes it holds a lock, reads it anew, and replaces it whole: two processes lose nothing of each other's.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use haft_engine::pool::{Pins, Statement};
use serde::{Deserialize, Serialize};

use crate::{exit::usage, kept, place};

/// The form of the file. Another number is another form.
const FORM: u32 = 1;

/// By server, and by tool.
pub(crate) type ByName = BTreeMap<String, BTreeMap<String, Pin>>;

/// A pinned tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pin {
    /// Since when what was accepted is, in seconds since 1970.
    pub(crate) since: u64,
    pub(crate) accepted: Arc<Statement>,
    /// What it says now, if that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) offered: Option<Statement>,
}

#[derive(Default, Serialize, Deserialize)]
struct Written {
    form: u32,
    tools: ByName,
}

/// The pins in a file.
#[derive(Debug)]
pub(crate) struct FilePins {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tools: ByName,
    /// Of the file that was read last.
    stamp: Option<(u64, i64, i64)>,
    version: u64,
}

impl FilePins {
    /// The user's. A file that cannot be used is an error: with it, changes of tools would go unseen.
    pub(crate) fn open() -> anyhow::Result<FilePins> {
        FilePins::at(place::state()?.join("pins.json"))
    }

    fn at(path: PathBuf) -> anyhow::Result<FilePins> {
        let pins = FilePins { path, state: Mutex::default() };
        let read = pins.refresh(&mut pins.state());
        read.map_err(|err| usage(format!("{}: {err}; move the file away to pin anew", pins.path.display())))?;
        Ok(pins)
    }

    /// All of them.
    pub(crate) fn all(&self) -> ByName {
        self.state().tools.clone()
    }

    /// Changes them, under the lock and on what is there now.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut ByName) -> T) -> io::Result<T> {
        // Before the state: those who only look do not wait for other processes.
        let _lock = kept::lock(&self.path.with_extension("lock"))?;
        let mut state = self.state();
        self.refresh(&mut state)?;
        let mut tools = state.tools.clone();
        let outcome = change(&mut tools);
        if tools != state.tools {
            let written = Written { form: FORM, tools };
            kept::replace(&self.path, &serde_json::to_vec(&written)?)?;
            state.tools = written.tools;
            state.stamp = self.stamp();
            state.version += 1;
        }
        Ok(outcome)
    }

    /// Reads the file if it is not the one that was read last.
    fn refresh(&self, state: &mut State) -> io::Result<()> {
        let stamp = self.stamp();
        if stamp == state.stamp {
            return Ok(());
        }
        let written = match kept::read(&self.path)? {
            Some(bytes) => serde_json::from_slice(&bytes)?,
            None => Written { form: FORM, ..Written::default() },
        };
        if written.form != FORM {
            return Err(io::Error::other(format!("its form is {}, and this is for {FORM}", written.form)));
        }
        *state = State { tools: written.tools, stamp, version: state.version + 1 };
        Ok(())
    }

    /// What tells one file from the next: each is a new one, moved into place.
    fn stamp(&self) -> Option<(u64, i64, i64)> {
        let metadata = fs::metadata(&self.path).ok()?;
        Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pins for FilePins {
    fn get(&self, server: &str, tool: &str) -> Option<Arc<Statement>> {
        Some(Arc::clone(&self.state().tools.get(server)?.get(tool)?.accepted))
    }

    fn put(&self, server: &str, tool: &str, statement: &Statement) -> io::Result<Arc<Statement>> {
        self.change(|tools| {
            let first = || Pin { since: kept::now(), accepted: Arc::new(statement.clone()), offered: None };
            let pin =
                tools.entry(server.to_owned()).or_default().entry(tool.to_owned()).or_insert_with(first);
            Arc::clone(&pin.accepted)
        })
    }

    fn note(&self, server: &str, tool: &str, statement: &Statement) {
        let is_news = |pin: &Pin| match &pin.offered {
            Some(offered) => offered != statement,
            None => *pin.accepted != *statement,
        };
        let known =
            self.state().tools.get(server).and_then(|tools| tools.get(tool)).is_some_and(|pin| !is_news(pin));
        if known {
            return;
        }
        // Where it cannot be kept, the tool is held back all the same; only the diff will be missing.
        let _ = self.change(|tools| {
            if let Some(pin) = tools.get_mut(server).and_then(|tools| tools.get_mut(tool)) {
                pin.offered = (*pin.accepted != *statement).then(|| statement.clone());
            }
        });
    }

    fn version(&self) -> u64 {
        let mut state = self.state();
        // A file that has become unreadable changes nothing of what was read.
        let _ = self.refresh(&mut state);
        state.version
    }
}

#[cfg(test)]
mod tests {
    use haft_engine::pool::{LiveSource, PoolBuilder, PoolView};
    use haft_tool::{Reply, Spec, ToolBuilder};
    use serde_json::json;

    use super::*;

    fn saying(words: &str) -> Statement {
        Statement {
            name: "mcp__s__x".into(),
            title: "x".into(),
            description: words.into(),
            input: json!({ "type": "object" }),
            output: None,
            annotations: json!({}),
        }
    }

    #[test]
    fn what_one_process_pins_another_sees() {
        let directory = tempfile::tempdir().unwrap();
        let open = || FilePins::at(directory.path().join("pins.json")).unwrap();
        let (one, other) = (open(), open());
        let version = other.version();
        one.put("s", "x", &saying("a")).unwrap();
        assert_ne!(other.version(), version);
        assert_eq!(other.get("s", "x").as_deref(), Some(&saying("a")));
        assert_eq!(*other.put("s", "x", &saying("b")).unwrap(), saying("a"), "the first one holds");
        other.put("s", "y", &saying("c")).unwrap();
        one.put("t", "z", &saying("d")).unwrap();
        assert_eq!(open().all().values().map(BTreeMap::len).sum::<usize>(), 3);
    }

    #[test]
    fn what_is_offered_is_kept_until_it_is_the_same_again() {
        let directory = tempfile::tempdir().unwrap();
        let pins = FilePins::at(directory.path().join("pins.json")).unwrap();
        let offered = || pins.all()["s"]["x"].offered.clone();
        pins.note("s", "x", &saying("a"));
        assert_eq!(pins.all().len(), 0, "what is not pinned is not noted");
        pins.put("s", "x", &saying("a")).unwrap();
        pins.note("s", "x", &saying("b"));
        assert_eq!(offered(), Some(saying("b")));
        pins.note("s", "x", &saying("a"));
        assert_eq!(offered(), None);
    }

    #[test]
    fn a_pool_leaves_out_what_changed_and_notes_it() {
        let directory = tempfile::tempdir().unwrap();
        let pins = Arc::new(FilePins::at(directory.path().join("pins.json")).unwrap());
        let source = Arc::new(LiveSource::new("mcp:s").in_namespace("s"));
        let mut builder = PoolBuilder::new([source.clone() as _]).pins(pins.clone());
        let mut pool = |words: &'static str| {
            let tool = ToolBuilder::<serde_json::Value>::of(Spec::new("x")).prompt(words).schema(json!({}));
            source.replace_all([tool.call(|_, _| async { Ok(Reply::text("")) })]);
            builder.snapshot(&PoolView::unrestricted())
        };
        let first = pool("a").find("mcp__s__x").unwrap().statement();
        pins.put("s", "x", &first).unwrap();
        assert_eq!(pool("b").len(), 0);
        assert_eq!(pins.all()["s"]["x"].offered.as_ref().unwrap().description, "b");
        assert_eq!(pool("a").len(), 1);
        assert_eq!(pins.all()["s"]["x"].offered, None, "it says the old again");
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pins.json");
        std::thread::scope(|scope| {
            for server in ["a", "b", "c", "d"] {
                let path = path.clone();
                scope.spawn(move || {
                    let pins = FilePins::at(path).unwrap();
                    (0..10).for_each(|tool| drop(pins.put(server, &tool.to_string(), &saying("x")).unwrap()));
                });
            }
        });
        assert_eq!(FilePins::at(path).unwrap().all().values().map(BTreeMap::len).sum::<usize>(), 40);
    }

    #[test]
    fn a_broken_file_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pins.json");
        for text in ["{", r#"{"form":9,"tools":{}}"#] {
            kept::replace(&path, text.as_bytes()).unwrap();
            let refused = FilePins::at(path.clone()).unwrap_err().to_string();
            assert!(refused.contains("move the file away to pin anew"), "{refused}");
        }
    }
}
