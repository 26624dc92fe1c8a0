//! How fast is ordinary text looked through? `cargo bench -p haft-redact`
#![allow(missing_docs, reason = "the macros of criterion make public functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use haft_redact::Redactor;

/// Lines as servers write them.
fn logs() -> String {
    let line = |n: usize| {
        format!(
            "2026-03-01T10:{:02}:{:02}.123Z INFO  [worker-{}] request GET https://api.example.com/v1/items/{n} status=200 bytes={} trace_id=0a1b2c3d4e5f60718293a4b5c6d7e8f9 took={}ms\n",
            n / 60 % 60,
            n % 60,
            n % 8,
            n * 37 % 9999,
            n % 97
        )
    };
    (0..6_000).map(line).collect()
}

/// This crate's own source, again and again.
fn source() -> String {
    [
        include_str!("../src/scan.rs"),
        include_str!("../src/assigned.rs"),
        include_str!("../src/stream.rs"),
        include_str!("../src/pem.rs"),
    ]
    .concat()
    .repeat(25)
}

fn benches(criterion: &mut Criterion) {
    let variables =
        (0..20).map(|n| (format!("APP_{n}_TOKEN"), format!("k7Trombo9-{n}-blue-horse-{}", n * 7919)));
    let plain = Redactor::builder().build();
    let knowing = Redactor::builder().variables(variables).build();
    for (name, text) in [("logs", logs()), ("source", source())] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(20);
        group.bench_function("by form", |bencher| bencher.iter(|| plain.redact(&text).found.count()));
        group.bench_function("by form and 20 values", |bencher| {
            bencher.iter(|| knowing.redact(&text).found.count())
        });
        group.finish();
    }
}

criterion_group!(all, benches);
criterion_main!(all);
