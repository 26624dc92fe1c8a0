//! What an MCP server writes to its stdout.

#![no_main]

use haft_mcp::client::soup::{answers, is_readable};
use libfuzzer_sys::fuzz_target;

const MOST: usize = 300;

fuzz_target!(|bytes: &[u8]| {
    let whole = answers(bytes, bytes.len(), MOST);
    assert_eq!(whole, answers(bytes, 1, MOST), "how the bytes come does not matter");
    assert!(whole.iter().flatten().all(is_readable), "{whole:?}");
});
