//! What the outer process does for haft in the network of its sandbox.
//!
//! haft cannot go there itself: a process with threads cannot enter a user namespace. The outer process is there already, and has
//! power in it. It takes requests of a fixed size over the passage and answers each with a descriptor, or with the kernel's
//! number. Nothing inside the sandbox has a descriptor of the passage.

use std::{
    io::{self, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream},
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::sys::{self, Answer, Errno};

/// How long an answer may take. The process answers at once, or is gone.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

const PAYLOAD_BYTES: usize = 48;
const REQUEST_BYTES: usize = PAYLOAD_BYTES + 2;

/// A request to the outer process, in the bytes that are sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct NetworkRequest([u8; REQUEST_BYTES]);

const LISTEN: u8 = 1;
const DATAGRAMS: u8 = 2;
const CONNECT: u8 = 3;
const ADD_ADDRESS: u8 = 4;

impl NetworkRequest {
    /// A listener.
    pub(super) fn listen(at: SocketAddr) -> NetworkRequest {
        NetworkRequest::new(LISTEN, &socket_address(at))
    }

    /// A socket for datagrams.
    pub(super) fn datagrams(at: SocketAddr) -> NetworkRequest {
        NetworkRequest::new(DATAGRAMS, &socket_address(at))
    }

    /// A connection.
    fn connect(to: SocketAddr) -> NetworkRequest {
        NetworkRequest::new(CONNECT, &socket_address(to))
    }

    /// One more address of the loopback interface. Answered with a descriptor of no use.
    pub(super) fn add_address(address: IpAddr) -> NetworkRequest {
        NetworkRequest::new(ADD_ADDRESS, &new_address(address))
    }

    fn new(kind: u8, payload: &[u8]) -> NetworkRequest {
        let mut bytes = [0; REQUEST_BYTES];
        (bytes[0], bytes[1]) = (kind, payload.len() as u8);
        bytes[2..2 + payload.len()].copy_from_slice(payload);
        NetworkRequest(bytes)
    }

    /// In the outer process: does what is asked for and answers. Only system calls.
    pub(super) fn answer(&self, over: RawFd) -> Answer {
        match self.fulfil() {
            Ok(descriptor) => {
                let sent = sys::send_descriptor(over, descriptor);
                sys::close(descriptor);
                sent
            }
            Err(errno) => sys::send_error(over, errno),
        }
    }

    fn fulfil(&self) -> Answer<RawFd> {
        let [kind, length, payload @ ..] = &self.0;
        let payload = payload.get(..usize::from(*length)).ok_or(Errno(libc::EINVAL))?;
        let family = match payload {
            [first, second, ..] => i32::from(u16::from_ne_bytes([*first, *second])),
            _ => return Err(Errno(libc::EINVAL)),
        };
        let made = match *kind {
            ADD_ADDRESS => {
                sys::add_addresses(payload)?;
                return sys::socket(libc::AF_INET, libc::SOCK_DGRAM);
            }
            DATAGRAMS => sys::socket(family, libc::SOCK_DGRAM)?,
            _ => sys::socket(family, libc::SOCK_STREAM)?,
        };
        let done = match *kind {
            CONNECT => sys::connect(made, payload),
            DATAGRAMS => sys::bind(made, payload),
            _ => sys::bind(made, payload).and_then(|()| sys::listen(made)),
        };
        done.inspect_err(|_| sys::close(made)).map(|()| made)
    }
}

/// In the outer process: answers one request. False if there will be no more.
pub(super) fn answer_request(over: RawFd) -> bool {
    let mut bytes = [0; REQUEST_BYTES];
    match sys::receive(over, &mut bytes) {
        Ok(REQUEST_BYTES) => NetworkRequest(bytes).answer(over).is_ok(),
        Err(Errno(libc::EAGAIN | libc::EINTR)) => true,
        _ => false,
    }
}

/// The way to an outer process, from outside.
#[derive(Debug)]
pub(crate) struct NetworkAgent(Mutex<UnixStream>);

impl NetworkAgent {
    pub(super) fn new(passage: OwnedFd) -> io::Result<NetworkAgent> {
        let passage = UnixStream::from(passage);
        passage.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        passage.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(NetworkAgent(Mutex::new(passage)))
    }

    /// The next descriptor that the process has sent.
    pub(super) fn received(&self) -> Answer<OwnedFd> {
        sys::receive_answer(self.lock().as_raw_fd())
    }

    /// A listener in that network.
    pub(crate) fn listen(&self, at: SocketAddr) -> io::Result<TcpListener> {
        Ok(self.ask(NetworkRequest::listen(at))?.into())
    }

    /// A connection to a server in that network.
    pub(crate) fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        Ok(self.ask(NetworkRequest::connect(to))?.into())
    }

    fn ask(&self, request: NetworkRequest) -> io::Result<OwnedFd> {
        let mut passage = self.lock();
        passage.write_all(&request.0)?;
        let answer = sys::receive_answer(passage.as_raw_fd());
        if answer.as_ref().is_err_and(|errno| errno.0 == libc::EAGAIN) {
            // An answer that comes late would be taken for that of the next request.
            passage.shutdown(Shutdown::Both)?;
        }
        Ok(answer?)
    }

    fn lock(&self) -> MutexGuard<'_, UnixStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An address as the kernel lays it out.
fn socket_address(address: SocketAddr) -> Vec<u8> {
    let (family, port) = match address {
        SocketAddr::V4(_) => (libc::AF_INET, address.port()),
        SocketAddr::V6(_) => (libc::AF_INET6, address.port()),
    };
    let mut bytes = (family as u16).to_ne_bytes().to_vec();
    bytes.extend(port.to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => bytes.extend([&ip.octets()[..], &[0; 8]].concat()),
        // Neither a flow nor a scope.
        IpAddr::V6(ip) => bytes.extend([&[0; 4], &ip.octets()[..], &[0; 4]].concat()),
    }
    bytes
}

/// The message that gives the loopback interface an address of its own.
fn new_address(address: IpAddr) -> Vec<u8> {
    const LOOPBACK_INDEX: u32 = 1;
    const FLAGS: u16 = (libc::NLM_F_REQUEST | libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
    let (family, octets) = match address {
        IpAddr::V4(ip) => (libc::AF_INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (libc::AF_INET6, ip.octets().to_vec()),
    };
    let (header, body, attribute) = (16, 8, 4);
    let length = (header + body + attribute + octets.len()) as u32;
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(libc::RTM_NEWADDR.to_ne_bytes());
    bytes.extend(FLAGS.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([family as u8, (octets.len() * 8) as u8, libc::IFA_F_NODAD as u8, 0]);
    bytes.extend(LOOPBACK_INDEX.to_ne_bytes());
    bytes.extend((attribute as u16 + octets.len() as u16).to_ne_bytes());
    bytes.extend(libc::IFA_LOCAL.to_ne_bytes());
    bytes.extend(octets);
    bytes
}
