//! What commands name: words that may be paths, and hosts that are near.

use haft_tool::{HostEffect, Located, Spelling, address_of, host_in_one_form};

use super::*;

fn mentions(word: &str, spelling: Spelling) -> Effects {
    let mut effects = runs("perl x");
    effects.push_mention(format!("{WORKSPACE}/{word}").into(), spelling);
    effects
}

fn named(word: &str) -> Effects {
    mentions(word, Spelling::Path)
}

/// A word that names a link.
fn found(mut effects: Effects, target: &str) -> Effects {
    effects.note_mentioned([Some(Located { target: target.into(), is_file: true, exists: true })]);
    effects
}

#[test]
fn a_word_that_names_a_denied_file_is_denied_whatever_is_allowed() {
    for rules in ["allow Bash", "allow Bash(perl:*)", "allow Bash; allow Read", "allow@model Bash; allow *"] {
        check(&format!("{rules}; deny Read(**/.env)"), "Bash", named("a/../.env"), DENY);
    }
    let bypass = case("Bash", named(".env")).mode(Mode::Bypass);
    check_case("deny Read(.env)", &bypass, DENY);
    check("allow Bash; deny Read(secrets/**)", "Bash", named("secrets/key"), DENY);
    check("allow Bash; deny Read(**/.env)", "Bash", found(named("x"), "/w/app/.env"), DENY);
    check("allow Bash; deny Read(**/.env)", "Bash", found(named(".env"), "/w/app/x"), DENY);
}

#[test]
fn a_word_permits_nothing_and_only_denying_is_held_against_it() {
    for rules in ["allow Bash", "allow Bash; ask Read(**/.env)", "allow Bash; deny Edit(**/.env)"] {
        check(rules, "Bash", named(".env"), ALLOW);
    }
    check("allow Read(**/.env)", "Bash", named(".env"), ASK);
    check("allow Bash; deny Read(**/.env)", "Bash", named(".env.example"), ALLOW);
    assert!(named(".env").class() == runs("perl x").class() && !named(".env").is_unknown());
}

#[test]
fn any_word_is_a_path_only_where_it_is_there() {
    let word = || mentions("secrets", Spelling::PlainWord);
    check("allow Bash; deny Read(secrets/**)", "Bash", word(), ALLOW);
    check("allow Bash; deny Read(secrets/**)", "Bash", found(word(), "/w/app/secrets"), DENY);
    // Where all of the workspace is denied, a word would say nothing more.
    check("allow Bash; deny Read", "Bash", named("a.txt"), ALLOW);
}

#[test]
fn a_pattern_that_a_denied_name_fits_is_asked() {
    let pattern = |glob| mentions(glob, Spelling::Pattern);
    let rules = "allow Bash; deny Read(**/.env); deny Read(secrets/**)";
    for glob in [".en?", ".e*", "a/.e[n]v", "s*/key", "secret?/*", "*/key", "*/k*", "**/key"] {
        check(rules, "Bash", pattern(glob), ASK);
    }
    for glob in ["*", "*.txt", "?env", "src/*.rs"] {
        check(rules, "Bash", pattern(glob), ALLOW);
    }
}

#[test]
fn a_file_that_is_read_is_read_without_what_lies_below() {
    let mut effects = runs("cat a.txt");
    let path = PathEffect {
        path: "/w/app/a.txt".into(),
        access: Access::Read,
        target: None,
        spread: Spread::All,
        by: Some(0),
        harmless: false,
        below: haft_tool::Below::default(),
    };
    effects.push_path(path);
    check("deny Read(**/.env)", "Bash", effects.clone(), ASK);
    effects.note_found([Located { target: "/w/app/a.txt".into(), is_file: true, exists: true }]);
    check("deny Read(**/.env)", "Bash", effects, ALLOW);
}

/// A command that contacts a host.
fn contacts(host: &str) -> Effects {
    let mut effects = runs("curl x");
    effects.push_host(HostEffect { host: host.to_owned(), access: Access::Read, by: Some(0) });
    effects
}

const NEAR: [&str; 10] = [
    "127.0.0.1",
    "0.0.0.0",
    "2130706433",
    "0x7f.1",
    "169.254.169.254",
    "192.168.0.1",
    "[::1]",
    "::ffff:10.0.0.1",
    "LOCALHOST.",
    "metadata.google.internal",
];

#[test]
fn a_command_reaches_a_private_network_only_where_a_rule_names_the_host() {
    for host in NEAR {
        for rules in ["allow Bash", "allow Bash(curl:*)", "allow WebFetch(domain:*); allow Bash", "allow *"] {
            check(rules, "Bash", contacts(host), ASK);
        }
        check_case("allow Bash", &case("Bash", contacts(host)).mode(Mode::Bypass), ASK);
        check_case("allow Bash", &case("Bash", contacts(host)).mode(Mode::DontAsk), DENY);
        let form = host_in_one_form(host);
        check(&format!("allow Bash; allow WebFetch(domain:{form})"), "Bash", contacts(host), ALLOW);
        check(&format!("allow Bash; deny WebFetch(domain:{form})"), "Bash", contacts(host), DENY);
    }
    check("allow Bash", "Bash", contacts("docs.rs"), ALLOW);
    check("allow Bash", "Bash", contacts("8080"), ALLOW);
}

#[test]
fn the_rule_that_is_offered_names_the_host() {
    let case = case("Bash", contacts("LOCALHOST."));
    let rules = policy("").lasting_rules(&case.request()).expect("rules");
    assert_eq!(rules, ["Bash(curl x)", "WebFetch(domain:localhost)"]);
    let rules = policy("allow Bash").lasting_rules(&case.request()).expect("rules");
    assert_eq!(rules, ["WebFetch(domain:localhost)"]);
}

#[test]
fn the_trace_says_what_is_known_of_addresses() {
    let stage = |rules: &str, host: &str| {
        let case = case("Bash", contacts(host));
        let steps = policy(rules).decide(&case.request()).trace.steps();
        steps.into_iter().find(|step| step.stage == "addresses").expect("the stage").outcome
    };
    assert_eq!(stage("allow Bash", "docs.rs"), "no address of a private network is named");
    assert_eq!(
        stage("allow Bash; allow WebFetch(domain:127.0.0.1)", "127.1"),
        "a rule names each address of a private network"
    );
    assert!(stage("allow Bash", "127.1").contains("only a rule that names this very host permits that"));
    assert_eq!(
        stage("allow Bash; ask Bash(curl:*)", "127.1"),
        "a command names an address of a private network"
    );
}

proptest! {
    #[test]
    fn all_forms_of_an_address_get_one_verdict(bits: u32, rule in 0..4_usize) {
        let plain = std::net::Ipv4Addr::from_bits(bits).to_string();
        let rules = [
            "allow Bash".to_owned(),
            format!("allow Bash; allow WebFetch(domain:{plain})"),
            format!("allow Bash; deny WebFetch(domain:{plain})"),
            format!("allow WebFetch(domain:{plain})"),
        ];
        let policy = policy(&rules[rule]);
        let verdict = |host: &str| policy.decide(&case("Bash", contacts(host)).request()).verdict;
        let hidden = format!("{:#x}.{}", bits >> 24, bits & 0xff_ffff);
        for form in [format!("0{bits:o}"), format!("{bits:#X}"), hidden, format!("[::ffff:{plain}]"), format!("{plain}.")] {
            prop_assert!(address_of(&form).is_some(), "{}", form);
            prop_assert_eq!(verdict(&form), verdict(&plain), "{} {}", &rules[rule], form);
        }
    }

    #[test]
    fn what_a_command_mentions_never_makes_a_verdict_milder(
        rules in prop::collection::vec((prop::sample::select(&["allow", "ask", "deny"]), prop::sample::select(&[
            "Bash", "Read", "Read(**/.env)", "Read(src/**)", "Edit(**)", "Bash(perl:*)",
        ])), 0..5),
        words in prop::collection::vec(prop::sample::select(&[".env", "src/a", "a.txt", "s*/a"]), 0..4),
    ) {
        let rules: Vec<String> = rules.iter().map(|(list, rule)| format!("{list} {rule}")).collect();
        let policy = policy(&rules.join(";"));
        let mut effects = runs("perl x");
        let before = policy.decide(&case("Bash", effects.clone()).request()).verdict;
        for word in words {
            effects = effects.and(named(word));
        }
        let after = policy.decide(&case("Bash", effects).request()).verdict;
        prop_assert!(after >= before, "{:?}", rules);
    }
}
