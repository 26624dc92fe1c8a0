//! `haft demo`.

use std::time::{Duration, Instant};

use crate::kit::{Place, Ran};

#[test]
fn the_demo_shows_what_it_says() {
    let began = Instant::now();
    let ran = Place::new("").haft(&["demo"]).expect(0, "");
    assert!(began.elapsed() < Duration::from_secs(20), "it takes less than a second, were it alone here");
    assert!(!ran.out.contains('\u{1b}'), "no colours without a terminal");
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100), "it fits 100 columns");
    insta::with_settings!({ filters => vec![
        (r"\$PROJECT is \S+,", "$$PROJECT is …,"),
        (r"\d+ tools: \d+ in sight, \d+ deferred", "… tools: … in sight, … deferred"),
        (r"  [·━]+ +(after \d+ ms, )?\d+ ms", "  ━━ … ms"),
        (r"\d+ ms of work in \d+ ms", "… ms of work in … ms"),
        (r"Permission denied|Read-only file system", "(refused)"),
        (r"turns and \d\d?\.\d s", "turns and … s"),
        (r"[\d.]+ x +…", "… x  …"),
        (r"~[\d,]+ +", "~…  "),
        (r"~[\d,]+", "~…"),
        (r"(\d) {2,}(in \d+ turns|their own|by a )", "$1  $2"),
        (r"fingerprint \w{8} → \w{8}; tools field \d+ → \d+ bytes", "fingerprint … → …; tools field … → … bytes"),
        (r"request [\d.]+ KB, with all of them\s+[\d.]+ KB", "request … KB, with all of them … KB"),
    ] }, { insta::assert_snapshot!(ran.out) });
}

#[test]
fn the_demo_fits_a_narrow_terminal() {
    let place = Place::new("");
    let ran = Ran::of(&place.command(&["demo"]).env("COLUMNS", "60").output().unwrap()).expect(0, "");
    let long: Vec<&str> = ran.out.lines().filter(|line| line.chars().count() > 60).collect();
    assert!(long.is_empty(), "{long:#?}");
}
