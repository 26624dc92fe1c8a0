//! Any text as a command: it is read, shown, and what is shown is the same command.

#![no_main]

use haft_shell::syntax::{odd_characters, outline, parse, render, salvage};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let parsed = parse(&text);
    if let Some(error) = &parsed.error {
        assert!(!error.what.is_empty(), "an error says what is wrong");
        salvage(&text[error.at..]);
    }
    let shown = render(&parsed.script);
    assert!(odd_characters(&shown).is_empty(), "everything that is shown can be seen");
    let whole = outline(&parsed.script);
    let is_plain = parsed.error.is_none() && !whole.contains("(odd ") && odd_characters(&text).is_empty();
    if is_plain {
        let again = parse(&shown);
        assert_eq!(again.error, None, "what is shown can be read");
        assert_eq!(outline(&again.script), whole, "what is shown is what was read");
    }
});
