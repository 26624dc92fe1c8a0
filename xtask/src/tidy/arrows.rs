//! Who may depend on whom.

use super::{
    Violation,
    tree::{Crate, Tree},
};
use crate::repository::Kind;

/// Each crate, and those of ours that it may use. A new crate gets a line here, and one in ARCHITECTURE.md.
const ARROWS: [(&str, &[&str]); 16] = [
    ("haft-tool", &[]),
    ("haft-schema", &[]),
    ("haft-redact", &[]),
    ("haft-engine", &["haft-tool", "haft-schema", "haft-redact"]),
    ("haft-shell", &["haft-tool"]),
    // The redactor is for its tests.
    ("haft-tools", &["haft-tool", "haft-schema", "haft-redact", "haft-engine", "haft-shell"]),
    // The tools are for its tests.
    ("haft-hooks", &["haft-tool", "haft-schema", "haft-engine", "haft-shell", "haft-tools"]),
    // The redactor and the tools are for its tests.
    ("haft-store", &["haft-tool", "haft-schema", "haft-redact", "haft-engine", "haft-tools"]),
    ("haft-model", &["haft-tool", "haft-engine"]),
    ("haft-mcp", &["haft-tool", "haft-schema", "haft-redact", "haft-engine", "haft-shell"]),
    // The tools are for its tests.
    ("haft-agent", &["haft-tool", "haft-redact", "haft-engine", "haft-model", "haft-tools"]),
    ("haft-otel", &["haft-tool", "haft-redact", "haft-engine", "haft-mcp"]),
    (
        "haft",
        &[
            "haft-tool",
            "haft-schema",
            "haft-redact",
            "haft-engine",
            "haft-shell",
            "haft-tools",
            "haft-hooks",
            "haft-store",
            "haft-model",
            "haft-mcp",
            "haft-agent",
            "haft-otel",
        ],
    ),
    (
        "haft-cli",
        &[
            "haft-tool",
            "haft-schema",
            "haft-redact",
            "haft-engine",
            "haft-shell",
            "haft-tools",
            "haft-hooks",
            "haft-store",
            "haft-model",
            "haft-mcp",
            "haft-agent",
            "haft-otel",
            "haft",
        ],
    ),
    // The scripted model speaks through it.
    (TESTKIT, &["haft-tool", "haft-schema", "haft-engine", "haft-model"]),
    (
        "xtask",
        &[
            "haft-tool",
            "haft-redact",
            "haft-engine",
            "haft-shell",
            "haft-store",
            "haft-tools",
            "haft-model",
            "haft-mcp",
        ],
    ),
];

const TESTKIT: &str = "haft-testkit";

/// Libraries of others, and the only crates that may name them.
const KEPT_APART: [(&str, &[&str]); 7] = [
    ("jsonschema", &["haft-schema"]),
    ("anyhow", &["haft-cli", "xtask"]),
    ("rmcp", &["haft-mcp", "xtask"]),
    ("opentelemetry", &["haft-otel"]),
    ("opentelemetry_sdk", &["haft-otel"]),
    ("opentelemetry-otlp", &["haft-otel"]),
    ("tracing-subscriber", &["haft-otel"]),
];

/// Arrows point one way. A test may use the testkit besides.
pub(super) fn direction(tree: &Tree) -> Vec<Violation> {
    let allowed = |from: &str, to: &str| {
        let row = ARROWS.iter().find(|(name, _)| *name == from);
        to == TESTKIT || row.is_none_or(|(_, list)| list.contains(&to))
    };
    own_dependencies(tree)
        .filter(|(from, to, _)| !allowed(&from.name, to))
        .map(|(from, to, kind)| violation(from, to, kind, format!("{} may not depend on {to}", from.name)))
        .collect()
}

/// A crate that is not in the table could point anywhere.
pub(super) fn places(tree: &Tree) -> Vec<Violation> {
    let is_unknown = |one: &&Crate| !ARROWS.iter().any(|(name, _)| *name == one.name);
    let problem = |one: &Crate| format!("{} is not in the table of xtask/src/tidy/arrows.rs", one.name);
    tree.crates.iter().filter(is_unknown).map(|one| Violation::new(&*one.file, 1, problem(one))).collect()
}

/// What only tests need is no dependency of a product.
pub(super) fn testkit(tree: &Tree) -> Vec<Violation> {
    own_dependencies(tree)
        .filter(|(_, to, kind)| *to == TESTKIT && *kind != Some(Kind::Dev))
        .map(|(from, to, kind)| violation(from, to, kind, format!("{TESTKIT} is for [dev-dependencies]")))
        .collect()
}

/// What breaks often or says little stays in one place.
pub(super) fn kept_apart(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (from, to, kind) in dependencies(tree) {
        for (library, users) in KEPT_APART {
            if to == library && !users.contains(&from.name.as_str()) {
                let problem = format!("only {} may use {library}", users.join(" and "));
                found.push(violation(from, to, kind, problem));
            }
        }
    }
    found
}

/// Nothing that deny.toml bans is in Cargo.lock, for any platform or feature.
pub(super) fn banned(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for ban in &tree.deny.bans.deny {
        let line = format!("name = \"{}\"", ban.name);
        let places = tree.lock.lines().enumerate().filter(|(_, text)| *text == line);
        let problem =
            format!("{} is banned: {}; `cargo tree -i {}` says who pulls it", ban.name, ban.reason, ban.name);
        found.extend(places.map(|(index, _)| Violation::new("Cargo.lock", index + 1, &*problem)));
    }
    found
}

fn violation(from: &Crate, to: &str, kind: Option<Kind>, problem: String) -> Violation {
    Violation::new(&*from.file, from.line_of(to, kind), problem)
}

fn dependencies(tree: &Tree) -> impl Iterator<Item = (&Crate, &str, Option<Kind>)> {
    let of = |from| {
        let from: &Crate = from;
        from.dependencies.iter().map(move |(to, kind)| (from, to.as_str(), *kind))
    };
    tree.crates.iter().flat_map(of)
}

fn own_dependencies(tree: &Tree) -> impl Iterator<Item = (&Crate, &str, Option<Kind>)> {
    dependencies(tree).filter(|(_, to, _)| tree.crates.iter().any(|own| own.name == *to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{
        expect,
        tree::{Ban, Bans, Deny},
    };

    /// Crates as text: `haft-engine: haft-tool, dev haft-testkit`.
    fn tree(text: &str) -> Tree {
        Tree { crates: text.lines().map(one).collect(), ..Tree::default() }
    }

    fn one(line: &str) -> Crate {
        let (name, list) = line.split_once(':').unwrap();
        let (mut manifest, mut dependencies) = (String::new(), Vec::new());
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (section, name, kind) = match word.strip_prefix("dev ") {
                Some(name) => ("dev-dependencies", name, Some(Kind::Dev)),
                None => ("dependencies", word, None),
            };
            manifest += &format!("[{section}]\n{name}.workspace = true\n");
            dependencies.push((name.to_owned(), kind));
        }
        Crate { name: name.to_owned(), file: format!("crates/{name}/Cargo.toml"), manifest, dependencies }
    }

    #[test]
    fn arrows_point_one_way() {
        let good =
            tree("haft-tool: serde\nhaft-engine: haft-tool, dev haft-testkit\nhaft-testkit: haft-engine");
        expect(&direction(&good), &[]);
        let bad = tree("haft-tool: serde, haft-engine\nhaft-engine: dev haft-tools\nhaft-tools: haft-tool");
        expect(
            &direction(&bad),
            &[
                "crates/haft-tool/Cargo.toml:4: haft-tool may not depend on haft-engine",
                "crates/haft-engine/Cargo.toml:2: haft-engine may not depend on haft-tools",
            ],
        );
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        expect(
            &places(&tree("haft-common:\nxtask: anyhow")),
            &["crates/haft-common/Cargo.toml:1: haft-common is not in the table of xtask/src/tidy/arrows.rs"],
        );
    }

    #[test]
    fn the_testkit_is_no_dependency_of_a_product() {
        expect(
            &testkit(&tree("haft-cli: haft-testkit\nhaft-testkit:")),
            &["crates/haft-cli/Cargo.toml:2: haft-testkit is for [dev-dependencies]"],
        );
    }

    #[test]
    fn a_library_that_is_kept_apart_stays_there() {
        expect(
            &kept_apart(&tree(
                "haft-engine: anyhow, dev jsonschema\nhaft-cli: anyhow\nhaft-schema: jsonschema",
            )),
            &[
                "crates/haft-engine/Cargo.toml:2: only haft-cli and xtask may use anyhow",
                "crates/haft-engine/Cargo.toml:4: only haft-schema may use jsonschema",
            ],
        );
    }

    #[test]
    fn what_is_banned_is_found_in_the_lock() {
        let ban = Ban { name: "openssl-sys".to_owned(), reason: "one TLS stack".to_owned() };
        let lock = "[[package]]\nname = \"a\"\n\n[[package]]\nname = \"openssl-sys\"\n".to_owned();
        let deny = Deny { bans: Bans { deny: vec![ban] }, ..Deny::default() };
        expect(
            &banned(&Tree { lock, deny, ..Tree::default() }),
            &[
                "Cargo.lock:5: openssl-sys is banned: one TLS stack; `cargo tree -i openssl-sys` says who pulls it",
            ],
        );
    }
}
