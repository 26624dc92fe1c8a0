//! What tools of servers said when they were first permitted: a file in the state directory, and where several machines
//! share a store, a document there.
//!
//! It keeps what was accepted and what is offered instead, so that the difference can be shown without a server. Whoever
//! changes it holds a lock, reads it anew, and replaces it whole: two processes lose nothing of each other's. Where there is
//! a document, it is what counts, and the file is what was last read of it: what was pinned holds also when the store is away.

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use haft_engine::pool::{Pins, Statement};
use haft_store::Book;
use serde::{Deserialize, Serialize};

use crate::{exit::usage, far::Leaf, kept, out::complain, place};

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

impl Written {
    fn check(&self) -> io::Result<()> {
        if self.form == FORM {
            return Ok(());
        }
        Err(io::Error::other(format!("its form is {}, and this is for {FORM}", self.form)))
    }
}

/// How long others may have changed the document before it is read again.
const LATELY: Duration = Duration::from_secs(5);

/// The pins in a file. Clones are the same.
#[derive(Clone)]
pub(crate) struct FilePins(Arc<Inner>);

impl fmt::Debug for FilePins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FilePins").field(&self.0.path).finish()
    }
}

struct Inner {
    path: PathBuf,
    state: Mutex<State>,
    /// What counts, if several machines share it.
    shared: Option<Leaf>,
    /// When the document was last asked for.
    asked: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct State {
    tools: ByName,
    /// Of the file that was read last.
    stamp: Option<(u64, i64, i64)>,
    version: u64,
}

impl FilePins {
    /// The user's, and those of other machines if there is a book that they share. A file that cannot be used is an error:
    /// with it, changes of tools would go unseen.
    pub(crate) fn open(book: Option<&Arc<dyn Book>>) -> anyhow::Result<FilePins> {
        let pins = FilePins::at(place::state()?.join("pins.json"), book.map(Leaf::pins))?;
        if pins.0.shared.is_some()
            && let Err(err) = pins.change(|_| ())
        {
            complain(&format!("{err}; pins are those that were last seen here, and no tool is pinned anew"));
        }
        Ok(pins)
    }

    fn at(path: PathBuf, shared: Option<Leaf>) -> anyhow::Result<FilePins> {
        let asked = Mutex::new(Some(Instant::now()));
        let pins = FilePins(Arc::new(Inner { path, state: Mutex::default(), shared, asked }));
        let read = pins.refresh(&mut pins.state());
        let wrong = |err| usage(format!("{}: {err}; move the file away to pin anew", pins.0.path.display()));
        read.map_err(wrong)?;
        Ok(pins)
    }

    /// All of them.
    pub(crate) fn all(&self) -> ByName {
        self.state().tools.clone()
    }

    /// Changes them, under the lock and on what is there now: of several who change the document at once, those who were
    /// slower do it again.
    pub(crate) fn change<T>(&self, mut change: impl FnMut(&mut ByName) -> T) -> io::Result<T> {
        // Before the state: those who only look do not wait for other processes, nor for a server.
        let _lock = kept::lock(&self.0.path.with_extension("lock"))?;
        self.refresh(&mut self.state())?;
        let mut written = Written { form: FORM, tools: self.all() };
        let outcome = match &self.0.shared {
            None => change(&mut written.tools),
            Some(document) => document.change(|there| {
                // Where nobody has pinned anything yet, those of the first machine that has some become everybody's.
                if let Some(there) = there {
                    written = Written::deserialize(there)?;
                    written.check()?;
                }
                let outcome = change(&mut written.tools);
                let is_news = there.is_some() || !written.tools.is_empty();
                Ok((is_news.then(|| serde_json::to_value(&written)).transpose()?, outcome))
            })?,
        };
        let mut state = self.state();
        if written.tools != state.tools {
            kept::replace(&self.0.path, &serde_json::to_vec(&written)?)?;
            let version = state.version + 1;
            *state = State { tools: written.tools, stamp: self.stamp(), version };
        }
        Ok(outcome)
    }

    /// Looks what other machines have changed, if that was not done lately. Nobody waits for it: it is there at the next turn.
    fn ask_others(&self) {
        let mut asked = self.0.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.shared.is_none() || asked.is_some_and(|at| at.elapsed() < LATELY) {
            return;
        }
        *asked = Some(Instant::now());
        let pins = self.clone();
        // A server that is away says nothing; what was seen last holds.
        drop(thread::spawn(move || pins.change(|_| ())));
    }

    /// Reads the file if it is not the one that was read last.
    fn refresh(&self, state: &mut State) -> io::Result<()> {
        let stamp = self.stamp();
        if stamp == state.stamp {
            return Ok(());
        }
        let written = match kept::read(&self.0.path)? {
            Some(bytes) => serde_json::from_slice(&bytes)?,
            None => Written { form: FORM, ..Written::default() },
        };
        written.check()?;
        *state = State { tools: written.tools, stamp, version: state.version + 1 };
        Ok(())
    }

    /// What tells one file from the next: each is a new one, moved into place.
    fn stamp(&self) -> Option<(u64, i64, i64)> {
        let metadata = fs::metadata(&self.0.path).ok()?;
        Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics halfway through a change.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (pins, statement) = (self.clone(), statement.clone());
        let (server, tool) = (server.to_owned(), tool.to_owned());
        let keep = move || {
            pins.change(|tools| {
                if let Some(pin) = tools.get_mut(&server).and_then(|tools| tools.get_mut(&tool)) {
                    pin.offered = (*pin.accepted != statement).then(|| statement.clone());
                }
            })
        };
        // Where it cannot be kept, the tool is held back all the same; only the diff will be missing. A server is not waited
        // for here.
        if self.0.shared.is_some() {
            drop(thread::spawn(keep));
        } else {
            let _ = keep();
        }
    }

    fn version(&self) -> u64 {
        self.ask_others();
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
        let open = || FilePins::at(directory.path().join("pins.json"), None).unwrap();
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
        let pins = FilePins::at(directory.path().join("pins.json"), None).unwrap();
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
        let pins = Arc::new(FilePins::at(directory.path().join("pins.json"), None).unwrap());
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
                    let pins = FilePins::at(path, None).unwrap();
                    (0..10).for_each(|tool| drop(pins.put(server, &tool.to_string(), &saying("x")).unwrap()));
                });
            }
        });
        assert_eq!(FilePins::at(path, None).unwrap().all().values().map(BTreeMap::len).sum::<usize>(), 40);
    }

    #[test]
    fn a_broken_file_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pins.json");
        for text in ["{", r#"{"form":9,"tools":{}}"#] {
            kept::replace(&path, text.as_bytes()).unwrap();
            let refused = FilePins::at(path.clone(), None).unwrap_err().to_string();
            assert!(refused.contains("move the file away to pin anew"), "{refused}");
        }
    }
}
