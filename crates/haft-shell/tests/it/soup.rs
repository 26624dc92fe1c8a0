//! Texts of tokens glued together at random, and a bash that says what it makes of many of them at once.
//!
//! Every command of such a text is one that does not exist, so bash asks what to do about it, and writes down its words
//! instead. Nothing in a text is an absolute path or a real program, each runs in an empty directory of its own, and all of
//! them in the sandbox.
#![allow(clippy::disallowed_methods, reason = "the real bash is what these tests compare with")]

use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use haft_shell::sandbox::Confinement;

use crate::kit::Dice;

/// Words and operators that open nothing.
const FLAT: &[&str] = &[
    "a", "b", "c", "d", "a", "b", "c", "d", " ", " ", " ", " ", " ", " ", " ", "\n", "\n", ";", ";", "&",
    "|", "&&", "||", "|&", ";;", ";&", ";;&", "!", "! ", "time ", "time -p ", "in ", " in ", "do ", "; do ",
    "; then ", "else ", "; fi", "; done", "esac", "then ", "elif ", "a=", "a+=", "]=", "+=", "=", "a[1]=",
    "&>", "&>>", ">&", "<&", ">", ">>", "<", "<>", ">|", "<<<", "2>", "1<", "12>", "3>&", "{fd}>", "{fd}<",
    "{a[1]}>", "2>&1", ">&-", "<&-", "-", "\\\n", "\\\n", "\\", "\\\\", "\\$", "\\`", "\\\"", "\\;", "#",
    " #", "~", "=~", "==", "!=", "-eq ", "-n ", "-z ", "<", "{a,b}", "{a,", ",b}", ",", "{1..3}", "{}", "$x",
    "$1", "$a", "$@", "$*", "$#", "$?", "$-", "$$", "$!", "$", "${x}", "${a}", "${#x}", "${!x}", "${x@P}",
    "${x@Q}", "${!a@}", "${!a*}", "${a[@]}", "${#a[*]}", "*", "?", "[a]", "[!a]", "[\\>\\<]", "[", "]", ")",
    ")b", "}", "))", "]]", "\"", "'", "`", "\t", "@", "%", "^", ":", "''", "\"\"", "1", "0", "é", "++",
    "'a b'", "\"c d\"", "\"$(b)\"", "$(c)", "`d`", "$((1))", "$[1]", "<(a)", ">(b)", "a=1 ", "a=b ", "a() ",
    "x=(1 2)", "E", "\nE\n", "\nE\n", "EOF",
];

/// Openers, each with what closes it.
const PAIRS: &[(&str, &str)] = &[
    ("\"", "\""),
    ("'", "'"),
    ("`", "`"),
    ("\"`", "`\""),
    ("\\`", "\\`"),
    ("$(", ")"),
    ("$( ", " )"),
    ("\"$(", ")\""),
    ("$((", "))"),
    ("((", "))"),
    ("(( ", " ))"),
    ("(", ")"),
    ("( ", " )"),
    ("$[", "]"),
    ("[[ ", " ]]"),
    ("[[ a =~ ", " ]]"),
    ("[[ a == ", " ]]"),
    ("[[ (", ") ]]"),
    ("{ ", "; }"),
    ("{", "}"),
    ("${x:-", "}"),
    ("\"${x:-", "}\""),
    ("${x:=", "}"),
    ("${x:+", "}"),
    ("${a+", "}"),
    ("${x:", "}"),
    ("${#", "}"),
    ("${!", "}"),
    ("${", "}"),
    ("\"${x/", "}\""),
    ("${a[", "]}"),
    ("${x#", "}"),
    ("\"${x%", "}\""),
    ("${x^", "}"),
    ("${x@", "}"),
    ("<(", ")"),
    (">(", ")"),
    ("$'", "'"),
    ("$\"", "\""),
    ("a=(", ")"),
    ("a+=(", ") "),
    ("a=([", "]=b)"),
    ("a[", "]=b"),
    ("a[", "]"),
    ("[", "]"),
    ("@(", ")"),
    ("!(", ")"),
    ("case a in ", " esac"),
    ("case ", " in *) b;; esac"),
    ("case b in b) ", ";; esac"),
    ("case b in (b|", ") c; esac"),
    ("if ", "; fi"),
    ("if b; then ", "; fi"),
    ("if b\nthen ", "\nelse a; fi"),
    ("while ", "; done"),
    ("until b; do ", "; done"),
    ("for a in ", "; do d; done"),
    ("for a in b\ndo ", "\ndone"),
    ("for ((", ";;)); do b; done"),
    ("for ((;0;", ")); do b; done"),
    ("for a; { ", "; }"),
    ("select a in ", "; do b; done"),
    ("a() { ", "; }"),
    ("a () (", ")"),
    ("function a { ", "; }"),
    ("function ", " { b; }"),
    ("coproc ", "\n"),
    ("coproc a { ", "; }"),
    ("<<E\n", "\nE\n"),
    ("c <<E\n", "\nE\n"),
    ("<<-E\n", "\n\tE\n"),
    ("<<'E'\n", "\nE\n"),
    ("<<\"E\"", "\nE\n"),
    ("<<E; ", "\nb\nE\n"),
    ("$(c <<E\n", "\nE\n)"),
    ("$(c <<E\n", "\nE)"),
    ("declare a=(", ")"),
    ("export ", " "),
    ("let ", " "),
    ("b ", "\n"),
    ("d ", "; "),
];

/// A text that a shell may make anything of.
pub(crate) fn soup(dice: &mut Dice) -> String {
    let mut text = String::new();
    let mut open = Vec::new();
    for _ in 0..2 + dice.below(10) {
        match dice.below(10) {
            0..=3 => {
                let (opener, closer) = PAIRS[dice.below(PAIRS.len())];
                text.push_str(opener);
                open.push(closer);
            }
            4..=5 => text.push_str(open.pop().unwrap_or(" ")),
            _ => text.push_str(dice.pick(FLAT)),
        }
    }
    // Mostly, everything is closed in the end.
    if dice.below(8) != 0 {
        open.into_iter().rev().for_each(|closer| text.push_str(closer));
    }
    text
}

/// What bash makes of a text.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// What it complains about if it only reads it.
    pub(crate) complaint: String,
    /// The words of every command that it ran, as far as they came to be written down.
    pub(crate) ran: Vec<Vec<String>>,
    /// The names of the files that it made.
    pub(crate) made: Vec<String>,
}

/// A command that is not found says so in a file. What would go on for ever is ended by a trap that counts steps: never
/// by a signal, since the number of a process that has ended may be somebody else's by then.
const JUDGE: &str = r#"
ulimit -c 0 -f 200
command_not_found_handle() {
    builtin printf '%s\0' "$@" $'\1' >>"$soup_place.ran"
    [[ $1 == *[bd]* ]]
}
soup_number=0
exec 200<"$1"
while IFS= read -r -d '' soup_text <&200; do
    soup_place=$2/$soup_number
    ( eval $'set -n\n'"$soup_text" ) 2>"$soup_place.complaint" </dev/null >/dev/null 200<&-
    ( ulimit -t 1; cd "$soup_place"; trap wait EXIT; set -T; trap '(( ++soup_steps > 40 )) && exit' DEBUG
      eval "$soup_text"
    ) </dev/null &>/dev/null 200<&-
    soup_number=$((soup_number + 1))
done
"#;

/// Asks bash about many texts at once, and goes on behind one that ends the asking.
pub(crate) fn judge(texts: &[String]) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = Vec::new();
    while verdicts.len() < texts.len() {
        let more = judge_some(&texts[verdicts.len()..]);
        assert!(!more.is_empty(), "bash does not answer");
        verdicts.extend(more);
    }
    verdicts
}

fn judge_some(texts: &[String]) -> Vec<Verdict> {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("judge"), JUDGE).unwrap();
    fs::write(at("texts"), texts.iter().map(|text| format!("{text}\0")).collect::<String>()).unwrap();
    (0..texts.len()).for_each(|number| fs::create_dir(at(&number.to_string())).unwrap());
    let mut bash = Command::new("/bin/bash");
    bash.arg(at("judge")).arg(at("texts")).arg(directory.path()).env_clear();
    bash.env("PATH", "/nowhere").env("HOME", "/nowhere/home").env("LC_ALL", "C.UTF-8");
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    run_apart(&mut bash, directory.path());
    (0..texts.len()).map_while(|number| verdict(&at(&number.to_string()))).collect()
}

/// Whether there is a sandbox for texts that nobody chose.
pub(crate) fn has_sandbox() -> bool {
    let complete = Confinement { required: true, ..Confinement::at("/") }.prepare();
    if let Err(err) = &complete {
        println!("skipped: {err}");
    }
    complete.is_ok()
}

/// Runs it in a sandbox: texts that nobody chose kill by number, and leave processes behind.
fn run_apart(bash: &mut Command, place: &Path) {
    let confinement = Confinement { write: vec![place.to_owned()], required: true, ..Confinement::at(place) };
    let variables: Vec<(OsString, OsString)> =
        bash.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    let mut guard = confinement.prepare().and_then(|prepared| prepared.apply(bash)).expect("a sandbox");
    let mut child = bash.env_clear().envs(variables).spawn().expect("bash runs");
    guard.started().expect("it has begun");
    child.wait().expect("it ends");
}

/// What was written down about one text; `None` if it was not asked about.
fn verdict(place: &Path) -> Option<Verdict> {
    let read = |ending| {
        let bytes = fs::read(place.with_extension(ending)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let words = |run: &str| run.split('\0').map(str::to_owned).collect();
    let ran = read("ran");
    place.with_extension("complaint").exists().then(|| Verdict {
        complaint: read("complaint"),
        ran: ran.split_terminator("\0\u{1}\0").map(words).collect(),
        made: fs::read_dir(place)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect(),
    })
}
