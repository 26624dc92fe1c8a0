//! Is the model told enough, and not too much?
//!
//! A model chooses by what it is told: a description that is short, says nothing of when or of failure, or is that of
//! another tool in other words, is where wrong calls come from. Findings are advice; nothing is left out for them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
};

use haft_tool::Load;

use super::{Entry, Pool, arguments::arguments, deferral::estimate, search::Stems};

/// Shorter prompts leave the model guessing.
const SHORT: usize = 40;
/// More tools than this in sight make a model choose worse.
const SPRAWL: usize = 20;
/// Two prompts are alike if they share this much of all their words.
const ALIKE: f32 = 0.8;
/// With fewer words than this, likeness says nothing.
const FEW_WORDS: usize = 4;
/// With how many others a prompt is compared at most, however many share its rarest words.
const CANDIDATES: usize = 200;

/// Signs that a prompt speaks of what can go wrong.
const FAILURE: [&str; 23] = [
    "fail",
    "error",
    "refuse",
    "reject",
    "cannot",
    "can't",
    "can not",
    "invalid",
    "missing",
    "not found",
    "no such",
    "not exist",
    "does not",
    "doesn't",
    "denied",
    "forbidden",
    "limit",
    "unless",
    "must ",
    "only if",
    "only works",
    "time out",
    "timeout",
];
/// Signs that a prompt says when to use the tool.
const WHEN: [&str; 9] =
    ["use ", "used ", "when", "instead", "prefer", "before ", "after ", "if you", "to find out"];

/// Something that could be said better.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The tool; `*` if the pool as a whole is meant.
    pub tool: String,
    /// What is wrong.
    pub kind: FindingKind,
    /// What is wrong, in words, and what would be better.
    pub message: String,
}

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// Too many tools are in sight.
    Sprawl,
    /// A name or alias cannot be used.
    Name,
    /// The description is hardly one.
    Short,
    /// It does not say when to use the tool.
    When,
    /// It does not say what can go wrong.
    Failure,
    /// Another tool is described almost alike.
    Duplicate,
    /// An argument has no description.
    Argument,
}

impl FindingKind {
    /// The word for it in settings and machine-readable output.
    pub fn word(self) -> &'static str {
        match self {
            FindingKind::Sprawl => "sprawl",
            FindingKind::Name => "name",
            FindingKind::Short => "short",
            FindingKind::When => "when",
            FindingKind::Failure => "failure",
            FindingKind::Duplicate => "duplicate",
            FindingKind::Argument => "argument",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.tool, self.kind.word(), self.message)
    }
}

/// What could be said better in a pool, deferred tools included; sorted by tool.
pub fn lint(pool: &Pool) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(sprawl(pool));
    for problem in pool.problems().iter().filter(|problem| problem.kind.is_mistake()) {
        let message = format!("{} (source `{}`)", problem.kind, problem.source);
        let tool = if problem.tool.is_empty() { "*" } else { &*problem.tool };
        findings.push(finding(tool, FindingKind::Name, message));
    }
    for entry in pool.entries() {
        describe(entry, &mut findings);
        undescribed(entry, &mut findings);
    }
    duplicates(pool, &mut findings);
    findings.sort();
    findings
}

fn finding(tool: &str, kind: FindingKind, message: impl Into<String>) -> Finding {
    Finding { tool: tool.to_owned(), kind, message: message.into() }
}

fn describe(entry: &Entry, findings: &mut Vec<Finding>) {
    let prompt = entry.tool().prompt();
    let length = prompt.trim().chars().count();
    if length < SHORT {
        let message = format!(
            "the description has {length} characters; say what it does, when to use it, what can fail"
        );
        findings.push(finding(entry.name(), FindingKind::Short, message));
        return; // The rest follows from it.
    }
    let prompt = prompt.to_lowercase();
    let says = |signs: &[&str]| signs.iter().any(|sign| prompt.contains(sign));
    if !says(&WHEN) {
        findings.push(finding(
            entry.name(),
            FindingKind::When,
            "the description does not say when to use it",
        ));
    }
    if !says(&FAILURE) {
        findings.push(finding(
            entry.name(),
            FindingKind::Failure,
            "the description does not say what can go wrong",
        ));
    }
}

fn undescribed(entry: &Entry, findings: &mut Vec<Finding>) {
    let arguments = arguments(entry.offer().schema.value());
    let silent =
        arguments.iter().filter(|argument| argument.description.is_none_or(|text| text.trim().is_empty()));
    let silent: Vec<_> = silent.map(|argument| format!("`{}`", argument.path)).collect();
    if !silent.is_empty() {
        let message = format!("no description for {}", listed(&silent, 5));
        findings.push(finding(entry.name(), FindingKind::Argument, message));
    }
}

fn sprawl(pool: &Pool) -> Option<Finding> {
    let shown = pool.shown().count();
    if shown <= SPRAWL {
        return None;
    }
    let mut waiting: Vec<_> =
        pool.shown().filter(|entry| entry.tool().spec().loading() == Load::Auto).collect();
    // External ones first, and among them the dearest: that is what deferring them would save.
    waiting.sort_by_cached_key(|entry| (!entry.is_external(), usize::MAX - estimate(&entry.offer())));
    let tokens: usize = waiting.iter().map(|entry| estimate(&entry.offer())).sum();
    let names: Vec<_> = waiting.iter().map(|entry| entry.name().to_owned()).collect();
    let advice = match names.as_slice() {
        [] => "all of them are always loaded".to_owned(),
        names => format!("{} could be deferred (about {tokens} tokens): {}", names.len(), listed(names, 10)),
    };
    Some(finding(
        "*",
        FindingKind::Sprawl,
        format!("{shown} tools are in sight, more than {SPRAWL}; {advice}"),
    ))
}

fn listed(names: &[String], most: usize) -> String {
    let (first, rest) = names.split_at(names.len().min(most));
    match rest.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Reports for each tool an earlier one whose prompt has almost the same words.
///
/// Comparing all with all would be 50 million pairs in a pool of 10,000. Two sets can only be that much alike if they
/// share one of their few rarest words, so only those that do are compared; equal sets are recognised before.
fn duplicates(pool: &Pool, findings: &mut Vec<Finding>) {
    let mut sets = word_sets(pool);
    rarest_first(&mut sets);
    let mut equal = HashMap::<&[u32], usize>::new();
    let mut by_word = HashMap::<u32, Vec<usize>>::new();
    for (at, (entry, words)) in sets.iter().enumerate() {
        if words.len() < FEW_WORDS {
            continue;
        }
        let first = *equal.entry(words).or_insert(at);
        let prefix = &words[..words.len() - (ALIKE * words.len() as f32).ceil() as usize + 1];
        let twin = if first < at { Some(first) } else { alike(words, prefix, &by_word, &sets) };
        if let Some(twin) = twin {
            let message = format!("described almost like {}; say how they differ", sets[twin].0.name());
            findings.push(finding(entry.name(), FindingKind::Duplicate, message));
        }
        if first == at {
            prefix.iter().for_each(|word| by_word.entry(*word).or_default().push(at));
        }
    }
}

type WordSet<'a> = (&'a Entry, Vec<u32>);

fn word_sets(pool: &Pool) -> Vec<WordSet<'_>> {
    let mut stems = Stems::new();
    let mut words_of = |entry: &Entry| {
        let mut words = Vec::new();
        stems.learn(entry.tool().prompt(), &mut words);
        words.sort_unstable();
        words.dedup();
        words
    };
    pool.entries().map(|entry| (entry, words_of(entry))).collect()
}

fn rarest_first(sets: &mut [WordSet<'_>]) {
    let mut counts = BTreeMap::<u32, usize>::new();
    sets.iter().flat_map(|(_, words)| words).for_each(|word| *counts.entry(*word).or_default() += 1);
    sets.iter_mut().for_each(|(_, words)| words.sort_unstable_by_key(|word| (counts[word], *word)));
}

fn alike(
    words: &[u32],
    prefix: &[u32],
    by_word: &HashMap<u32, Vec<usize>>,
    sets: &[WordSet<'_>],
) -> Option<usize> {
    let words: HashSet<u32> = words.iter().copied().collect();
    let candidates = prefix.iter().filter_map(|word| by_word.get(word)).flatten().take(CANDIDATES);
    let is_alike = |other: &[u32]| {
        let shared = other.iter().filter(|word| words.contains(word)).count();
        shared as f32 >= ALIKE * (words.len() + other.len() - shared) as f32
    };
    candidates.copied().find(|candidate| is_alike(&sets[*candidate].1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::pool::{
        LiveSource, PoolBuilder, PoolView, Thresholds,
        testing::{named, plain, raw},
    };

    const GOOD: &str = "Counts the words of a file. Use it for long texts. Fails if the file is binary.";

    fn pool(tools: Vec<haft_tool::SharedTool>) -> Arc<Pool> {
        let source = LiveSource::new("own");
        source.replace_all(tools);
        let view = PoolView { thresholds: &Thresholds::OFF, ..PoolView::unrestricted() };
        PoolBuilder::new([Arc::new(source) as _]).snapshot(&view)
    }

    #[track_caller]
    fn check(tools: Vec<haft_tool::SharedTool>, expected: &str) {
        let findings: Vec<_> = lint(&pool(tools)).iter().map(Finding::to_string).collect();
        assert_eq!(findings.join("\n"), expected);
    }

    fn prompts(prompts: &[&str]) -> Vec<haft_tool::SharedTool> {
        let names = ('A'..='Z').map(String::from);
        names.zip(prompts).map(|(name, prompt)| plain(&name, prompt)).collect()
    }

    #[test]
    fn a_good_description_has_no_findings() {
        check(prompts(&[GOOD]), "");
    }

    #[test]
    fn a_description_says_what_when_and_what_can_fail() {
        check(
            prompts(&["Counts."]),
            "A: short: the description has 7 characters; say what it does, when to use it, what can fail",
        );
        check(
            prompts(&["Counts the words of a file that has many of them."]),
            "A: when: the description does not say when to use it\n\
             A: failure: the description does not say what can go wrong",
        );
    }

    #[test]
    fn arguments_are_described() {
        let schema = json!({ "properties": {
            "a": { "description": "What." },
            "b": { "type": "object", "properties": { "c": {} } },
        } });
        check(vec![raw(named("A"), GOOD, schema)], "A: argument: no description for `b`, `b.c`");
    }

    #[test]
    fn almost_the_same_words_are_reported_once() {
        check(
            prompts(&[
                GOOD,
                "Sends a message. Use it to tell somebody. Fails without a network.",
                "Counts words of a long file. Use it for texts. Fails if the file is binary.",
                GOOD,
            ]),
            "C: duplicate: described almost like A; say how they differ\n\
             D: duplicate: described almost like A; say how they differ",
        );
    }

    #[test]
    fn names_and_aliases_that_cannot_be_used_are_reported() {
        let tool = |spec: haft_tool::Spec| raw(spec, GOOD, json!({}));
        let tools = vec![tool(named("A")), tool(named("a b")), tool(named("B").aliases(&["A", "C"]))];
        check(
            tools,
            "B: name: the alias `A` leads to A (source `own`)\n\
             B: duplicate: described almost like A; say how they differ\n\
             a b: name: left out: the name has ' '; allowed are A–Z a–z 0–9 _ - (source `own`)",
        );
    }

    #[test]
    fn sprawl_names_what_could_be_deferred() {
        let tools = |count| -> Vec<_> {
            let prompt =
                |n| format!("{n} {n}{n} {n}x{n} Use it {n}y{n} or fail {n}z{n}, unless it is not {n}w{n}.");
            (0..count).map(|n| plain(&format!("T{n:02}"), &prompt(n))).collect()
        };
        check(tools(20), "");
        let findings = lint(&pool(tools(21)));
        assert!(findings[0].message.starts_with("21 tools are in sight, more than 20; 21 could be deferred"));
        assert!(findings[0].message.ends_with("and 11 more"), "{}", findings[0].message);
    }

    #[test]
    fn ten_thousand_tools_that_are_all_alike_are_linted() {
        let tools = (0..10_000).map(|n| {
            raw(
                named(&format!("T{n}")),
                &format!("{GOOD} Other files, empty ones too, are read. {n}"),
                Value::Bool(true),
            )
        });
        let findings = lint(&pool(tools.collect()));
        assert_eq!(findings.iter().filter(|finding| finding.kind == FindingKind::Duplicate).count(), 9_999);
    }
}
