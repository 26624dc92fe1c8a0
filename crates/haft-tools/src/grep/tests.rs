//! What model and person see of a search.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};

use haft_engine::{
    Call,
    policy::{Origin, Rules, Written},
};
use haft_testkit::{Workspace, engine, run, session};
use serde_json::{Value, json};

use super::Grep;

fn poems() -> Workspace {
    Workspace::new(
        "-- poems/rose.txt
         roses are red
         violets are blue
         sugar is sweet
         and so are you
         -- poems/tree.txt
         I think that I shall never see
         a poem lovely as a tree
         -- notes.md
         Roses, see poems
         -- .hidden/rose
         a hidden rose
         -- ignored/rose
         an ignored rose
         -- .ignore
         ignored
         ",
    )
}

fn grep_in(workspace: &Workspace, input: Value) -> String {
    let text = run(Grep, workspace, input).map_or_else(|fault| fault.text, |reply| reply.text);
    text.replace(&workspace.root().display().to_string(), "/w")
}

fn grep(input: Value) -> String {
    grep_in(&poems(), input)
}

#[test]
fn files_with_matches_are_listed_by_path() {
    insta::assert_snapshot!(grep(json!({ "pattern": "(?i)rose" })), @"
    2 files with matches:

    notes.md
    poems/rose.txt
    ");
    insta::assert_snapshot!(grep(json!({ "pattern": "rose", "-i": true, "glob": "*.txt" })), @"
    1 file with matches:

    poems/rose.txt
    ");
}

#[test]
fn lines_are_shown_below_their_file_with_their_numbers() {
    insta::assert_snapshot!(grep(json!({ "pattern": "are|see", "output_mode": "content" })), @"
    5 matches in 3 files:

    notes.md
    1:Roses, see poems

    poems/rose.txt
    1:roses are red
    2:violets are blue
    4:and so are you

    poems/tree.txt
    1:I think that I shall never see
    ");
    insta::assert_snapshot!(grep(json!({ "pattern": "violets", "output_mode": "content", "-n": false })), @"
    1 match in 1 file:

    poems/rose.txt
    violets are blue
    ");
}

#[test]
fn neighbours_of_a_match_are_told_from_matches() {
    insta::assert_snapshot!(grep(json!({ "pattern": "blue|you", "output_mode": "content", "-C": 1 })), @"
    2 matches in 1 file:

    poems/rose.txt
    1-roses are red
    2:violets are blue
    3-sugar is sweet
    4:and so are you
    ");
    insta::assert_snapshot!(grep(json!({ "pattern": "red|you", "output_mode": "content", "-A": 1 })), @"
    2 matches in 1 file:

    poems/rose.txt
    1:roses are red
    2-violets are blue
    --
    4:and so are you
    ");
}

#[test]
fn counts_are_those_of_matching_lines() {
    insta::assert_snapshot!(grep(json!({ "pattern": "are|see", "output_mode": "count" })), @"
    5 matches in 3 files:

    notes.md:1
    poems/rose.txt:3
    poems/tree.txt:1
    ");
}

#[test]
fn a_page_tells_the_true_total_and_where_to_go_on() {
    let page = |offset: u64| {
        grep(
            json!({ "pattern": "are|see", "output_mode": "content", "head_limit": 2, "offset": offset, "-B": 1 }),
        )
    };
    insta::assert_snapshot!(page(0), @"
    5 matches in 3 files; showing 1–2, go on with offset 2:

    notes.md
    1:Roses, see poems

    poems/rose.txt
    1:roses are red
    ");
    insta::assert_snapshot!(page(2), @"
    5 matches in 3 files; showing 3–4, go on with offset 4:

    poems/rose.txt
    2:violets are blue
    3-sugar is sweet
    4:and so are you
    ");
    insta::assert_snapshot!(page(4), @"
    5 matches in 3 files; showing 5–5:

    poems/tree.txt
    1:I think that I shall never see
    ");
    insta::assert_snapshot!(page(9), @"5 matches in 3 files; there is nothing at offset 9.");
    insta::assert_snapshot!(grep(json!({ "pattern": "are|see", "head_limit": 1 })), @"
    3 files with matches; showing 1–1, go on with offset 1:

    notes.md
    ");
    insta::assert_snapshot!(grep(json!({ "pattern": "are|see", "output_mode": "count", "offset": 2 })), @"
    5 matches in 3 files; showing 3–3:

    poems/tree.txt:1
    ");
}

#[test]
fn all_pages_together_are_the_whole() {
    let workspace = Workspace::new("");
    for file in 0..20 {
        let lines: String = (0..file).map(|line| format!("x {line}\nneighbour\nother\n")).collect();
        workspace.write(&format!("d{}/{file:02}", file % 3), lines.as_bytes());
    }
    let ask = |limit: u64, offset: u64| {
        let text = grep_in(
            &workspace,
            json!({ "pattern": "x", "output_mode": "content", "head_limit": limit, "offset": offset }),
        );
        text.lines().filter(|line| line.contains(":x ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let whole = ask(0, 0);
    assert_eq!(whole.len(), 190);
    for limit in [1, 7, 64, 250] {
        let pages: Vec<String> =
            (0..190).step_by(limit).flat_map(|at| ask(limit as u64, at as u64)).collect();
        assert_eq!(pages, whole, "{limit} at a time");
    }
}

/// More files than a first look goes through, each with two matches.
fn many() -> Workspace {
    let workspace = Workspace::new("");
    for number in 0..1_200 {
        let directory = workspace.root().join(format!("d{}", number % 13));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("{number:04}.txt")), "one rose\ntwo roses\n").unwrap();
    }
    workspace
}

#[test]
fn a_page_that_the_first_files_fill_ends_the_search_and_says_so() {
    let many = many();
    insta::assert_snapshot!(grep_in(&many, json!({ "pattern": "rose", "head_limit": 3 })), @"
    at least 512 files with matches (not all was searched); showing 1–3, go on with offset 3:

    d0/0000.txt
    d0/0013.txt
    d0/0026.txt
    ");
    let lines = json!({ "pattern": "two", "output_mode": "content", "head_limit": 2, "offset": 1 });
    insta::assert_snapshot!(grep_in(&many, lines), @"
    at least 512 matches in 512 files (not all was searched); showing 2–3, go on with offset 3:

    d0/0013.txt
    2:two roses

    d0/0026.txt
    2:two roses
    ");
    // Beyond the first look, and where it finds too little, everything is searched.
    let far = grep_in(&many, json!({ "pattern": "rose", "head_limit": 2, "offset": 600 }));
    assert!(far.starts_with("1,200 files with matches; showing 601–602, go on with offset 602:"), "{far}");
    fs::write(many.root().join("d9/zzzz.txt"), "one tulip").unwrap();
    insta::assert_snapshot!(grep_in(&many, json!({ "pattern": "tulip", "head_limit": 1 })), @"
    1 file with matches:

    d9/zzzz.txt
    ");
}

#[test]
fn pages_of_a_first_look_are_those_of_a_whole_search() {
    let many = many();
    let pages = |limit: u64| -> Vec<String> {
        let page =
            |offset| grep_in(&many, json!({ "pattern": "rose", "head_limit": limit, "offset": offset }));
        let paths = (0..1_200)
            .step_by(limit as usize)
            .flat_map(|offset| page(offset).lines().skip(2).map(str::to_owned).collect::<Vec<_>>());
        paths.collect()
    };
    assert_eq!(pages(150), pages(1_200));
}

#[test]
fn no_match_is_an_answer() {
    insta::assert_snapshot!(grep(json!({ "pattern": "daisies" })), @"No matches in 3 files.");
    insta::assert_snapshot!(grep(json!({ "pattern": "rose", "glob": "*.py" })), @"No file was searched: none fits. Hidden and ignored files are passed over.");
}

#[test]
fn hidden_and_ignored_files_are_searched_on_request() {
    insta::assert_snapshot!(grep(json!({ "pattern": "rose", "hidden": true, "no_ignore": true })), @"
    3 files with matches:

    .hidden/rose
    ignored/rose
    poems/rose.txt
    ");
    insta::assert_snapshot!(grep(json!({ "pattern": "rose", "glob": ".hidden/**" })), @"
    1 file with matches:

    .hidden/rose
    ");
}

#[test]
fn a_file_can_be_searched_alone() {
    insta::assert_snapshot!(grep(json!({ "pattern": "tree", "path": "poems/tree.txt", "output_mode": "content" })), @"
    1 match in 1 file:

    poems/tree.txt
    2:a poem lovely as a tree
    ");
    insta::assert_snapshot!(grep(json!({ "pattern": "tree", "path": "poems/nothing.txt" })), @"cannot look through /w/poems/nothing.txt: it does not exist");
}

#[test]
fn matches_may_span_lines() {
    let input = json!({ "pattern": "blue.*sweet", "multiline": true, "output_mode": "content" });
    insta::assert_snapshot!(grep(input), @"
    1 match in 1 file:

    poems/rose.txt
    2:violets are blue
    3:sugar is sweet
    ");
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let workspace = Workspace::new("");
    let line = format!("{}needle{}\n", "ä".repeat(1_000), "-".repeat(1_000));
    workspace.write("minified.js", line.as_bytes());
    let text = grep_in(&workspace, json!({ "pattern": "needle", "output_mode": "content" }));
    assert!(text.contains("1:[… 1900 bytes] ää"), "{text}");
    assert!(text.contains("needle---") && text.ends_with("[… 606 bytes]\n"), "{text}");
}

#[test]
fn binary_files_are_passed_over_and_utf_16_is_read() {
    let workspace = Workspace::new("");
    workspace.write("binary", b"needle\0\n");
    workspace.write("late", &[b"needle\n".as_slice(), &vec![b'a'; 100_000], b"\n\0\n"].concat());
    let utf_16: Vec<u8> = "\u{feff}a needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    workspace.write("wide", &utf_16);
    workspace.write("latin", b"na\xefve needle\n");
    insta::assert_snapshot!(grep_in(&workspace, json!({ "pattern": "needle", "output_mode": "content" })), @"
    2 matches in 2 files:

    latin
    1:na�ve needle

    wide
    1:a needle
    ");
    insta::assert_snapshot!(grep_in(&workspace, json!({ "pattern": "needle" })), @"
    2 files with matches:

    latin
    wide
    ");
}

#[test]
fn names_that_are_not_utf_8_are_shown_escaped() {
    let workspace = Workspace::new("");
    fs::write(workspace.root().join(OsStr::from_bytes(b"\xff\n")), "needle").unwrap();
    insta::assert_snapshot!(grep_in(&workspace, json!({ "pattern": "needle" })), @r#"
    1 file with matches:

    $'\xff\n'
    "#);
}

#[test]
fn a_large_file_streams_and_is_counted_to_the_end() {
    let workspace = Workspace::new("");
    workspace.write("large.log", "some words on a line\n".repeat(400_000).as_bytes());
    let text = grep_in(&workspace, json!({ "pattern": "words", "output_mode": "content", "head_limit": 1 }));
    insta::assert_snapshot!(text, @"
    400,000 matches in 1 file; showing 1–1, go on with offset 1:

    large.log
    1:some words on a line
    ");
}

#[test]
fn what_may_not_be_read_is_not_found() {
    let workspace = poems();
    let rule = |text: &str| Written::new(text, Origin::Session);
    let rules = Rules {
        deny: vec![rule("Read(poems/rose.txt)")],
        ask: vec![rule("Read(**/*.md)")],
        ..Rules::default()
    };
    let engine = engine(&workspace).tools(crate::builtin()).rules(rules).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let call = |tool: &str, input: Value| {
        runtime.block_on(session(&engine, &workspace).call(Call::new("1", tool, input))).text()
    };
    insta::assert_snapshot!(call("Grep", json!({ "pattern": "s" })), @"
    1 file with matches:

    poems/tree.txt
    ");
    insta::assert_snapshot!(call("Glob", json!({ "pattern": "**" })), @"
    1 file:

    poems/tree.txt
    ");
    insta::assert_snapshot!(call("List", json!({ "depth": 3 })), @"
    5 entries:

    .hidden/
      rose (14 bytes)
    poems/
      tree.txt (55 bytes)
    .ignore (9 bytes)
    (1 entry ignored)
    ");
}

#[test]
fn a_person_sees_figures_and_the_first_lines() {
    let input: super::GrepInput =
        serde_json::from_value(json!({ "pattern": "are", "path": "/w", "output_mode": "content" })).unwrap();
    insta::assert_snapshot!(haft_tool::Tool::describe(&Grep, &input), @"Search /w for are");
}
