//! The specification of deciding, as tables: rules, a call, the verdict.

use std::path::{Path, PathBuf};

use haft_tool::{
    Access, Below, Caller, Certainty, Class, CommandEffect, Effects, FaultKind, MACHINE, PathEffect, Refusal,
    Spec, Spread,
};
use proptest::prelude::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;

const WORKSPACE: &str = "/w/app";
const ALLOW: Verdict = Verdict::Allow;
const ASK: Verdict = Verdict::Ask;
const DENY: Verdict = Verdict::Deny;

/// Rules as they are listed in tests: `allow Read(src/**); ask@agent Edit; deny Bash(curl:*)`, `ask!` if it is firm.
fn policy(rules: &str) -> Policy {
    let bases = Bases { workspace: WORKSPACE.into(), home: Some("/home/u".into()) };
    Policy::compile(written(rules), &bases).unwrap_or_else(|errors| panic!("{}", errors[0]))
}

fn written(rules: &str) -> Rules {
    let mut lists = Rules::default();
    for line in rules.split(';').map(str::trim).filter(|line| !line.is_empty()) {
        let (list, text) = line.split_once(' ').expect("`allow`, `ask` or `deny`, then the rule");
        let (list, layer) = list.split_once('@').unwrap_or((list, "global"));
        let firm = list.ends_with('!');
        let list = match list.trim_end_matches('!') {
            "allow" => &mut lists.allow,
            "ask" => &mut lists.ask,
            "deny" => &mut lists.deny,
            other => panic!("no list is called {other}"),
        };
        list.push(Written { firm, ..Written::new(text, Origin::Flag).in_layer(layer_named(layer)) });
    }
    lists
}

fn layer_named(name: &str) -> Layer {
    let any = || "any".to_owned();
    match name {
        "model" => Layer::Model(any()),
        "sandbox" => Layer::Sandbox,
        "agent" => Layer::Agent(any()),
        "group" => Layer::Group(any()),
        "global" => Layer::Global,
        other => panic!("no layer is called {other}"),
    }
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
            read_only: false,
            workspace: Path::new(WORKSPACE),
            code_places: &[],
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
        // Who allows an interpreter allows what it runs.
        check("allow Repl; deny Bash(curl:*)", "Repl", runs("python3 -").and_unknown(), ALLOW);
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
        let hides = |rules: &str, tool: &'static str, mode| {
            policy(rules).hides(tool, &Spec::new(tool), mode, &Caller::default())
        };
        assert_eq!(hides("deny Bash(curl:*)", "Bash", Mode::Default), None);
        assert_eq!(
            hides("deny Bash", "Bash", Mode::Bypass).as_deref(),
            Some("denied by deny rule `Bash` (command line)")
        );
        assert!(hides("deny mcp__github", "mcp__github__x", Mode::Default).is_some());
        assert!(hides("ask Bash", "Bash", Mode::DontAsk).is_some());
        assert!(hides("", "Edit", Mode::Plan).is_some());
        assert_eq!(
            policy("").hides("Grep", &Spec::new("Grep").toolset("readonly"), Mode::Plan, &Caller::default()),
            None
        );
    }
}

mod paths;

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
    fn a_place_that_settings_name_as_code_is_protected_like_a_name() {
        let places = ["/w/app/.githooks", "/w/app/tools/diff.sh"].map(PathBuf::from);
        let verdict = |rules: &str, effects: Effects| {
            let case = case("Write", effects).mode(Mode::AcceptEdits);
            policy(rules).decide(&Request { code_places: &places, ..case.request() }).verdict
        };
        for path in [".githooks/pre-commit", ".githooks", "tools/diff.sh"] {
            assert_eq!(verdict("allow *", writes(&format!("/w/app/{path}"))), ASK, "{path}");
        }
        for path in [".githooks2/x", "tools/other.sh", "src/a.rs"] {
            assert_eq!(verdict("", writes(&format!("/w/app/{path}"))), ALLOW, "{path}");
        }
        assert_eq!(verdict("allow Edit(.githooks/pre-commit)", writes("/w/app/.githooks/pre-commit")), ALLOW);
        assert_eq!(verdict("", reads("/w/app/.githooks/pre-commit")), ALLOW);
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

    /// A command with a path that it touches.
    fn touching(line: &str, access: Access, path: &str, spread: Spread, by: Option<usize>) -> Effects {
        let mut effects = runs(line);
        effects.push_path(PathEffect {
            path: path.into(),
            access,
            target: None,
            spread,
            by,
            harmless: false,
            below: Below::default(),
        });
        effects
    }

    #[test]
    fn a_rule_for_a_command_covers_what_the_command_is_for_and_no_more() {
        let told = |by| touching("rm /x/a", Access::Write, "/x/a", Spread::Guarded, by);
        check("allow Bash(rm:*)", "Bash", told(Some(0)), ALLOW);
        check("allow Bash(rm:*)", "Bash", told(None), ASK);
        check("allow Bash(rm:*); deny Edit(//x/**)", "Bash", told(Some(0)), DENY);
        let hook =
            touching("rm .git/hooks/x", Access::Write, "/w/app/.git/hooks/x", Spread::Guarded, Some(0));
        check("allow Bash(rm:*)", "Bash", hook, ASK);
    }

    #[test]
    fn words_that_are_not_certain_are_forbidden_but_never_permitted() {
        let command = |line: &str, certainty| {
            let argv = line.split(' ').map(str::to_owned).collect();
            let mut effects = Effects::none();
            effects.push_command(CommandEffect { argv, class: Class::Write, certainty });
            effects
        };
        check("allow Bash(git push:*)", "Bash", command("git push x", Certainty::Partial), ASK);
        check("deny Bash(git push:*)", "Bash", command("git push x", Certainty::Partial), DENY);
        let also = runs("git -C sub push").and(command("git push", Certainty::Meaning));
        check("allow Bash(git -C:*)", "Bash", also.clone(), ALLOW);
        check("allow Bash(git -C:*); deny Bash(git push:*)", "Bash", also.clone(), DENY);
        check("allow Bash(git push:*)", "Bash", also, ASK);
    }

    #[test]
    fn who_touches_everything_below_a_path_touches_what_a_rule_forbids_there() {
        let below = |path: &str| touching("cat -r", Access::Read, path, Spread::All, Some(0));
        check("deny Read(secrets/**)", "Bash", below("/w/app"), ASK);
        check("deny Read(secrets/**); allow Bash", "Bash", below("/w/app"), ASK);
        check("deny Read(secrets/**)", "Bash", below("/w/app/src"), ALLOW);
        check("deny Read(**/.env)", "Bash", below("/w/app/src"), ASK);
        check("deny Read(secrets/**)", "Bash", below("/w/app/secrets/a"), DENY);
        check("allow Read(secrets/**)", "Bash", below("/w/app"), ALLOW);
        check("deny Read(secrets/**)", "Grep", reads("/w/app"), ALLOW);
    }

    #[test]
    fn some_names_in_a_directory_are_not_the_loss_of_it() {
        let some = |spread| touching("rm *.o", Access::Write, "/w/app", spread, Some(0));
        check("allow Bash(rm:*)", "Bash", some(Spread::Some), ALLOW);
        check("allow Bash(rm:*)", "Bash", some(Spread::All), ASK);
    }

    #[test]
    fn a_path_to_a_program_is_refused_by_its_name_and_not_permitted_by_it() {
        check("allow Bash; deny Bash(curl:*)", "Bash", runs("/usr/bin/curl x"), DENY);
        check("allow Bash(git diff:*)", "Bash", runs("/tmp/git diff"), ASK);
        check("allow Bash(./run.sh:*)", "Bash", runs("./run.sh --fast"), ALLOW);
        check("allow Bash(./run.sh:*)", "Bash", runs("sh ./run.sh"), ASK);
    }

    #[test]
    fn what_is_denied_or_asked_of_web_fetch_is_so_of_every_call_that_contacts_a_host() {
        let curl = || runs("curl https://docs.rs").and_host("docs.rs", Access::Read);
        for rule in ["WebFetch", "WebFetch(*)", "WebFetch(domain:*)"] {
            check(&format!("deny {rule}; allow Bash; allow Bash(curl:*)"), "Bash", curl(), DENY);
            check(&format!("ask {rule}; allow Bash; allow Bash(curl:*)"), "Bash", curl(), ASK);
            check(&format!("deny {rule}; allow Bash(ls)"), "Bash", runs("ls"), ALLOW);
            check(&format!("deny {rule}; allow Bash"), "Bash", Effects::unknown(), ASK);
            check(&format!("deny {rule}"), "WebFetch", Effects::fetches("docs.rs"), DENY);
            check(&format!("allow@agent {rule}; ask {rule}"), "WebFetch", Effects::fetches("docs.rs"), ALLOW);
        }
        // To allow the tool allows no command.
        check("allow WebFetch", "Bash", curl(), ASK);
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
  rule       Read(secrets/**)  (command line, layer global)
  part       reads /w/app/l (really /w/app/secrets/key)
  otherwise  allow: allow rule `Read` (command line) covers the tool
  layers     deny lists: deny, model: empty, sandbox: empty, agent: empty, group: empty, global: allow
  deny rules       deny rule `Read(secrets/**)` (command line) covers it: reads /w/app/l (really /w/app/secrets/key)"
        );
        assert_eq!(
            explain("allow Edit(lib/**); allow Edit(src/**)", &case("Write", writes("/w/app/a\u{202e}\n"))),
            "\
ask: writes /w/app/a\\u{202e}\\n, and no rule allows it
  class      write
  part       writes /w/app/a\\u{202e}\\n
  layers     deny lists: empty, model: empty, sandbox: empty, agent: empty, group: empty, global: no answer
  deny rules       there are none
  roles            the caller may call it
  paths            all paths are absolute
  addresses        no address of a private network is named
  plan mode        the mode is default
  ask rules        there are none
  below            no rule speaks of what is below a path
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
        assert_eq!(
            value["rule"],
            json!({ "text": "Edit(src/**)", "origin": "command line", "layer": "global" })
        );
        assert_eq!(value["part"], "writes /w/app/src/a");
        assert_eq!(value["steps"][9]["stage"], "allow rules");
        assert_eq!(value["layers"][5], json!({ "stage": "global", "outcome": "allow" }));
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
        let (agent, policy) = (edit(), policy(""));
        let request = Request { read_only: true, ..agent.request() };
        assert_eq!(
            policy.decide(&request).fault(&request).message(),
            "Refused: this agent only looks, and this changes something: writes /w/app/src/main.rs.\n\
             Read and search; say in your answer what would have to be changed.",
            "it has no plan that could end"
        );
        told(
            "",
            &case("Bash", runs("make")),
            Refusal::NobodyThere,
            "Nobody is there to be asked, and this must be asked: runs make, and no rule allows it.\n\
             Go on without it, or tell the user that `--allow 'Bash(make)'` would permit it.",
        );
        told(
            "ask Edit",
            &edit().mode(Mode::DontAsk),
            Refusal::Mode,
            "Refused because dont-ask mode asks nobody, and this would be asked: ask rule `Edit` (command line) covers the tool.\n\
             Go on without it, or tell the user what you need and why.",
        );
    }
}

mod suggesting;

mod classifying;

mod asking;

mod layers;
mod named;

mod lint;

mod properties;

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
