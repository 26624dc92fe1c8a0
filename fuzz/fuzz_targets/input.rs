//! A model's arguments, and a server's schema for them: the first line is the schema, the rest is the value.

#![no_main]

use haft_schema::{Checker, Violations, parse};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// What a model is made to read about one mistake, whatever the schema and the input are.
const LONGEST_MESSAGE: usize = 8 * 1024;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    match parse(&text) {
        Ok(value) => assert_eq!(parse(&value.to_string()).as_ref(), Ok(&value), "JSON that was read is JSON"),
        Err(err) => assert!(err.to_string().len() <= LONGEST_MESSAGE),
    }
    let Some((schema, value)) = text.split_once('\n') else { return };
    let (Ok(schema), Ok(value)) = (parse(schema), parse(value)) else { return };
    let Ok(checker) = Checker::compile(&schema) else { return };
    check(&checker, value);
});

fn check(checker: &Checker, value: Value) {
    let was_valid = checker.is_valid(&value);
    match checker.check(value.clone()) {
        Ok(checked) => {
            assert!(checker.is_valid(&checked.value), "what passed is valid");
            assert_eq!(checked.coercions.is_empty(), was_valid, "{:?}", checked.coercions);
            assert!(!was_valid || checked.value == value, "what is valid is not changed");
        }
        Err(violations) => {
            assert!(!was_valid, "what is valid passes");
            explain(checker, &violations);
        }
    }
    if let Some(example) = checker.example() {
        assert!(checker.is_valid(&example), "an example is valid");
    }
}

fn explain(checker: &Checker, violations: &Violations) {
    assert!(!violations.list.is_empty(), "a refusal has a reason");
    for attempt in [0, 1, u32::MAX] {
        assert!(violations.message("T", checker, attempt).len() <= LONGEST_MESSAGE);
    }
}
