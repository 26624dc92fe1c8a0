//! Which hosts a process may reach.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

use haft_tool::is_public;

use super::address::is_own;

/// The hosts of a policy. None of them means nobody.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hosts(Vec<Pattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// Exactly this name.
    Name(String),
    /// What is below this name, by one or more labels.
    Below(String),
    /// Exactly this address. A private one is in the list only if a rule or a person named it; one of this machine that looks
    /// public is refused all the same.
    Address(IpAddr),
}

/// Why a connection is not made.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The policy does not name it.
    NotAllowed,
    /// The policy names it, but it is somewhere private.
    Private(IpAddr),
    /// It cannot be reached, by anybody.
    Unreachable(io::Error),
}

const PATIENCE: Duration = Duration::from_secs(15);

impl Hosts {
    /// The hosts, or which of them is none.
    pub(crate) fn parse(hosts: &[String]) -> Result<Hosts, String> {
        hosts
            .iter()
            .map(|host| Pattern::parse(host).ok_or_else(|| host.clone()))
            .collect::<Result<_, _>>()
            .map(Hosts)
    }

    /// Connects to a host that is allowed, at an address that is.
    pub(super) fn dial(&self, host: &str, port: u16) -> Result<TcpStream, Refusal> {
        let target = Target::parse(host).ok_or(Refusal::NotAllowed)?;
        let pattern = self.0.iter().find(|pattern| pattern.fits(&target)).ok_or(Refusal::NotAllowed)?;
        match (pattern, target) {
            (Pattern::Address(address), _) if is_public(*address) && is_own((*address, port).into()) => {
                Err(Refusal::Private(*address))
            }
            (Pattern::Address(address), _) => connect([(*address, port).into()]),
            (_, Target::Address(_)) => Err(Refusal::NotAllowed),
            (_, Target::Name(name)) => connect(public(&name, port)?),
        }
    }
}

/// What a client asks for: read in one way, and used as it was read.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Name(String),
    Address(IpAddr),
}

impl Target {
    fn parse(host: &str) -> Option<Target> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse() {
            return Some(Target::Address(address));
        }
        name(host).map(Target::Name)
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
            _ => false,
        }
    }
}

/// The public addresses of a name.
fn public(name: &str, port: u16) -> Result<Vec<SocketAddr>, Refusal> {
    let all: Vec<SocketAddr> = (name, port).to_socket_addrs().map_err(Refusal::Unreachable)?.collect();
    let private = all.first().map(SocketAddr::ip);
    let public: Vec<SocketAddr> =
        all.into_iter().filter(|address| is_public(address.ip()) && !is_own(*address)).collect();
    match (public.is_empty(), private) {
        (true, Some(private)) => Err(Refusal::Private(private)),
        _ => Ok(public),
    }
}

fn connect(addresses: impl IntoIterator<Item = SocketAddr>) -> Result<TcpStream, Refusal> {
    let mut last = io::ErrorKind::NotFound.into();
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(err) => last = err,
        }
    }
    Err(Refusal::Unreachable(last))
}

impl Refusal {
    /// Whether somebody could allow it.
    pub(super) fn is_policy(&self) -> bool {
        !matches!(self, Refusal::Unreachable(_))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotAllowed => f.write_str("this host is not among those that the sandbox may reach"),
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
        let pattern = Pattern::parse(pattern).unwrap();
        let fits = Target::parse(host).is_some_and(|target| pattern.fits(&target));
        assert_eq!(fits, expected, "{pattern:?} {host}");
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
        let hosts = Hosts::parse(&["localhost".to_owned()]).unwrap();
        assert!(matches!(hosts.dial("localhost", 1), Err(Refusal::Private(_))));
        assert!(matches!(hosts.dial("127.0.0.1", 1), Err(Refusal::NotAllowed)));
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
