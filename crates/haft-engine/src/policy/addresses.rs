//! Hosts that are no place on the open internet, as far as their text tells.
//!
//! What a name resolves to is known only when it is looked up, and checked there; an address that is written out, and the
//! names that always mean this machine or its network, can be refused before anything is sent.

use std::net::IpAddr;

use super::hosts::{ipv6, normal};

/// Why a host is not to be contacted unless a rule names it; `None` for a public address and for any other name.
pub(super) fn why(host: &str) -> Option<&'static str> {
    let host = normal(host);
    if let Some(address) = address(&host) {
        return (!haft_tool::is_public(address)).then_some("an address of a machine or a private network");
    }
    haft_tool::is_local_name(&host).then_some("a name of this machine or its network")
}

fn address(host: &str) -> Option<IpAddr> {
    ipv6(host).map(IpAddr::V6).or_else(|| host.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_places_are_known_by_their_text() {
        for host in [
            "127.0.0.1",
            "[::1]",
            "169.254.169.254",
            "LOCALHOST.",
            "app.localhost",
            "metadata.google.internal",
        ] {
            assert!(why(host).is_some(), "{host}");
        }
        for host in ["93.184.216.34", "[2606:4700::1111]", "docs.rs", "localhost.example.com", "notlocal"] {
            assert!(why(host).is_none(), "{host}");
        }
    }
}
