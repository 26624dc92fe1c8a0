//! Which paths a rule covers.

use super::*;

#[test]
fn a_read_rule_covers_every_call_that_reads() {
    check("deny Read(secrets/**)", "Read", reads("/w/app/secrets/key"), DENY);
    check("deny Read(secrets/**)", "Bash", runs("cat k").and_reads("/w/app/secrets/sub/deep/k"), DENY);
    check("deny Read(secrets/**)", "Grep", reads("/w/app/secrets"), DENY);
    check("deny Read(secrets/**)", "Read", reads("/w/app/secretsx/a"), ALLOW);
    check("deny Read(secrets/**)", "Read", reads("/w/app/secrets/*"), DENY);
    check("deny Read", "Grep", reads("/w/app/src"), DENY);
    check("allow Read", "Grep", reads("/etc"), ALLOW);
    check("deny Edit(src/**)", "Read", reads("/w/app/src/a.rs"), ALLOW);
}

#[test]
fn an_edit_rule_covers_every_call_that_writes() {
    check("allow Edit(src/**)", "Write", writes("/w/app/src/x/y/z.rs"), ALLOW);
    check("allow Edit(src/**)", "Write", writes("/w/app/lib/z.rs"), ASK);
    check("allow Edit(src/**)", "Write", writes("/w/app/SRC/a.rs"), ASK);
    check("allow Edit(**)", "Write", writes("/w/other.rs"), ASK);
    check("allow Edit(**)", "Write", writes("/w/app-evil/x"), ASK);
    check("allow Edit", "Write", writes("/tmp/x"), ALLOW);
    check(
        "allow Edit(src/**); allow Bash(git diff:*)",
        "Bash",
        runs("git diff").and_writes("/w/app/src/p"),
        ALLOW,
    );
    check("allow Bash(git diff:*)", "Bash", runs("git diff").and_writes("/w/app/p"), ASK);
    check("allow Edit(out/**)", "Move", writes("/w/app/out/a").and_writes("/w/app/b"), ASK);
}

#[test]
fn a_rule_for_another_file_tool_covers_that_tool_alone() {
    check("allow Write(src/**)", "Write", writes("/w/app/src/a"), ALLOW);
    check("allow Write(src/**)", "Edit", writes("/w/app/src/a"), ASK);
    check("deny Grep(src/**)", "Grep", reads("/w/app/src/a"), DENY);
    check("deny Grep(src/**)", "Read", reads("/w/app/src/a"), ALLOW);
}

#[test]
fn anchors_say_where_a_path_begins() {
    check("allow Read(~/notes/**)", "Read", reads("/home/u/notes/a.md"), ALLOW);
    check("allow Read(~/notes/**)", "Read", reads("/home/u/notes2/a.md"), ASK);
    check("allow Edit(//tmp/out/**)", "Write", writes("/tmp/out/new.txt"), ALLOW);
    check("allow Edit(/src/**)", "Write", writes("/w/app/src/a"), ALLOW);
    check("allow Edit(/src/**)", "Write", writes("/src/a"), ASK);
    check("allow Read(../lib/**)", "Read", reads("/w/lib/a"), ALLOW);
    check("deny Read(.env)", "Read", reads("/w/app/.env"), DENY);
    check("deny Read(.env)", "Read", reads("/w/app/sub/.env"), ALLOW);
    check("deny Read(**/.env)", "Read", reads("/w/app/sub/.env"), DENY);
    check("deny Read(**/.env)", "Read", reads("/w/app/.env"), DENY);
    check("deny Read(**/.env)", "Read", reads("/w/app/env"), ALLOW);
}

#[test]
fn a_directory_covers_what_is_below_it() {
    for rule in ["deny Read(~/.aws/)", "deny Read(~/.aws)", "deny Read(~/.aws/**)", "deny Read(~/.aws/*)"] {
        check(rule, "Read", reads("/home/u/.aws/sso/cache/x"), DENY);
    }
    check("allow Read(~/docs)", "Read", reads("/home/u/docs/a/b"), ALLOW);
    check("allow Read(~/docs/*)", "Read", reads("/home/u/docs/a/b"), ASK);
    check("allow Read(~/docs/*)", "Read", reads("/home/u/docs/a"), ALLOW);
    check("allow Read(~/*/public)", "Read", reads("/home/u/x/public/a"), ALLOW);
    check("allow Read(~/docs/**)", "Grep", reads("/home/u/docs"), ALLOW);
    check("allow Edit(build/**)", "Remove", writes("/w/app/build"), ASK);
}

#[test]
fn wildcards_stay_within_a_name() {
    check("allow Edit(src/*.rs)", "Edit", writes("/w/app/src/a.rs"), ALLOW);
    check("allow Edit(src/*.rs)", "Edit", writes("/w/app/src/sub/a.rs"), ASK);
    check("allow Edit(src/*.rs)", "Edit", writes("/w/app/src/a.rs.bak"), ASK);
    check("allow Edit(src/*.rs)", "Edit", writes("/w/app/xsrc/a.rs"), ASK);
    check("allow Edit(src?a.rs)", "Edit", writes("/w/app/srcXa.rs"), ALLOW);
    check("allow Edit(src?a.rs)", "Edit", writes("/w/app/src/a.rs"), ASK);
    check("allow Edit({src,lib}/**)", "Edit", writes("/w/app/lib/a.rs"), ALLOW);
    check("allow Edit(src[x-z]a.rs)", "Edit", writes("/w/app/srcya.rs"), ALLOW);
    check("deny Read(**/*.pem)", "Read", reads("/w/app/deep/a.pem"), DENY);
    check("deny Read(src/**)", "Read", reads("/w/app/src/.hidden"), DENY);
}

#[test]
fn a_refusal_holds_for_the_spelling_and_for_the_target() {
    check("deny Read(secrets/**)", "Read", linked(reads("/w/app/src/l"), "/w/app/secrets/key"), DENY);
    check("deny Read(secrets/**)", "Read", linked(reads("/w/app/secrets/l"), "/w/app/src/a"), DENY);
    check("deny Read(secrets/**)", "Read", reads("/w/app/./src/../secrets/key"), DENY);
    check("deny Read(secrets/**)", "Read", reads("//w/app/secrets//key"), DENY);
    check(
        "allow Edit(**); deny Edit(secrets/**)",
        "Edit",
        linked(writes("/w/app/l"), "/w/app/secrets/k"),
        DENY,
    );
}

#[test]
fn a_permission_holds_for_the_target_alone() {
    check("allow Edit(**)", "Write", linked(writes("/w/app/l"), "/tmp/out/f"), ASK);
    check("allow Edit(src/**)", "Write", writes("/w/app/src/../x"), ASK);
    check("allow Read(~/notes/**)", "Read", reads("/home/u/notes/../.ssh/id_rsa"), ASK);
    check("allow Edit(//tmp/out/**)", "Write", linked(writes("/w/app/l"), "/tmp/out/f"), ALLOW);
}

#[test]
fn who_may_edit_a_file_may_look_at_it_while_editing() {
    let edit = || reads("/tmp/out/f").and_writes("/tmp/out/f");
    check("allow Edit(//tmp/out/**)", "Edit", edit(), ALLOW);
    check("allow Edit(//tmp/out/**)", "Edit", edit().and_reads("/tmp/out/other"), ASK);
    check("allow Edit(//tmp/out/**); deny Read(//tmp/out/**)", "Edit", edit(), DENY);
}

#[test]
fn special_characters_in_the_bases_are_plain_characters() {
    let rules = Rules::allowing(["Edit(src/*)"], Origin::Flag);
    let bases = Bases { workspace: "/w/[a]*{b}".into(), home: None };
    let policy = Policy::compile(rules, &bases).unwrap();
    let verdict = |path: &str| {
        let edit = case("Edit", writes(path));
        policy.decide(&Request { workspace: Path::new("/w/[a]*{b}"), ..edit.request() }).verdict
    };
    assert_eq!(verdict("/w/[a]*{b}/src/x"), ALLOW);
    assert_eq!(verdict("/w/axb/src/x"), ASK);
}

#[cfg(unix)]
#[test]
fn a_name_that_is_not_utf8_is_still_under_the_rule() {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(b"/w/app/deep/\xfe\xff.key"));
    check("deny Read(**/*.key)", "Read", Effects::reads(path), DENY);
}

#[track_caller]
fn withheld(rules: &str, root: &str, path: &str) -> bool {
    let policy = policy(rules);
    let withheld = policy.withheld(["Grep", "search"].into_iter(), Path::new(root));
    withheld.is_some_and(|withheld| withheld.covers(Path::new(path)))
}

#[test]
fn searching_leaves_out_what_may_not_be_read() {
    let rules = "deny Read(secrets/**); ask Read(**/*.pem); allow Read(src/**)";
    assert!(withheld(rules, "/w/app", "/w/app/secrets"));
    assert!(withheld(rules, "/w/app", "/w/app/secrets/key"));
    assert!(withheld(rules, "/w/app", "/w/app/a.pem"));
    assert!(!withheld(rules, "/w/app", "/w/app/src/a.rs"));
}

#[test]
fn rules_for_another_name_of_the_tool_count() {
    assert!(withheld("deny search(secrets/**)", "/w/app", "/w/app/secrets/key"));
    assert!(!withheld("deny Other(secrets/**)", "/w/app", "/w/app/secrets/key"));
}

#[test]
fn without_a_rule_against_reading_nothing_needs_to_be_asked() {
    let policy = policy("allow Read(**); deny Edit(**); ask Edit");
    assert!(policy.withheld(["Grep"].into_iter(), Path::new("/w/app")).is_none());
}

#[test]
fn who_was_asked_about_a_directory_was_asked_about_what_is_in_it() {
    let rules = "ask Read(private/**); ask Read(**/*.pem); deny Read(private/never)";
    assert!(withheld(rules, "/w/app", "/w/app/private/a"));
    assert!(!withheld(rules, "/w/app/private", "/w/app/private/a"));
    assert!(withheld(rules, "/w/app/private", "/w/app/private/a.pem"), "of this nobody was asked");
    assert!(withheld(rules, "/w/app/private", "/w/app/private/never"));
}
