//! What a patch does, as text. The list of names is the specification.

use proptest::prelude::*;

use super::{
    apply::apply,
    misfit::Misfit,
    parse::{Intent, parse},
    search::Numbers,
};

/// What a patch says, a line per file and hunk.
fn said(patch: &str) -> String {
    let patch = match parse(patch) {
        Ok(patch) => patch,
        Err(err) => return err.to_string(),
    };
    let mut said = Vec::new();
    for file in &patch.files {
        let path = file.path.display();
        let hunks = match &file.intent {
            Intent::Add(content) => {
                said.push(format!("add {path} {content:?}"));
                continue;
            }
            Intent::Remove(hunks) => {
                said.push(format!("remove {path}"));
                hunks
            }
            Intent::Update { to, hunks } => {
                let to = to.as_ref().map_or(String::new(), |to| format!(" to {}", to.display()));
                said.push(format!("update {path}{to}"));
                hunks
            }
        };
        for hunk in hunks {
            let at = hunk.at.map_or(String::new(), |at| format!(" at {at}"));
            let headings: String =
                hunk.headings.iter().map(|heading| format!(" below `{heading}`")).collect();
            let end = if hunk.ends_file { " to the end" } else { "" };
            let lines = hunk.lines.iter().map(|line| format!("{:?} {:?}", line.sign, line.text));
            said.push(format!("  hunk{at}{headings}{end}: {}", lines.collect::<Vec<_>>().join(", ")));
        }
    }
    said.join("\n")
}

/// The text after a unified diff with these hunks.
fn patched(text: &str, hunks: &str) -> Result<String, String> {
    applied(text, &format!("--- a/f\n+++ b/f\n{hunks}"))
}

fn applied(text: &str, patch: &str) -> Result<String, String> {
    let patch = parse(patch).map_err(|err| err.to_string())?;
    let Intent::Update { hunks, .. } = &patch.files[0].intent else { panic!("no update") };
    let tell = |misfits: Vec<Misfit>| misfits.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    apply(text, &[], hunks, Numbers::Hold).map(|applied| applied.text).map_err(tell)
}

#[track_caller]
fn check(text: &str, hunks: &str, expected: &str) {
    assert_eq!(patched(text, hunks).as_deref(), Ok(expected));
}

#[track_caller]
fn check_refused(text: &str, hunks: &str, message: &str) {
    let refused = patched(text, hunks).expect_err("a refusal");
    assert!(refused.contains(message), "{refused}");
}

mod what_is_said {
    use super::said;

    #[test]
    fn a_diff_of_git_with_everything() {
        let patch = "\
diff --git a/src/a.rs b/src/a.rs
index 83db48f..bf269f4 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,3 @@ fn main() {
 one
-two
+2
 three
@@ -10 +10,2 @@
 ten
+eleven
diff --git a/new b/new
new file mode 100755
index 0000000..ce01362
--- /dev/null
+++ b/new
@@ -0,0 +1,2 @@
+hello
+world
\\ No newline at end of file
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/old name b/new name
similarity index 90%
rename from old name
rename to new name
--- a/old name
+++ b/new name
@@ -1,2 +1,2 @@
 x
-y
+z
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
diff --git a/moved b/elsewhere/moved
similarity index 100%
rename from moved
rename to elsewhere/moved
diff --git \"a/caf\\303\\251 \\\"x\\\"\" \"b/caf\\303\\251 \\\"x\\\"\"
deleted file mode 100644
index e69de29..0000000
-- \n2.39.5

";
        insta::assert_snapshot!(said(patch), @r#"
        update src/a.rs
          hunk at 1: Kept "one", Removed "two", Added "2", Kept "three"
          hunk at 10: Kept "ten", Added "eleven"
        add new "hello\nworld"
        remove gone
          hunk at 1: Removed "bye"
        update old name to new name
          hunk at 1: Kept "x", Removed "y", Added "z"
        add empty ""
        update moved to elsewhere/moved
        remove café "x"
        "#);
    }

    #[test]
    fn the_other_form_with_everything() {
        let patch = "\
*** Begin Patch
*** Update File: src/a.rs
*** Move to: src/b.rs
@@ impl A {
@@ fn f() {
 one
-two
+2

 three
*** End of File
*** Add File: new
+hello
+
+world
*** Delete File: gone

*** Update File: ./c
-x
+y
@@
 a
+b
*** End Patch
";
        insta::assert_snapshot!(said(patch), @r#"
        update src/a.rs to src/b.rs
          hunk below `impl A {` below `fn f() {` to the end: Kept "one", Removed "two", Added "2", Kept "", Kept "three"
        add new "hello\n\nworld\n"
        remove gone
        update c
          hunk: Removed "x", Added "y"
          hunk: Kept "a", Added "b"
        "#);
    }

    #[test]
    fn words_and_fences_around_a_patch_are_left_out() {
        insta::assert_snapshot!(said("Here it is:\n\n```diff\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n```\nThat is all.\n"), @r#"
        update f
          hunk at 1: Removed "x", Added "y"
        "#);
        insta::assert_snapshot!(said("apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nEOF\n"), @"remove f");
        insta::assert_snapshot!(said("--- f\t2026-01-01 10:00:00\n+++ f\t2026-01-02\n@@ -1 +1 @@\n-x\n+y\nThat is all.\n"), @"line 6 of the patch: this is no part of a unified diff: a file (`---`, `+++`), a hunk (`@@`) or the end is expected");
    }

    #[test]
    fn wrong_counts_are_forgiven_where_the_lines_leave_no_doubt() {
        insta::assert_snapshot!(said("--- a/f\n+++ b/f\n@@ -1,9 +1,7 @@\n x\n-y\n+z\n\n--- a/g\n+++ b/g\n@@ -1,1 +1,1 @@\n-a\n-b\n+c\n"), @r#"
        update f
          hunk at 1: Kept "x", Removed "y", Added "z"
        update g
          hunk at 1: Removed "a", Removed "b", Added "c"
        "#);
        insta::assert_snapshot!(said("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- comment\n+++ comment\n x\n"), @r#"
        update f
          hunk at 1: Removed "-- comment", Added "++ comment", Kept "x"
        "#);
        insta::assert_snapshot!(said("--- a/f\n+++ b/f\n@@ ... @@\n-x\n+y\n@@ fn f() { @@\n-x\n+y\n"), @r#"
        update f
          hunk: Removed "x", Added "y"
          hunk below `fn f() {`: Removed "x", Added "y"
        "#);
    }

    #[test]
    fn names_lose_their_marks_and_nothing_else() {
        let names = |old: &str, new: &str| said(&format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-x\n+y\n"));
        let file = |old, new| names(old, new).lines().next().unwrap_or_default().to_owned();
        assert_eq!(file("a/f", "b/f"), "update f");
        assert_eq!(file("f", "f"), "update f");
        assert_eq!(file("a/f", "a/f"), "update a/f");
        assert_eq!(file("./a/f", "b/f"), "update f");
        assert_eq!(file("a/f", "f"), "update f");
        assert_eq!(file("i/f", "w/f"), "update f");
        assert_eq!(file("/w/f", "/w/f"), "update /w/f");
        assert_eq!(file("../f", "../f"), "update ../f");
        assert_eq!(
            file("f.orig", "f"),
            "line 1 of the patch: is it f.orig or f? To rename a file, say `rename from` and `rename to`"
        );
    }

    #[test]
    fn what_is_no_patch_is_refused_with_its_line() {
        let names: String = (0..1001).map(|name| format!("*** Delete File: {name}\n")).collect();
        let many = format!("*** Begin Patch\n{names}*** End Patch");
        let refusals: Vec<_> = [
            "",
            "replace x by y",
            "*** Begin Patch\n*** Update File: f\n-x\n+y\n",
            "*** Begin Patch\n*** Update File: f\nx\n*** End Patch",
            "*** Begin Patch\n*** Update File: f\n*** End Patch",
            "*** Begin Patch\n*** Add File: f\n x\n*** End Patch",
            "*** Begin Patch\n*** Add File:\n*** End Patch",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\n*** Delete File: f\n*** End Patch\n*** Begin Patch\n*** End Patch",
            "*** Begin Patch\n*** Delete File: f\n*** Add File: f\n+x\n*** End Patch",
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n",
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\nz\n",
            "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-x\nz\n",
            "--- a/f\n+++ b/f\n",
            "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-x\n+y\n",
            "--- /dev/null\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n",
            "--- a/f\n+++ /dev/null\n@@ -1 +1 @@\n-x\n+y\n",
            "--- a/f\n+++ b/f\n@@@ -1 -1 +1 @@@\n  x\n",
            "diff --git a/f b/f\nindex 1..2\nBinary files a/f and b/f differ\n",
            "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
            "diff --git a/f b/g\ncopy from f\ncopy to g\n",
            &many,
            "--- \"a/f\n+++ \"b/f\n@@ -1 +1 @@\n-x\n+y\n",
        ]
        .into_iter()
        .map(said)
        .collect();
        insta::assert_snapshot!(refusals.join("\n"), @"
        line 1 of the patch: no patch begins here; it begins with `*** Begin Patch`, with `diff --git`, or with `---` and `+++` lines
        line 1 of the patch: no patch begins here; it begins with `*** Begin Patch`, with `diff --git`, or with `---` and `+++` lines
        line 5 of the patch: no `*** End Patch`: was the patch cut off?
        line 3 of the patch: a line of a hunk begins with a blank, `-` or `+`; this one is `x`
        line 2 of the patch: nothing is changed in f
        line 3 of the patch: every line of a new file begins with `+`
        line 2 of the patch: `*** Update File: `, `*** Add File: `, `*** Delete File: ` or `*** End Patch` is expected, each with a name
        line 2 of the patch: the patch changes nothing
        line 3 of the patch: another patch follows; send one with all files
        line 3 of the patch: f is also changed at line 2, in another way; say once what becomes of it
        line 3 of the patch: the hunk has no lines
        line 6 of the patch: this is no part of a unified diff: a file (`---`, `+++`), a hunk (`@@`) or the end is expected
        line 5 of the patch: a line of a hunk begins with a blank, `-` or `+`; this one is `z`
        line 1 of the patch: nothing is changed in f
        line 1 of the patch: which file? Both names are `/dev/null` or missing
        line 3 of the patch: a new file has only lines that begin with `+`
        line 3 of the patch: of a file that is deleted, every line begins with `-`
        line 3 of the patch: a diff of a merge cannot be applied; send a plain one
        line 3 of the patch: binary files cannot be patched
        line 1 of the patch: nothing is changed in f
        line 2 of the patch: files cannot be copied by a patch; add the new file
        line 1002 of the patch: more than 1000 files; send several patches
        line 1 of the patch: the quoted name has no end
        ");
    }
}

#[test]
fn a_hunk_is_applied_where_its_lines_stand() {
    check("one\ntwo\nthree\n", "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", "one\n2\nthree\n");
    // The line numbers are wrong, and do not matter.
    check("a\nb\none\ntwo\n", "@@ -90,2 +90,3 @@\n one\n+new\n two\n", "a\nb\none\nnew\ntwo\n");
    check("a\nb\nc\nd\n", "@@ -4 +4 @@\n-d\n+4\n@@ -1 +1 @@\n-a\n+1\n", "1\nb\nc\n4\n");
    check("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n");
    check("a\n", "@@ -1 +0,0 @@\n-a\n", "");
}

#[test]
fn a_hunk_that_fits_twice_is_refused_unless_its_number_names_one() {
    let text = "x\ny\nx\ny\n";
    check_refused(
        text,
        "@@ -7 +7 @@\n-x\n+z\n",
        "the hunk at line 3 of the patch fits in 2 places (lines 1, 3)",
    );
    check_refused(text, "@@ ... @@\n-x\n+z\n", "give it more lines around the change");
    check(text, "@@ -3 +3 @@\n-x\n+z\n", "x\ny\nz\ny\n");
    check(text, "@@ -3,2 +3,2 @@\n-x\n+z\n y\n@@ -1 +1 @@\n-x\n+w\n", "w\ny\nz\ny\n");
    check_refused(&"x\n".repeat(50), "@@ @@\n-x\n+z\n", "fits in 50 places (lines 1, 2, 3,");
}

#[test]
fn numbers_that_may_be_old_name_nothing() {
    let patch = parse("--- f\n+++ f\n@@ -3 +3 @@\n-x\n+z\n").unwrap();
    let Intent::Update { hunks, .. } = &patch.files[0].intent else { panic!("no update") };
    assert!(apply("x\ny\nx\n", &[], hunks, Numbers::Hold).is_ok());
    assert!(apply("x\ny\nx\n", &[], hunks, Numbers::MayBeOld).is_err());
}

#[test]
fn a_hunk_that_does_not_fit_is_refused_with_what_is_there() {
    let text = "fn one() {}\n\nfn two() {\n    let total = 41;\n}\n";
    let hunk = "@@ -3,3 +3,3 @@\n fn two() {\n-    let total = 42;\n+    let total = 43;\n }\n";
    insta::assert_snapshot!(patched(text, hunk).unwrap_err(), @r#"
    the hunk at line 3 of the patch does not fit; nearest are the lines 3 to 5 (- the old text, + the file):
     fn two() {
    -    let total = 42;
    +    let total = 41;
     }
    they first differ at column 18: "1;", not "2;"
    "#);
    check_refused("a\n", "@@ -1 +1 @@\n-something else\n+x\n", "nor anything like them");
    check_refused("a\nb\n", "@@ -1,0 +2 @@\n+x\n", "only adds lines");
    check_refused(
        "a\nnew\nc\n",
        "@@ -1,3 +1,3 @@\n a\n-b\n+new\n c\n",
        "is there already, at line 1: leave it out",
    );
    check_refused(
        "x\na\nb\nc\n",
        "@@ -1 +1 @@\n-a\n+b\n@@ -2 +2 @@\n-nowhere\n+b\n",
        "line 6 of the patch does not fit",
    );
}

#[test]
fn hunks_may_share_lines_that_they_only_show() {
    let text = "a\nb\nc\nd\ne\n";
    check(text, "@@ @@\n a\n-b\n+B\n c\n@@ @@\n c\n-d\n+D\n e\n", "a\nB\nc\nD\ne\n");
    check_refused(
        text,
        "@@ @@\n a\n-b\n c\n@@ @@\n b\n-c\n d\n",
        "the hunk at line 7 of the patch changes lines that the one at line 3 has too",
    );
    check_refused(text, "@@ @@\n-a\n@@ @@\n-a\n+b\n", "make one of both");
}

#[test]
fn headings_say_which_of_several_places_is_meant() {
    let text = "class A:\n    def f():\n        return 1\n    def g():\n        return 1\nclass B:\n    def f():\n        return 1\n";
    let change =
        |headings: &str| patched(text, &format!("{headings}\n-        return 1\n+        return 2\n"));
    let line_of = |changed: Result<String, String>| {
        changed.map(|changed| changed.lines().position(|line| line.ends_with('2')).unwrap() + 1)
    };
    assert_eq!(line_of(change("@@ def g():")), Ok(5));
    assert_eq!(line_of(change("@@ class B:")), Ok(8));
    assert!(change("@@ def f():").unwrap_err().contains("fits in 2 places (lines 3, 8)"));
    assert!(change("@@ class A:").unwrap_err().contains("fits in 2 places (lines 3, 5)"));
    assert!(change("@@ class C:").unwrap_err().contains("fits at lines 3, 5, 8, but not below `class C:`"));
    let nested = "*** Begin Patch\n*** Update File: f\n@@ class A:\n@@ def f():\n-        return 1\n+        return 2\n*** End Patch";
    assert_eq!(line_of(applied(text, nested)), Ok(3));
    let prose = "# One\n\ntext\n\n# Two\n\ntext\n";
    assert_eq!(patched(prose, "@@ # Two\n-text\n+other\n").unwrap(), "# One\n\ntext\n\n# Two\n\nother\n");
    let braces = "int f()\n{\n    return 1;\n}\nint g()\n{\n    return 1;\n}\n";
    assert_eq!(
        patched(braces, "@@ int f()\n-    return 1;\n+    return 2;\n").unwrap(),
        braces.replacen("return 1", "return 2", 1)
    );
}

#[test]
fn the_end_of_the_file_is_a_place() {
    let at_end = |text, lines: &str| {
        applied(
            text,
            &format!("*** Begin Patch\n*** Update File: f\n{lines}\n*** End of File\n*** End Patch"),
        )
    };
    assert_eq!(at_end("x\ny\nx\n", "-x\n+z").as_deref(), Ok("x\ny\nz\n"));
    assert_eq!(at_end("x\ny\n", "+z").as_deref(), Ok("x\ny\nz\n"));
    assert_eq!(at_end("x\r\ny", "+z").as_deref(), Ok("x\r\ny\r\nz"));
    assert!(
        at_end("x\ny\n", "-x\n+z").unwrap_err().contains("fits at line 1, but the file does not end there")
    );
}

#[test]
fn line_ends_are_the_files() {
    check("a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n", "a\r\nx\r\nb\r\n");
    check("a\rb\r", "@@ -1,2 +1,3 @@\n a\n+x\n b\n", "a\rx\rb\r");
    check("a\nb\r\nc\n", "@@ -2,2 +2,2 @@\n b\n-c\n+d\n", "a\nb\r\nd\n");
    // A diff that knows the line ends may change them.
    check("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n", "a\r\nb\n");
    // One that was sent with other line ends throughout does not.
    assert_eq!(
        applied("a\nb\n", "--- f\r\n+++ f\r\n@@ -1,2 +1,3 @@\r\n a\r\n+x\r\n b\r\n").as_deref(),
        Ok("a\nx\nb\n")
    );
}

#[test]
fn the_last_line_end_is_the_files_unless_the_patch_says_so() {
    check("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc");
    check("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc");
    check("a\nb", "@@ -2 +2,2 @@\n b\n+\n", "a\nb\n\n");
    check("a\n\r", "@@ -1 +1 @@\n-a\n+b\n", "b\n\r");
    check("a\nb\n", "@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n", "a\nb");
    check("a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n");
    check(
        "a\nb\n",
        "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
        "a\nc\n",
    );
}

#[test]
fn blanks_at_the_ends_of_lines_are_forgiven_and_kept() {
    check("a  \nb\t\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", "a  \nx\nc\n");
    check("a\n  \nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n  \nc\n");
    check_refused("  a\n", "@@ -1 +1 @@\n-a\n+b\n", "does not fit");
}

#[test]
fn a_byte_order_mark_stays() {
    check("\u{feff}a\nb\n", "@@ -1 +1 @@\n-a\n+x\n", "\u{feff}x\nb\n");
    check("\u{feff}a\nb\n", "@@ -1 +1 @@\n-\u{feff}a\n+\u{feff}x\n", "\u{feff}x\nb\n");
}

#[test]
fn regular_texts_take_no_longer() {
    let text = "x\n".repeat(300_000);
    let hunk = format!("@@ @@\n{}-y\n", "-x\n".repeat(20_000));
    check_refused(&text, &hunk, "does not fit");
    let hunk = format!("@@ -5 +5 @@\n{}", "-x\n".repeat(20_000));
    assert_eq!(patched(&text, &hunk).unwrap().len(), 2 * 280_000);
}

/// Few different lines, so that they repeat; all kinds of ends.
fn texts() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab ]{0,2}(\n|\n|\r\n)", 0..30)
        .prop_flat_map(|lines| ("[ab]{0,1}", Just(lines.concat())))
        .prop_map(|(last, text)| text + &last)
}

proptest! {
    #[test]
    fn what_another_program_wrote_as_a_diff_is_applied(old in texts(), new in texts()) {
        prop_assume!(old != new);
        let diff = diffy::create_patch(&old, &new).to_string();
        // Names as that program writes them.
        let diff = diff.replacen("--- original", "--- a/f", 1).replacen("+++ modified", "+++ b/f", 1);
        prop_assert_eq!(applied(&old, &diff), Ok(new), "{}", diff);
    }

    #[test]
    fn wrong_numbers_and_counts_never_make_a_wrong_text(
        old in prop::collection::hash_set("[a-z]{3}", 1..40), from in 0..40_usize, shift in 0..9_usize,
    ) {
        let mut lines: Vec<_> = old.into_iter().collect();
        let text = lines.join("\n") + "\n";
        let from = from.min(lines.len() - 1);
        lines[from] = "NEW".to_owned();
        lines.insert(from, "MORE".to_owned());
        let new = lines.join("\n") + "\n";
        let diff = diffy::create_patch(&text, &new).to_string();
        let lie = |line: &str| match line.starts_with("@@") {
            true => format!("@@ -{shift},{shift} +{shift},{} @@\n", shift + 1),
            false => format!("{line}\n"),
        };
        let diff: String = diff.replace("original", "f").replace("modified", "f").lines().map(lie).collect();
        prop_assert_eq!(applied(&text, &diff), Ok(new), "{}", diff);
    }

    #[test]
    fn whatever_comes_it_is_parsed_or_refused(
        text in texts(),
        patch in "(--- a\n|\\+\\+\\+ b\n|\\+\\+\\+ a\n|@@ -1 \\+1 @@\n|@@ a\n|[+ -][ab]?\n|\n|\\\\ \n|\\*\\*\\* (Begin|End) Patch\n|\\*\\*\\* (Update|Add|Delete) File: f\n){0,20}",
    ) {
        if let Ok(parsed) = parse(&patch) {
            for file in &parsed.files {
                if let Intent::Update { hunks, .. } | Intent::Remove(hunks) = &file.intent {
                    let _ = apply(&text, &[], hunks, Numbers::Hold);
                }
            }
        }
    }
}
