//! Full disks, directories that cannot be written, damaged and locked files, later versions, clocks that jump.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_engine::session::CallState;
use haft_store::{
    Book, BookError, CallFilter, Claim, Claimed, Durability, Entry, Instant, Limits, Retention, SqliteBook,
};
use rusqlite::Connection;
use serde_json::json;

use crate::kit::{NO_LIMITS, claim, key, outcome, sqlite, turn};

type Told = Arc<Mutex<Vec<String>>>;

/// A book, and what it tells.
fn telling(path: &Path) -> (SqliteBook, Told) {
    let told = Told::default();
    let tell = told.clone();
    (SqliteBook::at(path, NO_LIMITS, move |words| tell.lock().unwrap().push(words.to_owned())), told)
}

fn all() -> CallFilter {
    CallFilter { most: 100, ..CallFilter::default() }
}

#[tokio::test]
async fn the_file_is_for_its_owner_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/journal.db");
    let (book, _) = telling(&path);
    book.claim(claim(&key("s", "1"))).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    for beside in ["deep/journal.db-wal", "deep/journal.db-shm"] {
        assert_eq!(mode(&directory.path().join(beside)), 0o600, "{beside}");
    }
}

#[tokio::test]
async fn nothing_is_opened_before_something_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let book = sqlite(directory.path());
    assert_eq!(book.calls(all()).await.unwrap().len(), 0);
    book.flush().await.unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// The locks of this process on a file, as the system has them.
fn locks(path: &Path) -> usize {
    let (inode, process) = (fs::metadata(path).unwrap().ino().to_string(), std::process::id().to_string());
    let is_ours = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let place = words.iter().find(|word| word.contains(':') && word.len() > 3);
        words.contains(&&*process) && place.is_some_and(|place| place.rsplit(':').next() == Some(&inode))
    };
    fs::read_to_string("/proc/locks").unwrap().lines().filter(is_ours).count()
}

#[tokio::test]
async fn whoever_begins_to_write_leaves_the_locks_of_whoever_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let (book, _) = telling(&path);
    book.claim(claim(&key("s", "1"))).await.unwrap();
    drop(book);
    closed(&path);
    let (book, _) = telling(&path);
    assert_eq!(book.calls(all()).await.unwrap().len(), 1);
    assert!(locks(&path) > 0, "one that reads holds the file");
    book.claim(claim(&key("s", "2"))).await.unwrap();
    assert!(locks(&path) > 0, "without its locks, the last of others to leave takes our log away");
}

/// A call that runs, in a book that can write nothing large: whoever ends with the second word makes room again.
async fn cramped(path: &Path) -> (SqliteBook, impl FnOnce()) {
    // Twice that is what the file may grow to; less than that is forgotten by nobody.
    let limits = Retention { max_bytes: Some(600 << 10), ..NO_LIMITS };
    let book = SqliteBook::at(path, limits, |_| {});
    book.claim(claim(&key("s", "runs"))).await.unwrap();
    let other = Connection::open(path).unwrap();
    other.execute_batch("CREATE TABLE junk (x); INSERT INTO junk VALUES (zeroblob(1400000))").unwrap();
    (book, move || other.execute_batch("DROP TABLE junk").unwrap())
}

#[tokio::test]
async fn a_write_that_fails_in_passing_makes_nobody_look_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let (book, make_room) = cramped(&path).await;
    let large = Claim { input: json!("x".repeat(100_000)), ..claim(&key("s", "large")) };
    assert!(matches!(book.claim(large).await, Err(BookError::Full(_))));
    make_room();
    assert_eq!(book.claim(claim(&key("s", "small"))).await.unwrap(), Claimed::Yours);
    let (other, _) = telling(&path);
    assert!(matches!(other.claim(claim(&key("s", "runs"))).await.unwrap(), Claimed::Busy(_)));
    assert!(book.calls(all()).await.unwrap().iter().all(|call| call.state == CallState::Open));
}

#[tokio::test]
async fn the_end_of_a_call_that_could_not_be_written_is_written_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let (book, make_room) = cramped(&path).await;
    let (runs, result) = (key("s", "runs"), "x".repeat(100_000));
    let told = book.append(vec![outcome(&runs, &result)], Durability::Process).await;
    assert!(matches!(told, Err(BookError::Full(_))), "{told:?}");
    assert_eq!(book.result(&runs).await.unwrap(), None);
    make_room();
    book.flush().await.unwrap();
    assert_eq!(book.result(&runs).await.unwrap(), Some(result));
}

#[tokio::test]
async fn a_process_that_lives_for_days_forgets_each_day_though_nothing_happens() {
    const DAY: i64 = 86_400_000;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let ninety_days = Some(Duration::from_secs(90 * 86_400));
    let limits = Retention { age: ninety_days, every: Duration::from_millis(20), ..NO_LIMITS };
    let book = SqliteBook::at(&path, limits, |words| panic!("{words}"));
    let (old, now) = (key("s", "old"), Instant::now());
    book.claim(claim(&key("s", "runs"))).await.unwrap();
    let db = Connection::open(&path).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    let ask = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let until = async |sql: &str, expected| {
        for _ in 0..2000 {
            if ask(sql) == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{sql}: {}", ask(sql));
    };
    until("SELECT count(*) FROM documents WHERE key = 'pruned'", 1).await;
    book.claim(Claim { at: Instant(now.0 - 100 * DAY), ..claim(&old) }).await.unwrap();
    book.append(vec![outcome(&old, "{}")], Durability::Process).await.unwrap();
    assert_eq!(ask("SELECT count(*) FROM calls"), 2, "it was done today");
    let yesterday = (now.0 - 2 * DAY).to_string();
    db.execute("UPDATE documents SET body = ?1 WHERE key = 'pruned'", [yesterday]).unwrap();
    until("SELECT count(*) FROM calls", 1).await;
}

#[tokio::test]
async fn what_is_written_beside_the_file_goes_into_it_before_it_is_much() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let (book, _) = telling(&path);
    let mut most = 0;
    for n in 0..600 {
        book.claim(claim(&key("s", &n.to_string()))).await.unwrap();
        most = most.max(fs::metadata(path.with_extension("db-wal")).unwrap().len());
    }
    // Who makes one call after the other lets it grow, but not without end.
    assert!(most < 1200 * 4120, "{most}");
    // Who is done for now finds it moved: what comes next begins at the front again.
    let log = || fs::read(path.with_extension("db-wal")).unwrap()[16..24].to_owned();
    let before = log();
    for n in 0..40 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        book.claim(claim(&key("t", &n.to_string()))).await.unwrap();
        if log() != before {
            return;
        }
    }
    panic!("the log goes on without end");
}

/// Waits until nobody has it open: the last to leave takes the log away.
fn closed(path: &Path) {
    let log = path.with_extension("db-wal");
    let given_up = std::time::Instant::now() + Duration::from_secs(20);
    while log.exists() {
        assert!(std::time::Instant::now() < given_up, "{} is still there", log.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn a_damaged_file_is_put_aside_said_loudly_and_a_new_one_is_begun() {
    for damage in ["header", "middle", "garbage"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let (book, _) = telling(&path);
        for n in 0..200 {
            let key = key("s", &format!("{n}"));
            book.append(vec![Entry::Started(Box::new(claim(&key)))], Durability::Queued).await.unwrap();
        }
        book.flush().await.unwrap();
        drop(book);
        closed(&path);
        let mut bytes = fs::read(&path).unwrap();
        match damage {
            "header" => bytes[..100].fill(0x55),
            "middle" => bytes[4096..40_960].fill(0x55),
            _ => bytes = b"this is no database, and it is longer than a header of one would be".repeat(9),
        }
        for beside in ["journal.db-wal", "journal.db-shm"] {
            let _ = fs::remove_file(directory.path().join(beside));
        }
        fs::write(&path, bytes).unwrap();
        let (book, told) = telling(&path);
        assert_eq!(book.claim(claim(&key("s", "new"))).await.unwrap(), Claimed::Yours, "{damage}");
        assert_eq!(book.calls(all()).await.unwrap().len(), 1);
        let told = told.lock().unwrap().join("\n");
        assert!(told.contains("is damaged; it was put aside as"), "{damage}: {told}");
        let aside = format!("journal.db.corrupt-{}", Instant::now().day());
        assert!(directory.path().join(aside).exists(), "{damage}");
    }
}

#[tokio::test]
async fn a_file_of_a_later_version_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99; CREATE TABLE x (y)").unwrap();
    let before = fs::read(&path).unwrap();
    let (book, _) = telling(&path);
    let err = book.claim(claim(&key("s", "1"))).await.unwrap_err();
    assert!(matches!(err, BookError::Newer { found: 99, .. }), "{err}");
    assert!(err.to_string().contains("a later version of haft"), "{err}");
    assert!(matches!(book.calls(all()).await.unwrap_err(), BookError::Newer { .. }));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn where_there_is_no_room_whoever_waits_is_told_and_what_was_written_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let limits = Retention { max_bytes: Some(200 << 10), ..NO_LIMITS };
    let told = Told::default();
    let tell = told.clone();
    let book = SqliteBook::at(&path, limits, move |words| tell.lock().unwrap().push(words.to_owned()));
    book.claim(claim(&key("s", "before"))).await.unwrap();
    let large = |id: &str| Claim { input: json!("x".repeat(600_000)), ..claim(&key("s", id)) };
    book.append(vec![Entry::Started(Box::new(large("queued")))], Durability::Queued).await.unwrap();
    let err = book.claim(large("large")).await.unwrap_err();
    assert!(matches!(err, BookError::Full(_)), "{err}");
    assert!(err.to_string().contains("there is no room left"), "{err}");
    // Nothing is queued in silence while something is wrong.
    assert!(book.append(vec![turn("s", 1)], Durability::Queued).await.is_err());
    assert_eq!(book.calls(all()).await.unwrap().len(), 1, "what was there is there");
    drop(book);
    while told.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(told.lock().unwrap()[0].contains("could not be written and is lost"), "{told:?}");
}

#[tokio::test]
async fn room_is_made_by_forgetting_before_anybody_is_told_that_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Retention { max_bytes: Some(200 << 10), ..NO_LIMITS };
    let book = SqliteBook::at(directory.path().join("journal.db"), limits, |words| panic!("{words}"));
    for n in 0..40 {
        let key = key("s", &n.to_string());
        book.claim(Claim { input: json!("x".repeat(20_000)), ..claim(&key) }).await.unwrap();
        book.append(vec![outcome(&key, "{}")], Durability::Process).await.unwrap();
    }
    let left = book.calls(all()).await.unwrap();
    assert!(left.len() < 40 && left[0].call.as_str() == "39", "{}", left.len());
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_is_said_and_what_is_there_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state/journal.db");
    let (book, _) = telling(&path);
    book.claim(claim(&key("s", "1"))).await.unwrap();
    drop(book);
    let set = |mode| {
        let state = path.parent().unwrap();
        for entry in fs::read_dir(state).unwrap().flatten().filter(|entry| entry.path().is_file()) {
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode & 0o666)).unwrap();
        }
        fs::set_permissions(state, fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o500);
    let is_root = fs::write(path.parent().unwrap().join("probe"), "").is_ok();
    let (book, _) = telling(&path);
    let written = book.claim(claim(&key("s", "2"))).await;
    if is_root {
        eprintln!(
            "skipped: whoever is root writes everywhere; `haft-cli/tests/it/log.rs` mounts a directory to read only"
        );
    } else {
        let err = written.unwrap_err();
        assert!(matches!(err, BookError::ReadOnly(..)), "{err}");
        assert_eq!(book.calls(all()).await.unwrap().len(), 1);
    }
    set(0o700);
}

#[tokio::test]
async fn a_file_that_another_holds_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let book = sqlite(directory.path());
    book.claim(claim(&key("s", "1"))).await.unwrap();
    let path = directory.path().join("journal.db");
    let (held, hold) = std::sync::mpsc::channel();
    let holder = std::thread::spawn(move || {
        let other = Connection::open(path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        held.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        other.execute_batch("COMMIT").unwrap();
    });
    hold.recv().unwrap();
    assert_eq!(book.claim(claim(&key("s", "2"))).await.unwrap(), Claimed::Yours);
    holder.join().unwrap();
}

#[tokio::test]
async fn a_clock_that_goes_back_changes_no_order() {
    let directory = tempfile::tempdir().unwrap();
    let book = sqlite(directory.path());
    for (n, at) in [(1, 5_000), (2, 1_000), (3, -1), (4, 6_000)] {
        let key = key("s", &n.to_string());
        book.claim(Claim { at: Instant(at), ..claim(&key) }).await.unwrap();
        book.append(vec![outcome(&key, "{}")], Durability::Process).await.unwrap();
    }
    let found = book.calls(all()).await.unwrap();
    assert_eq!(found.iter().map(|call| call.call.as_str()).collect::<Vec<_>>(), ["4", "3", "2", "1"]);
    assert!(found.iter().all(|call| call.duration_us == Some(5)), "durations are told, not computed");
}

#[tokio::test]
async fn a_clock_that_jumps_ahead_forgets_nothing_on_the_first_day() {
    const DAY: i64 = 86_400_000;
    for (since, left) in [(2 * DAY, 1), (400 * DAY, 2)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let (old, now) = (key("s", "old"), Instant::now());
        let (book, _) = telling(&path);
        book.claim(Claim { at: Instant(now.0 - 400 * DAY), ..claim(&old) }).await.unwrap();
        book.append(vec![outcome(&old, "{}")], Durability::Process).await.unwrap();
        let stamp = || {
            let db = Connection::open(&path).unwrap();
            let sql = "SELECT body FROM documents WHERE space = 'haft' AND key = 'pruned'";
            db.query_row(sql, [], |row| row.get::<_, String>(0))
                .ok()
                .and_then(|text| text.parse::<i64>().ok())
        };
        let maintained = async || {
            for _ in 0..2000 {
                if stamp().is_some_and(|stamp| stamp >= now.0) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            panic!("nobody looks what is too old");
        };
        maintained().await;
        drop(book);
        closed(&path);
        let db = Connection::open(&path).unwrap();
        db.execute("UPDATE documents SET body = ?1 WHERE key = 'pruned'", [(now.0 - since).to_string()])
            .unwrap();
        drop(db);
        let limits = Retention { age: Some(Duration::from_secs(90 * 86_400)), ..NO_LIMITS };
        let book = SqliteBook::at(&path, limits, |words| panic!("{words}"));
        book.claim(Claim { at: now, ..claim(&key("s", "new")) }).await.unwrap();
        maintained().await;
        assert_eq!(book.calls(all()).await.unwrap().len(), left, "last done {} days ago", since / DAY);
    }
}

#[tokio::test]
async fn what_is_too_much_is_forgotten_the_oldest_first() {
    let directory = tempfile::tempdir().unwrap();
    let book = sqlite(directory.path());
    for n in 0..400 {
        let key = key("s", &n.to_string());
        let large = Claim { input: json!("x".repeat(5_000)), repeatable: true, ..claim(&key) };
        let entries = vec![turn("s", 1), Entry::Started(Box::new(large)), outcome(&key, "{}")];
        book.append(entries, Durability::Queued).await.unwrap();
    }
    let pruned = book.prune(Limits { before: None, max_bytes: Some(1 << 20) }).await.unwrap();
    assert!(pruned.calls > 100, "{pruned:?}");
    let left = book.calls(CallFilter { most: 1000, ..CallFilter::default() }).await.unwrap();
    assert!(left.iter().all(|call| call.no.0 > i64::try_from(pruned.calls).unwrap()));
}
