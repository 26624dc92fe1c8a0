//! What an edit does, as text. The list of names is the specification.

use std::{collections::BTreeMap, fs, io::BufRead};

use proptest::prelude::*;
use serde::Deserialize;

use super::{
    matching::{Edited, Loosening, Refused, edit},
    view::Rules,
};

#[track_caller]
fn check(text: &str, old: &str, new: &str, expected: &str) {
    let edited = edit(text, &[], old, new, false).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(edited.text, expected);
}

#[track_caller]
fn check_loosened(text: &str, old: &str, new: &str, expected: &str, loosening: Loosening) {
    check(text, old, new, expected);
    assert_eq!(edit(text, &[], old, new, false).unwrap().loosened, Some(loosening));
}

#[track_caller]
fn check_refused(text: &str, old: &str, new: &str, message: &str) {
    let refused = edit(text, &[], old, new, false).expect_err("a refusal").to_string();
    assert!(refused.contains(message), "{refused}");
}

const NOT_THERE: &str = "does not occur";

#[test]
fn a_passage_is_replaced_where_it_stands() {
    check("one\ntwo\nthree\n", "two", "2", "one\n2\nthree\n");
    check("one\ntwo\nthree\n", "one\ntwo\n", "", "three\n");
    check("a", "a", "b", "b");
    check("x = \"ä\";", "ä", "ö", "x = \"ö\";");
    assert!(edit("one two", &[], "one", "1", false).unwrap().loosened.is_none());
}

#[test]
fn all_places_are_replaced_when_asked() {
    let Edited { text, places, loosened } = edit("a\nb\na\nb a\n", &[], "a", "x\ny", true).unwrap();
    assert_eq!(text, "x\ny\nb\nx\ny\nb x\ny\n");
    assert_eq!(places, [1, 4, 6]);
    assert_eq!(loosened, None);
    let edited = edit("  a  \n  b\n  a\n  b\n", &[], "a\nb", "c\nb", true).unwrap();
    assert_eq!(edited.text, "  c  \n  b\n  c\n  b\n");
    assert_eq!(edited.places, [1, 3]);
    // A line end between two places belongs to both.
    assert_eq!(edit("\ta\n\ta\n\ta\n", &[], "    a", "    b", true).unwrap().text, "\tb\n\tb\n\tb\n");
}

#[test]
fn several_places_are_refused() {
    check_refused("a\nb\na\n", "a", "c", "occurs 2 times (lines 1, 3); include a neighbouring line");
    check_refused(&"a\n".repeat(50), "a", "c", "occurs 50 times (lines 1, 2, 3");
    check_refused(&"a\n".repeat(50), "a", "c", "20 and 30 more)");
    check_refused("aaa", "aa", "b", "occurs 2 times (lines 1, 1)");
    check_refused("  a\n  b\n\n    a\n    b\n", "a\nb", "c", "(lines 1, 4)");
    check_refused("“a”\n‘x’\n„a”\n", "\"a\"", "c", "(lines 1, 3)");
}

#[test]
fn what_changes_nothing_is_refused() {
    check_refused("a", "a", "a", "nothing would change");
    check_refused("a", "", "b", "use Write");
    check_refused("a\r\nb\r\n", "a\r\nb", "a\nb", "nothing would change");
}

#[test]
fn what_is_only_nearly_there_is_refused_and_shown() {
    let text = "fn one() {}\n\nfn two() {\n    let total = 41;\n}\n";
    let refused = edit(text, &[], "fn two() {\n    let total = 42;\n}", "x", false).unwrap_err();
    let Refused::NotThere { nearest: Some(region) } = &refused else { panic!("{refused}") };
    assert_eq!((region.first_line, region.last_line), (3, 5));
    assert_eq!(
        refused.to_string(),
        "the old text does not occur in the file; nearest are the lines 3 to 5 (- the old text, + the file):\n \
         fn two() {\n-    let total = 42;\n+    let total = 41;\n }\n\
         they first differ at column 18: \"1;\", not \"2;\""
    );
    check_refused("a\nb\n", "something else", "x", "nor does anything like it");
    check_refused("a b\n", "ab", "x", NOT_THERE);
    check_refused("Total\n", "total", "x", NOT_THERE);
    check_refused("one\n\ntwo\n", "one\ntwo", "x", NOT_THERE);
}

#[test]
fn the_nearest_region_of_a_large_file_is_found_by_a_rare_word() {
    let mut text = "let other = 1;\n".repeat(1_000_000);
    text.insert_str(13_500_000, "let something_rare = 2;\n");
    check_refused(&text, "let something_rare = 3;", "x", "nearest are the lines 900001 to 900001");
}

#[test]
fn line_endings_are_the_files() {
    check("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n");
    check("a\rb\rc\r", "a\nb", "x\nb", "x\rb\rc\r");
    check("a\nb\n", "a\r\nb", "a\r\nc", "a\nc\n");
    check("a\r\nb\r\n", "a", "1\n2", "1\r\n2\r\nb\r\n");
    check("a\r\nb", "b", "1\n2", "a\r\n1\r\n2");
    check("a\r\nb\r\nc", "\nb", "\n1\n2", "a\r\n1\r\n2\r\nc");
    check("a\nb\r\nc\n", "b\nc", "b\nd", "a\nb\r\nd\n");
    check_loosened("a\r\nb\r\n", "a\nb", "x", "x\r\n", Loosening::LineEndings);
}

#[test]
fn a_byte_order_mark_stays() {
    check("\u{feff}a\r\nb\r\n", "a\nb", "c\nb", "\u{feff}c\r\nb\r\n");
    check("\u{feff}  a\n  b\n", "a\nb", "c\nb", "\u{feff}  c\n  b\n");
    check("a\nb\n", "\u{feff}a", "\u{feff}c", "c\nb\n");
}

#[test]
fn trailing_blanks_are_forgiven_and_kept() {
    check("one  \ntwo\t\nthree\n", "one\ntwo\nthree", "one\nzwei\nthree", "one  \nzwei\t\nthree\n");
    check("one\ntwo\n", "one  \ntwo ", "1  \ntwo ", "1  \ntwo\n");
    check("a\n  \nb\n", "a\n\nb", "a\n\nc", "a\n  \nc\n");
    check_loosened("a \nb\n", "a\nb", "b", "b\n", Loosening::TrailingBlanks);
    check_refused("foobar\n", "foo ", "x", NOT_THERE);
}

#[test]
fn copied_line_numbers_are_left_out() {
    let text = "one\n  two\nthree\n";
    check(text, "     2\t  two\n     3\tthree", "     2\t  2\n     3\tthree", "one\n  2\nthree\n");
    check(text, "2→  two\n3→three", "  2", "one\n  2\n");
    check(text, "1: one\n2:   two\n", "1: one\nnew\n2:   two\n", "one\nnew\n  two\nthree\n");
    check(text, "1|one\n2|  two", "one\n  2", "one\n  2\nthree\n");
    check("a\n\nb\n", "1: a\n2:\n3: b", "1: a\n2: b", "a\nb\n");
    check_loosened(text, "     3\tthree", "     3\t3", "one\n  two\n3\n", Loosening::LineNumbers);
    check_refused(text, "     1\tthree", "3", NOT_THERE);
    check_refused(text, "1: one\n3:   two", "x", NOT_THERE);
    check_refused(text, "1: one\n2:   two", "1: one\n7: zwei\nx", NOT_THERE);
}

#[test]
fn indentation_is_adapted() {
    check(
        "  if a {\n    b\n  }\n",
        "if a {\n  b\n}",
        "if a {\n  c\n    d\n}",
        "  if a {\n    c\n      d\n  }\n",
    );
    check(
        "\tif a {\n\t\tb\n\t}\n",
        "    if a {\n        b\n    }",
        "    if c {\n        b\n    }",
        "\tif c {\n\t\tb\n\t}\n",
    );
    check("    a\n        b\n", "\ta\n\t\tb", "\ta\n\t\tb\n\t\t\tc", "    a\n        b\n            c\n");
    check("a\n  b\n", "    a\n      b", "    a\n      c", "a\n  c\n");
    check("  a  \n\n  b\n", "a\n\nb", "a\n\nnew\n\nb", "  a  \n\n  new\n\n  b\n");
    check_loosened("  a\n  b\n", "a\nb", "a", "  a\n", Loosening::Indentation);
    check("  a(\r\n  b)\r\n", "a(\nb", "a(\nc,\nb", "  a(\r\n  c,\r\n  b)\r\n");
}

#[test]
fn indentation_that_is_not_one_shift_is_refused() {
    check_refused("if a:\n    b\nc\n", "if a:\n  b\n  c", "x", NOT_THERE);
    check_refused("if a:\n    b\n    c\n", "if a:\n    b\nc", "x", NOT_THERE);
    // The new line would have to stand left of the margin.
    check_refused("a\nb\n", "  a\n  b", "  a\nb", NOT_THERE);
    // Nothing below the new line says that it moves with the rest.
    let (text, old) = ("    if a:\n        b\n\n    c\n", "if a:\n    b\n\nc");
    check_refused(text, old, "if a:\n    b\nnew\n\nc", NOT_THERE);
    check(text, old, "if a:\n    b\n\nnew\nc", "    if a:\n        b\n\n    new\n    c\n");
    // Nothing tells how wide a tab is.
    check_refused("a\nb\n\tc\n", "  a\n  b", "  a\n    b", NOT_THERE);
}

#[test]
fn typography_is_forgiven_and_kept() {
    check("say “hi” to ‘x’\n", "say \"hi\" to 'x'", "say \"ho\" to 'x'", "say “ho” to ‘x’\n");
    check("a – b\nc\n", "a - b\nc", "a - b\nd", "a – b\nd\n");
    check("10\u{a0}km, 3\u{202f}h\n", "10 km, 3 h", "11 km, 3 h", "11\u{a0}km, 3\u{202f}h\n");
    check("caf\u{e9} noir\n", "cafe\u{301} noir", "cafe\u{301} blanc", "caf\u{e9} blanc\n");
    check("cafe\u{301} noir\n", "caf\u{e9} noir", "th\u{e9} noir", "th\u{e9} noir\n");
    check("“a”", "\"a\"", "'a'", "'a'");
    check("\u{d55c}\n", "\u{1112}\u{1161}\u{11ab}", "x", "x\n");
    check_loosened("it’s", "it's", "its", "its", Loosening::Typography);
    check("    “a”\n      b\n", "\"a\"\n  b", "\"c\"\n  b", "    “c”\n      b\n");
    check("“a”\n“b”\n“c”\n", "\"a\"\n\"b\"\n\"c\"", "new\n\"a\" 1\n\"c\" 3", "new\n“a” 1\n“c” 3\n");
    check("\u{a0}\u{a0}a “b”\n", "  a \"b\"", "  a \"c\"", "  a \"c\"\n");
    // What the model adds is plain where the file is.
    check("f(\"a\")\n", "f(“a”)", "f(“a”, “b”)\ng(“c”)", "f(\"a\", \"b\")\ng(\"c\")\n");
    check("“a”\n", "\"a\"", "\"a\", \"b\"", "“a”, \"b\"\n");
    // The passage ends in the middle of a character.
    check_refused("“caf\u{e9}”\n", "\"cafe", "x", NOT_THERE);
}

#[test]
fn a_layer_of_escapes_is_taken_off() {
    check("say(\"a\", 1)\n", "say(\\\"a\\\", 1)", "say(\\\"b\\\", 1)", "say(\"b\", 1)\n");
    check("p('a\\n')\n", "p('a\\\\n')", "p('b\\\\n')", "p('b\\n')\n");
    check("p(\"a\\n\")\n", "p(\\\"a\\\\n\\\")", "p(\\\"b\\\\n\\\")", "p(\"b\\n\")\n");
    check("a\n\tb\n", "a\\n\\tb", "c\\n\\tb", "c\n\tb\n");
    check_loosened("a \"b\"", "a \\\"b\\\"", "c", "c", Loosening::Escapes);
    // Written half that way, half the other: which one is meant?
    check_refused("say(\"a\")\n", "say(\\\"a\\\")", "say(\"b\")", NOT_THERE);
    check_refused("say(\"a\")\n", "say(\\\"a\")", "x", NOT_THERE);
}

#[test]
fn blank_lines_around_are_left_out() {
    check("a\nb\nc\n", "\n\nb\n\n", "\n\nx\n\n", "a\nx\nc\n");
    check("a\nb", "b\n", "c\n", "a\nc");
    check("a\n    b\nc\n", "\n\n  b\n\n", "\n\n  x\n\n", "a\n    x\nc\n");
    check_loosened("a\nb\nc\n", "b\n\n", "x\n\n", "a\nx\nc\n", Loosening::EdgeBlankLines);
    check("a\nb\nc\n", "\n\nb\n\n", "\n\n\nx\n\n", "a\n\nx\nc\n");
    // The new text takes blank lines away that are not there.
    check_refused("a\nb\nc\n", "b\n\n", "x\n", NOT_THERE);
    check_refused("a\nbc\n", "b\n\n", "x\n\n", NOT_THERE);
    check_refused("a\n\n\nb\n", "\n\n\n\n\n", "x", NOT_THERE);
}

#[test]
fn regular_texts_take_no_longer() {
    let text = "ab".repeat(50_000) + &"  a\n".repeat(50_000);
    let old = "ab".repeat(2_000) + "c";
    assert!(edit(&text, &[], &old, "x", false).is_err());
    assert!(edit(&text, &[], "a\na\na\n b\n", "x", false).is_err());
    assert_eq!(edit(&text, &[], "ab", "c", true).unwrap().places.len(), 50_000);
}

/// Few different characters, so that passages repeat, overlap and differ in what is forgiven.
fn texts() -> impl Strategy<Value = String> {
    "[ab \t\n\r\"\\\\“é\u{301}1\u{a0}]{0,40}"
}

proptest! {
    #[test]
    fn a_unique_passage_is_replaced_and_nothing_else(
        text in "[a-z \n]{1,60}", new in "[A-Z\n]{0,8}", from in 0..60_usize, len in 1..20_usize,
    ) {
        let from = from.min(text.len() - 1);
        let to = (from + len).min(text.len());
        let old = &text[from..to];
        let occurs = (0..text.len()).filter(|at| text[*at..].starts_with(old)).count();
        match edit(&text, &[], old, &new, false) {
            Ok(edited) => {
                prop_assert_eq!(occurs, 1);
                prop_assert_eq!(edited.text, format!("{}{new}{}", &text[..from], &text[to..]));
            }
            Err(Refused::Ambiguous { .. }) => prop_assert!(occurs > 1),
            Err(refused) => prop_assert_eq!(old, new, "{}", refused),
        }
    }

    #[test]
    fn whatever_comes_it_is_edited_or_refused(
        head in texts(), old in texts(), tail in texts(), other in texts(), new in texts(), all: bool,
    ) {
        let text = format!("{head}{old}{tail}");
        let _ = edit(&text, &[], &other, &new, all);
        if let Ok(edited) = edit(&text, &[], &old, &new, all) {
            prop_assert!(edited.text != text);
            prop_assert_eq!(edited.places.is_empty(), false);
        }
    }

    #[test]
    fn a_deleted_passage_leaves_the_rest(head in texts(), old in texts(), tail in texts()) {
        let text = format!("{head}{old}{tail}");
        if let Ok(Edited { text, loosened: None, .. }) = edit(&text, &[], &old, "", false) {
            prop_assert_eq!(text, format!("{head}{tail}"));
        }
    }

    #[test]
    fn typography_never_changes_what_is_said(
        passage in "[ab “”\"'’\u{a0}é\u{301}–-]{1,12}(\n[ab “”\"'’\u{a0}é-]{1,12}){0,3}",
        new in "[ab “\"'’\u{a0}é\n-]{0,30}",
    ) {
        let plain = Rules { typography: true, trailing: true, ..Rules::default() };
        let text = format!("x\n{passage}\nx\n");
        if let Ok(edited) = edit(&text, &[], &plain.apply(&passage), &new, false) {
            prop_assume!(edited.loosened == Some(Loosening::Typography));
            // A shorter passage can stand inside a longer one only as it is written, so this is the place.
            prop_assert!(edited.text.starts_with("x\n") && edited.text.ends_with("x\n"));
            let squeeze = |text: &str| plain.apply(text).replace([' ', '\t'], "");
            prop_assert_eq!(squeeze(&edited.text), squeeze(&format!("x\n{new}\nx\n")));
        }
    }

    #[test]
    fn a_loose_edit_keeps_the_lines_around(
        head in prop::collection::vec("[x-z]{1,6}[ \t]{0,2}(\r\n|\n)", 0..4),
        lines in prop::collection::vec("[ \t]{0,2}[a-f]{4,8}[ \t]{0,2}(\r\n|\n)", 1..5),
        tail in prop::collection::vec("[x-z]{1,6}[ \t]{0,2}(\r\n|\n)", 0..4),
    ) {
        let (head, passage, tail) = (head.concat(), lines.concat(), tail.concat());
        let text = format!("{head}{passage}{tail}");
        let old: String = lines.iter().map(|line| format!("{}\n", line.trim_end())).collect();
        let new = format!("{old}NEW\n");
        let edited = edit(&text, &[], &old, &new, false);
        prop_assume!(!matches!(edited, Err(Refused::Ambiguous { .. })));
        let text = edited.map_err(|refused| TestCaseError::fail(refused.to_string()))?.text;
        let kept = text.replacen("NEW\r\n", "", 1).replacen("NEW\n", "", 1);
        prop_assert_eq!(kept, format!("{head}{passage}{tail}"));
    }
}

/// A case from a file of them, a JSON object per line.
#[derive(Deserialize)]
struct Case {
    id: String,
    kind: String,
    file: String,
    old_string: String,
    new_string: String,
    replace_all: bool,
    /// `edit` or `refuse`.
    expect: String,
    result: String,
    /// `exact`, or `rstrip`: blanks at the ends of lines do not count.
    compare: String,
}

#[derive(Default, Debug)]
struct Tally {
    done: usize,
    refused: usize,
    wrong: usize,
}

impl Case {
    fn judge(&self, tally: &mut Tally) {
        match edit(&self.file, &[], &self.old_string, &self.new_string, self.replace_all) {
            Err(refused) => {
                if self.expect == "edit" {
                    println!("{}: refused: {refused}", self.id);
                }
                tally.refused += 1;
            }
            Ok(edited) if self.expect == "edit" && self.matches(&edited.text) => tally.done += 1,
            Ok(edited) => {
                println!("{}: wrong, {:?} at {:?}", self.id, edited.loosened, edited.places);
                println!("  old {:?}\n  new {:?}", self.old_string, self.new_string);
                tally.wrong += 1;
            }
        }
    }

    fn matches(&self, text: &str) -> bool {
        let trimmed = |text: &str| text.split('\n').map(str::trim_end).collect::<Vec<_>>().join("\n");
        match self.compare.as_str() {
            "rstrip" => trimmed(text) == trimmed(&self.result),
            _ => text == self.result,
        }
    }
}

#[test]
fn generated_cases_are_edited_or_refused_but_never_wrong() {
    let Some(path) = std::env::var_os("HAFT_EDIT_CASES") else {
        println!("no cases: HAFT_EDIT_CASES does not name a file of them");
        return;
    };
    let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
    for line in fs::read(path).unwrap().lines() {
        let case: Case = serde_json::from_str(&line.unwrap()).unwrap();
        case.judge(tallies.entry((case.expect.clone(), case.kind.clone())).or_default());
    }
    for ((expect, kind), tally) in &tallies {
        println!("{expect} {kind}: {tally:?}");
    }
    let edits = || tallies.iter().filter(|((expect, _), _)| expect == "edit").map(|(_, tally)| tally);
    let (done, refused): (usize, usize) =
        (edits().map(|tally| tally.done).sum(), edits().map(|tally| tally.refused).sum());
    assert_eq!(tallies.values().map(|tally| tally.wrong).sum::<usize>(), 0, "wrong files");
    assert!(done * 100 >= (done + refused) * 99, "{done} edits done, {refused} refused");
}
