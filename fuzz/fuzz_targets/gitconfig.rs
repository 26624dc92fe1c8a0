//! Two files of git's settings: what is reverted differs from the old one by harmless keys alone.

#![no_main]

use haft_shell::git_config::{KeyChange, compare, is_harmless_url, read, revert};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let middle = bytes.iter().position(|byte| *byte == 0x1e).unwrap_or(bytes.len() / 2);
    let (before, current) = bytes.split_at(middle);
    let current = current.strip_prefix(b"\x1e").unwrap_or(current);
    let _ = is_harmless_url(current);
    let changes = compare(before, current);
    changes.iter().for_each(|change| assert!(!change.name().is_empty() && !change.reason().is_empty()));
    let reverted = revert(current, before, None);
    if read(before).is_err() {
        assert_eq!(reverted, before, "a file that cannot be read is put back");
        return;
    }
    let left = compare(before, &reverted);
    assert!(left.iter().all(KeyChange::is_harmless), "{left:?}: a powerful change stayed");
    if read(current).is_ok() {
        let harmless =
            |changes: Vec<KeyChange>| changes.into_iter().filter(KeyChange::is_harmless).collect::<Vec<_>>();
        assert_eq!(harmless(left), harmless(changes), "a harmless change was lost");
    }
});
