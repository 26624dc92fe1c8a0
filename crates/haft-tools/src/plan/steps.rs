//! The steps of a plan, from what was written, and what would prove each.
//!
//! A plan that names its steps is taken at its word. Of one that does not, the items of its lists are the steps, and only
//! what is plainly a path or a command in them counts as proof: what is merely spoken of proves nothing. A single word that
//! is quoted is a command where it is run, and a file where it is created or written.

use std::path::{Path, PathBuf};

use haft_engine::session::{Plan, Step};
use haft_tool::unshown;

/// So many steps are looked at.
const MOST: usize = 100;

/// A step and what would prove it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Proof {
    pub(super) text: String,
    pub(super) writes: Vec<Wanted>,
    /// How a command begins.
    pub(super) runs: Vec<String>,
}

/// A path that is to be written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// This one, or something below it.
    At(PathBuf),
    /// One that ends so: a plan in words says `src/a.rs` of a file wherever the workspace is.
    Ending(PathBuf),
}

impl Wanted {
    pub(super) fn covers(&self, written: &Path) -> bool {
        match self {
            Wanted::At(path) => written.starts_with(path),
            Wanted::Ending(end) => written.ends_with(end),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Wanted::At(path) | Wanted::Ending(path) => path,
        }
    }
}

impl Proof {
    /// Whether anything would prove it.
    pub(super) fn is_possible(&self) -> bool {
        !self.writes.is_empty() || !self.runs.is_empty()
    }
}

pub(super) fn proofs(plan: &Plan) -> Vec<Proof> {
    if plan.steps.is_empty() {
        return items(&plan.text).take(MOST).map(in_words).collect();
    }
    plan.steps.iter().take(MOST).map(named).collect()
}

fn named(step: &Step) -> Proof {
    let runs = step.runs.iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty());
    if step.writes.is_empty() && step.runs.is_empty() {
        return in_words(&step.text);
    }
    Proof {
        text: step.text.clone(),
        writes: step.writes.iter().map(|path| Wanted::At(unshown(path))).collect(),
        runs: runs.collect(),
    }
}

/// The items of lists, without their signs.
fn items(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let numbered = line.trim_start_matches(|char: char| char.is_ascii_digit());
        let rest = match line.strip_prefix(['-', '*', '+']) {
            Some(rest) => rest,
            None if numbered.len() < line.len() => numbered.strip_prefix(['.', ')'])?,
            None => return None,
        };
        let item = rest.strip_prefix(' ')?.trim();
        let item = ["[ ] ", "[x] "].iter().find_map(|sign| item.strip_prefix(sign)).unwrap_or(item);
        (!item.is_empty()).then_some(item)
    })
}

fn in_words(text: &str) -> Proof {
    let (mut writes, mut runs, mut verb) = (Vec::new(), Vec::new(), Verb::Other);
    for (at, piece) in text.split('`').enumerate() {
        let is_quoted = at % 2 == 1;
        if !is_quoted {
            verb = Verb::before_the_end_of(piece, verb);
        }
        match (is_quoted, verb) {
            (true, _) if piece.trim().contains(' ') => runs.push(piece.trim().to_owned()),
            (true, Verb::Run) if is_name(piece) => runs.push(piece.to_owned()),
            (true, Verb::Make) if is_name(piece) => writes.push(Wanted::Ending(PathBuf::from(piece))),
            _ => {
                let paths = piece.split_whitespace().filter_map(|word| path(word, is_quoted));
                writes.extend(paths.map(Wanted::Ending));
            }
        }
    }
    Proof { text: text.to_owned(), writes, runs }
}

/// What is said of a quoted word by the word before it: `make` is a command where it is run, and a file where it is made.
#[derive(Clone, Copy)]
enum Verb {
    Run,
    Make,
    Other,
}

impl Verb {
    /// What these words say of the word that is quoted behind them; `earlier` is what was said of the one before.
    fn before_the_end_of(words: &str, earlier: Verb) -> Verb {
        let words = words.split_whitespace().map(|word| word.trim_matches(|char: char| ",;:".contains(char)));
        let mut telling = words.rev().filter(|word| !IN_BETWEEN.contains(&word.to_lowercase().as_str()));
        match telling.next().map(str::to_lowercase).as_deref() {
            Some("run" | "rerun" | "execute" | "running" | "executing") => Verb::Run,
            Some("create" | "write" | "creating" | "writing") => Verb::Make,
            Some(_) => Verb::Other,
            None => earlier,
        }
    }
}

const IN_BETWEEN: [&str; 9] = ["", "a", "an", "the", "new", "file", "and", "then", "again"];

/// A word that may name a program or a file.
fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|char| char.is_alphanumeric() || "._-+/".contains(char))
}

/// A word that is plainly a path: with a directory, or a name with an ending.
fn path(word: &str, is_quoted: bool) -> Option<PathBuf> {
    let word = word.trim_matches(|char: char| ",;:()[]\"'".contains(char)).trim_end_matches('.');
    let is_plain = word.chars().all(|char| char.is_alphanumeric() || "._-/".contains(char));
    let name = word.rsplit('/').next()?;
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=6).contains(&end.len())
            && end.starts_with(|char: char| char.is_ascii_alphabetic())
    });
    // `e.g` has an ending, too; a name that stands alone among words has a stem of more than a letter.
    let stands_out = is_quoted || word.contains('/') || name.find('.').is_some_and(|at| at > 1);
    let is_named = has_ending && stands_out;
    (is_plain && is_named).then(|| PathBuf::from(word.trim_start_matches("./").trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, writes: &[&str], runs: &[&str]) {
        let proof = in_words(text);
        let paths: Vec<&str> = proof.writes.iter().filter_map(|wanted| wanted.path().to_str()).collect();
        let lines: Vec<&str> = proof.runs.iter().map(String::as_str).collect();
        assert_eq!((paths.as_slice(), lines.as_slice()), (writes, runs));
    }

    #[test]
    fn only_what_is_plainly_a_path_or_a_command_proves_something() {
        check("Change `src/main.rs` and lib.rs.", &["src/main.rs", "lib.rs"], &[]);
        check("Run `cargo test -q`, then look", &[], &["cargo test -q"]);
        check("Think, e.g. about and/or i.e. nothing", &[], &[]);
        check("Bump to 1.2.3, see https://x.org/a.html?b", &[], &[]);
        check("Rename `x` in `a.c`, not in a.c", &["a.c"], &[]);
        check("Run `pytest`, `make` and `false`; then look at `x`", &[], &["pytest", "make", "false"]);
        check("Create the file `Makefile` and `bin/x`, with `y` in it", &["Makefile", "bin/x"], &[]);
        check("Run `./a.sh` and change `b.rs`", &["b.rs"], &["./a.sh"]);
        check("Write (./docs/a.md)", &["docs/a.md"], &[]);
    }

    #[test]
    fn the_items_of_lists_are_steps() {
        let text = "# Plan\n1. one\n2) two\n  - [ ] three\n\ntext\n* four\n-five\n10.5 is a number\n";
        assert_eq!(items(text).collect::<Vec<_>>(), ["one", "two", "three", "four"]);
    }
}
