//! Which addresses the flow may contact.
//!
//! A server names the addresses of its metadata and of its authorization server. A hostile one names those of the user's own
//! network: so what is not public is out of reach, unless the server itself was configured to be there.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use haft_tool::is_public;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// What may be contacted besides public addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reach {
    /// This machine.
    loopback: bool,
    /// Networks of one's own.
    private: bool,
}

impl Reach {
    /// What a server that is configured to be at `url` may name. A name that only resolves to a private address opens
    /// nothing: whoever owns the name could change that at any time.
    pub(super) fn of(url: &Url, allow_private: bool) -> Reach {
        let address = literal(url);
        let is_here = url.host_str() == Some("localhost") || address.is_some_and(|ip| ip.is_loopback());
        Reach { loopback: is_here, private: allow_private || address.is_some_and(is_private) }
    }

    /// Whether an address may be contacted. Never link-local ones: cloud machines keep their credentials there.
    pub(super) fn has(self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        is_public(address)
            || (self.loopback && address.is_loopback())
            || (self.private && is_private(address))
    }

    /// Why a URL may not be contacted, as far as that can be said before its name is resolved.
    pub(super) fn objection(self, url: &Url) -> Option<String> {
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Some(format!("{} is no address of the web", shown(url)));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Some(format!("{} has a user in it", shown(url)));
        }
        if url.scheme() == "http" && !self.may_be_plain(url) {
            return Some(format!("{} is not https: what is sent there could be read on the way", shown(url)));
        }
        let address = literal(url)?;
        (!self.has(address)).then(|| format!("{} is not a public address", shown(url)))
    }

    /// Plain HTTP is for this machine, and for one's own network where the server is there too.
    fn may_be_plain(self, url: &Url) -> bool {
        let is_near = |ip: IpAddr| ip.is_loopback() || (self.private && is_private(ip));
        url.host_str() == Some("localhost") || literal(url).is_some_and(is_near)
    }
}

/// A URL without what may be secret in it.
pub(super) fn shown(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), url.host_str().unwrap_or("?"), url.path())
}

fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(IpAddr::V6(address).to_canonical()),
        Host::Domain(_) => None,
    }
}

/// A network of one's own; carriers' shared addresses count as such.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            address.is_private() || (first == 100 && (64..128).contains(&second))
        }
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

/// Names are resolved here and nowhere else, so that what was looked up is what is contacted.
impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = *self;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| reach.has(address.ip())).collect();
            if allowed.is_empty() {
                return Err(io::Error::other(format!("{} has no public address", name.as_str())).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(url: &str) -> Reach {
        Reach::of(&Url::parse(url).unwrap(), false)
    }

    #[test]
    fn a_public_server_cannot_name_what_is_not() {
        for url in ["https://mcp.example/", "https://93.184.216.34/", "https://internal/"] {
            for address in [
                "127.0.0.1",
                "::1",
                "10.0.0.1",
                "169.254.169.254",
                "100.64.0.1",
                "fd00::1",
                "::ffff:10.0.0.1",
                "0.0.0.0",
            ] {
                assert!(!reach(url).has(address.parse().unwrap()), "{url} {address}");
            }
            assert!(reach(url).has("93.184.216.34".parse().unwrap()));
        }
    }

    #[test]
    fn a_server_that_is_near_may_name_what_is_as_near() {
        let table = [
            ("http://localhost:1/", "127.0.0.1", true),
            ("http://127.0.0.1:1/", "::1", true),
            ("http://127.0.0.1:1/", "10.0.0.1", false),
            ("http://10.0.0.2/", "10.0.0.1", true),
            ("http://10.0.0.2/", "127.0.0.1", false),
            ("http://localhost/", "169.254.169.254", false),
        ];
        for (url, address, expected) in table {
            assert_eq!(reach(url).has(address.parse().unwrap()), expected, "{url} {address}");
        }
        let private = Reach::of(&Url::parse("https://mcp.example/").unwrap(), true);
        assert!(private.has("10.0.0.1".parse().unwrap()) && !private.has("127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said() {
        let objection = |server: &str, url: &str| reach(server).objection(&Url::parse(url).unwrap());
        let public = "https://mcp.example/";
        assert_eq!(objection(public, "https://login.example/token?x=1"), None);
        assert_eq!(objection("http://localhost:1/", "http://127.0.0.1:9/token"), None);
        for (url, expected) in [
            ("file:///etc/passwd", "file://?/etc/passwd is no address of the web"),
            ("https://u:p@login.example/", "https://login.example/ has a user in it"),
            (
                "http://login.example/",
                "http://login.example/ is not https: what is sent there could be read on the way",
            ),
            ("https://10.0.0.1/x", "https://10.0.0.1/x is not a public address"),
            ("https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/ is not a public address"),
        ] {
            assert_eq!(objection(public, url).as_deref(), Some(expected));
        }
    }
}
