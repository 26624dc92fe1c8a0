//! Connecting to a server: one connection for each principal, and two who want it at once wait for the same one.

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use haft_tool::{Cx, Fault};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};

use super::{
    Lease, Principal, Upstream,
    cache::{self, Failure},
    desk::{CallDesk, Ears},
    ending::keep,
    health::Pause,
    line::{Guard, Line},
    one::{Link, Start, in_short},
};
use crate::{
    Passage,
    client::{Connection, Desk, Era, Refused, RequestOptions},
    passage::TRACEPARENT,
};

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// There is no connection: nothing was asked.
    Unreached(Fault),
    /// The server said no, or the connection ended before it said anything.
    Refused(Refused),
}

impl Upstream {
    /// A principal's connection; started now if there is none. `desk` answers the server's wishes outside of requests, if the
    /// connection is new. `era`: the shape that is preferred if the server has both.
    pub async fn connect(
        &self,
        principal: &Principal,
        era: Option<Era>,
        desk: Arc<dyn Desk>,
    ) -> Result<Lease, Fault> {
        let start = match self.enter(principal, era, desk)? {
            Entered::Line(line) => return Ok(line.lease()),
            Entered::Starting(start) => start,
        };
        match start.await {
            Ok(line) => Ok(line.lease()),
            Err(why) => {
                let pause = self.inner().health.pause(Instant::now());
                Err(self.unreachable(&pause.unwrap_or(Pause { why, left: Duration::ZERO })))
            }
        }
    }

    /// Asks the server something. It is asked twice only if the first time is known not to have reached it, or if the
    /// errand says that twice is the same as once.
    pub(super) async fn request(
        &self,
        errand: &Errand,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Value, Trouble> {
        let Errand { principal, era, behind, again, is_own, traceparent, .. } = errand;
        let params = with_meta(params, traceparent.as_deref());
        let options = errand.options();
        let mut is_first = true;
        loop {
            let lease = self.connect(principal, *era, behind.clone()).await.map_err(Trouble::Unreached)?;
            let refused = match lease.request(method, params.clone(), &options).await {
                Ok(answer) => {
                    self.answered();
                    return Ok(answer);
                }
                Err(refused) => refused,
            };
            let is_gone = refused.code == Refused::GONE;
            if !is_gone && refused.code != Refused::TIMED_OUT {
                self.answered();
            }
            if !(is_gone && is_first && (*again || refused.is_unsent())) {
                if let Some(passage) = Passage::current().filter(|_| *is_own) {
                    passage.keep_refusal(refused.clone());
                }
                return Err(Trouble::Refused(refused));
            }
            is_first = false;
        }
    }

    fn enter(&self, principal: &Principal, era: Option<Era>, desk: Arc<dyn Desk>) -> Result<Entered, Fault> {
        let key = if self.server.shared { Principal::owner() } else { principal.clone() };
        let mut inner = self.inner();
        match inner.links.get(&key) {
            Some(Link::Up(line)) if !line.connection().is_closed() => {
                return Ok(Entered::Line(line.clone()));
            }
            Some(Link::Starting(start, _)) => return Ok(Entered::Starting(start.clone())),
            Some(Link::Up(line)) => {
                // It has ended, and whoever waits for that has not seen it yet.
                let why = line.connection().closed().now_or_never();
                inner.health.died(why.as_deref().unwrap_or("the connection ended"), Instant::now());
                inner.links.remove(&key);
            }
            None => {}
        }
        if let Some(pause) = inner.health.pause(Instant::now()) {
            return Err(self.unreachable(&pause));
        }
        let (start, guard) = self.start(&key, wanted(era, inner.known.era), era.is_none(), desk);
        inner.links.insert(key, Link::Starting(start.clone(), guard));
        Ok(Entered::Starting(start))
    }

    fn start(&self, key: &Principal, era: Option<Era>, is_free: bool, desk: Arc<dyn Desk>) -> (Start, Guard) {
        let (me, server, key) = (self.me.clone(), self.server.clone(), key.clone());
        let ears = Arc::new(Ears { desk, upstream: me.clone(), principal: key.clone() });
        let opening = async move {
            let opened = Connection::open(&server, era, ears).await;
            let Some(upstream) = me.upgrade() else { return Err("haft has let go of it".into()) };
            match opened {
                Ok(connection) => Ok(upstream.opened(&key, connection, is_free)),
                Err(err) => Err(upstream.could_not_open(&key, &err.message)),
            }
        };
        let task = tokio::spawn(opening);
        let guard = Guard::new(task.abort_handle());
        let stopped = |_| Err("its start was given up".into());
        (task.map(move |ended| ended.unwrap_or_else(stopped)).boxed().shared(), guard)
    }

    /// `is_free`: the server chose its era, not a client of ours.
    fn opened(&self, key: &Principal, connection: Connection, is_free: bool) -> Arc<Line> {
        let line = Line::new(connection.clone());
        let keeper =
            tokio::spawn(keep(self.me.clone(), key.clone(), line.clone(), self.server.limits.unused));
        line.kept_by(keeper.abort_handle());
        let before = self.inner().links.insert(key.clone(), Link::Up(line.clone()));
        if let Some(Link::Starting(_, guard)) = before {
            guard.release();
        }
        if let Some(listener) = self.listen(key, &connection) {
            line.listens(listener);
        }
        drop(self.begin_lesson(connection, is_free));
        line
    }

    fn could_not_open(&self, key: &Principal, why: &str) -> Arc<str> {
        let why: Arc<str> = why.into();
        let until = {
            let mut inner = self.inner();
            if let Some(Link::Starting(_, guard)) = inner.links.remove(key) {
                guard.release();
            }
            inner.health.could_not_start(&why, Instant::now());
            inner.failure = Some(Failure { at: cache::now(), why: why.to_string() });
            inner.health.until()
        };
        self.keep();
        self.changed();
        if let Some(until) = until {
            tokio::spawn(tell_at(self.me.clone(), until));
        }
        why
    }

    /// It answered something: it is well.
    fn answered(&self) {
        let mut inner = self.inner();
        if inner.health.why().is_some() {
            inner.health.answered();
        }
    }

    /// What happened, in short: the whole is for the operator.
    fn unreachable(&self, pause: &Pause) -> Fault {
        let seconds = pause.left.as_secs_f64().ceil();
        let when = if seconds > 0.0 {
            format!("it is not tried again for {seconds} s")
        } else {
            "it is tried again when it is next needed".to_owned()
        };
        let message =
            format!("the server `{}` cannot be used: {}; {when}", self.server.name, in_short(&pause.why));
        Fault::unavailable(message).with_source(pause.why.to_string())
    }
}

/// The request with what of its caller's `_meta` is for the server. A call that somebody traces is where the server's own
/// trace begins, and not the request that led to it.
fn with_meta(mut params: Map<String, Value>, traceparent: Option<&str>) -> Map<String, Value> {
    let mut meta = Passage::current().map(|passage| passage.meta().clone()).unwrap_or_default();
    if let Some(traceparent) = traceparent {
        meta.insert(TRACEPARENT.to_owned(), traceparent.into());
    }
    if !meta.is_empty() {
        params.insert("_meta".to_owned(), meta.into());
    }
    params
}

/// On whose behalf something is asked.
pub(super) struct Errand {
    principal: Principal,
    era: Option<Era>,
    /// Who stands behind the connection, if it is new.
    behind: Arc<dyn Desk>,
    /// Who answers what the server wants to know for this.
    desk: Arc<dyn Desk>,
    /// Whether twice is the same as once.
    again: bool,
    /// Whether a client of ours follows tasks itself.
    keeps_tasks: bool,
    /// Whether a client of ours shows the addresses itself that somebody has to visit first.
    keeps_visits: bool,
    /// Whether the tool can only be called as a task.
    wants_task: bool,
    /// Whether it is the very call that a client of ours made, and not one that such a call makes.
    is_own: bool,
    /// By which name the call is known in traces.
    traceparent: Option<String>,
}

impl Errand {
    /// That of the call that runs here: of the client of ours that made it, or of the person at this machine.
    pub(super) fn of_call(upstream: &Upstream, cx: &Cx, again: bool) -> Errand {
        match Passage::current() {
            Some(passage) => Errand {
                principal: passage.principal().clone(),
                era: passage.era(),
                behind: upstream.for_server(passage.desk()),
                desk: upstream.for_server(passage.desk()),
                again,
                keeps_tasks: passage.keeps_tasks() && passage.is_for(cx.call_id()),
                keeps_visits: passage.keeps_visits() && passage.is_for(cx.call_id()),
                wants_task: false,
                is_own: passage.is_for(cx.call_id()),
                traceparent: cx.traceparent(),
            },
            None => Errand {
                principal: Principal::owner(),
                era: None,
                behind: upstream.own_desk(),
                // The connection outlives the call, and must not hold on to it.
                desk: Arc::new(CallDesk::of(&upstream.desk, cx)),
                again,
                keeps_tasks: false,
                keeps_visits: false,
                wants_task: false,
                is_own: true,
                traceparent: cx.traceparent(),
            },
        }
    }

    /// The same for a tool that can only be called as a task.
    pub(super) fn wanting_task(self, wants_task: bool) -> Errand {
        Errand { wants_task, ..self }
    }

    fn options(&self) -> RequestOptions {
        RequestOptions {
            desk: Some(self.desk.clone()),
            keeps_tasks: self.keeps_tasks,
            keeps_visits: self.keeps_visits,
            wants_task: self.wants_task,
            ..RequestOptions::default()
        }
    }
}

/// What a request finds.
enum Entered {
    Line(Arc<Line>),
    Starting(Start),
}

/// Says that something is new when a pause is over.
async fn tell_at(upstream: std::sync::Weak<Upstream>, until: Instant) {
    sleep_until(until).await;
    if let Some(upstream) = upstream.upgrade() {
        upstream.changed();
    }
}

/// The shape in which a server is spoken to: as its client likes, but not in one that it does not have.
fn wanted(preferred: Option<Era>, known: Option<Era>) -> Option<Era> {
    match (preferred, known) {
        (Some(Era::Modern), Some(Era::Legacy)) => known,
        (Some(_), _) => preferred,
        (None, _) => known,
    }
}
