//! A workspace, an engine with the real tools and a real journal, and what is in the workspace.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use haft_engine::{Call, Engine, Session, SessionOptions, policy::Mode, result::ToolResult};
use haft_store::{
    Book, Durability, Entry, Journal, Retention, SqliteBook,
    blobs::FileBlobs,
    images::{Plan, StoredImages, Target, UndoOptions, Undone},
};
use serde_json::{Value, json};

/// What is at a path: its mode, and its content, its target, or nothing for a directory.
pub(crate) type Tree = BTreeMap<String, (u32, Vec<u8>)>;

pub(crate) struct Room {
    _place: tempfile::TempDir,
    pub(crate) root: PathBuf,
    state: PathBuf,
    pub(crate) session: Session,
    pub(crate) images: StoredImages,
    runtime: tokio::runtime::Runtime,
    calls: std::cell::Cell<usize>,
}

impl Room {
    pub(crate) fn new(session: &str) -> Room {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("ws");
        fs::create_dir(&root).unwrap();
        Room::at(place, root, session, |options| options)
    }

    pub(crate) fn with(change: impl FnOnce(UndoOptions) -> UndoOptions) -> Room {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("ws");
        fs::create_dir(&root).unwrap();
        Room::at(place, root, "s", change)
    }

    fn at(
        place: tempfile::TempDir,
        root: PathBuf,
        session: &str,
        change: impl FnOnce(UndoOptions) -> UndoOptions,
    ) -> Room {
        let state = root.parent().unwrap().join("state");
        let (images, session) = open(&root, &state, session, change);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Room { _place: place, root, state, session, images, runtime, calls: 0.into() }
    }

    /// The same workspace and journal, as another process would open them.
    pub(crate) fn again(self, session: &str) -> Room {
        let (images, session) = open(&self.root, &self.state, session, |options| options);
        Room { images, session, calls: 0.into(), ..self }
    }

    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    pub(crate) fn call(&self, tool: &str, input: Value) -> ToolResult {
        self.calls.set(self.calls.get() + 1);
        let id = format!("call_{}", self.calls.get());
        self.runtime.block_on(self.session.call(Call::new(id, tool, input)))
    }

    pub(crate) fn turn(&self, calls: Vec<Call>) -> Vec<ToolResult> {
        self.runtime.block_on(self.session.turn(calls))
    }

    #[track_caller]
    pub(crate) fn does(&self, tool: &str, input: Value) {
        let result = self.call(tool, input);
        assert!(!result.is_error(), "{tool}: {}", result.text());
    }

    #[track_caller]
    pub(crate) fn bash(&self, command: &str) {
        self.does("Bash", json!({ "command": command }));
    }

    #[track_caller]
    pub(crate) fn write(&self, path: &str, content: &str) {
        if self.root.join(path).exists() {
            self.does("Read", json!({ "file_path": path }));
        }
        self.does("Write", json!({ "file_path": path, "content": content }));
    }

    pub(crate) fn plan(&self, target: &Target) -> Result<Plan, String> {
        self.images.plan(target, &self.root, &[]).map_err(|err| err.to_string())
    }

    pub(crate) fn undo(&self, target: &Target) -> Result<Undone, String> {
        let plan = self.plan(target)?;
        let ledger = self.state.join("changing");
        self.images.carry_out(&plan, Some(&ledger), "person").map_err(|err| err.to_string())
    }

    /// Another process writes to the same journal.
    pub(crate) fn append(&self, entries: Vec<Entry>) {
        let book = crate::kit::sqlite(&self.state);
        self.runtime.block_on(book.append(entries, Durability::Process)).unwrap();
    }

    pub(crate) fn end(&self) {
        self.runtime.block_on(self.session.end());
    }

    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(&self.root, &self.root, &mut tree);
        tree
    }
}

fn open(
    root: &Path,
    state: &Path,
    session: &str,
    change: impl FnOnce(UndoOptions) -> UndoOptions,
) -> (StoredImages, Session) {
    let book = SqliteBook::at(state.join("journal.db"), Retention::default(), |words| panic!("{words}"));
    let book: Arc<dyn haft_store::Book> = Arc::new(book);
    let blobs = Arc::new(FileBlobs::new(state.join("undo/blobs")));
    let images = StoredImages::new(book.clone(), blobs, change(UndoOptions::at(state)));
    let engine = Engine::builder()
        .tools(haft_tools::builtin())
        .journal(Journal::new(book, |words| panic!("{words}")).inspector(Arc::new(images.clone())))
        .images(images.clone())
        .ledger(state.join("changing"))
        .settings(|settings| settings.sandbox.enabled = false)
        .build()
        .unwrap();
    let options = SessionOptions { id: Some(session.into()), mode: Mode::Bypass, ..SessionOptions::at(root) };
    (images, engine.session(options).unwrap())
}

fn collect(root: &Path, directory: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if found.is_symlink() {
            let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
            tree.insert(name, (0, target));
            continue;
        }
        let mode = found.permissions().mode() & 0o7777;
        if found.is_dir() {
            tree.insert(name + "/", (mode, Vec::new()));
            collect(root, &path, tree);
        } else {
            tree.insert(name, (mode, fs::read(&path).unwrap()));
        }
    }
}
