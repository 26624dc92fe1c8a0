//! One server, and how it is. Connecting, learning and letting go have files of their own.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use futures::future::{BoxFuture, Shared};
use tokio::{sync::watch, time::Instant};

use super::{
    Known, Options, Principal,
    cache::{self, Cache, Failure},
    desk::{OwnDesk, WithoutModel},
    health::Health,
    line::{Guard, Line},
};
use crate::{
    client::{Desk, News, Refused, Server},
    lint::Neighbours,
};

/// How a server is.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Nothing was started; what is known is from before, or nothing is.
    Resting,
    /// It is being started.
    Starting,
    /// It runs.
    Running,
    /// It could not be started, or died: why. It is tried again when it is needed, with growing pauses.
    Failed(String),
}

/// One server.
pub struct Upstream {
    pub(super) server: Server,
    pub(super) cache: Option<Cache>,
    pub(super) desk: Arc<OwnDesk>,
    data_reminder: bool,
    pub(super) me: Weak<Upstream>,
    /// All servers of its session or gateway, itself among them.
    everybody: OnceLock<Vec<Weak<Upstream>>>,
    /// Who hears what is said on a connection that several principals share.
    hearing: OnceLock<Hearing>,
    inner: Mutex<Inner>,
    /// Changes when what is known, or whether its tools can be offered, changes.
    generation: watch::Sender<u64>,
}

type Hearing = Box<dyn Fn(&News) + Send + Sync>;

#[derive(Default)]
pub(super) struct Inner {
    pub(super) known: Arc<Known>,
    /// Whether it ever said what it has.
    pub(super) is_known: bool,
    /// The last failure, of this process or an earlier one, since it last said what it has.
    pub(super) failure: Option<Failure>,
    pub(super) health: Health,
    pub(super) links: HashMap<Principal, Link>,
    /// Its lists, while they are asked for and after.
    pub(super) lesson: Option<Lesson>,
    /// Whether somebody is about to ask for the lists again, and whether there was news since.
    pub(super) relisting: bool,
    pub(super) is_stale: bool,
}

/// A principal's way to the server.
pub(super) enum Link {
    Starting(Start, Guard),
    Up(Arc<Line>),
}

/// A start that all who want the connection wait for. It goes on if they give up: the next one wants it too.
pub(super) type Start = Shared<BoxFuture<'static, Result<Arc<Line>, Arc<str>>>>;

/// Asking for all lists, for all who want to know: ends with what was wrong.
pub(super) type Lesson = Shared<BoxFuture<'static, Option<Refused>>>;

/// A failure that is younger than this is not tried again by those who only list: seconds.
const RECENT: u64 = 60;
/// What is known.
impl Upstream {
    pub(super) fn new(server: Server, options: &Options) -> Arc<Upstream> {
        let cache = options.cache.as_ref().and_then(|directory| Cache::of(&server, directory));
        let kept = cache.as_ref().and_then(Cache::read).unwrap_or_default();
        let inner = Inner {
            is_known: kept.known.is_some(),
            known: Arc::new(kept.known.unwrap_or_default()),
            failure: kept.failure,
            ..Inner::default()
        };
        Arc::new_cyclic(|me| Upstream {
            desk: Arc::new(OwnDesk::new(&server, options)),
            data_reminder: options.data_reminder,
            server,
            cache,
            me: me.clone(),
            everybody: OnceLock::new(),
            hearing: OnceLock::new(),
            inner: Mutex::new(inner),
            generation: watch::Sender::new(0),
        })
    }

    /// Who else is there, for whoever has to tell it from others. Told once.
    pub(super) fn stands_among(&self, all: &[Arc<Upstream>]) {
        let _ = self.everybody.set(all.iter().map(Arc::downgrade).collect());
    }

    /// All servers and what their tools are called, as far as it is known now.
    pub(super) fn neighbours(&self) -> Neighbours {
        let everybody = self.everybody.get().into_iter().flatten().filter_map(Weak::upgrade);
        everybody.fold(Neighbours::default(), |all, upstream| {
            let known = upstream.known();
            let names = known.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
            all.with(&upstream.server.name, names)
        })
    }

    /// From now on, what a shared connection has to tell of resources is told here, and not to whoever happened to open it.
    /// Told while messages are read: nothing may wait in it. The first one counts.
    pub(crate) fn heard_by(&self, hears: impl Fn(&News) + Send + Sync + 'static) {
        let _ = self.hearing.set(Box::new(hears));
    }

    /// Tells it to all who share the connection; says whether somebody does.
    pub(super) fn tell_all(&self, news: &News) -> bool {
        let hearing = self.hearing.get().filter(|_| self.server.shared);
        hearing.map(|hears| hears(news)).is_some()
    }

    /// As it is configured.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// What is known of it now.
    pub fn known(&self) -> Arc<Known> {
        self.inner().known.clone()
    }

    /// Whether it ever said what it has, in this process or an earlier one.
    pub fn is_known(&self) -> bool {
        self.inner().is_known
    }

    /// How it is.
    pub fn state(&self) -> State {
        let inner = self.inner();
        let is_up = |link: &Link| matches!(link, Link::Up(line) if !line.connection().is_closed());
        if inner.links.values().any(is_up) {
            State::Running
        } else if inner.links.values().any(|link| matches!(link, Link::Starting(..))) {
            State::Starting
        } else {
            inner.health.why().map_or(State::Resting, |why| State::Failed(why.to_string()))
        }
    }

    /// Why it could last not be asked, in this process or an earlier one; `None` if it answered since.
    pub fn last_failure(&self) -> Option<Failure> {
        self.inner().failure.clone()
    }

    /// A number that changes when what is known changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Who answers the server where no client of ours does.
    pub fn own_desk(&self) -> Arc<dyn Desk> {
        self.desk.clone()
    }

    /// A client's desk, as far as the settings let this server use it.
    pub(crate) fn for_server(&self, desk: &Arc<dyn Desk>) -> Arc<dyn Desk> {
        match self.server.may_sample {
            true => desk.clone(),
            false => Arc::new(WithoutModel(desk.clone())),
        }
    }

    pub(super) fn reminds(&self) -> bool {
        self.data_reminder
    }

    /// Why its tools are not offered now, if they are not.
    pub(super) fn absence(&self) -> Option<String> {
        let inner = self.inner();
        let is_coming = !inner.links.is_empty();
        let paused = inner.health.pause(Instant::now()).filter(|_| !is_coming);
        let failed = inner.failure.as_ref().filter(|_| !inner.is_known);
        match (paused, failed) {
            (Some(pause), _) => Some(in_short(&pause.why)),
            (None, Some(failure)) => Some(in_short(&failure.why)),
            (None, None) if inner.is_known => None,
            (None, None) => Some("it has not been asked for its tools yet".to_owned()),
        }
    }

    /// The number by which a pool sees that something is new.
    pub(super) fn version(&self) -> u64 {
        // The end of a pause is no event: it shows in the number by itself.
        *self.generation.borrow() << 1 | u64::from(self.absence().is_some())
    }

    /// Whether nothing is known of it, and asking has not failed just now.
    pub(super) fn is_worth_asking(&self) -> bool {
        let inner = self.inner();
        let is_recent = |failure: &Failure| cache::now().saturating_sub(failure.at) < RECENT;
        !inner.is_known && !inner.failure.as_ref().is_some_and(is_recent)
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        // Nothing in here panics halfway through a change, so what a poisoned lock guards is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn changed(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("server", &self.server.name).finish_non_exhaustive()
    }
}

/// As much of a reason as a model or a list is shown, in one line: what happened, and the last of what a process wrote before
/// it died. That is mostly what helps, and the whole may be long.
pub(super) fn in_short(why: &str) -> String {
    const LAST: usize = 3;
    let mut lines = why.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("it ended");
    let rest: Vec<&str> = lines.collect();
    let last =
        rest[rest.len().saturating_sub(LAST)..].iter().map(|line| cut(line)).collect::<Vec<_>>().join(" / ");
    if last.is_empty() { cut(first) } else { format!("{} {last}", cut(first)) }
}

fn cut(line: &str) -> String {
    const MOST: usize = 300;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_the_last_that_a_process_wrote() {
        let why = "its process has ended (exit status: 1); it wrote to stderr:\n\nTraceback\n  a\n  b\nKeyError: 'TOKEN'\n";
        assert_eq!(
            in_short(why),
            "its process has ended (exit status: 1); it wrote to stderr: a / b / KeyError: 'TOKEN'"
        );
        assert_eq!(in_short("no such file"), "no such file");
        assert_eq!(in_short("\n"), "it ended");
        assert!(in_short(&"ä".repeat(1000)).chars().count() < 400);
    }
}
