//! What can be repaired without guessing?
//!
//! Models write `"3"` for 3, wrap arrays in strings and say `null` for what they leave out. The schema tells what was
//! meant, so a repair starts from a problem that the validator has found, never from a value: what is valid is not
//! looked at, and `"00713"` stays a string wherever a string is accepted.
//!
//! It goes in rounds: repair all that can be repaired, validate again, take back the repairs whose own problem is
//! still there. A string that turned out to hold an object may show new problems inside: that is the next round.
//!
//! Not here: numbers for strings (`5` for `"5"`). Digits are lost on the way (`00713`), so the model must write them.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    checker::is_shallow,
    validator::{Kind, Problem, Validator},
    words,
};

/// Rounds end when nothing changes; this is for schemas that were made to make it take long.
const MAX_ROUNDS: usize = 16;

/// How many ways to satisfy an `anyOf` are tried.
const MAX_ALTERNATIVES: usize = 8;

/// The depth that the parser allows must not be got around by JSON in strings in JSON.
const MAX_DEPTH: usize = 128;

/// A change that was made to the input because the schema asks for another type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coercion {
    /// Where, as in `edits[0].line`; empty for the input itself.
    pub path: String,
    /// The type that was there.
    pub from: Cow<'static, str>,
    /// The type that is there now, or `"absent"`.
    pub to: Cow<'static, str>,
}

/// What has become of a value that was not valid.
pub(crate) struct Coerced {
    pub(crate) value: Value,
    pub(crate) coercions: Vec<Coercion>,
    /// What is still wrong; none if the value is valid now.
    pub(crate) problems: Vec<Problem>,
}

/// Repairs what can be repaired.
pub(crate) fn coerce(validator: &Validator, mut value: Value) -> Coerced {
    let mut coercions = Vec::new();
    let mut problems = validator.problems(&value);
    let mut failed: HashMap<Identity, usize> = HashMap::new();
    for _ in 0..MAX_ROUNDS {
        let repairs = plan(&problems, &value, &failed);
        if repairs.is_empty() {
            break;
        }
        let made: Vec<Made> = repairs.into_iter().map(|repair| repair.make(&mut value)).collect();
        problems = validator.problems(&value);
        let (good, bad) = judge(made, &problems);
        coercions.extend(good.into_iter().flat_map(|made| made.coercions));
        if bad.is_empty() {
            continue;
        }
        for made in bad.into_iter().rev() {
            made.undo.into_iter().rev().for_each(|undo| undo.apply(&mut value));
            *failed.entry(made.of).or_default() += 1;
        }
        problems = validator.problems(&value);
    }
    Coerced { value, coercions, problems }
}

/// A problem across rounds: where it is, and which keyword sees it.
type Identity = (String, String);

fn identity(problem: &Problem) -> Identity {
    (problem.at.clone(), problem.keyword.clone())
}

/// The edits that may solve one problem.
struct Repair {
    of: Identity,
    edits: Vec<Edit>,
}

#[derive(Clone)]
struct Edit {
    at: String,
    change: Change,
}

#[derive(Clone)]
enum Change {
    Replace(Value),
    Remove,
}

/// A repair that has been made, and how to take it back.
struct Made {
    of: Identity,
    coercions: Vec<Coercion>,
    undo: Vec<Undo>,
}

/// One repair per problem, none twice at the same place: the next that was not tried before.
fn plan(problems: &[Problem], value: &Value, failed: &HashMap<Identity, usize>) -> Vec<Repair> {
    let mut touched = HashSet::new();
    let mut repairs = Vec::new();
    for problem in problems {
        let of = identity(problem);
        let tried = failed.get(&of).copied().unwrap_or(0);
        let Some(edits) = alternatives(problem, value).into_iter().nth(tried) else { continue };
        if edits.iter().any(|edit| touched.contains(&edit.at)) {
            continue;
        }
        touched.extend(edits.iter().map(|edit| edit.at.clone()));
        repairs.push(Repair { of, edits });
    }
    repairs
}

/// Parts the repairs that have solved their problem from those that have not.
fn judge(made: Vec<Made>, problems: &[Problem]) -> (Vec<Made>, Vec<Made>) {
    let remaining: HashSet<Identity> = problems.iter().map(identity).collect();
    let missing: HashSet<String> = problems.iter().filter_map(missing_path).collect();
    made.into_iter().partition(|made| {
        let needed = made.undo.iter().any(|undo| missing.contains(&undo.at));
        !needed && !remaining.contains(&made.of)
    })
}

fn missing_path(problem: &Problem) -> Option<String> {
    match &problem.kind {
        Kind::Missing(name) => Some(words::joined(&problem.at, name)),
        _ => None,
    }
}

/// The ways to solve a problem, likeliest first.
fn alternatives(problem: &Problem, value: &Value) -> Vec<Vec<Edit>> {
    let edit = match &problem.kind {
        Kind::Type(wanted) => edit(problem, value, wanted),
        Kind::Const(constant) => literal_edit(problem, value, std::slice::from_ref(&**constant)),
        Kind::Enum(options) => literal_edit(problem, value, options.as_array().map_or(&[], Vec::as_slice)),
        Kind::NoAlternative(branches) => return branch_edits(branches, value),
        _ => None,
    };
    edit.map(|edit| vec![edit]).into_iter().collect()
}

/// A branch can be taken if everything it has against the value can be repaired. Where that needs choices inside
/// the branch, they are made alike, not in all combinations: those would be too many.
fn branch_edits(branches: &[Vec<Problem>], value: &Value) -> Vec<Vec<Edit>> {
    let mut found = Vec::new();
    for branch in branches {
        let ways: Vec<Vec<Vec<Edit>>> = branch.iter().map(|problem| alternatives(problem, value)).collect();
        if ways.iter().any(Vec::is_empty) {
            continue;
        }
        let most = ways.iter().map(Vec::len).max().unwrap_or(0);
        for choice in 0..most {
            let picked = ways.iter().flat_map(|ways| &ways[choice.min(ways.len() - 1)]);
            found.push(without_repetition(picked));
        }
        if found.len() >= MAX_ALTERNATIVES {
            break;
        }
    }
    found.truncate(MAX_ALTERNATIVES);
    found
}

/// Two keywords may complain about the same value; it is repaired once.
fn without_repetition<'a>(edits: impl Iterator<Item = &'a Edit>) -> Vec<Edit> {
    let mut places = HashSet::new();
    edits.filter(|edit| places.insert(edit.at.as_str())).cloned().collect()
}

/// The edit that gives the value at the place of the problem one of the wanted types.
fn edit(problem: &Problem, value: &Value, wanted: &[&str]) -> Option<Edit> {
    let at = problem.at.clone();
    let change = match value.pointer(&at)? {
        Value::String(text) => Change::Replace(decoded(text, wanted, depth_left(&at))?),
        Value::Null if at.is_empty() => {
            wanted.contains(&"object").then(|| Change::Replace(Map::new().into()))?
        }
        Value::Null if is_member(&at, value) => Change::Remove,
        _ => return None,
    };
    Some(Edit { at, change })
}

/// An `enum` without `type` asks for the types of its options, but only its options will do.
fn literal_edit(problem: &Problem, value: &Value, options: &[Value]) -> Option<Edit> {
    let types: Vec<&str> = options.iter().map(words::type_name).collect();
    let edit = edit(problem, value, &types)?;
    let allowed = match &edit.change {
        Change::Replace(replacement) => options.contains(replacement),
        Change::Remove => true,
    };
    allowed.then_some(edit)
}

/// What a string says, if it is exactly the JSON of a value of a wanted type.
fn decoded(text: &str, wanted: &[&str], depth: usize) -> Option<Value> {
    let decoded = match text.trim() {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        trimmed => serde_json::from_str(trimmed).ok()?,
    };
    match &decoded {
        Value::Number(_) if wanted.contains(&"number") => Some(decoded),
        Value::Number(_) if wanted.contains(&"integer") => whole(decoded),
        Value::Bool(_) => wanted.contains(&"boolean").then_some(decoded),
        Value::Array(_) => (wanted.contains(&"array") && is_shallow(&decoded, depth)).then_some(decoded),
        Value::Object(_) => (wanted.contains(&"object") && is_shallow(&decoded, depth)).then_some(decoded),
        _ => None,
    }
}

/// `"5.0"` and `"5e0"` are the integer 5. What has lost digits on the way to a float is none.
fn whole(number: Value) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if number.is_i64() || number.is_u64() {
        return Some(number);
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() < EXACT).then(|| Value::from(float as i64))
}

fn depth_left(at: &str) -> usize {
    MAX_DEPTH.saturating_sub(at.matches('/').count())
}

/// Whether the pointer leads to a member of an object: an item of an array cannot be left out.
fn is_member(at: &str, value: &Value) -> bool {
    let parent = at.rsplit_once('/').and_then(|(parent, _)| value.pointer(parent));
    parent.is_some_and(Value::is_object)
}

impl Repair {
    fn make(self, value: &mut Value) -> Made {
        let mut made = Made { of: self.of, coercions: Vec::new(), undo: Vec::new() };
        for edit in self.edits {
            let path = words::path(&edit.at, value);
            if let Some((undo, from, to)) = edit.make(value) {
                made.coercions.push(Coercion { path, from: from.into(), to: to.into() });
                made.undo.push(undo);
            }
        }
        made
    }
}

impl Edit {
    /// Makes the change; gives the way back, and the types before and after.
    fn make(self, value: &mut Value) -> Option<(Undo, &'static str, &'static str)> {
        match self.change {
            Change::Replace(new) => {
                let place = value.pointer_mut(&self.at)?;
                let to = words::type_name(&new);
                let old = std::mem::replace(place, new);
                let from = words::type_name(&old);
                Some((Undo { at: self.at, old, index: None }, from, to))
            }
            Change::Remove => {
                let (members, key) = member_mut(value, &self.at)?;
                let index = members.keys().position(|name| *name == key)?;
                let old = members.shift_remove(&key)?;
                Some((Undo { at: self.at, old, index: Some(index) }, "null", "absent"))
            }
        }
    }
}

/// What was at a place before.
struct Undo {
    at: String,
    old: Value,
    /// Set if the key was removed: where it stood.
    index: Option<usize>,
}

impl Undo {
    fn apply(self, value: &mut Value) {
        match self.index {
            None => {
                if let Some(place) = value.pointer_mut(&self.at) {
                    *place = self.old;
                }
            }
            Some(index) => {
                if let Some((members, key)) = member_mut(value, &self.at) {
                    members.shift_insert(index.min(members.len()), key, self.old);
                }
            }
        }
    }
}

fn member_mut<'a>(value: &'a mut Value, at: &str) -> Option<(&'a mut Map<String, Value>, String)> {
    let (parent, key) = at.rsplit_once('/')?;
    let members = value.pointer_mut(parent)?.as_object_mut()?;
    Some((members, words::unescaped(key)))
}
