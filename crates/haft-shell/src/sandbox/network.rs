//! What a process may reach.

use std::{convert::Infallible, str::FromStr};

/// What a process may reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Network {
    /// Nobody. It has a loopback of its own, or shares that of another ([`Confinement::beside`](super::Confinement::beside)).
    #[default]
    Off,
    /// Everybody that we reach.
    On,
    /// These hosts, through a proxy that haft runs: names, `*.` in front of one for what is below it, or addresses.
    Hosts(Vec<String>),
}

impl FromStr for Network {
    type Err = Infallible;

    /// `off`, `on`, or hosts with commas between them.
    fn from_str(text: &str) -> Result<Network, Infallible> {
        Ok(match text {
            "off" | "" => Network::Off,
            "on" => Network::On,
            hosts => Network::Hosts(hosts.split(',').map(|host| host.trim().to_owned()).collect()),
        })
    }
}

/// Where the proxy listens. The port is free: the network belongs to this sandbox alone.
pub(super) const PROXY_PORT: u16 = 3128;

/// What tells programs to use the proxy.
pub(super) fn variables(network: &Network) -> Vec<(String, String)> {
    if !matches!(network, Network::Hosts(_)) {
        return Vec::new();
    }
    let http = format!("http://127.0.0.1:{PROXY_PORT}");
    let socks = format!("socks5h://127.0.0.1:{PROXY_PORT}");
    let own = "localhost,127.0.0.1,::1".to_owned();
    let values = [("http_proxy", &http), ("https_proxy", &http), ("all_proxy", &socks), ("no_proxy", &own)];
    let both = |(name, value): (&str, &String)| {
        [(name.to_owned(), value.clone()), (name.to_uppercase(), value.clone())]
    };
    values.into_iter().flat_map(both).collect()
}
