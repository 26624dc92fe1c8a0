//! Any text as a command: it is read, shown, and what is shown is the same command, with the same effects.

#![no_main]

use std::collections::BTreeSet;

use haft_shell::{
    syntax::{Parsed, odd_characters, outline, parse, render, salvage},
    understand,
};
use haft_tool::{Effects, PathBase};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let parsed = parse(&text);
    if let Some(error) = &parsed.error {
        assert!(!error.what.is_empty(), "an error says what is wrong");
        salvage(&text[error.at..]);
    }
    let effects = effects_of(&text);
    assert!(parsed.error.is_none() || effects.is_unknown(), "what is not read is not known");
    let shown = render(&parsed.script);
    assert!(odd_characters(&shown).is_empty(), "everything that is shown can be seen");
    if is_plain(&text, &parsed) {
        check_shown(&shown, &parsed, &effects);
    }
});

/// Whether nothing in a text is given up on.
fn is_plain(text: &str, parsed: &Parsed) -> bool {
    parsed.error.is_none() && !outline(&parsed.script).contains("(odd ") && odd_characters(text).is_empty()
}

fn check_shown(shown: &str, parsed: &Parsed, effects: &Effects) {
    let again = parse(shown);
    assert_eq!(again.error, None, "what is shown can be read");
    assert_eq!(outline(&again.script), outline(&parsed.script), "what is shown is what was read");
    let effects_shown = effects_of(shown);
    assert_eq!(effects_shown.class(), effects.class(), "what is shown is of the same class");
    assert_eq!(commands(&effects_shown), commands(effects), "what is shown runs the same");
}

fn effects_of(text: &str) -> Effects {
    understand(text, &PathBase { cwd: "/w/app".into(), home: Some("/home/u".into()), workspace: None })
        .effects()
}

fn commands(effects: &Effects) -> BTreeSet<&[String]> {
    effects.commands().iter().map(|command| command.argv.as_slice()).collect()
}
