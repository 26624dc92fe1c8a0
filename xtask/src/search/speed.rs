//! How quickly, and in how much memory?
//!
//! A machine that does other things too makes everything slower now and then: what is done several times counts as its
//! quicker runs do.

use std::{fs, hint::black_box, sync::Arc, time::Instant};

use anyhow::{Context, Result};
use haft_engine::pool::{
    LiveSource, PoolView, Source,
    search::{SearchIndex, Weights},
};

use super::{
    Bound, Figure, catalogue,
    catalogue::{Catalogue, Query, ToolLine},
};

/// A large pool.
const MANY: usize = 10_000;
/// The server that changes in it has so many tools.
const CHANGED: usize = 20;
const ROUNDS: usize = 20;

pub(super) fn figures(catalogue: &Catalogue) -> Result<Vec<Figure>> {
    let mut figures = of_index(catalogue, &catalogue.tools, Bound::AtMost(100.0), Bound::AtMost(0.5))?;
    let many = many(&catalogue.tools);
    figures.extend(of_index(catalogue, &many, Bound::AtMost(300.0), Bound::AtMost(2.0))?);
    figures.push(one_server_changed(&many)?);
    Ok(figures)
}

fn of_index(
    catalogue: &Catalogue,
    tools: &[ToolLine],
    most_to_build: Bound,
    most: Bound,
) -> Result<Vec<Figure>> {
    let before = resident()?;
    let build = || SearchIndex::new(tools.iter().map(ToolLine::document), &Weights::default());
    let index = build();
    // The first unknown word makes the list of known ones, once.
    index.search("zzzzzzzz", 1);
    let memory = resident()? - before;
    let built = quickest(3, build);
    let ms = |what: &str, value, bound| Figure {
        what: format!("{} tools: {what}", tools.len()),
        value,
        unit: "ms",
        bound,
    };
    let times = times(&index, &catalogue.queries);
    Ok(vec![
        ms("index", built, most_to_build),
        ms("query, median", times[times.len() / 2], Bound::None),
        ms("query, 95 of 100", times[times.len() * 95 / 100], most),
        Figure { unit: "MB", ..ms("memory that the process grew by", memory, Bound::AtMost(60.0)) },
    ])
}

/// Milliseconds of each query, sorted.
fn times(index: &SearchIndex, queries: &[Query]) -> Vec<f64> {
    let mut times: Vec<f64> =
        queries.iter().map(|query| quickest(3, || black_box(index.search(&query.query, 5)))).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The catalogue, over and over under other servers' names.
fn many(tools: &[ToolLine]) -> Vec<ToolLine> {
    let copies = (0..).flat_map(|copy| tools.iter().map(move |tool| (copy, tool)));
    let tool = |(copy, tool): (usize, &ToolLine)| match copy {
        0 => tool.clone(),
        _ => ToolLine { name: tool.name.replacen("mcp__", &format!("mcp__c{copy}"), 1), ..tool.clone() },
    };
    copies.take(MANY).map(tool).collect()
}

/// A search after a server has brought other tools, building the pool included.
fn one_server_changed(tools: &[ToolLine]) -> Result<Figure> {
    let (mut builder, servers) = catalogue::pool(tools)?;
    let changing = Arc::new(LiveSource::new("mcp:changing").in_namespace("changing"));
    builder.add(Arc::clone(&changing) as Arc<dyn Source>);
    let view = PoolView::unrestricted();
    builder.snapshot(&view).search("warm", 1);
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            let all = servers.iter().flat_map(|server| server.tools().to_vec());
            changing.replace_all(all.skip(round * CHANGED).take(CHANGED));
            timed(|| builder.snapshot(&view).search("weather of tomorrow", 5)).1
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let what = format!("{} tools: pool and search after a server changed", tools.len());
    Ok(Figure { what, value: times[0], unit: "ms", bound: Bound::AtMost(10.0) })
}

/// The fewest milliseconds that it took.
fn quickest<T>(rounds: usize, work: impl Fn() -> T) -> f64 {
    (0..rounds).map(|_| timed(&work).1).fold(f64::INFINITY, f64::min)
}

/// What came of it, and how many milliseconds it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed().as_secs_f64() * 1e3)
}

/// Megabytes of this process.
fn resident() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in /proc")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kilobytes / 1024.0)
}
