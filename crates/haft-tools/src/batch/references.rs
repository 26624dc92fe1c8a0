//! What a call takes from the result of an earlier one.
//!
//! There is one form, an object in the place of a value: `{"$result": N}` is the text of the N-th call's result, counted
//! from 1, or of a Read what is in the file, and `{"$result": N, "pointer": "/a/0"}` a value in it, by a JSON pointer (RFC 6901). Nothing is computed and no
//! text is put together. What is put in is judged with the call that it is put into.

use haft_engine::result::ToolResult;
use haft_tool::{Fault, Spec, Tool};
use serde_json::{Map, Value};

use crate::read::{CUT, EMPTY, FOLLOWED, IN_PARTS, Read, UNCHANGED};

const MARK: &str = "$result";
const POINTER: &str = "pointer";

/// So much is taken from a result. What is larger belongs into a file.
const MOST: usize = 64 * 1024;

/// Says what is wrong with the references of the call at this place, if anything is.
pub(super) fn check(at: usize, input: &Map<String, Value>) -> Result<(), Fault> {
    if input.contains_key(MARK) {
        let message =
            format!("call {}: its input cannot be a `{MARK}` itself: name the arguments one by one", at + 1);
        return Err(Fault::rejected(message));
    }
    let mut wrong = None;
    each(input, &mut |reference| {
        wrong = wrong.take().or_else(|| flaw(at, reference));
    });
    match wrong {
        None => Ok(()),
        Some(what) => Err(Fault::rejected(format!("call {}: {what}", at + 1))),
    }
}

fn flaw(at: usize, reference: &Map<String, Value>) -> Option<String> {
    if let Some(odd) = reference.keys().find(|key| *key != MARK && *key != POINTER) {
        return Some(format!("beside `{MARK}` there can be `{POINTER}` and nothing else, not `{odd}`"));
    }
    let number = number(reference);
    if !number.is_some_and(|number| number > 0 && number <= at) {
        let which = if at == 0 { "and there is none".to_owned() } else { format!("a number from 1 to {at}") };
        return Some(format!("`{MARK}` names a call before this one, {which}"));
    }
    match reference.get(POINTER) {
        None => None,
        Some(Value::String(pointer)) if pointer.is_empty() || pointer.starts_with('/') => None,
        Some(_) => Some(format!("`{POINTER}` is a JSON pointer, like `/items/0/id`")),
    }
}

fn number(reference: &Map<String, Value>) -> Option<usize> {
    reference.get(MARK).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
}

/// The latest call that something is taken from.
pub(super) fn latest(input: &Map<String, Value>) -> Option<usize> {
    let mut latest = None;
    each(input, &mut |reference| latest = latest.max(number(reference)));
    latest
}

fn each(fields: &Map<String, Value>, found: &mut dyn FnMut(&Map<String, Value>)) {
    if fields.contains_key(MARK) {
        return found(fields);
    }
    fields.values().for_each(|value| each_in(value, found));
}

fn each_in(value: &Value, found: &mut dyn FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(fields) => each(fields, found),
        Value::Array(values) => values.iter().for_each(|value| each_in(value, found)),
        _ => {}
    }
}

/// The input with what it refers to in its place.
pub(super) fn resolve<'r>(
    input: &Map<String, Value>,
    result: &dyn Fn(usize) -> Result<&'r ToolResult, String>,
) -> Result<Map<String, Value>, String> {
    let fields = input.iter().map(|(key, value)| Ok((key.clone(), resolved(value, result)?)));
    fields.collect()
}

fn resolved<'r>(
    value: &Value,
    result: &dyn Fn(usize) -> Result<&'r ToolResult, String>,
) -> Result<Value, String> {
    match value {
        Value::Object(fields) if fields.contains_key(MARK) => taken(fields, result),
        Value::Object(fields) => resolve(fields, result).map(Value::Object),
        Value::Array(values) => values.iter().map(|value| resolved(value, result)).collect(),
        plain => Ok(plain.clone()),
    }
}

fn taken<'r>(
    reference: &Map<String, Value>,
    result: &dyn Fn(usize) -> Result<&'r ToolResult, String>,
) -> Result<Value, String> {
    let number = number(reference).unwrap_or_default();
    let result = result(number)?;
    let value = match reference.get(POINTER).and_then(Value::as_str) {
        None if result.meta.truncated.is_some() => {
            return Err(format!(
                "it needs the whole result of call {number}, which is too large to be put in"
            ));
        }
        None if is_named(&Read::SPEC, &result.tool) => Value::String(lines_of(number, &result.text())?),
        None => Value::String(result.text()),
        Some(pointer) => pointed(number, pointer, result)?,
    };
    let size = value.as_str().map_or_else(|| value.to_string().len(), str::len);
    if size > MOST {
        return Err(format!(
            "it takes {size} bytes from the result of call {number}, and {MOST} is the most"
        ));
    }
    Ok(value)
}

fn is_named(spec: &Spec, name: &str) -> bool {
    spec.name() == name || spec.other_names().contains(&name)
}

/// What a file holds, of what Read shows of it: its lines without their numbers, each with its end. What is no lines stays as
/// it is shown; a part of a file is not put in as if it were the whole.
fn lines_of(number: usize, shown: &str) -> Result<String, String> {
    if shown.trim_end() == EMPTY {
        return Ok(String::new());
    }
    let lines: Vec<&str> = shown.split_terminator('\n').collect();
    let is_line = |line: &&str| without_number(line).is_some();
    let first = lines.iter().position(is_line).unwrap_or(lines.len());
    let count = lines[first..].iter().take_while(|line| is_line(line)).count();
    let body = &lines[first..first + count];
    let mut around = lines[..first].iter().chain(&lines[first + count..]);
    let says = |line: &str| [UNCHANGED, FOLLOWED, IN_PARTS].iter().any(|words| line.contains(words));
    if around.any(|line| says(line)) || body.iter().any(|line| line.ends_with(CUT)) {
        return Err(format!(
            "call {number} does not show the whole file, and only what it shows could be put in; copy the file with a command"
        ));
    }
    match body {
        [] => Ok(shown.to_owned()),
        lines => {
            Ok(lines.iter().filter_map(|line| without_number(line)).flat_map(|line| [line, "\n"]).collect())
        }
    }
}

/// A line of a file as Read shows it: six places for its number, and a tab.
fn without_number(line: &str) -> Option<&str> {
    let (number, text) = line.split_once('\t')?;
    let is_number = number.len() >= 6 && number.trim_start().bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !number.trim_start().is_empty()).then_some(text)
}

fn pointed(number: usize, pointer: &str, result: &ToolResult) -> Result<Value, String> {
    let parsed;
    let whole = match &result.data {
        Some(data) => data,
        None => {
            parsed = serde_json::from_str::<Value>(&result.text()).map_err(|_| {
                format!("the result of call {number} is no JSON, so `{pointer}` points to nothing")
            })?;
            &parsed
        }
    };
    let found = whole.pointer(pointer).cloned();
    found.ok_or_else(|| format!("the result of call {number} has nothing at `{pointer}`"))
}
