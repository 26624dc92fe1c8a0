//! Opening the file: its tables, its version, and what to do with one that is damaged.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::{book::BookError, record::Instant};

/// The version that this code writes. Raised with each change of the tables, which then gets a step in `MIGRATIONS`.
const VERSION: i64 = MIGRATIONS.len() as i64;

/// From each version to the next.
const MIGRATIONS: [&str; 2] = [include_str!("schema_1.sql"), include_str!("schema_2.sql")];

/// How long another process that writes is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What of the file is held in memory, in KB (SQLite takes what is not negative for pages). What is written stands at the ends of
/// a few trees.
const CACHE: i64 = -256;

/// So many pages are written beside the file before they go into it, as soon as nobody waits for something to be written.
/// Whoever opens it next reads them all before anything else, and most who do have one call to make.
pub(super) const LATELY: i64 = 200;

/// So many at most: who waits then waits for that, too.
const LATEST: i64 = 4 * LATELY;

/// Opens the file for writing, and makes it if it is not there. A damaged one is put aside: `tell` says so.
pub(super) fn open_to_write(path: &Path, tell: &dyn Fn(&str)) -> Result<Connection, BookError> {
    match open(path) {
        Err(BookError::Corrupt(..)) => {
            put_aside(path, tell)?;
            open(path)
        }
        opened => opened,
    }
}

fn open(path: &Path) -> Result<Connection, BookError> {
    let fail = |err: rusqlite::Error| wrong(path, err);
    create(path).map_err(|err| BookError::at(path, &err))?;
    let mut db = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(fail)?;
    db.busy_timeout(PATIENCE).map_err(fail)?;
    db.set_prepared_statement_cache_capacity(64);
    let found = version(&db).map_err(fail)?;
    if found == 0 {
        // Only before the first table; a file that has them keeps what it is.
        db.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(fail)?;
    }
    if found > VERSION {
        return Err(newer(path, found));
    }
    db.pragma_update(None, "journal_mode", "WAL").map_err(fail)?;
    db.pragma_update(None, "synchronous", "NORMAL").map_err(fail)?;
    db.pragma_update(None, "cache_size", CACHE).map_err(fail)?;
    db.pragma_update(None, "wal_autocheckpoint", LATEST).map_err(fail)?;
    if found < VERSION {
        migrate(&mut db).map_err(fail)?;
    }
    Ok(db)
}

/// Opens the file for reading only. `None` if there is none.
pub(super) fn open_to_read(path: &Path) -> Result<Option<Connection>, BookError> {
    let fail = |err: rusqlite::Error| wrong(path, err);
    match fs::metadata(path) {
        Ok(there) if there.len() > 0 => {}
        Ok(_) => return Ok(None),
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(BookError::at(path, &err)),
    }
    // A reader of a file in WAL mode writes beside it, unless nobody else can.
    let to_write = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let to_read = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db =
        Connection::open_with_flags(path, to_write).or_else(|_| Connection::open_with_flags(path, to_read));
    let db = match db.and_then(|db| version(&db).map(|_| db)) {
        Ok(db) => db,
        Err(err) => match wrong(path, err) {
            BookError::ReadOnly(..) => immutable(path).map_err(fail)?,
            other => return Err(other),
        },
    };
    db.busy_timeout(PATIENCE).map_err(fail)?;
    db.pragma_update(None, "query_only", true).map_err(fail)?;
    match version(&db).map_err(fail)? {
        0 => Ok(None),
        found if found > VERSION => Err(newer(path, found)),
        // Nobody has written since haft was replaced by a later one.
        found if found < VERSION => {
            drop(db);
            open(path)?;
            open_to_read(path)
        }
        _ => Ok(Some(db)),
    }
}

/// As it lies there: where nobody may write, nobody does meanwhile.
fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(*byte as char),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri, flags)
}

/// For its owner only, before anything is in it.
///
/// One that is there is not opened: the system drops all locks that a process has on a file as soon as the process closes any
/// of its descriptors, and another connection of ours may count on them. Whoever looks at the file beside SQLite looks by its path.
fn create(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop),
    }
}

fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("PRAGMA user_version", [], |row| row.get(0))
}

fn newer(path: &Path, found: i64) -> BookError {
    BookError::Newer { path: path.display().to_string(), found, known: VERSION }
}

/// Each step whole or not at all, and by one process: the others find it done.
fn migrate(db: &mut Connection) -> rusqlite::Result<()> {
    let step = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found = version(&step)?;
    let done = usize::try_from(found).unwrap_or(0);
    for sql in MIGRATIONS.iter().skip(done) {
        step.execute_batch(sql)?;
    }
    step.pragma_update(None, "user_version", VERSION)?;
    step.commit()
}

/// Puts a damaged file out of the way, with all that belongs to it: somebody may still get something out of it.
pub(super) fn put_aside(path: &Path, tell: &dyn Fn(&str)) -> Result<(), BookError> {
    let fail = |err: io::Error| BookError::at(path, &err);
    // One of several that find it damaged does this; for the others it is done.
    let lock = File::create(path.with_extension("lock")).map_err(fail)?;
    lock.lock().map_err(fail)?;
    if is_whole(path)? {
        return Ok(());
    }
    let aside = free_name(path);
    for suffix in ["", "-wal", "-shm"] {
        let from = with_suffix(path, suffix);
        match fs::rename(&from, with_suffix(&aside, suffix)) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(fail(err)),
            _ => {}
        }
    }
    tell(&format!(
        "the journal {} is damaged; it was put aside as {}, and a new one is begun. What was recorded before is not found any more.",
        path.display(),
        aside.display()
    ));
    Ok(())
}

/// Whether the file can be read from its beginning to its end. It takes its time, and is asked where there is doubt.
fn is_whole(path: &Path) -> Result<bool, BookError> {
    let check = |db: Connection| db.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match open(path).map(check) {
        Ok(Ok(said)) => Ok(said == "ok"),
        Ok(Err(err)) => match wrong(path, err) {
            BookError::Corrupt(..) => Ok(false),
            other => Err(other),
        },
        Err(BookError::Corrupt(..)) => Ok(false),
        Err(other) => Err(other),
    }
}

fn free_name(path: &Path) -> PathBuf {
    let date = Instant::now().day();
    let names =
        (1..).map(|n| if n == 1 { format!(".corrupt-{date}") } else { format!(".corrupt-{date}-{n}") });
    let mut paths = names.map(|suffix| with_suffix(path, &suffix));
    paths.find(|path| !path.exists()).unwrap_or_else(|| with_suffix(path, ".corrupt"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// What went wrong, in words that say what to do.
pub(super) fn wrong(path: &Path, err: rusqlite::Error) -> BookError {
    let (shown, words) = (path.display().to_string(), err.to_string());
    match err.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => BookError::Full(shown),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            BookError::ReadOnly(shown, words)
        }
        // What lies beside the file could not be made or written: where the disk is full, SQLite says no more than this.
        Some(ErrorCode::SystemIoFailure) => {
            BookError::ReadOnly(shown, format!("{words}; the disk may be full"))
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => BookError::Corrupt(shown, words),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => BookError::Locked(shown),
        _ => BookError::Other(format!("{shown}: {words}")),
    }
}
