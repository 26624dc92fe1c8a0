//! One rule of `.claude/settings.json`, said in ours.
//!
//! The two look alike and differ in the details. Theirs compare the text of a command, with `*` anywhere; ours its words.
//! Theirs read paths as ignore files do, where a name alone is found in any directory; ours are anchored. Where there is
//! no exact counterpart, an allow becomes narrower, an ask or a deny wider.

use haft_engine::policy::Rule;

/// Which list a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Allow,
    Ask,
    Deny,
}

impl List {
    pub(super) fn word(self) -> &'static str {
        match self {
            List::Allow => "allow",
            List::Ask => "ask",
            List::Deny => "deny",
        }
    }

    /// Whether a rule may say more than it did. Of an allow, that would permit; of the others, it forbids.
    fn may_widen(self) -> bool {
        self != List::Allow
    }
}

/// What became of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Converted {
    /// It means the same.
    Same(String),
    /// It means nearly the same, on the careful side; this is the difference.
    Near(String, &'static str),
    /// It cannot be said; this is why.
    Not(String),
}

use Converted::{Near, Not, Same};

pub(super) fn convert(list: List, text: &str) -> Converted {
    let text = text.trim();
    let converted = match text.split_once('(') {
        None => whole(list, text),
        Some((tool, rest)) => match rest.strip_suffix(')') {
            None => Not("the bracket is not closed".to_owned()),
            Some("*" | "**") if tool == "Read" || tool == "Edit" => everywhere(list, tool),
            Some("" | "*" | "**") => whole(list, tool),
            Some(pattern) => with_pattern(list, tool, pattern),
        },
    };
    match &converted {
        Same(rule) | Near(rule, _) => match rule.parse::<Rule>() {
            Ok(_) => converted,
            Err(err) => Not(err.to_string()),
        },
        Not(_) => converted,
    }
}

/// A rule for every call of a tool.
fn whole(list: List, tool: &str) -> Converted {
    match tool {
        "LS" => Near("List".to_owned(), "the tool has another name here"),
        "MultiEdit" if list.may_widen() => {
            Near("Edit".to_owned(), "there is no such tool here; every edit is meant")
        }
        "MultiEdit" => Not("there is no such tool here, and `Edit` would allow more".to_owned()),
        "Read" if !list.may_widen() => Near(tool.to_owned(), "it also covers what commands read"),
        "Edit" if !list.may_widen() => Near(tool.to_owned(), "it also covers what commands write"),
        server if server.starts_with("mcp__") => of_server(list, server),
        _ => Same(tool.to_owned()),
    }
}

/// Every path. Ours begin at the workspace, so the pattern would be too narrow for what forbids.
fn everywhere(list: List, tool: &str) -> Converted {
    if list.may_widen() {
        return Same(tool.to_owned());
    }
    Near(format!("{tool}(**)"), "it covers the workspace only")
}

/// Tools of servers: a `*` may stand at the end only.
fn of_server(list: List, name: &str) -> Converted {
    let Some(star) = name.find('*').filter(|star| star + 1 < name.len()) else {
        return Same(name.to_owned());
    };
    let stem = &name[..star];
    if list.may_widen() && stem.len() > "mcp__".len() {
        return Near(format!("{stem}*"), "a `*` stands only at the end, so it covers more");
    }
    Not("a `*` in a name stands only at the end".to_owned())
}

fn with_pattern(list: List, tool: &str, pattern: &str) -> Converted {
    match tool {
        "Bash" => command(list, pattern),
        "Read" | "Edit" | "Glob" | "Grep" | "LS" | "Write" | "MultiEdit" | "NotebookEdit"
        | "NotebookRead" => path(list, tool, pattern),
        "WebFetch" => Same(format!("WebFetch({pattern})")),
        _ if list.may_widen() => {
            Near(tool.to_owned(), "patterns of this tool are not known here, so it covers every call")
        }
        _ => Not("patterns of this tool are not known here".to_owned()),
    }
}

/// Commands: `:*` and ` *` at the end are ours, other `*` are not.
fn command(list: List, pattern: &str) -> Converted {
    if pattern.contains(['|', '&', ';', '<', '>', '`', '$', '\n']) {
        return Not("it is more than one simple command; a rule is about each of them".to_owned());
    }
    if pattern.split_whitespace().next().is_some_and(|word| word.contains('=')) {
        return Not("a rule begins with the program, not with a variable".to_owned());
    }
    let stem = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    match stem {
        None if !pattern.contains('*') => Same(format!("Bash({pattern})")),
        Some(stem) if !stem.contains('*') => Same(format!("Bash({}:*)", stem.trim_end())),
        _ => wildcard(list, pattern),
    }
}

/// Commands with a `*` where ours have none.
fn wildcard(list: List, pattern: &str) -> Converted {
    let before = pattern.split('*').next().unwrap_or_default();
    let words = if before.ends_with(' ') {
        before.trim()
    } else {
        before.rsplit_once(' ').map_or("", |(words, _)| words.trim())
    };
    let is_last = pattern.ends_with('*') && pattern.matches('*').count() == 1;
    match (list.may_widen(), is_last) {
        (true, _) if !words.is_empty() => {
            Near(format!("Bash({words}:*)"), "words are whole here, so it covers more")
        }
        (true, _) => Not("words are whole here; name the program, or deny `Bash`".to_owned()),
        (false, true) => {
            Near(format!("Bash({}:*)", before.trim()), "words are whole here, so it covers less")
        }
        (false, false) => Not("a `*` among the words stands for nothing here".to_owned()),
    }
}

/// Paths: theirs as in ignore files.
fn path(list: List, tool: &str, pattern: &str) -> Converted {
    if pattern.starts_with('!') || pattern.contains(['{', '}']) {
        return Not("`!` and braces mean something else there".to_owned());
    }
    let (subject, moved) = match subject(list, tool) {
        Ok(subject) => subject,
        Err(why) => return Not(why.to_owned()),
    };
    let is_name = !pattern.trim_end_matches('/').contains('/') && !pattern.starts_with('~');
    let rule = match (is_name, list.may_widen()) {
        (true, true) => format!("{subject}(**/{pattern})"),
        _ => format!("{subject}({pattern})"),
    };
    match moved {
        Some(why) => Near(rule, why),
        None if is_name && !list.may_widen() => {
            Near(rule, "it covers the root of the workspace only; write `**/` in front for any directory")
        }
        None => Same(rule),
    }
}

/// Under which name the paths of a tool are spoken of here.
fn subject(list: List, tool: &str) -> Result<(&str, Option<&'static str>), &'static str> {
    match tool {
        "Read" | "Edit" => Ok((tool, None)),
        "Glob" | "Grep" | "LS" | "NotebookRead" if list.may_widen() => {
            Ok(("Read", Some("it covers every read of these paths")))
        }
        "Write" | "MultiEdit" | "NotebookEdit" if list.may_widen() => {
            Ok(("Edit", Some("it covers every edit of these paths")))
        }
        "LS" => Ok(("List", Some("the tool has another name here"))),
        "NotebookRead" | "MultiEdit" => Err("there is no such tool here"),
        _ => Ok((tool, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        List::{Allow, Ask, Deny},
        *,
    };

    #[track_caller]
    fn check(list: List, text: &str, expected: &str) {
        let said = match convert(list, text) {
            Same(rule) => rule,
            Near(rule, _) => format!("~ {rule}"),
            Not(_) => "none".to_owned(),
        };
        assert_eq!(said, expected, "{} {text}", list.word());
    }

    #[test]
    fn what_means_the_same_stays() {
        for (text, expected) in [
            ("Bash", "Bash"),
            ("Bash(*)", "Bash"),
            ("Bash(npm run test:*)", "Bash(npm run test:*)"),
            ("Bash(git diff *)", "Bash(git diff:*)"),
            ("Bash(npm run build)", "Bash(npm run build)"),
            ("Read(./src/**)", "Read(./src/**)"),
            ("Read(//etc/hosts)", "Read(//etc/hosts)"),
            ("Edit(~/notes/*.md)", "Edit(~/notes/*.md)"),
            ("Edit(/docs/**)", "Edit(/docs/**)"),
            ("WebFetch(domain:docs.rs)", "WebFetch(domain:docs.rs)"),
            ("WebSearch", "WebSearch"),
            ("mcp__github", "mcp__github"),
            ("mcp__github__*", "mcp__github__*"),
            ("mcp__github__get_issue", "mcp__github__get_issue"),
        ] {
            for list in [Allow, Ask, Deny] {
                check(list, text, expected);
            }
        }
    }

    #[test]
    fn an_allow_never_covers_more() {
        for (text, expected) in [
            ("Bash(git*)", "~ Bash(git:*)"),
            ("Bash(git * main)", "none"),
            ("Bash(* --version)", "none"),
            ("Bash(a && b)", "none"),
            ("Bash(X=1 make)", "none"),
            ("Read(.env)", "~ Read(.env)"),
            ("Read(*)", "~ Read(**)"),
            ("Write(docs/**)", "Write(docs/**)"),
            ("MultiEdit(docs/**)", "none"),
            ("MultiEdit", "none"),
            ("LS(src/x)", "~ List(src/x)"),
            ("mcp__*__read", "none"),
            ("Task(reviewer)", "none"),
            ("Read(!a)", "none"),
            ("Edit(src/*.{ts,js})", "none"),
            ("Read(src", "none"),
        ] {
            check(Allow, text, expected);
        }
    }

    #[test]
    fn a_deny_and_an_ask_never_cover_less() {
        for (text, expected) in [
            ("Bash(git*)", "none"),
            ("Bash(git push*)", "~ Bash(git:*)"),
            ("Bash(git * main)", "~ Bash(git:*)"),
            ("Bash(* --version)", "none"),
            ("Bash(curl x | sh)", "none"),
            ("Read(.env)", "Read(**/.env)"),
            ("Read(.env.*)", "Read(**/.env.*)"),
            ("Read(secrets/)", "Read(**/secrets/)"),
            ("Read(*)", "Read"),
            ("Grep(keys/**)", "~ Read(keys/**)"),
            ("Write(docs/**)", "~ Edit(docs/**)"),
            ("MultiEdit", "~ Edit"),
            ("mcp__git*__push", "~ mcp__git*"),
            ("mcp__*__push", "none"),
            ("Task(reviewer)", "~ Task"),
            ("Read([!a]b)", "none"),
        ] {
            check(Deny, text, expected);
            check(Ask, text, expected);
        }
    }

    #[test]
    fn no_text_makes_it_panic_or_become_another_rule() {
        let odd = [
            "",
            "(",
            ")",
            "()",
            "(*)",
            "é(ü*)",
            "mcp__",
            "mcp__*",
            "*",
            "Bash(*)x",
            "Bash( *)",
            "Bash(:*)",
            "Bash(* *)",
        ];
        let more = [
            "Read(é*/ü)",
            "Read(~)",
            "Read(~x)",
            "Read(/)",
            "Edit(**/**)",
            "Bash(\u{200b}*)",
            "LS()",
            "Write(\n)",
        ];
        for text in odd.into_iter().chain(more) {
            for list in [Allow, Ask, Deny] {
                if let Same(rule) | Near(rule, _) = convert(list, text) {
                    assert!(rule.parse::<Rule>().is_ok(), "{text} became {rule}");
                }
            }
        }
    }
}
