//! What does a pool of 10,000 tools cost?
//!
//! Tools are made anew for every build from scratch, so that nothing is remembered from the one before.

use std::{hint::black_box, sync::Arc, time::Duration};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use haft_engine::pool::{
    Filter, LiveSource, Pool, PoolBuilder, PoolView, Source, TOOL_SEARCH, Thresholds, lint, nearest,
};
use haft_tool::{Reply, SharedTool, tool};
use serde_json::{Value, json};

const TOOLS: usize = 10_000;
const SERVERS: usize = 100;
const VERBS: [&str; 10] =
    ["create", "list", "update", "delete", "search", "export", "archive", "share", "watch", "merge"];
const NOUNS: [&str; 10] = [
    "issue", "branch", "invoice", "message", "contact", "calendar", "report", "pipeline", "dataset", "image",
];

fn raw(name: String, prompt: String, schema: Value) -> SharedTool {
    tool::<Value>(name).prompt(prompt).schema(schema).call(|_, _| async { Ok(Reply::text("done")) })
}

/// About 600 bytes, like the schemas of real servers.
fn schema(noun: &str, n: usize) -> Value {
    json!({
        "type": "object",
        "properties": {
            "owner": { "type": "string", "description": format!("The account that owns the {noun}.") },
            "id": { "type": "string", "description": format!("The {noun}'s identifier, as returned by list_{noun}_{n}.") },
            "state": { "type": "string", "enum": ["open", "closed", "all"], "description": "Which ones to include." },
            "limit": { "type": "integer", "minimum": 1, "maximum": 100, "description": "How many results at most." },
            "labels": { "type": "array", "items": { "type": "string" }, "description": "Labels that must all be present." },
        },
        "required": ["owner", "id"],
        "additionalProperties": false,
    })
}

fn sources() -> Vec<Arc<dyn Source>> {
    let own = LiveSource::new("builtin");
    own.add(raw(TOOL_SEARCH.to_owned(), "Finds tools.".to_owned(), json!({}))).expect("one tool");
    let server = |server: usize| {
        let source = LiveSource::new(format!("mcp:server{server}")).in_namespace(format!("server{server}"));
        source.replace_all((0..TOOLS / SERVERS).map(|n| {
            let (verb, noun) = (VERBS[n % 10], NOUNS[n / 10]);
            let prompt = format!("{verb} one {noun} of server {server}. Use it when a {noun} is asked for. Fails if it is missing.");
            raw(format!("{verb}_{noun}_{n}"), prompt, schema(noun, n))
        }));
        Arc::new(source) as Arc<dyn Source>
    };
    [Arc::new(own) as _].into_iter().chain((0..SERVERS).map(server)).collect()
}

/// A request of the kind that every dialect makes.
fn request(pool: &Pool) -> String {
    let mut text = String::from("[");
    for offer in pool.offers() {
        let (name, prompt) = (json!(offer.name), json!(offer.prompt));
        text +=
            &format!(r#"{{"name":{name},"description":{prompt},"input_schema":{}}},"#, offer.schema.text());
    }
    text
}

fn view(thresholds: &Thresholds) -> PoolView<'_> {
    PoolView { thresholds, ..PoolView::unrestricted() }
}

fn from_scratch(c: &mut Criterion) {
    let mut group = c.benchmark_group("10,000 tools from scratch");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    let mut case = |name: &str, thresholds: Thresholds, then: fn(&Pool) -> usize| {
        group.bench_function(name, |b| {
            b.iter_batched(
                || PoolBuilder::new(sources()),
                |mut builder| {
                    let pool = builder.snapshot(&view(&thresholds));
                    black_box(then(&pool));
                    (builder, pool)
                },
                BatchSize::PerIteration,
            );
        });
    };
    let tokens_only = Thresholds { count: usize::MAX, ..Thresholds::DEFAULT };
    case("deferred", Thresholds::DEFAULT, |_| 0);
    case("deferred by tokens", tokens_only, |_| 0);
    case("all shown", Thresholds::OFF, |_| 0);
    case("deferred, and fingerprint", Thresholds::DEFAULT, |pool| pool.fingerprint().len());
    case("all shown, and fingerprint", Thresholds::OFF, |pool| pool.fingerprint().len());
    case("all shown, and the request", Thresholds::OFF, |pool| request(pool).len());
    case("deferred, and the search index", Thresholds::DEFAULT, |pool| pool.search("x", 1).len());
    case("lint", Thresholds::DEFAULT, |pool| lint(pool).len());
}

fn afterwards(c: &mut Criterion) {
    let mut group = c.benchmark_group("10,000 tools afterwards");
    group.sample_size(20).measurement_time(Duration::from_secs(2));
    let thresholds = Thresholds::DEFAULT;
    let mut builder = PoolBuilder::new(sources());
    let pool = builder.snapshot(&view(&thresholds));
    group.bench_function("nothing changed", |b| b.iter(|| builder.snapshot(&view(&thresholds))));

    let loaded: Vec<String> = pool.deferred().take(20).map(|entry| entry.name().to_owned()).collect();
    let mut count = 0;
    group.bench_function("one more loaded, and fingerprint", |b| {
        b.iter(|| {
            count = (count + 1) % 20;
            let pool = builder.snapshot(&PoolView { loaded: &loaded[..count], ..view(&thresholds) });
            pool.fingerprint().len()
        });
    });

    let (mut version, toolset) = (0, Filter::of(["ToolSearch", "mcp__server1__*"]));
    group.bench_function("the policy changed", |b| {
        b.iter(|| {
            version += 1;
            builder.snapshot(&PoolView { hides_version: version, ..view(&thresholds) })
        });
    });
    group.bench_function("another toolset", |b| {
        b.iter(|| {
            version += 1;
            let view = PoolView { hides_version: version, toolset: Some(&toolset), ..view(&thresholds) };
            builder.snapshot(&view)
        });
    });

    let changing = Arc::new(LiveSource::new("mcp:changing").in_namespace("changing"));
    builder.add(Arc::clone(&changing) as _);
    group.bench_function("one server changed", |b| {
        b.iter(|| {
            changing.remove("x");
            changing.add(raw("x".to_owned(), String::new(), json!({}))).expect("it was removed");
            builder.snapshot(&view(&thresholds))
        });
    });

    group.bench_function("one server changed, and a search", |b| {
        b.iter(|| {
            changing.remove("x");
            changing.add(raw("x".to_owned(), String::new(), json!({}))).expect("it was removed");
            builder.snapshot(&view(&thresholds)).search("export a report", 5)
        });
    });

    let name = "mcp__server7__archive_report_66";
    group.bench_function("find", |b| b.iter(|| pool.find(black_box(name)).is_some()));
    group.bench_function("nearest", |b| {
        b.iter(|| nearest(black_box("archiveReprot66"), pool.entries().map(|entry| entry.name()), 5));
    });
    pool.index();
    group.bench_function("search", |b| {
        b.iter(|| pool.search(black_box("export the monthly report as an image"), 5))
    });
}

criterion_group!(benches, from_scratch, afterwards);
criterion_main!(benches);
