//! A model that goes round in circles: the same calls with the same results, and nothing new between them.
//!
//! Looking at something again after a change is work, not a circle. So what was seen before counts only as long as nothing
//! new is seen. Nor is it a circle to look again and again at what still runs: the model is told how to wait, and goes on.

use std::{
    collections::{HashMap, HashSet, hash_map::RandomState},
    hash::{BuildHasher, Hash, Hasher},
};

use haft_engine::{Call, result::ToolResult, turn::Arguments};

/// So often the same may be seen before the model is told.
const TOLD_AT: u32 = 3;

/// So many calls are remembered. A circle is smaller.
const MOST: usize = 4096;

/// What a turn is to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Nothing to say.
    Fine,
    /// The call at this place was made for the third time: the model should know.
    Tell(usize),
    /// The same, and what it looks at still runs: it should know how to wait.
    Waits(usize),
    /// It was told, and went on: this call.
    Stuck(usize),
}

#[derive(Debug, Default)]
pub(crate) struct Guard {
    keys: RandomState,
    seen: HashSet<u64>,
    /// How often each was seen since something new was.
    counts: HashMap<u64, u32>,
    /// What each call showed last.
    shown: HashMap<u64, u64>,
    was_told: bool,
    /// Whether something was looked at that still runs, since something new was seen.
    waits: bool,
}

impl Guard {
    /// Judges the calls of a turn and what came of them.
    pub(crate) fn judge(&mut self, turn: &[(&Call, &ToolResult)]) -> Judged {
        if self.seen.len() > MOST {
            *self = Guard::default();
        }
        let keys: Vec<u64> = turn.iter().map(|(call, result)| self.key(call, result)).collect();
        let is_new = keys.iter().fold(false, |is_new, key| self.seen.insert(*key) | is_new);
        if is_new {
            self.counts.clear();
            (self.was_told, self.waits) = (false, false);
        }
        self.waits |= turn.iter().any(|(_, result)| still_runs(result));
        let mut worst = (0, 0);
        let mut counted = HashSet::new();
        for (place, key) in keys.into_iter().enumerate() {
            // Twice in one message is once.
            if counted.insert(key) {
                let count = self.counts.entry(key).or_default();
                *count += 1;
                worst = worst.max((*count, place));
            }
        }
        let (most, place) = worst;
        if most < TOLD_AT {
            return Judged::Fine;
        }
        if self.waits {
            return if most % TOLD_AT == 0 { Judged::Waits(place) } else { Judged::Fine };
        }
        if std::mem::replace(&mut self.was_told, true) { Judged::Stuck(place) } else { Judged::Tell(place) }
    }

    /// The same for the same call with the same result. That nothing has changed is the result from before.
    fn key(&mut self, call: &Call, result: &ToolResult) -> u64 {
        let mut hasher = self.keys.build_hasher();
        call.name.hash(&mut hasher);
        match &call.input {
            Arguments::Text(text) => text.hash(&mut hasher),
            Arguments::Value(value) => value.to_string().hash(&mut hasher),
        }
        let call = hasher.finish();
        if let Some(shown) = self.shown.get(&call).filter(|_| is_unchanged(result)) {
            return *shown;
        }
        result.is_error().hash(&mut hasher);
        for block in &result.blocks {
            match block.as_text() {
                Some(text) => text.hash(&mut hasher),
                None => format!("{block:?}").hash(&mut hasher),
            }
        }
        self.shown.insert(call, hasher.finish());
        hasher.finish()
    }
}

/// Whether a result says, in the words of Read, that it would be the one from before.
fn is_unchanged(result: &ToolResult) -> bool {
    let is_said = |text: &str| text.contains(" is unchanged since you read it");
    matches!(&result.blocks[..], [block] if block.as_text().is_some_and(is_said))
}

/// Whether a call looked at something in the background that has not ended: the tools for tasks note it.
fn still_runs(result: &ToolResult) -> bool {
    let running = result.meta.notes.get("running");
    running.is_some_and(|running| running.as_bool().unwrap_or(running.as_u64() > Some(0)))
}

/// What the model is told that looks again and again at what still runs.
pub(crate) const HOW_TO_WAIT: &str = "Nothing has happened since you looked before: it still runs. To wait for it, set `timeout` \
    (and `pattern`) in TaskOutput, or do something else meanwhile; you are told when it ends.";

/// What the model is told.
pub(crate) fn words(tool: &str) -> String {
    format!(
        "This call of {tool} was made three times now with the same result, and nothing else has happened. Do not make it \
         again: try another way, or say what keeps you from going on."
    )
}

#[cfg(test)]
mod tests {
    use haft_engine::result::Meta;
    use haft_tool::Block;
    use serde_json::json;

    use super::*;

    fn result(text: &str) -> ToolResult {
        ToolResult {
            call: "1".into(),
            tool: "T".to_owned(),
            blocks: vec![Block::Text(text.to_owned())],
            fault: None,
            data: None,
            observation: None,
            actions: Vec::new(),
            messages: Vec::new(),
            view: None,
            meta: Meta::default(),
        }
    }

    /// A turn a line, a call a word: `input=result`.
    #[track_caller]
    fn check(turns: &str, expected: &[Judged]) {
        let mut guard = Guard::default();
        let judged: Vec<Judged> = turns
            .lines()
            .map(|line| {
                let calls: Vec<(Call, ToolResult)> = line
                    .split_whitespace()
                    .map(|word| {
                        let (input, text) = word.split_once('=').unwrap();
                        let mut result = result(text);
                        result.meta.notes.insert("running".to_owned(), json!(text == "runs"));
                        (Call::new("1", "T", json!(input)), result)
                    })
                    .collect();
                guard.judge(&calls.iter().map(|(call, result)| (call, result)).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(judged, expected);
    }

    use Judged::{Fine, Stuck, Tell, Waits};

    #[test]
    fn the_third_time_is_told_and_the_fourth_is_the_end() {
        check("a=1\na=1\na=1\na=1", &[Fine, Fine, Tell(0), Stuck(0)]);
    }

    #[test]
    fn to_be_told_that_nothing_has_changed_is_the_same_again() {
        let unchanged = "a is unchanged since you read it";
        let mut guard = Guard::default();
        let judged = ["1", unchanged, "1", unchanged].map(|text| {
            let call = Call::new("1", "Read", json!("a"));
            guard.judge(&[(&call, &result(text))])
        });
        assert_eq!(judged, [Fine, Fine, Tell(0), Stuck(0)]);
    }

    #[test]
    fn another_result_is_another_thing() {
        check("a=1\na=2\na=3\na=4\na=5", &[Fine; 5]);
    }

    #[test]
    fn what_is_looked_at_after_a_change_begins_anew() {
        check("a=1\na=1\nedit=ok\na=1\na=1\nedit2=ok\na=1", &[Fine; 7]);
    }

    #[test]
    fn going_to_and_fro_is_a_circle_too() {
        check("a=1\nb=1\na=1\nb=1\na=1\nb=1\na=1", &[Fine, Fine, Fine, Fine, Fine, Tell(0), Stuck(0)]);
    }

    #[test]
    fn the_same_call_twice_in_a_message_is_one() {
        check("a=1 a=1 a=1 a=1", &[Fine]);
    }

    #[test]
    fn waiting_for_what_runs_is_told_and_never_the_end() {
        let told = [Fine, Fine, Waits(0), Fine, Fine, Waits(0), Fine];
        check(&["t=runs"; 7].join("\n"), &told);
        check(&["t=runs log=same"; 7].join("\n"), &[Fine, Fine, Waits(1), Fine, Fine, Waits(1), Fine]);
        check("t=runs\nt=done\nt=done\nt=done\nt=done", &[Fine, Fine, Fine, Tell(0), Stuck(0)]);
    }
}
