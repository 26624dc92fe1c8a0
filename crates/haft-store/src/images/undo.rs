//! Taking back: which calls are meant, and doing it.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
};

use haft_engine::session::{CallKey, Digest, Doer, Past, Restore, RestoreError, locate, restore};
use haft_tool::{CallId, SessionId, shown, unshown};
use serde_json::json;

use super::{
    StoredImages,
    album::Keeping,
    chain::{Chain, Link, Undo},
    event,
    image::{Changed, Was},
    marker::{abandoned, let_them_die, roots_with_abandoned},
    plan::{Plan, Planned, is_equal},
    scan::Scanned,
    wait,
};
use crate::{
    book::{CallFilter, Durability, EventFilter},
    record::{CallNo, Claim, Entry, EventKind, EventRow, Instant, Outcome, PathRow},
};

/// What is to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The last call that changed something in a workspace.
    Latest,
    /// A call, a turn or a session, as somebody wrote it: a number of the log, `CALL`, `SESSION`, `SESSION/CALL` or
    /// `SESSION:TURN`.
    Named(String),
    /// The last undo in a workspace.
    LatestUndo,
}

/// Why nothing can be taken back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is nothing of that name, or nothing at all.
    #[error("{0}")]
    Nothing(String),
    /// It went wrong.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It was not put back.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// By which name the undo stands in the journal; it can be taken back itself.
    pub key: CallKey,
    /// The files that are as they were.
    pub files: Vec<PathBuf>,
    /// Directories that had to stay because something of others is in them.
    pub left: Vec<PathBuf>,
}

impl StoredImages {
    /// What taking back would do. Files in `take` are taken back whatever has become of them since.
    ///
    /// # Errors
    /// Nothing is there to take back, or the books cannot be read.
    pub fn plan(&self, target: &Target, workspace: &Path, take: &[PathBuf]) -> Result<Plan, UndoError> {
        self.settle_the_abandoned();
        let chain = self.0.chain()?;
        let taken: Vec<PathBuf> = take.iter().map(|path| locate(path)).collect::<io::Result<_>>()?;
        let takes = |path: &Path| taken.iter().any(|one| path.starts_with(one));
        let plan = match target {
            Target::LatestUndo => {
                let undo = latest_undo(&chain, workspace).ok_or_else(nothing_to_redo)?;
                return Ok(self.0.plan_redo(undo, &takes)?);
            }
            Target::Latest => self.0.plan_undo(&chain, latest(&chain, workspace)?, &takes),
            Target::Named(name) => {
                let family = self.family()?;
                let calls = match self.numbered(name)? {
                    Some(key) if chain.links().any(|link| link.key == key) => vec![key],
                    Some(key) => match family.made_for(&chain, &key.session, &key.call) {
                        // A number means one call: another that happens to have it as its id is not guessed.
                        made if made.is_empty() => {
                            return Err(nothing_of(&chain, name, &|found| *found == key));
                        }
                        made => made,
                    },
                    None => named(&chain, &family, workspace, name)?,
                };
                self.0.plan_undo(&chain, calls, &takes)
            }
        };
        Ok(plan?)
    }

    /// Does what a plan says, for the files that are ready: all of them or none. What is there now is kept, so that this can
    /// be taken back, too. `ledger` is that of the engine; `by` is on whose word, for the journal: `person`, `--yes`.
    ///
    /// # Errors
    /// A file has changed since the plan was made, or cannot be put back.
    pub fn carry_out(&self, plan: &Plan, ledger: Option<&Path>, by: &str) -> Result<Undone, UndoError> {
        let files: Vec<&Planned> = plan.ready().collect();
        let doer = self.doer(plan);
        let began = std::time::Instant::now();
        let started = Entry::Started(Box::new(claim(&doer, plan, &files, by)));
        wait(self.0.book.append(vec![started], Durability::Power))?;
        let done = self.put_back(plan, &files, &doer, ledger);
        self.close(plan, &doer, began.elapsed(), done.as_ref().err())?;
        let left = done?;
        Ok(Undone { key: doer.key, files: files.iter().map(|file| file.path.clone()).collect(), left })
    }

    /// Which sessions are those of sub-agents.
    fn family(&self) -> io::Result<Family> {
        let filter = EventFilter { kinds: vec![EventKind::DELEGATED], ..EventFilter::default() };
        let of = |event: EventRow| {
            let text = |field: &str| event.body[field].as_str().map(str::to_owned);
            Some((event.session.clone(), (text("parent")?.into(), text("call")?.into())))
        };
        Ok(Family(wait(self.0.book.events(filter))?.into_iter().filter_map(of).collect()))
    }

    /// The call with a number of the log.
    fn numbered(&self, name: &str) -> io::Result<Option<CallKey>> {
        let Ok(number) = name.parse::<i64>() else { return Ok(None) };
        let filter =
            CallFilter { after: Some(CallNo(number.saturating_sub(1))), most: 1, ..CallFilter::default() };
        let found = wait(self.0.book.calls(filter))?;
        Ok(found.into_iter().find(|row| row.no == CallNo(number)).map(|row| row.key))
    }

    fn put_back(
        &self,
        plan: &Plan,
        files: &[&Planned],
        doer: &Doer,
        ledger: Option<&Path>,
    ) -> Result<Vec<PathBuf>, UndoError> {
        // Opened while it is put back: a large one is never in memory.
        let content = |was: &Was| {
            let blob = was.hash().map(|hash| self.0.blobs.get(hash)).transpose()?.flatten();
            blob.ok_or_else(|| io::Error::other("what was there is not kept any more"))
        };
        let contents: Vec<_> = files.iter().map(|file| move || content(&file.to)).collect();
        let targets: Vec<PathBuf> = files.iter().map(|file| target_of(&file.to)).collect();
        let places: Vec<Restore<'_>> = files
            .iter()
            .zip(&contents)
            .zip(&targets)
            .map(|((file, content), target)| Restore {
                path: file.path.clone(),
                past: past(&file.to, content, target),
            })
            .collect();
        // What had to be cleared away first comes by a second time.
        let seen = RefCell::new(HashSet::new());
        let check = |path: &Path, was: &Was| match files.iter().find(|file| file.path == path) {
            Some(file) if seen.borrow_mut().insert(path.to_owned()) && !is_as_planned(&file.now, was) => {
                Err(io::Error::other("it was changed by somebody else just now"))
            }
            _ => Ok(()),
        };
        let changed = Changed {
            undoes: plan.calls.clone(),
            redoes: plan.redoes.clone(),
            settled: plan.settled.iter().map(|path| shown(path).to_string()).collect(),
            ..Changed::default()
        };
        let album = || Box::new(Keeping::new(&self.0, doer).undoing(changed.clone(), &check)) as _;
        Ok(restore(&places, ledger, &album)?)
    }

    /// It stands in the session that it takes back, so that whoever reads that one's log sees it.
    fn doer(&self, plan: &Plan) -> Doer {
        let of = plan.redoes.as_ref().or(plan.calls.first());
        let session = of.map_or_else(|| SessionId::from("undo"), |key| key.session.clone());
        let word = if plan.redoes.is_some() { "redo" } else { "undo" };
        let call = format!("{word}-{:08x}", fastrand::u32(..)).into();
        let key = CallKey { session, call, digest: Digest([0; 16]), nth: 0 };
        Doer { key, turn: plan.turn, workspace: plan.workspace.clone() }
    }

    fn close(
        &self,
        plan: &Plan,
        doer: &Doer,
        took: std::time::Duration,
        failed: Option<&UndoError>,
    ) -> io::Result<()> {
        let outcome = Outcome {
            key: doer.key.clone(),
            turn: doer.turn,
            at: Instant::now(),
            tool: tool(plan).to_owned(),
            ran: true,
            duration_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            fault: failed.map(|_| "failed".to_owned()),
            result: String::new(),
        };
        let mut entries = vec![Entry::Finished(Box::new(outcome))];
        if failed.is_none() {
            let by = doer.key.call.as_str();
            let kind = if plan.redoes.is_some() { EventKind::REDONE } else { EventKind::UNDONE };
            for key in &plan.taken {
                let whose = Doer { key: key.clone(), ..doer.clone() };
                entries.push(Entry::Event(event(&whose, kind.clone(), json!({ "by": by }))));
            }
        }
        wait(self.0.book.append(entries, Durability::Power))
    }

    /// What calls did that were cut off is not written down yet.
    pub(super) fn settle_the_abandoned(&self) {
        let place = self.0.options.place();
        let roots = roots_with_abandoned(&place);
        if !roots.is_empty() {
            let_them_die();
        }
        for root in roots {
            // A root that cannot be looked at now is left for the next time.
            let looked = self.0.known(&root).and_then(|known| self.0.look(&root, &known, &known));
            if let Ok(Scanned::Whole(fresh)) = looked {
                self.0.settle_abandoned(abandoned(&place, &root), &fresh);
            }
        }
    }
}

fn tool(plan: &Plan) -> &'static str {
    if plan.redoes.is_some() { "redo" } else { "undo" }
}

fn claim(doer: &Doer, plan: &Plan, files: &[&Planned], by: &str) -> Claim {
    let calls: Vec<&str> = plan.calls.iter().chain(&plan.redoes).map(|key| key.call.as_str()).collect();
    let verb = if plan.redoes.is_some() { "Redo what was taken back by" } else { "Take back" };
    Claim {
        key: doer.key.clone(),
        turn: doer.turn,
        at: Instant::now(),
        tool: tool(plan).to_owned(),
        description: format!("{verb} {}", short(&calls)),
        verdict: "allow".to_owned(),
        class: "write".to_owned(),
        repeatable: false,
        was_dropped: false,
        sealed: false,
        paths: files
            .iter()
            .map(|file| PathRow { path: shown(&file.path).to_string(), writes: true })
            .collect(),
        input: json!({ "calls": calls }),
        decision: json!(null),
        approval: Some(json!({ "by": by, "said": "yes" })),
    }
}

fn short(calls: &[&str]) -> String {
    match calls {
        [first, .., last] if calls.len() > 3 => format!("{} calls, {first} to {last}", calls.len()),
        calls => calls.join(", "),
    }
}

/// Opens what a file held.
type Content<'a> = dyn Fn() -> io::Result<Box<dyn io::Read + Send>> + Sync + 'a;

fn past<'a>(was: &Was, content: &'a Content<'a>, target: &'a Path) -> Past<'a> {
    match was {
        Was::File { mode, .. } => Past::File { content, mode: *mode },
        Was::Link { .. } => Past::Link(target),
        Was::Directory { mode } => Past::Directory { mode: *mode },
        Was::Absent | Was::Unkept { .. } => Past::Absent,
    }
}

fn target_of(was: &Was) -> PathBuf {
    if let Was::Link { target } = was { unshown(target) } else { PathBuf::new() }
}

/// Whether what is there when it is put back is what the plan saw. What was not read then is known by its stamp.
fn is_as_planned(planned: &Was, found: &Was) -> bool {
    match (planned, found) {
        (Was::Unkept { len, mode, .. }, Was::File { len: now, mode: mode_now, .. }) => {
            len == now && mode == mode_now
        }
        (Was::Directory { .. }, Was::Directory { .. }) => true,
        (planned, found) => is_equal(planned, found),
    }
}

fn nothing_to_redo() -> UndoError {
    UndoError::Nothing("nothing was taken back in this workspace, so nothing can be made again".to_owned())
}

fn latest_undo<'a>(chain: &'a Chain, workspace: &Path) -> Option<&'a Undo> {
    chain.undos.iter().rfind(|undo| !undo.is_redone && unshown(&undo.workspace) == workspace)
}

/// The call whose image is the newest.
fn latest(chain: &Chain, workspace: &Path) -> Result<Vec<CallKey>, UndoError> {
    let here = chain.links().filter(|link| unshown(&link.workspace) == workspace);
    let last = here.max_by_key(|link| link.place).map(|link| vec![link.key.clone()]);
    last.ok_or_else(|| {
        UndoError::Nothing("no call has changed anything in this workspace that stands".to_owned())
    })
}

/// The sessions of sub-agents, each with the session and the call that began it.
struct Family(HashMap<SessionId, (SessionId, CallId)>);

/// Deeper than any sub-agent stands.
const DEEPEST: usize = 16;

impl Family {
    /// The calls for which this session works, the nearest first.
    fn above<'a>(&'a self, session: &'a SessionId) -> impl Iterator<Item = &'a (SessionId, CallId)> {
        std::iter::successors(self.0.get(session), |(parent, _)| self.0.get(parent)).take(DEEPEST)
    }

    /// Whether a call was made in a session, or by a sub-agent of it.
    fn is_of(&self, key: &CallKey, session: &str) -> bool {
        let mut above = self.above(&key.session);
        key.session.as_str() == session || above.any(|(parent, _)| parent.as_str() == session)
    }

    /// The calls that sub-agents made for a call, in the order in which they changed things.
    fn made_for(&self, chain: &Chain, session: &SessionId, call: &CallId) -> Vec<CallKey> {
        let is_for =
            |key: &CallKey| self.above(&key.session).any(|(parent, by)| (parent, by) == (session, call));
        let mut links: Vec<_> = chain.links().filter(|link| is_for(&link.key)).collect();
        links.sort_by_key(|link| link.place);
        let mut keys: Vec<CallKey> = Vec::new();
        for link in links {
            if !keys.contains(&link.key) {
                keys.push(link.key.clone());
            }
        }
        keys
    }
}

/// The calls that somebody named, in the order in which they changed things.
fn named(chain: &Chain, family: &Family, workspace: &Path, name: &str) -> Result<Vec<CallKey>, UndoError> {
    let mut links: Vec<_> = chain.links().collect();
    links.sort_by_key(|link| link.place);
    let pick = |is_meant: &dyn Fn(&CallKey, u32) -> bool| {
        let mut keys: Vec<CallKey> = Vec::new();
        for link in links.iter().filter(|link| is_meant(&link.key, link.turn)) {
            if !keys.contains(&link.key) {
                keys.push(link.key.clone());
            }
        }
        keys
    };
    let in_session = |key: &CallKey, session: &str| key.session.as_str() == session;
    let mut found = pick(&|key, _| family.is_of(key, name));
    if let Some((session, call)) = name.split_once('/').filter(|_| found.is_empty()) {
        found = pick(&|key, _| in_session(key, session) && key.call.as_str() == call);
        found = found.into_iter().next_back().into_iter().collect();
        if found.is_empty() {
            found = family.made_for(chain, &session.into(), &call.into());
        }
    }
    if let Some((session, turn)) = name.rsplit_once(':').filter(|_| found.is_empty()) {
        found = pick(&|key, of| in_session(key, session) && turn.parse() == Ok(of));
    }
    if found.is_empty() {
        // Ids of calls come again: the last one is meant, and one of this workspace before others.
        let calls = links.iter().copied().filter(|link| link.key.call.as_str() == name);
        let (here, there): (Vec<_>, Vec<_>) =
            calls.partition(|link: &&Link| unshown(&link.workspace) == workspace);
        found = here.last().or(there.last()).map(|link| link.key.clone()).into_iter().collect();
    }
    if found.is_empty() {
        let is_call = |key: &CallKey| match name.split_once('/') {
            Some((session, call)) => in_session(key, session) && key.call.as_str() == call,
            None => key.call.as_str() == name || in_session(key, name),
        };
        return Err(nothing_of(chain, name, &is_call));
    }
    Ok(found)
}

/// Why there is nothing to take back of what somebody named.
fn nothing_of(chain: &Chain, name: &str, is_meant: &dyn Fn(&CallKey) -> bool) -> UndoError {
    let took = |undo: &&Undo| undo.taken.values().flatten().any(|link| is_meant(&link.key));
    UndoError::Nothing(match chain.undos.iter().rfind(took) {
        Some(undo) => format!(
            "`{name}` was already taken back by {}; haft undo --redo makes again what was taken back last",
            undo.key.call
        ),
        None => format!("there is no call, turn or session `{name}` that changed something which stands"),
    })
}
