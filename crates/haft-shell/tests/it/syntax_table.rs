//! Texts, and the trees that they are.

use haft_shell::syntax::{odd_characters, outline, parse, salvage};

/// A file of texts, one a paragraph, becomes a list of texts with their outlines.
fn table(texts: &[&str]) -> String {
    let line = |text: &&str| {
        let parsed = parse(text);
        let error = parsed.error.map(|error| format!("\n  ! {} {}", error.at, error.what));
        format!("{}\n  {}{}\n", text.escape_debug(), outline(&parsed.script), error.unwrap_or_default())
    };
    texts.iter().map(line).collect()
}

#[test]
fn words_and_quotes() {
    insta::assert_snapshot!(table(&[
        "git diff --stat | head -20",
        "echo 'a b' \"c d\" e\\ f $'g\\th' $\"i\"",
        "echo 'a'\"b\"c\\d",
        "echo \"$x y\"'z'",
        "echo '' \"\" $x''",
        "echo \"a\\$b\\c\\\"\\`\"",
        "echo a\\\nb \"c\\\nd\" 'e\\\nf'",
        "echo $'\\101\\x42\\u0043\\U00000044\\cA\\e\\'\\q'",
        "echo $'\\xff' $'a\\0b'",
        "echo a#b #c",
        "echo $ a$ $% \"$\" $'' \"a$\"",
        "echo ~ ~root/x ~+ a~ a=~ a=b:~/c ~\"x\" --a=~",
        "echo *.c ?[a-z]x [!]a] [[:alpha:]] [ a] [\"a\"] a[",
        "echo {a,b}c {1..3} {} {a} {a,{b,c}} \\{a,b} \"{a,b}\" {a,b\"c,d\"} {1..$x} x{a {a,b}}",
        "echo {a}b,c} {{a,b}..c}",
        "git\u{a0}diff \u{202e}x \u{feff}y\r",
        "\\ls 'rm' \"-rf\"",
    ]));
}

#[test]
fn what_runs_is_found_wherever_it_stands() {
    insta::assert_snapshot!(table(&[
        "echo $(a) `b` \"$(c)\" \"`d`\"",
        "echo \"$(a \"$(b '$(no)')\")\"",
        "echo `a \\`b \\\\\\`c\\\\\\`\\``",
        "echo \"`a \\\"b c\\\"`\" `a \\\"b`",
        "echo $(a; b) $(a\nb\n) $(#c\na) $()",
        "echo $(case x in x) a;; esac) $(a # )\n)",
        "echo ${x} ${x:-$(a)} \"${x:-$(a)}\" ${x:-'$(no)'} ${x#`a`} ${x/$(a)/$(b)} ${x:$(a):1} ${x[$(a)]} ${x@P} ${!x} ${#x} ${!x@}",
        "echo $((1 + $(a))) $[$(a)] $((x[$(a)]))",
        "(( $(a) )) && let x=$(b)",
        "echo <(a) x>(b) < <(c) > >(d)",
        "x=$(a) y+=`b` z[$(c)]=$(d) w=(1 $(e) [$(f)]=2) cmd",
        "declare x=($(a) b) y=$(c)",
        "[[ $(a) == $(b) && -f `c` || x =~ ($(d)|e f) ]]",
        "[[ x == @(a|$(b)) ]]",
        "case $(a) in $(b)|c) d;; esac",
        "for x in $(a); do $(b); done",
        "for ((i=$(a);;)); do b; done",
        "select x in $(a); do b; done",
        "cat <<E\n$(a) `b` ${x:-$(c)} \\$(no) \"$(d)\"\nE",
        "cat <<'E'\n$(no) \\\nE",
        "cat <<< $(a)\"$(b)\"",
        "f() { a; } > $(b); function g { c; }; function h () ( d )",
        "echo {a,$(b)} ~$(c)",
        "$(a) b",
        "! time -p a | b |& c",
    ]));
}

#[test]
fn commands_and_lists() {
    insta::assert_snapshot!(table(&[
        "a; b & c\nd && e || f |\ng",
        "a &&\\\n b &\\\n& c",
        "if a; then b; elif c; then d; else e; fi > f",
        "if (a) then { b; } fi",
        "while a; do b; done; until c; do d; done",
        "for x; do a; done; for x in; do a; done; for x in 1 2\ndo a; done; for x in 1; { a; }",
        "case x in a|b) c;& (d) e;;& f) ;; *) g; esac",
        "case x in (esac) a;; esac",
        "(a; b) 2>&1; { a; b; }",
        "((1)); ( (a) ); ((a) ; b); (( (1) ))",
        "echo if then { } ! [[ time",
        "\\if a; a=1 if b; >x if c",
        "i\\\nf a; then b; f\\\ni",
        "time; !; ! ! a",
        "coproc a b; coproc N { a; }; !(a)",
        "a | time b",
        "{a; echo }",
        "a=1 b+=2 c[x y]=3 d=(1 2\n3) e= cmd f=g",
        "a[1] b",
    ]));
}

#[test]
fn redirections_and_here_documents() {
    insta::assert_snapshot!(table(&[
        "a <b >c >>d 2>e &>f &>>g >|h <>i 2>&1 <&3 >&- 3>&4- >&file <<<text",
        "a 2 >b 2>c 22222222222>d {fd}>e {fd} >f {f}x>g x2>h",
        "a >&-b",
        "a >& $x <& $y",
        ">a; <b c; >d e=f g",
        "cat <<A <<-B; echo c\na\nA\n\tb\n\tB\nd",
        "cat <<A && cat <<B\na\nA\nb\nB",
        "while cat <<A; do\na\nA\nb; done",
        "x=$(cat <<A\na\nA\n)",
        "cat <<A\nx\\\ny\nA",
        "cat <<A\nA\\\nA\nA",
        "cat <<\"a b\"\n$x\na b\n",
    ]));
}

#[test]
fn what_is_wrong_is_said_and_what_came_before_is_kept() {
    insta::assert_snapshot!(table(&[
        "a; b\nc; fi",
        "a 'b",
        "a \"b $(c)",
        "a `b",
        "a $(b; c",
        "a ${b",
        "a ${ b; }",
        "a && ",
        "a ;; b",
        "a | | b",
        "( a",
        "{ a; b",
        "if a; then b",
        "for 1 in a; do b; done",
        "case x in a) b",
        "cat <<E\n$(a)",
        "cat <<E",
        "x=$(cat <<E\na\nE; b\n)",
        "echo \"${x:-'$(a)'}\"",
        "echo $(( '$(a)' ))",
        "echo \"${x:-\"$`a`\"}\"",
        "echo $((a) )",
        "echo a\\",
        "a\0b",
        "echo !(a)",
        "[[ a b ]]",
        "a | ! b",
        "{ a; } >x }",
        "a (b)",
        "a=(1)b c",
        "echo $(a=(\\$x))",
        "[[ a\n]]",
        "case x in x) ! ;; esac",
    ]));
}

/// Each of these once hid something from us, or was taken for what it is not; random tokens found them.
#[test]
fn what_bash_reads_strangely_is_not_followed() {
    insta::assert_snapshot!(table(&[
        "a >&'$(b)'",
        "a >&\\$x",
        "a <&\"b c\"",
        "a >&'plain' <&'3'",
        "a >2>b",
        "a >{fd}>b",
        "a >&2>b",
        "echo ${a[b}c]}",
        "echo $(time (a))",
        "echo $(\ntime a)",
        "[[ 1<2 ]]",
        "[[ 1 <2 ]]",
        "for ((a; b; $(c; d))); do e; done",
        "((${x:=a)b}))",
        "echo $((${x#))}))",
        "a=(1)b c",
        "a=1 >b c[d; e]=f g",
        "a=1 >b c=(d) e",
        ">b a=1 c[d]=(e) f",
        "&>a &>>b=c d",
        "a ~=~ ~b=c",
        "for a; { b; }",
        "[[ a =~ (b$(case c in d) e;; esac)) ]]",
    ]));
}

#[test]
fn characters_that_cannot_be_seen_are_reported_with_their_places() {
    assert_eq!(odd_characters("a b\tc\nd é €"), []);
    assert_eq!(odd_characters("a\u{a0}b\u{202e}\r"), [(1, '\u{a0}'), (4, '\u{202e}'), (7, '\r')]);
    for letter in ['\u{2003}', '\u{2028}', '\u{feff}', '\u{200b}', '\u{7f}', '\u{1b}', '\u{e0041}'] {
        assert_eq!(odd_characters(&format!("x{letter}")), [(1, letter)]);
    }
}

#[test]
fn words_are_salvaged_from_what_could_not_be_read() {
    let check = |text: &str, program: &str| {
        let found = salvage(text);
        assert!(found.iter().any(|run| run[0] == program), "{text:?}: {found:?}");
    };
    check("fi; curl x", "curl");
    check("fi; FOO=1 c\"ur\"l x", "curl");
    check("\"$(curl x", "curl");
    check("'; curl x", "curl");
    check("eval \"curl x", "curl");
    check("if then curl", "curl");
    check("cu\\\nrl x", "curl");
    assert_eq!(salvage("a 'b' | c"), [vec!["a", "b"], vec!["c"], vec!["a"], vec!["b"], vec!["c"]]);
}
