//! Which addresses are public, and which names never are.
//!
//! A name that the policy allows may resolve to anything, also to this machine or to the services that know its keys. Forms
//! that carry an older address inside are judged by that one. Here, because whoever decides and whoever connects must
//! agree about it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of the open internet.
///
/// ```
/// assert!(haft_tool::is_public("93.184.216.34".parse().unwrap()));
/// assert!(!haft_tool::is_public("::ffff:10.0.0.1".parse().unwrap()));
/// ```
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_4(address),
        IpAddr::V6(address) => match inside(address) {
            Some(older) => is_public_4(older),
            None => is_public_6(address),
        },
    }
}

/// Whether a name never is one of the open internet: this machine, and the ends that are kept for networks of one's own. In
/// lower case, without a final dot.
///
/// ```
/// assert!(haft_tool::is_local_name("app.localhost") && !haft_tool::is_local_name("localhost.example.com"));
/// ```
pub fn is_local_name(name: &str) -> bool {
    const ENDS: [&str; 6] = ["localhost", "local", "internal", "localdomain", "lan", "home.arpa"];
    let ends_so =
        |end: &&str| name == *end || name.strip_suffix(*end).is_some_and(|rest| rest.ends_with('.'));
    ENDS.iter().any(ends_so)
}

/// Ranges that are not public: the first address, and how many bits of it count.
const CLOSED_4: [([u8; 4], u32); 15] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 3),
    // Where one provider's machines ask for their keys.
    ([168, 63, 129, 16], 32),
];

fn is_public_4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !CLOSED_4.iter().any(|(first, count)| (bits ^ u32::from_be_bytes(*first)) >> (32 - count) == 0)
}

/// Only what has been given out so far is the internet; of it, what is for documentation and for tunnels is not.
fn is_public_6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_given_out = first & 0xe000 == 0x2000;
    let is_special =
        (first == 0x2001 && (second < 0x0200 || second == 0x0db8)) || (first == 0x3fff && second < 0x1000);
    is_given_out && !is_special
}

/// The older address that is inside a newer one.
fn inside(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let older = |high: u16, low: u16| Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, high, low] => older(high, low),
        [0, 0, 0, 0, 0, 0xffff, high, low] => older(high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low] => older(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => older(high, low),
        [0x2002, high, low, ..] => older(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_machines_networks_and_services_are_not_public() {
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn the_rest_is() {
        for address in [
            "1.1.1.1",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "198.17.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
