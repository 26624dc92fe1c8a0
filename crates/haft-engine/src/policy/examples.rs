//! What a rule must and must not cover, said beside it and checked when rules are compiled.
//!
//! A rule that reads well and means something else is found by whoever wrote it, not by a model. An example is what a
//! call would name: the words of a simple command, a path (`src/a.rs`, `/etc/hosts`, `~/notes`), a host or URL, a tool.

use std::path::{Path, PathBuf};

use super::{
    pattern::words,
    rule::{Subject, Whose},
    rules::{Bases, Hits, Policy},
    written::{Rules, Written},
};
use haft_tool::Access;

/// Whether the rule does what its examples say; what is wrong if not.
pub(super) fn check(subject: &Subject, rule: &Written, bases: &Bases) -> Result<(), String> {
    if rule.matches.is_empty() && rule.not_matches.is_empty() {
        return Ok(());
    }
    let bare = Written { matches: Vec::new(), not_matches: Vec::new(), ..rule.clone() };
    // As a deny it covers what it would as an ask or an allow, and what lies below: the widest that it can mean.
    let Ok(alone) = Policy::compile(Rules { deny: vec![bare], ..Rules::default() }, bases) else {
        return Ok(()); // What is wrong with the rule itself is told elsewhere.
    };
    let covers = |example: &String| covers(&alone, subject, example, bases);
    if let Some(missed) = rule.matches.iter().find(|example| !covers(example)) {
        return Err(format!("its example `{missed}` is not covered by it; change the rule or the example"));
    }
    match rule.not_matches.iter().find(|example| covers(example)) {
        Some(caught) => Err(format!("it covers `{caught}`, which it must not; make it narrower")),
        None => Ok(()),
    }
}

fn covers(alone: &Policy, subject: &Subject, example: &str, bases: &Bases) -> bool {
    let hits = match subject {
        Subject::Tool(_) => alone.names.find(example),
        Subject::Command(_) => {
            words(example).map(|argv| alone.shared.commands.find(&argv)).unwrap_or_default()
        }
        Subject::Host(whose, _) => {
            alone.of(whose).map(|all| all.hosts.find(host(example))).unwrap_or_default()
        }
        Subject::Path(whose, _) => path(alone, whose, &placed(example, bases)),
    };
    hits.deny.is_some()
}

fn path(alone: &Policy, whose: &Whose, path: &Path) -> Hits {
    let access = if *whose == Whose::EveryWrite { Access::Write } else { Access::Read };
    let Some(patterns) = alone.of(whose) else { return Hits::default() };
    patterns.paths(access).find(path.as_os_str().as_encoded_bytes())
}

/// The path that an example means, as a tool would write it.
fn placed(example: &str, bases: &Bases) -> PathBuf {
    let below_home = example.strip_prefix("~/").zip(bases.home.as_ref());
    let path = below_home.map_or_else(|| bases.workspace.join(example), |(below, home)| home.join(below));
    haft_tool::by_text(&path)
}

/// The host of a URL, or the text itself.
fn host(example: &str) -> &str {
    let Some((_, rest)) = example.split_once("://") else { return example };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, Policy, Rules, Written, rules::Bases};

    #[track_caller]
    fn check(rule: &str, matches: &[&str], not_matches: &[&str], expected: Result<(), &str>) {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let written = Written {
            matches: own(matches),
            not_matches: own(not_matches),
            ..Written::new(rule, Origin::Flag)
        };
        let bases = Bases { workspace: "/w/app".into(), home: Some("/home/u".into()) };
        let compiled = Policy::compile(Rules { allow: vec![written], ..Rules::default() }, &bases);
        let told = compiled.map(drop).map_err(|errors| errors[0].flaw.to_string());
        assert_eq!(
            told.as_ref().map(|()| &()).map_err(String::as_str),
            expected.as_ref().map(|()| &()).map_err(|text| *text)
        );
    }

    #[test]
    fn examples_hold_for_every_form_of_rule() {
        check("Bash(git diff:*)", &["git diff", "git diff --stat"], &["git push", "git difftool"], Ok(()));
        check("Bash(npm run test)", &["npm run test"], &["npm run test -- x"], Ok(()));
        check("Read(src/**)", &["src/a.rs", "/w/app/src/b/c"], &["srcs/a", "/etc/hosts"], Ok(()));
        check("Edit(~/notes/*.md)", &["~/notes/a.md"], &["~/notes/sub/a.md"], Ok(()));
        check("Write(docs/**)", &["docs/x"], &["src/x"], Ok(()));
        check(
            "WebFetch(domain:*.a.org)",
            &["https://b.a.org/x?y", "c.b.a.org"],
            &["a.org", "https://a.org.evil.net/"],
            Ok(()),
        );
        check("mcp__github", &["mcp__github__create_issue"], &["mcp__gitlab__x"], Ok(()));
    }

    #[test]
    fn an_example_that_does_not_hold_is_told() {
        check(
            "Bash(git diff)",
            &["git diff --stat"],
            &[],
            Err("its example `git diff --stat` is not covered by it; change the rule or the example"),
        );
        check(
            "Bash(git:*)",
            &[],
            &["git push"],
            Err("it covers `git push`, which it must not; make it narrower"),
        );
    }
}
