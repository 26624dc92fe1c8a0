//! The specification of deciding, as tables: rules, a call, the verdict.

use std::path::Path;

use haft_tool::{Access, Caller, Class, Effects, FaultKind, Refusal, Spec};
use proptest::prelude::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;

const WORKSPACE: &str = "/w/app";
const ALLOW: Verdict = Verdict::Allow;
const ASK: Verdict = Verdict::Ask;
const DENY: Verdict = Verdict::Deny;

/// Rules as they are listed in tests: `allow Read(src/**); deny Bash(curl:*)`.
fn policy(rules: &str) -> Policy {
    let mut lists = Rules::default();
    for line in rules.split(';').map(str::trim).filter(|line| !line.is_empty()) {
        let (list, text) = line.split_once(' ').expect("`allow`, `ask` or `deny`, then the rule");
        let list = match list {
            "allow" => &mut lists.allow,
            "ask" => &mut lists.ask,
            "deny" => &mut lists.deny,
            other => panic!("no list is called {other}"),
        };
        list.push((text.to_owned(), Origin::Flag));
    }
    let bases = Bases { workspace: WORKSPACE.into(), home: Some("/home/u".into()) };
    Policy::compile(lists, &bases).unwrap_or_else(|errors| panic!("{}", errors[0]))
}

/// A call to be decided.
struct Case {
    tool: &'static str,
    spec: Spec,
    effects: Effects,
    mode: Mode,
    caller: Caller,
    external: bool,
}

fn case(tool: &'static str, effects: Effects) -> Case {
    Case {
        tool,
        spec: Spec::new(tool),
        effects,
        mode: Mode::Default,
        caller: Caller::default(),
        external: false,
    }
}

impl Case {
    fn mode(mut self, mode: Mode) -> Case {
        self.mode = mode;
        self
    }

    fn external(mut self) -> Case {
        self.external = true;
        self
    }

    fn request(&self) -> Request<'_> {
        Request {
            tool: self.tool,
            aliases: self.spec.other_names(),
            spec: &self.spec,
            effects: &self.effects,
            mode: self.mode,
            workspace: Path::new(WORKSPACE),
            caller: &self.caller,
            external: self.external,
        }
    }
}

#[track_caller]
fn check_case(rules: &str, case: &Case, expected: Verdict) {
    let decision = policy(rules).decide(&case.request());
    assert_eq!(
        decision.verdict,
        expected,
        "[{rules}] {} {}\n{}",
        case.tool,
        case.effects,
        decision.trace.explain()
    );
}

#[track_caller]
fn check(rules: &str, tool: &'static str, effects: Effects, expected: Verdict) {
    check_case(rules, &case(tool, effects), expected);
}

fn reads(path: &str) -> Effects {
    Effects::reads(path)
}

fn writes(path: &str) -> Effects {
    Effects::writes(path)
}

/// A path that is a link to another.
fn linked(effects: Effects, target: &str) -> Effects {
    let mut effects = effects;
    effects.locate([target.into()]);
    effects
}

/// A shell command; `rm` and `curl` are not read-only.
fn runs(line: &str) -> Effects {
    let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let class = match argv[0].as_str() {
        "ls" | "cat" => Class::ReadOnly,
        "rm" => Class::Destructive,
        _ => Class::Write,
    };
    Effects::none().and_command(argv, class)
}

mod defaults {
    use super::*;

    #[test]
    fn what_touches_nothing_or_reads_the_workspace_is_free() {
        check("", "Add", Effects::none(), ALLOW);
        check("", "Read", reads("/w/app/src/a.rs"), ALLOW);
        check("", "Read", reads("/w/app"), ALLOW);
        check("", "Todo", Effects::changes("todos"), ALLOW);
        check("", "Bash", runs("ls -la"), ALLOW);
        check("", "Bash", runs("cat a").and_reads("/w/app/a"), ALLOW);
    }

    #[test]
    fn everything_else_is_asked() {
        check("", "Read", reads("/etc/shadow"), ASK);
        check("", "Read", reads("/w/app-evil/a"), ASK);
        check("", "Bash", runs("cat x").and_reads("/home/u/.netrc"), ASK);
        check("", "Write", writes("/w/app/src/new.rs"), ASK);
        check("", "WebFetch", Effects::fetches("example.org"), ASK);
        check("", "Bash", runs("make build"), ASK);
        check("", "Mystery", Effects::unknown(), ASK);
        check("", "Forget", Effects::none().irreversible(), ASK);
    }

    #[test]
    fn a_path_is_judged_by_where_it_leads() {
        check("", "Read", linked(reads("/w/app/l"), "/etc/hostname"), ASK);
        check("", "Read", linked(reads("/w/app/dirlink/a.rs"), "/w/app/src/a.rs"), ALLOW);
        check("", "Read", reads("/w/app/src/../../outside.txt"), ASK);
        check("", "Read", linked(reads("/w/app/src/../src/a.rs"), "/w/app/src/a.rs"), ALLOW);
        check("", "Read", reads("/w/app/src//a.rs"), ALLOW);
    }

    #[test]
    fn a_path_that_is_not_absolute_is_refused() {
        check("allow Read; allow *", "Read", reads("src/a.rs"), DENY);
        check("", "Read", linked(reads("/w/app/a"), "a"), DENY);
    }

    #[test]
    fn what_a_server_says_of_its_tools_permits_nothing() {
        check_case("", &case("mcp__x__y", Effects::none()).external(), ASK);
        check_case("", &case("mcp__x__y", reads("/w/app/a")).external(), ASK);
        check_case("allow Read; allow Edit(**)", &case("mcp__x__y", writes("/w/app/a")).external(), ASK);
        check_case("", &case("mcp__x__y", writes("/w/app/a")).external().mode(Mode::AcceptEdits), ASK);
        check_case("allow mcp__x__y", &case("mcp__x__y", Effects::unknown()).external(), ALLOW);
        check_case(
            "allow mcp__x; deny Read(secrets)",
            &case("mcp__x__y", reads("/w/app/secrets")).external(),
            DENY,
        );
    }
}

mod tools {
    use super::*;

    #[test]
    fn a_rule_for_a_tool_covers_all_its_calls() {
        check("deny Bash", "Bash", runs("ls"), DENY);
        check("ask Bash", "Bash", runs("ls"), ASK);
        check("allow Bash", "Bash", runs("make build"), ALLOW);
        check("allow Bash(*)", "Bash", Effects::unknown(), ALLOW);
        check("allow MyTool", "MyTool", Effects::unknown(), ALLOW);
        check("allow MyTool", "MyTool2", Effects::unknown(), ASK);
        check("allow *", "MyTool", Effects::unknown(), ALLOW);
        check("deny *", "Add", Effects::none(), DENY);
    }

    #[test]
    fn a_rule_for_a_server_covers_its_tools_and_no_others() {
        for rule in ["allow mcp__github", "allow mcp__github__*", "allow mcp__github(*)"] {
            check(rule, "mcp__github__create_issue", Effects::unknown(), ALLOW);
            check(rule, "mcp__github2__create_issue", Effects::unknown(), ASK);
            check(rule, "mcp__github", Effects::unknown(), ASK);
        }
        check("allow mcp__github__create_*", "mcp__github__create_issue", Effects::unknown(), ALLOW);
        check("allow mcp__github__create_*", "mcp__github__delete_issue", Effects::unknown(), ASK);
        check("allow mcp__github__create", "mcp__github__create_issue", Effects::unknown(), ASK);
    }

    #[test]
    fn a_rule_for_an_alias_is_a_rule_for_the_tool() {
        let mut shell = case("Bash", runs("ls"));
        shell.spec = Spec::new("Bash").aliases(&["Shell"]);
        check_case("deny Shell", &shell, DENY);
    }

    #[test]
    fn a_command_line_that_is_not_understood_may_be_what_a_rule_forbids() {
        check("allow Bash; deny Bash(curl:*)", "Bash", Effects::unknown(), ASK);
        check("allow Bash; deny Read(secrets/**)", "Bash", Effects::unknown(), ASK);
        check("allow MyTool; deny Read(secrets/**)", "MyTool", Effects::unknown(), ALLOW);
    }

    #[test]
    fn a_tool_for_a_role_is_refused_to_others() {
        let mut deploy = case("Deploy", Effects::none());
        deploy.spec = Spec::new("Deploy").roles(&["admin", "owner"]);
        check_case("allow Deploy", &deploy, DENY);
        deploy.caller.roles = vec!["owner".to_owned()];
        check_case("", &deploy, ALLOW);
    }

    #[test]
    fn what_could_never_run_is_hidden() {
        let hides = |rules: &str, tool: &'static str, mode| policy(rules).hides(tool, &Spec::new(tool), mode);
        assert_eq!(hides("deny Bash(curl:*)", "Bash", Mode::Default), None);
        assert_eq!(
            hides("deny Bash", "Bash", Mode::Bypass).as_deref(),
            Some("denied by deny rule `Bash` (command line)")
        );
        assert!(hides("deny mcp__github", "mcp__github__x", Mode::Default).is_some());
        assert!(hides("ask Bash", "Bash", Mode::DontAsk).is_some());
        assert!(hides("", "Edit", Mode::Plan).is_some());
        assert_eq!(policy("").hides("Grep", &Spec::new("Grep").toolset("readonly"), Mode::Plan), None);
    }
}

mod paths {
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
        for rule in ["deny Read(~/.aws/)", "deny Read(~/.aws)", "deny Read(~/.aws/**)", "deny Read(~/.aws/*)"]
        {
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
        let rules = Rules { allow: vec![("Edit(src/*)".to_owned(), Origin::Flag)], ..Rules::default() };
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

    #[test]
    fn searching_leaves_out_what_may_not_be_read() {
        let policy = policy("deny Read(secrets/**); ask Read(**/*.pem); allow Read(src/**)");
        assert!(policy.withholds("Grep", Path::new("/w/app/secrets/key")));
        assert!(policy.withholds("Grep", Path::new("/w/app/a.pem")));
        assert!(!policy.withholds("Grep", Path::new("/w/app/src/a.rs")));
    }
}

mod protected_places {
    use super::*;

    #[test]
    fn a_broad_rule_does_not_cover_files_that_are_code() {
        for path in
            [".git/hooks/pre-commit", ".GIT/config", ".vscode/settings.json", "haft.toml", ".claude/x.json"]
        {
            check("allow Edit(**)", "Write", writes(&format!("/w/app/{path}")), ASK);
            check("allow *", "Write", writes(&format!("/w/app/{path}")), ASK);
        }
        check("allow Edit(**)", "Write", linked(writes("/w/app/h/x"), "/w/app/.git/hooks/x"), ASK);
        check("allow Edit(~/**)", "Write", writes("/home/u/.bashrc"), ASK);
        check("allow Bash", "Bash", runs("rm -rf /").and_writes("/"), ASK);
        check("allow Bash", "Bash", runs("rm -rf /home/u").and_writes("/home/u"), ASK);
        check("allow Edit(**)", "Write", writes("/w/app/.gitignore"), ALLOW);
        check("", "Read", reads("/w/app/.git/config"), ALLOW);
    }

    #[test]
    fn a_rule_that_names_the_very_path_does() {
        check("allow Edit(.git/config)", "Write", writes("/w/app/.git/config"), ALLOW);
        check("allow Edit(.git)", "Write", writes("/w/app/.git/config"), ASK);
        check("allow Edit(.git/*)", "Write", writes("/w/app/.git/config"), ASK);
        check("allow Edit(.git/config); ask Edit(**)", "Write", writes("/w/app/.git/config"), ASK);
    }

    #[test]
    fn modes_do_not_lift_the_protection() {
        let hook = |mode| case("Write", writes("/w/app/.git/hooks/x")).mode(mode);
        check_case("", &hook(Mode::AcceptEdits), ASK);
        check_case("", &hook(Mode::Bypass), ASK);
        check_case("", &hook(Mode::DontAsk), DENY);
    }
}

mod commands_and_hosts {
    use super::*;

    #[test]
    fn a_prefix_ends_at_a_word() {
        check("allow Bash(git diff:*)", "Bash", runs("git diff --stat"), ALLOW);
        check("allow Bash(git diff:*)", "Bash", runs("git diff"), ALLOW);
        check("allow Bash(git diff:*)", "Bash", runs("git diffx"), ASK);
        check("allow Bash(npm run test)", "Bash", runs("npm run test"), ALLOW);
        check("allow Bash(npm run test)", "Bash", runs("npm run test:e2e"), ASK);
        check("allow Bash(npm run test)", "Bash", runs("npm run test x"), ASK);
    }

    #[test]
    fn an_allow_needs_every_command_and_a_deny_needs_one() {
        check("allow Bash(git diff:*)", "Bash", runs("ls").and(runs("git diff")), ALLOW);
        check("allow Bash(git diff:*)", "Bash", runs("git diff").and(runs("make")), ASK);
        check("allow Bash(git diff:*)", "Bash", runs("git diff").and_unknown(), ASK);
        check("allow Bash; deny Bash(curl:*)", "Bash", runs("ls").and(runs("curl x")), DENY);
        check(
            "allow Bash(git push origin dev); deny Bash(git push:*)",
            "Bash",
            runs("git push origin dev"),
            DENY,
        );
        check("allow Bash(rm:*)", "Bash", runs("rm -rf build"), ALLOW);
    }

    #[test]
    fn a_path_to_a_program_is_refused_by_its_name_and_not_permitted_by_it() {
        check("allow Bash; deny Bash(curl:*)", "Bash", runs("/usr/bin/curl x"), DENY);
        check("allow Bash(git diff:*)", "Bash", runs("/tmp/git diff"), ASK);
        check("allow Bash(./run.sh:*)", "Bash", runs("./run.sh --fast"), ALLOW);
        check("allow Bash(./run.sh:*)", "Bash", runs("sh ./run.sh"), ASK);
    }

    #[test]
    fn hosts_are_compared_by_label() {
        let fetches = |host: &str| Effects::fetches(host);
        check("allow WebFetch(domain:docs.rs)", "WebFetch", fetches("docs.rs"), ALLOW);
        check("allow WebFetch(domain:docs.rs)", "WebFetch", fetches("DOCS.RS."), ALLOW);
        check("allow WebFetch(domain:docs.rs)", "WebFetch", fetches("evildocs.rs"), ASK);
        check("allow WebFetch(domain:docs.rs)", "WebFetch", fetches("docs.rs.evil.test"), ASK);
        check("allow WebFetch(domain:*.example.com)", "WebFetch", fetches("x.y.example.com"), ALLOW);
        check("allow WebFetch(domain:*.example.com)", "WebFetch", fetches("example.com"), ASK);
        check("allow WebFetch(domain:*.example.com)", "WebFetch", fetches(".example.com"), ASK);
        check("allow WebFetch(domain:*.example.com)", "WebFetch", fetches("aexample.com"), ASK);
        check("allow WebFetch; deny WebFetch(domain:evil.test)", "WebFetch", fetches("evil.test."), DENY);
        check("allow WebFetch(domain:[::1])", "WebFetch", fetches("[0:0:0:0:0:0:0:1]"), ALLOW);
    }

    #[test]
    fn a_rule_for_fetching_does_not_cover_sending() {
        check("allow WebFetch(domain:a.org)", "Post", Effects::sends("a.org"), ASK);
        check("deny WebFetch(domain:a.org)", "Post", Effects::sends("a.org"), DENY);
        check("allow Post(domain:a.org)", "Post", Effects::sends("a.org"), ALLOW);
    }
}

mod modes {
    use super::*;

    #[test]
    fn plan_permits_only_what_changes_nothing() {
        let plan = |tool, effects| case(tool, effects).mode(Mode::Plan);
        check_case("", &plan("Read", reads("/w/app/a")), ALLOW);
        check_case("", &plan("WebFetch", Effects::fetches("a.org")), ASK);
        check_case("allow Edit", &plan("Edit", writes("/w/app/a")), DENY);
        check_case("ask Edit", &plan("Edit", writes("/w/app/a")), DENY);
        check_case("allow Bash", &plan("Bash", Effects::unknown()), DENY);
        check_case("allow mcp__x", &plan("mcp__x__y", Effects::none()).external(), DENY);
    }

    #[test]
    fn accept_edits_permits_reversible_edits_of_the_workspace() {
        let accept = |tool, effects| case(tool, effects).mode(Mode::AcceptEdits);
        check_case("", &accept("Edit", writes("/w/app/a")), ALLOW);
        check_case("", &accept("Edit", writes("/w/other/a")), ASK);
        check_case("", &accept("Edit", linked(writes("/w/app/l"), "/tmp/out/f")), ASK);
        check_case("", &accept("Delete", writes("/w/app/a").irreversible()), ASK);
        check_case("ask Edit(a)", &accept("Edit", writes("/w/app/a")), ASK);
        check_case("", &accept("Bash", runs("make")), ASK);
    }

    #[test]
    fn dont_ask_refuses_what_would_be_asked() {
        let quiet = |tool, effects| case(tool, effects).mode(Mode::DontAsk);
        check_case("", &quiet("Edit", writes("/w/app/a")), DENY);
        check_case("ask Read", &quiet("Read", reads("/w/app/a")), DENY);
        check_case("allow Edit(a)", &quiet("Edit", writes("/w/app/a")), ALLOW);
        check_case("", &quiet("Read", reads("/w/app/a")), ALLOW);
    }

    #[test]
    fn bypass_permits_what_no_rule_speaks_of() {
        let bypass = |tool, effects| case(tool, effects).mode(Mode::Bypass);
        check_case("", &bypass("Bash", Effects::unknown()), ALLOW);
        check_case("", &bypass("mcp__x__y", Effects::unknown()).external(), ALLOW);
        check_case("deny Bash(curl:*)", &bypass("Bash", runs("curl x")), DENY);
        check_case("ask Bash(git push:*)", &bypass("Bash", runs("git push")), ASK);
    }
}

mod words {
    use super::*;

    #[track_caller]
    fn explain(rules: &str, case: &Case) -> String {
        policy(rules).decide(&case.request()).trace.explain()
    }

    #[test]
    fn a_decision_explains_itself() {
        let read = case("Read", linked(reads("/w/app/l"), "/w/app/secrets/key"));
        assert_eq!(
            explain("deny Read(secrets/**); allow Read", &read),
            "\
deny: deny rule `Read(secrets/**)` (command line) covers it: reads /w/app/l (really /w/app/secrets/key)
  class      read_only
  rule       Read(secrets/**)  (command line)
  part       reads /w/app/l (really /w/app/secrets/key)
  otherwise  allow: allow rule `Read` (command line) covers the tool
  deny rules       deny rule `Read(secrets/**)` (command line) covers it: reads /w/app/l (really /w/app/secrets/key)"
        );
        assert_eq!(
            explain("allow Edit(lib/**); allow Edit(src/**)", &case("Write", writes("/w/app/a\u{202e}\n"))),
            "\
ask: writes /w/app/a\\u{202e}\\n, and no rule allows it
  class      write
  part       writes /w/app/a\\u{202e}\\n
  deny rules       there are none
  roles            the caller may call it
  paths            all paths are absolute
  plan mode        the mode is default
  ask rules        there are none
  protected names  nothing that is protected is written
  bypass mode      the mode is default
  allow rules      none of 2 covers it
  defaults         writes /w/app/a\\u{202e}\\n, and no rule allows it"
        );
    }

    #[test]
    fn a_trace_is_json_for_programs() {
        let edit = case("Edit", writes("/w/app/src/a"));
        let trace = policy("allow Edit(src/**)").decide(&edit.request()).trace;
        let value = serde_json::to_value(&trace).unwrap();
        assert_eq!(value["verdict"], "allow");
        assert_eq!(value["class"], "write");
        assert_eq!(value["rule"], json!({ "text": "Edit(src/**)", "origin": "command line" }));
        assert_eq!(value["part"], "writes /w/app/src/a");
        assert_eq!(value["steps"][7]["stage"], "allow rules");
    }

    #[track_caller]
    fn told(rules: &str, case: &Case, refusal: Refusal, expected: &str) {
        let decision = policy(rules).decide(&case.request());
        let fault = decision.fault(&case.request());
        assert_eq!((fault.kind(), fault.refusal()), (FaultKind::Denied, Some(refusal)));
        assert_eq!(fault.message(), expected);
    }

    #[test]
    fn the_model_is_told_who_refused_and_what_it_may_do_instead() {
        let edit = || case("Edit", writes("/w/app/src/main.rs"));
        told(
            "deny Edit(src/**)",
            &edit(),
            Refusal::Rule,
            "Denied by a rule: deny rule `Edit(src/**)` (command line) covers it: writes /w/app/src/main.rs.\n\
             Do not try to reach the same in another way: go on without it, or tell the user what you need and why.",
        );
        told(
            "",
            &edit(),
            Refusal::NobodyThere,
            "Nobody is there to be asked, and this must be asked: writes /w/app/src/main.rs, and no rule allows it.\n\
             Go on without it, or tell the user that `--allow 'Edit(src/main.rs)'` would permit it.",
        );
        told(
            "",
            &edit().mode(Mode::Plan),
            Refusal::Mode,
            "Refused by plan mode, which permits only what changes nothing: writes /w/app/src/main.rs.\n\
             Read, search and plan; the change can be made once plan mode has ended.",
        );
        told(
            "ask Edit",
            &edit().mode(Mode::DontAsk),
            Refusal::Mode,
            "Refused because dont-ask mode asks nobody, and this would be asked: ask rule `Edit` (command line) covers the tool.\n\
             Go on without it, or tell the user what you need and why.",
        );
    }

    #[test]
    fn the_narrowest_rule_names_one_thing() {
        let rule = |case: &Case| narrowest_rule(&case.request());
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            rule(&case("Edit", writes("/w/app/src/a.rs").and_reads("/w/app/src/a.rs"))),
            some("Edit(src/a.rs)")
        );
        assert_eq!(
            rule(&case("Edit", writes("/tmp/out/a").and_reads("/tmp/out/a"))),
            some("Edit(//tmp/out/a)")
        );
        assert_eq!(rule(&case("Read", reads("/etc/hosts"))), some("Read(//etc/hosts)"));
        assert_eq!(rule(&case("Read", linked(reads("/w/app/l"), "/etc/hosts"))), some("Read(//etc/hosts)"));
        assert_eq!(rule(&case("WebFetch", Effects::fetches("docs.rs"))), some("WebFetch(domain:docs.rs)"));
        assert_eq!(rule(&case("mcp__a__b", Effects::unknown()).external()), some("mcp__a__b"));
        assert_eq!(rule(&case("Post", Effects::sends("a.org"))), some("Post(domain:a.org)"));
        assert_eq!(rule(&case("WebFetch", Effects::sends("a.org"))), None);
        assert_eq!(rule(&case("Move", writes("/w/app/a").and_writes("/w/app/b"))), None);
        assert_eq!(rule(&case("Bash", runs("make"))), None);
        assert_eq!(rule(&case("Any", Effects::unknown())), None);
        assert_eq!(rule(&case("Add", Effects::none())), None);
    }
}

mod asking {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use haft_tool::BoxFuture;

    use super::*;

    /// Answers always the same, and counts.
    struct Says(Answer, AtomicUsize);

    impl Asker for Says {
        fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { self.0.clone() })
        }
    }

    fn says(answer: Answer) -> Says {
        Says(answer, AtomicUsize::new(0))
    }

    async fn ask(asker: &dyn Asker, grants: &Grants, case: &Case) -> Result<Warrant, Box<Refused>> {
        let (input, token) = (json!({ "n": 1 }), CancellationToken::new);
        let call = Asked { describe: &|| "edits a file".to_owned(), input: &input, token: &token };
        permit(&policy("deny Bash"), grants, asker, call, &case.request())
            .await
            .map(|permit| permit.warrant())
    }

    #[tokio::test]
    async fn nobody_is_asked_where_the_policy_decides() {
        let asker = says(Answer::Once);
        let grants = Grants::default();
        assert_eq!(ask(&asker, &grants, &case("Add", Effects::none())).await.unwrap(), Warrant::Policy);
        let refused = ask(&asker, &grants, &case("Bash", Effects::none())).await.unwrap_err();
        assert_eq!(refused.fault.refusal(), Some(Refusal::Rule));
        assert_eq!(asker.1.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_grant_for_the_session_covers_the_same_and_nothing_else() {
        let (yes, grants) = (says(Answer::Session), Grants::default());
        let edit = |path| case("Edit", writes(path));
        assert_eq!(ask(&yes, &grants, &edit("/w/app/a")).await.unwrap(), Warrant::Session);
        assert_eq!(ask(&Nobody, &grants, &edit("/w/app/a")).await.unwrap(), Warrant::Granted);
        let refused = ask(&Nobody, &grants, &edit("/w/app/b")).await.unwrap_err();
        assert_eq!(refused.fault.refusal(), Some(Refusal::NobodyThere));
        let refused =
            ask(&Nobody, &grants, &case("Edit", linked(writes("/w/app/a"), "/etc/x"))).await.unwrap_err();
        assert_eq!(refused.fault.refusal(), Some(Refusal::NobodyThere));
    }

    #[tokio::test]
    async fn where_the_effects_say_nothing_a_grant_is_for_the_input() {
        let grants = Grants::default();
        let unknown = case("Any", Effects::unknown());
        assert_eq!(ask(&says(Answer::Session), &grants, &unknown).await.unwrap(), Warrant::Session);
        assert_eq!(ask(&Nobody, &grants, &unknown).await.unwrap(), Warrant::Granted);
        let input = json!({ "n": 2 });
        let other = Asked { describe: &String::new, input: &input, token: &CancellationToken::new };
        assert!(permit(&policy(""), &grants, &Nobody, other, &unknown.request()).await.is_err());
    }

    #[tokio::test]
    async fn a_persons_no_is_told_with_its_reason() {
        let no = says(Answer::No(Some("use the other file".to_owned())));
        let refused = ask(&no, &Grants::default(), &case("Edit", writes("/w/app/a"))).await.unwrap_err();
        assert_eq!(refused.fault.refusal(), Some(Refusal::Person));
        assert!(
            refused.fault.message().starts_with("The user refused this call and said: use the other file\n")
        );
        assert_eq!(refused.decision.verdict, ASK);
    }

    #[tokio::test]
    async fn a_cancelled_question_is_a_cancelled_call() {
        struct Silent;
        impl Asker for Silent {
            fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
                Box::pin(std::future::pending())
            }
        }
        let cancel = CancellationToken::new();
        cancel.cancel();
        let edit = case("Edit", writes("/w/app/a"));
        let (input, token) = (json!({}), || cancel.clone());
        let call = Asked { describe: &String::new, input: &input, token: &token };
        for asker in [&Silent as &dyn Asker, &says(Answer::Once)] {
            let refused =
                permit(&policy(""), &Grants::default(), asker, call, &edit.request()).await.unwrap_err();
            assert_eq!(refused.fault.kind(), FaultKind::Cancelled);
        }
    }
}

mod properties {
    use super::*;

    const RULES: &[&str] = &[
        "*",
        "Read",
        "Edit",
        "Bash",
        "Write",
        "mcp__a",
        "Read(src/**)",
        "Read(**/*.rs)",
        "Read(.env)",
        "Read(//etc)",
        "Edit(src/**)",
        "Edit(src/a.rs)",
        "Edit(.git/config)",
        "Edit(**)",
        "Edit(//**)",
        "Write(src/*)",
        "Read(~/**)",
        "Bash(git:*)",
        "Bash(git diff)",
        "WebFetch(domain:*.a.org)",
        "WebFetch(domain:b.a.org)",
        "Post(domain:*)",
    ];
    const PATHS: &[&str] = &[
        "/w/app/src/a.rs",
        "/w/app/.env",
        "/w/app/.git/config",
        "/etc/hosts",
        "/home/u/x",
        "/w/app/src/../x",
        "/",
    ];

    fn rule() -> impl Strategy<Value = String> {
        let list = prop::sample::select(&["allow", "ask", "deny"]);
        (list, prop::sample::select(RULES)).prop_map(|(list, text)| format!("{list} {text}"))
    }

    fn effects() -> impl Strategy<Value = Effects> {
        let path = prop::sample::select(PATHS);
        let one = prop_oneof![
            path.clone().prop_map(Effects::reads),
            path.clone().prop_map(Effects::writes),
            (path.clone(), path).prop_map(|(named, target)| linked(writes(named), target)),
            prop::sample::select(&["git diff", "git push", "ls", "rm x"]).prop_map(runs),
            Just(Effects::none().and_host("b.a.org", Access::Read)),
            Just(Effects::sends("b.a.org")),
            Just(Effects::unknown()),
            Just(Effects::none().irreversible()),
        ];
        prop::collection::vec(one, 0..3)
            .prop_map(|parts| parts.into_iter().fold(Effects::none(), Effects::and))
    }

    prop_compose! {
        fn any_case()(
            tool in prop::sample::select(&["Read", "Edit", "Write", "Bash", "WebFetch", "Post", "mcp__a__b"]),
            effects in effects(),
            mode in prop::sample::select(&Mode::ALL),
            external in any::<bool>(),
        ) -> Case {
            Case { external, ..case(tool, effects).mode(mode) }
        }
    }

    impl std::fmt::Debug for Case {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{} ({}): {}, external: {}", self.tool, self.mode, self.effects, self.external)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn one_more_rule_moves_only_its_own_way(
            rules in prop::collection::vec(rule(), 0..6), more in rule(), at in 0usize..6, case in any_case(),
        ) {
            let before = policy(&rules.join(";")).decide(&case.request()).verdict;
            let mut with = rules.clone();
            with.insert(at.min(rules.len()), more.clone());
            let after = policy(&with.join(";")).decide(&case.request()).verdict;
            if more.starts_with("allow") {
                prop_assert!(after <= before, "an allow made it stricter: {before} to {after}");
            } else {
                prop_assert!(after >= before, "a {more} made it looser: {before} to {after}");
            }
        }

        #[test]
        fn no_text_makes_compiling_or_deciding_panic(
            list in prop::sample::select(&["allow", "ask", "deny"]),
            pattern in r"[()\[\]{}*?!~/\\.,a-bé-]{0,16}",
            path in r"/[()\[\]{}*?!~/\\.,a-bé-]{0,16}",
        ) {
            let mut rules = Rules::default();
            let rule = (format!("Edit({pattern})"), Origin::Flag);
            match list {
                "allow" => rules.allow.push(rule),
                "ask" => rules.ask.push(rule),
                _ => rules.deny.push(rule),
            }
            let bases = Bases { workspace: WORKSPACE.into(), home: Some("/home/u".into()) };
            if let Ok(policy) = Policy::compile(rules, &bases) {
                policy.decide(&case("Edit", writes(&path)).request());
            }
        }

        #[test]
        fn dont_ask_only_turns_questions_into_refusals(rules in prop::collection::vec(rule(), 0..6), case in any_case()) {
            let policy = policy(&rules.join(";"));
            let asking = case.mode(Mode::Default);
            let before = policy.decide(&asking.request()).verdict;
            let after = policy.decide(&asking.mode(Mode::DontAsk).request()).verdict;
            prop_assert_eq!(after, if before == ASK { DENY } else { before });
        }

        #[test]
        fn the_suggested_rule_permits_the_call(name in r"[a-z~*?\[{ ']{1,6}", below in any::<bool>(), writing in any::<bool>()) {
            let path = format!("{}/sub/../{name}", if below { WORKSPACE } else { "/tmp/x" });
            let target = path.replace("/sub/..", "");
            let effects = linked(if writing { writes(&path) } else { reads(&path) }, &target);
            let case = case("Edit", effects);
            if let Some(rule) = narrowest_rule(&case.request()) {
                prop_assert_eq!(policy(&format!("allow {rule}")).decide(&case.request()).verdict, ALLOW, "{}", rule);
            }
        }
    }
}

/// Prints what a decision costs: `cargo test --release -- --nocapture what_a_decision_costs`.
#[test]
fn what_a_decision_costs() {
    const COMMON: &[&str] = &[
        "deny Read(dir{}/**)",
        "ask Read(dir{}/*.rs)",
        "deny Read(**/name{}.pem)",
        "allow Edit(src/m{}/**)",
        "deny Edit(**/gen{}/**)",
        "allow Bash(prog{} run:*)",
        "deny Tool{}",
        "allow mcp__s{}",
        "allow Read(~/d{}/*.md)",
        "allow WebFetch(domain:h{}.org)",
    ];
    const GLOBS: &[&str] = &["deny Read(**/a*{}.rs)", "deny Edit(**/b?{}/**/*.rs)"];
    for (kind, forms, count) in [
        ("no", COMMON, 0),
        ("common", COMMON, 100),
        ("common", COMMON, 1000),
        ("glob", GLOBS, 100),
        ("glob", GLOBS, 1000),
    ] {
        let rules: Vec<String> =
            (0..count).map(|n| forms[n % forms.len()].replace("{}", &n.to_string())).collect();
        let policy = policy(&rules.join(";"));
        for case in [
            case(
                "Read",
                linked(reads("/w/app/src/engine/policy/decide.rs"), "/w/app/src/engine/policy/decide.rs"),
            ),
            case("Edit", linked(writes("/w/app/src/m3/sub/decide.rs"), "/w/app/src/m3/sub/decide.rs")),
            case("Add", Effects::none()),
            case("Bash", runs("ls -la")),
        ] {
            let verdict = policy.decide(&case.request()).verdict;
            println!("{count:>5} {kind} rules  {:<5} {:>6} ns  {verdict}", case.tool, cost(&policy, &case));
        }
    }
}

/// Nanoseconds for a decision: the best of several batches, since the machine has other things to do.
fn cost(policy: &Policy, case: &Case) -> u128 {
    let rounds = if cfg!(debug_assertions) { 10 } else { 10_000 };
    let request = case.request();
    let batch = || {
        let start = std::time::Instant::now();
        for _ in 0..rounds {
            std::hint::black_box(policy.decide(std::hint::black_box(&request)));
        }
        start.elapsed().as_nanos() / rounds
    };
    (0..10).map(|_| batch()).min().unwrap_or_default()
}
