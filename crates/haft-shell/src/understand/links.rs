//! Which programs follow links.
//!
//! A program that goes through a directory leaves links alone as a rule, and follows them if it is told to: then it reads
//! what a link in there names, wherever that is.

use crate::programs::Arg;

/// How a program is told to follow the links that it meets.
struct Habit {
    programs: &'static [&'static str],
    /// Options of one letter, alone or among others.
    letters: &'static str,
    /// Long options. Programs take the beginning of one for it.
    words: &'static [&'static str],
}

const HABITS: [Habit; 13] = [
    Habit {
        programs: &["grep", "egrep", "fgrep", "zgrep", "ugrep", "ug"],
        letters: "R",
        words: &["dereference-recursive"],
    },
    Habit { programs: &["rg", "fd", "fdfind"], letters: "L", words: &["follow"] },
    Habit { programs: &["ag"], letters: "f", words: &["follow"] },
    Habit { programs: &["ack", "ack-grep"], letters: "", words: &["follow"] },
    Habit {
        programs: &["ls", "dir", "vdir", "du", "cp", "chmod", "chown", "chgrp", "stat", "file"],
        letters: "L",
        words: &["dereference"],
    },
    Habit { programs: &["find"], letters: "L", words: &[] },
    Habit { programs: &["tree"], letters: "l", words: &[] },
    Habit { programs: &["exa", "eza", "lsd"], letters: "X", words: &["dereference", "follow-symlinks"] },
    Habit { programs: &["tar", "bsdtar"], letters: "hL", words: &["dereference"] },
    Habit {
        programs: &["rsync"],
        letters: "Lk",
        words: &["copy-links", "copy-dirlinks", "copy-unsafe-links"],
    },
    // These do it whenever they go through a directory.
    Habit {
        programs: &["diff", "zip", "ctags", "scp"],
        letters: "rR",
        words: &["recursive", "recurse-paths"],
    },
    Habit {
        programs: &["getfacl", "setfacl", "dust", "ncdu"],
        letters: "L",
        words: &["logical", "follow-symlinks"],
    },
    Habit {
        programs: &["cloc", "scc", "fdupes", "jdupes"],
        letters: "s",
        words: &["follow-links", "include-symlinks", "symlinks"],
    },
];

/// Options that take it back.
const AGAINST: [&str; 4] = ["--no-dereference", "--no-follow", "--symlinks", "-y"];

/// Whether a command follows the links that it meets below its operands.
pub(super) fn follows_links(argv: &[Arg]) -> bool {
    let Some((Arg::Known(program), args)) = argv.split_first() else { return false };
    let name = program.rsplit('/').next().unwrap_or(program);
    let Some(habit) = HABITS.iter().find(|habit| habit.programs.contains(&name)) else { return false };
    let known =
        || args.iter().filter_map(|arg| if let Arg::Known(word) = arg { Some(word.as_str()) } else { None });
    let is_recursive_by_habit = matches!(name, "diff" | "zip");
    if is_recursive_by_habit && known().any(|word| AGAINST.contains(&word)) {
        return false;
    }
    // `tar ch .` has no dash.
    let bundled = known().next().filter(|word| name.ends_with("tar") && !word.starts_with('-'));
    known().any(|word| habit.says(word))
        || bundled.is_some_and(|word| habit.has_letter(word))
        || name == "find" && known().any(|word| word == "-follow")
}

impl Habit {
    fn says(&self, word: &str) -> bool {
        if let Some(long) = word.strip_prefix("--") {
            let long = long.split('=').next().unwrap_or(long);
            return !long.is_empty() && self.words.iter().any(|whole| whole.starts_with(long));
        }
        // The words of `find` are no letters.
        match word.strip_prefix('-') {
            Some(letters) if self.programs.contains(&"find") => letters == self.letters,
            Some(letters) => self.has_letter(letters),
            None => false,
        }
    }

    fn has_letter(&self, letters: &str) -> bool {
        letters.contains(|letter| self.letters.contains(letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: bool) {
        let argv: Vec<Arg> = line.split(' ').map(|word| Arg::Known(word.to_owned())).collect();
        assert_eq!(follows_links(&argv), expected, "{line}");
    }

    #[test]
    fn who_is_told_to_follow_links_follows_them() {
        for line in [
            "grep -R x .",
            "grep -inR x .",
            "grep --dereference-rec x",
            "rg -L x",
            "rg --follow x",
            "find -L . -type f",
            "find . -follow",
            "ls -lRL",
            "/usr/bin/du -shL .",
            "tree -al",
            "tar chf x.tar .",
            "tar -czhf x.tar .",
            "rsync -avL a b",
            "diff -ru a b",
            "fd --follow x",
            "cp -rL a b",
        ] {
            check(line, true);
        }
    }

    #[test]
    fn who_is_not_leaves_them_alone() {
        for line in [
            "grep -r x .",
            "rg x",
            "rg -l x",
            "find . -name L",
            "ls -lR",
            "du -sh .",
            "tree -a",
            "tar -czf x.tar .",
            "diff -ru --no-dereference a b",
            "diff -u a b",
            "cat -R x",
        ] {
            check(line, false);
        }
    }
}
