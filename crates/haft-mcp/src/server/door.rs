//! The door: what all clients share.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, atomic::AtomicBool},
};

use haft_engine::{Engine, SessionOptions};
use haft_tool::Caller;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::watch,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    guest::Guest,
    http::{self, HttpOptions, Visitor},
    lines, listen,
    message::BROKEN,
    observer::RequestObserver,
    parked::Parking,
    tasks::TaskSeal,
};
use crate::{
    client::Refused,
    upstream::{Principal, Upstream, Upstreams},
};

/// What a door opens.
#[derive(Clone)]
pub struct DoorOptions {
    /// Runs all calls. Its asker should be an [`Elicitor`](super::Elicitor), or nobody can be asked.
    pub engine: Engine,
    /// How the session of a client begins. Each gets an id of its own.
    pub session: SessionOptions,
    /// The servers behind it. They end with the door.
    pub upstreams: Option<Arc<Upstreams>>,
    /// The one server that clients see, as if they spoke to it: its tools under their own names, and nothing of ours.
    pub only: Option<String>,
    /// Our version, as clients are told.
    pub version: String,
    /// Who hears of requests.
    pub observer: Option<Arc<dyn RequestObserver>>,
}

/// Serves clients. Clones are the same door.
#[derive(Clone)]
pub struct Door(pub(super) Arc<Shared>);

/// What all clients share.
pub(super) struct Shared {
    pub(super) options: DoorOptions,
    pub(super) parking: Parking,
    pub(super) tasks: TaskSeal,
    /// Clients of the new era, by who they are: they have no sessions of their own.
    guests: Mutex<HashMap<Principal, Arc<Guest>>>,
    /// Everybody who may have to hear that a list changed.
    present: Mutex<Vec<Weak<Guest>>>,
    /// Whether servers of which nothing is known are being asked, and whether that is over.
    pub(super) acquainting: AtomicBool,
    pub(super) acquainted: watch::Sender<bool>,
    /// Cancelled when the door closes.
    pub(super) closing: CancellationToken,
}

impl Door {
    /// A door. Must be made inside a tokio runtime: it watches the servers behind it for changes.
    pub fn new(options: DoorOptions) -> Door {
        let shared = Arc::new(Shared {
            options,
            parking: Parking::new(),
            tasks: TaskSeal::new(),
            guests: Mutex::default(),
            present: Mutex::default(),
            acquainting: AtomicBool::new(false),
            acquainted: watch::Sender::new(false),
            closing: CancellationToken::new(),
        });
        listen::watch(&shared);
        Door(shared)
    }

    /// Serves one client on a pair of streams, a message a line, until it leaves or the door closes.
    pub async fn serve(
        &self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<()> {
        let principal = Principal(format!("client:{}", Uuid::now_v7().simple()).into());
        let guest =
            self.0.enter(principal, None, false).map_err(|refused| io::Error::other(refused.message))?;
        let served = lines::serve(&guest, reader, writer).await;
        self.0.let_go(&guest.principal).await;
        served
    }

    /// Serves clients by HTTP until the door closes.
    pub async fn listen(&self, listener: TcpListener, options: HttpOptions) -> io::Result<()> {
        http::serve(self.0.clone(), listener, options).await
    }

    /// Lets nobody in any more, ends what runs, and ends the servers behind the door.
    pub async fn close(&self) {
        self.0.closing.cancel();
        let present = self.0.present();
        lock(&self.0.guests).clear();
        futures::future::join_all(present.iter().map(|guest| guest.goes())).await;
        if let Some(upstreams) = &self.0.options.upstreams {
            upstreams.close().await;
        }
    }
}

impl Shared {
    /// A client with a session of its own. `caller`: who it is, if it is not whomever the door's sessions are for.
    /// `is_http`: whether it comes by HTTP.
    pub(super) fn enter(
        self: &Arc<Self>,
        principal: Principal,
        caller: Option<&Caller>,
        is_http: bool,
    ) -> Result<Arc<Guest>, Refused> {
        let mut options = SessionOptions { id: self.session_id(), ..self.options.session.clone() };
        if let Some(caller) = caller {
            options.caller = caller.clone();
        }
        let session = self.options.engine.session(options);
        let session =
            session.map_err(|err| Refused::new(BROKEN, format!("no session could begin: {err}")))?;
        let guest = Arc::new(Guest::new(self, principal, session, is_http));
        let mut present = lock(&self.present);
        present.retain(|guest| guest.strong_count() > 0);
        present.push(Arc::downgrade(&guest));
        Ok(guest)
    }

    /// The first session has the id that was asked for, if one was; nobody shares it.
    fn session_id(&self) -> Option<haft_tool::SessionId> {
        self.options.session.id.clone().filter(|_| lock(&self.present).is_empty())
    }

    /// The client that this visitor is, in all its requests.
    pub(super) fn known(self: &Arc<Self>, visitor: &Visitor) -> Result<Arc<Guest>, Refused> {
        let principal = &visitor.principal;
        if let Some(guest) = lock(&self.guests).get(principal) {
            return Ok(guest.clone());
        }
        let guest = self.enter(principal.clone(), visitor.caller.as_ref(), true)?;
        Ok(lock(&self.guests).entry(principal.clone()).or_insert(guest).clone())
    }

    /// The clients that are there.
    pub(super) fn present(&self) -> Vec<Arc<Guest>> {
        lock(&self.present).iter().filter_map(Weak::upgrade).collect()
    }

    /// Ends the connections of a client that has gone.
    pub(super) async fn let_go(&self, principal: &Principal) {
        let all = self.options.upstreams.as_deref().map(Upstreams::all).unwrap_or_default();
        futures::future::join_all(all.iter().map(|upstream| upstream.close_for(principal))).await;
    }

    /// The servers that clients see, sorted by name.
    pub(super) fn upstreams(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        let all = self.options.upstreams.as_deref().map(Upstreams::all).unwrap_or_default();
        all.iter().filter(|upstream| self.shows(&upstream.server().name))
    }

    /// The server of this name, if clients see it.
    pub(super) fn upstream(&self, name: &str) -> Option<&Arc<Upstream>> {
        self.options.upstreams.as_deref()?.get(name).filter(|_| self.shows(name))
    }

    /// The one server that clients see, if there is only one.
    pub(super) fn only(&self) -> Option<&Arc<Upstream>> {
        self.upstream(self.options.only.as_deref()?)
    }

    fn shows(&self, server: &str) -> bool {
        self.options.only.as_deref().is_none_or(|only| only == server)
    }
}

/// What a lock guards. Nothing of others runs under any of them, so what a poisoned one guards is whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
