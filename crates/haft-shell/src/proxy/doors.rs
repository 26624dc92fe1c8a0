//! The listeners of a proxy, which come and go while it runs.

use std::{
    collections::HashMap,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use rustix::event::{
    EventfdFlags, Timespec,
    epoll::{self, CreateFlags, Event, EventData, EventFlags},
    eventfd,
};

use super::lock;

/// What a listener is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    Proxy,
    Dns,
    /// A server outside, for which this address stands.
    Relay(SocketAddr),
}

/// All listeners, and what waits for them.
#[derive(Debug)]
pub(super) struct Doors {
    queue: OwnedFd,
    /// Wakes whatever waits, to end.
    bell: OwnedFd,
    listeners: Mutex<HashMap<u64, (Arc<TcpListener>, Door)>>,
    datagrams: Mutex<Option<Arc<UdpSocket>>>,
    next: AtomicU64,
}

const BELL: u64 = 0;
const DATAGRAMS: u64 = 1;
const FIRST_LISTENER: u64 = 2;

/// How many listeners there can be: each takes a descriptor.
const LISTENER_LIMIT: usize = 512;
/// How many events are taken at once.
const BATCH: usize = 32;
/// The longest question over datagrams that is read.
const DATAGRAM_BYTES: usize = 1500;

impl Doors {
    pub(super) fn new() -> io::Result<Doors> {
        let queue = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&queue, &bell, EventData::new_u64(BELL), EventFlags::IN)?;
        let next = AtomicU64::new(FIRST_LISTENER);
        Ok(Doors { queue, bell, listeners: Mutex::default(), datagrams: Mutex::default(), next })
    }

    pub(super) fn add(&self, listener: TcpListener, door: Door) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let mut listeners = lock(&self.listeners);
        if listeners.len() >= LISTENER_LIMIT {
            return Err(io::Error::other("there are too many listeners"));
        }
        let id = self.next.fetch_add(1, SeqCst);
        epoll::add(&self.queue, &listener, EventData::new_u64(id), EventFlags::IN)?;
        listeners.insert(id, (Arc::new(listener), door));
        Ok(())
    }

    pub(super) fn add_datagrams(&self, socket: UdpSocket) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        epoll::add(&self.queue, &socket, EventData::new_u64(DATAGRAMS), EventFlags::IN)?;
        *lock(&self.datagrams) = Some(Arc::new(socket));
        Ok(())
    }

    /// Removes the relays at these addresses.
    pub(super) fn remove(&self, is_gone: impl Fn(SocketAddr) -> bool) {
        lock(&self.listeners).retain(|_, (listener, door)| match door {
            Door::Relay(address) if is_gone(*address) => {
                let _ = epoll::delete(&self.queue, &*listener);
                false
            }
            _ => true,
        });
    }

    /// Waits for clients, or for datagrams, without a connection. Nothing after the interval, or when it is over.
    pub(super) fn wait(&self, interval: Option<Duration>) -> Vec<(Door, Option<TcpStream>)> {
        let mut events = Vec::with_capacity(BATCH);
        let interval = interval.and_then(|interval| Timespec::try_from(interval).ok());
        // An interruption is nothing that has come.
        let _ = epoll::wait(&self.queue, rustix::buffer::spare_capacity(&mut events), interval.as_ref());
        let mut all = Vec::new();
        for Event { data, .. } in events {
            match data.u64() {
                BELL => {}
                DATAGRAMS => all.push((Door::Dns, None)),
                id => all.extend(self.accept(id)),
            }
        }
        all
    }

    fn accept(&self, id: u64) -> Option<(Door, Option<TcpStream>)> {
        let (listener, door) = lock(&self.listeners).get(&id).cloned()?;
        // One at a time: those that are still there are told again.
        let (client, _) = listener.accept().ok()?;
        client.set_nonblocking(false).ok()?;
        Some((door, Some(client)))
    }

    /// The next datagram that is there, with the socket by which it is answered.
    pub(super) fn datagram(&self) -> Option<(Arc<UdpSocket>, Vec<u8>, SocketAddr)> {
        let socket = lock(&self.datagrams).clone()?;
        let mut message = vec![0; DATAGRAM_BYTES];
        let (count, from) = socket.recv_from(&mut message).ok()?;
        message.truncate(count);
        Some((socket, message, from))
    }

    /// Wakes what waits. It is to look whether it is over.
    pub(super) fn close(&self) {
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Closes all of them.
    pub(super) fn clear(&self) {
        lock(&self.listeners).clear();
        *lock(&self.datagrams) = None;
    }
}

/// How long a question over a connection may be waited for.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);

/// The next message of a connection, which says its length first.
pub(super) fn framed(client: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    client.set_read_timeout(Some(QUESTION_TIMEOUT))?;
    client.set_write_timeout(Some(QUESTION_TIMEOUT))?;
    let mut length = [0; 2];
    match client.read_exact(&mut length) {
        Err(err) if err.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut message = vec![0; u16::from_be_bytes(length).into()];
    client.read_exact(&mut message)?;
    Ok(Some(message))
}

pub(super) fn send_framed(client: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(io::Error::other)?;
    client.write_all(&[&length.to_be_bytes(), message].concat())
}
