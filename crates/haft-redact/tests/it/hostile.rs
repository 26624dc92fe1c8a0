//! Whatever a text is made of, four times as much of it takes about four times as long.

use std::time::{Duration, Instant};

use haft_redact::Redactor;

/// What hostile texts are made of: beginnings that begin nothing, values without end, what is looked back at.
const PIECES: [&str; 40] = [
    "eyJ-",
    "eyJaaaaaaaa.eyJ",
    "glpat-",
    "sk-proj-",
    "pypi-AgEa-",
    "xoxb-",
    "s.",
    "npm_",
    "github_pat_",
    "hvs.",
    "dp.st.a.",
    "1234567:AA",
    "a=a=",
    "key=",
    "token=",
    "token=<",
    "token=a,b:",
    "password: ",
    "\"password\": \"",
    "key=\"",
    "<password>a1B2-",
    "--password ",
    "login x password ",
    "://@",
    "://a:",
    "://a/b:c@",
    "pass:",
    "mysql -p",
    " -p",
    "Cookie: a=",
    "cookie:a=b;",
    "authorization:digest ",
    "Authorization: ",
    "bearer ",
    "sig=",
    "identified by '",
    ":5432:",
    "-----BEGIN ",
    "-----BEGIN RSA PRIVATE KEY-----\\n",
    "a.bcdefg.",
];

/// Runs without a hit, or with hits in the middle of words.
const RUNS: [&str; 8] = [
    "k7TromBo9Zq/+8",
    "\\",
    "\\\\\"",
    " ",
    "\n",
    "[redacted: ",
    "blue-horse",
    "-----BEGIN RSA PRIVATE KEY-----\n",
];

fn time(redactor: &Redactor, piece: &str, length: usize) -> Duration {
    let text = piece.repeat(length / piece.len());
    let started = Instant::now();
    redactor.redact(&text);
    started.elapsed()
}

/// The machine may do something else for a moment: what is too long once is measured again.
fn is_linear(redactor: &Redactor, piece: &str) -> Result<(), String> {
    const SMALL: usize = 64 * 1024;
    let mut seen = (Duration::ZERO, Duration::ZERO);
    for _ in 0..4 {
        seen = (time(redactor, piece, SMALL), time(redactor, piece, 4 * SMALL));
        if seen.1 <= seen.0 * 8 + Duration::from_millis(20) {
            return Ok(());
        }
    }
    Err(format!("{piece:?}: {:?} for 64 KB, {:?} for 256 KB", seen.0, seen.1))
}

#[test]
fn four_times_the_text_takes_about_four_times_as_long() {
    let redactor = Redactor::builder().secret("blue-horse-42-lamp").secret("a".repeat(300)).build();
    let failed: Vec<String> =
        PIECES.iter().chain(&RUNS).filter_map(|piece| is_linear(&redactor, piece).err()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
#[ignore]
fn show() {
    let redactor = Redactor::builder().secret("blue-horse-42-lamp").secret("a".repeat(300)).build();
    redactor.redact("x");
    for piece in PIECES.iter().chain(&RUNS) {
        println!("{piece:?}: {:?} {:?}", time(&redactor, piece, 256 * 1024), time(&redactor, piece, 1 << 20));
    }
    println!("a: {:?}", time(&redactor, "a", 1 << 20));
}
