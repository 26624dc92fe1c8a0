//! What the processes of a call may touch.
//!
//! A rule that keeps a file from being read must also keep a shell command from it that nobody understood. A sandbox
//! masks places, not patterns: so patterns are looked up now, and where there would be too much to look at, nothing runs.

use std::{
    fs,
    io::ErrorKind,
    iter,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use haft_tool::{
    Access, Effects, Fault, Flow, Found, Grant, PathEffect, ReadScope, Refusal, Visitor, Walk, granted_form,
    shown,
};
use tokio_util::sync::CancellationToken;

use super::{
    Session,
    locate::locate,
    walk::{self, Grounds},
};
use crate::{
    policy::{Restricted, Verdict, Withheld},
    pool::Entry,
};

/// So much is looked at to find what a pattern covers.
const MOST_LOOKED_AT: usize = 200_000;

/// So many places are masked. Each costs every process a moment.
const MOST_MASKED: usize = 2_000;

/// What a call declared and was permitted.
///
/// A mask keeps a place from being read, so only a declared *read* can lift one, and only one of a rule that asks: somebody
/// was asked about that very read, or a rule of an earlier layer allows it. That a call may write a place says nothing of
/// reading it.
pub(super) struct Declared<'a> {
    pub(super) places: &'a [(PathBuf, Access)],
    pub(super) hosts: &'a [String],
    /// Those of the places that commands make as directories.
    pub(super) directories: &'a [PathBuf],
    /// Whether it changes nothing.
    pub(super) read_only: bool,
    /// Whether nothing may run beside it.
    pub(super) runs_alone: bool,
    /// Whether a person or a rule allowed what it runs.
    pub(super) approved: bool,
    /// Whether its processes run outside of the sandbox.
    pub(super) unsandboxed: bool,
}

impl Declared<'_> {
    /// The places that it was permitted to write.
    fn writes(&self, boundary: Option<&[PathBuf]>) -> Vec<PathBuf> {
        let is_write = |(_, access): &&(PathBuf, Access)| !self.read_only && *access == Access::Write;
        let places = self.places.iter().filter(is_write).map(|(place, _)| place);
        places.filter(|place| is_within(place, boundary)).cloned().collect()
    }

    /// The places that it was permitted to read.
    fn reads(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().filter(|(_, access)| *access == Access::Read).map(|(place, _)| place.as_path())
    }
}

pub(super) fn grant(
    session: &Session,
    entry: &Entry,
    declared: &Declared<'_>,
    token: &CancellationToken,
) -> Result<Grant, Fault> {
    let sandbox = session.sandbox();
    let boundary = session.boundary();
    if boundary.is_some() && !sandbox.enabled {
        return Err(cannot_be_kept());
    }
    let mut hosts = sandbox.hosts.clone();
    let confined = sandbox.enabled && !declared.unsandboxed;
    // A process asks for an address in whatever form; it is opened in one.
    hosts.extend(declared.hosts.iter().map(|host| granted_form(host)));
    // A tool that only looks keeps these places closed by itself where no sandbox does.
    let keeps_them = confined || entry.tool().spec().membership() == "readonly";
    let deny_read = if keeps_them { masked(session, entry, declared, token)? } else { Vec::new() };
    let permitted = declared.writes(boundary.as_deref());
    let Writable { write, make, sockets } = writable(session, declared, boundary.as_deref());
    let (make_directories, make) = make.into_iter().partition(|place| declared.directories.contains(place));
    Ok(Grant {
        confined,
        required: sandbox.required || boundary.is_some(),
        write,
        make,
        make_directories,
        permitted,
        approved: declared.approved,
        reads: readable(session, declared, boundary),
        deny_read,
        deny_patterns: patterns(session, entry),
        sockets,
        hosts,
        moves: declared.runs_alone,
        limits: sandbox.limits.clone(),
    })
}

/// The places that commands of a call make as directories, and then fill: nothing else stands for them.
pub(super) fn new_directories(effects: &Effects) -> Vec<PathBuf> {
    let makes_directory = |effect: &&PathEffect| {
        let command = effect.by.and_then(|by| effects.commands().get(by));
        effect.access == Access::Write && command.is_some_and(|command| fills_new_directory(&command.argv))
    };
    effects.paths().iter().filter(makes_directory).map(|effect| effect.place().to_owned()).collect()
}

/// Whether a command makes a directory of its own and accepts one that is there and empty.
fn fills_new_directory(argv: &[String]) -> bool {
    let words: Vec<&str> = argv.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let has = |names: &[&str]| words.windows(names.len()).any(|window| window == names);
    words.first() == Some(&"git") && (has(&["clone"]) || has(&["worktree", "add"]))
}

/// Whoever changes nothing may write nowhere. Everybody else may in the workspace, and where the call said it would: what is
/// there, and what is to be made. The directory of the latter is not given with it, also where rules would allow to write all
/// of it: the call was permitted for what it declared, undo keeps what is given, and a home is much to keep for one file.
///
/// To write a Unix socket is to talk to the service behind it, here as for the kernel: a socket that was declared is one to
/// connect to, and no place that is watched.
fn writable(session: &Session, declared: &Declared<'_>, boundary: Option<&[PathBuf]>) -> Writable {
    let mut writable = Writable::default();
    // The user's settings grant these to every command, like hosts: `docker ps` changes nothing and needs its daemon.
    let granted = session.sandbox().sockets.iter().filter(|path| is_within(path, boundary));
    writable.sockets.extend(granted.cloned());
    if declared.read_only {
        return writable;
    }
    writable.write.push(session.workspace().to_path_buf());
    writable.write.extend(session.sandbox().write.iter().cloned());
    for (place, access) in declared.places {
        if *access != Access::Write || !is_within(place, boundary) {
            continue;
        }
        let facts = fs::symlink_metadata(place);
        if facts.as_ref().is_ok_and(|facts| facts.file_type().is_socket()) {
            writable.sockets.push(place.clone());
        } else if !writable.write.iter().any(|root| place.starts_with(root)) {
            let is_missing = facts.is_err_and(|err| err.kind() == ErrorKind::NotFound);
            if is_missing { &mut writable.make } else { &mut writable.write }.push(place.clone());
        }
    }
    writable
}

/// What processes may write.
#[derive(Default)]
struct Writable {
    write: Vec<PathBuf>,
    /// Files that are not there yet.
    make: Vec<PathBuf>,
    sockets: Vec<PathBuf>,
}

/// A call without approval reads the workspace, and what it declared. So does every call of a session that is kept to
/// its workspace, as far as what it declared is within that.
fn readable(session: &Session, declared: &Declared<'_>, boundary: Option<Vec<PathBuf>>) -> ReadScope {
    if declared.approved && boundary.is_none() {
        return ReadScope::Everything;
    }
    let named = declared.places.iter().map(|(place, _)| place.clone());
    let named = named.filter(|place| is_within(place, boundary.as_deref()));
    let given = iter::once(session.workspace().to_path_buf()).chain(session.sandbox().read.iter().cloned());
    let mut places: Vec<PathBuf> = given.chain(named).collect();
    places.extend(boundary.into_iter().flatten());
    ReadScope::Confined(places)
}

fn is_within(place: &Path, boundary: Option<&[PathBuf]>) -> bool {
    boundary.is_none_or(|roots| roots.iter().any(|root| place.starts_with(root)))
}

/// The places that may not be read.
fn masked(
    session: &Session,
    entry: &Entry,
    declared: &Declared<'_>,
    token: &CancellationToken,
) -> Result<Vec<PathBuf>, Fault> {
    let mut masked = session.sandbox().deny_read.clone();
    let names = || std::iter::once(entry.name()).chain(entry.tool().spec().other_names().iter().copied());
    let policy = session.policy();
    let Restricted { denied, asked, patterned, .. } = policy.restricted(names());
    masked.extend(denied);
    let holds_workspace = |path: &Path| session.workspace().starts_with(path);
    for path in asked {
        // Where the workspace itself is asked about, a process that may read nothing of it could not even start.
        if !(holds_workspace(&path) && declared.reads().any(|place| place.starts_with(&path))) {
            mask_around(path, declared, &mut masked);
        }
    }
    if masked.iter().any(|path| holds_workspace(path)) {
        return Err(nothing_left());
    }
    for root in patterned.iter().filter(|root| root.is_dir()) {
        let Some(withheld) = policy.withheld(names(), root) else { continue };
        look_up(root, &withheld, declared, token, &mut masked)?;
    }
    Ok(with_targets(masked))
}

/// Masks a place that rules ask about, but for what the call declared to read: that is what the question named. Of a
/// directory only the declared part is open, and its neighbours are masked one by one.
fn mask_around(path: PathBuf, declared: &Declared<'_>, masked: &mut Vec<PathBuf>) {
    if masked.len() > MOST_MASKED || !declared.reads().any(|place| place.starts_with(&path)) {
        return masked.push(path);
    }
    if declared.reads().any(|place| place == path) {
        return;
    }
    let Ok(names) = fs::read_dir(&path) else { return masked.push(path) };
    names.flatten().for_each(|name| mask_around(name.path(), declared, masked));
}

/// The patterns of what may not be read.
fn patterns(session: &Session, entry: &Entry) -> Vec<(PathBuf, String)> {
    let names = std::iter::once(entry.name()).chain(entry.tool().spec().other_names().iter().copied());
    session.policy().restricted(names).patterns
}

/// A place that is reached through a link is masked at both.
fn with_targets(masked: Vec<PathBuf>) -> Vec<PathBuf> {
    let targets: Vec<PathBuf> = masked.iter().filter_map(|path| locate(path).ok()).collect();
    let mut all = masked;
    all.extend(targets);
    all.sort();
    all.dedup();
    // What lies below a masked place is masked with it.
    let mut roots: Vec<PathBuf> = Vec::with_capacity(all.len());
    for path in all {
        if !roots.last().is_some_and(|root| path.starts_with(root)) {
            roots.push(path);
        }
    }
    roots
}

/// Finds what patterns cover below a directory.
fn look_up(
    root: &Path,
    withheld: &Withheld<'_>,
    declared: &Declared<'_>,
    token: &CancellationToken,
    masked: &mut Vec<PathBuf>,
) -> Result<(), Fault> {
    let everything = Walk { hidden: true, ignored: true, depth: None, in_order: false };
    let mut looked_at = 0;
    // A walk passes by `.git` unless it begins there.
    for named in [root.to_owned(), root.join(".git")] {
        let real = locate(&named).map_err(|err| Fault::io("find", &named, err))?;
        let mut looker = Looker { root: &named, withheld, declared, masked, looked_at };
        let grounds = Grounds { root: &real, walk: &everything, withheld: None, token, at_home: false };
        match walk::walk(&grounds, &mut [&mut looker]) {
            Err(err) if err.kind() != ErrorKind::NotFound => {
                return Err(Fault::io("look through", &named, err));
            }
            _ if token.is_cancelled() => return Err(walk::cancelled()),
            _ if looker.has_enough() => return Err(too_much(root)),
            _ => looked_at = looker.looked_at,
        }
    }
    Ok(())
}

struct Looker<'a> {
    root: &'a Path,
    withheld: &'a Withheld<'a>,
    declared: &'a Declared<'a>,
    masked: &'a mut Vec<PathBuf>,
    looked_at: usize,
}

impl Looker<'_> {
    /// Whether a place that rules ask about was declared to be read with what is below it, or leads to one that was.
    fn is_open(&self, path: &Path) -> bool {
        let mut reads = self.declared.reads();
        reads.any(|place| {
            place.starts_with(path)
                || (path.starts_with(place) && self.withheld.why(place) == Some(Verdict::Ask))
        })
    }

    fn has_enough(&self) -> bool {
        self.looked_at > MOST_LOOKED_AT || self.masked.len() > MOST_MASKED
    }
}

impl Visitor for Looker<'_> {
    fn visit(&mut self, found: &dyn Found) -> Flow {
        self.looked_at += 1;
        if self.has_enough() {
            return Flow::Stop;
        }
        let path = self.root.join(found.path());
        match self.withheld.why(&path) {
            None | Some(Verdict::Allow) => return Flow::On,
            Some(Verdict::Deny) => self.masked.push(path),
            // What is below an open place may be denied by another rule.
            Some(Verdict::Ask) if self.is_open(&path) => return Flow::On,
            Some(Verdict::Ask) => self.masked.push(path),
        }
        Flow::Past
    }
}

fn too_much(root: &Path) -> Fault {
    let message = format!(
        "nothing was run: rules with patterns keep files below {} from being read, and there is too much to find them \
         all (more than {MOST_LOOKED_AT} names, or more than {MOST_MASKED} files that they cover)\n\
         Do it without a command, or tell the user that the rules need a narrower directory to begin at.",
        shown(root)
    );
    Fault::denied(Refusal::Sandbox, message)
}

fn cannot_be_kept() -> Fault {
    let message = "nothing was run: this session is kept to its workspace, and without a sandbox a process cannot be\n\
                   Go on without commands, or tell the user what you need and why.";
    Fault::denied(Refusal::Sandbox, message)
}

fn nothing_left() -> Fault {
    let message = "nothing was run: a rule keeps the whole workspace from being read, and a process cannot run in a \
                   place that it may not read\nGo on without commands, or tell the user what you need and why.";
    Fault::denied(Refusal::Rule, message)
}

#[cfg(test)]
mod tests {
    use haft_tool::{Effects, tool};
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Engine, SessionOptions,
        policy::{Origin, Rules, Written},
    };

    /// The grant of a call in a small workspace, with the workspace's path left out.
    #[track_caller]
    fn granted(rules: &[(&str, &str)], effects: impl Fn(&Path) -> Effects) -> Result<Grant, String> {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for file in ["src/a.rs", "src/.env", ".env", "keys/one.pem", ".git/config"] {
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            std::fs::write(root.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("keys", root.join("link")).unwrap();
        let list = |verdict: &str| {
            let rules = rules.iter().filter(|(wanted, _)| *wanted == verdict);
            Written::all(rules.map(|(_, rule)| *rule), Origin::Session)
        };
        let rules = Rules { allow: Vec::new(), ask: list("ask"), deny: list("deny") };
        let shell = tool("Bash").prompt("x").call(|_: serde_json::Value, _| async { Ok("".into()) });
        let engine = Engine::builder().tool(shell).rules(rules).build().unwrap();
        let session = engine.session(SessionOptions::at(&root)).unwrap();
        let pool = session.pool();
        let effects = effects(&root);
        let places: Vec<_> =
            effects.paths().iter().map(|effect| (effect.path.clone(), effect.access)).collect();
        let hosts: Vec<_> = effects.hosts().iter().map(|effect| effect.host.clone()).collect();
        let declared = Declared {
            places: &places,
            hosts: &hosts,
            directories: &new_directories(&effects),
            read_only: effects.is_read_only(),
            runs_alone: effects.runs_alone(),
            approved: false,
            unsandboxed: false,
        };
        let entry = pool.find("Bash").unwrap();
        let grant = grant(&session, entry, &declared, &CancellationToken::new());
        let short = |path: PathBuf| path.strip_prefix(&root).map(Path::to_owned).unwrap_or(path);
        grant.map_err(|fault| fault.message().to_owned()).map(|grant| Grant {
            write: grant.write.into_iter().map(short).collect(),
            make: grant.make.into_iter().map(short).collect(),
            deny_read: grant.deny_read.into_iter().map(short).collect(),
            ..grant
        })
    }

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn who_changes_nothing_may_write_nowhere() {
        assert_eq!(granted(&[], |root| Effects::reads(root)).unwrap().write, paths(&[]));
        assert_eq!(granted(&[], |_| Effects::unknown()).unwrap().write, paths(&[""]));
    }

    #[test]
    fn what_was_declared_outside_the_workspace_is_granted_with_it() {
        let effects = |root: &Path| Effects::writes("/var/lib").and_writes(root.join("src")).and_unknown();
        let grant = granted(&[], |root| effects(root).and_host("docs.rs", Access::Read)).unwrap();
        assert_eq!((grant.write, grant.hosts), (paths(&["", "/var/lib"]), vec!["docs.rs".to_owned()]));
    }

    #[test]
    fn a_declared_socket_is_one_to_connect_to_and_no_place_to_write() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap().join("agent");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let grant = granted(&[], |_| Effects::writes(&path).and_unknown()).unwrap();
        assert_eq!((grant.write, grant.make, grant.sockets), (paths(&[""]), paths(&[]), vec![path.clone()]));
        assert_eq!(granted(&[], |_| Effects::reads(&path)).unwrap().sockets, paths(&[]));
    }

    #[test]
    fn a_host_is_granted_in_one_form_with_its_port() {
        let effects = |_: &Path| {
            Effects::unknown().and_host("127.1:5432", Access::Write).and_host("DB.test.", Access::Write)
        };
        assert_eq!(granted(&[], effects).unwrap().hosts, ["127.0.0.1:5432", "db.test"]);
    }

    #[test]
    fn what_is_not_there_is_to_be_made_and_its_directory_is_not_given_with_it() {
        let effects =
            |root: &Path| Effects::writes("/var/lib/none").and_writes(root.join("none")).and_unknown();
        let grant = granted(&[], effects).unwrap();
        assert_eq!((grant.write, grant.make), (paths(&[""]), paths(&["/var/lib/none"])));
        assert_eq!(granted(&[], |_| Effects::reads("/var/lib/none")).unwrap().make, paths(&[]));
    }

    #[test]
    fn what_rules_deny_is_masked_wherever_it_is() {
        let check = |rules: &[&str], expected: &[&str]| {
            let rules: Vec<(&str, &str)> = rules.iter().map(|rule| ("deny", *rule)).collect();
            let grant = granted(&rules, |_| Effects::unknown()).unwrap();
            assert_eq!(grant.deny_read, paths(expected), "{rules:?}");
        };
        check(&["Read(keys)"], &["keys"]);
        check(&["Read(keys/**)"], &["keys"]);
        check(&["Read(link)"], &["keys", "link"]);
        check(&["Read(**/.env)"], &[".env", "src/.env"]);
        check(&["Read(**/*.pem)", "Read(//etc/shadow)"], &["/etc/shadow", "keys/one.pem"]);
        check(&["Read(**/config)"], &[".git/config"]);
        check(&["Bash(rm:*)", "Grep(src)"], &[]);
    }

    #[test]
    fn what_patterns_cover_is_told_also_where_nothing_is() {
        let check = |rule: &str, expected: &[&str]| {
            let grant = granted(&[("deny", rule)], |_| Effects::unknown()).unwrap();
            let patterns: Vec<String> = grant.deny_patterns.into_iter().map(|(_, pattern)| pattern).collect();
            assert_eq!(patterns, expected, "{rule}");
        };
        check("Read(**/.env)", &["**/.env", "**/.env/**"]);
        check("Read(conf/*.{pem,key})", &["*.{pem,key}", "*.{pem,key}/**"]);
        check("Read(keys/**)", &[]);
    }

    #[test]
    fn what_somebody_was_asked_about_is_open_to_the_call_that_declared_it() {
        let rules = [("ask", "Read(keys/**)"), ("ask", "Read(**/.env)")];
        let masked = |declared: &'static str| {
            granted(&rules, |root| Effects::reads(root.join(declared))).unwrap().deny_read
        };
        assert_eq!(masked("src/a.rs"), paths(&[".env", "keys", "src/.env"]));
        assert_eq!(masked("keys/one.pem"), paths(&[".env", "src/.env"]));
        assert_eq!(masked("src/.env"), paths(&[".env", "keys"]));
    }

    #[test]
    fn only_what_was_declared_is_open_of_a_directory_that_is_asked_about() {
        let rules = [("ask", "Read(keys/**)"), ("ask", "Read(src/**)"), ("deny", "Read(src/.env)")];
        let masked = |declared: &[&'static str]| {
            let effects = |root: &Path| {
                let reads = declared.iter().map(|name| Effects::reads(root.join(name)));
                reads.fold(Effects::unknown(), Effects::and)
            };
            granted(&rules, effects).unwrap().deny_read
        };
        assert_eq!(masked(&["keys/none"]), paths(&["keys/one.pem", "src"]));
        assert_eq!(masked(&["keys"]), paths(&["src"]));
        assert_eq!(masked(&["src"]), paths(&["keys", "src/.env"]));
        assert_eq!(masked(&["src/a.rs"]), paths(&["keys", "src/.env"]));
    }

    #[test]
    fn a_declared_write_lifts_no_mask() {
        let rules = [("ask", "Read(keys/**)"), ("ask", "Read(**/a.rs)"), ("deny", "Read(**/.env)")];
        let everything = paths(&[".env", "keys", "src/.env", "src/a.rs"]);
        for written in ["", "keys", "keys/one.pem", ".env", "src", "src/.env", "src/a.rs"] {
            let effects = |root: &Path| Effects::writes(root.join(written)).and_unknown();
            assert_eq!(granted(&rules, effects).unwrap().deny_read, everything, "{written}");
        }
    }

    /// Files that are there, and a rule for each way in which one can be covered.
    const FILES: [&str; 5] = ["src/a.rs", "src/.env", ".env", "keys/one.pem", ".git/config"];
    const RULES: [&str; 8] = [
        "Read(keys)",
        "Read(keys/**)",
        "Read(src/a.rs)",
        "Read(**/.env)",
        "Read(src/**)",
        "Read(**/*.pem)",
        "Read(**/.git/config)",
        "Read(**/{a,b}.rs)",
    ];

    /// Whether a rule of the list covers a file.
    fn covers(rule: &str, file: &str) -> bool {
        match rule {
            "Read(keys)" | "Read(keys/**)" => file.starts_with("keys"),
            "Read(src/a.rs)" | "Read(**/{a,b}.rs)" => file == "src/a.rs",
            "Read(**/.env)" => file.ends_with(".env"),
            "Read(src/**)" => file.starts_with("src/"),
            "Read(**/*.pem)" => file.ends_with(".pem"),
            _ => file == ".git/config",
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn a_mask_holds_whatever_else_a_call_declares(
            rules in proptest::collection::vec((any::<bool>(), proptest::sample::select(&RULES[..])), 1..4),
            declared in proptest::collection::vec((any::<bool>(), proptest::sample::select(&FILES[..])), 0..5),
            unknown in any::<bool>(),
        ) {
            let rules: Vec<(&str, &str)> =
                rules.into_iter().map(|(deny, rule)| (if deny { "deny" } else { "ask" }, rule)).collect();
            let effects = |root: &Path| {
                let start = if unknown { Effects::unknown() } else { Effects::none() };
                declared.iter().fold(start, |effects, (reads, file)| match reads {
                    true => effects.and_reads(root.join(file)),
                    false => effects.and_writes(root.join(file)),
                })
            };
            let masked = granted(&rules, effects).unwrap().deny_read;
            for file in FILES {
                let is_masked = masked.iter().any(|mask| Path::new(file).starts_with(mask));
                let is_denied = rules.iter().any(|(list, rule)| *list == "deny" && covers(rule, file));
                let is_asked = rules.iter().any(|(list, rule)| *list == "ask" && covers(rule, file));
                let is_read = declared.contains(&(true, file));
                prop_assert_eq!(is_masked, is_denied || (is_asked && !is_read), "{} {:?}", file, masked);
            }
        }
    }

    #[test]
    fn where_nothing_may_be_read_nothing_runs() {
        let told = granted(&[("deny", "Read")], |_| Effects::unknown()).unwrap_err();
        assert!(told.starts_with("nothing was run: a rule keeps the whole workspace"), "{told}");
    }
}
