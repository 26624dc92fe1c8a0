//! How long it takes to understand a command line: the budget is 50 µs for a usual one, and a second for a megabyte.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use haft_shell::understand;
use haft_tool::PathBase;

const USUAL: [(&str, &str); 4] = [
    ("plain", "git diff --stat"),
    ("pipe", "git log --oneline -20 | grep -v merge | head -5"),
    ("chain", "cd crates && cargo test --release -p haft-shell 2>&1 | tail -20; echo \"exit: $?\""),
    ("nested", "timeout 60 bash -c 'find . -name \"*.rs\" -exec grep -l \"$(cat pattern)\" {} +' > out.txt"),
];

fn usual(criterion: &mut Criterion) {
    let base = PathBase { cwd: "/w/app".into(), home: Some("/home/u".into()), workspace: None };
    for (name, line) in USUAL {
        criterion
            .bench_function(name, |bencher| bencher.iter(|| understand(black_box(line), &base).effects()));
    }
}

fn long(criterion: &mut Criterion) {
    let base = PathBase { cwd: "/w/app".into(), home: Some("/home/u".into()), workspace: None };
    let mut group = criterion.benchmark_group("a megabyte");
    group.sample_size(10);
    for (name, line) in [
        ("of commands", "git diff; ".repeat(100_000)),
        ("of words", format!("echo {}", "word ".repeat(200_000))),
        ("of brackets", "$(".repeat(500_000)),
        ("of the shortest commands", "a&".repeat(500_000)),
        ("of substitutions", "$(a)".repeat(250_000)),
        ("of conditions", "if a; then b; fi;".repeat(58_000)),
    ] {
        group.bench_function(name, |bencher| bencher.iter(|| understand(black_box(&line), &base).effects()));
    }
}

criterion_group!(benches, usual, long);
criterion_main!(benches);
