//! For which tools a hook runs.
//!
//! Nothing, or `*`, is all. Names are just these, several with `|`. Anything else is a regular expression that
//! need not cover the whole name: `mcp__github__.*`, `^Notebook`.

use regex::{Regex, RegexBuilder};

#[derive(Debug, Clone, Default)]
pub(crate) enum Matcher {
    #[default]
    All,
    Names(Vec<String>),
    Pattern(Regex),
}

/// The most memory that a pattern may take.
const MOST: usize = 1 << 20;

impl Matcher {
    pub(crate) fn new(text: &str) -> Result<Matcher, String> {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Ok(Matcher::All);
        }
        if text.chars().all(|char| char.is_alphanumeric() || "_-| ,".contains(char)) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return Ok(Matcher::Names(names.map(str::to_owned).collect()));
        }
        let pattern = RegexBuilder::new(text).size_limit(MOST).build();
        pattern.map(Matcher::Pattern).map_err(|err| {
            // Its last line says what; those before draw it.
            let what = err.to_string();
            let what = what.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            format!("`{text}` is neither names nor a regular expression: {what}")
        })
    }

    /// Whether one of these names is meant.
    pub(crate) fn matches<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> bool {
        match self {
            Matcher::All => true,
            Matcher::Names(own) => names.any(|name| own.iter().any(|own| own == name)),
            Matcher::Pattern(pattern) => names.any(|name| pattern.is_match(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, yes: &[&str], no: &[&str]) {
        let matcher = Matcher::new(text).unwrap();
        yes.iter().for_each(|name| assert!(matcher.matches([*name].into_iter()), "{text} is for {name}"));
        no.iter().for_each(|name| assert!(!matcher.matches([*name].into_iter()), "{text} is not for {name}"));
    }

    #[test]
    fn names_are_exact_and_patterns_are_searched() {
        check("", &["Bash", "mcp__a__b"], &[]);
        check("*", &["Bash"], &[]);
        check("Edit", &["Edit"], &["NotebookEdit", "edit"]);
        check("Edit|Write", &["Edit", "Write"], &["Read"]);
        check(" Edit | Write ", &["Edit", "Write"], &["Read"]);
        check("Notebook.*", &["NotebookEdit"], &["Edit"]);
        check("mcp__github__.*", &["mcp__github__get"], &["mcp__gitlab__get"]);
        check("^(Edit|Write)$", &["Edit"], &["NotebookEdit"]);
        check("mcp__.*__write.*", &["mcp__fs__write_file"], &["mcp__fs__read_file"]);
    }

    #[test]
    fn any_of_a_tools_names_counts() {
        assert!(Matcher::new("Shell").unwrap().matches(["Bash", "Shell"].into_iter()));
    }

    #[test]
    fn what_is_no_pattern_is_told_so() {
        let err = Matcher::new("Edit(").unwrap_err();
        assert_eq!(err, "`Edit(` is neither names nor a regular expression: unclosed group");
        assert!(Matcher::new("(a{1000}){1000}{1000}.").is_err(), "nothing grows without bound");
    }
}
