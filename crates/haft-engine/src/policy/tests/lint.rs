//! What is said of rules that do not do what they look like.

use super::{
    super::{lint, unknown_tools},
    *,
};

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
    check(
        "ask! Bash(git push:*); allow@agent Bash(git push origin)",
        &[
            "`Bash(git push origin)` never decides: ask rule `Bash(git push:*)` (command line) covers it and comes first",
        ],
    );
}

#[test]
fn a_rule_shadows_none_that_is_there_without_it() {
    for layer in ["model", "sandbox", "agent", "group"] {
        for list in ["deny", "ask", "allow"] {
            check(&format!("{list} Bash(git push -f); deny@{layer} Bash(git push:*)"), &[]);
            let above = format!(
                "`Bash(git push -f)` {}",
                match list {
                    "deny" => "adds nothing: `Bash(git push:*)` (command line) covers it".to_owned(),
                    _ =>
                        "never decides: deny rule `Bash(git push:*)` (command line) covers it and comes first"
                            .to_owned(),
                }
            );
            check(&format!("{list}@{layer} Bash(git push -f); deny Bash(git push:*)"), &[&above]);
            check(&format!("{list}@{layer} Bash(git push -f); deny@{layer} Bash(git push:*)"), &[&above]);
        }
    }
    check(
        "deny@agent Bash(git push); deny Bash(git push)",
        &["`Bash(git push)` adds nothing: `Bash(git push)` (command line) covers it"],
    );
    let of =
        |agent: &str, text: &str| Written::new(text, Origin::Flag).in_layer(Layer::Agent(agent.to_owned()));
    let deny = vec![of("one", "Bash(git push:*)"), of("other", "Bash(git push -f)")];
    assert_eq!(lint(&Rules { deny, ..Rules::default() }, TOOLS), []);
}

#[test]
fn a_rule_for_some_roles_shadows_none_for_others() {
    let wide = |roles: &[&str]| Written {
        for_roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        ..Written::new("Bash(git push:*)", Origin::Flag)
    };
    let narrow = |roles: &[&str]| Written { text: "Bash(git push -f)".to_owned(), ..wide(roles) };
    let remarks = |one, other| lint(&Rules { deny: vec![one, other], ..Rules::default() }, TOOLS).len();
    assert_eq!(remarks(wide(&["guest"]), narrow(&[])), 0);
    assert_eq!(remarks(wide(&["guest"]), narrow(&["guest"])), 1);
    assert_eq!(remarks(wide(&[]), narrow(&["guest"])), 1);
}

#[test]
fn no_rule_is_said_to_be_needless_because_of_another_file_or_a_flag() {
    let file = |path: &str| Origin::File { path: path.into(), line: 1 };
    let remarks = |wide: Origin, narrow: Origin| {
        let deny = vec![Written::new("Bash(git:*)", wide), Written::new("Bash(git push:*)", narrow)];
        lint(&Rules { deny, ..Rules::default() }, TOOLS).len()
    };
    assert_eq!(remarks(file("a"), file("a")), 1);
    assert_eq!(remarks(file("a"), file("b")), 0);
    assert_eq!(remarks(Origin::Flag, file("a")), 0);
    assert_eq!(remarks(file("a"), Origin::Flag), 1);
}

#[test]
fn all_that_is_the_matter_with_a_rule_is_told() {
    check(
        "deny Bash(git:*); allow Bash(git push:*)",
        &[
            "`Bash(git push:*)` lets everything run that `git push` can start; write the whole command, without `:*`",
            "`Bash(git push:*)` never decides: deny rule `Bash(git:*)` (command line) covers it and comes first",
        ],
    );
}

#[test]
fn a_rule_for_what_git_only_shows_is_as_narrow_as_it_looks() {
    check("allow Bash(git diff:*); allow Bash(git log --oneline:*)", &[]);
}

#[test]
fn a_host_is_no_path() {
    for tool in ["Read", "Edit"] {
        check(
            &format!("deny {tool}(domain:docs.rs)"),
            &[&format!(
                "`{tool}(domain:docs.rs)` never matches: Read and Edit speak of paths; write `WebFetch(domain:docs.rs)`"
            )],
        );
    }
    check(
        "deny Read(domain:*.a.org)",
        &[
            "`Read(domain:*.a.org)` never matches: Read and Edit speak of paths; write `WebFetch(domain:*.a.org)`",
        ],
    );
    check("deny Read(./x/domain:a); deny Read(/domain:a)", &[]);
}

#[test]
fn what_protects_nobody_because_no_tool_has_the_name_is_found() {
    let rules =
        written("deny read(x); ask grep; allow bash; deny mcp__away__tool; deny Read(x); deny Bash(a | b)");
    let said: Vec<String> = unknown_tools(&rules, TOOLS).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "command line: deny rule `read(x)` never matches: there is no tool `read`; did you mean `Read`?",
            "command line: ask rule `grep` never matches: there is no tool `grep`; did you mean `Grep`?",
        ]
    );
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
