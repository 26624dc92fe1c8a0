//! What a person is shown.

use haft_shell::syntax::{parse, render};

#[track_caller]
fn check(text: &str, shown: &str) {
    assert_eq!(render(&parse(text).script), shown);
}

#[test]
fn quotes_are_written_in_one_way() {
    check("a  b\\ c 'd'\"e\" $'f' \"it's\" 'a$'\\''b'", "a b' 'c 'de' 'f' \"it's\" 'a$'\\''b'");
    check("echo \"a $x\"y${x}z ${10} $1", "echo \"a $x\"y${x}z ${10} $1");
    check("echo `a \\`b\\`` $(  (c) )", "echo $(a $(b)) $( (c))");
    check("echo {a,'b'} {1..3} ~/x *.[ch]", "echo {a,'b'} {1..3} ~/x *.[ch]");
}

#[test]
fn what_cannot_be_seen_is_written_as_an_escape() {
    check("git\u{a0}diff", "git$'\\u00a0'diff");
    check("echo '\u{202e}a' \"$x\u{1b}[2J\"", "echo $'\\u202ea' \"$x\"$'\\x1b[2J'");
    check("cat <<E\na\u{202e}\nE", "cat <<< $'a\\u202e\\n'");
    check("ls\r", "ls$'\\r'");
    check("echo ${x:-\u{202e}}", "echo ${x:-\\u{202e}}");
}

#[test]
fn each_item_has_a_line_and_nothing_is_left_out() {
    check("a;b&c\n\nd # no\n", "a\nb &\nc\nd");
    check("if a;then b;else c;fi>d", "if a; then b; else c; fi > d");
    check("until a\ndo b\ndone", "until a; do b; done");
    check("case x in a|b)c;&esac", "case x in (a | b) c; ;& esac");
    check("f(){ a; }", "function f () { a; }");
    check("a 2>&1 >>b <c|&d", "a 2>&1 >> b < c 2>&1 | d");
    check("a >(b) <(c)", "a >(b) <(c)");
    check("x=1 y=(2 3) z[4]+=5 a", "x=1 y=( 2 3 ) z[4]+=5 a");
    check(">a if b", "> a if b");
    check("a `time b`; (time c)", "a $(! ! time b)\n(time c)");
}

#[test]
fn here_documents_keep_their_text_and_get_an_end_that_is_not_in_it() {
    check("cat <<'X' | b\n$x\nX\nc", "cat <<'EOF' | b\n$x\nEOF\nc");
    check("cat <<X\n$x \\$y\nEOF\nX", "cat <<EOF_\n$x \\$y\nEOF\nEOF_");
    check("(cat <<X)\na\nX", "(cat <<'EOF';\na\nEOF\n)");
}
