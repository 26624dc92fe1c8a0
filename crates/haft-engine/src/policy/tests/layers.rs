//! The cascade: deny lists, then the first layer with an answer, then the mode.

use super::*;

fn both(first: &str, second: &str) -> Effects {
    runs(first).and(runs(second))
}

#[test]
fn the_first_layer_with_an_answer_decides() {
    let push = || runs("git push");
    check("allow@model Bash(git push:*); ask Bash(git push:*)", "Bash", push(), ALLOW);
    check("ask@model Bash(git push:*); allow Bash(git push:*)", "Bash", push(), ASK);
    check("allow@agent Bash(git:*); ask@group Bash(git push:*)", "Bash", push(), ALLOW);
    check("allow@group Bash(git:*); ask@agent Bash(git push:*)", "Bash", push(), ASK);
    check("allow@sandbox Bash(git:*); ask@model Bash(git:*)", "Bash", push(), ASK);
    // A layer that says nothing of a call leaves it to the next.
    check("ask@model Bash(curl:*); allow Bash(git push)", "Bash", push(), ALLOW);
}

#[test]
fn within_a_layer_asking_comes_first() {
    for layer in ["", "@model", "@sandbox", "@agent", "@group"] {
        let rules = format!("allow{layer} Bash(git:*); ask{layer} Bash(git push:*)");
        check(&rules, "Bash", runs("git push"), ASK);
    }
}

#[test]
fn a_deny_holds_wherever_it_stands() {
    for layer in ["", "@model", "@sandbox", "@agent", "@group"] {
        let rules = format!("allow@model Bash; allow@model Bash(curl:*); deny{layer} Bash(curl:*)");
        check(&rules, "Bash", both("ls", "curl x"), DENY);
    }
}

#[test]
fn what_an_administrator_asks_no_layer_permits() {
    check("allow@model Bash(git push:*); ask! Bash(git push:*)", "Bash", runs("git push"), ASK);
    check("allow@model Bash; allow Bash; ask! Bash", "Bash", runs("git push"), ASK);
    check_case("ask! Bash", &case("Bash", runs("ls")).mode(Mode::Bypass), ASK);
}

#[test]
fn every_part_has_its_own_first_layer() {
    let rules = "allow@model Bash(git push:*); ask Bash(git push:*); ask Bash(curl:*); allow Bash(curl:*)";
    check(rules, "Bash", both("git push", "git push -f"), ALLOW);
    check(rules, "Bash", both("git push", "curl x"), ASK);
}

#[test]
fn a_question_about_the_whole_tool_is_answered_by_earlier_layers_only_if_they_cover_all() {
    check("allow@agent Bash(make:*); ask Bash", "Bash", runs("make"), ALLOW);
    check("allow@agent Bash(make:*); ask Bash", "Bash", both("make", "rm x"), ASK);
    // The defaults are no layer: what they would let through is asked as well.
    check("allow@agent Bash(make:*); ask Bash", "Bash", both("make", "ls"), ASK);
    check("allow Bash(make:*); ask Bash", "Bash", runs("make"), ASK);
    check("allow@agent Bash; ask Bash(make:*)", "Bash", runs("make"), ALLOW);
    check("allow@agent Bash; ask Bash", "Bash", Effects::unknown(), ALLOW);
    check("allow@agent Bash; ask Bash(curl:*)", "Bash", Effects::unknown(), ALLOW);
    check("allow Bash; ask Bash(curl:*)", "Bash", Effects::unknown(), ASK);
    check("allow@agent Bash; ask Bash; deny Bash(curl:*)", "Bash", Effects::unknown(), ASK);
}

#[test]
fn files_and_hosts_follow_the_same_order() {
    check("allow@agent Edit(src/**); ask Edit(src/a)", "Write", writes("/w/app/src/a"), ALLOW);
    check("ask@agent Edit(src/a); allow Edit(src/**)", "Write", writes("/w/app/src/a"), ASK);
    let fetch = || Effects::none().and_host("docs.rs", Access::Read);
    check("allow@model WebFetch(domain:docs.rs); ask WebFetch(domain:*)", "WebFetch", fetch(), ALLOW);
    check("ask@model WebFetch(domain:*); allow WebFetch(domain:docs.rs)", "WebFetch", fetch(), ASK);
}

#[test]
fn a_trace_tells_every_layers_answer() {
    let rules = "ask@agent Bash(curl:*); allow@group Bash(make:*); ask Bash(make:*)";
    let case = case("Bash", both("make", "rm x"));
    let layers: Vec<String> = policy(rules)
        .decide(&case.request())
        .trace
        .layers()
        .into_iter()
        .map(|step| format!("{}: {}", step.stage, step.outcome))
        .collect();
    assert_eq!(
        layers,
        [
            "deny lists: empty",
            "model: empty",
            "sandbox: empty",
            "agent: no answer",
            "group: allow a part",
            "global: ask",
        ]
    );
}

#[test]
fn rules_hold_for_whom_they_are_written() {
    let rule = |text: &str, layer| Written::new(text, Origin::Flag).in_layer(layer);
    let rules = Rules {
        allow: vec![
            rule("A", Layer::Model("claude-*".to_owned())),
            rule("B", Layer::Sandbox),
            rule("C", Layer::Agent("reviewer".to_owned())),
            rule("D", Layer::Group("dev".to_owned())),
            Written { for_roles: vec!["dev".to_owned()], ..rule("E", Layer::Global) },
            Written { except_roles: vec!["owner".to_owned()], ..rule("F", Layer::Global) },
        ],
        ..Rules::default()
    };
    let holding = |now: Circumstances<'_>| -> String {
        rules.clone().holding(&now).allow.into_iter().map(|rule| rule.text).collect()
    };
    assert_eq!(holding(Circumstances::default()), "F");
    assert_eq!(holding(Circumstances { model: Some("claude-x"), ..Circumstances::default() }), "AF");
    assert_eq!(
        holding(Circumstances { model: Some("gpt-x"), confined: true, ..Circumstances::default() }),
        "BF"
    );
    assert_eq!(holding(Circumstances { agent: Some("reviewer"), ..Circumstances::default() }), "CF");
    assert_eq!(holding(Circumstances { roles: &["dev".to_owned()], ..Circumstances::default() }), "DEF");
    assert_eq!(holding(Circumstances { roles: &["owner".to_owned()], ..Circumstances::default() }), "");
}

#[test]
fn an_address_of_a_private_network_is_refused_unless_a_rule_names_it() {
    let to = |host| Effects::none().and_host(host, Access::Read);
    for host in ["127.0.0.1", "[::1]", "localhost", "169.254.169.254", "10.0.0.7", "printer.local"] {
        check("", "WebFetch", to(host), DENY);
        check("allow WebFetch", "WebFetch", to(host), DENY);
        check("allow WebFetch(domain:*)", "WebFetch", to(host), DENY);
        check_case("", &case("WebFetch", to(host)).mode(Mode::Bypass), DENY);
        check(&format!("allow WebFetch(domain:{host})"), "WebFetch", to(host), ALLOW);
    }
    check("allow WebFetch(domain:*.internal)", "WebFetch", to("metadata.internal"), DENY);
    check("allow WebFetch(domain:*)", "WebFetch", to("93.184.216.34"), ALLOW);
}

#[test]
fn an_address_of_a_private_network_for_processes_is_asked_unless_a_rule_names_it() {
    let for_processes = |host: &str| {
        let mut case = case("Bash", runs("psql").and_host(host, Access::Write));
        case.spec = Spec::new("Bash").toolset("shell");
        case
    };
    for host in ["127.0.0.1", "localhost:5432", "[::1]:80", "10.0.0.7:22", "printer.local"] {
        for rules in ["", "allow Bash", "allow WebFetch(domain:*); allow Bash", "allow *"] {
            check_case(rules, &for_processes(host), ASK);
        }
        check_case("allow Bash", &for_processes(host).mode(Mode::Bypass), ASK);
        check_case("allow Bash", &for_processes(host).mode(Mode::DontAsk), DENY);
        let name = haft_tool::host_in_one_form(host);
        check_case(&format!("allow WebFetch(domain:{name}); allow Bash"), &for_processes(host), ALLOW);
        check_case(&format!("deny WebFetch(domain:{name})"), &for_processes(host), DENY);
        check_case("allow Bash", &for_processes(host).external(), DENY);
    }
}

#[test]
fn only_a_rule_for_the_very_command_lets_the_machine_stop() {
    let stops = |line: &str| {
        let argv = line.split(' ').map(str::to_owned).collect();
        case("Bash", Effects::none().and_command(argv, Class::Destructive).and_state(MACHINE, Access::Write))
    };
    for (rules, expected) in [
        ("", ASK),
        ("allow Bash", ASK),
        ("allow Bash(ls:*); allow Bash", ASK),
        ("allow Bash(reboot:*)", ALLOW),
        ("allow Bash; deny Bash(reboot:*)", DENY),
    ] {
        check_case(rules, &stops("reboot now"), expected);
        check_case(rules, &stops("reboot now").mode(Mode::Bypass), expected);
    }
    let mut doubtful = stops("reboot");
    doubtful.effects = doubtful.effects.and_unknown();
    check_case("allow Bash(reboot:*); allow Bash", &doubtful, ASK);
}
