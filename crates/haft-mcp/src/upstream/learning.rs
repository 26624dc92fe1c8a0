//! Learning what a server has: when it is connected, when it says that something is new, when somebody asks.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use futures::FutureExt;
use haft_tool::Fault;
use serde_json::{Map, Value};
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep},
};

use super::{
    Known, Principal, Upstream,
    cache::{self, Failure, Kept},
    line::Line,
    one::{Lesson, Link},
};
use crate::client::{Connection, Era, Refused};

/// Where the lists are known from before, whoever opened the connection goes first: some servers do one thing after another.
const HEAD_START: Duration = Duration::from_millis(20);
/// News of a list often come in bursts.
const SETTLE: Duration = Duration::from_millis(100);
/// Who has news all the time is not asked all the time: each time is twice as long after the one before, up to this.
const MOST_BETWEEN: Duration = Duration::from_secs(2);

impl Upstream {
    /// Asks the server for its lists again, and tells the pool if they are new.
    pub async fn refresh(&self) -> Result<(), Fault> {
        let lease = match self.any_line() {
            Some(line) => line.lease(),
            None => self.connect(&Principal::owner(), None, self.own_desk()).await?,
        };
        let refused = self.lesson_with(&lease).await;
        let name = &self.server.name;
        let failed = |refused| {
            Fault::unavailable(format!("the tools of the server `{name}` could not be listed: {refused}"))
        };
        refused.map_or(Ok(()), |refused: Refused| Err(failed(refused)))
    }

    /// Starts it and waits until it has said what it has, or cannot.
    pub(super) async fn acquaint(&self) {
        let Ok(_lease) = self.connect(&Principal::owner(), None, self.own_desk()).await else { return };
        self.settle().await;
    }

    /// Waits until it has said what it has, if it is being asked.
    pub(super) async fn settle(&self) {
        let lesson = self.inner().lesson.clone();
        if let Some(lesson) = lesson {
            lesson.await;
        }
    }

    /// A lesson that begins now, or has just begun.
    fn lesson_with(&self, connection: &Connection) -> Lesson {
        let running = self.inner().lesson.clone().filter(|lesson| lesson.peek().is_none());
        running.unwrap_or_else(|| self.begin_lesson(connection.clone(), false))
    }

    pub(super) fn begin_lesson(&self, connection: Connection, is_free: bool) -> Lesson {
        let task = tokio::spawn(learn(self.me.clone(), connection, is_free));
        let lesson = task.map(|ended| ended.unwrap_or_default()).boxed().shared();
        self.inner().lesson = Some(lesson.clone());
        lesson
    }

    fn any_line(&self) -> Option<Arc<Line>> {
        let inner = self.inner();
        let mut up = inner.links.values().filter_map(|link| match link {
            Link::Up(line) if !line.connection().is_closed() => Some(line.clone()),
            _ => None,
        });
        up.next()
    }

    fn learnt(&self, learnt: Result<Known, Refused>, is_free: bool) -> Option<Refused> {
        let (is_new, refused) = match learnt {
            Ok(known) => (self.take_in(known, is_free), None),
            // Whoever ended the connection in the middle did not mean to say that the lists are bad.
            Err(refused) if refused.code == Refused::GONE && self.is_known() => (false, Some(refused)),
            Err(refused) => {
                let why = format!("its tools could not be listed: {refused}");
                self.inner().failure = Some(Failure { at: cache::now(), why });
                (true, Some(refused))
            }
        };
        if is_new {
            self.keep();
            self.changed();
        }
        refused
    }

    /// Whether anything of it is new.
    fn take_in(&self, mut known: Known, is_free: bool) -> bool {
        let mut inner = self.inner();
        inner.health.answered();
        if !is_free && known.era == Some(Era::Legacy) {
            // It was spoken to like that because somebody wished so: it may have the other shape, too.
            known.era = inner.known.era;
        }
        let is_new = !inner.is_known || *inner.known != known || inner.failure.is_some();
        inner.is_known = true;
        inner.failure = None;
        if *inner.known != known {
            inner.known = Arc::new(known);
        }
        is_new
    }

    /// Writes down what is known. What cannot be kept is asked for again next time.
    pub(super) fn keep(&self) {
        let Some(cache) = &self.cache else { return };
        let kept = {
            let inner = self.inner();
            // What is for one caller's eyes is not kept where others read: the next process asks again.
            let known = (inner.is_known && !inner.known.is_private).then(|| Known::clone(&inner.known));
            Kept { known, asked: cache::now(), failure: inner.failure.clone() }
        };
        let _ = cache.write(&self.server.name, &kept);
    }

    /// The server says that a list of its has changed. Told while a connection's messages are read: nothing is done here.
    pub(super) fn has_news(&self, principal: &Principal) {
        let mut inner = self.inner();
        inner.is_stale = true;
        if !std::mem::replace(&mut inner.relisting, true) {
            tokio::spawn(relist(self.me.clone(), principal.clone()));
        }
    }

    /// Hears what a server says of its lists, where that has to be asked for.
    pub(super) fn listen(&self, key: &Principal, connection: &Connection) -> Option<AbortHandle> {
        let about = connection.about();
        let filter = interests(&about.capabilities);
        if about.era != Era::Modern || filter.is_empty() {
            return None;
        }
        let task = tokio::spawn(hear(self.me.clone(), key.clone(), connection.clone(), filter));
        Some(task.abort_handle())
    }

    /// The connection to ask again, if there is still a reason to; otherwise nobody is about to ask any more.
    fn stale_line(&self, principal: &Principal) -> Option<Connection> {
        let mut inner = self.inner();
        let line = match inner.links.get(principal) {
            Some(Link::Up(line)) if inner.is_stale => Some(line.connection().clone()),
            _ => None,
        };
        inner.is_stale = false;
        inner.relisting = line.is_some();
        line
    }
}

/// What a modern server is asked to tell: its lists, as far as it says that they change.
fn interests(capabilities: &Map<String, Value>) -> Map<String, Value> {
    let changes =
        |of: &str| capabilities.get(of).and_then(|one| one.get("listChanged")) == Some(&Value::Bool(true));
    let wanted = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    wanted.iter().filter(|(of, _)| changes(of)).map(|(_, name)| ((*name).to_owned(), true.into())).collect()
}

/// Between tries to hear of news: at first, and at most.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What a server says that has no such thing: no such method, no such parameters. Everything else may pass.
const NEVER: [i64; 2] = [-32601, -32602];

/// Hears a modern server's news as long as the connection lives. A subscription that breaks is made again; whatever was said
/// in between is found by asking.
async fn hear(upstream: Weak<Upstream>, key: Principal, connection: Connection, filter: Map<String, Value>) {
    let mut wait = FIRST_WAIT;
    loop {
        let began = Instant::now();
        let refused = connection.listen(filter.clone(), None).ended().await;
        if connection.is_closed() || NEVER.contains(&refused.code) {
            return;
        }
        // A subscription that lasted was worth making.
        wait = if began.elapsed() > LONGEST_WAIT { FIRST_WAIT } else { wait };
        sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
        let Some(upstream) = upstream.upgrade() else { return };
        upstream.has_news(&key);
    }
}

async fn learn(upstream: Weak<Upstream>, connection: Connection, is_free: bool) -> Option<Refused> {
    if upstream.upgrade()?.is_known() {
        sleep(HEAD_START).await;
    }
    let before = upstream.upgrade()?.known();
    let learnt = Known::learn(&connection, &before).await;
    upstream.upgrade()?.learnt(learnt, is_free)
}

/// Asks for the lists again, once for many pieces of news.
async fn relist(upstream: Weak<Upstream>, principal: Principal) {
    let mut wait = SETTLE;
    loop {
        sleep(wait).await;
        let running = upstream.upgrade().and_then(|upstream| upstream.inner().lesson.clone());
        if let Some(running) = running {
            // What it has heard may be older than the news.
            running.await;
        }
        let stale = upstream.upgrade().and_then(|upstream| upstream.stale_line(&principal));
        let Some(connection) = stale else { return };
        let lesson = upstream.upgrade().map(|upstream| upstream.begin_lesson(connection, false));
        if let Some(lesson) = lesson {
            lesson.await;
        }
        wait = (wait * 2).min(MOST_BETWEEN);
    }
}
