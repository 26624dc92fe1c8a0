//! What a workspace brings: every file that would do something, read once.
//!
//! Links are refused, wherever they stand: what they lead to can change without the workspace changing. What is no file
//! is not there. How much is read has bounds, because whoever wrote the workspace chose how much there is.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
    path::Path,
};

use rustix::{
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};
use sha2::{Digest, Sha256};

use super::named;

/// The files that are read, if they are there.
const FILES: [&str; 3] = [SETTINGS[0], SETTINGS[1], SERVERS];
/// The directories all of whose files are read.
const DIRECTORIES: [&str; 4] = [".claude/agents", ".claude/skills", ".haft/agents", ".haft/skills"];
/// The settings among them, in the order in which they are heard.
pub(super) const SETTINGS: [&str; 2] = ["haft.toml", ".haft/haft.toml"];
/// The list of servers among them.
pub(super) const SERVERS: &str = ".mcp.json";

const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 16 << 20;
const MOST_BYTES_OF_ONE: u64 = 1 << 20;
const DEEPEST: usize = 16;
/// Names that are looked at, directories and what is no file among them.
const MOST_NAMES: usize = 10_000;

/// All that a workspace brings, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Bundle {
    pub(crate) files: Vec<Content>,
}

/// One file, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    /// Its path from the root of the workspace, with `/`.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl Bundle {
    pub(crate) fn find(&self, path: &str) -> Option<&Content> {
        self.files.iter().find(|file| file.path == path)
    }

    /// A hash of the set: of every path with the hash of its content.
    pub(crate) fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for file in &self.files {
            // With its length, so that a path cannot run over into what follows.
            hash.update((file.path.len() as u64).to_le_bytes());
            hash.update(file.path.as_bytes());
            hash.update(Sha256::digest(&file.bytes));
        }
        hex(&hash.finalize())
    }
}

impl Content {
    pub(crate) fn hash(&self) -> String {
        hex(&Sha256::digest(&self.bytes))
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads it all, or says what makes that impossible.
pub(super) fn gather(workspace: &Path) -> Result<Bundle, String> {
    let mut gathering = Gathering::at(workspace)?;
    gathering.all()?;
    for path in named::candidates(&gathering.bundle, workspace) {
        gathering.run_file(&path)?;
    }
    gathering.bundle.files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(gathering.bundle)
}

/// One file below a directory, read under the same conditions.
pub(super) fn read_below(workspace: &Path, path: &str) -> Result<Option<Vec<u8>>, String> {
    let mut gathering = Gathering::at(workspace)?;
    gathering.file(path)?;
    Ok(gathering.bundle.files.pop().map(|content| content.bytes))
}

struct Gathering {
    root: OwnedFd,
    bundle: Bundle,
    bytes: u64,
    /// How many more names may be looked at.
    names_left: usize,
}

impl Gathering {
    fn at(workspace: &Path) -> Result<Gathering, String> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(workspace, flags, Mode::empty())
            .map_err(|err| format!("{} cannot be read: {err}", workspace.display()))?;
        Ok(Gathering { root, bundle: Bundle::default(), bytes: 0, names_left: MOST_NAMES })
    }

    fn all(&mut self) -> Result<(), String> {
        for path in FILES {
            self.file(path)?;
        }
        for path in DIRECTORIES {
            self.directory(path, 0)?;
        }
        Ok(())
    }

    /// A file that a hook or a server runs. Of one that is large or behind a link, what tells that it has changed: the system
    /// sets that time.
    fn run_file(&mut self, path: &str) -> Result<(), String> {
        // Programs are often links, as those of packages are: then it is what they lead to that counts.
        let Ok(stat) = fs::statat(&self.root, path, AtFlags::empty()) else { return Ok(()) };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || self.bundle.find(path).is_some()
        {
            return Ok(());
        }
        let is_small = u64::try_from(stat.st_size).is_ok_and(|size| size <= MOST_BYTES_OF_ONE);
        if is_small && matches!(self.open(path), Ok(Some(_))) {
            return self.file(path);
        }
        let bytes = format!(
            "a file of {} bytes, last changed at {}.{:09}, number {}\n",
            stat.st_size, stat.st_ctime, stat.st_ctime_nsec, stat.st_ino
        );
        self.bundle.files.push(Content { path: path.to_owned(), bytes: bytes.into_bytes() });
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<(), String> {
        let Some((file, FileType::RegularFile)) = self.open(path)? else { return Ok(()) };
        let mut bytes = Vec::new();
        // One byte more than may be: so that too much is told from just enough.
        let read = File::from(file).take(MOST_BYTES_OF_ONE + 1).read_to_end(&mut bytes);
        read.map_err(|err| unreadable(path, &err))?;
        self.bytes += bytes.len() as u64;
        if bytes.len() as u64 > MOST_BYTES_OF_ONE {
            return Err(format!("{path} is larger than {MOST_BYTES_OF_ONE} bytes"));
        }
        if self.bytes > MOST_BYTES || self.bundle.files.len() == MOST_FILES {
            return Err(format!(
                "there are more than {MOST_FILES} files or {MOST_BYTES} bytes of settings, agents and skills"
            ));
        }
        self.bundle.files.push(Content { path: path.to_owned(), bytes });
        Ok(())
    }

    fn directory(&mut self, path: &str, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("{path} is nested deeper than {DEEPEST} directories"));
        }
        let Some((directory, FileType::Directory)) = self.open(path)? else { return Ok(()) };
        let names = names(directory, self.names_left).map_err(|err| unreadable(path, &err))?;
        self.names_left = self
            .names_left
            .checked_sub(names.len())
            .ok_or_else(|| format!("there are more than {MOST_NAMES} names in agents and skills"))?;
        for name in names {
            let name = name.ok_or_else(|| format!("a name in {path} is not UTF-8"))?;
            let below = format!("{path}/{name}");
            match self.open(&below)? {
                Some((_, FileType::Directory)) => self.directory(&below, depth + 1)?,
                _ => self.file(&below)?,
            }
        }
        Ok(())
    }

    /// Opens what is at a path, name by name and through no link. `None` if nothing is there.
    fn open(&self, path: &str) -> Result<Option<(OwnedFd, FileType)>, String> {
        let mut here = self.root.try_clone().map_err(|err| unreadable(path, &err))?;
        let mut kind = FileType::Directory;
        for name in path.split('/') {
            match enter(&here, name).map_err(|err| unreadable(path, &err.into()))? {
                Entered::At(found, of_kind) => (here, kind) = (found, of_kind),
                Entered::Link => {
                    return Err(format!(
                        "{path} is a link, or behind one; put what it leads to in its place"
                    ));
                }
                Entered::Nothing => return Ok(None),
            }
        }
        Ok(Some((here, kind)))
    }
}

/// What is under a name.
enum Entered {
    At(OwnedFd, FileType),
    Link,
    Nothing,
}

fn enter(directory: &OwnedFd, name: &str) -> Result<Entered, Errno> {
    match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Entered::Nothing),
        Err(err) => return Err(err),
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => return Ok(Entered::Link),
            FileType::RegularFile | FileType::Directory => {}
            // A device that a sandbox put there, a pipe: nothing that could be trusted, and opening it might wait.
            _ => return Ok(Entered::Nothing),
        },
    }
    // Without following and without waiting, should it have been swapped just now.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = fs::openat(directory, name, flags, Mode::empty())?;
    let kind = FileType::from_raw_mode(fs::fstat(&opened)?.st_mode);
    Ok(Entered::At(opened, kind))
}

/// The names in a directory, sorted; `None` for one that is no text. One more than may be says that there are too many.
fn names(directory: OwnedFd, most: usize) -> io::Result<Vec<Option<String>>> {
    let mut names = Vec::new();
    for entry in Dir::new(directory)?.take(most + 3) {
        let entry = entry?;
        match entry.file_name().to_str() {
            Ok("." | "..") => {}
            name => names.push(name.ok().map(str::to_owned)),
        }
    }
    names.sort();
    Ok(names)
}

fn unreadable(path: &str, err: &io::Error) -> String {
    format!("{path} cannot be read: {err}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use haft_testkit::Workspace;

    use super::*;

    fn paths(tree: &Workspace) -> Vec<String> {
        gather(tree.root()).unwrap().files.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn settings_servers_agents_and_skills_are_gathered_and_nothing_else() {
        let tree = Workspace::new(
            "-- haft.toml\n-- .haft/haft.toml\n-- .haft/notes\nx\n-- .haft/skills/a/SKILL.md\nx\n-- .haft/agents/b.md\nx\n-- .mcp.json\n{}\n-- src/a\nx\n",
        );
        assert_eq!(
            paths(&tree),
            [".haft/agents/b.md", ".haft/haft.toml", ".haft/skills/a/SKILL.md", ".mcp.json", "haft.toml"]
        );
        assert_eq!(paths(&Workspace::new("-- src/a\nx\n")), [""; 0]);
    }

    #[test]
    fn what_a_hook_or_a_server_runs_belongs_to_it() {
        let tree = Workspace::new(
            "-- haft.toml\n[[hooks.Stop]]\ncommand = \"./guard.sh src\"\n-- guard.sh\nx\n-- src/a\nx\n-- .mcp.json\n{\"mcpServers\":{\"x\":{\"command\":\"node\",\"args\":[\"srv.mjs\"]}}}\n-- srv.mjs\nx\n",
        );
        assert_eq!(paths(&tree), [".mcp.json", "guard.sh", "haft.toml", "srv.mjs"]);
        let before = gather(tree.root()).unwrap();
        std::fs::write(tree.root().join("srv.mjs"), vec![b' '; 2 << 20]).unwrap();
        let after = gather(tree.root()).unwrap();
        assert_ne!(before, after);
        assert_eq!(after, gather(tree.root()).unwrap());
        std::fs::write(tree.root().join("srv.mjs"), vec![b'x'; 2 << 20]).unwrap();
        assert_ne!(after, gather(tree.root()).unwrap());
    }

    #[test]
    fn the_hash_tells_content_and_names_apart() {
        let hash = |files: &str| gather(Workspace::new(files).root()).unwrap().hash();
        let one = hash("-- haft.toml\na\n-- .mcp.json\nb\n");
        assert_eq!(one, hash("-- .mcp.json\nb\n-- haft.toml\na\n"));
        for other in [
            "-- haft.toml\nb\n-- .mcp.json\na\n",
            "-- haft.toml\na\n",
            "-- .haft/haft.toml\na\n-- .mcp.json\nb\n",
        ] {
            assert_ne!(one, hash(other), "{other}");
        }
    }

    #[test]
    fn a_link_cannot_be_trusted_wherever_it_stands() {
        for link in ["haft.toml", ".haft", ".haft/skills/x"] {
            let tree = Workspace::new("-- elsewhere/skills/haft.toml\nx\n-- .keep/x\nx\n");
            let at = tree.root().join(link);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            symlink(tree.root().join("elsewhere"), at).unwrap();
            let refused = gather(tree.root()).unwrap_err();
            assert!(refused.contains("is a link, or behind one"), "{link}: {refused}");
        }
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let tree = Workspace::new("-- a\nx\n");
        fs::mknodat(fs::CWD, tree.root().join("haft.toml"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        assert_eq!(paths(&tree), [""; 0]);
    }

    #[test]
    fn too_many_names_are_refused_also_if_they_are_no_files() {
        let tree = Workspace::new("-- .haft/skills/a/b/x\n-- .haft/skills/c\nx\n");
        let with = |names_left| {
            let mut gathering = Gathering { names_left, ..Gathering::at(tree.root()).unwrap() };
            gathering.all().map(|()| gathering.bundle)
        };
        assert_eq!(with(4).unwrap().files.len(), 2);
        assert_eq!(with(3).unwrap_err(), "there are more than 10000 names in agents and skills");
    }

    #[test]
    fn too_much_is_refused() {
        let tree = Workspace::new("-- haft.toml\nx\n");
        std::fs::write(tree.root().join("haft.toml"), vec![b' '; (1 << 20) + 1]).unwrap();
        assert_eq!(gather(tree.root()).unwrap_err(), "haft.toml is larger than 1048576 bytes");
    }
}
