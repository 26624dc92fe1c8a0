//! What is said of rules that do not do what they look like.

use super::{super::lint, *};

const TOOLS: [&str; 6] = ["Read", "Edit", "Write", "Bash", "Grep", "WebFetch"];

/// What is said of these rules, in their order, without the place.
fn said(rules: &str) -> Vec<String> {
    let remarks = lint(&written(rules), TOOLS);
    remarks.iter().map(|remark| format!("`{}` {}", remark.rule, remark.words)).collect()
}

#[track_caller]
fn check(rules: &str, expected: &[&str]) {
    assert_eq!(said(rules), expected, "[{rules}]");
}

#[test]
fn ordinary_rules_are_left_alone() {
    check(
        "deny Read(**/.env); deny Read(~/.ssh/**); ask Bash(git push:*); allow Bash(cargo test:*); allow Bash(git status); \
         allow Edit(src/**); allow WebFetch(domain:docs.rs); allow mcp__github__list_issues; allow Read(/lib/x.rs)",
        &["`Read(/lib/x.rs)` means `lib` in the workspace, not in the file system; write `//lib…` for that"],
    );
}

#[test]
fn rules_that_never_match_are_found() {
    check("allow Grap", &["`Grap` never matches: there is no tool `Grap`; did you mean `Grep`?"]);
    check(
        "deny Qqqqqq",
        &["`Qqqqqq` never matches: there is no tool `Qqqqqq`; `haft tools --all` lists the tools"],
    );
    check(
        "deny Bash(curl x | sh)",
        &[
            "`Bash(curl x | sh)` never matches: `|` joins commands, and a rule speaks of one; write a rule for each part",
        ],
    );
    check(
        "allow Bash(CI=1 npm view:*)",
        &[
            "`Bash(CI=1 npm view:*)` never matches: `CI=1` sets a variable and is no program; begin with the program",
        ],
    );
    check(
        "deny Read(/etc/shadow)",
        &[
            "`Read(/etc/shadow)` means `etc` in the workspace, not in the file system; write `//etc…` for that",
        ],
    );
    check("allow mcp__away__tool", &[]);
}

#[test]
fn rules_that_others_cover_are_found() {
    check(
        "deny Bash(git:*); allow Bash(git status)",
        &[
            "`Bash(git status)` never decides: deny rule `Bash(git:*)` (command line) covers it and comes first",
        ],
    );
    check(
        "ask Edit(src/**); allow Edit(src/a.rs)",
        &["`Edit(src/a.rs)` never decides: ask rule `Edit(src/**)` (command line) covers it and comes first"],
    );
    check("ask Edit(src/**); allow@agent Edit(src/a.rs)", &[]);
    check(
        "allow Edit(src/a.rs); allow Edit(src/a.rs)",
        &["`Edit(src/a.rs)` adds nothing: `Edit(src/a.rs)` (command line) covers it"],
    );
    check(
        "deny WebFetch(domain:*.a.org); deny WebFetch(domain:b.a.org)",
        &["`WebFetch(domain:b.a.org)` adds nothing: `WebFetch(domain:*.a.org)` (command line) covers it"],
    );
    check("deny Bash; deny Bash(rm:*)", &["`Bash(rm:*)` adds nothing: `Bash` (command line) covers it"]);
    check("deny Read(a/b); allow Read(a/**)", &[]);
}

#[test]
fn allows_that_are_broader_than_they_look_are_found() {
    for rule in [
        "*",
        "Bash",
        "Edit",
        "Read",
        "mcp__github",
        "Bash(python3:*)",
        "Bash(git:*)",
        "Bash(npm run:*)",
        "Bash(sudo:*)",
        "Bash(find:*)",
        "Read(//**)",
        "Edit(~/**)",
        "WebFetch(domain:*)",
        "WebFetch(domain:*.com)",
        "WebFetch(domain:*.github.io)",
        "Read(../**)",
    ] {
        let remarks = lint(&written(&format!("allow {rule}")), TOOLS);
        let kinds: Vec<RemarkKind> = remarks.iter().map(|remark| remark.kind).collect();
        assert_eq!(kinds, [RemarkKind::Broad], "{rule}");
        assert!(lint(&written(&format!("deny {rule}")), TOOLS).is_empty(), "{rule}");
    }
}

#[test]
fn denials_that_are_narrower_than_they_look_are_found() {
    check(
        "deny Write(secrets/**)",
        &[
            "`Write(secrets/**)` holds in calls of Write only: a command can still write there; write `Edit(…)` for every call",
        ],
    );
    check(
        "deny Read(.env)",
        &[
            "`Read(.env)` is that one file at the root of the workspace; write `**/.env` for files of that name anywhere",
        ],
    );
    check("deny Read(./sub/.env); deny Read(/.env)", &[]);
}

#[test]
fn a_remark_says_where_the_rule_stands() {
    let origin = Origin::File { path: "haft.toml".into(), line: 7 };
    let rules = Rules::allowing(["Bash(bash:*)"], origin);
    assert_eq!(
        lint(&rules, TOOLS)[0].to_string(),
        "haft.toml:7: allow rule `Bash(bash:*)` lets everything run that `bash` can start; write the whole command, without `:*`"
    );
}
