//! What a server said is kept on disk, so that listing and searching need no running server.
//!
//! A file for each configuration of a server: its name has a hash of how the server is reached, so that another command,
//! argument, variable or header is another file. Values are in the hash and nowhere else. A file that is broken, foreign or of
//! another form is as good as none: the server is asked again.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use haft_engine::pool::search::Readings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Known;
use crate::client::{Server, Transport};

/// The form of the files. One of another form is not read.
const FORM: u32 = 1;
/// Larger files are not read, and not written.
const MOST_BYTES: u64 = 32 << 20;
/// More files than this are not kept: the oldest go.
const MOST_FILES: usize = 500;

/// Where a server's definitions are kept.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    path: PathBuf,
    key: String,
}

/// What is kept of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// What it last said; `None` if it never said anything.
    pub(super) known: Option<Known>,
    /// When it was asked, in seconds since 1970.
    pub(super) asked: u64,
    /// Why it could not be asked after that, if it could not.
    pub(super) failure: Option<Failure>,
}

/// Why a server could not be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// When, in seconds since 1970.
    pub at: u64,
    /// What was wrong.
    pub why: String,
}

#[derive(Serialize, Deserialize)]
struct InFile<T> {
    form: u32,
    key: String,
    server: String,
    kept: T,
}

impl Cache {
    /// The place for a server in a directory. What lives in this process has none: its code may be another one next time.
    pub(super) fn of(server: &Server, directory: &Path) -> Option<Cache> {
        let key = hash(&configuration(server)?);
        let name = format!("{}-{}.json", readable(&server.name), &key[..16]);
        Some(Cache { path: directory.join(name), key })
    }

    /// What is kept, if it is whole and ours.
    pub(super) fn read(&self) -> Option<Kept> {
        let whole: InFile<Kept> = serde_json::from_slice(&read(&self.path)?).ok()?;
        (whole.form == FORM && whole.key == self.key).then_some(whole.kept)
    }

    /// Keeps this in the place of what was there, in one step.
    pub(super) fn write(&self, server: &str, kept: &Kept) -> io::Result<()> {
        let whole = InFile { form: FORM, key: self.key.clone(), server: server.to_owned(), kept };
        let bytes = serde_json::to_vec(&whole)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("it is too much to be kept"));
        }
        replace(&self.path, &bytes)?;
        thin_out(self.path.parent().unwrap_or(Path::new("/")));
        Ok(())
    }

    /// What a search read of the definitions, beside them.
    fn reading(&self) -> PathBuf {
        self.path.with_extension(READING)
    }
}

/// The end of the names of files with what a search read.
const READING: &str = "index";

impl Readings for Cache {
    fn recall(&self) -> Option<Vec<u8>> {
        read(&self.reading())
    }

    fn keep(&self, reading: &[u8]) {
        // What cannot be kept is read again next time. Without the definitions, it would be of no use.
        if self.path.exists() && reading.len() as u64 <= MOST_BYTES {
            let _ = replace(&self.reading(), reading);
        }
    }
}

/// A file of ours, whole.
fn read(path: &Path) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    // Whoever else could write it could show a model what they like.
    if !metadata.is_file() || metadata.mode() & 0o022 != 0 || metadata.len() > MOST_BYTES {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// In one step, 0600 from the first moment on.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut staged = tempfile::Builder::new().prefix(".partial-").tempfile_in(directory)?;
    staged.write_all(bytes)?;
    staged.persist(path).map_err(|err| err.error)?;
    Ok(())
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// How a server is reached, as a value that is hashed.
fn configuration(server: &Server) -> Option<Value> {
    let Server { name, transport, .. } = server;
    Some(match transport {
        Transport::Stdio { command, args, env, cwd } => {
            json!([FORM, name, "stdio", command, args, env, cwd])
        }
        Transport::Http { url, headers } => json!([FORM, name, "http", url, headers]),
        Transport::Sse { url, headers } => json!([FORM, name, "sse", url, headers]),
        Transport::WebSocket { url, headers } => json!([FORM, name, "websocket", url, headers]),
        Transport::Bridge(_) => return None,
    })
}

fn hash(value: &Value) -> String {
    Sha256::digest(value.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As much of a name as can stand in the name of a file.
fn readable(name: &str) -> String {
    let plain = |char: char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' };
    let kept: String = name.chars().take(40).map(plain).collect();
    if kept.is_empty() { "_".to_owned() } else { kept }
}

/// Takes the oldest files away when there are too many: configurations that nobody has any more.
fn thin_out(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let is_ours = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_ours).collect();
    let Some(too_many) = paths.len().checked_sub(MOST_FILES + 1) else { return };
    let age = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).unwrap_or(UNIX_EPOCH);
    let mut by_age: Vec<_> = paths.into_iter().map(|path| (age(&path), path)).collect();
    by_age.sort();
    for (_, path) in by_age.into_iter().take(too_many + 1) {
        // Somebody else may have been faster; it is gone then, too.
        let _ = fs::remove_file(path.with_extension(READING));
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt, time::Instant};

    use super::*;

    fn stdio(name: &str, command: &str, env: &[(&str, &str)]) -> Server {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let transport =
            Transport::Stdio { command: command.to_owned(), args: Vec::new(), env, cwd: "/w".into() };
        Server::new(name, transport)
    }

    fn kept(description: &str) -> Kept {
        let tool = json!({ "name": "echo", "description": description, "inputSchema": {} });
        let tools = vec![tool.as_object().cloned().expect("an object")];
        Kept { known: Some(Known { tools, ..Known::default() }), asked: 7, failure: None }
    }

    #[test]
    fn what_was_kept_is_read_again_by_the_same_configuration_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |server: &Server| Cache::of(server, directory.path()).expect("a place");
        let (one, other) = (stdio("s", "x", &[("TOKEN", "a")]), stdio("s", "x", &[("TOKEN", "b")]));
        at(&one).write("s", &kept("says")).expect("written");
        assert_eq!(at(&one).read(), Some(kept("says")));
        assert_eq!(at(&other).read(), None, "another token may show other tools");
        assert_eq!(at(&stdio("s", "y", &[("TOKEN", "a")])).read(), None);
        assert_eq!(at(&stdio("t", "x", &[("TOKEN", "a")])).read(), None);
    }

    #[test]
    fn no_value_of_a_variable_or_header_is_in_a_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let server = stdio("s", "x", &[("TOKEN", "hunter2hunter2")]);
        let cache = Cache::of(&server, directory.path()).expect("a place");
        cache.write("s", &kept("says")).expect("written");
        let text = fs::read_to_string(&cache.path).expect("a file");
        assert!(!text.contains("hunter2") && !text.contains("TOKEN"), "{text}");
        assert_eq!(fs::metadata(&cache.path).expect("a file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_is_broken_foreign_or_of_another_form_is_as_good_as_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = Cache::of(&stdio("s", "x", &[]), directory.path()).expect("a place");
        assert_eq!(cache.read(), None);
        cache.write("s", &kept("says")).expect("written");
        let whole = fs::read_to_string(&cache.path).expect("a file");
        for broken in [
            "",
            "{",
            "[]",
            &whole[..whole.len() / 2],
            &whole.replace("\"form\":1", "\"form\":2"),
            &whole.replace(&cache.key[..20], "0"),
        ] {
            fs::write(&cache.path, broken).expect("written");
            assert_eq!(cache.read(), None, "{broken}");
        }
        fs::write(&cache.path, &whole).expect("written");
        assert!(cache.read().is_some());
        fs::set_permissions(&cache.path, PermissionsExt::from_mode(0o666)).expect("changed");
        assert_eq!(cache.read(), None, "anybody could have written it");
    }

    #[test]
    fn what_a_search_read_is_kept_beside_the_definitions_and_goes_with_them() {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = Cache::of(&stdio("s", "x", &[]), directory.path()).expect("a place");
        cache.keep(b"read");
        assert_eq!(cache.recall(), None, "there are no definitions");
        cache.write("s", &kept("says")).expect("written");
        cache.keep(b"read");
        assert_eq!(cache.recall().as_deref(), Some(&b"read"[..]));
        assert_eq!(fs::metadata(cache.reading()).expect("a file").permissions().mode() & 0o777, 0o600);
        let old = UNIX_EPOCH + std::time::Duration::from_secs(1);
        File::open(&cache.path).expect("a file").set_modified(old).expect("older");
        for number in 0..=MOST_FILES {
            fs::write(directory.path().join(format!("{number}.json")), "{}").expect("written");
        }
        let other = Cache::of(&stdio("t", "x", &[]), directory.path()).expect("a place");
        other.write("t", &kept("says")).expect("written");
        assert_eq!((cache.read(), cache.recall()), (None, None));
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let directory = tempfile::tempdir().expect("a directory");
        for number in 0..MOST_FILES + 5 {
            fs::write(directory.path().join(format!("{number}.json")), "{}").expect("written");
        }
        let cache = Cache::of(&stdio("s", "x", &[]), directory.path()).expect("a place");
        cache.write("s", &kept("says")).expect("written");
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), MOST_FILES);
        assert!(cache.read().is_some(), "the newest stays");
    }

    #[test]
    fn twenty_are_read_in_no_time() {
        let directory = tempfile::tempdir().expect("a directory");
        let tools = |count: usize| Known {
            tools: vec![kept(&"words ".repeat(100)).known.expect("known").tools.remove(0); count],
            ..Known::default()
        };
        let caches: Vec<Cache> = (0..20)
            .filter_map(|number| Cache::of(&stdio(&format!("s{number}"), "x", &[]), directory.path()))
            .collect();
        for cache in &caches {
            cache.write("s", &Kept { known: Some(tools(15)), ..Kept::default() }).expect("written");
        }
        let begun = Instant::now();
        assert!(caches.iter().all(|cache| cache.read().is_some()));
        // An unoptimised build on a busy machine; a release build needs 2 ms.
        assert!(begun.elapsed().as_millis() < 500, "{:?}", begun.elapsed());
    }
}
