//! Clients of the old era: a handshake gives a session id, and what belongs to no request comes by a stream of its own.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{body::Bytes, http::HeaderMap, response::Response};
use futures::stream;
use tokio::time::{self, Instant};
use uuid::Uuid;

use super::{
    House, Visitor, headers, reply,
    track::{Next, Track},
};
use crate::{
    client::Refused,
    server::{
        door::{Shared, lock},
        guest::{Guest, Outlet},
    },
    upstream::Principal,
};

/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// A client that is silent for so long has gone.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// So many are open for one token.
const MOST_SESSIONS: usize = 1000;
/// So many answers can be asked for again.
const MOST_TRACKS: usize = 32;

/// The sessions that are open.
#[derive(Default)]
pub(super) struct Sessions(Arc<Open>);

type Open = Mutex<HashMap<String, Arc<HttpSession>>>;

/// One of them.
pub(super) struct HttpSession {
    pub(super) id: String,
    pub(super) guest: Arc<Guest>,
    /// Who greeted us: nobody else is told that it is there.
    whose: Principal,
    tracks: Mutex<VecDeque<Arc<Track>>>,
    next: AtomicU64,
    used: Mutex<Instant>,
    /// What belongs to no request.
    standalone: Arc<Track>,
}

impl Sessions {
    /// A new session, for a client that greets us.
    pub(super) fn begin(&self, door: &Arc<Shared>, visitor: &Visitor) -> Result<Arc<HttpSession>, Refused> {
        // Two of them: a session id is a secret, and one has only 74 random bits.
        let id = format!("{}{}", Uuid::now_v7().simple(), Uuid::now_v7().simple());
        let guest = door.enter(Principal(format!("session:{id}").into()), visitor.caller.as_ref(), true)?;
        let session = Arc::new(HttpSession::new(id.clone(), guest, visitor.principal.clone()));
        self.make_room(&visitor.principal);
        lock(&self.0).insert(id, session.clone());
        tokio::spawn(end_unused(Arc::downgrade(&self.0), Arc::downgrade(&session)));
        Ok(session)
    }

    /// The session of this id, if it is the visitor's.
    pub(super) fn find(&self, id: &str, visitor: &Visitor) -> Option<Arc<HttpSession>> {
        let session = lock(&self.0).get(id).filter(|session| session.whose == visitor.principal).cloned()?;
        session.touch();
        Some(session)
    }

    /// If somebody has too many, the one of them is ended that was silent for longest.
    fn make_room(&self, whose: &Principal) {
        let oldest = {
            let sessions = lock(&self.0);
            let of_theirs = || sessions.values().filter(|session| session.whose == *whose);
            let oldest = of_theirs().min_by_key(|session| session.used());
            oldest.filter(|_| of_theirs().count() >= MOST_SESSIONS).map(|session| session.id.clone())
        };
        if let Some(oldest) = oldest {
            self.end(&oldest);
        }
    }

    pub(super) fn end(&self, id: &str) {
        end(&self.0, id);
    }
}

fn end(sessions: &Open, id: &str) {
    let session = lock(sessions).remove(id);
    if let Some(session) = session {
        session.end();
    }
}

/// Ends a session that nobody has used for so long.
async fn end_unused(sessions: Weak<Open>, session: Weak<HttpSession>) {
    unused(|| session.upgrade().map(|session| session.used())).await;
    if let (Some(sessions), Some(session)) = (sessions.upgrade(), session.upgrade()) {
        end(&sessions, &session.id);
    }
}

/// Waits until something was last used so long ago, or is not there any more.
async fn unused(last: impl Fn() -> Option<Instant>) {
    while let Some(used) = last().filter(|used| used.elapsed() < IDLE) {
        time::sleep_until(used + IDLE).await;
    }
}

impl HttpSession {
    fn new(id: String, guest: Arc<Guest>, whose: Principal) -> HttpSession {
        let (outlet, mut messages) = Outlet::new();
        guest.speak_through(outlet);
        let standalone = Arc::new(Track::new(0));
        let track = standalone.clone();
        tokio::spawn(async move {
            while let Some(message) = messages.recv().await {
                track.push(message.to_string().into());
            }
            track.end();
        });
        let (tracks, used) = (Mutex::default(), Mutex::new(Instant::now()));
        HttpSession { id, guest, whose, tracks, next: AtomicU64::new(1), used, standalone }
    }

    /// Somebody is there.
    pub(super) fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    fn used(&self) -> Instant {
        *lock(&self.used)
    }

    /// The events of a track from a place on. Whoever listens uses the session.
    pub(super) fn follow(self: &Arc<Self>, track: Arc<Track>, place: u64) -> Response {
        let session = Arc::downgrade(self);
        follow(track, place, move || {
            if let Some(session) = session.upgrade() {
                session.touch();
            }
        })
    }

    /// A track for the answer to a request.
    pub(super) fn track(&self) -> Arc<Track> {
        let track = Arc::new(Track::new(self.next.fetch_add(1, Ordering::Relaxed)));
        let mut tracks = lock(&self.tracks);
        while tracks.len() >= MOST_TRACKS && tracks.front().is_some_and(|track| track.is_over()) {
            tracks.pop_front();
        }
        tracks.push_back(track.clone());
        track
    }

    /// Nobody will come back for it: the answer was given whole.
    pub(super) fn forget(&self, track: &Arc<Track>) {
        lock(&self.tracks).retain(|kept| !Arc::ptr_eq(kept, track));
    }

    fn find(&self, number: u64) -> Option<Arc<Track>> {
        if number == 0 {
            return Some(self.standalone.clone());
        }
        lock(&self.tracks).iter().find(|track| track.number == number).cloned()
    }

    fn end(&self) {
        self.guest.leave();
        let guest = self.guest.clone();
        tokio::spawn(async move {
            guest.goes().await;
            guest.door.let_go(&guest.principal).await;
        });
    }
}

/// The events of a track from a place on; `lives` is called now and then while somebody listens.
fn follow(track: Arc<Track>, place: u64, lives: impl Fn() + Clone + Send + 'static) -> Response {
    reply::events(stream::unfold((track, place, lives), |(track, place, lives)| async move {
        lives();
        match time::timeout(reply::KEEP_ALIVE, track.next(place)).await {
            Ok(Next::Message(at, message)) => {
                let event = reply::event(Some(&format!("{}-{at}", track.number)), &message);
                track.was_sent(at);
                Some((Ok(event), (track, at + 1, lives)))
            }
            Ok(Next::Over) => None,
            Err(_) => Some((Ok(Bytes::from_static(reply::SILENCE.as_bytes())), (track, place, lives))),
        }
    }))
}

/// The session that a request names.
pub(super) fn named(
    house: &House,
    visitor: &Visitor,
    sent: &HeaderMap,
) -> Result<Arc<HttpSession>, Box<Response>> {
    let refuse = |status, words: &str| Box::new(reply::plain(status, words));
    let id = headers::one(sent, SESSION).ok().flatten();
    let id =
        id.ok_or_else(|| refuse(400, "Bad Request: Mcp-Session-Id is missing; begin with `initialize`"))?;
    let found = house.sessions.find(id, visitor);
    found.ok_or_else(|| refuse(404, "Not Found: there is no such session; begin anew with `initialize`"))
}

/// `GET`: what belongs to no request, or what a client missed.
pub(super) async fn events(house: &House, visitor: &Visitor, sent: &HeaderMap) -> Response {
    if !sent.contains_key(SESSION) {
        return reply::plain(405, "Method Not Allowed: without a session there is nothing to listen to");
    }
    let session = match named(house, visitor, sent) {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    let Some(last) = headers::one(sent, LAST_EVENT).ok().flatten() else {
        let place = session.standalone.first_unsent();
        return session.follow(session.standalone.clone(), place);
    };
    let place =
        last.split_once('-').and_then(|(track, at)| Some((track.parse().ok()?, at.parse::<u64>().ok()?)));
    match place.and_then(|(track, at)| Some((session.find(track)?, at))) {
        Some((track, at)) => session.follow(track, at + 1),
        // An error would be tried again for ever; an empty stream says that there is nothing.
        None => reply::events(stream::empty()),
    }
}

/// `DELETE`: the client leaves.
pub(super) async fn delete(house: &House, visitor: &Visitor, sent: &HeaderMap) -> Response {
    match named(house, visitor, sent) {
        Ok(session) => {
            house.sessions.end(&session.id);
            reply::plain(200, "")
        }
        Err(refused) => *refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_is_over_an_hour_after_its_last_use() {
        let (began, used) = (Instant::now(), Arc::new(Mutex::new(Some(Instant::now()))));
        let seen = used.clone();
        let over = tokio::spawn(async move { unused(|| *lock(&seen)).await });
        time::sleep(IDLE / 2).await;
        *lock(&used) = Some(Instant::now());
        over.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), (IDLE * 3 / 2).as_secs());
        unused(|| None).await;
        assert_eq!(began.elapsed().as_secs(), (IDLE * 3 / 2).as_secs(), "what is gone is not waited for");
    }
}
