//! What variables hold, where that can be told from the line itself.
//!
//! `for f in *.md; do head -3 "$f"; done` and `F=a.txt; cat "$F"` name their files, only not where they are opened. A variable
//! is followed if the line sets it in one place and nothing in the line could set it in another way; whoever would read it
//! before that place, or in another process, reads what nobody knows. So a line is walked twice: the first walk finds out
//! which names are set, the second one fills them in.

use std::collections::{BTreeMap, BTreeSet};

use super::Act;
use crate::programs::{Arg, is_power_variable, is_shell_variable};

/// The variables that a walk saw being set.
#[derive(Default)]
pub(super) struct Set {
    /// Each time.
    pub(super) names: Vec<String>,
    /// Those that may be set to something that is no number.
    pub(super) texts: BTreeSet<String>,
    /// Whether there is something that could set any.
    pub(super) blindly: bool,
}

/// How much is known of the variables at some place of a line.
#[derive(Clone, Copy)]
pub(super) struct Certain {
    set: usize,
    counted: usize,
}

/// The variables of a line.
#[derive(Default)]
pub(super) struct Values {
    /// Names that are set in one place.
    settled: BTreeSet<String>,
    /// Names that are only ever set to numbers.
    numeric: BTreeSet<String>,
    known: Known,
    /// How often what is walked now is walked.
    rounds: usize,
}

/// What is known of variables, in the order in which it became known: what came last is forgotten first.
#[derive(Default)]
pub(super) struct Known {
    /// What those hold that have been set.
    now: BTreeMap<String, Arg>,
    set: Vec<String>,
    /// Those that have been set to a number.
    counts: BTreeSet<String>,
    counted: Vec<String>,
}

/// A loop is followed word by word if its body is walked no more often than this, loops around it included.
const MOST_ROUNDS: usize = 64;

impl Values {
    /// Those of a line of which one walk is done: what it saw being set, and its acts.
    pub(super) fn of(mut set: Set, acts: &[Act]) -> Values {
        if set.names.is_empty() || set.blindly || acts.iter().any(sets_any) {
            return Values::default();
        }
        set.names.sort_unstable();
        let once = |names: &&[String]| names.len() == 1;
        let mut settled: BTreeSet<String> =
            set.names.chunk_by(|a, b| a == b).filter(once).map(|names| names[0].clone()).collect();
        let mut numeric: BTreeSet<String> =
            set.names.into_iter().filter(|name| !set.texts.contains(name)).collect();
        let is_free = |name: &String| !is_power_variable(name) && !is_shell_variable(name);
        settled.retain(is_free);
        numeric.retain(is_free);
        for act in acts {
            let Act::Run { argv, .. } = act else { continue };
            // What it calculates is among the names already.
            if matches!(&argv[..], [Arg::Known(name), words @ ..] if name == "let" && words.iter().all(is_known))
            {
                continue;
            }
            // `read name`, `export name=x`, `printf -vname`: whichever program it is, a word that could be the name is enough.
            for word in argv.iter().skip(1) {
                let (Arg::Known(text) | Arg::Glob(text) | Arg::Unknown { prefix: text, .. }) = word;
                let mut remove = |name: &str| {
                    settled.remove(name);
                    numeric.remove(name);
                };
                remove(text.split(['=', '+', '[']).next().unwrap_or_default());
                if text.starts_with('-') {
                    text.char_indices().for_each(|(at, _)| remove(&text[at..]));
                }
            }
        }
        Values { settled, numeric, ..Values::default() }
    }

    /// Whether there is anything to fill in.
    pub(super) fn is_empty(&self) -> bool {
        self.settled.is_empty() && self.numeric.is_empty()
    }

    /// Whether nothing in the line sets it to anything but numbers.
    pub(super) fn is_numeric(&self, name: &str) -> bool {
        self.numeric.contains(name)
    }

    /// Whether it surely holds a number.
    pub(super) fn counts(&self, name: &str) -> bool {
        self.known.counts.contains(name)
    }

    /// A variable gets a number.
    pub(super) fn count(&mut self, name: &str) {
        if self.numeric.contains(name) && self.known.counts.insert(name.to_owned()) {
            self.known.counted.push(name.to_owned());
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arg> {
        self.known.now.get(name)
    }

    /// A variable gets a value that is known.
    pub(super) fn set(&mut self, name: &str, value: &Arg) {
        if self.settled.contains(name) && self.known.now.insert(name.to_owned(), value.clone()).is_none() {
            self.known.set.push(name.to_owned());
        }
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.known.now.remove(name);
    }

    /// How much is known now.
    pub(super) fn certain(&self) -> Certain {
        Certain { set: self.known.set.len(), counted: self.known.counted.len() }
    }

    /// Forgets what was not known then.
    pub(super) fn keep(&mut self, certain: Certain) {
        for name in self.known.set.drain(certain.set.min(self.known.set.len())..) {
            self.known.now.remove(&name);
        }
        self.uncount(certain);
    }

    /// Forgets which names came to hold numbers since then.
    pub(super) fn uncount(&mut self, certain: Certain) {
        for name in self.known.counted.drain(certain.counted.min(self.known.counted.len())..) {
            self.known.counts.remove(&name);
        }
    }

    /// Hides all: another process does not know them. What was hidden is for [`show`](Values::show).
    pub(super) fn hide(&mut self) -> Known {
        std::mem::take(&mut self.known)
    }

    pub(super) fn show(&mut self, hidden: Known) {
        self.known = hidden;
    }

    /// Whether a loop over these words can be followed word by word. If so, it has begun.
    pub(super) fn begin_loop(&mut self, name: &str, words: &[Arg]) -> bool {
        let rounds = self.rounds.max(1) * words.len();
        let is_followed = self.settled.contains(name)
            && (1..=MOST_ROUNDS).contains(&rounds)
            && words.iter().all(|word| !matches!(word, Arg::Unknown { .. }));
        if is_followed {
            self.rounds = rounds;
        }
        is_followed
    }

    pub(super) fn end_loop(&mut self, name: &str, words: &[Arg]) {
        self.rounds /= words.len();
        self.forget(name);
    }
}

/// Commands whose words are names that they set.
const SETTERS: [&str; 12] = [
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "typeset",
    "unset",
    "wait",
];

fn is_known(arg: &Arg) -> bool {
    matches!(arg, Arg::Known(_))
}

/// Whether it sets variables whose names nobody knows yet.
fn sets_any(act: &Act) -> bool {
    let Act::Run { argv, .. } = act else { return false };
    let is_open = |arg: &Arg| match arg {
        Arg::Known(_) => false,
        Arg::Glob(_) => true,
        Arg::Unknown { prefix, .. } => !prefix.contains('='),
    };
    match argv.first() {
        Some(Arg::Known(name)) if name == "." || name == "source" => true,
        Some(Arg::Known(name)) => SETTERS.contains(&name.as_str()) && argv.iter().any(is_open),
        _ => true,
    }
}
