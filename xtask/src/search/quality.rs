//! Are tools found? R@k is the share of the wanted tools among the first k.

use haft_engine::pool::search::{SearchIndex, Weights};

use super::{
    Bound, Figure,
    catalogue::{Catalogue, Query, ToolLine},
};

pub(super) fn figures(catalogue: &Catalogue) -> Vec<Figure> {
    let index = SearchIndex::new(catalogue.tools.iter().map(ToolLine::document), &Weights::default());
    let found: Vec<Scored<'_>> = catalogue.queries.iter().map(|query| Scored::of(query, &index)).collect();
    let figure = |what: &str, bound, value: f64| Figure { what: what.to_owned(), value, unit: "%", bound };
    let mean = |kind: &str, value: fn(&Scored<'_>) -> f64| {
        let of_kind = found.iter().filter(|found| kind.is_empty() || found.kind == kind);
        let values: Vec<f64> = of_kind.map(value).collect();
        100.0 * values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    vec![
        figure("R@5 of short needs", Bound::AtLeast(90.0), mean("search", |found| found.in_five)),
        figure("R@5 of all queries", Bound::AtLeast(76.0), mean("", |found| found.in_five)),
        figure("R@5 of users' messages", Bound::None, mean("turn", |found| found.in_five)),
        figure("R@5 of whole tasks", Bound::None, mean("task", |found| found.in_five)),
        figure("R@1 of short needs", Bound::None, mean("search", |found| found.in_one)),
    ]
}

struct Scored<'a> {
    kind: &'a str,
    in_one: f64,
    in_five: f64,
}

impl Scored<'_> {
    fn of<'a>(query: &'a Query, index: &SearchIndex) -> Scored<'a> {
        let hits = index.search(&query.query, 5);
        let share = |k: usize| {
            let is_found = |names: &Vec<&str>| hits.iter().take(k).any(|hit| names.contains(&&*hit.name));
            let count = query.wanted().count().max(1);
            query.wanted().filter(is_found).count() as f64 / count as f64
        };
        Scored { kind: &query.kind, in_one: share(1), in_five: share(5) }
    }
}
