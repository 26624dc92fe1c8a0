//! Whatever a text is made of, time grows with its length and no faster.

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

fn redactor() -> Redactor {
    let redactor = Redactor::builder().secret("blue-horse-42-lamp").secret("a".repeat(300)).build();
    // What is made when it is first needed is no part of what is measured.
    redactor.redact("mysql -pk7Trombo9 eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhYmMifQ.a1B2c3D4e5F6g7H8i9J0");
    redactor
}

/// The machine may do something else for a moment: what is too long once is measured again.
fn measured(piece: &str, is_fine: impl Fn() -> (bool, String)) -> Option<String> {
    let mut seen = String::new();
    for _ in 0..4 {
        let (fine, figures) = is_fine();
        if fine {
            return None;
        }
        seen = figures;
    }
    Some(format!("{piece:?}: {seen}"))
}

fn all() -> impl Iterator<Item = &'static str> {
    PIECES.iter().chain(&RUNS).copied()
}

/// A line that is long is looked through in windows, so it is one line in which time could grow with the square.
#[test]
fn four_times_the_line_takes_about_four_times_as_long() {
    const SMALL: usize = 7 * 1024;
    let redactor = redactor();
    let check = |piece: &str| {
        measured(piece, || {
            let (small, large) = (time(&redactor, piece, SMALL), time(&redactor, piece, 4 * SMALL));
            (large <= small * 8 + Duration::from_millis(60), format!("7 KB {small:?}, 28 KB {large:?}"))
        })
    };
    let failed: Vec<String> = all().filter_map(check).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The bound is wide: it is there for what is hundreds of times slower than plain text.
#[test]
fn a_megabyte_takes_a_bounded_multiple_of_what_plain_text_takes() {
    const MEGABYTE: usize = 1 << 20;
    const SAMPLE: usize = MEGABYTE / 8;
    let redactor = redactor();
    let plain = time(&redactor, "It was a dark and stormy night. ", MEGABYTE);
    let check = |piece: &str| {
        measured(piece, || {
            let hostile = time(&redactor, piece, SAMPLE) * (MEGABYTE / SAMPLE) as u32;
            (hostile <= plain * 250, format!("{hostile:?} a megabyte, plain text {plain:?}"))
        })
    };
    let failed: Vec<String> = all().filter_map(check).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
