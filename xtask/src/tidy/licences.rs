//! Whose code we may ship: the licence of every crate that is built here, against the list in deny.toml.

use super::{
    Violation,
    tree::{Foreign, Tree},
};

pub(super) fn allowed(tree: &Tree) -> Vec<Violation> {
    let allow = &tree.deny.licenses.allow;
    let is_allowed = |one: &&Foreign| one.licence.as_ref().is_some_and(|licence| permits(licence, allow));
    let refused = tree.foreign.iter().filter(|one| !is_allowed(one));
    refused.map(|one| Violation::new("Cargo.lock", line_of(&tree.lock, &one.name), problem(one))).collect()
}

fn problem(one: &Foreign) -> String {
    let licence = one.licence.as_deref().unwrap_or("no licence");
    format!("{} {} has {licence}, and deny.toml does not allow it", one.name, one.version)
}

fn line_of(lock: &str, name: &str) -> usize {
    let line = format!("name = \"{name}\"");
    lock.lines().position(|text| text == line).map_or(1, |index| index + 1)
}

/// Whether an SPDX expression can be satisfied: one of what `OR` joins, all of what `AND` joins, which binds closer.
/// Before there was `OR`, it was written as `/`.
fn permits(expression: &str, allow: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
    either(&mut words, allow) == Some(true) && words.is_empty()
}

/// Words are taken from the end of the list, which is the beginning of the expression. `None` if it is none.
fn either(words: &mut Vec<&str>, allow: &[String]) -> Option<bool> {
    let mut holds = both(words, allow)?;
    while words.pop_if(|word| *word == "OR").is_some() {
        holds |= both(words, allow)?;
    }
    Some(holds)
}

fn both(words: &mut Vec<&str>, allow: &[String]) -> Option<bool> {
    let mut holds = one(words, allow)?;
    while words.pop_if(|word| *word == "AND").is_some() {
        holds &= one(words, allow)?;
    }
    Some(holds)
}

fn one(words: &mut Vec<&str>, allow: &[String]) -> Option<bool> {
    let mut name = words.pop()?.to_owned();
    if name == "(" {
        let holds = either(words, allow)?;
        return (words.pop()? == ")").then_some(holds);
    }
    if words.pop_if(|word| *word == "WITH").is_some() {
        name = format!("{name} WITH {}", words.pop()?);
    }
    Some(allow.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::expect;

    #[track_caller]
    fn check(expression: &str, expected: bool) {
        let allow = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        assert_eq!(permits(expression, &allow), expected, "{expression}");
    }

    #[test]
    fn one_licence_of_several_is_enough_and_all_that_are_joined_are_needed() {
        check("MIT", true);
        check("GPL-3.0", false);
        check("GPL-3.0 OR MIT", true);
        check("GPL-3.0/MIT", true);
        check("MIT AND GPL-3.0", false);
        check("MIT AND GPL-3.0 OR Apache-2.0", true);
        check("(MIT OR GPL-3.0) AND Apache-2.0", true);
        check("MIT AND (GPL-3.0 OR LGPL-3.0)", false);
        check("Apache-2.0 WITH LLVM-exception", true);
        check("MIT WITH LLVM-exception", false);
    }

    #[test]
    fn what_is_no_expression_permits_nothing() {
        for expression in ["", "(MIT", "MIT)", "MIT MIT", "OR MIT", "MIT OR", "MIT WITH"] {
            check(expression, false);
        }
    }

    #[test]
    fn a_crate_without_a_licence_is_refused() {
        let foreign = Foreign { name: "a".to_owned(), version: "1.0.0".to_owned(), licence: None };
        let lock = "\nname = \"a\"\n".to_owned();
        expect(
            &allowed(&Tree { foreign: vec![foreign], lock, ..Tree::default() }),
            &["Cargo.lock:2: a 1.0.0 has no licence, and deny.toml does not allow it"],
        );
    }
}
