//! Hosts that are no place on the open internet, as far as their text tells.
//!
//! What a name resolves to is known only when it is looked up, and checked there; an address that is written out, and the
//! names that always mean this machine or its network, can be refused before anything is sent.

use haft_tool::{address_of, host_in_one_form, is_local_name, is_public};

/// Why a host is not to be contacted unless a rule names it; `None` for a public address and for any other name.
pub(super) fn why(host: &str) -> Option<&'static str> {
    // A bare number of this size is a port or a count in nearly every command line, and its address leads nowhere.
    if host.parse::<u16>().is_ok_and(|number| number > 0) {
        return None;
    }
    let host = host_in_one_form(host);
    if let Some(address) = address_of(&host) {
        return (!is_public(address)).then_some("an address of a machine or a private network");
    }
    if is_local_name(&host) {
        return Some("a name of this machine or its network");
    }
    may_be_read_as_an_address(&host).then_some("a name that some programs may read as an address")
}

/// No name of the internet ends in a number, and letters outside of ASCII are looked up as others.
fn may_be_read_as_an_address(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or(host);
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    !host.is_ascii() || host.contains(['%', ':', '[']) || is_number
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
            "0",
            "2130706433",
            "0x7f.1",
            "[::ffff:10.0.0.1]",
            "fe80::1%eth0",
            "64:ff9b::a00:1",
            "1.2.3.4.5",
            "\u{ff11}27.0.0.1",
        ] {
            assert!(why(host).is_some(), "{host}");
        }
        for host in
            ["93.184.216.34", "[2606:4700::1111]", "docs.rs", "localhost.example.com", "notlocal", "8080"]
        {
            assert!(why(host).is_none(), "{host}");
        }
    }
}
