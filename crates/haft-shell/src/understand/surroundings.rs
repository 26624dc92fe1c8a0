//! The directory in which a command runs, where what the command is depends on it.
//!
//! `cargo --version` prints a version unless a `rust-toolchain.toml` says what `cargo` is. So the disk has to be looked at, at the
//! places where the program would, links and all.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::programs::Unless;

/// What was seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileSearch {
    /// None of them is there.
    Clear,
    /// This one is.
    Found(PathBuf),
    /// It could not be looked at, or need not be there.
    Unsure,
}

/// Looks from a directory. What lies in the home itself is the person's own choice.
pub(super) fn look(unless: Unless, directory: &Path, home: Option<&Path>) -> FileSearch {
    match unless {
        Unless::Above(names) => above(names, directory, home),
        Unless::Beside(names) => beside(names, directory),
    }
}

/// Programs go up by the text of the path, or from where they really are.
fn above(names: &[&str], directory: &Path, home: Option<&Path>) -> FileSearch {
    let Ok(real) = directory.canonicalize() else { return FileSearch::Unsure };
    let mut places: Vec<&Path> = directory.ancestors().chain(real.ancestors()).collect();
    places.dedup();
    let is_own = |place: &Path| Some(place) == home && place != directory && place != real;
    for place in places.into_iter().filter(|place| !is_own(place)) {
        for name in names {
            let file = place.join(name);
            match fs::symlink_metadata(&file) {
                Ok(_) => return FileSearch::Found(file),
                Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(_) => return FileSearch::Unsure,
            }
        }
    }
    FileSearch::Clear
}

fn beside(names: &[&str], directory: &Path) -> FileSearch {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        // Nothing runs where there is no directory.
        Err(err) if err.kind() == ErrorKind::NotFound => return FileSearch::Clear,
        Err(_) => return FileSearch::Unsure,
    };
    for entry in entries {
        let Ok(entry) = entry else { return FileSearch::Unsure };
        let name = entry.file_name();
        let stem = name.to_str().and_then(|name| name.split('.').next());
        if stem.is_some_and(|stem| names.contains(&stem)) {
            return FileSearch::Found(entry.path());
        }
    }
    FileSearch::Clear
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const NAMES: Unless = Unless::Above(&["tool.toml", ".tool/config"]);

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home/project/sub")).unwrap();
        (dir, root)
    }

    fn look_in(root: &Path, directory: &str) -> FileSearch {
        look(NAMES, &root.join(directory), Some(&root.join("home")))
    }

    #[test]
    fn a_file_in_any_directory_above_is_seen() {
        let (_dir, root) = tree();
        assert_eq!(look_in(&root, "home/project/sub"), FileSearch::Clear);
        for place in ["home/project/sub/tool.toml", "home/project/tool.toml", "tool.toml"] {
            fs::write(root.join(place), "").unwrap();
            assert_eq!(look_in(&root, "home/project/sub"), FileSearch::Found(root.join(place)));
            fs::remove_file(root.join(place)).unwrap();
        }
    }

    #[test]
    fn a_link_and_a_name_below_a_directory_are_seen() {
        let (_dir, root) = tree();
        symlink("/nowhere", root.join("home/project/tool.toml")).unwrap();
        assert!(matches!(look_in(&root, "home/project"), FileSearch::Found(_)));
        fs::remove_file(root.join("home/project/tool.toml")).unwrap();
        fs::create_dir(root.join("home/project/.tool")).unwrap();
        assert_eq!(look_in(&root, "home/project"), FileSearch::Clear);
        fs::write(root.join("home/project/.tool/config"), "").unwrap();
        assert!(matches!(look_in(&root, "home/project"), FileSearch::Found(_)));
    }

    #[test]
    fn a_directory_behind_a_link_has_two_ways_up() {
        let (_dir, root) = tree();
        fs::create_dir_all(root.join("elsewhere/deep")).unwrap();
        symlink(root.join("elsewhere/deep"), root.join("home/project/link")).unwrap();
        assert_eq!(look_in(&root, "home/project/link"), FileSearch::Clear);
        fs::write(root.join("elsewhere/tool.toml"), "").unwrap();
        assert_eq!(look_in(&root, "home/project/link"), FileSearch::Found(root.join("elsewhere/tool.toml")));
    }

    #[test]
    fn the_person_s_own_file_in_the_home_is_no_surprise() {
        let (_dir, root) = tree();
        fs::write(root.join("home/tool.toml"), "").unwrap();
        assert_eq!(look_in(&root, "home/project"), FileSearch::Clear);
        assert!(
            matches!(look_in(&root, "home"), FileSearch::Found(_)),
            "the home as a workspace is like any other"
        );
    }

    #[test]
    fn what_cannot_be_looked_at_is_unsure() {
        let (_dir, root) = tree();
        assert_eq!(look_in(&root, "not/there"), FileSearch::Unsure);
    }

    #[test]
    fn a_module_of_any_kind_is_seen() {
        let (_dir, root) = tree();
        let look = || look(Unless::Beside(&["json"]), &root, None);
        assert_eq!(look(), FileSearch::Clear);
        for name in ["json.py", "json.cpython-312-x86_64-linux-gnu.so", "json"] {
            fs::write(root.join(name), "").unwrap();
            assert_eq!(look(), FileSearch::Found(root.join(name)));
            fs::remove_file(root.join(name)).unwrap();
        }
        fs::write(root.join("data.json"), "").unwrap();
        assert_eq!(look(), FileSearch::Clear);
    }
}
