//! `cargo xtask search`: are tools found, how quickly, and what is saved by not showing them?
//!
//! The catalogue and the queries are no part of the repository; where they are not, that is said and is no failure. Only
//! a release build measures time: `cargo run --release --package xtask -- search`.

mod catalogue; // the tools and queries
mod quality; //   are they found?
mod speed; //     how quickly, and in how much memory?
mod tokens; //    what is saved?

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};

use crate::repository::root;
use catalogue::Catalogue;

/// A figure and its bound.
struct Figure {
    what: String,
    value: f64,
    unit: &'static str,
    bound: Bound,
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
    None,
}

impl Figure {
    fn is_kept(&self) -> bool {
        match self.bound {
            Bound::AtLeast(least) => self.value >= least,
            Bound::AtMost(most) => self.value <= most,
            Bound::None => true,
        }
    }

    fn line(&self) -> String {
        let Figure { what, value, unit, bound } = self;
        let bound = match bound {
            Bound::AtLeast(least) => format!("at least {least}"),
            Bound::AtMost(most) => format!("at most {most}"),
            Bound::None => String::new(),
        };
        let verdict = if self.is_kept() { "" } else { "  NOT KEPT" };
        format!("{what:<52} {value:>9.2} {unit:<3} {bound}{verdict}")
    }
}

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::parse(words)?;
    if !options.directory.is_dir() {
        println!("search: skipped, there is no directory {}", options.directory.display());
        return Ok(ExitCode::SUCCESS);
    }
    let catalogue = Catalogue::read(&options.directory)?;
    let mut figures = quality::figures(&catalogue);
    figures.extend(tokens::figures(&catalogue)?);
    if cfg!(debug_assertions) {
        println!("search: a debug build says nothing about time");
    } else {
        figures.extend(speed::figures(&catalogue)?);
    }
    figures.iter().for_each(|figure| println!("{}", figure.line()));
    let are_kept = figures.iter().all(Figure::is_kept);
    Ok(if are_kept || !options.strict { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the person asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    directory: PathBuf,
    /// Whether a bound that is not kept is a failure.
    strict: bool,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options { directory: root().join("../shared/corpora/toolsearch"), strict: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--check" => options.strict = true,
                "--dir" => options.directory = words.next().context("--dir needs a directory")?.into(),
                other => bail!("`{other}` is no option of search; there are --dir DIR and --check"),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_others_refused() {
        let options = Options::parse(&["--dir", "/x", "--check"]).unwrap();
        assert_eq!(options, Options { directory: "/x".into(), strict: true });
        assert!(Options::parse(&["--dir"]).is_err() && Options::parse(&["fast"]).is_err());
    }

    #[test]
    fn a_bound_is_kept_or_said() {
        let figure = |value, bound| Figure { what: "x".to_owned(), value, unit: "%", bound };
        assert!(figure(90.0, Bound::AtLeast(90.0)).is_kept() && figure(2.0, Bound::AtMost(2.5)).is_kept());
        assert!(figure(89.9, Bound::AtLeast(90.0)).line().ends_with("NOT KEPT"));
    }
}
