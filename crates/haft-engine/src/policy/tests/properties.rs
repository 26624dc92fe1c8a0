//! What must hold for all rules and calls.

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
    "WebFetch",
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
    let list = prop::sample::select(&["allow", "ask", "ask!", "deny"]);
    let layer = prop::sample::select(&Layer::NAMES);
    (list, layer, prop::sample::select(RULES))
        .prop_map(|(list, layer, text)| format!("{list}@{layer} {text}"))
}

/// Rules that ask or allow, of one layer.
fn rules_of(layer: &'static str) -> impl Strategy<Value = String> {
    let one = (prop::sample::select(&["allow", "ask"]), prop::sample::select(RULES));
    let one = one.prop_map(move |(list, text)| format!("{list}@{layer} {text}"));
    prop::collection::vec(one, 0..4).prop_map(|rules| rules.join(";"))
}

/// Two layers, the first and its name, then the second.
fn two_layers() -> impl Strategy<Value = (&'static str, String, String)> {
    let pairs = (0..Layer::NAMES.len())
        .flat_map(|first| (first + 1..Layer::NAMES.len()).map(move |second| (first, second)));
    let pairs: Vec<(usize, usize)> = pairs.collect();
    prop::sample::select(pairs).prop_flat_map(|(first, second)| {
        let (first, second) = (Layer::NAMES[first], Layer::NAMES[second]);
        (Just(first), rules_of(first), rules_of(second))
    })
}

fn layers_answer(policy: &Policy, case: &Case, layer: &str) -> String {
    let layers = policy.decide(&case.request()).trace.layers();
    layers.into_iter().find(|step| step.stage == layer).expect("the layer").outcome
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
    prop::collection::vec(one, 0..3).prop_map(|parts| parts.into_iter().fold(Effects::none(), Effects::and))
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

fn said() -> impl Strategy<Value = Vec<Said>> {
    let verdict = prop::sample::select(&[None, Some(ALLOW), Some(ASK), Some(DENY)]);
    let one = (verdict, any::<bool>()).prop_map(|(verdict, changes)| Said {
        verdict,
        input: changes.then(|| json!({})),
        reason: Some("because".to_owned()),
        ..Said::by("hook")
    });
    prop::collection::vec(one, 0..4)
}

fn strictness(settled: &Settled) -> Verdict {
    match settled {
        Settled::Permitted(_) => ALLOW,
        Settled::Open(_) => ASK,
        Settled::Refused(_) => DENY,
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
    fn a_hook_tightens_and_loosens_nothing_but_a_question_that_no_rule_asks(
        rules in prop::collection::vec(rule(), 0..6), case in any_case(), said in said(),
    ) {
        let (policy, grants, request) = (policy(&rules.join(";")), Grants::default(), case.request());
        let uncovered = policy.decide(&request).is_uncovered();
        let settled = settle(&policy, &grants, &json!({}), &request);
        let before = strictness(&settled);
        let heard = hear(settled, &said, &request);
        let (after, loudest) = (strictness(&heard), said.iter().filter_map(|said| said.verdict).max());
        prop_assert!(before != DENY || after == DENY, "a hook loosened a deny");
        prop_assert!(after >= before || (uncovered && loudest == Some(ALLOW)), "{before} became {after}");
        prop_assert!(loudest != Some(DENY) || after == DENY, "a hook's no was not heard");
        prop_assert!(loudest != Some(ASK) || after >= ASK, "a hook's question was not heard");
        // What no rule covers is asked whatever rules speak against it.
        let allowing: Vec<String> = rules.into_iter().filter(|rule| rule.starts_with("allow")).collect();
        let covered = self::policy(&allowing.join(";")).decide(&request).verdict;
        prop_assert!(!uncovered || covered == ASK, "a rule's question passed for an open one");
        if let Settled::Refused(refused) = heard {
            prop_assert!(before == DENY || refused.decision.trace.hooks() == said);
        }
    }

    #[test]
    fn in_plan_mode_nothing_lets_a_change_through(
        rules in prop::collection::vec(rule(), 0..8), case in any_case(), said in said(), granted in any::<bool>(),
    ) {
        let (policy, grants) = (policy(&rules.join(";")), Grants::default());
        if granted {
            // What was granted in another mode is not granted in this one.
            grants.remember(&json!({}), &case.request());
        }
        let case = case.mode(Mode::Plan);
        let request = case.request();
        let changes = !request.effects.is_read_only() || request.external;
        let settled = hear(settle(&policy, &grants, &json!({}), &request), &said, &request);
        prop_assert!(!changes || strictness(&settled) == DENY, "{case:?} got through");
        prop_assert!(!changes || !classifier::may_judge(&policy.decide(&request), &request));
    }

    #[test]
    fn what_an_earlier_layer_says_of_a_whole_call_stands(
        (layer, first, second) in two_layers(), case in any_case(),
    ) {
        let case = case.mode(Mode::Default);
        let alone = policy(&first).decide(&case.request()).verdict;
        let both = policy(&format!("{first};{second}"));
        match (layers_answer(&policy(&first), &case, layer).as_str(), alone) {
            ("ask", ASK) => prop_assert_eq!(both.decide(&case.request()).verdict, ASK),
            ("allow", ALLOW) => prop_assert_eq!(both.decide(&case.request()).verdict, ALLOW),
            _ => {}
        }
    }

    #[test]
    fn no_text_makes_compiling_or_deciding_panic(
        list in prop::sample::select(&["allow", "ask", "deny"]),
        pattern in r"[()\[\]{}*?!~/\\.,a-bé-]{0,16}",
        path in r"/[()\[\]{}*?!~/\\.,a-bé-]{0,16}",
    ) {
        let mut rules = Rules::default();
        let rule = Written::new(format!("Edit({pattern})"), Origin::Flag);
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
        if let Some(rules) = narrowest_rules(&case.request()) {
            let rules = rules.iter().map(|rule| format!("allow {rule}")).collect::<Vec<_>>().join(";");
            prop_assert_eq!(policy(&rules).decide(&case.request()).verdict, ALLOW, "{}", rules);
        }
    }
}
