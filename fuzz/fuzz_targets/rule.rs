//! Rules that a person writes, against a call: a line each for an allow, an ask and a deny rule, a tool and a path.

#![no_main]

use std::path::Path;

use haft_engine::{
    policy::{Bases, Mode, Origin, Policy, Request, Rule, Rules, Verdict, Written},
    pool::check_plain,
};
use haft_tool::{Caller, Effects, Spec};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let [allow, ask, deny, tool, path] = std::array::from_fn(|_| lines.next().unwrap_or_default());
    for rule in [&text, allow, ask, deny] {
        parse(rule);
    }
    let path = format!("/w/{path}");
    let verdict = |deny| Some(decide([allow, ask, deny], tool, &path)?.0);
    let (Some(without), Some(with)) = (verdict(""), verdict(deny)) else { return };
    assert!(with == Verdict::Deny || with == without, "a deny rule denies, or changes nothing");
    let is_denied = deny == tool && check_plain(tool).is_ok();
    assert!(!is_denied || with == Verdict::Deny, "a tool that is denied by its name does not run");
});

fn parse(text: &str) {
    if let Err(err) = text.parse::<Rule>() {
        assert!((1..=text.chars().count() + 1).contains(&err.column), "{err}");
        assert!(!err.problem.is_empty() && !err.instead.is_empty(), "{err}");
    }
}

/// The verdict and its explanation; `None` if a rule is not one. An empty rule is left out.
fn decide(rules: [&str; 3], tool: &str, path: &str) -> Option<(Verdict, String)> {
    let [allow, ask, deny] = rules.map(|rule| match rule {
        "" => Vec::new(),
        rule => vec![Written::new(rule, Origin::Session)],
    });
    let bases = Bases { workspace: "/w".into(), home: Some("/home/me".into()) };
    let policy = Policy::compile(Rules { allow, ask, deny }, &bases).ok()?;
    let decision = policy.decide(&Request {
        tool,
        aliases: &[],
        spec: &Spec::new("T"),
        effects: &Effects::writes(path),
        mode: Mode::Default,
        workspace: Path::new("/w"),
        code_places: &[],
        caller: &Caller::default(),
        read_only: false,
        external: false,
    });
    Some((decision.verdict, decision.trace.explain()))
}
