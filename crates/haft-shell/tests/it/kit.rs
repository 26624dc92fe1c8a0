//! What several tests need: a real bash to compare with, random scripts, and a walk through the tree.
#![allow(clippy::disallowed_methods, reason = "the real bash is what these tests compare with")]

use std::{
    fs::File,
    path::Path,
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use haft_shell::syntax::*;

/// By its path, since it also runs where nothing is on the PATH.
const BASH: &str = "/bin/bash";

/// Whether a bash of the fifth generation is here; if not, says so.
pub(crate) fn has_bash() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let found = *FOUND.get_or_init(|| {
        let output = Command::new(BASH).args(["-c", "echo $BASH_VERSION"]).output();
        output.is_ok_and(|output| output.stdout.starts_with(b"5."))
    });
    if !found {
        println!("skipped: there is no bash 5 here");
    }
    found
}

/// Whether `bash -n` takes a text without a word of complaint.
pub(crate) fn bash_accepts(text: &str) -> bool {
    let output = Command::new(BASH).args(["-n", "-c", text]).env("LC_ALL", "C.UTF-8").output().unwrap();
    output.status.success() && output.stderr.is_empty()
}

/// Runs a text in a directory, with definitions read first, and without any program but the builtins.
pub(crate) fn bash_runs(text: &str, definitions: &Path, directory: &Path) -> Output {
    let mut command = Command::new(BASH);
    command.args(["-c", text]).env_clear().env("BASH_ENV", definitions).env("LC_ALL", "C.UTF-8");
    command.env("PATH", "/nowhere").env("HOME", "/home/u").current_dir(directory);
    command.stdin(Stdio::from(File::open("/dev/null").unwrap()));
    command.output().unwrap()
}

/// How many random cases a test tries: `HAFT_CASES` multiplies it.
pub(crate) fn cases(usual: u64) -> u64 {
    let factor = std::env::var("HAFT_CASES").ok().and_then(|text| text.parse::<u64>().ok());
    usual * factor.unwrap_or(1)
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    pub(crate) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// The names of all commands in a script, wherever they stand.
pub(crate) fn command_names(script: &Script) -> Vec<String> {
    let mut names = Vec::new();
    in_script(script, &mut names);
    names
}

fn in_script(script: &Script, names: &mut Vec<String>) {
    for item in &script.items {
        let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
        pipelines.flat_map(|pipeline| &pipeline.commands).for_each(|command| in_command(command, names));
    }
}

fn in_command(command: &Command_, names: &mut Vec<String>) {
    match &command.kind {
        CommandKind::Simple { assignments, words } => {
            names.extend(words.first().map(text_of));
            for assignment in assignments {
                in_words(assignment.index.as_slice(), names);
                match &assignment.value {
                    AssignedValue::Scalar(word) => in_words(std::slice::from_ref(word), names),
                    AssignedValue::Array(words) => in_words(words, names),
                }
            }
            in_words(words, names);
        }
        CommandKind::Group(script) | CommandKind::Subshell(script) | CommandKind::Odd(_, script) => {
            in_script(script, names)
        }
        CommandKind::If { arms, otherwise } => {
            let scripts = arms.iter().flat_map(|(condition, then)| [condition, then]).chain(otherwise);
            scripts.for_each(|script| in_script(script, names));
        }
        CommandKind::While { condition, body, .. } => {
            in_script(condition, names);
            in_script(body, names);
        }
        CommandKind::For { words, body, .. } => {
            in_words(words.as_deref().unwrap_or_default(), names);
            in_script(body, names);
        }
        CommandKind::ArithmeticFor { expression, body } => {
            in_words(std::slice::from_ref(expression), names);
            in_script(body, names);
        }
        CommandKind::Case { word, arms } => {
            in_words(std::slice::from_ref(word), names);
            for (patterns, body, _) in arms {
                in_words(patterns, names);
                in_script(body, names);
            }
        }
        CommandKind::Arithmetic(word) => in_words(std::slice::from_ref(word), names),
        CommandKind::Test(words) => in_words(words, names),
        CommandKind::Function { body, .. } => in_command(body, names),
    }
    for redirect in &command.redirects {
        let (RedirectKind::Read(word)
        | RedirectKind::Write(word)
        | RedirectKind::ReadWrite(word)
        | RedirectKind::Duplicate(word)
        | RedirectKind::HereDocument(word)
        | RedirectKind::HereString(word)) = &redirect.kind;
        in_words(std::slice::from_ref(word), names);
    }
}

use haft_shell::syntax::Command as Command_;

fn in_words(words: &[Word], names: &mut Vec<String>) {
    words.iter().for_each(|word| in_parts(&word.parts, names));
}

fn in_parts(parts: &[Part], names: &mut Vec<String>) {
    for part in parts {
        match part {
            Part::Double(parts) | Part::Translated(parts) => in_parts(parts, names),
            Part::Brace(words) | Part::Parameter { words, .. } => in_words(words, names),
            Part::Command(script) | Part::Process(_, script) => in_script(script, names),
            Part::Arithmetic(word) => in_words(std::slice::from_ref(word), names),
            _ => {}
        }
    }
}

/// A word's text as far as it is known.
pub(crate) fn text_of(word: &Word) -> String {
    let text = |part: &Part| match part {
        Part::Literal(text) | Part::Quoted(text) => text.clone(),
        _ => "?".to_owned(),
    };
    word.parts.iter().map(text).collect()
}

/// Random scripts. Commands are `c0` … `c9`; the words between never are.
pub(crate) struct Writer {
    pub(crate) dice: Dice,
    depth: usize,
    pending: Vec<String>,
}

impl Writer {
    pub(crate) fn new(seed: u64) -> Writer {
        Writer { dice: Dice::new(seed), depth: 0, pending: Vec::new() }
    }

    pub(crate) fn script(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..=self.dice.below(3) {
            let item = self.item();
            text.push_str(&item);
            let end = self.dice.pick(&["; ", "\n", " & ", " ;\n", " # c8\n", "\n\n"]);
            text.push_str(if self.pending.is_empty() { end } else { "\n" });
            text.push_str(&self.pending.drain(..).collect::<String>());
        }
        text
    }

    fn inner(&mut self) -> String {
        let outer = std::mem::take(&mut self.pending);
        self.depth += 1;
        let text = self.script();
        self.depth -= 1;
        self.pending = outer;
        text
    }

    fn item(&mut self) -> String {
        let mut text = self.command();
        for _ in 0..self.dice.below(3) {
            let joint = self.dice.pick(&[" && ", " || ", " | ", "|&", "||", " &&\\\n "]);
            text.push_str(joint);
            text.push_str(&self.command());
        }
        match self.dice.below(8) {
            0 => format!("! {text}"),
            1 => format!("time -p {text}"),
            _ => text,
        }
    }

    fn command(&mut self) -> String {
        if self.depth > 3 {
            return self.simple();
        }
        match self.dice.below(26) {
            0 => format!("{{ {} }}", self.inner()),
            1 => format!("( {} )", self.inner()),
            2 => format!("if {} then {} fi", self.inner(), self.inner()),
            3 => format!("if {} then {} else {} fi >f1", self.inner(), self.inner(), self.inner()),
            4 => format!("while {} do {} done", self.inner(), self.inner()),
            5 => format!("for v in {}; do {} done", self.words(), self.inner()),
            6 => format!(
                "case {} in {}) {};; (*) {} esac",
                self.word(),
                self.word(),
                self.simple(),
                self.inner()
            ),
            7 => format!("[[ {} == {} && -n {} ]]", self.word(), self.word(), self.word()),
            8 => format!("(( 1 + {} ))", self.number()),
            9 => format!("f{}() {{ {} }}", self.dice.below(3), self.inner()),
            10 => format!("((c{} x) | c{})", self.dice.below(10), self.dice.below(10)),
            11 => format!("[[ {} =~ (a|b c){} || ! ( {} ) ]]", self.word(), self.word(), self.word()),
            12 => format!("for ((i = 0; i < 2; i++)); do {} done", self.inner()),
            13 => format!("f{}", self.dice.below(3)),
            _ => self.simple(),
        }
    }

    fn simple(&mut self) -> String {
        let mut text = String::new();
        if self.dice.below(6) == 0 {
            let start = self.dice.pick(&["a=", "a+=", "a[1]=", ">f2 b=", "a=~:"]);
            text.push_str(&format!("{start}{} ", self.word()));
        }
        if self.dice.below(16) == 0 {
            text.push_str(&format!("a=({}) ", self.words()));
        }
        if self.dice.below(12) != 0 {
            let name = self.dice.below(10);
            let spelling =
                self.dice.pick(&["c#", "c#", "c#", "c#", "\"c#\"", "c\\#", "'c'#", "$'c#'", "c\\\n#"]);
            text.push_str(&spelling.replace('#', &name.to_string()));
            text.push_str(&format!(" {}", self.words()));
        } else {
            text.push_str(": ");
        }
        if self.dice.below(4) == 0 {
            text.push_str(&self.redirect());
        }
        text
    }

    fn redirect(&mut self) -> String {
        let word = self.word();
        match self.dice.below(9) {
            0 => " 2>&1".to_owned(),
            1 => " >f3".to_owned(),
            2 => " &>>f4".to_owned(),
            3 => format!(" <<< {word}"),
            4 => format!(" > >(c{})", self.dice.below(10)),
            5 => " {fd}>&-".to_owned(),
            6 => " >&-".to_owned(),
            _ => {
                let end = self.dice.pick(&["E", "'E'", "\\E", "\"E\""]);
                self.pending.push(format!("x {word}\\\n$(c{}) \"'\nE\n", self.dice.below(10)));
                format!(" <<{end}")
            }
        }
    }

    fn words(&mut self) -> String {
        let words: Vec<String> = (0..self.dice.below(4)).map(|_| self.word()).collect();
        words.join(self.dice.pick(&[" ", " ", "  ", "\t", " \\\n"]))
    }

    fn word(&mut self) -> String {
        let pieces: Vec<String> = (0..=self.dice.below(3)).map(|_| self.piece()).collect();
        pieces.concat()
    }

    fn piece(&mut self) -> String {
        let command = format!("c{}", self.dice.below(10));
        let plain = [
            "x", "-y", "a.b", "x=1", "*.z", "[ab]", "~", "{p,q}", "{1..3}", "{r}", "#", "\\;", "$v", "${v}",
            "$1",
        ];
        let forms = [
            "'c9; c9'",
            "\"c9 $v\"",
            "$'c9\\n'",
            "\"$(@)\"",
            "$(@)",
            "`@`",
            "\"`@ \\\"x\\\"`\"",
            "${v:-$(@)}",
            "\"${v:-$(@)}\"",
            "$(( 1 + $(@) ))",
            "$[ $(@) ]",
            "<(@)",
            "${v#`@`}",
            "${a[$(@)]}",
            "`echo \\`@\\``",
            "${v:-'$(c9)'}",
            "$(@; echo \")\")",
            "$(case x in x) @;; esac)",
            "$(@ # )\n)",
            "${v/x/$(@)}",
            "\"${v:-\"$(@)\"}\"",
            "$(@ <<E\n$(@)\nE\n)",
            "${v:-<(@)}",
            "\"$( (@) )\"",
            "{p,$(@)}",
            "\\\\$(@)",
            "\"\\$(c9)\"",
        ];
        match self.dice.below(3) {
            0 if self.depth < 3 => self.dice.pick(&forms).replace('@', &command),
            _ => self.dice.pick(&plain).to_owned(),
        }
    }

    fn number(&mut self) -> String {
        let command = format!("c{}", self.dice.below(10));
        self.dice.pick(&["1", "$(@)", "v", "(2)", "`@`", "${v:-1}"]).replace('@', &command)
    }

    /// A script with something broken, mostly.
    pub(crate) fn broken_script(&mut self) -> String {
        let text = self.script();
        let letters: Vec<char> = text.chars().collect();
        let at = self.dice.below(letters.len());
        let more = [
            "", "(", ")", "'", "\"", "`", "$(", "{ ", " }", ";", "&", "|", "\n", "fi", " then ", "<", "((",
            "))", "]]", "${",
        ];
        let piece = self.dice.pick(&more);
        let skip = self.dice.below(3);
        let after = letters.iter().skip(at + skip);
        letters[..at].iter().copied().chain(piece.chars()).chain(after.copied()).collect()
    }
}
