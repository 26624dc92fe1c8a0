//! The options of chores that run the rows of a table.

use anyhow::{Context, Result, bail};

/// Which rows a chore runs, and how much it prints.
#[derive(Debug, Default)]
pub(crate) struct RowOptions {
    pub(crate) lists: bool,
    pub(crate) is_verbose: bool,
    /// Every so many rows.
    pub(crate) every: Option<usize>,
    /// Words of which a name of the row has one.
    pub(crate) names: Vec<String>,
}

impl RowOptions {
    /// Reads the words after the name of a chore.
    pub(crate) fn parse(chore: &str, words: &[&str]) -> Result<RowOptions> {
        let mut options = RowOptions::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--list" => options.lists = true,
                "-v" => options.is_verbose = true,
                "--every" => {
                    let number: usize = words.next().context("--every needs a number")?.parse()?;
                    options.every = Some(number.max(1));
                }
                word if word.starts_with('-') => {
                    bail!("{chore} takes -v, --list, --every N and words of names")
                }
                word => options.names.push(word.to_owned()),
            }
        }
        Ok(options)
    }

    /// Returns the rows that are meant, by their names.
    pub(crate) fn select<T>(&self, rows: Vec<T>, has: impl Fn(&T, &str) -> bool) -> Vec<T> {
        let is_meant = |row: &T| self.names.is_empty() || self.names.iter().any(|word| has(row, word));
        rows.into_iter().filter(is_meant).step_by(self.every.unwrap_or(1)).collect()
    }
}
