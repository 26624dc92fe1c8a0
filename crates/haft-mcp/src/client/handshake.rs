//! The first words: which era a server is of, and what it says of itself.
//!
//! A server of today answers `server/discover`; any other answer, or none, means one of before, which wants `initialize`. A
//! server that is silent may be one that ignores what it does not know, or one that is slow to start: after a while it is
//! asked the older way too, and whichever answer comes is taken. An answer always belongs to the question with its number.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::{
    About, ConnectError, Desk, Era, Refused, Server, Transport,
    peer::{Peer, Terms},
};
use crate::wire::{
    self, Inbox, Wire,
    repair::{self, Introduction, LEGACY, MODERN},
};

/// How long a server that has shown that it runs may be silent before it is asked the older way.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same for one that has shown nothing yet: it is still being started.
const STARTING: Duration = Duration::from_secs(20);

/// A server that was asked both ways, and answers the newer, has so long to answer the older.
const AFTERTHOUGHT: Duration = Duration::from_secs(1);

/// A connection after the first words.
pub(super) struct Met {
    pub(super) peer: Arc<Peer>,
    pub(super) wire: Arc<dyn Wire>,
    pub(super) about: About,
}

/// What each request to a modern server says of us.
pub(super) fn modern_meta(capabilities: Map<String, Value>) -> [(String, Value); 3] {
    [
        ("io.modelcontextprotocol/protocolVersion".to_owned(), MODERN.into()),
        ("io.modelcontextprotocol/clientInfo".to_owned(), client_info()),
        ("io.modelcontextprotocol/clientCapabilities".to_owned(), capabilities.into()),
    ]
}

fn client_info() -> Value {
    json!({ "name": "haft", "version": env!("CARGO_PKG_VERSION") })
}

/// Opens the transport and exchanges the first words.
pub(super) async fn meet(
    server: &Server,
    era: Option<Era>,
    desk: &Arc<dyn Desk>,
) -> Result<Met, ConnectError> {
    let deadline = Instant::now() + server.limits.start;
    // What speaks only the transport of before speaks only the protocol of before.
    let era = if matches!(server.transport, Transport::Sse { .. }) { Some(Era::Legacy) } else { era };
    let first = Meeting::open(server, &server.transport, desk, deadline).await?;
    match first.greet(era).await {
        Ok(about) => Ok(first.met(about)),
        // Some servers end at the first word that they do not know: they are started again, and asked the older way.
        Err(_) if era.is_none() && first.peer.is_closed() => {
            let second = Meeting::open(server, &server.transport, desk, deadline).await?;
            second.greet_as_before(server).await
        }
        Err(refused) => match before_streams(&server.transport, &refused) {
            Some(older) => match Meeting::open(server, &older, desk, deadline).await {
                Ok(second) => second.greet_as_before(server).await,
                // That it is not of before either says less than what it said first.
                Err(_) => Err(first.failed(server, refused).await),
            },
            None => Err(first.failed(server, refused).await),
        },
    }
}

/// The transport of before at the same address, if what was refused there looks like a server that has only that.
fn before_streams(transport: &Transport, refused: &Refused) -> Option<Transport> {
    let Transport::Http { url, headers } = transport else { return None };
    let status = refused.data.as_ref()?.get("status")?.as_u64()?;
    matches!(status, 400 | 404 | 405 | 406 | 415)
        .then(|| Transport::Sse { url: url.clone(), headers: headers.clone() })
}

/// A transport that is open, before both sides know each other.
struct Meeting {
    peer: Arc<Peer>,
    wire: Arc<dyn Wire>,
    deadline: Instant,
}

impl Meeting {
    async fn open(
        server: &Server,
        transport: &Transport,
        desk: &Arc<dyn Desk>,
        deadline: Instant,
    ) -> Result<Meeting, ConnectError> {
        let peer = Peer::new(desk.clone());
        let left = deadline.saturating_duration_since(Instant::now());
        let opened = match timeout(left, open(server, transport, peer.clone())).await {
            Ok(opened) => opened.map_err(|refused| cannot(server, &refused))?,
            Err(_) => {
                return Err(cannot(server, &Refused::new(Refused::TIMED_OUT, "it took too long to open")));
            }
        };
        peer.reached_by(&opened);
        Ok(Meeting { peer, wire: opened, deadline })
    }

    fn met(self, about: About) -> Met {
        self.peer.is_of(about.era);
        self.wire.agreed(&about.version);
        Met { peer: self.peer, wire: self.wire, about }
    }

    async fn greet_as_before(self, server: &Server) -> Result<Met, ConnectError> {
        match self.greet(Some(Era::Legacy)).await {
            Ok(about) => Ok(self.met(about)),
            Err(refused) => Err(self.failed(server, refused).await),
        }
    }

    async fn failed(self, server: &Server, refused: Refused) -> ConnectError {
        self.wire.close().await;
        cannot(server, &refused)
    }

    async fn greet(&self, era: Option<Era>) -> Result<About, Refused> {
        match era {
            Some(Era::Legacy) => match self.initialize().await {
                Err(refused) if refused.code != Refused::GONE && refused.code != Refused::TIMED_OUT => {
                    self.discover().await?.ok_or(refused)
                }
                answered => answered,
            },
            Some(Era::Modern) => match self.discover().await {
                Ok(Some(about)) => Ok(about),
                Err(refused) if refused.code == Refused::GONE => Err(refused),
                _ => self.initialize().await,
            },
            None => self.probe().await,
        }
    }

    async fn probe(&self) -> Result<About, Refused> {
        let mut discover = std::pin::pin!(self.discover());
        tokio::select! {
            answer = &mut discover => {
                return match answer {
                    Ok(Some(about)) => Ok(about),
                    Err(refused) if is_final(&refused) => Err(refused),
                    _ => self.initialize().await,
                };
            }
            () = self.patience() => {}
        }
        // Asked both ways, a server is in a handshake: its answer to that counts, and the other only if there is none.
        let mut initialize = std::pin::pin!(self.initialize());
        let mut is_modern = true;
        loop {
            tokio::select! {
                answer = &mut initialize => return match answer {
                    Err(refused) if is_modern => discover.await?.ok_or(refused),
                    answer => answer,
                },
                answer = &mut discover, if is_modern => match answer {
                    Ok(Some(about)) => return match timeout(AFTERTHOUGHT, initialize).await {
                        Ok(Ok(older)) => Ok(older),
                        _ => Ok(about),
                    },
                    _ => is_modern = false,
                },
            }
        }
    }

    async fn patience(&self) {
        let after_life = async {
            self.peer.shows_life().await;
            sleep(PATIENCE).await;
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        let _ = timeout(STARTING.min(left / 2), after_life).await;
    }

    /// `None`: it answers, but not as a modern server.
    async fn discover(&self) -> Result<Option<About>, Refused> {
        let mut answer = self.ask("server/discover", Map::new()).await;
        // It does not like the revision, and lists it all the same: it may have been busy, or is asked a second time on purpose.
        if answer.as_ref().is_err_and(lists_ours) {
            answer = self.ask("server/discover", Map::new()).await;
        }
        match answer {
            Ok(result) => Ok(repair::discovery(result).map(|said| about(Era::Modern, said))),
            Err(refused) if is_final(&refused) => Err(refused),
            Err(_) => Ok(None),
        }
    }

    async fn initialize(&self) -> Result<About, Refused> {
        let mut params = Map::new();
        params.insert("protocolVersion".to_owned(), LEGACY.into());
        params.insert("capabilities".to_owned(), self.peer.desk.capabilities().into());
        params.insert("clientInfo".to_owned(), client_info());
        let result = self.ask("initialize", params).await?;
        let about = about(Era::Legacy, repair::introduction(result)?);
        self.wire.agreed(&about.version);
        self.peer.tell("notifications/initialized", Map::new()).await?;
        Ok(about)
    }

    async fn ask(&self, method: &str, params: Map<String, Value>) -> Result<Value, Refused> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.peer.ask(method, params, &Terms::within(left)).await
    }
}

/// Whether a server that refuses our revision speaks it all the same.
fn lists_ours(refused: &Refused) -> bool {
    let supported = refused.data.as_ref().and_then(|data| data.get("supported"));
    refused.code == UNSUPPORTED_VERSION && supported.is_some_and(|versions| repair::lists(versions, MODERN))
}

/// What a modern server says if it does not speak the revision of a request.
const UNSUPPORTED_VERSION: i64 = -32022;

/// Whether asking another way would be pointless.
fn is_final(refused: &Refused) -> bool {
    matches!(refused.code, Refused::GONE | Refused::TIMED_OUT | Refused::UNAUTHORIZED)
}

fn about(era: Era, said: Introduction) -> About {
    let Introduction { version, info, capabilities, instructions } = said;
    About { era, version, info, capabilities, instructions }
}

async fn open(
    server: &Server,
    transport: &Transport,
    inbox: Arc<dyn Inbox>,
) -> Result<Arc<dyn Wire>, Refused> {
    let (most, inbox) = (server.limits.message, wire::hiding(inbox, server.tokens.as_ref()));
    match transport {
        Transport::Stdio { command, args, env, cwd } => {
            let program = wire::Program { command, args, env, cwd, sandboxed: server.sandboxed };
            let started = wire::start(&program, most, inbox).await;
            started.map_err(|err| {
                Refused::new(Refused::GONE, format!("`{command}` could not be started: {err}"))
            })
        }
        Transport::Bridge(bridge) => {
            let (output, input) = tokio::io::split(bridge.connect());
            Ok(Arc::new(wire::Pipe::bridge(input, output, most, inbox)))
        }
        Transport::Http { url, headers } => {
            let origin = wire::Origin::new(url, headers, server.tokens.clone())?;
            Ok(Arc::new(wire::Http::new(origin, most, inbox)))
        }
        Transport::Sse { url, headers } => {
            let origin = wire::Origin::new(url, headers, server.tokens.clone())?;
            Ok(Arc::new(wire::Sse::open(origin, most, inbox).await?))
        }
        Transport::WebSocket { url, headers } => {
            Ok(Arc::new(wire::WebSocket::open(url, headers, server.tokens.clone(), most, inbox).await?))
        }
    }
}

fn cannot(server: &Server, refused: &Refused) -> ConnectError {
    let challenge = || refused.data.as_ref()?.get("challenge")?.as_str().map(str::to_owned);
    let wants_authorization =
        (refused.code == Refused::UNAUTHORIZED).then(|| challenge().unwrap_or_default());
    ConnectError {
        message: format!("no connection to {}: {}", server.name, refused.message),
        wants_authorization,
    }
}
