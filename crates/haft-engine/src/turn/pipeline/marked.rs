//! Does a call write what only stands for something?
//!
//! In place of a secret, a model is shown a mark. If it writes the mark back, the value is gone: such a call is refused,
//! whichever tool it is for, before a person is asked about it. A file that holds such marks itself is text like any other.

use std::{collections::BTreeMap, path::PathBuf};

use haft_redact::marks;
use haft_tool::{Access, Fault};
use serde_json::Value;

use super::{CallCx, Prepared};

/// A larger file is not looked through for marks of its own.
const MOST_READ: u64 = 16 * 1024 * 1024;

/// Refuses a call that would write a mark into a file that does not hold it.
pub(super) async fn check(cx: &CallCx<'_>, prepared: &Prepared<'_>) -> Result<(), Fault> {
    if cx.session.redactor().is_none() || prepared.effects.is_read_only() {
        return Ok(());
    }
    let writes = prepared.effects.paths().iter().filter(|effect| effect.access == Access::Write);
    let places: Vec<PathBuf> = writes.map(|effect| effect.place().to_owned()).collect();
    if places.is_empty() {
        return Ok(());
    }
    let mut written = Vec::new();
    collect(&prepared.input, "", &mut written);
    if written.is_empty() {
        return Ok(());
    }
    let held = tokio::task::spawn_blocking(move || held_by(&places)).await.unwrap_or_default();
    match written.iter().find(|one| one.count > held.get(&one.mark).copied().unwrap_or(0)) {
        Some(one) => Err(one.refused()),
        None => Ok(()),
    }
}

/// A mark in a text of a call's input.
struct MarkedArgument {
    argument: String,
    mark: String,
    count: usize,
}

impl MarkedArgument {
    fn refused(&self) -> Fault {
        let MarkedArgument { argument, mark, .. } = self;
        Fault::rejected(format!(
            "`{argument}` holds `{mark}`, which only stands for a value that you are not shown; written, it would replace \
             that value. Nothing was changed.\n\
             To keep the value, change the lines around it (Edit with passages without the mark) or copy the file with a \
             command; to set a new one, write the new one"
        ))
    }
}

/// The marks in all texts of a value, each with how often it stands in one of them.
fn collect(value: &Value, name: &str, written: &mut Vec<MarkedArgument>) {
    match value {
        Value::String(text) => {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            marks(text).for_each(|mark| *counts.entry(mark.text).or_default() += 1);
            let one = |(mark, count): (&str, usize)| MarkedArgument {
                argument: name.to_owned(),
                mark: mark.to_owned(),
                count,
            };
            written.extend(counts.into_iter().map(one));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, name, written)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| collect(value, name, written)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The marks that files hold as text of their own.
fn held_by(places: &[PathBuf]) -> BTreeMap<String, usize> {
    let mut held = BTreeMap::new();
    for place in places {
        let is_small =
            std::fs::metadata(place).is_ok_and(|found| found.is_file() && found.len() <= MOST_READ);
        let Some(bytes) = is_small.then(|| std::fs::read(place).ok()).flatten() else { continue };
        for mark in marks(&String::from_utf8_lossy(&bytes)) {
            *held.entry(mark.text.to_owned()).or_default() += 1;
        }
    }
    held
}
