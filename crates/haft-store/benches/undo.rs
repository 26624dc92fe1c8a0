//! What it costs that changes can be taken back: a look at a large tree, at a small one, and a change of one file.
//!
//! Prints a line for each figure: its name and microseconds. `cargo xtask bench undo` reads them and knows the bounds.

// A bench may say `expect`: a failure here is a failure of the bench.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant as Clock},
};

use haft_engine::session::{CallKey, Digest, Doer, Images, Thing};
use haft_store::{
    MemoryBook,
    blobs::FileBlobs,
    images::{StoredImages, UndoOptions},
};

const LARGE: usize = 30_000;
const SMALL: usize = 100;

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    for (count, name) in [(LARGE, "30,000 files"), (SMALL, "100 files")] {
        let room = Room::new(&place.join(count.to_string()), count);
        tell(&format!("first look at {name}"), room.looks(1));
        tell(&format!("later look at {name}"), room.looks(21));
        // Whoever begins anew reads what was found the last time.
        tell(&format!("first look of a process at {name}"), room.again().looks(1));
    }
    let room = Room::new(&place.join("one"), 1);
    tell("image of a small file, durable", room.images_of_one(51));
}

fn tell(name: &str, us: f64) {
    println!("{name}\t{us:.1}");
}

struct Room {
    state: PathBuf,
    root: PathBuf,
    images: StoredImages,
    doer: Doer,
}

impl Room {
    fn new(place: &Path, files: usize) -> Room {
        let (root, state) = (place.join("ws"), place.join("state"));
        for file in 0..files {
            let directory = root.join(format!("{}/{}", file / 1_000, file / 50));
            fs::create_dir_all(&directory).unwrap();
            let line = format!("the text of file {file}, as it may be\n");
            fs::write(directory.join(format!("{file}.txt")), line.repeat(40)).unwrap();
        }
        // What was changed a moment ago would be read again.
        std::thread::sleep(Duration::from_millis(50));
        let key = CallKey { session: "s".into(), call: "1".into(), digest: Digest([0; 16]), nth: 0 };
        let doer = Doer { key, turn: 1, workspace: root.clone() };
        Room { images: images(&state), state, root, doer }
    }

    fn again(&self) -> Room {
        Room {
            images: images(&self.state),
            state: self.state.clone(),
            root: self.root.clone(),
            doer: self.doer.clone(),
        }
    }

    /// The median of what a command waits for before it may start.
    fn looks(&self, count: usize) -> f64 {
        let one = || {
            let start = Clock::now();
            let watch = self.images.watch(&self.doer, std::slice::from_ref(&self.root)).unwrap();
            let time = us(start);
            watch.settle(false);
            time
        };
        median(std::iter::repeat_with(one).take(count).collect())
    }

    fn images_of_one(&self, count: usize) -> f64 {
        let path = self.root.join("0/0/0.txt");
        let one = |n: usize| {
            fs::write(&path, format!("version {n}\n").repeat(100)).unwrap();
            let file = fs::File::open(&path).unwrap();
            let thing = Thing::File {
                file: &file,
                len: file.metadata().unwrap().len(),
                mode: 0o644,
                fingerprint: None,
            };
            let start = Clock::now();
            let mut album = self.images.begin(&self.doer);
            album.add(&path, &thing, &thing).unwrap();
            album.seal().unwrap();
            us(start)
        };
        median((0..count).map(one).collect())
    }
}

fn images(state: &Path) -> StoredImages {
    let blobs = Arc::new(FileBlobs::new(state.join("undo/blobs")));
    let options = UndoOptions { patience: Duration::from_secs(60), ..UndoOptions::at(state) };
    StoredImages::new(Arc::new(MemoryBook::default()), blobs, options)
}

fn us(since: Clock) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
