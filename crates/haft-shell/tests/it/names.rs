//! Names that bash interprets, against a real bash: what is judged harmless runs nothing that it was only given as text.
//!
//! Lines set names in random ways to a text with a command in it, and then use names in random ways. The command leaves a
//! file behind. No line names a program or a place outside of its directory.
#![allow(clippy::disallowed_methods, reason = "the real bash is what these tests compare with")]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use haft_shell::{understand, understand::Act};
use haft_tool::{Access, Class, PathBase};

use crate::kit::*;

/// Names of bash, of programs, and of nobody.
const NAMES: &[&str] = &[
    "x",
    "file_path",
    "_",
    "RANDOM",
    "SRANDOM",
    "OPTIND",
    "OPTARG",
    "OPTERR",
    "HISTCMD",
    "SECONDS",
    "BASHPID",
    "BASH_ARGV0",
    "BASH_ENV",
    "BASH_COMPAT",
    "BASH_XTRACEFD",
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_REMATCH",
    "BASH_LOADABLES_PATH",
    "COLUMNS",
    "LINES",
    "COPROC",
    "DIRSTACK",
    "ENV",
    "EPOCHSECONDS",
    "EXECIGNORE",
    "FIGNORE",
    "FUNCNAME",
    "FUNCNEST",
    "GLOBIGNORE",
    "GROUPS",
    "HISTCONTROL",
    "HISTSIZE",
    "HOSTNAME",
    "IFS",
    "IGNOREEOF",
    "LANG",
    "LC_ALL",
    "LINENO",
    "MAILPATH",
    "MAPFILE",
    "OLDPWD",
    "PIPESTATUS",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PWD",
    "REPLY",
    "SHELLOPTS",
    "SHLVL",
    "TERM",
    "TEXTDOMAIN",
    "TEXTDOMAINDIR",
    "TIMEFORMAT",
    "TMOUT",
    "TZ",
    "UID",
    "histchars",
    "auto_resume",
    "PAGER",
    "LD_PRELOAD",
    "http_proxy",
];

/// Names that are in the environment already, as such texts.
const INHERITED: &[&str] = &["n", "n", "n", "x", "y", "q"];

fn name(dice: &mut Dice) -> &'static str {
    let names = if dice.below(8) == 0 { NAMES } else { INHERITED };
    names[dice.below(names.len())]
}

/// What names are set to. The command in it is only text.
const TEXTS: &[&str] = &[
    "a[$(echo>MARK)]",
    "a[$(echo>MARK)]",
    "a[`echo>MARK`]",
    "$(echo>MARK)",
    "($(echo>MARK))",
    "([$(echo>MARK)]=1)",
    "b[a[$(echo>MARK)]]",
    "x",
    "y",
    "n",
    "0",
    "5",
    "l",
    "d",
];

/// Ways to set a name (`@N`) to a text (`@T`, in quotes as `@Q`).
const SETTERS: &[&str] = &[
    "@N=@Q",
    "@N=@Q",
    "@N=@Q",
    "@N+=@Q",
    "@N[0]=@Q",
    "@N=(@Q)",
    "@N=([0]=@Q)",
    "@N=$x",
    "@N=$n",
    "declare @N=@Q",
    "declare '@N=@T'",
    "declare -a @N=@Q",
    "declare -A @N=@Q",
    "declare -a '@N=@T'",
    "declare @N=$x",
    "declare -n r=@N; r=@Q",
    "declare -n r=@N; for r in @Q; do :; done",
    "typeset @N=@Q",
    "readonly q=@Q",
    "readonly -a q=@Q",
    "export @N=@Q",
    "export @N=$x",
    "read -r @N < in",
    "read -r y @N < in",
    "read -ra @N < in",
    "read -r @N <<< @Q",
    "while read -r @N; do :; done < in",
    "while IFS= read -r @N; do :; done <<< @Q",
    "IFS=@Q read -r @N < in",
    "@N=@Q read -r x < in",
    "@N=@Q echo hi",
    "@N=@Q true",
    "@N=@Q :",
    "mapfile -t @N < in",
    "readarray @N < in",
    "printf -v @N %s @Q",
    "for @N in @Q; do :; done",
    "for @N in 1 2; do :; done",
    "for @N in {1..2}; do echo $((@N)); done",
    "for @N in 1 @Q; do echo $((@N)); done",
    "select @N in @Q; do break; done <<< 1",
    "getopts xn @N -x",
    ": ${@N:=@Q}",
    ": ${@N=@Q}",
    ": ${q:=@Q}",
    "unset @N; @N=@Q",
    "unset @N",
    ": $((@N = 0))",
    ": $((@N = x))",
    "((@N = 0))",
    "((@N++))",
    "let @N=x",
    "exec {@N}> /dev/null",
    "(@N=0)",
    "(@N=@Q)",
    "{ @N=0; }",
    "true || @N=0",
    "true || @N=0 && echo $((@N))",
    "false || @N=0",
    "false && @N=0",
    "true && @N=0",
    "@N=0 && true",
    "@N=0 | true",
    "@N=0 & wait",
    "! @N=0",
    "if false; then @N=0; fi",
    "if false; then @N=0; else echo $((@N)); fi",
    "if @N=0; then :; fi",
    "if true; then @N=@Q; fi",
    "case a in b) @N=0;; esac",
    "while false; do @N=0; done",
    "until true; do @N=0; done",
    "for ((@N=0;@N<2;@N++)); do :; done",
    "for ((q=@N;q<2;q++)); do :; done",
    "eval '@N=0'",
    "eval '@N=@T'",
    "trap '@N=0' EXIT",
    "trap 'echo $((@N))' EXIT",
    "@N=0",
    "@N=0",
    "@N=5",
    "@N=-1",
    "@N=$((1+2))",
    "@N=$((@N+1))",
    "@N=$((n+1))",
    "@N=\"$((n+1))\"",
    "@N=${#x}",
    "@N=${#x[@]}",
    "@N=$#",
    "@N=$?",
    "@N=$@",
    "@N=$(echo @Q)",
    "@N=$(pwd)",
    "@N=0$x",
    "@N='0'$n",
    "set -- @Q",
    "set -x",
    "echo @Q > /dev/null",
];

/// Ways to use a name.
const USES: &[&str] = &[
    "echo $((@N))",
    "echo $((@N))",
    "echo $((n))",
    "echo $(($n))",
    "echo $(($@N+1))",
    "echo $((1$@N))",
    "echo $((x$n))",
    "echo $((\"x\"))",
    "echo $(( n > 0 ? n : x ))",
    "echo $((n,x))",
    "echo $((x=n))",
    "echo $((n=n+1))",
    "echo $((n++ + x))",
    "echo $((10#$n))",
    "echo $[n]",
    "((n))",
    "((n=0,x))",
    "((x=0,x))",
    "((x && (n=0))); echo $((n))",
    "((0 && (n=0))); echo $((n))",
    "((0 ? n=0 : 1)); echo $((n))",
    "[[ $n -lt 3 ]]",
    "[[ n -lt 3 ]]",
    "[[ 3 -gt \"$n\" ]]",
    "[[ $n -eq $x ]]",
    "[[ -v @N ]]",
    "[[ -v n ]]",
    "[[ $@N == n ]]",
    "[[ a == -eq ]]",
    "[ $n -lt 3 ]",
    "[ \"$@N\" -lt 3 ]",
    "[ -e * ]",
    "[ -e -* ]",
    "[ -e [!b]* ]",
    "[ -e ./* ]",
    "[ ! -e a* ]",
    "test *",
    "test -n $@N",
    "test $@N",
    "test -v a*",
    "test -v \"$@N\"",
    "test -v n",
    "test -t \"$@N\"",
    "echo ${a[n]}",
    "echo ${a[@N]}",
    "echo ${a[$n]}",
    "echo ${#a[n]}",
    "echo ${a[@]}",
    "echo ${a[n]:-x}",
    "echo ${HOME:n}",
    "echo ${HOME:@N:1}",
    "echo ${HOME:0:n}",
    "echo ${a[0]:x}",
    "echo ${@:n}",
    "echo ${@N@P}",
    "echo ${@N@Q}",
    "echo ${@N@A}",
    "echo ${!@N}",
    "echo ${!x@}",
    "a[n]=1",
    "a[@N]=1",
    "a+=([n]=1)",
    "a=([n]=1)",
    "a=(n)",
    "declare a[n]=1",
    "declare 'a[n]=1'",
    "read 'a[n]' < in",
    "unset 'a[n]'",
    "a=(1); unset 'a[n]'",
    "printf %d \"$@N\"",
    "shift \"$@N\"",
    "echo $@N \"${@N}\" ${@N}",
    "echo $\"hi\"",
    "\necho $\"hi\"",
    "\necho $\"hi\"",
    "echo hi",
    "cd .",
    "echo {1..n}",
    "select q in a; do break; done <<< 1",
    "getopts ab q -a",
    "export @N",
    "declare @N",
    "declare -p @N",
    "declare x=\"$@N\"",
    "declare -a x=\"$@N\"",
    "x=\"$@N\"; echo $((x))",
    "case $((n)) in 1) ;; esac",
    "cat <<E\n$((n))\nE\n",
    "echo <<< $((n))",
    "echo `echo $((n))`",
    "echo $(n=0; echo $((n)))",
    "(echo $((n)))",
    "for q in $((n)) $n; do echo $((q)); done",
    "for q in $@N; do echo $((q)); done",
    "while [ $n -lt 2 ]; do n=$((n+1)); done",
    "echo hi > /dev/stdout",
    "echo hi > /dev/stdin",
    "echo hi > /dev/fd/3",
];

fn line(dice: &mut Dice) -> String {
    let mut text = String::new();
    for at in 0..1 + dice.below(3) {
        if at > 0 {
            text.push_str(dice.pick(&["; ", "; ", "\n", "\n", " && ", " || "]));
        }
        let piece = if dice.below(3) == 0 { dice.pick(USES) } else { dice.pick(SETTERS) };
        let piece = piece.replace("@N", name(dice));
        let value = dice.pick(TEXTS);
        let piece = piece.replace("@Q", &format!("'{value}'")).replace("@T", value);
        text.push_str(&match dice.below(12) {
            0 => format!("{{ {piece}\n}}"),
            1 => format!("if true; then {piece}\nfi"),
            2 => format!("for q in 1 2; do {piece}\ndone"),
            3 => format!("({piece}\n)"),
            _ => piece,
        });
        if text.ends_with("\nE\n") {
            text.push(':');
        }
    }
    text.push_str(&format!("\n{}", dice.pick(USES).replace("@N", name(dice))));
    text
}

/// Whether it would run without a question.
fn is_harmless(line: &str, directory: &Path) -> bool {
    let understood = understand(
        line,
        &PathBase { cwd: directory.to_owned(), home: Some("/nowhere/home".into()), workspace: None },
    );
    understood.effects().doubts().is_empty()
        && understood.acts().iter().all(|act| match act {
            Act::Run { facts, .. } => facts.class == Class::ReadOnly && facts.doubt.is_none(),
            Act::Touch { access, .. } => *access == Access::Read,
            _ => true,
        })
}

/// Whether bash runs the command that was only text. What nobody has set comes from the environment, and is such a text.
fn runs_marker(line: &str, directory: &Path) -> bool {
    let text = "a[$(echo>MARK)]";
    let mut bash = Command::new("/usr/bin/timeout");
    bash.args(["5", "/bin/bash", "--noprofile", "--norc", "-c", line]).env_clear().current_dir(directory);
    bash.env("PATH", "/nowhere").env("HOME", "/nowhere/home").env("LC_ALL", "C.UTF-8");
    INHERITED.iter().for_each(|name| _ = bash.env(name, text));
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bash.status().expect("bash runs");
    fs::remove_file(directory.join("MARK")).is_ok()
}

/// Files whose names are operators and calculations, lines to read, and a translation that is a command.
fn furnish(directory: &Path) {
    for (name, text) in [("-v", ""), ("a[$(echo>MARK)]", ""), ("b.txt", ""), ("in", "a[$(echo>MARK)]\n")] {
        fs::write(directory.join(name), text).unwrap();
    }
    for place in ["l/C.UTF-8/LC_MESSAGES", "l/C.utf8/LC_MESSAGES"] {
        fs::create_dir_all(directory.join(place)).unwrap();
        fs::write(directory.join(place).join("d.mo"), catalogue("hi", "$(echo>MARK)")).unwrap();
    }
}

/// A catalogue of messages with one in it: numbers, two tables with a length and an offset each, and the texts.
fn catalogue(text: &str, translation: &str) -> Vec<u8> {
    let at = [44, 44 + text.len() + 1];
    let numbers = [0x9504_12de, 0, 1, 28, 36, 0, 44, text.len(), at[0], translation.len(), at[1]];
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| (*number as u32).to_le_bytes()).collect();
    bytes.extend([text.as_bytes(), b"\0", translation.as_bytes(), b"\0"].concat());
    bytes
}

#[test]
fn what_is_harmless_runs_no_text() {
    if !has_bash() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    furnish(directory);
    let mut dice =
        Dice::new(std::env::var("HAFT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(18));
    let (mut harmless, mut asked, mut fired, mut findings) = (0, 0, 0, Vec::new());
    for _ in 0..cases(3000) {
        let line = line(&mut dice);
        if is_harmless(&line, directory) {
            harmless += 1;
            findings.extend(runs_marker(&line, directory).then_some(line));
        } else if asked < harmless / 4 {
            asked += 1;
            fired += usize::from(runs_marker(&line, directory));
        }
    }
    println!("{harmless} ran; of {asked} others, {fired} ran the text");
    assert!(findings.is_empty(), "{} ran the text:\n{}", findings.len(), findings.join("\n---\n"));
    assert!(harmless > 100 && fired * 4 > asked, "the lines are too tame to show anything");
}

/// Each way by which bash was seen to run a text, one by one.
#[test]
fn every_way_in_which_bash_runs_a_text_is_asked_about() {
    if !has_bash() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    furnish(directory);
    let mut missed = Vec::new();
    for (setter, name) in SETTERS[..48].iter().flat_map(|setter| NAMES.iter().map(move |name| (setter, name)))
    {
        let setter =
            setter.replace("@N", name).replace("@Q", "'a[$(echo>MARK)]'").replace("@T", "a[$(echo>MARK)]");
        let line = format!("{setter}\n:");
        if is_harmless(&line, directory) && runs_marker(&line, directory) {
            missed.push(line);
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n---\n"));
}
