//! Where the whole of a large result is kept.
//!
//! The model gets a preview and a path; the path must be one that Read and Grep accept. Here are the trait and plain
//! files; stores for several machines implement the same trait elsewhere.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use haft_tool::{Block, BoxFuture, CallId, Kept, SessionId, shown};
use rustix::process::geteuid;

/// Keeps results that are too large for the model.
pub trait ResultStore: Send + Sync {
    /// Keeps the text of the blocks and says where it is. The blocks are shared, not copied: an implementation
    /// streams them.
    fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        blocks: Arc<Vec<Block>>,
    ) -> BoxFuture<'_, io::Result<PathBuf>>;

    /// Begins a text that comes piece by piece. It may be read while it grows, so it has its name from the beginning.
    fn begin(&self, _session: &SessionId, _call: &CallId) -> io::Result<Kept> {
        Err(io::Error::other("this store takes whole results only"))
    }

    /// By what a result that is kept at this path is found again, if the store has such names.
    fn handle(&self, _path: &Path) -> Option<String> {
        None
    }

    /// The directory below which a session's results are kept, if they are files. The session may read it unasked.
    fn directory(&self, _session: &SessionId) -> Option<PathBuf> {
        None
    }

    /// The directory below which the results of all sessions are kept, if they are files. No session reads what is there
    /// of another, whatever rules allow.
    fn root(&self) -> Option<PathBuf> {
        None
    }

    /// A session has ended. What is not to outlast it goes.
    fn end(&self, _session: &SessionId) {}
}

/// Results as files below a directory, readable by their owner only.
#[derive(Debug, Clone)]
pub struct FileStore {
    root: PathBuf,
}

impl FileStore {
    /// A store below this directory, which is made when it is first needed.
    pub fn new(root: impl Into<PathBuf>) -> FileStore {
        FileStore { root: root.into() }
    }

    fn of(&self, session: &SessionId) -> PathBuf {
        self.root.join(file_name(session.as_str()))
    }
}

impl ResultStore for FileStore {
    fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        blocks: Arc<Vec<Block>>,
    ) -> BoxFuture<'_, io::Result<PathBuf>> {
        let directory = self.of(session);
        let name = file_name(call.as_str());
        Box::pin(async move {
            tokio::task::spawn_blocking(move || write(&directory, &name, &blocks))
                .await
                .map_err(io::Error::other)?
        })
    }

    fn begin(&self, session: &SessionId, call: &CallId) -> io::Result<Kept> {
        let directory = self.of(session);
        prepare(&directory)?;
        let (file, partial) = create(&directory, &file_name(call.as_str()))?;
        let path = partial.with_extension("txt");
        fs::rename(partial, &path)?;
        Ok((path, Box::new(file)))
    }

    fn directory(&self, session: &SessionId) -> Option<PathBuf> {
        Some(self.of(session))
    }

    fn root(&self) -> Option<PathBuf> {
        Some(self.root.clone())
    }
}

/// Makes a session's directory, or examines the one that is there: words that another user planted would be read as a
/// result.
fn prepare(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let is_safe_above = match directory.parent() {
        Some(root) => is_kept_from_others(&fs::metadata(root)?),
        None => true,
    };
    if is_safe_above && is_private(&fs::symlink_metadata(directory)?) {
        return Ok(());
    }
    let directory = shown(directory);
    Err(io::Error::other(format!(
        "the directory {directory} is not this user's alone, so nothing is kept there"
    )))
}

/// Whether it is a directory of this user's that no other user may enter.
pub(super) fn is_private(found: &Metadata) -> bool {
    found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0
}

/// Whether no other user may replace what is in a directory: it is this user's or the system's, and others may not write to it
/// or only to what is theirs.
fn is_kept_from_others(found: &Metadata) -> bool {
    let is_trusted = [0, geteuid().as_raw()].contains(&found.uid());
    is_trusted && (found.mode() & 0o002 == 0 || found.mode() & 0o1000 != 0)
}

fn write(directory: &Path, name: &str, blocks: &[Block]) -> io::Result<PathBuf> {
    prepare(directory)?;
    let (mut file, partial) = create(directory, name)?;
    let written =
        blocks.iter().filter_map(Block::as_text).try_for_each(|text| file.write_all(text.as_bytes()));
    // Under its real name only when it is whole: a half result must not look like a result.
    let path = partial.with_extension("txt");
    match written.and_then(|()| fs::rename(&partial, &path)) {
        Ok(()) => Ok(path),
        Err(err) => {
            // The disk is full, most likely; the rest of the partial file helps nobody.
            let _ = fs::remove_file(&partial);
            Err(err)
        }
    }
}

/// A new file. Ids may come again, and the earlier result may still be wanted.
fn create(directory: &Path, name: &str) -> io::Result<(File, PathBuf)> {
    for attempt in 0..10_000 {
        let stem = if attempt == 0 { name.to_owned() } else { format!("{name}-{attempt}") };
        if directory.join(&stem).with_extension("txt").exists() {
            continue;
        }
        let path = directory.join(stem).with_extension("partial");
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, path)),
        }
    }
    Err(io::Error::other("too many results of this name"))
}

/// Ids come from models and users: what could mean something to a file system is replaced.
fn file_name(id: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = id.chars().take(100).map(safe).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_result_is_kept_whole_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileStore::new(dir.path().join("results"));
        let blocks = Arc::new(vec![Block::Text("one\n".into()), Block::Text("two\n".into())]);
        let path = store.keep(&"s".into(), &"call".into(), blocks.clone()).await.unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = store.keep(&"s".into(), &"call".into(), blocks).await.unwrap();
        assert_ne!(path, again);
    }

    #[tokio::test]
    async fn a_directory_that_others_may_enter_or_replace_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileStore::new(dir.path().join("results"));
        let keep = || store.keep(&"s".into(), &"call".into(), Arc::new(vec![Block::Text("x".into())]));
        keep().await.unwrap();
        let (root, own) = (dir.path().join("results"), dir.path().join("results/s"));
        for (place, mode) in [(&own, 0o755), (&root, 0o777)] {
            let before = fs::metadata(place).unwrap().permissions();
            fs::set_permissions(place, fs::Permissions::from_mode(mode)).unwrap();
            assert!(keep().await.is_err(), "{place:?} {mode:o}");
            assert!(store.begin(&"s".into(), &"call".into()).is_err(), "{place:?} {mode:o}");
            fs::set_permissions(place, before).unwrap();
        }
        fs::rename(&own, dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &own).unwrap();
        assert!(keep().await.is_err(), "a link");
    }

    #[test]
    fn a_text_that_grows_can_be_read_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileStore::new(dir.path());
        let (path, mut text) = store.begin(&"s".into(), &"call".into()).unwrap();
        text.write_all(b"one\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_ne!(store.begin(&"s".into(), &"call".into()).unwrap().0, path);
    }

    #[tokio::test]
    async fn an_id_cannot_lead_out_of_the_store() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileStore::new(dir.path());
        let blocks = Arc::new(vec![Block::Text("x".into())]);
        for id in ["../../x", "/etc/passwd", "", "..", "a\0b", &"x".repeat(1000)] {
            let path = store.keep(&id.into(), &id.into(), blocks.clone()).await.unwrap();
            assert!(path.starts_with(dir.path()), "{}", path.display());
            assert_eq!(path.components().filter(|part| part.as_os_str() == "..").count(), 0);
        }
    }
}
