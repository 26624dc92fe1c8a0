//! What may stand in which file.

use std::collections::BTreeMap;

use super::{
    Violation,
    tree::{Source, Tree},
};
use crate::rust_text::{imports, lines_with, without_comments, without_tests};

/// What a pure function cannot use: the same request must be decided alike on every machine, at any time. An address
/// of `std::net` is only a value; what opens one is not.
const IMPURE: [&str; 12] = [
    "std::fs",
    "std::env",
    "std::process",
    "tokio::fs",
    "tokio::net",
    "tokio::time",
    "Instant",
    "SystemTime",
    "TcpListener",
    "TcpStream",
    "ToSocketAddrs",
    "UdpSocket",
];

/// Words that only a provider's or a protocol's JSON has.
const WIRE_WORDS: [&str; 9] = [
    "tool_use_id",
    "tool_call_id",
    "tool_calls",
    "functionCall",
    "functionResponse",
    "functionDeclarations",
    "inputSchema",
    "structuredContent",
    "jsonrpc",
];

const LONGEST_FILE: usize = 1_000;

/// Names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 4] = ["utils", "common", "helpers", "manager"];

const TOOLS: &str = "crates/haft-tools/src/";

/// Deciding by rules does no I/O, and knows no clock and no environment.
pub(super) fn pure_policy(tree: &Tree) -> Vec<Violation> {
    let policy = tree.below("crates/haft-engine/src/policy/").filter(|source| !source.is_test());
    policy.flat_map(impure).collect()
}

fn impure(source: &Source) -> Vec<Violation> {
    let code = without_tests(&source.code);
    let mut found = BTreeMap::new();
    for word in IMPURE {
        let imported = imports(code).into_iter().filter(|(_, path)| is_below(path, word));
        let lines = imported.map(|(line, _)| line).chain(lines_with(code, word));
        found.extend(lines.map(|line| (line, word)));
    }
    let problem = |word| format!("policy is pure, and `{word}` is not");
    found.into_iter().map(|(line, word)| Violation::new(&*source.file, line, problem(word))).collect()
}

fn is_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// A tool and an engine cannot know which model or door a call came through. Tests may: they play the model.
pub(super) fn wire_words(tree: &Tree) -> Vec<Violation> {
    let knows = |source: &&Source| {
        let crates = ["crates/haft-model/", "crates/haft-mcp/", "crates/haft-hooks/"];
        crates.iter().any(|one| source.file.starts_with(one))
    };
    let product = tree.below("crates/").filter(|source| !knows(source) && !source.is_test());
    let mut found = Vec::new();
    for source in product.filter(|source| source.file.contains("/src/")) {
        let text = without_comments(&source.text);
        for word in WIRE_WORDS {
            let problem =
                format!("`{word}` is JSON of a wire, which only haft-model, haft-mcp and haft-hooks know");
            found.extend(at(source, &lines_with(without_tests(&text), word), &problem));
        }
    }
    found
}

/// The lint denies it, and this sees who allows it again.
pub(super) fn no_unsafe(tree: &Tree) -> Vec<Violation> {
    let elsewhere = tree.sources.iter().filter(|source| !source.file.starts_with("crates/haft-shell/"));
    let problem = "`unsafe` is for crates/haft-shell alone";
    elsewhere.flat_map(|source| at(source, &lines_with(&source.code, "unsafe"), problem)).collect()
}

fn at(source: &Source, lines: &[usize], problem: &str) -> Vec<Violation> {
    lines.iter().map(|line| Violation::new(&*source.file, *line, problem)).collect()
}

pub(super) fn short_files(tree: &Tree) -> Vec<Violation> {
    let lines = |source: &Source| source.text.lines().count();
    let is_long = |source: &&Source| !source.is_test() && lines(source) > LONGEST_FILE;
    let problem = |source: &Source| format!("{} lines; a file has at most {LONGEST_FILE}", lines(source));
    let long = tree.sources.iter().filter(is_long);
    long.map(|source| Violation::new(&*source.file, LONGEST_FILE + 1, problem(source))).collect()
}

/// `lib.rs` is a page to read.
pub(super) fn heads(tree: &Tree) -> Vec<Violation> {
    let is_root =
        |source: &&Source| source.file.ends_with("/src/lib.rs") || source.file.ends_with("/src/main.rs");
    let roots = tree.sources.iter().filter(is_root);
    let bare = roots.filter(|source| !source.text.starts_with("//!"));
    bare.map(|source| Violation::new(&*source.file, 1, "a crate begins with `//!` and what it is")).collect()
}

/// A file that is a tool is in the list of `builtin()`, or a name that users get.
pub(super) fn registered_tools(tree: &Tree) -> Vec<Violation> {
    let lib = tree.sources.iter().find(|source| source.file == format!("{TOOLS}lib.rs"));
    let Some(lib) = lib else { return vec![Violation::new(format!("{TOOLS}lib.rs"), 1, "it is missing")] };
    let exported = imports(&lib.code);
    let mut found = Vec::new();
    for source in tree.below(TOOLS) {
        let module = source.file[TOOLS.len()..].split(['/', '.']).next().unwrap_or_default();
        for (line, tool) in tools_in(without_tests(&source.code)) {
            let path = format!("{module}::{tool}");
            if lines_with(&lib.code, &path).is_empty() && !exported.iter().any(|(_, name)| *name == path) {
                let problem = format!("{tool} is not registered: {path} is not in lib.rs");
                found.push(Violation::new(&*source.file, line, problem));
            }
        }
    }
    found
}

/// Types that implement a tool, and where.
fn tools_in(code: &str) -> Vec<(usize, &str)> {
    let heads = ["impl Tool for ", "impl Kernel for "];
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let rest = heads.iter().find_map(|head| line.strip_prefix(head));
        found.extend(rest.and_then(|rest| rest.split([' ', '<']).next()).map(|name| (index + 1, name)));
    }
    found
}

pub(super) fn names(tree: &Tree) -> Vec<Violation> {
    let is_empty = |source: &&Source| {
        source.file.split('/').any(|part| EMPTY_NAMES.contains(&part.trim_end_matches(".rs")))
    };
    let problem = "the name says nothing of what is inside";
    tree.sources.iter().filter(is_empty).map(|source| Violation::new(&*source.file, 1, problem)).collect()
}

/// A target without seeds spends its seconds on finding the first bracket.
pub(super) fn fuzz_seeds(tree: &Tree) -> Vec<Violation> {
    let bare = tree.fuzz_targets.iter().filter(|(_, has_seeds)| !has_seeds);
    let problem = |name: &str| format!("there are no seeds in fuzz/seeds/{name}");
    bare.map(|(name, _)| Violation::new(format!("fuzz/fuzz_targets/{name}.rs"), 1, problem(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::expect;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let sources = files.iter().map(|(file, text)| Source::new(*file, *text)).collect();
        Tree { sources, ..Tree::default() }
    }

    #[test]
    fn policy_is_pure_but_for_its_tests() {
        let text = "//! Knows no std::fs.\nuse std::{collections::HashMap, fs::File};\nfn f() {\n    std::env::var(\"X\");\n}\n\
                    #[cfg(test)]\nmod tests {\n    use std::env;\n}\n";
        let clock = "use std::{net::Ipv6Addr, time};\nlet start = time::Instant::now();";
        let found = pure_policy(&tree(&[
            ("crates/haft-engine/src/policy/decide.rs", text),
            ("crates/haft-engine/src/policy/hosts.rs", clock),
            ("crates/haft-engine/src/policy/tests.rs", clock),
            ("crates/haft-engine/src/turn/drive.rs", clock),
        ]));
        expect(
            &found,
            &[
                "crates/haft-engine/src/policy/decide.rs:2: policy is pure, and `std::fs` is not",
                "crates/haft-engine/src/policy/decide.rs:4: policy is pure, and `std::env` is not",
                "crates/haft-engine/src/policy/hosts.rs:2: policy is pure, and `Instant` is not",
            ],
        );
    }

    #[test]
    fn a_wire_is_known_in_its_crate_only() {
        let text = "/// Not `tool_calls`.\nfn f() { get(\"tool_calls\"); }\n";
        expect(
            &wire_words(&tree(&[
                ("crates/haft-engine/src/turn/call.rs", text),
                ("crates/haft-model/src/openai.rs", text),
                ("crates/haft-cli/tests/it/turn.rs", text),
            ])),
            &[
                "crates/haft-engine/src/turn/call.rs:2: `tool_calls` is JSON of a wire, which only haft-model, haft-mcp and haft-hooks know",
            ],
        );
    }

    #[test]
    fn unsafe_code_is_found_and_the_word_is_not() {
        let text = "#![deny(unsafe_code)]\n// unsafe\nunsafe { x() }\n";
        let files = [("crates/haft/src/a.rs", text), ("crates/haft-shell/src/a.rs", text)];
        expect(
            &no_unsafe(&tree(&files)),
            &["crates/haft/src/a.rs:3: `unsafe` is for crates/haft-shell alone"],
        );
    }

    #[test]
    fn a_long_file_is_found_unless_it_is_a_test() {
        let long = "\n".repeat(1_001);
        expect(
            &short_files(&tree(&[("crates/a/src/tests.rs", &long), ("crates/a/src/b.rs", &long)])),
            &["crates/a/src/b.rs:1001: 1001 lines; a file has at most 1000"],
        );
    }

    #[test]
    fn a_crate_says_what_it_is() {
        let files = [("crates/a/src/lib.rs", "mod b;\n"), ("crates/b/src/main.rs", "//! B.\n")];
        expect(&heads(&tree(&files)), &["crates/a/src/lib.rs:1: a crate begins with `//!` and what it is"]);
    }

    #[test]
    fn a_tool_that_is_not_registered_is_found() {
        let lib = "pub use search::{Other, Search};\nfn builtin() { vec![stat::Stat.into_tool()] }\n";
        let files = [
            ("crates/haft-tools/src/lib.rs", lib),
            ("crates/haft-tools/src/stat.rs", "struct Stat;\nimpl Tool for Stat {\n}\n"),
            ("crates/haft-tools/src/search/mod.rs", "impl Kernel for Search {\n}\n"),
            ("crates/haft-tools/src/list.rs", "\nimpl Tool for List {\n}\n"),
        ];
        expect(
            &registered_tools(&tree(&files)),
            &["crates/haft-tools/src/list.rs:2: List is not registered: list::List is not in lib.rs"],
        );
    }

    #[test]
    fn a_name_says_what_is_inside() {
        let files = [
            ("crates/a/src/utils.rs", ""),
            ("crates/a/src/common/mod.rs", ""),
            ("crates/a/src/uncommon.rs", ""),
        ];
        assert_eq!(names(&tree(&files)).len(), 2);
    }
}
