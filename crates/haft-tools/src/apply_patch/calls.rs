//! What model and person see of a call.

use std::path::PathBuf;

use haft_tool::{IntoTool, Tool};
use serde_json::json;

use super::{ApplyPatch, ApplyPatchInput};
use crate::desk::{Desk, drawings};

fn desk() -> Desk {
    let desk = Desk::new(
        "-- src/a.rs
         fn one() {}
         fn two() {}
         fn three() {}
         -- old.txt
         going
         -- unread
         x
         ",
    );
    for path in ["src/a.rs", "old.txt"] {
        desk.call("Read", json!({ "file_path": path }));
    }
    desk
}

fn patch(desk: &Desk, patch: &str) -> String {
    desk.call("ApplyPatch", json!({ "patch": patch }))
}

const ALL_KINDS: &str = "\
*** Begin Patch
*** Update File: src/a.rs
 fn one() {}
-fn two() {}
+fn deux() {}
+fn trois() {}
*** Add File: new/b.rs
+fn b() {}
*** Delete File: old.txt
*** End Patch
";

fn is_there(desk: &Desk, path: &str) -> bool {
    desk.workspace.root().join(path).exists()
}

#[test]
fn files_are_changed_made_and_deleted_in_one_call() {
    let desk = desk();
    insta::assert_snapshot!(patch(&desk, ALL_KINDS), @"
    patched 3 files
    changed src/a.rs (+2 -1)
    created new/b.rs (1 line)
    deleted old.txt
    ");
    assert_eq!(desk.workspace.text("src/a.rs"), "fn one() {}\nfn deux() {}\nfn trois() {}\nfn three() {}\n");
    assert_eq!(desk.workspace.text("new/b.rs"), "fn b() {}\n");
    assert!(!is_there(&desk, "old.txt"));
}

#[test]
fn every_problem_is_told_and_nothing_is_changed() {
    let desk = desk();
    let refused = patch(
        &desk,
        "*** Begin Patch
*** Update File: src/a.rs
-fn two() {}
+fn deux() {}
@@
-fn four() {}
+fn quatre() {}
*** Add File: old.txt
+x
*** Update File: unread
-x
+y
*** Update File: src/b.rs
-x
+y
*** End Patch",
    );
    insta::assert_snapshot!(refused, @"
    nothing was changed; 4 problems:
    - src/a.rs: the hunk at line 5 of the patch does not fit: its lines are not in the file, nor anything like them; read the file again
    - old.txt exists already; update it instead
    - unread has not been read in this session; nothing was changed. Read it first
    - cannot read src/b.rs: it does not exist; did you mean a.rs?
    ");
    assert_eq!(desk.workspace.text("src/a.rs"), "fn one() {}\nfn two() {}\nfn three() {}\n");
}

#[test]
fn one_problem_is_told_alone() {
    let desk = desk();
    insta::assert_snapshot!(patch(&desk, "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -2 +2 @@\n-fn tow() {}\n+x\n"), @"nothing was changed: src/a.rs: the hunk at line 3 of the patch does not fit: its lines are not in the file, nor anything like them; read the file again");
    insta::assert_snapshot!(patch(&desk, "--- a/unread\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"), @"unread has not been read in this session; nothing was changed. Read it first");
    insta::assert_snapshot!(patch(&desk, "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-other\n"), @"nothing was changed: old.txt: the hunk at line 3 of the patch does not fit: its lines are not in the file, nor anything like them; read the file again");
    insta::assert_snapshot!(patch(&desk, "change two to deux"), @"line 1 of the patch: no patch begins here; it begins with `*** Begin Patch`, with `diff --git`, or with `---` and `+++` lines; nothing was changed");
}

#[test]
fn a_stale_file_whose_lines_still_stand_is_patched_and_told() {
    let desk = desk();
    desk.workspace.write("src/a.rs", b"// new\nfn one() {}\nfn two() {}\n");
    insta::assert_snapshot!(patch(&desk, "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n fn one() {}\n-fn two() {}\n+fn deux() {}\n"), @"
    patched 1 file
    changed src/a.rs (+1 -1)
      (the file has changed since you read it; the patch was applied to what is there now)
    ");
    assert_eq!(desk.workspace.text("src/a.rs"), "// new\nfn one() {}\nfn deux() {}\n");
}

#[test]
fn a_stale_file_is_not_deleted() {
    let desk = desk();
    desk.workspace.write("old.txt", b"somebody else was here\n");
    insta::assert_snapshot!(patch(&desk, "*** Begin Patch\n*** Delete File: old.txt\n*** End Patch"), @"old.txt has changed since it was read; nothing was changed. Read it again, then decide");
    assert!(is_there(&desk, "old.txt"));
}

#[test]
fn a_patch_that_fails_leaves_a_stale_file_unseen() {
    let desk = desk();
    desk.workspace.write("src/a.rs", b"fn one() {}\nfn two() {}\n// new\n");
    // Its directory would be a file.
    let refused = patch(
        &desk,
        "*** Begin Patch
*** Update File: src/a.rs
-fn two() {}
+fn deux() {}
*** Add File: unread/b
+x
*** End Patch",
    );
    assert!(refused.contains("unread/b"), "{refused}");
    let refused = desk.call("Write", json!({ "file_path": "src/a.rs", "content": "" }));
    assert!(refused.contains("has changed since it was read"), "{refused}");
}

#[test]
fn a_file_is_moved_and_changed() {
    let desk = desk();
    let moved = "*** Begin Patch
*** Update File: src/a.rs
*** Move to: lib/a.rs
-fn two() {}
+fn deux() {}
*** End Patch";
    insta::assert_snapshot!(patch(&desk, moved), @"
    patched 1 file
    moved src/a.rs to lib/a.rs (+1 -1)
    ");
    assert_eq!(desk.workspace.text("lib/a.rs"), "fn one() {}\nfn deux() {}\nfn three() {}\n");
    assert!(!is_there(&desk, "src/a.rs"));
    let renamed =
        "diff --git a/old.txt b/unread\nsimilarity index 100%\nrename from old.txt\nrename to unread\n";
    insta::assert_snapshot!(patch(&desk, renamed), @"nothing was changed: unread exists already; choose another name");
}

#[test]
fn other_encodings_and_line_ends_stay() {
    let desk = desk();
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    desk.workspace.write("src/a.rs", &wide("\u{feff}one\r\ntwo\r\n"));
    insta::assert_snapshot!(patch(&desk, "--- src/a.rs\n+++ src/a.rs\n@@ -1,2 +1,3 @@\n one\n+1½\n two\n"), @"
    patched 1 file
    changed src/a.rs (+1 -0)
      (the line endings were adapted to the file's)
      (the file has changed since you read it; the patch was applied to what is there now)
    ");
    let bytes = std::fs::read(desk.workspace.root().join("src/a.rs")).unwrap();
    assert_eq!(bytes, wide("\u{feff}one\r\n1½\r\ntwo\r\n"));
}

#[test]
fn names_start_from_the_directory_that_is_given() {
    let desk = desk();
    let input =
        json!({ "patch": "--- a.rs\n+++ a.rs\n@@ -2 +2 @@\n-fn two() {}\n+fn 2() {}\n", "cwd": "src" });
    assert_eq!(desk.call("ApplyPatch", input), "patched 1 file\nchanged src/a.rs (+1 -1)");
}

#[test]
fn what_is_protected_stays_so() {
    let desk = desk();
    let refused =
        patch(&desk, "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+rm -rf /\n*** End Patch");
    insta::assert_snapshot!(refused, @"
    Nobody is there to be asked, and this must be asked: writes .git/hooks/pre-commit, where version control keeps hooks and settings that run programs; only a rule that names it permits that.
    Go on without it, or tell the user what you need and why.
    ");
    assert!(!is_there(&desk, ".git/hooks/pre-commit"));
}

#[test]
fn a_person_sees_a_diff_for_each_file() {
    let desk = desk();
    insta::assert_snapshot!(desk.drawn("ApplyPatch", json!({ "patch": ALL_KINDS })), @"
    src/a.rs
    @@ -1,3 +1,4 @@
     fn one() {}
    -fn two() {}
    +fn deux() {}
    +fn trois() {}
     fn three() {}
    new/b.rs
    @@ -0,0 +1 @@
    +fn b() {}
    old.txt
    @@ -1 +0,0 @@
    -going
    ");
}

#[test]
fn a_person_sees_what_is_to_be_done_and_why_it_was_not() {
    insta::assert_snapshot!(drawings(&ApplyPatch.into_tool(), &json!({ "patch": ALL_KINDS })), @"
    Patch 3 files: src/a.rs, new/b.rs (new), old.txt (deleted) (waiting)
    Patch 3 files: src/a.rs, new/b.rs (new), old.txt (deleted)
    Patch 3 files: src/a.rs, new/b.rs (new), old.txt (deleted): the disk is full
    Patch 3 files: src/a.rs, new/b.rs (new), old.txt (deleted) (refused): the user said no
    ");
    let moved = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch";
    let input = ApplyPatchInput { patch: moved.to_owned(), cwd: haft_tool::AbsolutePath::here() };
    assert_eq!(ApplyPatch.describe(&input), "Patch 1 file: a → b");
}

#[test]
fn what_it_will_do_is_known_before() {
    let effects = |patch: &str| {
        ApplyPatch.effects(&ApplyPatchInput { patch: patch.to_owned(), cwd: PathBuf::from("/w").into() })
    };
    insta::assert_snapshot!(effects(ALL_KINDS), @"reads /w/src/a.rs, writes /w/src/a.rs, writes /w/new/b.rs, reads /w/old.txt, writes /w/old.txt");
    assert!(effects(ALL_KINDS).is_destructive());
    let moved = "*** Begin Patch\n*** Update File: ../a\n*** Move to: /b\n*** End Patch";
    insta::assert_snapshot!(effects(moved), @"reads /w/../a, writes /w/../a, writes /b");
    assert!(!effects(moved).is_destructive());
}
