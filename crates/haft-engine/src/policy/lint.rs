//! Rules that do not do what they look like.
//!
//! A rule that can never match protects nobody, one that another covers is noise, and one that is broader than it looks
//! is how agents get out. None of these is an error: whoever wrote them decides. Said with the place of the rule.

use std::fmt;

use haft_schema::nearest;
use serde::Serialize;

use super::{
    decide::Verdict,
    launchers::runs_others,
    rule::{
        Anchor, BASH, CommandPattern, EDIT, HostPattern, Name, PathPattern, READ, Rule, Subject, WEB_FETCH,
        Whose,
    },
    written::{Layer, Origin, Rules, Written},
};

/// Something about a rule that whoever wrote it should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The list that the rule stands in.
    pub verdict: Verdict,
    /// Its text.
    pub rule: String,
    /// Where it was written.
    pub origin: Origin,
    /// What kind of remark.
    pub kind: RemarkKind,
    /// What is the matter, and what would be better.
    pub words: String,
}

/// What is the matter with a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RemarkKind {
    /// No call can fall under it.
    NeverMatches,
    /// Another rule says the same or decides before it.
    Shadowed,
    /// It covers more than one would think.
    Broad,
    /// It covers less than one would think.
    Narrow,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} rule `{}` {}", self.origin, self.verdict, self.rule, self.words)
    }
}

/// Looks at all rules together. `tools` are the names, aliases among them, of the tools that there are; names of servers'
/// tools are not judged, for a server may be away.
pub fn lint<'a>(rules: &Rules, tools: impl IntoIterator<Item = &'a str>) -> Vec<Remark> {
    let tools: Vec<&str> = tools.into_iter().collect();
    let lists = [(Verdict::Deny, &rules.deny), (Verdict::Ask, &rules.ask), (Verdict::Allow, &rules.allow)];
    let all: Vec<Read> = lists
        .into_iter()
        .flat_map(|(verdict, list)| list.iter().filter_map(move |written| Read::of(verdict, written)))
        .collect();
    let mut remarks = Vec::new();
    for (index, rule) in all.iter().enumerate() {
        let said = [never_matches(rule, &tools), broad(rule), narrow(rule), shadowed(rule, index, &all)];
        remarks.extend(said.into_iter().flatten().map(|(kind, words)| rule.remark(kind, words)));
    }
    remarks
}

/// Rules that deny or ask, and protect nobody because no tool has the name in them. What [`lint`] says of each.
pub fn unknown_tools<'a>(rules: &Rules, tools: impl IntoIterator<Item = &'a str>) -> Vec<Remark> {
    let tools: Vec<&str> = tools.into_iter().collect();
    let lists = [(Verdict::Deny, &rules.deny), (Verdict::Ask, &rules.ask)];
    let all = lists
        .into_iter()
        .flat_map(|(verdict, list)| list.iter().filter_map(move |written| Read::of(verdict, written)));
    let unknown = |rule: Read<'_>| {
        let words = unknown_tool(named(&rule.subject)?, &tools)?;
        Some(rule.remark(RemarkKind::NeverMatches, words))
    };
    all.filter_map(unknown).collect()
}

/// The tool that a rule is for, if it names one.
fn named(subject: &Subject) -> Option<&str> {
    match subject {
        Subject::Tool(Name::Exact(name)) => Some(name),
        Subject::Path(Whose::Tool(name), _) | Subject::Host(Whose::Tool(name), _) => Some(name),
        _ => None,
    }
}

/// A rule that could be read. What is wrong with others, compiling tells.
struct Read<'a> {
    verdict: Verdict,
    written: &'a Written,
    subject: Subject,
}

type Said = (RemarkKind, String);

impl<'a> Read<'a> {
    fn of(verdict: Verdict, written: &'a Written) -> Option<Read<'a>> {
        let Rule(subject) = written.text.parse().ok()?;
        Some(Read { verdict, written, subject })
    }

    fn remark(&self, kind: RemarkKind, words: String) -> Remark {
        let Written { text, origin, .. } = self.written;
        Remark { verdict: self.verdict, rule: text.clone(), origin: origin.clone(), kind, words }
    }
}

fn never_matches(rule: &Read<'_>, tools: &[&str]) -> Option<Said> {
    let unknown = || unknown_tool(named(&rule.subject)?, tools);
    let words = match &rule.subject {
        Subject::Command(command) => no_command(command),
        Subject::Path(Whose::EveryRead | Whose::EveryWrite, path) => {
            is_a_host(path).or_else(|| looks_absolute(path))
        }
        Subject::Path(..) | Subject::Tool(_) | Subject::Host(..) => unknown(),
    };
    Some((RemarkKind::NeverMatches, words?))
}

fn unknown_tool(name: &str, tools: &[&str]) -> Option<String> {
    // These names speak of what any call does.
    let is_known = [READ, EDIT, BASH, WEB_FETCH].contains(&name) || tools.contains(&name);
    if is_known || name.starts_with("mcp__") {
        return None;
    }
    let advice = match nearest(name, tools.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`haft tools --all` lists the tools".to_owned(),
    };
    Some(format!("never matches: there is no tool `{name}`; {advice}"))
}

/// A rule is compared with the words of one simple command.
fn no_command(CommandPattern { words, .. }: &CommandPattern) -> Option<String> {
    const JOINTS: [&str; 8] = ["|", "||", "&&", ";", "&", ">", ">>", "<"];
    if let Some(joint) = words.iter().find(|word| JOINTS.contains(&word.as_str())) {
        return Some(format!(
            "never matches: `{joint}` joins commands, and a rule speaks of one; write a rule for each part"
        ));
    }
    let first = words.first()?;
    let is_assignment = first.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    is_assignment.then(|| {
        format!("never matches: `{first}` sets a variable and is no program; begin with the program")
    })
}

/// `Read(domain:docs.rs)` is a file of that name in the workspace.
fn is_a_host(path: &PathPattern) -> Option<String> {
    let host = path.names.first().or(path.glob.as_ref())?.strip_prefix("domain:")?;
    let is_plain = path.anchor == Anchor::Workspace && path.up == 0 && !path.from_slash;
    is_plain.then(|| format!("never matches: Read and Edit speak of paths; write `WebFetch(domain:{host})`"))
}

/// `/etc/hosts` looks like a path from the root, and begins at the workspace.
fn looks_absolute(path: &PathPattern) -> Option<String> {
    const ROOTS: [&str; 15] = [
        "etc", "usr", "var", "home", "root", "tmp", "proc", "sys", "dev", "opt", "mnt", "bin", "lib",
        "Users", "Library",
    ];
    let first = path.names.first().filter(|name| ROOTS.contains(&name.as_str()))?;
    let in_workspace = path.anchor == Anchor::Workspace && path.up == 0 && path.from_slash;
    in_workspace.then(|| {
        format!("means `{first}` in the workspace, not in the file system; write `//{first}…` for that")
    })
}

fn broad(rule: &Read<'_>) -> Option<Said> {
    if rule.verdict != Verdict::Allow {
        return None;
    }
    let words = match &rule.subject {
        Subject::Tool(Name::Prefix(prefix)) if prefix.is_empty() => {
            "lets every tool run, also those that servers bring later".to_owned()
        }
        Subject::Tool(Name::Prefix(prefix)) => {
            format!("lets every tool run whose name begins with `{prefix}`, also those that are added later")
        }
        Subject::Tool(Name::Exact(name)) if name == BASH => {
            "lets every command run; name the programs, as in `Bash(cargo test:*)`".to_owned()
        }
        Subject::Tool(Name::Exact(name)) if name == EDIT => {
            "lets every file be written, wherever it is; write `Edit(**)` for the workspace".to_owned()
        }
        Subject::Tool(Name::Exact(name)) if name == READ => {
            "lets every file be read, also keys in the home; reading the workspace needs no rule".to_owned()
        }
        Subject::Command(command) => broad_command(command)?,
        Subject::Host(_, host) => broad_host(host)?,
        Subject::Path(_, path) => broad_path(path)?,
        Subject::Tool(Name::Exact(_)) => return None,
    };
    Some((RemarkKind::Broad, words))
}

/// What git only shows: options that run something are covered by no rule for these.
const SHOWN_BY_GIT: [&str; 10] =
    ["blame", "describe", "diff", "grep", "log", "ls-files", "rev-parse", "shortlog", "show", "status"];

fn broad_command(command: &CommandPattern) -> Option<String> {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    let only_shows = matches!(words.as_slice(), ["git", sub, ..] if SHOWN_BY_GIT.contains(sub));
    (command.open && runs_others(&words) && !only_shows).then(|| {
        format!(
            "lets everything run that `{}` can start; write the whole command, without `:*`",
            words.join(" ")
        )
    })
}

/// Hosts below which anybody can put up a page, or receive what is sent.
const OPEN_TO_ALL: [&str; 12] = [
    "github.io",
    "githubusercontent.com",
    "gitlab.io",
    "pages.dev",
    "workers.dev",
    "vercel.app",
    "netlify.app",
    "herokuapp.com",
    "amazonaws.com",
    "blogspot.com",
    "ngrok.io",
    "web.app",
];

fn broad_host(host: &HostPattern) -> Option<String> {
    match host {
        HostPattern::Any => {
            Some("lets every host be fetched from: what is read can leave in a URL".to_owned())
        }
        HostPattern::Below(name) if !name.contains('.') => {
            Some(format!("covers every host that ends in `.{name}`; name the host"))
        }
        HostPattern::Below(name) if OPEN_TO_ALL.contains(&name.as_str()) => {
            Some(format!("covers hosts that anybody can have below `{name}`; name the host"))
        }
        HostPattern::Below(_) | HostPattern::Exact(_) => None,
    }
}

fn broad_path(path: &PathPattern) -> Option<String> {
    let is_everything = path.names.is_empty() && matches!(path.glob.as_deref(), None | Some("**"));
    match path.anchor {
        Anchor::Root if is_everything => Some("covers the whole file system".to_owned()),
        Anchor::Home if is_everything => {
            Some("covers the whole home, with its keys and start-up files".to_owned())
        }
        Anchor::Workspace if path.up > 0 && is_everything => {
            Some("covers everything beside the workspace, too".to_owned())
        }
        _ => None,
    }
}

fn narrow(rule: &Read<'_>) -> Option<Said> {
    if rule.verdict == Verdict::Allow {
        return None;
    }
    let words = match &rule.subject {
        Subject::Path(Whose::Tool(tool), _) => {
            let (instead, verb) =
                if tool == "Write" || tool.contains("Edit") { (EDIT, "write") } else { (READ, "read") };
            format!(
                "holds in calls of {tool} only: a command can still {verb} there; write `{instead}(…)` for every call"
            )
        }
        Subject::Path(_, path) if path.anchor == Anchor::Workspace && is_lone_dotfile(path) => {
            let name = &path.names[0];
            format!(
                "is that one file at the root of the workspace; write `**/{name}` for files of that name anywhere"
            )
        }
        Subject::Tool(Name::Exact(name)) if name == "Write" => {
            "holds in calls of Write only: Edit and commands still write; write `Edit` for every call"
                .to_owned()
        }
        _ => return None,
    };
    Some((RemarkKind::Narrow, words))
}

fn is_lone_dotfile(path: &PathPattern) -> bool {
    path.up == 0
        && path.glob.is_none()
        && path.names.len() == 1
        && path.names[0].starts_with('.')
        && !path.from_slash
}

fn shadowed(rule: &Read<'_>, index: usize, all: &[Read<'_>]) -> Option<Said> {
    let mut others = all.iter().enumerate().filter(|(place, _)| *place != index);
    let (_, other) = others.find(|(place, other)| {
        covers(&other.subject, &rule.subject)
            && holds_whenever(other.written, rule.written)
            && decides_before(other, rule, *place < index)
    })?;
    let Written { text, origin, .. } = other.written;
    let words = match other.verdict == rule.verdict {
        true => format!("adds nothing: `{text}` ({origin}) covers it"),
        false => {
            format!("never decides: {} rule `{text}` ({origin}) covers it and comes first", other.verdict)
        }
    };
    Some((RemarkKind::Shadowed, words))
}

/// Whether a rule that covers another, and holds whenever that does, leaves it nothing to say.
fn decides_before(other: &Read<'_>, rule: &Read<'_>, is_earlier: bool) -> bool {
    let same_layer = other.written.layer == rule.written.layer;
    let adds_nothing = || stays_with(&other.written.origin, &rule.written.origin);
    match (other.verdict, rule.verdict) {
        (Verdict::Deny, Verdict::Deny) => adds_nothing() && (is_earlier || is_wider(other, rule)),
        (Verdict::Deny, _) => true,
        (Verdict::Ask, Verdict::Allow) => same_layer || other.written.firm,
        (one, own) if one == own => {
            same_layer
                && other.written.firm >= rule.written.firm
                && adds_nothing()
                && (is_earlier || is_wider(other, rule))
        }
        _ => false,
    }
}

/// Whether one rule is there for every agent, model and caller that another is there for.
fn holds_whenever(one: &Written, other: &Written) -> bool {
    let for_all = one.for_roles.is_empty() && one.except_roles.is_empty();
    let same_roles = one.for_roles == other.for_roles && one.except_roles == other.except_roles;
    let everywhere = one.layer == Layer::Global || one.layer == other.layer;
    // A flag is gone with the command.
    let lasts = one.origin != Origin::Flag || other.origin == Origin::Flag;
    everywhere && (for_all || same_roles) && lasts
}

/// Whether whoever deletes a rule can count on one of this origin: files of others come and go without theirs.
fn stays_with(one: &Origin, other: &Origin) -> bool {
    match (one, other) {
        (Origin::File { path: one, .. }, Origin::File { path: other, .. }) => one == other,
        (one, other) => *other == Origin::Flag || one == other,
    }
}

/// Whether it is not the same the other way round: of two that say the same, only the later is told.
fn is_wider(wide: &Read<'_>, narrow: &Read<'_>) -> bool {
    !covers(&narrow.subject, &wide.subject) || !holds_whenever(narrow.written, wide.written)
}

/// Whether every call that falls under one rule falls under another. Rather not, where it takes more than a look.
fn covers(wide: &Subject, narrow: &Subject) -> bool {
    match (wide, narrow) {
        (Subject::Tool(wide), Subject::Tool(narrow)) => name_covers(wide, narrow),
        (Subject::Tool(wide), _) => {
            owner(narrow).is_some_and(|owner| name_covers(wide, &Name::Exact(owner.to_owned())))
        }
        (Subject::Command(wide), Subject::Command(narrow)) => {
            let begins = narrow.words.starts_with(&wide.words);
            if wide.open { begins } else { !narrow.open && wide.words == narrow.words }
        }
        (Subject::Host(whose, wide), Subject::Host(of, narrow)) => whose == of && host_covers(wide, narrow),
        (Subject::Path(whose, wide), Subject::Path(of, narrow)) => whose == of && path_covers(wide, narrow),
        _ => false,
    }
}

fn name_covers(wide: &Name, narrow: &Name) -> bool {
    match (wide, narrow) {
        (Name::Prefix(wide), Name::Prefix(narrow) | Name::Exact(narrow)) => narrow.starts_with(wide.as_str()),
        (Name::Exact(wide), Name::Exact(narrow)) => wide == narrow,
        (Name::Exact(_), Name::Prefix(_)) => false,
    }
}

/// The tool whose name a pattern stands behind.
fn owner(subject: &Subject) -> Option<&str> {
    match subject {
        Subject::Command(_) => Some(BASH),
        Subject::Path(Whose::EveryRead, _) => Some(READ),
        Subject::Path(Whose::EveryWrite, _) => Some(EDIT),
        Subject::Host(Whose::EveryRead, _) => Some(WEB_FETCH),
        Subject::Path(Whose::Tool(tool), _) | Subject::Host(Whose::Tool(tool), _) => Some(tool),
        Subject::Host(Whose::EveryWrite, _) | Subject::Tool(_) => None,
    }
}

fn host_covers(wide: &HostPattern, narrow: &HostPattern) -> bool {
    match (wide, narrow) {
        (HostPattern::Any, _) => true,
        (wide, narrow) if wide == narrow => true,
        (HostPattern::Below(wide), HostPattern::Exact(narrow) | HostPattern::Below(narrow)) => {
            narrow.strip_suffix(wide.as_str()).is_some_and(|rest| rest.ends_with('.'))
        }
        _ => false,
    }
}

/// The same path or one below it, where the wide one has no pattern but `**`.
fn path_covers(wide: &PathPattern, narrow: &PathPattern) -> bool {
    let is_tree = matches!(wide.glob.as_deref(), None | Some("**"));
    let same_start = wide.anchor == narrow.anchor && wide.up == narrow.up;
    let below = narrow.names.starts_with(&wide.names);
    // `src/**` is what is below `src`, and `src` is that and itself.
    let itself = wide.glob.is_some() && narrow.glob.is_none() && narrow.names == wide.names;
    wide == narrow || (is_tree && same_start && below && !itself)
}
