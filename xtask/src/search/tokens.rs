//! What is saved by not showing all tools? Counted in bytes of what a request has of them, of which about four are a
//! token: a share is the same in both.

use anyhow::Result;
use haft_engine::pool::{Entry, Pool, PoolView, Thresholds};
use serde_json::json;

use super::{Bound, Figure, catalogue, catalogue::Catalogue};

/// So often a session searches in the sum.
const SEARCHES: f64 = 3.0;
const BYTES_PER_TOKEN: f64 = 4.0;

pub(super) fn figures(catalogue: &Catalogue) -> Result<Vec<Figure>> {
    let (mut builder, _) = catalogue::pool(&catalogue.tools)?;
    let mut pool = |thresholds| builder.snapshot(&PoolView { thresholds, ..PoolView::unrestricted() });
    let all = request(&pool(&Thresholds::OFF));
    let deferred = pool(&Thresholds::DEFAULT);
    let answers: f64 = catalogue.queries.iter().map(|query| answer(&deferred, &query.query)).sum();
    let answer = answers / catalogue.queries.len().max(1) as f64;
    let shown = request(&deferred) + SEARCHES * answer;
    let figure = |what: &str, value, unit, bound| Figure { what: what.to_owned(), value, unit, bound };
    Ok(vec![
        figure("tokens of all tools (bytes / 4)", all / BYTES_PER_TOKEN, "", Bound::None),
        figure(
            "tokens of the search tool and its list",
            request(&deferred) / BYTES_PER_TOKEN,
            "",
            Bound::None,
        ),
        figure("tokens of an answer of five", answer / BYTES_PER_TOKEN, "", Bound::None),
        figure(
            "saved, list and three searches included",
            100.0 * (1.0 - shown / all),
            "%",
            Bound::AtLeast(95.0),
        ),
    ])
}

/// The bytes of a request's tools.
fn request(pool: &Pool) -> f64 {
    pool.shown().map(bytes).sum::<usize>() as f64
}

fn answer(pool: &Pool, query: &str) -> f64 {
    let found = pool.search(query, 5);
    found.iter().filter_map(|hit| pool.find(&hit.name)).map(bytes).sum::<usize>() as f64
}

fn bytes(entry: &Entry) -> usize {
    let offer = entry.offer();
    let head = json!({ "name": offer.name, "description": offer.prompt, "input_schema": null }).to_string();
    head.len() + offer.schema.text().len()
}
