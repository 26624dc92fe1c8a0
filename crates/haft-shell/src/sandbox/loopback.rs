//! A network in which nobody is but processes that were put there: those of one session, say.
//!
//! A process that reaches nobody has a loopback of its own. What runs in the background is there to be talked to, so later
//! processes can be put beside it. The way into its network is the user namespace in which that was made, and nobody is in that
//! one but the process itself: each that comes makes another in it, and has no power over what they share.

use std::{
    net::IpAddr,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use haft_tool::{address_of, host_in_one_form};

use super::sys::{self, Answer};

/// The loopback of a process that was confined, for others to be put beside it. It is there as long as somebody has this, or is
/// in it.
#[derive(Debug)]
pub struct Loopback {
    user: OwnedFd,
    network: OwnedFd,
}

impl Loopback {
    /// In the process that made one: passes it out.
    pub(super) fn pass(over: RawFd) -> Answer {
        for path in [c"/proc/self/ns/user", c"/proc/self/ns/net"] {
            let namespace = sys::open(path, libc::O_RDONLY | libc::O_CLOEXEC, 0)?;
            let passed = sys::send_descriptor(over, namespace);
            sys::close(namespace);
            passed?;
        }
        Ok(())
    }

    /// Outside: takes it.
    pub(super) fn receive(over: &OwnedFd) -> Answer<Loopback> {
        Ok(Loopback { user: sys::receive_descriptor(over)?, network: sys::receive_descriptor(over)? })
    }

    /// In a process that has not been confined yet: goes there.
    pub(super) fn join(&self) -> Answer {
        sys::join(self.user.as_raw_fd(), libc::CLONE_NEWUSER)?;
        sys::join(self.network.as_raw_fd(), libc::CLONE_NEWNET)
    }
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
