//! The only way out of a closed network.
//!
//! A sandbox with hosts has a network of its own with nothing in it but listeners, whose other side is here. Programs inside
//! reach hosts in two ways. They speak HTTP or SOCKS to the proxy, because their environment says so. Or they look a name up
//! and connect, as `ssh` and `psql` do: the DNS server gives each granted name a loopback address of its own, and connections
//! to that address are passed on. Both ways end in [`Hosts`]: a connection is made if the policy names host and port; the
//! name is resolved here, addresses that are not public are refused, and the address that was checked is the one that is dialled.
//! What travels inside is not looked at: a host that is allowed can be sent anything.

mod hosts; //     which hosts
mod address; //   which addresses
mod request; //   what a client of the proxy wants
mod dns; //       messages of DNS
mod names; //     names and the addresses that stand for them
mod listening; // where servers listen
mod doors; //     the listeners
mod relay; //     from one side to the other

use std::{
    collections::{BTreeSet, HashMap},
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

pub use address::is_own;
pub(crate) use hosts::Hosts;
pub(crate) use listening::{listening_ports, machine_ports};

use crate::sandbox::{Loopback, NetworkAgent};
use dns::{DnsAnswer, DnsQuestion, KIND_A, KIND_AAAA};
use doors::{Door, Doors};
use hosts::Refusal;
use names::NameTable;

/// The sockets of a sandbox's network that are served here.
#[derive(Debug)]
pub(crate) struct ProxySockets {
    pub(crate) datagrams: UdpSocket,
    pub(crate) dns: TcpListener,
    pub(crate) proxy: TcpListener,
    /// Those that stand for a server outside, by their own addresses.
    pub(crate) relays: Vec<TcpListener>,
    /// Makes more of them.
    pub(crate) agent: Arc<NetworkAgent>,
}

/// A proxy that runs until this value goes.
#[derive(Debug)]
pub(crate) struct Proxy(Arc<ProxyState>);

/// What the threads of a proxy share.
#[derive(Debug)]
struct ProxyState {
    hosts: Hosts,
    /// The network of the session's servers.
    session: Option<Arc<Loopback>>,
    agent: Option<Arc<NetworkAgent>>,
    doors: Doors,
    names: Mutex<NameTable>,
    /// The ports of the loopback that lead to servers outside.
    relayed: Mutex<BTreeSet<u16>>,
    refused: Mutex<BTreeSet<String>>,
    open: Mutex<HashMap<u64, Vec<TcpStream>>>,
    next: AtomicU64,
    lookups: AtomicU64,
    is_over: AtomicBool,
}

/// How many connections and lookups at once, and how many refusals are remembered.
const CONNECTION_LIMIT: usize = 256;
const LOOKUP_LIMIT: u64 = 64;
const REFUSAL_LIMIT: usize = 64;

/// How often servers are looked for that have begun to listen since the command was started.
const RESCAN_INTERVAL: Duration = Duration::from_millis(300);

/// The ports of the loopback that lead to servers outside: those of the session, and those of the machine that are granted.
pub(crate) fn relayed_ports(hosts: &Hosts, session: Option<&Loopback>) -> BTreeSet<u16> {
    let mut ports = session.map(Loopback::ports).unwrap_or_default();
    if hosts.has_machine() {
        ports.extend(machine_ports().into_iter().filter(|port| hosts.has_machine_port(*port)));
    }
    ports
}

impl Proxy {
    /// Serves the clients of these sockets.
    pub(crate) fn serve(
        sockets: ProxySockets,
        hosts: Hosts,
        session: Option<Arc<Loopback>>,
    ) -> io::Result<Proxy> {
        let ProxySockets { datagrams, dns, proxy, relays, agent } = sockets;
        let state = ProxyState::new(hosts, session, Some(agent))?;
        state.doors.add_datagrams(datagrams)?;
        state.doors.add(dns, Door::Dns)?;
        state.doors.add(proxy, Door::Proxy)?;
        for relay in relays {
            let address = relay.local_addr()?;
            if address.port() != 0 {
                state.add_relay(relay, address)?;
            }
        }
        state.start()
    }

    /// The hosts that were wanted in vain.
    pub(crate) fn refused(&self) -> Vec<String> {
        lock(&self.0.refused).iter().cloned().collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.0.is_over.store(true, SeqCst);
        self.0.doors.close();
        lock(&self.0.open).values().flatten().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}

impl ProxyState {
    fn new(
        hosts: Hosts,
        session: Option<Arc<Loopback>>,
        agent: Option<Arc<NetworkAgent>>,
    ) -> io::Result<ProxyState> {
        Ok(ProxyState {
            hosts,
            session,
            agent,
            doors: Doors::new()?,
            names: Mutex::default(),
            relayed: Mutex::default(),
            refused: Mutex::default(),
            open: Mutex::default(),
            next: AtomicU64::new(0),
            lookups: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        })
    }

    fn start(self) -> io::Result<Proxy> {
        let state = Arc::new(self);
        let inside = Arc::clone(&state);
        thread::Builder::new().name("haft-proxy".to_owned()).spawn(move || inside.serve())?;
        Ok(Proxy(state))
    }

    fn serve(self: &Arc<ProxyState>) {
        let looks_again = self.agent.is_some() && (self.session.is_some() || self.hosts.has_machine());
        let interval = looks_again.then_some(RESCAN_INTERVAL);
        while !self.is_over.load(SeqCst) {
            for (door, client) in self.doors.wait(interval) {
                match client {
                    Some(client) => self.open(door, client),
                    None => self.answer_datagrams(),
                }
            }
            if looks_again {
                self.rescan();
            }
        }
        self.doors.clear();
    }

    /// Opens ports for servers that have begun to listen, and closes those of servers that have ended.
    fn rescan(&self) {
        let wanted = relayed_ports(&self.hosts, self.session.as_deref());
        let had = lock(&self.relayed).clone();
        for gone in had.difference(&wanted) {
            self.doors.remove(|address| is_loopback_itself(address.ip()) && address.port() == *gone);
            lock(&self.relayed).remove(gone);
        }
        for new in wanted.difference(&had) {
            for address in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
                self.relay_at((address, *new).into());
            }
        }
    }

    /// Takes connections to this address as well. Where the command listens itself, it keeps what is its own.
    fn relay_at(&self, address: SocketAddr) {
        let listener = self.agent.as_ref().and_then(|agent| agent.listen(address).ok());
        if let Some(listener) = listener {
            // Without room for one more, connections are refused there.
            let _ = self.add_relay(listener, address);
        }
    }

    fn add_relay(&self, listener: TcpListener, address: SocketAddr) -> io::Result<()> {
        self.doors.add(listener, Door::Relay(address))?;
        if is_loopback_itself(address.ip()) {
            lock(&self.relayed).insert(address.port());
        }
        Ok(())
    }

    fn open(self: &Arc<ProxyState>, door: Door, client: TcpStream) {
        if lock(&self.open).len() >= CONNECTION_LIMIT {
            return;
        }
        let id = self.next.fetch_add(1, SeqCst);
        let state = Arc::clone(self);
        let thread = thread::Builder::new().name("haft-proxy-client".to_owned());
        // Without a thread the connection is closed, which is an answer.
        let _ = thread.spawn(move || state.attend(id, door, client));
    }

    /// One connection, from its first word to its end.
    fn attend(&self, id: u64, door: Door, client: TcpStream) {
        self.remember(id, &client);
        // Whatever goes wrong with it ends it, and concerns no other.
        let _ = match door {
            Door::Proxy => self.converse(id, client),
            Door::Dns => self.answer_stream(client),
            Door::Relay(address) => self.relay(id, address, client),
        };
        lock(&self.open).remove(&id);
    }

    fn converse(&self, id: u64, mut client: TcpStream) -> io::Result<()> {
        let wish = request::read(&mut client)?;
        match self.dial(&wish.host, wish.port) {
            Ok(mut server) => {
                self.remember(id, &server);
                wish.granted(&mut client, &mut server)?;
                relay::both_ways(client, server)
            }
            Err(refusal) => wish.denied(&mut client, &refusal),
        }
    }

    /// A client that believes that this address is the host.
    fn relay(&self, id: u64, address: SocketAddr, client: TcpStream) -> io::Result<()> {
        let host = match address.ip() {
            IpAddr::V4(ip) => lock(&self.names).name_of(ip).map(str::to_owned),
            IpAddr::V6(_) => None,
        };
        let host = host.unwrap_or_else(|| address.ip().to_string());
        match self.dial(&host, address.port()) {
            Ok(server) => {
                self.remember(id, &server);
                relay::both_ways(client, server)
            }
            // It is closed, as by a server that does not want it; the refusal is told with the result.
            Err(_) => Ok(()),
        }
    }

    /// A connection to a server of the session, or to a host. What is refused is remembered.
    fn dial(&self, host: &str, port: u16) -> Result<TcpStream, Refusal> {
        let own = self.session.as_ref().filter(|_| hosts::is_machine(host));
        if let Some(server) = own.and_then(|session| session.connect(port).ok()) {
            return Ok(server);
        }
        self.hosts.dial(host, port).inspect_err(|refusal| self.note(refusal, host, Some(port)))
    }

    fn note(&self, refusal: &Refusal, host: &str, port: Option<u16>) {
        let mut refused = lock(&self.refused);
        if refusal.is_policy() && refused.len() < REFUSAL_LIMIT {
            let host = if host.contains(':') && !host.starts_with('[') {
                format!("[{host}]")
            } else {
                host.to_owned()
            };
            refused.insert(port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")));
        }
    }

    /// Keeps a stream where it can be ended from outside.
    fn remember(&self, id: u64, stream: &TcpStream) {
        if let Ok(copy) = stream.try_clone() {
            lock(&self.open).entry(id).or_default().push(copy);
        }
        if self.is_over.load(SeqCst) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Lookups.
impl ProxyState {
    /// Answers all datagrams that are there: what takes a lookup outside, on a thread of its own.
    fn answer_datagrams(self: &Arc<ProxyState>) {
        while let Some((socket, message, from)) = self.doors.datagram() {
            let Some(question) = DnsQuestion::parse(&message) else { continue };
            let reply = |socket: &UdpSocket, message: &[u8]| drop(socket.send_to(message, from));
            if let Some(answer) = self.known(&question) {
                reply(&socket, &question.answered(answer));
                continue;
            }
            if self.lookups.fetch_add(1, SeqCst) >= LOOKUP_LIMIT {
                self.lookups.fetch_sub(1, SeqCst);
                reply(&socket, &question.answered(DnsAnswer::Failure));
                continue;
            }
            let (state, message) = (Arc::clone(self), message.clone());
            let thread = thread::Builder::new().name("haft-dns".to_owned());
            let spawned = thread.spawn(move || {
                if let Some(question) = DnsQuestion::parse(&message) {
                    let answer = question.answered(state.look_up(&question.name));
                    let _ = socket.send_to(&answer, from);
                }
                state.lookups.fetch_sub(1, SeqCst);
            });
            if spawned.is_err() {
                self.lookups.fetch_sub(1, SeqCst);
            }
        }
    }

    /// Questions over a connection, each with its length in front.
    fn answer_stream(&self, mut client: TcpStream) -> io::Result<()> {
        while let Some(message) = doors::framed(&mut client)? {
            let Some(question) = DnsQuestion::parse(&message) else { return Ok(()) };
            let answer = self.known(&question).unwrap_or_else(|| self.look_up(&question.name));
            doors::send_framed(&mut client, &question.answered(answer))?;
        }
        Ok(())
    }

    /// The answer that takes no lookup, if there is one.
    fn known(&self, question: &DnsQuestion<'_>) -> Option<DnsAnswer> {
        let name = &*question.name;
        if names::is_this_machine(name) {
            return Some(match question.kind {
                KIND_A => DnsAnswer::Address4(Ipv4Addr::LOCALHOST),
                KIND_AAAA => DnsAnswer::Address6(Ipv6Addr::LOCALHOST),
                _ => DnsAnswer::Nothing,
            });
        }
        if !self.hosts.has_name(name) {
            if matches!(question.kind, KIND_A | KIND_AAAA) {
                self.note(&Refusal::NotAllowed, name, None);
            }
            return Some(DnsAnswer::NoName);
        }
        match question.kind {
            KIND_A => lock(&self.names).address_of(name).map(DnsAnswer::Address4),
            _ => Some(DnsAnswer::Nothing),
        }
    }

    /// Looks a granted name up outside, and gives it an address inside if it leads anywhere.
    fn look_up(&self, name: &str) -> DnsAnswer {
        match self.hosts.addresses(name, 0) {
            Ok(_) => self.stand_in(name),
            Err(Refusal::Unreachable(err)) if err.to_string().contains("Temporary") => DnsAnswer::Failure,
            Err(refusal) => {
                self.note(&refusal, name, None);
                DnsAnswer::NoName
            }
        }
    }

    fn stand_in(&self, name: &str) -> DnsAnswer {
        // Under the lock until its ports are open: the next question for it is answered at once.
        let mut names = lock(&self.names);
        if let Some(address) = names.address_of(name) {
            return DnsAnswer::Address4(address);
        }
        let Some(address) = names.add(name) else { return DnsAnswer::Failure };
        let ports = self.hosts.ports_of(name);
        ports.into_iter().for_each(|port| self.relay_at((address, port).into()));
        DnsAnswer::Address4(address)
    }
}

fn is_loopback_itself(address: IpAddr) -> bool {
    address == IpAddr::V4(Ipv4Addr::LOCALHOST) || address == IpAddr::V6(Ipv6Addr::LOCALHOST)
}

/// Nothing is left half done under these locks, so that a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
