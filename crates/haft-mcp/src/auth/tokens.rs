//! Where tokens are kept: a file for each server in a directory of the user's state, which only the user can read.
//!
//! Not in the system's keyring: on Linux that is a service on the session bus, which machines without a desktop do not have,
//! and which gives everything to every process of the user, just as a file does. A file belongs to the address of a server and
//! to the authorization server that gave the tokens: neither gets those of another.

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The form of the files. One of another form is not read.
const FORM: u32 = 1;
/// Larger files are none of ours.
const LARGEST: u64 = 1 << 20;
/// A token that ends within this is as good as ended: it has to travel yet.
const SOON: u64 = 30;

/// What is kept for a server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    form: u32,
    /// The server's address.
    resource: String,
    /// The client as which the tokens were got.
    pub(super) client: Client,
    /// The tokens, with who gave them.
    pub(super) credentials: StoredCredentials,
}

/// A client, as an authorization server knows it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<String>,
    pub(super) redirect: String,
}

impl Kept {
    pub(super) fn new(resource: &str, client: Client, credentials: StoredCredentials) -> Kept {
        Kept { form: FORM, resource: resource.to_owned(), client, credentials }
    }

    /// The tokens as JSON: their types show nothing of themselves otherwise.
    fn field(&self, name: &str) -> Option<String> {
        let tokens = serde_json::to_value(self.credentials.token_response.as_ref()?).ok()?;
        tokens.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    pub(super) fn access_token(&self) -> Option<String> {
        self.field("access_token")
    }

    pub(super) fn refresh_token(&self) -> Option<String> {
        self.field("refresh_token")
    }

    /// Whether the access token has ended, as far as we were told when it would.
    pub(super) fn has_ended(&self) -> bool {
        let tokens = self.credentials.token_response.as_ref();
        let lasts = tokens.and_then(|tokens| serde_json::to_value(tokens).ok()?.get("expires_in")?.as_u64());
        let (Some(lasts), Some(since)) = (lasts, self.credentials.token_received_at) else { return false };
        since.saturating_add(lasts) <= now().saturating_add(SOON)
    }
}

/// The tokens of a user.
#[derive(Clone)]
pub struct TokenStore(Arc<Place>);

enum Place {
    Directory(PathBuf),
    Memory(Mutex<HashMap<String, Kept>>),
}

impl TokenStore {
    /// In a directory. It is made when there is something to keep.
    pub fn at(directory: impl Into<PathBuf>) -> TokenStore {
        TokenStore(Arc::new(Place::Directory(directory.into())))
    }

    /// As long as the program runs.
    pub fn in_memory() -> TokenStore {
        TokenStore(Arc::new(Place::Memory(Mutex::default())))
    }

    /// All tokens and client secrets that are kept: for whoever takes secrets out of texts. What cannot be read has none.
    pub fn secrets(&self) -> Vec<String> {
        let all: Vec<Kept> = match &*self.0 {
            Place::Directory(directory) => {
                let files = fs::read_dir(directory).into_iter().flatten().flatten();
                let files = files
                    .map(|entry| entry.path())
                    .filter(|path| path.extension().is_some_and(|end| end == "json"));
                files.filter_map(|path| read(&path).ok().flatten()).collect()
            }
            Place::Memory(kept) => lock_of(kept).values().cloned().collect(),
        };
        let secrets = |kept: Kept| [kept.access_token(), kept.refresh_token(), kept.client.secret];
        all.into_iter().flat_map(secrets).flatten().collect()
    }

    pub(super) fn load(&self, resource: &str) -> io::Result<Option<Kept>> {
        match &*self.0 {
            Place::Directory(directory) => {
                let kept = read(&file(directory, resource)).map_err(|err| told(directory, resource, &err))?;
                Ok(kept.filter(|kept| kept.resource == resource))
            }
            Place::Memory(kept) => Ok(lock_of(kept).get(resource).cloned()),
        }
    }

    pub(super) fn save(&self, kept: Kept) -> io::Result<()> {
        match &*self.0 {
            Place::Directory(directory) => {
                write(&file(directory, &kept.resource), &serde_json::to_vec(&kept)?)
            }
            Place::Memory(all) => {
                lock_of(all).insert(kept.resource.clone(), kept);
                Ok(())
            }
        }
    }

    /// Forgets what is kept for a server; says whether there was anything.
    pub(super) fn remove(&self, resource: &str) -> io::Result<bool> {
        match &*self.0 {
            Place::Directory(directory) => match fs::remove_file(file(directory, resource)) {
                Ok(()) => Ok(true),
                Err(err) if err.kind() == ErrorKind::NotFound => Ok(false),
                Err(err) => Err(err),
            },
            Place::Memory(kept) => Ok(lock_of(kept).remove(resource).is_some()),
        }
    }

    /// Keeps other processes from renewing the tokens of this server until it is dropped. Waits for them, but not for ever.
    pub(super) fn lock(&self, resource: &str) -> io::Result<Option<File>> {
        let Place::Directory(directory) = &*self.0 else { return Ok(None) };
        let path = file(directory, resource).with_extension("lock");
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path)?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN),
                Err(TryLockError::Error(err)) => return Err(err),
            }
        }
        Err(io::Error::new(ErrorKind::TimedOut, format!("another process holds {}", path.display())))
    }
}

/// How long a lock is waited for: a little longer than a request may take.
const TRIES: u32 = 600;
const BETWEEN: Duration = Duration::from_millis(50);

fn lock_of<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing in here panics halfway through a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name says nothing of the server: addresses may have secrets in them.
fn file(directory: &Path, resource: &str) -> PathBuf {
    let hash: String = Sha256::digest(resource).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    directory.join(format!("{hash}.json"))
}

fn told(directory: &Path, resource: &str, err: &io::Error) -> io::Error {
    io::Error::other(format!("{}: {err}", file(directory, resource).display()))
}

fn read(path: &Path) -> io::Result<Option<Kept>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(err) => return Err(err),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.mode() & 0o077 != 0 {
        return Err(io::Error::other(
            "others could have read or written it; it must be yours alone (mode 0600)",
        ));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    // The words of a parser may have a piece of the text in them.
    let kept: Kept = serde_json::from_slice(&bytes)
        .map_err(|_| io::Error::other("it is no file of ours; log in again to replace it"))?;
    Ok((kept.form == FORM).then_some(kept))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // 0600 from the first moment on.
    let mut staged = tempfile::Builder::new().prefix(".partial-").tempfile_in(directory)?;
    staged.write_all(bytes)?;
    staged.as_file().sync_all()?;
    staged.persist(path).map(drop).map_err(|err| err.error)
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
