//! What a process may reach.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use super::{Loopback, agent::NetworkRequest};
use crate::proxy::{Hosts, relayed_ports};

/// What a process may reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Network {
    /// Nobody. It has a loopback of its own, or shares that of another ([`Confinement::beside`](super::Confinement::beside)).
    #[default]
    Off,
    /// Everybody that we reach.
    On,
    /// These hosts, through a proxy that haft runs: names, `*.` in front of one for what is below it, or
    /// addresses, each with a port behind a colon if only that one is meant.
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
const PROXY_PORT: u16 = 3128;
const DNS_PORT: u16 = 53;

/// The listeners of a sandbox with hosts, in the order in which they are made: datagrams and connections for DNS, the proxy,
/// then those that stand for a server outside.
pub(super) fn listeners(hosts: &Hosts, session: Option<&Loopback>) -> Vec<NetworkRequest> {
    let here = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let fixed = [
        NetworkRequest::datagrams(here(DNS_PORT)),
        NetworkRequest::listen(here(DNS_PORT)),
        NetworkRequest::listen(here(PROXY_PORT)),
    ];
    let mut addresses = BTreeSet::new();
    let ports = relayed_ports(hosts, session);
    for address in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        addresses.extend(ports.iter().map(|port| SocketAddr::from((address, *port))));
    }
    let literal: Vec<(IpAddr, Vec<u16>)> = hosts.literal_addresses().collect();
    let own = literal.iter().map(|(address, _)| *address).filter(|address| !address.is_loopback());
    let own: BTreeSet<IpAddr> = own.take(LITERAL_LIMIT).collect();
    for (address, ports) in literal.into_iter().take(LITERAL_LIMIT) {
        addresses.extend(ports.into_iter().map(|port| SocketAddr::from((address, port))));
    }
    let own = own.into_iter().map(NetworkRequest::add_address);
    let relays = addresses.into_iter().take(LISTENER_LIMIT).map(NetworkRequest::listen);
    fixed.into_iter().chain(own).chain(relays).collect()
}

/// How many listeners are made before the command starts, and for how many addresses: they wait in one socket.
const LISTENER_LIMIT: usize = 96;
const LITERAL_LIMIT: usize = 32;

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
