//! `awk`: its program is scanned for what leaves the program.
//!
//! `system`, pipes, `getline` and `@` are doubts, and so is the list of files itself (`ARGV`), by which a program reads what
//! nobody named; a redirection is a file that is written. All else only computes and prints. Strings and patterns are passed
//! over, and where it is not certain what is one, nothing is.

use haft_tool::{Access, Class};

use super::super::{
    Arg, Facts, Touch,
    judge::{Case, weigh},
    table::Meaning,
    walk::walk,
};
use super::is_screen;

pub(super) fn judge(case: &Case<'_>) -> Facts {
    let walk = walk(case.entry, case.name, case.args);
    let mut facts = weigh(case, &walk);
    if !walk.means(Meaning::First) {
        match walk.operands.first() {
            Some(Arg::Known(program)) => follow(program, &mut facts),
            Some(_) => facts.doubt("the program of `awk` is not known".to_owned()),
            None => {}
        }
    }
    facts
}

fn follow(program: &str, facts: &mut Facts) {
    let bytes = program.as_bytes();
    let mut scan = Scan { bytes, ..Scan::default() };
    scan.run();
    if let Some(odd) = scan.odd {
        facts.doubt(format!("the program of `awk` {odd}"));
    }
    for file in scan.files {
        facts.raise(Class::Write);
        facts.touches.push(Touch {
            path: Arg::Known(file),
            access: Access::Write,
            aside: true,
            harmless: false,
        });
    }
}

#[derive(Default)]
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether the last thing was a value, so that `/` divides.
    operand: bool,
    /// Whether `print` came in this statement, so that `>` redirects.
    prints: bool,
    /// Whether the last word was `if`, `while` or `for`.
    control: bool,
    /// The brackets that are open, and whether a statement follows each instead of an operator.
    brackets: Vec<bool>,
    odd: Option<&'static str>,
    files: Vec<String>,
}

impl Scan<'_> {
    fn run(&mut self) {
        while self.odd.is_none() {
            let Some(byte) = self.bytes.get(self.at).copied() else { return };
            self.at += 1;
            self.byte(byte);
        }
    }

    fn byte(&mut self, byte: u8) {
        let control = std::mem::take(&mut self.control);
        match byte {
            b'"' => {
                self.string();
                self.operand = true;
            }
            b'/' if self.operand => self.operand = false,
            b'/' => self.pattern(),
            b'#' => self.comment(),
            b'|' => self.bar(),
            b'>' => self.greater(),
            b'@' => self.odd = Some("calls what is not known"),
            b'\n' | b';' | b'{' | b'}' => (self.prints, self.operand) = (false, false),
            b'(' => {
                self.brackets.push(control);
                self.operand = false;
            }
            b')' if self.brackets.pop() == Some(false) => self.operand = true,
            // After these `/` may divide or begin a pattern.
            b')' | b'+' | b'-' => self.unclear_slash(),
            b']' | b'$' => self.operand = byte == b']',
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => self.word(),
            b'0'..=b'9' | b'.' => self.operand = true,
            b' ' | b'\t' | b'\r' | b'\\' => self.control = control,
            0x80.. => self.operand = true,
            _ => self.operand = false,
        }
    }

    fn word(&mut self) {
        let start = self.at - 1;
        let more = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        while self.bytes.get(self.at).is_some_and(more) {
            self.at += 1;
        }
        self.operand = false;
        match &self.bytes[start..self.at] {
            b"system" => self.odd = Some("runs a command"),
            b"getline" => self.odd = Some("reads from a file or a command"),
            b"ARGV" | b"ARGC" | b"SYMTAB" => self.odd = Some("can choose the files that are read"),
            b"print" | b"printf" => self.prints = true,
            b"if" | b"while" | b"for" | b"switch" => self.control = true,
            b"return" | b"in" | b"else" | b"do" | b"case" | b"exit" | b"delete" => {}
            _ => self.operand = true,
        }
    }

    /// The text of a string; `at` stands behind its first quote.
    fn string(&mut self) -> Option<String> {
        let start = self.at;
        let mut plain = true;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'\\' => {
                    plain = false;
                    self.at += 1;
                }
                b'"' => {
                    let text = String::from_utf8_lossy(&self.bytes[start..self.at - 1]).into_owned();
                    return plain.then_some(text);
                }
                b'\n' => break,
                _ => {}
            }
        }
        self.odd = Some("has a string without an end");
        None
    }

    /// Versions differ about `[/]`: a pattern with a bracket that is open at its end is not followed.
    fn pattern(&mut self) {
        let mut bracket = false;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'[' => bracket = true,
                b']' => bracket = false,
                b'/' if bracket => return self.odd = Some("has a pattern that is read in two ways"),
                b'/' => return self.operand = true,
                b'\n' => break,
                _ => {}
            }
        }
        self.odd = Some("has a pattern without an end");
    }

    fn comment(&mut self) {
        while self.bytes.get(self.at).is_some_and(|byte| *byte != b'\n') {
            self.at += 1;
        }
    }

    fn bar(&mut self) {
        self.operand = false;
        match self.bytes.get(self.at) {
            Some(b'|') => self.at += 1,
            _ => self.odd = Some("has a pipe"),
        }
    }

    /// A comparison, or after `print` the name of a file.
    fn greater(&mut self) {
        self.operand = false;
        if self.bytes.get(self.at) == Some(&b'=') {
            self.at += 1;
            return;
        }
        // In brackets it compares, whatever is printed.
        if !self.prints || !self.brackets.is_empty() {
            return;
        }
        while self.bytes.get(self.at).is_some_and(|byte| matches!(byte, b'>' | b' ' | b'\t')) {
            self.at += 1;
        }
        match self.literal_name() {
            Some(name) if is_screen(&name) => {}
            Some(name) => self.files.push(name),
            None => self.odd = Some("writes to a file that is not known"),
        }
    }

    /// A string that is the whole name: nothing is put together with it.
    fn literal_name(&mut self) -> Option<String> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        self.at += 1;
        let name = self.string()?;
        while self.bytes.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            self.at += 1;
        }
        matches!(self.bytes.get(self.at), None | Some(b'\n' | b';' | b'}')).then_some(name)
    }

    fn unclear_slash(&mut self) {
        self.operand = false;
        let mut rest = self.bytes[self.at..].iter().skip_while(|byte| matches!(byte, b' ' | b'\t'));
        if rest.next() == Some(&b'/') {
            self.odd = Some("has a `/` that is read in two ways");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(program: &str) -> Facts {
        let mut facts = Facts::of(Class::ReadOnly);
        follow(program, &mut facts);
        facts
    }

    #[test]
    fn computing_and_printing_is_followed() {
        for program in [
            "1",
            "{print $1}",
            "{s+=$1} END {print s}",
            "/foo|bar/ {print}",
            "$3 > 5",
            "$1 > 5 && $2 >= 3 {n++} END {print n/2}",
            "BEGIN{FS=\"|\"} {print $2}",
            "NR==1 || NR==2",
            "!seen[$0]++",
            "length($0) > 80 {print FILENAME \": \" FNR}",
            "{print \"a > b | c\"}",
            "{gsub(/[a-z]+/, \"x\"); print}",
            "# system(\"id\")\n1",
            "{print ENVIRON[\"HOME\"]}",
            "{print ($1 > 5 ? \"a\" : \"b\")}",
            "{printf(\"%d\\n\", $1 > 5)}",
            "{print ($1 + $2) / 2, length($3) / 2}",
            "{if ($1 > 10) print $0}",
        ] {
            assert_eq!(facts(program), Facts::of(Class::ReadOnly), "{program}");
        }
    }

    #[test]
    fn what_leaves_the_program_is_a_doubt_wherever_it_hides() {
        for program in [
            "BEGIN{system(\"id\")}",
            "{print | \"sh\"}",
            "BEGIN{\"id\"|getline x}",
            "{getline < \"f\"}",
            "@load \"x\"",
            "{print >> FILENAME}",
            "{print > \"a\" $1}",
            "{x = 1 / system(\"id\") / 2}",
            "{print \"\\\"\" | \"sh\"}",
            "/\"/ { system(\"id\") }",
            "{print > (\"x\")}",
            "(x) / system(\"id\") / 2",
            "i++ / system(\"id\") / 1",
            "/[/]/ { system(\"id\") } /]/",
            "\"unfinished",
            "{ f = \"system\"; @f(\"id\") }",
            "BEGIN{ARGV[1]=\"/etc/shadow\"; ARGC=2} {print}",
            "BEGIN{SYMTAB[\"ARGC\"]=2}",
            "{if ($1) /\"/; system(\"id\") /\"/}",
            "{while ( $1 ) /\"/; system(\"id\") /\"/}",
            "{print ($1) > $2}",
            "{print (\"x\")(\"y\") > $2}",
        ] {
            assert!(facts(program).doubt.is_some(), "{program}");
        }
    }

    #[test]
    fn a_redirection_writes_the_file_that_it_names() {
        for program in [
            "{print > \"out.txt\"}",
            "{ print $1, $2 >> \"out.txt\"; n++ }",
            "{printf \"%s\", $1 > \"out.txt\"}",
        ] {
            let touch = Touch {
                path: Arg::Known("out.txt".to_owned()),
                access: Access::Write,
                aside: true,
                harmless: false,
            };
            assert_eq!(facts(program).touches, [touch], "{program}");
        }
    }
}
