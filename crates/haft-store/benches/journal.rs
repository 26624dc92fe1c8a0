//! What the journal costs: a call that changes nothing, a start that must be durable, and finding something in a million.
//!
//! Prints a line for each figure: its name and microseconds. `cargo xtask bench journal` reads them and knows the bounds.

// A bench may say `expect`: a failure here is a failure of the bench.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

use std::{path::Path, sync::Arc, time::Instant as Clock};

use haft_engine::{
    Call, Engine, Session, SessionOptions,
    session::{CallKey, CallState, Digest},
};
use haft_store::{
    Book, CallFilter, CallNo, Claim, Durability, Entry, Instant, Journal, Outcome, PathRow, Retention,
    SqliteBook, Turn,
};
use haft_tool::{Effects, Reply, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const NO_LIMITS: Retention =
    Retention { age: None, max_bytes: None, every: std::time::Duration::from_secs(3600) };
const CALLS: usize = 1_000_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        added(directory.path()).await;
        durable(directory.path()).await;
        let calls =
            std::env::var("HAFT_BENCH_CALLS").ok().and_then(|count| count.parse().ok()).unwrap_or(CALLS);
        found(directory.path(), calls).await;
    });
}

fn tell(name: &str, us: f64) {
    println!("{name}\t{us:.1}");
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn us(since: Clock) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

fn book(directory: &Path, name: &str) -> SqliteBook {
    SqliteBook::at(directory.join(name), NO_LIMITS, |words| panic!("{words}"))
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

fn session(journal: Option<Journal>) -> Session {
    let add = tool("Add")
        .effects(|_: &Add| Effects::none())
        .call(|input: Add, _| async move { Ok(Reply::text((input.a + input.b).to_string())) });
    let engine = Engine::builder().tool(add);
    let engine = match journal {
        Some(journal) => engine.journal(journal),
        None => engine,
    };
    engine.build().unwrap().session(SessionOptions { is_new: true, ..SessionOptions::at("/") }).unwrap()
}

/// How much longer a call takes that changes nothing, in turns with the same without a journal.
async fn added(directory: &Path) {
    let book = Arc::new(book(directory, "added.db"));
    let (with, without) = (session(Some(Journal::new(book.clone(), |_| {}))), session(None));
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for n in 0..5_000 {
        for (session, times) in [(&with, &mut on), (&without, &mut off)] {
            let call = Call::new(format!("call_{n}"), "Add", json!({ "a": n, "b": 1 }));
            let start = Clock::now();
            let result = session.call(call).await;
            times.push(us(start));
            assert!(!result.is_error());
        }
        // As a model would: not all at once.
        if n % 50 == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
    let (on, off) = (median(on), median(off));
    tell("a call that changes nothing, without a journal", off);
    tell("a call that changes nothing, with one", on);
    tell("added to a call that changes nothing", (on - off).max(0.0));
    book.flush().await.unwrap();
}

async fn durable(directory: &Path) {
    let book = book(directory, "durable.db");
    let mut times = Vec::new();
    for n in 0..500 {
        let claim = claim(n, "s", "Write", &format!("/w/{n}"));
        let start = Clock::now();
        book.claim(claim).await.unwrap();
        times.push(us(start));
    }
    tell("a start that is durable", median(times));
}

fn claim(n: usize, session: &str, tool: &str, path: &str) -> Claim {
    let mut digest = [0; 16];
    digest[..8].copy_from_slice(&(n as u64).to_le_bytes());
    Claim {
        key: CallKey {
            session: session.into(),
            call: format!("toolu_{n:08}").into(),
            digest: Digest(digest),
            nth: 0,
        },
        turn: 1,
        at: Instant(1_700_000_000_000 + n as i64 * 1_000),
        tool: tool.to_owned(),
        description: format!("{tool} {path}"),
        verdict: if n.is_multiple_of(97) {
            "deny"
        } else if n.is_multiple_of(31) {
            "ask"
        } else {
            "allow"
        }
        .to_owned(),
        class: if tool == "Read" { "read_only" } else { "write" }.to_owned(),
        repeatable: tool == "Read",
        was_dropped: false,
        sealed: false,
        paths: vec![PathRow { path: path.to_owned(), writes: tool != "Read" }],
        input: json!({ "file_path": path }),
        decision: json!({ "verdict": "allow", "class": "write", "reason": "allow: it stays inside the workspace" }),
        approval: None,
    }
}

async fn found(directory: &Path, count: usize) {
    let book = book(directory, "million.db");
    const TOOLS: [&str; 8] = ["Read", "Read", "Read", "Grep", "Edit", "Write", "Bash", "mcp__rare"];
    let start = Clock::now();
    for batch in 0..count.div_ceil(500) {
        let mut entries = Vec::with_capacity(1001);
        let session = format!("session-{}", batch % 1000);
        entries.push(Entry::Turn(Turn {
            session: session.as_str().into(),
            turn: 1,
            at: Instant(1_700_000_000_000),
            workspace: "/home/u/project".to_owned(),
            mode: "default".to_owned(),
            caller: Value::Null,
        }));
        for n in batch * 500..((batch + 1) * 500).min(count) {
            let tool = if n % 10_007 == 0 { "mcp__rare" } else { TOOLS[n % 7] };
            let path = format!("/home/u/project/src/m{}/f{}.rs", n % 1000, n % 20_011);
            let claim = claim(n, &session, tool, &path);
            let key = claim.key.clone();
            let refused = claim.verdict == "deny";
            let entry = Box::new(claim);
            entries.push(if refused { Entry::Refused(entry) } else { Entry::Started(entry) });
            if !refused {
                entries.push(Entry::Finished(Box::new(Outcome {
                    key,
                    turn: 1,
                    at: Instant(0),
                    tool: tool.to_owned(),
                    ran: true,
                    duration_us: 100,
                    fault: None,
                    result: "{}".to_owned(),
                })));
            }
        }
        book.append(entries, Durability::Process).await.unwrap();
    }
    eprintln!("{count} calls in {:.0} s", start.elapsed().as_secs_f64());
    let all = || CallFilter { most: 50, ..CallFilter::default() };
    let text = |text: &str| Some(text.to_owned());
    let middle = Instant(1_700_000_000_000 + count as i64 / 2 * 1_000);
    let filters = [
        ("the latest", all()),
        ("--session", CallFilter { session: Some("session-500".into()), ..all() }),
        ("--tool Bash", CallFilter { tool: text("Bash"), ..all() }),
        ("--tool, rare", CallFilter { tool: text("mcp__rare"), ..all() }),
        ("--tool, none", CallFilter { tool: text("nothing"), ..all() }),
        ("--verdict deny", CallFilter { verdict: text("deny"), ..all() }),
        ("--state cut_off", CallFilter { state: Some(CallState::CutOff), ..all() }),
        ("--path, all", CallFilter { path: text("/home/u/project"), ..all() }),
        ("--path, a directory", CallFilter { path: text("/home/u/project/src/m7"), ..all() }),
        ("--path, a file", CallFilter { path: text("/home/u/project/src/m7/f7.rs"), ..all() }),
        ("--path, a pattern", CallFilter { path: text("/home/u/project/src/m7/*"), ..all() }),
        ("--path, a pattern without a beginning", CallFilter { path: text("*f77.rs"), ..all() }),
        ("--path, a short end", CallFilter { path: text("*7"), ..all() }),
        ("--path, a pattern that nothing fits", CallFilter { path: text("*zz*"), ..all() }),
        ("--path, above and a name", CallFilter { path: text("/home/u/*/f77.rs"), ..all() }),
        ("--path and --tool", CallFilter { path: text("/home/u"), tool: text("mcp__rare"), ..all() }),
        ("--until, middle", CallFilter { until: Some(middle), ..all() }),
        (
            "--until and --tool",
            CallFilter { until: Some(Instant(1_700_000_100_000)), tool: text("Bash"), ..all() },
        ),
        ("--tool and --verdict, none", CallFilter { tool: text("Read"), verdict: text("none"), ..all() }),
        (
            "--since, --until",
            CallFilter { since: Some(middle), until: Some(Instant(middle.0 + 100_000)), ..all() },
        ),
        ("--until, early", CallFilter { until: Some(Instant(1_700_000_100_000)), ..all() }),
        ("--tool and --verdict", CallFilter { tool: text("mcp__rare"), verdict: text("deny"), ..all() }),
        (
            "--session and --tool",
            CallFilter { session: Some("session-3".into()), tool: text("Bash"), ..all() },
        ),
        ("--after", CallFilter { after: Some(CallNo(count as i64 - 10)), ..all() }),
    ];
    for (name, filter) in filters {
        let mut times = Vec::new();
        for _ in 0..5 {
            let start = Clock::now();
            book.calls(filter.clone()).await.unwrap();
            times.push(us(start));
        }
        tell(&format!("log {name}"), median(times));
    }
    let start = Clock::now();
    book.sessions(20).await.unwrap();
    tell("sessions", us(start));
}
