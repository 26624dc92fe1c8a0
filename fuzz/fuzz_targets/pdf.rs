//! A PDF that somebody wants to be read.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    // Mistakes in the reader of PDF files are caught, and become a fault; the fuzzer would stop at each.
    init: std::panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| haft_tools::fuzzing::pdf(bytes)
);
