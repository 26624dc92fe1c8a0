//! What does a decision cost with 1,000 rules?
//!
//! The rules are of all forms and layers, a fifth of them globs that any file of the workspace has to be compared with.

use std::{hint::black_box, path::Path};

use criterion::{Criterion, criterion_group, criterion_main};
use haft_engine::policy::{Bases, Layer, Mode, Origin, Policy, Request, Rules, Verdict, Written};
use haft_tool::{Caller, Effects, Spec};

const WORKSPACE: &str = "/home/me/project";

fn rule(n: usize) -> Written {
    let text = match n % 10 {
        0 => format!("Read(**/*.ext{n})"),
        1 => format!("Edit(src/*/generated{n}.rs)"),
        2 => format!("Read(secrets{n}/**)"),
        3 => format!("Edit(//etc/app{n}/*.conf)"),
        4 => format!("Edit(crates/part{n}/**)"),
        5 => format!("Read(**/.private{n})"),
        6 => format!("Bash(npm view part{n}:*)"),
        7 => format!("WebFetch(domain:host{n}.example.com)"),
        8 => format!("mcp__server{n}__*"),
        _ => format!("Write(docs/chapter{n}/*.md)"),
    };
    let layer = match n % 7 {
        0 => Layer::Agent("any".to_owned()),
        1 => Layer::Group("any".to_owned()),
        _ => Layer::Global,
    };
    Written::new(text, Origin::Session).in_layer(layer)
}

fn policy() -> Policy {
    let list = |from: usize, to: usize| (from..to).map(rule).collect::<Vec<_>>();
    let rules = Rules { deny: list(0, 333), ask: list(333, 666), allow: list(666, 1000) };
    let bases = Bases { workspace: WORKSPACE.into(), home: Some("/home/me".into()) };
    Policy::compile(rules, &bases).expect("rules without mistakes")
}

fn effects(write: bool, path: &str) -> Effects {
    let mut effects = if write { Effects::writes(path) } else { Effects::reads(path) };
    effects.locate(vec![path.into()]);
    effects
}

fn thousand_rules(c: &mut Criterion) {
    let policy = policy();
    let mut group = c.benchmark_group("1,000 rules");
    let file = format!("{WORKSPACE}/crates/engine/src/turn/pipeline/mod.rs");
    for (tool, write, verdict) in [("Read", false, Verdict::Allow), ("Edit", true, Verdict::Ask)] {
        let (spec, effects, caller) = (Spec::new(tool), effects(write, &file), Caller::default());
        let request = Request {
            tool,
            aliases: &[],
            spec: &spec,
            effects: &effects,
            mode: Mode::Default,
            workspace: Path::new(WORKSPACE),
            code_places: &[],
            caller: &caller,
            read_only: false,
            external: false,
        };
        assert_eq!(policy.decide(&request).verdict, verdict);
        group.bench_function(tool, |b| b.iter(|| policy.decide(black_box(&request))));
    }
    group.finish();
}

criterion_group!(benches, thousand_rules);
criterion_main!(benches);
