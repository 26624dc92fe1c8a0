//! No text is too long, too deep or too strange.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use haft_shell::{syntax::*, understand};
use haft_tool::{Class, PathBase};
use proptest::prelude::*;

/// A megabyte, or what takes as long without optimisation.
const LONG: usize = if cfg!(debug_assertions) { 50_000 } else { 1_000_000 };

/// Reads a long text in time, and what is left of it as well.
#[track_caller]
fn check_long(unit: &str, is_read: bool) {
    let text = unit.repeat(LONG / unit.len());
    let start = Instant::now();
    let parsed = parse(&text);
    if let Some(error) = &parsed.error {
        salvage(&text[error.at..]);
    }
    render(&parsed.script);
    gist(&text);
    let took = start.elapsed();
    // Generous, since a machine may have other work: what is not linear takes minutes.
    assert!(took < Duration::from_secs(10), "{unit:?} took {took:?}");
    assert_eq!(parsed.error.is_none(), is_read, "{unit:?}: {:?}", parsed.error);
}

#[test]
fn a_megabyte_of_anything_flat_is_read() {
    for unit in [
        "a; ", "a ", "a", "'a'", "\"$x\"", "a|", "$(a)", "`a`", "{a,b}", "\\\n", "#", "a=(b) ", ">x ", "é",
        "\u{202e}", "~:",
    ] {
        let text = if unit == "a|" { "a|b;" } else { unit };
        check_long(text, true);
    }
    for unit in [
        "[a", "*", "[", "a[b]=c ", "$((1))", "${x:-y}", "[[ a ]];", "\\a", "$", "{a} ", "! ", "a&", "x=~:",
        "$'a'", "((1));",
    ] {
        check_long(unit, true);
    }
    check_long("cat <<E\nbody $(a)\nE\n", true);
}

#[test]
fn a_line_of_many_different_doubts_is_understood_in_time() {
    let text: String = (0..LONG / 10).map(|number| format!("V{number}=1 c; ")).collect();
    let start = Instant::now();
    assert_eq!(gist(&text).0, Class::Write);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "took {took:?}");
}

#[test]
fn a_megabyte_of_anything_that_only_opens_ends_with_an_error() {
    for unit in [
        "(",
        "((",
        "( ",
        "$(",
        "$((",
        "${x:-",
        "\"$(",
        "{ ",
        "[[ ",
        "[[ ( ",
        "case ",
        "case x in a) ",
        "if ",
        "while ",
        "`\\",
        "<(",
        "a[",
        "a[$(",
        "f() { ",
        "for x in $(",
        "{a,",
        "((a) ",
        "(($( ",
        "cat <<E\n$(",
        "\"${x:-\"",
        "$[",
        "!(",
        "[[ a =~ (",
        "x=($(",
        "coproc ",
        "${a[",
        "if a; then ",
    ] {
        check_long(unit, false);
    }
}

#[test]
fn one_long_here_document_and_one_long_word_are_read() {
    let body = "line of text with $x and `a`\n".repeat(30_000);
    assert_eq!(parse(&format!("cat <<E\n{body}E\n")).error, None);
    assert_eq!(parse(&format!("cat <<'E'\n{body}E\n")).error, None);
    assert_eq!(parse(&format!("echo '{body}' \"{body}\"")).error, None);
}

#[test]
fn nesting_ends_with_an_error_that_keeps_what_was_read() {
    let parsed = parse(&format!("first; {}second", "$(".repeat(200)));
    assert!(parsed.error.is_some_and(|error| error.what.contains("nested deeper")));
    assert!(outline(&parsed.script).starts_with("(first)"));
    assert_eq!(parse(&format!("{}a{}", "( ".repeat(40), " )".repeat(40))).error, None);
}

#[test]
fn many_suffixes_of_sed_do_not_multiply_its_paths() {
    let text = format!("sed {} s/a/b/ file", "-i.old ".repeat(200));
    let base = PathBase { cwd: "/w/app".into(), home: None, workspace: None };
    assert!(understand(&text, &base).effects().paths().len() < 1000);
}

/// Strings of what shells find special.
fn shellish() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "b",
        " ",
        "\n",
        ";",
        "&",
        "|",
        "(",
        ")",
        "<",
        ">",
        "'",
        "\"",
        "`",
        "$",
        "\\",
        "{",
        "}",
        "[",
        "]",
        "*",
        "?",
        "~",
        "#",
        "!",
        "=",
        ",",
        "..",
        "if ",
        "then ",
        "fi ",
        "case ",
        " in ",
        "esac",
        "for ",
        "do ",
        "done",
        "[[ ",
        " ]]",
        "((",
        "))",
        "<<E\n",
        "\nE\n",
        "<<-",
        "${x:-",
        "$(",
        "$'",
        "function ",
        "x=",
        "x[",
        "time ",
        "\u{202e}",
        "é",
        "\0",
        "\t",
        "\r",
        "@(",
        "coproc ",
        "1..3",
        "2>",
        "&>",
    ];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..40)
        .prop_map(|pieces| pieces.concat())
}

/// Reads and writes a text, and looks at whatever can be checked without a shell.
fn check_any(text: &str) {
    let parsed = parse(text);
    if let Some(error) = &parsed.error {
        assert!(text.is_char_boundary(error.at) && !error.what.is_empty(), "{error:?}");
        salvage(&text[error.at..]);
    }
    let shown = render(&parsed.script);
    assert_eq!(odd_characters(&shown), [], "{shown:?}");
    let whole = outline(&parsed.script);
    if parsed.error.is_none() && !whole.contains("(odd ") && odd_characters(text).is_empty() {
        let again = parse(&shown);
        assert_eq!(again.error, None, "{text:?} is shown as {shown:?}");
        assert_eq!(outline(&again.script), whole, "{text:?} is shown as {shown:?}");
        assert_eq!(gist(&shown), gist(text), "{text:?} is shown as {shown:?}");
    } else {
        gist(text);
    }
}

/// What a text amounts to, and the commands that it runs.
fn gist(text: &str) -> (Class, BTreeSet<Vec<String>>) {
    let effects =
        understand(text, &PathBase { cwd: "/w/app".into(), home: Some("/home/u".into()), workspace: None })
            .effects();
    (effects.class(), effects.commands().iter().map(|command| command.argv.clone()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: crate::kit::cases(500) as u32, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_and_shown(text in any::<String>()) {
        check_any(&text);
    }

    #[test]
    fn any_pieces_of_shell_are_read_and_shown(text in shellish()) {
        check_any(&text);
    }

    #[test]
    fn any_random_script_is_shown_as_what_it_is(seed in any::<u64>()) {
        check_any(&crate::kit::Writer::new(seed).script());
        check_any(&crate::kit::Writer::new(seed).broken_script());
    }
}
