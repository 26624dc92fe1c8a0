//! `sed`: its script is read command by command.
//!
//! Followed are the commands that print and change text. `w` and `W` write files, `r` and `R` read them, `e` runs
//! programs. What two versions of sed would read differently is a doubt.

use std::{collections::BTreeSet, iter::Peekable, str::Chars};

use haft_tool::{Access, Class};

use super::super::{
    Arg, Facts, Touch,
    judge::{Case, weigh},
    table::Meaning,
    walk::{Walk, walk},
};
use super::is_screen;

pub(super) fn judge(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    if walk.has("-i") || walk.has("--in-place") {
        // What is edited is read as well.
        let edited = facts.touches.iter().filter(|touch| !touch.aside && touch.access == Access::Read);
        let written: Vec<Touch> =
            edited.map(|touch| Touch { access: Access::Write, ..touch.clone() }).collect();
        facts.touches.extend(written);
        // Each suffix doubles the paths: with several of them a short line would touch millions.
        let mut suffixes = walk.values_of(&["-i", "--in-place"]);
        if let Some(suffix) = suffixes.next() {
            keep_old(suffix, &mut facts);
        }
        if suffixes.next().is_some() {
            facts.doubt("`sed` is told several suffixes for what it keeps".to_owned());
        }
    }
    for script in scripts(&walk) {
        match script {
            Arg::Known(text) => follow(text, &mut facts),
            _ => facts.doubt("the script of `sed` is not known".to_owned()),
        }
    }
    facts
}

/// `-i.bak` keeps each file under a second name.
fn keep_old(suffix: &Arg, facts: &mut Facts) {
    let Arg::Known(suffix) = suffix else {
        return facts.doubt("where `sed` keeps the old file is not known".to_owned());
    };
    // A `*` stands for the file's name, a slash for another directory.
    if suffix.contains(['*', '/']) {
        return facts.doubt("`sed` keeps the old file elsewhere".to_owned());
    }
    let changed = |touch: &&Touch| !touch.aside && touch.access == Access::Write;
    let kept: Vec<Touch> =
        facts.touches.iter().filter(changed).map(|touch| with_suffix(touch, suffix)).collect();
    facts.touches.extend(kept);
}

fn with_suffix(touch: &Touch, suffix: &str) -> Touch {
    let path = match &touch.path {
        Arg::Known(path) => Arg::Known(format!("{path}{suffix}")),
        Arg::Glob(pattern) => Arg::Glob(format!("{pattern}{suffix}")),
        unknown => unknown.clone(),
    };
    Touch { path, ..touch.clone() }
}

fn scripts<'a>(walk: &'a Walk<'a>) -> Vec<&'a Arg> {
    let given: Vec<&Arg> = walk.values_of(&["-e", "--expression"]).collect();
    let first = walk.operands.first().copied().filter(|_| !walk.means(Meaning::First));
    given.into_iter().chain(first).collect()
}

/// Versions of sed differ about where `[` ends and whether a backslash guards in it. A script is good if one of them
/// takes it, and each of them refuses it or finds nothing that runs a program.
const READINGS: &[Reading] = &[
    Reading { brackets: true, guards: false },
    Reading { brackets: true, guards: true },
    Reading { brackets: false, guards: true },
];

#[derive(Clone, Copy)]
struct Reading {
    /// Whether `[/]` holds the delimiter.
    brackets: bool,
    /// Whether a backslash guards within brackets.
    guards: bool,
}

/// Why a script is not followed to its end.
enum Stop {
    /// sed would not take it.
    Refused,
    /// It runs a program.
    Runs,
}

fn follow(text: &str, facts: &mut Facts) {
    let mut taken = false;
    let mut files = BTreeSet::new();
    for reading in READINGS {
        let mut script = Script { rest: text.chars().peekable(), reading: *reading, files: Vec::new() };
        match script.commands() {
            Ok(()) => {
                taken = true;
                files.extend(script.files);
            }
            Err(Stop::Refused) => {}
            Err(Stop::Runs) => facts.doubt("the script of `sed` runs a program".to_owned()),
        }
    }
    files.into_iter().for_each(|(name, written)| add(facts, name, written));
    if !taken {
        facts.doubt("the script of `sed` is not understood".to_owned());
    }
}

fn add(facts: &mut Facts, name: String, written: bool) {
    if written {
        facts.raise(Class::Write);
    }
    let access = if written { Access::Write } else { Access::Read };
    facts.touches.push(Touch { path: Arg::Known(name), access, aside: written, harmless: false });
}

struct Script<'a> {
    rest: Peekable<Chars<'a>>,
    reading: Reading,
    /// The names of files, and whether they are written.
    files: Vec<(String, bool)>,
}

type Step = Result<(), Stop>;

impl Script<'_> {
    fn commands(&mut self) -> Step {
        loop {
            self.skip(|letter| letter.is_whitespace() || letter == ';' || letter == '}');
            if self.rest.peek().is_none() {
                return Ok(());
            }
            self.address()?;
            self.skip(|letter| letter.is_whitespace() || letter == '!');
            let command = self.rest.next().ok_or(Stop::Refused)?;
            self.command(command)?;
        }
    }

    fn command(&mut self, command: char) -> Step {
        match command {
            '{' => Ok(()),
            '#' => {
                self.line();
                Ok(())
            }
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'F' | 'z' => self.end(),
            'l' | 'L' | 'q' | 'Q' => {
                self.skip(|letter| letter == ' ' || letter.is_ascii_digit());
                self.end()
            }
            'a' | 'i' | 'c' => {
                self.text();
                Ok(())
            }
            ':' | 'b' | 't' | 'T' | 'v' => {
                self.skip(|letter| letter == ' ');
                self.skip(|letter| !letter.is_whitespace() && letter != ';');
                Ok(())
            }
            's' => self.substitution(),
            'y' => {
                let delimiter = self.delimiter()?;
                self.until(delimiter)?;
                self.until(delimiter)?;
                self.end()
            }
            'r' | 'R' => self.file(false),
            'w' | 'W' => self.file(true),
            'e' => Err(Stop::Runs),
            _ => Err(Stop::Refused),
        }
    }

    /// After a command comes the end of the line, `;` or `}`.
    fn end(&mut self) -> Step {
        self.skip(|letter| letter == ' ' || letter == '\t');
        match self.rest.peek() {
            None | Some('\n' | ';' | '}' | '#') => Ok(()),
            _ => Err(Stop::Refused),
        }
    }

    fn skip(&mut self, fits: impl Fn(char) -> bool) {
        while self.rest.next_if(|letter| fits(*letter)).is_some() {}
    }

    /// `12`, `$`, `/re/I`, `\,re,`, two of them with a comma, `first~step`, `+3`
    fn address(&mut self) -> Step {
        loop {
            match self.rest.peek() {
                Some('/') => {
                    self.rest.next();
                    self.pattern('/')?;
                    self.skip(|letter| letter == 'I' || letter == 'M');
                }
                Some('\\') => {
                    self.rest.next();
                    let delimiter = self.delimiter()?;
                    self.pattern(delimiter)?;
                    self.skip(|letter| letter == 'I' || letter == 'M');
                }
                Some(letter)
                    if letter.is_ascii_digit() || matches!(letter, '$' | '~' | '+' | ',' | ' ' | '\t') =>
                {
                    self.rest.next();
                }
                _ => return Ok(()),
            }
        }
    }

    fn delimiter(&mut self) -> Result<char, Stop> {
        self.rest.next().filter(|letter| *letter != '\n' && *letter != '\\').ok_or(Stop::Refused)
    }

    /// Up to the delimiter; a backslash guards what follows it.
    fn until(&mut self, delimiter: char) -> Step {
        loop {
            match self.rest.next().ok_or(Stop::Refused)? {
                letter if letter == delimiter => return Ok(()),
                '\\' => drop(self.rest.next()),
                _ => {}
            }
        }
    }

    /// A regular expression up to the delimiter.
    fn pattern(&mut self, delimiter: char) -> Step {
        loop {
            match self.rest.next().ok_or(Stop::Refused)? {
                letter if letter == delimiter => return Ok(()),
                '\\' => drop(self.rest.next()),
                '[' if self.reading.brackets => self.bracket()?,
                _ => {}
            }
        }
    }

    /// `[^]a-z[:alpha:]]`, behind its first bracket.
    fn bracket(&mut self) -> Step {
        self.rest.next_if_eq(&'^');
        self.rest.next_if_eq(&']');
        loop {
            match self.rest.next().ok_or(Stop::Refused)? {
                ']' => return Ok(()),
                '\\' if self.reading.guards => drop(self.rest.next()),
                '[' => self.class()?,
                _ => {}
            }
        }
    }

    /// `[:alpha:]` within brackets.
    fn class(&mut self) -> Step {
        let Some(mark) = self.rest.next_if(|letter| matches!(letter, ':' | '.' | '=')) else { return Ok(()) };
        loop {
            let ends = self.rest.next().ok_or(Stop::Refused)? == mark;
            if ends && self.rest.next_if_eq(&']').is_some() {
                return Ok(());
            }
        }
    }

    fn substitution(&mut self) -> Step {
        let delimiter = self.delimiter()?;
        self.pattern(delimiter)?;
        self.until(delimiter)?;
        loop {
            match self.rest.peek() {
                // Blanks may stand between the flags.
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' | ' ' | '\t') => drop(self.rest.next()),
                Some('w') => {
                    self.rest.next();
                    return self.file(true);
                }
                Some('e') => return Err(Stop::Runs),
                _ => return self.end(),
            }
        }
    }

    /// `a text`: up to a line end that no backslash guards.
    fn text(&mut self) {
        while let Some(letter) = self.rest.next() {
            match letter {
                '\\' => drop(self.rest.next()),
                '\n' => return,
                _ => {}
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        while let Some(letter) = self.rest.next_if(|letter| *letter != '\n') {
            line.push(letter);
        }
        line
    }

    /// The name of a file goes to the end of the line.
    fn file(&mut self, written: bool) -> Step {
        let name = self.line();
        let name = name.trim_start();
        if name.is_empty() {
            return Err(Stop::Refused);
        }
        if !is_screen(name) {
            self.files.push((name.to_owned(), written));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(script: &str) -> Facts {
        let mut facts = Facts::of(Class::ReadOnly);
        follow(script, &mut facts);
        facts
    }

    #[test]
    fn commands_that_print_and_change_text_are_followed() {
        for script in [
            "",
            "p",
            "1,20p",
            "$d",
            "/a/,/b/p",
            "s/a/b/",
            "s/a/b/gI;s|x|y|2p",
            "/a/{s/x/y/;p}",
            "/^$/d",
            "1!G;h;$!d",
            "y/abc/xyz/",
            "a\\\ntext w out",
            "i text e",
            ":a;N;$!ba;s/\\n/ /g",
            "# w out",
            "s/[^/]*$//",
            "s/w/e/",
            "0~3p",
            "\\,/x,d",
            "10q",
            "s/[a-z]/x/",
        ] {
            assert_eq!(facts(script), Facts::of(Class::ReadOnly), "{script}");
        }
    }

    #[test]
    fn what_runs_programs_is_a_doubt_wherever_it_hides() {
        for script in [
            "e",
            "1e touch x",
            "s/a/b/e",
            "s/a/b/ge",
            "s/a/b/ e",
            "p;e id",
            "/x/{e id\n}",
            "a foo\\\\\ne id",
            "y/a/b/;e",
            "s/[/]/e;#/x/",
            "\\,a,e",
            "s/a/b/;/c/e",
            "Z",
            "s/a",
            "s",
            "1,",
            "{p;e}",
        ] {
            assert!(facts(script).doubt.is_some(), "{script}");
        }
    }

    #[test]
    fn what_writes_a_file_is_told_with_its_name() {
        for script in ["w out.txt", "s/a/b/w out.txt", "/a/W out.txt", "p;w out.txt", "s/a/b/gw out.txt"] {
            let touch = Touch {
                path: Arg::Known("out.txt".to_owned()),
                access: Access::Write,
                aside: true,
                harmless: false,
            };
            assert_eq!(facts(script).touches, [touch], "{script}");
            assert_eq!(facts(script).class, Class::Write, "{script}");
        }
    }
}
