//! What strace saw of a command line: the paths it tried, and whether it spoke to somebody.

use std::{
    collections::HashSet,
    ffi::OsString,
    fmt, fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use anyhow::Result;
use haft_tool::{Access, by_text};

/// Something that a process tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tried {
    Path { path: PathBuf, access: Access },
    Connect(String),
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tried::Path { path, access: Access::Read } => write!(f, "reads {}", path.display()),
            Tried::Path { path, access: Access::Write } => write!(f, "writes {}", path.display()),
            Tried::Connect(to) => write!(f, "connects to {to}"),
        }
    }
}

/// Calls that change what is at a path. Others that name one only look.
const CHANGES: [&str; 21] = [
    "creat",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "truncate",
    "chmod",
    "fchmodat",
    "chown",
    "lchown",
    "fchownat",
    "utimensat",
    "mknodat",
];

/// What the command line tried, from the log of everything: the sandbox's own steps come before.
pub(crate) fn read(log: &Path, workspace: &Path) -> Result<Vec<Tried>> {
    let text = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    Ok(tried(&text, workspace))
}

fn tried(text: &str, workspace: &Path) -> Vec<Tried> {
    let mut earlier: HashSet<&str> = HashSet::new();
    let mut own: Option<&str> = None;
    let mut found = Vec::new();
    for line in text.lines() {
        let Some((process, call)) = line.split_once(' ').map(|(process, call)| (process, call.trim_start()))
        else {
            continue;
        };
        // `-Y` puts the name of a thread behind its number. Threads of haft look at the workspace while the command runs.
        let (process, thread) = process.split_once('<').unwrap_or((process, ""));
        if thread.starts_with("haft") {
            earlier.insert(process);
            continue;
        }
        match own {
            None if call.starts_with("execve(")
                && call.contains("\"bash\", \"-c\"")
                && !call.contains("\"sandbox\"") =>
            {
                own = Some(process);
            }
            None => drop(earlier.insert(process)),
            // Processes that were there before the command line are the sandbox's.
            Some(own) if process == own || !earlier.contains(process) => {
                found.extend(of_call(call, workspace))
            }
            Some(_) => {}
        }
    }
    found.dedup();
    found
}

fn of_call(call: &str, workspace: &Path) -> Vec<Tried> {
    let Some((name, rest)) = call.split_once('(') else { return Vec::new() };
    if name == "connect" {
        return if rest.contains("AF_INET") { vec![Tried::Connect(rest.to_owned())] } else { Vec::new() };
    }
    let is_open = matches!(name, "open" | "openat" | "openat2");
    let opens_to_write = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| rest.contains(flag));
    let access =
        if CHANGES.contains(&name) || is_open && opens_to_write { Access::Write } else { Access::Read };
    // What the sandbox refused, or was not there to be changed, has not been changed.
    if access == Access::Write && rest.contains(") = -1 ") {
        return Vec::new();
    }
    // Who only asks whether something is there learns its name, which the command line has said.
    if access == Access::Read && !is_open {
        return Vec::new();
    }
    let mut paths = paths(rest, workspace);
    if name.starts_with("symlink") {
        // What a link points at is not touched by making it.
        paths.drain(..paths.len().saturating_sub(1));
    }
    paths.into_iter().map(|path| Tried::Path { path, access }).collect()
}

/// The paths among the arguments: strings, each perhaps after the directory that it begins in.
fn paths(arguments: &str, workspace: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directory: Option<PathBuf> = None;
    let mut rest = arguments;
    while let Some(at) = rest.find(['<', '"']) {
        let is_string = rest.as_bytes()[at] == b'"';
        rest = &rest[at + 1..];
        let Some(end) = rest.find(if is_string { '"' } else { '>' }) else { break };
        let text = &rest[..end];
        rest = &rest[end + 1..];
        if is_string {
            let base = directory.take().unwrap_or_else(|| workspace.to_owned());
            found.push(by_text(&base.join(plain(text))));
        } else {
            directory = Some(PathBuf::from(text));
        }
    }
    found
}

/// strace writes what is not ASCII in octal.
fn plain(text: &str) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let octal = after
            .get(..3)
            .filter(|digits| *first == b'\\' && digits.iter().all(|byte| (b'0'..b'8').contains(byte)));
        match octal {
            Some(digits) => {
                bytes.push(
                    digits.iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
                );
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_command_line_did_is_looked_at() {
        let log = "\
10 execve(\"/b/haft\", [\"haft\", \"sandbox\", \"--\", \"bash\", \"-c\", \"cat a\"], 0x1) = 0
11 openat(AT_FDCWD</w>, \"/w/.git\", O_WRONLY) = 3
12 execve(\"/bin/bash\", [\"bash\", \"-c\", \"cat a\"], 0x1) = 0
11 openat(AT_FDCWD</w>, \"/w/secret\", O_RDONLY) = 3
14<haft-names> openat(AT_FDCWD</w>, \"/w/src\", O_RDONLY) = 3
12<cat> openat(AT_FDCWD</w>, \"sub/../a\", O_RDONLY) = 3</w/a>
13 openat(AT_FDCWD</w/sub>, \"b\", O_WRONLY|O_CREAT, 0666) = 3</w/sub/b>
13 newfstatat(AT_FDCWD</w>, \"c\", 0x1, 0) = 0
13 unlinkat(AT_FDCWD</w>, \"d\", 0) = 0
13 unlinkat(AT_FDCWD</w>, \"e\", 0) = -1 EROFS (Read-only file system)
13 symlinkat(\"f\", AT_FDCWD</w>, \"\\303\\274\") = 0";
        let seen: Vec<String> = tried(log, Path::new("/w")).iter().map(ToString::to_string).collect();
        assert_eq!(seen, ["reads /w/a", "writes /w/sub/b", "writes /w/d", "writes /w/ü"]);
    }
}
