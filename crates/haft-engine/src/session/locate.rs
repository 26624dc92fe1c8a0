//! What a path really is.
//!
//! Rules are judged on the real place, so every link on the way is followed here, one component after the other, also
//! where components do not exist yet. Nothing that exists is decided lexically: `d/../x` with `d` a link to `/out` is
//! `/x`. What does not exist has no links in it, so `..` after it is the way back; should a link appear there later,
//! the door finds another place than the one that was judged. What cannot be resolved is an error, never the path as
//! it was written.

use std::{
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

use haft_tool::{Effects, Fault, Located, PathEffect, shown};

use super::links::{Linked, Links};

/// Links on the way to one path, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// What is to be looked up for one call.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// What it touches: each must be found out, or the call is refused.
    paths: Vec<PathEffect>,
    /// What its words may name besides, where a rule denies reading anything.
    mentions: Vec<PathBuf>,
}

impl Named {
    /// The names of a call. Mentions are left out where no rule could speak of them.
    pub(crate) fn of(effects: &Effects, with_mentions: bool) -> Named {
        let mentions = effects.mentions().iter().filter(|_| with_mentions);
        Named {
            paths: effects.paths().to_vec(),
            mentions: mentions.map(|mention| mention.path.clone()).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.mentions.is_empty()
    }
}

/// What was found for one call, in the order of its names.
#[derive(Debug)]
pub(crate) struct Places {
    paths: Vec<Located>,
    mentions: Vec<Option<Located>>,
    /// What is reached besides through links below them.
    linked: Linked,
}

impl Places {
    /// Writes them into the effects. Where no sandbox keeps links from leading out, those that were not looked at are a doubt.
    pub(crate) fn note_in(self, effects: &mut Effects, is_confined: bool) {
        effects.note_found(self.paths);
        effects.note_mentioned(self.mentions);
        self.linked.paths.into_iter().for_each(|path| effects.push_path(path));
        if self.linked.is_cut && !is_confined {
            effects.push_doubt("links among more names than are looked at");
        }
    }
}

/// Locates the names of several calls of a session in this workspace. Blocks on the file system.
pub(crate) fn locate_each(calls: Vec<Named>, workspace: &Path) -> Vec<Result<Places, Fault>> {
    calls.iter().map(|call| locate_all(call, workspace)).collect()
}

fn locate_all(named: &Named, workspace: &Path) -> Result<Places, Fault> {
    let found = |effect: &PathEffect| look_at(&effect.path).map_err(|err| unresolvable(&effect.path, err));
    let paths = named.paths.iter().map(found).collect::<Result<Vec<_>, _>>()?;
    let mut links = Links::new(workspace);
    for (effect, found) in named.paths.iter().zip(&paths).filter(|(effect, _)| !effect.below.is_nothing()) {
        links.look_below(effect, &found.target);
    }
    let mentions = named.mentions.iter().map(|path| look_at(path).ok()).collect();
    Ok(Places { paths, mentions, linked: links.found() })
}

fn look_at(path: &Path) -> io::Result<Located> {
    let target = locate(path)?;
    let metadata = fs::symlink_metadata(&target).ok();
    let is_file = metadata.as_ref().is_some_and(fs::Metadata::is_file);
    Ok(Located { target, is_file, exists: metadata.is_some() })
}

fn unresolvable(path: &Path, err: io::Error) -> Fault {
    Fault::rejected(format!("the path {} cannot be resolved: {err}", shown(path))).with_source(err)
}

/// The real place of an absolute path.
pub fn locate(path: &Path) -> io::Result<PathBuf> {
    if !path.is_absolute() {
        return Err(io::Error::other("it is not absolute"));
    }
    let mut real = PathBuf::from("/");
    let mut ahead: Vec<Part> = parts(path);
    let mut links = 0;
    // How many of the last components of `real` do not exist.
    let mut missing = 0_usize;
    while let Some(part) = ahead.pop() {
        match part {
            Part::Root => real = PathBuf::from("/"),
            // `real` has no links in it, so its parent is what `..` means.
            Part::Up => {
                real.pop();
                missing = missing.saturating_sub(1);
            }
            Part::Name(name) if missing > 0 => {
                real.push(name);
                missing += 1;
            }
            Part::Name(name) => {
                real.push(&name);
                match fs::symlink_metadata(&real) {
                    Ok(metadata) if metadata.is_symlink() => {
                        links += 1;
                        if links > MOST_LINKS {
                            return Err(io::Error::other("too many links"));
                        }
                        let target = fs::read_link(&real)?;
                        real.pop();
                        ahead.extend(parts(&target));
                    }
                    Ok(_) => {}
                    Err(err) if err.kind() == io::ErrorKind::NotFound => missing = 1,
                    Err(err) => return Err(err),
                }
            }
        }
    }
    Ok(real)
}

enum Part {
    Root,
    Up,
    Name(OsString),
}

/// The components, last one first.
fn parts(path: &Path) -> Vec<Part> {
    path.components()
        .rev()
        .filter_map(|component| match component {
            Component::Prefix(_) | Component::CurDir => None,
            Component::RootDir => Some(Part::Root),
            Component::ParentDir => Some(Part::Up),
            Component::Normal(name) => Some(Part::Name(name.to_owned())),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("ws/src")).unwrap();
        fs::create_dir_all(root.join("out/deep")).unwrap();
        fs::write(root.join("out/secret"), "").unwrap();
        symlink(root.join("out/deep"), root.join("ws/link")).unwrap();
        symlink("../out/new", root.join("ws/dangling")).unwrap();
        symlink("loop", root.join("ws/loop")).unwrap();
        (dir, root)
    }

    #[track_caller]
    fn check(path: &str, expected: Result<&str, &str>) {
        let (_dir, root) = tree();
        let located = locate(&root.join("ws").join(path));
        let located = located.map(|real| real.strip_prefix(&root).unwrap().display().to_string());
        assert_eq!(
            located.map_err(|err| err.to_string()),
            expected.map(str::to_owned).map_err(str::to_owned)
        );
    }

    #[test]
    fn a_parent_step_after_a_link_leads_out() {
        check("link/../secret", Ok("out/secret"));
        check("src/../src", Ok("ws/src"));
    }

    #[test]
    fn what_does_not_exist_yet_lies_where_it_would_be_made() {
        check("src/new/file", Ok("ws/src/new/file"));
        check("link/new", Ok("out/deep/new"));
        check("dangling", Ok("out/new"));
        check("dangling/x", Ok("out/new/x"));
    }

    #[test]
    fn a_parent_step_after_what_does_not_exist_leads_back() {
        check("missing/../x", Ok("ws/x"));
        check("missing/deeper/../../src/../../secret", Ok("secret"));
        check("missing/../link/../secret", Ok("out/secret"));
        check("dangling/../secret", Ok("out/secret"));
    }

    #[test]
    fn what_cannot_be_resolved_is_an_error() {
        check("loop", Err("too many links"));
        assert!(locate(Path::new("relative")).is_err());
        assert!(locate(Path::new("/etc/hosts/x")).is_err());
    }
}
