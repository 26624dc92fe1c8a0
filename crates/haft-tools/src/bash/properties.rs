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

/// What may be asked although a rule allows the program.
#[test]
fn a_file_that_a_program_knows_is_asked_like_one_that_is_named() {
    let lines = [
        "git config core.hooksPath ./x",
        "git config --global core.pager ./x",
        "git config --glob core.pager ./x",
        "git config --file=.git/config a.b c",
        "git config --unset a.b",
        "git config set a.b c",
        "git -C src config a.b c",
        "git remote add x 'ext::sh'",
        "git remote set-url origin 'ext::sh'",
        "git submodule add u",
        "git submodule init",
        "git submodule update --init",
        "git worktree add ../x",
        "git lfs install",
        "npm config set script-shell ./x",
        "npm --prefix . config set script-shell ./x",
        "npm login",
        "pip config set global.index-url u",
        "go env -w GOFLAGS=-toolexec=./x",
        "gh alias set x '!sh'",
        "aws configure set a b",
        "kubectl config set-credentials u --exec-command=./x",
        "docker login h",
        "cargo install x",
        "ssh-keygen -t ed25519 -N x",
        "gpg --import key",
        "pre-commit install",
        "crontab jobs",
        "systemctl --user enable x",
    ];
    for line in lines {
        let program = line.split(' ').next().unwrap();
        let allow = format!("Bash({program}:*)");
        assert_eq!(judge(&session(&[("allow", &allow)]), line).0, Verdict::Ask, "{line}");
    }
    let rules = [("allow", "Bash(git:*)"), ("deny", "Edit(.git/config)")];
    assert_eq!(judge(&session(&rules), "git remote add x u").0, Verdict::Deny);
    let rules = [("allow", "Bash(git:*)"), ("allow", "Edit(.git/config)")];
    assert_eq!(judge(&session(&rules), "git remote add x u").0, Verdict::Allow);
}

#[test]
fn harmless_settings_of_git_are_written_under_a_rule_for_git_and_rules_for_the_file_hold() {
    for line in ["git remote add x u", "git config pull.rebase true", "git remote rename x y"] {
        let check = |rules: &[(&str, &str)], expected| {
            assert_eq!(judge(&session(rules), line).0, expected, "{line} {rules:?}");
        };
        check(&[], Verdict::Ask);
        check(&[("allow", "Bash(git:*)")], Verdict::Allow);
        check(&[("allow", "Bash(git:*)"), ("deny", "Edit(.git/config)")], Verdict::Deny);
        check(&[("allow", "Bash(git:*)"), ("deny", "Edit(.git/**)")], Verdict::Deny);
        check(&[("allow", "Bash(git:*)"), ("ask", "Edit(.git/config)")], Verdict::Ask);
    }
}

#[test]
fn ordinary_commands_of_a_rule_are_not_asked() {
    let rules = ["git", "npm", "go", "gh", "aws", "kubectl", "docker", "cargo", "pip", "ssh-keygen"];
    let rules: Vec<_> = rules.map(|program| format!("Bash({program}:*)")).into();
    let session = session(&rules.iter().map(|rule| ("allow", rule.as_str())).collect::<Vec<_>>());
    let lines = [
        "git add -A && git commit -m config",
        "git checkout -b config",
        "git branch -u origin/main",
        "git push -u origin main",
        "git pull --rebase",
        "git clone https://h.test/r.git",
        "git init sub",
        "git stash pop",
        "git config --get remote.origin.url",
        "git config -l",
        "git remote -v",
        "git remote update",
        "git submodule update",
        "git worktree list",
        "npm config get registry",
        "npm install && npm test",
        "npm run config",
        "go env GOPATH",
        "go build ./...",
        "gh pr create --fill",
        "gh auth status",
        "aws configure list",
        "aws s3 ls",
        "kubectl config view",
        "kubectl get pods",
        "docker build .",
        "cargo add serde",
        "cargo build",
        "pip install -r requirements.txt",
        "ssh-keygen -f key -N x",
    ];
    lines.iter().for_each(|line| assert_eq!(judge(&session, line).0, Verdict::Allow, "{line}"));
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
