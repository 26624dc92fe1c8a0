//! How a unified diff writes the names of files.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Component, Path, PathBuf},
};

use super::parse::ParseError;

/// The name before and after; none if there is no file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) old: Option<PathBuf>,
    pub(super) new: Option<PathBuf>,
}

/// What the two sides of a diff are marked with: by default, and by what git compares (commit, index, work tree, object).
const PREFIXES: [(&str, &str); 5] = [("a", "b"), ("i", "w"), ("c", "i"), ("c", "w"), ("o", "w")];

impl Names {
    /// Without `a/` and `b/`, if they are marks and not directories: if what remains is one name.
    pub(super) fn without_prefixes(self) -> Names {
        let strip = |path: &PathBuf, prefix: &str| path.strip_prefix(prefix).ok().map(PathBuf::from);
        match (&self.old, &self.new) {
            (Some(old), None) => Names { old: strip(old, "a").or(self.old), new: None },
            (None, Some(new)) => Names { old: None, new: strip(new, "b").or(self.new) },
            (Some(old), Some(new)) => {
                // One side alone may be marked: `a/x` and `x`.
                let bare = |path: &PathBuf, prefix| strip(path, prefix).unwrap_or_else(|| path.clone());
                let same =
                    PREFIXES.iter().map(|(a, b)| (bare(old, a), bare(new, b))).find(|(old, new)| old == new);
                let apart = || Some((strip(old, "a")?, strip(new, "b")?));
                match same.or_else(apart) {
                    Some((old, new)) => Names { old: Some(old), new: Some(new) },
                    None => self,
                }
            }
            (None, None) => self,
        }
    }
}

/// A name as `---`, `+++` and `rename from` have it: quoted or bare, perhaps with a date behind it.
pub(super) fn parse(written: &str, line: usize) -> Result<Option<PathBuf>, ParseError> {
    let name = match written.strip_prefix('"') {
        Some(quoted) => match unquote(quoted) {
            Some((name, _)) => name,
            None => return ParseError::at(line, "the quoted name has no end"),
        },
        None => PathBuf::from(written.split('\t').next().unwrap_or_default().trim_end()),
    };
    Ok(Some(checked(&name, line)?).filter(|name| name != "/dev/null"))
}

/// No system has longer ones.
const LONGEST: usize = 4096;

/// A name that can be one, without steps that lead nowhere: `./a` is `a`.
pub(super) fn checked(name: &Path, line: usize) -> Result<PathBuf, ParseError> {
    let plain: PathBuf = name.components().filter(|step| *step != Component::CurDir).collect();
    match plain.as_os_str().len() {
        0 => ParseError::at(line, "the name of the file is missing"),
        1..=LONGEST => Ok(plain),
        _ => ParseError::at(line, "the name of the file is too long to be one"),
    }
}

/// The names behind `diff --git`. Bare ones are told apart only if they are the same; else other lines name them.
pub(super) fn of_git_line(written: &str) -> Names {
    let written = written.trim_end();
    let pair = match written.strip_prefix('"') {
        Some(quoted) => unquote(quoted).and_then(|(old, rest)| {
            let rest = rest.trim_start();
            let new = rest.strip_prefix('"').map_or(Some(PathBuf::from(rest)), |new| Some(unquote(new)?.0));
            Some((old, new?))
        }),
        None => halves(written),
    };
    let Some((old, new)) = pair else { return Names::default() };
    let names = Names { old: checked(&old, 0).ok(), new: checked(&new, 0).ok() }.without_prefixes();
    if names.old == names.new { names } else { Names::default() }
}

/// `a/some name b/some name`, in the middle.
fn halves(written: &str) -> Option<(PathBuf, PathBuf)> {
    let middle = written.len() / 2;
    let (old, new) = (written.get(..middle)?, written.get(middle..)?.strip_prefix(' ')?);
    Some((old.into(), new.into()))
}

/// The name up to the closing quote, and what is behind it. Other bytes than ASCII are written as octal numbers.
fn unquote(quoted: &str) -> Option<(PathBuf, &str)> {
    let mut name = Vec::new();
    let mut bytes = quoted.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some((PathBuf::from(OsString::from_vec(name)), &quoted[at + 1..])),
            b'\\' => {
                let (_, escaped) = bytes.next()?;
                name.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'a' => 7,
                    b'b' => 8,
                    b'v' => 11,
                    b'f' => 12,
                    b'0'..=b'3' => {
                        let mut digit = || Some(bytes.next()?.1).filter(|byte| (b'0'..=b'7').contains(byte));
                        let (middle, last) = (digit()? - b'0', digit()? - b'0');
                        (escaped - b'0') * 64 + middle * 8 + last
                    }
                    other => other,
                });
            }
            other => name.push(other),
        }
    }
    None
}
