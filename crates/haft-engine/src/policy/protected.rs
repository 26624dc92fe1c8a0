//! Files that are code, and places whose loss is a disaster: writing them is asked, however broad a rule is.
//!
//! Whoever writes `.git/hooks/pre-commit` runs a program later, outside of any rule and any sandbox. Names are compared
//! one by one, folded as the most forgiving file system would: without case, without characters that do not show,
//! without final dots and spaces. Too much caution costs a question; too little costs the machine.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use haft_tool::Spread;

use super::{
    paths::{bytes, lies_in, names},
    short::ShortMap,
};

/// Places that are protected for one reason.
#[derive(Debug)]
pub struct Group {
    /// What is special about them, as the end of "it is …".
    pub why: &'static str,
    /// Names, or names below names, in lower case. What is below them is protected too.
    pub places: &'static [&'static str],
}

/// The names that are code wherever they stand.
pub const GROUPS: &[Group] = &[
    Group {
        why: "where version control keeps hooks and settings that run programs",
        places: &[
            ".git",
            "git~1",
            ".gitmodules",
            ".gitattributes",
            ".gitconfig",
            ".config/git",
            ".hg",
            ".hgrc",
        ],
    },
    Group {
        why: "where editors keep tasks and settings that run programs",
        places: &[
            ".vscode",
            ".idea",
            ".zed",
            ".devcontainer",
            ".devcontainer.json",
            ".exrc",
            ".vimrc",
            ".nvimrc",
            ".emacs",
        ],
    },
    Group {
        why: "where agents keep settings, hooks and servers",
        places: &[
            ".haft",
            "haft.toml",
            ".config/haft",
            ".local/state/haft",
            ".local/share/haft",
            ".mcp.json",
            ".claude",
            ".claude.json",
            ".codex",
            ".cursor",
            ".gemini",
            ".agents",
        ],
    },
    Group {
        why: "a setting by which tools run other programs",
        places: &[
            ".envrc",
            ".husky",
            ".yarnrc",
            ".yarnrc.yml",
            ".npmrc",
            ".cargo",
            "pip.conf",
            ".pip",
            ".config/pip",
            ".config/pnpm",
            ".config/go",
            ".config/gh",
            ".config/glab-cli",
            ".aws/config",
            ".aws/credentials",
            ".kube/config",
            ".docker/config.json",
            ".docker/contexts",
            ".config/composer",
            ".composer",
            ".gemrc",
            ".bundle/config",
            ".rustup/settings.toml",
            ".local/share/gh",
            ".local/share/helm/plugins",
            ".local/share/direnv",
            ".ripgreprc",
            ".gnupg",
        ],
    },
    Group {
        why: "run whenever a shell or a session starts",
        places: &[
            ".profile",
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".inputrc",
            ".config/fish",
            ".xprofile",
            ".xinitrc",
            ".xsession",
            ".xsessionrc",
            ".pam_environment",
            ".config/environment.d",
            ".config/autostart",
            ".config/systemd",
            ".local/share/systemd",
            ".local/bin",
            "library/launchagents",
            "library/launchdaemons",
        ],
    },
    Group { why: "where keys decide who may log in", places: &[".ssh"] },
];

/// Ends of names that are code.
const ENDINGS: &[(&str, &str)] = &[(".code-workspace", "an editor's workspace with tasks that run programs")];

/// Directories of the system: what is written there is believed by everything else on the machine.
const SYSTEM: &[&str] = &["/etc", "/boot", "/dev", "/proc", "/sys", "/var/spool/cron"];
const HARMLESS: &[&str] = &["/dev/null", "/dev/shm"];

/// The rest of a place after its first name.
struct Place {
    below: Vec<&'static str>,
    why: &'static str,
}

/// The places by their first name.
struct Index {
    places: ShortMap<&'static str, Vec<Place>>,
    /// How first names begin: most names of most paths do not.
    initials: [bool; 256],
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { places: ShortMap::default(), initials: [false; 256] };
    for Group { why, places } in GROUPS {
        for place in *places {
            let mut names = place.split('/');
            let first = names.next().unwrap_or_default();
            index.initials[usize::from(first.as_bytes()[0])] = true;
            index.places.entry(first).or_default().push(Place { below: names.collect(), why });
        }
    }
    index
});

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
    // A workspace may itself lie below such a name, as worktrees do: only names within it count then.
    let depth = if inside { names(workspace).count() } else { 0 };
    by_loss(path, workspace, home).or_else(|| by_system(path, inside)).or_else(|| by_name(path, depth))
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

fn by_name(path: &[u8], depth: usize) -> Option<&'static str> {
    let mut rest = names(path);
    let mut position = 0;
    while let Some(name) = rest.next() {
        position += 1;
        let name = folded(name);
        for Place { below, why } in INDEX.starting_with(&name) {
            let followed = below.iter().copied().eq(rest.clone().take(below.len()).map(folded));
            if followed && position + below.len() > depth {
                return Some(why);
            }
        }
        if let Some((_, why)) = ENDINGS.iter().find(|(ending, _)| position > depth && name.ends_with(ending))
        {
            return Some(why);
        }
    }
    None
}

impl Index {
    fn starting_with(&self, name: &str) -> &[Place] {
        let possible = name.bytes().next().is_some_and(|initial| self.initials[usize::from(initial)]);
        if possible { self.places.get(name).map_or(&[], Vec::as_slice) } else { &[] }
    }
}

/// The name as the most forgiving file system sees it. Bytes that are no text are dropped: no place has any.
fn folded(name: &[u8]) -> Cow<'_, str> {
    let plain = |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase() && *byte != b':';
    if name.iter().all(plain) && !name.ends_with(b".") && !name.ends_with(b" ") {
        return str::from_utf8(name).map_or(Cow::Borrowed(""), Cow::Borrowed);
    }
    let text = String::from_utf8_lossy(name);
    let stream = text.split(':').next().unwrap_or_default();
    let shown = stream.chars().filter(|char| !does_not_show(*char) && *char != char::REPLACEMENT_CHARACTER);
    // Through upper case and back: that also folds letters such as `ſ`, whose lower case is itself.
    let lower: String = shown.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    Cow::Owned(lower.trim_end_matches(['.', ' ']).to_owned())
}

/// Characters that some file systems leave out when they compare names, and that people do not see.
pub(super) fn does_not_show(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
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
        check("/home/u/.config/gitui/theme", false);
        check("/w/app/my.code-workspace", true);
        check("/w/app/haft.toml", true);
    }

    #[test]
    fn other_spellings_of_the_name_are_the_name() {
        check("/w/app/.GIT/config", true);
        check("/w/app/.g\u{200c}it/config", true);
        check("/w/app/.git./config", true);
        check("/w/app/.git::$INDEX_ALLOCATION/config", true);
        check("/w/app/.ba\u{17f}hrc", true);
        check("/w/app/GIT~1/config", true);
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
