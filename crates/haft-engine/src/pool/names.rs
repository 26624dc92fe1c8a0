//! What is a tool called?
//!
//! A built-in tool has the name that its spec says. A tool of an external server is called `mcp__server__tool`, and
//! both parts come from strangers: any length, any script, made to look like another. [`mangle`] brings them into the
//! form that every API accepts, and two different tools never meet in one name.

use std::{borrow::Cow, fmt};

use sha2::{Digest, Sha256};

/// The longest name that every model API takes.
const LONGEST: usize = 64;
/// What the names of external tools begin with, and no other names.
const PREFIX: &str = "mcp__";
const BETWEEN: &str = "__";
/// The server gets no more than this, however short the tool's name is: all tools of a server must begin alike, so
/// that one rule can mean them all.
const LONGEST_SERVER: usize = 32;
/// Hexadecimal digits that stand for what was changed or cut.
const MARK: usize = 10;

/// The name of an external tool: `mcp__server__tool`, of at most 64 letters, digits, `_` and `-`.
///
/// A part that has to be changed or cut is marked with a hash of its original. So is a part that could be misread: one
/// with `__` inside or `_` at an end (where does the server end?), or one that looks marked already. The name depends
/// on the two parts alone: it is the same in every process, version and order of servers.
///
/// ```
/// use haft_engine::pool::mangle;
/// assert_eq!(mangle("github", "create_issue"), "mcp__github__create_issue");
/// assert_eq!(mangle("my server", "wetter/köln"), "mcp__my_server_b129874b63__wetter_k_ln_e44add4ef5");
/// ```
pub fn mangle(server: &str, tool: &str) -> String {
    let server = part(server, LONGEST_SERVER);
    let tool = part(tool, LONGEST - PREFIX.len() - server.len() - BETWEEN.len());
    format!("{PREFIX}{server}{BETWEEN}{tool}")
}

/// Server and tool of a name that [`mangle`] made, as they stand in it; `None` for other names.
pub fn split(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(PREFIX)?.split_once(BETWEEN)
}

/// Checks the name of a tool that is not external.
pub fn check_plain(name: &str) -> Result<(), BadName> {
    if name.is_empty() {
        return Err(BadName::Empty);
    }
    if name.len() > LONGEST {
        return Err(BadName::TooLong(name.len()));
    }
    if name.starts_with(PREFIX) {
        return Err(BadName::LooksExternal);
    }
    match name.chars().find(|ch| !is_allowed(*ch)) {
        Some(odd) => Err(BadName::Character(odd)),
        None => Ok(()),
    }
}

/// Why a name cannot be a tool's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadName {
    /// There is none.
    Empty,
    /// It has so many bytes.
    TooLong(usize),
    /// It has this character.
    Character(char),
    /// It begins like the names of external tools, which rules must be able to tell apart.
    LooksExternal,
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadName::Empty => write!(f, "the name is empty"),
            BadName::TooLong(length) => write!(f, "the name has {length} bytes, more than {LONGEST}"),
            BadName::Character(odd) => write!(f, "the name has {odd:?}; allowed are A–Z a–z 0–9 _ -"),
            BadName::LooksExternal => write!(f, "names with {PREFIX} are for tools of external servers"),
        }
    }
}

impl std::error::Error for BadName {}

/// Never empty, never `_` at an end, never `__` inside: what [`split`] relies on.
fn part(original: &str, longest: usize) -> Cow<'_, str> {
    if original.len() <= longest && is_clear(original) && !looks_marked(original) {
        return original.into();
    }
    let kept = readable(original, longest - MARK - 1);
    format!("{kept}_{}", mark(original)).into()
}

fn is_clear(text: &str) -> bool {
    let ends = text.starts_with('_') || text.ends_with('_');
    !text.is_empty() && !ends && !text.contains(BETWEEN) && text.chars().all(is_allowed)
}

fn looks_marked(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.rsplit_once('_').is_some_and(|(_, tail)| tail.len() == MARK && tail.bytes().all(is_digit))
}

fn is_allowed(ch: char) -> bool {
    ch.is_ascii_alphanumeric() || ch == '_' || ch == '-'
}

/// As much of the original as a person can still recognise.
fn readable(original: &str, longest: usize) -> String {
    let mut kept = String::new();
    for ch in original.chars().map(|ch| if is_allowed(ch) { ch } else { '_' }) {
        if kept.len() == longest {
            break;
        }
        if ch != '_' || !(kept.is_empty() || kept.ends_with('_')) {
            kept.push(ch);
        }
    }
    kept.truncate(kept.trim_end_matches('_').len());
    if kept.is_empty() { "x".to_owned() } else { kept }
}

fn mark(original: &str) -> String {
    let hash = Sha256::digest(original.as_bytes());
    hash.iter().take(MARK / 2).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(server: &str, tool: &str, expected: &str) {
        assert_eq!(mangle(server, tool), expected);
    }

    #[test]
    fn plain_parts_are_kept_as_they_are() {
        check("github", "create_issue", "mcp__github__create_issue");
        check("Home-Assistant", "lights-off2", "mcp__Home-Assistant__lights-off2");
    }

    #[test]
    fn what_is_changed_or_cut_is_marked() {
        check("git hub", "x", "mcp__git_hub_58db89fcab__x");
        check("", "", "mcp__x_e3b0c44298__x_e3b0c44298");
        check("天气", "查询", "mcp__x_4d94732547__x_bcd6771e08");
        check(
            "github",
            &"very_long_".repeat(9),
            "mcp__github__very_long_very_long_very_long_very_long_9ed0e67114",
        );
    }

    #[test]
    fn what_could_be_misread_is_marked() {
        assert_ne!(mangle("a__b", "c"), mangle("a", "b__c"));
        assert_ne!(mangle("a_", "b"), mangle("a", "_b"));
        assert_ne!(mangle("a", "b"), mangle("a_", "b"));
        // A server that takes the marked name of another's tool is marked itself.
        assert_ne!(mangle("s", "a b"), mangle("s", mangle("s", "a b").strip_prefix("mcp__s__").unwrap()));
    }

    #[test]
    fn all_tools_of_a_server_begin_alike() {
        let server = "a server with a name that nobody would want to type twice";
        let (short, long) = (mangle(server, "x"), mangle(server, &"long".repeat(50)));
        assert_eq!(split(&short).unwrap().0, split(&long).unwrap().0);
    }

    #[test]
    fn plain_names_are_checked() {
        assert_eq!(check_plain("Read"), Ok(()));
        assert_eq!(check_plain(""), Err(BadName::Empty));
        assert_eq!(check_plain(&"x".repeat(65)), Err(BadName::TooLong(65)));
        assert_eq!(check_plain("read file"), Err(BadName::Character(' ')));
        assert_eq!(check_plain("mcp__github__x"), Err(BadName::LooksExternal));
    }

    /// Names as servers give them, and names made to collide.
    fn names() -> impl Strategy<Value = String> {
        prop_oneof!["[ab_]{0,6}", "[a-z_ .]{0,40}", "\\PC{0,80}", "[a]{20,70}", any::<String>()]
    }

    proptest! {
        #[test]
        fn a_mangled_name_is_always_valid(server in names(), tool in names()) {
            let name = mangle(&server, &tool);
            prop_assert!(name.len() <= LONGEST && name.chars().all(is_allowed), "{}", name);
            let (server_part, tool_part) = split(&name).unwrap();
            prop_assert!(!server_part.is_empty() && !tool_part.is_empty());
            prop_assert_eq!(&name, &mangle(&server, &tool));
        }

        #[test]
        fn different_originals_have_different_names(a in (names(), names()), b in (names(), names())) {
            prop_assert_eq!(a == b, mangle(&a.0, &a.1) == mangle(&b.0, &b.1));
        }
    }
}
