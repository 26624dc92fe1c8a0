//! The hosts that a process may reach, each with a port or with all.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

use haft_tool::{is_public, split_port};

use super::address::is_own;

/// The hosts of a policy. Without any, no connection is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hosts(Vec<HostGrant>);

/// A host, and the port if only one is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HostGrant {
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// Exactly this name.
    Name(String),
    /// What is below this name, by one or more labels.
    Below(String),
    /// Exactly this address. A private one is in the list only if a rule or a person named it; one of this machine that looks
    /// public is refused all the same.
    Address(IpAddr),
    /// The loopback of this machine, by one of its usual names.
    Machine,
}

/// Why a connection is not made.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The policy does not name the host with this port.
    NotAllowed,
    /// The policy names it, but it is somewhere private.
    Private(IpAddr),
    /// It cannot be reached, whatever the policy.
    Unreachable(io::Error),
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The ports of the usual protocols: those of a host that is granted without a port, where a program does not use the proxy.
const USUAL_PORTS: [u16; 18] =
    [22, 25, 80, 143, 443, 465, 587, 993, 1433, 2222, 3306, 5432, 5672, 6379, 8080, 8443, 9418, 27017];

const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

impl Hosts {
    /// The hosts, or which of them is none.
    pub(crate) fn parse(hosts: &[String]) -> Result<Hosts, String> {
        hosts
            .iter()
            .map(|host| HostGrant::parse(host).ok_or_else(|| host.clone()))
            .collect::<Result<_, _>>()
            .map(Hosts)
    }

    /// Connects to a host that is allowed, at an address that is.
    pub(super) fn dial(&self, host: &str, port: u16) -> Result<TcpStream, Refusal> {
        let target = Target::parse(host).ok_or(Refusal::NotAllowed)?;
        let grant = self.grants(&target).find(|grant| grant.has_port(port)).ok_or(Refusal::NotAllowed)?;
        match (&grant.pattern, target) {
            (Pattern::Machine, _) => connect(LOOPBACK.map(|address| (address, port).into())),
            (Pattern::Address(address), _) if is_public(*address) && is_own((*address, port).into()) => {
                Err(Refusal::Private(*address))
            }
            (Pattern::Address(address), _) => connect([(*address, port).into()]),
            (_, Target::Address(_) | Target::Machine) => Err(Refusal::NotAllowed),
            (_, Target::Name(name)) => connect(self.addresses(&name, port)?),
        }
    }

    /// Whether a name is granted, with any port.
    pub(super) fn has_name(&self, name: &str) -> bool {
        matches!(Target::parse(name), Some(target @ Target::Name(_)) if self.grants(&target).next().is_some())
    }

    /// Looks a name up: the addresses of it that may be reached. Those that are not public only if they are granted themselves.
    pub(super) fn addresses(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, Refusal> {
        let all: Vec<SocketAddr> = look_up(name, port).map_err(Refusal::Unreachable)?;
        let private = all.first().map(SocketAddr::ip);
        let may_be_reached = |address: &SocketAddr| {
            self.grants(&Target::of(address.ip())).any(|grant| port == 0 || grant.has_port(port))
                || (is_public(address.ip()) && !is_own(*address))
        };
        let reached: Vec<SocketAddr> = all.into_iter().filter(may_be_reached).collect();
        match (reached.is_empty(), private) {
            (true, Some(private)) => Err(Refusal::Private(private)),
            _ => Ok(reached),
        }
    }

    /// The ports on which connections to a granted name are taken that do not go through the proxy.
    pub(super) fn ports_of(&self, name: &str) -> Vec<u16> {
        let Some(target) = Target::parse(name) else { return Vec::new() };
        let mut ports: Vec<u16> = self.grants(&target).flat_map(HostGrant::ports).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// The addresses that are granted themselves, but for the machine's loopback, each with its ports.
    pub(crate) fn literal_addresses(&self) -> impl Iterator<Item = (IpAddr, Vec<u16>)> {
        self.0.iter().filter_map(|grant| match grant.pattern {
            Pattern::Address(address) => Some((address, grant.ports())),
            _ => None,
        })
    }

    /// Whether this port of the machine's loopback is granted.
    pub(crate) fn has_machine_port(&self, port: u16) -> bool {
        self.grants(&Target::Machine).any(|grant| grant.has_port(port))
    }

    /// Whether any port of the machine's loopback is granted.
    pub(crate) fn has_machine(&self) -> bool {
        self.grants(&Target::Machine).next().is_some()
    }

    fn grants(&self, target: &Target) -> impl Iterator<Item = &HostGrant> {
        self.0.iter().filter(|grant| grant.pattern.fits(target))
    }
}

impl HostGrant {
    fn parse(text: &str) -> Option<HostGrant> {
        let (host, port) = split_port(text)?;
        Some(HostGrant { pattern: Pattern::parse(host)?, port })
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.is_none_or(|only| only == port)
    }

    fn ports(&self) -> Vec<u16> {
        self.port.map_or_else(|| USUAL_PORTS.to_vec(), |port| vec![port])
    }
}

/// Whether a host is the loopback, by one of its usual names.
pub(super) fn is_machine(host: &str) -> bool {
    Target::parse(host) == Some(Target::Machine)
}

/// What a client asks for: read in one way, and used as it was read.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Name(String),
    Address(IpAddr),
    /// The loopback.
    Machine,
}

impl Target {
    fn parse(host: &str) -> Option<Target> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse() {
            return Some(Target::of(address));
        }
        name(host).map(|name| if name == "localhost" { Target::Machine } else { Target::Name(name) })
    }

    fn of(address: IpAddr) -> Target {
        if LOOPBACK.contains(&address) || address.is_unspecified() {
            return Target::Machine;
        }
        Target::Address(address)
    }
}

/// A name in the one form in which names are compared. What the system's resolver would take for an address in an old
/// notation (`0x7f.1`, `2130706433`) is no name.
fn name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_letter =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(is_letter);
    let last = name.rsplit('.').next()?;
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    (name.len() <= 253 && name.split('.').all(is_label) && !is_number).then_some(name)
}

impl Pattern {
    fn parse(text: &str) -> Option<Pattern> {
        match text.strip_prefix("*.") {
            Some(rest) => name(rest).map(Pattern::Below),
            None => Some(match Target::parse(text)? {
                Target::Name(name) => Pattern::Name(name),
                Target::Address(address) => Pattern::Address(address),
                Target::Machine => Pattern::Machine,
            }),
        }
    }

    fn fits(&self, target: &Target) -> bool {
        match (self, target) {
            (Pattern::Name(name), Target::Name(wanted)) => name == wanted,
            (Pattern::Below(name), Target::Name(wanted)) => {
                wanted.strip_suffix(&**name).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
            }
            (Pattern::Address(address), Target::Address(wanted)) => address == wanted,
            (Pattern::Machine, Target::Machine) => true,
            _ => false,
        }
    }
}

fn look_up(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    #[cfg(test)]
    if name == TEST_NAME {
        return Ok(vec![(Ipv4Addr::LOCALHOST, port).into()]);
    }
    Ok((name, port).to_socket_addrs()?.collect())
}

/// A name for tests: that of this machine, as a name of the internet would be looked up.
#[cfg(test)]
pub(crate) const TEST_NAME: &str = "db.haft.test";

fn connect(addresses: impl IntoIterator<Item = SocketAddr>) -> Result<TcpStream, Refusal> {
    let mut last = io::ErrorKind::NotFound.into();
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(err) => last = err,
        }
    }
    Err(Refusal::Unreachable(last))
}

impl Refusal {
    /// Whether another policy would allow it.
    pub(super) fn is_policy(&self) -> bool {
        !matches!(self, Refusal::Unreachable(_))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotAllowed => {
                f.write_str("this host and port are not among those that the sandbox may reach")
            }
            Refusal::Private(address) => write!(f, "this host is at {address}, which is not public"),
            Refusal::Unreachable(err) => write!(f, "this host cannot be reached: {err}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, host: &str, expected: bool) {
        let grant = HostGrant::parse(pattern).unwrap();
        let fits = Target::parse(host).is_some_and(|target| grant.pattern.fits(&target));
        assert_eq!(fits, expected, "{grant:?} {host}");
    }

    #[test]
    fn a_port_after_a_host_is_the_only_one() {
        let hosts = ["db.test:5432", "[::1]:80", "*.a.test:22", "10.0.0.1", "b.test"].map(str::to_owned);
        let hosts = Hosts::parse(&hosts).unwrap();
        assert!(hosts.has_machine_port(80) && !hosts.has_machine_port(81));
        assert_eq!(hosts.ports_of("DB.test."), [5432]);
        assert_eq!(hosts.ports_of("x.a.test"), [22]);
        assert_eq!(hosts.ports_of("b.test"), USUAL_PORTS);
        assert_eq!(hosts.ports_of("c.test"), [0; 0]);
        assert!(matches!(hosts.dial("db.test", 5433), Err(Refusal::NotAllowed)));
        for wrong in ["a.test:0", "a.test:x", "a.test:65536", "[::1", "[::1]80", "a.test:+1"] {
            assert_eq!(Hosts::parse(&[wrong.to_owned()]), Err(wrong.to_owned()));
        }
    }

    #[test]
    fn names_are_compared_label_by_label() {
        check("example.com", "EXAMPLE.com.", true);
        check("example.com", "example.com.evil.org", false);
        check("example.com", "notexample.com", false);
        check("example.com", "a.example.com", false);
    }

    #[test]
    fn a_star_stands_for_one_or_more_labels_in_front() {
        check("*.example.com", "a.example.com", true);
        check("*.example.com", "a.b.example.com", true);
        check("*.example.com", "example.com", false);
        check("*.example.com", "xexample.com", false);
        check("*.example.com", ".example.com", false);
    }

    #[test]
    fn what_is_no_host_is_never_allowed() {
        for host in [
            "",
            "a b",
            "a\0.example.com",
            "user@example.com",
            "ex%61mple.com",
            "127.1",
            "0x7f.1",
            "2130706433",
            "a..b",
        ] {
            assert_eq!(Target::parse(host), None, "{host:?}");
        }
        assert!(Hosts::parse(&["*".to_owned()]).is_err() && Hosts::parse(&["a.*.com".to_owned()]).is_err());
    }

    #[test]
    fn an_address_is_reached_only_where_it_is_written() {
        check("127.0.0.1", "127.0.0.1", true);
        check("::1", "[::1]", true);
        check("127.0.0.1", "::ffff:127.0.0.1", false);
        let hosts = Hosts::parse(&["localhost:1".to_owned()]).unwrap();
        for name in ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"] {
            assert!(matches!(hosts.dial(name, 1), Err(Refusal::Unreachable(_))), "{name}");
            assert!(matches!(hosts.dial(name, 2), Err(Refusal::NotAllowed)), "{name}");
        }
        assert!(matches!(hosts.dial("127.0.0.2", 1), Err(Refusal::NotAllowed)));
        assert!(matches!(Hosts::default().dial("example.com", 1), Err(Refusal::NotAllowed)));
    }

    #[test]
    fn a_broad_pattern_opens_no_address() {
        let hosts = ["*.example.com", "*.localhost", "10.0.0.1", "93.184.216.34"].map(str::to_owned);
        let hosts = Hosts::parse(&hosts).unwrap();
        for host in [
            "127.0.0.1",
            "0.0.0.0",
            "0",
            "2130706433",
            "0x7f.1",
            "[::1]",
            "[::]",
            "[::ffff:10.0.0.1]",
            "10.1",
            "169.254.169.254",
            "[fe80::1%25lo]",
            "[64:ff9b::a00:1]",
            "[2002:a00:1::]",
        ] {
            assert!(matches!(hosts.dial(host, 1), Err(Refusal::NotAllowed)), "{host}");
        }
        assert!(matches!(hosts.dial("app.localhost", 1), Err(Refusal::Private(_) | Refusal::Unreachable(_))));
    }
}
