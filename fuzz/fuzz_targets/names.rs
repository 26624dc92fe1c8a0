//! Names that servers give themselves and their tools: the first line is a server, the second a tool, and so on.

#![no_main]

use haft_engine::pool::{BadName, check_plain, mangle, split};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.split('\n').take(8).collect();
    let tools: Vec<(&str, &str)> = lines.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    for (server, tool) in &tools {
        check(server, tool);
    }
    for (index, one) in tools.iter().enumerate() {
        for other in &tools[index + 1..] {
            assert_eq!(one == other, mangle(one.0, one.1) == mangle(other.0, other.1), "{one:?} {other:?}");
        }
    }
    let _ = check_plain(&text);
    let _ = split(&text);
});

fn check(server: &str, tool: &str) {
    let name = mangle(server, tool);
    assert!(name.len() <= 64, "{name}");
    assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'), "{name}");
    assert_eq!(name, mangle(server, tool), "a name is stable");
    assert_eq!(check_plain(&name), Err(BadName::LooksExternal));

    let (server_part, tool_part) = split(&name).expect("a mangled name can be split");
    assert!(!server_part.is_empty() && !tool_part.is_empty(), "{name}");
    assert!(!tool_part.contains("__"), "{name}: only one place to split at");
    let other = mangle(server, "another tool");
    assert_eq!(split(&other).map(|parts| parts.0), Some(server_part), "one server, one beginning");
}
