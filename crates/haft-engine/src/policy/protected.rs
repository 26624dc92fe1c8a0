//! Protected places: writing them is asked, however broad a rule is.
//!
//! They are names that run later ([`haft_tool::protected`]), and places whose loss is a disaster.

use std::path::{Path, PathBuf};

use haft_tool::{
    Spread,
    protected::{Writer, find_bytes},
};

use super::paths::{bytes, lies_in, names};

/// Directories of the system: what is written there is believed by everything else on the machine.
const SYSTEM: &[&str] = &["/etc", "/boot", "/dev", "/proc", "/sys", "/var/spool/cron"];
const HARMLESS: &[&str] = &["/dev/null", "/dev/shm"];

/// Why writing this path is asked, if it is. The path is absolute and free of `.` and `..`.
pub fn why(path: &Path, workspace: &Path, home: Option<&Path>) -> Option<&'static str> {
    why_bytes(bytes(path), Spread::All, workspace, home)
}

pub(super) fn why_bytes(
    path: &[u8],
    spread: Spread,
    workspace: &Path,
    home: Option<&Path>,
) -> Option<&'static str> {
    let workspace = bytes(workspace);
    // Some names in the workspace are what the workspace is for.
    if spread == Spread::Some && path == workspace {
        return None;
    }
    let inside = lies_in(path, workspace);
    by_loss(path, workspace, home)
        .or_else(|| by_system(path, inside))
        .or_else(|| by_name(path, workspace, home))
}

/// Why writing a path is asked that settings name as code, or a directory above one.
pub(super) fn why_by_settings(path: &[u8], spread: Spread, places: &[PathBuf]) -> Option<&'static str> {
    let names = |place: &PathBuf| {
        lies_in(path, bytes(place)) || (spread == Spread::All && lies_in(bytes(place), path))
    };
    places.iter().any(names).then_some("what settings of git name as code that runs")
}

/// Writing a directory may mean removing it.
fn by_loss(path: &[u8], workspace: &[u8], home: Option<&Path>) -> Option<&'static str> {
    if lies_in(workspace, path) {
        return Some("the workspace itself, or a directory above it");
    }
    if home.is_some_and(|home| lies_in(bytes(home), path)) {
        return Some("a home, or a directory above it");
    }
    (names(path).nth(1).is_none()).then_some("a top-level directory of the system")
}

fn by_system(path: &[u8], inside: bool) -> Option<&'static str> {
    let within =
        |directories: &[&str]| directories.iter().any(|directory| lies_in(path, directory.as_bytes()));
    (!inside && within(SYSTEM) && !within(HARMLESS)).then_some("a file that the whole system relies on")
}

fn by_name(path: &[u8], workspace: &[u8], home: Option<&Path>) -> Option<&'static str> {
    let found = find_bytes(path, workspace, home.map(bytes), Writer::Declared)?;
    found.is_code().then_some(found.group.why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: bool) {
        let found = why(Path::new(path), Path::new("/w/app"), Some(Path::new("/home/u")));
        assert_eq!(found.is_some(), expected, "{path}: {found:?}");
    }

    #[test]
    fn a_name_that_is_code_is_protected_wherever_it_stands() {
        check("/w/app/.git/hooks/pre-commit", true);
        check("/w/app/vendor/r/.git/config", true);
        check("/w/app/.git", true);
        check("/home/u/.ssh/authorized_keys", true);
        check("/home/u/.config/git/config", true);
        check("/home/u/.config/gitui/theme", true);
        check("/home/u/.cache/x", false);
        check("/home/u/.local", true);
        check("/w/app/AGENTS.md", false);
        check("/w/app/my.code-workspace", true);
        check("/w/app/haft.toml", true);
    }

    #[test]
    fn an_ordinary_file_with_a_similar_name_is_not() {
        check("/w/app/.gitignore", false);
        check("/w/app/.github/ISSUE_TEMPLATE.md", false);
        check("/w/app/docs/git-config.md", false);
        check("/w/app/claude/settings.json.md", false);
        check("/w/app/git/hooks", false);
    }

    #[test]
    fn the_loss_of_a_system_a_home_or_a_workspace_is_asked() {
        for path in ["/", "/usr", "/w", "/w/app", "/home", "/home/u", "/etc/cron.d/x", "/dev/sda"] {
            check(path, true);
        }
        for path in ["/w/other", "/tmp/x", "/dev/null", "/home/u/notes"] {
            check(path, false);
        }
    }

    #[test]
    fn a_workspace_below_such_a_name_can_be_worked_in() {
        let workspace = Path::new("/home/u/.claude/worktrees/a");
        assert_eq!(why(&workspace.join("src/a.rs"), workspace, None), None);
        assert!(why(&workspace.join(".git"), workspace, None).is_some());
        assert!(why(Path::new("/home/u/.claude/settings.json"), workspace, None).is_some());
    }
}
