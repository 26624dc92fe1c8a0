//! The list of a stopped rebase: `exec` lines run when it goes on.
//!
//! Git writes them for `git rebase -x COMMAND`, and then the command's own words have them. Every other line of that kind that a
//! command adds is taken out of the list again.

use std::{ffi::OsStr, io, path::Path};

/// The name of the list, in `rebase-merge` of a repository's directory.
const NAME: &str = "git-rebase-todo";

/// Returns true for the list of a rebase.
pub(super) fn is_todo_list(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(OsStr::new(NAME)))
        && path.parent().is_some_and(super::settings::is_in_repository)
}

/// The list without the lines that run something, unless the list before the command or the words of the command have them.
/// Also returns those lines. None if there are none.
pub(super) fn without_added_commands(
    list: &[u8],
    before: &[u8],
    words: &[u8],
) -> Option<(Vec<u8>, Vec<String>)> {
    let mut known: Vec<&[u8]> = lines(before).filter_map(command).collect();
    let mut is_added = |line: &[u8]| {
        let Some(command) = command(line) else { return false };
        if let Some(index) = known.iter().position(|other| *other == command) {
            known.swap_remove(index);
            return false;
        }
        !is_in(command, words)
    };
    let (mut kept, mut added) = (Vec::with_capacity(list.len()), Vec::new());
    for line in lines(list) {
        if is_added(line) {
            added.push(String::from_utf8_lossy(line).trim().to_owned());
        } else {
            kept.extend_from_slice(line);
        }
    }
    (!added.is_empty()).then_some((kept, added))
}

/// The command that a line runs. Git takes blanks in front of it, and `x` for `exec`.
fn command(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace)?;
    matches!(&line[..end], b"exec" | b"x").then(|| line[end..].trim_ascii())
}

/// The lines of a text with their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

/// Whether a command of more than a blank stands in a text.
fn is_in(command: &[u8], text: &[u8]) -> bool {
    !command.is_empty() && text.windows(command.len()).any(|part| part == command)
}

/// Removes the added commands from a list below a root. Returns them.
pub(super) fn take_back(
    root: &Path,
    relative: &Path,
    before: &[u8],
    words: &[u8],
) -> io::Result<Vec<String>> {
    let (directory, list) = super::settings::read_below(root, relative)?;
    let Some((kept, added)) = without_added_commands(&list, before, words) else { return Ok(Vec::new()) };
    let name = relative.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    super::settings::replace(&directory, name, &kept)?;
    Ok(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(list: &str, before: &str, words: &str, kept: &str, added: &[&str]) {
        let found = without_added_commands(list.as_bytes(), before.as_bytes(), words.as_bytes());
        let (text, commands) = found.unwrap_or_else(|| (list.into(), Vec::new()));
        assert_eq!(
            (String::from_utf8(text).unwrap().as_str(), commands),
            (kept, added.iter().map(ToString::to_string).collect()),
            "{list:?}"
        );
    }

    #[test]
    fn lines_that_run_something_are_taken_out_unless_they_were_known() {
        let picks = "pick 1234567 one\n# exec is a comment\n";
        check(picks, "", "git rebase -i", picks, &[]);
        check("pick 1\nexec ./x\n", "", "git status", "pick 1\n", &["exec ./x"]);
        check("pick 1\n\t x  ./x", "", "git status", "pick 1\n", &["x  ./x"]);
        check("exec ./x\nexec ./x\n", "exec ./x\n", "", "exec ./x\n", &["exec ./x"]);
        check("exec cargo test\n", "", "git rebase -x 'cargo test' main", "exec cargo test\n", &[]);
        check("exec ./a\r\nbreak\n", "x ./a\n", "", "exec ./a\r\nbreak\n", &[]);
        check("exec \nexecute y\n", "", "", "exec \nexecute y\n", &[]);
    }
}
