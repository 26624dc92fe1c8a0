//! What a huge result costs in memory: the tool's own copy, and no second one.
//!
//! `cargo bench -p haft-engine --bench memory` prints the peak and fails if it is over the budget.

use std::{fs, io::Write};

use haft_engine::{Call, Engine, SessionOptions, result::FileStore};
use haft_testkit::{Workspace, sized};
use serde_json::json;

const RESULT: usize = 200 * 1024 * 1024;

fn main() {
    let workspace = Workspace::new("");
    let store = FileStore::new(workspace.root().join("results"));
    let engine = Engine::builder().tool(sized()).results(store).build().expect("one tool");
    let session = engine.session(SessionOptions::at(workspace.root())).expect("a session");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let before = peak();
    let result = runtime.block_on(session.call(Call::new("big", "Sized", json!({ "bytes": RESULT }))));
    let kept = result.meta.truncated.and_then(|cut| cut.path).expect("it was spilled");
    assert_eq!(fs::metadata(kept).expect("the spilled file").len(), RESULT as u64);
    let copies = (peak() - before) as f64 / RESULT as f64;
    let mut out = std::io::stdout().lock();
    writeln!(out, "a result of 200 MB: {copies:.2} copies at the peak").expect("stdout");
    assert!(copies <= 1.05, "more than one copy");
}

/// The largest resident size so far, in bytes.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kilobytes: usize = line.trim().trim_end_matches(" kB").trim().parse().expect("a number");
    kilobytes * 1024
}
