//! The guard of protected names: what a command creates or changes that programs run later.
//!
//! The kernel reports the calls that create or write names. Each path is resolved as the process sees it and compared with the list
//! of protected names ([`haft_tool::protected`]). The others, nearly all, go on. For a protected one the command waits in its system call until it is
//! decided, once for each place and command: by what the call was permitted, by the [`Gatekeeper`], and refused without either.
//!
//! This steers honest programs and asks at the right moment. It is no guarantee (see [`supervisor`](super::supervisor)): that are the
//! read-only mounts of what exists, and the look at what is there afterwards.

mod attempt; //  attempts, and the trait that decides
mod touched; //  which paths a call changes
mod settings; // settings of git, by key
mod lift; //     taking a read-only mount away
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    fs, mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use haft_tool::protected::{self, Part, Protected, Writer};

pub use attempt::{Attempt, Decision, Gatekeeper};

use super::{
    blocked::Blocked,
    seccomp::Reported,
    supervisor::{Call, Handler, Response, Waker},
    sys::Errno,
};
use attempt::{Decisions, Subject};
use touched::{Change, Touched};

/// What was refused, and what was permitted while the command ran.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    refused: Mutex<Vec<Blocked>>,
    permitted: Mutex<Vec<PathBuf>>,
}

impl Outcome {
    /// What was refused, in order.
    pub(super) fn refused(&self) -> Vec<Blocked> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The protected places that a person or a rule permitted while the command ran.
    pub(super) fn permitted(&self) -> Vec<PathBuf> {
        self.permitted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn refuse(&self, attempt: &Attempt) {
        let blocked = Blocked::Protected { path: attempt.path.clone(), effect: attempt.effect.clone() };
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < REFUSED_LIMIT && !refused.contains(&blocked) {
            refused.push(blocked);
        }
    }

    fn permit(&self, place: &Path) {
        self.permitted.lock().unwrap_or_else(PoisonError::into_inner).push(place.to_owned());
    }
}

/// How many refusals are told.
const REFUSED_LIMIT: usize = 8;

/// The places of a sandbox, all of them real.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    /// What may be changed.
    pub(super) write: Vec<PathBuf>,
    pub(super) home: Option<PathBuf>,
    /// Protected places that the call was permitted to change.
    pub(super) permitted: Vec<PathBuf>,
    /// Places that settings of git name as code.
    pub(super) code: Vec<PathBuf>,
    /// Protected places that are mounted read-only.
    pub(super) frozen: Vec<PathBuf>,
    /// Places that are mounted on themselves, so that they stay where they are.
    pub(super) pinned: Vec<PathBuf>,
    /// Places that may not be read, and have something mounted over them.
    pub(super) hidden: Vec<PathBuf>,
}

/// Guards the protected names of a sandbox.
#[derive(Debug)]
pub(super) struct FileGuard {
    scope: Scope,
    gatekeeper: Option<Arc<dyn Gatekeeper>>,
    states: HashMap<Subject, State>,
    decisions: Decisions,
    outcome: Arc<Outcome>,
}

/// What is known about a subject.
#[derive(Debug)]
enum State {
    Permitted,
    Refused,
    /// The question is put, and these calls wait.
    Asked(Attempt, Vec<Call>),
}

/// Why a call needs a decision.
#[derive(Debug)]
struct Concern {
    path: PathBuf,
    place: PathBuf,
    effect: String,
    /// For a file of settings, the keys that change.
    keys: String,
    /// Whether something is moved there from outside of a directory that is mounted on itself.
    crosses: bool,
}

impl FileGuard {
    pub(super) fn new(scope: Scope, gatekeeper: Option<Arc<dyn Gatekeeper>>) -> FileGuard {
        let (states, decisions, outcome) = (HashMap::new(), Decisions::default(), Arc::default());
        FileGuard { scope, gatekeeper, states, decisions, outcome }
    }

    /// What was refused and permitted, for others to look at.
    pub(super) fn outcome(&self) -> Arc<Outcome> {
        Arc::clone(&self.outcome)
    }

    /// Whether something is mounted at a path, so that its name stays where it is.
    fn is_pinned(&self, path: &Path) -> bool {
        self.scope.pinned.iter().any(|pinned| pinned == path)
    }

    /// What needs a decision in what a call changes.
    fn concerns(&self, touched: &[Touched]) -> Vec<Concern> {
        let mut concerns: BTreeMap<PathBuf, Concern> = BTreeMap::new();
        for touched in touched {
            for mut concern in self.judge(touched) {
                concern.crosses = self.crosses(touched);
                concerns.entry(concern.place.clone()).or_insert(concern);
            }
        }
        concerns.into_values().collect()
    }

    /// Whether something is moved into or out of a directory that is mounted on itself.
    fn crosses(&self, touched: &Touched) -> bool {
        let Change::Arrival { from } = &touched.change else { return false };
        let mut mounts = self.scope.pinned.iter().chain(&self.scope.frozen);
        mounts.any(|place| touched.path.starts_with(place) != from.starts_with(place))
    }

    fn judge(&self, Touched { path, change }: &Touched) -> Vec<Concern> {
        if matches!(change, Change::Departure) && self.frozen_at(path).is_none() && !self.is_pinned(path) {
            return Vec::new();
        }
        let own = self.protected(path, change).map(|found| self.concern(path, &found));
        let own = own.or_else(|| self.code_concern(path)).or_else(|| self.frozen_concern(path));
        match change {
            // Git writes its settings beside them and moves them there.
            Change::Arrival { from } if own.is_some() && settings::are_at(path) => {
                settings::powerful(path, from).map(|keys| settings::concern(path, keys)).into_iter().collect()
            }
            // What is in a directory arrives with it.
            Change::Arrival { from } if own.is_none() && is_directory(from) => self.arrivals(path, from),
            _ => own.into_iter().collect(),
        }
    }

    /// What is in a read-only place without a name that is protected: the sample of a hook, the target of a link.
    fn frozen_concern(&self, path: &Path) -> Option<Concern> {
        let place = self.frozen_at(path)?.clone();
        let effect = "which is where programs find what they run or obey".to_owned();
        Some(Concern { path: path.to_owned(), place, effect, keys: String::new(), crosses: false })
    }

    /// A place that settings name, such as the directory of `core.hooksPath`.
    fn code_concern(&self, path: &Path) -> Option<Concern> {
        let place = self.scope.code.iter().find(|place| path.starts_with(place))?;
        let (path, place) = (path.to_owned(), place.clone());
        Some(Concern {
            path,
            place,
            effect: "which settings of git name as code".to_owned(),
            keys: String::new(),
            crosses: false,
        })
    }

    fn concern(&self, path: &Path, found: &Protected) -> Concern {
        let place = linked_worktree(path).map_or_else(|| found.place(path), Path::to_owned);
        let effect = format!("which {}", found.group.effect);
        Concern { path: path.to_owned(), place, effect, keys: String::new(), crosses: false }
    }

    /// The protected place of a path that is changed in this way.
    fn protected(&self, path: &Path, change: &Change) -> Option<Protected> {
        let root = self.scope.write.iter().find(|root| path.starts_with(root))?;
        let found = protected::find(path, root, self.scope.home.as_deref(), Writer::Process)?;
        let counts = match (found.part, change) {
            (Part::Whole, _) => true,
            (Part::Directory, Change::Departure) => self.is_pinned(path),
            (Part::Directory, Change::Directory | Change::SecondName) => false,
            // Git makes a file for a worktree or submodule. Older ones are frozen; where a new one leads, the look afterwards sees.
            (Part::Directory, Change::Open) if path.ends_with(".git") && self.frozen_at(path).is_none() => {
                false
            }
            // A file or a link in its place leads elsewhere.
            (Part::Directory, Change::Open | Change::Entry | Change::Arrival { .. }) => true,
        };
        (found.is_code() && counts).then_some(found)
    }

    /// What is protected of a directory once it is somewhere else. It is looked at as far as that is quick.
    fn arrivals(&self, to: &Path, from: &Path) -> Vec<Concern> {
        let (mut waiting, mut left) = (vec![PathBuf::new()], ARRIVALS_LIMIT);
        while let Some(below) = waiting.pop() {
            for entry in fs::read_dir(from.join(&below)).into_iter().flatten().flatten() {
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let below = below.join(entry.file_name());
                let change = if is_directory { Change::Directory } else { Change::Entry };
                let (now, then) = (from.join(&below), to.join(&below));
                if self.protected(&now, &change).is_none()
                    && let Some(found) = self.protected(&then, &change)
                {
                    return vec![self.concern(&then, &found)];
                }
                left -= 1;
                if left == 0 {
                    return Vec::new();
                }
                waiting.extend(is_directory.then_some(below));
            }
        }
        Vec::new()
    }

    /// The read-only mount that a path is in.
    fn frozen_at(&self, path: &Path) -> Option<&PathBuf> {
        self.scope.frozen.iter().find(|place| path.starts_with(place))
    }

    /// Whether the call of the tool was permitted to change a place, or something in it.
    fn is_permitted(&self, concern: &Concern) -> bool {
        let covers = |given: &PathBuf| {
            given.starts_with(&concern.place)
                && (concern.path.starts_with(given)
                    || given.starts_with(&concern.path)
                    || is_temporary(&concern.path, given))
        };
        // A directory in a repository was asked for as what it is: with all below it.
        let covers_below = |given: &PathBuf| concern.path.starts_with(given) && is_in_repository(given);
        self.scope.permitted.iter().any(|given| covers(given) || covers_below(given))
    }

    /// Decides about a call, or has it wait.
    fn decide(&mut self, call: Call, concerns: Vec<Concern>) -> Option<Call> {
        let mut is_asked = None;
        for concern in concerns {
            let subject = (concern.place.clone(), concern.keys.clone());
            // What was declared is permitted by itself, and nothing beside it.
            let declared = self.is_permitted(&concern).then_some(&State::Permitted);
            match declared.or_else(|| self.states.get(&subject)) {
                Some(State::Permitted) => {
                    if self.make_writable(&call, &concern).is_err() {
                        return refuse(call);
                    }
                }
                Some(State::Refused) => return refuse(call),
                Some(State::Asked(..)) => is_asked = Some(subject),
                None => {
                    self.ask(&call, concern, &subject);
                    is_asked = Some(subject);
                }
            }
        }
        // A call that waits for one decision is judged again after it, and may wait for another then.
        match is_asked.and_then(|subject| self.states.get_mut(&subject)) {
            Some(State::Asked(_, waiting)) => {
                waiting.push(call);
                None
            }
            Some(State::Refused) => refuse(call),
            _ => Some(call),
        }
    }

    /// Puts the question, unless there is no one to be asked.
    fn ask(&mut self, call: &Call, concern: Concern, subject: &Subject) {
        let Concern { path, place, effect, .. } = concern;
        let exists = fs::symlink_metadata(&path).is_ok();
        let attempt = Attempt { path, place, exists, effect, program: command_line(call) };
        let Some(gatekeeper) = &self.gatekeeper else {
            self.outcome.refuse(&attempt);
            self.states.insert(subject.clone(), State::Refused);
            return;
        };
        let decision = Decision::new(subject.clone(), &self.decisions);
        self.states.insert(subject.clone(), State::Asked(attempt.clone(), Vec::new()));
        gatekeeper.decide(attempt, decision);
    }

    /// Makes the mounts writable in which a permitted path lies. A mount that is in the way of a name goes.
    fn make_writable(&mut self, call: &Call, concern: &Concern) -> Result<(), Errno> {
        let Concern { path, crosses, .. } = concern;
        let Scope { frozen, pinned, hidden, .. } = &mut self.scope;
        for place in frozen.iter().chain(pinned.iter()).cloned().collect::<Vec<_>>() {
            if path == &place || (*crosses && path.starts_with(&place)) {
                // What a rule keeps from being read is mounted below it, and would be open again.
                if hidden.iter().any(|hidden| hidden.starts_with(&place)) {
                    return Err(Errno(libc::EACCES));
                }
                lift::lift(call, &place, true).or_else(unless_gone)?;
                frozen.retain(|other| !other.starts_with(&place));
                pinned.retain(|other| !other.starts_with(&place));
            } else if path.starts_with(&place) && frozen.contains(&place) {
                lift::lift(call, &place, false).or_else(unless_gone)?;
                frozen.retain(|other| *other != place);
                pinned.push(place);
            }
        }
        Ok(())
    }

    /// Judges a call and decides about it. The call comes back if it may go on.
    fn consider(&mut self, call: Call) -> Option<Call> {
        let touched = match touched::touched(&call) {
            Ok(touched) => touched,
            // The kernel will say the same to the process.
            Err(Errno(libc::EFAULT | libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::EBADF)) => {
                return Some(call);
            }
            Err(Errno(libc::ENAMETOOLONG | libc::EINVAL)) => return Some(call),
            Err(_) => return refuse(call),
        };
        let concerns = self.concerns(&touched);
        if concerns.is_empty() { Some(call) } else { self.decide(call, concerns) }
    }
}

impl Handler for FileGuard {
    fn reported(&self) -> Vec<Reported> {
        let mut reported = touched::creating();
        if !self.scope.frozen.is_empty() || !self.scope.pinned.is_empty() {
            reported.extend(touched::removing());
        }
        reported
    }

    fn set_waker(&mut self, waker: &Waker) {
        self.decisions.set_waker(waker);
    }

    fn handle(&mut self, call: Call) -> Option<Call> {
        self.consider(call)
    }

    fn resume(&mut self) {
        for (subject, is_permitted) in self.decisions.take() {
            let state = if is_permitted { State::Permitted } else { State::Refused };
            let Some(State::Asked(attempt, waiting)) = self.states.insert(subject, state) else { continue };
            match is_permitted {
                true => self.outcome.permit(&attempt.place),
                false => self.outcome.refuse(&attempt),
            }
            for call in waiting {
                if let Some(call) = self.consider(call) {
                    call.respond(Response::Continue);
                }
            }
        }
    }
}

/// Whether a path lies below the directory of a repository.
fn is_in_repository(path: &Path) -> bool {
    path.ancestors().skip(1).any(|above| above.ends_with(".git"))
}

/// How many entries of a directory are looked at when it is moved.
const ARRIVALS_LIMIT: usize = 2_000;

/// Whether a path is a temporary file by which programs replace a file: `sedAb12Cd`, `x.json~`, `x.json.tmp`, `x.json.Ab12Cd`, `.x.json.swp`.
/// No program runs what has such a name.
pub(super) fn is_temporary(path: &Path, file: &Path) -> bool {
    let text = |path: &Path| path.file_name().and_then(|name| name.to_str().map(str::to_owned));
    let (Some(name), Some(file_name)) = (text(path), text(file)) else { return false };
    let is_random = |part: &str| part.len() >= 6 && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_suffix = |rest: &str| {
        rest == "~"
            || rest
                .strip_prefix('.')
                .is_some_and(|end| matches!(end, "tmp" | "lock" | "swp" | "swx") || is_random(end))
    };
    let is_of_sed = name.strip_prefix("sed").is_some_and(|end| end.len() == 6 && is_random(end));
    let plain = name.strip_prefix('.').filter(|_| name.ends_with(".swp") || name.ends_with(".swx"));
    let follows = |name: &str| name.strip_prefix(&file_name).is_some_and(is_suffix);
    path.parent() == file.parent() && (is_of_sed || follows(&name) || plain.is_some_and(follows))
}

/// The part of a repository that belongs to a linked worktree, for a file right in it. Git makes its files together.
fn linked_worktree(path: &Path) -> Option<&Path> {
    let directory = path.parent()?;
    let above = directory.parent().filter(|above| above.ends_with("worktrees"))?;
    above.components().any(|part| part.as_os_str() == ".git").then_some(directory)
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

/// Nothing is mounted there any more.
fn unless_gone(errno: Errno) -> Result<(), Errno> {
    if matches!(errno.0, libc::EINVAL | libc::ENOENT) { Ok(()) } else { Err(errno) }
}

fn refuse(call: Call) -> Option<Call> {
    call.respond(Response::Fail(libc::EACCES));
    None
}

/// So much of a command line is shown.
const COMMAND_LINE_CHARS: usize = 200;

/// The command line of a process as one line.
fn command_line(call: &Call) -> String {
    let words = fs::read(call.in_proc("cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(words.strip_suffix(b"\0").unwrap_or(&words)).replace('\0', " ");
    let plain: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    match plain.char_indices().nth(COMMAND_LINE_CHARS) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    }
}

/// Drops the calls that wait, so that they fail.
impl Drop for FileGuard {
    fn drop(&mut self) {
        drop(mem::take(&mut self.states));
    }
}
