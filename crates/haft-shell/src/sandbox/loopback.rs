//! A network in which nobody is but processes that were put there: those of one session, say.
//!
//! A process that reaches nobody has a loopback of its own. What runs in the background is there to be talked to, so later
//! processes can be put beside it. The way into its network is the user namespace in which that was made, and nobody is in that
//! one but the process itself: each that comes makes another in it, and has no power over what they share.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

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
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_several_names() {
        for host in ["localhost", "LOCALHOST.", "app.localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example.com", "notlocalhost", "0.0.0.0", "10.0.0.1", "127.0.0.1.nip.io", "*"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
