//! An S3-compatible store, for code that waits.
//!
//! Connections live on a runtime of their own, so that whoever keeps bytes may be on any thread. Everything has a limit in
//! time; what fails in passing is tried again by the library.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path as FilePath,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    time::{Duration, SystemTime},
};

use futures::{StreamExt, TryStreamExt};
use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig, WriteMultipart,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    memory::InMemory,
    path::Path,
    prefix::PrefixStore,
};
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

/// What one request may take, and what all attempts of it together.
const REQUEST: Duration = Duration::from_secs(30);
const CONNECTING: Duration = Duration::from_secs(5);
const RETRYING: Duration = Duration::from_secs(20);

/// What a whole transfer may take.
const TRANSFER: Duration = Duration::from_secs(300);

/// Up to this size an object is sent at once; a larger one goes in parts of this size, so many at a time.
const PART: usize = 8 << 20;
const PARTS_AT_ONCE: usize = 4;

/// Objects below a prefix of a bucket. Clones are the same.
#[derive(Clone)]
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    runtime: Arc<Background>,
    /// How many are on their way that nobody waits for.
    sending: Arc<(Mutex<usize>, Condvar)>,
    shown: String,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bucket({})", self.shown)
    }
}

/// An object that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its name below the prefix.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was put there.
    pub at: SystemTime,
}

impl Bucket {
    /// The bucket at `s3://BUCKET/PREFIX`. Who we are and where the server is comes from the environment, as for other
    /// clients: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, and
    /// `AWS_ALLOW_HTTP` where it has no TLS. Nobody is contacted yet.
    ///
    /// # Errors
    /// The address or what the environment says is no good; the words say which.
    pub fn at(address: &str) -> io::Result<Bucket> {
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let variables = variables.filter_map(|(name, value)| Some((name, value.into_string().ok()?)));
        Bucket::with(address, variables)
    }

    /// The same with these variables in the place of the environment's.
    ///
    /// # Errors
    /// As [`at`](Bucket::at).
    pub fn with(address: &str, variables: impl IntoIterator<Item = (String, String)>) -> io::Result<Bucket> {
        let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let rest =
            address.strip_prefix("s3://").ok_or_else(|| wrong("it does not begin with s3://".into()))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong("it names no bucket".to_owned()));
        }
        // The library's HTTP client takes the one that is installed, and there must be one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut options = ClientOptions::new().with_timeout(REQUEST).with_connect_timeout(CONNECTING);
        let retry =
            RetryConfig { backoff: BackoffConfig::default(), max_retries: 4, retry_timeout: RETRYING };
        let mut builder = AmazonS3Builder::new();
        for (name, value) in variables {
            if name == "AWS_ALLOW_HTTP" {
                options = options.with_allow_http(value == "true" || value == "1");
            } else if name.starts_with("AWS_")
                && let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>()
            {
                builder = builder.with_config(key, value);
            }
        }
        let store = builder
            .with_bucket_name(bucket)
            .with_client_options(options)
            .with_retry(retry)
            .build()
            .map_err(|err| wrong(err.to_string()))?;
        Bucket::of(Arc::new(PrefixStore::new(store, Path::from(prefix))), address.to_owned())
    }

    /// One in memory, for tests.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn in_memory() -> io::Result<Bucket> {
        Bucket::of(Arc::new(InMemory::new()), "memory".to_owned())
    }

    fn of(store: Arc<dyn ObjectStore>, shown: String) -> io::Result<Bucket> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("haft-objects").enable_all().build()?;
        Ok(Bucket { store, runtime: Arc::new(Background(Some(runtime))), sending: Arc::default(), shown })
    }

    /// Where it is.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Puts what a file holds there, whole or not at all.
    ///
    /// # Errors
    /// It cannot be read, or the store did not take it.
    pub fn put(&self, name: &str, file: File) -> io::Result<()> {
        self.wait(self.sent(name, file))
    }

    /// The same, without waiting for it. `failed` is told if it did not work.
    pub fn put_later(&self, name: &str, file: File, failed: impl FnOnce(io::Error) + Send + 'static) {
        let (work, sending) = (self.sent(name, file), self.sending.clone());
        let Some(runtime) = &self.runtime.0 else { return };
        *locked(&sending.0) += 1;
        runtime.spawn(async move {
            if let Err(err) = work.await {
                failed(err);
            }
            *locked(&sending.0) -= 1;
            sending.1.notify_all();
        });
    }

    /// Waits until all that was to be put later is there, or was told to have failed. Blocks.
    pub fn settle(&self) {
        let (count, changed) = &*self.sending;
        let limit = TRANSFER + RETRYING;
        let _ = changed.wait_timeout_while(locked(count), limit, |count| *count > 0);
    }

    fn sent(&self, name: &str, file: File) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (store, path, shown) = (self.store.clone(), Path::from(name), self.shown.clone());
        async move {
            let sending = async {
                let (first, file) = chunk(file).await?;
                if first.len() < PART {
                    store.put(&path, first.into()).await.map_err(|err| said(&shown, &err))?;
                    return Ok(());
                }
                let upload = store.put_multipart(&path).await.map_err(|err| said(&shown, &err))?;
                let mut upload = WriteMultipart::new_with_chunk_size(upload, PART);
                let (mut bytes, mut file) = (first, file);
                while !bytes.is_empty() {
                    upload.wait_for_capacity(PARTS_AT_ONCE).await.map_err(|err| said(&shown, &err))?;
                    upload.put(bytes.into());
                    (bytes, file) = chunk(file).await?;
                }
                upload.finish().await.map(drop).map_err(|err| said(&shown, &err))
            };
            timeout(TRANSFER, sending).await.unwrap_or_else(|_| Err(late(&shown)))
        }
    }

    /// Writes an object to `to`; whether it is there.
    ///
    /// # Errors
    /// It cannot be fetched or written.
    pub fn fetch(&self, name: &str, mut to: File) -> io::Result<bool> {
        let (store, path, shown) = (self.store.clone(), Path::from(name), self.shown.clone());
        self.wait(async move {
            let fetching = async {
                let found = match store.get(&path).await {
                    Err(object_store::Error::NotFound { .. }) => return Ok(false),
                    found => found.map_err(|err| said(&shown, &err))?,
                };
                let mut stream = found.into_stream();
                while let Some(bytes) = stream.try_next().await.map_err(|err| said(&shown, &err))? {
                    to = tokio::task::spawn_blocking(move || to.write_all(&bytes).map(|()| to))
                        .await
                        .map_err(io::Error::other)??;
                }
                Ok(true)
            };
            timeout(TRANSFER, fetching).await.unwrap_or_else(|_| Err(late(&shown)))
        })
    }

    /// Whether an object is there.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn has(&self, name: &str) -> io::Result<bool> {
        let (store, path, shown) = (self.store.clone(), Path::from(name), self.shown.clone());
        self.wait(async move {
            match store.head(&path).await {
                Ok(_) => Ok(true),
                Err(object_store::Error::NotFound { .. }) => Ok(false),
                Err(err) => Err(said(&shown, &err)),
            }
        })
    }

    /// All objects below a name.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn list(&self, below: &str) -> io::Result<Vec<Object>> {
        let (store, path, shown) = (self.store.clone(), Path::from(below), self.shown.clone());
        self.wait(async move {
            let object = |meta: object_store::ObjectMeta| Object {
                name: meta.location.to_string(),
                bytes: meta.size,
                at: meta.last_modified.into(),
            };
            store.list(Some(&path)).map_ok(object).try_collect().await.map_err(|err| said(&shown, &err))
        })
    }

    /// Takes objects away. One that is not there is no error.
    ///
    /// # Errors
    /// The store does not answer, or would not.
    pub fn remove(&self, names: Vec<String>) -> io::Result<()> {
        let (store, shown) = (self.store.clone(), self.shown.clone());
        self.wait(async move {
            let paths = futures::stream::iter(names.into_iter().map(|name| Ok(Path::from(name)))).boxed();
            let mut gone = store.delete_stream(paths);
            while let Some(one) = gone.next().await {
                match one {
                    Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                    Err(err) => return Err(said(&shown, &err)),
                }
            }
            Ok(())
        })
    }

    /// Waits for work that is done on the runtime, wherever this is called.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        let (answer, answered) = mpsc::channel();
        let runtime = self.runtime.0.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        runtime.spawn(async move { answer.send(work.await) });
        answered.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?
    }
}

fn locked(count: &Mutex<usize>) -> MutexGuard<'_, usize> {
    // It is only counted up and down.
    count.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A runtime that may be dropped anywhere.
struct Background(Option<Runtime>);

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// The next bytes of a file: less than asked for only at its end.
async fn chunk(file: File) -> io::Result<(Vec<u8>, File)> {
    tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        (&file).take(PART as u64).read_to_end(&mut bytes)?;
        Ok((bytes, file))
    })
    .await
    .map_err(io::Error::other)?
}

fn said(shown: &str, err: &object_store::Error) -> io::Error {
    let kind = match err {
        object_store::Error::NotFound { .. } => io::ErrorKind::NotFound,
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        _ => io::ErrorKind::Other,
    };
    // The library's words have the whole answer of the server behind the first line.
    let words = err.to_string();
    let words = words.lines().next().unwrap_or_default();
    io::Error::new(kind, format!("{shown}: {words}"))
}

fn late(shown: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{shown}: no end within {} s", TRANSFER.as_secs()))
}

/// A new file beside a path, for what is fetched; the path is its only when all of it is there.
pub(crate) fn staged(beside: &FilePath) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::DirBuilderExt;
    let directory = beside.parent().unwrap_or(FilePath::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    tempfile::Builder::new().prefix(".fetched-").tempfile_in(directory)
}
