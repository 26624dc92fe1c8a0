//! A file and what a model wants to replace in it: three texts between zero bytes, and a bit for "everywhere".

#![no_main]

use haft_tools::fuzzing::edit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((flags, rest)) = bytes.split_first() else { return };
    let all = flags & 1 == 1;
    let given = String::from_utf8_lossy(rest);
    let mut parts = given.splitn(3, '\0');
    let [text, old, new] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    match edit(text, old, new, all) {
        Err(reason) => assert!(!reason.is_empty()),
        Ok((edited, places)) => {
            assert_ne!(edited, text, "an edit changes something");
            assert!(!places.is_empty() && (all || places.len() == 1), "{places:?}");
            assert!(
                places.is_sorted() && places[places.len() - 1] <= edited.split('\n').count(),
                "{places:?}"
            );
            head_is_untouched(text, &edited, places[0]);
            if !all {
                tail_is_untouched(text, &edited, places[0], old);
            }
            if !text.contains('\r') && text.matches(old).count() == 1 {
                assert_eq!(edited, text.replacen(old, new, 1), "what stands there once is replaced as it is");
            }
        }
    }
});

/// The lines above the first place.
fn head_is_untouched(text: &str, edited: &str, place: usize) {
    let above =
        |text: &'_ str| -> Vec<String> { text.split('\n').take(place - 1).map(str::to_owned).collect() };
    assert_eq!(above(text), above(edited));
}

/// The lines below the last that the passage can reach to, also if its line ends were written as escapes.
fn tail_is_untouched(text: &str, edited: &str, place: usize, old: &str) {
    let ends = ["\n", "\r", "\\n", "\\r"].iter().map(|end| old.matches(end).count()).sum::<usize>();
    let tail: Vec<_> = text.split('\n').skip(place + ends).collect();
    if !tail.is_empty() {
        assert!(edited.ends_with(&format!("\n{}", tail.join("\n"))), "below line {}", place + ends);
    }
}
