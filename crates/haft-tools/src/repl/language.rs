//! The languages: what they are called, which program runs them, and how it is told to run one snippet after the other.

use std::{
    env,
    ffi::OsString,
    fmt,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// A language with an interpreter that can stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Language {
    Python,
    Node,
    Bash,
}

impl Language {
    pub(super) const ALL: [Language; 3] = [Language::Python, Language::Node, Language::Bash];

    pub(super) fn named(name: &str) -> Option<Language> {
        match name {
            "python" | "python3" => Some(Language::Python),
            "node" | "js" | "javascript" => Some(Language::Node),
            "bash" | "sh" => Some(Language::Bash),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Language::Python => "python",
            Language::Node => "node",
            Language::Bash => "bash",
        }
    }

    /// What its program is called.
    pub(super) fn command(self) -> &'static str {
        match self {
            Language::Python => "python3",
            Language::Node => "node",
            Language::Bash => "bash",
        }
    }

    /// Makes the program serve snippets on its line.
    pub(super) fn arguments(self) -> Vec<OsString> {
        let words: &[&str] = match self {
            // Its own start must not depend on what lies in the directory, or in variables.
            Language::Python => &["-I", "-u", "-X", "utf8", "-c", include_str!("drivers/python.py")],
            Language::Node => &["-e", include_str!("drivers/node.js")],
            Language::Bash => &["--noprofile", "--norc", "-c", include_str!("drivers/bash.sh"), "bash"],
        };
        words.iter().map(OsString::from).collect()
    }

    /// Its program, found as a shell finds it, but never in the workspace: a repository does not choose what runs.
    pub(super) fn program(self, workspace: Option<&Path>) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let is_trusted =
            |place: &PathBuf| place.is_absolute() && !workspace.is_some_and(|root| is_below(place, root));
        let candidates = env::split_paths(&path).filter(is_trusted).map(|place| place.join(self.command()));
        candidates.into_iter().find(|program| is_executable(program))
    }

    /// The languages that can be had, for those who asked for another.
    pub(super) fn installed(workspace: Option<&Path>) -> Vec<&'static str> {
        let there = Language::ALL.into_iter().filter(|language| language.program(workspace).is_some());
        there.map(Language::name).collect()
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// By name or after links.
fn is_below(place: &Path, root: &Path) -> bool {
    place.starts_with(root) || place.canonicalize().is_ok_and(|place| place.starts_with(root))
}

fn is_executable(program: &Path) -> bool {
    program.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_has_several_names() {
        let cases = [
            ("python", Some(Language::Python)),
            ("python3", Some(Language::Python)),
            ("js", Some(Language::Node)),
            ("javascript", Some(Language::Node)),
            ("sh", Some(Language::Bash)),
            ("ruby", None),
            ("Python", None),
        ];
        cases.into_iter().for_each(|(name, language)| assert_eq!(Language::named(name), language, "{name}"));
    }

    #[test]
    fn a_program_in_the_workspace_is_not_taken() {
        let found = Language::Bash.program(None).expect("a machine with bash");
        assert!(found.is_absolute());
        assert_eq!(Language::Bash.program(Some(Path::new("/"))), None);
    }
}
