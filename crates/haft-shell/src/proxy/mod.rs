//! The only way out of a closed network.
//!
//! A sandbox with hosts has a network of its own with nothing in it but a listener, whose other side is here. Programs inside
//! speak HTTP or SOCKS to it, because their environment says so. A connection is made if the policy names the host; the
//! name is resolved here, addresses that are not public are refused, and the address that was checked is the one that is dialled.
//! What travels inside is not looked at: a host that is allowed can be sent anything.

mod hosts; //    which hosts
mod address; //  which addresses
mod request; //  what a client wants
mod relay; //    from one side to the other

use std::{
    collections::{BTreeSet, HashMap},
    io,
    net::{Shutdown, TcpListener, TcpStream},
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
};

pub use address::is_own;
pub(crate) use hosts::Hosts;

/// A proxy that runs until this value goes.
#[derive(Debug)]
pub(crate) struct Proxy {
    office: Arc<Office>,
    /// The listener once more, by which it is woken up to end.
    bell: TcpStream,
}

/// What the threads of a proxy share.
#[derive(Debug)]
struct Office {
    hosts: Hosts,
    refused: Mutex<BTreeSet<String>>,
    open: Mutex<HashMap<u64, Vec<TcpStream>>>,
    next: AtomicU64,
    is_over: AtomicBool,
}

/// How many connections at once, and how many refusals are remembered.
const CONNECTIONS: usize = 256;
const REFUSALS: usize = 64;

impl Proxy {
    /// Serves whoever connects to this listener.
    pub(crate) fn serve(listener: TcpListener, hosts: Hosts) -> io::Result<Proxy> {
        let bell = TcpStream::from(OwnedFd::from(listener.try_clone()?));
        let office = Arc::new(Office {
            hosts,
            refused: Mutex::default(),
            open: Mutex::default(),
            next: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        let inside = Arc::clone(&office);
        thread::Builder::new().name("haft-proxy".to_owned()).spawn(move || inside.accept(&listener))?;
        Ok(Proxy { office, bell })
    }

    /// The hosts that somebody wanted in vain.
    pub(crate) fn refused(&self) -> Vec<String> {
        lock(&self.office.refused).iter().cloned().collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.office.is_over.store(true, SeqCst);
        // Wakes the thread that waits for connections; those that are open end now.
        let _ = self.bell.shutdown(Shutdown::Both);
        lock(&self.office.open).values().flatten().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}

impl Office {
    fn accept(self: &Arc<Office>, listener: &TcpListener) {
        while let Ok((client, _)) = listener.accept() {
            if self.is_over.load(SeqCst) || lock(&self.open).len() >= CONNECTIONS {
                continue;
            }
            let id = self.next.fetch_add(1, SeqCst);
            let office = Arc::clone(self);
            let thread = thread::Builder::new().name("haft-proxy-client".to_owned());
            // Without a thread the connection is closed, which is an answer.
            let _ = thread.spawn(move || office.attend(id, client));
        }
    }

    /// One connection, from its first word to its end.
    fn attend(&self, id: u64, client: TcpStream) {
        self.remember(id, &client);
        // Whatever goes wrong with it ends it, and concerns nobody else.
        let _ = self.converse(id, client);
        lock(&self.open).remove(&id);
    }

    fn converse(&self, id: u64, mut client: TcpStream) -> io::Result<()> {
        let wish = request::read(&mut client)?;
        match self.hosts.dial(&wish.host, wish.port) {
            Ok(mut server) => {
                self.remember(id, &server);
                wish.granted(&mut client, &mut server)?;
                relay::both_ways(client, server)
            }
            Err(refusal) => {
                self.note(&refusal, &wish.host);
                wish.denied(&mut client, &refusal)
            }
        }
    }

    fn note(&self, refusal: &hosts::Refusal, host: &str) {
        let mut refused = lock(&self.refused);
        if refusal.is_policy() && refused.len() < REFUSALS {
            refused.insert(host.to_owned());
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

/// Nothing is left half done under these locks, so that a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
