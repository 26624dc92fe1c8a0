//! What model and person see of a call.

use haft_tool::IntoTool;
use serde_json::json;

use super::Edit;
use crate::desk::{Desk, drawings};

fn edit(desk: &Desk, old: &str, new: &str) -> String {
    desk.call("Edit", json!({ "file_path": "poem", "old_string": old, "new_string": new }))
}

fn poem() -> Desk {
    Desk::new("-- poem\nroses are red\nviolets are blue\nroses are red\n")
}

#[test]
fn a_file_that_was_not_read_is_not_edited() {
    let desk = poem();
    let refused = edit(&desk, "blue", "green");
    assert_eq!(refused, "poem has not been read in this session; nothing was changed. Read it first");
    desk.call("Read", json!({ "file_path": "poem" }));
    assert_eq!(edit(&desk, "blue", "green"), "edited poem at line 2");
    assert_eq!(desk.workspace.text("poem"), "roses are red\nviolets are green\nroses are red\n");
}

#[test]
fn what_stands_twice_is_refused_with_its_lines_and_replaced_on_request() {
    let desk = poem();
    desk.call("Read", json!({ "file_path": "poem" }));
    let refused = edit(&desk, "red", "white");
    assert_eq!(
        refused,
        "poem: the old text occurs 2 times (lines 1, 3); include a neighbouring line, or replace all"
    );
    let all =
        json!({ "file_path": "poem", "old_string": "red", "new_string": "white", "replace_all": "true" });
    assert_eq!(desk.call("Edit", all), "edited poem at 2 places, lines 1, 3");
}

#[test]
fn a_stale_file_whose_passage_is_untouched_is_edited_and_told() {
    let desk = poem();
    desk.call("Read", json!({ "file_path": "poem" }));
    desk.workspace.write("poem", b"a title\nroses are red\nviolets are blue\n");
    let edited = edit(&desk, "blue", "green");
    assert!(edited.starts_with("edited poem at line 3\n(the file has changed since you read it"), "{edited}");
    assert_eq!(desk.workspace.text("poem"), "a title\nroses are red\nviolets are green\n");
}

#[test]
fn what_was_forgiven_is_told() {
    let desk = poem();
    desk.call("Read", json!({ "file_path": "poem" }));
    let edited = edit(&desk, "     2\tviolets are blue", "     2\tviolets are green");
    assert!(edited.contains("line numbers are not part of the file"), "{edited}");
    assert_eq!(desk.workspace.text("poem"), "roses are red\nviolets are green\nroses are red\n");
}

#[test]
fn senseless_edits_are_rejected_before_anybody_is_asked() {
    let desk = poem();
    assert!(edit(&desk, "", "x").contains("the old text is empty"));
    assert!(edit(&desk, "red", "red").contains("nothing would change"));
}

#[test]
fn a_person_sees_the_change() {
    let desk = poem();
    desk.call("Read", json!({ "file_path": "poem" }));
    let input = json!({ "file_path": "poem", "old_string": "blue", "new_string": "green" });
    insta::assert_snapshot!(drawings(&Edit.into_tool(), &input), @"
    Edit poem (waiting)
    Edit poem
    Edit poem: the disk is full
    Edit poem (refused): the user said no
    ");
    insta::assert_snapshot!(desk.drawn("Edit", input), @"
    poem
    @@ -1,3 +1,3 @@
     roses are red
    -violets are blue
    +violets are green
     roses are red
    ");
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_file_in_another_encoding_keeps_it() {
    let desk = poem();
    desk.call("Read", json!({ "file_path": "poem" }));
    let bytes = || std::fs::read(desk.workspace.root().join("poem")).unwrap();
    desk.workspace.write("poem", &wide("\u{feff}roses\r\nviolets\r\n"));
    edit(&desk, "roses\nviolets", "roses\n🦀\nviolets");
    assert_eq!(bytes(), wide("\u{feff}roses\r\n🦀\r\nviolets\r\n"));
    desk.workspace.write("poem", b"d\xe9j\xe0 vu, caf\xe9\n");
    edit(&desk, "déjà vu", "thé");
    assert_eq!(bytes(), b"th\xe9, caf\xe9\n");
    insta::assert_snapshot!(edit(&desk, "thé", "crab: 🦀"), @"cannot write poem: the file is windows-1252, which has no `🦀` (U+1F980, line 1 of the new text); nothing was written");
    assert_eq!(bytes(), b"th\xe9, caf\xe9\n");
}

#[test]
fn what_is_no_text_is_not_edited() {
    let desk = poem();
    desk.call("Read", json!({ "file_path": "poem" }));
    desk.workspace.write("poem", b"\x7fELF\0\x01\0\0red\0\0\0\x02");
    insta::assert_snapshot!(edit(&desk, "red", "white"), @"cannot edit poem: it is not text");
}

#[test]
fn a_passage_of_a_large_file_is_edited_like_any_other() {
    let desk = Desk::new("-- log\n-");
    let text = "a line of the log, and nothing else\r\n".repeat(200_000);
    let (head, tail) = text.split_at(text.len() / 2 / 37 * 37);
    desk.workspace.write("log", format!("{head}here it is{tail}").as_bytes());
    desk.call("Read", json!({ "file_path": "log", "limit": 3 }));
    let input = json!({ "file_path": "log", "old_string": "here it is", "new_string": "there\nit was" });
    let drawn = desk.drawn("Edit", input).replace('\r', "");
    assert!(drawn.contains("@@ -99998,7 +99998,8 @@") && drawn.contains("\n-here it isa line"), "{drawn}");
    assert!(desk.workspace.text("log") == format!("{head}there\r\nit was{tail}"), "the rest is as it was");
}
