//! The paths that words may name, where it is not known what a program does with its words.
//!
//! `node --env-file=.env`, `curl -w @.env`, `mysql -e 'source .env'`: of a program that is not followed any part of any word
//! may be a path. These are no effects, because most of them are just text; they are there to be held against what nobody may
//! read. Rather too many are found than too few, in time proportional to the text.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use haft_tool::Spelling;

use super::places::Places;

/// Who hears of paths, and what relative ones begin at.
pub(super) struct Finder<'a, F> {
    pub(super) places: &'a Places,
    pub(super) home: Option<&'a Path>,
    /// Gets a path, and how it is written.
    pub(super) found: F,
}

/// So many letters of `-xzf.env` may be options before a value begins.
const MOST_GLUED: usize = 8;

/// So many marks like `=` are taken for a part of what follows the first of them.
const MOST_JOINED: usize = 8;

/// No path that is longer can be opened.
const LONGEST_PATH: usize = 4096;

impl<F: FnMut(PathBuf, Spelling)> Finder<'_, F> {
    /// Tells every path that this text may name.
    pub(super) fn look_through(&mut self, text: &str) {
        self.look_at(text);
        if let Some(decoded) = percent_decoded(text) {
            self.look_at(&decoded);
        }
    }

    fn look_at(&mut self, text: &str) {
        self.word(text);
        // What stands between quotes may have blanks in it.
        let quoted = text.split(['\'', '"', '`']).filter(|_| text.contains(['\'', '"', '`']));
        quoted.for_each(|piece| self.path(piece));
        if text.contains(ends_a_token) {
            text.split(ends_a_token).for_each(|token| self.word(token));
        }
    }

    /// A word, what its options may be glued to, and what is behind and between its marks.
    fn word(&mut self, word: &str) {
        self.path(word);
        if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            let is_letter = |char: &char| char.is_ascii_alphanumeric();
            let glued = letters.chars().take_while(is_letter).take(MOST_GLUED).count();
            (1..=glued).filter_map(|at| letters.get(at..)).for_each(|value| self.path(value));
        }
        if !word.contains(is_mark) {
            return;
        }
        for (at, mark) in word.match_indices(is_mark).take(MOST_JOINED) {
            self.path(&word[at + mark.len()..]);
        }
        word.split(is_mark).for_each(|piece| self.path(piece));
    }

    fn path(&mut self, text: &str) {
        if text.len() > LONGEST_PATH || !text.contains(|char: char| char.is_alphanumeric()) {
            return;
        }
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let spelling = if text.bytes().all(is_letter) { Spelling::PlainWord } else { Spelling::Path };
        if let Some(below) = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|home| text.strip_prefix(home)) {
            if let Some(home) = self.home {
                (self.found)(home.join(below.trim_start_matches('/')), Spelling::Path);
            }
            return;
        }
        // `file://localhost/x`: a host stands before the path.
        if let Some(rest) = text.strip_prefix("//")
            && let Some((_, below)) = rest.split_once('/')
        {
            (self.found)(Path::new("/").join(below.trim_start_matches('/')), Spelling::Path);
        }
        // In a directory that is not known, the line has a doubt already.
        let led = through_process(text);
        let texts = [Some(text), led.as_deref()].into_iter().flatten();
        for path in texts.filter_map(|text| self.places.resolve(text)).flatten() {
            (self.found)(path, spelling);
        }
    }
}

/// Where a path leads that goes through the directory or the root of a process, which is taken for one of the line's own:
/// `/proc/self/cwd/x`, `/proc/1/root/x`.
pub(super) fn through_process(text: &str) -> Option<String> {
    let mut names = text.strip_prefix('/')?.split('/').filter(|name| !matches!(*name, "" | "."));
    names.next().filter(|first| *first == "proc")?;
    names.next()?;
    let link = match names.next()? {
        "task" => names.nth(1)?,
        link => link,
    };
    let below = names.collect::<Vec<_>>().join("/");
    match link {
        "cwd" => Some(below),
        "root" => Some(format!("/{below}")),
        _ => None,
    }
    .filter(|path| !path.is_empty())
}

fn is_mark(char: char) -> bool {
    matches!(char, '=' | '@' | ':' | ',' | '+')
}

fn ends_a_token(char: char) -> bool {
    char.is_whitespace()
        || matches!(char, '\'' | '"' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>')
        || matches!(char, ';' | '|' | '&' | '#' | '!' | '\\')
}

/// The text as a URL means it. `None` if that is no other.
fn percent_decoded(text: &str) -> Option<Cow<'_, str>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let code = (*byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                decoded.push(code);
                rest = &after[2..];
            }
            None => {
                decoded.push(*byte);
                rest = after;
            }
        }
    }
    (decoded != text.as_bytes()).then(|| String::from_utf8_lossy(&decoded).into_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        let places = Places::at("/w".into());
        let mut finder = Finder {
            places: &places,
            home: Some(Path::new("/home/u")),
            found: |path: PathBuf, _| all.push(path.to_string_lossy().into_owned()),
        };
        finder.look_through(text);
        all
    }

    #[test]
    fn a_path_is_found_wherever_it_stands_in_a_word() {
        for word in [
            ".env",
            "./.env",
            "a/../.env",
            "--env-file=.env",
            "-F.env",
            "-xzf.env",
            "@.env",
            "x=@.env",
            ".env:/in:ro",
            "type=bind,src=.env,dst=/in",
            "file:.env",
            "file:///w/.env",
            "file://localhost/w/.env",
            "file:///w/%2eenv",
            "source .env",
            "select readfile('.env')",
            "require('./.env')",
            "f(\".env\");",
            "cat<.env",
            "/proc/self/cwd/.env",
            "--env-file=/proc/1/cwd/./.env",
            "/proc//thread-self/root/w/.env",
            "/proc/self/task/7/cwd/.env",
            "\\i .env",
            "a\tb\n.env\n",
        ] {
            let paths = found(word);
            let is_there = paths.iter().any(|path| path == "/w/.env" || path == "/w/a/../.env");
            assert!(is_there, "{word:?}: {paths:?}");
        }
        assert!(found("open('my file.txt')").contains(&"/w/my file.txt".to_owned()));
        assert!(found("p=~/.ssh/id").contains(&"/home/u/.ssh/id".to_owned()));
    }

    #[test]
    fn a_part_of_a_name_is_no_path() {
        for word in ["a.env", ".envrc", ".env.example", "x/.environment", "--env"] {
            assert!(!found(word).contains(&"/w/.env".to_owned()), "{word}");
        }
    }

    #[test]
    fn it_takes_time_in_proportion_to_the_text() {
        for piece in ["=", "a=", "-", "'", "a ", "%", "%2", "//a", "~/", "@:,"] {
            let count = |times: usize| found(&piece.repeat(times)).iter().map(String::len).sum::<usize>();
            assert!(count(8_000) <= 3 * count(4_000) + 100_000, "{piece}");
        }
    }
}
