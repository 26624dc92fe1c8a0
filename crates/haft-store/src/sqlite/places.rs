//! The places that somebody means by a path or a pattern, and which of them were touched.
//!
//! A path is kept as its directory and its name, and a pattern is held against these: there are far fewer of them than of
//! calls. `*` may stand for slashes, so a pattern falls into the two halves in more than one way.

use rusqlite::{Connection, Result, ToSql, params_from_iter};

use crate::book::is_pattern;

/// In more ways a pattern is not taken apart. Nobody writes such a one; it is held against whole paths.
const MOST_WAYS: usize = 64;

/// One path as it is kept: up to the last slash, and what is behind it.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |slash| slash + 1))
}

/// All that is meant: any of these ways.
#[derive(Debug)]
pub(super) struct Places(Vec<Way>);

/// One way to fit. What is `None` fits all.
#[derive(Debug, Default, PartialEq)]
struct Way {
    /// A pattern for the directory, with its last slash,
    directory: Option<String>,
    /// for the name,
    name: Option<String>,
    /// and for both together.
    whole: Option<String>,
    /// Whether the search begins at the names.
    by_name: bool,
}

impl Way {
    fn new(directory: &str, name: &str) -> Way {
        let glob = |pattern: &str| (pattern != "*").then(|| escaped(pattern));
        let directory = glob(directory);
        Way { by_name: directory.is_none(), directory, name: glob(name), whole: None }
    }

    fn values(&self) -> impl Iterator<Item = String> {
        [&self.directory, &self.name, &self.whole].into_iter().flatten().cloned()
    }

    /// As a condition on a row that is found from here, or otherwise. With a sign before it, a column is not looked up in
    /// its index.
    fn sql(&self, is_found_from_here: bool) -> String {
        let sign = |looked_up: bool| if looked_up && is_found_from_here { "" } else { "+" };
        let directory = format!("{}touched.directory IN ({DIRECTORIES})", sign(!self.by_name));
        let name = format!("{}touched.name IN ({NAMES})", sign(self.by_name));
        let conditions = [(&self.directory, directory), (&self.name, name), (&self.whole, WHOLE.to_owned())];
        let conditions: Vec<String> =
            conditions.into_iter().filter_map(|(pattern, sql)| pattern.as_ref().map(|_| sql)).collect();
        if conditions.is_empty() { "true".to_owned() } else { format!("({})", conditions.join(" AND ")) }
    }

    /// No call after this one touched anything that fits.
    fn latest(&self, db: &Connection) -> Result<i64> {
        let bound = |sql: &str, pattern: &Option<String>| -> Result<i64> {
            let Some(pattern) = pattern else { return Ok(i64::MAX) };
            let latest: Option<i64> = db.prepare_cached(sql)?.query_row([pattern], |row| row.get(0))?;
            Ok(latest.unwrap_or(0))
        };
        Ok(bound(LATEST_IN, &self.directory)?.min(bound(LATEST_OF, &self.name)?))
    }
}

const DIRECTORIES: &str = "SELECT id FROM directories WHERE path GLOB ?";
const NAMES: &str = "SELECT id FROM names WHERE name GLOB ?";
const WHOLE: &str = "(SELECT path FROM directories WHERE id = touched.directory)
    || (SELECT name FROM names WHERE id = touched.name) GLOB ?";

impl Places {
    pub(super) fn of(wanted: &str) -> Places {
        if is_pattern(wanted) {
            return Places::fitting(wanted);
        }
        let path = wanted.trim_end_matches('/');
        let (directory, name) = split(path);
        Places(vec![Way::new(directory, name), Way::new(&format!("{path}/*"), "*")])
    }

    /// The last slash of a path is one of the pattern's, or one that a `*` or `?` after these stands for.
    fn fitting(pattern: &str) -> Places {
        let mut short = pattern.to_owned();
        while short.contains("**") {
            short = short.replace("**", "*");
        }
        let (directory, name) = split(&short);
        let mut ways = vec![Way::new(directory, name)];
        for (at, wild) in name.match_indices(['*', '?']) {
            let behind = if wild == "*" { at } else { at + 1 };
            ways.push(Way::new(&format!("{directory}{}", &name[..=at]), &name[behind..]));
        }
        if ways.len() > MOST_WAYS {
            ways = vec![Way { whole: Some(escaped(&short)), ..Way::default() }];
        }
        Places(ways)
    }

    /// The same, with what is known of the halves: where little is in the directories, the search begins there.
    pub(super) fn sorted_out(mut self, db: &Connection, few: i64) -> Result<Places> {
        for way in &mut self.0 {
            if way.directory.is_none() || way.name.is_none() {
                continue;
            }
            let directory = Places(vec![Way { directory: way.directory.clone(), ..Way::default() }]);
            way.by_name = directory.count(db, few)? > few;
        }
        Ok(self)
    }

    /// How often they were touched, counted up to just above a figure. Way by way: each has an index of its own, and what is
    /// many is known after the first.
    pub(super) fn count(&self, db: &Connection, most: i64) -> Result<i64> {
        self.0.iter().try_fold(0, |count, way| {
            if count > most {
                return Ok(count);
            }
            let (sql, limit) = (way.sql(true), most.saturating_add(1));
            let sql = format!("SELECT count(*) FROM (SELECT 1 FROM touched WHERE {sql} LIMIT {limit})");
            let more: i64 =
                db.prepare_cached(&sql)?.query_row(params_from_iter(way.values()), |row| row.get(0))?;
            Ok(count + more)
        })
    }

    /// No call after this one touched any of them.
    pub(super) fn latest(&self, db: &Connection) -> Result<i64> {
        self.0.iter().try_fold(0, |most, way| way.latest(db).map(|latest| most.max(latest)))
    }

    /// The numbers of the calls that touched them. Some may come twice.
    pub(super) fn numbers(&self) -> String {
        let each = |way: &Way| format!("SELECT no FROM touched WHERE {}", way.sql(true));
        self.0.iter().map(each).collect::<Vec<_>>().join(" UNION ALL ")
    }

    /// As a condition on a row of `touched` that was found otherwise.
    pub(super) fn each(&self) -> String {
        let ways: Vec<String> = self.0.iter().map(|way| way.sql(false)).collect();
        format!("({})", ways.join(" OR "))
    }

    /// What is filled in for the question marks of either.
    pub(super) fn values(&self) -> impl Iterator<Item = Box<dyn ToSql>> {
        self.0.iter().flat_map(Way::values).map(|value| Box::new(value) as Box<dyn ToSql>)
    }
}

const LATEST_IN: &str = "SELECT max((SELECT max(no) FROM touched WHERE directory = directories.id))
    FROM directories WHERE path GLOB ?1";
const LATEST_OF: &str =
    "SELECT max((SELECT max(no) FROM touched WHERE name = names.id)) FROM names WHERE name GLOB ?1";

/// `[` means something to GLOB, and nothing here.
fn escaped(pattern: &str) -> String {
    pattern.replace('[', "[[]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_taken_apart_at_every_slash_that_it_can_stand_for() {
        let halves = |wanted: &str| {
            let half = |half: &Option<String>| half.clone().unwrap_or_else(|| "all".to_owned());
            let way = |way: &Way| format!("{} + {}", half(&way.directory), half(&way.name));
            Places::of(wanted).0.iter().map(way).collect::<Vec<_>>().join(", ")
        };
        for (wanted, expected) in [
            ("/w/src", "/w/ + src, /w/src/* + all"),
            ("/", " + , /* + all"),
            ("/w/*.rs", "/w/ + *.rs, /w/* + *.rs"),
            ("**.rs", " + *.rs, all + *.rs"),
            ("/w/?", "/w/ + ?, /w/? + "),
            ("/w/a?b*", "/w/ + a?b*, /w/a? + b*, /w/a?b* + all"),
            ("/w[1]/*", "/w[[]1]/ + all, /w[[]1]/* + all"),
        ] {
            assert_eq!(halves(wanted), expected, "{wanted}");
        }
        assert_eq!(Places::of(&"?".repeat(100)).0.len(), 1, "it is held against whole paths");
    }
}
