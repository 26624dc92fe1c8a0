//! Which addresses are this machine's own. Which are public, `haft-tool` knows.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Whether it is one of this machine's own: what is sent there would come from there. Nothing is sent to find out.
pub fn is_own(address: SocketAddr) -> bool {
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let from =
        UdpSocket::bind(any).and_then(|socket| socket.connect(address).and_then(|()| socket.local_addr()));
    from.is_ok_and(|from| from.ip() == address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_knows_itself() {
        assert!(is_own(([127, 0, 0, 1], 80).into()));
    }
}
