//! A picture that somebody wants to be looked at.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| haft_tools::fuzzing::image(bytes));
