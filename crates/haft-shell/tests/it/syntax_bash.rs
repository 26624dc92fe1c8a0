//! The parser against the real bash.

use std::{collections::BTreeSet, fs, path::Path};

use haft_shell::syntax::*;

use crate::kit::*;

/// Where the security corpora are on machines that have them.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora/shell.jsonl");

fn is_accepted(text: &str) -> bool {
    parse(text).error.is_none()
}

#[test]
fn what_bash_rejects_is_rejected_and_most_of_what_it_takes_is_taken() {
    if !has_bash() {
        return;
    }
    let (mut taken, mut refused) = (0, Vec::new());
    for seed in 0..cases(600) {
        let mut writer = Writer::new(seed);
        let text = if seed % 2 == 0 { writer.script() } else { writer.broken_script() };
        match (bash_accepts(&text), parse(&text).error) {
            (true, None) => taken += 1,
            (true, Some(error)) => refused.push(format!("{text:?}: {}", error.what)),
            (false, None) => panic!("bash rejects what we take: {text:?}"),
            (false, Some(_)) => {}
        }
    }
    println!("taken {taken}, refused without need {}", refused.len());
    assert!(refused.len() * 25 < taken, "{} of {taken}:\n{}", refused.len(), refused.join("\n"));
}

#[test]
fn whatever_bash_runs_is_in_the_tree() {
    if !has_bash() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let definitions = directory.path().join("definitions");
    fs::write(&definitions, recorders()).unwrap();
    let mut ran = 0;
    for seed in 0..cases(400) {
        let mut writer = Writer::new(seed + 1_000_000);
        let text = if seed % 3 == 0 { writer.broken_script() } else { writer.script() };
        // What was left in the background may still be at work: everybody gets a place of their own.
        let place = directory.path().join(seed.to_string());
        fs::create_dir(&place).unwrap();
        ran += check_runs(&text, &definitions, &place);
    }
    assert!(ran > 400, "only {ran} commands ran: the test sees nothing");
}

/// Functions that leave their name in a file.
fn recorders() -> String {
    let mut text = "ulimit -t 2 -f 1000\nn=0\n".to_owned();
    for number in 0..10 {
        text.push_str(&format!(
            "c{number}() {{ builtin echo c{number} >>ran; (( ++n > 12 )) && builtin exit 3; builtin return $(( n % 2 )); }}\n"
        ));
    }
    text
}

#[track_caller]
fn check_runs(text: &str, definitions: &Path, directory: &Path) -> usize {
    let parsed = parse(text);
    let mut known: BTreeSet<String> = command_names(&parsed.script).into_iter().collect();
    if let Some(error) = &parsed.error {
        // What stands behind an error is known by its words only.
        let rest = &text[error.at..];
        let salvaged: Vec<String> = salvage(rest).into_iter().flatten().collect();
        known.extend(
            (0..10)
                .map(|number| format!("c{number}"))
                .filter(|name| salvaged.iter().any(|word| word.contains(name.as_str()))),
        );
    }
    let log = directory.join("ran");
    fs::write(&log, "").unwrap();
    bash_runs(text, definitions, directory);
    let names: Vec<String> = fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    for name in &names {
        assert!(
            known.contains(name),
            "{name} ran, but is not in the tree of {text:?}\n{}",
            outline(&parsed.script)
        );
    }
    names.len()
}

#[test]
fn the_words_of_a_command_are_those_that_bash_passes_on() {
    if !has_bash() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let definitions = directory.path().join("definitions");
    fs::write(&definitions, "show() { builtin printf '%s\\0' \"$@\"; }\n").unwrap();
    let mut compared = 0;
    for seed in 0..cases(800) {
        let words = random_words(&mut Dice::new(seed));
        let text = format!("show {words}");
        let parsed = parse(&text);
        let Some(expected) = parsed.error.is_none().then(|| arguments(&parsed.script)).flatten() else {
            continue;
        };
        let output = bash_runs(&text, &definitions, directory.path());
        let found: Vec<String> = output
            .stdout
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        let found = if expected.is_empty() { Vec::new() } else { found[..found.len() - 1].to_vec() };
        assert_eq!(expected, found, "{text:?}\n{}", outline(&parsed.script));
        compared += 1;
    }
    assert!(compared > 500, "only {compared} compared");
}

fn random_words(dice: &mut Dice) -> String {
    let pieces = [
        "a",
        "b",
        " ",
        " ",
        "'x y'",
        "''",
        "\"\"",
        "\"q\\\"w\\a\\\\\"",
        "\\ ",
        "\\n",
        "\\'",
        "$'\\t\\x41\\101\\u00e9\\ce'",
        "$'a\\'b\\q'",
        "\"it's\"",
        "{",
        "}",
        ",",
        "{a,b}",
        "{1..3}",
        "{3..1..2}",
        "{a..c}",
        "{}",
        "{x}",
        "..",
        "{a,{b,c}}",
        "{'a,b',c}",
        "\\\n",
        "#",
        "=",
        ":",
        "~",
        "k=~",
        "-",
        "+",
        "@",
        "!",
        "%",
        "^",
        "é",
        "\u{a0}",
        "\u{2028}",
        "$'\\0z'",
        "$",
        "$%",
        "[",
        "]",
        "/",
        "{,}",
        "{a,b\\,c}",
        "\"{a,b}\"",
        "{0..2}",
        "{-1..1}",
        "{a..1}",
        "{1..}",
        "$\"d\"",
        "\\{",
        "\r",
        "{1..'3'}",
        "{a,b}{c,d}",
        "~+",
        "\u{1}",
    ];
    (0..=dice.below(9)).map(|_| dice.pick(&pieces)).collect()
}

/// The arguments of the only command, if all of them are known.
fn arguments(script: &Script) -> Option<Vec<String>> {
    let [item] = script.items.as_slice() else { return None };
    let CommandKind::Simple { words, .. } = &item.first.commands[0].kind else { return None };
    let words: Option<Vec<Vec<String>>> = words[1..].iter().map(|word| values(&word.parts)).collect();
    words.map(|words| words.concat())
}

/// All words that a word becomes.
fn values(parts: &[Part]) -> Option<Vec<String>> {
    let mut values = vec![String::new()];
    let mut may_vanish = !parts.is_empty();
    for part in parts {
        may_vanish &= matches!(part, Part::Brace(_));
        let more = match part {
            Part::Literal(text) | Part::Quoted(text) => vec![text.clone()],
            Part::Tilde(name) if name.is_empty() => vec!["/home/u".to_owned()],
            Part::Brace(words) => {
                let words: Option<Vec<_>> =
                    words.iter().map(|word| values_of_alternative(&word.parts)).collect();
                words?.concat()
            }
            Part::Range(text) => range(text),
            _ => return None,
        };
        values =
            values.iter().flat_map(|value| more.iter().map(move |more| format!("{value}{more}"))).collect();
    }
    // An alternative without anything in it is no argument if nothing touches it.
    let has_quotes = parts.iter().any(|part| matches!(part, Part::Quoted(_)));
    if may_vanish && !has_quotes {
        if values.iter().any(String::is_empty) && format!("{parts:?}").contains("Quoted") {
            return None;
        }
        values.retain(|value| !value.is_empty());
    }
    Some(values)
}

fn values_of_alternative(parts: &[Part]) -> Option<Vec<String>> {
    if parts.is_empty() {
        return Some(vec![String::new()]);
    }
    let mut values_of_parts = vec![String::new()];
    for part in parts {
        let more = match part {
            Part::Brace(words) => {
                let words: Option<Vec<_>> =
                    words.iter().map(|word| values_of_alternative(&word.parts)).collect();
                words?.concat()
            }
            other => values(std::slice::from_ref(other))?,
        };
        values_of_parts = values_of_parts
            .iter()
            .flat_map(|value| more.iter().map(move |more| format!("{value}{more}")))
            .collect();
    }
    Some(values_of_parts)
}

fn range(text: &str) -> Vec<String> {
    let bounds: Vec<&str> = text.trim_matches(['{', '}']).split("..").collect();
    let letter = |text: &str| text.bytes().next().filter(u8::is_ascii_alphabetic).map(i64::from);
    let is_letter = letter(bounds[0]).is_some();
    let number = |text: &str| letter(text).or_else(|| text.parse().ok()).unwrap();
    let (from, to) = (number(bounds[0]), number(bounds[1]));
    let step = bounds.get(2).map_or(1, |step| number(step).abs().max(1));
    let count = (to - from).abs() / step;
    let value = |index: i64| from + index * step * (to - from).signum();
    (0..=count)
        .map(
            |index| {
                if is_letter { char::from(value(index) as u8).to_string() } else { value(index).to_string() }
            },
        )
        .collect()
}

#[test]
fn the_corpus_is_taken_and_rejected_as_bash_does() {
    let Ok(corpus) = fs::read_to_string(CORPUS) else {
        return println!("skipped: there is no corpus here");
    };
    if !has_bash() {
        return;
    }
    let mut refused = Vec::new();
    let mut total = 0;
    for line in corpus.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let Some(text) = case["input"].as_str().filter(|text| !text.contains('\0')) else { continue };
        total += 1;
        match (text.len() > 100_000 || bash_accepts(text), is_accepted(text)) {
            (false, true) => panic!("bash rejects what we take: {text:?}"),
            (true, false) => refused.push(format!("{text:?}: {:?}", parse(text).error)),
            _ => {}
        }
    }
    println!("{} of {total} refused without need:\n{}", refused.len(), refused.join("\n"));
    assert!(refused.len() * 50 < total, "{}", refused.join("\n"));
}
