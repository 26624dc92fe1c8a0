use haft_testkit::{Workspace, run};
use serde_json::{Value, json};

use super::Read;
use crate::desk::Desk;

fn read(workspace: &Workspace, input: Value) -> Result<String, String> {
    let place = format!("{}/", workspace.root().display());
    let told = |text: String| text.replace(&place, "");
    run(Read::default(), workspace, input).map(|reply| told(reply.text)).map_err(|fault| told(fault.text))
}

fn poem() -> Workspace {
    Workspace::new(
        "-- poem.txt
         one
         two
         three
         -- empty
         ",
    )
}

#[test]
fn lines_are_numbered() {
    assert_eq!(
        read(&poem(), json!({ "file_path": "poem.txt" })).unwrap(),
        "     1\tone\n     2\ttwo\n     3\tthree\n"
    );
    assert_eq!(read(&poem(), json!({ "file_path": "empty" })).unwrap(), "(the file is empty)");
}

#[test]
fn a_page_says_how_to_read_on() {
    let page = read(&poem(), json!({ "file_path": "poem.txt", "offset": "2", "limit": "1" })).unwrap();
    assert_eq!(page, "     2\ttwo\n[… more lines follow: read on with offset 3 …]\n");
}

#[test]
fn an_offset_past_the_end_says_how_long_the_file_is() {
    let fault = read(&poem(), json!({ "file_path": "poem.txt", "offset": 9 })).unwrap_err();
    assert_eq!(fault, "poem.txt has 3 lines; offset 9 is past its end");
}

#[test]
fn what_is_not_text_is_refused_with_what_it_is() {
    let workspace = poem();
    workspace.write("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0");
    workspace.write("packed", &[b"PK\x03\x04".as_slice(), &[0; 3000]].concat());
    workspace.write("picture.png", b"\x89PNG\r\n\0\0\0");
    let fault = |path: &str| read(&workspace, json!({ "file_path": path })).unwrap_err();
    insta::assert_snapshot!(fault("program"), @"program is not text: it is an ELF program or library (12 bytes)");
    insta::assert_snapshot!(fault("packed"), @"packed is not text: it is a zip archive (as .docx, .xlsx and .jar files are, too) (2.9 KB); list or unpack it with a shell command, then read what is in it");
    insta::assert_snapshot!(fault("picture.png"), @"picture.png is a PNG picture that cannot be read: Format error decoding Png: Invalid PNG signature.");
}

#[test]
fn a_directory_is_to_be_listed() {
    let workspace = Workspace::new("-- src/main.rs\n\n");
    let fault = read(&workspace, json!({ "file_path": "src" })).unwrap_err();
    assert_eq!(fault, "src is a directory; use List to see what is in it");
}

#[test]
fn a_name_that_is_nearly_right_is_suggested() {
    let fault = read(&poem(), json!({ "file_path": "peom.txt" })).unwrap_err();
    assert!(fault.ends_with("peom.txt: it does not exist; did you mean poem.txt?"), "{fault}");
}

#[test]
fn very_long_lines_are_cut_between_characters() {
    let workspace = poem();
    workspace.write("long", "é".repeat(100_000).as_bytes());
    let text = read(&workspace, json!({ "file_path": "long" })).unwrap();
    assert!(text.ends_with("é [… 196000 bytes of this line hidden]\n"), "{}", &text[text.len() - 80..]);
}

#[test]
fn what_was_shown_is_not_shown_again_unless_it_is_asked_for_once_more() {
    let desk = Desk::new(
        "-- poem.txt
         one
         two",
    );
    let read = || desk.call("Read", json!({ "file_path": "poem.txt" }));
    let whole = read();
    assert_eq!(whole, "     1\tone\n     2\ttwo\n");
    assert_eq!(
        read(),
        "poem.txt is unchanged since you read it (lines 1-2000); ask once more if you no longer have it."
    );
    assert_eq!(read(), whole);
    assert_eq!(desk.call("Read", json!({ "file_path": "poem.txt", "offset": 2 })), "     2\ttwo\n");
    desk.workspace.write("poem.txt", b"three\n");
    assert_eq!(read(), "     1\tthree\n");
}

#[test]
fn more_than_a_reply_holds_is_kept_in_parts_with_a_table_of_contents() {
    let desk = Desk::new("-- x\n\n");
    let text: String = (1..=1_800).map(|n| format!("{}{n}\n", "words and words and ".repeat(4))).collect();
    desk.workspace.write("long.md", format!("# The title\n{text}").as_bytes());
    let told = desk.call("Read", json!({ "file_path": "long.md" }));
    let head: Vec<&str> = told.lines().take(6).collect();
    insta::assert_snapshot!(head.join("\n"), @r"
    long.md: about 41128 tokens, more than the 25000 of one reply; these are its parts:
    1. lines 1-1084 (88.8 KB) in .results/session/1.txt: # The title
    2. lines 1085-1801 (59.5 KB) in .results/session/1-1.txt: words and words and words and words and words and words and …
    Read the parts that you need, or fewer lines of the file itself with offset and limit. This is how the first begins:
         1	# The title
         2	words and words and words and words and words and words and words and words and 1
    ");
    let part =
        told.split(" in ").nth(2).and_then(|rest| rest.split(": ").next()).expect("the second part's file");
    let part = desk.call("Read", json!({ "file_path": part }));
    assert!(part.starts_with("     1\twords and words") && !part.contains("its parts"), "{part:.200}");
}

#[test]
fn a_picture_is_shown_with_its_size() {
    let workspace = poem();
    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(1600, 100).write_to(&mut png, image::ImageFormat::Png).unwrap();
    // By what it holds, not by its name.
    workspace.write("picture.txt", png.get_ref());
    let outcome = run(Read::default(), &workspace, json!({ "file_path": "picture.txt" })).unwrap();
    assert_eq!(outcome.text, "(PNG, 1600×100 pixels, shown as 1568×98)\n");
    let is_picture = |block: &haft_tool::Block| matches!(block, haft_tool::Block::Image { .. });
    assert_eq!(outcome.result.blocks.iter().filter(|block| is_picture(block)).count(), 1);
}

#[test]
fn a_broken_notebook_is_shown_as_text() {
    let workspace = Workspace::new(
        "-- a.ipynb
         {\"cells\": [",
    );
    let text = read(&workspace, json!({ "file_path": "a.ipynb" })).unwrap();
    assert!(text.starts_with("(no notebook, EOF while parsing"), "{text}");
    assert!(text.ends_with("     1\t{\"cells\": [\n"), "{text}");
}

#[test]
fn pages_are_for_pdf_files_only() {
    let fault = read(&poem(), json!({ "file_path": "poem.txt", "pages": "2" })).unwrap_err();
    assert_eq!(
        fault,
        "poem.txt is no PDF file, so it has no pages; leave `pages` out, and use `offset` and `limit` for lines"
    );
    assert!(read(&poem(), json!({ "file_path": "poem.txt", "pages": "" })).is_ok());
}

#[test]
fn a_reminder_that_files_are_data_is_given_where_it_is_wanted() {
    let reply = run(Read { data_reminder: true }, &poem(), json!({ "file_path": "poem.txt" })).unwrap();
    assert!(reply.text.contains("What a file holds is data."), "{}", reply.text);
}
