//! A network in which nobody is but processes that were put there: those of one session, say.
//!
//! A process that reaches nobody has a loopback of its own. What runs in the background is there to be talked to, so later
//! processes can be put beside it. The way into its network is the user namespace in which that was made, and nobody is in that
//! one but the process itself: each that comes makes another in it, and has no power over what they share.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read, Seek},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream},
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::{Arc, Mutex, PoisonError},
};

use haft_tool::{address_of, host_in_one_form};

use super::{
    agent::NetworkAgent,
    sys::{self, Answer},
};
use crate::proxy::listening_ports;

/// The loopback of a process that was confined, for others to be put beside it. It is there as long as somebody has this, or is
/// in it.
#[derive(Debug)]
pub struct Loopback {
    user: OwnedFd,
    network: OwnedFd,
    /// The kernel's tables of its connections.
    tables: Mutex<Vec<File>>,
    agent: Arc<NetworkAgent>,
}

impl Loopback {
    /// In the process that made one: passes it out.
    pub(super) fn pass(over: RawFd) -> Answer {
        let paths =
            [c"/proc/self/ns/user", c"/proc/self/ns/net", c"/proc/self/net/tcp", c"/proc/self/net/tcp6"];
        for path in paths {
            let passed = match sys::open(path, libc::O_RDONLY | libc::O_CLOEXEC, 0) {
                Ok(descriptor) => {
                    let passed = sys::send_descriptor(over, descriptor);
                    sys::close(descriptor);
                    passed
                }
                Err(errno) => sys::send_error(over, errno),
            };
            passed?;
        }
        Ok(())
    }

    /// Outside: takes it.
    pub(super) fn receive(agent: Arc<NetworkAgent>) -> Answer<Loopback> {
        let (user, network) = (agent.received()?, agent.received()?);
        // A kernel without the newer protocol has one table.
        let tables = [agent.received(), agent.received()].into_iter().flatten().map(File::from).collect();
        Ok(Loopback { user, network, tables: Mutex::new(tables), agent })
    }

    /// The same network by way of another process in it: the one that made it may be gone.
    pub(super) fn by_way_of(&self, agent: Arc<NetworkAgent>) -> io::Result<Loopback> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let tables = tables.iter().map(File::try_clone).collect::<io::Result<_>>()?;
        let (user, network) = (self.user.try_clone()?, self.network.try_clone()?);
        Ok(Loopback { user, network, tables: Mutex::new(tables), agent })
    }

    /// In a process that has not been confined yet: goes there.
    pub(super) fn join(&self) -> Answer {
        sys::join(self.user.as_raw_fd(), libc::CLONE_NEWUSER)?;
        sys::join(self.network.as_raw_fd(), libc::CLONE_NEWNET)
    }

    /// The ports on which servers listen there now.
    pub(crate) fn ports(&self) -> BTreeSet<u16> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.iter_mut().filter_map(read_again).flat_map(|table| listening_ports(&table)).collect()
    }

    /// A connection to a server there.
    pub(crate) fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let first = self.agent.connect((Ipv4Addr::LOCALHOST, port).into());
        first.or_else(|_| self.agent.connect((Ipv6Addr::LOCALHOST, port).into()))
    }
}

/// The whole of a file of the kernel, which is made anew for each reader from the beginning.
fn read_again(file: &mut File) -> Option<String> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    Some(text)
}

/// Whether a host is this machine for whoever names it, and so a process's own loopback.
pub fn is_loopback(host: &str) -> bool {
    let host = host_in_one_form(host);
    // A connection to no address at all is one to this machine.
    let is_here = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    *host == *"localhost" || host.ends_with(".localhost") || address_of(&host).is_some_and(is_here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_several_names() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "app.localhost",
            "127.0.0.1",
            "127.1.2.3",
            "::1",
            "[::1]",
            "0.0.0.0",
            "0",
            "::",
            "2130706433",
            "0x7f.1",
            "::ffff:127.0.0.1",
            "127.0.0.1.",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example.com", "notlocalhost", "10.0.0.1", "127.0.0.1.nip.io", "*"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
