//! `sed`: its script is read command by command.
//!
//! Followed are the commands that print and change text. `w` and `W` write files, `r` and `R` read them, `e` runs
//! programs. What two versions of sed would read differently is a doubt.

use std::{iter::Peekable, str::Chars};

use haft_tool::{Access, Class};

use super::super::{
    Arg, Facts, Touch,
    judge::{Case, weigh},
    table::Meaning,
    walk::{Walk, walk},
};

pub(super) fn judge(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    if walk.has("-i") || walk.has("--in-place") {
        facts.touches.iter_mut().filter(|touch| !touch.aside).for_each(|touch| touch.access = Access::Write);
    }
    for script in scripts(&walk) {
        match script {
            Arg::Known(text) => follow(text, &mut facts),
            _ => facts.doubt("the script of `sed` is not known".to_owned()),
        }
    }
    facts
}

fn scripts<'a>(walk: &'a Walk<'a>) -> Vec<&'a Arg> {
    let given: Vec<&Arg> = walk.values_of(&["-e", "--expression"]).collect();
    let first = walk.operands.first().copied().filter(|_| !walk.means(Meaning::First));
    given.into_iter().chain(first).collect()
}

fn follow(text: &str, facts: &mut Facts) {
    let mut script = Script { rest: text.chars().peekable(), facts };
    if script.commands().is_none() {
        facts.doubt("the script of `sed` is not understood".to_owned());
    }
}

struct Script<'a, 'f> {
    rest: Peekable<Chars<'a>>,
    facts: &'f mut Facts,
}

/// `None` is what is not understood.
impl Script<'_, '_> {
    fn commands(&mut self) -> Option<()> {
        loop {
            self.skip(|letter| letter.is_whitespace() || letter == ';' || letter == '}');
            if self.rest.peek().is_none() {
                return Some(());
            }
            self.address()?;
            self.skip(|letter| letter.is_whitespace() || letter == '!');
            let command = self.rest.next()?;
            self.command(command)?;
        }
    }

    fn command(&mut self, command: char) -> Option<()> {
        match command {
            '{' => Some(()),
            '#' => {
                self.line();
                Some(())
            }
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'F' | 'z' => self.end(),
            'l' | 'L' | 'q' | 'Q' => {
                self.skip(|letter| letter == ' ' || letter.is_ascii_digit());
                self.end()
            }
            'a' | 'i' | 'c' => {
                self.text();
                Some(())
            }
            ':' | 'b' | 't' | 'T' | 'v' => {
                self.skip(|letter| letter == ' ');
                self.skip(|letter| !letter.is_whitespace() && letter != ';');
                Some(())
            }
            's' => self.substitution(),
            'y' => {
                let delimiter = self.delimiter()?;
                self.until(delimiter)?;
                self.until(delimiter)?;
                self.end()
            }
            'r' | 'R' => self.file(Access::Read),
            'w' | 'W' => self.file(Access::Write),
            _ => None,
        }
    }

    /// After a command comes the end of the line, `;` or `}`.
    fn end(&mut self) -> Option<()> {
        self.skip(|letter| letter == ' ' || letter == '\t');
        matches!(self.rest.peek(), None | Some('\n' | ';' | '}' | '#')).then_some(())
    }

    fn skip(&mut self, fits: impl Fn(char) -> bool) {
        while self.rest.next_if(|letter| fits(*letter)).is_some() {}
    }

    /// `12`, `$`, `/re/I`, `\,re,`, two of them with a comma, `first~step`, `+3`
    fn address(&mut self) -> Option<()> {
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
                _ => return Some(()),
            }
        }
    }

    fn delimiter(&mut self) -> Option<char> {
        self.rest.next().filter(|letter| *letter != '\n' && *letter != '\\')
    }

    /// Up to the delimiter; a backslash guards what follows it.
    fn until(&mut self, delimiter: char) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.rest.next()? {
                letter if letter == delimiter => return Some(text),
                '\\' => {
                    text.push('\\');
                    text.push(self.rest.next()?);
                }
                letter => text.push(letter),
            }
        }
    }

    /// A regular expression. Some versions let `[/]` hold the delimiter and some do not: where that matters, nobody knows
    /// where it ends.
    fn pattern(&mut self, delimiter: char) -> Option<()> {
        let text = self.until(delimiter)?;
        let opened = text
            .rfind('[')
            .is_some_and(|open| !text[open + 1..].trim_start_matches(['^', ']']).contains(']'));
        let escaped = text.ends_with('\\');
        (!opened && !escaped).then_some(())
    }

    fn substitution(&mut self) -> Option<()> {
        let delimiter = self.delimiter()?;
        self.pattern(delimiter)?;
        self.until(delimiter)?;
        loop {
            match self.rest.peek() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => drop(self.rest.next()),
                Some('w') => {
                    self.rest.next();
                    return self.file(Access::Write);
                }
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
    fn file(&mut self, access: Access) -> Option<()> {
        let name = self.line();
        let name = name.trim_start();
        if name.is_empty() {
            return None;
        }
        let aside = access == Access::Write;
        if aside {
            self.facts.raise(Class::Write);
        }
        self.facts.touches.push(Touch { path: Arg::Known(name.to_owned()), access, aside });
        Some(())
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
            let touch = Touch { path: Arg::Known("out.txt".to_owned()), access: Access::Write, aside: true };
            assert_eq!(facts(script).touches, [touch], "{script}");
            assert_eq!(facts(script).class, Class::Write, "{script}");
        }
    }
}
