//! Which addresses are public, and which names never are.
//!
//! A name that the policy allows may resolve to anything, also to this machine or to the services that know its keys. Forms
//! that carry an older address inside are judged by that one. Here, because whoever decides and whoever connects must
//! agree about it, also about how many ways there are to write one address.

use std::{
    borrow::Cow,
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::OnceLock,
};

/// A host in the one form in which hosts are compared: an address as it is usually written, IPv6 in brackets; a name in lower
/// case. The user, the port, the zone and final dots are gone.
///
/// ```
/// use haft_tool::host_in_one_form;
///
/// for host in ["127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "me@127.0.0.1.:80"] {
///     assert_eq!(host_in_one_form(host), "127.0.0.1");
/// }
/// assert_eq!(host_in_one_form("Docs.RS."), "docs.rs");
/// ```
pub fn host_in_one_form(host: &str) -> Cow<'_, str> {
    let bare = without_port(host.rsplit_once('@').map_or(host, |(_, host)| host));
    match address_of(bare) {
        Some(IpAddr::V4(address)) => Cow::Owned(address.to_string()),
        Some(IpAddr::V6(address)) => Cow::Owned(format!("[{address}]")),
        None => {
            let name = bare.trim_end_matches('.');
            match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
                true => Cow::Owned(name.to_ascii_lowercase()),
                false => Cow::Borrowed(name),
            }
        }
    }
}

/// A host without its port, and the port. `None` if what stands after the colon is no port.
///
/// ```
/// use haft_tool::split_port;
///
/// assert_eq!(split_port("db.test:5432"), Some(("db.test", Some(5432))));
/// assert_eq!(split_port("[::1]:80"), Some(("::1", Some(80))));
/// assert_eq!(split_port("::1"), Some(("::1", None)));
/// assert_eq!(split_port("db.test:http"), None);
/// ```
pub fn split_port(host: &str) -> Option<(&str, Option<u16>)> {
    let (name, digits) = match host.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(None) => return None,
        Some(Some((address, ""))) => (address, None),
        Some(Some((address, rest))) => (address, Some(rest.strip_prefix(':')?)),
        None if host.matches(':').count() == 1 => {
            host.split_once(':').map(|(name, digits)| (name, Some(digits)))?
        }
        None => (host, None),
    };
    let port = |digits: &str| {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u16>().ok().filter(|port| is_number && *port != 0)
    };
    match digits {
        None => Some((name, None)),
        Some(digits) => port(digits).map(|port| (name, Some(port))),
    }
}

/// A host in the one form in which it is granted to a process: as [`host_in_one_form`] has it, with its port if it has one.
///
/// ```
/// assert_eq!(haft_tool::granted_form("DB.test.:5432"), "db.test:5432");
/// assert_eq!(haft_tool::granted_form("::1"), "[::1]");
/// ```
pub fn granted_form(host: &str) -> String {
    let form = host_in_one_form(host);
    match split_port(host.rsplit_once('@').map_or(host, |(_, host)| host)) {
        Some((_, Some(port))) => format!("{form}:{port}"),
        _ => form.into_owned(),
    }
}

/// The address that a host is, in any form that programs take for one. `None` for a name.
pub fn address_of(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').map_or(host, |rest| rest.strip_suffix(']').unwrap_or(rest));
    let (bare, _) = bare.split_once('%').unwrap_or((bare, ""));
    if let Ok(address) = bare.parse::<Ipv6Addr>() {
        return Some(match address.segments() {
            [0, 0, 0, 0, 0, 0xffff, high, low] => v4(high, low).into(),
            // `::` and `::1` are addresses of their own.
            [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => v4(high, low).into(),
            _ => address.into(),
        });
    }
    older_form(bare.trim_end_matches('.')).map(IpAddr::V4)
}

/// Up to four numbers, decimal, octal or hexadecimal, the last of which fills what is left: what `inet_aton` takes.
fn older_form(text: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 || first.iter().any(|number| *number > 0xff) || *last >= 1 << (8 * (4 - first.len())) {
        return None;
    }
    let high = first.iter().zip([24, 16, 8]).fold(0, |bits, (number, shift)| bits | number << shift);
    Some(Ipv4Addr::from_bits(u32::try_from(high | last).ok()?))
}

fn number(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None if lower.len() > 1 && lower.starts_with('0') => (&lower[1..], 8),
        None => (&*lower, 10),
    };
    if digits.is_empty() {
        return (radix == 16).then_some(0);
    }
    // `from_str_radix` would take a sign.
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, radix).ok())?
}

/// One colon stands before a port, several are an address.
fn without_port(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None if host.matches(':').count() == 1 => host.split(':').next().unwrap_or(host),
        None => host,
    }
}

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

/// Whether a name never is one of the open internet: this machine under any of its names, and the ends that are kept for
/// networks of one's own. In lower case, without a final dot.
///
/// ```
/// assert!(haft_tool::is_local_name("app.localhost") && !haft_tool::is_local_name("localhost.example.com"));
/// ```
pub fn is_local_name(name: &str) -> bool {
    const ENDS: [&str; 8] =
        ["localhost", "local", "internal", "localdomain", "localdomain6", "lan", "home.arpa", "intranet"];
    const MACHINE: [&str; 5] = ["ip6-localhost", "ip6-loopback", "localhost4", "localhost6", "broadcasthost"];
    let ends_so =
        |end: &&str| name == *end || name.strip_suffix(*end).is_some_and(|rest| rest.ends_with('.'));
    ENDS.iter().any(ends_so) || MACHINE.contains(&name) || name == own_name()
}

/// What this machine calls itself, asked once.
fn own_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        name.trim().trim_end_matches('.').to_ascii_lowercase()
    })
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
    let older = |high: u16, low: u16| Some(v4(high, low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, high, low] => older(high, low),
        [0, 0, 0, 0, 0, 0xffff, high, low] => older(high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low] => older(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => older(high, low),
        [0x2002, high, low, ..] => older(high, low),
        _ => None,
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_has_one_form_however_it_is_written() {
        let check = |expected: &str, forms: &[&str]| {
            for form in forms {
                assert_eq!(host_in_one_form(form), expected, "{form}");
            }
        };
        check(
            "127.0.0.1",
            &["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0X7F000001", "0177.1", "017700000001"],
        );
        check(
            "127.0.0.1",
            &["127.0.0.1.", "127.0.0.1:80", "me:pw@127.1", "::ffff:127.0.0.1", "[::7f00:1]:443"],
        );
        check("0.0.0.0", &["0", "0.0", "0x0", "00", "0.0.0.0.."]);
        check("[::1]", &["::1", "[::1]", "0:0::1", "[::1]:80", "::1%lo"]);
        check("[fe80::1]", &["fe80::1%eth0", "[FE80::1%25eth0]"]);
        check("localhost", &["LOCALHOST", "localhost.", "localhost:3000"]);
        check("1.2.3.4.5", &["1.2.3.4.5"]);
    }

    #[test]
    fn a_name_is_no_address() {
        for name in
            ["docs.rs", "127.0.0.1.nip.io", "0xg", "08", "256.256.256.256", "4294967296", "", ".", "+1"]
        {
            assert_eq!(address_of(name), None, "{name}");
        }
    }

    #[test]
    fn this_machine_is_local_by_all_of_its_names() {
        for name in ["localhost", "ip6-localhost", "localhost6", own_name()] {
            assert!(is_local_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn all_forms_of_an_address_are_one(bits: u32) {
            let [a, b, c, d] = bits.to_be_bytes();
            let expected = Ipv4Addr::from_bits(bits).to_string();
            let forms = [
                expected.clone(),
                bits.to_string(),
                format!("{bits:#x}"),
                format!("0{bits:o}"),
                format!("0{a:o}.{b:#x}.{}", u16::from_be_bytes([c, d])),
                format!("{a}.{}", bits & 0xff_ffff),
                format!("[::ffff:{a}.{b}.{c}.{d}]:8080"),
                format!("u@{expected}.:1"),
            ];
            for form in forms {
                prop_assert_eq!(host_in_one_form(&form), expected.as_str(), "{}", form);
            }
        }

        #[test]
        fn no_host_makes_it_panic(host in r"[\[\]@:%.0-9a-fx]{0,30}|\PC{0,20}") {
            let form = host_in_one_form(&host);
            prop_assert!(!form.bytes().any(|byte| byte.is_ascii_uppercase()), "{}", form);
        }
    }

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
