//! What a call costs by itself: a trivial typed tool through all eight steps, beside a direct call and a bare parse.

use std::{io, sync::Arc, time::Duration};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use haft_engine::{
    Call, Engine, Session, SessionOptions,
    policy::{Origin, Rules, Written},
    session::{Ending, Journal, Start, Starting},
};
use haft_tool::{BoxFuture, Cx, Effects, Fault, IntoTool, NoHost, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Adds two numbers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddInput {
    /// The first.
    a: i64,
    /// The second.
    b: i64,
    /// Words that are counted and dropped.
    #[serde(default)]
    text: String,
}

struct Add;

impl Tool for Add {
    type Input = AddInput;
    const SPEC: Spec = Spec::new("Add");
    fn effects(&self, _: &AddInput) -> Effects {
        Effects::none()
    }
    async fn call(&self, input: AddInput, _: &Cx) -> Result<Reply, Fault> {
        Ok(Reply::text((input.a + input.b + input.text.len() as i64).to_string()))
    }
}

struct NoJournal;

impl Journal for NoJournal {
    fn started<'a>(&'a self, _: Starting<'a>) -> BoxFuture<'a, io::Result<Start>> {
        Box::pin(std::future::ready(Ok(Start::Go)))
    }
    fn refused<'a>(&'a self, _: Starting<'a>) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
    fn finished<'a>(&'a self, _: Ending<'a>) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn session() -> Session {
    let engine = Engine::builder().tool(Add).rules(rules()).journal(NoJournal).build().expect("one tool");
    engine.session(SessionOptions::at("/")).expect("a session at the root")
}

/// A hundred rules of all kinds, none of which decides.
fn rules() -> Rules {
    let texts = |kind: &str| -> Vec<Written> {
        let rule = |n: usize| match n % 5 {
            0 => format!("Read(secret-{kind}-{n}/**)"),
            1 => format!("Edit(//etc/{kind}/{n}/*.conf)"),
            2 => format!("Bash(npm run {kind}-{n}:*)"),
            3 => format!("WebFetch(domain:{kind}{n}.example.com)"),
            _ => format!("mcp__{kind}{n}__*"),
        };
        Written::all((0..34).map(rule), Origin::Session)
    };
    Rules { allow: texts("allow"), ask: texts("ask"), deny: texts("deny") }
}

fn text(bytes: usize) -> String {
    format!(r#"{{"a":1,"b":2,"text":"{}"}}"#, "fn main() { println!(); } ".repeat(bytes / 26))
}

fn one_call(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let session = session();
    let small = r#"{"a":1,"b":2}"#;
    let mut group = c.benchmark_group("call");
    group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    group.bench_function("parse alone", |b| {
        b.iter(|| serde_json::from_str::<AddInput>(small).expect("valid"))
    });
    group.bench_function("direct", |b| {
        let tool = Add.into_tool();
        b.to_async(&runtime).iter(|| {
            let value = serde_json::from_str(small).expect("valid");
            let bound = tool.clone().bind(&value).expect("it fits");
            bound.run(NoHost::cx())
        });
    });
    group.bench_function("eight steps", |b| {
        b.to_async(&runtime).iter(|| session.call(Call::new("call_1", "Add", small)));
    });
    let large = text(100_000);
    group.throughput(Throughput::Bytes(large.len() as u64));
    group.bench_function("parse alone, 100 KB", |b| {
        b.iter_batched(
            || (),
            |()| serde_json::from_str::<serde_json::Value>(&large).expect("valid"),
            BatchSize::LargeInput,
        )
    });
    group.bench_function("eight steps, 100 KB", |b| {
        b.to_async(&runtime).iter_batched(
            || Call::new("call_1", "Add", large.clone()),
            |call| session.call(call),
            BatchSize::LargeInput,
        );
    });
    // As Anthropic's and Gemini's messages bring them: JSON inside of JSON.
    let parsed: serde_json::Value = serde_json::from_str(&large).expect("valid");
    group.bench_function("eight steps, 100 KB as a value", |b| {
        b.to_async(&runtime).iter_batched(
            || Call::new("call_1", "Add", parsed.clone()),
            |call| session.call(call),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn whole_turn(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let session = session();
    let mut group = c.benchmark_group("turn");
    group.sample_size(20).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    for calls in [100, 1_000, 10_000] {
        group.throughput(Throughput::Elements(calls));
        group.bench_function(format!("{calls} calls"), |b| {
            let turn: Arc<Vec<Call>> = Arc::new(
                (0..calls).map(|n| Call::new(format!("call_{n}"), "Add", r#"{"a":1,"b":2}"#)).collect(),
            );
            b.to_async(&runtime).iter_batched(
                || turn.to_vec(),
                |turn| session.turn(turn),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, one_call, whole_turn);
criterion_main!(benches);
