//! What a command line is going to do.
//!
//! The tree of a command line is walked in the order in which bash would run it. What is met on the way becomes an
//! [`Act`]: a program with its arguments, a path that the shell itself opens, or a doubt. From the acts, and from nothing
//! else, come the effects. What a variable holds or which names fit a pattern is known only when it runs, and is said to be
//! unknown. What is not followed is a doubt, never nothing. The disk is asked three things (`lookup`, `surroundings`), if the
//! workspace is known: whether `PATH` leads to a program of the workspace, whether git finds another repository than the
//! workspace's own, and whether a directory decides what a program is.

mod values; //   what variables hold
mod numbers; //  which of them are numbers, and what is calculated with those
mod words; //    a word of the tree → the arguments it becomes
mod pieces; //   what is written of a word that is not known
mod places; //   where a command runs, after `cd`
mod surroundings; // whether a directory decides what a program is
mod streams; //  what one program of a pipeline hands to the next
mod bombs; //    what starts more and more of itself
mod links; //    who follows links
mod walk; //     tree → acts
mod mentions; // what words may name where nobody follows them
mod effects; //  acts → effects
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use haft_tool::{Access, Effects, PathBase};

use self::{effects::Grounds, places::Places, values::Values, walk::Walk};
use crate::{
    programs::{Arg, Facts},
    syntax::{self, Parsed},
};

/// A command line, understood as far as it can be.
#[derive(Debug)]
pub struct Understood {
    acts: Vec<Act>,
    /// Where the loss of everything below is no small change: here and above, and homes.
    grounds: Grounds,
}

/// Something that a command line does.
#[derive(Debug)]
pub enum Act {
    /// A program runs.
    Run {
        /// Its words. The first is known.
        argv: Vec<Arg>,
        /// What it does with them.
        facts: Facts,
        /// Where.
        places: Places,
    },
    /// The shell itself touches a path: a redirection, `cd`, a script that it reads.
    Touch {
        /// The path, as it is written.
        path: Arg,
        /// Read or written.
        access: Access,
        /// Where.
        places: Places,
    },
    /// A text that names what is not known: it comes in for a program that is not followed, or is added to something.
    Text {
        /// The text.
        text: String,
        /// Where.
        places: Places,
    },
    /// The shell looks up the names that fit a pattern, whatever becomes of them.
    List {
        /// The pattern.
        pattern: String,
        /// Where.
        places: Places,
    },
    /// Words that may be a command, in a text that is not understood: rules may forbid them.
    Suspect(Vec<String>),
    /// The shell goes on elsewhere.
    Move,
    /// It starts more and more of itself, until the machine can do nothing else.
    Bomb,
    /// Something that is not understood, and what.
    Doubt(Cow<'static, str>),
}

/// Reads a command line. Takes time in proportion to its length, whatever is in it.
pub fn understand(text: &str, base: &PathBase) -> Understood {
    let parsed = syntax::parse(text);
    let (mut acts, set) = Walk::new(base, Values::default()).text(text, &parsed);
    let values = Values::of(set, &acts);
    if !values.is_empty() {
        acts = Walk::new(base, values).text(text, &parsed).0;
    }
    Understood { acts, grounds: Grounds::of(base) }
}

impl Understood {
    /// What it does, in the order in which it may happen.
    pub fn acts(&self) -> &[Act] {
        &self.acts
    }

    /// Whether it runs a program with this name.
    pub fn runs(&self, name: &str) -> bool {
        self.acts.iter().any(|act| {
            matches!(act, Act::Run { argv, .. }
                if matches!(argv.first(), Some(Arg::Known(word)) if word.rsplit('/').next() == Some(name)))
        })
    }

    /// What it is going to touch, contact and run.
    pub fn effects(&self) -> Effects {
        effects::of(&self.acts, &self.grounds)
    }
}

/// A command line as somebody who must allow it should see it: from its tree, with nothing left out and nothing that could
/// look like something else. What cannot be read is shown as it is written.
pub fn shown(text: &str) -> String {
    let Parsed { script, error } = syntax::parse(text);
    if error.is_some() { escaped(text) } else { syntax::render(&script) }
}

/// A text that could not be read, so that at least everything in it can be seen.
fn escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut from = 0;
    for (at, odd) in syntax::odd_characters(text) {
        plain.push_str(&text[from..at]);
        plain.extend(odd.escape_default());
        from = at + odd.len_utf8();
    }
    plain.push_str(&text[from..]);
    plain
}
