//! What a rule must and must not cover, said beside it and checked when rules are compiled.
//!
//! A rule that reads well and means something else is found by whoever wrote it, not by a model. An example is what a
//! call would name: the words of a simple command, a path (`src/a.rs`, `/etc/hosts`, `~/notes`), a host or URL, a tool.

use std::path::{Path, PathBuf};

use super::{
    decide::Verdict,
    pattern::words,
    rule::{Subject, Whose},
    rules::{Bases, Hits, Listed, Policy},
    written::{Rules, Written},
};
use haft_tool::Access;

/// Whether the rule does what its examples say, in the list that it stands in; what is wrong if not. An allow covers less than
/// a deny of the same text: no program by its base name, no path by its spelling.
pub(super) fn check(subject: &Subject, listed: &Listed, bases: &Bases) -> Result<(), String> {
    let rule = &listed.rule;
    if rule.matches.is_empty() && rule.not_matches.is_empty() {
        return Ok(());
    }
    let bare = vec![Written { matches: Vec::new(), not_matches: Vec::new(), ..rule.clone() }];
    let alone = match listed.verdict {
        Verdict::Deny => Rules { deny: bare, ..Rules::default() },
        Verdict::Ask => Rules { ask: bare, ..Rules::default() },
        Verdict::Allow => Rules { allow: bare, ..Rules::default() },
    };
    let Ok(alone) = Policy::compile(alone, bases) else {
        return Ok(()); // What is wrong with the rule itself is told elsewhere.
    };
    let covers = |example: &String| covers(&alone, subject, example, bases);
    for missed in &rule.matches {
        if !covers(missed)? {
            return Err(format!(
                "its example `{missed}` is not covered by it; change the rule or the example"
            ));
        }
    }
    for caught in &rule.not_matches {
        if covers(caught)? {
            return Err(format!("it covers `{caught}`, which it must not; make it narrower"));
        }
    }
    Ok(())
}

fn covers(alone: &Policy, subject: &Subject, example: &str, bases: &Bases) -> Result<bool, String> {
    let hits = match subject {
        Subject::Tool(_) => alone.names.find(example),
        Subject::Command(_) => alone.shared.commands.find(&simple_command(example)?),
        Subject::Host(whose, _) => {
            alone.of(whose).map(|all| all.hosts.find(host(example))).unwrap_or_default()
        }
        Subject::Path(whose, _) => path(alone, whose, &placed(example, bases)),
    };
    Ok(hits.deny.or(hits.ask).or(hits.allow).is_some())
}

/// The words of an example. A command line is taken apart before rules are asked, so one with a joint in it is no example.
fn simple_command(example: &str) -> Result<Vec<String>, String> {
    if let Some(joint) = joint(example) {
        return Err(format!(
            "its example `{example}` is more than one simple command (`{joint}`); give the one that it is about, alone"
        ));
    }
    words(example).ok_or_else(|| {
        format!("its example `{example}` is not words alone; quote what a shell would read otherwise")
    })
}

/// What joins commands, or leads them elsewhere, outside of quotes.
fn joint(example: &str) -> Option<char> {
    let (mut chars, mut quote) = (example.chars(), None);
    while let Some(char) = chars.next() {
        match (quote, char) {
            (None, '\\') => drop(chars.next()),
            (None, '\'' | '"') => quote = Some(char),
            (None, '|' | '&' | ';' | '<' | '>' | '\n') => return Some(char),
            (Some(open), end) if open == end => quote = None,
            _ => {}
        }
    }
    None
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
        check_in("allow", rule, matches, not_matches, expected);
    }

    #[track_caller]
    fn check_in(list: &str, rule: &str, matches: &[&str], not_matches: &[&str], expected: Result<(), &str>) {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let written = Written {
            matches: own(matches),
            not_matches: own(not_matches),
            ..Written::new(rule, Origin::Flag)
        };
        let bases = Bases { workspace: "/w/app".into(), home: Some("/home/u".into()) };
        let rules = match list {
            "deny" => Rules { deny: vec![written], ..Rules::default() },
            "ask" => Rules { ask: vec![written], ..Rules::default() },
            _ => Rules { allow: vec![written], ..Rules::default() },
        };
        let compiled = Policy::compile(rules, &bases);
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

    #[test]
    fn an_example_is_judged_in_the_list_of_its_rule() {
        let by_path = ["/usr/bin/git"];
        check_in("allow", "Bash(git)", &["git"], &by_path, Ok(()));
        let missed = "its example `/usr/bin/git` is not covered by it; change the rule or the example";
        check_in("allow", "Bash(git)", &by_path, &[], Err(missed));
        for list in ["ask", "deny"] {
            check_in(list, "Bash(git)", &by_path, &[], Ok(()));
            let caught = "it covers `/usr/bin/git`, which it must not; make it narrower";
            check_in(list, "Bash(git)", &[], &by_path, Err(caught));
        }
        // A pattern that ends in a wildcard covers what lies below only where that is stricter.
        check_in("allow", "Read(src/*)", &["src/a"], &["src/a/b"], Ok(()));
        check_in("deny", "Read(src/*)", &["src/a", "src/a/b"], &[], Ok(()));
    }

    #[test]
    fn an_example_is_one_simple_command() {
        let joined = "its example `ls | curl x` is more than one simple command (`|`); give the one that it is about, alone";
        check("Bash(curl:*)", &["ls | curl x"], &[], Err(joined));
        check("Bash(curl:*)", &[], &["ls | curl x"], Err(joined));
        check("Bash(grep:*)", &["grep 'a|b' x", r"grep a\|b", "grep \"a;b\""], &["rg 'a>b'"], Ok(()));
        let open = "its example `ls *` is not words alone; quote what a shell would read otherwise";
        check("Bash(ls:*)", &["ls *"], &[], Err(open));
    }
}
