//! How fast is ordinary text looked through? `cargo bench -p haft-redact --bench redact`
//!
//! By the clock. On a machine that does other things as well, `HAFT_BENCH_CPU=1` counts time on the processor instead.
#![allow(missing_docs, reason = "the macros of criterion make public functions")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

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

/// Source of this crate that speaks of little else than text.
fn source() -> String {
    [include_str!("../src/block.rs"), include_str!("../src/stream.rs"), include_str!("../src/known.rs")]
        .concat()
        .repeat(25)
}

/// Source that is about little else than passwords, keys and tokens, with some in it that are taken out: the worst of it.
fn dense() -> String {
    [include_str!("../src/scan.rs"), include_str!("../src/assigned.rs"), include_str!("../src/pem.rs")]
        .concat()
        .repeat(25)
}

/// How long it takes so many times: by the clock, or what the system counts for this thread.
fn timed<T>(times: u64, mut work: impl FnMut() -> T) -> Duration {
    let (begun, clock) = (counted(), Instant::now());
    (0..times).for_each(|_| drop(black_box(work())));
    match (begun, counted()) {
        (Some(begun), Some(ended)) => ended - begun,
        _ => clock.elapsed(),
    }
}

fn counted() -> Option<Duration> {
    std::env::var_os("HAFT_BENCH_CPU")?;
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(line.split(' ').next()?.parse().ok()?))
}

fn benches(criterion: &mut Criterion) {
    let variables =
        (0..20).map(|n| (format!("APP_{n}_TOKEN"), format!("k7Trombo9-{n}-blue-horse-{}", n * 7919)));
    let plain = Redactor::builder().build();
    let knowing = Redactor::builder().variables(variables).build();
    for (name, text) in [("logs", logs()), ("source", source()), ("source full of key words", dense())] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(20);
        group.bench_function("by form", |bencher| {
            bencher.iter_custom(|count| timed(count, || plain.redact(&text).found.count()))
        });
        group.bench_function("by form and 20 values", |bencher| {
            bencher.iter_custom(|count| timed(count, || knowing.redact(&text).found.count()))
        });
        group.finish();
    }
}

criterion_group!(all, benches);
criterion_main!(all);
