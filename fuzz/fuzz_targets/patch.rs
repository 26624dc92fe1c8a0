//! A file and a patch, with a zero byte between.

#![no_main]

use haft_tools::fuzzing::patch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let given = String::from_utf8_lossy(bytes);
    let (text, diff) = given.split_once('\0').unwrap_or(("", &given));
    let Ok(patched) = patch(text, diff) else { return };
    for file in patched {
        let Ok(new) = file.text else { continue };
        // A line may gain both characters of a line end.
        assert!(new.len() <= text.len() + 2 * diff.len() + 2, "no more comes than is said");
        // Files with carriage returns alone have lines of another kind.
        if text.contains('\n') && !new.is_empty() {
            assert_eq!(lines(&new) + file.removed, lines(text) + file.added, "every line is accounted for");
        }
    }
});

fn lines(text: &str) -> usize {
    text.strip_suffix('\n').unwrap_or(text).split('\n').count()
}
