//! What command lines are said to do.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use haft_tool::{Class, Effects, MACHINE, PathBase};

use super::{Act, Understood, shown, understand};
use crate::programs::Arg;

fn read(line: &str) -> Understood {
    let base = PathBase { cwd: "/w/app".into(), home: Some("/home/u".into()), workspace: None };
    understand(line, &base)
}

fn effects(line: &str) -> Effects {
    read(line).effects()
}

#[track_caller]
fn check(line: &str, expected: &str) {
    assert_eq!(effects(line).to_string(), expected, "{line}");
}

/// The paths alone.
#[track_caller]
fn touches(line: &str, expected: &[&str]) {
    let effects = effects(line);
    let paths: Vec<String> = effects
        .paths()
        .iter()
        .map(|effect| {
            format!("{:?} {} {:?}", effect.access, effect.path.display(), effect.spread).to_lowercase()
        })
        .collect();
    assert_eq!(paths, expected, "{line}");
}

#[track_caller]
fn doubts(line: &str, expected: &str) {
    assert_eq!(effects(line).doubts().join("; "), expected, "{line}");
}

#[test]
fn a_plain_command_is_what_it_runs_and_touches() {
    check("cat a.txt", "reads /w/app/a.txt, runs cat a.txt");
    check("ls -la && git status", "runs ls -la, runs git status");
    check("echo hi > out/f", "writes /w/app/out/f, runs echo hi");
    check("FOO=bar", "touches nothing");
    check("curl https://x.test/a", "fetches from x.test, runs curl https://x.test/a");
}

#[test]
fn quotes_braces_and_the_home_are_done_before_anybody_looks() {
    check("c'a't \"a b\".txt", "reads /w/app/a b.txt, runs cat a b.txt");
    touches(
        "cat {a,b}.txt ~/x $HOME/y \"$PWD\"/z",
        &[
            "read /w/app/a.txt all",
            "read /w/app/b.txt all",
            "read /home/u/x all",
            "read /home/u/y all",
            "read /w/app/z all",
        ],
    );
}

#[test]
fn a_command_runs_where_the_one_before_it_may_have_gone() {
    touches("cd src && cat a", &["read /w/app/src guarded", "read /w/app/src/a all"]);
    touches("cd src; cat a", &["read /w/app/src guarded", "read /w/app/src/a all", "read /w/app/a all"]);
    touches("cd src || cat a", &["read /w/app/src guarded", "read /w/app/a all"]);
    touches("(cd src); cat a", &["read /w/app/src guarded", "read /w/app/a all"]);
    touches(
        "cd a/../b && cat c",
        &["read /w/app/a/../b guarded", "read /w/app/a/../b/c all", "read /w/app/b/c all"],
    );
    touches(
        "if cd a; then cat x; fi; cat y",
        &[
            "read /w/app/a guarded",
            "read /w/app/a/x all",
            "read /w/app/x all",
            "read /w/app/a/y all",
            "read /w/app/y all",
        ],
    );
    assert!(effects("cd src").state().iter().any(|state| state.key == "cwd"));
    assert!(effects("(cd src)").state().is_empty());
    doubts(
        "cd - && cat x",
        "a directory that is known only when it runs; a path in a directory that is known only when it runs",
    );
    doubts("for i in 1 2; do cd ..; done", "a loop that changes the directory");
}

/// Whether a line names `.env` in a program that is not followed.
#[track_caller]
fn mentions(line: &str, expected: bool) {
    let names = effects(line).mentions().iter().any(|mention| mention.path.as_os_str() == "/w/app/.env");
    assert_eq!(names, expected, "{line}");
}

#[test]
fn words_of_a_program_that_is_not_followed_may_name_paths() {
    for line in [
        "perl -pe 1 .env",
        "node --env-file=.env x.js",
        "curl -w @.env http://x.test",
        "mysql -e 'source .env'",
        "docker run -v .env:/in img",
        "printf 'source .env' | mysql",
        "mysql <<< 'source .env'",
        "DOTENV=.env node x.js",
        "timeout 5 perl -pe 1 .env",
        "bash -c 'perl -pe 1 .env'",
        "x=.env; perl -pe 1 $x",
        "echo x >> .env",
        "./run .env",
        "/usr/bin/frob .env",
    ] {
        mentions(line, true);
    }
}

#[test]
fn words_of_a_program_that_is_followed_name_what_it_says() {
    for line in [
        "grep .env a.txt",
        "echo .env",
        "git commit -m 'ignore .env'",
        "sudo grep .env a.txt",
        "find . -name .env",
        "cat <<< .env",
        "rm .env",
        "touch .env",
        "echo x > .env",
        "echo .env >> .gitignore",
    ] {
        mentions(line, false);
    }
}

#[test]
fn a_file_that_the_line_wrote_has_nothing_below_it() {
    touches(
        "sort a > b; mv b a",
        &[
            "write /w/app/b some",
            "read /w/app/a all",
            "read /w/app/b guarded",
            "write /w/app/b some",
            "write /w/app/a some",
        ],
    );
}

#[test]
fn what_is_filled_in_while_it_runs_is_not_known() {
    doubts("cat \"$F\"", "a path that is known only when it runs");
    doubts("$CMD x", "a program whose name is known only when it runs");
    doubts("eval \"$X\"", "a script that is known only when it runs");
    doubts("echo $((x + 1))", "a calculation with names, which may run what they hold");
    doubts("echo $((1 + 2)) \"$x\" $y", "");
    doubts("echo ${x@P}", "a transformation that may run what a variable holds");
    doubts("echo ${!x}", "a variable whose name is known only when it runs");
    doubts("PATH=. git diff", "PATH, which may change what the program does");
    doubts("f() { ls; }", "a function, which may stand for any program");
}

#[test]
fn a_variable_that_the_line_sets_once_is_what_it_was_set_to() {
    check("F=src/a.txt; cat \"$F\"", "reads /w/app/src/a.txt, runs cat src/a.txt");
    check("F=a && cat $F.txt", "reads /w/app/a.txt, runs cat a.txt");
    check("for f in a b; do cat \"$f\"; done", "reads /w/app/a, reads /w/app/b, runs cat a, runs cat b");
    touches("for f in src/*.rs; do wc -l \"$f\"; done", &["read /w/app/src guarded", "read /w/app/src all"]);
    touches("for f in /etc/*; do echo \"$f\"; done", &["read /etc/ guarded", "read /etc/ guarded"]);
    touches(
        "for d in a b; do for f in c d; do cat $d/$f; done; done",
        &["read /w/app/a/c all", "read /w/app/a/d all", "read /w/app/b/c all", "read /w/app/b/d all"],
    );
    touches("f=a; cd src && cat $f", &["read /w/app/src guarded", "read /w/app/src/a all"]);
    touches("f=a; (cat $f) | cat", &["read /w/app/a all"]);
    touches("for f in a b; do echo x > \"$f\"; done", &["write /w/app/a some", "write /w/app/b some"]);
    touches("f=/etc/x; cat \"$f\"", &["read /etc/x all"]);
}

#[test]
fn a_variable_that_could_hold_something_else_is_not_known() {
    for line in [
        "cat \"$f\"; f=a",
        "false && f=a; cat \"$f\"",
        "true || f=a && cat \"$f\"",
        "x && f=a || y && cat \"$f\"",
        "if x; then f=a; fi; cat \"$f\"",
        "(f=a); cat \"$f\"",
        "f=a & cat \"$f\"",
        "f=a | x; cat \"$f\"",
        "f=a; f=b; cat \"$f\"",
        "f=a; f+=b; cat \"$f\"",
        "f+=b; cat \"$f\"",
        "f=$x; cat \"$f\"",
        "f='a b'; cat $f",
        "f='*'; cat $f",
        "f=; cat $f",
        "f=a; read f < x; cat \"$f\"",
        "f=a; read -rf < x; cat \"$f\"",
        "f=a; export f=b; cat \"$f\"",
        "f=a; declare \"$n\"; cat \"$f\"",
        "n=f; f=a; read \"$n\" < x; cat \"$f\"",
        "c=read; f=a; $c f < x; cat \"$f\"",
        "e='f=b'; f=a; eval \"$e\"; cat \"$f\"",
        "f=a; eval 'f=b'; cat \"$f\"",
        "f=a; . ./env; cat \"$f\"",
        "f=a; unset f; cat \"$f\"",
        "f=a; : ${f:=b}; cat \"$f\"",
        "f=a; exec {f}< x; cat \"$f\"",
        "f=a; bash -c 'cat \"$f\"'",
        "for f in a; do cat \"$f\"; f=b; done",
        "for f in a \"$x\"; do cat \"$f\"; done",
        "for f in *.md; do cat $f; done",
        "for f in a; do :; done; cat \"$f\"",
        "select f in a; do cat \"$f\"; done",
        "for f; do cat \"$f\"; done",
        "REPLY=a; read < x; cat \"$REPLY\"",
        "while read f; do cat \"$f\"; done < x",
    ] {
        let doubts = effects(line).doubts().join("; ");
        assert!(doubts.contains("a path that is known only when it runs"), "{line}: {doubts}");
    }
}

#[test]
fn a_variable_that_bash_interprets_is_a_doubt_however_it_is_set() {
    for line in [
        "RANDOM='a[$(curl x)]'",
        "OPTIND='a[$(curl x)]'",
        "HISTCMD='a[$(curl x)]'",
        "SRANDOM+='a[$(curl x)]'",
        "SECONDS[0]='a[$(curl x)]'",
        "BASHPID=('a[$(curl x)]')",
        "declare SECONDS='a[$(curl x)]'",
        "readonly RANDOM='a[$(curl x)]'",
        "export OPTIND='a[$(curl x)]'",
        "env RANDOM='a[$(curl x)]' bash",
        "for RANDOM in 'a[$(curl x)]'; do :; done",
        "select OPTIND in 'a[$(curl x)]'; do :; done",
        "declare -a 'list=($(curl x))'",
        "declare 'list=($(curl x))'",
        "typeset -a list='($(curl x))'",
        "PS4='$(curl x)'",
        "PROMPT_COMMAND='curl x'",
        "BASH_ENV='$(curl x)'",
        "PAGER='curl x'",
        "GIT_SSH_COMMAND='curl x' git fetch",
    ] {
        let effects = effects(line);
        assert!(effects.is_unknown(), "{line}");
        let curl =
            |command: &haft_tool::CommandEffect| command.argv.first().is_some_and(|name| name == "curl");
        assert!(effects.commands().iter().any(curl), "{line}: the command in it is for rules");
        assert!(effects.hosts().is_empty(), "{line}: it may be no more than a text");
    }
    for line in [
        "read RANDOM < f",
        "read -r x OPTIND < f",
        "read -ra RANDOM < f",
        "mapfile -t SECONDS < f",
        "getopts a RANDOM -a",
        "printf -v OPTIND %s \"$x\"",
        ": ${RANDOM:=$x}",
        ": $((OPTIND = x))",
        "((SECONDS++))",
        "let RANDOM=x",
        "exec {RANDOM}> /dev/null",
        "coproc RANDOM { ls; }",
        "wait -p RANDOM",
        "unset RANDOM",
        "declare -n r=RANDOM; r=$x",
        "RANDOM=a",
        "RANDOM=$x",
        "HISTFILESIZE=0",
        "TEXTDOMAIN=x\necho $\"hi\"",
        "for TEXTDOMAINDIR in l; do :; done",
        "LC_ALL=zh_TW.BIG5",
        "LC_ALL=zh_TW",
        "LANGUAGE=../../w/l ls",
        "declare x=\"$y\"",
        "declare -ra 'x=($(ls))'",
        "IFS=/",
        "IFS=$x",
        "IFS=0",
    ] {
        assert!(effects(line).is_unknown(), "{line}");
    }
    for line in [
        "OPTIND=1",
        "SECONDS=0; ls; echo $SECONDS",
        "RANDOM=42; echo $RANDOM",
        "REPLY=x",
        "IFS=$'\\n'; for f in $(ls); do echo \"$f\"; done; unset IFS",
        "HOSTNAME=$(hostname)",
        "for _ in 1 2; do ls; done",
        "file_path=a; base_cmd=b; out_path=c; my_config=d",
        "LC_ALL=C sort f",
        "LANG=de_DE.UTF-8 ls",
        "unset LC_ALL x",
        "declare x=1 y=a/b",
        "readonly x=\"$y\"",
        "echo $\"hi\"",
    ] {
        assert_eq!(effects(line).doubts(), [""; 0], "{line}");
    }
}

#[test]
fn an_assignment_before_a_command_of_the_shell_ends_with_it() {
    check(
        "while IFS= read -r line; do echo \"$line\"; done < f",
        "reads /w/app/f, runs read -r line, runs echo …",
    );
    check("IFS=, read -r a b <<< x", "runs read -r a b");
    check("FOO=bar echo hi", "runs echo hi");
    for line in [
        "IFS= eval ls",
        "IFS=/ ls",
        "IFS=/ :",
        "PATH=. read x",
        "FOO=bar ls",
        "FOO=bar eval ls",
        "IFS=/ command read x",
    ] {
        assert!(effects(line).is_unknown(), "{line}");
    }
}

#[test]
fn what_is_exported_changes_only_the_programs_that_see_it() {
    assert_eq!(effects("export FOO=bar; echo $FOO").class(), Class::ReadOnly);
    for line in [
        "export FOO=bar; ls",
        "ls; export FOO=bar",
        "FOO=bar; export FOO; $x",
        "declare -x FOO=bar; . ./f",
        "builtin export FOO=bar; exec ls",
    ] {
        assert!(effects(line).class() > Class::ReadOnly, "{line}");
    }
}

#[test]
fn what_is_surely_a_number_may_be_calculated_with() {
    for line in [
        "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
        "i=0; while ((i < 3)); do ((i++)); done",
        "for ((i = 0, j = 9; i < j; i++, j--)); do echo $i; done",
        "for ((i = 0; i < 3; i++)); do i=$((i + 1)); done",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "for i in {1..3} $(seq 2); do echo $((i * 2)); done",
        "n=$(wc -l < f); total=$((n + 1)); [[ $total -gt 3 ]]",
        "n=$(sort f | wc -l); echo $((n / 2))",
        "t=$(date +%s); echo $((SECONDS + t))",
        "i=1; (echo $((i))); echo ${s:i:2} ${list[i]} ${list[$i]:-x}",
        "n=${#list[@]}; echo $((n - 1)) $((RANDOM % 10))",
        "i=0; i+=1; echo $((10#$i))",
        "i=0; let i++ 'j = i * 2'; echo $((j))",
        "i=$(grep -c x f); [ $i -gt 0 ] && echo $((i))",
    ] {
        assert_eq!(effects(line).doubts(), [""; 0], "{line}");
    }
    for line in [
        "echo $((i))",
        "i=x; echo $((i))",
        "i=$x; echo $((i))",
        "i=0; i=$x; echo $((i))",
        "i=0; read i < f; echo $((i))",
        "i=0; declare i=x; echo $((i))",
        "i=0; : ${i:=x}; echo $((i))",
        "i=0; unset i; echo $((i))",
        "i=0; eval \"$x\"; echo $((i))",
        "i=0; . ./f; echo $((i))",
        "i=0; i[1]=x; echo $((i))",
        "x && i=0; echo $((i))",
        "x || i=0 && echo $((i))",
        "(i=0); echo $((i))",
        "if x; then i=0; else echo $((i)); fi",
        "case x in a) i=0;; b) echo $((i));; esac",
        "i=0 & echo $((i))",
        "trap 'i=0' EXIT; echo $((i))",
        "i=0; bash -c 'echo $((i))'",
        "for i in 1 $x; do echo $((i)); done",
        "for i in $(cat f); do echo $((i)); done",
        "i=$(grep -c x f g); echo $((i))",
        "i=$(grep -cr x); echo $((i))",
        "i=0; i=x export i; echo $((i))",
        "i=0; i=x :; echo $((i))",
        "i=0; let i=x; echo $((i))",
        "let \"$x\"",
        "let i*=2",
        "i=$(wc -l f); echo $((i))",
        "i=$(wc -l < f 2>&1); echo $((i))",
        "i=0; echo $((x$i)) $((a$i))",
        "i=0; echo $((\"i\"x))",
        "i=0; echo $((i[x]))",
        "((0 && (i = 0))); echo $((i))",
        "((i = x)); echo $((i))",
        "for ((; i < 3; i++)); do ls; done",
        "for ((i = 0; i < 3; i++)); do i='a[$(b)]'; done",
        "for ((i = 0; i < 3; i++)); do read -r i; done",
        "for ((i = 0; i < 3; i++)); do case x in x) i=$y;; esac; done",
        "for ((i = 0; i < 3; i++)); do f; . f; done",
        "[[ $x -eq 1 ]]",
        "[[ -v x ]]",
        "i=0; a=([x]=1)",
    ] {
        assert!(effects(line).is_unknown(), "{line}");
    }
    // What is calculated is not what was assigned.
    doubts("f=1; ((f = 2)); cat \"$f\"", "a path that is known only when it runs");
    doubts("f=1; : $((f += 2)); cat \"$f\"", "a path that is known only when it runs");
}

#[test]
fn the_directory_is_what_pwd_prints() {
    check("x=$(pwd); cat \"$x/a\"", "reads /w/app/a, runs pwd, runs cat /w/app/a");
    check(
        "cd src && cat \"`pwd`/a\"",
        "reads /w/app/src, reads /w/app/src/a, runs cd src, runs pwd, runs cat /w/app/src/a, changes the session's cwd",
    );
    for line in [
        "cat \"$(pwd -P)/a\"",
        "cat \"$(pwd; ls)/a\"",
        "cd a; cat \"$(pwd)/a\"",
        "PWD=/etc; cat \"$(pwd)/a\"",
    ] {
        assert!(effects(line).is_unknown(), "{line}");
    }
}

#[test]
fn the_name_of_a_descriptor_is_no_file_only_for_what_it_is_for() {
    check("echo hi > /dev/stderr", "runs echo hi");
    for line in [
        "echo hi > /dev/stdout",
        "echo hi > /dev/fd/2 2>&1",
        "echo hi > /dev/tty",
        "cat /dev/stdin < f",
        "cat < /dev/fd/0",
        "ls 2>&1 > /dev/null",
        "diff <(ls) <(ls)",
    ] {
        assert_eq!(effects(line).doubts(), [""; 0], "{line}");
    }
    for line in [
        "echo hi > /dev/fd/3",
        "echo hi > /dev/fd/63",
        "cat /dev/fd/3",
        "cat /dev/stdout",
        // Opened anew, a file that was opened to be read can be written.
        "echo hi > /dev/stdin < f",
        "exec 2< f; echo hi > /dev/stderr",
        "exec 3< f; echo hi > /dev/stdout >&3",
        "echo hi 1<> f > /dev/stdout",
        "cat /proc/self/cwd/a",
        "cat /proc/thread-self/root/etc/passwd",
        "cat /proc/1/root/etc/passwd",
        "cat /proc/$$/cwd/a",
        "cat /proc/./self/environ",
        "cat /dev/../proc//self/cwd/*",
        "cd /proc/self && cat cwd/a",
        "cat /proc/self/../self/cwd/a",
    ] {
        assert!(effects(line).is_unknown(), "{line}: {}", effects(line));
    }
}

#[test]
fn a_pattern_that_may_become_an_operator_is_doubted_in_a_test() {
    for line in ["[ -e * ]", "test -f ?*", "[ ! -e [a-z]* ]", "[ -n -* ]", "test *", "[ -v a* ]"] {
        assert!(effects(line).is_unknown(), "{line}");
    }
    for line in ["[ -e ./* ]", "[ -e src/*.rs ]", "[ -f a* ]", "[[ -e * ]]", "[[ $x == *.rs ]]"] {
        assert_eq!(effects(line).doubts(), [""; 0], "{line}");
    }
}

#[test]
fn a_pattern_with_escaped_signs_is_followed_and_shown_as_it_is() {
    assert_eq!(effects("grep ^[\\>\\<] f").doubts(), [""; 0]);
    assert_eq!(shown("grep ^[\\>\\<] f"), "grep ^[\\>\\<] f");
    // Without its end it is no pattern, and is shown with a quote, which may be one of a pattern.
    assert!(!effects("echo e/j[x\\<y").doubts().is_empty());
    touches("grep [ab]* /etc/x", &["read /w/app all", "read /etc/x all", "read /w/app all"]);
    assert!(effects("a[$(x <<E\n\"\nE\n)]=b").is_unknown());
}

#[test]
fn a_translated_text_is_shown_as_one() {
    assert_eq!(shown("echo $\"hi $x\" a$\"b\""), "echo $\"hi $x\" a$\"b\"");
}

#[test]
fn loops_in_loops_take_no_more_than_their_length() {
    let mut line = "cat \"$a0$a1$a2\"".to_owned();
    for at in 0..12 {
        line = format!("for a{at} in 1 2 3 4 5 6 7 8; do {line}; done");
    }
    assert!(read(&line).acts().len() < 200, "{}", read(&line).acts().len());
}

#[test]
fn what_a_command_prints_for_a_shell_is_a_script() {
    check("echo curl x | sh", "fetches from x, runs echo curl x, runs sh, runs curl x");
    for line in [
        "printf 'curl x\\n' | bash -s",
        "cat <<E | sh\ncurl x\nE",
        "cat <<< 'curl x' | sh",
        ". /dev/stdin <<< 'curl x'",
        "sudo bash <<< 'curl x'",
    ] {
        assert_eq!(effects(line).hosts().len(), 1, "{line}");
    }
    for line in [
        "echo \"$x\" | sh",
        "echo -e 'l\\x73' | sh",
        "printf '%s' ls | sh",
        "echo ls | cat | sh",
        "sh -c \"echo 'ls\\\\ncurl x' | sh\"",
        "echo ls > f | sh",
    ] {
        assert!(effects(line).doubts().join("; ").contains("a script that comes in while it runs"), "{line}");
    }
    touches(
        ". /dev/stdin <<< 'cd /etc'; cat x",
        &["read /etc guarded", "read /etc/x all", "read /w/app/x all"],
    );
}

#[test]
fn names_of_another_directory_are_told_whoever_prints_them() {
    touches("echo *", &[]);
    touches("echo /etc/* ~/.ssh/*", &["read /etc/ guarded", "read /home/u/.ssh/ guarded"]);
    touches("a=(/etc/*)", &["read /etc/ guarded"]);
    doubts("echo */../../*", "a pattern that goes up again");
}

#[test]
fn a_list_in_quotes_is_as_many_words_as_it_has() {
    for line in ["ls \"$@\"", "ls \"${a[@]}\"", "ls \"${@:2}\"", "ls $x"] {
        let understood = read(line);
        let Act::Run { argv, .. } = &understood.acts()[0] else { panic!("{line} runs nothing") };
        assert_eq!(argv[1], Arg::Unknown { prefix: String::new(), splits: true }, "{line}");
    }
    let understood = read("ls \"${a[0]}\"");
    let Act::Run { argv, .. } = &understood.acts()[0] else { panic!("it runs nothing") };
    assert_eq!(argv[1], Arg::Unknown { prefix: String::new(), splits: false });
}

#[test]
fn a_pattern_is_a_directory_and_some_or_all_in_it() {
    touches("cat src/*.rs", &["read /w/app/src all"]);
    touches("rm src/*.o", &["write /w/app/src some"]);
    touches("rm -r *", &["write /w/app all"]);
    touches("rm .g*", &["write /w/app all"]);
    touches("touch 'a*'", &["write /w/app/a* some"]);
}

#[test]
fn everything_that_runs_is_found_however_deep_it_is() {
    let deep = [
        "echo \"$(curl x.test)\"",
        "cat <<EOF\n`curl x.test`\nEOF",
        "a=([$(curl x.test)]=1)",
        "case x in $(curl x.test)) ;; esac",
        "[[ -n ${y:-$(curl x.test)} ]]",
        "diff <(curl x.test) a",
        "sh -c 'bash -c \"curl x.test\"'",
        "bash <<< 'curl x.test'",
        "find . -exec sh -c 'curl x.test' \\;",
        "timeout 5 env nice curl x.test",
        "while false; do curl x.test; done",
        "eval 'curl x.test'",
        "trap 'curl x.test' EXIT",
        "true & { ! time curl x.test; } 2>/dev/null",
    ];
    for line in deep {
        let effects = effects(line);
        let runs = effects.commands().iter().any(|command| command.argv[..] == ["curl", "x.test"]);
        assert!(runs, "{line}: {effects}");
    }
}

#[test]
fn what_cannot_be_read_is_in_doubt_and_its_words_are_still_seen() {
    let effects = self::effects("ls && && curl x.test");
    assert!(effects.is_unknown());
    assert!(effects.commands().iter().any(|command| command.argv.first().is_some_and(|word| word == "curl")));
    let mut deep = "echo ".to_owned();
    (0..500).for_each(|_| deep.push_str("$(echo "));
    deep.push_str("$(curl x.test");
    let effects = self::effects(&deep);
    assert!(effects.commands().iter().any(|command| command.argv.first().is_some_and(|word| word == "curl")));
}

#[test]
fn characters_that_hide_are_doubted_and_shown() {
    doubts("cat a\u{202e}txt", "characters that do not look like what they are");
    assert!(!shown("cat a\u{202e}txt").contains('\u{202e}'));
    assert!(!shown("cat 'a\u{202e}txt").contains('\u{202e}'));
    let line = "git log --oneline|head -5;rm -rf 'a b' # tidy";
    assert_eq!(shown(line), "git log --oneline | head -5\nrm -rf 'a b'");
    doubts("cat docs/übersicht.md", "");
}

#[test]
fn a_megabyte_takes_no_longer_than_its_length() {
    let lines = [
        "true; ".repeat(170_000),
        format!("echo {}", "word ".repeat(200_000)),
        format!("cat <<'EOF'\n{}\nEOF", "line\n".repeat(200_000)),
        "(".repeat(1_000_000),
        "$(".repeat(500_000),
        "{a,".repeat(330_000),
        "cd a; ".repeat(170_000),
        (0..60_000).map(|at| format!("a{at}=1;")).collect::<String>() + &"x && y; (z); ".repeat(30_000),
        (0..40_000).map(|at| format!("a{at}=1;")).collect::<String>()
            + &"echo $((a1 + a2)) w; ".repeat(20_000),
        format!("echo $(({}1))", "1 + ".repeat(200_000)),
        format!("n=0; echo $(({}1))", "n + ".repeat(200_000)),
        "RANDOM='".repeat(100_000),
        format!("cat /{}x", "a/../".repeat(200_000)),
    ];
    for line in lines {
        let start = std::time::Instant::now();
        let _ = effects(&line);
        // Twenty times what a release build takes.
        assert!(start.elapsed().as_secs() < 20, "{}… took {:?}", &line[..20], start.elapsed());
    }
}

#[test]
fn an_empty_process_substitution_is_nothing_and_another_is_a_pipe() {
    check("cat <(ls)", "runs ls, runs cat /dev/fd/pipe");
    assert!(effects("cat x<()").is_unknown());
}

#[test]
fn an_empty_alternative_is_no_word_unless_it_was_quoted() {
    check("{cat,,a}", "reads /w/app/a, runs cat a");
    check("echo {,''}", "runs echo ");
}

#[test]
fn modes_and_owners_of_a_whole_home_or_workspace_are_lost() {
    for line in [
        "chmod -R 777 .",
        "chmod u+x -R ./",
        "chmod --recursive 777 *",
        "chown -R bob /w",
        "chown -Rh bob ~",
        "chgrp -R staff /home",
        "setfacl -R -m u:bob:rwx $HOME",
        "chattr -R +i /",
        "chmod -R 0 \"$x\"",
        "cd src && chmod -R 777 ..",
        "chown -R bob /etc",
    ] {
        assert_eq!(effects(line).class(), Class::Destructive, "{line}");
    }
    for line in
        ["chmod 755 .", "chmod -R 755 src", "chown -R bob /srv/data", "chmod +x a", "chmod -R 755 ./src/*"]
    {
        assert_eq!(effects(line).class(), Class::Write, "{line}");
    }
}

#[test]
fn what_may_stop_the_machine_is_told() {
    let stops = |line: &str| effects(line).state().iter().any(|state| state.key == MACHINE);
    for line in [
        "reboot",
        "sudo shutdown -h now",
        "init 6",
        "systemctl -f poweroff",
        "kill -9 -1",
        ":(){ :|:& };:",
        "sh -c halt",
    ] {
        assert!(stops(line), "{line}");
    }
    for line in [
        "shutdown --help",
        "shutdown -c",
        "init q",
        "systemctl status",
        "kill -1 77",
        "kill -9 77",
        "kill -l 1",
    ] {
        assert!(!stops(line), "{line}");
    }
}

#[test]
fn a_launcher_is_what_its_directory_makes_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let cwd = directory.path().canonicalize().unwrap();
    let base = PathBase { cwd: cwd.clone(), home: None, workspace: Some(cwd.clone()) };
    let free = |line: &str| {
        let effects = understand(line, &base).effects();
        effects.is_read_only() && effects.paths().iter().all(|effect| effect.path.starts_with(&cwd))
    };
    for (line, name) in [
        ("cargo --version", "rust-toolchain.toml"),
        ("rustc -V", "rust-toolchain"),
        ("mvn --version", ".mvn"),
        ("dotnet --version", "global.json"),
        ("composer --version", "composer.json"),
        ("gradle --version", "gradle.properties"),
        ("node --version", ".tool-versions"),
        ("python3 -V", ".python-version"),
        ("ruby -v", "mise.toml"),
        ("python3 -m json.tool a.json", "json"),
        ("python3 -m json.tool a.json", "argparse.py"),
    ] {
        assert!(free(line), "{line}");
        std::fs::write(cwd.join(name), "").unwrap();
        assert!(!free(line), "{line} beside {name}");
        assert!(!free(&format!("timeout 5 {line}")), "{line} beside {name}, in a wrapper");
        std::fs::remove_file(cwd.join(name)).unwrap();
        assert!(!free(&format!("cd $x && {line}")), "{line} somewhere");
        let elsewhere = effects(line).paths().iter().any(|effect| !effect.path.starts_with("/w/app"));
        assert!(elsewhere || line.starts_with("python3 -m"), "{line} where nobody looked");
    }
}

const OTHER_REPOSITORY: &str = "git in another directory, where another repository may say what it runs";

/// A workspace with a repository, `sub` in it, `nested` with a repository of its own, and `bare` that is one.
fn workspace() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let directories =
        [".git", "sub/deep", "nested/.git", "nested/src", "bare/objects", "bare/refs", "bare/work"];
    directories.iter().for_each(|directory| fs::create_dir_all(root.join(directory)).unwrap());
    fs::write(root.join("bare/HEAD"), "ref: refs/heads/main").unwrap();
    symlink("nested", root.join("link")).unwrap();
    (place, root)
}

/// The doubts about a line of a session in a directory of that workspace.
#[track_caller]
fn doubts_at(cwd: &str, line: &str, expected: &str) {
    let (_place, root) = workspace();
    let line = line.replace("ROOT", root.to_str().unwrap());
    let base = PathBase { cwd: root.join(cwd), home: None, workspace: Some(root) };
    assert_eq!(understand(&line, &base).effects().doubts().join("; "), expected, "{line} in {cwd:?}");
}

#[test]
fn git_is_free_where_it_finds_the_repository_of_the_workspace() {
    for line in [
        "git status",
        "git -C . status",
        "git -C ROOT log",
        "git -C sub status",
        "git -C sub -C deep status",
        "git -C sub/deep/.. status",
        "cd sub && git log",
        "cd sub 2>/dev/null && git log | head",
        "(cd sub/deep; git diff)",
        "env -C sub git status",
    ] {
        doubts_at("", line, "");
    }
    doubts_at("sub", "git status", "");
    doubts_at("sub", "git -C .. status", "");
}

#[test]
fn git_in_another_repository_is_in_doubt_however_it_gets_there() {
    for line in [
        "git -C nested status",
        "git -C nested/src status",
        "git --no-pager -C nested status",
        "git -C sub -C ../nested status",
        "git -C link status",
        "git -C bare/work log",
        "git -C bare log",
        "git -C missing status",
        "git -C .. status",
        "git -C .git log",
        "cd nested && git log",
        "cd nested/src; git status",
        "env -C nested git status",
        "find nested -execdir git status \\;",
        "bash -c 'git -C nested status'",
        "mkdir sub/x; git -C sub status",
        "echo x > sub/HEAD; git -C sub log",
    ] {
        let (_place, root) = workspace();
        let base = PathBase { cwd: root.clone(), home: None, workspace: Some(root) };
        let effects = understand(line, &base).effects();
        assert!(effects.doubts().iter().any(|doubt| doubt == OTHER_REPOSITORY), "{line}: {effects}");
    }
    doubts_at("nested", "git status", OTHER_REPOSITORY);
    doubts_at("nested/src", "git log", OTHER_REPOSITORY);
    doubts_at("bare/work", "git log", OTHER_REPOSITORY);
    doubts_at("nested", "git -C .. status", "");
}

#[test]
fn places_that_a_program_knows_are_declared() {
    touches("git config a.b c", &["write /w/app/.git/config some"]);
    touches("git config --get a.b", &[]);
    touches("npm config set a b", &["write /home/u/.npmrc some", "write /w/app/.npmrc some"]);
    touches(
        "cd sub && env git remote add x ext::u",
        &["read /w/app/sub guarded", "write /w/app/sub/.git/config some"],
    );
    touches("bash -c 'go env -w A=b'", &["write /home/u/.config/go/env some"]);
    let (_place, root) = workspace();
    let base = PathBase { cwd: root.join("sub"), home: None, workspace: Some(root.clone()) };
    for line in ["git config a.b c", "git -C deep config a.b c"] {
        let effects = understand(line, &base).effects();
        let config = root.join(".git/config");
        assert!(effects.paths().iter().any(|effect| effect.path == config), "{line}: {effects}");
    }
}

#[test]
fn a_page_of_the_manual_is_asked_for_by_two_names() {
    for line in ["git log --help", "git log --hel", "git log -3 --help", "git lg --help"] {
        let effects = effects(line);
        let help = ["git", "help", line.split(' ').nth(1).unwrap()];
        let command = effects.commands().iter().find(|command| command.argv == help);
        assert_eq!(command.map(|command| command.class), Some(Class::Write), "{line}: {effects}");
    }
    check("git log -h", "runs git log -h");
    check("git log -- --help", "reads /w/app/--help, runs git log -- --help");
}

#[test]
fn texts_of_words_that_are_not_known_are_mentioned() {
    for line in [
        "prog $OLDPWD/.env",
        "prog ${PWD%/}/.env",
        "prog ~+/.env",
        "prog \"${x:-.env}\"",
        "prog --x=$(printf .env)",
        "prog `echo .env`",
        "a=(.env); prog ${a[0]}",
        "x=${y:-.env}; prog $x",
        "set -- .env; prog \"$1\"",
        "export F=.env; prog",
        "declare -r F=.env; prog $F",
        "sh -c 'prog \"$0\"' .env",
        "bash -c 'prog \"$@\"' _ .env",
        "printf .env | xargs prog",
        "echo a .env | xargs -n1 prog -x",
    ] {
        let effects = effects(line);
        let names_it = |mention: &haft_tool::Mention| mention.path.ends_with(".env");
        assert!(effects.mentions().iter().any(names_it), "{line}: {:?}", effects.mentions());
    }
    for line in ["set -- .env; ls \"$1\"", "a=(.env); cat a.txt; rm \"${a[0]}\""] {
        let names_it = |mention: &haft_tool::Mention| mention.path.ends_with(".env");
        assert!(!effects(line).mentions().iter().any(names_it), "{line}");
    }
}
