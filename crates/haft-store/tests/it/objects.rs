//! Blobs and results in a bucket: the same on a real S3-compatible server and in memory.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use haft_engine::result::ResultStore;
use haft_store::{
    SharedResults,
    blobs::{BlobLimits, Blobs, Bucket, FileBlobs, Hash, ObjectBlobs},
    results::{ResultLimits, Results},
};
use haft_testkit::Objects;
use haft_tool::Block;

/// A bucket in memory, and one on a server where there is one.
fn buckets(prefix: &str) -> Vec<Bucket> {
    let mut all = vec![Bucket::in_memory().unwrap()];
    all.extend(on_server(prefix));
    all
}

fn on_server(prefix: &str) -> Option<Bucket> {
    static MADE: std::sync::Once = std::sync::Once::new();
    let server = Objects::shared()?;
    MADE.call_once(|| server.bucket("haft"));
    Some(at(server, &format!("s3://haft/{prefix}")))
}

fn at(server: &Objects, address: &str) -> Bucket {
    let variables = server.environment().map(|(name, value)| (name.to_owned(), value));
    Bucket::with(address, variables).unwrap()
}

fn file(directory: &Path, bytes: &[u8]) -> File {
    let path = directory.join("put");
    fs::write(&path, bytes).unwrap();
    File::open(path).unwrap()
}

fn read(blobs: &dyn Blobs, hash: &Hash) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    blobs.get(hash).unwrap()?.read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

#[test]
fn what_one_machine_puts_another_gets() {
    for bucket in buckets("shared") {
        let directory = tempfile::tempdir().unwrap();
        let machine =
            |name: &str| ObjectBlobs::new(FileBlobs::new(directory.path().join(name)), bucket.clone());
        let (one, other) = (machine("one"), machine("other"));
        // More than one part, and not to be compressed.
        let mut seed = 1_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 24).to_le_bytes()[..4].to_vec()
        };
        let large: Vec<u8> = std::iter::repeat_with(&mut next).take(9 << 18).flatten().collect();
        for bytes in [&b""[..], b"short", "a line\n".repeat(1000).as_bytes(), &large] {
            let blob = one.put(&file(directory.path(), bytes), false).unwrap();
            assert_eq!((blob.hash, blob.len), (Hash::of(bytes), bytes.len() as u64));
            assert!(other.has(&blob.hash).unwrap());
            assert!(
                read(&other, &blob.hash).as_deref() == Some(bytes),
                "{} bytes on {bucket:?}",
                bytes.len()
            );
        }
        let nothing = Hash::of(b"nobody put this");
        assert!(!other.has(&nothing).unwrap() && read(&other, &nothing).is_none());
    }
}

#[test]
fn what_nobody_wants_is_forgotten_and_what_is_young_stays() {
    for bucket in buckets("pruned") {
        let directory = tempfile::tempdir().unwrap();
        let blobs = ObjectBlobs::new(FileBlobs::new(directory.path().join("near")), bucket);
        let put = |bytes: &[u8]| blobs.put(&file(directory.path(), bytes), false).unwrap().hash;
        let (wanted, unwanted) = (put(b"wanted"), put(b"unwanted"));
        let young = Duration::from_secs(3600);
        let limits = |now| BlobLimits { most_bytes: u64::MAX, young, now };
        let now = SystemTime::now();
        let pruned = blobs.prune(&|hash| *hash == wanted, &limits(now)).unwrap();
        assert_eq!(pruned.forgotten, 0, "both are young");
        let pruned = blobs.prune(&|hash| *hash == wanted, &limits(now + young * 2)).unwrap();
        assert_eq!(pruned.forgotten, 1);
        assert!(blobs.has(&wanted).unwrap() && !blobs.has(&unwanted).unwrap());
        let none = BlobLimits { most_bytes: 0, young, now: now + young * 2 };
        assert_eq!(blobs.prune(&|_| true, &none).unwrap().wanted, 1);
        assert!(!blobs.has(&wanted).unwrap());
    }
}

fn results(root: &Path, bucket: &Bucket) -> SharedResults {
    let limits = ResultLimits { keep: Duration::from_secs(60), most_bytes: 1 << 30 };
    SharedResults::new(Results::at(root, limits), bucket.clone(), |words| panic!("{words}"))
}

#[tokio::test]
async fn a_result_of_one_machine_is_a_file_on_another() {
    for bucket in buckets("results") {
        let directory = tempfile::tempdir().unwrap();
        let (here, there) = (directory.path().join("here"), directory.path().join("there"));
        let (one, other) = (results(&here, &bucket), results(&there, &bucket));
        let (session, call) = ("s".into(), "c".into());
        let kept = one.keep(&session, &call, Arc::new(vec![Block::Text("whole".into())])).await.unwrap();
        let (grown, mut text) = one.begin(&session, &"g".into()).unwrap();
        text.write_all(b"line by line").unwrap();
        drop(text);
        bucket.settle();
        assert_eq!(other.fetch(&session).unwrap(), 2);
        assert_eq!(other.fetch(&session).unwrap(), 0, "they are here now");
        for (path, expected) in [(kept, "whole"), (grown, "line by line")] {
            let path = there.join(path.strip_prefix(&here).unwrap());
            assert_eq!(fs::read_to_string(&path).unwrap(), expected);
            let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(other.fetch(&"another".into()).unwrap(), 0);
        assert_eq!(other.prune(SystemTime::now()).unwrap(), 0);
        assert_eq!(other.prune(SystemTime::now() + Duration::from_secs(3600)).unwrap(), 2);
    }
}

#[test]
fn a_store_that_is_away_is_said() {
    let Some(server) = Objects::shared() else { return };
    let away = at(server, "s3://nobody-made-this");
    let err = away.put("x", tempfile::tempfile().unwrap()).unwrap_err().to_string();
    assert!(err.starts_with("s3://nobody-made-this: "), "{err}");
    for (address, expected) in [("s3://", "it names no bucket"), ("gs://x", "it does not begin with s3://")] {
        assert_eq!(Bucket::at(address).unwrap_err().to_string(), expected);
    }
}
