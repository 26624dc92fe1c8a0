//! What must hold of every command line, whatever is in it.

use haft_engine::{
    Call, Engine, Session, SessionOptions,
    policy::{Origin, Rules, Verdict, Written},
};
use haft_tool::{Class, IntoTool};
use proptest::{prelude::*, sample::select};
use serde_json::json;

use super::Bash;

const COMMANDS: [&str; 24] = [
    "ls",
    "cat a.txt",
    "git diff",
    "git push",
    "rm -rf build",
    "curl x.test",
    "echo hi > out.txt",
    "cat .env",
    "cd src",
    "FOO=bar",
    "PATH=. ls",
    "$X",
    "eval ls",
    "sh -c 'git push'",
    "cat <<'E'\ntext\nE",
    "f() { ls; }",
    "cat ~/.ssh/id",
    "find . -delete",
    "sudo ls",
    "(cd /; ls)",
    "make",
    "echo \"$(git push)\"",
    "! ls",
    "{ ls; }",
];

const RULES: [(&str, &str); 9] = [
    ("allow", "Bash"),
    ("allow", "Bash(git:*)"),
    ("allow", "Bash(rm:*)"),
    ("allow", "Edit(out.txt)"),
    ("ask", "Bash(git push:*)"),
    ("deny", "Bash(git push:*)"),
    ("deny", "Bash(curl:*)"),
    ("deny", "Read(.env)"),
    ("deny", "Edit(src/**)"),
];

/// Lines whose words have no meaning but themselves.
const LINES: [&[&str]; 11] = [
    &["git", "push", "origin", "main"],
    &["rm", "-rf", "build"],
    &["cat", "./.env"],
    &["git", "diff", "--output=x"],
    &["sort", "-o", "x", "y"],
    &["find", ".", "-delete"],
    &["curl", "-s", "x.test"],
    &["env", "git", "push"],
    &["ls", "-la", "src"],
    &["sed", "-i", "s/a/b/", "f"],
    &["timeout", "5", "curl", "x.test"],
];

fn session(rules: &[(&str, &str)]) -> Session {
    let mut lists = Rules::default();
    for (list, rule) in rules {
        let list = match *list {
            "allow" => &mut lists.allow,
            "ask" => &mut lists.ask,
            _ => &mut lists.deny,
        };
        list.push(Written::new(*rule, Origin::Session));
    }
    let engine = Engine::builder().tools([Bash::default().into_tool()]).build().expect("an engine");
    let options =
        SessionOptions { home: Some("/home/u".into()), rules: lists, ..SessionOptions::at("/w/app") };
    engine.session(options).expect("a session")
}

fn judge(session: &Session, command: &str) -> (Verdict, Class) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let explained = runtime.block_on(session.explain(Call::new("1", "Bash", json!({ "command": command }))));
    let explained = explained.unwrap_or_else(|refused| panic!("{command}: {}", refused.text()));
    (explained.decision.verdict, explained.effects.class())
}

/// One word, written in another way.
fn quoted(word: &str, way: u8) -> String {
    let split = word.char_indices().nth(1).map_or(word.len(), |(at, _)| at);
    let (first, rest) = word.split_at(split);
    match way {
        0 => word.to_owned(),
        1 => format!("'{word}'"),
        2 => format!("\"{word}\""),
        3 => format!("{first}''{rest}"),
        4 => word.chars().map(|char| format!("\\{char}")).collect(),
        5 => format!("$'{}'", word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>()),
        _ => format!("{first}\\\n{rest}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn one_more_command_never_makes_a_verdict_weaker(
        lines in prop::collection::vec(select(&COMMANDS[..]), 1..4),
        more in select(&COMMANDS[..]),
        joint in select(&["; ", " && ", " || ", "\n", " | ", " & "][..]),
        rules in prop::collection::vec(select(&RULES[..]), 0..4),
    ) {
        let session = session(&rules);
        // A here-document's words end at its last line.
        let line = lines.join("\n");
        let joint = if line.ends_with("\nE") { "\n" } else { joint };
        let longer = format!("{line}{joint}{more}");
        let ((verdict, class), (longer_verdict, longer_class)) = (judge(&session, &line), judge(&session, &longer));
        prop_assert!(longer_verdict >= verdict, "{rules:?} {line:?}: {verdict}, {longer:?}: {longer_verdict}");
        prop_assert!(longer_class >= class, "{line:?}: {class}, {longer:?}: {longer_class}");
    }

    #[test]
    fn quoting_a_word_in_another_way_changes_nothing(
        words in select(&LINES[..]),
        ways in prop::collection::vec(0u8..7, 6),
        rules in prop::collection::vec(select(&RULES[..]), 0..4),
    ) {
        let session = session(&rules);
        let plain = words.join(" ");
        let other: Vec<String> = words.iter().zip(&ways).map(|(word, way)| quoted(word, *way)).collect();
        let other = other.join(" ");
        prop_assert_eq!(judge(&session, &plain), judge(&session, &other), "{:?} {:?} {:?}", rules, plain, other);
    }
}
